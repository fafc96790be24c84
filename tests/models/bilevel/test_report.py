"""`explain_prior`: what a prior is worth on held-out samples, by definition."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import models
from models.bilevel.report import explain_prior
from models.explanations.given import distinct_folds

MEAN = 0.8 * (np.arange(60) < 4)


def drawn(samples=24, seed=0, along=MEAN):
    rng = np.random.default_rng(seed)
    y = np.array(["no", "yes"])[np.arange(samples) % 2]
    return rng.normal(size=(samples, along.size)) + np.outer(np.where(y == "yes", 1.0, -1.0), along), y


def prior_of(mean):
    return models.GenerativePrior(t=(-mean, mean), Omega=(0.1, 0.1))


@cache
def report_of_a_right_prior():
    return explain_prior(prior_of(MEAN), *drawn())


def test_a_right_prior_is_worth_more_than_the_samples_and_a_wrong_one_less():
    X, y = drawn()
    right, wrong = report_of_a_right_prior(), explain_prior(prior_of(-MEAN), X, y)
    samples, prior, both = (
        right.accuracy[rule].mean() for rule in ("samples alone", "prior alone", "prior and samples")
    )
    assert prior > samples + 0.1 and both > samples + 0.1
    assert wrong.accuracy["prior alone"].mean() < 0.2 and wrong.accuracy["prior and samples"].mean() > 0.5
    assert wrong.contradicting.size > 20 > 4 > right.contradicting.size
    assert wrong.model.choice_ == "samples alone"


def test_the_prior_alone_and_the_contradicting_samples_follow_from_its_hyperplane():
    X, y = drawn(30, 3)
    report = explain_prior(prior_of(MEAN), X, y)
    against = -np.where(y == "yes", 1.0, -1.0) * (X @ MEAN)  # equal Sigma and means of opposite sign: w along the mean
    order = np.flatnonzero(against > 0.0)
    assert report.contradicting.tolist() == order[np.argsort(-against[order])].tolist()
    folds = np.split(np.arange(30), 1)
    assert report.accuracy["prior alone"].mean() == pytest.approx(np.mean(against[folds[0]] <= 0.0))


def test_the_held_out_answers_of_the_classifier_are_of_fits_without_them():
    X, y = drawn(20, 5)
    y[3:5] = y[3:5][::-1]  # two wrong labels
    report = explain_prior(prior_of(MEAN), X, y)
    folds = distinct_folds(X, X[:0], np.zeros(0, int), (y == "yes").astype(int), np.arange(20))
    assert np.sort(np.concatenate([test for _, test in folds])).tolist() == list(range(20))
    for (train, test), share in zip(folds, report.accuracy["prior and samples"], strict=True):
        assert not set(train) & set(test)
        model = models.BilevelClassifier(prior_of(MEAN)).fit(X[train], y[train])
        assert share == np.mean(model.predict(X[test]) == y[test])


def test_sparse_samples_words_and_a_plot():
    X, y = drawn()
    dense, sparse = report_of_a_right_prior(), explain_prior(prior_of(MEAN), sp.csr_array(X), y)
    for rule, values in dense.accuracy.items():
        np.testing.assert_array_equal(sparse.accuracy[rule], values)
    lines = str(dense).splitlines()
    assert [line[:17].strip() for line in lines[:3]] == ["samples alone", "prior alone", "prior and samples"]
    assert lines[3] == dense.model.binding_ and f"{dense.contradicting.size} of 24" in lines[4]
    axes = pytest.importorskip("matplotlib") and dense.plot().axes[0]
    assert [bar.get_height() for bar in axes.patches] == [dense.accuracy[rule].mean() for rule in dense.accuracy]


def test_equal_means_have_no_prior_alone():
    X, y = drawn()
    report = explain_prior(models.GenerativePrior(t=(MEAN, MEAN), Omega=(0.1, 0.1)), X, y)
    assert np.isnan(report.accuracy["prior alone"]).all() and report.contradicting.size == 0
    assert "prior alone" not in str(report).splitlines()[0] + str(report).splitlines()[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"beta": 0.2}, "but beta came"), ({"C2": 1.0}, "but C2 came"), ({"kernel": "rbf"}, "but kernel came")],
)
def test_what_is_chosen_cannot_be_given(arguments, words):
    X, y = drawn()
    with pytest.raises(ValueError, match=words):
        explain_prior(prior_of(MEAN), X, y, **arguments)


def test_a_prior_of_another_type_is_refused():
    X, y = drawn()
    with pytest.raises(ValueError, match="GenerativePrior, but ndarray came"):
        explain_prior(MEAN, X, y)
