"""The bilevel classifier: the alternation, its coordinates, infeasible problems, and the estimator's protocol."""

import functools
import math
import warnings
from dataclasses import replace
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

import socp
from models import SVC, BilevelClassifier, GenerativePrior
from models.bilevel import elliptical, span
from models.bilevel.span import choose_coordinates
from models.bilevel.steps import HyperplaneStep, evaluate, farthest_means, farthest_means_by_cones
from models.programs.bilevel import SIDES, Constants, Samples
from tests.support.bilevel_problems import OMEGAS, SIGMAS, bilevel, random_problem

HARD = (math.inf, math.inf, math.inf)


def objective(samples, prior, constants, w, b, mu):
    """Return (4.17) with the least slacks, from the definitions; inf if a hard constraint is violated by > 1e-6."""
    xi = np.maximum(0.0, 1.0 - samples.y * (samples.X @ w + b)) @ samples.weights
    total = np.linalg.norm(w)
    for i, side in enumerate(SIDES):
        S, O = (np.diag(np.broadcast_to(c.value, (c.n,))) if c.kind != "full" else c.value
                for c in (prior.Sigma[i], prior.Omega[i]))  # fmt: skip
        zeta = max(0.0, np.sqrt(max(0.0, w @ S @ w)) - side * (w @ mu[i] + b) / constants.beta)
        moved = mu[i] - prior.t[i]
        nu = max(0.0, np.sqrt(max(0.0, moved @ np.linalg.pinv(O, rcond=1e-12) @ moved)) - constants.phi)
        assert np.abs(moved - O @ np.linalg.pinv(O, rcond=1e-12) @ moved).max() < 1e-8  # mu = t where Omega is zero
        total += priced(constants.C2, zeta) + priced(constants.C3, nu)
    return total + priced(constants.C1, xi)


def priced(C, violation):
    return C * violation if math.isfinite(C) else (math.inf if violation > 1e-6 else 0.0)


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_the_objective_never_increases(first):
    """Check Theorem 4.1 on a hundred random problems, at every half step."""
    for seed in range(first, first + 10):
        samples, prior, constants = random_problem(seed)
        step = HyperplaneStep(choose_coordinates(samples.X, prior), samples, constants, tol=1e-9)
        mu, nu, before = prior.t, np.zeros(2), math.inf
        for _ in range(4):
            w, b, solution = step.solve(mu)
            assert solution.status == "optimal"
            after = objective(samples, prior, constants, w, b, mu)
            assert after <= before + 1e-7 * (1.0 + after), seed
            mu, nu = farthest_means(prior, constants, w, b, nu)
            before = objective(samples, prior, constants, w, b, mu)
            assert before <= after + 1e-7 * (1.0 + after), seed


@pytest.mark.parametrize("seed", range(6))
def test_a_sharpened_hyperplane_is_the_same_one_to_more_digits(seed):
    """The minimizer is unchanged only if the given length is right; a gap of 1e-6 leaves w uncertain by 1e-3."""
    samples, prior, constants = random_problem(seed, sigma="diagonal")
    rough, exact = (
        HyperplaneStep(choose_coordinates(samples.X, prior), samples, constants, tol=tol) for tol in (1e-6, 1e-10)
    )
    assert rough.sharpen(1.0) is None  # nothing was solved yet
    (w, _, _), (best, _, _) = rough.solve(prior.t), exact.solve(prior.t)
    found, _, solution = rough.sharpen(float(np.linalg.norm(best)))
    assert solution.status == "optimal"
    assert np.linalg.norm(found - best) <= min(3e-4, np.linalg.norm(w - best) + 1e-5)
    assert rough.sharpen(0.0) is None
    if seed < 2:  # samples and prior hold w with finite prices, and another length trades them otherwise
        assert np.linalg.norm(rough.sharpen(2.0 * float(np.linalg.norm(best)))[0] - best) > 1e-2


@pytest.mark.parametrize("form", [HARD, (1.0, 1.0, math.inf), (1.0, 2.0, 0.05)])
def test_the_trace_tells_the_alternation(form):
    samples, prior, _ = random_problem(7, samples=10, sigma="identity", omega="diagonal", apart=2.5)
    model = bilevel(prior, 1.0, 0.8, *form).fit(samples.X, samples.y)
    objectives = [r.objective for r in model.trace_]
    assert 2 <= model.n_iter_ < 100 and len(objectives) in (model.n_iter_, model.n_iter_ - 1)
    assert (np.diff(objectives) <= 1e-7 * (1.0 + objectives[0])).all() and objectives[-1] < objectives[0] - 1e-4
    assert model.trace_[-1].change < model.trace_[0].change
    for last, now in pairwise(model.trace_):
        ways = np.linalg.norm(now.mu - last.mu, axis=1) + (form[2] < math.inf) * np.linalg.norm(now.w - last.w)
        assert now.change == pytest.approx(np.linalg.norm(ways) / (1.0 + np.linalg.norm(last.mu)), rel=1e-6, abs=1e-9)
    assert (model.nu_.max() > 0.1) == (form[2] == 0.05)
    assert model.objective_ == pytest.approx(objectives[-1], rel=1e-7)
    ones = Samples(samples.X, samples.y, np.ones(10))
    constants = Constants(1.0, 0.8, *form)
    found = objective(ones, prior, constants, model.coef_[0], model.intercept_[0], model.means_)
    assert found == pytest.approx(model.objective_, rel=1e-6)
    assert model.solution_.status == "optimal" and isinstance(model.program_, socp.ConeProgram)


def test_without_freedom_of_the_means_one_round_is_enough():
    samples, prior, _ = random_problem(0)
    model = BilevelClassifier(prior, 0.5, phi=0.0, C2=3.0).fit(samples.X, samples.y)
    assert model.n_iter_ == 1
    assert np.array_equal(model.means_, prior.t)


@pytest.mark.parametrize("omega", OMEGAS)
@pytest.mark.parametrize("C3", [math.inf, 0.05])
def test_step_2_by_its_formula_and_by_cones_give_the_same_means(omega, C3):
    for seed in range(5):
        _, prior, _ = random_problem(seed, omega=omega)
        constants = Constants(1.0, 0.5, 1.0, 1.0, C3)
        w, b = np.random.default_rng(seed).normal(size=prior.n), 0.2
        closed = farthest_means(prior, constants, w, b)
        cones = farthest_means_by_cones(prior, constants, w, b, tol=1e-11)
        assert np.abs(closed[0] - cones[0]).max() < 1e-4  # on a sphere a gap of eps allows a distance of sqrt(eps)
        assert np.abs(closed[1] - cones[1]).max() < 1e-6
        if omega == "zeros":
            assert np.array_equal(closed[0][:, ::2], prior.t[:, ::2])


def cost_of_radii(samples, prior, constants, w, b, nu):
    """Return the objective for the best means within the radii phi + nu."""
    moves = [side * Omega.times(w) / Omega.length(w) for side, Omega in zip(SIDES, prior.Omega)]
    return objective(samples, prior, constants, w, b, prior.t + (constants.phi + nu)[:, None] * np.array(moves))


@pytest.mark.parametrize("beta", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("ratio", [0.3, 0.9, 1.1, 3.0])
def test_the_radii_of_step_2_cost_least(beta, ratio):
    """A unit of nu costs C3 and lowers C2 zeta by C2 reach / beta: it grows where their ratio is above one."""
    for seed in range(6):
        samples, prior, _ = random_problem(seed, omega="scalar")
        w, b = np.random.default_rng(seed).normal(size=prior.n), 0.2
        C2, reach = 2.0, prior.Omega[0].length(w)
        constants = Constants(beta, 0.1, 1.0, C2, C2 * reach / (beta * ratio))
        mu, nu = farthest_means(prior, constants, w, b)
        cost = functools.partial(cost_of_radii, samples, prior, constants, w, b)
        assert cost(nu) == pytest.approx(evaluate(samples, prior, constants, w, b, mu, nu).objective, rel=1e-9)
        for i in (0, 1):
            for step in (-nu[i], -0.01 * nu[i], 0.01, 0.1, 1.0, 10.0):
                assert cost(nu + step * np.eye(2)[i]) >= cost(nu) - 1e-9
        assert (nu.max() > 0.0) <= (ratio > 1.0)
        by_cones = farthest_means_by_cones(prior, constants, w, b, tol=1e-10)
        np.testing.assert_allclose(by_cones[1], nu, atol=1e-5)


@pytest.mark.parametrize("sigma", [s for s in SIGMAS if "full" not in s and s != "diagonal"])
@pytest.mark.parametrize("form", [HARD, (1.0, 1.0, math.inf), (1.0, 2.0, 0.05)])
def test_in_the_span_of_documents_and_means_the_problem_is_the_same(sigma, form, monkeypatch):
    samples, prior, _ = random_problem(7, samples=5, n=40, sigma=sigma, omega="diagonal", apart=3.0)
    X = samples.X.copy()
    X[3] = X[1]  # two equal documents
    models = []
    for most in (math.inf, 0.0):
        monkeypatch.setattr(span, "MOST_SHARE", most)
        models.append(bilevel(prior, 0.3, 0.5, *form).fit(X, samples.y))
    small, large = (model.program_.n for model in models)
    assert small <= large - 40 + 2 * (7 if math.isinf(form[2]) else 9)  # plus the two directions of the radii
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-7)
    assert np.abs(models[0].coef_ - models[1].coef_).max() < 1e-4


def test_the_first_label_belongs_to_the_first_mean():
    prior = GenerativePrior(([-3.0, 0.0], [3.0, 0.0]), (0.1, 0.1))
    model = BilevelClassifier(prior, C1=1e-3, C2=10.0).fit([[0.0, 1.0], [0.0, -1.0]], ["second", "first"])
    assert model.classes_.tolist() == ["first", "second"]
    assert model.predict([[-3.0, 0.0], [3.0, 0.0]]).tolist() == ["first", "second"]
    assert model.means_[0, 0] <= -3.0 and model.means_[1, 0] >= 3.0


def test_an_infeasible_hard_problem_says_which_constraint_cannot_hold():
    X, y = np.array([[-1.0, 0.0], [-2.0, 0.5], [1.0, 0.0], [2.0, -0.5]]), [0, 0, 1, 1]
    hard = dict(beta=0.5, phi=0.1, C1=math.inf, C2=math.inf)
    good = GenerativePrior(([-1.0, 0.0], [1.0, 0.0]), (0.1, 0.1))
    assert BilevelClassifier(good, **hard).fit(X, y).solution_.status == "optimal"
    with pytest.raises(socp.ProgramError, match=r"no hyperplane separates.*margins \(4.6\) cannot hold"):
        BilevelClassifier(good, **hard).fit(np.array([[0.0], [1.0], [2.0], [3.0]]) @ [[1.0, 0.0]], [0, 1, 0, 1])
    # the mean of one class beyond its own side
    for means, named in (
        (([0.5, 0.0], [3.0, 0.0]), r"\(4.8\) \(class 0\)"),
        (([-2.0, 0.0], [0.5, 0.0]), r"\(4.9\) \(class 1\)"),
    ):
        with pytest.raises(socp.ProgramError, match=rf"constraint {named} cannot hold beside the margins"):
            BilevelClassifier(GenerativePrior(means, (0.1, 0.1)), **hard).fit(
                [[0.4, 0.0], [0.4, 1.0], [0.4, -1.0], [0.6, 0], [0.6, 1], [0.6, -1]], [0, 0, 0, 1, 1, 1]
            )
    near = GenerativePrior(([-0.2, 0.0], [0.2, 0.0]), (0.01, 0.01))
    with pytest.raises(socp.ProgramError, match=r"\(4.8\).*and \(4.9\).*together.*it can be at most 0.2\)"):
        BilevelClassifier(near, **hard).fit(X, y)
    assert BilevelClassifier(near, **{**hard, "C2": 1.0}).fit(X, y).zeta_.max() > 0.0


def test_a_hard_problem_that_is_feasible_at_other_means_is_solved():
    X, y = np.array([[-1.0, 0.0], [-2.0, 0.5], [1.0, 0.0], [2.0, -0.5]]), [0, 0, 1, 1]
    prior = GenerativePrior(([-0.2, 0.0], [0.2, 0.0]), (1.0, 1.0))  # beta is at most 0.2 at t
    model = BilevelClassifier(prior, beta=0.5, phi=0.6, C1=math.inf, C2=math.inf).fit(X, y)
    assert model.zeta_.max() < 1e-6 and model.xi_.max() < 1e-6
    assert np.linalg.norm(model.means_ - prior.t, axis=1).max() <= 0.6 + 1e-9
    assert model.objective_ == pytest.approx(1.0, rel=1e-5)


def test_beta_may_be_zero_where_the_prior_is_hard():
    model = BilevelClassifier(GenerativePrior(([-1.0], [1.0]), (1.0, 1.0)), beta=0.0, C2=math.inf)
    assert model.fit([[-1.0], [2.0]], [0, 1]).predict([[-0.5], [1.5]]).tolist() == [0, 1]


def test_evaluate_is_the_definition():
    for seed in range(20):
        samples, prior, constants = random_problem(seed)
        rng = np.random.default_rng(seed)
        w, b = rng.normal(size=prior.n), rng.normal()
        mu, nu = farthest_means(prior, constants, w, b)
        point = evaluate(samples, prior, constants, w, b, mu, nu)
        soft = Constants(constants.beta, constants.phi, constants.C1, min(constants.C2, 1e3), constants.C3)
        if math.isfinite(constants.C2):
            assert point.objective == pytest.approx(objective(samples, prior, soft, w, b, mu), rel=1e-9)
        for i in (0, 1):  # without beta there is no slack
            betas = tuple(0.0 if j == i else constants.betas[j] for j in (0, 1))
            zeta = evaluate(samples, prior, replace(constants, beta=betas), w, b, mu, nu).zeta
            assert zeta[i] == 0.0 and zeta[1 - i] == point.zeta[1 - i]


def test_other_starts_are_no_worse_and_their_spread_is_told():
    gains = []
    for seed, apart in ((0, 0.8), (5, 2.0), (12, 0.8), (43, 2.0)):
        samples, prior, _ = random_problem(seed, samples=10, n=4, apart=apart, sigma="full", omega="full")
        fixed = (1.5, 3.0, 10.0, 10.0, math.inf)
        one = bilevel(prior, *fixed).fit(samples.X, samples.y)
        many = bilevel(prior, *fixed, n_init=6, random_state=0).fit(samples.X, samples.y)
        assert many.objectives_.shape == (6,) and many.objective_ == np.nanmin(many.objectives_)
        assert many.objectives_[0] == pytest.approx(one.objective_, rel=1e-6)
        gains.append(1.0 - many.objective_ / one.objective_)
    assert min(gains) > -1e-6 and max(gains) > 0.05


def test_infeasible_starts_are_skipped():
    samples, prior, _ = random_problem(7, samples=10, sigma="identity", omega="diagonal", apart=2.5)
    model = bilevel(prior, 1.0, 1.5, *HARD, n_init=12, random_state=1).fit(samples.X, samples.y)
    assert np.isnan(model.objectives_).any() and model.objective_ == np.nanmin(model.objectives_)
    again = bilevel(prior, 1.0, 1.5, *HARD, n_init=12, random_state=1).fit(samples.X, samples.y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("form", [HARD, (1.0, 2.0, math.inf), (1.0, 2.0, 0.05)])
def test_beta_may_be_one_for_each_class(form):
    samples, prior, _ = random_problem(7, samples=10, sigma="diagonal", omega="diagonal", apart=2.5)
    one = bilevel(prior, 0.7, 0.8, *form).fit(samples.X, samples.y)
    same = bilevel(prior, (0.7, 0.7), 0.8, *form).fit(samples.X, samples.y)
    np.testing.assert_allclose(same.coef_, one.coef_, atol=1e-8)
    pair = bilevel(prior, (0.3, 1.1), 0.8, *form, tol=1e-9).fit(samples.X, samples.y)
    with mock.patch("models.bilevel.bilevel.farthest_means", functools.partial(farthest_means_by_cones, tol=1e-9)):
        by_cones = bilevel(prior, (0.3, 1.1), 0.8, *form, tol=1e-9).fit(samples.X, samples.y)
    np.testing.assert_allclose(by_cones.coef_, pair.coef_, atol=1e-5)
    assert pair.certificate(samples.X, samples.y).error < 1e-5
    w, b = pair.coef_[0], pair.intercept_[0]
    for i, (side, beta) in enumerate(zip(SIDES, (0.3, 1.1), strict=True)):
        kept = side * (w @ pair.means_[i] + b)
        assert kept >= beta * (prior.Sigma[i].length(w) - pair.zeta_[i]) - 1e-7


def test_a_likelier_class_keeps_the_farther_away():
    prior = GenerativePrior(t=([-1.0, 0.0], [1.0, 0.0]), Omega=(0.1, 0.1))
    betas = tuple(elliptical.beta("gaussian", eta) for eta in (0.1, 0.4))
    assert betas[0] > betas[1] > 0.0
    X, y = [[-1.0, 1.0], [2.0, 1.5]], [0, 1]
    even = BilevelClassifier(prior, C2=10.0).fit(X, y)
    moved = BilevelClassifier(prior, betas, C2=10.0).fit(X, y)
    assert moved.intercept_[0] / np.linalg.norm(moved.coef_) < even.intercept_[0] / np.linalg.norm(even.coef_)
    with pytest.raises(ValueError, match="beta must be a number or a pair"):
        BilevelClassifier(prior, (0.1, 0.2, 0.3)).fit(X, y)


def test_it_is_told_whether_the_prior_binds():
    samples, prior, _ = random_problem(7, samples=10, sigma="identity", omega="diagonal", apart=2.5)
    far = GenerativePrior(10.0 * GenerativePrior.from_samples(samples.X, samples.y).t, (0.1, 0.1))
    weak = bilevel(far, 0.2, 0.01, C2=100.0).fit(samples.X, samples.y)
    assert not weak.gamma_.any() and weak.binding_.startswith("the prior does not bind")
    machine = bilevel(GenerativePrior(np.zeros((2, 6)), (0.0, 0.0)), 1.0, 0.0, C1=1.0, C2=1e-12)
    assert np.abs(machine.fit(samples.X, samples.y).coef_ - weak.coef_).max() < 1e-5
    strong = BilevelClassifier(prior).fit(samples.X, samples.y)
    assert strong.beta_ == pytest.approx(0.9 * prior.largest_beta()) and strong.binding_.startswith("the prior binds")
    found = strong.certificate(samples.X, samples.y)
    np.testing.assert_allclose(strong.gamma_, found.gamma, atol=1e-4)
    assert np.abs(strong.coef_ - weak.coef_).max() > 1e-3


@pytest.mark.full
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_a_good_prior_helps_by_default(load):
    """Train on eight samples, with a prior of 200 other samples; the defaults were chosen on the second data set."""
    X, y = load(return_X_y=True)
    pair = (y < 2) if load is load_breast_cancer else (y == 3) | (y == 8)
    X, y = X[pair], (y[pair] == y[pair].max()).astype(int)
    gains = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(y.size)
        pool, rest = order[: min(200, y.size // 2)], order[min(200, y.size // 2) :]
        Z = (X - X[pool].mean(axis=0)) / np.maximum(X[pool].std(axis=0), 1e-9)
        few = np.concatenate([rest[y[rest] == k][:4] for k in (0, 1)])
        test = np.setdiff1d(rest, few)
        prior = GenerativePrior.from_samples(Z[pool], y[pool])
        model = BilevelClassifier(prior).fit(Z[few], y[few])
        without = SVC(kernel="linear", C=1e3).fit(Z[few], y[few])
        gains.append(model.score(Z[test], y[test]) - without.score(Z[test], y[test]))
    assert np.mean(gains) > 0.03 and np.mean(gains) > 3.0 * np.std(gains) / math.sqrt(20)


def test_the_default_prior_has_the_units_of_every_feature():
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    X = rng.normal(size=(200, 2)) + np.outer(y, [2.6, 0.0])
    right = BilevelClassifier().fit(X, y).score(X, y)
    for unit in (1e-5, 1e5):
        Z = X * [1.0, unit]
        assert BilevelClassifier().fit(Z, y).score(Z, y) > right - 0.02
        with pytest.warns(UserWarning, match="Sigma.0. of the prior has other units than X, or ignores them"):
            BilevelClassifier(GenerativePrior(([0.0, 0.0], [2.6, 0.0]), (0.1, 0.1))).fit(Z, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            units = np.array([1.0, unit]) ** 2
            BilevelClassifier(GenerativePrior(([0.0, 0.0], [2.6, 0.0]), (units, units), (units, units))).fit(Z, y)
