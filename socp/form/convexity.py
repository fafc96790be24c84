"""Test whether P is positive semidefinite: by cheap sufficient conditions as a rule, else by an LDL' of P."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh, lapack

from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats, Ints
from ..linalg.cholesky import cholesky
from ..linalg.csc import append_upper
from ..linalg.ldl.factorization import LDL
from ..linalg.vectors import NO_VALUES
from ..problem.checks import EPS, PRECISIONS, ProgramError, rounding
from ..problem.hessian import GLANCE, DenseHessian, Hessian, check_full, hessian_of

DIRECT = 1000  # largest order at which a refusal computes the smallest eigenvalue
NOISE = 64.0  # The largest rounding error in a row is of eps / NOISE to NOISE eps, relative to the largest entry of P.


def check_semidefinite(P: Hessian, eps: float = EPS) -> None:
    """Raise ProgramError, with `refusal`, unless P is positive semidefinite; see `is_semidefinite`."""
    if not is_semidefinite(P, eps):
        raise ProgramError(refusal(P, eps))


def is_semidefinite(P: Hessian, eps: float, D: np.ndarray = NO_VALUES, factor: float = 1.0) -> bool:
    """Return True if P is positive semidefinite: P with its diagonal raised has an LDL' with D > 0.

    The diagonal is raised by the rounding errors of P, see `set_shift`, if its entries were given with the machine
    epsilon `eps`.  A P that was scaled to factor D P D is tested as before the scaling.

    A diagonal plus low rank is semidefinite by construction.
    """
    if P.is_zero or not (P.is_sparse or P.is_full):
        return True
    n, is_sparse, indptr, indices, values = P.order, P.is_sparse, P.indptr, P.indices, P.values
    if is_clearly_semidefinite(n, is_sparse, indptr, indices, values, D, factor, eps):
        return True
    shift = np.empty(n)
    set_shift(is_sparse, indptr, indices, values, D, factor, eps, shift)
    if isinstance(P, DenseHessian):
        return has_factor(P, eps, shift)
    return first_bad_pivot(P, shift)[0].size == n


def has_factor(P: DenseHessian, eps: float, shift: np.ndarray) -> bool:
    """Return True if P is of low rank, which is tested first, or P + diag(shift) has a Cholesky factor."""
    if P.find_rank() and P.low_rank_error <= rounding(P.order, eps):
        return True
    check_full(P.order)
    # The lower triangle by columns, which `cholesky` reads, and the upper one by rows are stored alike.
    P.workspace = P.values.copy()
    P.workspace[:: P.order + 1] += shift
    return cholesky(P.order, P.workspace) == 0


def first_bad_pivot(P: Hessian, shift: np.ndarray) -> tuple[np.ndarray, int]:
    """Return (order, k): the variables that the LDL' of P + diag(shift) eliminates before its first pivot <= 0 at k.

    If all pivots are positive, `order` has all variables and k is -1.
    """
    n = P.order
    ldl, data = ldl_of(P, shift)
    if ldl.factor(data, 0.0, -1.0) == 0:  # Bad pivots are replaced by -1.
        return ldl.perm, -1
    bad = np.flatnonzero(ldl.d < 0.0)
    first = int(bad[0]) if bad.size else n - 1
    return ldl.perm[:first], int(ldl.perm[first])


def ldl_of(P: Hessian, shift: np.ndarray) -> tuple[LDL, np.ndarray]:
    """Return an LDL' for the pattern of a sparse P, and the values of P + diag(shift) for it."""
    n = P.order
    indptr, indices, data = np.empty(n + 1, np.int64), np.empty(P.entries + n, np.int64), np.empty(P.entries + n)
    append_upper(P.indptr, P.indices, P.values, shift, 0, indptr, indices, data)
    return LDL(indptr, indices[: indptr[n]], np.ones(n, np.int64)), data[: indptr[n]]


def refusal(P: Hessian, eps: float) -> str:
    """Return the message for a P that is not semidefinite: how negative it is, where, and the remedy."""
    n, diagonal = P.order, np.array(P.diagonal())
    is_relative = bool(diagonal.min() > 0.0)
    size = np.sqrt(diagonal) if is_relative else np.full(n, math.sqrt(P.largest))
    v = negative_direction(P, eps, size)
    along = float(v @ P.product(v))
    share = -along / float(np.square(size * v).sum())
    weights = np.abs(size * v)
    i, j = sorted(np.argsort(-weights, kind="stable")[:2].tolist()) if n > 1 else (0, 0)
    top = int(weights.argmax())
    where = f"between variables {i} and {j}" if min(weights[i], weights[j]) > 0.01 * weights[top] and i < j else ""
    least = "" if n <= DIRECT else "at least "
    more = 1.1 * share  # The numbers in the text are rounded.
    remedy = f"{least}{more:.2g} times its diagonal" if is_relative else f"{least}{more * size[0] ** 2:.2g} I"
    return (
        f"P must be positive semidefinite, but v'Pv = {along / float(v @ v):.3g} v'v for a vector v "
        f"{where or f'in variable {top}'}: {share:.2g} of its {'diagonal' if is_relative else 'largest entry'}, where "
        f"the rounding of {PRECISIONS[eps]} explains {rounding(n, eps):.2g}.  If P is semidefinite but for errors, add "
        f"{remedy} to it, or give a factor of P = F F' as LowRank(F)"
    )


def negative_direction(P: Hessian, eps: float, size: np.ndarray) -> np.ndarray:
    """Return v with v'Pv < 0: least relative to `size`, or for a large P from the first pivot that is not positive."""
    n = P.order
    if n <= DIRECT:
        v = eigh(P.dense() / size / size[:, None], subset_by_index=[0, 0], check_finite=False)[1][:, 0] / size
    else:
        shift, v = np.empty(n), np.zeros(n)
        set_shift(P.is_sparse, P.indptr, P.indices, P.values, NO_VALUES, 1.0, eps, shift)
        before, k, solved = _dense_pivot(P, shift) if isinstance(P, DenseHessian) else _sparse_pivot(P, shift)
        v[before], v[k] = -solved, 1.0
    if v @ P.product(v) >= 0.0:
        v[:] = np.arange(n) == P.diagonal().argmin()
    return v


def _dense_pivot(P: DenseHessian, shift: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """Return (J, k, Q_JJ^-1 Q_Jk) for Q = P + diag(shift), whose Cholesky factor fails at k after the variables J."""
    check_full(P.order)
    Q = P.source.copy()
    Q[np.diag_indices(P.order)] += shift
    L, info = lapack.dpotrf(Q.T, lower=1, overwrite_a=1)
    k = max(info - 1, 0)
    return np.arange(k), k, lapack.dpotrs(L[:k, :k], P.source[:k, k], lower=1)[0] if k else NO_VALUES


def _sparse_pivot(P: Hessian, shift: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """Return (J, k, Q_JJ^-1 Q_Jk) for Q = P + diag(shift), whose LDL' fails at k after the variables J."""
    before, k = first_bad_pivot(P, shift)
    solved = P.product((np.arange(P.order) == k).astype(float))[before]
    if before.size:
        ldl, data = ldl_of(hessian_of(P.among(before), before.size), shift[before])
        ldl.factor(data, 0.0, 1.0)
        ldl.solve(solved, solved)
    return before, k, solved


@kernel
def set_shift(
    is_sparse: bool, indptr: Ints, indices: Ints, values: Floats, D: Floats, factor: float, eps: float, shift: Floats
) -> None:
    """Set `shift` to the rounding errors of the diagonal of P, a share of each P_ii (see `checks.rounding`).

    A share of the largest entry would let a scaling of the variables hide negative curvature.  It is the shift only in
    rows that hold nothing but rounding errors (see `is_rounding`).  P is factor D times a matrix times D, whose entries
    count, if D is not empty.
    """
    n = shift.size
    share, largest, diagonal = rounding(n, eps), 0.0, np.zeros(n)
    for i in range(n):
        if is_sparse:
            for k in range(indptr[i], indptr[i + 1]):
                diagonal[i] += values[k] if indices[k] == i else 0.0
        else:
            diagonal[i] = values[i * n + i]
        shift[i] = factor * D[i] ** 2 if D.size > 0 else 1.0
        largest = max(largest, diagonal[i] / shift[i])
    for i in range(n):
        size = shift[i]
        shift[i] = share * max(diagonal[i], 0.0)
        if diagonal[i] <= NOISE * eps * largest * size:
            own = i * n, (i + 1) * n
            if is_sparse:
                own = indptr[i], indptr[i + 1]
            if is_rounding(own, is_sparse, indices, values, diagonal, D, i, eps * largest * size):
                shift[i] = share * largest * size if largest > 0.0 else 1.0


@inner
def is_rounding(
    own: tuple[int, int], is_sparse: bool, indices: Ints, values: Floats, diagonal: Floats, D: Floats, i: int,
    unit: float,
) -> bool:  # fmt: skip
    """Return True if row i of P, the `values` in the range `own`, is zero, or but for rounding errors of size `unit`.

    Its largest entry is then of that size, and is no curvature: P_ii <= 0, or P_ij^2 > P_ii P_jj for some j.  Rows with
    smaller entries belong to a variable in another unit.
    """
    row, is_wrong = 0.0, diagonal[i] <= 0.0
    for k in range(own[0], own[1]):
        j = indices[k] if is_sparse else k - own[0]
        row = max(row, abs(values[k]) * (D[i] / D[j] if D.size > 0 else 1.0))
        is_wrong |= j != i and values[k] ** 2 > diagonal[i] * max(diagonal[j], 0.0)
    return row == 0.0 or (is_wrong and unit / NOISE <= row <= NOISE * unit)


@kernel
def is_clearly_semidefinite(
    n: int, is_sparse: bool, indptr: Ints, indices: Ints, values: Floats, D: Floats, factor: float, eps: float
) -> bool:
    """Return True if P is diagonally dominant, or is small and P + diag(shift) has a Cholesky factor.

    The result False is inconclusive.
    """
    if is_sparse and is_dominant(indptr, indices, values):
        return True
    if n > GLANCE:
        return False
    P, shift = np.zeros(n * n), np.empty(n)
    for j in range(n):
        if is_sparse:
            for k in range(indptr[j], indptr[j + 1]):
                P[indices[k] * n + j] += values[k]
        else:
            P[j * n : (j + 1) * n] = values[j * n : (j + 1) * n]
    set_shift(is_sparse, indptr, indices, values, D, factor, eps, shift)
    for j in range(n):
        P[j * n + j] += shift[j]
    return cholesky(n, P) == 0


@kernel
def is_dominant(indptr: Ints, indices: Ints, data: Floats) -> bool:
    """Return True if P_jj is at least the sum of |P_ij|, i != j, in each column j; P is then semidefinite."""
    n = indptr.size - 1
    for j in range(n):
        diagonal, others = 0.0, 0.0
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] == j:
                diagonal += data[k]
            else:
                others += abs(data[k])
        if not diagonal >= others:
            return False
    return True
