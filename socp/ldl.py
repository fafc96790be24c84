"""Factorization of sparse symmetric quasi-definite matrices, K = P' (L D L') P.

L is unit lower triangular and D diagonal.  A quasi-definite matrix has such a factorization for every
permutation P, and the signs of D are those of the diagonal blocks (Vanderbei 1995), so that they are known
beforehand: a pivot that comes out with the wrong sign, or too small, is replaced.

The scalar kernels find row k of L from the rows above it, the textbook's up-looking method:

    L(1:k, 1:k) D(1:k) L(k, 1:k)' = K(1:k, k)     a sparse triangular solve,
    D(k) = K(k, k) - L(k, 1:k) D(1:k) L(k, 1:k)'.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from .jit import kernel
from .ordering import amd
from .symbolic import IntArray, analyze

FloatArray = NDArray[np.float64]


class LDL:
    """The factorization ``K = P' (L D L') P`` for a fixed pattern and fixed signs of D.

    Parameters
    ----------
    n : int
        Order of K.
    indptr, indices : int64 arrays
        The upper triangle of K by columns: row <= column, rows ascending, every diagonal entry present.
    signs : (n,) array
        The sign, +1 or -1, that each pivot must have, in the order of K.
    ordering : {"amd", "natural"} or (n,) int array
        How the order of elimination is chosen; an array gives it. It is postordered in any case, which changes neither
        fill nor work.
    method : {"auto", "scalar"}
        The kernels.

    Attributes
    ----------
    perm : (n,) array
        Row k of ``P K P'`` is row ``perm[k]`` of K.
    nnz : int
        Entries of L below the diagonal.
    flops : float
        Floating-point operations of one factorization.
    d : (n,) array
        The diagonal of D after `factor`, in the order of elimination.
    method : str
        The kernels in use.
    ordering_time, symbolic_time : float
        Seconds.

    Raises
    ------
    ValueError
        The pattern is not a sorted upper triangle with its diagonal, or another argument does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> ldl = LDL(2, np.array([0, 1, 3]), np.array([0, 0, 1]), np.array([1, -1]))
    >>> ldl.factor(np.array([4.0, 2.0, -1.0]), 1e-13, 1e-7)  # K = [4 2; 2 -1]
    0
    >>> x = np.empty(2)
    >>> ldl.solve(np.array([6.0, 1.0]), x)
    >>> x
    array([1., 1.])
    """

    def __init__(
        self,
        n: int,
        indptr: IntArray,
        indices: IntArray,
        signs: NDArray[np.integer],
        *,
        ordering: str | NDArray[np.integer] = "amd",
        method: str = "auto",
    ) -> None:
        indptr, indices = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int64)
        _check_arguments(n, indptr, indices, signs, method)
        start = perf_counter()
        perm = _order(n, indptr, indices, ordering)
        self.ordering_time = perf_counter() - start
        start = perf_counter()
        analysis = analyze(n, indptr, indices, perm)
        self.n = n
        self.perm, self.nnz, self.flops = analysis.perm, analysis.nnz, analysis.flops
        self.method = "scalar"
        self.d = np.ones(n)
        self._nnz_data = int(indptr[-1])
        self._signs = np.asarray(signs, np.float64)[analysis.perm]
        source = np.argsort(analysis.position, kind="stable")
        self._pattern = (analysis.indptr, analysis.indices, source, *scalar_pattern(
            n, analysis.indptr, analysis.indices, analysis.parent, analysis.counts
        ))  # fmt: skip
        self._values, self._work, self._next = np.zeros(self.nnz), np.zeros(n), np.empty(n, np.int64)
        self.symbolic_time = perf_counter() - start

    def factor(self, data: FloatArray, eps: float, delta: float) -> int:
        """Factorize.

        Parameters
        ----------
        data : (nnz,) float64 array
            The values of the upper triangle in the order of `indices`.
        eps, delta : float
            A pivot d of expected sign s with ``s d <= eps`` is replaced by ``s delta``.

        Returns
        -------
        int
            The number of replaced pivots, or -1 when a NaN or an infinity came up: there is no factorization then.
        """
        if len(data) != self._nnz_data:
            raise ValueError(f"data must have {self._nnz_data} entries, but {len(data)} came")
        return scalar_factor(
            *self._pattern, self._signs, data, eps, delta, self._values, self.d, self._work, self._next
        )

    def solve(self, rhs: FloatArray, out: FloatArray) -> None:
        """``K out = rhs``; both of length n, float64, and `out` may be `rhs` itself."""
        if len(rhs) != self.n or len(out) != self.n:
            raise ValueError(f"rhs and out must have {self.n} entries, but {len(rhs)} and {len(out)} came")
        scalar_solve(self.perm, self._pattern[3], self._pattern[4], self._values, self.d, rhs, out, self._work)


def _check_arguments(n: int, indptr: IntArray, indices: IntArray, signs: NDArray[np.integer], method: str) -> None:
    if len(indptr) != n + 1 or indptr[0] != 0 or (np.diff(indptr) < 1).any() or len(indices) < indptr[-1]:
        raise ValueError("indptr must begin with 0 and give each of the n columns at least its diagonal entry")
    if not is_upper_triangle(n, indptr, indices):
        raise ValueError("each column must have ascending rows, of which the last is the diagonal entry")
    if len(signs) != n or not np.isin(signs, (-1, 1)).all():
        raise ValueError("signs must be n numbers +1 or -1")
    if method not in ("auto", "scalar"):
        raise ValueError(f'method must be "auto" or "scalar", but {method!r} came')


def _order(n: int, indptr: IntArray, indices: IntArray, ordering: str | NDArray[np.integer]) -> IntArray:
    if isinstance(ordering, str):
        if ordering == "amd":
            return amd(n, indptr, indices)
        if ordering == "natural":
            return np.arange(n)
        raise ValueError(f'ordering must be "amd", "natural" or a permutation, but {ordering!r} came')
    perm = np.array(ordering, np.int64)
    if not np.array_equal(np.sort(perm), np.arange(n)):
        raise ValueError(f"ordering must be a permutation of 0 ... {n - 1}")
    return perm


@kernel
def is_upper_triangle(n, indptr, indices):
    """Whether rows ascend in each column and the last one is the diagonal entry."""
    for j in range(n):
        if indices[indptr[j]] < 0 or indices[indptr[j + 1] - 1] != j:
            return False
        for p in range(indptr[j] + 1, indptr[j + 1]):
            if indices[p] <= indices[p - 1]:
                return False
    return True


@kernel
def scalar_pattern(n, indptr, indices, parent, counts):
    """The pattern of L by columns (start, rows) and, for the order of the work, by rows (row_start, columns).

    Row k is the part of the elimination tree between the entries of K(1:k, k) and k.
    """
    start = np.zeros(n + 1, np.int64)
    for j in range(n):
        start[j + 1] = start[j] + counts[j]
    rows = np.empty(start[n], np.int64)
    fill = start[:n].copy()
    seen = np.full(n, -1, np.int64)
    row_start = np.zeros(n + 1, np.int64)
    for k in range(n):
        seen[k] = k
        row_start[k + 1] = row_start[k]
        for p in range(indptr[k], indptr[k + 1]):
            j = indices[p]
            while seen[j] != k:
                seen[j] = k
                rows[fill[j]] = k
                fill[j] += 1
                row_start[k + 1] += 1
                j = parent[j]
    columns = np.empty(start[n], np.int64)
    next_in_row = row_start[:n].copy()
    for j in range(n):
        for p in range(start[j], start[j + 1]):
            columns[next_in_row[rows[p]]] = j
            next_in_row[rows[p]] += 1
    return start, rows, row_start, columns


@kernel
def scalar_factor(
    indptr, indices, source, start, rows, row_start, columns, signs, data, eps, delta, values, d, work, end
):  # fmt: skip
    """L(:, j) in values[start[j]:start[j+1]] and D in d; see `LDL.factor`.

    `work` (n) must come as zeros and leaves as zeros unless -1 is returned; `end` (n) is anything.
    """
    n = len(d)
    replaced = 0
    for k in range(n):
        end[k] = start[k]
        for p in range(indptr[k], indptr[k + 1]):
            work[indices[p]] = data[source[p]]
        pivot = work[k]
        work[k] = 0.0
        for q in range(row_start[k], row_start[k + 1]):
            j = columns[q]
            y = work[j]  # D(j) L(k, j)
            work[j] = 0.0
            for p in range(start[j], end[j]):
                work[rows[p]] -= values[p] * y
            l_kj = y / d[j]
            pivot -= l_kj * y
            values[end[j]] = l_kj
            end[j] += 1
        if not np.isfinite(pivot):
            work[:] = 0.0
            return -1
        if signs[k] * pivot <= eps:
            pivot = signs[k] * delta
            replaced += 1
        d[k] = pivot
    return replaced


@kernel
def scalar_solve(perm, start, rows, values, d, rhs, out, work):
    """out = P' (L' \\ (D \\ (L \\ (P rhs)))); `work` (n) leaves as zeros."""
    n = len(d)
    for k in range(n):
        work[k] = rhs[perm[k]]
    for j in range(n):
        x = work[j]
        for p in range(start[j], start[j + 1]):
            work[rows[p]] -= values[p] * x
    for j in range(n - 1, -1, -1):
        x = work[j] / d[j]
        for p in range(start[j], start[j + 1]):
            x -= values[p] * work[rows[p]]
        work[j] = x
    for k in range(n):
        out[perm[k]] = work[k]
        work[k] = 0.0
