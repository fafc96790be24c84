"""The hidden Markov model of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.parameters import Count, parameters
from ..generative.generative import quiet_log
from ..numerics import recursions
from .hmm import Bend, ChainParameters, HiddenMarkovModel, as_probabilities, near_uniform_rows, scaled, shares
from .sequences import MISSING, Sequences, as_symbols


@parameters
class DiscreteHMM(HiddenMarkovModel, ChainParameters):
    r"""Hidden Markov model of sequences of symbols 0 .. K - 1.

    .. math::
        P(x, q) = \prod_i \pi_i^{q_i^0} \prod_{l<L} \prod_{ij} a_{ij}^{q_i^l q_j^{l+1}}
                  \prod_{l \le L} \prod_{ik} b_{ik}^{q_i^l x_k^l}

    (Li et al. 2013, section 5.1; Rabiner 1989).  `fit` maximizes sum_s log P(x_s) + pseudocount * (sum of the logs of
    all parameters), which EM never lowers; with pseudocount zero that is the likelihood.

    Parameters
    ----------
    n_symbols
        Number K of symbols; if None, the largest symbol in `fit` plus one.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_ : arrays, shapes (n_states,), (n_states, n_states), (n_states, K)
        Probabilities pi of the first state, a of transitions, b of symbols in each state.

    Notes
    -----
    Sequences are a list of integer arrays (or a matrix with one sequence a row); -1 is a missing observation, which is
    summed out.  At a "spread" start emission probabilities are the frequencies of all symbols times gamma variables, so
    that the states differ from the first iteration on.

    Examples
    --------
    >>> from models import DiscreteHMM
    >>> model = DiscreteHMM(2).set_model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]])
    >>> model.predict([[0, 0, -1, 1, 1]])
    [array([0, 0, 0, 1, 1])]
    >>> print(model.score_samples([[0, 0, 1, 1], [0, 1]]))
    [-3.093036 -1.725972]
    >>> sequences, states = model.sample([50] * 40, random_state=0)
    >>> fitted = DiscreteHMM(2, random_state=0).fit(sequences)
    >>> bool((np.diff(fitted.objectives_) >= 0).all()), fitted.converged_
    (True, True)
    """

    n_states: Count = 3
    n_symbols: Count | None = None

    def set_model(self, startprob: Any, transmat: Any, emissionprob: Any) -> DiscreteHMM:
        """Set the parameters instead of fitting; each row must sum to one."""
        states = self._set_chain(startprob, transmat)
        self.emissionprob_ = as_probabilities("emissionprob", emissionprob, (states, self.n_symbols))
        return self

    def _batch(self, sequences: Any) -> Sequences:
        fitted = getattr(self, "emissionprob_", None)
        return as_symbols(sequences, self.n_symbols if fitted is None else fitted.shape[1])

    def _initialize(self, batch: Sequences, rng: np.random.Generator) -> None:
        seen = batch.values[batch.values != MISSING]
        if seen.size == 0:
            raise ValueError("every observation in sequences is missing: there is nothing to fit")
        symbols = int(seen.max()) + 1 if self.n_symbols is None else int(self.n_symbols)
        if self.init == "near_uniform":
            self.emissionprob_ = near_uniform_rows(rng, int(self.n_states), symbols)
            return
        frequency = np.bincount(seen, minlength=symbols) / seen.size
        rows = (frequency + 1e-3) * rng.gamma(1.0, size=(int(self.n_states), symbols))
        self.emissionprob_ = rows / rows.sum(axis=1, keepdims=True)

    def _likelihoods(self, batch: Sequences, bend: Bend | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        symbols = self.emissionprob_.shape[1] + 1
        row = np.where(batch.values == MISSING, symbols - 1, batch.values)
        if bend is None:
            return self._by_symbol(self.emissionprob_, 1.0), row, np.zeros(row.size)
        # One row per sequence and symbol is computed if these are fewer than the positions.
        if len(batch) * symbols >= row.size:
            return super()._likelihoods(batch, bend)
        logs = self._by_symbol(quiet_log(self.emissionprob_), 0.0)
        logs = logs + bend.strength[:, None, None] * self._by_symbol(bend.emissions, 0.0)
        rows, top = scaled(logs.reshape(-1, logs.shape[2]))
        row = row + symbols * np.repeat(np.arange(len(batch)), batch.lengths)
        return rows, row, top[row]

    def _log_emissions(self, batch: Sequences) -> np.ndarray:
        return self._by_symbol(quiet_log(self.emissionprob_), 0.0)[batch.values]

    @staticmethod
    def _by_symbol(rows: np.ndarray, missing: float) -> np.ndarray:
        """Return one row for each symbol, and a last row (index -1) for a missing observation."""
        return np.ascontiguousarray(np.vstack([rows.T, np.full(rows.shape[0], missing)]))

    def _bend_of_emissions(self, batch: Sequences, weights: np.ndarray) -> np.ndarray:
        return self._by_symbol(weights, 0.0)[batch.values]

    def _emission_statistics(
        self, batch: Sequences, gamma: np.ndarray, weight: np.ndarray, group: np.ndarray, groups: int
    ) -> np.ndarray:
        counts = np.zeros((groups, *self.emissionprob_.shape))
        recursions.count_symbols(
            batch.offsets, batch.values, gamma, weight, group, counts.reshape(-1, counts.shape[2])
        )  # fmt: skip
        return counts

    def _emission_features(self, batch: Sequences) -> np.ndarray:
        return self._by_symbol(np.eye(self.emissionprob_.shape[1]), 0.0)[batch.values]

    def _emission_potentials(self) -> np.ndarray:
        return quiet_log(self.emissionprob_)

    def _maximize_emissions(self, statistics: np.ndarray) -> None:
        self.emissionprob_ = shares(statistics + self.pseudocount, self.emissionprob_)

    def _emission_prior(self) -> float:
        return float(self.pseudocount * quiet_log(self.emissionprob_).sum()) if self.pseudocount > 0.0 else 0.0

    def _draw_emissions(self, path: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        cumulative = self.emissionprob_.cumsum(axis=1)
        uniforms = rng.random(path.size) * cumulative[path, -1]
        return np.array([np.searchsorted(cumulative[i], u, side="right") for i, u in zip(path, uniforms)])
