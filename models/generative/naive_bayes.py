"""Naive Bayes: features that are independent given the class; counts of words, or features of several types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from ..base.expectation_maximization import ascend
from ..base.parameters import NonNegative, parameters
from ..base.validation import check_choice, check_number
from .conditionals import (
    BernoulliFeatures,
    CategoricalFeatures,
    Features,
    GaussianFeatures,
    HistogramFeatures,
    KernelFeatures,
    MultinomialFeatures,
)
from .generative import (
    GenerativeClassifier,
    PriorParameters,
    check_dirichlet,
    check_priors,
    estimated_priors,
    log_dirichlet,
    log_posteriors,
    quiet_log,
    unlabelled_samples,
    warn_unless_converged,
)  # fmt: skip

Self = TypeVar("Self", bound="NaiveBayes")
WITHOUT_LIKELIHOOD = (HistogramFeatures, KernelFeatures)
"""Estimates that do not maximize the likelihood, so expectation maximization need not increase it."""
KINDS = ("gaussian", "bernoulli", "multinomial", "categorical", "histogram", "kde")


class NaiveBayes(GenerativeClassifier):
    """Bayes' rule with log p(x | k) = sum_j log p(x_j | k); the base of the classifiers in this module."""

    _samples_told = "array_like (or sparse) of `MultinomialNaiveBayes`, array_like of `MixedNaiveBayes`"

    predictive: str = "plug-in"
    class_count_: np.ndarray
    _dirichlet: np.ndarray
    _given_priors: np.ndarray | None
    _parts: list[tuple[np.ndarray | None, Features]]

    def _features(self, features: int) -> list[tuple[np.ndarray | None, Features]]:
        """Return the distributions, each with its columns (None: all columns)."""
        raise NotImplementedError

    @property
    def class_log_prior_(self) -> np.ndarray:
        """Logarithm of `priors_`, by scikit-learn's name."""
        return quiet_log(self.priors_)

    def _keep(self) -> None:
        """Set the fitted attributes that are particular to the subclass."""

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, *, X_unlabelled: Any = None) -> Self:
        """Fit to labelled samples, and to samples without labels when there are any."""
        if X_unlabelled is not None and self.predictive == "bayes":
            raise ValueError("predictive must be 'plug-in' when X_unlabelled is given, but 'bayes' came")
        X, codes, weights = self._samples_and_weights(X, y, sample_weight)
        self._given_priors = check_priors(self.priors, self.classes_.size)
        self._dirichlet = check_dirichlet(self.dirichlet, self.classes_.size)
        self._parts = self._features(X.shape[1])
        if X_unlabelled is not None and any(isinstance(part, WITHOUT_LIKELIHOOD) for _, part in self._parts):
            raise ValueError("kinds must be none of 'histogram' and 'kde' when X_unlabelled is given")
        self._check_samples(X)
        others = unlabelled_samples(self, X_unlabelled, X)
        self._check_samples(others)
        used = weights > 0.0
        X, labelled = X[used], weights[used, None] * (codes[used, None] == np.arange(self.classes_.size))
        self.n_iter_, self.log_likelihoods_ = 1, np.empty(0)
        if X_unlabelled is None:
            self._estimate(X, labelled)
            return self
        both = sp.vstack([X, others], format="csr") if sp.issparse(X) else np.vstack([X, others])

        def maximize(responsibilities: np.ndarray) -> None:
            self._estimate(both, np.vstack([labelled, responsibilities]))

        maximize(np.zeros((others.shape[0], self.classes_.size)))
        history = self._history("objective")
        converged = ascend(lambda _: self._expect(both, labelled), maximize, history, self.tol, self.max_iter)
        warn_unless_converged(type(self).__name__, converged, self.max_iter)
        self.n_iter_, self.log_likelihoods_ = len(history) - 1, np.array(history)
        return self

    def _check_samples(self, X: Any) -> None:
        for columns, part in self._parts:
            part.check(_columns(X, columns), type(self).__name__)

    def _estimate(self, X: Any, responsibilities: np.ndarray) -> None:
        self.class_count_ = responsibilities.sum(axis=0)
        self.priors_ = estimated_priors(self.class_count_, self._given_priors, self._dirichlet)
        for columns, part in self._parts:
            part.fit(_columns(X, columns), responsibilities)
        self._keep()

    def _expect(self, X: Any, labelled: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the posteriors of the unlabelled samples (rows after `labelled`), and the objective of EM."""
        joint = quiet_log(self.priors_)
        for columns, part in self._parts:
            joint = joint + part.training_log_likelihood(_columns(X, columns))
        known, unknown = np.split(joint, [len(labelled)])
        of_parameters = sum(part.log_prior() for _, part in self._parts)
        of_parameters += log_dirichlet(self.priors_, self._given_priors, self._dirichlet)
        of_known = float((labelled * np.where(labelled > 0.0, known, 0.0)).sum())
        value = of_known + float(logsumexp(unknown, axis=1).sum()) + of_parameters
        return np.exp(log_posteriors(unknown, self.priors_)), value

    def log_odds_terms(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        r"""Return a and T of log P(k | x) / P(K | x) = a_k + sum_j T_kj(x_j), with K the last class.

        .. math:: a_k = \log \frac{\pi_k}{\pi_K}, \quad T_{kj}(x_j) = \log \frac{p(x_j | k)}{p(x_j | K)}

        Naive Bayes is an additive model of the log-odds (James, Witten, Hastie, Tibshirani, section 4.5): each feature
        has a term that does not depend on the other features.  T is zero where an entry is missing.

        Parameters
        ----------
        X : array_like (of `MultinomialNaiveBayes` or sparse), shape (samples, features)

        Returns
        -------
        a, T : arrays, shapes (classes,) and (samples, classes, features)
            Zero for the last class.

        Raises
        ------
        ValueError
            When `predictive` is "bayes", under which the words of a document are not independent.

        Examples
        --------
        >>> from models import MixedNaiveBayes
        >>> model = MixedNaiveBayes("bernoulli").fit([[1, 0], [1, 1], [0, 1], [0, 1]], [0, 0, 1, 1])
        >>> a, T = model.log_odds_terms([[1, 1]])
        >>> T[0, 0].round(3).tolist()  # for class 0 by the first feature, against it by the second
        [1.099, -0.405]
        """
        X = self._matrix_to_predict(X)
        if self.predictive == "bayes":
            raise ValueError("predictive must be 'plug-in' for log_odds_terms: words are independent given P only")
        self._check_samples(X)
        terms = np.zeros((X.shape[0], self.classes_.size, X.shape[1]))
        for columns, part in self._parts:
            terms[:, :, slice(None) if columns is None else columns] = part.log_terms(_columns(X, columns))
        offsets = quiet_log(self.priors_)
        return offsets - offsets[-1], terms - terms[:, -1:]

    def _log_joint(self, X: Any) -> np.ndarray:
        self._check_samples(X)
        total = quiet_log(self.priors_)
        for columns, part in self._parts:
            total = total + part.log_likelihood(_columns(X, columns))
        return total


def _columns(X: Any, columns: np.ndarray | None) -> Any:
    return X if columns is None else X[:, columns]


@parameters
class MultinomialNaiveBayes(NaiveBayes, PriorParameters):
    r"""Naive Bayes of documents as counts of words.

    .. math:: P(w | k) = (N_{kw} + \alpha) / (\sum_v N_{kv} + \alpha |W|), \quad
        \log p(x | k) = \sum_w x_w \log P(w | k)

    (Raina et al. 2003, eqs. 2 to 4, with alpha = 1.)  N_kw counts word w in the documents of class k.  The
    multinomial coefficient, equal in all classes, is left out.  X may be sparse.

    Parameters
    ----------
    alpha
        Laplace smoothing, the mode under a Dirichlet prior; smaller values than 1e-10 are raised to it.
    predictive
        "bayes" integrates P(. | k) out over its Dirichlet posterior (below); there are no unlabelled samples then.

    Attributes
    ----------
    feature_log_prob_ : array, shape (classes, features)
        log P(w | k).
    feature_count_ : array, shape (classes, features)
        N_kw, the count of word w in class k.

    Notes
    -----
    With predictive "bayes" and :math:`a_{kw} = N_{kw} + \alpha`, documents are Dirichlet-multinomial,

    .. math:: \log p(x | k) = \log \frac{\Gamma(\sum_w a_{kw})}{\Gamma(\sum_w a_{kw} + x_w)}
        + \sum_w \log \frac{\Gamma(a_{kw} + x_w)}{\Gamma(a_{kw})}

    A document of one word has equal probabilities either way.  So have categories and ones (`MixedNaiveBayes`), since a
    sample has one draw of each: their smoothed frequencies are the Bayesian ones.

    Examples
    --------
    >>> from models import MultinomialNaiveBayes
    >>> model = MultinomialNaiveBayes().fit([[2, 1, 0], [1, 1, 1], [0, 1, 3]], ["sport", "sport", "news"])
    >>> model.predict([[1, 0, 0], [0, 1, 2]]).tolist()
    ['sport', 'news']
    """

    _takes_sparse = True
    _takes_counts = True

    alpha: NonNegative = 1.0
    priors: Any = None
    _: KW_ONLY
    dirichlet: Any = 1.0
    predictive: Literal["plug-in", "bayes"] = "plug-in"

    def _features(self, features: int) -> list[tuple[np.ndarray | None, Features]]:
        return [(None, MultinomialFeatures(self.alpha, self.predictive == "bayes"))]

    def _keep(self) -> None:
        part: Any = self._parts[0][1]
        self.feature_log_prob_, self.feature_count_ = part.log_probabilities, part.counts


@parameters
class MixedNaiveBayes(NaiveBayes, PriorParameters):
    r"""Naive Bayes with features of one type or of different ones.

    .. math:: \log p(x | k) = \sum_j \log p_j(x_j | k)

    where p_j is normal, Bernoulli, a histogram over categories, or one of two densities without parameters: a histogram
    of numbers, or a normal kernel around every sample.  The columns of counts are one multinomial document.
    Missing entries (NaN) are integrated out, but for counts.

    The variance of a normal feature in a class is its samples' variance (divisor N_k) plus a share of the variance over
    all samples, so that units have no influence (scikit-learn adds a share of the largest variance to all features).
    A feature that is constant in a class has the variance v / (N_k + 1) there, with v its variance within the classes,
    or where it is constant in all of them, over all samples: as if one more sample had this deviation.
    Expectation maximization then raises the log-likelihood of samples that are blurred by noise of the added variance.

    Parameters
    ----------
    kinds : str or sequence of str, one a feature
        "gaussian", "bernoulli", "multinomial" (counts), "categorical" (numbers that stand for categories), "histogram"
        (bins of one width by Scott's rule), "kde" (a kernel density, its bandwidth by Silverman's rule).  A category
        that `fit` has not seen is taken as missing.  The last two take no `X_unlabelled`.
    alpha
        Laplace smoothing of all but normal and "kde" features; smaller values than 1e-10 are raised to it.
    var_smoothing
        Share of a normal feature's total variance that is added to its variance in every class.
    binarize
        Threshold above which entries of Bernoulli features are ones; with None all entries must be 0 or 1.

    Attributes
    ----------
    theta_, var_ : arrays, shape (classes, features)
        Mean and variance of every normal feature in each class; NaN for other features.  Absent without normal ones.
    feature_log_prob_ : array, shape (classes, features)
        Log probability of a one for "bernoulli", and of each word for "multinomial"; NaN for other features.  Absent
        without such features.

    Examples
    --------
    >>> from models import MixedNaiveBayes
    >>> X = np.array([[1.2, 0, 3], [0.8, 1, 3], [3.1, 1, 1], [2.9, 1, 2]])
    >>> model = MixedNaiveBayes(["gaussian", "bernoulli", "categorical"]).fit(X, [0, 0, 1, 1])
    >>> model.predict([[1.0, 0, 3], [np.nan, 1, 1]]).tolist()
    [0, 1]
    """

    _takes_nan = True

    kinds: str | Sequence[str] = "gaussian"
    alpha: NonNegative = 1.0
    _: KW_ONLY
    var_smoothing: NonNegative = 1e-9
    binarize: float | None = 0.0
    priors: Any = None
    dirichlet: Any = 1.0

    def _features(self, features: int) -> list[tuple[np.ndarray | None, Features]]:
        kinds = [self.kinds] * features if isinstance(self.kinds, str) else list(self.kinds)
        if len(kinds) != features:
            raise ValueError(f"kinds must be one word or one for each of the {features} features, but {kinds!r} came")
        for kind in kinds:
            check_choice("kinds", kind, KINDS)
        threshold = None if self.binarize is None else check_number("binarize", self.binarize)
        made: dict[str, Features] = {
            "gaussian": GaussianFeatures(self.var_smoothing),
            "bernoulli": BernoulliFeatures(self.alpha, threshold),
            "multinomial": MultinomialFeatures(self.alpha),
            "categorical": CategoricalFeatures(self.alpha),
            "histogram": HistogramFeatures(self.alpha),
            "kde": KernelFeatures(),
        }
        return [(np.flatnonzero(np.array(kinds) == kind), made[kind]) for kind in KINDS if kind in kinds]

    def _keep(self) -> None:
        found: dict[str, np.ndarray] = {}
        for columns, part in self._parts:
            for name, values in part.named().items():
                found.setdefault(name, np.full((self.classes_.size, self.n_features_in_), np.nan))[:, columns] = values
        for name in ("theta_", "var_", "feature_log_prob_"):
            vars(self).pop(name, None)  # of an earlier fit
        vars(self).update(found)
