"""Classifiers whose classes have normal densities: linear and quadratic discriminants, and the nearest prototype."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ..base.groups import IterationParameters
from ..base.parameters import Count, NonNegative, parameters
from ..base.validation import as_weights
from .generative import (
    GenerativeClassifier,
    PriorParameters,
    check_dirichlet,
    check_priors,
    log_posteriors,
    priors_after,
    quiet_log,
    unlabelled_samples,
    with_label,
)  # fmt: skip
from .normal import conjugate_prior, groups_of
from .normal_classes import (
    UNLABELLED,
    BlockSample,
    NormalClasses,
    Sample,
    check_shrinkage,
    maximize_likelihood,
    normal_classes,
)  # fmt: skip

Self = TypeVar("Self", bound="NormalDiscriminant")
NEEDS_ALL = "X_unlabelled must be None then, since expectation maximization needs all samples at once"


@parameters
class DiscriminantParameters(PriorParameters):
    """Parameters of discriminants with estimated covariances.

    Parameters
    ----------
    covariance
        Form of Sigma: "identity" fixes it, "spherical" is (tr(S) / p) I with S the estimate of "full", which
        maximizes the likelihood among the multiples of I.
    divisor
        Divisor of the scatter: n for "mle", n - K for "unbiased"; only without `mean_prior` and `covariance_prior`.
    shrinkage : "auto", None or float in [0, 1]
        (1 - s) Sigma + s m D.  D is the diagonal of the features' variances within the classes, pooled over them; m is
        the mean of Sigma_jj / D_jj.  For a feature that is constant in every class, its total variance stands in place
        of m D_jj.  "auto" estimates s (Ledoit and Wolf 2004) where a full Sigma has less than 10 samples per feature
        and no `covariance_prior`, and where any Sigma is singular, there with s at least 1 / (n + 1); s is 0 elsewhere.
        None is 0.  Shrinkage does not change "spherical", nor a shared "diagonal".
    mean_prior : None or pair (mean, strength)
        Prior mu_k ~ N(mean, Sigma / strength): the means are maximum a posteriori estimates.
    covariance_prior : None or pair (degrees, scale)
        Prior Sigma ~ inverse Wishart (for a diagonal: inverse gamma); `scale` is a matrix, a diagonal or a number.
        For "spherical" the density of "diagonal" is restricted to the multiples of I.
    predictive
        Density of a class: normal with the estimated mean and covariance, or with both integrated out over their
        posterior.  `covariance_` is the estimate in either case.

    Attributes
    ----------
    means_ : array, shape (classes, features)
        Mean of each class.
    shrinkage_ : array, shape (covariances,)
        Shrinkage that was used.
    log_likelihoods_ : array, shape (n_iter_ + 1,)
        Observed-data log-likelihood (plus the log priors of the parameters) before and after each step of expectation
        maximization, with divisor "mle" and shrinkage 0; empty if nothing is missing.
    """

    covariance: Literal["full", "diagonal", "identity", "spherical"] = "full"
    priors: Any = None
    _: KW_ONLY
    dirichlet: Any = 1.0
    divisor: Literal["unbiased", "mle"] = "mle"
    shrinkage: Any = "auto"
    mean_prior: Any = None
    covariance_prior: Any = None
    predictive: Literal["plug-in", "bayes"] = "plug-in"


class NormalDiscriminant(GenerativeClassifier):
    """Bayes' rule with a normal density in each class; the base of the classifiers in this module."""

    _takes_nan = True
    _shared: ClassVar[bool]
    _integrates: bool = False  # True for t densities, predictive "bayes"

    # Values in `Prototypes`, where they are no parameters.
    dirichlet: Any = 1.0
    divisor: Any = "mle"
    shrinkage: Any = "auto"
    predictive: Any = "plug-in"
    mean_prior: Any = None
    covariance_prior: Any = None

    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None, *, X_unlabelled: Any = None) -> Self:
        """Fit to labelled samples, in blocks if they are many, and to samples without labels when there are any."""
        self._check_fields()
        shrinkage = check_shrinkage(self.shrinkage)
        blocks = self._blocks_to_fit(X, y, sample_weight, "" if X_unlabelled is None else NEEDS_ALL)
        if blocks is not None:
            self._survey(blocks)
            sample: Sample = BlockSample(blocks)
        else:
            X, codes, weights = self._samples_and_weights(X, y, sample_weight)
            keep, others = weights > 0.0, unlabelled_samples(self, X_unlabelled, X)
            codes = np.r_[codes[keep], np.full(len(others), UNLABELLED)]
            X = np.vstack([X[keep], others]) if len(others) or not keep.all() else X
            sample = Sample(X, codes, np.r_[weights[keep], np.ones(len(others))])
        self._check_predictive(sample)
        classes = self.classes_.size
        prior = conjugate_prior(self.mean_prior, self.covariance_prior, self.n_features_in_, self.covariance)
        given, dirichlet = check_priors(self.priors, classes), check_dirichlet(self.dirichlet, classes)
        model = normal_classes(sample, self.covariance, self._shared, prior, given, dirichlet)
        self.n_iter_, self.log_likelihoods_ = maximize_likelihood(self, model, sample)
        self._keep(model, shrinkage)
        return self

    def _check_predictive(self, sample: Sample) -> None:
        if self.predictive == "plug-in":
            return
        if self.covariance not in ("full", "diagonal"):
            raise ValueError(f"predictive must be 'plug-in' when covariance is {self.covariance!r}, but 'bayes' came")
        if not sample.is_complete:
            raise ValueError("predictive must be 'plug-in' when entries or labels are missing, but 'bayes' came")

    def _keep(self, model: NormalClasses, shrinkage: float | str) -> None:
        """Set the fitted attributes from `model`, regularized by `shrinkage`."""
        self._integrates = self.predictive == "bayes"
        if self._integrates:
            model.predictive()  # raises if there is no posterior density
        self._model = model
        self.shrinkage_ = model.regularize(self.divisor == "unbiased", shrinkage)
        self.priors_, self.means_, self.class_count_ = model.priors, model.means, model.counts
        if self._shared:
            self.covariance_ = _as_matrices(model.covariances)[0]
        else:
            self.covariances_ = _as_matrices(model.covariances)

    def add_class(self: Self, X: Any, label: Any, sample_weight: Any = None, prior: float | None = None) -> Self:
        """Add a new class from its samples alone, without refitting the other classes.

        The other classes keep their means (and, unless it is shared, their covariances); a shared covariance takes
        the new scatter in, so that the result equals `fit` on all samples if none has missing entries, and unless
        covariances of few samples are shrunk, by shares that were found with the old D.
        Estimated class priors are computed from the new counts.

        Parameters
        ----------
        X : array_like, shape (samples, features)
            Samples of the new class; NaN where an entry is missing.
        label : int or str
            The label of the new class, not yet in `classes_`.
        sample_weight : array_like, shape (samples,), optional
        prior : float, optional
            Prior of the new class, needed if priors were given as numbers; the others are scaled by 1 - prior.
        """
        X = self._matrix_to_predict(X)
        self._check_fields()
        shrinkage = check_shrinkage(self.shrinkage)
        classes, position = with_label(self.classes_, label)
        weights = as_weights(sample_weight, X.shape[0])
        old = self._model
        priors = priors_after(self.priors, self.priors_, position, prior)
        sample = Sample(X[weights > 0.0], np.zeros((weights > 0.0).sum(), np.int64), weights[weights > 0.0])
        self._check_predictive(sample)
        dirichlet = np.array([old.dirichlet.mean()])
        new = NormalClasses(old.kind, old.shared, old.prior, None, dirichlet, old.scale, old.varies, old.units)
        new.start(sample)
        maximize_likelihood(self, new, sample, f", {label!r}")
        if self.predictive == "bayes" and not self._shared:
            new.predictive()
        old.add(new, position, priors)
        self.classes_ = classes
        self._keep(old, shrinkage)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log P(classes_[1] | x) / P(classes_[0] | x) for two classes; for more, log pi_k + log p(x | k)."""
        joint = self._log_joint(self._matrix_to_predict(X))
        if self.classes_.size > 2:
            return joint
        posteriors = log_posteriors(joint, self.priors_)
        return posteriors[:, 1] - posteriors[:, 0]

    def log_odds_terms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Return a, b and C of log P(k | x) / P(K | x) = a_k + b_k'x + x'C_k x, with K the last class.

        With the precisions P_k = Sigma_k^-1

        .. math:: C_k = -\tfrac12 (P_k - P_K), \quad b_k = P_k \mu_k - P_K \mu_K, \quad a_k = \log \frac{\pi_k}{\pi_K}
            - \tfrac12 (\mu_k' P_k \mu_k - \mu_K' P_K \mu_K) - \tfrac12 \log \frac{|\Sigma_k|}{|\Sigma_K|}

        Where the classes share Sigma, C is zero (James, Witten, Hastie, Tibshirani, section 4.5).

        Returns
        -------
        a, b, C : arrays, shapes (classes,), (classes, features) and (classes, features, features)
            Zero for the last class.

        Raises
        ------
        ValueError
            When `predictive` is "bayes".
        """
        self._check_fitted()
        if self._integrates:
            raise ValueError("predictive must be 'plug-in' for log_odds_terms: those of t are not quadratic in x")
        covariances = _as_matrices(self._model.covariances)
        precisions = np.linalg.inv(covariances)
        precisions = np.broadcast_to(precisions, (self.classes_.size, *precisions.shape[1:]))
        slopes = np.einsum("kij,kj->ki", precisions, self.means_)
        offsets = quiet_log(self.priors_) - 0.5 * (slopes * self.means_).sum(axis=1)
        offsets = offsets - 0.5 * np.linalg.slogdet(covariances)[1]
        return offsets - offsets[-1], slopes - slopes[-1], -0.5 * (precisions - precisions[-1])

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        log_joint = self._model.log_joint_predictive if self._integrates else self._model.log_joint
        return log_joint(X, groups_of(X))


def _as_matrices(covariances: np.ndarray) -> np.ndarray:
    """Return diagonal covariances as matrices, and full ones unchanged."""
    return covariances if covariances.ndim == 3 else np.array([np.diag(diagonal) for diagonal in covariances])


@parameters
class LinearDiscriminant(NormalDiscriminant, DiscriminantParameters):
    r"""Linear discriminant analysis: normal classes that share one covariance.

    With x | k ~ N(mu_k, Sigma) and class priors pi_k,

    .. math:: \log P(k | x) = w_k'x + b_k - \log \sum_l \exp(w_l'x + b_l), \quad
        w_k = \Sigma^{-1} \mu_k, \quad b_k = -\tfrac12 \mu_k' \Sigma^{-1} \mu_k + \log \pi_k

    (James, Witten, Hastie, Tibshirani, section 4.4).  Missing entries (NaN) are integrated out, in `fit` by expectation
    maximization; so are the labels of ``X_unlabelled``.

    Attributes
    ----------
    covariance_ : array, shape (features, features)
        Covariance that all classes share.
    coef_, intercept_ : arrays, shapes (1, features) and (1,) of two classes, otherwise (classes, features), (classes,)
        w_2 - w_1 and b_2 - b_1 for two classes, otherwise w_k and b_k; always of the "plug-in" density.

    Notes
    -----
    scikit-learn 1.9 divides by n; before, its solver "svd" divided by n - K.  With "unbiased" the weights of the
    samples are their counts, and a scatter of K or fewer samples is still divided by n.  After expectation
    maximization the factor n / (n - K) and shrinkage are applied to its result.
    With predictive "bayes", covariance "full" or "diagonal" and nothing missing in `fit`, the posterior of the mean
    and Sigma is normal-inverse-Wishart; x | k has a t distribution about mu_k with :math:`\nu_n - p + 1` degrees of
    freedom and the scale :math:`S_n (\kappa_n + 1) / (\kappa_n (\nu_n - p + 1))`; "diagonal": a t a feature
    with :math:`\nu_n` degrees.  Here :math:`\kappa_n` is N_k plus the strength of `mean_prior`, :math:`\nu_n` is n
    plus the degrees of `covariance_prior` (less K without `mean_prior`, whose prior is then flat), S_n the scatter plus
    its scale; without `covariance_prior` its degrees and scale are 0, which is Jeffreys's prior.  Shrinkage
    and divisor do not enter, and the class priors are as in "plug-in".
    The normal density in the lecture notes lacks the factor 1/2 in the exponent; it is included here.

    Examples
    --------
    >>> from models import LinearDiscriminant
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 3.0], [5.0, 4.0], [6.0, 6.0], [7.0, 5.0]])
    >>> model = LinearDiscriminant().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.predict([[3.0, 2.0], [np.nan, 5.0]]).tolist()
    ['a', 'b']
    """

    _shared = True

    def _keep(self, model: NormalClasses, shrinkage: float | str) -> None:
        super()._keep(model, shrinkage)
        means, priors = self.means_, quiet_log(self.priors_)
        if self.classes_.size == 2:  # a difference of means has digits that a difference of w_k may have lost
            self.coef_ = np.linalg.solve(self.covariance_, np.diff(means, axis=0).T).T
            self.intercept_ = np.diff(priors) - 0.5 * self.coef_ @ means.sum(axis=0)
        else:
            self.coef_ = np.linalg.solve(self.covariance_, means.T).T
            self.intercept_ = priors - 0.5 * (self.coef_ * means).sum(axis=1)


@parameters
class QuadraticDiscriminant(NormalDiscriminant, DiscriminantParameters):
    r"""Quadratic discriminant analysis: normal classes, each with a covariance of its own.

    .. math:: \log P(k | x) = -\tfrac12 (x - \mu_k)' \Sigma_k^{-1} (x - \mu_k) - \tfrac12 \log |\Sigma_k| + \log \pi_k
        + \mathrm{const}(x)

    With covariance "diagonal" this is Gaussian naive Bayes.  Missing entries (NaN) are integrated out, in `fit` by
    expectation maximization; so are the labels of ``X_unlabelled``.

    The scatter of class k is divided by N_k ("mle", as scikit-learn 1.9 does) or N_k - 1 ("unbiased", as older ones
    do), and shrinkage is found for each class.  A class whose samples are all alike gets the pooled covariance of all
    classes when `shrinkage` is "auto".

    Parameters
    ----------
    covariance
        Form of every Sigma_k: "identity" fixes them, "spherical" is (tr(S_k) / p) I.
    predictive
        As in `LinearDiscriminant`, with N_k for n and 1 for K in the degrees of freedom.

    Attributes
    ----------
    covariances_ : array, shape (classes, features, features)
        Covariance of each class.

    Examples
    --------
    >>> from models import QuadraticDiscriminant
    >>> X = np.array([[0.0], [1.0], [-1.0], [4.0], [-4.0], [6.0], [-6.0]])
    >>> model = QuadraticDiscriminant().fit(X, ["near", "near", "near", "far", "far", "far", "far"])
    >>> model.predict([[0.5], [-3.0], [5.0]]).tolist()
    ['near', 'far', 'far']
    """

    _shared = False


@parameters
class Prototypes(NormalDiscriminant, IterationParameters):
    r"""Learning with prototypes: the class of the nearest mean.

    .. math:: \hat y = \arg\min_k \| x - \mu_k \|

    which is `LinearDiscriminant` with covariance "identity" and priors "uniform".  Distances are over the features that
    a sample has; `predict_proba` is exp(-||x - mu_k||^2 / 2), normalized.

    Parameters
    ----------
    tol, max_iter
        Stopping rule of expectation maximization, which is used if entries or labels are missing.

    Attributes
    ----------
    priors_, class_count_ : arrays, shape (classes,)
        Prior probability and total weight of each class.
    means_ : array, shape (classes, features)
        Prototype of each class.
    log_likelihoods_, n_iter_
        As in `LinearDiscriminant`.

    Examples
    --------
    >>> from models import Prototypes
    >>> model = Prototypes().fit([[0.0, 0.0], [2.0, 0.0], [8.0, 8.0], [9.0, 9.0]], [0, 0, 1, 1])
    >>> model.means_.tolist()
    [[1.0, 0.0], [8.5, 8.5]]
    >>> model.predict([[3.0, 3.0], [7.0, 4.0]]).tolist()
    [0, 1]
    """

    _shared = True
    covariance = "identity"
    priors = "uniform"

    tol: NonNegative = 1e-10
    max_iter: Count = 1000
