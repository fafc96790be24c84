"""Random hidden Markov models, sequences drawn from them, and the enumeration of all paths."""

import itertools

import numpy as np
from scipy.stats import multivariate_normal

from models import DiscreteHMM, GaussianHMM

NAN = np.nan


def random_discrete(rng, states=3, symbols=4):
    chain = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    return DiscreteHMM(states).set_model(*chain, rng.dirichlet(np.ones(symbols), states))


def random_gaussian(rng, states=3, features=2):
    chain = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    root = rng.normal(size=(states, features, features))
    covariances = (root**2).sum(axis=2) + 0.3
    return GaussianHMM(states).set_model(*chain, rng.normal(size=(states, features)), covariances)


def emission(model, x, i):
    """Return P(x | state i), from the definition."""
    if isinstance(model, DiscreteHMM):
        return 1.0 if x == -1 else model.emissionprob_[i, x]
    seen = ~np.isnan(x)
    if not seen.any():
        return 1.0
    covariance = np.diag(model.covariances_[i])
    return multivariate_normal(model.means_[i][seen], covariance[np.ix_(seen, seen)]).pdf(x[seen])


def enumerate_log_weights(model, x, strength=0.0, bend=None):
    """Return {path: log of its joint probability times exp(strength * bend'statistics)}."""
    states, weights = model.startprob_.size, {}
    with np.errstate(divide="ignore"):
        start, transitions = np.log(model.startprob_), np.log(model.transmat_)
        seen = np.log([[emission(model, v, i) for i in range(states)] for v in x])
    if bend is not None:
        start, transitions = start + strength * bend[0], transitions + strength * bend[1]
        seen = seen + [strength * bend[2][:, v] if v != -1 else np.zeros(states) for v in x]
    for path in itertools.product(range(states), repeat=len(x)):
        steps = [transitions[i, j] for i, j in itertools.pairwise(path)]
        weights[path] = start[path[0]] + sum(steps) + sum(row[i] for row, i in zip(seen, path))
    return weights


def enumerate_paths(model, x, strength=0.0, bend=None):
    """Return {path: its weight}; see `enumerate_log_weights`."""
    return {path: np.exp(weight) for path, weight in enumerate_log_weights(model, x, strength, bend).items()}


DISCRETE = [[0, 3, 1, 1, 2], [2], [1, -1, 0, 3], [-1, -1]]
VECTORS = [[[0.1, 1.0], [-2.0, 0.5], [3.0, 0.0]], [[NAN, 1.0], [0.5, NAN], [NAN, NAN], [0.2, 0.3]], [[1.0, 1.0]]]


def kinds(classes=2, lengths=(12,) * 15, symbols=4, seed=0):
    rng = np.random.default_rng(seed)
    X = []
    for _ in range(classes):
        chain = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3)
        X += DiscreteHMM(3).set_model(*chain, rng.dirichlet(np.ones(symbols), 3)).sample(lengths, rng)[0]
    return X, np.repeat(np.arange(classes), len(lengths))
