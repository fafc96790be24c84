"""A small quadratic program from its data to the tested answer in one kernel.

The way to the cone program, `socp.direct`'s kernel for that, the way back and this program's own test, without Python
between them.  A program in which `presolve` may find something, and a variable that is fixed, are left to the ordinary
way, as is all that does not end with an optimal answer.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from socp.direct import Point, first_point, full_hessian, new_point, next_claim, optimal, prepare, standard_form
from socp.form import StandardForm
from socp.hessian import check_semidefinite
from socp.jit import kernel
from socp.settings import Settings
from socp.small import COLUMNS, MOST_ITERATIONS, RECORDS, TOL, TOL_ABS, is_small, make_options
from socp.small_kkt import multiply
from socp.status import Status
from socp.stopping import RESIDUALS, Residuals, meets
from socp.stopping import measure as measure_cone

from .conic import EQUAL, ConicForm, classify, gather_vectors, rows_by_column, sort_sides, spread_multipliers
from .presolve import NONE, find_candidates
from .program import QuadraticProgram
from .solution import Solution
from .stopping import measure

PLAIN, NOT_PLAIN, NOT_CONVEX = range(3)


class Conic(NamedTuple):
    """`ConicForm` in a kernel: the places of the sides, and the cone program's matrices and vectors."""

    equal: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    free: np.ndarray
    above: np.ndarray
    below: np.ndarray
    start: np.ndarray
    second_order: np.ndarray
    A_indptr: np.ndarray
    A_indices: np.ndarray
    A_data: np.ndarray
    G_indptr: np.ndarray
    G_indices: np.ndarray
    G_data: np.ndarray
    b: np.ndarray
    h: np.ndarray


@kernel
def conic_form(A_indptr, A_indices, A_data, q, l, u, lb, ub):
    """The `Conic` of a program without fixed variables."""
    m, n = l.size, q.size
    kinds = np.empty(m + n, np.int64)
    classify(l, u, lb, ub, kinds)
    equal, upper, lower, _, free, above, below = sort_sides(kinds, m)
    size, none = upper.size + lower.size + above.size + below.size, np.empty(0, np.int64)
    A = rows_by_column(A_indptr, A_indices, A_data, m, free, equal, none, none, none)
    G = rows_by_column(A_indptr, A_indices, A_data, m, free, upper, lower, above, below)
    c, b, h = np.empty(n), np.empty(equal.size), np.empty(size)
    gather_vectors(q, l, u, lb, ub, equal, upper, lower, free, above, below, c, b, h)
    cones = 1 if size > 0 else 0
    start = np.zeros(cones + 1, np.int64)
    start[cones] = size
    return Conic(
        equal, upper, lower, free, above, below, start, np.zeros(cones, np.bool_), A[0], A[1], A[2], G[0], G[1], G[2],
        b, h,
    )  # fmt: skip


@kernel
def prepare_quadratic(A_indptr, A_indices, A_data, q, l, u, lb, ub, P, dense, presolve, factor, kinds):
    """(PLAIN, or why not, equalities and sides, D, E, factor); kinds := those of rows and variables."""
    n = q.size
    classify(l, u, lb, ub, kinds)
    plain = True
    for j in range(n):
        plain &= kinds[l.size + j] != EQUAL
    if presolve and plain:
        live, twin, diagonal = np.zeros(l.size, np.int64), np.full(l.size, NONE), np.empty(n)
        for j in range(n):
            diagonal[j] = P[j, j]
        plain = find_candidates(A_indptr, A_indices, A_data, l, u, lb, ub, diagonal, live, twin) == 0
    if not plain:
        return NOT_PLAIN, 0, 0, np.empty(0), np.empty(0), 0.0
    conic = conic_form(A_indptr, A_indices, A_data, q, l, u, lb, ub)
    convex, D, E, factor = prepare(
        conic.start, conic.second_order, conic.A_indptr, conic.A_indices, conic.A_data, conic.G_indptr,
        conic.G_indices, conic.G_data, P, dense, q, conic.b, conic.h, factor,
    )  # fmt: skip
    return PLAIN if convex else NOT_CONVEX, conic.b.size, conic.h.size, D, E, factor


@kernel
def answer(
    A_indptr, A_indices, A_data, q, l, u, lb, ub, P, dense, D, E, factor, options, warm, cone_x, cone_y, cone_z, cone_s,
    x, y, z, trace, counts, found, cone_found,
):  # fmt: skip
    """(x, y, z) := the optimal point, found := its residuals, and the same of the cone program.

    Returns the records of the trace, 0 when there is no such point.  With `warm` the cone program's point is where to
    begin.
    """
    conic = conic_form(A_indptr, A_indices, A_data, q, l, u, lb, ub)
    form = standard_form(
        conic.start, conic.second_order, conic.A_indptr, conic.A_indices, conic.A_data, conic.G_indptr,
        conic.G_indices, conic.G_data, P, dense, q, conic.b, conic.h, D, E, factor,
    )  # fmt: skip
    state, v, slack = first_point(form, options, warm, cone_x, cone_y, cone_z, cone_s)
    Px = np.empty(q.size)
    while next_claim(form, options, state, v, slack, trace, counts, cone_x, cone_y, cone_z, cone_s):
        multiply(q.size, P.ravel(), cone_x, Px)
        measure_cone(
            conic.A_indptr, conic.A_indices, conic.A_data, conic.G_indptr, conic.G_indices, conic.G_data, conic.start,
            conic.second_order, Px, q, conic.b, conic.h, cone_x, cone_y, cone_z, cone_s, cone_found,
        )  # fmt: skip
        if not meets(cone_found, options[TOL], options[TOL_ABS]):
            continue
        x[:] = cone_x
        y[:] = 0.0
        z[:] = 0.0
        spread_multipliers(
            cone_y, cone_z, conic.equal, conic.upper, conic.lower, conic.free, conic.above, conic.below, y, z
        )  # fmt: skip
        measure(A_indptr, A_indices, A_data, Px, q, l, u, lb, ub, x, y, z, found)
        if meets(found, options[TOL], options[TOL_ABS]):
            return int(state[RECORDS])
    return 0


class Direct:
    """The kernel with what it keeps of one program between solves, as `socp.direct.Direct`.

    Attributes
    ----------
    plain : bool
        Whether the program is one for the kernel.
    """

    def __init__(self, program: QuadraticProgram, settings: Settings) -> None:
        self.settings = settings
        self.last: Point | None = None
        self.kinds = np.empty(0, dtype=np.int64)
        self.refresh(program)

    @staticmethod
    def fits(program: QuadraticProgram, settings: Settings) -> bool:
        """Whether the program is small, and the settings leave the way of solving it open."""
        return is_small(program.n, 0, program.A.data.size + program.n, isinstance(program.P, np.ndarray), settings)

    def refresh(self, program: QuadraticProgram) -> None:
        """Take a program of the same size; one that is refused changes nothing."""
        P, dense = full_hessian(program.P, program.n)
        kinds = np.empty(program.m + program.n, dtype=np.int64)
        code, p, m, *equilibration = prepare_quadratic(
            *data(program), P, dense, self.settings.presolve, 0.0 if self.settings.equilibrate else 1.0, kinds
        )
        if code == NOT_CONVEX:  # or just about so: the other test decides
            check_semidefinite(StandardForm(ConicForm(program).program(program), self.settings.equilibrate).P)
        if not np.array_equal(kinds, self.kinds):
            self.last = None
        self.P, self.dense = P, dense
        self.plain, self.kinds, self.sizes, self.equilibration = code != NOT_PLAIN, kinds, (p, m), equilibration

    def answer(self, program: QuadraticProgram, warm: bool, setup_time: float) -> Solution | None:
        """The optimal answer, None when the kernel has none; with `warm` from the last one, if that is a good start."""
        started = time.perf_counter()
        point = new_point(program.n, *self.sizes)
        warm = warm and self.last is not None
        if warm and self.last is not None:
            for part, old in zip(point, self.last):
                part[:] = old
        x, y, z = np.empty(program.n), np.empty(program.m), np.empty(program.n)
        numbers, found, cone_found = np.zeros((MOST_ITERATIONS, COLUMNS)), np.zeros(RESIDUALS), np.zeros(RESIDUALS)
        records = answer(
            *data(program), self.P, self.dense, *self.equilibration, make_options(self.settings, program.offset), warm,
            *point, x, y, z, numbers, numbers.view(np.int64), found, cone_found,
        )  # fmt: skip
        if not records:
            return None
        self.last = point[0].copy(), point[1].copy(), point[2].copy(), point[3].copy()
        cone = optimal(point, cone_found, numbers[:records], self.settings.tol, program.offset, started)
        cone.setup_time = setup_time
        cone.timings["rest"] += setup_time
        residuals = Residuals(*found.tolist())
        return Solution(
            Status.OPTIMAL, x, y, z, residuals.primal_objective + program.offset,
            residuals.dual_objective + program.offset, *residuals.relative, cone.iterations, setup_time,
            cone.solve_time, cone.message, cone,
        )  # fmt: skip


def data(program: QuadraticProgram) -> tuple[np.ndarray, ...]:
    """All but P, in flat arrays."""
    A = program.A
    return A.indptr, A.indices, A.data, program.q, program.l, program.u, program.lb, program.ub
