"""Symbols or vectors: what the estimators that train hidden Markov models by labels share about their sequences."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

from ..base.estimator import Classifier
from ..base.groups import IterationParameters, SeedParameters
from ..base.parameters import Positive, parameters
from ..sequences.discrete_hmm import DiscreteHMM
from ..sequences.gaussian_hmm import GaussianHMM
from ..sequences.hmm import HiddenMarkovModel
from ..sequences.sequences import Sequences, as_symbols, as_vectors, centre_and_scale


@parameters
class SequenceClassifier(Classifier, IterationParameters, SeedParameters):
    """Takes sequences of symbols, or of vectors, which are centred and scaled by what `fit` has seen of them.

    Parameters
    ----------
    n_states
        Of each hidden Markov model.
    n_symbols
        What `fit` sees when None.
    observations
        Whether X holds sequences of symbols or of real vectors.  Vectors are centred and scaled first, each
        coordinate by the training samples'.
    pseudocount
        Of the models of maximum likelihood, as in `DiscreteHMM`; above zero, so that their logarithms are finite.

    Attributes
    ----------
    centre_, deviations_ : arrays, shape (features,)
        Of vectors: what is taken away from them, and what they are then divided by.
    """

    _takes_sequences = True
    _takes_nan = True

    n_states: int = 5
    n_symbols: int | None = None
    _: KW_ONLY
    observations: Literal["symbols", "vectors"] = "symbols"
    pseudocount: Positive = 1.0

    def _sequences_to_fit(self, X: Any) -> Sequences:
        self._check_fields()
        if self.observations == "symbols":
            return as_symbols(X, self.n_symbols)
        batch = as_vectors(X)
        self.centre_, self.deviations_ = centre_and_scale(batch.values)
        return self._scaled(batch)

    def _sequences_to_predict(self, X: Any, symbols: int) -> Sequences:
        if self.observations == "symbols":
            return as_symbols(X, symbols)
        return self._scaled(as_vectors(X, self.centre_.size))

    def _scaled(self, batch: Sequences) -> Sequences:
        return Sequences((batch.values - self.centre_) / self.deviations_, batch.offsets)

    def _model(self, batch: Sequences, random_state: Any) -> HiddenMarkovModel:
        """One of maximum likelihood for these sequences, not fitted."""
        settings: dict[str, Any] = {"random_state": random_state, "verbose": self._inner_verbosity()}
        if self.observations == "vectors":
            return GaussianHMM(self.n_states, pseudocount=self.pseudocount, **settings)
        symbols = int(batch.values.max()) + 1 if self.n_symbols is None else int(self.n_symbols)
        return DiscreteHMM(self.n_states, symbols, pseudocount=self.pseudocount, **settings)
