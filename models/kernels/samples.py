"""Matrices of samples, dense or CSR: inner products, offsets taken off, squares of rows, variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.validation import as_dense


def inner_products(A: Any, B: Any) -> np.ndarray:
    """Return A B' as a dense array."""
    products = A @ B.T
    return np.asarray(as_dense(products))


def from_reference(A: Any, B: Any) -> tuple[Any, Any]:
    """Return the samples A and B relative to a row of B, so that their differences keep their digits.

    The row is the median of the first, the middle and the last one, in each column, since one may be far from all
    others.  Of two sparse matrices, only the columns that both store in full are shifted.
    """
    if not (count := B.shape[0]):
        return A, B
    A, B = (A.tocsr(), B.tocsr()) if sp.issparse(A) and sp.issparse(B) else (as_dense(A), as_dense(B))
    row = np.median(as_dense(B[[0, count // 2, count - 1]]), axis=0)
    if not sp.issparse(B):
        return A - row, B - row
    shift = np.where(full_columns(A) & full_columns(B), row, 0.0)
    return shifted(A, shift), shifted(B, shift)


def full_columns(X: Any) -> np.ndarray:
    """Return the mask of the columns of a CSR matrix that are stored in full."""
    return np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]


def shifted(X: Any, shift: np.ndarray) -> Any:
    """Return X - `shift`; X is dense, or CSR with `shift` zero in all but its `full_columns`."""
    if not sp.issparse(X):
        return X - shift
    return sp.csr_array((X.data - shift[X.indices], X.indices, X.indptr), X.shape) if shift.any() else X


def centered(X: Any, rows: np.ndarray | None = None) -> tuple[Any, np.ndarray]:
    """Return (X - mean, mean): the mean of each column; of a sparse X only its `full_columns` are centered.

    The means are those of the samples `rows`, by default of all.  A linear machine with an intercept keeps its
    w, and products keep the digits that an offset costs.
    """
    part = X if rows is None or rows.size == X.shape[0] else X[rows]
    mean = np.asarray(part.mean(axis=0)).ravel()
    mean = np.where(full_columns(X), mean, 0.0) if sp.issparse(X) else mean
    return shifted(X, mean), mean


def squares(A: Any) -> np.ndarray:
    """Return |a|^2 of every row a of A."""
    if sp.issparse(A):
        A, sums = A.tocsr(), np.zeros(A.shape[0])
        used = np.flatnonzero(np.diff(A.indptr))
        sums[used] = np.add.reduceat(A.data * A.data, A.indptr[used]) if used.size else 0.0
        return sums
    return np.einsum("ij,ij->i", A, A)


def variance(X: Any, weights: np.ndarray) -> float:
    """Return the variance of all entries of X, where a sample of weight w counts w times."""
    share = weights / (weights.sum() * X.shape[1])
    mean = float((share @ X).sum())
    if sp.issparse(X):
        stored = sp.csr_array(X)
        weight = np.repeat(share, np.diff(stored.indptr))
        return float(weight @ (stored.data - mean) ** 2) + max(1.0 - float(weight.sum()), 0.0) * mean**2
    return float((share @ (X - mean) ** 2).sum())
