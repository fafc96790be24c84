"""A small quadratic program from its data to the tested answer in three kernels, as `socp.method.direct`.

The first also goes over to the cone program, the last also comes back and makes this program's own test.  A program in
which `presolve` may find something or a variable is fixed is left to the ordinary way, as is all that does not end with
an optimal answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from socp.compiled.jit import kernel
from socp.form.hessian import LOW_RANK_TOL, SEMIDEFINITE_TOL, check_semidefinite
from socp.form.standard import StandardForm
from socp.method.direct import (
    Path,
    Point,
    copied,
    finish,
    full_hessian,
    new_point,
    options_for,
    set_vectors,
    standard_form,
    tolerances,
)
from socp.method.small import is_small
from socp.method.small_kkt import is_semidefinite
from socp.problem.settings import Settings
from socp.problem.status import Status
from socp.problem.stopping import RESIDUALS, Residuals, meets

from ..problem.program import QuadraticProgram
from ..problem.solution import Solution
from ..problem.stopping import measure
from .conic import EQUAL, ConicForm, classify, gather_vectors, rows_by_column, sort_sides, spread_multipliers
from .presolve import NONE, find_candidates


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
def is_plain(A_indptr, A_indices, A_data, q, l, u, lb, ub, P, presolve, kinds):
    """Whether no variable is fixed and `presolve` will find nothing; kinds := those of rows and variables."""
    n = q.size
    classify(l, u, lb, ub, kinds)
    for j in range(n):
        if kinds[l.size + j] == EQUAL:
            return False
    if not presolve:
        return True
    live, twin, diagonal = np.zeros(l.size, np.int64), np.full(l.size, NONE), np.empty(n)
    for j in range(n):
        diagonal[j] = P[j, j]
    return find_candidates(A_indptr, A_indices, A_data, l, u, lb, ub, diagonal, live, twin) == 0


@kernel
def prepare(A_indptr, A_indices, A_data, q, l, u, lb, ub, P, dense, presolve, equilibrate, kinds):
    """(whether the program is plain, its `Conic`, the `Form` of that); kinds := those of rows and variables."""
    plain = is_plain(A_indptr, A_indices, A_data, q, l, u, lb, ub, P, presolve, kinds)
    if not plain:  # something must be returned
        A_indptr, A_indices, A_data, P = A_indptr[:1], A_indices[:0], A_data[:0], np.empty((0, 0))
        q, l, u, lb, ub = q[:0], l[:0], u[:0], lb[:0], ub[:0]
    conic = conic_form(A_indptr, A_indices, A_data, q, l, u, lb, ub)
    form = standard_form(
        conic.start, conic.second_order, conic.A_indptr, conic.A_indices, conic.A_data, conic.G_indptr,
        conic.G_indices, conic.G_data, P, dense, q, conic.b, conic.h, equilibrate,
    )  # fmt: skip
    return plain, conic, form


@kernel
def finish_quadratic(
    A_indptr, A_indices, A_data, q, l, u, lb, ub, P, conic, form, tol, tol_abs, tau, v, slack, cone_x, cone_y,
    cone_z, cone_s, cone_found, x, y, z, found,
):  # fmt: skip
    """The point as that of the cone program and its residuals; (x, y, z) as this program's, found := its own.

    Returns whether both pass the stopping test.
    """
    Px = np.empty(q.size)
    passes = finish(
        conic.start, conic.second_order, conic.A_indptr, conic.A_indices, conic.A_data, conic.G_indptr,
        conic.G_indices, conic.G_data, P, q, conic.b, conic.h, form, tol, tol_abs, tau, v, slack, cone_x, cone_y,
        cone_z, cone_s, Px, cone_found,
    )  # fmt: skip
    x[:] = cone_x
    y[:] = 0.0
    z[:] = 0.0
    spread_multipliers(
        cone_y, cone_z, conic.equal, conic.upper, conic.lower, conic.free, conic.above, conic.below, y, z
    )  # fmt: skip
    measure(A_indptr, A_indices, A_data, Px, q, l, u, lb, ub, x, y, z, found)
    return passes and meets(found, tol, tol_abs)


class Direct:
    """The kernels with what they keep of one program between solves, as `socp.method.direct.Direct`.

    Attributes
    ----------
    plain : bool
        Whether the program is one for them.
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
        plain, conic, form = prepare(
            *data(program), P, dense, self.settings.presolve, self.settings.equilibrate, kinds
        )  # fmt: skip
        if plain and program.P is not None and not is_semidefinite(form.P, SEMIDEFINITE_TOL, LOW_RANK_TOL):
            cone_program = ConicForm(program).program(program)  # it may be so, but just
            check_semidefinite(StandardForm(cone_program, self.settings.equilibrate).P)
        if kinds.tobytes() != self.kinds.tobytes():
            self.last = None
        self.plain, self.kinds, self.P, self.conic, self.form = plain, kinds, P, conic, form
        self.options = options_for(form, self.settings, program.offset)

    def refresh_objective(self, program: QuadraticProgram) -> None:
        """Take another q."""
        set_vectors(self.form, program.q, self.conic.b, self.conic.h)
        self.options = options_for(self.form, self.settings, program.offset)

    def answer(self, program: QuadraticProgram, warm: bool, setup_time: float) -> Solution | None:
        """The optimal answer, None when there is none here; with `warm` from the last one, if that is a good start."""
        form, conic = self.form, self.conic
        path = Path(form, self.options, self.last if warm else None)
        point, cone_found = new_point(program.n, conic.b.size, conic.h.size), np.empty(RESIDUALS)
        x, y, z, found = np.empty(program.n), np.empty(program.m), np.empty(program.n), np.empty(RESIDUALS)
        while path.goes_on():
            if finish_quadratic(
                *data(program), self.P, conic, form, *tolerances(self.settings), *path.point, *point, cone_found, x, y,
                z, found,
            ):  # fmt: skip
                break
        else:
            return None
        self.last, residuals = copied(point), Residuals(*found.tolist())
        cone = path.solution(point, cone_found, program.offset, setup_time)
        return Solution(
            Status.OPTIMAL, x, y, z, residuals.primal_objective + program.offset,
            residuals.dual_objective + program.offset, *residuals.relative, cone.iterations, setup_time,
            cone.solve_time, cone.message, cone,
        )  # fmt: skip


def data(program: QuadraticProgram) -> tuple[np.ndarray, ...]:
    """All but P, in flat arrays."""
    A = program.A
    return A.indptr, A.indices, A.data, program.q, program.l, program.u, program.lb, program.ub
