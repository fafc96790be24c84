r"""The lower level of the bilevel program (4.1)-(4.4) of Epshteyn and DeJong 2006: the hyperplane of least error.

For x | class i ~ E(mu_i, Sigma_i, g) with the shares pi_i, (4.4) minimizes

    pi_1 Prob(w'x + b >= 0 | 1) + pi_2 Prob(w'x + b <= 0 | 2) = pi_1 tail(tau sigma_1) + pi_2 tail((1 - tau) sigma_2)

Its minimizers are on a curve, sigma_i = |Sigma_i^(1/2) w|,

    w(tau) = (tau Sigma_1 + (1 - tau) Sigma_2)^-1 (mu_2 - mu_1),   b = -w'mu_1 - tau sigma_1^2,

at roots of  pi_1 density(tau sigma_1) / sigma_1 = pi_2 density((1 - tau) sigma_2) / sigma_2.  There may be several; for
two normal classes with one covariance there is one, and it is the linear discriminant.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from socp import ProgramError

from .elliptical import family
from .mixtures import Elliptical
from .prior import GenerativePrior

POINTS = 400  # grid points for |tau - 1/2| in [0, 1] (linear) and in [1, FARTHEST] (geometric), on either side of 1/2
FARTHEST = 1e8  # largest |tau - 1/2| of the grid in which roots are bracketed


class BayesHyperplane(NamedTuple):
    """Hyperplane of least error: w, b, and the probability of the wrong side.

    `tau` is its parameter on the curve, NaN if w is zero: the answer is then always the likelier class.  `roots` holds
    (tau, error) of every stationary point that was found.
    """

    w: np.ndarray
    b: float
    error: float
    tau: float
    roots: list[tuple[float, float]]


def bayes_hyperplane(
    prior: GenerativePrior, means: Any = None, weights: Any = (0.5, 0.5), g: str | Elliptical = "gaussian"
) -> BayesHyperplane:
    """Return the hyperplane of least error (4.4) for the covariances of a prior.

    Parameters
    ----------
    prior : GenerativePrior
        Prior whose Sigma is used, and t if `means` is None.  Sigma_1 + Sigma_2 must be positive definite.
    means : array_like, shape (2, n), optional
        mu_1 and mu_2.
    weights : pair of float, default (0.5, 0.5)
        pi_1 and pi_2 up to a factor.
    g : str or Elliptical, default "gaussian"
        See `models.bilevel.elliptical.family`; Sigma is its scale.

    Raises
    ------
    socp.ProgramError
        The weights or the means do not fit, or Sigma_1 + Sigma_2 is singular.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-1.0, 0.0], [1.0, 0.0]), Omega=(0.1, 0.1))
    >>> plane = bayes_hyperplane(prior)
    >>> print(plane.w.round(6), abs(round(plane.b, 6)), round(plane.error, 6))
    [2. 0.] 0.0 0.158655
    >>> print(round(-bayes_hyperplane(prior, weights=(0.9, 0.1)).b, 6))  # log(0.9 / 0.1)
    2.197225
    """
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (2,) or not np.isfinite(share).all() or (share <= 0.0).any():
        raise ProgramError(f"weights must be two positive numbers, but {weights!r} came")
    mu = prior.t if means is None else np.asarray(means, dtype=np.float64)
    if mu.shape != prior.t.shape or not np.isfinite(mu).all():
        raise ProgramError(f"means must be finite, of shape {prior.t.shape}, but shape {mu.shape} came")
    curve = _Curve(prior, mu[1] - mu[0], share / share.sum(), family(g))
    roots = [(tau, curve.error(tau)) for tau in curve.roots()] if (mu[1] != mu[0]).any() else []
    nothing = float(curve.share.min())
    tau, error = min(roots, key=lambda root: root[1], default=(math.nan, math.inf))
    if not error < nothing:
        return BayesHyperplane(np.zeros(prior.n), 1.0 if share[1] > share[0] else -1.0, nothing, math.nan, roots)
    w, sigmas = curve.at(tau)
    return BayesHyperplane(w, float(-w @ mu[0] - tau * sigmas[0] ** 2), error, tau, roots)


def bilevel_objective(
    X: Any, y: Any, prior: GenerativePrior, means: Any, weights: Any = (0.5, 0.5), g: str | Elliptical = "gaussian"
) -> float:
    """Return (4.1) at `means`: |w| of the hyperplane of (4.4), scaled to y_i (w'x_i + b) >= 1; inf if that fails.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-1.0, 0.0], [1.0, 0.0]), Omega=(0.1, 0.1))
    >>> print(bilevel_objective([[-2.0, 1.0], [0.5, 0.0]], [-1.0, 1.0], prior, prior.t))
    2.0
    >>> print(bilevel_objective([[-2.0, 1.0], [0.5, 0.0]], [1.0, 1.0], prior, prior.t))
    inf
    """
    plane = bayes_hyperplane(prior, means, weights, g)
    least = float((np.asarray(y) * (np.asarray(X) @ plane.w + plane.b)).min())
    return float(np.linalg.norm(plane.w)) / least if least > 0.0 else math.inf


class _Curve:
    """Curve w(tau) in coordinates where Sigma_1 + Sigma_2 is the identity and Sigma_1 - Sigma_2 the diagonal of e."""

    def __init__(self, prior: GenerativePrior, d: np.ndarray, share: np.ndarray, kind: Elliptical) -> None:
        self.share, self.kind = share, kind
        first, second = (S.value if S.kind == "full" else S.value * np.eye(S.n) for S in prior.Sigma)
        try:
            self.e, self.V = linalg.eigh(first - second, first + second)
        except linalg.LinAlgError:
            raise ProgramError("Sigma_1 + Sigma_2 must be positive definite, but it is singular") from None
        self.c = self.V.T @ d

    def at(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return w(tau) and the array (sigma_1, sigma_2)."""
        a = self.c / (0.5 + (tau - 0.5) * self.e)
        squares = np.array([0.5 * a**2 @ (1.0 + self.e), 0.5 * a**2 @ (1.0 - self.e)])
        return self.V @ a, np.sqrt(np.maximum(squares, 0.0))

    def error(self, tau: float) -> float:
        lengths = np.array([tau, 1.0 - tau]) * self.at(tau)[1]
        return float(self.share @ [self.kind.tail(length) for length in lengths])

    def slope(self, tau: float) -> float:
        """Return log(pi_1 density(tau sigma_1) / sigma_1) - log(pi_2 density((1 - tau) sigma_2) / sigma_2)."""
        sigmas = self.at(tau)[1]
        if sigmas.min() <= 0.0:
            return math.nan
        squares = (np.array([tau, 1.0 - tau]) * sigmas) ** 2
        sides = np.log(self.share / sigmas) + [self.kind.log_density(float(square), 1) for square in squares]
        first, second = sides.tolist()  # Python floats: inf - inf is NaN without a warning
        return first - second

    def roots(self) -> list[float]:
        """Return the roots of `slope` where tau Sigma_1 + (1 - tau) Sigma_2 is positive definite."""
        low = max(-1.0 / self.e.max(), -2.0 * FARTHEST) if self.e.max() > 0.0 else -2.0 * FARTHEST
        high = min(-1.0 / self.e.min(), 2.0 * FARTHEST) if self.e.min() < 0.0 else 2.0 * FARTHEST
        steps = np.concatenate([np.linspace(0.0, 2.0, POINTS), np.geomspace(2.0, 2.0 * FARTHEST, POINTS)[1:]])
        ends = np.geomspace(1e-9, 0.5, 40)
        grid = np.concatenate([-steps, steps[1:], low * (1.0 - ends), high * (1.0 - ends)])
        grid = 0.5 + 0.5 * np.unique(grid[(grid > low) & (grid < high)])
        values = np.array([self.slope(tau) for tau in grid])
        found = [float(tau) for tau in grid[values == 0.0]]
        for k in np.flatnonzero(values[:-1] * values[1:] < 0.0):
            found.append(float(optimize.brentq(self.slope, grid[k], grid[k + 1], xtol=1e-14)))
        return sorted(found)
