"""nu in place of C or epsilon: the machines of C and epsilon again, shares of samples, other solvers, refusals."""

import numpy as np
import pytest
from sklearn import svm

import models
from models import SVC, SVR, NuSVC, NuSVR
from models.margins import series
from tests.support.svm_data import breast_cancer, two_classes, wine


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("nu", [0.5, 0.75])
def test_the_machine_is_that_of_C_over_rho(kernel, nu):
    X, y = two_classes()
    machine = NuSVC(nu, kernel).fit(X, y)
    plain = SVC(1.0 / machine.rho_[0], kernel).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert machine.support_.tolist() == plain.support_.tolist()
    assert machine.support_kinds_.tolist() == plain.support_kinds_.tolist()
    # 1'alpha = nu m, after the division by rho
    np.testing.assert_allclose(np.abs(machine.dual_coef_).sum() * machine.rho_[0], nu * y.size, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_nu_lies_between_the_share_of_errors_and_that_of_support_vectors(nu):
    X, y = breast_cancer()
    machine = NuSVC(nu).fit(X, y)
    inside = np.isin(machine.support_kinds_, ["inside", "wrong"]).sum()
    assert inside <= nu * y.size <= machine.support_.size
    t = X[:, 0] + np.sin(3.0 * X[:, 1])
    tube = NuSVR(nu, C=10.0).fit(X[:120], t[:120])
    outside = np.abs(tube.predict(X[:120]) - t[:120]) > tube.epsilon_ + 1e-6
    assert outside.sum() <= nu * 120 <= tube.support_.size


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_tube_is_that_of_its_width(kernel):
    X, _ = two_classes()
    t = X[:, 0] ** 2 + X[:, 1]
    tube = NuSVR(0.4, C=2.0, kernel=kernel).fit(X, t)
    plain = SVR(C=2.0, epsilon=tube.epsilon_, kernel=kernel).fit(X, t)
    assert tube.epsilon_ > 0.01
    np.testing.assert_allclose(tube.predict(X), plain.predict(X), atol=1e-6)


def test_a_precomputed_kernel_of_three_classes():
    X, y = wine(3)
    K = X @ X.T
    known = NuSVC(0.2, "precomputed").fit(K, y)
    np.testing.assert_allclose(
        known.decision_function(K), NuSVC(0.2, "linear").fit(X, y).decision_function(X), atol=1e-5
    )
    assert known.rho_.shape == (3,)


@pytest.mark.parametrize("in_series", [True, False])
@pytest.mark.parametrize("nu", [0.3, 0.5, 0.8])
def test_the_matrix_is_not_made(nu, in_series, monkeypatch):
    X, y = two_classes()
    t, machines = X[:, 0] ** 2 + X[:, 1], (NuSVC(nu), NuSVR(nu, C=2.0))
    expected = [svm.NuSVC(nu=nu, tol=1e-8).fit(X, y), svm.NuSVR(nu=nu, C=2.0, tol=1e-8).fit(X, t)]
    monkeypatch.setattr(models.KernelMatrix, "toarray", None)
    monkeypatch.setattr(models.KernelMatrix, "among", None)
    for name in ("MOST_SAMPLES", "MOST_SIDES"):
        monkeypatch.setattr(series, name, 10**9 if in_series else 0)
    for machine, target, theirs in zip(machines, (y, t), expected):
        values = machine.fit(X, target).predict(X) if target is t else machine.fit(X, target).decision_function(X)
        other = theirs.predict(X) if target is t else theirs.decision_function(X)
        np.testing.assert_allclose(values, other, atol=1e-5)
        assert machine.solution_.status == "optimal"
        assert machine.solution_.plan.method == ("active set" if in_series else "working set")


@pytest.mark.parametrize(
    "nu, C, n", [(0.95, 1.0, 60), (0.95, 20.0, 200), (0.95, 1.0, 900), (0.3, 100.0, 60), (1.0, 1.0, 60)]
)
def test_where_no_tube_is_worth_its_price_the_multipliers_of_a_sample_make_up_the_share(nu, C, n):
    X, _ = two_classes(n)
    t = X[:, 0] ** 2 + X[:, 1]
    tube, line = NuSVR(nu, C=C).fit(X, t), SVR(C=C, epsilon=0.0).fit(X, t)
    assert tube.epsilon_ == pytest.approx(0.0, abs=1e-9)
    for other in (line, svm.SVR(C=C, epsilon=0.0, tol=1e-7).fit(X, t)):
        np.testing.assert_allclose(tube.predict(X), other.predict(X), atol=1e-5)
    assert tube.solution_.plan.method == ("active set" if n == 60 else "working set")
    assert max(tube.solution_.primal_residual, tube.solution_.dual_residual, tube.solution_.gap) < 1e-10
    total = tube.solution_.x.sum()
    assert total == pytest.approx(nu * C * n) if nu < 1.0 else total <= C * n


@pytest.mark.parametrize("machine", [NuSVC(0.4), NuSVR(0.4)])
def test_rows_and_the_whole_matrix_give_the_same_answer(machine):
    X, y = two_classes()
    X, y = np.vstack([X, X[:9]]), np.append(y, y[:9])  # samples that come twice
    t = y if isinstance(machine, NuSVC) else np.round(X[:, 0], 1)
    rows = machine.fit(X, t).predict(X), machine.solution_.objective
    assert machine.solution_.plan.method in ("active set", "working set")
    machine.shrinking = False
    np.testing.assert_allclose(rows[0], machine.fit(X, t).predict(X), atol=1e-6)
    assert rows[1] == pytest.approx(machine.solution_.objective, rel=1e-8)
    assert machine.solution_.plan.method == "interior point"


@pytest.mark.parametrize("n", [400, 2700])
def test_classes_that_come_one_after_the_other_or_mixed_and_weights_make_no_difference(n):
    X, y = two_classes(n, 3)
    order = np.argsort(y, kind="stable")
    weights = np.where(np.arange(n) % 3 == 0, 2.0, 1.0)
    mixed = NuSVC(0.5).fit(X, y, weights)
    sorted_ones = NuSVC(0.5).fit(X[order], y[order], weights[order])
    repeated = NuSVC(0.5, gamma=mixed.kernel_.gamma).fit(np.vstack([X, X[::3]]), np.append(y, y[::3]))
    expected = mixed.decision_function(X)
    np.testing.assert_allclose(sorted_ones.decision_function(X), expected, atol=1e-7)
    np.testing.assert_allclose(repeated.decision_function(X), expected, atol=1e-6)
    plain = SVC(1.0 / mixed.rho_[0]).fit(X, y, weights)
    np.testing.assert_allclose(plain.decision_function(X), expected, atol=1e-6)


def test_the_weight_of_a_class_is_that_of_its_samples():
    X, y = two_classes(60, 3, noise=1.0)
    y = np.where(y > 0.0, "yes", "no")
    by_class = models.NuSVC(0.3, gamma=0.5, class_weight={"yes": 2.0}).fit(X, y)
    by_sample = models.NuSVC(0.3, gamma=0.5).fit(X, y, np.where(y == "yes", 2.0, 1.0))
    assert np.array_equal(by_class.dual_coef_, by_sample.dual_coef_) and by_class.rho_ == by_sample.rho_
    assert not np.array_equal(by_class.rho_, models.NuSVC(0.3, gamma=0.5).fit(X, y).rho_)
