"""The standard form that the engine works on: rows sorted by cone, equalities on top, data equilibrated.

With M = [A; G] (the rows of G permuted so that the orthant comes first, rows with h = inf left out),
v = (y, z), g = (b, h), the equilibrated data are

    P := f D P D    c := f D c    M := E M D    g := E g

and the caller's iterate is x = D x, s = E^-1 s, v = E v / f of the equilibrated one.  E is constant on
each second-order cone, so that E s stays in the cone.
"""

from __future__ import annotations

import numpy as np

from .hessian import as_operator
from .program import ConeProgram, SecondOrder
from .sparse import scale, scaled_norms, transposed


class StandardForm:
    """An equilibrated cone program in flat arrays.

    Attributes
    ----------
    n, p, m, l : int
        Variables, equalities, cone rows (finite ones), those of them in the orthant.
    ptr : array of int64
        Second-order cone k has cone rows ptr[k] to ptr[k + 1].
    rows : array of int64, shape (m,)
        The caller's row of G of each cone row.
    M_indptr, M_indices, M_data : the stacked matrix in CSC
    P : the quadratic term, a `Hessian`
    c, g : the vectors
    D, E, factor : the equilibration
    """

    def __init__(self, program: ConeProgram, equilibrate: bool = True) -> None:
        self.n, self.p = program.n, program.p
        self.rows, self.l, self.ptr = _sort_rows(program)
        self.m = self.rows.size
        self._stack(program)
        self._read(program)
        self.D, self.E, self.factor = np.ones(self.n), np.ones(self.p + self.m), 1.0
        if equilibrate:
            self._ruiz()
        self._scale()

    def refresh(self, program: ConeProgram) -> None:
        """New values in the old pattern, under the stored equilibration."""
        self._read(program)
        self._scale()

    def refresh_vectors(self, program: ConeProgram) -> None:
        """New vectors c, b, h only."""
        self.raw_c, self.raw_g = program.c, np.concatenate([program.b, program.h[self.rows]])
        self._scale_vectors()

    def _stack(self, program: ConeProgram) -> None:
        """The pattern of M = [A; G] with sorted indices, and for each entry its place in (A.data, G.data)."""
        place = np.full(program.m, -1, dtype=np.int64)
        place[self.rows] = np.arange(self.m)
        columns = np.concatenate([_columns(program.A), _columns(program.G)])
        row = np.concatenate(
            [program.A.indices, np.where(place[program.G.indices] < 0, -1, place[program.G.indices] + self.p)]
        )
        source = np.flatnonzero(row >= 0)
        row, columns = row[source], columns[source]
        # stable bucket sort by row, then by column
        order = np.argsort(row, kind="stable")
        order = order[np.argsort(columns[order], kind="stable")]
        self.M_indices = np.ascontiguousarray(row[order])
        self.M_source = np.ascontiguousarray(source[order])
        self.M_indptr = np.zeros(self.n + 1, dtype=np.int64)
        np.cumsum(np.bincount(columns, minlength=self.n), out=self.M_indptr[1:])

    def _read(self, program: ConeProgram) -> None:
        self.raw_P = as_operator(program.P, self.n)
        self.raw_M = np.concatenate([program.A.data, program.G.data])[self.M_source]
        self.raw_c = program.c
        self.raw_g = np.concatenate([program.b, program.h[self.rows]])

    def _ruiz(self, passes: int = 10, limit: float = 1e4) -> None:
        """Bring the infinity norms of the rows and columns of [P M'; M 0] near one (Ruiz 2001)."""
        for _ in range(passes):
            column_norms, row_norms = np.zeros(self.n), np.zeros(self.p + self.m)
            self.raw_P.raise_norms(self.D, column_norms)
            scaled_norms(self.M_indptr, self.M_indices, self.raw_M, self.E, self.D, row_norms, column_norms)
            self._average_cones(row_norms)
            column_norms[column_norms == 0.0] = 1.0
            row_norms[row_norms == 0.0] = 1.0
            if max(np.abs(column_norms - 1.0).max(initial=0.0), np.abs(row_norms - 1.0).max(initial=0.0)) < 0.05:
                break
            self.D = np.clip(self.D / np.sqrt(column_norms), 1.0 / limit, limit)
            self.E = np.clip(self.E / np.sqrt(row_norms), 1.0 / limit, limit)
        cost = np.abs(self.D * self.raw_c).max(initial=0.0)
        if self.n and not self.raw_P.is_zero:
            norms = np.zeros(self.n)
            self.raw_P.raise_norms(self.D, norms)
            cost = max(cost, norms.mean())
        if cost > 0.0:
            self.factor = min(max(1.0 / cost, 1.0 / limit), limit)

    def _average_cones(self, row_norms: np.ndarray) -> None:
        """One norm a second-order cone: the mean over its rows."""
        if self.ptr.size > 1:
            start = self.p + self.l
            sizes = np.diff(self.ptr)
            sums = np.add.reduceat(row_norms[start:], self.ptr[:-1] - self.l)
            row_norms[start:] = np.repeat(sums / sizes, sizes)

    def _scale(self) -> None:
        self.P = self.raw_P.scaled(self.D, self.factor)
        self.M_data = np.empty_like(self.raw_M)
        scale(self.M_indptr, self.M_indices, self.raw_M, self.E, self.D, 1.0, self.M_data)
        self._scale_vectors()

    def _scale_vectors(self) -> None:
        self.c = self.factor * self.D * self.raw_c
        self.g = self.E * self.raw_g

    def rows_of_M(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M by rows: indptr, column indices, and the place of each entry in M_data."""
        return transposed(self.p + self.m, self.M_indptr, self.M_indices)


def _columns(matrix) -> np.ndarray:
    return np.repeat(np.arange(matrix.shape[1], dtype=np.int64), np.diff(matrix.indptr))


def _sort_rows(program: ConeProgram) -> tuple[np.ndarray, int, np.ndarray]:
    """The order of the rows (orthant first), the size of the orthant, and the second-order cones' boundaries."""
    orthant, second_order, sizes = [], [], []
    start = 0
    for cone in program.cones:
        rows = np.arange(start, start + cone.dim, dtype=np.int64)
        if isinstance(cone, SecondOrder) and cone.dim >= 2:
            second_order.append(rows)
            sizes.append(cone.dim)
        else:
            orthant.append(rows[np.isfinite(program.h[rows])])
        start += cone.dim
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *orthant, *second_order])
    l = sum(part.size for part in orthant)
    return rows, l, l + np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
