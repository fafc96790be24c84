"""Explanations of examples in all accepted forms, as rows v_j and the indices of the samples they explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.problem.checks import as_csr

from ..base.copies import merge_copies
from ..base.multiclass import stratified_folds
from ..base.validation import as_dense


def explained_examples(
    explanations: Any, X: Any, y: Any, absent: float = 0.0, labels: int = 0
) -> tuple[Any, np.ndarray]:
    """Return all explained examples as rows, and the row of X that each explains.

    An explained example v keeps the important features of its x; the others are left out: each entry of v is the entry
    of x or `absent`, so that zeros and ones of another type than bool are refused as a mask.  An explained example that
    is equal to its x is dropped.

    Parameters
    ----------
    explanations : None, array, sparse matrix, list or callable
        * a matrix of the shape of X: v_i in row i, or if it is of bool, True where a feature of x_i is important;
        * a vector of bool, one entry a feature: the same important features in all examples;
        * an array of three dimensions, (samples, explanations, features), of either kind;
        * a list with, for each example, None, or one vector or several (as rows) of either kind;
        * a callable, which gets X and y and returns one of these.
    X : array or CSR, shape (samples, features)
    y : array
        Labels, for a callable.
    absent : float
        Value of a feature that is left out.
    labels : int
        Number of last columns that are no features: their entries of v may be any (see `EmbeddedKernel`).

    Returns
    -------
    V : array or CSR, shape (explanations, features)
    owner : array of int, shape (explanations,)

    Raises
    ------
    ProgramError
        The explanations have another form or shape; the message says which example.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> explained_examples([None, np.array([[True, False], [False, True]])], X, None)
    (array([[3., 0.],
           [0., 4.]]), array([1, 1]))
    """
    if callable(explanations):
        explanations = explanations(X, y)
    if explanations is None:
        V, owner = X[:0], np.zeros(0, dtype=np.int64)
    elif sp.issparse(explanations):
        V, owner = _of_sparse(explanations, X, absent), np.arange(X.shape[0])
    else:
        V, owner = _of_arrays(explanations, X, absent)
    values = V.data if sp.issparse(V) else V
    if not np.isfinite(values).all():
        raise ValueError("explanations contains NaN or infinity")
    _check_own(X, V, owner, absent, V.shape[1] - labels)
    difference = X[owner] - V
    says = np.asarray(as_dense(abs(difference).max(axis=1)))
    kept = np.flatnonzero(says.ravel() > 0.0) if owner.size else owner
    return V[kept], owner[kept]


def _check_own(X: Any, V: Any, owner: np.ndarray, absent: float, features: int) -> None:
    """Raise ValueError unless every entry of the first columns of V is that of its row of X, or `absent`."""
    if sp.issparse(V) and absent == 0.0:
        wrong = sp.coo_array(V.multiply(X[owner] - V))
        at = np.flatnonzero((wrong.data != 0.0) & (wrong.col < features))
        places = np.column_stack([wrong.row, wrong.col])[at]
    else:
        V, of_x = as_dense(V), as_dense(X[owner])
        places = np.argwhere(((V != of_x) & (V != absent))[:, :features])
    if len(places):
        j, feature = (int(one) for one in places[0])
        v, x = float(as_dense(V[[j]]).ravel()[feature]), float(as_dense(X[[owner[j]]]).ravel()[feature])
        raise ValueError(
            f"explanations must hold the entries of X, or {absent:g} for features that are left out, but explain "
            f"sample {owner[j]} by {v:g} in feature {feature}, where X has {x:g}; a mask must be of bool: astype(bool)"
        )


def distinct_folds(
    X: Any, V: Any, owner: np.ndarray, codes: np.ndarray, used: np.ndarray, count: int = 5
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (train, test) of folds of the samples `used`; equal samples, equally explained, are in one fold.

    A copy in the training part would reveal a sample that is held out.  The order of the samples makes no difference.
    The list is empty if a class has one distinct sample.
    """
    which = merge_copies(V, np.zeros(owner.size, dtype=np.int64), np.ones(owner.size))[2]
    told = sp.csr_array((np.ones(which.size), (owner, which)), (codes.size, V.shape[0]))
    both = sp.hstack([sp.csr_array(X), told], format="csr")[used]
    first, _, copy_of = merge_copies(both, codes[used], np.ones(used.size))
    distinct = codes[used[first]]
    folds = stratified_folds(distinct, count) if np.bincount(distinct).min() > 1 else []
    held_out = [np.isin(copy_of, fold) for fold in folds]
    return [(used[~test], used[test]) for test in held_out]


def _of_sparse(explanations: Any, X: Any, absent: float) -> Any:
    matrix = as_csr("explanations", explanations)
    if matrix.shape != X.shape:
        raise ValueError(f"explanations must have the shape of X, {X.shape}, but {matrix.shape} came")
    if explanations.dtype == np.bool_:
        if absent != 0.0:
            raise ValueError("explanations came as a sparse mask, but this kernel leaves features out not by 0")
        matrix = matrix != 0.0
        matrix = sp.csr_array(X * matrix) if sp.issparse(X) else sp.csr_array(matrix.multiply(X))
    return sp.csr_array(matrix, dtype=np.float64) if sp.issparse(X) else matrix.toarray().astype(np.float64)


def _of_arrays(explanations: Any, X: Any, absent: float) -> tuple[Any, np.ndarray]:
    m, d = X.shape
    if isinstance(explanations, np.ndarray) and explanations.dtype != object:
        if explanations.ndim == 1 and explanations.dtype == np.bool_ and explanations.size == d:
            explanations = np.broadcast_to(explanations, (m, d))
        if explanations.ndim not in (2, 3) or explanations.shape[0] != m or explanations.shape[-1] != d:
            raise ValueError(
                f"explanations must have the shape of X, {(m, d)}, or ({m}, explanations an example, {d}), but "
                f"{explanations.shape} came"
            )
        several = 1 if explanations.ndim == 2 else explanations.shape[1]
        owner = np.repeat(np.arange(m), several)
        if sp.issparse(X) and explanations.dtype == np.bool_ and absent == 0.0:
            V = sp.csr_array(X[owner].multiply(explanations.reshape(m * several, d)))
            V.eliminate_zeros()
            return V, owner
        return _as_kept(_explained(X[owner], explanations.reshape(m * several, d), absent, "explanations"), X), owner
    if not hasattr(explanations, "__len__") or len(explanations) != m:
        raise ValueError(
            f"explanations must be a matrix, a list with an entry for each of the {m} samples, or a callable, but "
            f"{type(explanations).__name__} came"
            + (f" of {len(explanations)}" if hasattr(explanations, "__len__") else "")
        )
    found, owners = [np.zeros((0, d))], [np.zeros(0, dtype=np.int64)]
    for i, given in enumerate(explanations):
        if given is None:
            continue
        rows = np.atleast_2d(np.asarray(given))
        if rows.ndim != 2 or rows.shape[1] != d:
            raise ValueError(f"explanations[{i}] must be None or have {d} features, but its shape is {np.shape(given)}")
        owners.append(np.full(rows.shape[0], i))
        found.append(_explained(X[owners[-1]], rows, absent, f"explanations[{i}]"))
    return _as_kept(np.vstack(found), X), np.concatenate(owners)


def _explained(X: Any, given: np.ndarray, absent: float, name: str) -> np.ndarray:
    """Return explained examples as given, or made from masks of the rows of X."""
    if given.dtype == np.bool_:
        return np.where(given, as_dense(X), absent)
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers or True and False: {error}") from None


def _as_kept(V: np.ndarray, X: Any) -> Any:
    return sp.csr_array(V) if sp.issparse(X) else V
