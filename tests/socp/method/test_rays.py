"""Repair of rays: exact ones near those of iterates, whose entries hardly change."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp import ConeProgram, LowRank, NonNeg, SecondOrder
from socp.method import rays
from socp.method.rays import repaired_direction, repaired_multipliers
from socp.verify.certificates import dual_infeasibility, primal_infeasibility


def unbounded(seed, storage=np.asarray):
    """Return integer P and A and a direction d with P d = 0 and A d = 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    d = rng.integers(-3, 4, n).astype(float)
    d[rng.integers(n)] = 1.0
    one = int(np.flatnonzero(d == 1.0)[0])
    F, A = rng.integers(-3, 4, (2, n, n)).astype(float)
    F, A = F[: n - 2], A[: n // 2]
    for M in (F, A):  # choose the column of the entry 1 of d so that M d = 0
        M[:, one] -= M @ d
    return storage(F.T @ F), A, d


def factor_of(P):
    values, vectors = np.linalg.eigh(P)
    kept = values > 1e-9 * values[-1]
    return LowRank(vectors[:, kept] * np.sqrt(values[kept]))


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array, factor_of])
@pytest.mark.parametrize("units", [1.0, 8.0])
def test_what_is_left_of_a_ray_near_an_exact_one(storage, units):
    for seed in range(5):
        P, A, d = unbounded(seed)
        n, rng = d.size, np.random.default_rng(seed)
        D = units ** rng.integers(-5, 6, n) if storage is not factor_of else np.ones(n)
        d, A, P = d / D, A * D, P * np.outer(D, D)
        G = -np.diag(d * D**2)  # d moves along d^2 >= 0
        program = ConeProgram(-d * D**2, G, np.ones(n), [NonNeg(n)], A, A @ np.ones(n), storage(P))
        near = 1e9 * d * (1.0 + 1e-4 * rng.normal(size=n))
        near += 1e-5 * np.where(d == 0.0, rng.normal(size=n), 0.0) / D
        x = repaired_direction(program, near)
        assert (np.abs(P @ x) <= 1e-12 * (np.abs(P) @ np.abs(x)) + 1e-300).all()
        assert (np.abs(A @ x) <= 1e-12 * (np.abs(A) @ np.abs(x))).all()
        assert (G @ x).max() <= 1e-15 and np.abs(x[d != 0.0] / near[d != 0.0] - 1.0).max() < 1e-2
        assert dual_infeasibility(program, x) <= 1e-10


def test_rows_that_the_ray_would_leave_are_held():
    program = ConeProgram([-1.0, 0.0], [[-1.0, 0.0], [0.0, 1.0]], [0.0, 5.0], [NonNeg(2)])
    np.testing.assert_array_equal(repaired_direction(program, np.array([2.0, 1e-3])), [2.0, 0.0])
    np.testing.assert_array_equal(repaired_direction(program, np.array([2.0, -1e-3])), [2.0, -1e-3])
    # neither an infinite side nor a second-order cone limits the ray
    program = ConeProgram(
        [-1.0, 0.0], [[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [np.inf, 1.0, 0.0], [NonNeg(1), SecondOrder(2)]
    )
    np.testing.assert_array_equal(repaired_direction(program, np.array([2.0, 1e-3])), [2.0, 1e-3])


@pytest.mark.parametrize("seed", range(8))
def test_multipliers_near_a_certificate(seed):
    """Multipliers with relative errors, and noise besides, become a certificate that is exact up to rounding."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(5, 12)), int(rng.integers(2, 5))
    y, z = rng.normal(size=2), rng.uniform(0.5, 2.0, m)
    A, G = rng.normal(size=(2, n)), rng.normal(size=(m, n))
    G[-1] = -(A.T @ y + G[:-1].T @ z[:-1]) / z[-1]
    b, h = rng.normal(size=2), rng.normal(size=m + 2)
    h[0] -= (b @ y + h[:m] @ z + 1.0) / z[0]
    # two rows of a variable of their own, whose multipliers are noise
    A, G = np.pad(A, ((0, 0), (0, 1))), np.pad(G, ((0, 2), (0, 1)))
    G[m, :], G[m + 1, :] = 1.0, -2.0
    program = ConeProgram(np.zeros(n + 1), G, h, [NonNeg(m + 2)], A, b)
    near = y * (1.0 + 1e-6 * rng.normal(size=2)), np.append(z * (1.0 + 1e-6 * rng.normal(size=m)), [3e-9, 1e-9])
    assert primal_infeasibility(program, *near) > 1e-8
    ours = repaired_multipliers(program, *near)
    assert primal_infeasibility(program, *ours) <= 1e-13
    np.testing.assert_allclose(ours[0], y, rtol=1e-3)
    np.testing.assert_allclose(ours[1][:m], z, rtol=1e-3)


def test_what_is_left_alone(monkeypatch):
    monkeypatch.setattr(rays, "MOST_ENTRIES", 0)
    large = ConeProgram(-np.ones(2), [[1.0, -1.0]], [1.0], [NonNeg(1)], [[1.0, -1.0]], [0.0])
    x = np.array([1.0, 1.0 + 1e-6])
    assert repaired_direction(large, x) is x
    small = ConeProgram([1.0], [[1.0]], [1.0], [NonNeg(1)])
    for x in (np.zeros(1), np.array([np.nan])):
        assert repaired_direction(small, x) is x
