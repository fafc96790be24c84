"""The robust machine: the SVM without uncertainty, its probabilities, every kind of covariance, missing features."""

import numpy as np
import pytest

from models import SVC, RobustSVC
from tests.support.svm_data import two_classes

X, Y = two_classes()


def slacks(machine, X, y, roots):
    """xi_i, from the margins of the uncertain samples."""
    w = machine.coef_[0]
    radii = np.array([np.linalg.norm(R @ w) for R in roots])
    return np.maximum(0.0, 1.0 + machine.kappa_ * radii - y * machine.decision_function(X))


def test_without_uncertainty_it_is_the_support_vector_machine():
    plain = SVC(2.0, "linear").fit(X, Y)
    robust = RobustSVC(2.0, noise=0.0).fit(X, Y)
    np.testing.assert_allclose(robust.decision_function(X), plain.decision_function(X), atol=1e-6)
    # epsilon = 1 asks for nothing, whatever the noise
    np.testing.assert_allclose(RobustSVC(2.0, 1.0).fit(X, Y).coef_, plain.coef_, atol=1e-6)


def test_equal_noise_is_a_price_of_the_length():
    # y f >= 1 - xi + kappa noise |w|: with the length fixed, the machine of another margin
    robust = RobustSVC(2.0, epsilon=0.2, noise=0.05).fit(X, Y)
    reach = 1.0 + robust.kappa_ * 0.05 * np.linalg.norm(robust.coef_)
    assert robust.kappa_ == pytest.approx(2.0)
    xi = np.maximum(0.0, reach - Y * robust.decision_function(X))
    value = 0.5 * np.linalg.norm(robust.coef_) ** 2 + 2.0 * xi.sum()
    assert robust.solution_.objective == pytest.approx(value, rel=1e-8)
    assert len(robust.program_.cones) == 2


def test_the_objective_is_what_the_covariances_make_of_it_and_least():
    rng = np.random.default_rng(0)
    roots = [0.2 * rng.normal(size=(4, 4)) for _ in Y]
    covariance = np.array([R.T @ R for R in roots])
    robust = RobustSVC(1.5, epsilon=0.3, noise=0.0).fit(X, Y, covariance=covariance)

    def value(w, b):
        radii = np.array([np.linalg.norm(R @ w) for R in roots])
        xi = np.maximum(0.0, 1.0 + robust.kappa_ * radii - Y * (X @ w + b))
        return 0.5 * w @ w + 1.5 * xi.sum()

    w, b = robust.coef_[0], robust.intercept_[0]
    assert value(w, b) == pytest.approx(robust.solution_.objective, rel=1e-8)
    for _ in range(20):
        step = rng.normal(size=5)
        assert value(w + 1e-3 * step[:4], b + 1e-3 * step[4]) > value(w, b)


def test_gaussian_margins_hold_with_the_probability():
    rng = np.random.default_rng(1)
    robust = RobustSVC(10.0, epsilon=0.1, noise=0.05, distribution="gaussian").fit(X, Y)
    xi = slacks(robust, X, Y, [0.05 * np.eye(4)] * Y.size)
    held = np.zeros(Y.size)
    for _ in range(2000):
        held += Y * robust.decision_function(X + 0.05 * rng.normal(size=X.shape)) >= 1.0 - xi
    tight = np.abs(xi + Y * robust.decision_function(X) - 1.0 - robust.kappa_ * 0.05 * np.linalg.norm(robust.coef_))
    assert (held / 2000 > 0.87).all()
    np.testing.assert_allclose(held[tight < 1e-6] / 2000, 0.9, atol=0.03)


def test_variances_are_diagonal_covariances():
    rng = np.random.default_rng(2)
    variances = 0.1 * rng.integers(0, 3, size=X.shape)
    matrices = np.array([np.diag(v) for v in variances])
    for noise in (0.0, [0.1, 0.0, 0.2, 0.0]):
        one, other = (RobustSVC(noise=noise).fit(X, Y, covariance=given) for given in (variances, matrices))
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-7)


def test_missing_features_have_the_variance_of_all_samples():
    gaps = X.copy()
    gaps[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    robust = RobustSVC(noise=0.0).fit(gaps, Y)
    np.testing.assert_allclose(robust.means_, np.nanmean(gaps, axis=0))
    filled = np.where(np.isnan(gaps), robust.means_, gaps)
    told = np.where(np.isnan(gaps), np.nanvar(gaps, axis=0), 0.0)
    same = RobustSVC(noise=0.0).fit(filled, Y, covariance=told)
    np.testing.assert_allclose(robust.decision_function(gaps), same.decision_function(filled), atol=1e-9)
    assert np.isfinite(robust.predict(gaps)).all()
