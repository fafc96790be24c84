"""Dense panels, and their factors and solutions, compared with the textbook, whatever values were stored before."""

import numpy as np
import pytest

from socp.linalg.cholesky import LOOPS
from socp.linalg.ldl.panels.dense import PanelFactors, factor_panel, solve_lower, solve_upper, update_panel
from socp.linalg.ldl.symbolic.assembly_tree import AssemblyTree

SIZES = [(width, height) for width in [1, 2, 5, 8, 9, 30, LOOPS, LOOPS + 1] for height in [0, 1, 3, 20, 70, 135]]
MARGIN = 3


def factors_of(first, heights, signs):
    """Return factors whose supernodes have these first columns and heights; a gap of `MARGIN` follows each panel."""
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
    """Factor [F11; F21] = [L11; L21] D L11' with one pivot that must be replaced, and solve with the factor."""
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
    """Check F(R, C) -= L(R, :) D L(C, :)' for scattered rows R of F."""
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
