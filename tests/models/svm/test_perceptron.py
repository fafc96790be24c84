"""The perceptron: Novikoff's bound, w from the mistakes, the protocol."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import check_estimator

from models import SVC, Perceptron
from tests.support.svm_data import separable, two_classes, wine


def test_scikit_learn_accepts_it():
    results = check_estimator(Perceptron(max_iter=50), on_skip=None, on_fail=None)
    assert not {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert sum(r["status"] == "passed" for r in results) > 50


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
    perceptron = Perceptron(max_iter=7).fit(X, y)
    assert not perceptron.converged_ and perceptron.n_iter_ == 7


def test_sparse_samples_more_classes_and_the_seed():
    X, y = wine(3)
    one, other = Perceptron(max_iter=50).fit(X, y), Perceptron(max_iter=50).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.coef_.shape == (3, 13) and one.score(X, y) > 0.95
    assert not np.array_equal(Perceptron(max_iter=50, random_state=1).fit(X, y).coef_, one.coef_)
    with pytest.raises(ValueError, match="margin must be a number of at least 0"):
        Perceptron(margin=-1.0).fit(X, y)
