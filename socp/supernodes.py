"""Supernodes and the assembly tree of a sparse factor L.

A supernode is a set of neighbouring columns of L which are stored as one dense panel: w columns over the same m rows
below them.  Each supernode with m > 0 leaves an m by m update matrix, which its parent in the assembly tree adds to
its own panel and update matrix.  They live on a stack, the lower triangle packed by columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .amalgamation import amalgamate, total_operations, total_time
from .jit import kernel
from .symbolic import Analysis, IntArray, permute_upper


@dataclass(frozen=True)
class AssemblyTree:
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
    relative : array
        For each of `rows`, its place among the columns and rows of the parent.
    panel_start : (s + 1,) array
        The panel of k, w + m rows by w columns, stored by columns, begins at ``panel_start[k]``.
    stack_start : (s,) array
        The update matrix of k is left at ``stack_start[k]``, where those of its children began.
    child, sibling : (s,) arrays
        First child and next sibling, -1 at the end.
    entry_start, source, target : arrays
        ``panels[target[q]] = data[source[q]]`` for q from ``entry_start[k]`` to ``entry_start[k+1] - 1`` puts K into
        panel k.
    """

    perm: IntArray
    first: IntArray
    parent: IntArray
    row_start: IntArray
    rows: IntArray
    relative: IntArray
    panel_start: IntArray
    stack_start: IntArray
    child: IntArray
    sibling: IntArray
    entry_start: IntArray
    source: IntArray
    target: IntArray

    @property
    def nnz(self) -> int:
        """Entries of L below the diagonal, explicit zeros included."""
        w, m = np.diff(self.first), np.diff(self.row_start)
        return int(np.sum(w * (w - 1) // 2 + w * m))

    @property
    def flops(self) -> float:
        """Floating-point operations of one factorization, those on explicit zeros included."""
        return total_operations(self.first, self.row_start)

    @property
    def time(self) -> float:
        """What one factorization and three solves are expected to take, in nanoseconds."""
        return total_time(self.first, self.row_start)

    @property
    def largest_update(self) -> int:
        """Largest number of rows below a triangle."""
        return int(np.diff(self.row_start).max(initial=0))

    @property
    def largest_front(self) -> int:
        """Largest number of rows of a panel."""
        return int((np.diff(self.first) + np.diff(self.row_start)).max(initial=0))

    @property
    def stack_size(self) -> int:
        """Entries of the stack of update matrices."""
        m = np.diff(self.row_start)
        return int((self.stack_start + m * (m + 1) // 2).max(initial=0))


def assembly_tree(n: int, indptr: IntArray, indices: IntArray, analysis: Analysis) -> AssemblyTree:
    """Supernodes for the order of an analysis, which is changed within the freedom of its elimination tree.

    Parameters
    ----------
    n, indptr, indices
        Upper triangle of K by columns, as given to `socp.symbolic.analyze`.
    analysis : Analysis
        Its result.

    Returns
    -------
    AssemblyTree
    """
    first, parent, height = fundamental_supernodes(analysis.parent, analysis.counts)
    row_start, rows = row_structure(analysis.indptr, analysis.indices, first, parent, height)
    order, first, parent, height = amalgamate(first, parent, height, row_start, rows)
    perm = analysis.perm[order]
    up, ui, position = permute_upper(n, indptr, indices, perm)
    row_start, rows = row_structure(up, ui, first, parent, height)
    relative = relative_places(first, parent, row_start, rows)
    child, sibling, stack_start = _stack_layout(parent, height)
    panel_start = np.zeros(len(first), np.int64)
    w = np.diff(first)
    np.cumsum(w * (w + height), out=panel_start[1:])
    entry_start, source, target = _place_entries(up, ui, position, first, row_start, rows, panel_start)
    return AssemblyTree(
        perm, first, parent, row_start, rows, relative, panel_start, stack_start, child, sibling, entry_start, source,
        target,
    )  # fmt: skip


@kernel
def fundamental_supernodes(parent, counts):
    """First columns, parents and heights: j - 1 and j are together when their patterns below j are the same."""
    n = len(parent)
    owner = np.empty(n, np.int64)
    count = 0
    for j in range(n):
        if j == 0 or parent[j - 1] != j or counts[j - 1] != counts[j] + 1:
            count += 1
        owner[j] = count - 1
    first, above, height = np.zeros(count + 1, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    for j in range(n):  # the last column decides
        first[owner[j] + 1] = j + 1
        above[owner[j]] = owner[parent[j]] if parent[j] != -1 else -1
        height[owner[j]] = counts[j]
    return first, above, height


@kernel
def row_structure(indptr, indices, first, parent, height):
    """Rows of each supernode below its triangle, ascending."""
    count = len(parent)
    owner = np.empty(first[count], np.int64)
    row_start = np.zeros(count + 1, np.int64)
    for k in range(count):
        owner[first[k] : first[k + 1]] = k
        row_start[k + 1] = row_start[k] + height[k]
    rows = np.empty(row_start[count], np.int64)
    fill = row_start[:count].copy()
    seen = np.full(count, -1, np.int64)
    for i in range(len(owner)):  # row i of L lives in the supernodes between the entries of K(1:i, i) and i
        seen[owner[i]] = i
        for p in range(indptr[i], indptr[i + 1]):
            k = owner[indices[p]]
            while seen[k] != i:
                seen[k] = i
                rows[fill[k]] = i
                fill[k] += 1
                k = parent[k]
    return row_start, rows


@kernel
def relative_places(first, parent, row_start, rows):
    """The place of each row of a supernode among the columns and rows of its parent."""
    relative = np.empty(len(rows), np.int64)
    for k in range(len(parent)):
        above = parent[k]
        if above == -1:
            continue
        q = row_start[above]
        width = first[above + 1] - first[above]
        for p in range(row_start[k], row_start[k + 1]):
            i = rows[p]
            if i < first[above + 1]:
                relative[p] = i - first[above]
            else:
                while rows[q] < i:
                    q += 1
                relative[p] = width + q - row_start[above]
    return relative


@kernel
def _stack_layout(parent, height):
    """First children, next siblings, and where each update matrix is left on the stack."""
    count = len(parent)
    child, sibling = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    for k in range(count - 1, -1, -1):
        if parent[k] != -1:
            sibling[k] = child[parent[k]]
            child[parent[k]] = k
    stack_start = np.empty(count, np.int64)
    top = 0
    for k in range(count):
        if child[k] != -1:
            top = stack_start[child[k]]
        stack_start[k] = top
        top += height[k] * (height[k] + 1) // 2
    return child, sibling, stack_start


@kernel
def _place_entries(indptr, indices, position, first, row_start, rows, panel_start):
    """Where each entry of K goes: ``panels[target[q]] = data[source[q]]``, sorted by supernodes."""
    count = len(first) - 1
    n = first[count]
    nnz = indptr[n]
    owner, place = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(count):
        owner[first[k] : first[k + 1]] = k
    entry_start = np.zeros(count + 1, np.int64)
    for q in range(nnz):
        entry_start[owner[indices[q]] + 1] += 1
    for k in range(count):
        entry_start[k + 1] += entry_start[k]
    fill = entry_start[:count].copy()
    row_of, entry = np.empty(nnz, np.int64), np.empty(nnz, np.int64)  # entry (i, j) of the upper triangle is L(j, i)
    for j in range(n):
        for q in range(indptr[j], indptr[j + 1]):
            k = owner[indices[q]]
            row_of[fill[k]] = j
            entry[fill[k]] = q
            fill[k] += 1
    data_index = np.empty(nnz, np.int64)
    for p in range(nnz):
        data_index[position[p]] = p
    source, target = np.empty(nnz, np.int64), np.empty(nnz, np.int64)
    for k in range(count):
        width = first[k + 1] - first[k]
        length = width + row_start[k + 1] - row_start[k]
        for j in range(first[k], first[k + 1]):
            place[j] = j - first[k]
        for p in range(row_start[k], row_start[k + 1]):
            place[rows[p]] = width + p - row_start[k]
        for p in range(entry_start[k], entry_start[k + 1]):
            source[p] = data_index[entry[p]]
            target[p] = panel_start[k] + (indices[entry[p]] - first[k]) * length + place[row_of[p]]
    return entry_start, source, target
