"""Judging classifiers: against definitions, scikit-learn's metrics and brute force."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from bench.metrics import Rates, accuracy_at, mean_interval, paired_p, roc, training_order


def answers(seed=0, count=200, classes=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, count)
    return truth, np.where(rng.random(count) < 0.6, truth, rng.integers(0, classes, count))


def test_the_lectures_rates():
    rates = Rates(81.0, 23.0, 252.0, 9644.0).named()
    assert round(100 * rates["sensitivity"], 1) == 24.3 and round(100 * rates["specificity"], 1) == 99.8
    assert round(100 * rates["error"], 2) == 2.75
    assert round(100 * rates["false negative rate"], 1) == 75.7 and round(100 * rates["false positive rate"], 1) == 0.2
    assert math.isclose(rates["precision"], 81 / 104) and math.isclose(rates["negative predictive value"], 9644 / 9896)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_rates_and_f1_against_scikit_learn(classes):
    truth, predicted = answers(classes=classes)
    counts = metrics.confusion_matrix(truth, predicted)
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(truth, predicted)
    for k in range(classes):
        right, of_truth, of_predicted = counts[k, k], counts[k].sum(), counts[:, k].sum()
        others = truth.size - of_truth - of_predicted + right
        rates = Rates(right, of_predicted - right, of_truth - right, others).named()
        assert np.allclose([rates["precision"], rates["sensitivity"], rates["f1"]], [precision[k], recall[k], f1[k]])
        assert math.isclose(rates["error"], 1.0 - metrics.accuracy_score(truth == k, predicted == k))


def test_a_label_that_is_never_predicted():
    rates = Rates(0.0, 0.0, 1.0, 2.0).named()
    assert math.isnan(rates["precision"]) and rates["f1"] == 0.0 and rates["sensitivity"] == 0.0
    assert Rates(2.0, 1.0, 0.0, 0.0).named()["specificity"] == 0.0


@pytest.mark.parametrize("ties", [False, True])
def test_roc_against_scikit_learn_and_the_pairs(ties):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 80)
    scores = rng.normal(size=80) + truth
    scores = np.round(scores) if ties else scores
    curve = roc(truth, scores)
    fpr, tpr, thresholds = metrics.roc_curve(truth, scores, drop_intermediate=False)
    assert np.allclose(curve.false_positive_rate, fpr) and np.allclose(curve.true_positive_rate, tpr)
    assert np.array_equal(curve.thresholds, thresholds)
    pairs = scores[truth == 1][:, None] - scores[truth == 0]
    assert math.isclose(curve.area, float((pairs > 0).mean() + 0.5 * (pairs == 0).mean()))
    for threshold in [*np.unique(scores), -10.0, 10.0, 0.123, np.inf]:
        rates = curve.rates(threshold)
        above = scores >= threshold
        assert rates.true_positives == (above & (truth == 1)).sum()
        assert rates.false_positives == (above & (truth == 0)).sum()
        assert rates.false_negatives + rates.true_negatives == (~above).sum()


def test_coverage_by_brute_force():
    truth, predicted = answers(2)
    confidence = np.random.default_rng(3).random(truth.size)
    for n in (1, 7, 100, 200):
        surest = np.argsort(-confidence)[:n]
        found = accuracy_at(n / 200, truth == predicted, confidence)
        assert math.isclose(float(found), (truth == predicted)[surest].mean())


def test_samples_of_equal_confidence_come_together():
    """Between samples of equal confidence, the accuracy is the mean over all their orders."""
    right, confidence = np.array([True, False, True, False]), np.array([0.9, 0.5, 0.5, 0.5])
    assert accuracy_at(0.125, right, confidence) == 1.0  # a share of half a sample
    orders = [np.array([0, *rest]) for rest in itertools.permutations([1, 2, 3])]
    for n in (1, 2, 3, 4):
        expected = np.mean([right[order[:n]].mean() for order in orders])
        assert math.isclose(float(accuracy_at(n / 4, right, confidence)), expected)


def test_paired_tests_against_scipy():
    rng = np.random.default_rng(5)
    a = rng.normal(size=12)
    b = a - 0.3 + 0.5 * rng.normal(size=12)
    theirs = stats.ttest_rel(a, b)
    assert math.isclose(paired_p(a - b), theirs.pvalue) and math.isclose(paired_p(b - a), theirs.pvalue)
    corrected = 2.0 * stats.t.sf(abs(theirs.statistic) / math.sqrt(13.0), 11)
    assert math.isclose(paired_p(a - b, test_to_train=1.0), corrected) and corrected > theirs.pvalue
    assert paired_p(a - a) == paired_p(np.ones(1)) == 1.0
    assert paired_p(np.ones(2)) == 0.0  # all differences are equal


def test_intervals_cover_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(6)
    mean, half = mean_interval(rng.normal(3.0, 2.0, (10, 20000)))
    assert abs((np.abs(mean - 3.0) <= half).mean() - 0.95) < 0.005
    assert np.isnan(mean_interval([1.0])[1])


def test_training_order_begins_with_every_class():
    y = np.repeat([0, 1, 2], [50, 2, 1])
    for seed in range(10):
        order = training_order(y, np.random.default_rng(seed))
        assert sorted(order.tolist()) == list(range(53)) and set(y[order[:3]]) == {0, 1, 2}
