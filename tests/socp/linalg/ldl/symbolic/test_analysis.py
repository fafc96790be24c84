"""Elimination tree, postorder, column counts and index map against dense symbolic elimination."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from socp.linalg.ldl.symbolic.analysis import analyze, permute_upper, postorder, tree_and_counts
from tests.support.sparse_matrices import arrow, dense_factor_pattern, grid_laplacian, kkt, random_spd, upper

PATTERNS = {
    "random": random_spd(40, 0.04, 1),
    "sparser": random_spd(60, 0.01, 2),
    "grid": grid_laplacian(6, 7),
    "arrow": arrow(12, 2),
    "kkt": kkt(20, 15, 0.08, 3)[0],
    "diagonal": sp.csc_array(sp.eye_array(5)),
    "full": sp.csc_array(np.ones((7, 7))),
    "one": sp.csc_array(np.ones((1, 1))),
    "path": grid_laplacian(1, 40),
    "band": grid_laplacian(12, 9),
    "none": sp.csc_array((0, 0)),
}


def dense_tree(L):
    """Return parent(j) = min{i > j : L(i,j) != 0}, or -1 for a root."""
    n = len(L)
    return np.array([next((i for i in range(j + 1, n) if L[i, j]), -1) for j in range(n)], np.int64)


def permuted(indptr, indices, perm):
    up, ui, source = np.empty_like(indptr), np.empty_like(indices), np.empty_like(indices)
    permute_upper(indptr, indices, perm, up, ui, source)
    return up, ui, source


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_analysis_is_the_dense_one(name, seed):
    K = PATTERNS[name]
    n = K.shape[0]
    indptr, indices, _ = upper(K)
    perm = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    L = dense_factor_pattern(K, perm)
    up, ui, _ = permuted(indptr, indices, perm)
    parent, counts = np.empty((2, n), np.int64)
    tree_and_counts(up, ui, parent, counts)
    np.testing.assert_array_equal(parent, dense_tree(L))
    np.testing.assert_array_equal(counts, L.sum(axis=0) - 1)

    analysis = analyze(n, indptr, indices, perm)
    L_postordered = dense_factor_pattern(K, analysis.perm)
    np.testing.assert_array_equal(analysis.parent, dense_tree(L_postordered))
    np.testing.assert_array_equal(analysis.counts, L_postordered.sum(axis=0) - 1)
    assert analysis.nnz == L.sum() - n  # the postorder has the fill of the order itself
    c = L.sum(axis=0) - 1
    assert analysis.flops == np.sum(c * (c + 2))


@pytest.mark.parametrize("name", PATTERNS)
def test_permuted_triangle_holds_the_matrix(name):
    K = PATTERNS[name]
    n = K.shape[0]
    indptr, indices, data = upper(K)
    perm = np.random.default_rng(5).permutation(n)
    up, ui, source = permuted(indptr, indices, perm)
    triangle = sp.csc_array((data[source], ui, up), shape=(n, n)).toarray()
    np.testing.assert_array_equal(triangle, np.triu(K.toarray()[np.ix_(perm, perm)]))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 30), min_size=0, max_size=25))
def test_postorder_puts_subtrees_in_ranges(jumps):
    n = len(jumps)
    parent = np.array([j + jump if 0 < jump < n - j else -1 for j, jump in enumerate(jumps)], np.int64)
    order, child, sibling, stack = np.empty((4, n), np.int64)
    postorder(parent, child, sibling, stack, order)
    assert sorted(order.tolist()) == list(range(n))
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    descendants = np.ones(n, np.int64)
    for j in range(n):
        if parent[j] != -1:
            descendants[parent[j]] += descendants[j]
    for j in range(n):
        if parent[j] != -1:
            assert position[parent[j]] - descendants[parent[j]] < position[j] < position[parent[j]]
            assert position[j] - descendants[j] >= position[parent[j]] - descendants[parent[j]]
