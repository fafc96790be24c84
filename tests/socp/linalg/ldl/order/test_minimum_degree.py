"""The order is a permutation, its fill is that of other implementations of minimum degree, and it is fast."""

import zlib

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.symbolic.analysis import analyze
from tests.support.sparse_matrices import (
    arrow,
    dense_factor_pattern,
    follow_a_neighbour,
    grid_laplacian,
    kkt,
    upper,
)


def scattered(rows, columns, entries, seed):
    """Return a random pattern that is identical with every version of scipy."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, rows, entries), rng.integers(0, columns, entries)
    return sp.csc_array(sp.coo_array((np.ones(entries), places), shape=(rows, columns)))


def saddle(n, m, entries, seed, slacks=0):
    """Return [I A'; A I] with A = [scattered, `slacks` identities], and a mask of the rows, whose diagonal is zero."""
    A = sp.hstack([scattered(m, n, entries, seed), *slacks * [sp.eye_array(m)]])
    n = A.shape[1]
    K = sp.csc_array(sp.block_array([[sp.eye_array(n), A.T], [A, sp.eye_array(m)]]))
    return K, np.arange(n + m) >= n


def with_rows(K, count, seed):
    """Append `count` rows and columns to K, each nearly full."""
    n = K.shape[0]
    rows = (np.random.default_rng(seed).random((count, n)) < 0.97) * 1.0
    return sp.csc_array(sp.block_array([[K, rows.T], [rows, np.eye(count)]]))


def tree(n):
    return sp.csc_array(sp.coo_array((np.ones(n - 1), (np.arange(n - 1) // 3, np.arange(1, n))), shape=(n, n)))


def symmetric(M):
    return sp.csc_array(M + M.T + sp.eye_array(M.shape[0]))


# name: (pattern, zero diagonals, entries of L below the diagonal, a digest of the order): a change moves some of these
ORDERS = {
    "grid": (grid_laplacian(30, 30), None, 9331, 3668525413),
    "long grid": (grid_laplacian(200, 6), None, 6094, 2796092083),
    "path": (grid_laplacian(1, 60), None, 59, 1869554435),
    "arrow": (arrow(400, 2), None, 797, 3709531909),
    "tree": (symmetric(tree(400)), None, 399, 1802925696),
    "full": (sp.csc_array(np.ones((30, 30))), None, 435, 3235639252),
    "one": (sp.csc_array([[1.0]]), None, 0, 1696784233),
    "scattered": (symmetric(scattered(500, 500, 700, 1)), None, 3533, 4284204492),
    "thin": (symmetric(scattered(900, 900, 600, 2)), None, 754, 1177794903),
    "thick": (symmetric(scattered(120, 120, 900, 3)), None, 3454, 627129384),
    "with dense rows": (with_rows(grid_laplacian(40, 20), 4, 1), None, 10708, 173158211),
    "with one dense row": (with_rows(symmetric(scattered(400, 400, 500, 4)), 1, 2), None, 2153, 2341465959),
    "saddle": (*saddle(300, 200, 900, 5), 6440, 1230637871),
    "saddle, few rows": (*saddle(300, 30, 900, 6), 1280, 3111794474),
    "saddle, many rows": (*saddle(60, 200, 500, 7), 3260, 1657144516),
    "linear program": (*saddle(250, 40, 700, 8, 1), 1398, 213508324),
    "regression": (*saddle(30, 150, 2500, 9, 1), 2516, 136236152),
    "regression, three slacks": (*saddle(25, 100, 1800, 10, 3), 1893, 4269083232),
    "regression, full rows": (*saddle(12, 60, 5000, 11, 1), 846, 2124655715),
    "grid, half without diagonal": (grid_laplacian(25, 20), np.arange(500) % 2 == 0, 4614, 3660485503),
    "two parts": (
        sp.csc_array(sp.block_diag([grid_laplacian(15, 15), saddle(30, 150, 2500, 12, 1)[0]])), None, 4064, 3083409700),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_orders_are_those_of_the_versions_before(name):
    """Orders depend on integers only: degrees, their bounds, ties, absorbed and dense columns."""
    K, zero_diagonal, entries, digest = ORDERS[name]
    perm = amd(K.shape[0], *upper(K)[:2], zero_diagonal)
    assert zero_diagonal is None or follow_a_neighbour(K, zero_diagonal, perm)
    assert (fill(K, perm), zlib.crc32(perm.astype("<i8").tobytes())) == (entries, digest)
    if zero_diagonal is None:  # at most the fill of the natural order and of multiple minimum degree
        n, K = K.shape[0], abs(K)
        dominant = sp.csc_array(K + sp.diags_array(1e3 * np.asarray(K.sum(axis=1)).ravel() + 1.0))  # no pivoting
        options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        lu = scipy.sparse.linalg.splu(dominant, **options)
        assert entries <= min(fill(K, np.arange(n)), 1.1 * (lu.L.nnz - n) + 10)


def fill(K, perm):
    indptr, indices, _ = upper(K)
    return analyze(K.shape[0], indptr, indices, np.asarray(perm, np.int64)).nnz


def order(K):
    indptr, indices, _ = upper(K)
    return amd(K.shape[0], indptr, indices)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_small_pattern(data):
    """The result is a permutation; on graphs this small its fill is near that of exact minimum degree."""
    n = data.draw(st.integers(0, 14))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=40))
    pairs = [(i, j) for i, j in pairs if i < n and j < n]
    rows = np.array([i for i, _ in pairs] + list(range(n)), np.int64)
    columns = np.array([j for _, j in pairs] + list(range(n)), np.int64)
    K = sp.csc_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)))
    K = sp.csc_array(K + K.T)
    perm = order(K)
    np.testing.assert_array_equal(np.sort(perm), np.arange(n))
    if n:
        best = min(dense_factor_pattern(K, p).sum() for p in (np.arange(n), exact_minimum_degree(K)))
        assert dense_factor_pattern(K, perm).sum() <= best + n


def exact_minimum_degree(K):
    """Return the greedy order with exact degrees, computed with a dense boolean matrix."""
    n = K.shape[0]
    graph = K.toarray() != 0
    graph |= graph.T
    np.fill_diagonal(graph, False)
    left, perm = list(range(n)), []
    while left:
        pivot = min(left, key=lambda i: graph[i, left].sum())
        left.remove(pivot)
        perm.append(pivot)
        neighbours = [i for i in left if graph[pivot, i]]
        graph[np.ix_(neighbours, neighbours)] = True
        np.fill_diagonal(graph, False)
    return np.array(perm)


def test_a_hundred_thousand_columns():
    K = kkt(60_000, 40_000, 3e-5, 7)[0]
    indptr, indices, _ = upper(K)
    perm = amd(K.shape[0], indptr, indices)
    np.testing.assert_array_equal(np.sort(perm), np.arange(K.shape[0]))
