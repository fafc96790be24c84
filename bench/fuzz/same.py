"""Whether two answers to one program are the same, and how far from a documented threshold where they are not.

Statuses, objectives and points are compared in the units of one program.  Two optimal answers may differ by what the
stopping test allows (docs/forms.md); an optimal answer and a certificate by a violation that the test does not see:
the certificate is weighed against the point (`answers.exclusion`), which tells which of the two is at fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from socp import Status

from ..answers import exclusion
from ..answers.answer import Answer
from ..answers.exclusion import WEIGHT
from ..answers.program import Program, linear_name
from ..answers.verify import objective_unit, verify
from . import challenge
from .judge import DEFAULT_TOL, EXCUSE
from .points import times

AGREE, THRESHOLD, MISSED, DISAGREE = "agree", "threshold", "missed", "disagree"
OUTCOMES = (AGREE, THRESHOLD, MISSED, DISAGREE)
NEAR = 2.0
"""Residuals over the tolerance up to which answers in the same units agree."""
FAR = 20.0
"""Residuals over the tolerance from which answers in the same units disagree: sizes in the test change that much."""
SMALL = 1e-2
"""Size of q and Px below which an objective is small: it is compared relative to its own terms."""
OWN = 1e-4
"""Relative difference of small objectives from which answers disagree."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a comparison, the distance from the threshold (in multiples of it), and the reason in words."""

    name: str
    distance: float = 0.0
    why: str = ""


def compare(program: Program, one: Answer, other: Answer, same_units: bool, hard: bool) -> Outcome:
    """Compare two answers to a program; `hard` says that a missing answer is no fault."""
    if one.status is Status.OPTIMAL and other.status is Status.OPTIMAL:
        return _both_optimal(program, one, other, same_units)
    if one.status is other.status or not (_claims(one) or _claims(other)):
        return Outcome(AGREE)
    if _claims(one) and _claims(other):
        if Status.OPTIMAL not in (one.status, other.status):
            return Outcome(THRESHOLD, 1.0, "infeasible, and with a ray: both are certified")
        point, certificate = (one, other) if one.status is Status.OPTIMAL else (other, one)
        return _point_and_certificate(program, point, certificate)
    claimed, rest = (one, other) if _claims(one) else (other, one)
    words = f"{claimed.status.value} and {rest.status.value}"
    distance = _distance(program, rest, claimed.status)
    if distance <= NEAR:
        return Outcome(THRESHOLD, distance, words)
    return Outcome(MISSED if hard else DISAGREE, distance, words)


def _claims(answer: Answer) -> bool:
    return answer.status is Status.OPTIMAL or answer.status.is_infeasible


def _distance(program: Program, answer: Answer, expected: Status) -> float:
    """Return the residual over the tolerance of an answer that claims nothing."""
    if answer.x is None or answer.y is None or expected.is_infeasible:
        return np.inf
    return verify(program, answer.x, answer.y, answer.z).worst / DEFAULT_TOL


def _point_and_certificate(program: Program, point: Answer, certificate: Answer) -> Outcome:
    """Weigh a certificate against the optimal point; one without multipliers is searched for a false claim only."""
    words = f"optimal and {certificate.status.value}"
    found = challenge.weigh(program, certificate, challenge.Point("", point.x, point.y, point.z))
    if found is None:
        return Outcome(DISAGREE, np.inf, words)
    words += f": faults of the point weigh {found.of_point:.1e}, the certificate leaves {found.of_certificate:.1e}"
    return Outcome(DISAGREE if found.of_point < WEIGHT else THRESHOLD, found.of_point, words)


def _both_optimal(program: Program, one: Any, other: Any, same_units: bool) -> Outcome:
    (f, size, slope), (g, size_, slope_) = (_objective(program, answer.x) for answer in (one, other))
    slope = max(slope, slope_)
    if other.objectives is not None:
        lost = 1e-9 * (1.0 + abs(g) + 2.0 * size_ + abs(program.offset) + slope * float(np.abs(other.x).sum()))
        if not abs(other.objectives[0] - g - program.offset) <= lost:
            return Outcome(
                DISAGREE, np.inf, f"told is the objective {other.objectives[0]:.10g}, but at x it is {g:.10g}"
            )
    reach = 1.0 + float(np.abs(one.x).sum())
    size = max(size, size_, DEFAULT_TOL / OWN * slope * reach)
    off, excused = abs(f - g), any(EXCUSE in answer.message for answer in (one, other))
    over = off / (4.0 * DEFAULT_TOL * (1.0 + max(abs(f), abs(g))))
    residual = 0.0
    for answer in (one, other):
        if answer.y is not None and answer.z is not None:
            residual = max(residual, verify(program, answer.x, answer.y, answer.z).worst / DEFAULT_TOL)
    distance = max(over, residual)
    words = f"objectives {f:.10g} and {g:.10g}, residuals up to {residual:.1f} tol"
    most = max(OWN * size, 4.0 * DEFAULT_TOL * objective_unit(program))  # what the test promises of small objectives
    if slope < SMALL and off > most and not excused:
        return Outcome(DISAGREE, off / most, f"small objectives differ: {words}")
    curvature = _least_curvature(program.P)
    apart = float(np.abs(one.x - other.x).max(initial=0.0))
    if curvature > 0.0 and distance <= NEAR:
        # f(x) >= f(x*) + curvature/2 |x - x*|^2, but for what residuals change
        most = 2.0 * np.sqrt(2.0 * (off + _lost(program, one, other)) / curvature)
        if apart > most + 1e-6 * (1.0 + np.abs(one.x).max(initial=0.0)):
            return Outcome(
                DISAGREE, apart / most, f"the only solution is off by {apart:.1e}, explained {most:.1e}; {words}"
            )
    if distance <= NEAR:
        return Outcome(AGREE, distance)
    if same_units and distance > FAR and not excused:
        explained = over <= NEAR or off <= _lost(program, one, other)
        if residual > FAR or not explained:
            return Outcome(DISAGREE, distance, words)
    return Outcome(THRESHOLD, distance, words)


def _objective(program: Program, x: Any) -> tuple[float, float, float]:
    """Return the objective without offset, the size of its terms, and the larger of |Px| and |c|."""
    c, long = getattr(program, linear_name(program)), np.asarray(x, dtype=np.longdouble)
    Px = exclusion.times(program.P, long)
    half, linear = 0.5 * (long @ Px), long @ c
    slope = max(float(np.abs(Px).max(initial=0.0)), float(np.abs(c).max(initial=0.0)))
    return float(half + linear), float(max(abs(half), abs(linear))), slope


def _lost(program: Program, *answers: Any) -> float:
    """Return how far the objectives of answers may be apart by their residuals: those times the others' multipliers."""
    total = 0.0
    for answer in answers:
        if answer.y is None or answer.z is None:
            return np.inf
        found = verify(program, answer.x, answer.y, answer.z, bounds_alone=False)
        weights = float(np.abs(answer.y).sum() + np.abs(answer.z).sum())
        size = (
            1.0
            + float(np.abs(answer.x).max(initial=0.0))
            + max((float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for v in _sides(program)), default=0.0)
        )
        size += float(np.abs(program.A @ answer.x).max(initial=0.0))
        c = getattr(program, linear_name(program))
        slope = 1.0 + float(np.abs(c).max(initial=0.0)) + float(np.abs(times(program.P, answer.x)).max(initial=0.0))
        total += max(found.primal, found.primal_cone) * size * weights
        total += max(found.dual, found.dual_cone) * slope * float(np.abs(answer.x).sum() + size)
        total += abs(found.objective - found.dual_objective)
    return 4.0 * total


def _sides(program: Any) -> list[np.ndarray]:
    return [getattr(program, name) for name in ("b", "h", "l", "u", "lb", "ub") if hasattr(program, name)]


def _least_curvature(P: Any) -> float:
    """Return the least eigenvalue of P if it is well above rounding, else 0."""
    if P is None:
        return 0.0
    dense = P.toarray() if not isinstance(P, np.ndarray) else P
    if not dense.size or dense.shape[0] > 150:
        return 0.0
    values = np.linalg.eigvalsh(dense)
    return float(values[0]) if values[0] > 1e-6 * values[-1] else 0.0
