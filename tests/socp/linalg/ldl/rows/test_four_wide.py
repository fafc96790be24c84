"""Supernodes of L: which columns they take together, and their rows."""

import itertools

import numpy as np
import pytest

from socp.linalg.ldl.factorization import LDL
from socp.linalg.ldl.order.minimum_degree import amd
from socp.linalg.ldl.rows.four_wide import ZEROS, supernodes_of
from socp.linalg.ldl.symbolic.analysis import analyze

from ..test_factorization import CASES, upper


def pattern(K, perm):
    """Return the dense pattern of L, the factor of K in the order `perm`."""
    L = np.tril(K.toarray()[np.ix_(perm, perm)] != 0)
    for j in range(len(L)):
        rows = np.flatnonzero(L[:, j])
        rows = rows[rows > j]
        if rows.size:
            L[rows, rows[0]] = True
    return L


@pytest.mark.parametrize("name", CASES)
def test_supernodes_hold_the_pattern_of_L(name):
    K, signs = CASES[name]
    n = K.shape[0]
    indptr, indices = upper(K)[:2]
    analysis = analyze(n, indptr, indices, amd(n, indptr, indices))
    supernodes = supernodes_of(analysis)
    first = supernodes.first[: supernodes.count + 1]
    widths = np.diff(first)
    assert first[0] == 0 and first[-1] == n and set(widths) <= {1, 4}
    L = pattern(K, analysis.perm)
    heights = np.array([L[b:, a:b].any(axis=1).sum() for a, b in itertools.pairwise(first)])
    assert supernodes.rows == heights.sum()
    assert supernodes.entries == (4 * heights + 6)[widths == 4].sum() + heights[widths == 1].sum()
    for a, height in zip(first[:-1][widths == 4], heights[widths == 4], strict=True):
        held = np.tril(L[a : a + 4, a : a + 4], -1).sum() + L[a + 4 :, a : a + 4].sum()
        assert 4 * height + 6 - held <= ZEROS * (4 * height + 6)
    ldl = LDL(indptr, indices, signs, method="four-wide")
    np.testing.assert_array_equal(ldl.perm, analysis.perm)
    for s in range(supernodes.count):
        rows = ldl.factors.rows[ldl.factors.start[s] // 2 : ldl.factors.start[s + 1] // 2]
        np.testing.assert_array_equal(
            rows, first[s + 1] + np.flatnonzero(L[first[s + 1] :, first[s] : first[s + 1]].any(axis=1))
        )
        # the supernodes that have its rows, in the order of elimination
        there = [
            4 * t + (widths[t] == 4) for t in range(s) if L[first[s] : first[s + 1], first[t] : first[t + 1]].any()
        ]
        np.testing.assert_array_equal(
            ldl.factors.columns[ldl.factors.row_start[s] : ldl.factors.row_start[s + 1]], there
        )
