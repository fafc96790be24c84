r"""Hidden Markov models: the base class, for any type of observation.

A sequence x^0 .. x^L comes with hidden states q^0 .. q^L (Rabiner 1989; Li et al. 2013, section 5.1):

.. math::
    P(x, q) = \pi_{q^0} \prod_{l<L} a_{q^l q^{l+1}} \prod_{l \le L} b_{q^l}(x^l)

`fit` is the EM algorithm of Baum and Welch: the E-step is the exact posterior of the states by a scaled forward filter
and a backward smoother (`recursions`), the M-step sets the parameters to the expected shares.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from ..base.estimator import Estimator
from ..base.expectation_maximization import ascend
from ..base.groups import IterationParameters, SeedParameters
from ..base.parameters import NonNegative, parameters
from ..base.validation import as_generator, as_weights, check_number
from ..generative.generative import quiet_log
from ..numerics import recursions
from .sequences import Sequences

Self = TypeVar("Self", bound="HiddenMarkovModel")


@dataclass
class Bend:
    """Potentials that bend the chain of every sequence: exp(strength * weights' statistics).

    strength : one number per sequence.  start (states,), transitions (states, states), emissions (states, features):
    the weights of the statistics q_i^0, sum_l q_i^l q_j^{l+1} and sum_l q_i^l f(x^l) in the exponent.
    """

    strength: np.ndarray
    start: np.ndarray
    transitions: np.ndarray
    emissions: np.ndarray


@dataclass
class Posterior:
    """Expectations over the hidden states given the observations.

    log_likelihood : one per sequence (of a bent chain: the log of the sum over all paths).
    gamma (positions, states);  the rest is summed within each group of sequences: starts (groups, states),
    transitions (groups, states, states), emissions (groups, states, features), and chain_logs (groups, states,
    states), if requested, sum_l xi^l log(xi^l / gamma^l): the posterior chain's own log transition
    probabilities, expected.
    """

    log_likelihood: np.ndarray
    gamma: np.ndarray
    starts: np.ndarray
    transitions: np.ndarray
    emissions: np.ndarray
    chain_logs: np.ndarray


@parameters
class ChainParameters(IterationParameters, SeedParameters):
    """Parameters of hidden Markov models.

    Parameters
    ----------
    pseudocount
        Number added to each expected count; if it is positive, no sequence is impossible.
    init
        How EM starts.  "spread": start and transition probabilities are drawn uniformly from the simplex.
        "near_uniform": every row is in proportion to 1 + U, U uniform in [0, 1); the states are nearly alike, and EM
        takes many iterations to tell them apart.
    max_iter
        Maximum number of EM iterations; with ``tol=0`` EM ends before only if it gains nothing at all.
    tol
        EM stops when an iteration raises the objective by at most this per observation.
    warm_start
        Whether `fit` continues from the current parameters.

    Attributes
    ----------
    startprob_, transmat_ : arrays, shapes (n_states,), (n_states, n_states)
        Probabilities of the first state and of the transitions.
    objectives_ : array
        Objective at the start and after each EM iteration.
    n_iter_ : int
        Number of steps of expectation maximization.
    converged_ : bool
        Whether the objective settled before `max_iter`.
    """

    _: KW_ONLY
    pseudocount: NonNegative = 0.01
    init: Literal["spread", "near_uniform"] = "spread"
    max_iter: int = 100
    tol: NonNegative = 1e-5
    warm_start: bool = False


class HiddenMarkovModel(Estimator):
    """Base of hidden Markov models; a subclass defines how an observation depends on the state."""

    _kind = "density_estimator"
    _takes_sequences = True
    _takes_nan = True

    startprob_: np.ndarray
    transmat_: np.ndarray

    # -- methods of a subclass

    def _batch(self, sequences: Any) -> Sequences:
        """Return the sequences, checked against the parameters if there are any."""
        raise NotImplementedError

    def _initialize(self, batch: Sequences, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def _log_emissions(self, batch: Sequences) -> np.ndarray:
        """Return log P(x_t | state), shape (positions, states)."""
        raise NotImplementedError

    def _bend_of_emissions(self, batch: Sequences, weights: np.ndarray) -> np.ndarray:
        """Return weights' f(x_t), shape (positions, states)."""
        return self._emission_features(batch) @ weights.T

    def _emission_statistics(
        self, batch: Sequences, gamma: np.ndarray, weight: np.ndarray, group: np.ndarray, groups: int
    ) -> np.ndarray:
        raise NotImplementedError

    def _emission_features(self, batch: Sequences) -> np.ndarray:
        """Return f(x_t), shape (positions, features); the emissions' statistics are its sums in each state."""
        raise NotImplementedError

    def _emission_potentials(self) -> np.ndarray:
        """Return the coefficients of log P(x_t | state), linear in f(x_t), shape (states, features)."""
        raise NotImplementedError

    def _maximize_emissions(self, statistics: np.ndarray) -> None:
        raise NotImplementedError

    def _emission_prior(self) -> float:
        """Return the log prior of the emissions' parameters."""
        return 0.0

    # -- inference

    def _likelihoods(self, batch: Sequences, bend: Bend | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows of likelihoods, each divided by a factor, the row of every position, and the log factor there."""
        logs = self._log_emissions(batch)
        if bend is not None:
            strength = np.repeat(bend.strength, batch.lengths)[:, None]
            logs = logs + strength * self._bend_of_emissions(batch, bend.emissions)
        rows, top = scaled(logs)
        return rows, np.arange(top.size), top

    def _filter(self, batch: Sequences, bend: Bend | None = None, keep: bool = True) -> tuple[Any, ...]:
        """Return alpha, predicted, log-likelihoods, mask of lost sequences, chain, and their `_filter_in_logs`."""
        states = self.startprob_.size
        none = Bend(np.zeros(len(batch)), np.zeros(states), np.zeros((states, states)), np.zeros((states, 0)))
        rows, row, logs = self._likelihoods(batch, bend)
        by = none if bend is None else bend
        chain = tuple(
            np.ascontiguousarray(part, dtype=np.float64)
            for part in (self.startprob_, self.transmat_, by.start, by.transitions, by.strength)
        )
        kept = row.size if keep else 0
        alpha, predicted = np.empty((kept, states)), np.empty((kept, states))
        log_likelihood, lost = np.empty(len(batch)), np.empty(len(batch), dtype=np.bool_)
        recursions.filter_states(
            batch.offsets, *chain, np.ascontiguousarray(rows), np.ascontiguousarray(row, dtype=np.int64), keep,
            np.empty((states + 3, states)), alpha, predicted, log_likelihood, lost,
        )  # fmt: skip
        log_likelihood += np.add.reduceat(logs, batch.offsets[:-1])
        slow = {}
        for s in np.flatnonzero(lost).tolist():
            slow[s] = self._filter_in_logs(batch, chain, s, bend)
            log_likelihood[s] = slow[s][0]
        return alpha, predicted, log_likelihood, lost, chain, slow

    def _filter_in_logs(self, batch: Sequences, chain: Any, s: int, bend: Bend | None) -> tuple[Any, ...]:
        """Filter lost sequence `s` in logarithms; return log-likelihood, log transitions, log alpha, log predicted."""
        start, transitions, bend_start, bend_transitions, strength = chain
        log_start = quiet_log(start) + strength[s] * bend_start
        log_transitions = quiet_log(transitions) + strength[s] * bend_transitions
        own = Sequences(batch.values[batch.offsets[s] : batch.offsets[s + 1]], np.array([0, batch.lengths[s]]))
        log_emissions = np.ascontiguousarray(self._log_emissions(own))
        if bend is not None:
            log_emissions += strength[s] * self._bend_of_emissions(own, bend.emissions)
        log_alpha, log_predicted = np.empty(log_emissions.shape), np.empty(log_emissions.shape)
        terms = np.empty(log_start.size)
        total = recursions.filter_in_logs(
            log_start, log_transitions, log_emissions, terms, log_alpha, log_predicted
        )  # fmt: skip
        return total, log_transitions, log_alpha, log_predicted

    def _infer(
        self,
        batch: Sequences,
        weight: np.ndarray | None = None,
        by_sequence: bool = False,
        chain_logs: bool = False,
        bend: Bend | None = None,
    ) -> Posterior:
        """Return the posterior of the states; statistics are weighted and summed, over all sequences or in each."""
        states, number = self.startprob_.size, len(batch)
        alpha, predicted, log_likelihood, lost, chain, slow = self._filter(batch, bend)
        impossible = np.flatnonzero(log_likelihood == -np.inf)
        if impossible.size:
            raise ValueError(
                f"sequences[{impossible[0]}] has probability zero under this {type(self).__name__}, so its states have "
                "no posterior: fit with pseudocount > 0"
            )
        weight = np.ones(number) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        group = np.arange(number) if by_sequence else np.zeros(number, dtype=np.int64)
        groups = number if by_sequence else 1
        gamma = np.empty(alpha.shape)
        starts, counts = np.zeros((groups, states)), np.zeros((groups, states, states))
        logs = np.zeros((groups, states, states) if chain_logs else (0, states, states))
        recursions.smooth_states(
            batch.offsets, *chain, alpha, predicted, lost, weight, group, np.empty((4 * states + 3, states)), gamma,
            starts, counts.reshape(-1, states), logs.reshape(-1, states),
        )  # fmt: skip
        for s, (_, log_transitions, log_alpha, log_predicted) in slow.items():
            start, count = np.zeros(states), np.zeros((states, states))
            log = np.zeros((states, states) if chain_logs else (0, states))
            own = np.empty(log_alpha.shape)
            work = np.empty((states + 2, states))
            recursions.smooth_in_logs(log_transitions, log_alpha, log_predicted, work, own, start, count, log)
            gamma[batch.offsets[s] : batch.offsets[s + 1]] = own
            starts[group[s]] += weight[s] * start
            counts[group[s]] += weight[s] * count
            if chain_logs:
                logs[group[s]] += weight[s] * log
        emissions = self._emission_statistics(batch, gamma, weight, group, groups)
        return Posterior(log_likelihood, gamma, starts, counts, emissions, logs)

    # -- learning

    def fit(self: Self, sequences: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit by EM from a random start, or with `warm_start` from the current parameters.

        Parameters
        ----------
        sequences : list of arrays
        y : ignored
        sample_weight : array_like, shape (sequences,), optional
            The weight of each sequence's log-likelihood.
        """
        self._check_fields()
        check_number("max_iter", self.max_iter, 0, whole=True)
        rng = as_generator(self.random_state)
        goes_on = self.warm_start and hasattr(self, "startprob_")
        if not goes_on:
            self._forget()
        batch = self._batch(sequences)
        weight = as_weights(sample_weight, len(batch))
        if not weight.all():
            batch, weight = batch.only(np.flatnonzero(weight)), weight[weight > 0.0]
        if not goes_on:
            self._start(batch, rng)
        self._ascend(batch, weight)
        return self

    def _start(self, batch: Sequences, rng: np.random.Generator) -> None:
        """Draw the parameters from which EM starts."""
        states = int(self.n_states)
        if self.init == "spread":
            self.startprob_ = rng.dirichlet(np.ones(states))
            self.transmat_ = rng.dirichlet(np.ones(states), states)
        else:
            self.startprob_ = near_uniform_rows(rng, states)
            self.transmat_ = near_uniform_rows(rng, states, states)
        self._initialize(batch, rng)

    def _ascend(self, batch: Sequences, weight: np.ndarray) -> None:
        """Run EM from the current parameters."""

        def expect(_: Posterior | None) -> tuple[Posterior, float]:
            posterior = self._infer(batch, weight)
            return posterior, float(weight @ posterior.log_likelihood) + self._log_prior()

        objectives, observations = self._history("log-likelihood"), float(weight @ batch.lengths)
        self.converged_ = ascend(expect, self._maximize, objectives, self.tol, self.max_iter, observations)
        self.objectives_ = np.array(objectives)
        self.n_iter_ = max(len(objectives) - 1, 1)

    def _maximize(self, posterior: Posterior) -> None:
        """Run the M-step on statistics that are summed over all sequences."""
        self.startprob_ = shares(posterior.starts[0] + self.pseudocount, self.startprob_)
        self.transmat_ = shares(posterior.transitions[0] + self.pseudocount, self.transmat_)
        self._maximize_emissions(posterior.emissions[0])

    def _log_prior(self) -> float:
        """Return the log prior of the parameters, up to a constant: the pseudocounts' part of the objective."""
        if self.pseudocount == 0.0:
            return self._emission_prior()
        chain = quiet_log(self.startprob_).sum() + quiet_log(self.transmat_).sum()
        return float(self.pseudocount * chain) + self._emission_prior()

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _set_chain(self, startprob: Any, transmat: Any) -> int:
        """Set given parameters of the chain; return the number of states."""
        check_number("pseudocount", self.pseudocount, 0.0)
        self._forget()
        start = as_probabilities("startprob", startprob, (None,))
        self.transmat_ = as_probabilities("transmat", transmat, (start.size, start.size))
        self.startprob_ = start
        if start.size != self.n_states:
            raise ValueError(f"startprob must have n_states = {self.n_states} entries, but {start.size} came")
        return start.size

    # -- methods of a fitted model

    def score_samples(self, sequences: Any) -> np.ndarray:
        """Return log P(x) of every sequence, shape (sequences,); -inf if x is impossible under the model."""
        self._check_fitted()
        return self._filter(self._batch(sequences), keep=False)[2]

    def score(self, sequences: Any, y: Any = None) -> float:
        """Return the mean of log P(x) over the sequences."""
        return float(self.score_samples(sequences).mean())

    def predict_proba(self, sequences: Any) -> list[np.ndarray]:
        """Return P(q^l = i | x) for every position of every sequence: arrays of shape (length, states)."""
        self._check_fitted()
        batch = self._batch(sequences)
        return batch.split(self._infer(batch).gamma)

    def predict(self, sequences: Any) -> list[np.ndarray]:
        """Return the most probable path of every sequence (Viterbi): int64 arrays of shape (length,)."""
        self._check_fitted()
        batch = self._batch(sequences)
        return batch.split(self._best_paths(batch)[0])

    def _best_paths(self, batch: Sequences) -> tuple[np.ndarray, np.ndarray]:
        chain = quiet_log(self.startprob_), quiet_log(self.transmat_)
        return recursions.best_paths(batch.offsets, *chain, self._log_emissions(batch))

    def _random_paths(self, batch: Sequences, draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return log P(x) of every sequence, and the statistics of `draws` paths from its posterior.

        Shapes (sequences,) and (sequences, draws, states + states^2 + states * features).
        """
        alpha, _, log_likelihood, _, _, slow = self._filter(batch)
        for s, (_, _, log_alpha, _) in slow.items():
            alpha[batch.offsets[s] : batch.offsets[s + 1]] = scaled(log_alpha)[0]
        features = np.ascontiguousarray(self._emission_features(batch), dtype=np.float64)
        states, transitions = self.startprob_.size, np.ascontiguousarray(self.transmat_, dtype=np.float64)
        table = np.zeros((len(batch), draws, states * (1 + states + features.shape[1])))
        for s, (first, end) in enumerate(itertools.pairwise(batch.offsets)):
            uniforms = rng.random((draws, end - first))
            paths = np.empty(uniforms.shape, dtype=np.int64)
            recursions.random_paths(transitions, alpha[first:end], uniforms, paths)
            recursions.path_statistics(states, paths, features[first:end], table[s])
        return log_likelihood, table

    def sample(self, lengths: Any, random_state: Any = None) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return random sequences of the given lengths, and the states that emitted them."""
        self._check_fitted()
        rng = as_generator(random_state)
        lengths = [int(check_number("lengths", length, 1, whole=True)) for length in np.atleast_1d(lengths)]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        path, begins = np.empty(offsets[-1], dtype=np.int64), set(offsets.tolist())
        cumulative = np.vstack([self.transmat_, self.startprob_]).cumsum(axis=1)  # last row: the first state
        for t, uniform in enumerate(rng.random(path.size)):
            row = cumulative[-1 if t in begins else path[t - 1]]
            path[t] = np.searchsorted(row, uniform * row[-1], side="right")
        batch = Sequences(self._draw_emissions(path, rng), offsets)
        return batch.split(batch.values), batch.split(path)

    def _draw_emissions(self, path: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError


def shares(counts: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return counts divided by their sums along the last axis; `old` where a sum is zero."""
    sums = counts.sum(axis=-1, keepdims=True)
    return np.where(sums > 0.0, counts / np.where(sums > 0.0, sums, 1.0), old)


def near_uniform_rows(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return rows in proportion to 1 + U, U uniform in [0, 1)."""
    rows = 1.0 + rng.random(shape)
    return rows / rows.sum(axis=-1, keepdims=True)


def unflatten(columns: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Split the last axis of `columns` into arrays of the given shapes, each behind the leading axes."""
    pieces = np.split(columns, np.cumsum([math.prod(shape) for shape in shapes])[:-1], axis=-1)
    return [piece.reshape(*columns.shape[:-1], *shape) for piece, shape in zip(pieces, shapes)]


def as_probabilities(name: str, values: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return nonnegative `values` that sum to one along the last axis; None in `shape` allows any size."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != len(shape) or any(want is not None and want != got for want, got in zip(shape, array.shape)):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} must have shape ({wanted}), but {array.shape} came")
    if not (array >= 0.0).all() or not np.allclose(array.sum(axis=-1), 1.0, rtol=0.0, atol=1e-8):
        raise ValueError(f"{name} must be nonnegative with rows that sum to one, but {array!r} came")
    return array


def scaled(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return exp(logs) divided by the largest entry of each row, and the logs of these entries.

    Entries with finite logs stay above zero, so that the filter can tell lost sequences from impossible ones; a row of
    -inf gives zeros.
    """
    top = logs[:, 0]
    for column in logs.T[1:]:  # faster than `max` along few columns
        top = np.maximum(top, column)
    top = np.where(top == -np.inf, 0.0, top)
    scaled = np.exp(logs - top[:, None])
    return np.where(logs > -np.inf, np.maximum(scaled, 1e-300), 0.0), top
