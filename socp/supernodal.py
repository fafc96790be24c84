"""Supernodal factorization K = P' (L D L') P by the multifrontal method (Duff and Reid 1983).

The supernodes are taken in postorder of the assembly tree.  Each one puts its entries of K and the update matrices
of its children, which lie on top of the stack, into its front; factorizes the front, which completes its panel of L;
and leaves its own update matrix on the stack in the place of its children's.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .panels import clear_front, extend_add, factor_front, pack, solve_lower, solve_upper


@kernel
def supernodal_factor(
    first, row_start, relative, panel_start, stack_start, child, sibling, entry_start, source, target,
    signs, data, eps, delta, panels, d, stack, front, scaled,
):  # fmt: skip
    """The panels of L and D in d; see `LDL.factor`, and `AssemblyTree` for the arrays of the tree.

    Work arrays: `stack` (tree.stack_size), `front` (tree.largest_update squared) and `scaled`
    (scaled_size(tree.largest_front)); they may hold anything.
    """
    places = relative.view(np.uint64)
    replaced = 0
    for k in range(len(child)):
        column, begin = first[k], panel_start[k]
        width, height = first[k + 1] - column, row_start[k + 1] - row_start[k]
        clear_front(panels, begin, width, height, front)
        for q in range(entry_start[k], entry_start[k + 1]):
            panels[target[q]] = data[source[q]]
        c = child[k]
        while c != -1:
            size = row_start[c + 1] - row_start[c]
            extend_add(stack, stack_start[c], places, row_start[c], size, panels, begin, width, height, front)
            c = sibling[c]
        wrong = factor_front(panels, begin, width, height, signs, column, eps, delta, d, front, scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        pack(front, height, stack, stack_start[k])
    return replaced


@kernel
def supernodal_solve(perm, first, row_start, rows, panel_start, panels, d, rhs, out, work, below):
    """out = P' (L' \\ (D \\ (L \\ (P rhs)))); work arrays `work` (n) and `below` (tree.largest_update)."""
    places = rows.view(np.uint64)
    n, count = len(d), len(first) - 1
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
