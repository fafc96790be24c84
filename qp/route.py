"""Which method solves a quadratic program."""

from __future__ import annotations

from enum import Enum

import numpy as np

from socp.problem.settings import Settings

from .problem.program import QuadraticProgram

MIN_VARIABLES = 80  # from which on the active set pays
LONG_TIME = 1.0  # the active set looks at its time between rounds only: no limit below so many seconds


class Route(Enum):
    """The method that a program is for."""

    ACTIVE_SET = "active set"
    INTERIOR_POINT = "interior point"


def route(program: QuadraticProgram, settings: Settings) -> Route:
    """The active set for a dense P, most variables with bounds and at most one row with sides, else the interior point.

    An interior-point method factors all of P in each iteration, whereas the active set reads the rows of what moves,
    which is worth it from `MIN_VARIABLES` on.  Settings that belong to the interior-point method choose it.
    """
    P: object = program.P
    if program.q.size < MIN_VARIABLES or not isinstance(P, np.ndarray):
        return Route.INTERIOR_POINT
    limited = settings.time_limit is not None and settings.time_limit < LONG_TIME
    watched = settings.verbose or settings.callback is not None or limited
    if not settings.active_set or watched or settings.kkt != "auto" or settings.regularization is not None:
        return Route.INTERIOR_POINT
    if sided_rows(program).size > 1:
        return Route.INTERIOR_POINT
    bounded = np.count_nonzero(np.isfinite(program.lb) | np.isfinite(program.ub))
    return Route.ACTIVE_SET if 2 * bounded > program.n and P.diagonal().max() > 0.0 else Route.INTERIOR_POINT


def sided_rows(program: QuadraticProgram) -> np.ndarray:
    """The rows with a finite side."""
    return np.flatnonzero(np.isfinite(program.l) | np.isfinite(program.u))
