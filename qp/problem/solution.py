"""What solving a quadratic program returns."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

from socp.plan.plan import Plan
from socp.problem.printing import html_summary
from socp.problem.solution import Solution as ConeSolution
from socp.problem.solution import summary
from socp.problem.status import Status
from socp.problem.stopping import Residuals

from .program import QuadraticProgram
from .stopping import Point, dual_certificate, dual_infeasibility, primal_certificate, primal_infeasibility


@dataclass(repr=False)
class Solution:
    """The answer to a quadratic program, with everything that is needed to check it.

    Attributes
    ----------
    status : Status
        A `str` enum; see `socp.Status`.
    x : array, shape (n,)
        The best point found.  For "dual_infeasible" a direction in which the objective falls for ever:
        Px = 0, q'x = -1, towards no finite side; NaN for "primal_infeasible".
    y, z_bounds : arrays, shapes (m,), (n,)
        The multipliers: positive where the upper side holds the solution back, negative at the lower,
        Px + q + A'y + z_bounds = 0.  For "primal_infeasible" the certificate: A'y + z_bounds = 0 and
        u'y+ - l'y- + ub'z+ - lb'z- = -1; NaN for "dual_infeasible".
    objective, dual_objective : float
        NaN when infeasible.
    primal_residual, dual_residual, gap : float
        Relative, as in `qp.problem.stopping`, on the caller's own data (of a certificate: its residual), measured in
        twice the working precision.
    iterations : int
        Of the interior-point method; where the active set gave the answer, its rounds (see `qp.active_set.method`).
    setup_time, solve_time : float
        Seconds.
    message : str
        The reason for stopping, in words; also that double precision has no more digits for a smaller residual.
    trace : structured array
        One record an iteration, or a round; see `socp.problem.solution.TRACE`.  What a round has no number for is NaN.
    timings : dict of float
        Seconds by part, as in `socp.Solution`; presolve, the way to the cone program and the active set are in "rest".

    plan : Plan
        How the program was solved, which prints in words (see `socp.plan.plan`).

    Examples
    --------
    >>> import qp
    >>> sol = qp.solve([[1.0]], [-3.0], ub=[2.0])  # the point of x <= 2 nearest to 3
    >>> print(sol.status, sol.x.round(6), sol.z_bounds.round(6), round(sol.objective, 6), sol.gap < 1e-8)
    optimal [2.] [1.] -4.0 True
    """

    status: Status
    x: np.ndarray
    y: np.ndarray
    z_bounds: np.ndarray
    objective: float
    dual_objective: float
    primal_residual: float
    dual_residual: float
    gap: float
    iterations: int
    setup_time: float
    solve_time: float
    message: str
    trace: np.ndarray = field(repr=False)
    timings: dict[str, float] = field(repr=False)
    plan: Plan | None = field(default=None, repr=False)
    run: InitVar[Any] = None

    def __post_init__(self, run: Any) -> None:
        self._run = run
        self._cone_solution: ConeSolution | None = None

    @property
    def cone_solution(self) -> ConeSolution | None:
        """The engine's answer to the cone program behind it; None where the active set gave the answer."""
        if self._run is not None:
            self._cone_solution, self._run = self._run.solution(), None
        return self._cone_solution

    def __getstate__(self) -> dict[str, Any]:
        """A run stays in its process; what it knows of the cone program goes along."""
        return {**self.__dict__, "_cone_solution": self.cone_solution, "_run": None}

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return html_summary(self)


def solution_at(
    program: QuadraticProgram, status: Status, point: Point, found: Residuals | None, **rest: Any
) -> Solution:
    """The answer at a point, given its residuals there.

    Parameters
    ----------
    program : QuadraticProgram
    status : Status
    point : tuple of arrays
        (x, y, z_bounds); of a certificate the ray, which is normalised here, and anything for the others.
    found : Residuals or None
        None for a certificate.
    **rest
        The other fields of `Solution`.
    """
    x, y, z = point
    objective = dual_objective = primal = dual = gap = math.nan
    if found is not None:
        primal, dual, gap = found.relative
        objective, dual_objective = found.primal_objective + program.offset, found.dual_objective + program.offset
    elif status is Status.PRIMAL_INFEASIBLE:
        x, (y, z) = np.full(program.n, np.nan), primal_certificate(program, y, z)
        primal = primal_infeasibility(program, y, z)
    elif status is Status.DUAL_INFEASIBLE:
        x, y, z = dual_certificate(program, x), np.full(program.m, np.nan), np.full(program.n, np.nan)
        dual = dual_infeasibility(program, x)
    return Solution(status, x, y, z, objective, dual_objective, primal, dual, gap, **rest)
