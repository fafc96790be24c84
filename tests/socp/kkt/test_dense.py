"""Dense KKT systems: blocked Cholesky, and the factor that keeps only the diagonal of weakly coupled variables."""

import numpy as np
import pytest

import qp
from socp import ConeProgram, NonNeg
from socp.form.standard import StandardForm
from socp.kkt.dense import LEAST_SPLIT, DenseKKT
from socp.linalg.cholesky import (
    NARROW,
    WIDE,
    cholesky,
    solve_lower,
    solve_lower_many,
    solve_lower_transposed,
    symmetric_product,
)
from tests.support.standard_forms import dense_kkt


def positive_definite(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n))
    return X @ X.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, NARROW - 1, NARROW, NARROW + 1, 200, WIDE + 70])
def test_cholesky_and_its_solves(n):
    A = positive_definite(n)
    flat = A.ravel().copy()
    assert cholesky(n, flat) == 0
    L = np.tril(flat.reshape(n, n).T)
    np.testing.assert_allclose(L @ L.T, A, rtol=0, atol=1e-13 * n * n)
    for count in (1, 2, 5):
        x = np.random.default_rng(count).normal(size=(count, n))
        y = x.ravel().copy()
        solve_lower(n, flat, count, y)
        np.testing.assert_allclose(y.reshape(count, n) @ L.T, x, atol=1e-11)
        many = x.ravel().copy()
        solve_lower_many(n, flat, count, many)
        np.testing.assert_allclose(many, y, atol=1e-11)
        solve_lower_transposed(n, flat, count, y)
        np.testing.assert_allclose(y.reshape(count, n) @ A, x, atol=1e-9)
    symmetric_product(n, A.ravel(), x[0], y[:n])
    np.testing.assert_allclose(y[:n], A @ x[0], rtol=0, atol=1e-12 * n * n)


@pytest.mark.parametrize("n", [5, NARROW + 9, WIDE + 9])
def test_cholesky_names_the_first_bad_pivot(n):
    A = positive_definite(n)
    A[n - 3, n - 3] = -1.0
    assert cholesky(n, A.ravel().copy()) == n - 2


def boxed(n, p, seed=0):
    """The form of a dense program with a box, and a scaling at which a quarter of the variables is free."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n))
    P = X @ X.T / n
    G, A = np.vstack([np.eye(n), -np.eye(n)]), rng.normal(size=(p, n))
    program = ConeProgram(rng.normal(size=n), G, np.ones(2 * n), [NonNeg(2 * n)], A, np.zeros(p), P)
    form = StandardForm(program)
    free = rng.permutation(n) < n // 4
    w = np.where(np.tile(free, 2), rng.uniform(0.5, 2.0, 2 * n), 10.0 ** -rng.uniform(3.0, 4.0, 2 * n))
    return form, w


@pytest.mark.parametrize("p", [0, 1, 3])
def test_weakly_coupled_variables_are_split_off(p):
    n = LEAST_SPLIT
    form, w = boxed(n, p)
    K = dense_kkt(form, w, np.zeros(0))
    kkt = DenseKKT(form, None, 10)
    kkt.restart()
    rhs = np.random.default_rng(1).normal(size=(2, K.shape[0]))
    out = np.empty_like(rhs)
    assert kkt.factor(w, np.zeros(0), rhs, out) == 0
    assert n // 2 < kkt.weak <= n - n // 4
    assert kkt.take_refinements() > 0
    np.testing.assert_allclose(out @ K, rhs, rtol=0, atol=1e-10)
    x = np.empty(K.shape[0])
    assert kkt.solve(rhs[1], x) < 1e-10  # one right-hand side alone, by the same factors
    np.testing.assert_allclose(x, out[1], rtol=1e-7, atol=1e-9)
    # at a scaling without weakly coupled variables, the whole of H
    w = np.ones_like(w)
    assert kkt.factor(w, np.zeros(0), rhs, out) == 0
    assert kkt.weak == 0
    np.testing.assert_allclose(out @ dense_kkt(form, w, np.zeros(0)), rhs, rtol=0, atol=1e-10)


def test_a_split_that_does_not_solve_is_given_up():
    form, w = boxed(LEAST_SPLIT, 1)
    kkt = DenseKKT(form, None, 0)  # without refinement, what a split drops is never made up for
    kkt.restart()
    K = dense_kkt(form, w, np.zeros(0))
    rhs = np.random.default_rng(2).normal(size=K.shape[0])
    out = np.empty_like(rhs)
    assert kkt.factor(w, np.zeros(0), rhs, out) == 0
    assert kkt.weak == 0 and kkt.caution < 1.0
    np.testing.assert_allclose(K @ out, rhs, rtol=0, atol=1e-6)


def test_a_program_with_many_variables_at_their_bounds():
    rng = np.random.default_rng(3)
    n = LEAST_SPLIT + 50
    X = rng.normal(size=(n, 8))
    square = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    program = qp.QuadraticProgram(np.exp(-square / 8) * np.outer(y, y), -np.ones(n), y[None, :], 0.0, 0.0, 0.0, 1.0)
    solver = qp.Solver(program, sifting=False)
    weak = []
    for _ in solver.cone_solver.iterates():
        weak.append(solver.cone_solver.kkt.weak)
    split = solver.solve()
    assert max(weak) > n // 4  # the split was used
    assert split.status == "optimal" and max(split.primal_residual, split.dual_residual, split.gap) <= 1e-8
    sparse = qp.solve(program, kkt="ldl", tol=1e-10)
    assert split.objective == pytest.approx(sparse.objective, rel=1e-8)


def test_a_program_with_all_variables_at_their_bounds():
    rng = np.random.default_rng(3)
    n = LEAST_SPLIT + 50
    factor = rng.normal(size=(n, 2 * n)) / n
    program = qp.QuadraticProgram(factor @ factor.T, -np.ones(n), lb=0.0, ub=0.01)
    solver = qp.Solver(program, sifting=False)
    weak = []
    for _ in solver.cone_solver.iterates():
        weak.append(solver.cone_solver.kkt.weak)
    assert max(weak) == n - 1  # one is left for the Cholesky factor
    solution = solver.solve()
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.x, 0.01, atol=1e-7)
