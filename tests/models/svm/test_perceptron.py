"""The perceptron: Novikoff's bound, w from the mistakes, the protocol."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from models import SVC, Perceptron
from tests.support.svm_data import separable, two_classes, wine


def test_it_ends_within_the_bound_of_novikoff():
    X, y = separable(gap=0.3)
    perceptron = Perceptron(fit_intercept=False).fit(X, y)
    largest = SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(X, y)
    assert perceptron.converged_ and perceptron.score(X, y) == 1.0
    radius = np.linalg.norm(X, axis=1).max()
    assert 0 < perceptron.mistakes_[0].sum() <= (radius / largest.margin_[0]) ** 2


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_the_weights_are_the_mistakes(margin):
    X, y = separable()
    perceptron = Perceptron(margin=margin).fit(X, y)
    counts = perceptron.mistakes_[0] * y
    np.testing.assert_allclose(perceptron.coef_[0], counts @ X, atol=1e-12)
    assert perceptron.intercept_[0] == counts.sum()
    assert (y * perceptron.decision_function(X) > margin).all()


def test_where_the_classes_overlap_it_stops_at_the_limit():
    X, y = two_classes(noise=2.0)
    with pytest.warns(ConvergenceWarning, match="Perceptron: after 7 passes it still makes mistakes"):
        perceptron = Perceptron(max_iter=7).fit(X, y)
    assert not perceptron.converged_ and perceptron.n_iter_ == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Perceptron().fit(*separable()).converged_


def test_all_weights_times_a_number_are_the_weights_of_the_plane_times_it():
    X, y = two_classes(noise=2.0)
    with pytest.warns(ConvergenceWarning):
        one, eight = (Perceptron(max_iter=7).fit(X, y, np.full(60, size)) for size in (1.0, 8.0))
    np.testing.assert_array_equal(eight.coef_, 8.0 * one.coef_)
    np.testing.assert_array_equal(eight.mistakes_[0], one.mistakes_[0])


@pytest.mark.parametrize("margin", [0.0, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_bound_of_mistakes_holds_and_is_that_of_the_largest_margin(margin, fit_intercept):
    for seed in range(5):
        X, y = separable(gap=0.3, seed=seed)
        perceptron = Perceptron(margin, fit_intercept=fit_intercept, n_iter_no_change=None).fit(X, y)
        bound = perceptron.mistake_bound(X, y)
        assert bound.shape == (1,) and perceptron.mistakes_.shape == (1, y.size)
        assert 0 < perceptron.mistakes_.sum() <= bound[0]
        if not fit_intercept:
            w = SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(X, y).coef_[0]
            radius = np.linalg.norm(X, axis=1).max()
            assert bound[0] == pytest.approx((radius**2 + 2.0 * margin) * (w @ w), rel=1e-6)


def test_no_bound_where_the_classes_overlap_and_one_a_class():
    X, y = two_classes(noise=2.0)
    with pytest.warns(ConvergenceWarning):
        assert Perceptron(max_iter=3).fit(X, y).mistake_bound(X, y).tolist() == [np.inf]
    X, y = wine(3)
    perceptron = Perceptron().fit(X, y)
    assert perceptron.mistakes_.shape == (3, y.size)
    assert (perceptron.mistakes_.sum(axis=1) <= perceptron.mistake_bound(X, y)).all()


def test_the_average_is_that_of_all_samples_seen():
    """With one feature and a sample of each class w after every sample is known by hand, whatever the order."""
    X, y = np.array([[1.0], [2.0]]), [1, -1]  # w goes up at the first and down at the second
    with pytest.warns(ConvergenceWarning):
        last = Perceptron(max_iter=1, average=False, fit_intercept=False).fit(X, y)
        mean = Perceptron(max_iter=1, average=True, fit_intercept=False).fit(X, y)
    (ways,) = last.coef_.tolist()
    # 1 and -1, or -2 and -1
    assert (ways[0], mean.coef_[0, 0]) in {(-1.0, 0.0), (-1.0, -1.5)}


def test_it_ends_when_passes_bring_nothing():
    X, y = two_classes(noise=2.0)
    with pytest.warns(ConvergenceWarning, match="raise n_iter_no_change"):
        assert Perceptron(n_iter_no_change=3).fit(X, y).n_iter_ < 100
        assert Perceptron(n_iter_no_change=None, max_iter=200).fit(X, y).n_iter_ == 200
    for parameters, words in (({"average": "no"}, "average must be"), ({"n_iter_no_change": 0}, "n_iter_no_change")):
        with pytest.raises(ValueError, match=words):
            Perceptron(**parameters).fit(X, y)
