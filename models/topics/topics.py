r"""The topic model of Blei, Ng and Jordan: latent Dirichlet allocation."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, polygamma

from ..base.expectation_maximization import ascend
from ..base.groups import IterationParameters, SeedParameters
from ..base.parameters import Count, NonNegative, Positive, parameters
from ..base.seeding import spread_rows
from ..base.transformer import Transformer
from ..base.validation import as_generator
from ..numerics import topic_inference

INNER_ROUNDS = 200  # most rounds of coordinate ascent for a document


@parameters
class TopicParameters(IterationParameters, SeedParameters):
    """Parameters of topic models.

    Parameters
    ----------
    doc_topic_prior : float or array_like of shape (n_topics,), optional
        Dirichlet parameters alpha of a document's topics; 1 / n_topics if None.
    topic_word_prior
        Positive number eta that is added to each count of a word in a topic.
    """

    _: KW_ONLY
    topic_word_prior: Positive = 0.01
    max_iter: Count = 100
    tol: NonNegative = 1e-5


@parameters
class LatentDirichletAllocation(Transformer, TopicParameters):
    r"""Topic model of documents given as word counts.

    A document draws topic shares theta; each of its words a topic z_n from theta, then a word from that topic:

    .. math::
        P(w, z, \theta) = \mathrm{Dir}(\theta;\, \alpha) \prod_n \theta_{z_n} \beta_{z_n w_n}

    `fit` is the variational EM of Blei, Ng and Jordan (2003) on the lower bound of sum_d log P(w_d) with
    q(theta) q(z) = Dir(gamma) prod_n phi_n, plus eta sum log beta_kw, which keeps beta above zero.  Each document's
    coordinate ascent continues from the last iteration, so that the bound never decreases.

    Parameters
    ----------
    learn_prior
        Whether alpha is fitted, too (Minka's fixed point).
    max_iter
        Maximum number of EM iterations.
    tol
        EM stops when an iteration raises the objective by at most this per word.

    Attributes
    ----------
    components_ : array, shape (n_topics, n_features)
        Probabilities beta of the words in each topic; each row sums to one.
    doc_topic_prior_ : array, shape (n_topics,)
        Dirichlet parameters alpha of a document's topics.
    objectives_ : array
        Bound (with the prior of beta) at the start and after each iteration.
    n_iter_ : int
        Number of EM iterations.
    converged_ : bool
        Whether the objective settled before `max_iter`.

    Examples
    --------
    >>> from models import LatentDirichletAllocation
    >>> X = np.array([[4, 3, 0, 0], [3, 5, 0, 1], [0, 0, 4, 4], [0, 1, 3, 5]])
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> shares = model.transform(X)
    >>> print(shares.argmax(axis=1) == shares.argmax(axis=1)[0])
    [ True  True False False]
    >>> bool((np.diff(model.objectives_) >= -1e-12).all())
    True
    """

    _takes_sparse = True
    _takes_counts = True

    n_topics: Count = 10
    doc_topic_prior: Any = None
    _: KW_ONLY
    learn_prior: bool = False

    def fit(self, X: Any, y: Any = None) -> LatentDirichletAllocation:
        """Fit the topics to the word counts X, shape (documents, words); y is ignored."""
        return self._fit(X, None)

    def _fit(self, X: Any, weight: np.ndarray | None) -> LatentDirichletAllocation:
        """Run `fit` with the documents' log-likelihoods multiplied by `weight`."""
        documents = self._counts(self._matrix_to_fit(X))
        self.doc_topic_prior_ = self._prior()
        self._expectation_maximization(documents, weight, as_generator(self.random_state))
        return self

    def _counts(self, X: Any) -> sp.csr_array:
        documents = sp.csr_array(X, copy=True)  # a copy, as `eliminate_zeros` works in place
        if documents.nnz and documents.data.min() < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__}: X must hold counts of words")
        documents.eliminate_zeros()
        return documents

    def _prior(self) -> np.ndarray:
        topics = int(self.n_topics)
        prior = np.asarray(1.0 / topics if self.doc_topic_prior is None else self.doc_topic_prior, dtype=np.float64)
        if prior.shape not in ((), (topics,)) or not (prior > 0.0).all() or not np.isfinite(prior).all():
            raise ValueError(
                f"doc_topic_prior must be a number above 0, or {topics} of them, but {self.doc_topic_prior!r} came"
            )
        return np.full(topics, float(prior)) if prior.ndim == 0 else prior.copy()

    def _infer(
        self,
        documents: sp.csr_array,
        gamma: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        by_document: bool = False,
        bend: np.ndarray | None = None,
        strength: np.ndarray | None = None,
        tilt: np.ndarray | None = None,
        tol: float = 1e-6,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gamma, the bound of every document, and the expected counts (1 or documents, words, topics).

        With `bend` (words, topics) and each document's `strength`, beta_kw exp(strength bend_wk) replaces beta_kw; with
        `tilt` (documents, topics), beta_kw exp(tilt_k) does.
        """
        number, (topics, words) = documents.shape[0], self.components_.shape
        if gamma is None:
            gamma = self.doc_topic_prior_ + np.asarray(documents.sum(axis=1)).reshape(-1, 1) / topics
        gamma = np.array(gamma, dtype=np.float64, order="C")
        group = np.arange(number) if by_document else np.zeros(number, dtype=np.int64)
        sums, bound = np.zeros((number if by_document else 1, words, topics)), np.empty(number)
        longest = int(np.diff(documents.indptr).max(initial=0))
        values = (
            documents.data, self.doc_topic_prior_, self.components_.T,
            np.zeros((words, topics)) if bend is None else bend,
            np.zeros(number) if strength is None else strength,
            np.zeros((0, topics)) if tilt is None else tilt,
        )  # fmt: skip
        topic_inference.infer_documents(
            documents.indptr.astype(np.int64), documents.indices.astype(np.int64),
            *(np.ascontiguousarray(array, dtype=np.float64) for array in values), INNER_ROUNDS, tol,
            np.ones(number) if weight is None else np.ascontiguousarray(weight, dtype=np.float64), group,
            np.empty((5 + 2 * longest, topics)), gamma, bound, sums.reshape(-1, topics),
        )  # fmt: skip
        return gamma, bound, sums

    def _expectation_maximization(
        self, documents: sp.csr_array, weight: np.ndarray | None, rng: np.random.Generator
    ) -> None:
        self._initialize(documents, weight, rng)
        weight = np.ones(documents.shape[0]) if weight is None else weight
        number = max(float(weight @ documents.sum(axis=1)), 1.0)
        objectives = self._history("bound")

        def expect(before: tuple[np.ndarray, np.ndarray] | None) -> tuple[tuple[np.ndarray, np.ndarray], float]:
            gamma, bound, sums = self._infer(documents, None if before is None else before[0], weight)
            return (gamma, sums[0]), float(weight @ bound) + self._log_prior()

        def maximize(found: tuple[np.ndarray, np.ndarray]) -> None:
            self._maximize(found[1], found[0], weight)

        self.converged_ = ascend(expect, maximize, objectives, self.tol, self.max_iter, number)
        self.objectives_ = np.array(objectives)
        self.n_iter_ = max(len(objectives) - 1, 1)

    def _initialize(self, documents: sp.csr_array, weight: np.ndarray | None, rng: np.random.Generator) -> None:
        """Initialize topics halfway between the overall word frequencies and documents that are far from each other."""
        lengths = np.maximum(np.asarray(documents.sum(axis=1)).ravel(), 1e-300)
        shares = sp.csr_array(sp.diags_array(1.0 / lengths) @ documents)
        chosen = spread_rows(np.sqrt(shares), int(self.n_topics), rng, weight)
        total = documents.sum(axis=0) if weight is None else weight @ documents
        frequency = np.asarray(total).ravel() + self.topic_word_prior
        rows = shares[chosen].toarray() + frequency / frequency.sum()
        rows *= rng.gamma(100.0, 0.01, size=rows.shape)
        self.components_ = rows / rows.sum(axis=1, keepdims=True)

    def _maximize(self, sums: np.ndarray, gamma: np.ndarray, weight: np.ndarray | None = None) -> None:
        """Run the M-step on the weighted expected counts (words, topics)."""
        rows = sums.T + self.topic_word_prior
        self.components_ = rows / rows.sum(axis=1, keepdims=True)
        if self.learn_prior:
            expected = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
            self.doc_topic_prior_ = dirichlet_step(self.doc_topic_prior_, np.average(expected, axis=0, weights=weight))

    def _log_prior(self) -> float:
        return float(self.topic_word_prior * np.log(self.components_).sum())

    def _sample_given(
        self, documents: sp.csr_array, bend: np.ndarray, strength: np.ndarray, sweeps: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the mean number of tokens of each entry of `documents` from each topic, shape (entries, topics).

        P(z_n = k | rest) ~ (n_dk + alpha_k) beta_kw exp(strength_d bend_wk), theta integrated out.  The mean is over
        `sweeps` sweeps, after a third as many of burn-in.
        """
        owner, entry = tokens(documents)
        words = documents.indices
        with np.errstate(divide="ignore"):
            logs = np.log(self.components_.T)[words]
        logs = logs + np.repeat(strength, np.diff(documents.indptr))[:, None] * bend[words]
        weights = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
        topic = weights.argmax(axis=1)[entry] if entry.size else entry
        in_document = np.zeros((documents.shape[0], logs.shape[1]), dtype=np.int64)
        np.add.at(in_document, (owner, topic), 1)
        sums, nothing = np.zeros(weights.shape), np.zeros((0, 0))
        prior = np.ascontiguousarray(self.doc_topic_prior_, dtype=np.float64)
        aside = -(-sweeps // 3)
        for sweep in range(aside + sweeps):
            into = sums if sweep >= aside else nothing
            uniforms = rng.random(owner.size)
            topic_inference.sample_topics(owner, entry, weights, prior, uniforms, topic, in_document, into)
        return sums / sweeps

    # -- methods of a fitted model

    def _documents(self, X: Any) -> sp.csr_array:
        return self._counts(self._matrix_to_predict(X))

    def transform(self, X: Any) -> np.ndarray:
        """Return each document's mean topic shares under its variational posterior, shape (documents, topics)."""
        gamma = self._infer(self._documents(X))[0]
        return self._in_container(gamma / gamma.sum(axis=1, keepdims=True), X)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the variational lower bound of log P(w) of each document, shape (documents,)."""
        return self._infer(self._documents(X))[1]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of the documents' bounds."""
        return float(self.score_samples(X).mean())


def tokens(documents: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the document and the entry (index in `documents.data`) of every single word."""
    if (documents.data != np.round(documents.data)).any():
        raise ValueError("a sampler draws a topic for every single word: X must hold whole numbers")
    counts = documents.data.astype(np.int64)
    rows = np.repeat(np.arange(documents.shape[0]), np.diff(documents.indptr))
    return np.repeat(rows, counts), np.repeat(np.arange(counts.size), counts)


def dirichlet_step(prior: np.ndarray, expected_log: np.ndarray) -> np.ndarray:
    """Return one step to the ML Dirichlet: psi(new_k) = psi(sum old) + mean E log theta_k (Minka 2000).

    The step maximizes a lower bound of the likelihood that touches it at `prior`, so it never lowers it.
    """
    target = digamma(prior.sum()) + expected_log
    new = np.where(target >= -2.22, np.exp(target) + 0.5, -1.0 / (target - digamma(1.0)))
    for _ in range(6):  # Newton's method on psi(new) = target
        new -= (digamma(new) - target) / polygamma(1, new)
    return np.maximum(new, 1e-10)
