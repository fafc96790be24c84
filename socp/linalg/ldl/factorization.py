"""Factorization of sparse symmetric quasi-definite matrices, K = P' (L D L') P.

L is unit lower triangular and D diagonal.  A quasi-definite matrix has such a factorization for every
permutation P, and D has the signs of the diagonal blocks (Vanderbei 1995).  The signs are known in
advance: a pivot with the wrong sign, or too small, is replaced.

Three methods give equal L and D up to rounding: by rows with single columns, by rows with supernodes of four columns
(both in `rows`), and by dense panels (`panels`).  Each suits columns of L with more entries than the one before it.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ...compiled.memory import check_memory
from .factors import Factors, factor, solve
from .order.minimum_degree import amd
from .panels.dense import PanelFactors
from .panels.left_looking import supernodal_factor, supernodal_solve
from .rows.factor import four_wide_factor
from .rows.four_wide import FourWideFactors, supernodes_of
from .rows.solve import four_wide_solve
from .symbolic import assembly_tree
from .symbolic.analysis import Analysis, IntArray, analyze
from .symbolic.siblings import by_strips

FloatArray = NDArray[np.float64]

NAMES = {"amd": "minimum degree", "natural": "natural order"}
SCALAR = 10  # operations per entry of L up to which single columns are used, within 1 % of the best time on all sets
COLUMN, ENTRY, FLOP = 25.0, 3.8, 0.06  # nanoseconds per column, entry of L and operation, by rows: a fit to all sets


class LDL:
    """The factorization ``K = P' (L D L') P`` for a fixed pattern and fixed signs of D.

    Parameters
    ----------
    indptr, indices : int64 arrays
        The upper triangle of K by columns: row <= column, rows ascending, every diagonal entry present.
    signs : (n,) array
        The sign, +1 or -1, that each pivot must have, in the order of K.
    ordering : {"amd", "natural"} or (n,) int array
        Order of elimination: by minimum degree, the order of K, or a permutation. It is postordered in any case, which
        changes neither fill nor work.
    zero_diagonal : (n,) bool array, optional
        Variables whose diagonal entry is zero or nearly so: each is eliminated after one of its neighbours, which gives
        it a nonzero pivot.
    static : (n,) bool array, optional
        Variables whose entries, on the diagonal and off it, rarely change from one factorization to the next: columns
        of L that depend on these alone are recomputed only when an entry has changed.
    method : {"auto", "scalar", "four-wide", "supernodal"}
        The kernels; "auto" chooses by the predicted times and the operations per entry of L.

    Attributes
    ----------
    perm : (n,) array
        Row k of ``P K P'`` is row ``perm[k]`` of K.
    factors : Factors
        L and D in the storage of the method.
    nnz : int
        Entries of L below the diagonal, without explicit zeros of supernodes.
    flops : float
        Floating-point operations of one factorization, without explicit zeros of supernodes.
    d : (n,) array
        The diagonal of D after `factor`, in the order of elimination.
    ordering : str
        The order of elimination, in words.
    method : str
        The kernels in use, "scalar", "four-wide" or "supernodal".
    times : dict of float
        Predicted nanoseconds of one factorization and three solves by "strips" and by "panels".
    time : float
        Predicted nanoseconds of one factorization and three solves by the method in use.
    ordering_time, symbolic_time : float
        Seconds of the ordering, and of the symbolic analysis with the allocation of the factors.

    Raises
    ------
    ValueError
        `ordering` is neither a name nor a permutation, or data or a right-hand side has the wrong length.
    MemoryError
        L does not fit in memory.

    Examples
    --------
    >>> import numpy as np
    >>> ldl = LDL(np.array([0, 1, 3]), np.array([0, 0, 1]), np.array([1, -1]))
    >>> ldl.factor(np.array([4.0, 2.0, -1.0]), 1e-13, 1e-7)  # K = [4 2; 2 -1]
    0
    >>> x = np.empty(2)
    >>> ldl.solve(np.array([6.0, 1.0]), x)
    >>> x
    array([1., 1.])
    """

    def __init__(
        self,
        indptr: IntArray,
        indices: IntArray,
        signs: NDArray[np.integer],
        *,
        ordering: str | NDArray[np.integer] = "amd",
        zero_diagonal: NDArray[np.bool_] | None = None,
        static: NDArray[np.bool_] | None = None,
        method: str = "auto",
    ) -> None:
        indptr, indices = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int64)
        self._given_signs = np.ascontiguousarray(signs, np.float64)
        n = indptr.size - 1
        self.ordering = NAMES.get(ordering, "given order") if isinstance(ordering, str) else "given order"
        start = perf_counter()
        perm = _order(n, indptr, indices, ordering, zero_diagonal)
        ordered = perf_counter()
        analysis = analyze(n, indptr, indices, perm)
        self._static = static
        self.method, self.factors = self._choose(analysis, method)
        self.perm, self.d = self.factors.perm, self.factors.d
        self.ordering_time, self.symbolic_time = ordered - start, perf_counter() - ordered

    def _choose(self, analysis: Analysis, method: str) -> tuple[str, Factors]:
        """Return the method, for "auto" by operations per entry of L and predicted times, and preallocated factors."""
        n, nnz, flops = analysis.perm.size, analysis.nnz, analysis.flops
        self.nnz, self.flops, self._given = nnz, flops, analysis.source.size
        self.times = expected_times(n, nnz, flops)
        if method == "auto":
            by_panels = self.times["panels"] < self.times["strips"]
            method = "scalar" if flops <= SCALAR * nnz else "supernodal" if by_panels else "four-wide"
        self.time = self.times["panels" if method == "supernodal" else "strips"]
        by_rows = method != "supernodal"
        if by_rows:
            static, are_wide = 0, method == "four-wide"
            if are_wide:
                analysis, static = by_strips(analysis, self._static)
            supernodes = supernodes_of(analysis, static, are_wide)
            words, entries = (1 + int(supernodes.static > 0)) * supernodes.entries + 2 * supernodes.rows, nnz
        else:
            tree = assembly_tree.assembly_tree(analysis)
            words = entries = int(tree.panel_start[-1])
        check_memory(8.0 * words, f"the factor of the KKT matrix of order {n}, with {entries:,} entries in L,")
        if by_rows:
            factors = FourWideFactors(supernodes, analysis, self._given_signs)
            return method, factors.use(four_wide_factor, four_wide_solve)
        return method, PanelFactors(tree, self._given_signs).use(supernodal_factor, supernodal_solve)

    def factor(self, data: FloatArray, eps: float, delta: float) -> int:
        """Factor K with the values `data`.

        Parameters
        ----------
        data : (nnz,) float64 array
            The values of the upper triangle in the order of `indices`.
        eps, delta : float
            A pivot d of expected sign s with ``s d <= eps`` is replaced by ``s delta``.

        Returns
        -------
        int
            Number of replaced pivots, or -1 if a pivot is NaN or infinite: there is then no factorization.
        """
        if len(data) != self._given:
            raise ValueError(f"data must have {self._given} entries, but {len(data)} came")
        return int(factor(self.factors, data, eps, delta))

    def solve(self, rhs: FloatArray, out: FloatArray) -> None:
        """Solve ``K out = rhs`` for float64 vectors of length n; `out` may be `rhs` itself.

        Two right-hand sides are solved at once if `rhs` and `out` have the shape (2, n).
        """
        n = self.factors.n
        if rhs.shape != out.shape or rhs.shape not in ((n,), (2, n)):
            raise ValueError(
                f"rhs and out must have the shape ({n},) or (2, {n}), but {rhs.shape} and {out.shape} came"
            )
        solve(self.factors, rhs.ndim, rhs.reshape(-1), out.reshape(-1))


def expected_times(n: float, nnz: float, flops: float) -> dict[str, float]:
    """Return the predicted nanoseconds of one factorization and three solves, by strips of rows and by panels.

    Panels are taken to have four columns.  Their updates are omitted, which are few where panels are large.
    """
    return {
        "strips": COLUMN * n + ENTRY * nnz + FLOP * flops,
        "panels": assembly_tree.FRONT * n / 4 + assembly_tree.ENTRY * nnz + assembly_tree.FLOP * flops,
    }


def _order(
    n: int,
    indptr: IntArray,
    indices: IntArray,
    ordering: str | NDArray[np.integer],
    zero_diagonal: NDArray[np.bool_] | None,
) -> IntArray:
    if isinstance(ordering, str):
        if ordering == "amd":
            return amd(n, indptr, indices, zero_diagonal)
        if ordering == "natural":
            return np.arange(n)
        raise ValueError(f'ordering must be "amd", "natural" or a permutation, but {ordering!r} came')
    perm = np.array(ordering, np.int64)
    if not np.array_equal(np.sort(perm), np.arange(n)):
        raise ValueError(f"ordering must be a permutation of 0 ... {n - 1}")
    return perm
