"""The programs of the bilevel classifier (Epshteyn and DeJong 2006, section 4), one function each.

    step 1, the means fixed (4.10)-(4.14), with the slacks of (4.17)-(4.24):

        min  rho + C_1 sum_i xi_i + C_2 (zeta_1 + zeta_2)
        s.t. rho >= ||w||,   r_i >= ||Sigma_i^(1/2) w||
             y_i (w'x_i + b) >= 1 - xi_i
             -(w'mu_1 + b) >= beta (r_1 - zeta_1),   w'mu_2 + b >= beta (r_2 - zeta_2),   xi, zeta >= 0

    step 2, the hyperplane fixed (4.15)-(4.16), a program for each class with the sign s_1 = -1, s_2 = 1:

        max  s_i w'mu_i   s.t.   ||Omega_i^(-1/2) (mu_i - t_i)|| <= phi + nu_i

With a finite C_3 step 1 chooses nu, too: mu_i moves on by s_i nu_i g_i, g_i = Omega_i w / ||Omega_i^(1/2) w|| of the
last round, at the cost C_3 (nu_1 + nu_2), and the left sides of the prior's rows gain nu_i g_i'w (`gain_cone`).

Explanations of samples (Sun and DeJong 2005) join step 1 with d_j = x_o(j) - v_j, so that both kinds of knowledge are
in one program:

    + sum_j Q_j delta_j   s.t.   |w'd_j| <= delta_j,   or w'd_j = 0 for infinite Q

An infinite C leaves its slacks out.  When Sigma_i = sigma^2 I, r_i is sigma rho and costs no cone; equal Sigmas share
one.  With mu_i = t_i + R_i'v_i and R_i'R_i = Omega_i, a zero variance in step 2 needs no inverse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp
from socp.problem.blocks import Rows

BOUNDING = 1e-4  # price of rho in `curved_program`, without which rho would be unbounded
SIDES = (-1.0, 1.0)  # signs that w'mu_1 + b and w'mu_2 + b should have


@dataclass(frozen=True)
class Constants:
    """The constants of (4.17)-(4.24); an infinite C makes its constraint hard, and beta may be a pair."""

    beta: float | tuple[float, float]
    phi: float
    C1: float
    C2: float
    C3: float

    @property
    def betas(self) -> tuple[float, float]:
        """beta of (4.20) and of (4.21)."""
        return self.beta if isinstance(self.beta, tuple) else (self.beta, self.beta)


@dataclass(frozen=True)
class Samples:
    """Documents (m, n), their labels -1 and 1, their weights, which multiply C_1, and their explanations."""

    X: Any
    y: np.ndarray
    weights: np.ndarray
    D: Any = None  # the d_j, shape (explanations, n), or None
    Q: Any = None  # shape (explanations,): all finite, or all infinite

    @property
    def rows(self) -> Any:
        """X, and below it D."""
        if self.D is None:
            return self.X
        return sp.vstack([self.X, self.D], format="csr") if sp.issparse(self.X) else np.vstack([self.X, self.D])

    @property
    def may_deviate(self) -> bool:
        """Whether there are explanations that w need not obey exactly."""
        return self.D is not None and bool(np.isfinite(self.Q).all())


def hyperplane_program(
    samples: Samples, means: np.ndarray, roots: Any, constants: Constants, kept: Any = (0, 1), free: bool = False
) -> tuple[socp.Blocks, Rows]:
    """Return step 1 in the notation of (4.17)-(4.24), and its rows with the means of the classes `kept`.

    The roots are the Sigma_i^(1/2), or for sigma_i^2 I the number sigma_i.  With `free` radii (a finite C_3) the caller
    adds a `gain_cone` for each class.
    """
    (C1, C2), (m, k) = (constants.C1, constants.C2), samples.X.shape
    beta = np.array(constants.betas)[list(kept)]
    y, s, mu = samples.y, np.array(SIDES)[list(kept)], means[list(kept)]
    cones, scale = _radii(roots)
    scale = -beta[:, None] * scale[list(kept)]
    soft, radii = s.size * math.isfinite(C2), s.size * free
    told = samples.D.shape[0] if samples.may_deviate else 0
    sizes = {"r": len(cones), "xi": m * math.isfinite(C1), "zeta": soft, "nu": radii, "gain": radii, "delta": told}
    p = socp.Blocks(w=k, b=1, rho=1, **sizes)
    p.minimize(rho=1.0, xi=C1 * samples.weights, zeta=C2, nu=constants.C3, delta=samples.Q if told else 0.0)
    # y_i (w'x_i + b) >= 1 - xi_i
    p.at_least(1.0, w=sp.diags_array(y) @ sp.csr_array(samples.X), b=y, xi=1.0)
    # s_i (w'mu_i + b) + gain_i >= beta (r_i - zeta_i)
    prior = p.at_least(0.0, w=s[:, None] * mu, b=s, rho=scale[:, 0], r=scale[:, 1:], zeta=beta, gain=1.0)
    p.bounds(xi=(0.0, None), zeta=(0.0, None), nu=(0.0, None))
    # |w'd_j| <= delta_j, or w'd_j = 0
    if told:
        p.at_least(0.0, w=samples.D, delta=1.0)
        p.at_least(0.0, w=-samples.D, delta=1.0)
    elif samples.D is not None:
        p.equal(0.0, w=samples.D)
    # rho >= ||w||,  r_j >= ||Sigma_j^(1/2) w||
    p.cone("rho", w=1.0)
    for j, root in enumerate(cones):
        p.cone({"r": np.eye(len(cones))[[j]]}, w=root)
    return p, prior


def _radii(roots: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """Return the Sigma_i^(1/2) that need a cone, and `scale` with r_i = scale_i'(rho, the cones' radii)."""
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


def curved_program(program: socp.ConeProgram, blocks: socp.Blocks, length: float) -> socp.ConeProgram:
    """Return step 1 with ||w||^2 / (2 length) in place of ||w||; `length` is ||w|| at the minimizer.

    A gap of eps in ||w|| leaves w uncertain by sqrt(eps ||w||).  At the minimizer w* the gradients of ||w|| and of
    ||w||^2 / (2 ||w*||) are equal, and ||w*|| is known to eps, so this objective determines w more accurately.
    """
    c, curvature = program.c.copy(), np.zeros(program.n)
    c[blocks.rho] = BOUNDING
    curvature[blocks.w] = (1.0 - BOUNDING) / length
    P = sp.csc_array(sp.diags_array(curvature))
    return socp.ConeProgram(c=c, A=program.A, b=program.b, G=program.G, h=program.h, cones=program.cones, P=P)


def gain_cone(g: np.ndarray, a: float, k: float, place: int, classes: int) -> dict[str, Any]:
    """Return the cone of gain_i, the term `place` of `classes`, as arguments of `Blocks.cone`.

        gain_i <= (2 k (a nu_i + g'w / a) - k^2 - (a nu_i - g'w / a)^2) / 4   <=   nu_i g'w

    the product of two variables, linearized by the convex-concave procedure at k = a nu_i + g'w / a of the last round.
    """
    one = np.eye(classes)[place]
    # q^2 <= 4 L is |(q, L - 1)| <= L + 1, with q = a nu - g'w / a
    L = {"w": 0.5 * k / a * g, "nu": 0.5 * k * a * one, "gain": -one}
    q = {"w": -g / a, "nu": a * one, "gain": 0.0 * one}
    constant, rows = -0.25 * k * k, {name: np.array([q[name], L[name]]) for name in L}
    return {"head": L, "radius": constant + 1.0, "shift": np.array([0.0, constant - 1.0]), **rows}


def mean_program(slope: np.ndarray, radius: float) -> socp.ConeProgram:
    """Return the program of step 2 in v, slope = s_i R_i w:  max slope'v / ||slope||  s.t.  ||v|| <= radius."""
    p = socp.Blocks(v=slope.size)
    p.minimize(v=-slope / np.linalg.norm(slope))
    p.cone(radius=radius, v=1.0)
    return p.program()


def radius_program(
    slope: np.ndarray, missing: float, beta: float, constants: Constants
) -> tuple[socp.Blocks, socp.ConeProgram]:
    """Return the cheapest radius:  min C_2 zeta + C_3 nu  s.t.  ||v|| <= phi + nu,  slope'v + beta zeta >= missing.

    `missing` is the violation of (4.20) or (4.21) at the mean t.
    """
    p = socp.Blocks(v=slope.size, nu=1, zeta=int(math.isfinite(constants.C2)))
    p.minimize(nu=constants.C3, zeta=constants.C2)
    p.at_least(missing, v=slope, zeta=beta)
    p.bounds(nu=(0.0, None), zeta=(0.0, None))
    p.cone("nu", constants.phi, v=1.0)
    return p, p.program()
