"""What solving a quadratic program returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from socp.problem.printing import html_summary
from socp.problem.solution import Solution as ConeSolution
from socp.problem.solution import summary
from socp.problem.status import Status


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
        Relative, as in `qp.problem.stopping`, on the caller's own data (of a certificate: its residual).
    iterations : int
        Of the interior-point method; where a working set gave the answer, its rounds (see `qp.active_set.method`).
    setup_time, solve_time : float
        Seconds.
    message : str
        The reason for stopping, in words.
    cone_solution : socp.Solution
        The engine's answer to the cone program behind it; where a working set gave the answer, the same as one to the
        cone program, its trace a record a round.

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
    cone_solution: ConeSolution = field(repr=False)

    @property
    def trace(self) -> np.ndarray:
        """One record an iteration; see `socp.problem.solution.TRACE`."""
        return self.cone_solution.trace

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by part, as in `socp.Solution`; presolve and the way to the cone program are in "rest"."""
        timings = dict(self.cone_solution.timings)
        timings["rest"] += self.setup_time - self.cone_solution.setup_time
        return timings

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return html_summary(self)
