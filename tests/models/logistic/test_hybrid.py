"""Hybrid naive Bayes: leave-one-out against brute force, its optimality, calibration, regions, hard cases."""

import contextlib
import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from models import HybridNaiveBayes, LogisticRegression, MultinomialNaiveBayes
from models.logistic import hybrid
from models.logistic.hybrid import Likelihood

FORMS = [
    {}, {"regions": 3}, {"regions": 3, "normalize": False}, {"regions": 3, "shared_words": False, "alpha": 0.3},
    {"regions": [1, 4, 7], "shared_words": False},
]  # fmt: skip


def documents(seed=0, count=40, classes=2, words=12):
    """Return word counts of overlapping classes (one document empty, one partly, one halved) and class codes."""
    rng = np.random.default_rng(seed)
    codes = np.arange(count) % classes
    rates = rng.gamma(1.5, 1.0, (classes, words))
    X = rng.poisson(rates[codes] * rng.gamma(1.0, 1.0, (count, 1))).astype(float)
    X[3, :4], X[5], X[6] = 0.0, 0.0, 0.5 * X[6]
    return X, codes


def held_out_by_brute_force(model, X, codes):
    """Return b of every document, each from a model of all other documents."""
    found = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        widths = np.diff(model._bounds)
        starts = model._bounds[:-1]
        tables = [
            np.array([X[others & (codes == k)][:, a : a + n].sum(axis=0) for k in range(codes.max() + 1)])
            for a, n in zip(starts, widths)
        ]
        if model.shared_words:
            tables = [np.sum(tables, axis=0)] * len(tables)
        b = []
        for a, n, N in zip(starts, widths, tables):
            P = (N + model.alpha) / (N + model.alpha).sum(axis=1, keepdims=True)
            part = X[i, a : a + n]
            b.append(np.log(P) @ part / ((part.sum() or 1.0) if model.normalize else 1.0))
        found.append(np.array(b).T)
    return np.array(found)


def likelihood_of(model, X, codes):
    """Return the leave-one-out likelihood and the evidence as `fit` computes them."""
    A, weights = model._counts(X), np.ones(codes.size)
    evidence = model._evidence(A)
    model._hold_out(A, codes, weights, model._class_counts(A, codes, weights), model.alpha, evidence)
    return Likelihood(evidence, codes, weights), evidence


@pytest.mark.parametrize("form", FORMS, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_is_that_of_brute_force(form, classes):
    X, codes = documents(classes=classes)
    model = HybridNaiveBayes(C=1.0, **form).fit(X, codes)
    _, evidence = likelihood_of(model, X, codes)
    assert np.allclose(evidence, held_out_by_brute_force(model, X, codes), rtol=1e-12, atol=1e-12)
    if model.regions == 1:  # counts that include the document give another result
        assert np.abs(evidence - model.evidence(X)).max() > 0.01


@pytest.mark.parametrize("form", FORMS, ids=repr)
@pytest.mark.parametrize("classes, C", [(2, math.inf), (3, 2.0)])
def test_theta_maximizes_the_likelihood(form, classes, C):
    X, codes = documents(1, 60, classes)
    model = HybridNaiveBayes(C=C, **form).fit(X, codes)
    likelihood, evidence = likelihood_of(model, X, codes)
    likelihood.penalty = 1.0 / C
    theta = np.concatenate([model.intercept_[1:], model.theta_])
    assert np.abs(likelihood.at(theta).gradient()).max() < 1e-6
    rng = np.random.default_rng(0)
    away = theta + 0.1 * rng.normal(size=theta.size)
    differences = approx_fprime(away, lambda t: likelihood.at(t).value, 1e-7)
    assert np.allclose(likelihood.at(away).gradient(), differences, rtol=1e-4, atol=1e-4)
    scores = model.intercept_ + evidence @ model.theta_
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    own = np.log(P[np.arange(len(X)), codes] / P.sum(axis=1))
    assert math.isclose(own.sum(), model.log_likelihood_, rel_tol=1e-12)
    assert model.C_ == C


@pytest.mark.parametrize("classes", [2, 3])
def test_theta_of_the_training_likelihood_maximizes_that(classes):
    X, codes = documents(2, 60, classes)
    models = {theta: HybridNaiveBayes(2, theta=theta, C=1e6).fit(X, codes) for theta in ("loo", "training")}
    inside = {theta: model.predict_log_proba(X)[np.arange(60), codes].sum() for theta, model in models.items()}
    model = models["training"]
    assert math.isclose(model.log_likelihood_, inside["training"], rel_tol=1e-10)
    assert inside["training"] > inside["loo"] and model.log_likelihood_ > models["loo"].log_likelihood_
    for one, other in zip(model.log_probabilities_, models["loo"].log_probabilities_):
        assert np.array_equal(one, other)
    if classes == 2:
        evidence = model.evidence(X)
        logistic = LogisticRegression(C=math.inf).fit(evidence[:, 1] - evidence[:, 0], codes)  # eqs. 8 to 10
        assert np.allclose(model.theta_, logistic.coef_[0], rtol=1e-4)


@pytest.mark.parametrize("form", FORMS, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("how", ["loo", "training"])
def test_the_deviation_of_leave_one_out_is_that_of_brute_force(form, classes, how):
    X, codes = documents(3, 60, classes)
    train, test = np.arange(60) < 40, np.arange(60) >= 40
    model = HybridNaiveBayes(C=1.0, theta=how, **form).fit(X[train], codes[train])
    held_out = held_out_by_brute_force(model, X[train], codes[train])
    points = np.random.default_rng(4).normal(size=(3, classes - 1 + model.theta_.size))
    found = model.leave_one_out_deviation(X[train], codes[train], sp.csr_array(X[test]), codes[test], points)
    for k, point in enumerate(points):
        means = []
        for evidence, own in ((model.evidence(X[test]), codes[test]), (held_out, codes[train])):
            scores = evidence @ point[classes - 1 :] + np.concatenate([[0.0], point[: classes - 1]])
            P = np.exp(scores - scores.max(axis=1, keepdims=True))
            means.append(np.log(P[np.arange(own.size), own] / P.sum(axis=1)).mean())
        assert np.allclose([found.expected[k], found.leave_one_out[k]], means, rtol=1e-10)
        assert math.isclose(found.deviation[k], abs(means[0] - means[1]), rel_tol=1e-8)
    fitted = model.leave_one_out_deviation(X[train], codes[train], X[test], codes[test])
    own = model.predict_log_proba(X[test])[np.arange(20), codes[test]].mean()
    assert math.isclose(fitted.expected, own, rel_tol=1e-10) and np.ndim(fitted.deviation) == 0
    if how == "loo":
        assert math.isclose(fitted.leave_one_out, model.log_likelihood_ / 40, rel_tol=1e-10)  # eq. 13: the mean


def test_the_deviation_refuses_other_documents_labels_and_shapes():
    X, y = documents()
    model = HybridNaiveBayes(2, C=1.0).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match="X and y must be the documents of the fit"):
        model.leave_one_out_deviation(X[10:], y[10:], X[30:], y[30:])
    with pytest.raises(ValueError, match="y_test must hold 10 labels among"):
        model.leave_one_out_deviation(X[:30], y[:30], X[30:], y[30:] + 1)
    with pytest.raises(ValueError, match="y must hold 30 labels among"):
        model.leave_one_out_deviation(X[:30], y[:29], X[30:], y[30:])
    for theta in ([1.0, 1.0], [1.0, np.nan, 1.0], np.ones((2, 2, 3)), 1.0):
        with pytest.raises(ValueError, match="theta must hold 3 finite numbers"):
            model.leave_one_out_deviation(X[:30], y[:30], X[30:], y[30:], theta)
    with pytest.raises(ValueError, match="not fitted"):
        HybridNaiveBayes().leave_one_out_deviation(X, y, X, y)


def test_of_a_weight_below_one_all_is_held_out_and_else_one_copy(monkeypatch):
    """A document of small weight has the same held-out evidence as if it were removed from the samples."""
    X, y = documents()
    weight, seen, copies = np.ones(40), [], np.append(np.arange(40), [3, 3])
    weight[7] = 0.25
    monkeypatch.setattr(hybrid, "Likelihood", lambda *given: seen.append(given[0].copy()) or Likelihood(*given))
    model = HybridNaiveBayes(C=1.0).fit(X, y, sample_weight=weight)
    assert np.allclose(seen[0][7, y[7]], held_out_by_brute_force(model, X, y)[7, y[7]], rtol=1e-12)
    HybridNaiveBayes(C=1.0).fit(X, y, sample_weight=np.bincount(copies))
    HybridNaiveBayes(C=1.0).fit(X[copies], y[copies])
    np.testing.assert_allclose(seen[1], seen[2][:40], rtol=1e-12)
    with pytest.raises(ValueError, match="sample_weight is zero for every sample of the classes"):
        HybridNaiveBayes().fit(X, y, sample_weight=y)


def test_regions_with_words_of_their_own_are_naive_bayes_of_each():
    X, y = documents(4)
    model = HybridNaiveBayes([4, 8], shared_words=False, normalize=False, C=1.0).fit(X, y)
    for r, part in enumerate((X[:, :4], X[:, 4:])):
        naive = MultinomialNaiveBayes(priors="uniform").fit(part, y)
        expected = naive.predict_joint_log_proba(part) - math.log(0.5)
        assert np.allclose(model.evidence(X)[:, :, r], expected, rtol=1e-12)


def test_separable_evidence_gets_a_warning_and_a_finite_answer():
    X = np.array([[9, 1, 3, 0], [8, 0, 2, 1], [7, 1, 3, 1], [1, 9, 0, 3], [0, 8, 1, 2], [1, 7, 1, 3]])
    with pytest.warns(UserWarning, match="theta can separate the held-out samples"):
        model = HybridNaiveBayes(2).fit(X, [0, 0, 0, 1, 1, 1])
    assert np.isfinite(model.theta_).all() and model.solution_.status == "optimal"
    assert model.C_ == pytest.approx(1e8 / 6) and model.solution_.objective == pytest.approx(-6.0)
    assert model.score(X, [0, 0, 0, 1, 1, 1]) == 1.0
    with pytest.warns(UserWarning, match="theta can separate the training samples"):
        HybridNaiveBayes(2, theta="training").fit(X, [0, 0, 0, 1, 1, 1])
    again = HybridNaiveBayes(2, C=model.C_).fit(X, [0, 0, 0, 1, 1, 1])
    assert np.allclose(again.theta_, model.theta_, rtol=1e-6)


def test_documents_without_words_get_the_intercept():
    X, y = documents(8)
    model = HybridNaiveBayes(2).fit(X, y)
    expected = np.exp(model.intercept_) / np.exp(model.intercept_).sum()
    assert np.allclose(model.predict_proba(np.zeros((1, 12))), [expected])


def test_posteriors_are_never_nan():
    X, y = documents(9)
    for alpha in (1e-300, 1.0):
        model = HybridNaiveBayes(3, alpha=alpha, C=1.0).fit(X * np.where(np.arange(12) % 5, 1.0, 0.0), y)
        assert not np.isnan(model.predict_log_proba(1e6 * X)).any()
    assert not np.isnan(HybridNaiveBayes(C=1.0).fit(np.zeros((4, 2)), [0, 0, 1, 1]).predict_proba([[1.0, 0.0]])).any()
    alone = HybridNaiveBayes(C=1.0).fit(X[:4], [0, 0, 0, 1])  # a class without other documents
    assert not np.isnan(alone.predict_proba(X)).any()


def test_effective_lengths_that_are_the_lengths_are_naive_bayes():
    rng, y = np.random.default_rng(1), np.arange(60) % 2
    P = rng.dirichlet(np.ones(6), size=2)
    lengths = (4, 30)  # lengths of the regions, equal in all documents
    X = np.hstack([np.array([rng.multinomial(n, P[k]) for k in y]) for n in lengths])
    model = HybridNaiveBayes(regions=2, C=1.0).fit(X, y)
    bayes = MultinomialNaiveBayes(priors="uniform").fit(X[:, :6] + X[:, 6:], y)
    model.theta_, model.intercept_ = np.array(lengths, dtype=float), np.zeros(2)
    assert model.predict_log_proba(X) == pytest.approx(bayes.predict_log_proba(X[:, :6] + X[:, 6:]), abs=1e-9)


def unlike_lengths(m=80, words=12, length=(5, 40), seed=0):
    """Return documents of two classes with different lengths, and their classes."""
    rng, y = np.random.default_rng(seed), np.arange(m) % 2
    P = rng.dirichlet(np.ones(words), size=2)
    return np.array([rng.multinomial(rng.integers(*length), P[k]) for k in y]), y


def test_a_monotone_calibration_keeps_the_order_and_the_normalization_does_not():
    X, y = unlike_lengths()
    log_odds = np.diff(MultinomialNaiveBayes(priors="uniform").fit(X, y).predict_joint_log_proba(X), axis=1)[:, 0]
    order = np.argsort(log_odds)
    plain = np.diff(HybridNaiveBayes(normalize=False, C=10.0).fit(X, y).predict_log_proba(X), axis=1)[:, 0]
    assert (np.diff(plain[order]) >= -1e-9).all()
    normalized = np.diff(HybridNaiveBayes(C=10.0).fit(X, y).predict_log_proba(X), axis=1)[:, 0]
    assert (np.diff(normalized[order]) < -1e-3).any()


@pytest.mark.parametrize("model", [HybridNaiveBayes(C=1.0), LogisticRegression()])
def test_what_is_printed_ends_with_the_number_of_iterations(model, capsys):
    X, y = documents()
    for most, word in ((100, "converged"), (1, "not converged")):
        with contextlib.nullcontext() if most > 1 else pytest.warns(UserWarning):
            model.set_params(verbose=1, max_iter=most).fit(X, y)
        *lines, end = capsys.readouterr().out.splitlines()[2:]
        assert len(lines) == model.n_iter_ + 1 and end.startswith(f"{word} after {model.n_iter_} iteration")
