"""Dense KKT systems: the factor that keeps only the diagonal of weakly coupled variables."""

import numpy as np
import pytest

import qp
from socp import ConeProgram, NonNeg
from socp.form.standard import StandardForm
from socp.kkt.dense import MIN_SPLIT, DenseKKT
from tests.support.standard_forms import dense_kkt


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
    n = MIN_SPLIT
    form, w = boxed(n, p)
    K = dense_kkt(form, w, np.zeros(0))
    kkt = DenseKKT(form, None, 10)
    kkt.restart()
    rhs = np.random.default_rng(1).normal(size=(2, K.shape[0]))
    out = np.empty_like(rhs)
    assert kkt.factor(w, np.zeros(0), rhs, out) == 0
    assert n // 2 < kkt.weak <= n - n // 4
    assert kkt.refinements > 0
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
    form, w = boxed(MIN_SPLIT, 1)
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
    n = MIN_SPLIT + 50
    X = rng.normal(size=(n, 8))
    square = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    program = qp.QuadraticProgram(np.exp(-square / 8) * np.outer(y, y), -np.ones(n), y[None, :], 0.0, 0.0, 0.0, 1.0)
    solver = qp.Solver(program, sifting=False)
    weak = []
    for iterate in solver.cone_solver.iterates():
        weak.append(iterate.newton.kkt.weak)
    split = solver.solve()
    assert max(weak) > n // 4  # the split was used
    assert split.status == "optimal" and max(split.primal_residual, split.dual_residual, split.gap) <= 1e-8
    sparse = qp.solve(program, kkt="ldl", tol=1e-10)
    assert split.objective == pytest.approx(sparse.objective, rel=1e-8)


def test_a_program_with_all_variables_at_their_bounds():
    rng = np.random.default_rng(3)
    n = MIN_SPLIT + 50
    factor = rng.normal(size=(n, 2 * n)) / n
    program = qp.QuadraticProgram(factor @ factor.T, -np.ones(n), lb=0.0, ub=0.01)
    solver = qp.Solver(program, sifting=False)
    weak = []
    for iterate in solver.cone_solver.iterates():
        weak.append(iterate.newton.kkt.weak)
    assert max(weak) == n - 1  # one is left for the Cholesky factor
    solution = solver.solve()
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.x, 0.01, atol=1e-7)
