"""Products in twice the working precision, compared with exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from bench.answers.exact import Exact, times
from socp import LowRank
from socp.linalg.accurate import add_both, product_error, rounded, sum_error
from socp.problem.hessian import hessian_of


def matrix(rng, shape):
    """Return a random matrix with entries of all magnitudes, about 30% of them zero."""
    values = rng.normal(size=shape) * 10.0 ** rng.uniform(-8, 8, size=shape)
    return np.where(rng.random(shape) < 0.3, 0.0, values)


def assert_accurate(high, low, exact, *terms):
    """Check that high + low equals `exact` to 1e-28 of the sum of `terms`."""
    missed = (Exact.of(high) + Exact.of(low) - exact).rounded()
    assert (np.abs(missed) <= 1e-28 * np.sum(terms, axis=0)).all()


@pytest.mark.parametrize("seed", range(50))
def test_errors_of_one_operation_are_exact(seed):
    rng = np.random.default_rng(seed)
    a, b = (float(v) for v in rng.normal(size=2) * 10.0 ** rng.uniform(-100, 100, size=2))
    b *= 10.0 ** rng.uniform(-1, 1) * a / b if seed % 2 else 1.0  # equal magnitudes for every other seed
    assert Fraction(a) * Fraction(b) == Fraction(a * b) + Fraction(product_error(a, b, a * b))
    assert Fraction(a) + Fraction(b) == Fraction(a + b) + Fraction(sum_error(a, b, a + b))


@pytest.mark.parametrize("seed", range(20))
def test_a_matrix_both_ways(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    M, x, v = matrix(rng, (m, n)), rng.normal(size=n), rng.normal(size=m)
    sparse = sp.csc_array(M)
    Mx, Mtv = -(M @ x), -(M.T @ v)  # the products cancel the initial values
    exact_x, exact_v = times(M, Exact.of(x)) + Exact.of(Mx), times(M.T, Exact.of(v)) + Exact.of(Mtv)
    rows, columns = np.append(Mx, np.zeros(m)), np.append(Mtv, np.zeros(n))
    indptr, indices = sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64)
    add_both(indptr, indices, sparse.data, x, v, rows, columns)
    assert_accurate(rows[:m], rows[m:], exact_x, abs(M) @ abs(x))
    assert_accurate(columns[:n], columns[n:], exact_v, abs(M).T @ abs(v))


@pytest.mark.parametrize("kind", ["dense", "sparse", "low rank", "none"])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_products_with_a_hessian(kind, n):
    rng = np.random.default_rng(n)
    F, x = matrix(rng, (n, 3)), rng.normal(size=n)
    dense = F @ F.T
    dense = np.triu(dense) + np.triu(dense, 1).T
    sparse = sp.csc_array(dense)
    sparse.indptr, sparse.indices = sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64)
    P = {"dense": dense, "sparse": sparse, "low rank": LowRank(F, abs(x)), "none": None}[kind]
    out = hessian_of(P, x.size).accurate_product(x)
    sizes = abs(F) @ (abs(F).T @ abs(x)) + x**2 + abs(dense) @ abs(x)
    assert_accurate(out[:n], out[n:], times(P, Exact.of(x)), sizes)


def test_numbers_that_cannot_be_split():
    error = product_error(1e305, 1.0, 1e305)  # 0 with a fused instruction; splitting into halves overflows
    assert np.isnan(error) or error == 0.0
    assert rounded(1e305, np.nan) == 1e305 and rounded(1.0, 0.5) == 1.5 and np.isnan(rounded(np.nan, 0.0))
    out = hessian_of(np.array([[1e305]]), 1).accurate_product(np.array([1.0]))
    assert rounded(*out) == 1e305
