"""The method for a quadratic program: an active set or the interior-point method, by the table of costs."""

from __future__ import annotations

import numpy as np

from socp.batch.groups import fits_lanes
from socp.plan.costs import COSTS, lane_seconds, method_seconds
from socp.problem.settings import Settings

from ..problem.program import QuadraticProgram

MANY = 10**6  # programs among which the set-up of a loop is divided
LOOP, LOOP_ROUNDS = 2e-6, 6.5  # seconds of a program in a loop; its rounds, relative to those of `method_seconds`
DEFAULTS = Settings.max_iter, Settings.equilibrate, Settings.refinement_steps  # required by the dual active set


def choose_method(program: QuadraticProgram, settings: Settings, may_be_definite: bool = True, solved: int = 0) -> str:
    """Return the `Plan.method` for a program with two-sided rows and bounds.

    It is the method with the least `plan.costs.method_seconds` that applies: the dual active set for a small
    program, with proximal steps if P is not definite (the method itself tests a P that `may_be_definite`); the active
    set for a dense P if most variables have bounds and at most one row has sides, as it reads only the rows of P that
    move, while an interior-point method factors all of P in each iteration.
    Settings that only the interior-point method supports select it, and sides that cross exclude the dual active set,
    which would be tested at the sides that replace them.  If `solved` programs with these matrices have been
    solved before, the costs assume a start from the last answer.
    """
    P = program.hessian
    if not allows_active_set(settings):
        return "interior point"
    P_entries = P.order**2 if P.is_full else P.entries
    seconds = method_seconds(program.n, program.m, program.A.data.size, P_entries, P.rank, solved=solved)
    best = "interior point"
    if P.is_full and seconds["active set"] <= seconds[best] and _suits_active_set(program, settings):
        best = "active set"
    if suits_dual(program, settings):
        may_be_definite = may_be_definite and (P.has_full_diagonal() if P.is_sparse else P.entries >= program.n)
        expected = seconds.get("dual active set" if may_be_definite else "proximal steps")
        times = 4 * (program.n + program.m)  # worst case of its time, relative to the expected time
        if expected and expected <= seconds[best] and has_time(settings, times * expected):
            return "dual active set"
    return best


def suits_loop(
    n: int, m: int, entries: int, P_entries: int, settings: Settings, is_shared: bool = True
) -> bool:  # fmt: skip
    """Return True if the dual active set is expected to solve the programs of a batch faster than lanes.

    All have a definite P, and common matrices if `is_shared`.  Its answers are vertices, exact up to rounding.  A
    program may take several times as many rounds as `method_seconds` counts.
    """
    if n == 0 or not allows_dual(settings):
        return False
    dual, setup = (
        method_seconds(n, m, m * n, n * n, solved=solved).get("dual active set", np.inf) for solved in (MANY, 0)
    )
    loop = LOOP + LOOP_ROUNDS * (dual - COSTS.dual) + (0.0 if is_shared else setup - dual)
    if fits_lanes(n, m):
        return loop <= LOOP + lane_seconds(n, m, entries, P_entries)
    return loop <= method_seconds(n, m, entries, P_entries)["interior point"]


def allows_active_set(settings: Settings) -> bool:
    """Return True if the settings allow active sets: `active_set`, and none that only the interior point supports."""
    return (
        settings.active_set and settings.callback is None and settings.kkt == "auto" and settings.regularization is None
    )


def suits_dual(program: QuadraticProgram, settings: Settings) -> bool:
    """Return True if the dual active set can solve the program with these settings."""
    return program.n > 0 and not program.are_crossed and allows_dual(settings)


def allows_dual(settings: Settings) -> bool:
    """Return True if the settings allow the dual active set."""
    has_defaults = (settings.max_iter, settings.equilibrate, settings.refinement_steps) == DEFAULTS
    return has_defaults and allows_active_set(settings)


def _suits_active_set(program: QuadraticProgram, settings: Settings) -> bool:
    """Return True if most variables have bounds, at most one row has sides, and `time_limit` allows a round."""
    if not has_time(settings):
        return False
    bounded = np.count_nonzero(np.isfinite(program.lb) | np.isfinite(program.ub))
    return bool(program.sided_rows.size <= 1 and 2 * bounded > program.n and program.hessian.diagonal().max() > 0.0)


def has_time(settings: Settings, most: float = np.inf) -> bool:
    """Return True if `time_limit` allows one round of an active set, which checks no clock, or `most` seconds."""
    return settings.time_limit is None or settings.time_limit >= min(COSTS.round, most)
