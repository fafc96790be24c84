"""Verdicts on answers to programs with a planted answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import qp
import socp
from socp import Status

from ..answers import exact
from ..answers.answer import Answer
from ..answers.verify import ROUNDING as EVALUATION
from ..answers.verify import Program, Verification, cone_distance, verify
from ..compare.suite import ROUNDING, VERIFIED_TOL
from . import challenge
from .case import INFEASIBLE, OPTIMAL, UNBOUNDED, Case
from .points import times

INACCURATE_TOL = 1e-5
"""Tolerance that the status "inaccurate" promises."""
EXCUSED_TOL = 1e-6
"""Tolerance of an "optimal" answer whose message contains `EXCUSE`."""
DEFAULT_TOL = 1e-8
LEAST = 64 * float(np.finfo(float).eps)
"""Smaller residuals are rounding of the answer's entries; also the relative error allowed in reported objectives."""
SLOPE = 1e-9
"""Allowed distance of the slope of a certificate from -1, in addition to rounding of its entries."""
GROWN = "the multipliers grow"
"""Part of the message of an answer for which no multipliers may exist."""
EXCUSE = "double precision"
"""Part of the message of an answer that double precision cannot improve."""

Point = tuple[np.ndarray, ...]

SOLVED, CERTIFIED, INACCURATE, UNSOLVED = "optimal", "certified", "inaccurate", "unsolved"
MISSED, WRONG, EXCEPTION, CRASH = "missed", "wrong", "exception", "crash"
VERDICTS = (SOLVED, CERTIFIED, INACCURATE, UNSOLVED, MISSED, WRONG, EXCEPTION, CRASH)
FAILURES = (MISSED, WRONG, EXCEPTION, CRASH)
FATAL = (WRONG, EXCEPTION, CRASH)


@dataclass(frozen=True)
class Truth:
    """Exact residuals of an answer, or the exact error of a certificate, compared with the reported numbers."""

    over_tol: float  # largest residual / tolerance of the status; 0 if the status promises none
    # smallest ratio of a reported to a true residual above rounding; inf if no true residual is
    told: float
    excused: bool  # True if the message contains `EXCUSE`
    residuals: tuple[float, ...]  # (primal residual, dual residual, gap), or (error of the certificate,)
    faults: tuple[str, ...] = ()  # false claims of the answer, in words

    def text(self) -> str:
        """Return the residuals with their names."""
        of_certificate = len(self.residuals) == 1
        names = ("error of the certificate",) if of_certificate else ("primal residual", "dual residual", "gap")
        return "in exact arithmetic " + ", ".join(f"{n} {value:.1e}" for n, value in zip(names, self.residuals))


@dataclass(frozen=True)
class Verdict:
    """One of `VERDICTS`, the reason of a failure in words, whether an answer was expected, and the exact residuals."""

    name: str
    why: str = ""
    expected: bool = False
    truth: Truth | None = None


def judge(case: Case, answer: Answer) -> Verdict:
    """Compare an answer with its own claims and with the planted answer; return the verdict.

    An "optimal" must pass the stopping test at tol, an "inaccurate" at 1e-5, and a certificate at 1e-6, or at its
    own tolerance if that is larger.  A certificate is wrong if a point that it excludes is found (`challenge`).
    Exact arithmetic allows twice what the status promises (see `truth`), and the numbers that an answer reports must
    be right.  If an answer is expected (data within 1e4 of one), it must make a claim, and the claim must not
    contradict the planted answer.
    """
    if answer.status is Status.PRIMAL_INFEASIBLE and has_crossed_sides(case.program):
        return Verdict(CERTIFIED, "", case.expected, None)  # Sides that cross need no certificate.
    exactly = truth(case, answer)
    name, why = _name_and_reason(case, answer, exactly)
    return Verdict(name, why, case.expected, exactly)


def truth(case: Case, answer: Answer) -> Truth | None:
    """Measure an answer in exact arithmetic; return None if the answer reports no residuals.

    An "optimal" may leave twice tol and twice `tol_abs`.  If its message excuses it, bounds still must hold to twice
    tol, and everything else to twice the larger of tol and 1e-6.  An "inaccurate" may leave twice 1e-5, a certificate
    twice `tol_infeasible`, and its slope is -1.  Reported residuals of points are right within a factor of two, and
    reported objectives up to rounding; the reported error of a certificate has a definition of the engine's own.
    """
    if answer.told is None:
        return None
    if answer.status.is_infeasible:
        return _truth_of_certificate(case, answer)
    program, tol, excused = case.program, _tol(case), EXCUSE in answer.message
    found, tol_abs = exact.measure(program, answer.x, answer.y, answer.z, answer.s), case.settings.get("tol_abs")
    promised = {Status.OPTIMAL: tol, Status.INACCURATE: max(tol, INACCURATE_TOL)}.get(answer.status, np.inf)
    allowed = max(promised, EXCUSED_TOL) if excused else promised
    over_tol = max(found.residuals) / promised if np.isfinite(promised) else 0.0
    faults = []
    grown = answer.status is Status.INACCURATE and GROWN in answer.message  # Only x is promised, which is feasible.
    if not (
        found.primal <= 2.0 * tol if grown else max(found.residuals) <= 2.0 * allowed and found.bounds <= 2.0 * promised
    ):
        faults.append(f"{answer.status.value} is not so")
    if answer.status is Status.OPTIMAL and tol_abs is not None and not (excused or found.absolute <= 2.0 * tol_abs):
        faults.append(f"a residual of {found.absolute:.1e} is above tol_abs")
    lowest, wrong = _told(answer.told, found.residuals)
    faults += wrong
    for value, true in zip(answer.objectives or (), (found.objective, found.dual_objective)):
        if not abs(value - true) <= LEAST * (1.0 + abs(true) + abs(program.offset)):
            faults.append(f"told is the objective {value!r}, but it is {true!r}")
    return Truth(over_tol, lowest, excused, found.residuals, tuple(faults))


def _truth_of_certificate(case: Case, answer: Answer) -> Truth:
    program, promised = case.program, float(case.settings.get("tol_infeasible", _tol(case)))
    is_ray = answer.status is Status.DUAL_INFEASIBLE
    ray = (answer.x,) if is_ray else (answer.y, answer.z)
    slope, error = (exact.unboundedness if is_ray else exact.infeasibility)(program, *ray)
    faults = [] if error <= 2.0 * promised else [f"{answer.status.value} is not so"]
    if not abs(slope + 1.0) <= SLOPE + _rounding_of_slope(program, ray):
        faults.append(f"the slope is {slope!r} in place of -1")
    rest = [*(answer.objectives or ()), *((answer.y, answer.z) if is_ray else (answer.x, answer.s))]
    if not all(np.isnan(part).all() for part in rest if part is not None):
        faults.append("what is no part of the certificate must be NaN")
    if answer.x is not None and answer.s is not None and is_ray and isinstance(program, socp.ConeProgram):
        lost = EVALUATION * (abs(program.G) @ np.abs(answer.x))
        if not (np.abs(answer.s + program.G @ answer.x) <= lost).all():
            faults.append("s is not -Gx")
    told = answer.told[int(is_ray)] if answer.told else np.nan
    if not 0.0 <= told <= 2.0 * promised:
        faults.append(f"told is the error {told:.1e}")
    return Truth(error / promised, np.inf, False, (error,), tuple(faults))


def has_crossed_sides(program: Program) -> bool:
    """Return True if a lower side is above its upper side."""
    return isinstance(program, qp.QuadraticProgram) and bool(
        (program.l > program.u).any() or (program.lb > program.ub).any()
    )


def _rounding_of_slope(program: Program, ray: Sequence[np.ndarray | None]) -> float:
    """Return a bound on the change of a certificate's slope by rounding of its entries."""
    is_cone, is_ray = isinstance(program, socp.ConeProgram), len(ray) == 1
    names = ("c" if is_cone else "q",) if is_ray else ("b", "h") if is_cone else ("l", "u", "lb", "ub")
    sides = np.concatenate([getattr(program, name) for name in names])
    return EVALUATION * _largest(sides[np.isfinite(sides)]) * sum(_one(part) for part in ray if part is not None)


def _told(told: Sequence[float], true: Sequence[float]) -> tuple[float, list[str]]:
    """Return the smallest ratio of reported to true residuals above rounding, and a message if reports are wrong."""
    shares = [0.0 if value != value else value / exactly for value, exactly in zip(told, true) if exactly > LEAST]
    so = all(0.5 * exactly - LEAST <= value <= 2.0 * exactly + LEAST for value, exactly in zip(told, true))
    return min(shares, default=np.inf), [] if so else ["told are " + ", ".join(f"{value:.1e}" for value in told)]


def _tol(case: Case) -> float:
    return float(case.settings.get("tol", DEFAULT_TOL))


def _name_and_reason(case: Case, answer: Answer, exactly: Truth | None) -> tuple[str, str]:
    found, tol = verify(case.program, answer.x, answer.y, answer.z), _tol(case)
    wrong = _untrue(answer.status, found, tol, float(case.settings.get("tol_infeasible", tol)))
    if not wrong and exactly is not None and exactly.faults:
        wrong = "; ".join([*exactly.faults, exactly.text()])
    if not wrong and answer.status.is_infeasible:
        wrong = challenge.refuted(case.program, answer, _planted_points(case))
    if not wrong and case.expected:
        wrong = _contradiction(case, answer, found)
    if wrong:
        return WRONG, wrong
    if answer.status is Status.OPTIMAL:
        return SOLVED, ""
    if answer.status.is_infeasible:
        return CERTIFIED, ""
    if case.expected:
        return MISSED, f"{answer.status.value} after {answer.iterations} iterations; {parts(found)}"
    return (INACCURATE if answer.status is Status.INACCURATE else UNSOLVED), ""


def _planted_points(case: Case) -> tuple[challenge.Point, ...]:
    planted = case.planted
    is_point = planted.kind == OPTIMAL
    return (challenge.Point("the plan", planted.x, planted.y, planted.z),) if is_point else ()


def parts(found: Verification) -> str:
    """Return the residuals of an answer and their names as text."""
    names = ("primal", "primal_cone", "dual", "dual_cone", "gap", "primal_infeasible", "dual_infeasible")
    return ", ".join(f"{name} {getattr(found, name):.1e}" for name in names)


def _untrue(status: Status, found: Verification, tol: float, tol_infeasible: float) -> str:
    """Return why the claim of the status is not true, or an empty string."""
    certified = max(VERIFIED_TOL, ROUNDING * tol_infeasible)
    claims = {
        Status.OPTIMAL: (found.solved(ROUNDING * tol), f"optimal to {tol:.1e} is not so"),
        Status.INACCURATE: (found.solved(ROUNDING * max(tol, INACCURATE_TOL)), "inaccurate is not so"),
        Status.PRIMAL_INFEASIBLE: (found.primal_infeasible <= certified, "no certificate of infeasibility"),
        Status.DUAL_INFEASIBLE: (found.dual_infeasible <= certified, "no ray"),
    }
    holds, words = claims.get(status, (True, ""))
    return "" if holds else f"{words}: {parts(found)}"


def _contradiction(case: Case, answer: Answer, found: Verification) -> str:
    """Return how a claim contradicts the planted answer, or an empty string; an infeasible program may have a ray."""
    status, kind = answer.status, case.planted.kind
    if status.has_solution and kind in (INFEASIBLE, UNBOUNDED):
        return f"{status.value}, but planted {kind}: {parts(found)}"
    if status is Status.PRIMAL_INFEASIBLE and kind in (OPTIMAL, UNBOUNDED):
        return f"primal_infeasible, but planted {kind}: {parts(found)}"
    if status is Status.DUAL_INFEASIBLE and kind == OPTIMAL:
        return f"dual_infeasible, but planted optimal: {parts(found)}"
    if status is Status.OPTIMAL and kind == OPTIMAL:
        planted = verify(case.program, case.planted.x, case.planted.y, case.planted.z)
        off, most = abs(found.objective - planted.objective), _explained(case, answer, found)
        if not off <= most:
            return f"the objective is off by {off:.1e}, of which residuals and gap explain {most:.1e}"
    return ""


def _explained(case: Case, answer: Answer, found: Verification) -> float:
    r"""Return how far the objective of an answer may be from the planted optimum, given its own residuals.

    With the planted pair (x*, y*, z*), s* = h - Gx*, and convexity, for any x and (y, z), s = h - Gx,

        f(x)       >=  f(x*) - |y*|_1 |Ax - b| - |z*|_1 dist(s, K)
        g(x, y, z) <=  f(x*) + |x*|_1 |Px + c + A'y + G'z| + |s*|_1 dist(z, K)

    with residuals and distances in the infinity norm and the primal and dual objectives f and g, whose rounding
    errors are added.
    """
    program, planted = case.program, case.planted
    point, optimum = (tuple(np.asarray(part, dtype=float) for part in (of.x, of.y, of.z)) for of in (answer, planted))
    is_cone = isinstance(program, socp.ConeProgram)
    explained = (_by_residuals_of_cones if is_cone else _by_residuals_of_sides)(program, point, optimum)
    gap = abs(found.objective - found.dual_objective)
    return gap + explained + found.objective_rounding + 1e-10 * (1.0 + abs(found.objective) + sum(map(_one, optimum)))


def _by_residuals_of_cones(program: socp.ConeProgram, point: Point, optimum: Point) -> float:
    (x, y, z), (x_, y_, z_) = point, optimum
    finite = np.isfinite(program.h)
    s, s_ = (np.where(finite, program.h - program.G @ v, 0.0) for v in (x, x_))
    dual = times(program.P, x) + program.c + program.A.T @ y + program.G.T @ z
    primal = _one(y_) * _largest(program.A @ x - program.b) + _one(z_) * cone_distance(s, program.cones)
    return primal + _one(x_) * _largest(dual) + _one(s_) * cone_distance(z, program.cones)


def _by_residuals_of_sides(program: qp.QuadraticProgram, point: Point, optimum: Point) -> float:
    """Return the bound of `_explained` for rows and bounds with two sides; multipliers of infinite sides count, too."""
    (x, y, z), (x_, y_, z_) = point, optimum
    total = _one(x_) * _largest(times(program.P, x) + program.q + program.A.T @ y + z)
    for v, v_, w, w_, l, u in (
        (program.A @ x, program.A @ x_, y, y_, program.l, program.u),
        (x, x_, z, z_, program.lb, program.ub),
    ):
        outside = np.maximum(0.0, np.maximum(l - v, v - u))
        stray = np.where(((w > 0) & np.isinf(u)) | ((w < 0) & np.isinf(l)), np.abs(w), 0.0)
        total += float(np.abs(w_) @ outside + stray @ np.abs(v_))
    return total


def _one(v: np.ndarray) -> float:
    return float(np.abs(v).sum())


def _largest(v: np.ndarray) -> float:
    return float(np.abs(v).max(initial=0.0))
