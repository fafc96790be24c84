"""Kernels: values by their formulas, gamma as in scikit-learn, sparse samples, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

import models
from models.kernels.kernel import Kernel, make_kernel
from models.kernels.samples import squares, variance

rng = np.random.default_rng(0)
A, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)) * (rng.random((5, 3)) < 0.5)
KERNELS = [Kernel("linear"), Kernel("poly", gamma=0.5, degree=3, coef0=1.0), Kernel("rbf", gamma=0.7)]


def by_formula(kernel, a, b):
    if kernel.kernel == "poly":
        return (kernel.gamma * a @ b + kernel.coef0) ** kernel.degree
    return np.exp(-kernel.gamma * np.sum((a - b) ** 2)) if kernel.kernel == "rbf" else a @ b


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.kernel)
def test_values_are_those_of_the_formula_dense_and_sparse(kernel):
    expected = np.array([[by_formula(kernel, a, b) for b in B] for a in A])
    for left in (A, sp.csr_array(A)):
        for right in (B, sp.csr_array(B)):
            values = kernel(left, right)
            assert isinstance(values, np.ndarray)
            np.testing.assert_allclose(values, expected, rtol=1e-13, atol=1e-14)


def test_rounding_makes_no_distance_negative():
    far = 1e7 * np.abs(rng.normal(size=(40, 3)))
    values = Kernel("rbf", gamma=10.0)(far, far + 1e-9)
    assert values.max() <= 1.0


def test_gamma_scale_and_auto_and_a_number():
    ones = np.ones(5)
    assert make_kernel("rbf", B, ones).gamma == pytest.approx(1.0 / (3 * B.var()))
    assert make_kernel("rbf", sp.csr_array(B), ones).gamma == pytest.approx(1.0 / (3 * B.var()))
    assert make_kernel("rbf", B, ones, "auto").gamma == pytest.approx(1.0 / 3.0)
    assert make_kernel("poly", B, ones, 0.25).gamma == 0.25
    assert make_kernel("rbf", np.ones((2, 2)), np.ones(2)).gamma == 1.0


def test_a_sample_of_weight_two_counts_twice_and_of_weight_zero_not_at_all():
    weights = np.array([2.0, 0.0, 1.0, 1.0, 3.0])
    repeated = np.repeat(B, weights.astype(int), axis=0)
    assert variance(B, weights) == pytest.approx(repeated.var())
    assert variance(sp.csr_array(B), weights) == pytest.approx(repeated.var())


def test_a_callable_is_asked_and_checked():
    assert np.array_equal(Kernel(lambda a, b: a @ b.T)(A, B), A @ B.T)
    with pytest.raises(ValueError, match=r"kernel must return a matrix of shape \(4, 5\)"):
        Kernel(lambda a, b: a @ a.T)(A, B)
    with pytest.raises(ValueError, match="NaN"):
        Kernel(lambda a, b: np.full((len(a), len(b)), np.nan))(A, B)
    with pytest.raises(ValueError, match="symmetric"):
        Kernel(lambda a, b: np.arange(16.0).reshape(4, 4)).gram(A)


def test_what_stands_for_a_feature_that_is_left_out():
    class Letters:
        absent = -1.0

        def __call__(self, A, B):
            return A @ B.T

    assert Kernel("rbf").absent == 0.0 and Kernel(Letters()).absent == -1.0


def test_a_precomputed_kernel_must_be_square_and_cannot_be_evaluated():
    with pytest.raises(ValueError, match="square"):
        Kernel("precomputed").gram(A)
    with pytest.raises(ValueError, match="precomputed"):
        Kernel("precomputed")(A, B)


def test_what_is_semidefinite_by_its_formula():
    for kernel in (Kernel(), Kernel("rbf", 0.7), Kernel("poly", 0.5, 3, 1.0), Kernel("poly", 1.0, 2, 0.0)):
        K = kernel.gram(np.random.default_rng(0).normal(size=(12, 3)))
        values = np.linalg.eigvalsh(K)
        assert kernel.is_semidefinite and np.array_equal(K, K.T) and values[0] >= -1e-12 * values[-1]
    for kernel in (Kernel("poly", 1.0, 2, -1.0), Kernel("precomputed"), Kernel(lambda A, B: A @ B.T)):
        assert not kernel.is_semidefinite  # or at least not known to be
    indefinite = Kernel("poly", 1.0, 2, -1.0).gram(np.array([[0.0], [1.0], [2.0]]))
    assert np.linalg.eigvalsh(indefinite)[0] < -0.1


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("coef0", [0.0, 0.7])
def test_monomials_are_the_features_of_a_polynomial(degree, coef0):
    X = np.random.default_rng(0).normal(size=(9, 2))
    kernel = Kernel("poly", gamma=0.4, degree=degree, coef0=coef0)
    F = kernel.explicit(X)
    assert kernel.rank(X) == F.shape[1] == (degree + 1 if coef0 == 0.0 else (degree + 1) * (degree + 2) // 2)
    np.testing.assert_allclose(F @ F.T, kernel(X, X), rtol=1e-12, atol=1e-12)


def test_only_few_monomials_are_made(monkeypatch):
    X = np.ones((4, 30))
    assert Kernel("poly", gamma=0.4, degree=3).explicit(X) is None
    assert Kernel("poly", gamma=0.4, degree=2, coef0=-1.0).explicit(X[:, :2]) is None
    assert Kernel("rbf").explicit(X) is None
    for most, rank in ((465, 465), (464, None)):  # 30 squares and 435 products
        monkeypatch.setattr("models.kernels.kernel.MOST_MONOMIALS", most)
        assert Kernel("poly", gamma=0.4, degree=2).rank(X) == rank


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("rows", [[0, 2, 3], [1, 4], [], [4, 5]])
def test_squares_of_sparse_rows_of_which_some_are_empty(layout, rows):
    A = np.zeros((6, 4))
    A[rows] = np.random.default_rng(0).normal(size=(len(rows), 4)) * np.array([1.0, 0.0, 2.0, 1.0])
    np.testing.assert_allclose(squares(layout(A)), (A**2).sum(axis=1), rtol=1e-14)
    assert squares(layout(A[:0])).shape == (0,)


@pytest.mark.parametrize("offset", [2.0**20, 2.0**27])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_gaussian_kernels_do_not_see_an_offset(form, offset):
    rng = np.random.default_rng(0)
    X, Z = np.round(rng.normal(size=(2, 60, 3)) * 64.0) / 64.0  # so that X + offset is exact
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    near, far = (models.SVC(gamma=0.5).fit(form(X + c), y).decision_function(form(Z + c)) for c in (0.0, offset))
    np.testing.assert_allclose(far, near, atol=1e-9)
    kernel = Kernel("rbf", gamma=0.5)
    np.testing.assert_allclose(kernel(form(X + offset), form(Z + offset)), kernel(X, Z), rtol=1e-12)
    np.testing.assert_allclose(make_kernel("rbf", form(X + offset), np.ones(60)).gamma, 1.0 / 3.0 / X.var(), rtol=1e-6)


def test_gaussian_kernel_between_sparse_and_dense_samples_with_empty_columns():
    X = np.array([[1.0, 0.0, 5.0], [0.0, 2.0, 6.0]])
    kernel = Kernel("rbf", gamma=0.5)
    for A in (X, sp.csr_array(X)):
        for B in (X[1:], sp.csr_array(X[1:])):
            np.testing.assert_allclose(kernel(A, B), np.exp([[-3.0], [0.0]]), rtol=1e-14)
