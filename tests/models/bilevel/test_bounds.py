"""The bounds: inequalities of their proofs by sampling, shattered sets, and messages where no bound exists."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from models import BilevelClassifier, GenerativePrior
from models.bilevel import bounds


def random_prior(rng, n, apart):
    t = rng.normal(size=n)
    t *= apart / np.linalg.norm(t)
    variances = [rng.random(n) + 0.5 for _ in range(4)]
    return GenerativePrior((-t, t + 0.1 * rng.normal(size=n)), variances[:2], variances[2:])


def functions_of_the_class(rng, prior, beta, phi, tries=4000):
    """Return random unit vectors w for which means as in (6.1) exist."""
    kept = []
    for _ in range(tries):
        towards = prior.t[1] - prior.t[0]
        w = towards / np.linalg.norm(towards) + rng.random() * 1.5 * rng.normal(size=prior.n) / math.sqrt(prior.n)
        w /= np.linalg.norm(w)
        #  the means within phi that are best for w decide whether there are any
        reaches = [side * (w @ prior.t[i]) + phi * prior.Omega[i].length(w) for i, side in enumerate((-1.0, 1.0))]
        if all(reach >= beta * prior.Sigma[i].length(w) for i, reach in enumerate(reaches)):
            kept.append(w)
    return np.array(kept)


@pytest.mark.full
def test_no_two_functions_of_the_class_are_farther_apart_than_the_proof_says():
    """(B.8): ||w_1 - w_2|| <= 4 alpha sqrt(1 - alpha^2)."""
    checked = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        prior = random_prior(rng, 4, apart=4.0)
        largest = prior.largest_beta()
        for beta, phi in ((0.93 * largest, 0.02), (0.97 * largest, 0.2)):
            alpha = bounds.prior_dimension(prior, beta, phi, 1.0, 1.0).details["alpha"]
            w = functions_of_the_class(rng, prior, beta, phi)
            if alpha < math.sqrt(0.5) or len(w) < 2:
                continue
            widest = np.linalg.norm(w[:, None] - w[None], axis=2).max()
            assert widest <= 4.0 * alpha * math.sqrt(1.0 - alpha**2)
            checked += 1
    assert checked >= 8


def test_the_printed_eigenvalues_would_be_wrong():
    """With Sigma = 4 I and beta at 0.9 of its largest, the printed formula has alpha = 2 where the class is large."""
    prior = GenerativePrior(([-3.0, 0.0], [3.0, 0.0]), (1e-4, 1e-4), (4.0, 4.0))
    beta = 0.9 * prior.largest_beta()
    w = functions_of_the_class(np.random.default_rng(0), prior, beta, 0.0)
    cosines = np.abs(w @ [1.0, 0.0])
    assert 4.0 * beta / 3.0 > 1.0  # as printed: no w at all
    assert cosines.min() == pytest.approx(0.9, abs=2e-3)
    assert bounds.prior_dimension(prior, beta, 0.0, 1.0, 1.0).details["alpha"] == pytest.approx(0.9)


@pytest.mark.parametrize("cosine", [0.75, 0.9, 0.99])
def test_a_set_that_is_shattered_is_not_larger_than_the_bound(cosine):
    """Shatter R e_1, ..., R e_k beside t with gamma = R sin / sqrt(k), by w at the angle that beta allows."""
    k, R = 6, 2.0
    prior = GenerativePrior((np.r_[-1.0, np.zeros(k)], np.r_[1.0, np.zeros(k)]), (1.0, 1.0))
    sine = math.sqrt(1.0 - cosine**2)
    gamma = R * sine / math.sqrt(k)
    for signs in np.ndindex(*(2,) * k):
        labels = 2.0 * np.array(signs) - 1.0
        w = np.r_[cosine, sine / math.sqrt(k) * labels]
        assert np.linalg.norm(w) == pytest.approx(1.0) and w @ prior.t[1] >= cosine - 1e-12
        assert (labels * (R * w[1:]) >= gamma - 1e-12).all()
    bound = bounds.prior_dimension(prior, cosine, 0.0, gamma, R)
    assert bound.holds and k <= bound.value <= 4.0 * k
    assert bound.value < bounds.large_margin_dimension(gamma, R) or cosine < 0.8


def least_alignment(length, tau, sharp=False):
    """Return the least cosine between t and mu by B.2: the paper's loose bound, or (`sharp`) the attained one."""
    return math.sqrt(1.0 - (tau / length) ** 2) if sharp else 1.0 - tau / length


def least_alignment_of_w(cosine, length, tau, sharp=False):
    """Return the least cosine between w and t by B.3: of twice the greater angle, or (`sharp`) of the sum of both."""
    other = least_alignment(length, tau, sharp)
    return math.cos(math.acos(cosine) + math.acos(other)) if sharp else 2.0 * min(cosine, other) ** 2 - 1.0


def test_the_propositions_on_angles_hold_and_the_sharp_ones_are_attained():
    rng = np.random.default_rng(0)
    least = {"B.1": 9.0, "B.2": 9.0, "B.3": 9.0}
    for _ in range(4000):
        v, w1, w2, step = rng.normal(size=(4, 2))
        v, w1, w2 = (x / np.linalg.norm(x) for x in (v, w1, w2))
        alpha = min(w1 @ v, w2 @ v)
        if alpha >= 0.0:
            product, distance = 2.0 * alpha**2 - 1.0, 2.0 * math.sqrt(1.0 - alpha**2)  # B.1
            assert w1 @ w2 >= product - 1e-12 and np.linalg.norm(w1 - w2) <= distance + 1e-7
            least["B.1"] = min(least["B.1"], w1 @ w2 - product)
        t, tau = 2.0 * v, 1.2 * rng.random()
        mu = t + tau * step / np.linalg.norm(step)
        cosine = t @ mu / (2.0 * np.linalg.norm(mu))
        sharp = least_alignment(2.0, tau, sharp=True)
        assert cosine >= sharp - 1e-12 and sharp >= least_alignment(2.0, tau) - 1e-12
        least["B.2"] = min(least["B.2"], cosine - sharp)
        known = w1 @ mu / np.linalg.norm(mu)
        if known >= 0.0:
            sharp = least_alignment_of_w(known, 2.0, tau, sharp=True)
            assert w1 @ v >= sharp - 1e-7 and sharp >= least_alignment_of_w(known, 2.0, tau) - 1e-12
            least["B.3"] = min(least["B.3"], w1 @ v - sharp)
    assert max(least.values()) < 1e-3


def test_the_bound_of_a_fitted_classifier():
    prior = GenerativePrior(t=([-3.0, 0.0], [3.0, 0.0]), Omega=(0.01, 0.01))
    X = np.array([[-3.0, 1.0], [-4.0, -1.0], [3.0, -1.0], [4.0, 1.0]])
    y = [0, 0, 1, 1]
    model = BilevelClassifier(prior, 2.9, phi=0.1, C1=math.inf, C2=math.inf).fit(X, y)
    model.intercept_[:] = 0.0  # the problem is symmetric
    found = model.error_bound(X, y)
    gamma = np.abs(X @ model.coef_[0]).min() / np.linalg.norm(model.coef_)
    assert found.details["gamma"] == pytest.approx(gamma) and found.details["R"] == pytest.approx(math.sqrt(17.0))
    by_hand = bounds.prior_error(prior, 2.9, 0.1, gamma, math.sqrt(17.0), 4, 0.05, model.means_)
    assert (found.dimension, found.failing) == (by_hand.dimension, by_hand.failing)
    model.intercept_[:] = 0.5
    assert any("without b" in text for text in model.error_bound(X, y).failing)
    model.coef_ *= -1.0
    assert "all samples must be on their side" in model.error_bound(X, y).failing[0]
    model.coef_[:] = 0.0
    assert model.error_bound(X, y).failing == ("w must not be zero",)
    soft = BilevelClassifier(prior, 4.0, phi=0.1, C2=1e-3).fit(X, y)
    assert any("without slack" in text for text in soft.error_bound(X, y).failing)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_bound_does_not_hold_for_a_prior_made_of_the_samples(sparse):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 2)) * 0.3 + [6.0, 0.0]
    X, y = np.concatenate([Z, -Z]), np.repeat([1, -1], 200)
    other = -X[:, ::-1] * [1.0, -1.0] @ [[0.0, 1.0], [1.0, 0.0]]  # equal means, but different samples
    means = [X[y == side].mean(axis=0) for side in (-1, 1)]
    given = GenerativePrior(means, (0.01, 0.01), (0.09, 0.09))
    mixed = GenerativePrior.from_samples(np.concatenate([other, X[:1]]), np.append(y, 1))
    priors = {"400 of the 400": None, "1 of the 400": mixed, "t are their means": given}
    priors["nothing"] = GenerativePrior([[-6.0, 0.0], [6.0, 0.0]], (0.01, 0.01), (0.09, 0.09))
    priors["nothing more"] = GenerativePrior.from_samples(1.001 * other, y)
    for words, prior in priors.items():
        model = BilevelClassifier(prior, 16.0, C1=math.inf, C2=math.inf).fit(csr_array(X) if sparse else X, y)
        model.intercept_[:] = 0.0  # the samples are symmetric
        found = model.error_bound(X, y)
        told = [text for text in found.failing if "must be fixed before the samples are seen" in text]
        assert len(told) == (not words.startswith("nothing")) and all(words in text for text in told), words
        assert found.holds == (not told), found


def test_the_largest_and_the_smallest_axes_count():
    full = np.array([[0.5, 0.2], [0.2, 0.3]])
    axes = np.linalg.eigvalsh(full)
    prior = GenerativePrior(([-3.0, 0.0], [4.0, 0.0]), ([0.2, 0.7], full), (full, [0.9, 0.4]))
    found = bounds.prior_dimension(prior, 2.0, 0.3, 1.0, 5.0).details
    taus = 0.3 * np.sqrt([0.7, axes[1]])
    assert found["tau"] == pytest.approx(taus)
    aligned = np.sqrt([axes[0], 0.4]) * 2.0 / (np.array([3.0, 4.0]) + taus)
    assert found["alphas"] == pytest.approx(np.minimum(aligned, 1.0 - taus / [3.0, 4.0]))


def test_means_that_are_fixed_stand_for_the_worst():
    prior = GenerativePrior(([-3.0, 0.0], [3.0, 0.0]), (0.5, 0.5))
    model = BilevelClassifier(prior, beta=2.5, phi=0.1).fit([[-3.0, 0.1], [3.0, 0.2]], [0, 1])
    free = bounds.prior_dimension(prior, 2.5, 0.1, 1.0, 5.0)
    fixed = bounds.prior_dimension(prior, 2.5, 0.1, 1.0, 5.0, model.means_)
    assert fixed.value < free.value * (1.0 + 1e-9) and fixed.holds


def test_one_class_is_enough():
    prior = GenerativePrior(([-0.1, 0.0], [3.0, 0.0]), (1.0, 1e-4), (1e-6, 1.0))
    bound = bounds.prior_dimension(prior, 2.9, 0.2, 1.0, 5.0)
    assert bound.holds and bound.details["alphas"][0] == 0.0 and bound.details["alpha"] > 0.9


@pytest.mark.parametrize(
    ("beta", "phi", "words"),
    [(3.5, 0.0, "no w has"), (2.5, 4.0, "nearer to t than t to zero"), (0.5, 0.1, "alpha = 0.161 must be at least")],
)
def test_what_fails_is_said(beta, phi, words):
    prior = GenerativePrior(([-3.0, 0.0], [3.0, 0.0]), (1.0, 1.0))
    for bound in (
        bounds.prior_dimension(prior, beta, phi, 1.0, 5.0),
        bounds.prior_error(prior, beta, phi, 1.0, 5.0, 10**7, 0.05),
    ):
        assert not bound.holds and math.isinf(bound.value) and any(words in text for text in bound.failing)
        assert words in str(bound)


@pytest.mark.parametrize("h", [0.4, 10.0])
def test_the_error_is_the_formula(h):
    m, delta = 1000, 0.1
    by_hand = 2.0 * (h * math.log2(8.0 * math.e * m / h) * math.log2(32.0 * m) + math.log2(8.0 * m / delta)) / m
    assert bounds.margin_error(m, h, delta).value == pytest.approx(by_hand)
    assert bounds.margin_error(m, 0.0, delta).value == pytest.approx(2.0 * math.log2(8.0 * m / delta) / m)
    assert "must be at most e m = 2718.28" in str(bounds.margin_error(m, 3000.0, delta))
    prior = GenerativePrior(([-3.0], [3.0]), (1e-4, 1e-4))
    d = 256.0 * 4.0 * 0.81 * 0.19 * 25.0
    assert bounds.prior_error(prior, 2.7, 0.0, 1.0, 5.0, 10**7, 0.05).dimension == pytest.approx(d)


def test_wrong_arguments_are_named():
    for call, words in (
        (lambda: bounds.large_margin_dimension(0.0, 1.0), "gamma must be a number above 0"),
        (lambda: bounds.margin_error(0, 1.0, 0.1), "m must be a whole number of at least 1"),
        (lambda: bounds.margin_error(10, 1.0, 1.5), "delta must be a number above 0 and at most 1"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
