"""Dense Cholesky factors and solves with them, and products with dense and low-rank matrices."""

import numpy as np
import pytest

from socp.compiled.blas import NO_TRANSPOSE, TRANSPOSE
from socp.linalg.cholesky import LOOPS, cholesky, solve_lower, solve_lower_transposed
from socp.linalg.dense import gram, multiply_low_rank, multiply_symmetric_dense, multiply_tall


def positive_definite(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n))
    return X @ X.T + n * np.eye(n)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, LOOPS - 1, LOOPS, LOOPS + 1, 200, 600])
def test_cholesky_and_its_solves(n):
    A = positive_definite(n)
    flat = A.ravel().copy()
    assert cholesky(n, flat) == 0
    L = np.tril(flat.reshape(n, n).T)
    np.testing.assert_allclose(L @ L.T, A, rtol=0, atol=1e-13 * n * n)
    np.testing.assert_array_equal(np.tril(flat.reshape(n, n), -1), np.tril(A, -1))  # the upper triangle of A
    for count in (1, 2, 5):
        x = np.random.default_rng(count).normal(size=(count, n))
        y = x.ravel().copy()
        solve_lower(n, flat, count, y)
        np.testing.assert_allclose(y.reshape(count, n) @ L.T, x, atol=1e-11)
        solve_lower_transposed(n, flat, count, y)
        np.testing.assert_allclose(y.reshape(count, n) @ A, x, atol=1e-9)


@pytest.mark.parametrize("n", [5, LOOPS, LOOPS + 9, 300])
def test_cholesky_names_the_first_bad_pivot(n):
    for k in (n - 3, n - 2, n - 1):  # the first and the second column of a pair, and a single one
        A = positive_definite(n)
        A[k, k] = -1.0
        assert cholesky(n, A.ravel().copy()) == k + 1


@pytest.mark.parametrize("n", [3, LOOPS, LOOPS + 1])
def test_a_nan_comes_out_in_the_factor(n):
    A = positive_definite(n)
    A[n - 2, n - 2] = np.nan
    flat = A.ravel().copy()
    assert cholesky(n, flat) == 0 and np.isnan(flat[-1])


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("n", [1, 5, LOOPS, LOOPS + 1])
def test_products_with_few_columns(n, k):
    rng = np.random.default_rng(n)
    Y, x, y, S = rng.normal(size=(n, k)), rng.normal(size=n + 2), rng.normal(size=k + 1), np.zeros((k, k))
    out, other, flat = y.copy(), x.copy(), Y.T.ravel().copy()
    multiply_tall(TRANSPOSE, n, k, 2.0, flat, x[2:], -1.0, out[1:])
    np.testing.assert_allclose(out, np.append(y[0], 2.0 * Y.T @ x[2:] - y[1:]), rtol=0, atol=1e-12 * n)
    multiply_tall(NO_TRANSPOSE, n, k, -3.0, flat, y[1:], 1.0, other[2:])
    np.testing.assert_allclose(other, np.append(x[:2], x[2:] - 3.0 * Y @ y[1:]), rtol=0, atol=1e-12)
    gram(n, k, flat, S.reshape(-1))
    np.testing.assert_allclose(np.triu(S), np.triu(Y.T @ Y), rtol=0, atol=1e-12 * n)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 50, LOOPS, LOOPS + 1])
def test_products(n):
    A, rng = positive_definite(n), np.random.default_rng(n)
    x, out, D = rng.normal(size=n), np.empty(n), rng.uniform(0.5, 2.0, n)
    multiply_symmetric_dense(n, A.ravel(), x, out)
    np.testing.assert_allclose(out, A @ x, rtol=0, atol=1e-12 * n * n)
    for k in (0, 1, 3):
        F = rng.normal(size=(n, k))
        multiply_low_rank(n, k, F.T.ravel(), D, x, np.empty(k), out)
        np.testing.assert_allclose(out, F @ (F.T @ x) + D * x, rtol=0, atol=1e-12 * n)
