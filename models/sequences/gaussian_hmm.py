r"""Hidden Markov models whose states emit normal vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from ..base.parameters import Count, Positive, fitted, parameters
from ..base.seeding import cluster_means
from ..generative.normal import groups_of, log_densities
from ..numerics import recursions
from .hmm import ChainParameters, HiddenMarkovModel
from .sequences import Sequences, as_vectors

NEAR = 0.1  # the means' distance from that of all observations at a near-uniform start, in standard deviations
FAR = -1e300  # the log density of what is too far away for a double


@parameters
class GaussianHMM(HiddenMarkovModel, ChainParameters):
    r"""Hidden Markov model of sequences of real vectors.

    .. math::
        P(x, q) = \pi_{q^0} \prod_{l<L} a_{q^l q^{l+1}} \prod_{l \le L} \mathcal N(x^l;\, \mu_{q^l}, \Sigma_{q^l})

    (Rabiner 1989, section IV).  Coordinates that are missing (NaN) are integrated out: with diagonal covariances they
    drop out of the sums, with full ones EM takes their conditional mean and covariance given the state and the rest.
    `fit` maximizes the likelihood (plus pseudocount * (sum of the logs of pi and a)) subject to a lower bound on the
    variances, `min_variance` times those of all observations together; EM never lowers that.

    Parameters
    ----------
    min_variance
        The least variance (in every direction, after each feature is scaled to variance one).
    init
        How EM starts, with the variances of all observations in every state.  "spread": start and transition
        probabilities are drawn uniformly from the simplex, the means are those of clusters (k-means++).
        "near_uniform": the rows of the chain are in proportion to 1 + U, U uniform in [0, 1), and the means are that
        of all observations plus a tenth of their standard deviation times normal variables.

    Attributes
    ----------
    means_ : array, shape (n_states, n_features)
        The mean of each state.
    covariances_ : array, shape (n_states, n_features), or (n_states, n_features, n_features) when "full"
        The covariance of each state; its diagonal alone when "diag".

    Examples
    --------
    >>> import numpy as np
    >>> from models import GaussianHMM
    >>> model = GaussianHMM(2).set_model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.0], [5.0]], [[1.0], [1.0]])
    >>> sequences, states = model.sample([100] * 20, random_state=0)
    >>> sequences[0][3] = np.nan
    >>> fitted = GaussianHMM(2, random_state=0).fit(sequences)
    >>> print(np.sort(fitted.means_.ravel()).round(1))
    [-0.  5.]
    """

    n_states: Count = 3
    covariance_type: Literal["diag", "full"] = "diag"
    _: KW_ONLY
    min_variance: Positive = 1e-3

    means_: np.ndarray = fitted()
    covariances_: np.ndarray = fitted()

    def set_model(self, startprob: Any, transmat: Any, means: Any, covariances: Any) -> GaussianHMM:
        """Take these parameters instead of fitting."""
        self._check_fields()
        states = self._set_chain(startprob, transmat)
        means = np.ascontiguousarray(means, dtype=np.float64)
        if means.ndim != 2 or means.shape[0] != states:
            raise ValueError(f"means must have shape ({states}, features), but {means.shape} came")
        shape = means.shape if self.covariance_type == "diag" else (*means.shape, means.shape[1])
        covariances = np.ascontiguousarray(covariances, dtype=np.float64)
        if covariances.shape != shape:
            raise ValueError(f"covariances must have shape {shape}, but {covariances.shape} came")
        least = covariances if self.covariance_type == "diag" else np.linalg.eigvalsh(covariances)
        if not (least > 0.0).all():
            raise ValueError("covariances must be positive definite")
        self.means_, self.covariances_ = means, covariances
        self._floor = np.zeros(means.shape[1])
        return self

    def _batch(self, sequences: Any) -> Sequences:
        fitted = getattr(self, "means_", None)
        return as_vectors(sequences, None if fitted is None else fitted.shape[1])

    def _initialize(self, batch: Sequences, rng: np.random.Generator) -> None:
        """Means by k-means++ and ten rounds of k-means, or near that of all; the variances of all observations."""
        seen = ~np.isnan(batch.values)
        if not seen.any(axis=0).all():
            feature = int(np.flatnonzero(~seen.any(axis=0))[0])
            raise ValueError(f"feature {feature} is missing in all sequences: there is nothing to fit")
        variances = np.nanvar(batch.values, axis=0)
        variances = np.where(variances > 0.0, variances, 1.0)
        centre, scale = np.nanmean(batch.values, axis=0), np.sqrt(variances)
        if self.init == "spread":
            filled = np.where(seen, (batch.values - centre) / scale, 0.0)
            means = cluster_means(filled, int(self.n_states), rng)
        else:
            means = NEAR * rng.standard_normal((int(self.n_states), scale.size))
        self.means_ = np.ascontiguousarray(means * scale + centre)
        self._floor = self.min_variance * variances
        diagonal = np.tile(variances, (self.means_.shape[0], 1))
        full = self.covariance_type == "full"
        self.covariances_ = diagonal[:, :, None] * np.eye(variances.size) if full else diagonal

    def _log_emissions(self, batch: Sequences) -> np.ndarray:
        if self.covariance_type == "diag":
            out = recursions.diagonal_log_densities(batch.values, self.means_, self.covariances_)
        else:
            out = log_densities(batch.values, self.means_, self.covariances_, groups_of(batch.values))
        return np.maximum(out, FAR)

    def _features(self, values: np.ndarray) -> np.ndarray:
        """f(x): diagonal covariances (seen, x, x^2) a coordinate; full ones (1, x, xx'), zero where some is missing."""
        seen = ~np.isnan(values)
        x = np.where(seen, values, 0.0)
        if self.covariance_type == "diag":
            return np.hstack([seen, x, x * x])
        whole = seen.all(axis=1)[:, None]
        return np.where(whole, np.hstack([np.ones(whole.shape), x, _outer(x)]), 0.0)

    def _emission_features(self, batch: Sequences) -> np.ndarray:
        if self.covariance_type == "full" and np.isnan(batch.values).any():
            raise ValueError("with full covariances paths have statistics only where no coordinate is missing")
        return self._features(batch.values)

    def _bend_of_emissions(self, batch: Sequences, weights: np.ndarray) -> np.ndarray:
        if self.covariance_type == "full" and np.isnan(batch.values).any():
            raise ValueError("with full covariances the chain can be bent only where no coordinate is missing")
        return self._features(batch.values) @ weights.T

    def _emission_statistics(
        self, batch: Sequences, gamma: np.ndarray, weight: np.ndarray, group: np.ndarray, groups: int
    ) -> np.ndarray:
        features = self._features(batch.values)
        if groups == 1:
            weighted = gamma * np.repeat(weight, batch.lengths)[:, None]
            sums = (weighted.T @ features)[None]
        else:
            sums = np.zeros((groups, gamma.shape[1], features.shape[1]))
            recursions.add_features(
                batch.offsets, np.ascontiguousarray(features), gamma, weight, group, sums.reshape(-1, sums.shape[2])
            )  # fmt: skip
        if self.covariance_type == "full":
            self._add_partly_seen(batch, gamma, weight, group, sums)
        return sums

    def _add_partly_seen(
        self, batch: Sequences, gamma: np.ndarray, weight: np.ndarray, group: np.ndarray, sums: np.ndarray
    ) -> None:
        """E[(1, x, xx') | state, what is seen of x], of the positions where something but not all is missing.

        With o seen and m missing:  E[x_m] = mu_m + B (x_o - mu_o),  Cov[x_m] = S_mm - B S_om,  B = S_mo S_oo^-1.
        """
        owner = np.repeat(np.arange(len(batch)), batch.lengths)
        for rows, seen in groups_of(batch.values):
            if seen.all() or not seen.any():
                continue
            share = gamma[rows] * weight[owner[rows], None]
            for i, (mean, covariance) in enumerate(zip(self.means_, self.covariances_)):
                B = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, ~seen)]).T
                x = batch.values[rows]
                x[:, ~seen] = mean[~seen] + (x[:, seen] - mean[seen]) @ B.T
                second = _outer(x).reshape(-1, mean.size, mean.size)
                rest = covariance[np.ix_(~seen, ~seen)] - B @ covariance[np.ix_(seen, ~seen)]
                second[:, np.outer(~seen, ~seen)] += rest.ravel()
                features = np.hstack([np.ones((rows.size, 1)), x, second.reshape(rows.size, -1)])
                np.add.at(sums[:, i], group[owner[rows]], share[:, i, None] * features)

    def _emission_potentials(self) -> np.ndarray:
        """log N(x; m, S) = -1/2 (log |2 pi S| + m'S^-1 m) + (S^-1 m)'x - 1/2 <S^-1, xx'>."""
        m, d = self.means_, self.means_.shape[1]
        if self.covariance_type == "diag":
            precisions = 1.0 / self.covariances_
            constant = np.log(2.0 * np.pi * self.covariances_) + precisions * m**2
            return np.hstack([-0.5 * constant, precisions * m, -0.5 * precisions])
        precisions = np.linalg.inv(self.covariances_)
        linear = np.einsum("sij,sj->si", precisions, m)
        constant = d * np.log(2.0 * np.pi) + np.linalg.slogdet(self.covariances_)[1] + (linear * m).sum(axis=1)
        return np.hstack([-0.5 * constant[:, None], linear, -0.5 * precisions.reshape(-1, d * d)])

    def _maximize_emissions(self, statistics: np.ndarray) -> None:
        """Weighted means and covariances; the covariances are the best above the floor, eigenvalue by eigenvalue."""
        d = self.means_.shape[1]
        if self.covariance_type == "diag":
            n, first, second = statistics[:, :d], statistics[:, d : 2 * d], statistics[:, 2 * d :]
            some = n > 1e-10
            n = np.where(some, n, 1.0)
            self.means_ = np.where(some, first / n, self.means_)
            variances = np.maximum(second / n - (first / n) ** 2, self._floor)
            self.covariances_ = np.where(some, variances, self.covariances_)
            return
        scale = np.sqrt(np.where(self._floor > 0.0, self._floor, 1.0))
        least = 1.0 if (self._floor > 0.0).all() else 0.0
        means, covariances = self.means_.copy(), self.covariances_.copy()
        for i, row in enumerate(statistics):
            if row[0] > 1e-10:
                means[i] = row[1 : d + 1] / row[0]
                covariance = row[d + 1 :].reshape(d, d) / row[0] - np.outer(means[i], means[i])
                values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
                covariance = (vectors * np.maximum(values, least)) @ vectors.T
                covariances[i] = covariance * np.outer(scale, scale)
        self.means_, self.covariances_ = means, covariances

    def _draw_emissions(self, path: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((path.size, self.means_.shape[1]))
        if self.covariance_type == "diag":
            return self.means_[path] + np.sqrt(self.covariances_[path]) * noise
        return self.means_[path] + np.einsum("tij,tj->ti", np.linalg.cholesky(self.covariances_)[path], noise)


def _outer(x: np.ndarray) -> np.ndarray:
    """x x' of each row, as a row."""
    return (x[:, :, None] * x[:, None, :]).reshape(x.shape[0], -1)
