"""Classes with normal densities: their priors, means and covariances, by EM where entries or labels are missing.

The observed-data log-likelihood of labelled samples i and unlabelled samples j, with log p(theta) the log priors of the
parameters (zero for maximum likelihood), x_o the observed entries of a sample:

    l(theta) = sum_i w_i log pi_{y_i} N(x_o,i; y_i) + sum_j w_j log sum_k pi_k N(x_o,j; k) + log p(theta)

    E   r_ik = [y_i = k] or P(k | x_o,i),   E[x_i | x_o,i, k],   cov[x_i | x_o,i, k]
    M   N_k = sum_i w_i r_ik,   pi_k = (N_k + alpha_k - 1) / sum (N_l + alpha_l - 1)
        mu_k = (kappa m + sum_i w_i r_ik E[x_i]) / (kappa + N_k)
        S_k = sum_i w_i r_ik {(E[x_i] - mu_k)(E[x_i] - mu_k)' + cov[x_i]} + kappa (mu_k - m)(mu_k - m)'
        Sigma_k = (S_k + Psi) / (N_k + weight + [kappa > 0]),  shared: sums over the classes of S_k, N_k and [kappa > 0]

Without missing entries and labels one M step is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..base.blocks import Block, RowBlocks, add_up
from ..base.expectation_maximization import ascend
from ..base.validation import check_number, warn
from .generative import estimated_priors, log_dirichlet, quiet_log, warn_unless_converged
from .moments import Moments, fourth_powers, fourths, joined, moments
from .normal import (
    ConjugatePrior,
    Groups,
    complete,
    groups_of,
    is_singular,
    ledoit_wolf,
    log_densities,
    log_t_densities,
    raise_eigenvalues,
    shrink,
    total_variances,
)  # fmt: skip

UNLABELLED = -1
MANY = 10  # samples per feature from which "auto" leaves a covariance as it was estimated


@dataclass
class Sample:
    """Training data: samples, their class or `UNLABELLED`, their weights, and their groups by missing entries."""

    X: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    groups: Groups = field(init=False)
    found: Moments | None = None

    def __post_init__(self) -> None:
        self.groups = groups_of(self.X)

    @property
    def is_complete(self) -> bool:
        return bool((self.codes != UNLABELLED).all()) and all(observed.all() for _, observed in self.groups)

    def fold(self, function: Callable[[Block], Any], add: Callable[[Any, Any], Any] = add_up) -> Any:
        """Return `function` of all samples, a single block; see `RowBlocks.fold`."""
        return function(Block(self.X, self.codes, self.weights))

    def moments(self, classes: int, full: bool, shared: bool) -> Moments:
        """Return the moments of the classes, of complete samples."""
        if self.found is None:
            self.found = self.fold(partial(moments, classes, full, shared), joined)
        return self.found

    def one_hot(self, classes: int) -> np.ndarray:
        """Return the known labels as responsibilities, shape (samples, classes); zeros for unlabelled samples."""
        return (self.codes[:, None] == np.arange(classes)).astype(np.float64)


class BlockSample(Sample):
    """Labelled samples without gaps, in blocks."""

    is_complete = True  # type: ignore[assignment]

    def __init__(self, blocks: RowBlocks) -> None:
        self.fold, self.found = blocks.fold, None  # type: ignore[method-assign]


@dataclass
class NormalClasses:
    """Parameters of normal classes, and the statistics that they were estimated from."""

    kind: str
    shared: bool
    prior: ConjugatePrior
    given_priors: np.ndarray | None
    dirichlet: np.ndarray
    # scale, varies: shape (p,): total variances of the features (1 for a constant one; all the mean for spherical
    # covariances), and whether each feature varies
    scale: np.ndarray
    varies: np.ndarray
    # priors, counts: shape (K,): class priors, and total weight of each class
    priors: np.ndarray = field(init=False)
    counts: np.ndarray = field(init=False)
    # shape (K, p): class means
    means: np.ndarray = field(init=False)
    # covariances, scatters: shape (c, p, p), or (c, p) when they are diagonal; c is 1 when shared, otherwise K
    covariances: np.ndarray = field(init=False)
    scatters: np.ndarray = field(init=False)
    # shape (c,): sums of fourth powers of the residuals in units of `units`, for `ledoit_wolf`, over the features
    # `shrunk`, which exclude the target of a regression
    fourths: np.ndarray = field(init=False)
    # shape (p,): the diagonal D of the last M step, unless it is given
    units: np.ndarray = field(init=False)
    given_units: np.ndarray | None = None
    shrunk = slice(None)

    def start(self, sample: Sample) -> None:
        """Initialize from the observed entries: means by class, total variances as the covariance."""
        classes = self.dirichlet.size
        if sample.is_complete:
            found = sample.moments(classes, self.kind == "full", self.shared)
            self.counts, (overall, _) = found.counts, found.overall()
            self.means = np.where(found.counts[:, None] > 0.0, found.means, overall)
        else:
            overall, _ = total_variances(sample.X, sample.weights)
            self.means = np.tile(overall, (classes, 1))
            for k in np.unique(sample.codes[sample.codes != UNLABELLED]):
                X, weights = sample.X[sample.codes == k], sample.weights[sample.codes == k]
                seen = weights @ ~np.isnan(X) > 0.0
                self.means[k, seen] = total_variances(X, weights)[0][seen]
            self.counts = sample.weights @ sample.one_hot(classes)
        self.priors = estimated_priors(self.counts, self.given_priors, self.dirichlet)
        variances = np.ones_like(self.scale) if self.kind == "identity" else self.scale
        covariance = np.diag(variances) if self.kind == "full" else variances
        self.covariances = np.array([covariance] * (1 if self.shared else classes))

    def log_joint(self, X: np.ndarray, groups: Groups) -> np.ndarray:
        """Return log pi_k N(x_o; k), shape (samples, K)."""
        return quiet_log(self.priors) + log_densities(X, self.means, self.covariances, groups)

    def predictive(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scales S_n, degrees of freedom df, factors (kappa_n + 1) / (kappa_n df); see `LinearDiscriminant`."""
        features, full = self.means.shape[1], self.kind == "full"
        counts = self.counts.sum(keepdims=True) if self.shared else self.counts
        means = np.count_nonzero(self.counts) if self.shared else 1
        own = features + 1.0 if full else 2.0
        nu = self.prior.weight - own if self.prior.weight > 0.0 else 0.0
        degrees = nu + counts - means * (self.prior.strength == 0.0) - (features - 1.0 if full else 0.0)
        scales = self.scatters + self.prior.scale
        everything = np.ones(features, dtype=bool)
        if not self.shared:  # a class without samples has prior 0, and any density will do
            empty = self.counts == 0.0
            scales[empty], degrees = self._pooled(), np.where(empty, 1.0, degrees)
        if (degrees <= 0.0).any() or any(is_singular(S / df, self.scale, everything) for S, df in zip(scales, degrees)):
            raise ValueError(
                "predictive must be 'plug-in' or covariance_prior be given where the samples of a class are too few "
                "for its covariance, or a feature is constant or follows from others: there is no posterior density"
            )
        strengths = np.where(self.counts > 0.0, self.prior.strength + self.counts, 1.0)
        return scales, degrees, (strengths + 1.0) / (strengths * degrees)

    def log_joint_predictive(self, X: np.ndarray, groups: Groups) -> np.ndarray:
        """Return log pi_k p(x_o | k, the samples), means and covariances integrated out, shape (samples, K)."""
        scales, degrees, factors = self.predictive()
        return quiet_log(self.priors) + log_t_densities(X, self.means, scales, degrees, factors, groups)

    def expect(self, sample: Sample) -> tuple[np.ndarray, float]:
        """Return the responsibilities and l(theta)."""
        joint = self.log_joint(sample.X, sample.groups)
        unlabelled = sample.codes == UNLABELLED
        marginal = logsumexp(joint, axis=1)
        posteriors, known = np.exp(joint - marginal[:, None]), sample.one_hot(joint.shape[1])
        responsibilities = np.where(unlabelled[:, None], posteriors, known)
        own = np.where(unlabelled, marginal, np.take_along_axis(joint, np.maximum(sample.codes, 0)[:, None], 1)[:, 0])
        of_priors = log_dirichlet(self.priors, self.given_priors, self.dirichlet)
        prior = of_priors + self.prior.log_density(self.means, self.covariances)
        return responsibilities, float(sample.weights @ own) + prior

    def maximize(self, sample: Sample, responsibilities: np.ndarray) -> None:
        """Run the M step on completed samples; the covariances are the modes, without shrinkage."""
        weights, full = sample.weights[:, None] * responsibilities, self.kind == "full"
        parts = [self._completed(sample, weights[:, k], k) for k in range(self.dirichlet.size)]
        found = Moments.zeros(len(parts), sample.X.shape[1], full, self.shared)
        for k, (X, own, added) in enumerate(parts):
            found.add(k, X, own)
            found.scatters[0 if self.shared else k] += added
        self.take(found)
        features = np.arange(self.units.size)[self.shrunk]
        self.fourths = self._gathered([
            fourth_powers(X[:, features], own, self.means[k, features], self.units[features], full)
            for k, (X, own, _) in enumerate(parts)
        ])  # fmt: skip

    def maximize_complete(self, sample: Sample) -> None:
        """Run the one M step that is the answer where nothing is missing."""
        self.take(sample.moments(self.dirichlet.size, self.kind == "full", self.shared))
        units = self.units[self.shrunk]
        (fourth,) = sample.fold(partial(fourths, self.means, units, self.kind == "full"))
        self.fourths = self._gathered(fourth)

    def _gathered(self, of_classes: Any) -> np.ndarray:
        """Return numbers of the classes as an array, summed if the classes share one covariance."""
        return np.sum(of_classes, keepdims=True) if self.shared else np.array(of_classes)

    def take(self, found: Moments) -> None:
        """Set counts, class priors, means, scatters with the prior's part, units and modes from moments."""
        self.counts = found.counts
        self.priors = estimated_priors(self.counts, self.given_priors, self.dirichlet)
        classes = self.counts.size
        means, self.scatters = found.join(np.tile(self.prior.mean, (classes, 1)), np.full(classes, self.prior.strength))
        self.means = np.where((self.counts + self.prior.strength > 0.0)[:, None], means, self.means)
        if self.kind == "spherical":  # every diagonal entry becomes tr(S) / p
            self.scatters = np.tile(self.scatters.mean(axis=1, keepdims=True), self.scatters.shape[1])
        self.units = self._target()[0] if self.given_units is None else self.given_units
        if self.kind != "identity":
            self.covariances = np.array([raise_eigenvalues(mode, self.scale) for mode in self.modes()])

    def _pooled(self) -> np.ndarray:
        """Return the covariance within the classes, pooled over them."""
        pooled: np.ndarray = (self.scatters.sum(axis=0) + self.prior.scale) / self.counts.sum()
        return pooled

    def _target(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the diagonal of D, and the mask of the features that vary within the classes.

        D has the pooled variances within the classes, and total variances where those are zero up to rounding.
        """
        pooled = self._pooled()
        variances = pooled if pooled.ndim == 1 else np.diagonal(pooled)
        rounding = 10.0 * np.finfo(float).eps * np.abs(self.means).max(axis=0)
        within = variances > rounding**2
        return np.where(within, variances, self.scale), within

    def _completed(self, sample: Sample, weights: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the samples of class k with E[x_m | x_o] filled in, their weights, and the sum of cov[x_m | x_o]."""
        covariance = self.covariances[0 if self.shared else k]
        filled, added = complete(sample.X, self.means[k], covariance, sample.groups, weights)
        used = weights > 0.0
        return filled[used], weights[used], added

    def modes(self, unbiased: bool = False) -> np.ndarray:
        """Return the covariances that maximize the posterior or likelihood, or `unbiased` ones without a prior."""
        counts = self.counts.sum(keepdims=True) if self.shared else self.counts
        means = np.count_nonzero(self.counts) if self.shared else 1
        divisors = counts + self.prior.weight + means * (self.prior.strength > 0.0)
        if self.prior.strength == 0.0 and self.prior.weight == 0.0 and unbiased:
            divisors = np.where(counts > means, counts - means, counts)
        divisors = np.where(divisors > 0.0, divisors, 1.0)
        return (self.scatters + self.prior.scale) / divisors.reshape((-1,) + (1,) * (self.scatters.ndim - 1))

    def regularize(self, unbiased: bool, shrinkage: float | str) -> np.ndarray:
        """Set the covariances by divisor, shrinkage and least eigenvalues; return the shrinkage of each."""
        shares = np.zeros(len(self.scatters))
        if self.kind == "identity":
            return shares
        counts = self.counts.sum(keepdims=True) if self.shared else self.counts
        covariances, (target, within) = self.modes(unbiased), self._target()
        for c, covariance in enumerate(covariances):
            if counts[c] == 0.0:
                covariances[c] = raise_eigenvalues(self._pooled(), target)
                continue
            shares[c] = self._share(covariance, target, c, counts[c]) if shrinkage == "auto" else shrinkage
            if shrinkage == "auto" and not covariance.any():
                covariance = self._pooled()  # identical samples have none
            covariances[c] = raise_eigenvalues(shrink(covariance, shares[c], target, within), target)
        self.covariances = covariances
        return shares

    def _share(self, covariance: np.ndarray, target: np.ndarray, c: int, count: float) -> float:
        """Return the shrinkage "auto" of covariance `c`, estimated from samples of weight `count`."""
        singular = is_singular(covariance, target, self.varies)
        few = self.kind == "full" and self.prior.weight == 0.0 and count < MANY * np.count_nonzero(self.varies)
        if not (singular or few):
            return 0.0
        least = 1.0 / (1.0 + count) if singular else 0.0  # the target counts as one more sample
        return max(least, self._ledoit_wolf(covariance, float(self.fourths[c]), float(count)))

    def add(self, other: NormalClasses, position: int, priors: np.ndarray | None) -> None:
        """Insert the one class of `other` before class `position`; the other classes' means do not change."""
        self.counts = np.insert(self.counts, position, other.counts[0])
        self.means = np.insert(self.means, position, other.means[0], axis=0)
        self.dirichlet = np.insert(self.dirichlet, position, other.dirichlet[0])
        if self.shared:
            self.scatters, self.fourths = self.scatters + other.scatters, self.fourths + other.fourths
        else:
            self.scatters = np.insert(self.scatters, position, other.scatters[0], axis=0)
            self.fourths = np.insert(self.fourths, position, other.fourths[0])
        self.given_priors = priors
        self.priors = estimated_priors(self.counts, priors, self.dirichlet)

    def _ledoit_wolf(self, covariance: np.ndarray, fourth: float, count: float) -> float:
        """Return the Ledoit-Wolf shrinkage of the features that vary, in units of `units`."""
        if not self.varies.any():
            return 0.0
        if covariance.ndim == 1:
            return ledoit_wolf((covariance / self.units)[self.varies], fourth, count)
        root = np.sqrt(self.units)
        return ledoit_wolf((covariance / np.outer(root, root))[np.ix_(self.varies, self.varies)], fourth, count)


def normal_classes(
    sample: Sample, kind: str, shared: bool, prior: ConjugatePrior, given: np.ndarray | None, dirichlet: np.ndarray
) -> NormalClasses:
    """Return normal classes with initial parameters, not yet fitted."""
    if sample.is_complete:
        _, variances = sample.moments(dirichlet.size, kind == "full", shared).overall()
    else:
        _, variances = total_variances(sample.X, sample.weights)
    if kind == "spherical":
        variances = np.full_like(variances, variances.mean())
    varies = variances > 0.0
    classes = NormalClasses(kind, shared, prior, given, dirichlet, np.where(varies, variances, 1.0), varies)
    classes.start(sample)
    return classes


def maximize_likelihood(estimator: Any, classes: NormalClasses, sample: Sample, of: str = "") -> tuple[int, np.ndarray]:
    """Fit by one M step or by EM; return the number of M steps and l(theta) before and after each (empty if one)."""
    if sample.is_complete:
        classes.maximize_complete(sample)
        return 1, np.empty(0)
    history, maximize = estimator._history("log-likelihood", of), partial(classes.maximize, sample)
    converged = ascend(lambda _: classes.expect(sample), maximize, history, estimator.tol, estimator.max_iter)
    warn_unless_converged(type(estimator).__name__, converged, estimator.max_iter)
    return len(history) - 1, np.array(history)


def check_shrinkage(shrinkage: Any) -> float | str:
    """Return the shrinkage as a share in [0, 1], 0 for None, or "auto"."""
    if shrinkage is None:
        return 0.0
    if isinstance(shrinkage, str):
        if shrinkage == "ledoit_wolf":
            warn("shrinkage='ledoit_wolf' is 'auto' now, and this name goes in 0.4", DeprecationWarning)
        elif shrinkage != "auto":
            raise ValueError(f"shrinkage must be 'auto', None or a number in [0, 1], but {shrinkage!r} came")
        return "auto"
    return float(check_number("shrinkage", shrinkage, 0.0, 1.0))
