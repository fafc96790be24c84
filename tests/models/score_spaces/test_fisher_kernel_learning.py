"""Fisher kernel learning: its gradient against differences, its steps, its neighbours."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from models import DiscreteHMM, FisherKernelLearning, GaussianHMM
from models.numerics.count_derivatives import expected_statistics
from models.score_spaces.fisher_kernel_learning import _blocks, _Learner, _neighbour_error, fisher_scores
from models.score_spaces.sufficient_statistics import statistics_of
from tests.support.chains import DISCRETE, VECTORS, kinds, random_discrete, random_gaussian


def parts(model):
    return model.startprob_, model.transmat_, model._emission_potentials()


@pytest.mark.parametrize("kind", ["discrete", "vectors"])
def test_expected_statistics_and_their_derivatives(kind):
    rng = np.random.default_rng(0)
    model = random_discrete(rng) if kind == "discrete" else random_gaussian(rng)
    X = DISCRETE if kind == "discrete" else [*VECTORS, [[0.2, -0.4], [1.0, 0.3]]]
    batch = model._batch(X)
    features = model._emission_features(batch)
    directions = rng.normal(size=(4, 3 + 9 + 3 * features.shape[1]))
    counts, tangents = expected_statistics(batch.offsets, features, *parts(model), directions)
    samples = statistics_of(model, X)
    np.testing.assert_allclose(counts, samples.expect().table, atol=1e-12)
    step = 1e-5
    for s, direction in enumerate(directions):  # bent by its own direction, up and down
        up, down = (samples.expect(direction, np.full(4, sign * step)).table[s] for sign in (1, -1))
        np.testing.assert_allclose(tangents[s], (up - down) / (2 * step), atol=1e-7)
    without, none = expected_statistics(batch.offsets, features, *parts(model), np.zeros((4, 0)))
    np.testing.assert_array_equal(without, counts)
    assert not none.any()


@pytest.mark.parametrize("kind", ["discrete", "vectors"])
def test_scores_are_the_gradient_in_the_parameters(kind):
    rng = np.random.default_rng(1)
    model = random_discrete(rng) if kind == "discrete" else random_gaussian(rng)
    X = DISCRETE if kind == "discrete" else [*VECTORS, [[0.2, -0.4], [1.0, 0.3]]]
    batch = model._batch(X)
    learner = _Learner(model, model._batch(X), np.array([0, 1, 0, 1]), 0.0)
    at = learner.parts(learner.start[:-1])
    table = learner.statistics(at, np.zeros((4, 0)))[0]
    scores = fisher_scores(table, _blocks(model), at)
    assert scores.shape[1] == learner.start.size - 1 and len(batch) == 4
    for k in range(scores.shape[1]):
        likelihoods = []
        for sign in (1, -1):
            omega = learner.start[:-1].copy()
            omega[k] += sign * 1e-5
            start, transitions, emissions = learner.parts(omega)
            if kind == "discrete":
                moved = DiscreteHMM(3).set_model(start, transitions, emissions)
            else:
                moved = GaussianHMM(3).set_model(start, transitions, *np.hsplit(emissions, 2))
            likelihoods.append(moved.score_samples(X))
        np.testing.assert_allclose(scores[:, k], (likelihoods[0] - likelihoods[1]) / 2e-5, atol=1e-6)


def test_the_error_is_that_of_random_neighbours():
    rng = np.random.default_rng(2)
    scores, codes, kappa = rng.normal(size=(6, 3)), np.array([0, 0, 1, 1, 1, 2]), 0.7
    expected = 0.0
    for t in range(6):
        weights = np.array([np.exp(-kappa * ((scores[t] - scores[s]) ** 2).sum()) * (s != t) for s in range(6)])
        expected += weights[codes == codes[t]].sum() / weights.sum() / 6
    error, by_score, by_log_kappa = _neighbour_error(scores, codes[:, None] == codes, kappa)
    assert error == pytest.approx(1 - expected)

    def moved(point):
        return _neighbour_error(point[:-1].reshape(6, 3), codes[:, None] == codes, np.exp(point[-1]))

    point = np.append(scores.ravel(), np.log(kappa))
    gradient = np.append(by_score.ravel(), by_log_kappa)
    assert check_grad(lambda q: moved(q)[0], lambda q: gradient, point, epsilon=1e-6) < 1e-6


@pytest.mark.parametrize("kind", ["discrete", "vectors"])
def test_the_gradient_of_the_objective(kind):
    X, y = kinds(2, (6,) * 5)
    X[0][1] = -1
    model = DiscreteHMM(2, 4, pseudocount=1.0, random_state=0).fit(X)
    if kind == "vectors":
        X = [np.random.default_rng(s).normal(size=(6, 2)) + 0.5 * label for s, label in enumerate(y)]
        X[0][1, 0] = np.nan
        model = GaussianHMM(2, random_state=0).fit(X)
    learner = _Learner(model, model._batch(X), y, penalty=0.1)
    point = learner.start + 0.3 * np.random.default_rng(3).normal(size=learner.start.size)
    differences = []
    for k in range(point.size):
        up, down = point.copy(), point.copy()
        up[k] += 1e-5
        down[k] -= 1e-5
        differences.append((learner(up)[0] - learner(down)[0]) / 2e-5)
    np.testing.assert_allclose(learner(point)[1], differences, atol=1e-8)


def test_learning_lowers_the_error_and_finds_the_neighbours():
    everything, labels = kinds(2, (30,) * 60)
    X, y, new, truth = everything[::3], labels[::3], everything[1::3], labels[1::3]
    model = FisherKernelLearning(3, random_state=0).fit(X, np.array(["a", "b"])[y])
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all() and model.objectives_[
        -1
    ] < 0.7 * model.objectives_[0]
    assert model.n_iter_ == model.objectives_.size - 1
    assert model.score(new, np.array(["a", "b"])[truth]) > 0.8
    np.testing.assert_array_equal(model.predict(X), np.array(["a", "b"])[y])  # each sample is its own nearest neighbor
    twin = FisherKernelLearning(3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(twin.emissionprob_, model.emissionprob_)
    held = FisherKernelLearning(3, penalty=1e6, random_state=0).fit(X, y)
    np.testing.assert_allclose(held.transmat_, held.model_.transmat_, atol=1e-5)


def test_the_last_objective_is_the_error_of_neighbours_of_the_transformed_sequences():
    X, y = kinds(2, (12,) * 8)
    model = FisherKernelLearning(2, penalty=0.0, max_iter=5, random_state=0).fit(X, y)
    scores = model.transform(X)
    p = np.exp(-((scores[:, None] - scores) ** 2).sum(axis=2)) * ~np.eye(len(scores), dtype=bool)
    right = (p * (y[:, None] == y)).sum(axis=1) / p.sum(axis=1)
    assert model.objectives_[-1] == pytest.approx(1.0 - right.mean(), rel=1e-9)


def test_vectors_are_learned_whatever_their_units():
    rng = np.random.default_rng(5)
    models = [random_gaussian(rng, 2) for _ in range(2)]
    X, new = ([x for model in models for x in model.sample([20] * 15, seed)[0]] for seed in (0, 1))
    y = np.repeat(["a", "b"], 15)
    X[3][4, 1] = np.nan
    model = FisherKernelLearning(2, observations="vectors", max_iter=20, random_state=0).fit(X, y)
    assert model.objectives_[-1] < model.objectives_[0] and model.score(new, y) > 0.6
    assert model.means_.shape == model.variances_.shape == (2, 2) and (model.variances_ > 0.0).all()
    assert model.transform(new).shape == (30, 2 + 4 + 2 * 4)
    far = [x * [1024.0, 0.25] for x in new]
    again = FisherKernelLearning(2, observations="vectors", max_iter=20, random_state=0)
    again.fit([x * [1024.0, 0.25] for x in X], y)
    np.testing.assert_array_equal(again.predict(far), model.predict(new))
