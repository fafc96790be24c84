"""Hidden Markov models: each step of EM from the enumeration of all paths, with weights, gaps, floors and starts."""

import itertools

import numpy as np
import pytest

from models import DiscreteHMM, GaussianHMM
from models.sequences.hmm import Bend
from models.sequences.sequences import as_symbols, as_vectors, centre_and_scale
from tests.support.chains import DISCRETE, NAN, VECTORS, enumerate_paths, random_discrete, random_gaussian

WEIGHT = [0.5, 2.0, 1.0, 3.0]


def one_step(model, sequences, weight, pseudocount, floor):
    """Return the objective and the parameters after one EM step, by enumerating all paths of all sequences."""
    states, total = 3, 0.0
    starts, moves = np.full(states, pseudocount), np.full((states, states), pseudocount)
    discrete = isinstance(model, DiscreteHMM)
    symbols = np.full((states, 4), pseudocount)
    n, first, second = np.zeros((3, states, 2))
    for w, x in zip(weight, sequences):
        paths = enumerate_paths(model, np.asarray(x))
        evidence = sum(paths.values())
        total += w * np.log(evidence)
        for path, share in paths.items():
            share = w * share / evidence
            starts[path[0]] += share
            for i, j in itertools.pairwise(path):
                moves[i, j] += share
            for i, v in zip(path, np.asarray(x)):
                if discrete:
                    symbols[i, v] += share * (v != -1)
                else:
                    seen = ~np.isnan(v)
                    n[i] += share * seen
                    first[i] += share * np.where(seen, v, 0.0)
                    second[i] += share * np.where(seen, np.square(v), 0.0)
    logs = [np.log(model.startprob_).sum(), np.log(model.transmat_).sum()]
    total += pseudocount * sum([*logs, np.log(model.emissionprob_).sum()] if discrete else logs)
    found = [starts / starts.sum(), moves / moves.sum(axis=1, keepdims=True)]
    if discrete:
        return total, [*found, symbols / symbols.sum(axis=1, keepdims=True)]
    means = first / n
    return total, [*found, means, np.maximum(second / n - means**2, floor)]


def parameters_of(model):
    emissions = ["emissionprob_"] if isinstance(model, DiscreteHMM) else ["means_", "covariances_"]
    return [getattr(model, name) for name in ["startprob_", "transmat_", *emissions]]


@pytest.mark.parametrize("pseudocount", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
def test_a_step_is_that_of_the_sums_over_all_paths(kind, pseudocount):
    rng = np.random.default_rng(4)
    model = random_discrete(rng) if kind == "discrete" else random_gaussian(rng)
    sequences = DISCRETE if kind == "discrete" else [*VECTORS, [[2.0, -1.0], [0.3, 0.1], [NAN, 2.0]]]
    model.set_params(pseudocount=pseudocount, warm_start=True, max_iter=1, tol=0.0)
    floor = None
    if kind != "discrete":  # a floor that the start keeps and the step reaches
        model.set_params(min_variance=0.3)
        floor = 0.3 * centre_and_scale(as_vectors(sequences).values)[1] ** 2
    value, expected = one_step(model, sequences, WEIGHT, pseudocount, floor)
    model.fit(sequences, sample_weight=WEIGHT)
    assert model.objectives_[0] == pytest.approx(value, rel=1e-12) and model.n_iter_ == 1
    for found, part in zip(parameters_of(model), expected, strict=True):
        np.testing.assert_allclose(found, part, rtol=1e-10, atol=1e-12)
    if kind != "discrete":
        assert (model.covariances_ == floor).sum(axis=0).tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
def test_potentials_times_features_are_the_log_emissions(kind):
    rng = np.random.default_rng(6)
    model = random_discrete(rng) if kind == "discrete" else random_gaussian(rng)
    sequences = DISCRETE if kind == "discrete" else [np.array(x) for x in VECTORS]
    batch = model._batch(sequences)
    features, potentials = model._emission_features(batch), model._emission_potentials()
    np.testing.assert_allclose(features @ potentials.T, model._log_emissions(batch), rtol=1e-9, atol=1e-9)
    found = model._infer(batch, by_sequence=True)
    for s, (first, end) in enumerate(itertools.pairwise(batch.offsets)):  # statistics are sums of features
        np.testing.assert_allclose(found.emissions[s], found.gamma[first:end].T @ features[first:end], atol=1e-12)
    weights, strength = rng.normal(size=potentials.shape), rng.normal(size=len(batch))
    bend = Bend(strength, np.zeros(3), np.zeros((3, 3)), weights)
    bent = model._infer(batch, bend=bend).log_likelihood
    for s, x in enumerate(sequences):
        own = np.repeat(strength[s], len(x))[:, None] * (features[batch.offsets[s] : batch.offsets[s + 1]] @ weights.T)
        total = sum(
            p * np.exp(sum(own[t, i] for t, i in enumerate(path)))
            for path, p in enumerate_paths(model, np.asarray(x)).items()
        )
        assert bent[s] == pytest.approx(np.log(total), rel=1e-9, abs=1e-9)


def test_starts_are_what_they_say():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 8, 2)) * [1.0, 50.0] + [30.0, -700.0]
    X[rng.random(X.shape) < 0.1] = NAN
    values = X.reshape(-1, 2)
    model = GaussianHMM(3, max_iter=0, random_state=0, min_variance=0.05).fit(X)
    variances = np.nanvar(values, axis=0)
    np.testing.assert_allclose(model.covariances_, np.tile(variances, (3, 1)), rtol=1e-12)
    np.testing.assert_allclose(model._floor, 0.05 * variances, rtol=1e-12)
    scaled = (model.means_ - np.nanmean(values, axis=0)) / np.sqrt(variances)
    assert 0.2 < np.abs(scaled).max() < 4.0
    assert model.n_iter_ == 1 and len(model.objectives_) == 1 and not model.converged_
    centre, scale = centre_and_scale(np.c_[values, np.ones(len(values)), np.full(len(values), NAN)])
    np.testing.assert_allclose(centre, [*np.nanmean(values, axis=0), 1.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(scale, [*np.nanstd(values, axis=0), 1.0, 1.0], rtol=1e-12)
    symbols = rng.integers(0, 3, size=(40, 9))
    many = np.mean(
        [DiscreteHMM(5, 4, max_iter=0, random_state=s).fit(symbols).emissionprob_.mean(0) for s in range(60)], 0
    )
    np.testing.assert_allclose(many, [1 / 3, 1 / 3, 1 / 3, 0.0], atol=0.04)
    few = DiscreteHMM(5, 4, init="near_uniform", max_iter=0, random_state=0).fit(symbols)
    assert few.emissionprob_.shape == (5, 4)


def test_no_parameter_of_an_earlier_fit_is_left():
    even = np.full((2, 2), 0.5)
    model = DiscreteHMM(2, random_state=0).fit([[0, 1, 2, 3]])
    model.set_model(np.array([0.5, 0.5]) + 4e-9, even, even)  # the sum is one up to rounding
    assert not hasattr(model, "objectives_") and not hasattr(model, "converged_")


def test_a_state_without_weight_keeps_its_parameters():
    model = GaussianHMM(3, random_state=0).fit([np.random.default_rng(0).normal(size=(9, 1))])
    means, covariances = model.means_.copy(), model.covariances_.copy()
    n, own, square = np.array([[2.0], [5e-10], [5e-11]]), 7.0, 50.0
    model._maximize_emissions(np.hstack([n, own * n, square * n]))
    np.testing.assert_allclose(model.means_[:2], own)
    np.testing.assert_allclose(model.covariances_[:2, 0], square - own**2)
    np.testing.assert_array_equal([model.means_[2], model.covariances_[2]], [means[2], covariances[2]])


def test_sequences_are_laid_end_to_end():
    batch = as_symbols([[1, 2], [NAN, 0.0, 3.0], [5]])
    assert batch.values.tolist() == [1, 2, -1, 0, 3, 5] and batch.offsets.tolist() == [0, 2, 5, 6]
    assert len(batch) == 3 and batch.lengths.tolist() == [2, 3, 1]
    assert [part.tolist() for part in batch.split(batch.values)] == [[1, 2], [-1, 0, 3], [5]]
    some = batch.only(np.array([1, 2]))
    assert some.values.tolist() == [-1, 0, 3, 5] and some.offsets.tolist() == [0, 3, 4]
    vectors = as_vectors([[0.5, NAN], [[2.0]]])
    assert vectors.values.shape == (3, 1) and vectors.offsets.tolist() == [0, 2, 3]
    with pytest.raises(ValueError, match="Complex"):
        as_vectors([[1j]])
    with pytest.raises(ValueError, match=r"sequences\[1\]\[1\] is 2"):
        as_symbols([[0, 1], [1, 2]], 2)


def test_without_pseudocounts_a_symbol_that_never_comes_has_no_price():
    sequences = [[0, 1, 0, 0, 1], [1, 1, 0]]
    model = DiscreteHMM(2, n_symbols=3, pseudocount=0.0, random_state=0).fit(sequences)
    assert not model.emissionprob_[:, 2].any() and model._log_prior() == 0.0
    assert model.objectives_[-1] == pytest.approx(model.score_samples(sequences).sum())
