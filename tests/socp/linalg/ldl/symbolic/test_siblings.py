"""Columns with equal rows become neighbors in an equivalent order."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.ldl.factorization import LDL
from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.symbolic.analysis import analyze
from socp.linalg.ldl.symbolic.siblings import are_siblings, by_strips, static_columns

from ..test_factorization import CASES, upper


def beside_a_dense_block(leaves, core):
    """Return a diagonal block coupled to a dense one; the columns of the diagonal block have equal rows below it."""
    dense, beside = np.ones((core, core)) + (leaves + core) * np.eye(core), np.ones((leaves, core))
    return sp.csc_array(sp.block_array([[4.0 * sp.eye_array(leaves), beside], [beside.T, dense]]))


def analysis_of(K):
    n = K.shape[0]
    indptr, indices = upper(K)[:2]
    return analyze(n, indptr, indices, amd(n, indptr, indices))


def order_by_twin(parent, counts, is_static):
    """Return static columns, then others; those with >= 4 rows, all rows of the parent, wait for it or 4 siblings."""
    order, waiting = [], {}
    for turn in (True, False):
        for k in range(len(parent)):
            order += waiting.pop(k, [])
            if is_static[k] != turn:
                continue
            if not (counts[k] >= 4 and counts[k] == counts[parent[k]] + 1):
                order.append(k)
                continue
            waiting.setdefault(parent[k], []).append(k)
            if len(waiting[parent[k]]) == 4:
                order += waiting.pop(parent[k])
    return order


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["blocks", "kkt, large", "kkt, dense", "full", "one"])
def test_the_order_is_that_of_its_twin(name, seed):
    rng = np.random.default_rng(seed)
    blocks = [beside_a_dense_block(int(rng.integers(1, 14)), int(rng.integers(2, 8))) for _ in range(4)]
    analysis = analysis_of(sp.csc_array(sp.block_diag(blocks)) if name == "blocks" else CASES[name][0])
    n = analysis.perm.size
    may_stay, is_static = (rng.random(n) < 0.8) if seed % 2 else None, np.zeros(n, bool)
    static = 0 if may_stay is None else static_columns(analysis, may_stay, is_static)
    after, found = by_strips(analysis, may_stay)
    order = order_by_twin(analysis.parent, analysis.counts, is_static)
    has_fours = any(are_siblings(after.parent, after.counts, j) for j in range(n - 4))
    assert found == static and (after is analysis) == (not static and not has_fours)
    assert name != "blocks" or seed % 2 or has_fours
    np.testing.assert_array_equal(after.perm, analysis.perm[order] if after is not analysis else analysis.perm)


@pytest.mark.parametrize("name", CASES)
def test_the_order_is_equivalent(name):
    K, signs = CASES[name]
    K = sp.csc_array(sp.block_array([[K, None], [None, beside_a_dense_block(9, 4)]]))
    signs = np.concatenate([signs, np.ones(13)])
    before = analysis_of(K)
    after, _ = by_strips(before)
    assert after is not before
    np.testing.assert_array_equal(np.sort(after.perm), np.arange(K.shape[0]))
    assert all(j < p for j, p in enumerate(after.parent) if p >= 0)
    place = np.argsort(before.perm)
    np.testing.assert_array_equal(after.counts, before.counts[place[after.perm]])
    # the same tree, and the entries of K where the permutation puts them
    old = [before.perm[p] if p >= 0 else -1 for p in before.parent]
    new = [after.perm[p] if p >= 0 else -1 for p in after.parent]
    np.testing.assert_array_equal(new, np.array(old)[place[after.perm]])
    columns = np.repeat(np.arange(K.shape[0]), np.diff(after.indptr))
    indptr, indices, _ = upper(K)
    rows_of_K, columns_of_K = indices[after.source], np.repeat(np.arange(K.shape[0]), np.diff(indptr))[after.source]
    at = np.argsort(after.perm)
    np.testing.assert_array_equal(np.minimum(at[rows_of_K], at[columns_of_K]), after.indices)
    np.testing.assert_array_equal(np.maximum(at[rows_of_K], at[columns_of_K]), columns)
    assert (after.nnz, after.flops) == (before.nnz, before.flops)
    ldl = LDL(indptr, indices, signs, method="four-wide")
    np.testing.assert_array_equal(ldl.perm, after.perm)
    np.testing.assert_array_equal(LDL(indptr, indices, signs, method="scalar").perm, before.perm)
    assert ldl.factor(upper(K)[2], 1e-13, 1e-7) == 0
    x = np.empty(K.shape[0])
    ldl.solve(K @ np.ones(K.shape[0]), x)
    np.testing.assert_allclose(x, 1.0, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", CASES)
def test_columns_are_static_with_all_of_their_descendants(name, seed):
    analysis = analysis_of(CASES[name][0])
    n, rng = analysis.perm.size, np.random.default_rng(seed)
    may_stay = (rng.random(n) < (0.5, 0.97)[seed % 2]) | (seed == 4)
    expected = may_stay[analysis.perm].copy()
    for j, p in enumerate(analysis.parent):
        if p >= 0:
            expected[p] &= expected[j]
    saved = float((analysis.counts * (analysis.counts + 2.0))[expected].sum())
    found = np.ones(n, bool)
    is_worth_it = saved > analysis.nnz and not expected.all()
    assert static_columns(analysis, may_stay, found) == (expected.sum() if is_worth_it else 0)
    np.testing.assert_array_equal(found, expected & is_worth_it)
