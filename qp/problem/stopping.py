"""The stopping test and the certificates of a quadratic program, in its own units, each block by its own size.

    rows     violation of l <= Ax <= u                             <= tol (1 + max(|Ax|, the sides that are violated))
    bounds   violation of lb <= x <= ub, entry by entry            <= tol (1 + |the bound|)
    dual     |Px + q + A'y + z|, and multipliers of infinite sides <= tol (1 + max(|Px|, |q|))
    gap      |primal objective - dual objective|                   <= tol (1 + max(|primal|, |dual|))

with the dual objective -1/2 x'Px - u'y+ + l'y- - ub'z+ + lb'z-.  Rows with one entry are bounds.  Rows and variables
without a finite side have no part in the sizes.  All is measured in twice the precision; see `socp.problem.stopping`
for what rounding excuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from socp.linalg.accurate import add_both
from socp.problem.certificates import (
    Ray,
    RayTerms,
    best_certificate,
    has_entries,
    largest,
    ray_error,
)
from socp.problem.distances import NOTHING, find_bounds, norm
from socp.problem.program import layout_of
from socp.problem.stopping import (
    CONE,
    LOST,
    RESIDUALS,
    ROWS,
    Residuals,
    lost_to_rounding,
    measure_gradient,
    measure_sides,
    told,
)

from .program import QuadraticProgram

if TYPE_CHECKING:
    from ..reduce.cone_form import ConeForm
    from ..reduce.presolve import Presolve

Point = tuple[np.ndarray, np.ndarray, np.ndarray]
NO_CONES = layout_of(())


class ProgramTest:
    """A `socp.problem.stopping.Test` of points of the cone program, on the quadratic program's own data.

    There a row has one multiplier in place of two, and the fixed variables theirs; a point of the cone program may pass
    its own test and not this one.

    Parameters
    ----------
    program : QuadraticProgram
    presolved : Presolve
        What was left out of it.
    form : ConeForm
        The way from there to the cone program.
    """

    def __init__(self, program: QuadraticProgram, presolved: Presolve, form: ConeForm) -> None:
        self.program, self.presolved, self.form = program, presolved, form
        self.last: tuple[Point, Residuals] | None = None

    def residuals(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray | None = None, rounding: bool = False
    ) -> Residuals:
        """The residuals of a point of the cone program; with `rounding` without what evaluating them may lose."""
        x, y, z = self.form.lift(self.presolved.program, x, y, z)
        return self.measure(x, y, z, rounding)

    def measure(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, rounding: bool = False, Px: np.ndarray | None = None
    ) -> Residuals:
        """The residuals of a point (x, y, z_bounds) of what presolve leaves; Px where it is at hand."""
        if self.presolved.removed is not None:
            y, z = self.presolved.dual(y, z)
        found = residuals(self.program, x, y, z, rounding, Px)
        self.last = (x, y, z), found
        return found

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        """The smallest tol at which (y, z) of the cone program certifies infeasibility."""
        return primal_infeasibility(self.program, *self.dual_ray(y, z))

    def dual_infeasibility(self, x: np.ndarray) -> float:
        """The smallest tol at which x of the cone program certifies that the objective falls for ever."""
        return dual_infeasibility(self.program, self.primal_ray(x))

    def point(self, found: Residuals, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Point:
        """The point (x, y, z_bounds) at which `found` was measured: the last one, or lifted again."""
        if self.last is None or self.last[1] is not found:
            x, y, z = self.form.lift(self.presolved.program, x, y, z)
            return x, *self.presolved.dual(y, z)
        return self.last[0]

    def primal_ray(self, x: np.ndarray) -> np.ndarray:
        """The direction of the program that x of the cone program is."""
        return self.form.lift_primal_ray(self.presolved.program, x)

    def dual_ray(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y, z_bounds) of the program for those of a certificate."""
        return self.presolved.dual(*self.form.lift_dual_ray(self.presolved.program, y, z))


def residuals(
    program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, rounding: bool = False,
    Px: np.ndarray | None = None,
) -> Residuals:  # fmt: skip
    """The residuals of (x, y, z_bounds) on the program's own data; with `rounding` without what rounding excuses."""
    A, n, m = program.A, x.size, y.size
    lost, lost_gap = _lost(program, x, y, z) if rounding else (NOTHING, 0.0)
    found, is_bound, dual, Ax = np.zeros(RESIDUALS), np.zeros(m), np.zeros(2 * n), np.zeros(2 * m)
    dual[:n] = z
    add_both(A.indptr, A.indices, A.data, x, y, Ax[:m], Ax[m:], dual[:n], dual[n:])
    find_bounds(A.indices, A.data, *NO_CONES, is_bound)
    measure_sides(program.l, program.u, Ax, y, is_bound, lost[n:], ROWS, found)
    measure_sides(program.lb, program.ub, x, z, NOTHING, NOTHING, CONE, found)
    Px = program.hessian.accurate_product(x) if Px is None else np.concatenate([Px, np.zeros(n)])
    measure_gradient(Px, program.q, x, lost, dual, found)
    return told(found, lost_gap)


def _lost(program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float]:
    """What rounding may take of each entry of (Px + q + A'y + z, Ax), and of the gap; bounds are compared exactly."""
    held = support(program.l, program.u, y)[2] + support(program.lb, program.ub, z)[2]
    lost, lost_gap = lost_to_rounding(program, program.q, x, [(program.A, y, np.zeros(y.size))], held)
    lost[: x.size] += LOST * np.abs(z)
    return lost, lost_gap


def support(l: np.ndarray, u: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """(u'y+ - l'y- over the finite sides, the largest multiplier of an infinite side, the sum of the terms' sizes)."""
    side = np.where(y > 0.0, u, l)
    finite = np.isfinite(side)
    terms = np.where(finite, side, 0.0) * y
    return float(terms.sum()), norm(y[~finite]), float(np.abs(terms).sum())


def violation(l: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    """How far v is outside [l, u]."""
    return float(np.maximum(l - v, v - u).max(initial=0.0))


def primal_terms(program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> RayTerms:
    """What is to be seen of the multipliers (y, z): the slope is u'y+ - l'y- + ub'z+ - lb'z-."""
    slope, stray, size = np.array([support(program.l, program.u, y), support(program.lb, program.ub, z)]).T
    gradient = norm(program.A.T @ y + z), largest(program.A) * norm(y) + norm(z)
    return slope.sum(), size.sum(), [gradient, (norm(stray), max(norm(y), norm(z)))]


def dual_terms(program: QuadraticProgram, x: np.ndarray) -> RayTerms:
    """What is to be seen of the direction x, which may not move towards a finite side: the slope is q'x."""
    along = violation(_recession(program.l), -_recession(-program.u), program.A @ x)
    outside = violation(_recession(program.lb), -_recession(-program.ub), x)
    zeros = ((program.hessian.largest, norm(program.hessian.product(x))), (largest(program.A), along), (1.0, outside))
    size = np.abs(program.q) @ np.abs(x)
    return float(program.q @ x), float(size), [(value, data * norm(x)) for data, value in zeros]


def primal_infeasibility(program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> float:
    """The smallest tol at which (y, z), scaled to u'y+ - l'y- + ub'z+ - lb'z- = -1, certifies infeasibility."""
    return ray_error(*primal_terms(program, y, z))


def dual_infeasibility(program: QuadraticProgram, x: np.ndarray) -> float:
    """The smallest tol at which x, scaled to q'x = -1, certifies that the objective falls for ever."""
    return ray_error(*dual_terms(program, x))


def primal_certificate(program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> tuple[Ray, float]:
    """(y, z_bounds) scaled to the slope -1, with zeros where A has an empty row or column, and its error.

    An empty row whose sides leave out 0 is a certificate by itself, and keeps its multiplier.
    """
    side = np.where(y > 0.0, program.u, program.l)
    idle = ~has_entries(program.A, 0) & (np.where(np.isfinite(side), side, 0.0) * y >= 0.0)
    plain = np.where(idle, 0.0, y), np.where(has_entries(program.A, 1), z, 0.0)
    return best_certificate(primal_terms, program, (y, z), plain)


def dual_certificate(program: QuadraticProgram, x: np.ndarray) -> tuple[Ray, float]:
    """x scaled to q'x = -1, with zeros for variables that have no part in the objective and no row, and its error."""
    used = has_entries(program.A, 1) | (program.q != 0.0) | (program.hessian.sizes(np.ones(program.n)) > 0.0)
    return best_certificate(dual_terms, program, (x,), (np.where(used, x, 0.0),))


def _recession(lower: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(lower), 0.0, -np.inf)
