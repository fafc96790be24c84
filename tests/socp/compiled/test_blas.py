"""The BLAS and LAPACK routines in flat arrays with offsets, against numpy; and their integers."""

import numpy as np
import pytest
import scipy

from socp.compiled import blas, target
from socp.compiled.blas import LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, RIGHT, TRANSPOSE, UNIT, UPPER

SIZES = [(1, 1, 1), (3, 4, 5), (17, 2, 9), (64, 33, 70)]


class Stored:
    """A matrix by columns inside a larger array of NaN, with a gap behind each column."""

    def __init__(self, matrix, start=5, gap=3):
        rows, columns = matrix.shape
        self.start, self.lead = start, rows + gap
        self.flat = np.full(start + self.lead * columns + 7, np.nan)
        self.view = np.lib.stride_tricks.as_strided(self.flat[start:], (rows, columns), (8, 8 * self.lead))
        self.view[:] = matrix

    def margin_is_untouched(self):
        inside = np.zeros(len(self.flat), bool)
        rows, columns = self.view.shape
        for j in range(columns):
            inside[self.start + j * self.lead : self.start + j * self.lead + rows] = True
        return np.isnan(self.flat[~inside]).all()


def op(matrix, trans):
    return matrix.T if trans == TRANSPOSE else matrix


@pytest.mark.parametrize("trans_a", [NO_TRANSPOSE, TRANSPOSE])
@pytest.mark.parametrize("trans_b", [NO_TRANSPOSE, TRANSPOSE])
@pytest.mark.parametrize("m, n, k", SIZES)
def test_gemm(m, n, k, trans_a, trans_b):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(k, m) if trans_a == TRANSPOSE else (m, k))
    B = rng.normal(size=(n, k) if trans_b == TRANSPOSE else (k, n))
    C = rng.normal(size=(m, n))
    a, b, c = Stored(A), Stored(B, 2, 0), Stored(C, 11, 1)
    blas.gemm(
        trans_a, trans_b, m, n, k, -2.0, a.flat, a.start, a.lead, b.flat, b.start, b.lead, 0.5, c.flat, 11, c.lead
    )
    np.testing.assert_allclose(c.view, -2.0 * op(A, trans_a) @ op(B, trans_b) + 0.5 * C, rtol=1e-12, atol=1e-12)
    assert c.margin_is_untouched()


@pytest.mark.parametrize("triangle", [LOWER, UPPER])
@pytest.mark.parametrize("trans", [NO_TRANSPOSE, TRANSPOSE])
@pytest.mark.parametrize("n, k", [(1, 1), (5, 3), (40, 70)])
def test_syrk(n, k, trans, triangle):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(k, n) if trans == TRANSPOSE else (n, k))
    C = rng.normal(size=(n, n))
    a, c = Stored(A), Stored(C)
    blas.syrk(triangle, trans, n, k, -1.0, a.flat, a.start, a.lead, 1.0, c.flat, c.start, c.lead)
    full = C - op(A, trans) @ op(A, trans).T
    inside = np.tri(n, dtype=bool) if triangle == LOWER else np.tri(n, dtype=bool).T
    np.testing.assert_allclose(c.view, np.where(inside, full, C), rtol=1e-12, atol=1e-12)
    assert c.margin_is_untouched()


def triangular(n, rng, triangle, diagonal):
    """Return the stored matrix, with NaN where nothing may be read, and the triangular matrix that it represents."""
    A = rng.normal(size=(n, n)) / n + np.diag(rng.uniform(1.0, 2.0, n))
    strict = np.tri(n, k=-1, dtype=bool) if triangle == LOWER else np.tri(n, k=-1, dtype=bool).T
    diag = np.nan if diagonal == UNIT else np.diag(A)
    stored = np.where(strict, A, np.nan)
    np.fill_diagonal(stored, diag)
    meant = np.where(strict, A, 0.0)
    np.fill_diagonal(meant, 1.0 if diagonal == UNIT else np.diag(A))
    return stored, meant


@pytest.mark.parametrize("side", [LEFT, RIGHT])
@pytest.mark.parametrize("triangle", [LOWER, UPPER])
@pytest.mark.parametrize("trans", [NO_TRANSPOSE, TRANSPOSE])
@pytest.mark.parametrize("diagonal", [UNIT, NOT_UNIT])
@pytest.mark.parametrize("m, n", [(1, 1), (6, 4), (30, 65)])
def test_trsm_and_trsv(m, n, side, triangle, trans, diagonal):
    rng = np.random.default_rng(2)
    order = m if side == LEFT else n
    stored, A = triangular(order, rng, triangle, diagonal)
    B = rng.normal(size=(m, n))
    a, b = Stored(stored), Stored(B, 1, 2)
    blas.trsm(side, triangle, trans, diagonal, m, n, 3.0, a.flat, a.start, a.lead, b.flat, b.start, b.lead)
    inverse = np.linalg.inv(op(A, trans))
    np.testing.assert_allclose(b.view, 3.0 * (inverse @ B if side == LEFT else B @ inverse), rtol=1e-9, atol=1e-11)
    assert b.margin_is_untouched()
    x = rng.normal(size=order + 4)
    expected = x.copy()
    expected[2:-2] = inverse @ x[2:-2]
    blas.trsv(triangle, trans, diagonal, order, a.flat, a.start, a.lead, x, 2)
    np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("trans", [NO_TRANSPOSE, TRANSPOSE])
@pytest.mark.parametrize("m, n", [(1, 1), (5, 8), (70, 20)])
def test_gemv(m, n, trans):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(m, n))
    a = Stored(A)
    x, y = rng.normal(size=max(m, n) + 3), rng.normal(size=max(m, n) + 3)
    length_x, length_y = (m, n) if trans == TRANSPOSE else (n, m)
    expected = y.copy()
    expected[1 : 1 + length_y] = 2.0 * op(A, trans) @ x[3 : 3 + length_x] - y[1 : 1 + length_y]
    blas.gemv(trans, m, n, 2.0, a.flat, a.start, a.lead, x, 3, -1.0, y, 1)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("triangle", [LOWER, UPPER])
@pytest.mark.parametrize("n", [1, 6, 80])
def test_potrf(n, triangle):
    rng = np.random.default_rng(4)
    F = rng.normal(size=(n, n))
    A = F @ F.T + np.eye(n)
    inside = np.tri(n, dtype=bool) if triangle == LOWER else np.tri(n, dtype=bool).T
    a = Stored(np.where(inside, A, np.nan))
    assert blas.potrf(triangle, n, a.flat, a.start, a.lead) == 0
    factor = np.where(inside, a.view, 0.0)
    np.testing.assert_allclose(factor @ factor.T if triangle == LOWER else factor.T @ factor, A, rtol=1e-10, atol=1e-10)
    assert a.margin_is_untouched()
    A[n // 2, n // 2] = -1.0
    a = Stored(A)
    assert blas.potrf(triangle, n, a.flat, a.start, a.lead) == n // 2 + 1


def test_width_of_integers():
    assert target.integer_bits() == (64 if ilp64() else 32)


def ilp64():
    return bool(scipy.__config__.CONFIG["Build Dependencies"]["blas"].get("cython blas ilp64", False))


def test_contradicting_configuration_is_refused(monkeypatch):
    config = {"Build Dependencies": {"blas": {"cython blas ilp64": not ilp64()}}}
    monkeypatch.setattr(scipy.__config__, "CONFIG", config)
    with pytest.raises(ImportError, match="integers"):
        target.integer_bits()
