"""Latent Dirichlet allocation against the sum over all topics of all words, and its bound, which never goes down."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln, logsumexp, softmax

from models import LatentDirichletAllocation
from models.numerics.topic_inference import digamma as own_digamma
from models.numerics.topic_inference import share_word
from tests.support.topic_models import bound_by_definition, corpus, fitted


def log_evidence(words, topics, prior):
    """Return log P(w) of one document: theta is integrated out, the topics of all words are enumerated."""
    total = []
    for z in itertools.product(range(len(topics)), repeat=len(words)):
        counts = np.bincount(z, minlength=len(topics))
        shares = gammaln(prior.sum()) - gammaln(prior.sum() + len(words))
        shares += (gammaln(prior + counts) - gammaln(prior)).sum()
        total.append(shares + np.log(topics[list(z), words]).sum())
    return np.logaddexp.reduce(total)


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_what_it_is_defined_as_below_the_evidence_and_highest_where_it_stops(seed, tilted):
    rng = np.random.default_rng(seed)
    topics, prior = rng.dirichlet(np.ones(4), 3), rng.uniform(0.2, 1.5, 3)
    words = rng.integers(0, 4, size=6)
    X = np.bincount(words, minlength=4).astype(float)
    model = fitted(topics, prior)
    tilt = rng.normal(size=3) * tilted
    gamma, bound, sums = model._infer(sp.csr_array(X[None]), tol=1e-12, **({"tilt": tilt[None]} if tilted else {}))
    phi = np.exp(digamma(gamma[0]) + tilt) * topics.T
    phi /= phi.sum(axis=1, keepdims=True)

    def tilted_bound(gamma, phi):
        return bound_by_definition(X, topics, prior, gamma, phi) + X @ phi @ tilt

    assert bound[0] == pytest.approx(tilted_bound(gamma[0], phi), rel=1e-10)
    np.testing.assert_allclose(sums[0], X[:, None] * phi, atol=1e-10)
    np.testing.assert_allclose(gamma[0], prior + X @ phi, atol=1e-8)
    evidence = log_evidence(words, topics * np.exp(tilt)[:, None], prior)
    assert evidence - 1.0 < bound[0] < evidence
    for _ in range(50):
        other = gamma[0] * np.exp(0.1 * rng.normal(size=3))
        near = phi * np.exp(0.1 * rng.normal(size=phi.shape))
        assert tilted_bound(other, near / near.sum(axis=1, keepdims=True)) < bound[0]
    assert tilted or model.score_samples(X[None])[0] == pytest.approx(bound[0], abs=1e-6)


@pytest.mark.parametrize("size", [-2000.0, 2000.0])
def test_a_bend_that_is_the_same_for_all_topics_only_multiplies_the_words(size):
    X, topics = sp.csr_array(corpus(0, words=6)[:4]), np.random.default_rng(0).dirichlet(np.ones(6), 3)
    model, strength = fitted(topics, 0.4), np.array([1.0, 0.5, 0.0, -1.0])
    gamma, bound, sums = model._infer(X, by_document=True, tol=1e-10)
    bent = model._infer(X, by_document=True, bend=np.full((6, 3), size), strength=strength, tol=1e-10)
    tilted = model._infer(X, by_document=True, tilt=size * strength[:, None] * np.ones((4, 3)), tol=1e-10)
    for other_gamma, other_bound, other_sums in (bent, tilted):
        np.testing.assert_allclose(other_gamma, gamma, rtol=1e-9)
        np.testing.assert_allclose(other_sums, sums, rtol=0, atol=1e-9)
        np.testing.assert_allclose(other_bound, bound + size * strength * X.sum(axis=1), rtol=1e-12)


def test_a_strong_bend_gives_a_word_to_its_topic_however_unlikely_that_is():
    # E log theta of the prior is about -1e4 for a topic without words: its weight underflows
    topics = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    model, bend = fitted(topics, 1e-4), np.array([[9e4, 0.0], [0.0, 9e4], [9e4, 0.0]])
    gamma, bound, sums = model._infer(sp.csr_array([[2.0, 3.0, 1.0]]), bend=bend, strength=np.ones(1))
    np.testing.assert_allclose(sums[0], [[2.0, 0.0], [0.0, 3.0], [1.0, 0.0]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(gamma, [[3.0001, 3.0001]], rtol=1e-12)
    phi = np.array([[1.0, 1e-300], [1e-300, 1.0], [1.0, 1e-300]])
    prior, counts = np.full(2, 1e-4), np.array([2.0, 3.0, 1.0])
    plain = bound_by_definition(counts, topics, prior, gamma[0], phi)
    assert bound[0] == pytest.approx(plain + 6 * 9e4, rel=1e-12)


def test_explicit_zeros_say_nothing_and_stay_in_the_callers_matrix():
    X = sp.csr_array((np.array([1.0, 0.0, 2.0, 3.0, 0.0, 1.0]), [0, 1, 2, 0, 1, 2], [0, 3, 6]), shape=(2, 3))
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    components = [LatentDirichletAllocation(2, random_state=0).fit(M).components_ for M in (X, X.toarray())]
    np.testing.assert_array_equal(*components)
    for part, old in zip((X.data, X.indices, X.indptr), before):
        np.testing.assert_array_equal(part, old)


def test_digamma():
    x = np.concatenate([np.geomspace(1e-8, 1e8, 200), [0.5, 1.0, 10.0]])
    np.testing.assert_allclose([own_digamma(v) for v in x], digamma(x), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("size", [0.0, -3.0, -2000.0, 2000.0])
def test_a_word_is_shared_by_the_exponentials_of_its_logs(size):
    logs, weights, shares = size + np.array([0.3, -1.2, -np.inf, 0.0]), np.array([-1.0, 2.0, 0.5, -900.0]), np.empty(4)
    assert share_word(logs, weights, shares) == pytest.approx(logsumexp(logs + weights), rel=1e-14)
    np.testing.assert_allclose(shares, softmax(logs + weights), rtol=1e-12)


def test_the_tolerance_is_a_rise_of_the_bound_per_word():
    X, tol = corpus(3), 1e-4
    model = LatentDirichletAllocation(3, tol=tol, random_state=0).fit(X)
    rises = np.diff(model.objectives_) / X.sum()
    assert model.converged_ and rises[-1] <= tol < rises[-2]
