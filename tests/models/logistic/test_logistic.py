"""Logistic regression: its optimality, separable classes, the ways to solve, weights, hard cases."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from models import LogisticRegression
from models.logistic import logistic
from models.numerics import newton_minimizer as newton
from models.numerics.logistic_loss import LogisticLoss, LogisticPoint
from tests.support.sparse_matrices import random_sparse


def samples(classes=3, count=90, features=4, seed=0):
    """Return samples of overlapping normal classes, and their classes."""
    rng = np.random.default_rng(seed)
    codes = np.arange(count) % classes
    centres = rng.normal(size=(classes, features))
    return rng.normal(size=(count, features)) + centres[codes], codes


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_derivatives_against_differences(classes, intercept):
    X, codes = samples(classes)
    loss = LogisticLoss(X, codes, np.linspace(0.5, 2.0, len(X)), classes, intercept, "cholesky")
    loss.penalty = 0.7
    rng = np.random.default_rng(1)
    theta, direction = rng.normal(size=loss.unknowns), rng.normal(size=loss.unknowns)
    point = LogisticPoint(loss, theta)
    gradient = point.gradient()
    assert np.allclose(gradient, approx_fprime(theta, lambda t: LogisticPoint(loss, t).value, 1e-7), atol=1e-4)
    step = 1e-5
    ahead, behind = (LogisticPoint(loss, theta + s * step * direction).gradient() for s in (1.0, -1.0))
    product, H = point.multiply(direction), np.tril(point.hessian())
    H += np.tril(H, -1).T
    assert np.allclose(product, (ahead - behind) / (2.0 * step), rtol=1e-6, atol=1e-6)
    if classes == 2:
        assert np.allclose(H @ direction, product, rtol=1e-12, atol=1e-12)
    else:  # up to what the formed matrix has along the shift of all intercepts
        table = direction.reshape(classes, -1)
        table[:, X.shape[1] :] -= table[:, X.shape[1] :].mean(axis=0)
        assert np.allclose(H @ table.ravel(), point.multiply(table.ravel()), rtol=1e-12, atol=1e-12)


def test_the_bound_is_a_number_where_sums_of_probabilities_differ_from_the_counts_by_rounding():
    loss = LogisticLoss(np.array([[1.0], [-1.0]]), np.array([0, 1]), np.ones(2), 2, True, "cholesky")
    loss.penalty = 1.0
    for t in np.linspace(0.1, 5.0, 200):  # for some t both sums exceed the counts equally
        assert np.isfinite(loss.bound(np.array([t, 0.0])))


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver, C", [("cholesky", 0.3), ("conjugate_gradients", 3.0)])
def test_the_bound_certifies_the_answer(classes, intercept, solver, C):
    X, y = samples(classes)
    model = LogisticRegression(C=C, fit_intercept=intercept, solver=solver).fit(X, y)
    assert abs(model.objective_ - model.dual_objective_) < 1e-10 * (1.0 + model.objective_)
    # the bound holds at any point
    loss = LogisticLoss(X, y, np.ones(len(X)), classes, intercept, solver)
    loss.penalty = 1.0 / C
    for seed in range(5):
        theta = np.random.default_rng(seed).normal(size=loss.unknowns)
        assert C * loss.bound(theta) <= model.objective_
    # the objective is the one in the docstring
    scores = np.stack([np.zeros(len(X)), model.decision_function(X)], 1) if classes == 2 else model.decision_function(X)
    losses = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(X)), y]
    assert math.isclose(0.5 * (model.coef_**2).sum() + C * losses.sum(), model.objective_, rel_tol=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_sparse_is_dense_and_both_solvers_agree(classes):
    rng = np.random.default_rng(3)
    X = random_sparse((60, 40), density=0.2, rng=rng, format="csr")
    y = rng.integers(0, classes, 60)
    reference = LogisticRegression(solver="cholesky").fit(X.toarray(), y)
    for A in (X, X.toarray()):
        for solver in ("cholesky", "conjugate_gradients"):
            model = LogisticRegression(solver=solver).fit(A, y)
            assert np.allclose(model.coef_, reference.coef_, rtol=0, atol=1e-7)
            assert np.allclose(model.intercept_, reference.intercept_, rtol=0, atol=1e-7)


def test_without_regularization_the_gradient_vanishes():
    for classes in (2, 3):
        X, y = samples(classes)
        model = LogisticRegression(C=math.inf).fit(X, y)
        residual = model.predict_proba(X) - np.eye(classes)[y]
        assert np.abs(residual.sum(axis=0)).max() < 1e-8
        assert np.abs(X.T @ residual).max() < 1e-8
        assert model.C_ == math.inf and model.dual_objective_ == -math.inf and not hasattr(model, "program_")


SEPARABLE = {
    "two classes": ([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]),
    "but for one value": ([[0.0], [1.0], [1.0], [3.0]], [0, 0, 1, 1]),
    "three classes": ([[0.0, 0.0], [0.1, 0.0], [3.0, 0.0], [3.0, 0.1], [0.0, 3.0], [0.1, 3.0]], [0, 0, 1, 1, 2, 2]),
    "one class of three": ([[0.0], [1.0], [0.0], [1.0], [5.0], [6.0]], [0, 1, 1, 0, 2, 2]),
    "by a word": (np.c_[np.repeat([0.0, 1.0], 5), np.random.default_rng(0).normal(size=10)], [0] * 5 + [1] * 5),
}


@pytest.mark.parametrize("case", SEPARABLE)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_separable_classes_get_a_warning_and_a_finite_answer(case, form):
    X, y = SEPARABLE[case]
    with pytest.warns(UserWarning, match="the classes are separable"):
        model = LogisticRegression(C=math.inf).fit(form(X), y)
    K = len(set(y))  # at equal odds the mean diagonal entry of the Hessian is that of X'X (1 - 1/K) / K
    assert model.C_ == pytest.approx(1e8 * K**2 / (K - 1) / np.square(X).sum(axis=0).mean())
    assert np.isfinite(model.coef_).all() and model.solution_.status == "optimal"
    again = LogisticRegression(C=model.C_).fit(form(X), y)
    assert np.allclose(model.coef_, again.coef_, rtol=1e-6)
    if case not in ("but for one value", "one class of three"):
        assert model.score(form(X), y) == 1.0
    assert np.isfinite(model.predict_log_proba(form(np.array(X) * 1e6))).all()


def test_near_certainty_alone_is_not_separability():
    X = np.r_[np.linspace(-1, 1, 40), 300.0][:, None]  # the last sample is certain, the rest overlap
    y = np.r_[np.tile([0, 1, 1, 0], 10), 1]
    y[:8], y[-9:] = [0, 0, 1, 0, 0, 0, 0, 1], 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(C=math.inf).fit(X, y)
    assert model.C_ == math.inf
    assert np.abs(X.T @ (model.predict_proba(X)[:, 1] - y)).max() < 1e-6


@pytest.mark.parametrize("C", [1.0, math.inf])
def test_features_that_say_nothing_or_the_same(C):
    X, y = samples(2)
    reference = LogisticRegression(C=C).fit(X, y)
    constant = LogisticRegression(C=C).fit(np.c_[X, np.zeros(len(X))], y)
    assert np.allclose(constant.coef_, np.c_[reference.coef_, [[0.0]]], rtol=0, atol=1e-7)
    # sqrt(1/2) of a feature twice is that feature once
    twice = np.c_[X[:, :3], math.sqrt(0.5) * X[:, 3:], math.sqrt(0.5) * X[:, 3:]]
    same = LogisticRegression(C=C).fit(twice, y)
    assert np.allclose(same.decision_function(twice), reference.decision_function(X), rtol=0, atol=1e-6)


def test_posteriors_are_never_nan():
    X, y = samples(3)
    model = LogisticRegression().fit(X, y)
    far = model.predict_log_proba(np.array([[1e300, -1e300, 0.0, 0.0], [1e8] * 4]))
    assert not np.isnan(far[1]).any() and np.isclose(np.exp(far[1]).sum(), 1.0)
    assert not np.isnan(far[0]).any()


def test_linear_systems():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(8, 8))
    H, rhs = A @ A.T + np.diag(10.0 ** np.arange(8)), rng.normal(size=8)
    assert np.allclose(H @ newton.factored(H)(rhs), rhs, rtol=0, atol=1e-10)
    found = newton.solve_conjugate_gradients(lambda v: H @ v, np.diagonal(H), rhs, 1e-12, 100)
    assert np.allclose(H @ found, rhs, rtol=0, atol=1e-8)
    flat = np.outer(np.ones(4), np.ones(4))  # singular, but consistent: any solution is accepted
    assert np.allclose(flat @ newton.factored(flat)(np.full(4, 2.0)), 2.0, rtol=0, atol=1e-10)


def test_a_block_of_the_hessian_as_preconditioner_changes_nothing():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 60)) @ rng.normal(size=(60, 60)), rng.integers(0, 5, 300)
    one, other = (LogisticRegression(solver=solver).fit(X, y) for solver in ("conjugate_gradients", "cholesky"))
    assert np.allclose(one.coef_, other.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_some_samples_tell_the_hessian_of_many(classes, order):
    """L-BFGS with a sampled Hessian ends at Newton's minimizer, whatever the order of the samples."""
    X, codes = samples(classes, 9000, 6)
    if order == "sorted":
        at = np.argsort(codes, kind="stable")
        X, codes = X[at], codes[at]
    weights = np.random.default_rng(2).integers(0, 4, codes.size)
    model = LogisticRegression(0.01).fit(X, codes, weights)
    loss = LogisticLoss(X, codes, weights.astype(float), classes, True, "cholesky")
    loss.penalty = 100.0
    assert loss.stride() > 1
    exact = newton.minimize(lambda v: LogisticPoint(loss, v), np.zeros(loss.unknowns), 1e-14, 50)
    assert model.minimum_.value == pytest.approx(exact.value, rel=1e-11)
    assert model.objective_ - model.dual_objective_ <= 1e-7 * model.objective_
    np.testing.assert_allclose(model.coef_, loss.split(exact.theta)[0], atol=1e-5)


def test_steps_of_both_methods_are_counted_together(monkeypatch):
    X, codes = samples(2, 9000, 6)
    asked, exact = [], logistic.minimize

    def ended(at, rough, inverse, cost, theta, tol, max_iter, history):
        asked.append(max_iter)
        return newton.Minimum(theta, 1.0, 3, False, 1.0)

    monkeypatch.setattr(logistic, "minimize_lbfgs", ended)
    monkeypatch.setattr(
        logistic, "minimize", lambda at, theta, tol, most, _: asked.append(most) or exact(at, theta, tol, 2)
    )
    with pytest.warns(UserWarning, match="ended after 5 iterations"):
        assert LogisticRegression(0.01, max_iter=20).fit(X, codes).n_iter_ == 5
    assert asked == [20, 17]
    with pytest.warns(UserWarning, match="ended after 3 iterations"):  # after all three iterations
        LogisticRegression(0.01, max_iter=3).fit(X, codes)
    assert asked == [20, 17, 3]
    with pytest.warns(UserWarning, match="ended after 2 iterations"):  # without a penalty it is Newton's method alone
        LogisticRegression(math.inf, max_iter=7).fit(X, codes)
    assert asked == [20, 17, 3, 7]


class Valley:
    """The function sum_i cosh(theta_i) + more."""

    def __init__(self, theta, more):
        self.theta, self.value = theta, float(np.cosh(theta).sum()) + more

    def gradient(self):
        return np.sinh(self.theta)

    def direction(self, gradient):
        return -gradient / np.cosh(self.theta)

    def multiply(self, direction):
        return np.cosh(self.theta) * direction

    def excess(self, gradient, tol):
        return math.inf


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", [0.05, 20.0])
def test_the_excess_bounds_the_distance_from_the_minimum(classes, penalty):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 4)) + 1.0, np.arange(30) % classes
    loss = LogisticLoss(sp.csr_array(X), codes, rng.random(30) + 0.1, classes, True, "cholesky")
    loss.penalty = penalty
    least = newton.minimize(lambda v: LogisticPoint(loss, v), np.zeros(loss.unknowns), 1e-15, 100)
    for far in (1.0, 1e-2, 1e-4):
        theta = rng.normal(size=(loss.rows, loss.columns))
        point = LogisticPoint(loss, least.theta + far * (theta - theta.mean(axis=0) * (classes > 2)).ravel())
        gradient, unit = point.gradient(), min(penalty, 1.0) + point.value
        assert 0.0 < point.value - least.value <= point.excess(gradient, math.inf) * unit * (1.0 + 1e-9)
        own = gradient * loss.is_weight
        np.testing.assert_allclose(point.excess(gradient, 0.0) * unit, 0.5 * own @ own / penalty)
        assert point.dual_objective == loss.bound(point.theta) == pytest.approx(loss.bound(point.theta.copy()))


@pytest.mark.parametrize("is_sampled", [False, True])
def test_the_decrement_is_relative_to_the_value(is_sampled):
    found = []
    for more in (0.0, 1e5, -1e5):
        given, start = (lambda theta: Valley(theta, more)), np.array([1.5, -1.0])  # noqa: B023
        if is_sampled:
            found.append(newton.minimize_lbfgs(given, lambda _: lambda v: 0.3 * v, None, 9.0, start, 1e-6, 99, []))
        else:
            found.append(newton.minimize(given, start, 1e-6, 99))
    near, *far = found
    assert near.converged and near.decrement <= 1e-6 * (1.0 + near.value)
    for one in far:
        assert one.converged and 1e-6 * (1.0 + near.value) < one.decrement <= 1e-6 * (1.0 + abs(one.value))


def test_an_inverse_is_made_where_it_costs_less_than_the_steps_it_spares():
    for cost, more, times in ((0.0, 0.0, True), (1e9, 0.0, False), (0.0, 1e30, False)):  # the last starts near it
        made, start = [], np.array([3.0, -2.5, 2.0])
        inverse_at = lambda point: made.append(point) or (lambda v: 0.05 * v)  # noqa: B023, E731
        rough_at = lambda _: lambda v: 0.05 * v  # noqa: E731
        newton.minimize_lbfgs(lambda theta: Valley(theta, more), rough_at, inverse_at, cost, start, 1e-12, 40, [])  # noqa: B023
        assert (len(made) > 0) == times


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("columns", [0, 1, 7])
def test_add_gram(columns, bias):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000 // max(columns, 1), columns))
    weights = rng.random(len(X)) * (rng.random(len(X)) < 0.7)
    Z = np.column_stack([X, np.full(len(X), bias)]) if bias else X
    for one in (weights, weights + 0.1, -weights):
        expected = 1.0 + np.tril(Z.T @ (one[:, None] * Z))
        for samples in (X, sp.csr_array(X)):
            H = np.ones(expected.shape, order="F")
            newton.add_gram(H, samples, one, bias)
            np.testing.assert_allclose(np.tril(H), np.tril(expected), rtol=1e-10, atol=1e-8)
