"""The assembly tree against the dense pattern of L, and the dense front against the textbook."""

import numpy as np
import pytest
import scipy.sparse as sp
from sparse_matrices import arrow, dense_factor_pattern, grid_laplacian, kkt, random_spd, upper

from socp.amalgamation import total_time
from socp.panels import BLOCK, LONG, factor_front, scaled_size
from socp.supernodes import assembly_tree, fundamental_supernodes
from socp.symbolic import analyze

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
    return analysis, assembly_tree(n, indptr, indices, analysis)


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
    assert tree.nnz == covered.sum() - n
    assert tree.nnz >= analysis.nnz and tree.flops >= analysis.flops


@pytest.mark.parametrize("name", PATTERNS)
def test_relative_places_and_stack(name):
    _, tree = tree_of(PATTERNS[name], 0)
    height = np.diff(tree.row_start)
    on_stack = []  # (start, end, supernode) of the update matrices
    for k in range(len(tree.parent)):
        children = []
        c = tree.child[k]
        while c != -1:
            children.append(c)
            c = tree.sibling[c]
        assert children == [c for c in range(k) if tree.parent[c] == k]
        taken = on_stack[len(on_stack) - len(children) :]
        assert [c for _, _, c in taken] == children  # they are on top
        on_stack = on_stack[: len(on_stack) - len(children)]
        start = tree.stack_start[k]
        assert all(end <= start for _, end, _ in on_stack)
        on_stack.append((start, start + height[k] * (height[k] + 1) // 2, k))
        assert on_stack[-1][1] <= tree.stack_size
        rows = tree.rows[tree.row_start[k] : tree.row_start[k + 1]]
        if tree.parent[k] == -1:
            assert len(rows) == 0
            continue
        p = tree.parent[k]
        assert p > k
        front = np.concatenate(
            [np.arange(tree.first[p], tree.first[p + 1]), tree.rows[tree.row_start[p] : tree.row_start[p + 1]]]
        )
        np.testing.assert_array_equal(front[tree.relative[tree.row_start[k] : tree.row_start[k + 1]]], rows)


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
    tree = assembly_tree(0, np.zeros(1, np.int64), empty, analyze(0, np.zeros(1, np.int64), empty, empty))
    assert tree.nnz == tree.flops == tree.stack_size == tree.largest_front == tree.largest_update == 0


def test_alike_columns_are_one_supernode():
    _, tree = tree_of(PATTERNS["full"], None)
    assert len(tree.parent) == 1 and tree.first.tolist() == [0, 12]


SIZES = [(width, height) for width in [1, 2, 5, 8, 9, 30, BLOCK, BLOCK + 1, 150] for height in [0, 1, 3, 20, 70, 135]]


@pytest.mark.parametrize("width, height", [*SIZES, (200, LONG), (LONG, 300)])
def test_front(width, height):
    """[F11 .; F21 F22] = [L11; L21] D [L11; L21]' + [0 .; . U], with one pivot that has to be replaced."""
    rng = np.random.default_rng(width + 1000 * height)
    length = width + height
    signs = rng.choice([-1.0, 1.0], width)
    L = np.tril(rng.normal(size=(length, width)) / np.sqrt(length), -1) + np.eye(length, width)
    d = signs * rng.uniform(1.0, 2.0, width)
    U = rng.normal(size=(height, height))
    U = U + U.T
    F = L @ np.diag(d) @ L.T
    F[width:, width:] += U
    wrong = width // 2
    F[wrong, wrong] -= 3.0 * signs[wrong]  # the pivot comes out with the wrong sign, and |d| takes its place
    panel = np.where(np.tri(length, width, dtype=bool), F[:, :width], np.nan).ravel(order="F")  # the rest is not read
    update = np.where(np.tri(height, dtype=bool), F[width:, width:], np.nan).ravel(order="F")
    margin = 3
    panels = np.concatenate([np.full(margin, 7.0), panel, np.full(margin, 7.0)])
    all_signs = np.concatenate([np.zeros(2), signs])
    found, scaled = np.zeros(width + 2), np.empty(scaled_size(length))
    delta = abs(d[wrong])
    assert factor_front(panels, margin, width, height, all_signs, 2, 1e-13, delta, found, update, scaled) == 1
    np.testing.assert_allclose(found[2:], d, rtol=1e-10)
    ours = panels[margin:-margin].reshape(width, length).T
    np.testing.assert_allclose(np.tril(ours), L, atol=1e-10)
    np.testing.assert_allclose(np.tril(update.reshape(height, height).T), np.tril(U), atol=1e-9)
    assert (panels[:margin] == 7.0).all() and (panels[-margin:] == 7.0).all()


def test_columns_beside_a_dense_block_are_grouped():
    """[I A'; A -I] with dense A: the columns of I are leaves with the same rows, and go together."""
    m, n = 20, 300
    A = np.ones((m, n))
    K = sp.csc_array(np.block([[np.eye(n), A.T], [A, -np.eye(m)]]))
    analysis, tree = tree_of(K, None)
    assert analysis.nnz == n * m + m * (m - 1) // 2
    assert len(tree.parent) < n / 5
    assert tree.nnz < 1.5 * analysis.nnz
    first, _, height = fundamental_supernodes(analysis.parent, analysis.counts)
    assert tree.time < total_time(first, np.concatenate([[0], np.cumsum(height)]))
