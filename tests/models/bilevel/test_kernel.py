"""The bilevel classifier in the features of a kernel is the one of the explicit features."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from models import BilevelClassifier, GenerativePrior
from models.bilevel.kernel import KernelPrior
from models.kernels.kernel import Kernel

QUADRATIC = Kernel("poly", gamma=0.5, degree=2, coef0=1.0)


def data(seed, n=3):
    """Return samples inside and outside a sphere, points of a prior, the labels of both, and samples to classify."""
    rng = np.random.default_rng(seed)
    X, Z, T = rng.normal(size=(14, n)), rng.normal(size=(40, n)), rng.normal(size=(50, n))
    inside, of_prior = (np.linalg.norm(A, axis=1) < 1.0 + 0.3 * n**0.5 for A in (X, Z))
    inside[:2], of_prior[:2] = (False, True), (False, True)
    return X, inside.astype(int), Z, of_prior.astype(int), T


@pytest.mark.parametrize("constants", [{}, {"C2": math.inf, "phi": 0.5}, {"C3": 0.3, "C2": 10.0}, {"beta": 0.05}])
@pytest.mark.parametrize("kernel", [QUADRATIC, Kernel("linear")])
def test_the_kernel_form_is_the_explicit_one(kernel, constants):
    for seed in range(4):
        X, y, Z, z, T = data(seed)
        weights = np.random.default_rng(seed).uniform(0.5, 2.0, z.size)
        F = kernel.explicit(Z)
        t = [np.average(F[z == k], axis=0, weights=weights[z == k]) for k in (0, 1)]
        # the folds of cross-validation are made of X, so that constants are given
        tight = {"solver_tol": 1e-12, "tol": 1e-10, "beta": 0.4, "C2": 3.0, **constants}
        explicit = BilevelClassifier(GenerativePrior(t, (0.2, 0.3), (0.5, 0.7)), **tight).fit(kernel.explicit(X), y)
        prior = KernelPrior(Z, z, (0.2, 0.3), (0.5, 0.7), weights)
        found = BilevelClassifier(prior, kernel=kernel, **tight).fit(X, y)
        assert found.objective_ == pytest.approx(explicit.objective_, rel=1e-8)
        assert found.beta_ == pytest.approx(explicit.beta_, rel=1e-9)
        expected = explicit.decision_function(kernel.explicit(T))
        assert np.abs(found.decision_function(T) - expected).max() < 1e-6 * max(1.0, np.abs(expected).max()), seed
        np.testing.assert_allclose(found.xi_, explicit.xi_, atol=1e-6)


def test_with_a_gaussian_kernel_it_solves_what_no_hyperplane_can():
    X, y, Z, z, T = data(0, n=2)
    truth = (np.linalg.norm(T, axis=1) < 1.0 + 0.3 * 2**0.5).astype(int)
    prior = KernelPrior(csr_array(Z), z, (0.1, 0.1))
    model = BilevelClassifier(prior, kernel="rbf").fit(csr_array(X), y)
    assert model.score(csr_array(T), truth) > 0.8 > BilevelClassifier().fit(X, y).score(T, truth)
    assert model.coef_.shape[1] <= 16 and model.certificate(X, y).error < 1e-4
    assert np.abs(model.decision_function(T) - model.decision_function(csr_array(T))).max() < 1e-12


def test_the_bound_knows_the_points():
    X, y, Z, z, _ = data(0)
    for points, labels, made in ((Z, z, False), (np.vstack([Z, X[:1]]), np.append(z, y[0]), True)):
        model = BilevelClassifier(KernelPrior(points, labels), 0.2, kernel=QUADRATIC, C1=math.inf, C2=3.0).fit(X, y)
        assert any("seen, but 1 of the 14" in text for text in model.error_bound(X, y).failing) == made


@pytest.mark.parametrize(("prior", "kernel", "words"), [
    (None, "rbf", "prior must be a KernelPrior of 3 features for a kernel, but NoneType"),
    (KernelPrior([[0.0], [1.0]], [0, 1]), "rbf", "a KernelPrior of 3 features for a kernel, but 1 came"),
    (KernelPrior(np.eye(3)[:2], [0, 1]), None, "prior must be a GenerativePrior or None, but KernelPrior"),
    (KernelPrior(np.eye(3)[:2], [0, 1]), lambda A, B: A * [1, 1, -1] @ B.T, "kernel must be positive semidefinite"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(prior, kernel, words):
    X, y, *_ = data(0)
    with pytest.raises(ValueError, match=words):
        BilevelClassifier(prior, kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match="Omega and Sigma must be pairs of numbers"):
        KernelPrior(np.eye(3)[:2], [0, 1], (np.eye(3), 1.0))
    with pytest.raises(ValueError, match="two labels"):
        KernelPrior(np.eye(3), [0, 1, 2])
