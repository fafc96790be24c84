"""Supernodes and the assembly tree of a sparse factor L.

A supernode is a block of w neighbouring columns of L over m common rows, stored as one dense panel: a w by w triangle
and an m by w rectangle.  It updates only panels of its ancestors in the assembly tree, those that have its rows as
columns.  The columns of a fundamental supernode have equal rows.  A panel and the column that is its parent are merged,
at the price of explicit zeros, when both together are predicted to take less time:

    time(w, m) = FRONT + ENTRY (w w / 2 + w m) + UPDATE m (m + 1) / 2 + FLOP (operations),
    (w, m) is joined to a column over m2 rows when  time(w + 1, m2) < time(w, m) + time(1, m2).
"""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import deferred_kernel, inner, leaf
from ....compiled.signatures import Ints
from ....compiled.structures import Structure, integer, integers
from .analysis import Analysis, find_rows

# Nanoseconds of a panel in one factorization and three solves, a fit to matrices of many kinds:
FRONT = 238.0  # per panel: calls and loops
ENTRY = 15.3  # per entry of L
UPDATE = 2.55  # per entry of the update that is subtracted from the panels of ancestors
FLOP = 0.017  # per operation


class AssemblyTree(Structure):
    """Supernodes of ``P K P' = L D L'`` in postorder.

    Attributes
    ----------
    perm : (n,) array
        Order of elimination; the columns of a supernode are neighbours.
    first : (s + 1,) array
        Supernode k has the columns ``first[k] ... first[k+1] - 1``.
    parent : (s,) array
        Parent in the assembly tree, -1 at a root.
    row_start, rows : (s + 1,) array and array
        Rows of supernode k below its triangle, ascending: ``rows[row_start[k] : row_start[k+1]]``.
    owner : (n,) array
        The supernode of each column.
    panel_start : (s + 1,) array
        The panel of supernode k, w + m rows by w columns, stored by columns, begins at ``panel_start[k]``.
    entry_start, source, target : arrays
        ``panels[target[q]] = data[source[q]]`` for q from ``entry_start[k]`` to ``entry_start[k+1] - 1`` puts K into
        panel k.
    largest_update, largest_front : int
        Largest number of rows below the triangle of a supernode, and largest number of rows of a panel.
    """

    perm, owner = integers("n"), integers("n")
    first, parent, row_start = integers("supernodes + 1"), integers("supernodes"), integers("supernodes + 1")
    rows, panel_start = integers("below", scratch=True), integers("supernodes + 1")
    entry_start, source = integers("supernodes + 1"), integers("entries", scratch=True)
    target = integers("entries", scratch=True)
    largest_update, largest_front = integer(), integer()


def assembly_tree(analysis: Analysis) -> AssemblyTree:
    """Return the supernodes and their assembly tree for the order of an analysis."""
    first = np.empty(analysis.perm.size + 1, np.int64)
    count = amalgamate(analysis, first)
    below = int(analysis.counts[first[1 : count + 1] - 1].sum())
    tree = AssemblyTree(n=analysis.perm.size, supernodes=count, below=below, entries=analysis.source.size)
    tree.first[:] = first[: count + 1]
    build_tree(tree, analysis)
    return tree


@leaf
def panel_flops(width: int, height: int) -> float:
    """Return the operations of a panel: the sum of c (c + 2) for c = height ... height + width - 1."""
    a, b = width + height - 1.0, height - 1.0
    squares = (a * (a + 1.0) * (2.0 * a + 1.0) - b * (b + 1.0) * (2.0 * b + 1.0)) / 6.0
    return squares + a * (a + 1.0) - b * (b + 1.0)


@leaf
def panel_time(width: int, height: int) -> float:
    """Return the modeled nanoseconds of a panel in one factorization and three solves."""
    entries, update = width * (0.5 * width + height), 0.5 * height * (height + 1.0)
    return FRONT + ENTRY * entries + UPDATE * update + FLOP * panel_flops(width, height)


@deferred_kernel
def amalgamate(analysis: Analysis, first: Ints) -> int:
    """Group the columns into panels first[k]:first[k + 1]; return the number of panels.

    A column joins the panel before it if that panel ends in a child of the column and the model predicts less time.
    """
    parent, counts, count = analysis.parent, analysis.counts, 0
    for j in range(parent.size):
        begin = j
        if j > 0 and parent[j - 1] == j:
            width = j - first[count - 1]
            apart = panel_time(width, counts[j - 1]) + panel_time(1, counts[j])
            if panel_time(width + 1, counts[j]) < apart:
                count -= 1
                begin = first[count]
        first[count] = begin
        count += 1
    first[count] = parent.size
    return count


@deferred_kernel
def build_tree(tree: AssemblyTree, analysis: Analysis) -> None:
    """Fill the tree: rows of the supernodes, places of the panels, and places of the entries of K."""
    first, parent, owner, row_start = tree.first, tree.parent, tree.owner, tree.row_start
    for j in range(owner.size):
        tree.perm[j] = analysis.perm[j]
    for k in range(parent.size):
        width, height = first[k + 1] - first[k], analysis.counts[first[k + 1] - 1]
        row_start[k + 1] = row_start[k] + height
        tree.panel_start[k + 1] = tree.panel_start[k] + width * (width + height)
        tree.largest_update = max(tree.largest_update, height)
        tree.largest_front = max(tree.largest_front, width + height)
        for j in range(first[k], first[k + 1]):
            owner[j] = k
    for k in range(parent.size):
        above = analysis.parent[first[k + 1] - 1]
        parent[k] = owner[above] if above != -1 else -1
    find_rows(analysis.indptr, analysis.indices, owner, parent, row_start, tree.rows)
    sort_entries(tree, analysis.indptr, analysis.indices, analysis.source)


@inner
def sort_entries(tree: AssemblyTree, indptr: Ints, indices: Ints, source: Ints) -> None:
    """Sort the entries of the permuted upper triangle by columns of L, find their places; entry (i, j) is L(j, i)."""
    n, first, row_start, rows, target = tree.owner.size, tree.first, tree.row_start, tree.rows, tree.target
    begin, place = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    for i in indices:
        begin[i] += 1
    for j in range(n):
        begin[j + 1] += begin[j]
    for j in range(n - 1, -1, -1):  # Fill each column of L from its end.
        for q in range(indptr[j], indptr[j + 1]):
            i = indices[q]
            at = begin[i] - 1
            begin[i], target[at], tree.source[at] = at, j, source[q]
    for k in range(tree.parent.size):
        width = first[k + 1] - first[k]
        length = width + row_start[k + 1] - row_start[k]
        tree.entry_start[k + 1] = begin[first[k + 1]]
        for j in range(first[k], first[k + 1]):
            place[j] = j - first[k]
        for p in range(row_start[k], row_start[k + 1]):
            place[rows[p]] = width + p - row_start[k]
        for j in range(first[k], first[k + 1]):
            column = tree.panel_start[k] + (j - first[k]) * length
            for p in range(begin[j], begin[j + 1]):
                target[p] = column + place[target[p]]
