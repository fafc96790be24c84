"""Fisher kernel learning: its gradient against differences, its steps, its neighbours."""

import pickle

import numpy as np
import pytest
from scipy.optimize import check_grad

from models import DiscreteHMM, FisherKernelLearning
from models.base.estimator import not_fitted_error
from models.score_spaces.count_derivatives import expected_counts
from models.score_spaces.fisher_kernel_learning import _Learner, _neighbour_error, fisher_scores
from models.score_spaces.sufficient_statistics import statistics_of
from tests.support.chains import DISCRETE, kinds, random_discrete


def parts(model):
    return model.startprob_, model.transmat_, model.emissionprob_


def test_expected_counts_and_their_derivatives():
    rng = np.random.default_rng(0)
    model = random_discrete(rng)
    batch = model._batch(DISCRETE)
    directions = rng.normal(size=(4, 24))
    counts, tangents = expected_counts(batch.offsets, batch.values, *parts(model), directions)
    samples = statistics_of(model, DISCRETE)
    np.testing.assert_allclose(counts, samples.expect().table, atol=1e-12)
    step = 1e-5
    for s, direction in enumerate(directions):  # bent by its own direction, up and down
        up, down = (samples.expect(direction, np.full(4, sign * step)).table[s] for sign in (1, -1))
        np.testing.assert_allclose(tangents[s], (up - down) / (2 * step), atol=1e-8)
    without, none = expected_counts(batch.offsets, batch.values, *parts(model), np.zeros((4, 0)))
    np.testing.assert_array_equal(without, counts)
    assert not none.any()


def test_scores_are_the_gradient_in_the_logarithms():
    model = random_discrete(np.random.default_rng(1))
    batch = model._batch(DISCRETE)
    counts, _ = expected_counts(batch.offsets, batch.values, *parts(model), np.zeros((4, 0)))
    scores = fisher_scores(counts, parts(model))
    learner = _Learner(model, DISCRETE, np.array([0, 1, 0, 1]), 0.0)
    for k in range(24):
        likelihoods = []
        for sign in (1, -1):
            omega = learner.start[:-1].copy()
            omega[k] += sign * 1e-5
            likelihoods.append(DiscreteHMM(3).set_model(*learner.probabilities(omega)).score_samples(DISCRETE))
        np.testing.assert_allclose(scores[:, k], (likelihoods[0] - likelihoods[1]) / 2e-5, atol=1e-7)


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


def test_the_gradient_of_the_objective():
    X, y = kinds(2, (6,) * 5)
    X[0][1] = -1
    model = DiscreteHMM(2, 4, 1.0, random_state=0).fit(X)
    learner = _Learner(model, X, y, penalty=0.1)
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
    np.testing.assert_array_equal(model.predict(X), np.array(["a", "b"])[y])  # each is its own neighbour
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    twin = FisherKernelLearning(3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(twin.emissionprob_, model.emissionprob_)
    held = FisherKernelLearning(3, penalty=1e6, random_state=0).fit(X, y)
    np.testing.assert_allclose(held.transmat_, held.model_.transmat_, atol=1e-5)


def test_what_is_refused():
    X, y = kinds()
    for parameters, message in (
        ({"penalty": -1.0}, "penalty must be a number of at least 0"),
        ({"pseudocount": 0.0}, "pseudocount must be a number above 0"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"n_states": "x"}, "n_states must be"),
    ):
        with pytest.raises(ValueError, match=message):
            FisherKernelLearning(**parameters).fit(X, y)
    with pytest.raises(not_fitted_error(), match="not fitted"):
        FisherKernelLearning().predict(X)
