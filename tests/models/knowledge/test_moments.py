"""The minimax probability machine: its optimality, its worst case attained, and the prior's largest beta."""

import numpy as np
import pytest

from models import GenerativePrior, MinimaxProbabilityClassifier
from tests.support.svm_data import breast_cancer, two_classes


def moments(X, y):
    return [(X[y == k].mean(axis=0), np.cov(X[y == k].T, bias=True)) for k in np.unique(y)]


@pytest.fixture(scope="module")
def fitted():
    X, y = two_classes(samples=80)
    return X, y, MinimaxProbabilityClassifier(rho=0.0).fit(X, y)


def test_both_classes_keep_kappa_deviations(fitted):
    X, y, machine = fitted
    w, b, kappa = machine.coef_[0], machine.intercept_[0], machine.kappa_[0]
    for side, (mu, Sigma) in zip((-1.0, 1.0), moments(X, y), strict=True):
        assert side * (w @ mu + b) == pytest.approx(kappa * np.sqrt(w @ Sigma @ w), rel=1e-8)


def test_kappa_is_that_of_the_prior_with_these_moments(fitted):
    X, y, machine = fitted
    (m1, S1), (m2, S2) = moments(X, y)
    prior = GenerativePrior(t=(m1, m2), Omega=(0.0, 0.0), Sigma=(S1, S2))
    assert machine.kappa_[0] == pytest.approx(prior.largest_beta(), rel=1e-7)


def test_w_is_stationary(fitted):
    X, y, machine = fitted
    (m1, S1), (m2, S2) = moments(X, y)
    w = machine.coef_[0]
    # Sigma_1 w / |Sigma_1^(1/2) w| + Sigma_2 w / |Sigma_2^(1/2) w| = (mu_2 - mu_1) / kappa
    gradient = S1 @ w / np.sqrt(w @ S1 @ w) + S2 @ w / np.sqrt(w @ S2 @ w)
    np.testing.assert_allclose(gradient, (m2 - m1) / machine.kappa_[0], atol=1e-12)


def test_the_error_on_samples_is_below_the_worst():
    X, y = breast_cancer()
    machine = MinimaxProbabilityClassifier().fit(X, y)
    wrong = machine.predict(X) != y
    assert max(wrong[y == k].mean() for k in (0, 1)) < machine.worst_case_error_[0] < 0.25
    unsure = MinimaxProbabilityClassifier(nu=0.5).fit(X, y)
    np.testing.assert_allclose(unsure.kappa_, machine.kappa_ - 0.5, rtol=1e-9)
    np.testing.assert_allclose(unsure.coef_, machine.coef_, rtol=1e-9)


def test_without_variance_between_the_classes_nothing_can_go_wrong():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 3.0]])
    machine = MinimaxProbabilityClassifier(rho=0.0).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(machine.coef_, [[0.5, 0.0]], atol=1e-9)
    assert np.isinf(machine.kappa_[0]) and machine.worst_case_error_[0] == 0.0
    points = MinimaxProbabilityClassifier().fit([[0.0], [2.0]], [0, 1])
    assert points.decision_function([[1.0]]) == pytest.approx(0.0)
    means = np.array([[0.0, 1.0], [2.0, 1e3]])
    points = MinimaxProbabilityClassifier(rho=0.0).fit(means, [0, 1])
    assert points.decision_function(means) == pytest.approx([-0.5, 0.5])
    assert np.isinf(points.kappa_[0]) and points.coef_[0] == pytest.approx([0.25, 0.5 / 999.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_without_variance_leaves_the_error_to_the_other(sign):
    machine = MinimaxProbabilityClassifier(rho=0.0).fit(sign * np.array([[0.0], [1.0], [3.0]]), [0, 1, 1])
    assert machine.kappa_ == pytest.approx(2.0) and machine.coef_ == pytest.approx(sign * 0.5)


@pytest.mark.parametrize("rho", [0.0, 1e-6, 1e-2])
def test_no_unit_of_a_feature_has_an_influence(rho):
    X, y = breast_cancer()
    X = X[:, :8]
    units = np.logspace(-6, 6, 8)
    one, other = (MinimaxProbabilityClassifier(rho=rho).fit(Z, y) for Z in (X, X * units))
    np.testing.assert_allclose(other.kappa_, one.kappa_, rtol=1e-6)
    np.testing.assert_allclose(other.coef_ * units, one.coef_, rtol=1e-3, atol=1e-5 * abs(one.coef_).max())


def test_a_feature_that_is_constant_within_the_classes():
    X, y = two_classes(samples=40)
    apart = MinimaxProbabilityClassifier().fit(np.c_[X, 1e6 * y], y)  # it parts them: the ridge alone is against it
    assert apart.kappa_[0] == pytest.approx(1e3, rel=0.1) and apart.score(np.c_[X, 1e6 * y], y) == 1.0
    same, plain = (MinimaxProbabilityClassifier().fit(Z, y) for Z in (np.c_[X, np.full(40, 0.1)], X))
    np.testing.assert_allclose(same.coef_[0, :-1], plain.coef_[0], rtol=1e-6)
    assert abs(same.coef_[0, -1]) < 1e-6


def test_means_that_are_uncertain_beyond_the_margin_leave_the_worst_error():
    X, y = [[-3.0], [-1.0], [1.0], [5.0]], [0, 0, 1, 1]
    for nu, kappa in ((0.5, 5.0 / 3.0 - 0.5), (2.0, 0.0)):
        machine = MinimaxProbabilityClassifier(rho=0.0, nu=nu).fit(X, y)
        assert machine.kappa_ == pytest.approx(kappa) and machine.worst_case_error_ == pytest.approx(1 / (1 + kappa**2))
