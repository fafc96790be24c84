"""Saddle-point systems: solutions, rows and bounds of all kinds, and singular ones, dense and sparse."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from socp.derivatives import saddle
from socp.derivatives.saddle import Saddle, factor_saddle, solve_saddle


def scattered(rng, m, n, entries):
    places = rng.integers(0, m, entries), rng.integers(0, n, entries)
    return sp.csc_array(sp.coo_array((rng.normal(size=entries), places), shape=(m, n)))


def drawn(rng, n, m, sparse):
    if sparse:
        root = scattered(rng, n, n, 3 * n)
        P = sp.csc_array(root @ root.T + 0.1 * sp.eye_array(n))
        B = sp.csc_array(scattered(rng, m, n, 2 * m) + sp.eye_array(m, n))
    else:
        root = rng.normal(size=(n, n))
        P, B = root @ root.T, rng.normal(size=(m, n))
    kinds = rng.integers(0, 3, m)
    E = np.where(kinds == 0, 0.0, np.where(kinds == 1, np.inf, 10.0 * rng.random(m)))
    F = np.where(np.arange(n) % 7 == 6, 0.0, np.where(np.arange(n) % 3 == 0, 1.0, np.inf))
    F[:m][E == 0.0] = np.inf
    return P, B, E, F


def residuals(P, B, E, F, right, found):
    (a, b, f), (u, w, t) = right, found
    E0, F0 = np.where(np.isinf(E), 0.0, E), np.where(np.isinf(F), 0.0, F)
    assert not w[np.isinf(E)].any() and not t[np.isinf(F)].any()
    first = a - B.T @ w - t - (0.0 if P is None else P @ u)
    return first, (b - B @ u + E0 * w)[np.isfinite(E)], (f - u + F0 * t)[np.isfinite(F)]


@pytest.mark.parametrize("n, m, sparse", [(6, 4, False), (40, 25, False), (300, 30, False), (400, 150, True)])
def test_the_solution_leaves_nothing(n, m, sparse):
    rng = np.random.default_rng(n)
    P, B, E, F = drawn(rng, n, m, sparse)
    saddle = Saddle(P, B, E, F)
    right = [rng.normal(size=size) for size in (n, m, n)]
    for left in residuals(P, B, E, F, right, saddle.solve(*right)):
        assert np.abs(left).max(initial=0.0) < 1e-9
    assert saddle.is_regular and saddle.fixed.size == (F == 0.0).sum()


def test_a_hessian_of_low_rank():
    rng = np.random.default_rng(1)
    low, B = sp.csc_array, rng.normal(size=(3, 10))
    P = type("LowRank", (), {"F": rng.normal(size=(10, 2)), "d": rng.random(10)})()
    full = P.F @ P.F.T + np.diag(P.d)
    right = [rng.normal(size=size) for size in (10, 3, 10)]
    for matrix in (B, low(B)):
        for one, other in zip(Saddle(P, matrix, np.zeros(3)).solve(*right), Saddle(full, B, np.zeros(3)).solve(*right)):
            np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("n, m, sparse", [(8, 3, False), (300, 60, True), (saddle.SPECTRAL_UP_TO, 60, True)])
def test_a_row_that_comes_twice_shares_its_multiplier(n, m, sparse):
    """The dense factors, the eigenvectors and the damped sparse factors give the solution of least norm."""
    rng = np.random.default_rng(2)
    P, B, E, F = drawn(rng, n, m, sparse)
    B, E, F = B.toarray() if sparse else B, np.zeros(m), np.full(n, np.inf)
    B[1] = B[0]
    B = sp.csc_array(B) if sparse else B
    system = Saddle(P, B, E, F)
    assert not system.is_regular and system._system.is_damped == (n == saddle.SPECTRAL_UP_TO)
    b = rng.normal(size=m)
    b[1] = b[0]
    right = rng.normal(size=n), b, np.zeros(n)
    u, w, t = system.solve(*right)
    for left in residuals(P, B, E, F, right, (u, w, t)):
        assert np.abs(left).max(initial=0.0) < 1e-6
    assert w[0] == pytest.approx(w[1], abs=1e-6)


def test_a_solution_is_refined_to_rounding(monkeypatch):
    rng = np.random.default_rng(400)
    system = Saddle(*drawn(rng, 400, 150, True))._system
    right = 1e-8 * rng.normal(size=system.scale.size)
    approximate, sizes = system.approximate, []

    def loses(left, share):
        sizes.append(np.abs(left).max() / np.abs(right).max())
        return (1.0 - share) * approximate(left)

    for lost in (1e-2, 1e-6):  # of each approximate solution
        sizes.clear()
        monkeypatch.setattr(system, "approximate", partial(loses, share=lost))
        assert np.abs(system.multiply(system.solve(right)) - right).max() < 1e-12 * np.abs(right).max()
        assert min(sizes) > saddle.REFINED  # no step more than is needed


@pytest.mark.parametrize("P", [None, np.zeros((2, 2))])
def test_a_vertex_needs_no_hessian(P):
    u, w, _ = Saddle(P, np.array([[1.0, 1.0], [1.0, -1.0]]), np.zeros(2)).solve(
        np.ones(2), np.array([2.0, 0.0]), np.zeros(2)
    )
    np.testing.assert_allclose([u, w], [[1.0, 1.0], [1.0, 0.0]], atol=1e-12)
    assert not Saddle(P, np.zeros((0, 2)), np.zeros(0)).is_regular


def test_the_order_is_told_of_zeros_on_the_diagonal(monkeypatch):
    told = []

    class Told(saddle.LDL):
        def __init__(self, *pattern, zero_diagonal):
            told.append(zero_diagonal)
            super().__init__(*pattern, zero_diagonal=zero_diagonal)

    monkeypatch.setattr(saddle, "LDL", Told)
    indptr, data = np.array([0, 1, 2, 3, 5]), np.array([2.0, 0.0, -1e-9, 1.0, -3.0])
    saddle._factored(indptr, np.array([0, 1, 2, 0, 3]), data, np.array([1, 1, -1, -1]), 1e-8)
    assert told[0].tolist() == [False, True, True, False] and data[1] == 0.0


def pivots(K):
    """Return the smallest ratio of a pivot to its diagonal entry."""
    return (np.diag(np.linalg.cholesky(K)) ** 2 / np.diag(K)).min(initial=1.0)


@pytest.mark.parametrize("rank", [0, 1, None])
@pytest.mark.parametrize("n, q", [(1, 0), (1, 1), (5, 0), (6, 2), (7, 7), (40, 3), (90, 60)])
def test_the_factors_of_a_dense_system(n, q, rank):
    """Factor [H C'; C 0] by Cholesky of H + rho C'C and of the Schur complement; check solution and pivot."""
    rng = np.random.default_rng(n)
    root, C = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-3, -1, n), rng.normal(size=(q, n))
    root[:, max(n - q, 0) if rank == 0 else n if rank is None else max(n - 1, 1) :] = 0.0
    H = root @ root.T
    L, Y, S, workspace = (
        np.full(n * n, np.nan),
        np.full(n * n, np.nan),
        np.full(n * n, np.nan),
        np.full(2 * n + 1, np.nan),
    )
    found = factor_saddle(n, q, H.ravel(), C.ravel(), L, Y, S, workspace)
    largest = H.diagonal().max() or 1.0
    K = H + (largest / (C**2).sum(axis=1).max() * C.T @ C if q else 0.0)
    if np.linalg.matrix_rank(K) < n:
        assert found < 1e-12
        return
    assert found == pytest.approx(min(pivots(K), pivots(C @ np.linalg.solve(K, C.T)) if q else 1.0), rel=1e-6)
    right = rng.normal(size=n + q)
    whole = np.block([[H, C.T], [C, np.zeros((q, q))]])
    x = right.copy()
    solve_saddle(n, q, C.ravel(), L, Y, S, workspace, x)
    assert np.abs(whole @ x - right).max() <= 1e-12 * np.linalg.cond(whole) * np.abs(right).max()


def test_rows_that_are_none_have_no_factors():
    workspace = [np.zeros(4) for _ in range(3)]
    assert factor_saddle(2, 1, np.eye(2).ravel(), np.zeros(2), *workspace, np.zeros(5)) == 0.0
    assert factor_saddle(2, 2, np.eye(2).ravel(), np.array([1.0, 0.0, 1.0, 0.0]), *workspace, np.zeros(5)) < 1e-15
    assert factor_saddle(2, 0, -np.eye(2).ravel(), np.zeros(0), *workspace, np.zeros(5)) == 0.0


def test_a_factor_that_gives_no_numbers_is_not_taken_for_a_regular_system(monkeypatch):
    # the shortest u with u_1 + u_2 = 2; the factor of a singular system may grow until nothing is a number
    monkeypatch.setattr(saddle, "_solved", lambda ldl, right: np.full(right.size, np.nan))
    system = Saddle(np.eye(2), np.array([[1.0, 1.0]]), np.zeros(1))
    u, w, _ = system.solve(np.zeros(2), np.array([2.0]), np.zeros(2))
    np.testing.assert_allclose(np.append(u, w), [1.0, 1.0, -1.0], atol=1e-12)
