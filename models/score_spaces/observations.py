"""Sequences of symbols or vectors, for estimators that train hidden Markov models with labels."""

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
    """Base of classifiers of sequences of symbols, or of vectors, which are standardized by the training samples.

    Parameters
    ----------
    n_states
        Number of states of each hidden Markov model.
    n_symbols
        Number of symbols; if None, the largest symbol in `fit` plus one.
    observations
        Whether X holds sequences of symbols or of real vectors.  Each coordinate of vectors is first centred and scaled
        by the mean and standard deviation of the training samples.
    pseudocount
        Pseudocount of the maximum likelihood models, as in `DiscreteHMM`; above zero, so that logarithms are finite.

    Attributes
    ----------
    centre_, deviations_ : arrays, shape (features,)
        Means that are subtracted from vectors, and standard deviations by which they are then divided.
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
        """Return an unfitted maximum likelihood model for the sequences in `batch`."""
        settings: dict[str, Any] = {"random_state": random_state, "verbose": self._inner_verbosity()}
        if self.observations == "vectors":
            return GaussianHMM(self.n_states, pseudocount=self.pseudocount, **settings)
        symbols = int(batch.values.max()) + 1 if self.n_symbols is None else int(self.n_symbols)
        return DiscreteHMM(self.n_states, symbols, pseudocount=self.pseudocount, **settings)
