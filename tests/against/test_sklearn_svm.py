"""Support vector machines against LIBSVM (scikit-learn's SVC and SVR at tol 1e-6) on real data."""

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_diabetes

from models import SVC, SVR
from tests.support.svm_data import breast_cancer, digits, scaled, wine

TWO_CLASSES = {
    "breast cancer": breast_cancer,
    "wine": wine,
    "digits 1-7": lambda: digits(1, 7),
    "digits 3-8": lambda: digits(3, 8),
    "digits 4-9": lambda: digits(4, 9),
}


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("name", list(TWO_CLASSES))
def test_decision_functions_of_two_classes(name, kernel):
    X, y = TWO_CLASSES[name]()
    for C in (0.1, 1.0, 10.0):
        ours = SVC(C=C, kernel=kernel).fit(X, y)
        theirs = svm.SVC(C=C, kernel=kernel, tol=1e-6).fit(X, y)
        # LIBSVM stops at 1e-6 and keeps its kernel matrix in single precision, by which its multipliers move, too
        terms = np.abs(ours.kernel_(X, X[ours.support_])) @ np.abs(ours.dual_coef_[0])
        atol = 1e-4 + 4.0 * np.finfo(np.float32).eps * terms.max()
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=atol)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=atol)
        assert ours.kernel_.gamma == pytest.approx(theirs._gamma) or kernel == "linear"
        # LIBSVM tells support vectors from others to its own tolerance
        assert len(set(ours.support_) ^ set(theirs.support_)) <= 2


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_decision_functions_of_more_classes(kernel, shape):
    for X, y in (wine(3), digits(0, 1, 2, 3)):
        ours = SVC(kernel=kernel, decision_function_shape=shape).fit(X, y)
        theirs = svm.SVC(kernel=kernel, decision_function_shape=shape, break_ties=shape == "ovr", tol=1e-6).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-3)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        assert np.abs(ours.n_support_ - theirs.n_support_).max() <= 2


def test_weights():
    X, y = breast_cancer()
    weights = np.random.default_rng(0).exponential(size=y.size)
    for class_weight in (None, {0: 3.0, 1: 0.5}, "balanced"):
        ours = SVC(kernel="linear", class_weight=class_weight).fit(X, y, sample_weight=weights)
        if class_weight == "balanced":  # which for scikit-learn counts samples, not weights
            class_weight = {k: weights.sum() / (2.0 * weights[y == k].sum()) for k in (0, 1)}
        theirs = svm.SVC(kernel="linear", class_weight=class_weight, tol=1e-6).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_regression(kernel):
    X, y = load_diabetes(return_X_y=True)
    X, y = scaled(X), y / y.std()
    for C, epsilon in ((1.0, 0.1), (0.1, 0.5), (1.0, 0.0)):
        ours = SVR(C=C, epsilon=epsilon, kernel=kernel).fit(X, y)
        theirs = svm.SVR(C=C, epsilon=epsilon, kernel=kernel, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-3)
        assert len(set(ours.support_) ^ set(theirs.support_)) <= 2
