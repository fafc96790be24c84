"""K = P'(L D L')P against dense algebra, wrong pivots, bad numbers and bad arguments."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from socp.linalg.ldl import factorization
from socp.linalg.ldl.factorization import LDL
from tests.support.sparse_matrices import arrow, grid_laplacian, kkt, random_spd, upper

METHODS = ["scalar", "four-wide", "supernodal"]
EPS, DELTA = 1e-13, 1e-7


def positive(K):
    return K, np.ones(K.shape[0], np.int64)


CASES = {
    "random": positive(random_spd(60, 0.05, 1)),
    "grid": positive(grid_laplacian(13, 11)),
    "arrow": positive(arrow(40, 2)),
    "diagonal": (sp.csc_array(sp.diags_array([3.0, -2.0, 1.0])), np.array([1, -1, 1])),
    "full": positive(random_spd(50, 1.0, 2)),
    "one": (sp.csc_array([[-2.0]]), np.array([-1])),
    "kkt": kkt(60, 40, 0.05, 3),
    "kkt, more rows": kkt(30, 90, 0.05, 4),
    "kkt, dense": kkt(40, 25, 0.8, 5),
    "kkt, large": kkt(600, 300, 0.02, 6),
}


def dense_ldl(K, signs, eps, delta):
    """Return L, D and the number of replaced pivots by the textbook's algorithm; K is in the order of elimination."""
    n = len(K)
    S, L, d, replaced = K.copy(), np.eye(n), np.zeros(n), 0
    for j in range(n):
        d[j] = S[j, j]
        if signs[j] * d[j] <= eps:
            d[j] = signs[j] * delta
            replaced += 1
        L[j + 1 :, j] = S[j + 1 :, j] / d[j]
        S[j + 1 :, j + 1 :] -= np.outer(L[j + 1 :, j], S[j + 1 :, j])
    return L, d, replaced


@cache
def pivots(name, *perm):
    """Return D of the textbook's algorithm for a case in this order; the methods have the order in common."""
    K, signs = CASES[name]
    return dense_ldl(K.toarray()[np.ix_(perm, perm)], signs[list(perm)], EPS, DELTA)[1]


@cache
def condition(name):
    return np.linalg.cond(CASES[name][0].toarray())


def dense_solve(K, rhs):
    return np.linalg.solve(K.toarray(), rhs)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "ordering"),
    [
        pytest.param(name, ordering, marks=pytest.mark.full if name == "kkt, large" and ordering != "amd" else ())
        for name in CASES for ordering in ("amd", "natural", "given")
    ],
)  # fmt: skip
def test_factor_and_solve(name, ordering, method):
    K, signs = CASES[name]
    n = K.shape[0]
    indptr, indices, data = upper(K)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(n) if ordering == "given" else ordering
    ldl = LDL(indptr, indices, signs, ordering=chosen, method=method)
    assert ldl.method == method
    for _ in range(2):  # the second factorization finds the work arrays as the first one left them
        assert ldl.factor(data, EPS, DELTA) == 0
    np.testing.assert_array_equal(np.sign(ldl.d), signs[ldl.perm])
    np.testing.assert_allclose(ldl.d, pivots(name, *ldl.perm.tolist()), rtol=1e-9)
    rhs, out = rng.normal(size=n), np.full(n, np.nan)
    kept = rhs.copy()
    ldl.solve(rhs, out)
    expected = dense_solve(K, rhs)
    assert np.abs(out - expected).max() <= 1e-13 * condition(name) * np.abs(expected).max()
    np.testing.assert_array_equal(rhs, kept)
    ldl.solve(rhs, rhs)
    np.testing.assert_array_equal(rhs, out)
    two, found = np.vstack([kept, rng.normal(size=n)]), np.full((2, n), np.nan)
    ldl.solve(two, found)
    np.testing.assert_allclose(found[0], out, rtol=0, atol=1e-13 * condition(name) * np.abs(out).max())
    ldl.solve(two[1], out)
    np.testing.assert_allclose(found[1], out, rtol=0, atol=1e-13 * condition(name) * np.abs(out).max())


@pytest.mark.parametrize("method", METHODS)
def test_new_values_same_pattern(method):
    K, signs = kkt(50, 30, 0.06, 8)
    indptr, indices, data = upper(K)
    ldl = LDL(indptr, indices, signs, method=method)
    fresh = LDL(indptr, indices, signs, method=method)
    assert ldl.factor(data, EPS, DELTA) == 0
    other = data * np.random.default_rng(1).uniform(0.9, 1.1, len(data))
    assert ldl.factor(other, EPS, DELTA) == fresh.factor(other, EPS, DELTA)
    np.testing.assert_array_equal(ldl.d, fresh.d)


@pytest.mark.parametrize("method", METHODS)
def test_empty_matrix(method):
    ldl = LDL(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), method=method)
    assert ldl.factor(np.empty(0), EPS, DELTA) == 0
    ldl.solve(np.empty(0), np.empty(0))
    assert ldl.nnz == 0 and ldl.flops == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_wrong_and_small_pivots_are_replaced(method):
    K, signs = CASES["kkt, dense"]
    indptr, indices, data = upper(K)
    ldl = LDL(indptr, indices, -signs, ordering="natural", method=method)
    replaced = ldl.factor(data, EPS, 1e3)
    reordered = K.toarray()[np.ix_(ldl.perm, ldl.perm)]
    _, d, expected = dense_ldl(reordered, -signs[ldl.perm], EPS, 1e3)
    assert replaced == expected > 0
    np.testing.assert_allclose(ldl.d, d, rtol=1e-9)
    np.testing.assert_array_equal(np.sign(ldl.d), -signs[ldl.perm])
    singular = sp.csc_array(np.ones((3, 3)))
    ldl = LDL(*upper(singular)[:2], np.ones(3), method=method)
    for eps in (EPS, 0.0):  # a zero pivot is replaced
        assert ldl.factor(upper(singular)[2], eps, 0.25) == 2
        np.testing.assert_array_equal(ldl.d, [1.0, 0.25, 0.25])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [0, 100, -1])
def test_bad_numbers_are_reported(bad, where, method):
    K, signs = CASES["kkt"]
    indptr, indices, data = upper(K)
    ldl = LDL(indptr, indices, signs, method=method)
    spoiled = data.copy()
    spoiled[where] = bad
    assert ldl.factor(spoiled, EPS, DELTA) == -1
    assert ldl.factor(data, EPS, DELTA) == 0  # and the next factorization is clean
    rhs, out = np.ones(100), np.empty(100)
    ldl.solve(rhs, out)
    np.testing.assert_allclose(K @ out, rhs, atol=1e-9)


@settings(deadline=None, max_examples=80)
@given(
    st.integers(0, 12),
    st.integers(0, 12),
    st.floats(0.0, 1.0),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["amd", "natural"]),
    st.sampled_from(METHODS),
)
def test_any_small_quasi_definite_matrix(n, m, density, seed, ordering, method):
    K, signs = kkt(n, m, density, seed, shift=0.5)
    ldl = LDL(*upper(K)[:2], signs, ordering=ordering, method=method)
    assert ldl.factor(upper(K)[2], EPS, DELTA) == 0
    rhs = np.random.default_rng(seed).normal(size=n + m)
    out = np.empty(n + m)
    ldl.solve(rhs, out)
    np.testing.assert_allclose(K @ out, rhs, atol=1e-10)


def test_bad_arguments_are_named():
    indptr, indices = np.array([0, 1, 3]), np.array([0, 0, 1])
    with pytest.raises(ValueError, match="ordering"):
        LDL(indptr, indices, np.array([1, 1]), ordering="metis")
    with pytest.raises(ValueError, match="ordering"):
        LDL(indptr, indices, np.array([1, 1]), ordering=np.array([1, 1]))
    ldl = LDL(indptr, indices, np.array([1, 1]))
    with pytest.raises(ValueError, match="data"):
        ldl.factor(np.ones(2), EPS, DELTA)
    with pytest.raises(ValueError, match="rhs"):
        ldl.solve(np.ones(3), np.ones(2))


def test_method_is_chosen_from_the_counts():
    def chosen(K):
        return LDL(*upper(K)[:2], np.ones(K.shape[0])).method

    assert chosen(grid_laplacian(1, 3000)) == chosen(arrow(500, 2)) == chosen(CASES["diagonal"][0]) == "scalar"
    assert chosen(random_spd(40, 1.0, 0)) == chosen(grid_laplacian(60, 60)) == "four-wide"
    assert chosen(random_spd(400, 1.0, 0)) == "four-wide"
    assert chosen(random_spd(1100, 1.0, 0)) == "supernodal"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_the_memory_that_is_asked_for_is_that_of_the_factor(name, method, monkeypatch):
    asked, (K, signs) = [], CASES[name]
    monkeypatch.setattr(factorization, "check_memory", lambda size, what: asked.append(size))
    factors = LDL(*upper(K)[:2], signs, method=method).factors
    parts = ("values",) if method == "supernodal" else ("values", "rows", "columns")
    assert asked == [sum(getattr(factors, part).nbytes for part in parts)]
    monkeypatch.setattr(factorization, "perf_counter", iter([10.0, 13.0, 20.0]).__next__)
    ldl = LDL(*upper(K)[:2], signs, method=method)
    assert (ldl.ordering_time, ldl.symbolic_time) == (3.0, 7.0)
    assert ldl.time == ldl.times["panels" if method == "supernodal" else "strips"]
