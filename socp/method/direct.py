"""A small cone program from its data to the tested answer in three kernels.

The first makes the standard form, the second is the method of `small`, the third the way back and the test of
`stopping`.  More Python between them would take longer than they do for ten variables.  Only optimal answers come from
here; all else, an infeasible program, a breakdown, a limit, is left to the engine, which begins anew.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ..compiled.jit import kernel
from ..form.hessian import LOW_RANK_TOL, SEMIDEFINITE_TOL, as_operator, check_semidefinite, scale_dense
from ..form.standard import (
    LIMIT,
    PASSES,
    StandardForm,
    gather,
    gather_sides,
    objective_size,
    ruiz,
    scale_vectors,
    sort_rows,
    stack,
    unscale,
)
from ..linalg.csc import compress, scale
from ..problem.lowrank import LowRank
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..problem.solution import TIMINGS, TRACE, Solution
from ..problem.status import Status
from ..problem.stopping import RESIDUALS, Residuals, infinity_norm, measure, meets
from .small import (
    COLUMNS,
    FACTOR,
    MOST_ITERATIONS,
    NORM_C,
    NORM_G,
    OPTIMAL,
    RECORDS,
    TAU,
    TOL,
    WARM,
    first_state,
    follow_path,
    is_small,
    make_options,
)
from .small_kkt import is_semidefinite, multiply

Point = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Form(NamedTuple):
    """`StandardForm` in a kernel: the equilibrated data, the equilibration, and the caller's row of each cone row."""

    rows: np.ndarray
    ptr: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    P: np.ndarray
    c: np.ndarray
    g: np.ndarray
    D: np.ndarray
    E: np.ndarray
    norms: np.ndarray  # of the caller's (b, h) and c
    factor: float


@kernel
def largest_entries(P, dense):
    """The part of P that `ruiz` looks at: the diagonal of a dense one, else all entries."""
    n = P.shape[0]
    count = n
    if not dense:
        count = 0
        for i in range(n):
            for j in range(n):
                count += int(P[i, j] != 0.0)
    indptr, indices, data = np.zeros(n + 1, np.int64), np.empty(count, np.int64), np.empty(count)
    if not dense:
        compress(P, indptr, indices, data)
        return indptr, indices, data
    for j in range(n):
        indptr[j + 1], indices[j], data[j] = j + 1, j, P[j, j]
    return indptr, indices, data


@kernel
def standard_form(
    start, second_order, A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, P, dense, c, b, h, equilibrate
):
    """The `Form` of a program."""
    n, p = c.size, b.size
    rows, ptr = sort_rows(start, second_order, h)
    place = np.full(h.size, -1)
    for i in range(rows.size):
        place[rows[i]] = i
    size = A_data.size + G_data.size
    indptr, indices, source = np.zeros(n + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    stack(n, p, rows.size, place, A_indptr, A_indices, G_indptr, G_indices, indptr, indices, source)
    indices, source = indices[: indptr[n]], source[: indptr[n]]
    data, raw_g = np.empty(source.size), np.empty(p + rows.size)
    gather(A_data, G_data, source, data)
    gather_sides(b, h, rows, raw_g)
    D, E, factor = np.ones(n), np.ones(raw_g.size), 1.0
    if equilibrate:
        P_indptr, P_indices, P_data = largest_entries(P, dense)
        ruiz(p, ptr, indptr, indices, data, P_indptr, P_indices, P_data, PASSES, LIMIT, D, E)
        cost = objective_size(D, c, P_indptr, P_indices, P_data)
        if cost > 0.0:
            factor = min(max(1.0 / cost, 1.0 / LIMIT), LIMIT)
    scale(indptr, indices, data, E, D, 1.0, data)
    scaled_P, scaled_c, g = np.empty((n, n)), np.empty(n), np.empty(raw_g.size)
    scale_dense(P, D, factor, scaled_P)
    scale_vectors(factor, D, E, c, raw_g, scaled_c, g)
    norms = np.array([infinity_norm(raw_g), infinity_norm(c)])
    return Form(rows, ptr, indptr, indices, data, scaled_P, scaled_c, g, D, E, norms, factor)


@kernel
def set_vectors(form, c, b, h):
    """The form's vectors and norms := those of other vectors of the program."""
    raw_g = np.empty(form.g.size)
    gather_sides(b, h, form.rows, raw_g)
    scale_vectors(form.factor, form.D, form.E, c, raw_g, form.c, form.g)
    form.norms[0], form.norms[1] = infinity_norm(raw_g), infinity_norm(c)


@kernel
def to_form(form, x, y, z, slack, u, s):
    """(u, s) := a point of the caller's in the units of the form."""
    n, p = x.size, y.size
    for j in range(n):
        u[j] = x[j] / form.D[j]
    for i in range(p):
        u[n + i] = y[i] * form.factor / form.E[i]
    for i in range(s.size):
        u[n + p + i] = z[form.rows[i]] * form.factor / form.E[p + i]
        s[i] = slack[form.rows[i]] * form.E[p + i]


@kernel
def finish(
    start, second_order, A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, P, c, b, h, form, tol, tol_abs, tau,
    u, s, x, y, z, slack, Px, found,
):  # fmt: skip
    """(x, y, z, slack) := the point in the caller's units, found := its residuals on the caller's data, and P x.

    Returns whether it passes the stopping test.
    """
    z[:] = 0.0
    slack[:] = np.inf
    unscale(form.rows, form.D, form.E, form.factor, tau, u, s, x, y, z, slack)
    multiply(c.size, P.ravel(), x, Px)
    measure(
        A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, start, second_order, Px, c, b, h, x, y, z, slack,
        found,
    )  # fmt: skip
    return meets(found, tol, tol_abs)


class Path:
    """The path of `small` through a `Form`, from one point that may be optimal to the next."""

    def __init__(self, form: Form, options: np.ndarray, point: Point | None) -> None:
        self.form, self.options, self.started = form, options, time.perf_counter()
        self.state, self.u, self.s = first_state(), np.zeros(form.c.size + form.g.size), np.zeros(form.rows.size)
        if point is not None:
            self.state[WARM] = 1.0
            to_form(form, *point, self.u, self.s)
        self.numbers = np.zeros((MOST_ITERATIONS, COLUMNS))

    def goes_on(self) -> bool:
        """Whether there is a (next) point that may be optimal."""
        form = self.form
        claim = follow_path(
            form.ptr, form.indptr, form.indices, form.data, form.P, form.c, form.g, form.D, form.E, self.options,
            self.state, self.u, self.s, self.numbers, self.numbers.view(np.int64),
        )  # fmt: skip
        return claim == OPTIMAL

    @property
    def point(self) -> tuple[float, np.ndarray, np.ndarray]:
        """(tau, u, s)."""
        return self.state.item(TAU), self.u, self.s

    def solution(self, point: Point, found: np.ndarray, offset: float, setup_time: float) -> Solution:
        """The optimal answer."""
        records, residuals = int(self.state[RECORDS]), Residuals(*found.tolist())
        seconds = time.perf_counter() - self.started
        self.numbers[records - 1, -1] = seconds
        trace = np.ndarray(records, TRACE, self.numbers)  # a quicker view of the same memory
        message = f"the stopping test holds at {self.options.item(TOL):g}"
        return Solution(
            Status.OPTIMAL, *point, residuals.primal_objective + offset, residuals.dual_objective + offset,
            *residuals.relative, records - 1, setup_time, seconds, message, trace,
            {**dict.fromkeys(TIMINGS, 0.0), "rest": setup_time + seconds},
        )  # fmt: skip


class Direct:
    """The kernels with what they keep of one program between solves: P as a full array, and the form.

    Parameters
    ----------
    program : ConeProgram
        A small one, see `fits`.

    Raises
    ------
    ProgramError
        P is not positive semidefinite.
    """

    def __init__(self, program: ConeProgram, settings: Settings) -> None:
        self.settings = settings
        self.last: Point | None = None  # the last optimal answer
        self.refresh(program)

    @staticmethod
    def fits(program: ConeProgram, settings: Settings) -> bool:
        """Whether the program is small, and the settings leave the way of solving it open."""
        entries = program.A.data.size + program.G.data.size
        return is_small(program.n, program.p, entries, isinstance(program.P, np.ndarray), settings)

    def refresh(self, program: ConeProgram) -> None:
        """Take a program of the same size; one that is refused changes nothing."""
        P, dense = full_hessian(program.P, program.n)
        form = standard_form(
            *program.cone_layout, *matrices(program), P, dense, program.c, program.b, program.h,
            self.settings.equilibrate,
        )  # fmt: skip
        if program.P is not None and not is_semidefinite(form.P, SEMIDEFINITE_TOL, LOW_RANK_TOL):
            check_semidefinite(StandardForm(program, self.settings.equilibrate).P)  # it may be so, but just
        self.P, self.form, self.options = P, form, options_for(form, self.settings, program.offset)

    def refresh_vectors(self, program: ConeProgram) -> None:
        """Take other vectors of the program."""
        set_vectors(self.form, program.c, program.b, program.h)
        self.options = options_for(self.form, self.settings, program.offset)

    def answer(self, program: ConeProgram, warm: bool, setup_time: float) -> Solution | None:
        """The optimal answer, None when there is none here; with `warm` from the last one, if that is a good start."""
        path = Path(self.form, self.options, self.last if warm else None)
        point, Px, found = new_point(program.n, program.p, program.m), np.empty(program.n), np.empty(RESIDUALS)
        while path.goes_on():
            if finish(
                *program.cone_layout, *matrices(program), self.P, program.c, program.b, program.h, self.form,
                *tolerances(self.settings), *path.point, *point, Px, found,
            ):  # fmt: skip
                self.last = copied(point)
                return path.solution(point, found, program.offset, setup_time)
        return None


def options_for(form: Form, settings: Settings, offset: float) -> np.ndarray:
    """`make_options` with what it needs of the form."""
    options = make_options(settings, offset)
    options[FACTOR] = form.factor
    options[NORM_G : NORM_C + 1] = form.norms
    return options


def tolerances(settings: Settings) -> tuple[float, float]:
    """Of the stopping test, relative and absolute."""
    return float(settings.tol), np.inf if settings.tol_abs is None else float(settings.tol_abs)


def full_hessian(P: Any, n: int) -> tuple[np.ndarray, bool]:
    """(P as a full array, whether it is dense)."""
    if isinstance(P, np.ndarray):
        return P, True
    return (np.zeros((n, n)), False) if P is None else (as_operator(P, n).dense(), isinstance(P, LowRank))


def matrices(program: ConeProgram) -> tuple[np.ndarray, ...]:
    """A and G in flat arrays."""
    A, G = program.A, program.G
    return A.indptr, A.indices, A.data, G.indptr, G.indices, G.data


def new_point(n: int, p: int, m: int) -> Point:
    """Room for (x, y, z, s)."""
    return np.empty(n), np.empty(p), np.empty(m), np.empty(m)


def copied(point: Point) -> Point:
    """The point in arrays of its own."""
    x, y, z, s = point
    return x.copy(), y.copy(), z.copy(), s.copy()
