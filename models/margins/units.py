"""Programs solved in their own units: the answer of a machine does not depend on the units of its samples and prices.

The engine's tolerances are relative to 1 plus a size.  With x = a v, a number (or D v with D diagonal), the program

    minimize  1/2 t a^2 v'Pv + t a q'v    subject to  l / a <= A v <= u / a,   lb / a <= v <= ub / a

has the multipliers t a y and t a z (with D the rows are l <= A D v <= u, and the multipliers t y and t D z).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import qp
from socp.problem.status import Status
from socp.verify.stopping import residuals

from ..base.estimator import GOOD
from ..kernel_machines.program import KernelProgram

USUAL = 2.0**14  # a and t between this and its inverse change nothing that the engine's own scaling does not
MOST_FORMED = 2000  # variables up to which the matrix of a kernel is formed to be scaled


class Units(NamedTuple):
    """Sizes a of the variables and 1 / t of the objective: powers of two, t a^2 one of four, which lose no digits."""

    a: Any
    t: float

    @property
    def are_usual(self) -> bool:
        return all(1.0 / USUAL <= one <= USUAL for one in (np.min(self.a), np.max(self.a), self.t))


def power_of_two(value: float) -> float:
    return 2.0 ** round(math.log2(value)) if 0.0 < value < math.inf else 1.0


def nearest_to_one(*ends: float) -> float:
    """Return the number between the ends that is nearest to 1; ends that are 0 or not finite are left out."""
    known = [one for one in ends if 0.0 < one < math.inf] or [1.0]
    return power_of_two(min(max(1.0, min(known)), max(known)))


def units_of_dual(program: qp.QuadraticProgram) -> Units:
    """Return the units of a dual, whose multipliers are between |q_i| / P_ii, on the margin, and their bounds."""
    most = np.maximum(program.ub, -program.lb)
    price = float(most[np.isfinite(most)].mean()) if np.isfinite(most).any() else math.inf
    slope, curvature = float(np.abs(program.q).mean()), float(np.mean(program.P.diagonal()))  # type: ignore[union-attr]
    if slope == 0.0:  # the sums of the multipliers are given
        a = nearest_to_one(price)
        t = power_of_two(1.0 / (a * a * curvature) if curvature > 0.0 else 1.0)
    else:
        free = slope / curvature if curvature > 0.0 else math.inf
        a = nearest_to_one(free, price)
        t = 1.0 / nearest_to_one(free * slope, price * slope)
    return Units(a, t if math.log2(t) % 2.0 == 0.0 else 2.0 * t)


def units_of_primal(program: qp.QuadraticProgram, F: Any, prices: np.ndarray) -> Units:
    """Return the units of a primal in (w, b, xi): w'F_k, b and xi are in units of the margin."""
    squares = float(F.multiply(F).mean()) if sp.issparse(F) else float((F * F).mean())
    a = np.ones(program.n)
    a[: F.shape[1]] = power_of_two(squares**-0.5 if squares > 0.0 else 1.0)
    return Units(a, power_of_two(1.0 / float(prices.mean())) if prices.size else 1.0)


def solved(program: qp.QuadraticProgram, units: Units, settings: dict[str, Any]) -> qp.Solution:
    """Return the solution of `program`, found in `units`; its residuals are measured on the program itself."""
    if units.are_usual:
        return qp.solve(program, **settings)
    a, t = units
    A, l, u, rows = program.A, program.l, program.u, t
    if np.ndim(a):
        D = sp.diags_array(a)
        P, A = t * (D @ sp.csc_array(program.P) @ D), A @ D
    else:
        P, l, u, rows = _times(program.P, t * a * a), l / a, u / a, t * a
    scaled = qp.QuadraticProgram(P, t * a * program.q, A, l, u, program.lb / a, program.ub / a)
    solution = qp.Solver(scaled, **settings).solve()
    if solution.status.is_infeasible or not np.isfinite(solution.x).all():
        return solution
    x, y, z = a * solution.x, solution.y / rows, solution.z_bounds / (t * a)
    status = solution.status
    if status is Status.OPTIMAL and residuals(program, x, y, z).worst > max(float(settings.get("tol", GOOD)), GOOD):
        status = Status.INACCURATE
    return replace(
        solution, status=status, x=x, y=y, z_bounds=z, objective=solution.objective / t,
        dual_objective=solution.dual_objective / t,
    )  # fmt: skip


def can_scale(program: qp.QuadraticProgram) -> bool:
    """Return True if the program's matrix is there, or small enough to be formed."""
    return not isinstance(program, KernelProgram) or program.n <= MOST_FORMED


def _times(P: Any, factor: float) -> Any:
    if isinstance(P, qp.LowRank):
        return qp.LowRank(math.sqrt(factor) * P.F, factor * P.d)
    if isinstance(P, np.ndarray) or sp.issparse(P):
        return factor * P
    return factor * np.asarray(P.toarray())
