"""The drawings of an elimination have the entries of K and of its factor."""

import numpy as np
import scipy.sparse as sp

import socp
from bench.programs import generate
from docs.teaching import elimination


def pattern():
    """Return the pattern of an arrow; its tip is the first pivot of the natural order, but not of minimum degree."""
    K = np.eye(6)
    K[0] = 1.0
    return sp.csc_array(K)


def test_sparsity_of_the_factor_is_that_of_a_dense_factorization():
    rng = np.random.default_rng(2)
    upper = sp.csc_array(np.triu((rng.random((14, 14)) < 0.2) + np.eye(14)))
    for ordering in ("natural", "amd", rng.permutation(14)):
        perm, L = elimination.factor_pattern(upper, ordering)
        full = np.where((upper + upper.T).toarray() > 0, rng.uniform(0.1, 1.0, (14, 14)), 0.0)
        full = full + full.T + 30.0 * np.eye(14)
        exact = np.linalg.cholesky(full[np.ix_(perm, perm)])
        np.testing.assert_array_equal(L.toarray() != 0.0, np.abs(exact) > 1e-14)


def test_the_sparsity_picture_has_the_entries_of_K_and_L():
    picture = elimination.sparsity(pattern(), {"natural": "natural", "minimum degree": "amd"})
    first, second, filled, empty = picture.axes
    assert first.get_title().endswith("K: 16 entries") and second.get_title().startswith("minimum degree")
    assert (filled.get_title(), empty.get_title()) == ("L: 21 entries", "L: 11 entries")
    assert [axes.get_lines()[0].get_xdata().size for axes in picture.axes] == [16, 16, 21, 11]


def test_the_pattern_of_a_program_is_that_of_the_engine():
    program = generate.group_lasso(10)
    upper = elimination.kkt_pattern(program)
    kkt = socp.Solver(program, kkt="ldl").kkt
    np.testing.assert_array_equal(upper.indices, kkt.matrix.indices)
    assert elimination.factor_pattern(upper, "amd")[1].nnz >= kkt.ldl.nnz


def test_the_elimination_tree_has_an_edge_a_child():
    (axes,) = elimination.elimination_tree(pattern(), "natural").axes
    edges = [np.array(line.get_data()) for line in axes.get_lines()]
    assert len(edges) == 5  # a path: each column is the parent of the one before
    assert all(y[1] == y[0] + 1.0 for _, y in edges)
    (axes,) = elimination.elimination_tree(pattern(), "amd").axes
    assert len(axes.get_lines()) == 5
    assert axes.collections[0].get_offsets().shape == (6, 2)
    heights = sorted(axes.collections[0].get_offsets()[:, 1])
    assert heights[-1] < 5.0  # not a path


def test_what_an_elimination_fills_appears_with_its_column():
    arrow = np.eye(4)
    arrow[0] = 1.0  # elimination of the tip fills the matrix
    first, last = (elimination.Fill(sp.csc_array(arrow), order) for order in (np.arange(4), np.arange(4)[::-1]))
    assert {place for place, column in first.entries.items() if column == 0} == {(2, 1), (3, 1), (3, 2)}
    assert all(column is None for column in last.entries.values())
    assert first._repr_svg_().count('attributeName="opacity"') == 3 and "<animate" in last._repr_svg_()
