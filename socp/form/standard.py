"""The standard form that the engine works on: rows sorted by cone, equalities on top, data equilibrated.

With M = [A; G] (the rows of G permuted so that the orthant comes first, rows with h = inf left out),
v = (y, z), g = (b, h), the equilibrated data are

    P := f D P D    c := f D c    M := E M D    g := E g

and x = D x, s = E^-1 s, v = E v / f turns an equilibrated iterate into the caller's.  E is constant on each
second-order cone, so that E s stays in the cone.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import deferred_kernel, inner, kernel
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, dimension, flag, floats, integer, integers, number, part
from ..linalg.csc import multiply_transposed, scale, scaled_norms, transpose
from ..linalg.dense import multiply_low_rank, multiply_symmetric_dense
from ..problem.checks import ProgramError
from ..problem.hessian import GLANCE, DenseHessian, Hessian, hessian_of
from ..problem.program import ConeProgram
from .convexity import is_semidefinite, refusal
from .row_groups import RowGroups, find_groups, is_bound, parallel_in_orthant, scale_groups

Sizes = tuple[int, int, int, int, int, int]  # n, p, m, l, cones, entries
PASSES, LIMIT = 10, 1e4  # equilibration: most sweeps; largest scale (the smallest is 1 / LIMIT)
WIDE = LIMIT * LIMIT  # largest scale where LIMIT is reached
COST_LIMIT = 10.0  # largest scale of a quadratic objective; the smallest is 1 / COST_LIMIT
NO_HESSIAN, SPARSE, DENSE, LOW_RANK = range(4)  # storage of P


class StackedProgram(ConeProgram):
    """A cone program that knows the sizes of its standard form and stacks its data there itself.

    A and G need not exist until they are read.
    """

    sizes: Sizes
    hessian_is_tested = False  # whether P is known to be semidefinite
    groups_are_told = False  # whether `stack` writes which rows are parallel

    def stack(self, form: StandardForm) -> None:
        """Write to `form` all that the functions `stack` and `read` write, and `lead` and `ratio` of told groups."""
        raise NotImplementedError

    def has_pattern_of(self, other: ConeProgram) -> bool:
        """Return True if `other` has equal patterns of A and G, equal cones and equal always-true rows."""
        raise NotImplementedError


class StandardForm(Structure):
    """An equilibrated cone program.

    Parameters
    ----------
    program : ConeProgram
    equilibrate : bool
    sizes : Sizes, optional
        Sizes of the program, if they are known.
    limit : float
        Largest scale that the equilibration may take, `LIMIT` or `WIDE`.

    Attributes
    ----------
    n, p, m, l, cones : int
        Numbers of variables, equalities, finite cone rows, cone rows in the orthant, and second-order cones.
    distinct, bounds : int
        Numbers of cone rows that are neither bounds nor multiples of others, and of bounds.
    ptr : array of int64
        Second-order cone k has cone rows ptr[k] to ptr[k + 1].
    rows : array of int64, shape (m,)
        Row of the caller's G for each cone row.
    M_indptr, M_indices, M_data : the stacked matrix in CSC
    Mt_indptr, Mt_indices, Mt_source : M' in CSC (the rows of M), and for each entry its place in M_data
    raw_M, raw_c, raw_g : the caller's values, stacked and in the order of the rows
    P : the quadratic term, a `Hessian`
    c, g : the equilibrated vectors
    most, limit : largest scale allowed, and the limit of this form's scales
    D, E, cost_scale : scales of the variables, of the rows and of the objective (f)
    norm_c, norm_b, norm_h : float
        The infinity norms of the caller's c, b and finite h.
    objective_unit : float
        The program's `objective_unit`.
    entries : int
        Number of stored entries of M.
    groups : RowGroups
        Bounds and merged rows of the orthant.
    is_pooled : bool
        Whether a finished program leaves its memory to the next one (see `method.workspace`).
    """

    is_pooled = False
    caller_rows = 0  # rows of the caller's G
    _owns_P = False

    n, p, m, l, cones, entries = dimension(), dimension(), dimension(), dimension(), dimension(), dimension()
    ptr, rows = integers("cones + 1"), integers("m")
    M_indptr, M_indices, M_data = integers("n + 1"), integers("entries", scratch=True), floats("entries", scratch=True)
    Mt_indptr, Mt_indices = integers("p + m + 1"), integers("entries", scratch=True)
    Mt_source = integers("entries", scratch=True)
    M_source = integers("entries", scratch=True)  # place of each entry in (A.data, G.data)
    raw_M, raw_c, raw_g = floats("entries", scratch=True), floats("n", scratch=True), floats("p + m", scratch=True)
    hessian_kind, rank = integer(), integer()
    P_indptr, P_indices, P_data = integers(), integers(), floats()
    P_dense = floats()  # a dense P by rows
    F, d, Fx = floats(), floats(), floats()  # low-rank P = F F' + diag(d), F by columns; workspace for F'x
    spread_M, is_spread, product = floats(), flag(), floats("p + m")  # dense M, whether it is used, workspace
    c, g = floats("n", scratch=True), floats("p + m", scratch=True)
    D, E = floats("n", scratch=True), floats("p + m", scratch=True)
    norms = floats("n + p + m", scratch=True)  # norms of columns, then of rows, in the equilibration
    diagonal = floats()  # diagonal of the caller's P if it is dense or of low rank
    cost_scale, norm_c, norm_b, norm_h, limit, most = (number() for _ in range(6))
    objective_unit = number()
    distinct, bounds, groups = integer(), integer(), part(RowGroups)

    def __init__(
        self, program: ConeProgram, equilibrate: bool = True, sizes: Sizes | None = None, limit: float = WIDE
    ) -> None:
        self.sizes = sizes or sizes_of(program)
        n, p, m, l, cones, entries = self.sizes
        super().__init__(n=n, p=p, m=m, l=l, cones=cones, entries=entries)
        self.most = limit
        self.take(program, equilibrate)

    def take(self, program: ConeProgram, equilibrate: bool) -> None:
        """Stack and equilibrate `program`, whose sizes must be the sizes of this form."""
        self.caller_rows = program.h.size
        values = self._bind_copy(program.hessian)
        self.groups.are_told = isinstance(program, StackedProgram) and program.groups_are_told
        if isinstance(program, StackedProgram):
            program.stack(self)
        else:
            A, G = program.A, program.G
            stack(self, *program.cone_layout, program.h, A.indptr, A.indices, G.indptr, G.indices)
            read(self, A.data, G.data, program.c, program.b, program.h)
        self._settle(program, set_up(self, values, equilibrate))

    def refresh(self, program: ConeProgram) -> None:
        """Copy the values of a program with the stored pattern, and scale them by the stored equilibration."""
        values = self._bind_copy(program.hessian)
        if isinstance(program, StackedProgram):
            program.stack(self)
        else:
            read(self, program.A.data, program.G.data, program.c, program.b, program.h)
        self._settle(program, scale_data(self, values))

    def refresh_vectors(self, program: ConeProgram) -> None:
        """Copy the vectors c, b and h, and scale them by the stored equilibration."""
        renew_vectors(self, program.c, program.b, program.h)
        self.objective_unit = program.objective_unit

    def rescale(self, program: ConeProgram, equilibrate: bool) -> bool:
        """Copy new vectors, and set the scale of the objective as a new form would; return True if it changed.

        D and E do not depend on vectors: the form then equals a new form of the program, to the bit.
        """
        before = self.cost_scale
        self.refresh_vectors(program)
        set_cost_scale(self, program.hessian.values, equilibrate)
        if self.cost_scale == before:
            return False
        self.refresh(program)
        return True

    def groups_hold(self) -> bool:
        """Return True if the merged rows are still parallel for the current values; update their factors."""
        return bool(groups_hold(self))

    def check_convexity(self, program: ConeProgram, wanted: bool = True) -> None:
        """If `wanted`, raise ProgramError unless P is semidefinite; find the rank of a large dense P in any case."""
        if wanted and not (isinstance(program, StackedProgram) and program.hessian_is_tested):
            if not is_semidefinite(self.P, program.P_eps, self.D, self.cost_scale):
                raise ProgramError(refusal(program.hessian, program.P_eps))
        elif isinstance(self.P, DenseHessian) and self.n > GLANCE:
            self.P.find_rank()

    def _bind_copy(self, given: Hessian) -> np.ndarray:
        """Return the entries of the caller's P; bind memory for a scaled copy as `P`, reusing our own dense memory."""
        if self._owns_P and given.is_full and self.P.is_full:
            self.P.forget_rank()
        else:
            self.bind_hessian(given.empty_like())
        if not given.is_sparse:
            self.diagonal = np.array(given.diagonal())
        return given.values

    def _settle(self, program: ConeProgram, is_scaled: bool) -> None:
        """Bind P unless it was copied and scaled: the caller's arrays, or for a low rank P scaled factors."""
        self._owns_P, self.objective_unit = is_scaled, program.objective_unit
        if not is_scaled:
            self.bind_hessian(hessian_of(program.P, self.n).scaled(self.D, self.cost_scale))

    def bind_hessian(self, P: Hessian) -> None:
        """Set P as the quadratic term, and let the kernels multiply by its arrays."""
        self.P = P
        if P.is_zero:
            self.hessian_kind = NO_HESSIAN
        elif P.is_full:
            self.hessian_kind, self.P_dense = DENSE, P.values
        elif P.is_sparse:
            self.hessian_kind = SPARSE
            self.P_indptr, self.P_indices, self.P_data = P.indptr, P.indices, P.values
        else:
            F, self.d = P.low_rank_form()
            self.hessian_kind, self.rank = LOW_RANK, F.shape[1]
            self.F, self.Fx = np.ascontiguousarray(F.T).reshape(-1), np.zeros(F.shape[1])


@inner
def multiply_hessian(form: StandardForm, x: Floats, out: Floats) -> None:
    """out[:n] := P x[:n]."""
    if form.hessian_kind == DENSE:
        multiply_symmetric_dense(form.n, form.P_dense, x, out)
    elif form.hessian_kind == SPARSE:
        multiply_transposed(form.P_indptr, form.P_indices, form.P_data, x, out)
    elif form.hessian_kind == LOW_RANK:
        multiply_low_rank(form.n, form.rank, form.F, form.d, x, form.Fx, out)
    else:
        for j in range(form.n):
            out[j] = 0.0


@inner
def hessian_scales(form: StandardForm, P_values: Floats, scales: Floats) -> None:
    """scales[:n] := infinity norms of the columns of D P D if P is sparse, else its diagonal.

    A semidefinite P has |P_ij| <= max(P_ii, P_jj), so that the diagonal has the largest entry of each row and column
    once the sizes of the diagonal are equal.  It is all that a low rank knows of P without n^2 products.
    """
    n, D = form.n, form.D
    for j in range(n):
        scales[j] = 0.0
    if form.hessian_kind == SPARSE:
        scaled_norms(form.P_indptr, form.P_indices, P_values, D, D, scales, scales)
    elif form.hessian_kind != NO_HESSIAN:
        for j in range(n):
            scales[j] = abs(form.diagonal[j]) * D[j] ** 2


def sizes_of(program: ConeProgram) -> Sizes:
    """Return the dimensions of the standard form of a program."""
    if isinstance(program, StackedProgram):
        return program.sizes
    counts = np.empty(4, np.int64)
    count_rows(*program.cone_layout, program.h, program.G.indices, counts)
    m, l, cones, entries = counts.tolist()
    return program.c.size, program.b.size, m, l, cones, entries + program.A.data.size


@kernel
def count_rows(start: Ints, second_order: Bools, h: Floats, G_indices: Ints, sizes: Ints) -> None:
    """Count finite rows of G, finite rows in the orthant, second-order cones, and entries in finite rows, into `sizes`.

    A cone of dimension one is a half-line, which belongs to the orthant.
    """
    m, l, cones, entries = 0, 0, 0, G_indices.size
    for k in range(second_order.size):
        if second_order[k] and start[k + 1] - start[k] >= 2:
            m += start[k + 1] - start[k]
            cones += 1
            continue
        for i in range(start[k], start[k + 1]):
            l += int(math.isfinite(h[i]))
    if m + l < h.size:
        entries = 0
        for k in range(G_indices.size):
            entries += int(math.isfinite(h[G_indices[k]]))
    sizes[0], sizes[1], sizes[2], sizes[3] = m + l, l, cones, entries


@inner
def sort_rows(form: StandardForm, start: Ints, second_order: Bools, h: Floats) -> None:
    """rows := the finite rows of the orthant, then the rows of the cones; ptr := the boundaries of the cones."""
    rows, ptr, row, at, cone = form.rows, form.ptr, 0, form.l, 0
    ptr[0] = at
    for k in range(second_order.size):
        is_cone = second_order[k] and start[k + 1] - start[k] >= 2
        for i in range(start[k], start[k + 1]):
            if is_cone:
                rows[at] = i
                at += 1
            elif math.isfinite(h[i]):
                rows[row] = i
                row += 1
        if is_cone:
            cone += 1
            ptr[cone] = at


@kernel
def set_up(form: StandardForm, P_values: Floats, wanted: bool) -> bool:
    """Equilibrate and scale the stacked data, except a P of low rank; return True if P was scaled.

    D, E and the scale of the objective are ones if equilibration is not `wanted`.
    """
    form.bounds = find_groups(form.p, form.Mt_indptr, form.Mt_indices, form.Mt_source, form.raw_M, form.groups)
    form.distinct = form.groups.count + form.m - form.l
    D, E = form.D, form.E
    for j in range(D.size):
        D[j] = 1.0
    for i in range(E.size):
        E[i] = 1.0
    form.limit = LIMIT
    if wanted:
        ruiz(form, P_values)
        if form.most > LIMIT and is_cut_off(form):
            form.limit = form.most
            ruiz(form, P_values)
    set_cost_scale(form, P_values, wanted)
    return scale_data(form, P_values)


@kernel
def set_cost_scale(form: StandardForm, P_values: Floats, wanted: bool) -> None:
    """Set `cost_scale`, f, or 1 if equilibration is not `wanted`.

        f := sqrt(max |E g| / cost)    where P ties x to v,    1 / cost    where the objective is linear

    with the larger of max |D c| and the mean of the infinity norms of the columns of D P D as cost.

    The iterates x and s have the size of the sides, v has the size of f cost: f = side / cost would make them equal,
    and the root is between that and the caller's own scale.  A power of two causes no rounding, and does not change for
    similar vectors.  Linear programs gain nothing by the root, and infeasible ones take a tenth longer with it.
    """
    form.cost_scale = 1.0
    D, norms, cost, total = form.D, form.norms, 0.0, 0.0
    if wanted:
        hessian_scales(form, P_values, norms)
        for j in range(D.size):
            cost = max(cost, abs(D[j] * form.raw_c[j]))
            total += norms[j]
        cost = max(cost, total / max(D.size, 1))
    if cost > 0.0 and form.hessian_kind == NO_HESSIAN:
        form.cost_scale = min(max(1.0 / cost, 1.0 / form.limit), form.limit)
    elif cost > 0.0:
        E, raw_g, side = form.E, form.raw_g, 0.0
        for i in range(E.size):
            side = max(side, abs(E[i] * raw_g[i]))
        f = math.sqrt(side / cost) if side > 0.0 else 1.0 / cost
        form.cost_scale = 2.0 ** round(math.log2(min(max(f, 1.0 / COST_LIMIT), COST_LIMIT)))


@kernel
def stack(
    form: StandardForm, start: Ints, second_order: Bools, h: Floats, A_indptr: Ints, A_indices: Ints, G_indptr: Ints,
    G_indices: Ints,
) -> None:  # fmt: skip
    """Write the order of the rows, the sorted patterns of M by columns and by rows, and the source of each entry."""
    sort_rows(form, start, second_order, h)
    p, rows, indptr, columns, row_ptr = form.p, form.rows, form.M_indptr, form.Mt_indices, form.Mt_indptr
    indices, source, origin = form.M_indices, form.M_source, form.Mt_source
    place, at, is_sorted = np.full(h.size, -1), 0, True
    for i in range(rows.size):
        place[rows[i]] = p + i
    for j in range(form.n):
        indptr[j] = at
        for k in range(A_indptr[j], A_indptr[j + 1]):
            indices[at], source[at] = A_indices[k], k
            at += 1
        last = 0
        for k in range(G_indptr[j], G_indptr[j + 1]):
            i = place[G_indices[k]]
            if i >= 0:
                indices[at], source[at] = i, A_indices.size + k
                is_sorted &= i >= last
                last = i
                at += 1
    indptr[form.n] = at
    transpose(p + rows.size, indptr, indices, row_ptr, columns, origin)
    if is_sorted:
        return
    next_of, given = indptr[:-1].copy(), source.copy()  # The rows in their order sort each column.
    for i in range(p + rows.size):
        for k in range(row_ptr[i], row_ptr[i + 1]):
            at = next_of[columns[k]]
            indices[at], source[at], origin[k] = i, given[origin[k]], at
            next_of[columns[k]] = at + 1


@kernel
def read(form: StandardForm, A_data: Floats, G_data: Floats, c: Floats, b: Floats, h: Floats) -> None:
    """Copy the entries of A and G to their places in `raw_M`, and the vectors to `raw_c` and `raw_g`."""
    source, raw_M = form.M_source, form.raw_M
    for k in range(source.size):
        i = source[k]
        raw_M[k] = A_data[i] if i < A_data.size else G_data[i - A_data.size]
    read_vectors(form, c, b, h)


@inner
def read_vectors(form: StandardForm, c: Floats, b: Floats, h: Floats) -> None:
    """raw_c := c, raw_g := (b, h in the order of the rows)."""
    rows, raw_c, raw_g = form.rows, form.raw_c, form.raw_g
    for j in range(c.size):
        raw_c[j] = c[j]
    for i in range(b.size):
        raw_g[i] = b[i]
    for i in range(rows.size):
        raw_g[b.size + i] = h[rows[i]]


@deferred_kernel
def renew_vectors(form: StandardForm, c: Floats, b: Floats, h: Floats) -> None:
    """Copy the vectors c, b and h, and scale them by the stored equilibration."""
    read_vectors(form, c, b, h)
    scale_vectors(form)


@deferred_kernel
def groups_hold(form: StandardForm) -> bool:
    """Return True if the merged rows are still parallel for the current values; update their factors."""
    p, groups, lead, ratio = form.p, form.groups, form.groups.lead.copy(), form.groups.ratio.copy()
    if not groups.are_told:
        parallel_in_orthant(p, form.Mt_indptr, form.Mt_indices, form.Mt_source, form.raw_M, lead, ratio)
    for i in range(lead.size):
        is_alone = is_bound(p + i, form.Mt_indptr, form.Mt_source, form.raw_M)
        if lead[i] != groups.lead[i] or is_alone != (groups.variable[i] >= 0):
            return False
    for i in range(ratio.size):
        groups.ratio[i] = ratio[i]
    scale_groups(p, form.Mt_indptr, form.Mt_source, form.E, form.M_data, groups)
    return True


@inner
def is_cut_off(form: StandardForm) -> bool:
    """Return True if a scale of rows or columns has reached `LIMIT`."""
    for scales in (form.D, form.E):
        for i in range(scales.size):
            if not 1.0 / LIMIT < scales[i] < LIMIT:
                return True
    return False


@inner
def ruiz(form: StandardForm, P_values: Floats) -> None:
    """Bring the infinity norms of the rows and columns of [D P D, D M'E; E M D, 0] near one.

    A second-order cone has one norm, the mean over its rows.  Beyond `LIMIT` bounds have no part in the norms of
    columns: they would hold a variable in the units of its bound, x >= 0 in any units, and get their scales at the end.
    """
    D, E, is_wide, start = form.D, form.E, form.limit > LIMIT, form.Mt_indptr
    for j in range(D.size if is_wide else 0):
        D[j] = 1.0
    for i in range(E.size if is_wide else 0):
        E[i] = 0.0 if is_bound_row(form, i) else 1.0
    sweep(form, P_values)
    for i in range(E.size if is_wide else 0):
        if is_bound_row(form, i):
            size = abs(form.raw_M[form.Mt_source[start[i]]]) * D[form.Mt_indices[start[i]]]
            E[i] = min(max(1.0 / size, 1.0 / form.limit), form.limit) if size > 0.0 else 1.0


@inner
def is_bound_row(form: StandardForm, i: int) -> bool:
    """Return True if row i of M is a row of the orthant with one entry."""
    return form.p <= i < form.p + form.l and form.Mt_indptr[i + 1] - form.Mt_indptr[i] == 1


@inner
def sweep(form: StandardForm, P_values: Floats) -> None:
    """Divide D and E by the roots of the norms of columns and rows until these are near one; rows with E = 0 stay."""
    n, p, ptr, D, E, norms, limit = form.n, form.p, form.ptr, form.D, form.E, form.norms, form.limit
    columns, rows = norms[:n], norms[n:]
    for _ in range(PASSES):
        hessian_scales(form, P_values, columns)
        for i in range(rows.size):
            rows[i] = 0.0
        scaled_norms(form.M_indptr, form.M_indices, form.raw_M, E, D, rows, columns)
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
            D[j] = min(max(D[j] / math.sqrt(columns[j]), 1.0 / limit), limit)
        for i in range(rows.size):
            E[i] = min(max(E[i] / math.sqrt(rows[i]), 1.0 / limit), limit)


@kernel
def scale_data(form: StandardForm, P_values: Floats) -> bool:
    """Compute M := E M D, the factors of its groups, the vectors, and P := f D P D; return True if P was scaled.

    P is left alone if that would not change it, as often for kernel matrices, or if it is of low rank.
    """
    D, f, form.is_spread = form.D, form.cost_scale, False
    scale(form.M_indptr, form.M_indices, form.raw_M, form.E, form.D, 1.0, form.M_data)
    scale_groups(form.p, form.Mt_indptr, form.Mt_source, form.E, form.M_data, form.groups)
    scale_vectors(form)
    changed = f != 1.0
    for j in range(D.size):
        changed |= D[j] != 1.0
    if changed and form.hessian_kind == SPARSE:
        scale(form.P_indptr, form.P_indices, P_values, D, D, f, form.P_data)
    elif changed and form.hessian_kind == DENSE:
        for i in range(D.size):
            for at in range(i * D.size, (i + 1) * D.size):
                form.P_dense[at] = f * D[i] * D[at - i * D.size] * P_values[at]
    return changed and form.hessian_kind != LOW_RANK


@inner
def scale_vectors(form: StandardForm) -> None:
    """Compute c := f D c and g := E g, and the infinity norms of the caller's vectors."""
    D, E, c, g, raw_c, raw_g = form.D, form.E, form.c, form.g, form.raw_c, form.raw_g
    norm_c, norm_b, norm_h = 0.0, 0.0, 0.0
    for j in range(c.size):
        c[j] = form.cost_scale * D[j] * raw_c[j]
        norm_c = max(norm_c, abs(raw_c[j]))
    for i in range(g.size):
        g[i] = E[i] * raw_g[i]
        if i < form.p:
            norm_b = max(norm_b, abs(raw_g[i]))
        else:
            norm_h = max(norm_h, abs(raw_g[i]))
    form.norm_c, form.norm_b, form.norm_h = norm_c, norm_b, norm_h
