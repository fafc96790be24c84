"""Refinement and GMRES with the factors of a nearby matrix."""

import numpy as np
import pytest

from socp.linalg.refinement import ENOUGH, KRYLOV_STEPS, KRYLOV_TOL, finish_with_gmres, gmres, solve_refined


def system(K, M):
    """The callables of `solve_refined` for dense K and M."""
    residual = np.zeros(K.shape[0])

    def residual_of(rhs):
        def fill(u):
            residual[:] = rhs - K @ u
            return float(np.abs(residual).max(initial=0.0))

        return fill

    def add_solution(r, u):
        u += np.linalg.solve(M, r)

    def multiply(u, v):
        v[:] = K @ u

    return residual, residual_of, add_solution, multiply


def solved(residual_of, residual, add_solution, multiply, rhs, out, steps):
    """Refinement, then GMRES where it stalled, as `KKT.solve` does it."""
    found = solve_refined(residual_of, residual, add_solution, rhs, out, steps)

    def krylov(u, tol):
        return gmres(add_solution, multiply, residual, u, KRYLOV_STEPS, tol)

    return finish_with_gmres(residual_of, krylov, found, out, steps)


def solve(K, M, rhs, steps=10):
    residual, residual_of, add_solution, multiply = system(K, M)
    out = np.full(rhs.size, 7.0)
    norm, count = solved(residual_of(rhs), residual, add_solution, multiply, rhs, out, steps)
    assert norm == pytest.approx(np.abs(rhs - K @ out).max(initial=0.0), rel=1e-6, abs=1e-15)
    return out, norm, count


def test_exact_factors_need_no_step():
    rng = np.random.default_rng(0)
    K, rhs = rng.normal(size=(6, 6)) + 6 * np.eye(6), rng.normal(size=6)
    out, _, count = solve(K, K, rhs)
    np.testing.assert_allclose(out, np.linalg.solve(K, rhs), rtol=1e-12)
    assert count == 0


def test_refinement_removes_a_small_perturbation():
    rng = np.random.default_rng(1)
    K, rhs = rng.normal(size=(8, 8)) + 8 * np.eye(8), rng.normal(size=8)
    _, norm, count = solve(K, K + 1e-3 * np.eye(8), rhs)
    assert norm <= ENOUGH * np.abs(rhs).max() and 1 <= count <= 5


@pytest.mark.parametrize("large", [1e3, 1e6])
def test_gmres_takes_out_a_few_replaced_pivots(large):
    # M is far from K in three directions only: refinement cannot contract there
    rng = np.random.default_rng(2)
    K, rhs = rng.normal(size=(30, 30)) + 30 * np.eye(30), rng.normal(size=30)
    M = K.copy()
    M[[3, 9, 20], [3, 9, 20]] += large
    out, norm, count = solve(K, M, rhs)
    assert norm <= KRYLOV_TOL * np.sqrt(30) * np.abs(rhs).max()  # GMRES measures in the 2-norm
    assert count <= 8
    np.testing.assert_allclose(out, np.linalg.solve(K, rhs), rtol=1e-8)


def test_a_step_that_makes_it_worse_is_taken_back():
    rng = np.random.default_rng(3)
    K, rhs = np.eye(5), rng.normal(size=5)
    # refinement with M = K / 3 doubles the residual with each step
    residual, residual_of, add_solution, multiply = system(K, K / 3.0)
    out = np.zeros(5)
    norm, count = solved(residual_of(rhs), residual, add_solution, multiply, rhs, out, 0)
    assert (norm, count) == (pytest.approx(2.0 * np.abs(rhs).max()), 0)
    _, better, _ = solve(K, K / 3.0, rhs)
    assert better <= 1e-12  # GMRES does not mind the scale


def test_what_a_singular_matrix_does_not_see_is_not_added_twice():
    # K = diag(1, 0) and rhs outside of its range: refinement would add 1 / delta to the second entry each time
    K, M = np.diag([1.0, 0.0]), np.diag([1.0 + 1e-6, 1e-6])
    for right in (np.array([1.0, 1.0]), np.array([1.0, 3.0]), np.array([2.0, 1.0])):
        out, _, _ = solve(K, M, right)
        assert out[1] == pytest.approx(right[1] / 1e-6, rel=1e-5)


def test_zero_right_hand_side():
    out, norm, count = solve(np.eye(4), np.eye(4), np.zeros(4))
    assert (norm, count) == (0.0, 0)
    np.testing.assert_array_equal(out, 0.0)
    assert solve(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))[1] == 0.0


def test_gmres_in_as_many_steps_as_there_are_eigenvalues():
    rng = np.random.default_rng(4)
    K = np.diag(np.repeat([1.0, 2.0, 5.0], 4))
    rhs, out = rng.normal(size=12), np.zeros(12)
    residual, residual_of, _, multiply = system(K, np.eye(12))
    residual_of(rhs)(out)

    def identity(r, u):
        u += r

    assert gmres(identity, multiply, residual, out, 10, 1e-14) == 3
    np.testing.assert_allclose(K @ out, rhs, rtol=1e-12)


def test_gmres_on_what_is_not_finite_adds_nothing():
    out = np.zeros(3)

    def spoil(u, v):
        v[:] = np.nan

    def identity(r, u):
        u += r

    gmres(identity, spoil, np.ones(3), out, 5, 1e-14)
    np.testing.assert_array_equal(out, 0.0)
