"""The normal distribution of samples with missing entries: densities, conditional moments, estimates.

Of a sample x ~ N(mu, Sigma) the features o are observed and m are missing (NaN).  Integrating x_m out leaves

    x_o ~ N(mu_o, Sigma_oo),
    E[x_m | x_o]   = mu_m + Sigma_mo Sigma_oo^-1 (x_o - mu_o),
    cov[x_m | x_o] = Sigma_mm - Sigma_mo Sigma_oo^-1 Sigma_om.

Covariances come stacked: shape (c, p, p) for full ones, (c, p) for diagonal ones; c is 1 where all classes share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import gammaln

from ..base.validation import check_number

FLOOR = 1e-9  # smallest eigenvalue of a covariance, in units of the features' variances
LOG_2PI = float(np.log(2.0 * np.pi))

Groups = list[tuple[np.ndarray, np.ndarray]]


def groups_of(X: np.ndarray) -> Groups:
    """Group the samples by their missing features; return each group's rows and mask of observed features."""
    missing = np.isnan(X)
    if not missing.any():
        return [(np.arange(X.shape[0]), np.ones(X.shape[1], dtype=bool))]
    distinct, member = np.unique(missing, axis=0, return_inverse=True)
    member = member.ravel()
    order = np.argsort(member, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(member, minlength=len(distinct)))[:-1])
    return [(rows_of, ~pattern) for rows_of, pattern in zip(rows, distinct)]


def log_densities(X: np.ndarray, means: np.ndarray, covariances: np.ndarray, groups: Groups) -> np.ndarray:
    """Return log N(x_o; mu_k, Sigma_k) of every sample in every class, shape (samples, classes)."""
    result = np.empty((X.shape[0], means.shape[0]))
    for rows, observed in groups:
        known = X[np.ix_(rows, observed)]
        for c, covariance in enumerate(covariances):
            shares = range(means.shape[0]) if len(covariances) == 1 else (c,)
            whiten, half_log_det = _whitening(covariance, observed)
            centre = means[c, observed]
            Z = whiten(known - centre)
            for k in shares:
                distance = ((Z - whiten(means[k : k + 1, observed] - centre)) ** 2).sum(axis=1)
                result[rows, k] = -0.5 * (distance + observed.sum() * LOG_2PI) - half_log_det
    return result


def log_t_densities(
    X: np.ndarray, means: np.ndarray, scales: np.ndarray, degrees: np.ndarray, factors: np.ndarray, groups: Groups
) -> np.ndarray:
    """Return log t(x_o; mu_k, f_k S_k, df) of every sample in every class, shape (samples, classes).

    Missing entries of a t are integrated out as for a normal, with unchanged degrees of freedom.  If the scales are
    diagonals, the features are independent, each with a t of its own.
    """
    result = np.empty((X.shape[0], means.shape[0]))
    for rows, observed in groups:
        known = X[np.ix_(rows, observed)]
        for k, (mean, factor) in enumerate(zip(means, factors)):
            c = 0 if len(scales) == 1 else k
            whiten, half_log_det = _whitening(scales[c], observed)
            squares = whiten(known - mean[observed]) ** 2 / factor
            together = scales[c].ndim == 2
            size, copies = (observed.sum(), 1) if together else (1, observed.sum())
            distance = squares.sum(axis=1, keepdims=True) if together else squares
            df = degrees[c]
            constant = gammaln(0.5 * (df + size)) - gammaln(0.5 * df) - 0.5 * size * np.log(df * np.pi * factor)
            tails = 0.5 * (df + size) * np.log1p(distance / df).sum(axis=1)
            result[rows, k] = copies * constant - half_log_det - tails
    return result


def _whitening(covariance: np.ndarray, observed: np.ndarray) -> tuple[Any, float]:
    """Return the map x -> L^-1 x of rows, where Sigma_oo = L L', and log |Sigma_oo| / 2."""
    if covariance.ndim == 1:
        deviation = np.sqrt(covariance[observed])
        return (lambda rows: rows / deviation), float(np.log(deviation).sum())
    L = np.linalg.cholesky(covariance[np.ix_(observed, observed)])
    return (lambda rows: whitened(L, rows)), float(np.log(np.diagonal(L)).sum())


def whitened(L: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return L^-1 x of every row x; an empty array unchanged, since scipy below 1.14 does not solve for it."""
    return solve_triangular(L, rows.T, lower=True, check_finite=False).T if rows.size else rows


def complete(
    X: np.ndarray, mean: np.ndarray, covariance: np.ndarray, groups: Groups, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return X with E[x_m | x_o] in place of missing entries, and the sum of weights times cov[x_m | x_o]."""
    filled, added = X.copy(), np.zeros_like(covariance)
    for rows, observed in groups:
        missing = ~observed
        if not missing.any():
            continue
        weight = weights[rows].sum()
        if covariance.ndim == 1:
            filled[np.ix_(rows, missing)] = mean[missing]
            added[missing] += weight * covariance[missing]
            continue
        across = covariance[np.ix_(observed, missing)]
        L = np.linalg.cholesky(covariance[np.ix_(observed, observed)])
        slope = cho_solve((L, True), across, check_finite=False) if observed.any() else across
        filled[np.ix_(rows, missing)] = mean[missing] + (X[np.ix_(rows, observed)] - mean[observed]) @ slope
        added[np.ix_(missing, missing)] += weight * (covariance[np.ix_(missing, missing)] - across.T @ slope)
    return filled, added


@dataclass(frozen=True)
class ConjugatePrior:
    """The normal-inverse-Wishart prior: Sigma ~ IW(degrees, scale), mu_k | Sigma ~ N(mean, Sigma / strength).

    Its log density, constants left out, is

        -1/2 [weight log |Sigma| + tr(scale Sigma^-1)] - 1/2 [log |Sigma| + strength (mu - mean)' Sigma^-1 (mu - mean)]

    with weight = degrees + p + 1 (of a diagonal Sigma, an inverse-gamma prior a feature: degrees + 2).  Without a prior
    on Sigma weight and scale are 0, without one on mu strength is 0 and the second bracket is absent.
    """

    mean: np.ndarray
    strength: float
    weight: float
    scale: np.ndarray

    def log_density(self, means: np.ndarray, covariances: np.ndarray) -> float:
        """Return the log prior density of the parameters without constants."""
        total = 0.0
        everything = np.ones(means.shape[1], dtype=bool)
        for c, covariance in enumerate(covariances):
            whiten, half_log_det = _whitening(covariance, everything)
            if self.weight > 0.0:
                if covariance.ndim == 1:
                    trace = (self.scale / covariance).sum()
                else:
                    trace = np.trace(np.linalg.solve(covariance, self.scale))
                total -= self.weight * half_log_det + 0.5 * trace
            if self.strength > 0.0:
                of_class = means if len(covariances) == 1 else means[c : c + 1]
                distance = (whiten(of_class - self.mean) ** 2).sum()
                total -= len(of_class) * half_log_det + 0.5 * self.strength * distance
        return float(total)


def conjugate_prior(mean_prior: Any, covariance_prior: Any, features: int, kind: str) -> ConjugatePrior:
    """Return the prior of ``mean_prior=(mean, strength)`` and ``covariance_prior=(degrees, scale)``; None is flat."""
    mean, strength = np.zeros(features), 0.0
    if mean_prior is not None:
        given, strength = _pair("mean_prior", mean_prior, "(mean, strength)")
        strength = check_number("the strength in mean_prior", strength, 0.0, open_low=True)
        mean = _broadcast("the mean in mean_prior", given, (features,))
    weight, scale = 0.0, np.zeros((features, features) if kind == "full" else features)
    if covariance_prior is not None:
        if kind == "identity":
            raise ValueError("covariance_prior must be None when covariance is 'identity', which is not estimated")
        degrees, given = _pair("covariance_prior", covariance_prior, "(degrees, scale)")
        least = features - 1.0 if kind == "full" else 0.0
        degrees = check_number("the degrees in covariance_prior", degrees, least, open_low=True)
        weight = degrees + (features + 1.0 if kind == "full" else 2.0)
        scale = _scale_matrix(given, features, kind)
        scale = np.full(features, scale.mean()) if kind == "spherical" else scale
    return ConjugatePrior(mean, strength, weight, scale)


def _pair(name: str, value: Any, form: str) -> Any:
    if not hasattr(value, "__len__") or len(value) != 2:
        raise ValueError(f"{name} must be None or a pair {form}, but {value!r} came")
    return value


def _broadcast(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if (array.ndim and array.shape != shape) or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a finite number or an array of shape {shape}, but {value!r} came")
    return np.broadcast_to(array, shape).copy()


def _scale_matrix(value: Any, features: int, kind: str) -> np.ndarray:
    """Return the checked scale of an inverse-Wishart prior; a number or a vector means a diagonal."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < 2:
        diagonal = _broadcast("the scale in covariance_prior", array, (features,))
        if (diagonal <= 0.0).any():
            raise ValueError("the scale in covariance_prior must be positive")
        return np.diag(diagonal) if kind == "full" else diagonal
    scale = _broadcast("the scale in covariance_prior", array, (features, features))
    if kind != "full":
        raise ValueError(f"the scale in covariance_prior must be a number or a vector when covariance is {kind!r}")
    if not np.allclose(scale, scale.T) or np.linalg.eigvalsh(scale)[0] <= 0.0:
        raise ValueError("the scale in covariance_prior must be symmetric and positive definite")
    return 0.5 * (scale + scale.T)


def total_variances(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of the observed entries of each feature; a constant feature has variance 0."""
    seen = ~np.isnan(X)
    known = np.where(seen, X, 0.0)
    count = np.maximum(weights @ seen, np.finfo(float).tiny)
    mean = (weights @ known) / count
    variance = (weights @ (np.where(seen, X - mean, 0.0) ** 2)) / count
    rounding = 10.0 * np.finfo(float).eps * np.abs(known).max(axis=0)
    return mean, np.where(variance > rounding**2, variance, 0.0)


def ledoit_wolf(covariance: np.ndarray, fourth: float, weight: float) -> float:
    """Return the share s for which (1 - s) S + s m I, m = tr S / p, estimates Sigma best (Ledoit, Wolf 2004).

    With r the residuals and n their total weight, S = sum r r' / n and `fourth` = sum (r'r)^2:

        s = min(1, b^2 / d^2),   d^2 = ||S - m I||^2,   b^2 = (fourth / n - ||S||^2) / n

    For a diagonal S, given as a vector, norms are of vectors and `fourth` = sum_ij r_ij^4.
    """
    if covariance.ndim == 1:
        square, spread = float(covariance @ covariance), float(((covariance - covariance.mean()) ** 2).sum())
    else:
        square = float((covariance**2).sum())
        spread = square - float(np.trace(covariance)) ** 2 / len(covariance)
    error = max(0.0, fourth / weight - square) / weight
    return 1.0 if spread <= error else error / spread


def shrink(covariance: np.ndarray, share: float, scale: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return (1 - share) Sigma + share T with T diagonal and D the diagonal matrix `scale`.

    T_jj = m D_jj of the features j that are `counted`, m the mean of their Sigma_jj / D_jj; T_jj = D_jj of the others.
    """
    diagonal = covariance if covariance.ndim == 1 else np.diagonal(covariance)
    target = scale.copy()
    if counted.any():
        target[counted] *= (diagonal / scale)[counted].mean()
    return (1.0 - share) * covariance + share * (target if covariance.ndim == 1 else np.diag(target))


def is_singular(covariance: np.ndarray, scale: np.ndarray, varies: np.ndarray) -> bool:
    """Return True if Sigma, in units of D = `scale`, has an eigenvalue <= `FLOOR` among the features that vary."""
    if not varies.any():
        return False
    if covariance.ndim == 1:
        return bool((covariance[varies] <= FLOOR * scale[varies]).any())
    root = np.sqrt(scale[varies])
    return bool(np.linalg.eigvalsh(covariance[np.ix_(varies, varies)] / np.outer(root, root))[0] <= FLOOR)


def raise_eigenvalues(covariance: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return Sigma with the eigenvalues of D^-1/2 Sigma D^-1/2 raised to at least `FLOOR`; D is diagonal, `scale`.

    If Sigma maximizes a normal likelihood -(log |Sigma| + tr Sigma^-1 S), the result maximizes it subject to the bound
    Sigma >= FLOOR D; so expectation maximization with this bound never lowers the likelihood.
    """
    if covariance.ndim == 1:
        return np.maximum(covariance, FLOOR * scale)
    root = np.sqrt(scale)
    values, vectors = np.linalg.eigh(covariance / np.outer(root, root))
    if values[0] >= FLOOR:
        return covariance
    scaled = root[:, None] * vectors * np.sqrt(np.maximum(values, FLOOR))
    return scaled @ scaled.T
