"""Supernodal factorization K = P' (L D L') P, left-looking (Ng and Peyton 1993), and its triangular solves.

The supernodes are taken in postorder.  Each one writes its entries of K to its panel, subtracts the updates of earlier
supernodes that have rows among its columns,

    F(R, C) -= L_c(R, :) D_c L_c(C, :)'    C: columns of the panel that are rows of c, R: rows of c from C on,

and factorizes the panel.  A supernode waits in the list of the supernode that it updates next.
"""

from __future__ import annotations

from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Floats
from .dense import PanelFactors, extent, factor_panel, solve_lower, solve_upper, update_panel


@inner
def supernodal_factor(ldl: PanelFactors, data: Floats) -> int:
    """Compute the panels of L, and D in d; return the number of replaced pivots, or -1 if a pivot is not finite."""
    tree, head, following, position, place = ldl.tree, ldl.head, ldl.following, ldl.position, ldl.place
    panels, replaced = ldl.values, 0
    for k in range(head.size):
        head[k] = -1
    for k in range(head.size):
        for i in range(tree.panel_start[k], tree.panel_start[k + 1]):
            panels[i] = 0.0
        for q in range(tree.entry_start[k], tree.entry_start[k + 1]):
            panels[tree.target[q]] = data[tree.source[q]]
        c = head[k]
        if c != -1:  # `place` maps columns and rows of k to rows of its panel.
            width, height = extent(ldl, k)
            for j in range(width):
                place[tree.first[k] + j] = j
            for q in range(height):
                place[tree.rows[tree.row_start[k] + q]] = width + q
        while c != -1:
            after, start, stop, end = following[c], position[c], position[c], tree.row_start[c + 1]
            while stop < end:  # bisection: rows start:stop of c are columns of k
                middle = (stop + end) // 2
                if tree.rows[middle] < tree.first[k + 1]:
                    stop = middle + 1
                else:
                    end = middle
            update_panel(ldl, k, c, start, stop)
            wait(ldl, c, stop)
            c = after
        wrong = factor_panel(ldl, k, ldl.scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        wait(ldl, k, tree.row_start[k])
    return replaced


@leaf
def wait(ldl: PanelFactors, c: int, start: int) -> None:
    """Add supernode c to the list of the supernode with column tree.rows[start]; do nothing if c has no more rows."""
    tree = ldl.tree
    ldl.position[c] = start
    if start < tree.row_start[c + 1]:
        k = tree.owner[tree.rows[start]]
        ldl.following[c], ldl.head[k] = ldl.head[k], c


@inner
def supernodal_solve(ldl: PanelFactors, count: int, rhs: Floats, out: Floats) -> None:
    """out := P' (L' \\ (D \\ (L \\ (P rhs)))) for one or two right-hand sides, stored one after the other."""
    n, perm, d, supernodes = ldl.n, ldl.perm, ldl.d, ldl.head.size
    for r in range(count):
        for k in range(n):
            ldl.work[r * n + k] = rhs[r * n + perm[k]]
    for k in range(supernodes):
        for r in range(count):
            solve_lower(ldl, k, ldl.work[r * n : (r + 1) * n], ldl.below)
    for r in range(count):
        for k in range(n):
            ldl.work[r * n + k] /= d[k]
    for k in range(supernodes - 1, -1, -1):
        for r in range(count):
            solve_upper(ldl, k, ldl.work[r * n : (r + 1) * n], ldl.below)
    for r in range(count):
        for k in range(n):
            out[r * n + perm[k]] = ldl.work[r * n + k]
