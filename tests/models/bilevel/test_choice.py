"""What the bilevel classifier believes by default, and both kinds of knowledge in one program."""

import math

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from models import SVC, BilevelClassifier, ExplanationAugmentedSVC, GenerativePrior
from models.bilevel.kernel import KernelPrior
from models.programs.bilevel import SIDES
from tests.models.bilevel.test_kernel import QUADRATIC, data

NOISE, SHOWN = 24, 4  # features without meaning; features of which the classes differ, half of them known to the prior


def drawn(rng, m, scale=2.0):
    """Return samples whose classes differ in the first features, beside loud features without meaning."""
    y = np.arange(m) % 2
    shown = 0.8 * (2.0 * y[:, None] - 1.0) + rng.normal(size=(m, SHOWN))
    return np.hstack([shown, scale * rng.normal(size=(m, NOISE))]), y


def prior_of(direction):
    """Return a prior that knows the means of the first half of the telling features, and nothing of the others."""
    t = np.zeros((2, SHOWN + NOISE))
    t[:, : SHOWN // 2] = direction * 0.8 * np.array(SIDES)[:, None]
    Sigma = np.concatenate([np.ones(SHOWN), np.full(NOISE, 4.0)])
    return GenerativePrior(t, (0.05, 0.05), (Sigma, Sigma))


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(12), marks=pytest.mark.full)])
def test_it_never_loses_much_to_samples_alone_or_prior_alone(seeds):
    for direction in (1.0, -1.0):  # a right prior, and a wrong one
        prior, found = prior_of(direction), []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            (X, y), (T, z) = drawn(rng, 30), drawn(rng, 1000)
            w, b, *_ = prior.hyperplane()
            model = BilevelClassifier(prior).fit(X, y)
            alone = np.mean((T @ w + b > 0.0) == (z == 1))
            found.append([model.score(T, z), SVC(kernel="linear").fit(X, y).score(T, z), alone])
        ours, samples, alone = np.mean(found, axis=0)
        assert ours > max(samples, alone) - 0.02, (direction, ours, samples, alone)
        assert direction < 0.0 or ours > samples + 0.05


def test_the_scores_are_those_of_single_fits_and_the_best_is_taken():
    X, y = drawn(np.random.default_rng(3), 40)
    prior = prior_of(1.0)
    model = BilevelClassifier(prior).fit(X, y)
    assert model.scores_.shape == (len(model.choices_), 5)
    best = model.choices_[model.scores_.mean(axis=1).round(12).argmax()]
    assert (model.beta_, model.C2_) == (best.constants.beta, best.constants.C2)
    constants = [one.constants for one in model.choices_]
    assert sum(one.C1 == 0.0 for one in constants) == sum(one.C2 == 0.0 for one in constants) == 1
    if best.constants.C1 and best.constants.C2:
        same = BilevelClassifier(prior, best.constants.beta, C2=best.constants.C2).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-9)
    assert len(BilevelClassifier(prior, 0.5).fit(X, y).choices_) == 5  # the C2, the prior alone, the samples alone
    few = BilevelClassifier(prior).fit(X[:3], y[:3])
    assert few.beta_ == pytest.approx(0.9 * prior.largest_beta()) and few.C2_ == 3.0 and few.scores_.shape[1] == 0


def test_a_prior_of_equal_means_is_left_out_or_tried_but_never_alone():
    X, y = drawn(np.random.default_rng(0), 30)
    prior = GenerativePrior(np.zeros((2, X.shape[1])), (1.0, 1.0))
    model = BilevelClassifier(prior).fit(X, y)
    assert all(one.constants.C1 > 0.0 for one in model.choices_) and np.isfinite(model.coef_).all()


def test_without_a_prior_it_says_that_it_is_a_support_vector_machine():
    X, y = drawn(np.random.default_rng(0), 30)
    with pytest.warns(UserWarning, match="there is no prior, and the answer is that of a support vector machine"):
        BilevelClassifier().fit(X, y)


@pytest.mark.parametrize("beta, C2", [("CV", 1.0), (0.2, "all"), (0.2, 0.0)])
def test_words_that_are_no_choice_are_refused(beta, C2):
    X, y = drawn(np.random.default_rng(0), 10)
    with pytest.raises(ValueError, match=r"(beta|C2) must be"):
        BilevelClassifier(prior_of(1.0), beta, C2=C2).fit(X, y)


def reference(X, y, D, prior, mu, beta, C1, C2, Q, weights):
    """Return the value of step 1 with explanations at the means mu, by Clarabel."""
    w, b, xi, zeta = (
        cp.Variable(X.shape[1]),
        cp.Variable(),
        cp.Variable(y.size, nonneg=True),
        cp.Variable(2, nonneg=True),
    )
    held = [cp.multiply(y, X @ w + b) >= 1.0 - xi]
    for i, side in enumerate(SIDES):
        root = np.sqrt(np.broadcast_to(prior.Sigma[i].value, X.shape[1]))
        held.append(side * (w @ mu[i] + b) / beta >= cp.norm(cp.multiply(root, w)) - zeta[i])
    cost = cp.norm(w) + cp.sum(cp.multiply(C1, xi)) + C2 * cp.sum(zeta)
    if math.isinf(Q):
        held.append(D @ w == 0.0)
    else:
        cost += Q * weights @ cp.abs(D @ w)
    return cp.Problem(cp.Minimize(cost), held).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("Q", [0.03, 0.3, math.inf])
def test_both_kinds_of_knowledge_are_one_program(Q, container):
    rng = np.random.default_rng(5)
    X, y = drawn(rng, 24)
    prior, mask, weights = prior_of(1.0), rng.random(X.shape) < 0.8, rng.uniform(0.5, 2.0, y.size)
    mask[:, :SHOWN], mask[::5] = True, True  # some are not explained
    model = BilevelClassifier(prior, 0.5, phi=0.3, C2=2.0, Q=Q, solver_tol=1e-10, tol=1e-9)
    model.fit(container(X), y, weights, explanations=container(mask) if container is sp.csr_array else mask)
    told = np.flatnonzero(~mask.all(axis=1))
    D, signs = (X - X * mask)[told], 2.0 * y - 1.0
    expected = reference(X, signs, D, prior, model.means_, 0.5, weights, 2.0, Q, weights[told])
    assert abs(model.objective_ - expected) < 1e-6 * max(1.0, expected)
    np.testing.assert_allclose(model.deviation_, D @ model.coef_[0], atol=1e-9)
    assert math.isfinite(Q) or abs(model.deviation_).max() < 1e-6
    again = container(mask) if container is sp.csr_array else mask
    found = model.certificate(container(X), y, weights, explanations=again)
    assert found.error < 1e-4 and found.explanations.size == told.size
    assert (abs(found.explanations) <= Q * weights[told] + 1e-9).all()


def test_the_kernel_form_has_explanations_too():
    X, y, Z, z, T = data(1)
    mask = np.random.default_rng(0).random(X.shape) < 0.7
    settings = {"beta": 0.4, "C2": 3.0, "Q": 0.1, "solver_tol": 1e-11, "tol": 1e-9}
    t = [QUADRATIC.explicit(Z)[z == k].mean(axis=0) for k in (0, 1)]
    V = QUADRATIC.explicit(X * mask)
    found = BilevelClassifier(KernelPrior(Z, z, (0.2, 0.3), (0.5, 0.7)), kernel=QUADRATIC, **settings)
    found.fit(X, y, explanations=mask)
    features, D = QUADRATIC.explicit(X), QUADRATIC.explicit(X) - V
    prior = GenerativePrior(t, (0.2, 0.3), (0.5, 0.7))
    told = np.flatnonzero(~mask.all(axis=1))
    explicit = BilevelClassifier(prior, **{**settings, "Q": 0.0}).fit(features, y)
    assert found.objective_ > explicit.objective_ + 1e-6  # the explanations cost something
    mu, w = prior.t.copy(), explicit_weights(found, features, V[told], t)
    for i, side in enumerate(SIDES):  # step 2 in closed form, in the explicit features
        mu[i] += side * 0.01 * np.sqrt((0.2, 0.3)[i]) * w / np.linalg.norm(w)
    expected = reference(features, 2.0 * y - 1.0, D[told], prior, mu, 0.4, 1.0, 3.0, 0.1, np.ones(told.size))
    assert abs(found.objective_ - expected) < 1e-6 * max(1.0, expected)
    assert np.isfinite(found.decision_function(T)).all()


def explicit_weights(model, features, V, t):
    """Return w in the explicit features: the basis of the kernel form is a combination of known vectors."""
    return np.vstack([features, V, t]).T @ (model.space_.basis @ model.coef_[0])


@pytest.mark.parametrize("seeds", [[108], pytest.param(range(100, 112), marks=pytest.mark.full)])
def test_each_kind_helps_and_both_help_more_and_contradictions_are_not_believed(seeds):
    mask = np.arange(SHOWN + NOISE) < SHOWN
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        (X, y), (T, z) = drawn(rng, 24), drawn(rng, 1000)
        fits = [
            SVC(kernel="linear").fit(X, y),
            BilevelClassifier(prior_of(1.0)).fit(X, y),
            ExplanationAugmentedSVC().fit(X, y, explanations=mask),
            BilevelClassifier(prior_of(1.0)).fit(X, y, explanations=mask),
            BilevelClassifier(prior_of(-1.0)).fit(X, y, explanations=mask),  # a wrong prior beside right explanations
        ]
        found.append([model.score(T, z) for model in fits])
    plain, prior, told, both, against = np.mean(found, axis=0)
    assert min(prior, told) > plain + 0.03 and both > max(prior, told)
    assert against > told - 0.04
