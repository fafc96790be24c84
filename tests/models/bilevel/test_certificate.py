"""Theorem 4.2: the answers are stationary, in every form of the problem; points that are not are found out."""

import math

import numpy as np
import pytest

from models import BilevelClassifier
from models.bilevel.certificate import certify
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
    model = bilevel(prior, 1.0, 0.8, *HARD, tol=1e-10).fit(samples.X, samples.y)
    found = model.certificate(samples.X, samples.y)
    assert found.error < 1e-6 and found.gamma.max() > 1e-3
    # kappa_i / phi Omega_i^-1 (mu_i - t_i) = gamma_i s_i w
    for i, side in enumerate((-1.0, 1.0)):
        moved = (model.means_[i] - prior.t[i]) / prior.Omega[i].value
        np.testing.assert_allclose(found.kappa[i] / 0.8 * moved, side * found.gamma[i] * model.coef_[0], atol=1e-9)


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
    model = BilevelClassifier(prior).fit(samples.X, samples.y)
    with pytest.raises(ValueError, match="y must be that of fit"):
        model.certificate(samples.X, samples.y + 5.0)
    nothing = BilevelClassifier(prior, C1=1e-6, C2=1e-6).fit(samples.X, samples.y)
    with pytest.raises(ValueError, match="w is zero"):
        nothing.certificate(samples.X, samples.y)
