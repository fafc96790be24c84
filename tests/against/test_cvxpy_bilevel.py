"""Both steps of the bilevel classifier against cvxpy with Clarabel, which states the programs as the paper does."""

import math

import cvxpy as cp
import numpy as np
import pytest

from models import BilevelClassifier, GenerativePrior
from models.bilevel.span import choose_coordinates
from models.bilevel.steps import HyperplaneStep, farthest_means, farthest_means_by_cones
from models.programs.bilevel import SIDES, Constants
from tests.support.bilevel_problems import OMEGAS, SIGMAS, random_problem

TOLERANCE = 1e-6
CLARABEL = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
FORMS = {
    "hard": (math.inf, math.inf, math.inf), "soft samples": (1.0, math.inf, math.inf),
    "soft prior": (math.inf, 1.0, math.inf), "the paper's": (1.0, 1.0, math.inf), "soft means": (1.0, 2.0, 0.3),
}  # fmt: skip


def root(Sigma):
    """Return Sigma^(1/2) from the eigenvalues, independently of the factors in the code."""
    values, vectors = np.linalg.eigh(dense(Sigma))
    return vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def dense(S):
    return S.value if S.kind == "full" else np.diag(np.broadcast_to(S.value, (S.n,)))


def step_1(samples, prior, constants, mu):
    """Return the optimal value of (4.10)-(4.14) with slacks, or inf if the program is infeasible."""
    w, b = cp.Variable(prior.n), cp.Variable()
    xi, zeta = cp.Variable(samples.y.size, nonneg=True), cp.Variable(2, nonneg=True)
    objective, held = cp.norm(w), []
    if math.isfinite(constants.C1):
        objective += constants.C1 * samples.weights @ xi
    else:
        held.append(xi == 0)
    if math.isfinite(constants.C2):
        objective += constants.C2 * cp.sum(zeta)
    else:
        held.append(zeta == 0)
    held.append(cp.multiply(samples.y, samples.X @ w + b) >= 1 - xi)
    for i, side in enumerate(SIDES):
        held.append(side * (mu[i] @ w + b) / constants.beta >= cp.norm(root(prior.Sigma[i]) @ w) - zeta[i])
    return cp.Problem(cp.Minimize(objective), held).solve(**CLARABEL)


def step_2(prior, constants, w, b):
    """Return nu, the least C_2 zeta + C_3 nu, and the largest sum of (4.15) for this nu."""
    nu = np.zeros(2)
    cost = 0.0
    for i, side in enumerate(SIDES):
        v, slack, zeta = cp.Variable(prior.n), cp.Variable(nonneg=True), cp.Variable(nonneg=True)
        mu = prior.t[i] + root(prior.Omega[i]) @ v
        if math.isfinite(constants.C3):
            held = [cp.norm(v) <= constants.phi + slack]
            length = np.linalg.norm(root(prior.Sigma[i]) @ w)
            held.append(side * (w @ mu + b) / constants.beta >= length - zeta)
            cost += cp.Problem(cp.Minimize(constants.C2 * zeta + constants.C3 * slack), held).solve(**CLARABEL)
            nu[i] = slack.value
    reach = 0.0
    for i, side in enumerate(SIDES):
        v = cp.Variable(prior.n)
        mu = prior.t[i] + root(prior.Omega[i]) @ v
        problem = cp.Problem(cp.Maximize(side * w @ mu), [cp.norm(v) <= constants.phi + nu[i]])
        reach += problem.solve(**CLARABEL)
    return nu, cost, reach


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("form", list(FORMS))
def test_step_1_has_the_value_of_the_reference(form, sigma):
    constants = Constants(0.3, 0.4, *FORMS[form])
    samples, prior, _ = random_problem(11, samples=7, n=8, sigma=sigma, apart=2.5)
    # the means first at t, then moved: the second solve is an update with a warm start
    moved = prior.t + np.array([[-0.1], [0.1]]) * (prior.t[1] - prior.t[0])
    step = HyperplaneStep(choose_coordinates(samples.X, prior), samples, constants)
    for mu in (prior.t, moved):
        w, b, solution = step.solve(mu)
        expected = step_1(samples, prior, constants, mu)
        assert solution.status == "optimal"
        assert abs(solution.objective - expected) <= TOLERANCE * max(1.0, abs(expected))
        assert np.abs(np.minimum(0.0, samples.y * (samples.X @ w + b) - 1.0)).max() < 1e-7 or form != "hard"


@pytest.mark.parametrize("omega", OMEGAS)
@pytest.mark.parametrize("C3", [math.inf, 0.3, 0.01])
def test_step_2_has_the_value_of_the_reference_in_both_ways(omega, C3):
    constants = Constants(1.2, 0.3, 1.0, 2.0, C3)
    _, prior, _ = random_problem(5, omega=omega, sigma="full")
    w, b = np.random.default_rng(0).normal(size=prior.n), 0.1
    nu, cost, reach = step_2(prior, constants, w, b)
    for mu, own_nu in (
        farthest_means(prior, constants, w, b),
        farthest_means_by_cones(prior, constants, w, b, tol=1e-9),
    ):
        own_reach = sum(side * w @ mu[i] for i, side in enumerate(SIDES))
        assert np.abs(own_nu - nu).max() < 1e-6
        assert abs(own_reach - reach) <= TOLERANCE * max(1.0, abs(reach))
        if math.isfinite(C3):
            lengths = np.array([np.linalg.norm(root(S) @ w) for S in prior.Sigma])
            sides = np.array([side * (w @ mu[i] + b) for i, side in enumerate(SIDES)])
            zeta = np.maximum(0.0, lengths - sides / constants.beta)
            assert abs(2.0 * zeta.sum() + C3 * own_nu.sum() - cost) < 1e-6 * max(1.0, cost)


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("sigma", ["identity", "diagonal", "full"])
def test_where_the_alternation_ends_step_1_gains_nothing(form, sigma):
    C1, C2, C3 = FORMS[form]
    samples, prior, _ = random_problem(3, samples=7, n=8, sigma=sigma, omega="zeros", apart=2.5)
    model = BilevelClassifier(prior, beta=0.3, phi=0.4, C1=C1, C2=C2, C3=C3).fit(samples.X, samples.y)
    ones = type(samples)(samples.X, samples.y, np.ones(samples.y.size))
    cost_of_nu = C3 * model.nu_.sum() if math.isfinite(C3) else 0.0
    least = step_1(ones, prior, Constants(0.3, 0.4, C1, C2, C3), model.means_) + cost_of_nu
    assert abs(model.objective_ - least) <= TOLERANCE * max(1.0, least)


def test_the_largest_beta_is_that_of_the_reference():
    for seed in range(14):
        _, prior, _ = random_problem(seed)
        w = cp.Variable(prior.n)
        spread = sum(cp.norm(root(S) @ w) for S in prior.Sigma)
        least = cp.Problem(cp.Minimize(spread), [(prior.t[1] - prior.t[0]) @ w == 1]).solve(**CLARABEL)
        if prior.Sigma[0].value is not None and np.all(prior.Sigma[0].value == 0.0):
            assert prior.largest_beta() == math.inf
        else:
            assert abs(prior.largest_beta() * least - 1.0) < 1e-6
    assert GenerativePrior(([1.0, 1.0], [1.0, 1.0]), (1.0, 1.0)).largest_beta() == 0.0
