"""Sub-gradient descent on the hinge loss comes near the minimum that the quadratic program finds."""

import numpy as np
import pytest
import scipy.sparse as sp

from models import SVC, LinearSVC, SubgradientSVC
from tests.support.svm_data import breast_cancer, two_classes


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C, worst", [(0.01, 1e-5), (1.0, 1e-3)])
def test_it_comes_near_the_minimum(C, worst, bias):
    for X, y in (two_classes(100, 5), breast_cancer()):
        program = SVC(C=C, kernel="linear", fit_intercept=bias).fit(X, y)
        descent = SubgradientSVC(C=C, fit_intercept=bias).fit(X, y)
        signs = np.where(y == descent.classes_[1], 1.0, -1.0)
        hinge = np.maximum(0.0, 1.0 - signs * descent.decision_function(X)).sum()
        objective = 0.5 * (descent.coef_**2).sum() + C * hinge
        minimum = -program.solution_.objective
        assert descent.objectives_[0].min() == pytest.approx(objective, rel=1e-9)
        assert minimum * (1.0 - 1e-9) <= objective <= minimum * (1.0 + worst)
        assert descent.n_iter_ == descent.objectives_[0].size <= 1500


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_one_sample_at_a_time_comes_near_the_minimum(form):
    for X, y in (two_classes(200, 5), breast_cancer()):
        minimum = LinearSVC(0.1, "hinge").fit(X, y).objective_
        descent = SubgradientSVC(0.1, method="stochastic", passes=200).fit(form(X), y)
        signs = np.where(y == descent.classes_[1], 1.0, -1.0)
        hinge = np.maximum(0.0, 1.0 - signs * descent.decision_function(X)).sum()
        objective = 0.5 * (descent.coef_**2).sum() + 0.5 * descent.intercept_[0] ** 2 + 0.1 * hinge
        assert minimum * (1.0 - 1e-9) <= objective <= 1.05 * minimum
        assert descent.n_iter_ == 200 == descent.objectives_[0].size


def test_one_sample_at_a_time_is_the_method_as_it_is_written():
    """Two passes in numpy, in the orders that are seen from outside: with one sample there is only one."""
    X, y, C = np.array([[1.0, 2.0], [-3.0, 1.0]]), np.array([1, -1]), 0.7
    found = SubgradientSVC(C, method="stochastic", passes=1, fit_intercept=False).fit(X, y)
    candidates = []
    for order in ([0, 1], [1, 0]):
        w, visited = np.zeros(2), []
        for t, i in enumerate(order, start=1):
            violated = y[i] * (X[i] @ w) < 1.0
            w = (1.0 - 1.0 / t) * w + 2.0 * C / t * violated * y[i] * X[i]
            visited.append(w)
        candidates += [visited[1]]
    assert min(np.abs(found.coef_[0] - w).max() for w in candidates) < 1e-12
