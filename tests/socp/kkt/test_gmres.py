"""Solves with the factors of a nearby matrix: refinement, and GMRES where it stalls."""

import numpy as np
import pytest

from socp.kkt.base import gmres
from socp.linalg.refinement import KRYLOV_STEPS, SLOW
from tests.support.kkt_systems import solve_precisely, symmetric, system


def solve(K, M, rhs, steps=10):
    """Return the solution, the norm of the residual, and the number of further solves."""
    kkt = system(K, M, refinement_steps=steps)
    out = np.full(rhs.size, 7.0)
    left = solve_precisely(kkt, rhs, out)
    norm = np.abs(rhs - K @ out).max(initial=0.0)
    assert kkt.residual_norm[0] == pytest.approx(norm, rel=1e-6, abs=1e-14)
    assert left == pytest.approx(norm / max(np.abs(rhs).max(initial=0.0), 1e-300), rel=1e-6, abs=1e-14)
    assert kkt.refinements == kkt.solves[0]
    return out, kkt.residual_norm[0], kkt.refinements


@pytest.mark.parametrize("large", [1e3, 1e6])
def test_gmres_takes_out_a_few_replaced_pivots(large):
    # M is far from K in three directions only: refinement cannot contract there
    rng = np.random.default_rng(2)
    K, rhs = symmetric(rng, 30, 30.0), rng.normal(size=30)
    M = K.copy()
    M[[3, 9, 20], [3, 9, 20]] += large
    out, norm, count = solve(K, M, rhs)
    assert norm <= 1e-10 * np.sqrt(30) * np.abs(rhs).max()  # GMRES measures in the 2-norm
    assert count <= 8
    np.testing.assert_allclose(out, np.linalg.solve(K, rhs), rtol=1e-8)


def test_a_step_that_makes_it_worse_is_taken_back():
    rng = np.random.default_rng(3)
    K, rhs = np.eye(5), rng.normal(size=5)
    # refinement with M = K / 3 doubles the residual with each step
    out, norm, count = solve(K, K / 3.0, rhs, steps=0)
    assert (norm, count) == (pytest.approx(2.0 * np.abs(rhs).max()), 0)
    np.testing.assert_allclose(out, 3.0 * rhs)
    _, better, _ = solve(K, K / 3.0, rhs)
    assert better <= 1e-12  # GMRES is independent of the scale


def test_what_a_singular_matrix_does_not_see_is_not_added_twice():
    # K = diag(1, 0) and rhs outside of its range: refinement would add 1 / delta to the second entry each time
    K, M = np.diag([1.0, 0.0]), np.diag([1.0 + 1e-6, 1e-6])
    for right in (np.array([1.0, 1.0]), np.array([1.0, 3.0]), np.array([2.0, 1.0])):
        out, _, _ = solve(K, M, right)
        assert out[1] == pytest.approx(right[1] / 1e-6, rel=1e-5)


@pytest.mark.parametrize("large", [0.0, 1e3])
def test_two_right_hand_sides_are_refined_each_for_itself(large):
    # the second is zero where M is wrong, so that it converges first
    rng = np.random.default_rng(5)
    K = np.diag(rng.uniform(1.0, 2.0, 9))
    M = K.copy()
    M[:4, :4] += np.diag([0.1, 0.05, large, large])
    rhs = rng.normal(size=(2, 9))
    rhs[1, :4] = 0.0
    for rows in (rhs, rhs[::-1].copy(), np.vstack([rhs[0], rhs[0]])):
        kkt, out = system(K, M), np.empty((2, 9))
        worst = solve_precisely(kkt, rows, out)
        apart = [solve(K, M, row) for row in rows]
        np.testing.assert_array_equal(out, [one for one, _, _ in apart])
        assert worst == max(norm / np.abs(row).max() for (_, norm, _), row in zip(apart, rows))
        assert kkt.refinements == sum(count for _, _, count in apart) > 0
        assert kkt.solves.tolist() == [count for _, _, count in apart]
        np.testing.assert_allclose(kkt.Px, out @ K, rtol=1e-14)  # the direction reads it from here


def test_gmres_in_as_many_steps_as_there_are_eigenvalues():
    rng = np.random.default_rng(4)
    K = np.diag(np.repeat([1.0, 2.0, 5.0], 4))
    rhs, out = rng.normal(size=12), np.zeros(12)
    kkt = system(K, np.eye(12))
    kkt.residual[:12] = rhs
    kkt.rhs_norm[0] = kkt.residual_norm[0] = np.abs(rhs).max()
    kkt.scaled[0] = 1e10
    gmres(kkt, 0, rhs, out)
    assert kkt.solves[0] == kkt.applied == 3
    np.testing.assert_allclose(K @ out, rhs, rtol=1e-12)


def test_gmres_ends_where_nothing_more_is_asked():
    rng, size = np.random.default_rng(4), 40
    K, rhs, counts = np.diag(rng.uniform(1.0, 1.5, size)), rng.normal(size=size), []
    for excess in (np.inf, 1e5):
        kkt, out = system(K, np.eye(size)), np.zeros(size)
        kkt.residual[:size] = rhs
        kkt.rhs_norm[0] = kkt.residual_norm[0] = np.abs(rhs).max()
        kkt.scaled[0] = excess
        gmres(kkt, 0, rhs, out)
        assert np.linalg.norm(rhs - K @ out) <= SLOW / 1e5 * np.linalg.norm(rhs)
        counts.append(kkt.applied)
    assert counts[1] < counts[0]


@pytest.mark.parametrize("gains", [True, False])
def test_gmres_gives_up_half_way_where_it_gains_nothing(gains):
    # eigenvalues from 1 to 100, or pairs down to 1e-22, half of which need more steps than allowed
    size, sizes = 24, 10.0 ** -np.arange(0.0, 24.0, 2.0).repeat(2)
    K = np.diag(np.geomspace(1.0, 100.0, size) if gains else sizes * np.tile([1.0, -1.0], size // 2))
    rhs, out, kkt = np.full(size, 3.0), np.zeros(size), system(K, np.eye(size))
    kkt.residual[:size] = rhs
    kkt.rhs_norm[0] = kkt.residual_norm[0] = 3.0
    kkt.scaled[0] = np.inf
    gmres(kkt, 0, rhs, out)
    assert kkt.applied == (KRYLOV_STEPS if gains else KRYLOV_STEPS // 2)
    np.testing.assert_array_equal(out, np.zeros(size))  # both leave more than a hundredth


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_gmres_on_what_is_not_finite_adds_nothing(bad):
    rhs, out = np.ones(3), np.zeros(3)
    kkt = system(np.eye(3), inverse=np.full((3, 3), bad))
    kkt.residual[:3] = rhs
    kkt.rhs_norm[0] = kkt.residual_norm[0] = 1.0
    gmres(kkt, 0, rhs, out)
    np.testing.assert_array_equal(out, 0.0)
    assert kkt.residual_norm[0] == 1.0
