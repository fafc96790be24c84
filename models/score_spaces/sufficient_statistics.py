r"""Sufficient statistics of generative models: one interface for hidden Markov models and latent Dirichlet allocation.

Both are exponential families in observed and hidden variables together (Li et al. 2013, eq. 3),

.. math::
    P(x, h; \theta) = \exp(\alpha(\theta)^\top T(x, h) + A(\theta)),

and so is the posterior bent by weights b on the statistics, with each sample's strength s:

.. math::
    Q(h) = \frac{1}{Z} P(x, h; \theta)\, e^{s\, b^\top T(x, h)}, \qquad
    \mathrm{KL}(Q \| P(x, h; \theta)) = s\, b^\top E_Q T - \log Z .

For a hidden Markov model Q is exact; for a topic model it is the best of the variational family, and log Z its bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.estimator import Estimator
from ..sequences.discrete_hmm import DiscreteHMM
from ..sequences.hmm import Bend, HiddenMarkovModel, Posterior, unflatten
from ..sequences.sequences import Sequences
from ..topics.topics import LatentDirichletAllocation


@dataclass
class Expectations:
    """Expected statistics: `log_partition` is log Z, shape (samples,); `table` is E[T], shape (samples, statistics)."""

    log_partition: np.ndarray
    table: np.ndarray


class ChainStatistics:
    """Flat statistics T = (q_i^0, sum_l q_i^l q_j^{l+1}, sum_l q_i^l f(x^l)) of sequences under a Markov model."""

    def __init__(self, model: HiddenMarkovModel, X: Any) -> None:
        self.model = model
        self.batch: Sequences = model._batch(X)
        self.shapes = model.startprob_.shape, model.transmat_.shape, model._emission_potentials().shape

    def split(self, table: np.ndarray) -> list[np.ndarray]:
        """Split the last axis of `table` into starts, transitions and emissions, each in its own shape."""
        return unflatten(table, self.shapes)

    def expect(
        self, weights: np.ndarray | None = None, strength: np.ndarray | None = None, only: np.ndarray | None = None
    ) -> Expectations:
        """Return expectations under posteriors bent by `weights` (statistics,) times each sample's `strength`.

        `only` holds the indices of samples if not all are meant; `strength` then has one entry for each of them.
        """
        bend = None if weights is None or strength is None else Bend(strength, *self.split(weights))
        batch = self.batch if only is None else self.batch.only(only)
        found = self.model._infer(batch, by_sequence=True, bend=bend)
        return Expectations(found.log_likelihood, _flat(found))

    def draw_tilted(
        self, weights: np.ndarray, strength: np.ndarray, draws: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return E[T] under the tilted posteriors, by rejection, and log E[exp(strength weights'T)] under P(h | x).

        `weights` (samples, statistics) has a row for each sample.  Paths are drawn from P(h | x) and accepted with
        probability proportional to the exponential factor; the best of the draws is always accepted.
        """
        _, paths = self.model._random_paths(self.batch, draws, rng)
        log_factors = strength[:, None] * np.einsum("tnd,td->tn", paths, weights)
        top = log_factors.max(axis=1, keepdims=True)
        accepted = rng.random(log_factors.shape) <= np.exp(log_factors - top)
        table = np.einsum("tnd,tn->td", paths, accepted) / accepted.sum(axis=1, keepdims=True)
        return table, top[:, 0] + np.log(np.exp(log_factors - top).mean(axis=1))

    def maximize(self, table: np.ndarray, rows: np.ndarray) -> None:
        """Run the M-step of the model on the statistics `table[rows]`."""
        starts, transitions, emissions = self.split(table[rows].sum(axis=0)[None])
        none = np.empty(0)
        self.model._maximize(Posterior(none, none, starts, transitions, emissions, none))

    def log_prior(self) -> float:
        return self.model._log_prior()


class TopicStatistics:
    """Flat statistics T = (sum_n z_n^k, sum_n w_n z_n^k) of documents under latent Dirichlet allocation."""

    def __init__(self, model: LatentDirichletAllocation, X: Any) -> None:
        self.model = model
        self.documents: sp.csr_array = model._documents(X)

    def expect(
        self, weights: np.ndarray | None = None, strength: np.ndarray | None = None, only: np.ndarray | None = None
    ) -> Expectations:
        """Return expectations as `ChainStatistics.expect` does, and store gamma of the documents."""
        model = self.model
        bend = None if weights is None else self._bend(weights)
        documents = self.documents if only is None else self.documents[only]
        gamma, bound, sums = model._infer(documents, by_document=True, bend=bend, strength=strength, tol=1e-8)
        if only is None:
            self.gamma = gamma
        else:
            self.gamma[only] = gamma
        return Expectations(bound, np.hstack([sums.sum(axis=1), sums.reshape(sums.shape[0], -1)]))

    def _bend(self, weights: np.ndarray) -> np.ndarray:
        """Return b_k + b_kw, each word's part of weights'T, shape (words, topics)."""
        topics = self.model.components_.shape[0]
        return weights[:topics] + weights[topics:].reshape(-1, topics)

    def draw_tilted(
        self, weights: np.ndarray, strength: np.ndarray, draws: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return E[T] by Gibbs sampling and the difference of bounds for log E[exp(strength weights'T)]; set gamma.

        All rows of `weights` must be equal.  gamma is alpha plus the mean counts of the topics.
        """
        (number, words), topics = self.documents.shape, self.model.components_.shape[0]
        gain = self.expect(weights[0], strength).log_partition - self.expect().log_partition
        drawn = self.model._sample_given(self.documents, self._bend(weights[0]), strength, draws, rng)
        rows = np.repeat(np.arange(number), np.diff(self.documents.indptr))
        sums = np.zeros((number, words, topics))
        sums[rows, self.documents.indices] = drawn
        self.gamma = self.model.doc_topic_prior_ + sums.sum(axis=1)
        return np.hstack([sums.sum(axis=1), sums.reshape(number, -1)]), gain

    def maximize(self, table: np.ndarray, rows: np.ndarray) -> None:
        """Run the M-step of the model on the statistics `table[rows]`."""
        topics, words = self.model.components_.shape
        self.model._maximize(table[rows, topics:].sum(axis=0).reshape(words, topics), self.gamma[rows])

    def log_prior(self) -> float:
        return self.model._log_prior()


Statistics = ChainStatistics | TopicStatistics


class SideBySide:
    r"""Statistics of samples under one or more models, whose columns stand side by side.

    Every model has its own hidden variables.  A sample belongs to one model, its owner; for the other models only the
    posterior counts.  The cost of a sample is

    .. math::
        \mathrm{KL}(Q_o \| P(x, h; \theta_o)) + \sum_{k \ne o} \mathrm{KL}(Q_k \| P(h | x; \theta_k)),

    which is - log P(x; theta_o) where no Q is tilted.  `owners` has the index of each sample's model among `parts`.
    """

    def __init__(self, parts: Sequence[Statistics], owners: np.ndarray) -> None:
        self.parts, self.owners = list(parts), owners
        self._evidence: np.ndarray | None = None

    def evidence(self) -> np.ndarray:
        """Return log P(x; theta_k) (for topics, its bound), shape (models, samples)."""
        if self._evidence is None:
            self._evidence = np.array([part.expect().log_partition for part in self.parts])
        return self._evidence

    def of_owner(self) -> np.ndarray:
        """Return log P(x) under each sample's owner, shape (samples,)."""
        return self.evidence()[self.owners, np.arange(self.owners.size)]

    def split(self, columns: np.ndarray) -> list[np.ndarray]:
        """Split the last axis of `columns` into equal parts, one array for each model."""
        return np.split(columns, len(self.parts), axis=-1)

    def expect(
        self, weights: np.ndarray | None = None, strength: np.ndarray | None = None, only: np.ndarray | None = None
    ) -> Expectations:
        """Return expectations as `ChainStatistics.expect`; log_partition is strength * weights'E[T] - cost."""
        others = 0.0
        if len(self.parts) > 1:
            others = self.evidence().sum(axis=0) - self.of_owner()
            others = others if only is None else others[only]
        by_part = [None] * len(self.parts) if weights is None else self.split(weights)
        found = [part.expect(own, strength, only) for part, own in zip(self.parts, by_part)]
        partition = np.sum([one.log_partition for one in found], axis=0) - others
        return Expectations(partition, np.hstack([one.table for one in found]))

    def maximize(self, table: np.ndarray) -> None:
        """Run every model's M-step on the statistics of its own samples."""
        for k, (part, own) in enumerate(zip(self.parts, self.split(table))):
            part.maximize(own, np.flatnonzero(self.owners == k))
        self._evidence = None

    def log_prior(self) -> float:
        """Return the log prior of all models' parameters."""
        return sum(part.log_prior() for part in self.parts)


class OnGenerativeModel(Estimator):
    """Base of estimators whose parameter `model` is a generative model; they take the data that `model` takes."""

    _samples_told = "list of arrays, or matrix\n    Samples in the form that `model` takes."

    model: Any

    @property
    def _takes_counts(self) -> bool:  # type: ignore[override]
        return isinstance(self.model, LatentDirichletAllocation)

    _takes_sparse = _takes_counts  # type: ignore[assignment]

    @property
    def _takes_sequences(self) -> bool:  # type: ignore[override]
        return not self._takes_counts

    def _matrix_to_fit(self, X: Any, fewest: int = 1) -> Any:
        self._check_fields()
        return super()._matrix_to_fit(X, fewest) if self._takes_counts else X

    def _matrix_to_predict(self, X: Any) -> Any:
        self._check_fitted()
        return super()._matrix_to_predict(X) if self._takes_counts else X


def statistics_of(model: Estimator, X: Any) -> Statistics:
    """Return the statistics of samples under a fitted generative model."""
    if isinstance(model, HiddenMarkovModel):
        return ChainStatistics(model, X)
    assert isinstance(model, LatentDirichletAllocation)
    return TopicStatistics(model, X)


def fresh(model: Any) -> Any:
    """Return an unfitted generative model with the parameters of `model`; a `DiscreteHMM` for None."""
    if model is None:
        return DiscreteHMM()
    if not isinstance(model, (HiddenMarkovModel, LatentDirichletAllocation)):
        raise ValueError(
            "model must be a DiscreteHMM, a GaussianHMM or a LatentDirichletAllocation, "
            f"but {type(model).__name__} came"
        )
    return type(model)(**model.get_params(deep=False))


def fix_symbols(model: Any, X: Any) -> None:
    """Set `n_symbols` of a `DiscreteHMM` from all of X if it is None, since one class may lack some symbols."""
    if isinstance(model, DiscreteHMM) and model.n_symbols is None:
        model.n_symbols = model._batch(X).values.max() + 1


def models_of_classes(model: Any, X: Any, codes: np.ndarray) -> list[Any]:
    """Return copies of an unfitted `model`, one for each class, each fitted to the samples of its class."""
    fix_symbols(model, X)
    members = (take(X, np.flatnonzero(codes == k)) for k in range(codes.max() + 1))
    return [fresh(model).fit(own) for own in members]


def nothing_seen(model: Any) -> Any:
    """Return data of one sample without an observation, for a fitted generative model."""
    if isinstance(model, LatentDirichletAllocation):
        return np.zeros((1, model.components_.shape[1]))
    return [[np.nan]] if isinstance(model, DiscreteHMM) else [np.full((1, model.means_.shape[1]), np.nan)]


def count_samples(X: Any) -> int:
    """Return the number of samples in a list of sequences or a matrix."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    if not hasattr(X, "__len__"):
        raise ValueError(f"X must be a list of sequences, but {type(X).__name__} came")
    return len(X)


def take(X: Any, rows: np.ndarray) -> Any:
    """Return the samples `rows` of a list of sequences or of a matrix."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X[rows]
    samples = list(X)
    return [samples[i] for i in rows]


def _flat(found: Posterior) -> np.ndarray:
    number = found.starts.shape[0]
    return np.hstack([found.starts, found.transitions.reshape(number, -1), found.emissions.reshape(number, -1)])
