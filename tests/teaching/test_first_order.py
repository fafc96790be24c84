"""The perceptron keeps to Novikoff's bound, and descent on the hinge loss comes near the minimum of the program."""

import numpy as np
import pytest

from docs.teaching.first_order import descend, hinge, mistake_bound, pegasos, perceptron
from models import SVC, LinearSVC
from tests.support.svm_data import breast_cancer, separable, two_classes


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_the_weights_are_the_mistakes(margin):
    X, y = separable()
    w, mistakes = perceptron(with_ones(X), y, margin)
    np.testing.assert_allclose(w, (mistakes * y) @ with_ones(X), atol=1e-12)
    assert (y * (with_ones(X) @ w) > margin).all()


@pytest.mark.parametrize("margin", [0.0, 2.0])
@pytest.mark.parametrize("extended", [True, False])
def test_the_bound_of_mistakes_holds_and_is_that_of_the_largest_margin(margin, extended):
    for seed in range(5):
        X, y = separable(gap=0.3, seed=seed)
        X = with_ones(X) if extended else X
        bound = mistake_bound(X, y, margin)
        assert 0 < perceptron(X, y, margin)[1].sum() <= bound
        w = SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(X, y).coef_[0]
        assert bound == pytest.approx((np.linalg.norm(X, axis=1).max() ** 2 + 2.0 * margin) * (w @ w), rel=1e-6)


def test_classes_that_overlap_have_no_bound_and_the_passes_end():
    X, y = two_classes(noise=2.0)
    assert mistake_bound(X, y) == np.inf and perceptron(X, y, max_passes=3)[1].max() <= 3


@pytest.mark.parametrize("C, worst", [(0.01, 1e-5), (1.0, 1e-3)])
def test_it_comes_near_the_minimum(C, worst):
    for X, y in (two_classes(100, 5), breast_cancer()):
        signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
        minimum = -SVC(C=C, kernel="linear", fit_intercept=False).fit(X, y).solution_.objective
        w, values = descend(X, signs, C)
        objective = hinge(w, X, signs, C)[0]
        assert min(values) == objective and len(values) <= 1500
        assert minimum * (1.0 - 1e-9) <= objective <= minimum * (1.0 + worst)


def test_one_sample_at_a_time_comes_near_the_minimum():
    for X, y in (two_classes(200, 5), breast_cancer()):
        signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
        minimum = LinearSVC(0.1, "hinge").fit(X, y).objective_
        objective = hinge(pegasos(with_ones(X), signs, 0.1, passes=60), with_ones(X), signs, 0.1)[0]
        assert minimum * (1.0 - 1e-9) <= objective <= 1.05 * minimum


def test_one_sample_at_a_time_is_the_method_as_it_is_written():
    """Make one pass over two samples by hand, in either order; the mean consists of the second step alone."""
    X, y, C = np.array([[1.0, 2.0], [-3.0, 1.0]]), np.array([1.0, -1.0]), 0.7
    candidates = []
    for first, second in ((0, 1), (1, 0)):
        w = 2.0 * C * y[first] * X[first]
        candidates.append(0.5 * w + C * (y[second] * (X[second] @ w) < 1.0) * y[second] * X[second])
    assert min(np.abs(pegasos(X, y, C, passes=1) - w).max() for w in candidates) < 1e-12
