"""Theorem 4.2: the answers are stationary, in every form of the problem; points that are not are found out."""

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from models import BilevelClassifier
from models.bilevel.certificate import certify, radii_missed
from models.bilevel.steps import evaluate, farthest_means
from models.programs.bilevel import Constants, Samples
from tests.support.bilevel_problems import bilevel, random_problem

HARD = (math.inf, math.inf, math.inf)


@pytest.mark.parametrize("seed", range(28))
def test_answers_are_stationary(seed):
    samples, prior, constants = random_problem(seed)
    model = bilevel(prior, constants.beta, constants.phi, constants.C1, constants.C2, constants.C3, tol=1e-9).fit(
        samples.X, samples.y, samples.weights
    )
    found = model.certificate(samples.X, samples.y, samples.weights)
    assert found.error < 2e-5
    assert (found.alpha >= 0.0).all() and (found.alpha <= constants.C1 * samples.weights * (1.0 + 1e-12)).all()
    assert (found.gamma >= 0.0).all() and (found.gamma <= constants.C2 / constants.beta * (1.0 + 1e-12)).all()
    reach = [Omega.length(model.coef_[0]) for Omega in prior.Omega]
    np.testing.assert_allclose(found.kappa, found.gamma * reach)


def test_a_hard_problem_with_both_constraints_held():
    samples, prior, _ = random_problem(7, samples=10, sigma="identity", omega="diagonal", apart=2.5)
    model = bilevel(prior, 1.0, 0.8, *HARD, tol=1e-10, solver_tol=1e-11).fit(samples.X, samples.y)
    found = model.certificate(samples.X, samples.y)
    assert found.error < 1e-6 and found.gamma.max() > 1e-3
    # kappa_i / phi Omega_i^-1 (mu_i - t_i) = gamma_i s_i w
    for i, side in enumerate((-1.0, 1.0)):
        moved = (model.means_[i] - prior.t[i]) / prior.Omega[i].value
        np.testing.assert_allclose(found.kappa[i] / 0.8 * moved, side * found.gamma[i] * model.coef_[0], atol=1e-9)


def free_radii(seed):
    """Return a random problem with finite C_3, the price of nu; in half of the problems nu > 0 is optimal."""
    rng = np.random.default_rng(seed)
    samples, prior, _ = random_problem(
        seed, samples=int(rng.integers(6, 24)), n=int(rng.integers(2, 7)), apart=rng.uniform(0.5, 1.5)
    )
    C1, C2, C3 = rng.choice([0.3, 1.0]), rng.choice([1.0, 3.0, 10.0]), rng.choice([0.1, 0.4, 1.0])
    return samples, prior, Constants(rng.uniform(0.3, 1.2), rng.uniform(0.0, 0.5), C1, C2, C3)


def fall_nearby(f, x, rng):
    """Return the relative decrease of f by better points nearby: axes and random directions at six lengths."""
    before = best = f(x)
    ways = np.vstack([np.eye(x.size), -np.eye(x.size), rng.normal(size=(30, x.size)) / math.sqrt(x.size)])
    for length in np.linalg.norm(x) * np.logspace(-1, -6, 6):
        for way in ways:
            if (value := f(x + length * way)) < best:
                x, best = x + length * way, value
    return (before - best) / max(1.0, before)


@pytest.mark.parametrize(
    "first", [*range(0, 40, 10), *(pytest.param(k, marks=pytest.mark.full) for k in range(40, 100, 10))]
)
def test_nothing_nearby_is_better_where_the_radii_have_a_price(first):
    """Compare (4.17), as a function of the hyperplane with the best means and slacks, with its values nearby."""
    grown = 0
    for seed in range(first, first + 10):
        samples, prior, constants = free_radii(seed)
        model = bilevel(prior, constants.beta, constants.phi, constants.C1, constants.C2, constants.C3).fit(
            samples.X, samples.y, samples.weights
        )

        def value(x, samples=samples, prior=prior, constants=constants):
            mu, nu = farthest_means(prior, constants, x[:-1], x[-1])
            return evaluate(samples, prior, constants, x[:-1], x[-1], mu, nu).objective

        x = np.append(model.coef_[0], model.intercept_)
        assert value(x) == pytest.approx(model.objective_, rel=1e-9)
        assert fall_nearby(value, x, np.random.default_rng(seed)) < 1e-6, seed
        grown += bool(model.nu_.max() > 1e-3)
        if np.linalg.norm(model.coef_) > 1e-6:
            assert model.certificate(samples.X, samples.y, samples.weights).error < 1e-4, seed
    assert grown >= 2


def test_the_error_tells_of_radii():
    samples, prior, _ = random_problem(7, samples=10, sigma="identity", omega="diagonal", apart=2.5)
    model = bilevel(prior, 1.0, 0.8, 1.0, 2.0, 0.05).fit(samples.X, samples.y)
    ones = Samples(samples.X, samples.y, np.ones(10))
    point = model.coef_[0], model.intercept_[0], model.means_, model.nu_
    assert model.nu_.max() > 0.1 and certify(ones, prior, Constants(1.0, 0.8, 1.0, 2.0, 0.05), *point).error < 1e-5
    dearer = certify(ones, prior, Constants(1.0, 0.8, 1.0, 2.0, 0.06), *point)
    assert dearer.radii > 1e-4 and dearer.error >= dearer.radii


def test_radii_are_missed_by_what_is_too_much_or_left_where_it_has_a_price():
    for nu, kappa, missed in (([0, 0], [0.4, 0.9], 0.0), ([0, 0], [0.4, 1.2], 0.2), ([0.3, 0], [0.4, 0.9], 0.6),
                              ([0.3, 0.3], [1.0, 1.5], 0.5)):  # fmt: skip
        found = radii_missed(Constants(1.0, 0.8, 1.0, 2.0, 1.0), np.array(kappa), np.array(nu))
        assert found == pytest.approx(missed, abs=1e-15), (nu, kappa)
    assert radii_missed(Constants(1.0, 0.8, 1.0, 2.0, np.inf), np.array([9.0, 9.0]), np.array([1.0, 0.0])) == 0.0


def test_an_answer_that_is_not_stationary_is_told_of():
    samples, prior, _ = random_problem(7, samples=10, sigma="identity", omega="diagonal", apart=2.5)
    with pytest.warns(ConvergenceWarning, match="not stationary"):
        model = bilevel(prior, 1.0, 0.8, 1.0, 2.0, 0.05, max_iter=2).fit(samples.X, samples.y)
    assert model.certificate(samples.X, samples.y).error > 1e-4


def test_other_points_are_not():
    samples, prior, _ = random_problem(7, samples=10, sigma="identity", omega="diagonal", apart=2.5)
    ones = Samples(samples.X, samples.y, np.ones(10))
    model = bilevel(prior, 1.0, 0.8, *HARD).fit(samples.X, samples.y)
    w, b = model.coef_[0], model.intercept_[0]
    constants = Constants(1.0, 0.8, *HARD)
    assert certify(ones, prior, constants, 1.1 * w, b, model.means_, model.nu_).stationarity > 0.1
    assert certify(ones, prior, constants, 0.9 * w, b, model.means_, model.nu_).infeasibility > 0.01
    assert certify(ones, prior, constants, w, b, prior.t, model.nu_).error > 0.01


def test_refusals():
    samples, prior, _ = random_problem(7)
    model = BilevelClassifier(prior, 0.5, C2=3.0).fit(samples.X, samples.y)
    with pytest.raises(ValueError, match="y must be that of fit"):
        model.certificate(samples.X, samples.y + 5.0)
    nothing = BilevelClassifier(prior, 0.5, C1=1e-6, C2=1e-6).fit(samples.X, samples.y)
    with pytest.raises(ValueError, match="w is zero"):
        nothing.certificate(samples.X, samples.y)
