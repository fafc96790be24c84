"""Supernodal factorization K = P' (L D L') P, left-looking (Ng and Peyton 1993).

The supernodes are taken in postorder.  Each one puts its entries of K into its panel, subtracts what the earlier
supernodes with rows among its columns leave there,

    F(R, C) -= L_c(R, :) D_c L_c(C, :)'    C the columns of the panel that c has as rows, R the rows of c from there,

and factorizes the panel.  Every supernode waits in the list of the one that it updates next.
"""

from __future__ import annotations

import numpy as np

from ...compiled.kernels import inner, kernel
from ...compiled.signatures import Floats
from .factors import Factors
from .panels import factor_panel, set_zero, solve_lower, solve_lower_two, solve_upper, solve_upper_two, update_panel


@kernel
def supernodal_factor(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """The panels of L and D in d; see `LDL.factor`, and `AssemblyTree` for the arrays of the tree."""
    tree, signs, panels, d = ldl.tree, ldl.signs, ldl.values, ldl.d
    first, owner, row_start, rows, panel_start = tree.first, tree.owner, tree.row_start, tree.rows, tree.panel_start
    entry_start, source, target = tree.entry_start, tree.source, tree.target
    place, places, head, following, position = ldl.place, ldl.places, ldl.head, ldl.following, ldl.position
    product, scaled = ldl.product, ldl.scaled
    replaced = 0
    for k in range(len(head)):
        head[k] = -1
    for k in range(len(head)):
        column, end, begin = first[k], first[k + 1], panel_start[k]
        width, height = end - column, row_start[k + 1] - row_start[k]
        set_zero(panels, begin, width * (width + height))
        for q in range(entry_start[k], entry_start[k + 1]):
            panels[target[q]] = data[source[q]]
        c = head[k]
        if c != -1:
            for j in range(width):
                place[column + j] = np.uint64(j)
            for q in range(height):
                place[rows[row_start[k] + q]] = np.uint64(width + q)
        while c != -1:
            after, start = following[c], position[c]
            stop = start + 1
            while stop < row_start[c + 1] and rows[stop] < end:
                stop += 1
            for q in range(start, row_start[c + 1]):
                places[q - start] = place[rows[q]]
            wide = first[c + 1] - first[c]
            update_panel(
                panels, begin, width + height, panel_start[c], wide, wide + start - row_start[c],
                row_start[c + 1] - start, stop - start, places, d, first[c], product, scaled,
            )  # fmt: skip
            position[c] = stop
            if stop < row_start[c + 1]:
                following[c] = head[owner[rows[stop]]]
                head[owner[rows[stop]]] = c
            c = after
        wrong = factor_panel(panels, begin, width, height, signs, column, eps, delta, d, scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        if height > 0:
            position[k] = row_start[k]
            following[k] = head[owner[rows[row_start[k]]]]
            head[owner[rows[row_start[k]]]] = k
    return replaced


@inner
def supernodal_solve(ldl: Factors, rhs: Floats, out: Floats) -> None:
    """out = P' (L' \\ (D \\ (L \\ (P rhs))))."""
    n, perm, tree = ldl.n, ldl.perm, ldl.tree
    first, row_start, panel_start, places = tree.first, tree.row_start, tree.panel_start, tree.rows.view(np.uint64)
    panels, d, work, below = ldl.values, ldl.d, ldl.work, ldl.below
    count = first.size - 1
    for k in range(n):
        work[k] = rhs[perm[k]]
    for k in range(count):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        solve_lower(panels, panel_start[k], width, height, work, first[k], places, row_start[k], below)
    for j in range(n):
        work[j] /= d[j]
    for k in range(count - 1, -1, -1):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        solve_upper(panels, panel_start[k], width, height, work, first[k], places, row_start[k], below)
    for k in range(n):
        out[perm[k]] = work[k]


@inner
def supernodal_solve_two(ldl: Factors, rhs: Floats, out: Floats) -> None:
    """`supernodal_solve` for two right-hand sides, one after the other, in one pass over L."""
    n, perm, tree = ldl.n, ldl.perm, ldl.tree
    first, row_start, panel_start, places = tree.first, tree.row_start, tree.panel_start, tree.rows.view(np.uint64)
    panels, d, work, below = ldl.values, ldl.d, ldl.work, ldl.below
    count = first.size - 1
    for k in range(n):
        work[k], work[n + k] = rhs[perm[k]], rhs[n + perm[k]]
    for k in range(count):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        solve_lower_two(panels, panel_start[k], width, height, work, n, first[k], places, row_start[k], below)
    for j in range(n):
        work[j] /= d[j]
        work[n + j] /= d[j]
    for k in range(count - 1, -1, -1):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        solve_upper_two(panels, panel_start[k], width, height, work, n, first[k], places, row_start[k], below)
    for k in range(n):
        out[perm[k]], out[n + perm[k]] = work[k], work[n + k]
