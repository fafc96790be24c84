"""The choice of the kernel: the value of the machine, equal values of used kernels, one kernel alone, refusals."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from models import SVC, Kernel, MultipleKernelSVC
from tests.support.svm_data import separable, two_classes

X, Y = two_classes()
WIDTHS = [Kernel("rbf", gamma=g) for g in (0.01, 0.1, 1.0)]


def values(machine, X, y):
    """alpha'Y K_k Y alpha of every kernel."""
    coefficients, vectors = machine.dual_coef_[0], X[machine.support_]
    scaled = zip(machine.kernels, machine.scales_, strict=True)
    return np.array([coefficients @ kernel(vectors, vectors) @ coefficients / scale for kernel, scale in scaled])


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_used_kernels_have_the_same_value_and_others_less(C):
    machine = MultipleKernelSVC([*WIDTHS, Kernel("linear")], C).fit(X, Y)
    assert machine.weights_.sum() == pytest.approx(1.0)
    found, used = values(machine, X, Y), machine.weights_ > 0.0
    t = machine.solution_.x[-1]
    np.testing.assert_allclose(found[used], t, rtol=1e-4)
    assert (found[~used] <= t * (1.0 + 1e-4)).all()


def test_the_value_is_that_of_the_machine_on_the_kernel():
    machine = MultipleKernelSVC(WIDTHS, 2.0).fit(X, Y)
    inner = SVC(2.0, machine.kernel_.kernel).fit(X, Y)
    assert -machine.solution_.objective == pytest.approx(-inner.solution_.objective, rel=1e-7)
    for k, kernel in enumerate(WIDTHS):  # and no kernel alone, nor their mean, has a smaller one
        scale = machine.scales_[k]
        alone = SVC(2.0, lambda A, B, kernel=kernel, scale=scale: kernel(A, B) / scale).fit(X, Y)
        assert -alone.solution_.objective >= -machine.solution_.objective - 1e-6
    equal = SVC(2.0, lambda A, B: sum(kernel(A, B) for kernel in WIDTHS) / 3.0).fit(X, Y)
    assert -equal.solution_.objective >= -machine.solution_.objective - 1e-6


def test_one_kernel_is_the_support_vector_machine():
    machine = MultipleKernelSVC([Kernel("rbf", gamma=0.3)], 2.0, normalize=False).fit(X, Y)
    plain = SVC(2.0, gamma=0.3).fit(X, Y)
    np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=1e-7)
    assert machine.weights_.tolist() == [1.0]


def test_hard_margins_weights_sparse_samples_and_pickles():
    Z, y = separable()
    hard = MultipleKernelSVC(["linear", "rbf"], np.inf).fit(Z, y)
    assert (y * hard.decision_function(Z)).min() == pytest.approx(1.0, abs=1e-6)
    times = np.random.default_rng(0).integers(0, 3, size=Y.size)
    again = np.repeat(np.arange(Y.size), times)
    machine = MultipleKernelSVC(["linear", *WIDTHS], class_weight={-1: 2.0, 1: 1.0})
    weighted = machine.fit(sp.csr_array(X), Y, sample_weight=times).decision_function(X)
    np.testing.assert_allclose(machine.fit(X[again], Y[again]).decision_function(X), weighted, atol=1e-6)
    same = pickle.loads(pickle.dumps(machine)).decision_function(X)
    np.testing.assert_array_equal(same, machine.decision_function(X))
