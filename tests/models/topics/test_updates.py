"""Topic models: EM steps compared with numerical maximization, starts, weights, the sampler, and refusals."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from models import LatentDirichletAllocation, MedLDA
from models.topics.medlda import Margins, contrasts
from models.topics.topics import dirichlet_step, tokens
from tests.support.topic_models import bound_by_definition, corpus, fitted


def phi_of(gamma, topics):
    phi = np.exp(digamma(gamma)) * topics.T
    return phi / phi.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("learn_prior", [False, True])
def test_a_step_maximizes_the_bound_by_each_of_its_parts(learn_prior):
    X, weight = corpus(3, documents=8, words=6).astype(float), np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.2, 1.0])
    settings = {"topic_word_prior": 0.3, "learn_prior": learn_prior, "random_state": 1, "tol": 0.0}
    start, after = (LatentDirichletAllocation(3, max_iter=k, **settings)._fit(X, weight) for k in (1, 2))
    documents = start._documents(X)
    gamma, bounds, sums = start._infer(documents, None, weight, tol=1e-10)
    topics, prior = start.components_, start.doc_topic_prior_
    phis = [phi_of(own, topics) for own in gamma]
    by_hand = [bound_by_definition(x, topics, prior, own, phi) for x, own, phi in zip(X, gamma, phis)]
    np.testing.assert_allclose(bounds, by_hand, rtol=1e-9)
    assert start.n_iter_ == 1 and after.n_iter_ == 2 and len(after.objectives_) == 3 and not after.converged_
    counts = sum(w * x[:, None] * phi for w, x, phi in zip(weight, X, phis)).T + 0.3
    np.testing.assert_allclose(sums[0], counts.T - 0.3, rtol=1e-8)
    again, gamma_, values = LatentDirichletAllocation(3, **settings), None, []
    again.doc_topic_prior_ = np.full(3, 1.0 / 3.0)
    again._initialize(documents, weight, np.random.default_rng(1))
    for _ in range(3):  # each step by hand, from the same start
        gamma_, own, sums_ = again._infer(documents, gamma_, weight)
        values.append(weight @ own + 0.3 * np.log(again.components_).sum())
        rows = sums_[0].T + 0.3
        last, again.components_ = again.components_, rows / rows.sum(axis=1, keepdims=True)
        if learn_prior:
            mean = np.average(digamma(gamma_) - digamma(gamma_.sum(axis=1))[:, None], axis=0, weights=weight)
            again.doc_topic_prior_ = dirichlet_step(again.doc_topic_prior_, mean)
    np.testing.assert_allclose(after.objectives_, values, rtol=1e-12)
    np.testing.assert_allclose(after.components_, last, rtol=1e-12)
    fresh = fitted(topics, prior)
    fresh.set_params(topic_word_prior=0.3, learn_prior=learn_prior)
    fresh._maximize(sums[0], gamma, weight)
    np.testing.assert_allclose(fresh.components_, counts / counts.sum(axis=1, keepdims=True), rtol=1e-8)
    assert fresh._log_prior() == pytest.approx(0.3 * np.log(fresh.components_).sum())
    if not learn_prior:
        np.testing.assert_array_equal(after.doc_topic_prior_, np.full(3, 1.0 / 3.0))
        return
    expected = np.average(digamma(gamma) - digamma(gamma.sum(axis=1))[:, None], axis=0, weights=weight)
    np.testing.assert_allclose(fresh.doc_topic_prior_, dirichlet_step(prior, expected), rtol=1e-12)
    np.testing.assert_allclose(digamma(fresh.doc_topic_prior_), digamma(prior.sum()) + expected, rtol=1e-8)

    def minus(log_alpha):
        alpha = np.exp(log_alpha)
        return gammaln(alpha).sum() - gammaln(alpha.sum()) - (alpha - 1.0) @ expected

    alpha = prior
    for _ in range(3000):
        alpha = dirichlet_step(alpha, expected)
    np.testing.assert_allclose(np.log(alpha), minimize(minus, np.zeros(3), tol=1e-12).x, atol=1e-4)
    tiny = dirichlet_step(np.array([1e-8, 1.0]), np.array([-1e9, -0.1]))  # by the second of the two starts
    np.testing.assert_allclose(digamma(tiny), digamma(1.0 + 1e-8) + np.array([-1e9, -0.1]), rtol=1e-6)


def test_starts_lie_between_all_words_and_single_documents():
    X = np.eye(4) * 50.0 + 1.0
    rows = np.array([LatentDirichletAllocation(4, max_iter=1, random_state=s, topic_word_prior=0.5) for s in range(30)])
    found = []
    for model in rows:
        model._initialize(sp.csr_array(X), None, np.random.default_rng(model.random_state))
        np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
        own = model.components_[np.argsort(model.components_.argmax(axis=1))]
        found.append(own)
    mean = np.mean(found, axis=0)  # the noise has mean one and a tenth of it for its deviation
    expected = 0.5 * X / X.sum(axis=1, keepdims=True) + 0.125
    np.testing.assert_allclose(mean, expected, rtol=0.1)
    assert 0.03 < (np.std(found, axis=0) / mean).mean() < 0.12
    weighted = LatentDirichletAllocation(1, topic_word_prior=1e-9)
    weighted._initialize(sp.csr_array(X), np.array([1e6, 1.0, 1.0, 1.0]), np.random.default_rng(0))
    assert weighted.components_[0, 0] > 0.8


def test_the_sampler_has_the_posterior_means_of_the_sum_over_all_topics():
    rng, prior = np.random.default_rng(0), np.array([0.4, 1.1])
    topics, bend, strength = rng.dirichlet(np.ones(3), 2), rng.normal(size=(3, 2)), np.array([0.7, -1.2])
    X = np.array([[2.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
    documents, model = sp.csr_array(X), fitted(topics, prior)
    owner, entry = tokens(documents)
    assert owner.tolist() == [0, 0, 0, 1, 1, 1] and entry.tolist() == [0, 0, 1, 2, 3, 3]
    found = model._sample_given(documents, bend, strength, 4000, np.random.default_rng(1))
    expected = np.zeros((4, 2))
    for d in range(2):
        words, places = documents.indices[entry[owner == d]], entry[owner == d]
        weights, total = np.zeros((4, 2)), 0.0
        for z in itertools.product(range(2), repeat=3):
            counts = np.bincount(z, minlength=2)
            log = (gammaln(prior + counts) - gammaln(prior)).sum()
            log += sum(np.log(topics[k, w]) + strength[d] * bend[w, k] for k, w in zip(z, words))
            total += np.exp(log)
            for k, place in zip(z, places):
                weights[place, k] += np.exp(log)
        expected += weights / total
    np.testing.assert_allclose(found, expected, atol=0.06)
    np.testing.assert_allclose(found.sum(axis=1), documents.data)
    with pytest.raises(ValueError, match="whole numbers"):
        tokens(sp.csr_array([[0.5, 1.0]]))


def test_shares_scores_and_the_parts_of_medlda():
    X = corpus(5, documents=6, words=5)
    model = fitted(np.random.default_rng(2).dirichlet(np.ones(5), 3), np.array([0.2, 0.5, 1.0]))
    gamma, bound, sums = model._infer(model._documents(X), by_document=True)
    np.testing.assert_allclose(model.transform(X), gamma / gamma.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.score_samples(X), bound)
    np.testing.assert_allclose(sums.sum(axis=1), gamma - model.doc_topic_prior_, atol=1e-4)
    codes, shares = np.array([0, 2, 1, 0, 2, 1]), gamma / gamma.sum(axis=1, keepdims=True)
    F, owner, other = contrasts(shares, codes, 3)
    for row, d, y in zip(F, owner, other):
        expected = np.zeros((3, 3))
        expected[codes[d]], expected[y] = shares[d], -shares[d]
        np.testing.assert_array_equal(row, expected.ravel())
    assert sorted(zip(owner, other)) == [(d, y) for d in range(6) for y in range(3) if y != codes[d]]
    C = np.array([1.0, 2.0, 0.5, 1.0, 4.0, 1.0])
    dual, eta = Margins(shares, codes, 3, C), np.random.default_rng(3).normal(size=(3, 3))
    scores = shares @ eta.T
    short = [max(0.0, max(1.0 + scores[d, y] - scores[d, c] for y in range(3) if y != c)) for d, c in enumerate(codes)]
    assert dual.primal(eta) == pytest.approx(0.5 * (eta**2).sum() + C @ short)
    held = np.bincount(owner, dual.multipliers, 6)
    assert (held <= C * (1.0 + 1e-7)).all() and (dual.multipliers >= 0.0).all()
    assert dual.multipliers.sum() - 0.5 * (dual.eta**2).sum() == pytest.approx(dual.primal(dual.eta), rel=1e-6)
    fit = MedLDA(2, random_state=0, max_iter=3, tol=0.0).fit(X, codes)
    counts = fit.topics_._infer(fit.topics_._documents(X))[0] - fit.topics_.doc_topic_prior_
    np.testing.assert_allclose(fit.decision_function(X), counts / X.sum(axis=1)[:, None] @ fit.coef_.T, rtol=1e-9)
    assert fit.n_iter_ == 3 and len(fit.objectives_) == 4
    settled = MedLDA(2, random_state=0, max_iter=3, tol=10.0).fit(X, codes)
    assert settled.n_iter_ == 1 and settled.objectives_[0] == fit.objectives_[0]
