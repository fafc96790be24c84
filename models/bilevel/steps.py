"""The two steps of the bilevel classifier's alternation: their programs solved, and step 2 in closed form.

Only two rows of step 1 hold the means, so that a solver set up once is updated from round to round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import socp

from ..base.estimator import uninterrupted
from ..programs.bilevel import (
    SIDES,
    Constants,
    Samples,
    curved_program,
    hyperplane_program,
    mean_program,
    radius_program,
)
from .prior import GenerativePrior
from .radii import Directions
from .span import Features, Span, row_basis

NONE = np.zeros(2)  # nu = 0
SHARPER = 0.1  # tolerance of `curved_program`, relative to the tolerance of step 1


@dataclass
class Point:
    """Hyperplane, means, the slacks that they need, and the objective (4.17)."""

    w: np.ndarray
    b: float
    mu: np.ndarray
    xi: np.ndarray
    zeta: np.ndarray
    nu: np.ndarray
    objective: float


def evaluate(
    samples: Samples, prior: GenerativePrior, constants: Constants, w: np.ndarray, b: float, mu: np.ndarray, nu: Any
) -> Point:
    """Return the point with the least slacks xi and zeta, and (4.17) without the terms of an infinite C."""
    xi = np.maximum(0.0, 1.0 - samples.y * (samples.X @ w + b))
    zeta = np.zeros(2)
    for i, beta in enumerate(constants.betas):
        if beta > 0.0:  # for beta = 0 the constraint s_i (w'mu + b) >= 0 has no slack
            zeta[i] = max(0.0, prior.Sigma[i].length(w) - SIDES[i] * (w @ mu[i] + b) / beta)
    objective, prices = float(np.linalg.norm(w)), (constants.C1, constants.C2, constants.C3)
    for C, violation in zip(prices, (samples.weights @ xi, zeta.sum(), np.sum(nu))):
        objective += C * float(violation) if math.isfinite(C) else 0.0
    if samples.may_deviate:
        objective += float(samples.Q @ np.abs(samples.D @ w))
    return Point(w, b, mu, xi, zeta, np.asarray(nu, dtype=np.float64), objective)


class HyperplaneStep:
    """Step 1, set up once and updated with the means; `free` radii need a finite C3 and four vectors' coordinates."""

    def __init__(
        self,
        coordinates: Features | Span,
        samples: Samples,
        constants: Constants,
        kept: tuple[bool, bool] = (True, True),
        **settings: Any,
    ) -> None:
        self.coordinates, self.constants, self.settings = coordinates, constants, settings
        m, rows = samples.X.shape[0], coordinates.documents
        D = rows[m:] if samples.D is not None else None
        D = row_basis(D) if D is not None and not samples.may_deviate else D
        self.samples = replace(samples, X=rows[:m], D=D)
        self.kept = [i for i in (0, 1) if kept[i]]
        self.free = math.isfinite(constants.C3) and coordinates.vectors == 4
        self.solver: socp.Solver | None = None
        self.program: socp.ConeProgram | None = None

    def solve(self, mu: np.ndarray, move: Directions | None = None) -> tuple[np.ndarray, float, socp.Solution]:
        """Return w, b and the engine's answer for the means `mu`, or means free along `move`; w is NaN on failure."""
        if self.free:
            move = move or Directions(np.zeros_like(mu), NONE, NONE, NONE + 1.0)
            mu = np.vstack([mu - (np.array(SIDES) * move.nu)[:, None] * move.g, move.g])
        means = self.coordinates.means(mu)
        count = len(self.kept)
        cones = [move.cone(i, means[2 + i], k, count) for k, i in enumerate(self.kept)] if move and self.free else []
        if self.solver is None:
            roots = self.coordinates.roots
            stated = (self.samples, means[:2], roots, self.constants, self.kept, self.free)
            self.blocks, self.prior = hyperplane_program(*stated)
            self.cones = [self.blocks.cone(**terms) for terms in cones]
            self.solver = socp.Solver(self.blocks.program(), **self.settings)
        else:
            changes = self.blocks.change(self.prior, w=np.array(SIDES)[self.kept, None] * means[self.kept])
            for cone, terms in zip(self.cones, cones):
                right = -np.append(terms.pop("radius"), terms.pop("shift"))
                changes |= self.blocks.change(cone, right, **terms)
            self.solver.update(**changes)
        self.program = self.solver.program
        return self._hyperplane(uninterrupted(self.solver.solve(warm_start=True)))

    def _hyperplane(self, solution: socp.Solution) -> tuple[np.ndarray, float, socp.Solution]:
        x, p = solution.x, self.blocks
        return self.coordinates.weights(x[p.w]), float(x[p.b][0]), solution

    def multipliers(self, solution: socp.Solution) -> np.ndarray:
        """Return the multipliers of (4.20) and (4.21), zero of a class that is not kept."""
        found = np.zeros(2)
        found[self.kept] = solution.z[self.prior.rows]
        return found

    def sharpen(self, length: float) -> tuple[np.ndarray, float, socp.Solution] | None:
        """Return the hyperplane from `curved_program`, which has the minimizer of step 1; None if w is zero."""
        if self.program is None or length <= 0.0:
            return None
        curved = curved_program(self.program, self.blocks, length)
        settings = {**self.settings, "tol": SHARPER * self.settings.get("tol", 1e-8)}
        return self._hyperplane(uninterrupted(socp.solve(curved, **settings)))


def farthest_means(
    prior: GenerativePrior, constants: Constants, w: np.ndarray, b: float, before: np.ndarray = NONE
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return mu_i = t_i + s_i (phi + nu_i) Omega_i w / ||Omega_i^(1/2) w|| and nu: step 2 in closed form.

    With a finite C_3 the radius grows, at the cost C_3 per unit, as long as it lowers C_2 zeta_i by more: by
    C_2 ||Omega_i^(1/2) w|| / beta per unit, until zeta_i is zero.  With C_2 infinite, step 1 kept zeta at zero with
    nu = `before`, so that nu can only decrease.  Without a direction (Omega^(1/2) w = 0), mu = t.
    """
    nu = np.zeros(2)
    move = Directions.of(prior, w, nu)
    for i, (side, reach) in enumerate(zip(SIDES, move.reach)):
        if math.isfinite(constants.C3) and constants.C2 * reach > constants.C3 * constants.betas[i]:
            missing = constants.betas[i] * prior.Sigma[i].length(w) - side * (w @ prior.t[i] + b)
            nu[i] = max(0.0, missing / reach - constants.phi)
            if math.isinf(constants.C2):
                nu[i] = min(nu[i], before[i])
    return prior.t + (np.array(SIDES) * (constants.phi + nu))[:, None] * move.g, nu


def farthest_means_by_cones(
    prior: GenerativePrior, constants: Constants, w: np.ndarray, b: float, before: np.ndarray = NONE, **settings: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and nu of step 2, solved as cone programs; with a finite C_3 the radii come first."""
    nu, mu = np.zeros(2), prior.t.copy()
    for i, (side, Omega) in enumerate(zip(SIDES, prior.Omega)):
        R = Omega.root_matrix()
        slope = side * (R @ w)
        if not slope.any():
            continue
        if math.isfinite(constants.C3):
            missing = constants.betas[i] * prior.Sigma[i].length(w) - side * (w @ prior.t[i] + b)
            p, program = radius_program(slope, missing, constants.betas[i], constants)
            nu[i] = max(0.0, float(uninterrupted(socp.solve(program, **settings)).x[p.nu][0]))
            nu[i] = min(nu[i], before[i]) if math.isinf(constants.C2) else nu[i]
        mu[i] += R.T @ uninterrupted(socp.solve(mean_program(slope, constants.phi + nu[i]), **settings)).x
    return mu, nu
