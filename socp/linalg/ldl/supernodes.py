"""Supernodes and the assembly tree of a sparse factor L.

A supernode is a set of neighbouring columns of L which are stored as one dense panel: w columns over the same m rows
below them.  It updates the panels of ancestors in the assembly tree alone, those that have its rows as columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled.kernels import kernel
from ...compiled.signatures import Ints
from ..csc import transposed
from .amalgamation import amalgamate, panel_work
from .symbolic import Analysis, IntArray, inverse_permutation, permute_upper


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
    entry_start, rows_of, entry = transposed(len(w), up, owner[ui])  # entry (i, j) of the upper triangle is L(j, i)
    source, target = inverse_permutation(position)[entry], np.empty(len(entry), np.int64)
    _find_places(
        ui[entry], rows_of, first, row_start, rows, panel_start, entry_start, np.empty(n, np.int64), target
    )  # fmt: skip
    return AssemblyTree(
        perm, first, parent, row_start, rows, owner, panel_start, entry_start, source, target
    )  # fmt: skip


def fundamental_supernodes(parent: IntArray, counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """First columns, parents and heights: j - 1 and j are together when their patterns below j are the same."""
    n = len(parent)
    owner, above, height = np.empty((3, n), np.int64)
    first = np.zeros(n + 1, np.int64)
    count = _fundamental_supernodes(parent, counts, owner, first, above, height)
    return first[: count + 1], above[:count], height[:count]


@kernel
def _fundamental_supernodes(parent: Ints, counts: Ints, owner: Ints, first: Ints, above: Ints, height: Ints) -> int:
    """Returns the number of supernodes; first[0] is 0."""
    count = 0
    for j in range(len(parent)):
        if j == 0 or parent[j - 1] != j or counts[j - 1] != counts[j] + 1:
            count += 1
        owner[j] = count - 1
    for j in range(len(parent)):  # the last column decides
        first[owner[j] + 1] = j + 1
        above[owner[j]] = owner[parent[j]] if parent[j] != -1 else -1
        height[owner[j]] = counts[j]
    return count


def row_structure(
    indptr: IntArray, indices: IntArray, first: IntArray, parent: IntArray, height: IntArray
) -> tuple[IntArray, IntArray]:
    """Rows of each supernode below its triangle, ascending: (row_start, rows)."""
    count = len(parent)
    owner, row_start = np.repeat(np.arange(count), np.diff(first)), np.zeros(count + 1, np.int64)
    np.cumsum(height, out=row_start[1:])
    rows = np.empty(row_start[count], np.int64)
    _row_structure(indptr, indices, owner, parent, row_start[:count].copy(), np.full(count, -1, np.int64), rows)
    return row_start, rows


@kernel
def _row_structure(
    indptr: Ints, indices: Ints, owner: Ints, parent: Ints, fill: Ints, seen: Ints, rows: Ints
) -> None:  # fmt: skip
    """The rows of supernode k from rows[fill[k]] on; `seen` comes as -1."""
    for i in range(len(owner)):  # row i of L lives in the supernodes between the entries of K(1:i, i) and i
        seen[owner[i]] = i
        for p in range(indptr[i], indptr[i + 1]):
            k = owner[indices[p]]
            while seen[k] != i:
                seen[k] = i
                rows[fill[k]] = i
                fill[k] += 1
                k = parent[k]


@kernel
def _find_places(
    columns: Ints, rows_of: Ints, first: Ints, row_start: Ints, rows: Ints, panel_start: Ints, entry_start: Ints,
    place: Ints, target: Ints,
) -> None:  # fmt: skip
    """target[p] := where entry p of K, sorted by supernodes, goes: L(rows_of[p], columns[p])."""
    for k in range(len(first) - 1):
        width = first[k + 1] - first[k]
        length = width + row_start[k + 1] - row_start[k]
        for j in range(first[k], first[k + 1]):
            place[j] = j - first[k]
        for p in range(row_start[k], row_start[k + 1]):
            place[rows[p]] = width + p - row_start[k]
        for p in range(entry_start[k], entry_start[k + 1]):
            target[p] = panel_start[k] + (columns[p] - first[k]) * length + place[rows_of[p]]
