"""A small cone program from its data to the tested answer in one kernel.

The standard form, the method of `small`, the way back and the test of `stopping` follow each other without Python
between them, which for ten variables would take three times as long as they do.  Only optimal answers come from here;
all else, an infeasible program, a breakdown, a limit, is left to the engine, which begins anew.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from .form import (
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
from .hessian import LOW_RANK_TOL, SEMIDEFINITE_TOL, as_operator, check_semidefinite, scale_dense
from .jit import kernel
from .lowrank import LowRank
from .program import ConeProgram
from .settings import Settings
from .small import (
    ACCEPTED,
    AFFINE,
    ALPHA,
    BEST,
    COLUMNS,
    FACTOR,
    GOOD,
    MOST_ITERATIONS,
    NORM_C,
    NORM_G,
    OPTIMAL,
    RECORDS,
    SIGMA,
    STATE,
    TAU,
    TOL,
    TOL_ABS,
    WARM,
    follow_path,
    is_small,
    make_options,
)
from .small_kkt import is_semidefinite, multiply
from .solution import TIMINGS, TRACE, Solution
from .sparse import compress, scale
from .status import Status
from .stopping import RESIDUALS, Residuals, infinity_norm, measure, meets

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
    factor: float
    norm_c: float
    norm_g: float


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
    start, second_order, A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, P, dense, c, b, h, D, E, factor
):
    """The `Form` of a program with the equilibration D, E, factor that is given, or its own when factor is 0."""
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
    if factor == 0.0:
        D, E = np.ones(n), np.ones(raw_g.size)
        P_indptr, P_indices, P_data = largest_entries(P, dense)
        ruiz(p, ptr, indptr, indices, data, P_indptr, P_indices, P_data, PASSES, LIMIT, D, E)
        cost = objective_size(D, c, P_indptr, P_indices, P_data)
        factor = min(max(1.0 / cost, 1.0 / LIMIT), LIMIT) if cost > 0.0 else 1.0
    scale(indptr, indices, data, E, D, 1.0, data)
    scaled_P, scaled_c, g = np.empty((n, n)), np.empty(n), np.empty(raw_g.size)
    scale_dense(P, D, factor, scaled_P)
    scale_vectors(factor, D, E, c, raw_g, scaled_c, g)
    return Form(
        rows, ptr, indptr, indices, data, scaled_P, scaled_c, g, D, E, factor, infinity_norm(c), infinity_norm(raw_g)
    )


@kernel
def prepare(start, second_order, A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, P, dense, c, b, h, factor):
    """(whether P is semidefinite, D, E, factor); a factor that is given asks for no equilibration."""
    ones = np.ones(c.size), np.ones(b.size + h.size)
    form = standard_form(
        start, second_order, A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, P, dense, c, b, h, *ones, factor
    )
    convex = infinity_norm(form.P.ravel()) == 0.0 or is_semidefinite(form.P, SEMIDEFINITE_TOL, LOW_RANK_TOL)
    return convex, form.D, form.E, form.factor


@kernel
def first_point(form, options, warm, x, y, z, slack):
    """(state, u, s) before the first iteration: with `warm` the given point, else what the method will set."""
    p, m = y.size, form.rows.size
    state, u, s = np.zeros(STATE), np.zeros(x.size + p + m), np.zeros(m)
    state[TAU], state[WARM], state[ACCEPTED], state[BEST] = 1.0, 1.0 if warm else 0.0, GOOD, np.inf
    state[SIGMA] = state[AFFINE] = state[ALPHA] = np.nan
    options[FACTOR], options[NORM_G], options[NORM_C] = form.factor, form.norm_g, form.norm_c
    if warm:
        for j in range(x.size):
            u[j] = x[j] / form.D[j]
        for i in range(p):
            u[x.size + i] = y[i] * form.factor / form.E[i]
        for i in range(m):
            u[x.size + p + i] = z[form.rows[i]] * form.factor / form.E[p + i]
            s[i] = slack[form.rows[i]] * form.E[p + i]
    return state, u, s


@kernel
def next_claim(form, options, state, u, s, trace, counts, x, y, z, slack):
    """Go on until the point may be optimal, and give it in the caller's units; False when it does not come to that."""
    claim = follow_path(
        form.ptr, form.indptr, form.indices, form.data, form.P, form.c, form.g, form.D, form.E, options, state, u, s,
        trace, counts,
    )  # fmt: skip
    if claim != OPTIMAL:
        return False
    unscale(form.rows, form.D, form.E, form.factor, state[TAU], u, s, x, y, z, slack)
    return True


@kernel
def answer(
    start, second_order, A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, P, dense, c, b, h, D, E, factor,
    options, warm, x, y, z, slack, trace, counts, found,
):  # fmt: skip
    """(x, y, z, slack) := the optimal point, found := its residuals; returns the records of the trace, 0 without one.

    With `warm` the four hold the point to begin with.
    """
    form = standard_form(
        start, second_order, A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, P, dense, c, b, h, D, E, factor
    )
    state, u, s = first_point(form, options, warm, x, y, z, slack)
    Px = np.empty(c.size)
    while next_claim(form, options, state, u, s, trace, counts, x, y, z, slack):
        multiply(c.size, P.ravel(), x, Px)
        measure(
            A_indptr, A_indices, A_data, G_indptr, G_indices, G_data, start, second_order, Px, c, b, h, x, y, z, slack,
            found,
        )  # fmt: skip
        if meets(found, options[TOL], options[TOL_ABS]):
            return int(state[RECORDS])
    return 0


class Direct:
    """The kernel with what it keeps of one program between solves: P as a full array, and the equilibration.

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
        """Take the matrices of a program of the same size."""
        P, dense = full_hessian(program.P, program.n)
        convex, *equilibration = prepare(
            *program.cone_layout, *matrices(program), P, dense, program.c, program.b, program.h,
            0.0 if self.settings.equilibrate else 1.0,
        )  # fmt: skip
        if not convex:  # or just about so: the other test decides
            check_semidefinite(StandardForm(program, self.settings.equilibrate).P)
        self.P, self.dense, self.equilibration = P, dense, equilibration

    def answer(self, program: ConeProgram, warm: bool) -> Solution | None:
        """The optimal answer, None when the kernel has none; with `warm` from the last one, if that is a good start."""
        started = time.perf_counter()
        x, y, z, s = point = new_point(program.n, program.p, program.m)
        warm = warm and self.last is not None
        if warm and self.last is not None:
            for part, old in zip(point, self.last):
                part[:] = old
        numbers, found = np.zeros((MOST_ITERATIONS, COLUMNS)), np.zeros(RESIDUALS)
        records = answer(
            *program.cone_layout, *matrices(program), self.P, self.dense, program.c, program.b, program.h,
            *self.equilibration, make_options(self.settings, program.offset), warm, x, y, z, s, numbers,
            numbers.view(np.int64), found,
        )  # fmt: skip
        if not records:
            return None
        self.last = x.copy(), y.copy(), z.copy(), s.copy()
        return optimal(point, found, numbers[:records], self.settings.tol, program.offset, started)


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
    """(x, y, z, s); rows without a side keep these z and s."""
    return np.zeros(n), np.zeros(p), np.zeros(m), np.full(m, np.inf)


def optimal(
    point: Point, found: np.ndarray, numbers: np.ndarray, tol: float, offset: float, started: float
) -> Solution:
    """The `Solution` of what the kernel found."""
    residuals = Residuals(*found.tolist())
    primal, dual, gap = residuals.relative
    seconds = time.perf_counter() - started
    numbers[-1, -1] = seconds
    trace = np.ndarray(numbers.shape[0], TRACE, numbers)  # a quicker view of the same memory
    return Solution(
        Status.OPTIMAL, *point, residuals.primal_objective + offset, residuals.dual_objective + offset, primal, dual,
        gap, numbers.shape[0] - 1, 0.0, seconds, f"the stopping test holds at {tol:g}", trace,
        {**dict.fromkeys(TIMINGS, 0.0), "rest": seconds},
    )  # fmt: skip
