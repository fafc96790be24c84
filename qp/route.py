"""Which method solves a quadratic program."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from socp.problem.settings import Settings

from .problem.kernel_matrix import KernelMatrix
from .problem.program import QuadraticProgram

MIN_VARIABLES = 80  # from which on the active set pays
LONG_TIME = 1.0  # the active set looks at its time between rounds only: no limit below so many seconds


class Route(Enum):
    """The method that a program is for."""

    ACTIVE_SET = "active set"
    WORKING_SET = "working set"
    INTERIOR_POINT = "interior point"


def route(program: QuadraticProgram, settings: Settings) -> Route:
    """The active set for a dense P, most variables with bounds and at most one row with sides, else the interior point.

    An interior-point method factors all of P in each iteration, whereas the active set reads the rows of what moves,
    which is worth it from `MIN_VARIABLES` on.  The working set takes a `KernelMatrix` of which rows are enough.
    Settings that belong to the interior-point method choose it.
    """
    P: Any = program.P
    if isinstance(P, KernelMatrix):
        return Route.WORKING_SET if is_for_rows(program, settings) else Route.INTERIOR_POINT
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


def is_for_rows(program: QuadraticProgram, settings: Settings) -> bool:
    """Whether a program with a `KernelMatrix` needs no more of it than rows."""
    watched = settings.verbose or settings.callback is not None
    if not settings.active_set or watched or settings.kkt != "auto" or settings.regularization is not None:
        return False
    P: Any = program.P
    if settings.check_convexity and not P.is_semidefinite:
        return False
    rows = sided_rows(program)
    if rows.size > 1 or (rows.size == 1 and row_along_signs(program)[0] is None):
        return False
    return bool(np.isfinite(program.lb).all() and np.isfinite(program.ub).all())


def row_along_signs(program: QuadraticProgram) -> tuple[int | None, float]:
    """(the row with sides, the number c with which it is c times the signs of a `KernelMatrix`); None where not so."""
    rows = sided_rows(program)
    if rows.size != 1 or program.l[rows[0]] != program.u[rows[0]]:
        return None, 0.0
    P: Any = program.P
    a = program.A.data if program.m == 1 else program.A[[int(rows[0])], :].toarray()[0]
    if a.size != P.signs.size:
        return None, 0.0
    along = a * P.signs
    return (int(rows[0]), float(along[0])) if along[0] != 0.0 and (along == along[0]).all() else (None, 0.0)


def sided_rows(program: QuadraticProgram) -> np.ndarray:
    """The rows with a finite side."""
    return np.flatnonzero(np.isfinite(program.l) | np.isfinite(program.u))
