r"""Hidden Markov models whose states emit normal vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from ..base.parameters import Count, Positive, parameters
from ..base.seeding import cluster_means
from ..numerics import recursions
from .hmm import ChainParameters, HiddenMarkovModel
from .sequences import Sequences, as_vectors, centre_and_scale

NEAR = 0.1  # distance of the means from the overall mean at a near-uniform start, in standard deviations
FAR = -1e300  # least log density; squared distances may overflow


@parameters
class GaussianHMM(HiddenMarkovModel, ChainParameters):
    r"""Hidden Markov model of sequences of real vectors.

    .. math::
        P(x, q) = \pi_{q^0} \prod_{l<L} a_{q^l q^{l+1}} \prod_{l \le L} \mathcal N(x^l;\, \mu_{q^l}, \Sigma_{q^l})

    (Rabiner 1989, section IV), with diagonal covariances.  Coordinates that are missing (NaN) drop out of the sums.
    `fit` maximizes the likelihood (plus pseudocount * (sum of the logs of pi and a)) subject to a lower bound on the
    variances, `min_variance` times those of all observations together; EM never lowers this objective.

    Parameters
    ----------
    min_variance
        Least variance, relative to the variance of all observations.
    init
        Start of EM: the chain as in `DiscreteHMM`, and the variances of all observations in every state.  The means
        are means of clusters (k-means++), or at a "near_uniform" start the mean of all observations plus a tenth of
        their standard deviation times normal variables.

    Attributes
    ----------
    means_ : array, shape (n_states, n_features)
        Mean of each state.
    covariances_ : array, shape (n_states, n_features)
        Diagonal of the covariance of each state.

    Examples
    --------
    >>> from models import GaussianHMM
    >>> model = GaussianHMM(2).set_model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.0], [5.0]], [[1.0], [1.0]])
    >>> sequences, states = model.sample([100] * 20, random_state=0)
    >>> sequences[0][3] = np.nan
    >>> fitted = GaussianHMM(2, random_state=0).fit(sequences)
    >>> print(np.sort(fitted.means_.ravel()).round(1))
    [-0.  5.]
    """

    n_states: Count = 3
    _: KW_ONLY
    min_variance: Positive = 1e-3

    def set_model(self, startprob: Any, transmat: Any, means: Any, covariances: Any) -> GaussianHMM:
        """Set the parameters instead of fitting."""
        self._check_fields()
        states = self._set_chain(startprob, transmat)
        means = np.ascontiguousarray(means, dtype=np.float64)
        if means.ndim != 2 or means.shape[0] != states:
            raise ValueError(f"means must have shape ({states}, features), but {means.shape} came")
        covariances = np.ascontiguousarray(covariances, dtype=np.float64)
        if covariances.shape != means.shape:
            raise ValueError(f"covariances must have shape {means.shape}, but {covariances.shape} came")
        if not (covariances > 0.0).all():
            raise ValueError("covariances must be positive")
        self.means_, self.covariances_ = means, covariances
        self._floor = np.zeros(means.shape[1])
        return self

    def _batch(self, sequences: Any) -> Sequences:
        fitted = getattr(self, "means_", None)
        return as_vectors(sequences, None if fitted is None else fitted.shape[1])

    def _initialize(self, batch: Sequences, rng: np.random.Generator) -> None:
        """Initialize the means by k-means++ and ten rounds of k-means or near the overall mean, and the variances."""
        seen = ~np.isnan(batch.values)
        if not seen.any(axis=0).all():
            feature = int(np.flatnonzero(~seen.any(axis=0))[0])
            raise ValueError(f"feature {feature} is missing in all sequences: there is nothing to fit")
        centre, scale = centre_and_scale(batch.values)
        if self.init == "spread":
            filled = np.where(seen, (batch.values - centre) / scale, 0.0)
            means = cluster_means(filled, int(self.n_states), rng)
        else:
            means = NEAR * rng.standard_normal((int(self.n_states), scale.size))
        self.means_ = np.ascontiguousarray(means * scale + centre)
        self.covariances_ = np.tile(scale**2, (self.means_.shape[0], 1))

    def _ascend(self, batch: Sequences, weight: np.ndarray) -> None:
        """Run EM about the mean of all observations, where squares keep the digits of the variances."""
        centre, scale = centre_and_scale(batch.values)
        self._floor = self.min_variance * scale**2
        self.means_, self.covariances_ = self.means_ - centre, np.maximum(self.covariances_, self._floor)
        try:
            super()._ascend(Sequences(batch.values - centre, batch.offsets), weight)
        finally:
            self.means_ = self.means_ + centre

    def _log_emissions(self, batch: Sequences) -> np.ndarray:
        return np.maximum(recursions.diagonal_log_densities(batch.values, self.means_, self.covariances_), FAR)

    def _emission_features(self, batch: Sequences) -> np.ndarray:
        """Return (seen, x, x^2) of every coordinate, shape (positions, 3 features)."""
        seen = ~np.isnan(batch.values)
        x = np.where(seen, batch.values, 0.0)
        return np.hstack([seen, x, x * x])

    def _emission_statistics(
        self, batch: Sequences, gamma: np.ndarray, weight: np.ndarray, group: np.ndarray, groups: int
    ) -> np.ndarray:
        features = self._emission_features(batch)
        if groups == 1:
            weighted = gamma * np.repeat(weight, batch.lengths)[:, None]
            sums = (weighted.T @ features)[None]
        else:
            sums = np.zeros((groups, gamma.shape[1], features.shape[1]))
            recursions.add_features(
                batch.offsets, np.ascontiguousarray(features), gamma, weight, group, sums.reshape(-1, sums.shape[2])
            )  # fmt: skip
        return sums

    def _emission_potentials(self) -> np.ndarray:
        """Return the coefficients of log N(x; m, s) = -1/2 (log 2 pi s + m^2 / s) + (m / s) x - x^2 / (2 s)."""
        m, precisions = self.means_, 1.0 / self.covariances_
        constant = np.log(2.0 * np.pi * self.covariances_) + precisions * m**2
        return np.hstack([-0.5 * constant, precisions * m, -0.5 * precisions])

    def _maximize_emissions(self, statistics: np.ndarray) -> None:
        """Set weighted means, and variances of at least `_floor`; a state without weight keeps its parameters."""
        n, first, second = np.split(statistics, 3, axis=1)
        some = n > 1e-10
        n = np.where(some, n, 1.0)
        self.means_ = np.where(some, first / n, self.means_)
        variances = np.maximum(second / n - (first / n) ** 2, self._floor)
        self.covariances_ = np.where(some, variances, self.covariances_)

    def _draw_emissions(self, path: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((path.size, self.means_.shape[1]))
        return self.means_[path] + np.sqrt(self.covariances_[path]) * noise
