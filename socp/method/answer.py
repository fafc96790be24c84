"""Answers of a run: an iterate in the caller's units, and the verdict of the stopping test on the caller's own data.

A point passes if the stopping test holds for it.  It also counts as an answer if the test fails by rounding alone, that
is, if it holds once the rounding errors of its terms are taken off the residuals, and if these are small as they are.
"""

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

import numpy as np

from ..form.standard import StandardForm
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..verify.distances import hold_to_bounds
from ..verify.stopping import EXCUSED_TOL, INACCURATE_TOL, ConeTest, Residuals
from .loop import RAY
from .newton import Point, unscale

Point4 = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Verdict(enum.Enum):
    """What the stopping test finds of a point."""

    PASSES = "the stopping test holds"
    OUTSIDE_BOUNDS = "the stopping test holds, but x violates a bound by more than `RAY` times tol"
    EXCUSED = "the test holds but for rounding, and at `EXCUSED_TOL` without an excuse"
    ROUNDED = "the test holds but for rounding, and fails at `EXCUSED_TOL` without an excuse"
    BOUNDS_MISSED = "the test fails, and x violates a bound by more than tol"
    FAILS = "the test fails for other reasons"


# Access to a member of an enumeration takes as long as a call.
PASSES, OUTSIDE_BOUNDS, EXCUSED, ROUNDED, BOUNDS_MISSED, FAILS = Verdict


class Judged(NamedTuple):
    """A point (x, y, z, s) in the caller's units, its residuals there, and the verdict of the stopping test."""

    answer: Point4
    found: Residuals
    verdict: Verdict

    @property
    def holds(self) -> bool:
        """Whether the stopping test holds without an excuse."""
        return self.verdict is PASSES or self.verdict is OUTSIDE_BOUNDS

    @property
    def is_optimal(self) -> bool:
        """Whether a run may end here as optimal."""
        return self.holds or self.verdict is EXCUSED

    def message(self, tol: float) -> str:
        """Return the message of a run that ends here as optimal."""
        if self.verdict is not EXCUSED:
            return test_holds(tol)
        return (
            f"the stopping test holds at {self.found.worst:.1e}, and at {tol:g} but for rounding: double precision has "
            "no more digits of its terms"
        )


def judge(program: ConeProgram, test: ConeTest, settings: Settings, answer: Point4) -> Judged:
    """Return the verdict of `test` on an answer to a cone program.

    If x violates bounds by more than tol, x is moved to these bounds in place, where that passes or is better.
    """
    tol, tol_abs, missed = settings.tol, settings.tol_abs, 0.0  # missed: largest violation of a bound that is left
    found = test.residuals(*answer)
    holds = found.meets(tol, tol_abs)
    if max(found.rows, found.cone) > tol:
        held = answer[0].copy(), answer[1], answer[2], answer[3].copy()
        missed = hold_to_bounds(program, held[0], held[3])
    if missed > 0.0:
        within = test.residuals(*held)
        if within.meets(tol, tol_abs) or (not holds and within.worst < found.worst):
            answer[0][:], answer[3][:], found = held[0], held[3], within
            holds = found.meets(tol, tol_abs)
            missed = 0.0 if holds else missed
    if holds:
        return Judged(answer, found, PASSES if missed <= RAY * tol else OUTSIDE_BOUNDS)
    if is_within_rounding(test, settings, answer, found):
        return Judged(answer, found, EXCUSED if found.meets(max(tol, EXCUSED_TOL)) else ROUNDED)
    return Judged(answer, found, BOUNDS_MISSED if missed > 0.0 else FAILS)


def is_within_rounding(test: ConeTest, settings: Settings, answer: Point4, found: Residuals) -> bool:
    """Return True if the stopping test fails by no more than the rounding of its terms in double precision."""
    # Rounding explains neither what is far off nor what misses `tol_abs`, which holds for what is measured.
    if not found.meets(max(settings.tol, INACCURATE_TOL), settings.tol_abs):
        return False
    return test.residuals(*answer, rounding=True).meets(settings.tol, settings.tol_abs)


@functools.lru_cache(maxsize=16)
def test_holds(tol: float) -> str:
    """Return the message of an optimal answer, cached: formatting takes 1 % of a solve with ten variables."""
    return f"the stopping test holds at {tol:g}"


def in_callers_units(program: ConeProgram, form: StandardForm, point: Point) -> Point4:
    """Return (x, y, z, s) of a point in the program's units and row order, divided by tau."""
    m = program.h.size
    answer = np.empty(program.c.size), np.empty(program.b.size), np.empty(m), np.empty(m)
    unscale(form, point, *answer)
    return answer
