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

from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, floats, integer, integers, number
from ..linalg.csc import multiply_symmetric, scale, scaled_norms, transposed
from ..linalg.dense import multiply_low_rank, multiply_symmetric_dense
from ..problem.program import ConeProgram
from .hessian import DenseHessian, Hessian, LowRankHessian, as_operator

PASSES, LIMIT = 10, 1e4  # of the equilibration: sweeps at most, and how far from one its scales may go
NO_HESSIAN, SPARSE, DENSE, LOW_RANK = range(4)  # storage of P
NONE, NO_DATA = np.zeros(0, np.int64), np.zeros(0)


class StandardForm(Structure):
    """An equilibrated cone program.

    Parameters
    ----------
    program : ConeProgram
    equilibrate : bool

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
    D, E, cost_scale : the equilibration, f being cost_scale
    norm_c, norm_g : float
        The infinity norms of the caller's c and (b, h).
    """

    n, p, m, l = integer(), integer(), integer(), integer()
    ptr, rows = integers(), integers()
    M_indptr, M_indices, M_data = integers(), integers(), floats()
    hessian_kind, rank = integer(), integer()
    P_indptr, P_indices, P_data = integers(), integers(), floats()
    P_dense = floats()  # by rows
    F, d, Fx = floats(), floats(), floats()  # P = F F' + diag(d), F by columns, and a place for F'x
    c, g = floats("n"), floats("p + m")
    D, E = floats("n"), floats("p + m")
    cost_scale, norm_c, norm_g = number(), number(), number()

    def __init__(self, program: ConeProgram, equilibrate: bool = True) -> None:
        n, p = program.n, program.p
        start, second_order = program.cone_layout
        rows, ptr = np.empty(program.m, np.int64), np.empty(second_order.size + 1, np.int64)
        cones = sort_rows(start, second_order, program.h, rows, ptr)
        l, m = ptr.item(0), ptr.item(cones)
        super().__init__(n=n, p=p, m=m)
        self.n, self.p, self.m, self.l, self.cost_scale = n, p, m, l, 1.0
        self.rows, self.ptr = rows[:m], ptr[: cones + 1]
        self._stack(program)
        self._read(program)
        indptr, indices, data = self.raw_P.largest_entries() if equilibrate else (NONE, NONE, NO_DATA)
        equilibrate_data(self, equilibrate, self.raw_M, self.raw_c, indptr, indices, data, np.empty(n + p + m))
        self._scale()

    def refresh(self, program: ConeProgram) -> None:
        """New values in the old pattern, under the stored equilibration."""
        self._read(program)
        self._scale()

    def refresh_vectors(self, program: ConeProgram) -> None:
        """New vectors c, b, h only."""
        self._read_vectors(program)
        scale_vectors(self, self.raw_c, self.raw_g)

    def _stack(self, program: ConeProgram) -> None:
        """The pattern of M = [A; G] with sorted indices, and for each entry its place in (A.data, G.data)."""
        A, G, n = program.A, program.G, program.n
        size, rows = A.data.size + G.data.size, program.p + self.m + 1
        indptr, indices, source = np.empty(n + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
        work = np.empty(2 * size + 2 * rows + n + program.m, np.int64)
        count = stack(self, program.m, A.indptr, A.indices, G.indptr, G.indices, indptr, indices, source, work)
        self.M_indptr, self.M_indices, self.M_source = indptr, indices[:count], source[:count]

    def _read(self, program: ConeProgram) -> None:
        self.raw_P = as_operator(program.P, program.n)
        self.raw_M = np.empty(self.M_source.size)
        gather(program.A.data, program.G.data, self.M_source, self.raw_M)
        self._read_vectors(program)

    def _read_vectors(self, program: ConeProgram) -> None:
        self.raw_c, self.raw_g = program.c, np.empty(program.p + self.m)
        gather_rhs(program.b, program.h, self.rows, self.raw_g)

    def _scale(self) -> None:
        self.bind_hessian(self.raw_P.scaled(self.D, self.cost_scale))
        self.M_data = np.empty(self.raw_M.size)
        scale(self.M_indptr, self.M_indices, self.raw_M, self.E, self.D, 1.0, self.M_data)
        scale_vectors(self, self.raw_c, self.raw_g)

    def bind_hessian(self, P: Hessian) -> None:
        """Take P, already equilibrated, as the quadratic term."""
        self.P = P
        if P.is_zero:
            self.hessian_kind = NO_HESSIAN
        elif isinstance(P, DenseHessian):
            self.hessian_kind, self.P_dense = DENSE, P.array.reshape(-1)
        elif isinstance(P, LowRankHessian):
            self.hessian_kind, self.rank = LOW_RANK, P.F.shape[1]
            self.F, self.d, self.Fx = np.ascontiguousarray(P.F.T).reshape(-1), P.d, np.zeros(P.F.shape[1])
        else:
            self.hessian_kind = SPARSE
            self.P_indptr, self.P_indices, self.P_data = P.indptr, P.indices, P.data

    def rows_of_M(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M by rows: indptr, column indices, and the place of each entry in M_data."""
        return transposed(self.p + self.m, self.M_indptr, self.M_indices)


@inner
def multiply_hessian(form: StandardForm, x: Floats, out: Floats) -> None:
    """out[:n] := P x[:n]."""
    if form.hessian_kind == DENSE:
        multiply_symmetric_dense(form.n, form.P_dense, x, out)
    elif form.hessian_kind == SPARSE:
        multiply_symmetric(form.P_indptr, form.P_indices, form.P_data, x, out)
    elif form.hessian_kind == LOW_RANK:
        multiply_low_rank(form.n, form.rank, form.F, form.d, x, form.Fx, out)
    else:
        for j in range(form.n):
            out[j] = 0.0


@kernel
def sort_rows(start: Ints, second_order: Bools, h: Floats, rows: Ints, ptr: Ints) -> int:
    """rows := the order of the rows (finite ones of the orthant first), ptr := the boundaries of the cones behind it.

    Returns the number of these; one of dimension one is a half-line.
    """
    count, cones = 0, 0
    for second in range(2):
        for k in range(second_order.size):
            is_cone = second_order[k] and start[k + 1] - start[k] >= 2
            if is_cone != (second == 1):
                continue
            for i in range(start[k], start[k + 1]):
                if is_cone or math.isfinite(h[i]):
                    rows[count] = i
                    count += 1
            if is_cone:
                cones += 1
                ptr[cones] = count
        if second == 0:
            ptr[0] = count
    return cones


@kernel
def stack(
    form: StandardForm, m: int, A_indptr: Ints, A_indices: Ints, G_indptr: Ints, G_indices: Ints, indptr: Ints,
    indices: Ints, source: Ints, work: Ints,
) -> int:  # fmt: skip
    """The pattern of M by columns, rows ascending, and for each entry its place in (A.data, G.data); returns its size.

    The m rows of G that are not in the form are left out.  `work` has room for two numbers an entry and a row of M, one
    a variable and one a row of G.
    """
    n, p, rows, size = form.n, form.p, form.rows, indices.size
    column, entry, rest = work[:size], work[size : 2 * size], work[2 * size :]
    row_start, row_fill = rest[: p + rows.size + 1], rest[p + rows.size + 1 : 2 * (p + rows.size + 1)]
    column_fill, place = rest[2 * (p + rows.size + 1) :], rest[2 * (p + rows.size + 1) + n :]
    for i in range(row_start.size):
        row_start[i] = 0
    for i in range(m):
        place[i] = -1
    for i in range(rows.size):
        place[rows[i]] = p + i
    indptr[0] = 0
    for j in range(n):
        count = A_indptr[j + 1] - A_indptr[j]
        for k in range(A_indptr[j], A_indptr[j + 1]):
            row_start[A_indices[k] + 1] += 1
        for k in range(G_indptr[j], G_indptr[j + 1]):
            if place[G_indices[k]] >= 0:
                row_start[place[G_indices[k]] + 1] += 1
                count += 1
        column_fill[j], indptr[j + 1] = indptr[j], indptr[j] + count
    for i in range(p + rows.size):
        row_fill[i] = row_start[i]
        row_start[i + 1] += row_start[i]
    # two bucket sorts: by rows, then, stable, by columns
    for j in range(n):
        for k in range(A_indptr[j], A_indptr[j + 1]):
            at = row_fill[A_indices[k]]
            column[at], entry[at] = j, k
            row_fill[A_indices[k]] += 1
        for k in range(G_indptr[j], G_indptr[j + 1]):
            i = place[G_indices[k]]
            if i >= 0:
                column[row_fill[i]], entry[row_fill[i]] = j, A_indptr[n] + k
                row_fill[i] += 1
    for i in range(p + rows.size):
        for q in range(row_start[i], row_start[i + 1]):
            at = column_fill[column[q]]
            indices[at], source[at] = i, entry[q]
            column_fill[column[q]] += 1
    return indptr[n]


@kernel
def equilibrate_data(
    form: StandardForm, wanted: bool, M_data: Floats, c: Floats, P_indptr: Ints, P_indices: Ints, P_data: Floats,
    norms: Floats,
) -> None:  # fmt: skip
    """D, E and the scale of the objective; ones where it is not `wanted`."""
    D, E = form.D, form.E
    for j in range(D.size):
        D[j] = 1.0
    for i in range(E.size):
        E[i] = 1.0
    if wanted:
        ruiz(form, M_data, P_indptr, P_indices, P_data, norms)
        cost = objective_size(D, c, P_indptr, P_indices, P_data, norms)
        if cost > 0.0:
            form.cost_scale = min(max(1.0 / cost, 1.0 / LIMIT), LIMIT)


@inner
def ruiz(form: StandardForm, M_data: Floats, P_indptr: Ints, P_indices: Ints, P_data: Floats, norms: Floats) -> None:
    """Bring the infinity norms of the rows and columns of [D P D, D M'E; E M D, 0] near one.

    A second-order cone has one norm, the mean over its rows.  `norms` has a place for each column, then row.
    """
    n, p, ptr, D, E = form.n, form.p, form.ptr, form.D, form.E
    columns, rows = norms[:n], norms[n:]
    for _ in range(PASSES):
        for k in range(norms.size):
            norms[k] = 0.0
        scaled_norms(P_indptr, P_indices, P_data, D, D, columns, columns)
        scaled_norms(form.M_indptr, form.M_indices, M_data, E, D, rows, columns)
        for k in range(ptr.size - 1):
            total = 0.0
            for i in range(p + ptr[k], p + ptr[k + 1]):
                total += rows[i]
            for i in range(p + ptr[k], p + ptr[k + 1]):
                rows[i] = total / (ptr[k + 1] - ptr[k])
        farthest = 0.0
        for k in range(norms.size):
            if norms[k] == 0.0:
                norms[k] = 1.0
            farthest = max(farthest, abs(norms[k] - 1.0))
        if farthest < 0.05:
            break
        for j in range(n):
            D[j] = min(max(D[j] / math.sqrt(columns[j]), 1.0 / LIMIT), LIMIT)
        for i in range(rows.size):
            E[i] = min(max(E[i] / math.sqrt(rows[i]), 1.0 / LIMIT), LIMIT)


@inner
def objective_size(D: Floats, c: Floats, P_indptr: Ints, P_indices: Ints, P_data: Floats, norms: Floats) -> float:
    """The larger of max |D c| and the mean of the infinity norms of the columns of D P D."""
    size, total = 0.0, 0.0
    for j in range(D.size):
        norms[j] = 0.0
    scaled_norms(P_indptr, P_indices, P_data, D, D, norms, norms)
    for j in range(D.size):
        size = max(size, abs(D[j] * c[j]))
        total += norms[j]
    return max(size, total / max(D.size, 1))


@kernel
def gather(first: Floats, second: Floats, source: Ints, out: Floats) -> None:
    """out := the entries of (first, second) in the places of source."""
    for k in range(source.size):
        i = source[k]
        out[k] = first[i] if i < first.size else second[i - first.size]


@kernel
def gather_rhs(b: Floats, h: Floats, rows: Ints, out: Floats) -> None:
    """out := (b, h in the order of rows)."""
    for i in range(b.size):
        out[i] = b[i]
    for i in range(rows.size):
        out[b.size + i] = h[rows[i]]


@kernel
def scale_vectors(form: StandardForm, raw_c: Floats, raw_g: Floats) -> None:
    """c := f D c and g := E g, and the norms of the caller's."""
    D, E, c, g = form.D, form.E, form.c, form.g
    norm_c, norm_g = 0.0, 0.0
    for j in range(c.size):
        c[j] = form.cost_scale * D[j] * raw_c[j]
        norm_c = max(norm_c, abs(raw_c[j]))
    for i in range(g.size):
        g[i] = E[i] * raw_g[i]
        norm_g = max(norm_g, abs(raw_g[i]))
    form.norm_c, form.norm_g = norm_c, norm_g


@kernel
def unscale(
    form: StandardForm, tau: float, u: Floats, s: Floats, x: Floats, y: Floats, z: Floats, slack: Floats
) -> None:
    """(x, y, z, slack) := the equilibrated point (u, s) in the caller's units and row order, divided by tau."""
    n, p, D, E, rows = form.n, form.p, form.D, form.E, form.rows
    for j in range(n):
        x[j] = D[j] * u[j] / tau
    for i in range(p):
        y[i] = E[i] * u[n + i] / (form.cost_scale * tau)
    for i in range(rows.size):
        z[rows[i]] = E[p + i] * u[n + p + i] / (form.cost_scale * tau)
        slack[rows[i]] = s[i] / (E[p + i] * tau)
