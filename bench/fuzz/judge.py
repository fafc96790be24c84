"""What an answer to a program with a planted fact is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import qp
import socp
from socp import Status

from ..answers import exact
from ..answers.answer import Answer
from ..answers.verify import Verification, cone_distance, verify
from ..compare.suite import ROUNDING, VERIFIED_TOL
from .case import INFEASIBLE, OPTIMAL, UNBOUNDED, Case
from .points import times

INACCURATE_TOL = 1e-5
"""What "inaccurate" promises."""
DEFAULT_TOL = 1e-8
LEAST = 64 * float(np.finfo(float).eps)
"""A true residual below is rounding of the answer's own entries, whatever is told of it."""
EXCUSE = "double precision"
"""What the message says of an answer of which double precision has no more digits."""

Point = tuple[np.ndarray, ...]

SOLVED, CERTIFIED, INACCURATE, UNSOLVED = "optimal", "certified", "inaccurate", "unsolved"
MISSED, WRONG, EXCEPTION, CRASH = "missed", "wrong", "exception", "crash"
VERDICTS = (SOLVED, CERTIFIED, INACCURATE, UNSOLVED, MISSED, WRONG, EXCEPTION, CRASH)
FAILURES = (MISSED, WRONG, EXCEPTION, CRASH)
FATAL = (WRONG, EXCEPTION, CRASH)


@dataclass(frozen=True)
class Truth:
    """What exact arithmetic says of a solution: primal residual, dual residual and gap, beside what is told of them.

    Attributes
    ----------
    over_tol : float
        The largest of the three over the tolerance that the status promises.
    told : float
        The smallest share that is told of one of those that are not rounding; infinite where all are.
    excused : bool
        Whether the message says that double precision has no more digits.
    residuals : tuple of float
    """

    over_tol: float
    told: float
    excused: bool
    residuals: tuple[float, float, float]

    def text(self) -> str:
        """The residuals by their names."""
        primal, dual, gap = self.residuals
        return f"in exact arithmetic primal residual {primal:.1e}, dual residual {dual:.1e}, gap {gap:.1e}"


@dataclass(frozen=True)
class Verdict:
    """One of `VERDICTS`, for a failure the reason in words, whether an answer was expected, and the exact residuals."""

    name: str
    why: str = ""
    expected: bool = False
    truth: Truth | None = None


def judge(case: Case, answer: Answer) -> Verdict:
    """Hold an answer against what it claims, and then against what is planted.

    An "optimal" must pass the stopping test at tol, an "inaccurate" at 1e-5, a certificate must be one to 1e-6, or to
    what it was asked for where that is more.  In exact arithmetic the residuals of a solution must be at most twice
    what its status promises, or 1e-5 if its message excuses it, and at most twice those that it tells.  In a program
    whose data are within 1e4 of one, a claim must not contradict the planted fact, and there must be one.
    """
    exactly = truth(case, answer)
    name, why = _name_and_reason(case, answer, exactly)
    return Verdict(name, why, case.expected, exactly)


def truth(case: Case, answer: Answer) -> Truth | None:
    """The residuals of a solution in exact arithmetic; None for what is none, or tells nothing of itself."""
    if not answer.status.has_solution or answer.told is None:
        return None
    promised = _tol(case) if answer.status is Status.OPTIMAL else max(_tol(case), INACCURATE_TOL)
    found = exact.residuals(case.program, answer.x, answer.y, answer.z, answer.s)
    shares = [told / true for told, true in zip(answer.told, found, strict=True) if true > LEAST]
    return Truth(max(found) / promised, min(shares, default=np.inf), EXCUSE in answer.message, found)


def _tol(case: Case) -> float:
    return float(case.settings.get("tol", DEFAULT_TOL))


def _name_and_reason(case: Case, answer: Answer, exactly: Truth | None) -> tuple[str, str]:
    found, tol = verify(case.program, answer.x, answer.y, answer.z), _tol(case)
    untrue = _untrue(answer.status, found, tol, float(case.settings.get("tol_infeasible", tol)))
    if not untrue and exactly is not None:
        untrue = _untrue_exactly(answer, exactly)
    if untrue:
        return WRONG, untrue
    contradiction = _contradiction(case, answer, found) if case.expected else ""
    if contradiction:
        return WRONG, contradiction
    if answer.status is Status.OPTIMAL:
        return SOLVED, ""
    if answer.status.is_infeasible:
        return CERTIFIED, ""
    if case.expected:
        return MISSED, f"{answer.status.value} after {answer.iterations} iterations; {parts(found)}"
    return (INACCURATE if answer.status is Status.INACCURATE else UNSOLVED), ""


def parts(found: Verification) -> str:
    """The residuals of an answer by their names."""
    names = ("primal", "primal_cone", "dual", "dual_cone", "gap", "primal_infeasible", "dual_infeasible")
    return ", ".join(f"{name} {getattr(found, name):.1e}" for name in names)


def _untrue(status: Status, found: Verification, tol: float, tol_infeasible: float) -> str:
    """What is not so of what the status says."""
    certified = max(VERIFIED_TOL, ROUNDING * tol_infeasible)
    if status is Status.OPTIMAL and not found.solved(ROUNDING * tol):
        return f"optimal to {tol:.1e} is not so: {parts(found)}"
    if status is Status.INACCURATE and not found.solved(ROUNDING * max(tol, INACCURATE_TOL)):
        return f"inaccurate is not so: {parts(found)}"
    if status is Status.PRIMAL_INFEASIBLE and not found.primal_infeasible <= certified:
        return f"no certificate of infeasibility: {parts(found)}"
    if status is Status.DUAL_INFEASIBLE and not found.dual_infeasible <= certified:
        return f"no ray: {parts(found)}"
    return ""


def _untrue_exactly(answer: Answer, exactly: Truth) -> str:
    """What is not so of the status, or of the residuals that are told, in exact arithmetic."""
    told = ", ".join(f"{value:.1e}" for value in answer.told or ())
    allowed = exactly.excused and max(exactly.residuals) <= 2.0 * INACCURATE_TOL  # what rounding excuses at most
    if exactly.over_tol > 2.0 and not allowed:
        return f"{answer.status.value} is not so: {exactly.text()}; told are {told}"
    if not exactly.told >= 0.5:
        return f"told are {told}, but {exactly.text()}"
    return ""


def _contradiction(case: Case, answer: Answer, found: Verification) -> str:
    """How a claim contradicts what is planted; that an infeasible program has a ray beside is none."""
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
    r"""How far the objective of an answer may be from the planted optimum, by its own residuals.

    With the planted pair (x*, y*, z*), s* = h - Gx*, and convexity, for any x and (y, z), s = h - Gx,

        f(x)       >=  f(x*) - |y*|_1 |Ax - b| - |z*|_1 dist(s, K)
        g(x, y, z) <=  f(x*) + |x*|_1 |Px + c + A'y + G'z| + |s*|_1 dist(z, K)

    with the norms of residuals and distances in infinity norm, f and g the primal and the dual objective, and what
    evaluating these may lose.
    """
    program, planted = case.program, case.planted
    point = tuple(np.asarray(part, dtype=float) for part in (answer.x, answer.y, answer.z))
    optimum = tuple(np.asarray(part, dtype=float) for part in (planted.x, planted.y, planted.z))
    explained = (
        _by_residuals_of_cones(program, point, optimum)
        if isinstance(program, socp.ConeProgram)
        else _by_residuals_of_sides(program, point, optimum)
    )
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
    """The same with each row and variable between its sides; a multiplier of an infinite side is a residual."""
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
