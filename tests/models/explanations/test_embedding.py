"""The embedding in which soft explanations are perfect ones."""

import numpy as np
import pytest

from models import ExplanationAugmentedSVC
from models.explanations.embedding import EmbeddedKernel
from tests.support.svm_data import two_classes


def cubic(A, B):
    return (0.3 * A @ B.T + 1.0) ** 3


@pytest.mark.parametrize("kernel", [None, cubic])
@pytest.mark.parametrize("Delta", [0.3, 2.0])
def test_perfect_explanations_there_are_squared_deviations_here(kernel, Delta):
    X, y = two_classes(30, 4)
    V = X * (np.random.default_rng(0).random(X.shape) < 0.6) * [0.0, 1.0, 1.0, 1.0]
    embedded = EmbeddedKernel(Delta, kernel)
    there = ExplanationAugmentedSVC(Q=np.inf, kernel=embedded, tol=1e-11)
    there.fit(embedded.samples(X), y, explanations=embedded.explained(V))
    here = ExplanationAugmentedSVC(Q=1.0 / (2.0 * Delta**2), penalty="l2", kernel=kernel or "linear", tol=1e-11)
    here.fit(X, y, explanations=V)
    T = two_classes(20, 4, seed=5)[0]
    np.testing.assert_allclose(there.decision_function(embedded.samples(T)), here.decision_function(T), atol=1e-5)
    np.testing.assert_allclose(there.lambda_, here.lambda_, atol=1e-4)


def test_the_kernel_is_that_of_the_coordinates():
    rng = np.random.default_rng(1)
    X, V, Delta = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), 0.7
    kernel = EmbeddedKernel(Delta)
    rows = np.vstack([kernel.samples(X), kernel.explained(V)])
    coordinates = np.vstack([np.hstack([X, np.zeros((5, 4))]), np.hstack([V, Delta * np.eye(4)])])
    np.testing.assert_allclose(kernel(rows, rows), coordinates @ coordinates.T, atol=1e-12)
    with pytest.raises(ValueError, match="Delta"):
        EmbeddedKernel(0.0)
