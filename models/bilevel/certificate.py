r"""The certificate of Theorem 4.2 of Epshteyn and DeJong 2006: multipliers that show that the answer is stationary.

At a point without feasible descent directions some multipliers of (4.5)-(4.9), alpha_i of the samples, gamma_i of
s_i (w'mu_i + b) - beta |Sigma_i^(1/2) w| >= 0 and kappa_i of |Omega_i^(-1/2) (mu_i - t_i)| <= phi + nu_i, satisfy

    w / |w| = sum_i alpha_i y_i x_i + sum_i gamma_i (s_i mu_i - beta Sigma_i w / |Sigma_i^(1/2) w|)
    0 = sum_i alpha_i y_i + sum_i gamma_i s_i
    gamma_i s_i Omega_i w = kappa_i (mu_i - t_i) / (phi + nu_i),   kappa_i = gamma_i |Omega_i^(1/2) w|

Explanations add sum_j lambda_j d_j to the first sum, |lambda_j| <= Q_j, attained where w'd_j is not zero.

(theorem A.4 prints lambda_(A.6) for the last one's multiplier, which is lambda'_(A.9) lambda_(A.6)).  With slacks
alpha_i <= C_1 and gamma_i <= C_2 / beta, attained where a slack is positive.

The theorem has no nu.  If C_3 is finite, optimality in nu_i requires kappa_i <= C_3, with equality where nu_i > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import lsq_linear

from socp import ProgramError

from ..base.validation import as_dense
from ..programs.bilevel import SIDES, Constants, Samples

if TYPE_CHECKING:
    from .prior import GenerativePrior

NIL = 1e-9  # |w| up to this counts as zero
ACTIVE = 1e-6  # largest slack (the margin is 1) of a constraint with a multiplier; nu up to this counts as zero


@dataclass(frozen=True)
class Certificate:
    """Multipliers of the bilevel classifier's answer, and the residuals of the stationarity conditions."""

    alpha: np.ndarray  # shape (samples,): multipliers of the samples
    # gamma, kappa: shape (2,): multipliers of the prior's constraints (4.8), (4.9), and of the means' distances (4.7)
    gamma: np.ndarray
    kappa: np.ndarray
    stationarity: float  # norm of w / |w| minus its combination by the multipliers
    balance: float  # |sum alpha_i y_i + sum gamma_i s_i|
    means: float  # max_i |gamma_i s_i Omega_i w - kappa_i (mu_i - t_i) / (phi + nu_i)|
    infeasibility: float  # largest violation of a hard constraint
    explanations: np.ndarray  # shape (explanations,): lambda
    radii: float  # largest kappa_i - C_3 (absolute where nu_i > 0), the negative slope of the objective in nu_i

    @property
    def error(self) -> float:
        """The greatest of stationarity, balance, means, infeasibility and radii."""
        return max(self.stationarity, self.balance, self.means, self.infeasibility, self.radii)


def certify(
    samples: Samples, prior: GenerativePrior, constants: Constants, w: np.ndarray, b: float, mu: np.ndarray,
    nu: np.ndarray,
) -> Certificate:  # fmt: skip
    """Return the certificate of a point; its multipliers, within their bounds, minimize the conditions' residuals."""
    if np.linalg.norm(w) <= NIL:
        raise ProgramError("w is zero, where the constraints (4.8) and (4.9) have no gradient: nothing is certified")
    y, s, reach = samples.y, np.array(SIDES), np.array([Omega.length(w) for Omega in prior.Omega])
    length, betas = float(np.linalg.norm(w)), constants.betas
    grown = nu > ACTIVE  # where kappa_i = C_3 must hold; elsewhere kappa_i <= C_3
    # Slack of every constraint; gradients of (4.8) and (4.9) by (w, b, nu_1, nu_2), with zeros for nu_i = 0.
    margins = y * (samples.X @ w + b) - 1.0
    gradients, surplus = np.zeros((2, w.size + 3)), np.zeros(2)
    for i, Sigma in enumerate(prior.Sigma):
        spread = Sigma.length(w)
        tail = betas[i] * Sigma.times(w) / spread if spread > 0.0 else np.zeros(w.size)
        gradients[i] = np.concatenate([s[i] * mu[i] - tail, [s[i]], reach[i] * np.eye(2)[i] * grown[i]])
        surplus[i] = s[i] * (w @ mu[i] + b) - betas[i] * spread
    prices = [constants.C2 / beta if beta > 0.0 else np.inf for beta in betas]
    greatest = np.concatenate([constants.C1 * samples.weights, prices])
    attained = np.concatenate([margins, surplus])
    low = np.where(attained < -ACTIVE, greatest, 0.0)
    low[~np.isfinite(low)] = 0.0  # the multiplier of a violated hard constraint is unbounded
    high = np.where(attained > ACTIVE, 0.0, greatest)
    with np.errstate(divide="ignore"):
        most = np.where(grown | (reach == 0.0), np.inf, constants.C3 / reach)
    high[-2:] = np.maximum(low[-2:], np.minimum(high[-2:], most))
    rows = np.concatenate([np.flatnonzero(high[:-2]), y.size + np.flatnonzero(high[-2:])])
    near = samples.X[rows[rows < y.size]]
    near = near.toarray() if hasattr(near, "toarray") else near
    signs = y[rows[rows < y.size]]
    held = signs[:, None] * np.column_stack([near, np.ones(signs.size), np.zeros((signs.size, 2))])
    columns = np.vstack([held, gradients[rows[rows >= y.size] - y.size]])
    target = np.concatenate([w / length, [0.0], constants.C3 * grown if grown.any() else grown])
    D, gaps = np.zeros((0, w.size)), np.zeros(0)
    if samples.D is not None:
        D = as_dense(samples.D)
        gaps = D @ w
    most = np.zeros(0) if samples.D is None else np.asarray(samples.Q)
    away = (np.abs(gaps) > ACTIVE) & np.isfinite(most)
    columns = np.vstack([columns, np.hstack([D, np.zeros((gaps.size, 3))])])
    sides = [np.where(away, -np.sign(gaps) * np.where(away, most, 0.0), side * most) for side in (-1.0, 1.0)]
    found = np.zeros(high.size)
    multipliers = _bounded(columns.T, target, np.append(low[rows], sides[0]), np.append(high[rows], sides[1]))
    found[rows], explanations = np.split(multipliers, [rows.size])
    left = target - columns.T @ multipliers
    gamma = found[-2:]
    kappa = gamma * reach
    off = [
        gamma[i] * s[i] * prior.Omega[i].times(w) - kappa[i] * (mu[i] - prior.t[i]) / max(constants.phi + nu[i], 1e-300)
        for i in (0, 1)
        if constants.phi + nu[i] > 0.0
    ]
    missed = (constants.C1, margins), (constants.C2, surplus)
    hard = np.concatenate([*(np.where(np.isinf(C), -rest, 0.0) for C, rest in missed), np.abs(gaps) * np.isinf(most)])
    return Certificate(
        found[:-2], gamma, kappa,
        float(np.linalg.norm(left[:-3])), abs(float(left[-3])),
        max((float(np.linalg.norm(part)) for part in off), default=0.0), max(float(hard.max()), 0.0),
        explanations, radii_missed(constants, kappa, nu),
    )  # fmt: skip


def radii_missed(constants: Constants, kappa: np.ndarray, nu: np.ndarray) -> float:
    """Return the largest of kappa_i - C_3 (its absolute value where nu_i > 0) and 0; 0 if C_3 is infinite."""
    if math.isinf(constants.C3):
        return 0.0
    slope = constants.C3 - kappa  # derivative of the objective by nu_i
    return max(float(np.where(nu > ACTIVE, np.abs(slope), -slope).max()), 0.0)


def _bounded(A: np.ndarray, target: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the v in [low, high] that minimizes |A v - target|."""
    found = low.copy()
    free = high > low
    if free.any():
        rest = target - A[:, ~free] @ low[~free]
        found[free] = lsq_linear(A[:, free], rest, (low[free], high[free]), method="bvls", tol=1e-14).x
    return found
