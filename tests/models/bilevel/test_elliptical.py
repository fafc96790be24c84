"""beta and phi from probabilities: against Monte Carlo, against known distributions, and in thousands of dimensions."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from models.bilevel import elliptical
from models.bilevel.elliptical import Cauchy, Gaussian, Laplace, Logistic, StudentT
from models.bilevel.mixtures import log_kolmogorov

FAMILIES = [Gaussian(), StudentT(5.0), StudentT(1.5), Cauchy(), Laplace(), Logistic()]
SAMPLES = 200_000


VARIANCES = {
    "Gaussian": lambda g, rng, size: np.ones(size),
    "StudentT": lambda g, rng, size: g.nu / rng.chisquare(g.nu, size),
    "Cauchy": lambda g, rng, size: 1.0 / rng.chisquare(1.0, size),
    "Laplace": lambda g, rng, size: 2.0 * rng.exponential(size=size),
    "Logistic": lambda g, rng, size: 4.0 * stats.kstwobign.ppf(rng.random(size)) ** 2,
}
"""Samples of V."""


def sample(g, rng, size, n):
    return np.sqrt(VARIANCES[type(g).__name__](g, rng, size))[:, None] * rng.normal(size=(size, n))


def ids(g):
    return repr(g)


@pytest.mark.parametrize("g", FAMILIES, ids=ids)
@pytest.mark.parametrize("eta", [0.02, 0.2, 0.5])
def test_proposition_31_by_sampling(g, eta):
    """If x ~ E(mu, Sigma, g), the share eta lies beyond a hyperplane at beta(eta) ||Sigma^(1/2) w|| from mu."""
    rng = np.random.default_rng(int(1000 * eta))
    n = 3
    root = rng.normal(size=(n, n))
    mu, w = rng.normal(size=n), rng.normal(size=n)
    b = -(w @ mu) - elliptical.beta(g, eta) * np.linalg.norm(root.T @ w)
    x = mu + sample(g, rng, SAMPLES, n) @ root.T
    share = np.mean(x @ w + b >= 0.0)
    assert abs(share - eta) < 4.0 * math.sqrt(eta * (1.0 - eta) / SAMPLES)


@pytest.mark.parametrize("g", FAMILIES, ids=ids)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_affine_images_are_of_the_same_family(g, k):
    """Properties 1, 2: if x ~ E(mu, Sigma, g) in R^3, then A x + a ~ E(A mu + a, A Sigma A', g) in R^k."""
    rng = np.random.default_rng(10 + k)
    root, mu, A, a = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(k, 3)), rng.normal(size=k)
    images = (mu + sample(g, rng, SAMPLES, 3) @ root.T) @ A.T + a
    whitened = np.linalg.solve(np.linalg.cholesky(A @ root @ root.T @ A.T), (images - (A @ mu + a)).T)
    for probability in (0.05, 0.3, 0.5, 0.8, 0.95):
        share = np.mean(np.linalg.norm(whitened, axis=0) <= g.radius(probability, k))
        assert abs(share - probability) < 4.0 * math.sqrt(probability * (1.0 - probability) / SAMPLES)
    for axis in whitened:  # all directions in R^k have equal distributions
        assert abs(np.mean(axis > g.upper_quantile(0.2)) - 0.2) < 4.0 * math.sqrt(0.16 / SAMPLES)


@pytest.mark.full
@pytest.mark.parametrize("g", FAMILIES, ids=ids)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_density_has_integral_one_and_is_that_of_the_samples(g, n):
    """Integrate the density over the ball whose radius belongs to a probability; the mass is this probability."""
    surface = math.log(2.0) + 0.5 * n * math.log(math.pi) - math.lgamma(0.5 * n)

    def mass(u):  # at the length e^u
        return math.exp(surface + n * u + g.log_density(math.exp(2.0 * u), n))

    for probability in (0.3, 0.9):
        end = math.log(g.radius(probability, n))
        found, _ = integrate.quad(mass, end - 40.0, end, points=[end - 5.0, end - 1.0], limit=200)
        assert found == pytest.approx(probability, abs=1e-7)


def test_in_one_dimension_they_are_the_textbook_distributions():
    textbook = [(Gaussian(), stats.norm), (StudentT(5.0), stats.t(5)), (Cauchy(), stats.cauchy),
                (Laplace(), stats.laplace), (Logistic(), stats.logistic)]  # fmt: skip
    for g, known in textbook:
        for x in (0.01, 0.7, 3.0, 12.0):
            assert g.log_density(x * x, 1) == pytest.approx(known.logpdf(x), rel=1e-9)
            inside = known.cdf(x) - known.cdf(-x)
            if x < 5.0:
                assert g.radius(inside, 1) == pytest.approx(x, rel=1e-8, abs=0.0)
        for eta in (1e-6, 0.1, 0.4, 0.5):
            assert g.upper_quantile(eta) == pytest.approx(known.isf(eta), rel=1e-9, abs=1e-12)
            assert g.upper_quantile(1.0 - 0.5 * eta) == pytest.approx(known.ppf(0.5 * eta), rel=1e-7)
        if math.isfinite(g.variance_factor):
            assert g.variance_factor == pytest.approx(known.var())


def test_the_laplace_density_is_that_of_bessels_function():
    from scipy.special import kve

    for n in (2, 3, 10):
        for r in (0.1, 1.0, 20.0):
            known = (
                -0.5 * n * math.log(2.0 * math.pi) + (1.0 - 0.5 * n) * math.log(r) + math.log(kve(0.5 * n - 1, r)) - r
            )
            assert Laplace().log_density(r * r, n) == pytest.approx(known, rel=1e-10, abs=1e-10)
    assert Laplace().log_density(0.0, 2) == math.inf


def test_kolmogorovs_law_in_both_tails():
    k = np.linspace(0.2, 3.0, 57)
    # scipy truncates its series with an error of 7e-9 just above 0.82
    assert np.allclose(log_kolmogorov(k), stats.kstwobign.logpdf(k), rtol=0, atol=5e-8)
    total, _ = integrate.quad(lambda k: math.exp(log_kolmogorov(np.array([k]))[0]), 0.02, 8.0, points=[0.8])
    assert total == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(log_kolmogorov(np.array([1e-3, 1e3]))).all()


@pytest.mark.parametrize("g", FAMILIES, ids=ids)
@pytest.mark.parametrize("n", [1, 5, 10_000])
def test_phi_is_where_the_density_is_delta(g, n):
    """The density of E(t, Omega, g) at distance phi is delta; it includes the square root of the determinant."""
    variances = np.linspace(0.5, 2.0, n)
    half = 0.5 * float(np.log(variances).sum())
    for length in (0.3, 2.0, 150.0):
        log_delta = g.log_density(length**2, n) - half
        assert elliptical.phi(g, log_delta, variances, log=True) == pytest.approx(length, rel=1e-6)
    if n == 1:
        assert elliptical.phi(g, math.exp(g.log_density(1.0, 1)), [1.0]) == pytest.approx(1.0, rel=1e-9)


def test_where_omega_is_zero_the_density_is_that_of_its_support():
    assert elliptical.phi("gaussian", 0.05, [2.0, 0.0, 3.0]) == pytest.approx(
        elliptical.phi("gaussian", 0.05, [2.0, 3.0])
    )
    assert elliptical.radius("laplace", 0.5, [2.0, 0.0]) == pytest.approx(math.log(2.0))
    assert elliptical.phi("gaussian", 0.05, [0.0, 0.0]) == elliptical.radius("gaussian", 0.5, [0.0]) == 0.0
    turned = np.array([[2.0, 1.0], [1.0, 2.0]])  # with eigenvalues 1 and 3
    assert elliptical.phi("logistic", 0.01, turned) == pytest.approx(elliptical.phi("logistic", 0.01, [1.0, 3.0]))


@pytest.mark.parametrize("g", [StudentT(5.0), Laplace(), Logistic()], ids=ids)
def test_covariances_are_alpha_times_the_scales(g):
    rng = np.random.default_rng(0)
    assert np.var(sample(g, rng, SAMPLES, 1)) == pytest.approx(g.variance_factor, rel=0.05)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: elliptical.beta("normal", 0.1), "g must be an Elliptical"),
    (lambda: elliptical.beta("gaussian", 0.6), "eta must be at most 1/2"),
    (lambda: elliptical.beta("gaussian", 0.0), "eta must be a number above 0"),
    (lambda: elliptical.beta(StudentT(-1.0), 0.1), "nu must be a number above 0"),
    (lambda: elliptical.phi("gaussian", 1.0, [1.0]), "its logarithm can be at most -0.918939"),
    (lambda: elliptical.phi("gaussian", -1.0, [1.0]), "delta must be a number above 0"),
    (lambda: elliptical.phi("gaussian", 0.1, 1.0), "Omega must be prior.Omega"),
    (lambda: elliptical.radius("gaussian", 1.0, [1.0]), "probability must be below 1"),
])  # fmt: skip
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
