"""The two programs between which the bilevel classifier alternates (Epshteyn and DeJong 2006, section 4).

    step 1, the means fixed (4.10)-(4.14), with the slacks of (4.17)-(4.24):

        min  rho + C_1 sum_i xi_i + C_2 (zeta_1 + zeta_2)
        s.t. rho >= ||w||,   r_i >= ||Sigma_i^(1/2) w||
             y_i (w'x_i + b) >= 1 - xi_i
             -(w'mu_1 + b) >= beta (r_1 - zeta_1),   w'mu_2 + b >= beta (r_2 - zeta_2),   xi, zeta >= 0

    step 2, the hyperplane fixed (4.15)-(4.16), a program for each class with the sign s_1 = -1, s_2 = 1:

        max  s_i w'mu_i   s.t.   ||Omega_i^(-1/2) (mu_i - t_i)|| <= phi + nu_i

An infinite C leaves its slacks out.  When Sigma_i = sigma^2 I, r_i is sigma rho and costs no cone; equal Sigmas share
one.  Only two rows of step 1 hold the means, so that a solver set up once is updated from round to round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp
from socp.problem.blocks import Rows

from ..base.estimator import uninterrupted
from .prior import GenerativePrior
from .span import Features, Span

SIDES = (-1.0, 1.0)  # the side of the hyperplane on which mu_1 and mu_2 belong

NONE = np.zeros(2)  # no slack nu
BOUNDING = 1e-4  # the price that rho keeps in a program with curvature, for otherwise nothing need hold it down
SHARPER = 0.1  # the tolerance of that program in the tolerance of the others


@dataclass(frozen=True)
class Constants:
    """The constants of (4.17)-(4.24); an infinite C makes its constraint hard."""

    beta: float
    phi: float
    C1: float
    C2: float
    C3: float


@dataclass(frozen=True)
class Samples:
    """Documents (m, n), their labels -1 and 1, and their weights, which multiply C_1."""

    X: Any
    y: np.ndarray
    weights: np.ndarray


@dataclass
class Point:
    """A hyperplane, the means, and the slacks that they need; the objective (4.17) of all of it."""

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
    """(4.17) with the least slacks xi and zeta; those of an infinite C count nothing, for step 1 keeps them zero."""
    xi = np.maximum(0.0, 1.0 - samples.y * (samples.X @ w + b))
    zeta = np.array([_shortfall(prior, constants, i, w, b, mu[i]) for i in (0, 1)])
    objective = float(np.linalg.norm(w))
    for C, violation in (
        (constants.C1, samples.weights @ xi),
        (constants.C2, zeta.sum()),
        (constants.C3, np.sum(nu)),
    ):
        objective += C * float(violation) if math.isfinite(C) else 0.0
    return Point(w, b, mu, xi, zeta, np.asarray(nu, dtype=np.float64), objective)


def _shortfall(prior: GenerativePrior, constants: Constants, i: int, w: np.ndarray, b: float, mu: np.ndarray) -> float:
    """The least zeta_i of (4.20) or (4.21); without beta the constraint is s_i (w'mu + b) >= 0 and has no slack."""
    if constants.beta == 0.0:
        return 0.0
    return max(0.0, prior.Sigma[i].length(w) - SIDES[i] * (w @ mu + b) / constants.beta)


def hyperplane_program(
    samples: Samples, means: np.ndarray, roots: Sequence[Any], constants: Constants, kept: Sequence[int] = (0, 1)
) -> tuple[socp.Blocks, Rows]:
    """Step 1 in the letters of (4.17)-(4.24), and its rows that hold the means, those of the classes `kept`.

    The roots are the Sigma_i^(1/2), as matrices or, for sigma_i^2 I, as the number sigma_i.
    """
    (C1, C2, beta), (m, k) = (constants.C1, constants.C2, constants.beta), samples.X.shape
    y, s, mu = samples.y, np.array(SIDES)[list(kept)], means[list(kept)]
    cones, scale = _radii(roots)
    scale = scale[list(kept)]
    p = socp.Blocks(
        w=k, b=1, rho=1, r=len(cones), xi=m if math.isfinite(C1) else 0, zeta=s.size if math.isfinite(C2) else 0
    )
    p.minimize(rho=1.0, xi=C1 * samples.weights, zeta=C2)
    # y_i (w'x_i + b) >= 1 - xi_i
    p.at_least(1.0, w=sp.diags_array(y) @ sp.csr_array(samples.X), b=y, xi=1.0)
    # s_i (w'mu_i + b) >= beta (r_i - zeta_i)
    prior = p.at_least(0.0, w=s[:, None] * mu, b=s, rho=-beta * scale[:, 0], r=-beta * scale[:, 1:], zeta=beta)
    p.bounds(xi=(0.0, None), zeta=(0.0, None))
    # rho >= ||w||,  r_j >= ||Sigma_j^(1/2) w||
    p.cone("rho", w=1.0)
    for j, root in enumerate(cones):
        p.cone({"r": np.eye(len(cones))[[j]]}, w=root)
    return p, prior


def _radii(roots: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """The Sigma_i^(1/2) that need a cone of their own, and r_i = scale_i'(rho, the radii of these)."""
    cones: list[Any] = []
    scale = np.zeros((len(roots), 1 + len(roots)))
    for i, root in enumerate(roots):
        if np.ndim(root) == 0:
            scale[i, 0] = root
            continue
        same = [j for j, other in enumerate(cones) if other.shape == root.shape and (other != root).nnz == 0]
        scale[i, 1 + (same[0] if same else len(cones))] = 1.0
        cones += [] if same else [root]
    return cones, scale[:, : 1 + len(cones)]


class HyperplaneStep:
    """Step 1, set up once for the samples and updated with the means."""

    def __init__(
        self,
        coordinates: Features | Span,
        samples: Samples,
        constants: Constants,
        kept: tuple[bool, bool] = (True, True),
        **settings: Any,
    ) -> None:
        self.coordinates, self.constants, self.settings = coordinates, constants, settings
        self.samples = replace(samples, X=coordinates.documents)
        self.kept = [i for i in (0, 1) if kept[i]]
        self.solver: socp.Solver | None = None
        self.program: socp.ConeProgram | None = None

    def solve(self, mu: np.ndarray) -> tuple[np.ndarray, float, socp.Solution]:
        """The hyperplane (w, b) for the means mu, and the engine's answer; NaN when there is none."""
        means = self.coordinates.means(mu)
        if self.solver is None:
            roots = self.coordinates.roots
            self.blocks, self.prior = hyperplane_program(self.samples, means, roots, self.constants, self.kept)
            self.solver = socp.Solver(self.blocks.program(), **self.settings)
        else:
            signed = np.array(SIDES)[self.kept, None] * means[self.kept]
            self.solver.update(**self.blocks.change(self.prior, w=signed))
        self.program = self.solver.program
        return self._hyperplane(uninterrupted(self.solver.solve(warm_start=True)))

    def _hyperplane(self, solution: socp.Solution) -> tuple[np.ndarray, float, socp.Solution]:
        x, p = solution.x, self.blocks
        return self.coordinates.weights(x[p.w]), float(x[p.b][0]), solution

    def multipliers(self, solution: socp.Solution) -> np.ndarray:
        """Those of (4.20) and (4.21)."""
        return solution.z[self.prior.rows]

    def sharpen(self, length: float) -> tuple[np.ndarray, float, socp.Solution] | None:
        """The hyperplane again, from a program with the same minimizer and with curvature; None where w is zero.

        A gap of eps in ||w|| leaves w uncertain by sqrt(eps ||w||).  At the minimizer w* the gradient of ||w|| is that
        of ||w||^2 / (2 ||w*||), and ||w*|| is known to eps: with that objective w is the more certain.
        """
        program = self.program
        if program is None or length <= 0.0:
            return None
        p, c, curvature = self.blocks, program.c.copy(), np.zeros(program.n)
        c[p.rho] = BOUNDING
        curvature[p.w] = (1.0 - BOUNDING) / length
        curved = socp.ConeProgram(
            c=c, G=program.G, h=program.h, cones=program.cones, P=sp.csc_array(sp.diags_array(curvature))
        )
        return self._hyperplane(
            uninterrupted(socp.solve(curved, **{**self.settings, "tol": SHARPER * self.settings.get("tol", 1e-8)}))
        )


def farthest_means(
    prior: GenerativePrior, constants: Constants, w: np.ndarray, b: float, before: np.ndarray = NONE
) -> tuple[np.ndarray, np.ndarray]:
    r"""Step 2 in closed form: mu_i = t_i + s_i (phi + nu_i) Omega_i w / ||Omega_i^(1/2) w||, and nu.

    With a finite C_3 the radius grows, at the cost C_3 a unit, as long as it lowers C_2 zeta_i by more: by
    C_2 ||Omega_i^(1/2) w|| / beta a unit, until zeta_i is zero.  With C_2 infinite step 1 held zeta at zero with the nu
    of `before`, so that nu can only fall.  Without a direction (Omega^(1/2) w = 0), mu = t.
    """
    mu, nu = prior.t.copy(), np.zeros(2)
    for i, side in enumerate(SIDES):
        reach = prior.Omega[i].length(w)
        if reach == 0.0:
            continue
        if math.isfinite(constants.C3) and constants.C2 * reach > constants.C3 * constants.beta:
            missing = constants.beta * prior.Sigma[i].length(w) - side * (w @ prior.t[i] + b)
            nu[i] = max(0.0, missing / reach - constants.phi)
            if math.isinf(constants.C2):
                nu[i] = min(nu[i], before[i])
        mu[i] += side * (constants.phi + nu[i]) / reach * prior.Omega[i].times(w)
    return mu, nu


def farthest_means_by_cones(
    prior: GenerativePrior, constants: Constants, w: np.ndarray, b: float, before: np.ndarray = NONE, **settings: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Step 2 as cone programs, with mu_i = t_i + R_i'v_i, R_i'R_i = Omega_i: zero variances need no inverse.

    With a finite C_3 the radii come first: min C_2 sum zeta + C_3 sum nu with ||v_i|| <= phi + nu_i.
    """
    roots = [Omega.root_matrix() for Omega in prior.Omega]
    slopes = [side * (R @ w) for side, R in zip(SIDES, roots)]
    nu = np.zeros(2)
    if math.isfinite(constants.C3):
        nu = _radii_by_cones(prior, constants, slopes, w, b, settings)
        if math.isinf(constants.C2):
            nu = np.minimum(nu, before)
    mu = prior.t.copy()
    for i, (R, slope) in enumerate(zip(roots, slopes)):
        if slope.any():
            # max slope_i'v_i   s.t.  ||v_i|| <= phi + nu_i
            p = socp.Blocks(v=slope.size)
            p.minimize(v=-slope / np.linalg.norm(slope))
            p.cone(radius=constants.phi + nu[i], v=1.0)
            mu[i] += R.T @ uninterrupted(socp.solve(p.program(), **settings)).x
    return mu, nu


def _radii_by_cones(
    prior: GenerativePrior,
    constants: Constants,
    slopes: list[np.ndarray],
    w: np.ndarray,
    b: float,
    settings: dict[str, Any],
) -> np.ndarray:
    """nu of min C_2 zeta + C_3 nu  s.t.  ||v|| <= phi + nu,  slope'v + beta zeta >= what is missing at t."""
    nu = np.zeros(2)
    for i, (side, slope) in enumerate(zip(SIDES, slopes)):
        if not slope.any():
            continue
        missing = constants.beta * prior.Sigma[i].length(w) - side * (w @ prior.t[i] + b)
        p = socp.Blocks(v=slope.size, nu=1, zeta=int(math.isfinite(constants.C2)))
        p.minimize(nu=constants.C3, zeta=constants.C2)
        p.at_least(missing, v=slope, zeta=constants.beta)
        p.bounds(nu=(0.0, None), zeta=(0.0, None))
        p.cone("nu", constants.phi, v=1.0)
        nu[i] = max(0.0, float(uninterrupted(socp.solve(p.program(), **settings)).x[p.nu][0]))
    return nu
