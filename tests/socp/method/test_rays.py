"""Exact rays: the nearest ray, and programs whose iterates never come near enough to one."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp import ConeProgram, LowRank, NonNeg, SecondOrder
from socp.derivatives.saddle import SPECTRAL_UP_TO
from socp.method.rays import nearest_ray


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
def test_what_is_left_of_a_ray_near_an_exact_one(storage):
    for seed in range(5):
        P, A, d = unbounded(seed)
        n, rng = d.size, np.random.default_rng(seed)
        G = -np.diag(d)  # d moves along d^2 >= 0
        program = ConeProgram(-d, G, np.ones(n), [NonNeg(n)], A, A @ np.ones(n), storage(P))
        x = nearest_ray(program, 1e9 * (d + 1e-4 * rng.normal(size=n)))
        assert np.abs(P @ x).max() <= 1e-12 * np.abs(P).max()
        assert np.abs(A @ x).max() <= 1e-12 * np.abs(A).max()
        assert (G @ x).max() <= 1e-15 and d @ x > 0.5


def test_rows_that_the_ray_would_leave_are_held():
    program = ConeProgram([-1.0, 0.0], [[-1.0, 0.0], [0.0, 1.0]], [0.0, 5.0], [NonNeg(2)])
    np.testing.assert_array_equal(nearest_ray(program, np.array([2.0, 1e-3])), [1.0, 0.0])
    np.testing.assert_array_equal(nearest_ray(program, np.array([2.0, -1e-3])), [1.0, -5e-4])
    # neither an infinite side nor a second-order cone limits the ray
    program = ConeProgram(
        [-1.0, 0.0], [[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [np.inf, 1.0, 0.0], [NonNeg(1), SecondOrder(2)]
    )
    np.testing.assert_array_equal(nearest_ray(program, np.array([2.0, 1e-3])), [1.0, 5e-4])


def test_what_is_left_alone():
    n = SPECTRAL_UP_TO + 1
    large, x = ConeProgram(np.ones(n), np.ones((1, n)), [1.0], [NonNeg(1)]), np.ones(n)
    assert nearest_ray(large, x) is x
    small = ConeProgram([1.0], [[1.0]], [1.0], [NonNeg(1)])
    for x in (np.zeros(1), np.array([np.nan])):
        assert nearest_ray(small, x) is x
