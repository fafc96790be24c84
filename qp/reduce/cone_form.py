"""A quadratic program as the cone program that the engine solves, and the way back.

    minimize 1/2 x'Px + q'x   subject to   l <= Ax <= u,  lb <= x <= ub

Fixed variables (lb = ub) are substituted; rows with l = u are equalities; every other finite side is one
row of the nonnegative orthant, in the order

    G = [ A_u; -A_l; I_ub; -I_lb ],   h = [ u; -l; ub; -lb ],

and the engine's KKT system contains only the distinct rows of A: the two sides of a row share one, and
bounds need none.

The places of all sides among the rows of [A; G] are computed once; they show which sides are infinite, which rows are
equalities, and which variables are fixed.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import kernel, leaf
from socp.compiled.signatures import Floats, Ints
from socp.form.convexity import check_semidefinite
from socp.form.standard import Sizes, StackedProgram, StandardForm, read_vectors
from socp.linalg.csc import csc, same_places, transpose
from socp.problem.checks import INT
from socp.problem.hessian import hessian_of
from socp.problem.program import Cone, ConeProgram, Layout, NonNeg, layout_of
from socp.problem.settings import Settings
from socp.verify.distances import Entries
from socp.verify.stopping import LOST

from ..problem.program import QuadraticProgram
from .presolve import Presolve, presolve, rows_kept

# groups of rows of [A; G]; lower sides follow the upper ones
EQUALITIES, UPPER_ROWS, UPPER_BOUNDS = 0, 1, 3
NONE, FIXED = range(-1, -3, -1)  # entries of `ConeForm.places` for an infinite side and for a fixed variable


class ConeForm:
    """Map between a quadratic program and its cone program, for one pattern of finite sides.

    Parameters
    ----------
    program : QuadraticProgram
    is_presolved : bool
        Whether rows that are parallel to others have been merged.

    Attributes
    ----------
    places : array of int64, shape (2 * (program.m + program.n),)
        The row of [A; G] for the upper side of each row, then of each variable, and then for all lower sides; `NONE`
        if a side is infinite.  Equal sides of a row have one place, among the upper sides; a variable with equal bounds
        has `FIXED` there.
    n, p, m : int
        Sizes of the cone program: free variables, equalities, other finite sides.
    has_fixed : bool
        Whether variables are fixed.
    """

    def __init__(self, program: QuadraticProgram, is_presolved: bool = False) -> None:
        A, l, lb, counts = program.A, program.l, program.lb, np.empty(4, INT)
        self.places = np.empty(2 * (l.size + lb.size), INT)
        classify(A.indptr, A.indices, l, program.u, lb, program.ub, self.places, counts)
        self.n, self.p, self.m, self._entries = counts.tolist()
        self._rows, self.has_fixed, self.is_presolved = l.size, self.n < lb.size, is_presolved

    def fits(self, program: QuadraticProgram) -> bool:
        """Return True if equalities, fixed variables and finite sides of `program` have the places of this form."""
        other = ConeForm(program)
        return self.p == other.p and np.array_equal(self.places, other.places)

    def is_free(self, program: QuadraticProgram) -> np.ndarray:
        """Return the mask of the variables of `program` that are not fixed."""
        return self.places[program.m : program.m + program.n] != FIXED

    @functools.cached_property
    def bounds(self) -> Entries:
        """Arrays (row of G, variable, sign) of the finite bounds of the free variables."""
        rows, variables, signs = np.empty(self.m, INT), np.empty(self.m, INT), np.empty(self.m)
        count = list_bounds(self.places, self._rows, self.p, rows, variables, signs)
        return rows[:count], variables[:count], signs[:count]

    @property
    def sizes(self) -> Sizes:
        """Dimensions of the standard form."""
        return self.n, self.p, self.m, self.m, 0, self._entries

    def program(self, program: QuadraticProgram, is_checked: bool = True) -> SidesProgram:
        """Return the cone program of a quadratic program with these finite sides; P must be convex if `is_checked`."""
        P = program.P
        if self.has_fixed:
            if is_checked:  # The engine receives only P of the free variables.
                check_semidefinite(hessian_of(program.P, program.n), program.P_eps)
            P = program.hessian.among(np.flatnonzero(self.is_free(program)))
        return SidesProgram(self, program, P)

    def gather(self, l: np.ndarray, u: np.ndarray, lb: np.ndarray, ub: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return b, the sides of the equalities, and h, the finite entries of (u, -l, ub, -lb)."""
        sides = np.empty(self.p + self.m)
        gather_sides(l, u, lb, ub, self.places, sides)
        return sides[: self.p], sides[self.p :]

    def spread(self, program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (y, z_bounds): the multiplier of each upper side minus the multiplier of the lower side."""
        v = np.empty(self.places.size // 2)
        spread_multipliers(y, z, self.places, v)
        return v[: program.m], v[program.m :]

    def lift(
        self, program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (x, y, z_bounds) of the quadratic program; stationarity gives the multipliers of fixed variables."""
        own_x, (own_y, own_z) = self._among_fixed(x, program.lb), self.spread(program, y, z)
        if self.has_fixed:
            self._fix_multipliers(program, program.q + program.hessian.product(own_x), own_y, own_z)
        return own_x, own_y, own_z

    def lower(
        self, program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (x, y, z) of the cone program for a point (x, y, z_bounds): the inverse of `lift`."""
        equal, own_z = self.gather(y.clip(max=0.0), y.clip(0.0), z.clip(max=0.0), z.clip(0.0))
        own_y = np.empty_like(equal)
        at = self.places[: program.m]
        is_equal = (at >= 0) & (at < self.p)
        own_y[at[is_equal]] = y[is_equal]
        return x[self.is_free(program)], own_y, own_z

    def lift_primal_ray(self, program: QuadraticProgram, x: np.ndarray) -> np.ndarray:
        """Return the direction in x of the quadratic program, zero in fixed variables."""
        return self._among_fixed(x, np.zeros(program.n))

    def lift_dual_ray(self, program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (y, z_bounds) of a certificate of infeasibility, on which the objective has no influence."""
        own_y, own_z = self.spread(program, y, z)
        if self.has_fixed:
            self._fix_multipliers(program, np.zeros(program.n), own_y, own_z)
        return own_y, own_z

    def _among_fixed(self, x: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """Return x with entries of all variables: x of the free variables, and `fixed` of the others."""
        own_x = np.empty(fixed.size)
        put_among_fixed(self.places, x, fixed, own_x)
        return own_x

    def _fix_multipliers(self, program: QuadraticProgram, gradient: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
        """Set z of the fixed variables to -(gradient + A'y) for a gradient of the objective."""
        A = program.A
        fix_multipliers(self.places, A.indptr, A.indices, A.data, gradient, y, z)


def reduced(program: QuadraticProgram, settings: Settings) -> tuple[Presolve, ConeForm]:
    """Return the presolve of a program and the cone form of the presolved program."""
    presolved = presolve(program, settings)
    return presolved, ConeForm(presolved.program, presolved.wanted)


class SidesProgram(StackedProgram):
    """Cone program of a quadratic program, whose standard form is stacked straight from A and the sides.

    Parameters
    ----------
    form : ConeForm
    program : QuadraticProgram
    P : matrix
        P of the free variables.
    """

    def __init__(self, form: ConeForm, program: QuadraticProgram, P: Any) -> None:
        self._form, self._matrix, self.P, self.sizes = form, program.A, P, form.sizes
        self.P_eps = program.P_eps
        self.hessian_is_tested = form.has_fixed  # `ConeForm.program` has tested all of P.
        self.groups_are_told = form.is_presolved
        self._hessian = None if form.has_fixed else program._hessian
        self.cones, self._cone_layout = orthant(form.m)
        q, l, u, self.offset = program.q, program.l, program.u, program.offset
        if form.has_fixed:
            q, l, u = self._substituted(program)
        self.c, (self.b, self.h) = q, form.gather(l, u, program.lb, program.ub)

    def with_vectors(self, program: QuadraticProgram) -> SidesProgram:
        """Return this cone program with the vectors q, l, u, lb, ub of `program`; P and A must be unchanged."""
        other, own = SidesProgram(self._form, program, self.P), vars(self)
        vars(other).update({name: own[name] for name in ("_stacked", "A", "G") if name in own})
        return other

    def _substituted(self, program: QuadraticProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q of the free variables, and l and u minus the contribution of the fixed variables to A x."""
        A, places = program.A, self._form.places
        value, q, l, u = np.empty(program.n), np.empty(self._form.n), np.empty(program.m), np.empty(program.m)
        substitute(places, A.indptr, A.indices, A.data, program.l, program.u, program.lb, value, l, u)
        self.offset += free_gradient(places, program.q, program.hessian.product(value), value, q)
        return q, l, u

    def bounds(self) -> Entries:
        """Return the bounds, as `socp.ConeProgram` does; presolve leaves no row with one entry."""
        return self._form.bounds if self._form.is_presolved else super().bounds()

    def stack(self, form: StandardForm) -> None:
        """Write M and the vectors to the standard form; see `StackedProgram`."""
        A = self._matrix
        stack_quadratic(form, self._form.places, A.indptr, A.indices, A.data, self.c, self.b, self.h)

    def has_pattern_of(self, other: ConeProgram) -> bool:
        """Return True if the standard forms have equal patterns; see `StackedProgram`."""
        if not isinstance(other, SidesProgram) or self.sizes != other.sizes:
            return False
        return np.array_equal(self._form.places, other._form.places) and same_places(self._matrix, other._matrix)

    @functools.cached_property
    def _stacked(self) -> sp.csc_array:
        """The matrix [A; G]."""
        (n, p, m, *_, entries), A = self.sizes, self._matrix
        indptr, indices, data = np.empty(n + 1, INT), np.empty(entries, INT), np.empty(entries)
        stack_rows(A.indptr, A.indices, A.data, self._form.places, p, indptr, indices, data)
        return csc(data, indices, indptr, (p + m, n))

    @functools.cached_property
    def A(self) -> sp.csc_array:
        """Matrix of the equalities, computed like G when it is first needed."""
        return rows_kept(self._stacked, np.arange(self.b.size + self.h.size) < self.b.size, self.b.size)

    @functools.cached_property
    def G(self) -> sp.csc_array:
        return rows_kept(self._stacked, np.arange(self.b.size + self.h.size) >= self.b.size, self.h.size)


@functools.lru_cache(maxsize=64)
def orthant(dim: int) -> tuple[tuple[Cone, ...], Layout]:
    """Return the cones of a program with `dim` sides and their layout, cached because sizes repeat."""
    cones = (NonNeg(dim),) if dim else ()
    return cones, layout_of(cones)


@kernel
def classify(
    A_indptr: Ints, A_indices: Ints, l: Floats, u: Floats, lb: Floats, ub: Floats, places: Ints, counts: Ints
) -> None:
    """Write `ConeForm.places` and the `counts` of free variables, equalities, other sides and entries of [A; G].

    Rows are counted by group, the groups laid one after another, and then each row takes the next place of its group.
    """
    m, size, begin, free, entries = l.size, l.size + lb.size, 0, 0, 0
    group_sizes, next_place = np.zeros(5, np.int64), np.empty(5, np.int64)
    for k in range(size):
        lower, upper, group = (l[k], u[k], UPPER_ROWS) if k < m else (lb[k - m], ub[k - m], UPPER_BOUNDS)
        if lower == upper:
            group_sizes[EQUALITIES] += int(k < m)
        else:
            group_sizes[group] += int(math.isfinite(upper))
            group_sizes[group + 1] += int(math.isfinite(lower))
    for group in range(5):  # Each group begins where the previous one ends.
        next_place[group] = begin
        begin += group_sizes[group]
    for k in range(size):
        lower, upper, group = (l[k], u[k], UPPER_ROWS) if k < m else (lb[k - m], ub[k - m], UPPER_BOUNDS)
        places[k], places[size + k] = NONE, NONE
        if lower == upper:
            places[k] = take_place(next_place, EQUALITIES) if k < m else FIXED
            continue
        if math.isfinite(upper):
            places[k] = take_place(next_place, group)
        if math.isfinite(lower):
            places[size + k] = take_place(next_place, group + 1)
    for j in range(lb.size):
        if places[m + j] == FIXED:
            continue
        free += 1
        entries += int(places[m + j] >= 0) + int(places[size + m + j] >= 0)
        for k in range(A_indptr[j], A_indptr[j + 1]):
            i = A_indices[k]
            entries += int(places[i] >= 0) + int(places[size + i] >= 0)
    equalities = group_sizes[EQUALITIES]
    counts[0], counts[1], counts[2], counts[3] = free, equalities, begin - equalities, entries


@leaf
def take_place(next_place: Ints, group: int) -> int:
    """Return the next place of a group, and count it as taken."""
    place = next_place[group]
    next_place[group] = place + 1
    return place  # type: ignore[no-any-return]


@kernel
def gather_sides(l: Floats, u: Floats, lb: Floats, ub: Floats, places: Ints, sides: Floats) -> None:
    """Write the sides that have a place, equal sides and (u, -l, ub, -lb), to `sides`."""
    m, size = l.size, l.size + lb.size
    for k in range(size):
        if places[k] >= 0:
            sides[places[k]] = u[k] if k < m else ub[k - m]
        if places[size + k] >= 0:
            sides[places[size + k]] = -(l[k] if k < m else lb[k - m])


@kernel
def spread_multipliers(y: Floats, z: Floats, places: Ints, v: Floats) -> None:
    """Compute v: the multiplier of each upper side minus the multiplier of the lower one, of rows, then variables."""
    size, p = v.size, y.size
    for k in range(size):
        upper, lower = places[k], places[size + k]
        v[k] = 0.0 if upper < 0 else y[upper] if upper < p else z[upper - p]
        v[k] -= z[lower - p] if lower >= 0 else 0.0


@kernel
def list_bounds(places: Ints, rows: int, p: int, row: Ints, variable: Ints, sign: Floats) -> int:
    """Write row of G, variable and sign of the free variables' finite bounds, upper ones first; return their number."""
    size, count = places.size // 2, 0
    for side in range(2):
        free = 0
        for k in range(rows, size):
            if places[k] == FIXED:
                continue
            if places[side * size + k] >= 0:
                row[count], variable[count], sign[count] = places[side * size + k] - p, free, 1.0 - 2.0 * side
                count += 1
            free += 1
    return count


@kernel
def put_among_fixed(places: Ints, x: Floats, fixed: Floats, out: Floats) -> None:
    """Write x of the free variables, in order, and the entries of `fixed` of the other variables to `out`."""
    rows, free = places.size // 2 - out.size, 0
    for j in range(out.size):
        is_free = places[rows + j] != FIXED
        out[j] = x[free] if is_free else fixed[j]
        free += int(is_free)


@kernel
def fix_multipliers(
    places: Ints, A_indptr: Ints, A_indices: Ints, A_data: Floats, gradient: Floats, y: Floats, z: Floats
) -> None:
    """Compute z := -(gradient + A'y) for the fixed variables."""
    for j in range(z.size):
        if places[y.size + j] == FIXED:
            total = 0.0
            for k in range(A_indptr[j], A_indptr[j + 1]):
                total += A_data[k] * y[A_indices[k]]
            z[j] = -(gradient[j] + total)


@kernel
def substitute(
    places: Ints, A_indptr: Ints, A_indices: Ints, A_data: Floats, l: Floats, u: Floats, lb: Floats, value: Floats,
    new_l: Floats, new_u: Floats,
) -> None:  # fmt: skip
    """Write x of the fixed variables, 0 for the others, to `value`, and the sides minus A value to `new_l`, `new_u`.

    A side that differs from 0 by rounding alone is set to 0: a row 0 x = 1e-16 has a solution.
    """
    m, shift, size = l.size, np.zeros(l.size), np.zeros(l.size)
    for j in range(value.size):
        value[j] = lb[j] if places[m + j] == FIXED else 0.0
        for k in range(A_indptr[j], A_indptr[j + 1] if value[j] != 0.0 else 0):
            shift[A_indices[k]] += A_data[k] * value[j]
            size[A_indices[k]] += abs(A_data[k] * value[j])
    for i in range(m):
        lower, upper = l[i] - shift[i], u[i] - shift[i]
        new_l[i], new_u[i] = (
            0.0 if abs(lower) <= LOST * size[i] else lower,
            0.0 if abs(upper) <= LOST * size[i] else upper,
        )


@kernel
def free_gradient(places: Ints, q: Floats, Pv: Floats, value: Floats, out: Floats) -> float:
    """Write q + Pv of the free variables, in order, to `out`; return 1/2 v'Pv + q'v, where v holds the fixed ones."""
    m, free, offset = places.size // 2 - q.size, 0, 0.0
    for j in range(q.size):
        offset += (0.5 * Pv[j] + q[j]) * value[j]
        if places[m + j] != FIXED:
            out[free] = q[j] + Pv[j]
            free += 1
    return offset


@kernel
def stack_rows(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, places: Ints, p: int, indptr: Ints, indices: Ints, data: Floats
) -> None:
    """Write M = [ A_=; A_u; -A_l; I_ub; -I_lb ] of the free variables by columns, rows ascending; A_= has p rows."""
    n, size = A_indptr.size - 1, places.size // 2
    m, free, at = size - n, 0, 0
    for j in range(n):
        if places[m + j] == FIXED:
            continue
        indptr[free] = at
        free += 1
        for is_equality in (True, False):
            for k in range(A_indptr[j], A_indptr[j + 1]):
                row = places[A_indices[k]]
                if row >= 0 and (row < p) == is_equality:
                    indices[at], data[at] = row, A_data[k]
                    at += 1
        for k in range(A_indptr[j], A_indptr[j + 1]):
            row = places[size + A_indices[k]]
            if row >= 0:
                indices[at], data[at] = row, -A_data[k]
                at += 1
        for row, sign in ((places[m + j], 1.0), (places[size + m + j], -1.0)):
            if row >= 0:
                indices[at], data[at] = row, sign
                at += 1
    indptr[free] = at


@kernel
def stack_quadratic(
    form: StandardForm, places: Ints, A_indptr: Ints, A_indices: Ints, A_data: Floats, c: Floats, b: Floats, h: Floats
) -> None:
    """Write M and the vectors of the cone program of a quadratic program; its order of rows needs no sorting.

    The two sides of a row are marked as parallel; if presolve has merged other rows, no more rows are parallel.
    """
    p, rows, lead, ratio, size = form.p, form.rows, form.groups.lead, form.groups.ratio, places.size // 2
    form.ptr[0] = rows.size
    for i in range(rows.size):
        rows[i], lead[i], ratio[i] = i, i, 1.0
    stack_rows(A_indptr, A_indices, A_data, places, p, form.M_indptr, form.M_indices, form.raw_M)
    transpose(p + rows.size, form.M_indptr, form.M_indices, form.Mt_indptr, form.Mt_indices, form.Mt_source)
    for k in range(size):
        upper, lower = places[k] - p, places[size + k] - p
        if upper >= 0 and lower >= 0 and form.Mt_indptr[places[k] + 1] - form.Mt_indptr[places[k]] > 1:
            lead[lower], ratio[lower] = upper, -1.0
    indices, source, equal, other = form.M_indices, form.M_source, 0, form.Mt_indptr[p]
    for k in range(indices.size):
        if indices[k] < p:
            source[k] = equal
            equal += 1
        else:
            source[k] = other
            other += 1
    read_vectors(form, c, b, h)
