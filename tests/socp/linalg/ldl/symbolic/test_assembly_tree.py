"""The assembly tree against the dense pattern of L, and the cost of its panels."""

import numpy as np
import pytest

from socp.linalg.ldl.symbolic.analysis import analyze
from socp.linalg.ldl.symbolic.assembly_tree import ENTRY, FLOP, FRONT, UPDATE, assembly_tree, panel_flops, panel_time
from tests.support.sparse_matrices import dense_factor_pattern, upper

from .test_analysis import PATTERNS


def tree_of(K, seed):
    n = K.shape[0]
    indptr, indices, _ = upper(K)
    perm = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    analysis = analyze(n, indptr, indices, perm)
    return analysis, assembly_tree(analysis)


def sizes_of(tree):
    """Return (columns, rows below) of each supernode."""
    return list(zip(np.diff(tree.first).tolist(), np.diff(tree.row_start).tolist(), strict=True))


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("seed", [None, 0])
def test_panels_cover_the_pattern_of_the_factor(name, seed):
    K = PATTERNS[name]
    n = K.shape[0]
    analysis, tree = tree_of(K, seed)
    np.testing.assert_array_equal(np.sort(tree.perm), np.arange(n))
    L = dense_factor_pattern(K, tree.perm)
    assert L.sum() - n == analysis.nnz  # merging does not change the fill of the order
    covered = np.zeros((n, n), bool)
    for k in range(len(tree.parent)):
        columns = np.arange(tree.first[k], tree.first[k + 1])
        rows = tree.rows[tree.row_start[k] : tree.row_start[k + 1]]
        assert (np.diff(rows) > 0).all() and (rows >= tree.first[k + 1]).all()
        covered[np.ix_(np.concatenate([columns, rows]), columns)] = True
        # a panel's rows are some column's rows: explicit zeros fill panels without making them longer
        np.testing.assert_array_equal(
            np.flatnonzero(L[tree.first[k + 1] :, columns].any(axis=1)), rows - tree.first[k + 1]
        )
        length = tree.panel_start[k + 1] - tree.panel_start[k]
        assert length == len(columns) * (len(columns) + len(rows))
    covered &= np.tri(n, dtype=bool)
    assert (covered | ~L).all()
    assert covered.sum() - n == sum(w * (w - 1) // 2 + w * m for w, m in sizes_of(tree)) >= analysis.nnz
    assert sum(panel_flops(*size) for size in sizes_of(tree)) >= analysis.flops


@pytest.mark.parametrize("name", PATTERNS)
def test_owners_and_parents(name):
    _, tree = tree_of(PATTERNS[name], 0)
    for k in range(len(tree.parent)):
        assert (tree.owner[tree.first[k] : tree.first[k + 1]] == k).all()
        rows = tree.rows[tree.row_start[k] : tree.row_start[k + 1]]
        assert tree.parent[k] == (tree.owner[rows[0]] if len(rows) else -1)


@pytest.mark.parametrize("name", PATTERNS)
def test_entries_go_to_their_places(name):
    K = PATTERNS[name]
    n = K.shape[0]
    _, tree = tree_of(K, 0)
    data = upper(K)[2]
    panels = np.zeros(tree.panel_start[-1])
    panels[tree.target] = data[tree.source]
    assembled = np.zeros((n, n))
    for k in range(len(tree.parent)):
        columns = np.arange(tree.first[k], tree.first[k + 1])
        rows = np.concatenate([columns, tree.rows[tree.row_start[k] : tree.row_start[k + 1]]])
        panel = panels[tree.panel_start[k] : tree.panel_start[k + 1]].reshape(len(columns), len(rows))
        assembled[np.ix_(rows, columns)] = panel.T
        begin, end = tree.entry_start[k], tree.entry_start[k + 1]
        assert (
            (tree.target[begin:end] >= tree.panel_start[k]) & (tree.target[begin:end] < tree.panel_start[k + 1])
        ).all()
    np.testing.assert_array_equal(assembled, np.tril(K.toarray()[np.ix_(tree.perm, tree.perm)]))


def merged_by_twin(parent, counts):
    """Return the bounds of the panels: column j joins the panel of its child j - 1 if `panel_time` decreases."""
    first = []
    for j in range(len(parent)):
        if j and parent[j - 1] == j:
            size, apart = (j - first[-1], counts[j - 1]), panel_time(1, counts[j])
            if panel_time(size[0] + 1, counts[j]) < panel_time(*size) + apart:
                continue
        first.append(j)
    return [*first, len(parent)]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_columns_are_merged_where_the_model_gains(name, seed):
    analysis, tree = tree_of(PATTERNS[name], seed)
    assert tree.first.tolist() == merged_by_twin(analysis.parent.tolist(), analysis.counts.tolist())
    assert name != "full" or tree.first.tolist() == [0, 7]
    assert tree.largest_update == max([m for _, m in sizes_of(tree)], default=0)
    assert tree.largest_front == max([w + m for w, m in sizes_of(tree)], default=0)
    assert tree.entry_start.tolist()[:: len(tree.entry_start)] == [0] and tree.entry_start[-1] == len(analysis.source)


@pytest.mark.parametrize(("width", "height"), [(1, 0), (1, 7), (4, 0), (5, 12), (40, 3)])
def test_the_operations_of_a_panel_are_their_sum(width, height):
    assert panel_flops(width, height) == sum(c * (c + 2) for c in range(height, height + width))
    entries = sum(range(height, height + width)) + 0.5 * width
    expected = FRONT + ENTRY * entries + UPDATE * sum(range(height + 1)) + FLOP * panel_flops(width, height)
    assert panel_time(width, height) == pytest.approx(expected)
