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
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize

from socp import ProgramError

from .elliptical import family
from .mixtures import Elliptical
from .prior import GenerativePrior

POINTS = 400  # of the grid between whose neighbours roots are looked for, on either side of 1/2
FARTHEST = 1e8  # |tau - 1/2| up to which they are


@dataclass(frozen=True)
class BayesHyperplane:
    """A hyperplane of least error.

    Attributes
    ----------
    w : array, shape (n,)
    b : float
    error : float
        The probability of the wrong side.
    tau : float
        Its place on the curve; NaN where w is zero, for the answer is then always the likelier class.
    roots : list of (tau, error)
        All stationary points that were found.

    Examples
    --------
    >>> import numpy as np
    >>> plane = BayesHyperplane(np.array([2.0]), -1.0, 0.1, 0.5, [(0.5, 0.1)])
    >>> plane.error
    0.1
    """

    w: np.ndarray
    b: float
    error: float
    tau: float
    roots: list[tuple[float, float]]


def bayes_hyperplane(
    prior: GenerativePrior, means: Any = None, weights: Any = (0.5, 0.5), g: str | Elliptical = "gaussian"
) -> BayesHyperplane:
    """The hyperplane of least error (4.4) for the covariances of a prior.

    Parameters
    ----------
    prior : GenerativePrior
        Of which Sigma is used, and t where no means are given.  Sigma_1 + Sigma_2 must be positive definite.
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
    kind, share = family(g), _shares(weights)
    mu = _means(prior, means)
    d = mu[1] - mu[0]
    curve = _Curve(prior, d, share, kind)
    roots = [(tau, curve.error(tau)) for tau in curve.roots()] if d.any() else []
    nothing = min(share)
    tau, error = min(roots, key=lambda root: root[1], default=(math.nan, math.inf))
    if not error < nothing:
        return BayesHyperplane(np.zeros(d.size), 1.0 if share[1] > share[0] else -1.0, nothing, math.nan, roots)
    w, sigmas = curve.at(tau)
    return BayesHyperplane(w, float(-w @ mu[0] - tau * sigmas[0] ** 2), error, tau, roots)


def bilevel_objective(
    X: Any, y: Any, prior: GenerativePrior, means: Any, weights: Any = (0.5, 0.5), g: str | Elliptical = "gaussian"
) -> float:
    """(4.1) at some means: |w| of the hyperplane of (4.4), scaled to y_i (w'x_i + b) >= 1; infinite if it cannot be.

    Parameters
    ----------
    X : array_like, shape (samples, n)
    y : array_like, shape (samples,)
        -1 for the first class, 1 for the second.
    prior, means, weights, g
        As in `bayes_hyperplane`.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-1.0, 0.0], [1.0, 0.0]), Omega=(0.1, 0.1))
    >>> print(bilevel_objective([[-2.0, 1.0], [0.5, 0.0]], [-1.0, 1.0], prior, prior.t))
    2.0
    >>> print(bilevel_objective([[-2.0, 1.0], [0.5, 0.0]], [1.0, 1.0], prior, prior.t))
    inf
    """
    plane = bayes_hyperplane(prior, means, weights, g)
    X = np.asarray(X, dtype=np.float64)
    margins = np.asarray(y, dtype=np.float64) * (X @ plane.w + plane.b)
    least = float(margins.min())
    return float(np.linalg.norm(plane.w)) / least if least > 0.0 else math.inf


class _Curve:
    """w(tau), in coordinates where Sigma_1 + Sigma_2 is the identity and Sigma_1 - Sigma_2 the diagonal of e."""

    def __init__(self, prior: GenerativePrior, d: np.ndarray, share: tuple[float, float], kind: Elliptical) -> None:
        self.share, self.kind = share, kind
        values = [np.broadcast_to(S.value, (S.n,)) if S.kind != "full" else S.value for S in prior.Sigma]
        if any(value.ndim == 2 for value in values):
            first, second = (value if value.ndim == 2 else np.diag(value) for value in values)
            try:
                self.e, self.V = linalg.eigh(first - second, first + second)
            except linalg.LinAlgError:
                raise ProgramError("Sigma_1 + Sigma_2 must be positive definite, but it is singular") from None
            self.c = self.V.T @ d
        else:
            total = values[0] + values[1]
            if (total <= 0.0).any():
                raise ProgramError("Sigma_1 + Sigma_2 must be positive definite, but it is singular")
            self.e, self.V = (values[0] - values[1]) / total, 1.0 / np.sqrt(total)
            self.c = self.V * d

    def at(self, tau: float) -> tuple[np.ndarray, tuple[float, float]]:
        """w(tau), sigma_1 and sigma_2."""
        a = self.c / (0.5 + (tau - 0.5) * self.e)
        sigmas = tuple(math.sqrt(max(float(0.5 * a**2 @ (1.0 + side * self.e)), 0.0)) for side in (1.0, -1.0))
        return (self.V @ a if self.V.ndim == 2 else self.V * a), (sigmas[0], sigmas[1])

    def error(self, tau: float) -> float:
        _, (first, second) = self.at(tau)
        return self.share[0] * self.kind.tail(tau * first) + self.share[1] * self.kind.tail((1.0 - tau) * second)

    def slope(self, tau: float) -> float:
        """The logarithm of the left side of the condition over the right one."""
        _, sigmas = self.at(tau)
        if min(sigmas) <= 0.0:
            return math.nan
        first = math.log(self.share[0] / sigmas[0]) + self.kind.log_density((tau * sigmas[0]) ** 2, 1)
        return first - math.log(self.share[1] / sigmas[1]) - self.kind.log_density(((1.0 - tau) * sigmas[1]) ** 2, 1)

    def roots(self) -> list[float]:
        """The roots of `slope` where tau Sigma_1 + (1 - tau) Sigma_2 is positive definite."""
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


def _shares(weights: Any) -> tuple[float, float]:
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (2,) or not np.isfinite(share).all() or (share <= 0.0).any():
        raise ProgramError(f"weights must be two positive numbers, but {weights!r} came")
    return float(share[0] / share.sum()), float(share[1] / share.sum())


def _means(prior: GenerativePrior, means: Any) -> np.ndarray:
    mu = prior.t if means is None else np.asarray(means, dtype=np.float64)
    if mu.shape != prior.t.shape or not np.isfinite(mu).all():
        raise ProgramError(f"means must be finite, of shape {prior.t.shape}, but shape {mu.shape} came")
    return mu
