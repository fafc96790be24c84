"""Supernodes and the assembly tree of a sparse factor L.

A supernode is a set of neighbouring columns of L which are stored as one dense panel: w columns over the same m rows
below them.  It updates the panels of ancestors in the assembly tree alone, those that have its rows as columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled.jit import kernel
from .amalgamation import amalgamate, panel_work
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
    owner : (n,) array
        The supernode of each column.
    panel_start : (s + 1,) array
        The panel of k, w + m rows by w columns, stored by columns, begins at ``panel_start[k]``.
    entry_start, source, target : arrays
        ``panels[target[q]] = data[source[q]]`` for q from ``entry_start[k]`` to ``entry_start[k+1] - 1`` puts K into
        panel k.
    """

    perm: IntArray
    first: IntArray
    parent: IntArray
    row_start: IntArray
    rows: IntArray
    owner: IntArray
    panel_start: IntArray
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
        return panel_work(self.first, self.row_start)[0]

    @property
    def time(self) -> float:
        """What one factorization and three solves are expected to take, in nanoseconds."""
        return panel_work(self.first, self.row_start)[1]

    @property
    def largest_update(self) -> int:
        """Largest number of rows below a triangle."""
        return int(np.diff(self.row_start).max(initial=0))

    @property
    def largest_front(self) -> int:
        """Largest number of rows of a panel."""
        return int((np.diff(self.first) + np.diff(self.row_start)).max(initial=0))


def assembly_tree(n: int, indptr: IntArray, indices: IntArray, analysis: Analysis) -> AssemblyTree:
    """Supernodes for the order of an analysis, which is changed within the freedom of its elimination tree.

    Parameters
    ----------
    n, indptr, indices
        Upper triangle of K by columns, as given to `socp.linalg.ldl.symbolic.analyze`.
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
    panel_start = np.zeros(len(first), np.int64)
    w = np.diff(first)
    owner = np.repeat(np.arange(len(w)), w)
    np.cumsum(w * (w + height), out=panel_start[1:])
    entry_start, source, target = _place_entries(up, ui, position, first, row_start, rows, panel_start)
    return AssemblyTree(
        perm, first, parent, row_start, rows, owner, panel_start, entry_start, source, target
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
