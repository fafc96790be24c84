"""Elliptical distributions as normal distributions of random variance, X = mu + V^(1/2) Sigma^(1/2) Z.

With V independent of the normal Z, every projection w'X is w'mu + ||Sigma^(1/2) w|| U with the same one-dimensional U,
whatever the dimension of X: the property (1 in section 3 of Epshteyn and DeJong) on which Proposition 3.1 rests.  A
family is named by the laws of U and V; all integrals over V are taken over log V by the trapezoidal rule, which for
smooth bells is exact to rounding, with the logarithm of the integrand so that thousands of dimensions neither over- nor
underflow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import optimize, special, stats

POINTS = 4001  # points of the trapezoidal rule
DEPTH = 60.0  # the integrand is neglected below exp(-DEPTH) times its maximum
FARTHEST = 80.0  # largest |log V| considered
SMALL = 0.8  # k below which Kolmogorov's density f(k) is computed by its second series, else by its first


class Elliptical:
    """A family of elliptical distributions, consistent in all dimensions; its standard member has mu = 0, Sigma = I.

    A subclass defines the law of U as `projection`, and either the logarithm of the density of log V or formulas for
    density and radius.
    """

    projection: Any

    def log_mixing(self, logs: np.ndarray) -> np.ndarray:
        """Return the logarithm of the density of log V."""
        raise NotImplementedError

    @property
    def variance_factor(self) -> float:
        """Factor alpha_g of the covariance alpha_g Sigma; infinite if there is no covariance."""
        variance = float(self.projection.var())
        return variance if math.isfinite(variance) else math.inf

    def upper_quantile(self, eta: float) -> float:
        """Return the u with Prob(U >= u) = eta."""
        return float(self.projection.isf(eta))

    def tail(self, u: float) -> float:
        """Return Prob(U >= u)."""
        return float(self.projection.sf(u))

    def log_density(self, square: float, n: int) -> float:
        """Return the log density of the standard member in n dimensions where ||x||^2 = `square`; it decreases."""

        #  int (2 pi v)^(-n/2) exp(-s / (2v)) p(v) dv
        def log_integrand(logs: np.ndarray) -> np.ndarray:
            return self.log_mixing(logs) - 0.5 * n * (math.log(2.0 * math.pi) + logs) - 0.5 * square * np.exp(-logs)

        logs = _around_the_bell(log_integrand)
        return float(special.logsumexp(log_integrand(logs)) + math.log(logs[1] - logs[0]))

    def radius(self, probability: float, n: int) -> float:
        """Return the r with Prob(||X|| <= r) = probability for the standard member of dimension n."""
        #  Prob(V chi_n^2 <= r^2) = int Prob(chi_n^2 <= r^2 / v) p(v) dv
        logs = _around_the_bell(self.log_mixing)
        weights = special.softmax(self.log_mixing(logs))
        inverse = np.exp(-logs)

        def excess(log_square: float) -> float:
            return float(weights @ special.chdtr(n, math.exp(log_square) * inverse)) - probability

        return math.exp(0.5 * optimize.brentq(excess, -2.0 * FARTHEST, FARTHEST, xtol=1e-13))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Gaussian(Elliptical):
    """Normal distributions: g(s) = exp(-s/2), V = alpha_g = 1."""

    projection = stats.norm()

    def log_density(self, square: float, n: int) -> float:
        return -0.5 * (n * math.log(2.0 * math.pi) + square)

    def radius(self, probability: float, n: int) -> float:
        return math.sqrt(stats.chi2.ppf(probability, n))


class StudentT(Elliptical):
    """Student's t: g(s) = (1 + s/nu)^(-(nu + n)/2), alpha_g = nu / (nu - 2) or inf for nu <= 2; nu / V ~ chi_nu^2."""

    def __init__(self, nu: float) -> None:
        self.nu, self.projection = nu, stats.t(nu)

    def log_density(self, square: float, n: int) -> float:
        half = 0.5 * (self.nu + n)
        constant = math.lgamma(half) - math.lgamma(0.5 * self.nu) - 0.5 * n * math.log(self.nu * math.pi)
        return constant - half * math.log1p(square / self.nu)

    def radius(self, probability: float, n: int) -> float:
        return math.sqrt(n * stats.f.ppf(probability, n, self.nu))

    def __repr__(self) -> str:
        return f"StudentT(nu={self.nu:g})"


class Cauchy(StudentT):
    """Student's t with nu = 1: it has neither mean nor variance; mu is its centre and Sigma its scale."""

    def __init__(self) -> None:
        super().__init__(1.0)

    def __repr__(self) -> str:
        return "Cauchy()"


class Laplace(Elliptical):
    """Laplace distributions, V / 2 exponential: in one dimension g(s) = exp(-sqrt(s)), the usual one; alpha_g = 2.

    In n dimensions the density is (2 pi)^(-n/2) ||x||^(1 - n/2) K_(n/2 - 1)(||x||), unbounded at the centre from n = 2.
    """

    projection = stats.laplace()

    def log_mixing(self, logs: np.ndarray) -> np.ndarray:
        return logs - 0.5 * np.exp(logs) - math.log(2.0)

    def log_density(self, square: float, n: int) -> float:
        if n == 1:
            return -math.sqrt(square) - math.log(2.0)
        return math.inf if square == 0.0 else super().log_density(square, n)


class Logistic(Elliptical):
    """Logistic distributions, V = 4 K^2 with K of Kolmogorov's law: every projection is logistic; alpha_g = pi^2 / 3.

    The generator exp(-s) / (1 + exp(-s))^2, also called logistic, gives other projections in every dimension, so that
    its beta would not be a constant of g and eta; it is not meant here.
    """

    projection = stats.logistic()

    def log_density(self, square: float, n: int) -> float:
        if n == 1:
            u = math.sqrt(square)
            return -u - 2.0 * math.log1p(math.exp(-u))
        return super().log_density(square, n)

    def log_mixing(self, logs: np.ndarray) -> np.ndarray:
        #  K = sqrt(V) / 2, so that the density of log V is k f(k) / 2
        k = 0.5 * np.exp(0.5 * logs)
        return log_kolmogorov(k) + np.log(0.5 * k)


def log_kolmogorov(k: np.ndarray) -> np.ndarray:
    r"""Return the logarithm of the density of Kolmogorov's law, from the derivatives of its two series.

    .. math::
        f(k) = 8 k \sum_j (-1)^{j+1} j^2 e^{-2 j^2 k^2}
             = \frac{\sqrt{2\pi}}{k^2} \sum_{j \text{ odd}}
               \Bigl(\frac{j^2 \pi^2}{4 k^2} - 1\Bigr) e^{-j^2 \pi^2 / (8 k^2)}
    """
    found = np.empty_like(k)
    small = k < SMALL
    with np.errstate(over="ignore"):
        square = np.pi**2 / (8.0 * k[small] ** 2)
        terms = sum((2.0 * j**2 * square - 1.0) * np.exp(-(j**2 - 1.0) * square) for j in (1.0, 3.0, 5.0))
        found[small] = 0.5 * math.log(2.0 * math.pi) - 2.0 * np.log(k[small]) - square + np.log(terms)
        large = k[~small]
        terms = sum((-1.0) ** (j + 1) * j**2 * np.exp(-2.0 * (j**2 - 1) * large**2) for j in range(1, 8))
        found[~small] = np.log(8.0 * large) - 2.0 * large**2 + np.log(terms)
    return found


def _around_the_bell(log_integrand: Any) -> np.ndarray:
    """Return equidistant points that cover where the integrand is not negligible, found by narrowing a grid."""
    low, high = -FARTHEST, FARTHEST
    for _ in range(60):
        logs = np.linspace(low, high, POINTS)
        with np.errstate(over="ignore"):
            values = log_integrand(logs)
        seen = np.flatnonzero(values >= values.max() - DEPTH)
        if seen.size > POINTS // 4:
            break
        low, high = logs[max(seen[0] - 1, 0)], logs[min(seen[-1] + 1, POINTS - 1)]
    return logs
