"""Maximum entropy discrimination: two ways of solving its dual, its primal, weights, and scikit-learn's protocol."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

from models import MEDClassifier
from models.score_spaces.med import MaximumEntropyDual, best_multipliers, discriminate, margin_loss


def rows(samples, features, seed=0, flips=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, features)) / np.sqrt(features)
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0) * np.where(rng.random(samples) < flips, -1.0, 1.0)
    return y[:, None] * np.hstack([X, np.ones((samples, 1))])


def test_the_dual_is_minus_the_log_of_the_partition_function():
    # one sample, one feature: both integrals by quadrature
    a, c, f, lam = 1.3, 4.0, 0.8, 2.5
    weight = quad(lambda w: np.exp(-0.5 * w * w + lam * f * w) / np.sqrt(2 * np.pi), -30, 30)[0]
    margin = quad(lambda g: c * np.exp(-c * (a - g) - lam * g), -60, a)[0]
    dual = MaximumEntropyDual(np.array([[f]]), a, c)
    assert dual.value(np.array([lam])) == pytest.approx(-np.log(weight * margin), rel=1e-9)
    mean = quad(lambda g: g * c * np.exp(-c * (a - g) - lam * g), -60, a)[0] / margin
    assert dual.expected_margins(np.array([lam]))[0] == pytest.approx(mean, rel=1e-9)


def test_the_loss_is_the_best_over_the_multiplier():
    a, c = 0.7, 3.0
    grid = np.linspace(0, c, 200_001)[:-1]
    for m in (-5.0, -0.5, 0.0, 0.36, 0.37, 2.0):
        values = (a - m) * grid + np.log1p(-grid / c)
        assert margin_loss(np.array([m]), a, c)[0] == pytest.approx(values.max(), abs=1e-7)
        assert best_multipliers(np.array([m]), a, c)[0] == pytest.approx(grid[values.argmax()], abs=1e-3)


@pytest.mark.parametrize("samples, features", [(40, 60), (60, 8), (200, 3)])
@pytest.mark.parametrize("a, c", [(1.0, 6.0), (2.0, 0.8), (0.1, 50.0)])
def test_newton_finds_what_a_general_method_finds_on_the_primal(samples, features, a, c):
    F = rows(samples, features)
    found = discriminate(F, a, c, tol=1e-10)
    dual = MaximumEntropyDual(F, a, c)

    def primal(u):
        return dual.primal(u), u - F.T @ best_multipliers(F @ u, a, c)

    other = minimize(primal, np.zeros(F.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-9})
    assert 0.0 <= found.gap + 1e-12 and found.gap <= 1e-10 * (1 + found.objective)
    assert found.objective == pytest.approx(other.fun, rel=1e-7)
    np.testing.assert_allclose(found.weights, other.x, atol=1e-5 * (1 + abs(other.x).max()))
    np.testing.assert_allclose(found.multipliers, best_multipliers(F @ found.weights, a, c), atol=1e-4 * c)
    assert found.multipliers.min() >= 0.0 and found.multipliers.max() < c


def test_both_ways_agree():
    # with more features than samples the alternation converges; otherwise slowly, and its gap bounds the error
    F = rows(40, 60, flips=0.0)
    one, two = (discriminate(F, 1.0, 6.0, method=method, tol=1e-10) for method in ("newton", "alternation"))
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    np.testing.assert_allclose(two.multipliers, one.multipliers, atol=1e-4)
    np.testing.assert_allclose(two.weights, one.weights, atol=1e-5)
    F = rows(60, 8)
    one, two = discriminate(F, 1.0, 6.0), discriminate(F, 1.0, 6.0, method="alternation", max_iter=60)
    assert two.gap > 1e-3 and one.objective - two.gap <= two.objective <= one.objective
    assert two.objective == pytest.approx(one.objective, rel=1e-2)


def test_a_tolerance_out_of_reach_ends_where_nothing_more_is_gained():
    found = discriminate(rows(60, 8), 1.0, 6.0, tol=1e-300)
    assert found.iterations < 30 and 0.0 <= found.gap < 1e-12 * found.objective
    assert found.multipliers.min() < 1e-15  # at the lower bound up to rounding


def test_with_the_margins_held_and_no_upper_bound_there_is_no_answer():
    # two inseparable samples show why eq. 19 alone is not solved
    F = np.array([[1.0], [-1.0]])
    dual = MaximumEntropyDual(F, 1.0, 6.0)
    held = dual.expected_margins(np.zeros(2))
    values = [
        held.sum() * size - 0.5 * dual.weights(np.full(2, size)) @ dual.weights(np.full(2, size)) for size in (1, 1e6)
    ]
    assert values[1] > 1e5 > values[0]
    assert discriminate(F, 1.0, 6.0).multipliers == pytest.approx([5.0, 5.0])  # c - 1/a


def test_more_samples_than_features_is_solved_by_the_low_rank_program_to_the_same_answer():
    F = rows(56, 12)
    wide = discriminate(np.hstack([F, np.zeros((56, 2))]), 1.0, 6.0, tol=1e-9)  # 14 columns: dense
    low = discriminate(F[:, :12], 1.0, 6.0, tol=1e-9)
    padded = discriminate(np.hstack([F[:, :12], np.zeros((56, 30))]), 1.0, 6.0, tol=1e-9)
    assert type(low.program.P) is not type(padded.program.P)
    np.testing.assert_allclose(low.weights, padded.weights[:12], atol=1e-6)
    assert wide.gap < 1e-7


def test_real_samples_of_two_and_three_classes():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = MEDClassifier().fit(X, y)
    assert model.score(X, y) > 0.98 and model.gap_[0] <= 1e-8 * (1 + model.objective_[0])
    phi = np.hstack([X, np.ones((len(X), 1))])
    weights = (model.multipliers_[0] * np.where(y == 1, 1.0, -1.0)) @ phi  # eq. 22
    np.testing.assert_allclose(weights, np.append(model.coef_[0], model.intercept_), atol=1e-9)
    margins = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    assert (margins - model.expected_margins_[0]).min() > -1e-5  # eq. 9
    assert abs(model.multipliers_[0] * (margins - model.expected_margins_[0])).max() < 1e-4
    X, y = load_iris(return_X_y=True)
    model = MEDClassifier().fit(X, np.array(["a", "b", "c"])[y])
    assert model.coef_.shape == (3, 4) and model.decision_function(X).shape == (150, 3)
    assert model.score(X, np.array(["a", "b", "c"])[y]) > 0.93


def test_too_few_iterations_are_said():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"after 2 quadratic programs .* known to"):
        MEDClassifier(method="alternation", max_iter=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MEDClassifier().fit(X, y)


def test_the_start_at_the_minimizer_of_the_primal_changes_the_work_and_not_the_answer(monkeypatch):
    F, weight = rows(60, 8), np.linspace(0.5, 2.0, 60)
    soon = discriminate(F, 1.0, 6.0, weight, tol=1e-10)
    monkeypatch.setattr("models.score_spaces.med.MOST_FEATURES", 0)
    late = discriminate(F, 1.0, 6.0, weight, tol=1e-10)
    assert soon.iterations < 3 < late.iterations
    assert soon.weights == pytest.approx(late.weights, abs=1e-5)
    assert soon.objective == pytest.approx(late.objective, rel=1e-10)
