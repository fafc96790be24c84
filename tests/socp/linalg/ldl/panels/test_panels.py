"""The assembly tree against the dense pattern of L, and the dense panels against the textbook."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.cholesky import LOOPS
from socp.linalg.ldl.panels.dense import PanelFactors, factor_panel, solve_lower, solve_upper, update_panel
from socp.linalg.ldl.symbolic.analysis import analyze
from socp.linalg.ldl.symbolic.assembly_tree import AssemblyTree, assembly_tree, panel_flops
from tests.support.sparse_matrices import arrow, dense_factor_pattern, grid_laplacian, kkt, random_spd, upper

PATTERNS = {
    "random": random_spd(60, 0.03, 1),
    "sparser": random_spd(80, 0.008, 2),
    "grid": grid_laplacian(9, 8),
    "arrow": arrow(30, 2),
    "kkt": kkt(40, 25, 0.06, 3)[0],
    "diagonal": sp.csc_array(sp.eye_array(5)),
    "full": sp.csc_array(np.ones((12, 12))),
    "one": sp.csc_array(np.ones((1, 1))),
    "path": grid_laplacian(1, 40),
}


def tree_of(K, seed):
    n = K.shape[0]
    indptr, indices, _ = upper(K)
    perm = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    analysis = analyze(n, indptr, indices, perm)
    return analysis, assembly_tree(analysis)


def sizes_of(tree):
    """(columns, rows below) of each supernode."""
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
        # the rows are those of some column: explicit zeros fill panels, they do not make them longer
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


def test_empty_matrix():
    empty = np.empty(0, np.int64)
    tree = assembly_tree(analyze(0, np.zeros(1, np.int64), empty, empty))
    assert tree.rows.size == tree.largest_front == tree.largest_update == 0


def test_alike_columns_are_one_supernode():
    _, tree = tree_of(PATTERNS["full"], None)
    assert len(tree.parent) == 1 and tree.first.tolist() == [0, 12]


SIZES = [(width, height) for width in [1, 2, 5, 8, 9, 30, LOOPS, LOOPS + 1] for height in [0, 1, 3, 20, 70, 135]]
MARGIN = 3


def factors_of(first, heights, signs):
    """Factors whose supernodes have these first columns and heights; each panel begins `MARGIN` places further on."""
    widths = np.diff(first)
    lengths = widths + heights
    tree = AssemblyTree(n=first[-1], supernodes=len(widths), below=int(np.sum(heights)), entries=0)
    tree.perm[:], tree.first[:], tree.row_start[1:] = np.arange(first[-1]), first, np.cumsum(heights)
    tree.panel_start[1:] = np.cumsum(widths * lengths + MARGIN)
    tree.largest_update, tree.largest_front = int(max(heights)), int(lengths.max())
    ldl = PanelFactors(tree, np.asarray(signs, float))
    ldl.eps, ldl.values[:] = 1e-13, 7.0
    return ldl


@pytest.mark.parametrize("width, height", [*SIZES, (2 * LOOPS, 900), (2 * LOOPS + 1, 300), (3 * LOOPS, 0)])
def test_panel(width, height):
    """[F11; F21] = [L11; L21] D L11', with one pivot that has to be replaced, and solves with it."""
    rng = np.random.default_rng(width + 1000 * height)
    length = width + height
    signs = rng.choice([-1.0, 1.0], width)
    L = np.tril(rng.normal(size=(length, width)) / np.sqrt(length), -1) + np.eye(length, width)
    d = signs * rng.uniform(1.0, 2.0, width)
    F = L @ np.diag(d) @ L[:width].T
    wrong = width // 2
    F[wrong, wrong] -= 3.0 * signs[wrong]  # the pivot comes out with the wrong sign, and |d| takes its place
    ldl = factors_of([0, 2, 2 + width, 2 + length], [3, height, 0], [0, 0, *signs, *np.ones(height)])
    begin, end = ldl.tree.panel_start[1], ldl.tree.panel_start[2] - MARGIN
    ldl.values[begin:end] = np.where(np.tri(length, width, dtype=bool), F, np.nan).ravel(order="F")  # the rest: unread
    ldl.delta = abs(d[wrong])
    assert factor_panel(ldl, 1, ldl.scaled) == 1
    np.testing.assert_allclose(ldl.d[2 : 2 + width], d, rtol=1e-10)
    ours = ldl.values[begin:end].reshape(width, length).T
    np.testing.assert_allclose(np.tril(ours), L, atol=1e-10)
    assert (ldl.values[:begin] == 7.0).all() and (ldl.values[end:] == 7.0).all()
    columns, rows = np.arange(2, 2 + width), 2 + width + np.arange(height)[::-1]
    ldl.tree.rows[3:], ldl.below[:], x = rows, 7.0, rng.normal(size=2 + length)
    for solve in (solve_lower, solve_upper):
        expected, L11, L21 = x.copy(), L[:width], L[width:]
        if solve is solve_lower:
            expected[columns] = np.linalg.solve(L11, x[columns])
            expected[rows] -= L21 @ expected[columns]
        else:
            expected[columns] = np.linalg.solve(L11.T, x[columns] - L21.T @ x[rows])
        solve(ldl, 1, x, ldl.below)
        np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("width, count, columns", [(1, 7, 3), (3, 5, 5), (5, 40, 12), (20, 90, 80), (3, 300, 250)])
def test_update_of_a_panel_by_another(width, count, columns):
    """F(R, C) -= L(R, :) D L(C, :)', R scattered rows of F."""
    rng = np.random.default_rng(width + count)
    above, size = 2, 2 * count + 5
    L, d, F = rng.normal(size=(width + above + count, width)), rng.normal(size=width), rng.normal(size=(size, size))
    places = np.sort(rng.choice(size, count, replace=False))
    ldl = factors_of([0, width, width + size], [above + count, 0], np.ones(width + size))
    tree, ldl.d[:width] = ldl.tree, d
    tree.rows[:] = width + np.arange(above + count)
    ldl.place[tree.rows[above:]] = places
    ldl.values[: L.size] = L.ravel(order="F")
    ldl.values[tree.panel_start[1] : tree.panel_start[1] + F.size] = F.ravel(order="F")
    update_panel(ldl, 1, 0, above, above + columns)
    R = L[width + above :]
    expected = F.copy()
    expected[np.ix_(places, places[:columns])] -= R @ np.diag(d) @ R[:columns].T
    found = ldl.values[tree.panel_start[1] :][: F.size].reshape(size, size).T
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("width", "height"), [(1, 0), (1, 7), (4, 0), (5, 12), (40, 3)])
def test_the_operations_of_a_panel_are_their_sum(width, height):
    assert panel_flops(width, height) == sum(c * (c + 2) for c in range(height, height + width))
