"""Sides that cross, l > u or lb > ub: equal sides if they cross within the tolerance, else a proof of infeasibility."""

from __future__ import annotations

import functools
import time
from typing import NamedTuple

import numpy as np

from socp.engine import NO_TIMINGS
from socp.method.run import NO_RECORDS
from socp.problem.settings import Settings
from socp.problem.solution import Solution as ConeSolution
from socp.problem.status import Status

from ..problem.conflict import NAMED, listed
from ..problem.derivatives import linearize
from ..problem.program import QuadraticProgram
from ..problem.solution import Solution, infeasible_message
from .cone_form import ConeForm
from .presolve import beyond


class Crossing(NamedTuple):
    """Pairs of sides that cross: lower > upper, at `places` of the rows followed by the variables, largest first."""

    places: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def message(self, rows: int) -> str:
        """Return the message of the answer; `rows` is the number of rows of the program."""
        pairs, sides, count = [], [], self.places.size
        for k, lower, upper in zip(self.places[:NAMED].tolist(), self.lower.tolist(), self.upper.tolist()):
            of = f"[{k}]" if k < rows else f"b[{k - rows}]"
            sides += [f"l{of}", f"u{of}"]
            pairs.append(f"l{of} = {lower:.10g} is above u{of} = {upper:.10g}")
        reason = f"no feasible point exists: {listed(pairs, count)}"
        return infeasible_message(reason, listed(sides, 2 * count))


def crossing_of(program: QuadraticProgram, settings: Settings) -> Crossing | None:
    """Return the sides that cross by more than tol (1 + their size), or than `tol_abs`; None if there are none."""
    lower, upper = np.append(program.l, program.lb), np.append(program.u, program.ub)
    index = np.flatnonzero(lower > upper)
    lower, upper = lower[index], upper[index]
    excess = beyond(lower, upper, settings)
    order = np.argsort(-excess, kind="stable")
    order = order[excess[order] > 0.0]
    return Crossing(index[order], lower[order], upper[order]) if order.size else None


def infeasible(program: QuadraticProgram, crossing: Crossing, setup_time: float) -> Solution:
    """Return the answer to a program whose sides cross.

    The two multipliers of a pair are equal, so that y and z_bounds, their differences, are zero.  `cone_solution` has
    each multiplier.
    """
    started, message = time.perf_counter(), crossing.message(program.m)
    solution = Solution(
        Status.PRIMAL_INFEASIBLE, np.full(program.n, np.nan), np.zeros(program.m), np.zeros(program.n),
        np.nan, np.nan, 0.0, np.nan, np.nan, iterations=0, setup_time=0.0, solve_time=0.0,
        message=message, trace=NO_RECORDS, timings=NO_TIMINGS.copy(),
        run=functools.partial(cone_certificate, program, crossing, message),
    )  # fmt: skip
    solution._linearize = functools.partial(linearize, program)
    solution.take_seconds(setup_time, time.perf_counter() - started)
    return solution


def cone_certificate(program: QuadraticProgram, crossing: Crossing, message: str) -> ConeSolution:
    """Return the answer to the cone program: (y, z) with equal multipliers of the two sides that cross most."""
    form, m = ConeForm(program), program.m
    k, size = int(crossing.places[0]), m + program.n
    z = np.zeros(form.m)
    z[form.places[[k, size + k]] - form.p] = 1.0 / (crossing.lower[0] - crossing.upper[0])
    x, s = np.full(form.n, np.nan), np.full(form.m, np.nan)
    return ConeSolution(
        Status.PRIMAL_INFEASIBLE, x, np.zeros(form.p), z, s, np.nan, np.nan, 0.0, np.nan, np.nan, iterations=0,
        setup_time=0.0, solve_time=0.0, message=message, trace=NO_RECORDS, timings=NO_TIMINGS.copy(),
    )  # fmt: skip
