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
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp

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
        self.coordinates = coordinates
        self.samples = samples
        self.constants = constants
        self.kept = [i for i in (0, 1) if kept[i]]
        self.settings = settings
        self.solver: socp.Solver | None = None
        self.program: socp.ConeProgram | None = None

    def solve(self, mu: np.ndarray) -> tuple[np.ndarray, float, socp.Solution]:
        """The hyperplane (w, b) for the means mu, and the engine's answer; NaN when there is none."""
        means = self.coordinates.means(mu)
        k = self.coordinates.size
        if self.solver is None:
            self.program = self._build(means)
            self.solver = socp.Solver(self.program, **self.settings)
        else:
            data = self.solver.program.G.data.copy()
            for places, i in zip(self._places, self.kept):
                data[places] = -SIDES[i] * means[i]
            self.solver.update(G_data=data)
            self.program = self.solver.program
        solution = uninterrupted(self.solver.solve(warm_start=True))
        return self.coordinates.weights(solution.x[:k]), float(solution.x[k]), solution

    def multipliers(self, solution: socp.Solution) -> np.ndarray:
        """Those of (4.20) and (4.21)."""
        m = self.samples.y.size
        return solution.z[m : m + 2]

    def sharpen(self, length: float) -> tuple[np.ndarray, float, socp.Solution] | None:
        """The hyperplane again, from a program with the same minimizer and with curvature; None where w is zero.

        A gap of eps in ||w|| leaves w uncertain by sqrt(eps ||w||).  At the minimizer w* the gradient of ||w|| is that
        of ||w||^2 / (2 ||w*||), and ||w*|| is known to eps: with that objective w is the more certain.
        """
        program = self.program
        if program is None or length <= 0.0:
            return None
        k = self.coordinates.size
        c, curvature = program.c.copy(), np.zeros(program.n)
        c[k + 1] = BOUNDING
        curvature[:k] = (1.0 - BOUNDING) / length
        curved = socp.ConeProgram(
            c=c, G=program.G, h=program.h, cones=program.cones, P=sp.csc_array(sp.diags_array(curvature))
        )
        settings = {**self.settings, "tol": SHARPER * self.settings.get("tol", 1e-8)}
        solution = uninterrupted(socp.solve(curved, **settings))
        return self.coordinates.weights(solution.x[:k]), float(solution.x[k]), solution

    def _build(self, means: np.ndarray) -> socp.ConeProgram:
        """x = (u, b, rho, the r that need a cone, xi, zeta)."""
        C1, C2, beta = self.constants.C1, self.constants.C2, self.constants.beta
        samples, k = self.samples, self.coordinates.size
        m = samples.y.size
        roots, which = self._cone_roots()
        radii = k + 1 + np.arange(1 + len(roots))
        xi = k + 1 + radii.size + np.arange(m if math.isfinite(C1) else 0)
        zeta = k + 1 + radii.size + xi.size + np.arange(len(self.kept) if math.isfinite(C2) else 0)
        slacks = xi.size + zeta.size
        n = k + 1 + radii.size + slacks

        signed = sp.diags_array(samples.y) @ sp.csr_array(self.coordinates.documents)
        margins = [-signed, sp.csr_array(-samples.y[:, None]), sp.csr_array((m, radii.size))]
        margins += [-sp.eye_array(m)] * (xi.size > 0) + [sp.csr_array((m, zeta.size))] * (zeta.size > 0)
        priors = np.zeros((len(self.kept), n))
        priors[:, : k + 1] = 1.0  # the means come below: a place for every coordinate, zero or not
        for row, i in enumerate(self.kept):
            scale, cone = which[i]
            priors[row, radii[cone]] = beta * scale
        if zeta.size:
            priors[np.arange(zeta.size), zeta] = -beta
        signs = sp.hstack([sp.csr_array((slacks, n - slacks)), -sp.eye_array(slacks)])
        blocks = [sp.hstack(margins), sp.csr_array(priors), signs]
        cones: list[socp.NonNeg | socp.SecondOrder] = [socp.NonNeg(m + len(self.kept) + slacks)]
        for radius, root in zip(radii, [sp.eye_array(k), *roots]):
            blocks.append(sp.csr_array(([-1.0], ([0], [radius])), shape=(1, n)))
            blocks.append(sp.hstack([-root, sp.csr_array((root.shape[0], n - k))]))
            cones.append(socp.SecondOrder(1 + root.shape[0]))
        G = sp.csc_array(sp.vstack(blocks))
        G.sort_indices()
        self._places = [np.flatnonzero(G.indices == m + row)[:k] for row in range(len(self.kept))]
        for row, i in enumerate(self.kept):
            places = np.flatnonzero(G.indices == m + row)
            G.data[places[:k]] = -SIDES[i] * means[i]
            G.data[places[k]] = -SIDES[i]
        h = np.concatenate([-np.ones(m), np.zeros(G.shape[0] - m)])
        c = np.zeros(n)
        c[radii[0]] = 1.0
        c[xi], c[zeta] = (C1 * samples.weights if xi.size else 0.0), (C2 if zeta.size else 0.0)
        return socp.ConeProgram(c=c, G=G, h=h, cones=cones)

    def _cone_roots(self) -> tuple[list[Any], list[tuple[float, int]]]:
        """The Sigma^(1/2) that need a cone of their own, and of each class (factor, number of its radius)."""
        roots: list[Any] = []
        which = []
        for root in self.coordinates.roots:
            if np.ndim(root) == 0:
                which.append((float(root), 0))
                continue
            same = [j for j, other in enumerate(roots) if other.shape == root.shape and (other != root).nnz == 0]
            if not same:
                same = [len(roots)]
                roots.append(root)
            which.append((1.0, 1 + same[0]))
        return roots, which


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
    #  max sum_i slope_i'v_i   s.t.  ||v_i|| <= phi + nu_i
    sizes = [slope.size for slope in slopes]
    G = sp.block_diag([sp.vstack([sp.csr_array((1, k)), -sp.eye_array(k)]) for k in sizes])
    h = np.concatenate([np.concatenate([[constants.phi + nu[i]], np.zeros(k)]) for i, k in enumerate(sizes)])
    c = -np.concatenate([slope / (np.linalg.norm(slope) or 1.0) for slope in slopes])
    program = socp.ConeProgram(c, G, h, [socp.SecondOrder(1 + k) for k in sizes])
    solution = uninterrupted(socp.solve(program, **settings))
    parts = np.split(solution.x, [sizes[0]])
    moved = [R.T @ v if slope.any() else 0.0 for R, v, slope in zip(roots, parts, slopes)]
    return prior.t + np.array([np.broadcast_to(part, (prior.n,)) for part in moved]), nu


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
        k = slope.size
        missing = constants.beta * prior.Sigma[i].length(w) - side * (w @ prior.t[i] + b)
        #  x = (v, nu, zeta); without C_2 finite there is no zeta
        soft = math.isfinite(constants.C2)
        prices = np.array([constants.C3, constants.C2] if soft else [constants.C3])
        signs = sp.hstack([sp.csr_array((prices.size, k)), -sp.eye_array(prices.size)])
        held = np.concatenate([-slope, [0.0], [-constants.beta] * soft])
        head = np.concatenate([np.zeros(k), [-1.0], [0.0] * soft])
        tail = sp.hstack([-sp.eye_array(k), sp.csr_array((k, prices.size))])
        program = socp.ConeProgram(
            c=np.concatenate([np.zeros(k), prices]),
            G=sp.vstack([signs, sp.csr_array(held[None, :]), sp.csr_array(head[None, :]), tail]),
            h=np.concatenate([np.zeros(prices.size), [-missing, constants.phi], np.zeros(k)]),
            cones=[socp.NonNeg(prices.size + 1), socp.SecondOrder(1 + k)],
        )
        solution = uninterrupted(socp.solve(program, **settings))
        nu[i] = max(0.0, float(solution.x[k]))
    return nu
