"""The standard form that the engine works on: rows sorted by cone, equalities on top, data equilibrated.

With M = [A; G] (the rows of G permuted so that the orthant comes first, rows with h = inf left out),
v = (y, z), g = (b, h), the equilibrated data are

    P := f D P D    c := f D c    M := E M D    g := E g

and the caller's iterate is x = D x, s = E^-1 s, v = E v / f of the equilibrated one.  E is constant on
each second-order cone, so that E s stays in the cone.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.jit import kernel
from ..linalg.csc import scale, scaled_norms, transposed
from ..problem.program import ConeProgram
from .hessian import as_operator

# of the equilibration: sweeps at most (a literal would be a second signature), and how far from one its scales may go
PASSES, LIMIT = np.int64(10), 1e4


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
        self.rows, self.ptr = sort_rows(*program.cone_layout, program.h)
        self.l, self.m = int(self.ptr[0]), self.rows.size
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
        self._read_vectors(program)
        self._scale_vectors()

    def _stack(self, program: ConeProgram) -> None:
        """The pattern of M = [A; G] with sorted indices, and for each entry its place in (A.data, G.data)."""
        place = np.full(program.m, -1, dtype=np.int64)
        place[self.rows] = np.arange(self.m)
        A, G = program.A, program.G
        size = A.data.size + G.data.size
        self.M_indptr = np.zeros(self.n + 1, dtype=np.int64)
        self.M_indices, self.M_source = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        stack(
            self.n, self.p, self.m, place, A.indptr, A.indices, G.indptr, G.indices, self.M_indptr, self.M_indices,
            self.M_source,
        )  # fmt: skip
        if self.M_indptr[-1] < size:
            self.M_indices = self.M_indices[: self.M_indptr[-1]].copy()
            self.M_source = self.M_source[: self.M_indptr[-1]].copy()

    def _read(self, program: ConeProgram) -> None:
        self.raw_P = as_operator(program.P, self.n)
        self.raw_M = np.empty(self.M_source.size)
        gather(program.A.data, program.G.data, self.M_source, self.raw_M)
        self._read_vectors(program)

    def _read_vectors(self, program: ConeProgram) -> None:
        self.raw_c, self.raw_g = program.c, np.empty(self.p + self.m)
        gather_sides(program.b, program.h, self.rows, self.raw_g)

    def _ruiz(self) -> None:
        """Bring the infinity norms of the rows and columns of [P M'; M 0] near one (Ruiz 2001)."""
        entries = self.raw_P.largest_entries()
        ruiz(self.p, self.ptr, self.M_indptr, self.M_indices, self.raw_M, *entries, PASSES, LIMIT, self.D, self.E)
        cost = objective_size(self.D, self.raw_c, *entries)
        if cost > 0.0:
            self.factor = min(max(1.0 / cost, 1.0 / LIMIT), LIMIT)

    def _scale(self) -> None:
        self.P = self.raw_P.scaled(self.D, self.factor)
        self.M_data = np.empty_like(self.raw_M)
        scale(self.M_indptr, self.M_indices, self.raw_M, self.E, self.D, 1.0, self.M_data)
        self._scale_vectors()

    def _scale_vectors(self) -> None:
        self.c, self.g = np.empty(self.n), np.empty(self.p + self.m)
        scale_vectors(self.factor, self.D, self.E, self.raw_c, self.raw_g, self.c, self.g)

    def rows_of_M(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M by rows: indptr, column indices, and the place of each entry in M_data."""
        return transposed(self.p + self.m, self.M_indptr, self.M_indices)


@kernel
def stack(n, p, m, place, A_indptr, A_indices, G_indptr, G_indices, indptr, indices, source):
    """The pattern of M by columns, rows ascending, and for each entry its place in (A.data, G.data).

    Row i of G is row p + place[i] of M, or none for a negative place.
    """
    row_start = np.zeros(p + m + 1, np.int64)
    for j in range(n):
        indptr[j + 1] = A_indptr[j + 1] - A_indptr[j]
        for k in range(A_indptr[j], A_indptr[j + 1]):
            row_start[A_indices[k] + 1] += 1
        for k in range(G_indptr[j], G_indptr[j + 1]):
            if place[G_indices[k]] >= 0:
                row_start[p + place[G_indices[k]] + 1] += 1
                indptr[j + 1] += 1
    for j in range(n):
        indptr[j + 1] += indptr[j]
    for i in range(p + m):
        row_start[i + 1] += row_start[i]
    # two bucket sorts: by rows, then, stable, by columns
    column, entry = np.empty(indptr[n], np.int64), np.empty(indptr[n], np.int64)
    fill = row_start.copy()
    for j in range(n):
        for k in range(A_indptr[j], A_indptr[j + 1]):
            at = fill[A_indices[k]]
            column[at], entry[at] = j, k
            fill[A_indices[k]] += 1
        for k in range(G_indptr[j], G_indptr[j + 1]):
            i = place[G_indices[k]]
            if i >= 0:
                at = fill[p + i]
                column[at], entry[at] = j, A_indptr[n] + k
                fill[p + i] += 1
    fill = indptr.copy()
    for i in range(p + m):
        for q in range(row_start[i], row_start[i + 1]):
            at = fill[column[q]]
            indices[at], source[at] = i, entry[q]
            fill[column[q]] += 1


@kernel
def ruiz(p, ptr, M_indptr, M_indices, M_data, P_indptr, P_indices, P_data, passes, limit, D, E):
    """Bring the infinity norms of the rows and columns of [D P D, D M'E; E M D, 0] near one.

    A second-order cone has one norm, the mean over its rows.
    """
    columns, rows = np.empty(D.size), np.empty(E.size)
    for _ in range(passes):
        columns[:] = 0.0
        rows[:] = 0.0
        scaled_norms(P_indptr, P_indices, P_data, D, D, columns, columns)
        scaled_norms(M_indptr, M_indices, M_data, E, D, rows, columns)
        for k in range(ptr.size - 1):
            cone = rows[p + ptr[k] : p + ptr[k + 1]]
            cone[:] = cone.sum() / cone.size
        if max(farthest_from_one(columns), farthest_from_one(rows)) < 0.05:
            break
        divide_by_root(columns, limit, D)
        divide_by_root(rows, limit, E)


@kernel
def farthest_from_one(norms):
    """max |norm - 1|; a norm of zero becomes one."""
    worst = 0.0
    for i in range(norms.size):
        if norms[i] == 0.0:
            norms[i] = 1.0
        worst = max(worst, abs(norms[i] - 1.0))
    return worst


@kernel
def divide_by_root(norms, limit, scales):
    """scales := scales / sqrt(norms), between 1 / limit and limit."""
    for i in range(scales.size):
        scales[i] = min(max(scales[i] / math.sqrt(norms[i]), 1.0 / limit), limit)


@kernel
def objective_size(D, c, P_indptr, P_indices, P_data):
    """The larger of max |D c| and the mean of the infinity norms of the columns of D P D."""
    norms, size = np.zeros(D.size), 0.0
    scaled_norms(P_indptr, P_indices, P_data, D, D, norms, norms)
    for j in range(D.size):
        size = max(size, abs(D[j] * c[j]))
    return max(size, norms.sum() / max(D.size, 1))


@kernel
def gather(first, second, source, out):
    """out := the entries of (first, second) in the places of source."""
    for k in range(source.size):
        i = source[k]
        out[k] = first[i] if i < first.size else second[i - first.size]


@kernel
def gather_sides(b, h, rows, out):
    """out := (b, h in the order of rows)."""
    for i in range(b.size):
        out[i] = b[i]
    for i in range(rows.size):
        out[b.size + i] = h[rows[i]]


@kernel
def scale_vectors(factor, D, E, raw_c, raw_g, c, g):
    """c := factor D c and g := E g."""
    for j in range(c.size):
        c[j] = factor * D[j] * raw_c[j]
    for i in range(g.size):
        g[i] = E[i] * raw_g[i]


@kernel
def unscale(rows, D, E, factor, tau, u, s, x, y, z, slack):
    """(x, y, z, slack) := the equilibrated point (u, s) in the caller's units and row order, divided by tau."""
    n, p = x.size, y.size
    for j in range(n):
        x[j] = D[j] * u[j] / tau
    for i in range(p):
        y[i] = E[i] * u[n + i] / (factor * tau)
    for i in range(rows.size):
        z[rows[i]] = E[p + i] * u[n + p + i] / (factor * tau)
        slack[rows[i]] = s[i] / (E[p + i] * tau)


@kernel
def sort_rows(start, second_order, h):
    """The order of the rows (finite ones of the orthant first) and the boundaries of the second-order cones.

    A second-order cone of dimension one is a half-line.
    """
    rows, ptr, count, cones = np.empty(h.size, np.int64), np.empty(second_order.size + 1, np.int64), 0, 0
    for pass_ in range(2):
        for k in range(second_order.size):
            is_cone = second_order[k] and start[k + 1] - start[k] >= 2
            if is_cone != (pass_ == 1):
                continue
            for i in range(start[k], start[k + 1]):
                if is_cone or math.isfinite(h[i]):
                    rows[count] = i
                    count += 1
            if is_cone:
                cones += 1
                ptr[cones] = count
        if pass_ == 0:
            ptr[0] = count
    return rows[:count].copy(), ptr[: cones + 1].copy()
