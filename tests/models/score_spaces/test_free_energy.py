"""The free energy test: Bayes' rule by enumeration, the bound of topics, priors, impossible samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln, logsumexp

from models import DiscreteHMM, FreeEnergyClassifier, FreeEnergyScore, GaussianHMM, LatentDirichletAllocation
from tests.support.chains import DISCRETE, VECTORS, enumerate_paths, random_discrete, random_gaussian
from tests.support.topic_models import corpus


def with_models(models, priors):
    classifier = FreeEnergyClassifier(models[0])
    classifier.models_, classifier.priors_ = list(models), np.asarray(priors)
    classifier.classes_ = np.arange(len(models))
    return classifier


@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
def test_of_chains_it_is_the_rule_of_bayes(kind):
    rng = np.random.default_rng(0)
    models = [random_discrete(rng) if kind == "discrete" else random_gaussian(rng) for _ in range(3)]
    X = DISCRETE if kind == "discrete" else [np.array(x) for x in VECTORS]
    priors = np.array([0.5, 0.3, 0.2])
    classifier = with_models(models, priors)
    joint = np.array([[np.log(p * sum(enumerate_paths(m, x).values())) for m, p in zip(models, priors)] for x in X])
    np.testing.assert_allclose(classifier.predict_joint_log_proba(X), joint, rtol=1e-10)
    posterior = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_log_proba(X), posterior, rtol=1e-8, atol=1e-12)
    assert classifier.predict(X).tolist() == joint.argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", ["discrete", "gaussian", "topics"])
def test_it_is_a_linear_rule_on_the_free_energy_terms(kind):
    rng = np.random.default_rng(1)
    if kind == "topics":
        model, X = LatentDirichletAllocation(2, max_iter=5, random_state=0), corpus(0)
    elif kind == "discrete":
        model, X = DiscreteHMM(2, random_state=0), [rng.integers(0, 3, size=rng.integers(3, 9)) for _ in range(30)]
    else:
        model, X = GaussianHMM(2, random_state=0), [rng.normal(size=(5, 2)) + k % 2 for k in range(30)]
    y = np.where(np.arange(len(X)) % 3 == 1, "one", "other")
    classifier, space = FreeEnergyClassifier(model).fit(X, y), FreeEnergyScore(model).fit(X, y)
    features = space.transform(X)
    width = features.shape[1] // 2
    energies = np.column_stack([features[:, :width].sum(axis=1), features[:, width:].sum(axis=1)])
    shares = np.array([(y == label).mean() for label in ("one", "other")])
    np.testing.assert_allclose(classifier.priors_, shares)
    np.testing.assert_allclose(classifier.predict_joint_log_proba(X), energies + np.log(shares), rtol=1e-5)
    equal = FreeEnergyClassifier(model, priors="uniform").fit(X, y)  # the sign of F_+ - F_-
    clear = np.abs(energies[:, 0] - energies[:, 1]) > 1e-3
    expected = np.where(energies[:, 0] > energies[:, 1], "one", "other")
    assert equal.predict(X)[clear].tolist() == expected[clear].tolist()


def test_every_term_of_topics_is_that_of_the_bound():
    """For a converged document, E log theta cancels in the sum of all terms, but not in each term."""
    X = corpus(0)
    space = FreeEnergyScore(LatentDirichletAllocation(3, doc_topic_prior=0.7, max_iter=3, random_state=0)).fit(X)
    model = space.models_[0]
    gamma, bound, counts = model._infer(sp.csr_array(X), by_document=True)
    alpha, log_theta = model.doc_topic_prior_, digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    totals = counts.sum(axis=2, keepdims=True)
    phi = np.where(counts > 0.0, counts / np.where(totals > 0.0, totals, 1.0), 1.0)
    terms = [
        gammaln(alpha.sum()) - gammaln(gamma.sum(axis=1, keepdims=True)),
        (alpha - gamma) * log_theta + gammaln(gamma) - gammaln(alpha), counts.sum(axis=1) * log_theta,
        (counts * np.log(model.components_.T)).reshape(len(X), -1), -(counts * np.log(phi)).sum(axis=1),
    ]  # fmt: skip
    found = space.transform(X)
    np.testing.assert_allclose(found, np.hstack(terms), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), bound, rtol=1e-6)


def test_what_no_class_can_have_made_gets_the_priors():
    X, y = [[0, 0], [0, 0, 0], [1, 1]], [0, 0, 1]
    classifier = FreeEnergyClassifier(DiscreteHMM(1, pseudocount=0.0)).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba([[0, 1], [0], [1]]), [[2 / 3, 1 / 3], [1, 0], [0, 1]])
    assert classifier.predict([[0, 1], [1]]).tolist() == [0, 1]
