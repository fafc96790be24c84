"""Distributions of features that are independent given the class.

Their statistics are sums over samples i with responsibilities r_ik (a known label: its sample's weight, in one column).
A missing entry (NaN) has no term in the sums and none in log p(x | k).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, logsumexp

LEAST_ALPHA = 1e-10  # smallest smoothing, so that no probability is zero
LEAST_VARIANCE = 1e-12  # smallest variance in a class, relative to the feature's total variance
MOST_BINS = 100


class Features:
    """Columns of X with one kind of distribution."""

    def check(self, X: Any, who: str) -> None:
        """Raise ValueError if X has values outside the distribution's support."""

    def fit(self, X: Any, responsibilities: np.ndarray) -> None:
        """Estimate the parameters from samples, r_ik in `responsibilities`."""
        raise NotImplementedError

    def log_likelihood(self, X: Any) -> np.ndarray:
        """Return log p(x | k), shape (samples, classes)."""
        raise NotImplementedError

    def log_terms(self, X: Any) -> np.ndarray:
        """Return log p(x_j | k), shape (samples, classes, features), whose sum over j is `log_likelihood`."""
        raise NotImplementedError

    def training_log_likelihood(self, X: Any) -> np.ndarray:
        """Return each sample's term of the objective of `fit` without `log_prior`, shape (samples, classes)."""
        return self.log_likelihood(X)

    def log_prior(self) -> float:
        """Return the log prior density of the parameters, constants left out."""
        return 0.0

    def named(self) -> dict[str, np.ndarray]:
        """Return the parameters, shape (classes, features), by scikit-learn's names."""
        return {}


class GaussianFeatures(Features):
    """Normal features: x_j | k ~ N(mu_kj, s_kj), s_kj = sum_i r_ik (x_ij - mu_kj)^2 / sum_i r_ik + epsilon_j.

    epsilon_j is `smoothing` times the feature's total variance: no unit has an influence.  Where a feature is constant
    in a class of weight N_k > 0, the mean square is v_j / (N_k + 1), as if one more sample had the variance v_j: that
    within the classes, pooled over them, or where this is zero the total variance.  Other s_kj maximize

        sum_i r_ik {log N(x_ij; mu_kj, s_kj) - epsilon_j / (2 s_kj)},

    the mean log-likelihood of samples that are blurred by noise of variance epsilon_j.
    """

    def __init__(self, smoothing: float) -> None:
        self.smoothing = smoothing

    def fit(self, X: np.ndarray, responsibilities: np.ndarray) -> None:
        seen = ~np.isnan(X)
        known = np.where(seen, X, 0.0)
        weight = responsibilities.T @ seen
        own = weight > 0.0  # without samples of a feature, a class has the distribution of all classes
        mean = np.divide(responsibilities.T @ known, weight, out=np.zeros_like(weight), where=own)
        square = np.array([r @ np.where(seen, X - m, 0.0) ** 2 for r, m in zip(responsibilities.T, mean)])
        total = weight.sum(axis=0)
        count = np.where(total > 0.0, total, 1.0)
        centre = (weight * mean).sum(axis=0) / count
        spread = (square + weight * (mean - centre) ** 2).sum(axis=0) / count
        rounding = (10.0 * np.finfo(float).eps * np.abs(mean)) ** 2
        least = (10.0 * np.finfo(float).eps * np.abs(centre)) ** 2
        spread = np.where(spread > least, spread, 0.0)
        variances = np.where(own, square / np.where(own, weight, 1.0), spread)
        within = np.where(variances > rounding, weight * variances, 0.0).sum(axis=0) / count
        within = np.where(within > 0.0, within, spread)
        variances = np.where(own & (variances <= rounding), within / (weight + 1.0), variances)
        self.epsilon = self.smoothing * spread
        self.variances = np.maximum(variances + self.epsilon, LEAST_VARIANCE * np.where(spread > 0.0, spread, 1.0))
        self.means = np.where(own, mean, centre)

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        return np.stack([terms.sum(axis=1) for terms in self._terms(X)], axis=1)

    def log_terms(self, X: np.ndarray) -> np.ndarray:
        return np.stack(list(self._terms(X)), axis=1)

    def _terms(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield log p(x_j | k) of one class after the other, shape (samples, features)."""
        seen = ~np.isnan(X)
        for m, s in zip(self.means, self.variances):
            yield np.where(seen, -0.5 * ((X - m) ** 2 / s + np.log(2.0 * np.pi * s)), 0.0)

    def training_log_likelihood(self, X: np.ndarray) -> np.ndarray:
        blur = 0.5 * (~np.isnan(X) @ (self.epsilon / self.variances).T)
        return self.log_likelihood(X) - blur

    def named(self) -> dict[str, np.ndarray]:
        return {"theta_": self.means, "var_": self.variances}


class BernoulliFeatures(Features):
    """Binary features, 1 above a threshold: P(x_j = 1 | k) = (sum_i r_ik x_ij + alpha) / (sum_i r_ik + 2 alpha)."""

    def __init__(self, alpha: float, threshold: float | None) -> None:
        self.alpha = max(alpha, LEAST_ALPHA)
        self.threshold = threshold

    def check(self, X: np.ndarray, who: str) -> None:
        if self.threshold is None and not np.isin(X[~np.isnan(X)], (0.0, 1.0)).all():
            raise ValueError(f"{who} with binarize=None needs entries 0 and 1 in X; binarize may be a threshold")

    def _split(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return 0-1 matrices that mark the ones and the zeros of X; missing entries are 0 in both."""
        with np.errstate(invalid="ignore"):
            ones = (X > (0.0 if self.threshold is None else self.threshold)).astype(np.float64)
        return ones, ~np.isnan(X) - ones

    def fit(self, X: np.ndarray, responsibilities: np.ndarray) -> None:
        ones, zeros = (responsibilities.T @ part + self.alpha for part in self._split(X))
        total = np.log(ones + zeros)
        self.log_one, self.log_zero = np.log(ones) - total, np.log(zeros) - total

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        ones, zeros = self._split(X)
        return np.asarray(ones @ self.log_one.T + zeros @ self.log_zero.T)

    def log_terms(self, X: np.ndarray) -> np.ndarray:
        ones, zeros = self._split(X)
        return ones[:, None] * self.log_one + zeros[:, None] * self.log_zero

    def log_prior(self) -> float:
        return float(self.alpha * (self.log_one + self.log_zero).sum())

    def named(self) -> dict[str, np.ndarray]:
        return {"feature_log_prob_": self.log_one}


class MultinomialFeatures(Features):
    """A sample is counts of words drawn with P(j | k) = (sum_i r_ik x_ij + alpha) / (sum_ij r_ik x_ij + alpha p).

    log p(x | k) = sum_j x_j log P(j | k), without the multinomial coefficient, which does not depend on k.  With
    `integrates` the probabilities are integrated out over their Dirichlet posterior, as `MultinomialNaiveBayes` says.
    """

    def __init__(self, alpha: float, integrates: bool = False) -> None:
        self.alpha = max(alpha, LEAST_ALPHA)
        self.integrates = integrates

    def check(self, X: Any, who: str) -> None:
        values = X.data if sp.issparse(X) else X
        if np.isnan(values).any():
            raise ValueError(f"Input X contains NaN, which is no count that {who} could integrate out")
        if (values < 0.0).any():
            raise ValueError(f"Negative values in data passed to {who}: they must be counts")

    def fit(self, X: Any, responsibilities: np.ndarray) -> None:
        self.counts = (X.T @ responsibilities).T
        smoothed = self.counts + self.alpha
        self.log_probabilities = np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))

    def log_likelihood(self, X: Any) -> np.ndarray:
        if not self.integrates:
            return X @ self.log_probabilities.T
        words = sp.csr_array(X)
        if not words.has_canonical_format:  # `_log_rising` needs the whole count of each word
            words = words.copy()
            words.sum_duplicates()
        lengths = np.asarray(words.sum(axis=1)).ravel()
        columns = []
        for a in self.counts + self.alpha:
            rising = _log_rising(a[words.indices], words.data)
            of_words = sp.csr_array((rising, words.indices, words.indptr), words.shape)
            columns.append(np.asarray(of_words.sum(axis=1)).ravel() - _log_rising(a.sum(), lengths))
        return np.stack(columns, axis=1)

    def log_terms(self, X: Any) -> np.ndarray:
        counts = X.toarray() if sp.issparse(X) else X
        return counts[:, None] * self.log_probabilities

    def log_prior(self) -> float:
        return float(self.alpha * self.log_probabilities.sum())

    def named(self) -> dict[str, np.ndarray]:
        return {"feature_log_prob_": self.log_probabilities}


def _log_rising(a: Any, x: np.ndarray) -> np.ndarray:
    """Return log G(a + x) - log G(a), the logarithm of a (a + 1) ... (a + x - 1)."""
    return gammaln(a + x) - gammaln(a)


class FeatureByFeature(Features):
    """Distributions that are estimated feature by feature, without the missing entries."""

    columns: list[Any]

    def __init__(self, alpha: float = 0.0) -> None:
        self.alpha = max(alpha, LEAST_ALPHA)

    def fit(self, X: np.ndarray, responsibilities: np.ndarray) -> None:
        self.classes, seen = responsibilities.shape[1], ~np.isnan(X)
        self.columns = [self._column(x[on], responsibilities[on]) if on.any() else None for x, on in zip(X.T, seen.T)]

    def _column(self, x: np.ndarray, weights: np.ndarray) -> Any:
        """Return the parameters that `_terms_of` takes, estimated from one feature's samples, none of them missing."""
        raise NotImplementedError

    def _terms_of(self, x: np.ndarray, column: Any) -> np.ndarray:
        """Return log p(x | k) of values of one feature, shape (samples, classes)."""
        raise NotImplementedError

    def log_likelihood(self, X: np.ndarray) -> np.ndarray:
        return sum(self._terms(X), np.zeros((X.shape[0], self.classes)))

    def log_terms(self, X: np.ndarray) -> np.ndarray:
        return np.stack(list(self._terms(X)), axis=2)

    def _terms(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield log p(x_j | k) of one feature after the other, shape (samples, classes)."""
        for x, column in zip(X.T, self.columns):
            terms, seen = np.zeros((x.size, self.classes)), ~np.isnan(x)
            if column is not None and seen.any():
                terms[seen] = self._terms_of(x[seen], column)
            yield terms


class CategoricalFeatures(FeatureByFeature):
    """Categorical features: P(x_j = v | k) = (sum_i r_ik [x_ij = v] + alpha) / (sum_i r_ik + alpha m_j).

    m_j is the number of values of column j.  Categories are numbers; one that was never seen is taken as missing.  P is
    also the mean of the Dirichlet posterior: a sample has one draw of each column, and integrating the probabilities
    out changes nothing.
    """

    def _column(self, x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        values, of_entry = np.unique(x, return_inverse=True)
        smoothed = np.full((values.size, weights.shape[1]), self.alpha)
        np.add.at(smoothed, of_entry, weights)
        return values, np.log(smoothed) - np.log(smoothed.sum(axis=0))

    def _terms_of(self, x: np.ndarray, column: tuple[np.ndarray, ...]) -> np.ndarray:
        values, logs = column
        place = np.minimum(np.searchsorted(values, x), values.size - 1)
        return np.where((values[place] == x)[:, None], logs[place], 0.0)

    def log_prior(self) -> float:
        return float(self.alpha * sum(column[1].sum() for column in self.columns if column is not None))


class HistogramFeatures(FeatureByFeature):
    """p(x_j | k) = (N_kjb + alpha) / (N_kj + alpha B_j) / h_j of the bin b that holds x_j; N_kjb = sum_i r_ik there.

    The B_j bins of one width h_j cover the range of the samples; h_j is near 3.49 s_j n^(-1/3) (Scott), s_j the
    standard deviation and n the number of all samples.  Beyond the range the density is an empty bin's.
    """

    def _column(self, x: np.ndarray, weights: np.ndarray) -> tuple[float, float, np.ndarray]:
        low, high = float(x.min()), float(x.max())
        wanted = 3.49 * _spread(x, weights.sum(axis=1)) * max(weights.sum(), 1.0) ** (-1.0 / 3.0)
        bins = int(np.clip(np.ceil((high - low) / wanted), 1, MOST_BINS)) if wanted > 0.0 else 1
        width = (high - low) / bins if high > low else 1.0
        counts = np.zeros((bins + 1, weights.shape[1]))  # the last bin holds values beyond the range
        np.add.at(counts, self._bins(x, low, width, bins), weights)
        smoothed = counts + self.alpha
        return low, width, np.log(smoothed) - np.log((smoothed[:-1].sum(axis=0)) * width)

    def _terms_of(self, x: np.ndarray, column: tuple[float, float, np.ndarray]) -> np.ndarray:
        low, width, logs = column
        return np.asarray(logs[self._bins(x, low, width, logs.shape[0] - 1)])

    def _bins(self, x: np.ndarray, low: float, width: float, bins: int) -> np.ndarray:
        place = np.floor((x - low) / width)
        place = np.where(place == bins, np.where(x <= low + bins * width * (1.0 + 1e-12), bins - 1, bins), place)
        return np.where((place < 0) | (place > bins), bins, place).astype(np.int64)


class KernelFeatures(FeatureByFeature):
    """p(x_j | k) = sum_i r_ik N(x_j; x_ij, h_kj^2) / sum_i r_ik, a normal density around every sample of the class.

    h_kj = 1.06 s_kj N_kj^(-1/5), which is best where the density is normal (Silverman); s_kj is the standard deviation
    of the class.  If a feature was never seen in a class, the class has the density of all classes.
    """

    def _column(self, x: np.ndarray, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, float]]:
        whole = _spread(x, weights.sum(axis=1)) or 1.0
        found = []
        for w in weights.T:
            w = w if w.any() else weights.sum(axis=1)
            own = w > 0.0
            spread = max(_spread(x[own], w[own]), np.sqrt(LEAST_VARIANCE) * whole)
            spread = spread if np.unique(x[own]).size > 1 else whole
            found.append((x[own], np.log(w[own] / w[own].sum()), float(1.06 * spread * max(w.sum(), 1.0) ** -0.2)))
        return found

    def _terms_of(self, x: np.ndarray, column: list[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
        columns = [
            logsumexp(logs - 0.5 * ((x[:, None] - own) / h) ** 2, axis=1) - np.log(h * np.sqrt(2.0 * np.pi))
            for own, logs, h in column
        ]
        return np.stack(columns, axis=1)


def _spread(x: np.ndarray, weights: np.ndarray) -> float:
    """Return the weighted standard deviation of `x`."""
    mean = np.average(x, weights=weights)
    return float(np.sqrt(np.average((x - mean) ** 2, weights=weights)))
