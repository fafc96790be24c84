"""The lower level: hyperplanes of least error, LDA among them; the bilevel program is above its relaxation."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from models import BilevelClassifier, GenerativePrior, LinearDiscriminant
from models.bilevel.bayes import bayes_hyperplane, bilevel_objective
from models.bilevel.elliptical import family
from models.bilevel.mixtures import StudentT
from tests.support.bilevel_problems import SIGMAS, bilevel, random_problem

FAMILIES = ["gaussian", "laplace", "logistic", "cauchy", StudentT(5.0)]


def error(prior, mu, share, kind, w, b):
    sigmas = [S.length(w) for S in prior.Sigma]
    return share[0] * kind.tail(-(w @ mu[0] + b) / sigmas[0]) + share[1] * kind.tail((w @ mu[1] + b) / sigmas[1])


def error_at(point, prior, mu, share, kind):
    return error(prior, mu, share, kind, point[:-1], point[-1])


@pytest.mark.parametrize("g", FAMILIES, ids=str)
def test_tails_are_those_of_the_quantiles(g):
    kind = family(g)
    for eta in (0.01, 0.3, 0.5, 0.8):
        assert kind.tail(kind.upper_quantile(eta)) == pytest.approx(eta, rel=1e-9)


@pytest.mark.parametrize(
    ("g", "sigma"),
    [
        pytest.param(g, sigma, marks=() if g == "gaussian" or sigma == "full" else pytest.mark.full)
        for sigma in SIGMAS if sigma != "zero" for g in FAMILIES
    ],
    ids=str,
)  # fmt: skip
def test_no_hyperplane_has_a_smaller_error(g, sigma):
    kind = family(g)
    for seed, share in ((0, (0.5, 0.5)), (1, (0.8, 0.2)), (2, (0.3, 0.7))):
        _, prior, _ = random_problem(seed, n=3, sigma=sigma)
        mu = 2.0 * prior.t
        plane = bayes_hyperplane(prior, mu, share, g)
        if plane.w.any():
            assert error(prior, mu, share, kind, plane.w, plane.b) == pytest.approx(plane.error, abs=1e-12)
        axes = np.eye(3)
        S = [np.array([[s.length(a + b) ** 2 - s.length(a - b) ** 2 for a in axes] for b in axes]) for s in prior.Sigma]
        assert all(np.linalg.eigvalsh(tau * S[0] + (1.0 - tau) * S[1])[0] > 0.0 for tau, _ in plane.roots)
        rng = np.random.default_rng(seed)
        start = np.append(rng.normal(size=3), rng.normal())
        found = minimize(error_at, start, (prior, mu, share, kind), method="Nelder-Mead")
        assert found.fun >= plane.error - 1e-9


def test_two_normal_classes_of_one_covariance_are_parted_by_the_linear_discriminant():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) + 0.7 * (np.arange(60) % 3 == 0)[:, None], (np.arange(60) % 3 == 0).astype(int)
    lda = LinearDiscriminant().fit(X, y)
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    within = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in (0, 1))
    Sigma = within / 60.0
    prior = GenerativePrior(means, (0.1, 0.1), (Sigma, Sigma))
    plane = bayes_hyperplane(prior, weights=(2.0, 1.0))
    fresh = rng.normal(size=(200, 3))
    np.testing.assert_array_equal(fresh @ plane.w + plane.b > 0.0, lda.predict(fresh) == 1)
    assert len(plane.roots) == 1


@pytest.mark.parametrize("seed", range(6))
def test_roots_are_stationary_where_the_combination_is_positive_definite(seed):
    rng = np.random.default_rng(seed)
    roots = [np.linalg.qr(rng.normal(size=(3, 3)))[0] * np.exp(rng.normal(size=3)) for _ in range(2)]
    prior = GenerativePrior(0.3 * rng.normal(size=(2, 3)), (0.1, 0.1), tuple(R @ R.T for R in roots))
    S, d = [part.value for part in prior.Sigma], prior.t[1] - prior.t[0]
    plane = bayes_hyperplane(prior, weights=(0.8, 0.2))
    assert plane.roots or not plane.w.any()
    for tau, error in plane.roots:
        M = tau * S[0] + (1.0 - tau) * S[1]
        w = np.linalg.solve(M, d)
        sigmas = np.sqrt([w @ part @ w for part in S])
        sides = np.array([0.8, 0.2]) * np.exp(-0.5 * (np.array([tau, 1.0 - tau]) * sigmas) ** 2) / sigmas
        assert np.linalg.eigvalsh(M)[0] > 0.0 and sides[0] == pytest.approx(sides[1], rel=1e-8)
        assert error == pytest.approx(0.8 * norm.sf(tau * sigmas[0]) + 0.2 * norm.sf((1.0 - tau) * sigmas[1]))


def test_no_root_is_better_than_no_hyperplane():
    # a narrow, rare class inside a wide one: no half-line contains more of it than of the wide class
    prior = GenerativePrior(([0.0], [0.3]), (0.1, 0.1), (0.04, 9.0))
    nothing = bayes_hyperplane(prior, weights=(0.001, 0.999))
    assert not nothing.w.any() and nothing.error == 0.001 and nothing.b > 0.0 and math.isnan(nothing.tau)
    same = bayes_hyperplane(prior, [[0.0], [0.0]])
    assert not same.w.any() and same.error == 0.5


def test_the_bilevel_objective_is_no_less_than_that_of_the_relaxation():
    rng, compared = np.random.default_rng(0), 0
    for seed in range(12):
        samples, prior, _ = random_problem(seed, samples=6, sigma="full", omega="scalar", apart=4.0)
        for _ in range(5):
            u = rng.normal(size=prior.t.shape)
            mu = prior.t + 0.3 * np.sqrt(0.5) * u / np.linalg.norm(u, axis=1)[:, None]
            value = bilevel_objective(samples.X, samples.y, prior, mu)
            if math.isinf(value):
                continue
            plane = bayes_hyperplane(prior, mu)
            sigmas = [S.length(plane.w) for S in prior.Sigma]
            beta = min(plane.tau * sigmas[0], (1.0 - plane.tau) * sigmas[1])
            # (4.8) and (4.9) with the Bayes hyperplane's own tails, the means fixed
            fixed = GenerativePrior(mu, (0.0, 0.0), tuple(S.value for S in prior.Sigma))
            relaxed = bilevel(fixed, beta * (1.0 - 1e-9), 0.0, math.inf, math.inf).fit(samples.X, samples.y)
            assert relaxed.objective_ <= value * (1.0 + 1e-7)
            compared += 1
    assert compared > 10


def test_refusals():
    prior = GenerativePrior(([0.0, 0.0], [1.0, 0.0]), (0.1, 0.1), ([1.0, 0.0], [1.0, 0.0]))
    with pytest.raises(ValueError, match="Sigma_1 \\+ Sigma_2 must be positive definite"):
        bayes_hyperplane(prior)
    with pytest.raises(ValueError, match="weights must be two positive numbers"):
        bayes_hyperplane(prior, weights=(1.0, 0.0))
    with pytest.raises(ValueError, match="means must be finite, of shape"):
        bayes_hyperplane(prior, [0.0, 1.0])


def test_a_prior_without_doubt_gives_the_boundary_of_bayes():
    spread = np.array([[1.0, 0.4, 0.0], [0.4, 0.5, 0.1], [0.0, 0.1, 2.0]])
    prior = GenerativePrior(t=([-1.0, 0.3, 0.5], [1.2, -0.4, 0.9]), Omega=(1.0, 1.0), Sigma=(spread, spread))
    X, y = np.random.default_rng(0).normal(size=(6, 3)), [-1, 1] * 3
    bayes = np.linalg.solve(spread, prior.t[1] - prior.t[0])
    cosines = []
    for share, phi in ((0.5, 0.5), (0.9, 0.05), (0.9999, 1e-6)):  # section 6: phi to 0, beta to its largest
        model = BilevelClassifier(prior, beta=share * prior.largest_beta(), phi=phi, C1=1.0, C2=np.inf).fit(X, y)
        w = model.coef_[0]
        cosines.append(w @ bayes / np.linalg.norm(w) / np.linalg.norm(bayes))
    assert cosines[0] < cosines[1] < cosines[2] and cosines[2] > 0.9999
