"""A plugin of pytest that puts hidden Markov models of `models` in the places of hmmlearn's, for hmmlearn's own tests.

A substitute takes tables with `lengths`, has the names of hmmlearn, and fits without pseudocounts.  `init_params` says
which parameters are drawn by `fit`, and `params` which ones of the chain EM changes.
"""

import hmmlearn.base
import hmmlearn.hmm
import numpy as np

import models
from models.base.parameters import Count, parameters
from models.sequences.hmm import ChainParameters, HiddenMarkovModel, as_probabilities
from models.sequences.sequences import as_vectors
from tests.support.substitutes import Lacks, is_one_of

ALL = {"s": "startprob_", "t": "transmat_", "m": "means_", "c": "covariances_", "e": "emissionprob_"}
IGNORED = ("implementation", "verbose", "min_covar", "algorithm")  # no other answer
PRIORS = ("means_weight", "covars_weight", "means_prior", "covars_prior", "startprob_prior", "transmat_prior")


class Peer:
    """The interface of hmmlearn for a hidden Markov model of `models`, which is the next base."""

    places = ()  # names of arguments after `n_components`

    def __init__(self, n_components=1, *places, **given):
        given |= dict(zip(self.places, places))
        self.init_params, self.params = (given.pop(name, "stmce") for name in ("init_params", "params"))
        given = {name: value for name, value in given.items() if name not in IGNORED}
        if not is_one_of(given.pop("covariance_type", "diag"), ("diag",)):
            raise Lacks("covariance_type")
        self.n_features = given.pop("n_features", None)
        self.max_iter_of_peer = given.pop("n_iter", 10)
        super().__init__(n_components, pseudocount=0.0, **given)

    def __setattr__(self, name, value):
        name = {"n_iter": "max_iter_of_peer", "covars_": "covariances_"}.get(name, name)
        kind = set if name in ("init_params", "params") else np.array if name in ALL.values() else lambda value: value
        object.__setattr__(self, name, kind(value))

    n_components = property(lambda self: self.n_states)
    n_iter = property(lambda self: self.max_iter_of_peer)
    covars_ = property(lambda self: np.array([np.diag(row) for row in self.covariances_]))
    _covars_ = property(lambda self: self.covariances_)

    def split(self, X, lengths):
        X = np.asarray(X)
        parts = np.split(X, np.cumsum([len(X)] if lengths is None else np.ravel(lengths))[:-1])
        return [part.ravel() for part in parts] if isinstance(self, models.DiscreteHMM) else parts

    def _init(self, X, lengths=None):
        if prior := [name for name in PRIORS if hasattr(self, name)]:
            raise Lacks(prior[0])
        batch = self._batch(self.split(X, lengths))
        kept = {
            name: vars(self)[name] for key, name in ALL.items() if name in vars(self) and key not in self.init_params
        }
        self._forget()
        self._start(batch, np.random.default_rng(0))
        vars(self).update(kept)
        self._check()
        self.n_features = self.emissionprob_.shape[1] if hasattr(self, "emissionprob_") else batch.values.shape[-1]

    def _check(self):
        as_probabilities("startprob", self.startprob_, (self.n_states,))
        as_probabilities("transmat", self.transmat_, (self.n_states, self.n_states))
        if hasattr(self, "emissionprob_"):
            as_probabilities("emissionprob", self.emissionprob_, (self.n_states, self.n_features))

    def fit(self, X, lengths=None):
        self._init(X, lengths)
        self.max_iter, self.warm_start = self.max_iter_of_peer, True
        return super().fit(self.split(X, lengths))

    def _maximize(self, posterior):
        fixed = {ALL[key]: getattr(self, ALL[key]) for key in "st" if key not in self.params}
        super()._maximize(posterior)
        vars(self).update(fixed)

    def score(self, X, lengths=None):
        return super().score_samples(self.split(X, lengths)).sum()

    def score_samples(self, X, lengths=None):
        return self.score(X, lengths), self.predict_proba(X, lengths)

    def predict_proba(self, X, lengths=None):
        return np.concatenate(super().predict_proba(self.split(X, lengths)))

    def predict(self, X, lengths=None):
        return self.decode(X, lengths)[1]

    def decode(self, X, lengths=None, algorithm="viterbi"):
        if algorithm == "map":
            P = self.predict_proba(X, lengths)
            return np.log(P.max(axis=1)).sum(), P.argmax(axis=1)
        paths, logs = self._best_paths(self._batch(self.split(X, lengths)))
        return logs.sum(), paths

    def sample(self, n_samples=1, random_state=None, currstate=None):
        if currstate is not None:
            raise Lacks("currstate")
        seed = random_state.randint(2**31) if isinstance(random_state, np.random.RandomState) else random_state
        (values,), (states,) = super().sample([n_samples], random_state=seed)
        return values.reshape(n_samples, -1), states


class GaussianHMM(Peer, models.GaussianHMM):
    places = ("covariance_type",)


class CategoricalHMM(Peer, models.DiscreteHMM):
    def _batch(self, sequences):
        self.n_symbols = self.n_features
        return super()._batch(sequences)


@parameters
class StatedEmissions(HiddenMarkovModel, ChainParameters):
    """A model whose emissions a subclass computes by the name that hmmlearn has for it."""

    n_states: Count = 1

    def _batch(self, sequences):
        return as_vectors(sequences)

    def _log_emissions(self, batch):
        return self._compute_log_likelihood(batch.values)

    def _emission_statistics(self, batch, gamma, weight, group, groups):
        return np.zeros((groups, gamma.shape[1], 0))

    def _draw_emissions(self, path, rng):
        return np.zeros((path.size, 1))


class BaseHMM(Peer, StatedEmissions):
    pass


for place in (hmmlearn.hmm, hmmlearn.base):
    for value in (GaussianHMM, CategoricalHMM, BaseHMM):
        if hasattr(place, value.__name__):
            setattr(place, value.__name__, value)
