"""Naive Bayes whose evidence is weighed by a few discriminative parameters (Raina, Shen, Ng, McCallum 2003)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from ..base.estimator import Classifier, warn_unconverged
from ..base.groups import IterationParameters
from ..base.parameters import Count, NonNegative, Positive, parameters
from ..numerics.newton_minimizer import Minimum, factored, minimize
from .separation import least_loss, unit_of

LEAST_PENALTY = 1e-8  # penalty per sample if theta can separate the evidence


class LeaveOneOutDeviation(NamedTuple):
    """Result of `HybridNaiveBayes.leave_one_out_deviation`: numbers, or arrays with one entry per theta."""

    expected: Any  # mean log-likelihood of test documents, an estimate of eq. 12
    leave_one_out: Any  # mean leave-one-out log-likelihood, eq. 13
    deviation: Any  # |expected - leave_one_out|


@parameters
class HybridNaiveBayes(Classifier, IterationParameters):
    r"""Multinomial naive Bayes with a weight for the evidence of each region of a document.

    A document x has regions x^1, ..., x^R of n_1, ..., n_R words.  With the word probabilities of naive Bayes (eq. 3),

    .. math:: P(w | k) = \frac{N_{kw} + \alpha}{\sum_v (N_{kv} + \alpha)}, \qquad
        b_{rk} = \frac{1}{n_r} \sum_{i=1}^{n_r} \log P(x^r_i | k)

    the posterior is (eqs. 7 to 9)

    .. math:: P_\theta(k | x) \propto \exp\Big(\theta_{0k} + \sum_r \theta_r b_{rk}\Big)

    and theta maximizes the leave-one-out log-likelihood (eq. 11), a smooth concave function,

    .. math:: \sum_i \log P_{\theta, -i}(y_i | x_i)

    where the words of document i are subtracted from the counts before its own b is computed (footnote 5).

    Parameters
    ----------
    regions : int or sequence of int
        Number of blocks of X with equally many columns, or the number of columns of each block.
        With one region this calibrates naive Bayes (section 5).
    normalize
        Whether b has the factor 1 / n_r ("normalized hybrid").
    shared_words
        Whether column j stands for the same word in every region, with one probability (eqs. 5 and 6); otherwise
        each region has words and probabilities of its own.
    alpha
        Positive number added to every count; 1 is Laplace's smoothing.
    C
        Positive; the penalty sum_r (s_r theta_r)^2 / (2 C), with s_r the root mean square of b_rk around its mean over
        the classes, is subtracted from the log-likelihood.  Infinity, as in the paper, means no penalty.
    tol, max_iter
        Newton's method ends when the log-likelihood is known to within tol (1 + its value), or after max_iter steps.
    theta
        Log-likelihood that theta maximizes: "loo", leave-one-out, or "training", the training documents under the word
        probabilities of all of them (eq. 10), sum_i log P_theta(y_i | x_i).  The latter is biased: a document speaks
        for its own class even if the words are noise.

    Attributes
    ----------
    theta_ : array, shape (regions,)
        theta_1, ..., theta_R.  In the normalized hybrid they are effective lengths (footnote 4): a region counts as
        theta_r independent words, whatever its length, and theta_r = n_r is naive Bayes.
    intercept_ : array, shape (classes,)
        theta_0k of each class: the first is 0, and for two classes the second is the paper's theta_0.
    log_probabilities_ : list of arrays, one per region, shape (classes, words)
        log P(w | k) of the words of each region.
    log_likelihood_ : float
        Log-likelihood at `theta_` and `intercept_`, which maximize it.
    C_ : float
        C that was used; finite if `C` is infinite and the log-likelihood has no maximum.
    n_iter_ : int
        Number of Newton steps.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Linear program that decided whether the log-likelihood has a maximum; only when one was needed.

    Notes
    -----
    The paper has two classes; with more, all classes share the weights of the regions.  One region without the
    normalization calibrates naive Bayes by a monotone map, theta_01 + theta_1 times its log-odds of evidence, which
    keeps the order of the documents (section 6); the factor 1 / n does not.  A region without words has b = 0.
    All held-out b take one pass over the words.  If theta can separate the held-out documents, the log-likelihood
    grows along a ray; a large finite C is then used, with a warning.

    Examples
    --------
    Two words; the three of the subject (the first two columns) say more than the twenty of the body.

    >>> import numpy as np
    >>> from models import HybridNaiveBayes
    >>> rng, y = np.random.default_rng(0), np.arange(100) % 2
    >>> subjects = np.array([rng.multinomial(3, [[0.8, 0.2], [0.2, 0.8]][k]) for k in y])
    >>> bodies = np.array([rng.multinomial(20, [[0.55, 0.45], [0.45, 0.55]][k]) for k in y])
    >>> model = HybridNaiveBayes(regions=2).fit(np.hstack([subjects, bodies]), y)
    >>> bool(model.theta_[0] / 3 > model.theta_[1] / 20)  # a word of the subject counts for more
    True
    >>> model.predict([[3, 0, 9, 11], [0, 3, 11, 9]]).tolist()
    [0, 1]
    """

    _takes_sparse = True
    _takes_counts = True

    regions: Any = 1
    normalize: bool = True
    _: KW_ONLY
    shared_words: bool = True
    alpha: Positive = 1.0
    C: Positive = math.inf
    tol: NonNegative = 1e-12
    max_iter: Count = 100
    theta: Literal["loo", "training"] = "loo"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HybridNaiveBayes:
        """Fit to counts of words X, dense or sparse, the regions side by side, and labels y.

        Parameters
        ----------
        sample_weight : array_like, shape (samples,), optional
            A weight of two counts as two copies of the document, zero leaves it out: the counts and the log-likelihood
            are weighted, and one copy (or a weight below one) is held out.
        """
        X, codes, weights = self._samples_and_weights(X, y, sample_weight)
        used = np.flatnonzero(weights > 0.0)
        X, codes, weights = self._counts(X)[used], codes[used], weights[used]
        alpha = float(self.alpha)
        self._bounds = self._check_regions(X.shape[1])
        counts = self._class_counts(X, codes, weights)
        self.log_probabilities_ = [np.log(N + alpha) - np.log((N + alpha).sum(axis=1)[:, None]) for N in counts]
        evidence = self._evidence(X)
        if self.theta == "loo":
            self._hold_out(X, codes, np.minimum(weights, 1.0), counts, alpha, evidence)
        unit = unit_of(weights)
        likelihood = Likelihood(evidence, codes, weights / unit)
        self._maximize(likelihood, unit, float(self.C), float(self.tol), int(self.max_iter))
        return self

    def _counts(self, X: Any) -> Any:
        X = sp.csr_array(X)
        X.sum_duplicates()
        if (X.data < 0.0).any():
            raise ValueError(f"Negative values in data passed to {type(self).__name__}: they must be counts")
        return X

    def _check_regions(self, features: int) -> np.ndarray:
        """Return where the columns of each region begin, and where the last one ends; raise ValueError if invalid."""
        widths = np.asarray(self.regions)
        if widths.dtype.kind in "iu" and widths.ndim == 0 and widths >= 1 and features % widths == 0:
            widths = np.full(int(widths), features // int(widths))
        if widths.dtype.kind not in "iu" or widths.ndim != 1 or (widths < 1).any() or widths.sum() != features:
            raise ValueError(
                f"regions must be a number that divides the {features} columns of X, or the numbers of columns of the "
                f"regions, which sum to that, but {self.regions!r} came"
            )
        if self.shared_words and (widths != widths[0]).any():
            raise ValueError(
                f"regions must have the same number of columns when they share their words, but {self.regions!r} came; "
                "with shared_words=False they need not"
            )
        return np.concatenate([[0], np.cumsum(widths)])

    def _of_regions(self, X: Any) -> list[Any]:
        """Return the columns of each region of X."""
        columns = X.tocsc()
        return [columns[:, a:b].tocsr() for a, b in zip(self._bounds, self._bounds[1:])]

    def _class_counts(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        """Return N_kw of the words of each region."""
        membership = sp.csr_array((weights, (codes, np.arange(codes.size))))
        counts = [(membership @ part).toarray() for part in self._of_regions(X)]
        return [np.sum(counts, axis=0)] * len(counts) if self.shared_words else counts

    def _evidence(self, X: Any) -> np.ndarray:
        """Return b, shape (samples, classes, regions)."""
        evidence = np.stack([part @ logs.T for part, logs in zip(self._of_regions(X), self.log_probabilities_)], axis=2)
        return evidence / self._lengths(X)[:, None, :] if self.normalize else evidence

    def _lengths(self, X: Any) -> np.ndarray:
        """Return n_r, or 1 for a region without words, shape (samples, regions)."""
        lengths = np.stack([part.sum(axis=1) for part in self._of_regions(X)], axis=1)
        return np.where(lengths > 0.0, lengths, 1.0)

    def _hold_out(
        self, X: Any, codes: np.ndarray, parts: np.ndarray, counts: list[np.ndarray], alpha: float, evidence: Any
    ) -> None:
        """Replace in `evidence` b of each sample's own class, the only class whose counts include the sample.

        parts : the weight of each sample that is held out, one copy or, if its weight is below one, all of it.
        """
        row, shape = np.repeat(np.arange(codes.size), np.diff(X.indptr)), (codes.size, len(counts))
        region = np.repeat(np.arange(len(counts)), np.diff(self._bounds))[X.indices]
        word = X.indices - self._bounds[region] if self.shared_words else X.indices
        table = counts[0] if self.shared_words else np.hstack(counts)
        totals, sizes = np.stack([N.sum(axis=1) for N in counts], axis=1), np.array([N.shape[1] for N in counts])
        held, place = parts[row] * X.data, row * len(counts) + region
        inside = sp.csr_array((held, (row, word)), shape=(codes.size, table.shape[1]))[row, word]
        lengths = np.bincount(place, held, math.prod(shape)).reshape(shape)
        if self.shared_words:
            lengths[:] = lengths.sum(axis=1, keepdims=True)
        k = codes[row]
        count = np.maximum(table[k, word] - inside, 0.0)  # negative only by rounding
        total = np.maximum(totals[k, region] - lengths[row, region], 0.0)
        logs = np.log((count + alpha) / (total + alpha * sizes[region]))
        own = np.bincount(place, X.data * logs, math.prod(shape)).reshape(shape)
        evidence[np.arange(codes.size), codes] = own / self._lengths(X) if self.normalize else own

    def _minimize(self, likelihood: Likelihood, tol: float, max_iter: int) -> Minimum:
        history = self._history("objective")
        found = minimize(likelihood.at, np.zeros(likelihood.unknowns), tol, max_iter, history)
        history.end(found.converged)
        return found

    def _maximize(self, likelihood: Likelihood, unit: float, C: float, tol: float, max_iter: int) -> None:
        which, whose = ("held-out", "leave-one-out") if self.theta == "loo" else ("training", "training")
        no_maximum = f"theta can separate the {which} samples, so that the {whose} likelihood has no maximum"
        run = lambda: self._minimize(likelihood, tol, max_iter)  # noqa: E731
        found, self.C_ = least_loss(self, likelihood, C, run, no_maximum, unit)
        if not found.converged:
            warn_unconverged(
                f"HybridNaiveBayes: Newton's method ended after {found.iterations} iterations, the log-likelihood "
                f"known to about {found.decrement:.1e}.  Lower C, or raise max_iter or tol."
            )
        self.n_iter_ = found.iterations
        self.log_likelihood_ = unit * likelihood.at(found.theta).log_likelihood
        self.intercept_ = np.concatenate([[0.0], found.theta[: self.classes_.size - 1]])
        self.theta_ = found.theta[self.classes_.size - 1 :]

    def evidence(self, X: Any) -> np.ndarray:
        """Return b of new samples, shape (samples, classes, regions)."""
        return self._evidence(self._counts(self._matrix_to_predict(X)))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log P_theta(k | x), shape (samples, classes)."""
        evidence = self.evidence(X)
        return log_softmax(evidence @ self.theta_ + self.intercept_, axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P_theta(k | x), shape (samples, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the label with the largest posterior for every sample."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def leave_one_out_deviation(
        self, X: Any, y: Any, X_test: Any, y_test: Any, theta: Any = None
    ) -> LeaveOneOutDeviation:
        r"""Compare the leave-one-out log-likelihood with the log-likelihood of new documents (eqs. 12 and 13).

        .. math::
            \varepsilon(\theta) = E_{(x, y)} \log P_\theta(y | x), \qquad
            \hat\varepsilon_{-1}(\theta) = \frac{1}{m} \sum_{i=1}^m \log P_{\theta, -i}(y_i | x_i)

        The mean over the test documents estimates the expectation.  Theorem 1 bounds the largest distance over a box of
        theta with unspecified constants, so that no number of documents follows; here the distance is measured.

        Parameters
        ----------
        X, y
            The documents that the model was fitted to, each of weight one.
        X_test, y_test
            Documents that the model has not seen, of its classes.
        theta : array_like, shape (classes - 1 + regions,) or (number, classes - 1 + regions), optional
            theta_0k of the classes after the first, then theta_1, ..., theta_R; one vector, or one per row.  None is
            the theta of the fit.

        Returns
        -------
        LeaveOneOutDeviation
            `expected`, `leave_one_out` and `deviation`, the absolute difference.
        """
        samples, new = self._counts(self._matrix_to_predict(X)), self._counts(self._matrix_to_predict(X_test))
        codes, new_codes = (self._known("y", y, samples.shape[0]), self._known("y_test", y_test, new.shape[0]))
        fitted = np.concatenate([self.intercept_[1:], self.theta_])
        points = fitted if theta is None else np.asarray(theta, dtype=np.float64)
        if points.ndim not in (1, 2) or points.shape[-1] != fitted.size or not np.isfinite(points).all():
            raise ValueError(
                f"theta must hold {fitted.size} finite numbers (theta_0k of {self.classes_.size - 1} classes and "
                f"{self.theta_.size} regions), or rows of so many, but {theta!r} came"
            )
        ones, alpha = np.ones(codes.size), float(self.alpha)
        counts = self._class_counts(samples, codes, ones)
        for N, logs in zip(counts, self.log_probabilities_):
            sums = (N + alpha).sum(axis=1)[:, None]
            if not np.allclose(np.log(N + alpha) - np.log(sums), logs, rtol=1e-9, atol=1e-12):
                raise ValueError("X and y must be the documents of the fit, but others came")
        evidence = self._evidence(samples)
        self._hold_out(samples, codes, ones, counts, alpha, evidence)
        inside = Likelihood(evidence, codes, ones)
        outside = Likelihood(self._evidence(new), new_codes, np.ones(new_codes.size))
        expected, leave_one_out = (
            np.array([of.at(point).log_likelihood / of.samples for point in np.atleast_2d(points)]).reshape(
                points.shape[:-1]
            )[()]
            for of in (outside, inside)
        )
        return LeaveOneOutDeviation(expected, leave_one_out, np.abs(expected - leave_one_out))

    def _known(self, name: str, y: Any, samples: int) -> np.ndarray:
        """Return labels as indices in `classes_`; raise ValueError for other labels."""
        labels = np.asarray(y)
        if labels.shape != (samples,) or not np.isin(labels, self.classes_).all():
            raise ValueError(
                f"{name} must hold {samples} labels among {self.classes_.tolist()}, but {labels.shape} with "
                f"{np.unique(labels)[:5].tolist()} came"
            )
        return np.searchsorted(self.classes_, labels)


class Likelihood:
    """Function -sum_i s_i log P_theta(y_i | x_i) + penalty / 2 sum_r (s_r theta_r)^2 of (theta_01, ..., theta_R)."""

    def __init__(self, evidence: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        self.samples, classes, regions = evidence.shape
        self.codes, self.weights = codes, weights
        self.unknowns = classes - 1 + regions
        centred = evidence - evidence.mean(axis=1, keepdims=True)
        intercepts = np.broadcast_to(np.eye(classes)[:, 1:], (self.samples, classes, classes - 1))
        self.terms = np.concatenate([intercepts, centred], axis=2)  # scores are terms @ theta
        squares = weights @ (centred**2).mean(axis=1) / weights.sum()
        self.squares = np.concatenate([np.zeros(classes - 1), squares])
        self.penalty = 0.0

    def at(self, theta: np.ndarray) -> LikelihoodPoint:
        return LikelihoodPoint(self, theta)

    def nearest_to_certain(self, theta: np.ndarray) -> float:
        return self.at(theta).nearest_to_certain()

    def least_penalty(self) -> float:
        return float(LEAST_PENALTY * self.weights.sum())

    def margins(self) -> np.ndarray:
        """Return the terms of each sample's own class minus its terms of another class, one row per pair."""
        i, k = np.nonzero(self.codes[:, None] != np.arange(self.terms.shape[1]))
        return self.terms[i, self.codes[i]] - self.terms[i, k]


class LikelihoodPoint:
    """Objective at one point; see `numerics.newton_minimizer.Point`."""

    def __init__(self, likelihood: Likelihood, theta: np.ndarray) -> None:
        self.likelihood, self.theta = likelihood, theta
        self.log_P = log_softmax(likelihood.terms @ theta, axis=1)
        self.log_likelihood = float(likelihood.weights @ self.log_P[np.arange(likelihood.samples), likelihood.codes])
        self.value = 0.5 * likelihood.penalty * float(likelihood.squares @ theta**2) - self.log_likelihood

    def nearest_to_certain(self) -> float:
        return float(-np.expm1(self.log_P[np.arange(self.likelihood.samples), self.likelihood.codes]).max())

    def gradient(self) -> np.ndarray:
        terms, codes = self.likelihood.terms, self.likelihood.codes
        self.mean = np.einsum("ik,ikq->iq", np.exp(self.log_P), terms)
        residual = self.likelihood.weights @ (self.mean - terms[np.arange(codes.size), codes])
        return residual + self.likelihood.penalty * self.likelihood.squares * self.theta

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        around = self.likelihood.terms - self.mean[:, None, :]
        roots = np.exp(0.5 * self.log_P) * np.sqrt(self.likelihood.weights)[:, None]
        flat = (roots[:, :, None] * around).reshape(-1, self.likelihood.unknowns)
        H = flat.T @ flat + np.diag(self.likelihood.penalty * self.likelihood.squares)
        return factored(H)(-gradient)
