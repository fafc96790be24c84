"""SVM+: its optimality conditions, its limits, kernels, weights, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from models import SVC, PrivilegedSVC
from tests.support.svm_data import two_classes

X, Y = two_classes()
STAR = np.column_stack([X[:, 0] * Y, np.random.default_rng(5).normal(size=Y.size)])


def test_without_privileged_features_it_is_the_support_vector_machine():
    for kernel in ("linear", "rbf"):
        plain, plus = SVC(2.0, kernel).fit(X, Y), PrivilegedSVC(2.0, kernel=kernel).fit(X, Y)
        np.testing.assert_allclose(plus.decision_function(X), plain.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(plus.slacks_, np.maximum(0.0, 1.0 - Y * plain.decision_function(X)), atol=1e-8)


def test_free_slacks_are_those_of_the_support_vector_machine():
    # one privileged feature a sample at next to no price
    plus = PrivilegedSVC(2.0, gamma_star=1e-7).fit(X, Y, privileged=np.eye(Y.size))
    plain = SVC(2.0, "linear").fit(X, Y)
    np.testing.assert_allclose(plus.decision_function(X), plain.decision_function(X), atol=1e-4)


def test_slacks_that_cannot_differ_are_the_largest_of_all():
    # min 1/2 |w|^2 + C m max_i xi_i
    plus = PrivilegedSVC(0.05).fit(X, Y, privileged=np.zeros((Y.size, 1)))
    np.testing.assert_allclose(plus.slacks_, plus.slacks_[0], atol=1e-7)
    worst = np.max(1.0 - Y * plus.decision_function(X))
    assert plus.slacks_[0] == pytest.approx(max(worst, 0.0), abs=1e-7)
    # that machine's alpha sum to C m where the slack is positive
    assert np.abs(plus.dual_coef_).sum() == pytest.approx(0.05 * Y.size, rel=1e-6)


@pytest.mark.parametrize("gamma_star", [0.1, 10.0])
def test_the_optimality_conditions(gamma_star):
    C = 0.7
    plus = PrivilegedSVC(C, gamma_star).fit(X, Y, privileged=STAR)
    alpha = np.zeros(Y.size)
    alpha[plus.support_] = Y[plus.support_] * plus.dual_coef_[0]
    assert (alpha >= 0.0).all() and alpha @ Y == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(plus.coef_[0], (alpha * Y) @ X, atol=1e-7)
    # xi = w*'x* + b*,  gamma w* = sum (alpha_i + beta_i - C) x*_i,  sum (alpha_i + beta_i - C) = 0,  beta_i xi_i = 0
    w_star, _, _, _ = np.linalg.lstsq(np.column_stack([STAR, np.ones(Y.size)]), plus.slacks_, rcond=None)
    np.testing.assert_allclose(STAR @ w_star[:2] + w_star[2], plus.slacks_, atol=1e-7)
    at_zero = plus.slacks_ < 1e-6
    rows = np.column_stack([STAR, np.ones(Y.size)])
    target = np.concatenate([gamma_star * w_star[:2], [0.0]]) - rows.T @ (alpha - C)
    _, left = nnls(rows[at_zero].T, target)
    assert left < 1e-5
    slack = Y * plus.decision_function(X) - 1.0 + plus.slacks_
    assert slack.min() > -1e-7
    np.testing.assert_allclose(alpha * slack, 0.0, atol=1e-6)


def test_kernels_sparse_samples_and_weights():
    named = PrivilegedSVC(kernel=lambda A, B: A @ B.T, privileged_kernel=lambda A, B: A @ B.T)
    plain = PrivilegedSVC().fit(X, Y, privileged=STAR).decision_function(X)
    np.testing.assert_allclose(named.fit(X, Y, privileged=STAR).decision_function(X), plain, atol=1e-6)
    sparse = PrivilegedSVC().fit(sp.csr_array(X), Y, privileged=sp.csr_array(STAR))
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), plain, atol=1e-6)
    times = np.random.default_rng(0).integers(0, 3, size=Y.size)
    again = np.repeat(np.arange(Y.size), times)
    machine = PrivilegedSVC(kernel="rbf", privileged_kernel="rbf", gamma=0.2)
    weighted = machine.fit(X, Y, times, privileged=STAR).decision_function(X)
    copied = machine.fit(X[again], Y[again], privileged=STAR[again]).decision_function(X)
    np.testing.assert_allclose(copied, weighted, atol=1e-6)
