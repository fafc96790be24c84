"""Score spaces: gradients against differences, sums against likelihoods, statistics against enumeration."""

import itertools

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import models
from models.score_spaces.sufficient_statistics import statistics_of
from tests.support.chains import DISCRETE, VECTORS, enumerate_paths, random_discrete, random_gaussian
from tests.support.topic_models import corpus, fitted

SPACES = (models.FisherScore, models.FreeEnergyScore, models.SufficientStatistics)
NORMALIZED = ("startprob_", "transmat_", "emissionprob_", "components_")


def space_of(kind, model, **parameters):
    space = kind(model, **parameters)
    space.models_ = [model]
    if isinstance(model, models.LatentDirichletAllocation):
        space.n_features_in_ = model.n_features_in_
    return space


def differences(model, names, X, step=1e-5):
    """Return central differences of every sample's log-likelihood; moved probabilities are normalized again."""
    columns = []
    for name in names:
        kept = getattr(model, name)
        for place in np.ndindex(kept.shape):
            values = []
            for sign in (1.0, -1.0):
                moved = kept.copy()
                moved[place] += sign * step
                if name in NORMALIZED:
                    moved = moved / moved.sum(axis=-1, keepdims=True)
                setattr(model, name, moved)
                values.append(model.score_samples(X))
            columns.append((values[0] - values[1]) / (2 * step))
            setattr(model, name, kept)
    return np.array(columns).T


@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
def test_the_fisher_score_is_the_gradient_of_the_log_likelihood(kind):
    rng = np.random.default_rng(2)
    model = random_discrete(rng) if kind == "discrete" else random_gaussian(rng)
    X = DISCRETE if kind == "discrete" else VECTORS
    emissions = ["emissionprob_"] if kind == "discrete" else ["means_", "covariances_"]
    found = space_of(models.FisherScore, model).transform(X)
    np.testing.assert_allclose(found, differences(model, ["startprob_", "transmat_", *emissions], X), atol=1e-6)


def test_the_fisher_score_of_topics_is_the_gradient_of_the_bound(monkeypatch):
    rng = np.random.default_rng(3)
    model = fitted(rng.dirichlet(np.ones(4), 3), rng.uniform(0.4, 1.5, 3))
    X = rng.integers(0, 4, size=(5, 4)).astype(float)
    found = space_of(models.FisherScore, model).transform(X)
    plain = model._infer  # until convergence, for the differences
    monkeypatch.setattr(model, "_infer", lambda documents, **k: plain(documents, **{**k, "tol": 1e-13}))
    names = ["doc_topic_prior_", "components_"]
    np.testing.assert_allclose(found, differences(model, names, X, step=1e-4), atol=2e-5)


@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
def test_the_free_energy_terms_sum_to_the_log_likelihood(kind):
    rng = np.random.default_rng(4)
    model = random_discrete(rng) if kind == "discrete" else random_gaussian(rng)
    X = DISCRETE if kind == "discrete" else VECTORS
    found = space_of(models.FreeEnergyScore, model).transform(X)
    np.testing.assert_allclose(found.sum(axis=1), model.score_samples(X), rtol=1e-10, atol=1e-14)
    assert found.shape[1] == 2 * (3 + 9) + {"discrete": 12, "gaussian": 6}[kind]


def test_sufficient_statistics_are_expectations_over_all_paths():
    model = random_discrete(np.random.default_rng(5))
    found = space_of(models.SufficientStatistics, model).transform(DISCRETE)
    for row, x in zip(found, DISCRETE):
        weights = enumerate_paths(model, x)
        total, expected = sum(weights.values()), np.zeros(3 + 9 + 12)
        for path, weight in weights.items():
            expected[path[0]] += weight / total
            for i, j in itertools.pairwise(path):
                expected[3 + 3 * i + j] += weight / total
            for i, k in zip(path, x):
                if k != -1:
                    expected[12 + 4 * i + k] += weight / total
        np.testing.assert_allclose(row[:24], expected, atol=1e-12)
        transitions = expected[3:12].reshape(3, 3)
        hats = transitions / np.maximum(transitions.sum(axis=1, keepdims=True), 1e-300)
        logs = transitions * np.log(np.where(hats > 0, hats, 1.0))
        np.testing.assert_allclose(row[24 + 3 : 24 + 12], logs.ravel(), atol=1e-12)
        np.testing.assert_allclose(row[24:27], expected[:3] * np.log(expected[:3]), atol=1e-12)


def test_statistics_of_topics_are_expected_counts_of_words():
    X = corpus(1)
    space = models.SufficientStatistics(models.LatentDirichletAllocation(3, random_state=0)).fit(X)
    found = space.transform(X)
    words = found[:, 3:].reshape(len(X), X.shape[1], 3)
    np.testing.assert_allclose(words.sum(axis=2), X, atol=1e-9)
    np.testing.assert_allclose(words.sum(axis=1), found[:, :3], atol=1e-9)
    gamma = space.models_[0].doc_topic_prior_ + found[:, :3]
    np.testing.assert_allclose(gamma / gamma.sum(axis=1, keepdims=True), space.models_[0].transform(X), atol=1e-4)


@pytest.mark.parametrize("name", ["chain", "topics"])
def test_a_bent_posterior_has_the_divergence_that_its_partition_says(name):
    # the derivative of log Z by the strength is the bent statistic: expectations and partitions belong together
    rng = np.random.default_rng(6)
    if name == "chain":
        model, X = random_discrete(rng), DISCRETE
    else:
        model, X = fitted(rng.dirichlet(np.ones(4), 3), np.full(3, 0.7)), rng.integers(0, 4, size=(4, 4)).astype(float)
    samples = statistics_of(model, X)
    plain = samples.expect()
    weights, strength, step = rng.normal(size=plain.table.shape[1]), np.array([1.0, -0.5, 0.0, 0.3]), 1e-4
    bent = samples.expect(weights, strength)
    up, down = (samples.expect(weights, strength + sign * step).log_partition for sign in (1, -1))
    np.testing.assert_allclose((up - down) / (2 * step), bent.table @ weights, atol=1e-5)
    np.testing.assert_allclose(bent.table[2], plain.table[2], atol=1e-6)
    divergence = strength * (bent.table @ weights) - bent.log_partition + plain.log_partition
    assert (divergence >= -1e-8).all() and divergence[0] > 1e-3
    some = samples.expect(weights, strength[[3, 1]], np.array([3, 1]))
    np.testing.assert_allclose(some.table, bent.table[[3, 1]], atol=1e-9)
    np.testing.assert_allclose(some.log_partition, bent.log_partition[[3, 1]], atol=1e-9)


@pytest.mark.parametrize("kind", SPACES)
def test_a_model_for_each_class_and_a_linear_classifier(kind):
    rng = np.random.default_rng(7)
    one, two = random_discrete(rng), random_discrete(rng)
    X = one.sample([25] * 40, random_state=0)[0] + two.sample([25] * 40, random_state=1)[0]
    y = np.repeat(["one", "two"], 40)
    steps = make_pipeline(kind(models.DiscreteHMM(2, random_state=0)), models.SVC(kernel="linear", C=0.1))
    steps.fit(X[::2], y[::2])
    assert steps.score(X[1::2], y[1::2]) > 0.8
    space = steps[0]
    assert len(space.models_) == 2 and space.classes_.tolist() == ["one", "two"]
    alone = kind(models.DiscreteHMM(2, random_state=0), per_class=False).fit(X[::2], y[::2])
    assert 2 * alone.transform(X).shape[1] == space.transform(X).shape[1]
    own = models.DiscreteHMM(2, n_symbols=4, random_state=0).fit(X[:40:2])
    np.testing.assert_array_equal(space.models_[0].emissionprob_, own.emissionprob_)


def test_the_order_one_features_are_the_gradient_of_the_log_odds():
    rng = np.random.default_rng(4)
    first, second, third = (random_discrete(rng) for _ in range(3))
    names = ["startprob_", "transmat_", "emissionprob_"]
    space = models.LogLikelihoodScore(order=1)
    space.models_ = [first, second]
    found = space.transform(DISCRETE)
    logs = [model.score_samples(DISCRETE) for model in (first, second, third)]
    np.testing.assert_allclose(found[:, 0], logs[1] - logs[0])
    np.testing.assert_allclose(found[:, 1:25], differences(second, names, DISCRETE), atol=1e-6)
    np.testing.assert_allclose(found[:, 25:], -differences(first, names, DISCRETE), atol=1e-6)
    space.models_ = [first, second, third]
    np.testing.assert_allclose(space.transform(DISCRETE)[:, :2], np.array([logs[1] - logs[0], logs[2] - logs[0]]).T)
    space.models_ = [first]
    np.testing.assert_allclose(space.transform(DISCRETE)[:, 0], logs[0])
    space.order = 0
    space.models_ = [first, second, third]
    np.testing.assert_allclose(space.transform(DISCRETE), np.array(logs).T)
    assert space._n_features_out == 3


@pytest.mark.parametrize("kind", SPACES)
def test_log_likelihoods_are_in_the_span_of_the_free_energy_terms_alone(kind):
    rng = np.random.default_rng(0)
    model = random_discrete(rng, 2, 3)
    X = model.sample(rng.integers(3, 12, size=200), rng)[0]
    features = np.hstack([space_of(kind, model).transform(X), np.ones((200, 1))])
    logs = model.score_samples(X)
    rest = logs - features @ np.linalg.lstsq(features, logs, rcond=None)[0]
    assert abs(rest).max() < 1e-8 if kind is models.FreeEnergyScore else abs(rest).max() > 1e-2
