"""A quadratic program as the cone program that the engine solves, and the way back.

    minimize 1/2 x'Px + q'x   subject to   l <= Ax <= u,  lb <= x <= ub

Fixed variables (lb = ub) are substituted; rows with l = u are equalities; every other finite side is one
row of the nonnegative orthant, in the order

    G = [ A_u; -A_l; I_ub; -I_lb ],   h = [ u; -l; ub; -lb ],

of which the engine's KKT system sees only the distinct rows of A: the two sides of a row share one, and
bounds none.

What a row or variable is (its kind) follows from its sides alone.  All kernels go over the kinds in the order of the
program and count places as they meet them; nothing else has to be kept.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import deferred_kernel, inner, kernel, leaf
from socp.compiled.signatures import Floats, Ints
from socp.form.convexity import check_semidefinite
from socp.form.standard import Sizes, StackedProgram, StandardForm, read_vectors
from socp.linalg.csc import csc, same_places, transpose
from socp.problem.checks import INT
from socp.problem.hessian import hessian_of
from socp.problem.program import Cone, ConeProgram, Layout, NonNeg, layout_of
from socp.problem.settings import Settings
from socp.verify.stopping import LOST

from ..problem.program import QuadraticProgram
from .presolve import Presolve, presolve, rows_kept

UPPER, LOWER, EQUAL = (1 << bit for bit in range(3))  # what a kind is the sum of


class ConeForm:
    """Which variables are free and which sides are rows, for one pattern of finite sides.

    Parameters
    ----------
    program : QuadraticProgram

    Attributes
    ----------
    kinds : array of int64, shape (program.m + program.n,)
        Of each row, then each variable: `EQUAL` where its sides are equal, else the sum of `UPPER` and `LOWER` where it
        has such a finite side.
    n, p, m : int
        The sizes of the cone program: free variables, equalities, other finite sides.
    has_fixed : bool
        Whether variables are fixed.
    """

    def __init__(self, program: QuadraticProgram) -> None:
        A, l, lb, counts = program.A, program.l, program.lb, np.empty(4, INT)
        self.kinds = np.empty(l.size + lb.size, INT)
        classify(A.indptr, A.indices, l, program.u, lb, program.ub, self.kinds, counts)
        self.n, self.p, self.m, self._entries = counts.tolist()
        self.has_fixed = self.n < lb.size

    def fits(self, program: QuadraticProgram) -> bool:
        """Whether the program has the same equalities, fixed variables and finite sides."""
        return same_kinds(program.l, program.u, program.lb, program.ub, self.kinds)

    @property
    def sizes(self) -> Sizes:
        """The dimensions of the standard form."""
        return self.n, self.p, self.m, self.m, 0, self._entries

    def program(self, program: QuadraticProgram) -> SidesProgram:
        """The cone program."""
        P = program.P
        if self.has_fixed:
            check_semidefinite(hessian_of(program.P, program.n))  # the engine sees no more than what is left of it
            P = program.hessian.among(np.flatnonzero(self.kinds[program.m :] != EQUAL))
        return SidesProgram(self, program, P)

    def lift(
        self, program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(x, y, z_bounds) of the quadratic program; a fixed variable's multiplier is what stationarity leaves."""
        n, m = program.q.size, program.l.size
        own_x, own_y, own_z = np.empty(n), np.empty(m), np.empty(n)
        spread(x, y, z, program.lb, self.kinds, own_x, own_y, own_z)
        if self.has_fixed:
            self._fix_multipliers(program, program.q + program.hessian.product(own_x), own_y, own_z)
        return own_x, own_y, own_z

    def lift_primal_ray(self, program: QuadraticProgram, x: np.ndarray) -> np.ndarray:
        """A direction of the quadratic program's x, in which fixed variables stay."""
        own_x = np.zeros(program.n)
        own_x[self.kinds[program.m :] != EQUAL] = x
        return own_x

    def lift_dual_ray(self, program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y, z_bounds) of a certificate of infeasibility, in which the objective has no part."""
        own_y, own_z, own_x = np.empty(program.m), np.empty(program.n), np.empty(program.n)
        spread(np.zeros(self.n), y, z, program.lb, self.kinds, own_x, own_y, own_z)
        if self.has_fixed:
            self._fix_multipliers(program, np.zeros(program.n), own_y, own_z)
        return own_y, own_z

    def _fix_multipliers(
        self, program: QuadraticProgram, gradient: np.ndarray, own_y: np.ndarray, own_z: np.ndarray
    ) -> None:
        A = program.A
        fix_multipliers(A.indptr, A.indices, A.data, self.kinds, gradient, own_y, own_z)


def reduced(program: QuadraticProgram, settings: Settings) -> tuple[Presolve, ConeForm]:
    """What presolve leaves of a program, and the cone form of that."""
    presolved = presolve(program, settings)
    return presolved, ConeForm(presolved.program)


class SidesProgram(StackedProgram):
    """The cone program of a quadratic one, of which the engine takes the rows from where they are.

    Parameters
    ----------
    form : ConeForm
    program : QuadraticProgram
    P : matrix
        That of the free variables.
    """

    def __init__(self, form: ConeForm, program: QuadraticProgram, P: Any) -> None:
        self._form, self._matrix, self.P, self.sizes = form, program.A, P, form.sizes
        self.hessian_is_tested = form.has_fixed  # as a part of the whole, in `ConeForm.program`
        self._hessian = None if form.has_fixed else program._hessian
        self.cones, self._cone_layout = orthant(form.m)
        q, l, u, self.offset = program.q, program.l, program.u, program.offset
        if form.has_fixed:
            q, l, u = self._substituted(program)
        self.c, self.b, self.h = q, np.empty(form.p), np.empty(form.m)
        gather_rhs(l, u, program.lb, program.ub, form.kinds, self.b, self.h)

    def with_vectors(self, program: QuadraticProgram) -> SidesProgram:
        """The cone program of another quadratic one that has the same matrices and other vectors."""
        return SidesProgram(self._form, program, self.P)

    def with_objective(self, program: QuadraticProgram) -> SidesProgram:
        """The same of one that has the same sides, too."""
        if self._form.has_fixed:
            return self.with_vectors(program)
        other = object.__new__(SidesProgram)
        other.__dict__.update(self.__dict__)
        other.c = program.q
        return other

    def _substituted(self, program: QuadraticProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q of the free variables, l and u without what is fixed, which goes to the other side."""
        A, q, l, u, value = program.A, program.q, program.l.copy(), program.u.copy(), np.empty(program.n)
        substitute(A.indptr, A.indices, A.data, program.lb, program.ub, value, l, u)
        Pv = program.hessian.product(value)
        self.offset += 0.5 * float(value @ Pv) + float(q @ value)
        return (q + Pv)[self._form.kinds[l.size :] != EQUAL], l, u

    def stack(self, form: StandardForm) -> None:
        """See `StackedProgram`."""
        A = self._matrix
        stack_quadratic(form, self._form.kinds, A.indptr, A.indices, A.data, self.c, self.b, self.h)

    def has_pattern_of(self, other: ConeProgram) -> bool:
        """See `StackedProgram`."""
        if not isinstance(other, SidesProgram) or not np.array_equal(self._form.kinds, other._form.kinds):
            return False
        A, B = self._matrix, other._matrix
        return same_places(A, B)

    @functools.cached_property
    def _rows(self) -> tuple[sp.csc_array, sp.csc_array]:
        """A and G."""
        (n, p, m, *_, entries), A = self.sizes, self._matrix
        indptr, indices, data = np.empty(n + 1, INT), np.empty(entries, INT), np.empty(entries)
        stack_rows(A.indptr, A.indices, A.data, self._form.kinds, p, indptr, indices, data)
        M, equalities = csc(data, indices, indptr, (p + m, n)), np.arange(p + m) < p
        return rows_kept(M, equalities, p), rows_kept(M, ~equalities, m)

    A = functools.cached_property(lambda self: self._rows[0])
    G = functools.cached_property(lambda self: self._rows[1])


@functools.lru_cache(maxsize=64)
def orthant(dim: int) -> tuple[tuple[Cone, ...], Layout]:
    """The cones of a program with so many sides and their layout, kept: few programs are of a size of their own."""
    cones = (NonNeg(dim),) if dim else ()
    return cones, layout_of(cones)


@leaf
def kind_of(lower: float, upper: float) -> int:
    """The kind of a row or variable between two sides."""
    if lower == upper:
        return EQUAL
    return (UPPER if math.isfinite(upper) else 0) + (LOWER if math.isfinite(lower) else 0)


@leaf
def sides_of(kind: int) -> int:
    """The finite sides of a row or variable that is not `EQUAL`; 0 where it is."""
    return (kind & UPPER) + ((kind & LOWER) >> 1)


@kernel
def classify(
    A_indptr: Ints, A_indices: Ints, l: Floats, u: Floats, lb: Floats, ub: Floats, kinds: Ints, counts: Ints
) -> None:
    """kinds := those of rows and variables; counts := free variables, equalities, sides, entries of [A; G]."""
    m, free, equalities, sides, entries = l.size, 0, 0, 0, 0
    for i in range(m):
        kinds[i] = kind_of(l[i], u[i])
        equalities += int(kinds[i] == EQUAL)
        sides += sides_of(kinds[i])
    for j in range(lb.size):
        kinds[m + j] = kind_of(lb[j], ub[j])
        if kinds[m + j] == EQUAL:
            continue
        free += 1
        sides += sides_of(kinds[m + j])
        entries += sides_of(kinds[m + j])
        for k in range(A_indptr[j], A_indptr[j + 1]):
            kind = kinds[A_indices[k]]
            entries += int(kind == EQUAL) + sides_of(kind)
    counts[0], counts[1], counts[2], counts[3] = free, equalities, sides, entries


@deferred_kernel
def same_kinds(l: Floats, u: Floats, lb: Floats, ub: Floats, kinds: Ints) -> bool:
    """Whether rows and variables are of these kinds."""
    m = l.size
    if m + lb.size != kinds.size:
        return False
    for i in range(m):
        if kinds[i] != kind_of(l[i], u[i]):
            return False
    for j in range(lb.size):
        if kinds[m + j] != kind_of(lb[j], ub[j]):
            return False
    return True


@inner
def first_rows(kinds: Ints, m: int) -> tuple[int, int, int]:
    """The rows of G that the lower sides of A, the upper and the lower bounds begin at; upper sides begin at 0."""
    lower, above, below = 0, 0, 0
    for i in range(m):
        lower += int(kinds[i] & UPPER != 0)
        above += sides_of(kinds[i])
    below = above
    for j in range(m, kinds.size):
        below += int(kinds[j] & UPPER != 0)
    return lower, above, below


@kernel
def gather_rhs(l: Floats, u: Floats, lb: Floats, ub: Floats, kinds: Ints, b: Floats, h: Floats) -> None:
    """b := the equal sides, h := (u, -l, ub, -lb) where they are finite."""
    m, upper, equal = l.size, 0, 0
    lower, above, below = first_rows(kinds, m)
    for i in range(m):
        if kinds[i] == EQUAL:
            b[equal] = l[i]
            equal += 1
        if kinds[i] & UPPER != 0:
            h[upper] = u[i]
            upper += 1
        if kinds[i] & LOWER != 0:
            h[lower] = -l[i]
            lower += 1
    for j in range(lb.size):
        if kinds[m + j] & UPPER != 0:
            h[above] = ub[j]
            above += 1
        if kinds[m + j] & LOWER != 0:
            h[below] = -lb[j]
            below += 1


@deferred_kernel
def substitute(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, lb: Floats, ub: Floats, value: Floats, l: Floats, u: Floats
) -> None:
    """value := that of the fixed variables, zero for the others; l and u -= A value.

    What rounding leaves of terms that cancel is 0: a row 0 x = 1e-16 has a solution.
    """
    m = l.size
    shift, size = np.zeros(m), np.zeros(m)
    for j in range(value.size):
        value[j] = lb[j] if lb[j] == ub[j] else 0.0
        if value[j] == 0.0:
            continue
        for k in range(A_indptr[j], A_indptr[j + 1]):
            shift[A_indices[k]] += A_data[k] * value[j]
            size[A_indices[k]] += abs(A_data[k] * value[j])
    for i in range(m):
        if size[i] > 0.0:
            l[i] = 0.0 if abs(l[i] - shift[i]) <= LOST * size[i] else l[i] - shift[i]
            u[i] = 0.0 if abs(u[i] - shift[i]) <= LOST * size[i] else u[i] - shift[i]


@kernel
def stack_rows(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, kinds: Ints, p: int, indptr: Ints, indices: Ints, data: Floats
) -> None:
    """M = [ A_=; A_u; -A_l; I_ub; -I_lb ] in the free variables, the rows of each column ascending; p rows are A_=."""
    n = A_indptr.size - 1
    m, equal, upper, free, at = kinds.size - n, 0, p, 0, 0
    lower, above, below = first_rows(kinds, m)
    lower, above, below = p + lower, p + above, p + below
    row, lower_row = np.empty(m, np.int64), np.empty(m, np.int64)  # of M, of an equality or an upper side, and a lower
    for i in range(m):
        row[i], lower_row[i] = equal if kinds[i] == EQUAL else upper, lower
        equal += int(kinds[i] == EQUAL)
        upper += int(kinds[i] & UPPER != 0)
        lower += int(kinds[i] & LOWER != 0)
    for j in range(n):
        if kinds[m + j] == EQUAL:
            continue
        indptr[free] = at
        free += 1
        for kind in (EQUAL, UPPER):
            for k in range(A_indptr[j], A_indptr[j + 1]):
                place = A_indices[k]
                if kinds[place] & kind != 0:
                    indices[at], data[at] = row[place], A_data[k]
                    at += 1
        for k in range(A_indptr[j], A_indptr[j + 1]):
            place = A_indices[k]
            if kinds[place] & LOWER != 0:
                indices[at], data[at] = lower_row[place], -A_data[k]
                at += 1
        if kinds[m + j] & UPPER != 0:
            indices[at], data[at] = above, 1.0
            at, above = at + 1, above + 1
        if kinds[m + j] & LOWER != 0:
            indices[at], data[at] = below, -1.0
            at, below = at + 1, below + 1
    indptr[free] = at


@kernel
def stack_quadratic(
    form: StandardForm, kinds: Ints, A_indptr: Ints, A_indices: Ints, A_data: Floats, c: Floats, b: Floats, h: Floats
) -> None:
    """M and the vectors of the cone program of a quadratic one, in whose order nothing is to be sorted."""
    p, rows = form.p, form.rows
    form.ptr[0] = rows.size
    for i in range(rows.size):
        rows[i] = i
    stack_rows(A_indptr, A_indices, A_data, kinds, p, form.M_indptr, form.M_indices, form.raw_M)
    transpose(p + rows.size, form.M_indptr, form.M_indices, form.Mt_indptr, form.Mt_indices, form.Mt_source)
    indices, source, equal, other = form.M_indices, form.M_source, 0, form.Mt_indptr[p]
    for k in range(indices.size):
        if indices[k] < p:
            source[k] = equal
            equal += 1
        else:
            source[k] = other
            other += 1
    read_vectors(form, c, b, h)


@kernel
def spread(
    x: Floats, y: Floats, z: Floats, fixed: Floats, kinds: Ints, own_x: Floats, own_y: Floats, own_z: Floats
) -> None:
    """own_x := x for the free variables, `fixed` for the others; own_y, own_z := the multipliers of rows and variables.

    That of two sides is the upper one's less the lower one's.
    """
    m, upper, equal, free = own_y.size, 0, 0, 0
    lower, above, below = first_rows(kinds, m)
    for i in range(m):
        own_y[i] = 0.0
        if kinds[i] == EQUAL:
            own_y[i] = y[equal]
            equal += 1
        if kinds[i] & UPPER != 0:
            own_y[i] += z[upper]
            upper += 1
        if kinds[i] & LOWER != 0:
            own_y[i] -= z[lower]
            lower += 1
    for j in range(own_z.size):
        own_x[j], own_z[j] = fixed[j], 0.0
        if kinds[m + j] != EQUAL:
            own_x[j] = x[free]
            free += 1
        if kinds[m + j] & UPPER != 0:
            own_z[j] += z[above]
            above += 1
        if kinds[m + j] & LOWER != 0:
            own_z[j] -= z[below]
            below += 1


@deferred_kernel
def fix_multipliers(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, kinds: Ints, gradient: Floats, own_y: Floats, own_z: Floats
) -> None:
    """own_z of the fixed variables := -(gradient + A'y), `gradient` being that of the objective."""
    m = own_y.size
    for j in range(own_z.size):
        if kinds[m + j] == EQUAL:
            total = gradient[j]
            for k in range(A_indptr[j], A_indptr[j + 1]):
                total += A_data[k] * own_y[A_indices[k]]
            own_z[j] = -total
