"""The textbook's method for linear and quadratic programs: as the engine, and its parts by their equations."""

import numpy as np
import pytest

import socp
from socp import ConeProgram, NonNeg, textbook
from socp.textbook.quadratic import newton_solver


def data_of(seed, n=6, p=2, m=11, rank=6):
    """Return the data of a program that has a solution and in which each row of A occurs twice."""
    rng = np.random.default_rng(seed)
    F, G, A = rng.normal(size=(n, rank)), rng.normal(size=(m, n)), rng.normal(size=(p, n))
    x, active = rng.normal(size=n), rng.random(m) < 0.4
    z, s = np.where(active, rng.uniform(0.5, 1.5, m), 0.0), np.where(active, 0.0, rng.uniform(0.5, 1.5, m))
    A = np.vstack([A, A])
    P = F @ F.T
    return P, -(P @ x + A.T @ rng.normal(size=2 * p) + G.T @ z), A, A @ x, G, G @ x + s


@pytest.mark.parametrize("rank", [0, 2, 6])
@pytest.mark.parametrize("seed", range(5))
def test_the_answer_is_that_of_the_engine(seed, rank):
    P, c, A, b, G, h = data_of(seed, rank=rank)
    x, y, z, s, iterations = textbook.solve_quadratic(P, c, A, b, G, h)
    best = socp.solve(ConeProgram(c, G, h, [NonNeg(h.size)], A, b, P)).objective
    assert 0.5 * x @ P @ x + c @ x == pytest.approx(best, abs=1e-6) and 5 <= iterations <= 7
    for residual in (P @ x + c + A.T @ y + G.T @ z, A @ x - b, G @ x + s - h, s * z):
        assert np.abs(residual).max() < 1e-6
    assert min(s.min(), z.min()) > 0.0


def test_a_program_without_a_solution_is_told():
    one = np.ones((1, 1))
    with pytest.raises(ArithmeticError, match="no solution was found in 100 iterations"):
        textbook.solve_quadratic(0.0 * one, one[0], 0.0 * one[:0], one[0, :0], np.array([[1.0], [-1.0]]), -np.ones(2))


def test_a_direction_solves_the_linearized_conditions():
    P, _, A, _, G, _ = data_of(3)
    rng = np.random.default_rng(0)
    z, s, r1, r2 = *rng.uniform(0.1, 2.0, (2, 11)), rng.normal(size=6), np.tile(rng.normal(size=2), 2)
    r3, r4 = rng.normal(size=(2, 11))
    dx, dy, dz, ds = newton_solver(P, A, G, z, s)(r1, r2, r3, r4)
    for left, right in ((P @ dx + A.T @ dy + G.T @ dz, r1), (A @ dx, r2), (G @ dx + ds, r3), (z * ds + s * dz, r4)):
        np.testing.assert_allclose(left, right, atol=1e-8)


def test_the_factors_give_the_matrix_back():
    rng = np.random.default_rng(1)
    B = rng.normal(size=(4, 6))
    K = np.block([[np.diag(rng.uniform(1.0, 2.0, 6)), B.T], [B, -np.diag(rng.uniform(1.0, 2.0, 4))]])
    signs = np.repeat([1.0, -1.0], [6, 4])
    L, d = textbook.ldl(K, signs, 0.1)
    np.testing.assert_allclose(L * d @ L.T, K + 0.1 * np.diag(signs), atol=1e-12)
    np.testing.assert_array_equal(np.sign(d), signs)
    np.testing.assert_array_equal(np.tril(L), L)
    for entry, pivot in ((0.4, 0.5), (-0.05, 0.05), (-0.095, 1e3), (-0.1, 1e3), (-3.0, 1e3), (-4e3, 4e3 - 0.1)):
        for sign in (1.0, -1.0):
            assert textbook.ldl(np.array([[sign * entry]]), np.array([sign]), 0.1)[1] == pytest.approx(sign * pivot)


def test_the_longest_step_ends_at_zero():
    assert textbook.quadratic.longest_step(np.array([1.0, 2.0]), np.array([-0.5, -2.0])) == 1.0
    assert textbook.quadratic.longest_step(np.ones(2), np.array([0.0, 3.0])) == np.inf


def test_the_rule_of_the_centering_can_be_replaced():
    class Other(textbook.Method):
        def centering(self, alpha):
            return 0.25

    P, c, A, b, G, h = data_of(0)
    method = Other(ConeProgram(c, G, h, [NonNeg(h.size)], A, b, P))
    assert method.step(method.start()).sigma == 0.25
