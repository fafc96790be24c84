"""Supernodes and the assembly tree of a sparse factor L.

A supernode is a set of neighbouring columns of L which are stored as one dense panel: w columns over the same
m rows below them, so that L has a w by w triangle and an m by w rectangle there.  The columns of a fundamental
supernode have the same pattern by themselves; others are merged with their parent in the tree, at the price of
explicit zeros, when the model of the time says that the larger panel is quicker:

    time(w, m) = FRONT + ENTRY (w w / 2 + w m) + UPDATE m (m + 1) / 2 + FLOP (operations).

Each supernode with m > 0 leaves an m by m update matrix, which its parent in the assembly tree adds to its own
panel and update matrix.  They live on a stack, the lower triangle packed by columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .jit import inner_kernel, kernel
from .symbolic import Analysis, IntArray, depth_first, permute_upper

# The time of a panel in one factorization and three solves, in nanoseconds: a fit to matrices of many kinds
FRONT = 280.0  # calls and loops
ENTRY = 18.0  # an entry of L
UPDATE = 3.0  # an entry of the update matrix: cleared, moved, added to the parent's
FLOP = 0.02


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
    owner = fundamental_supernodes(analysis.parent, analysis.counts)
    order, first, parent, height = _amalgamate(analysis.parent, analysis.counts, owner)
    perm = analysis.perm[order]
    up, ui, position = permute_upper(n, indptr, indices, perm)
    row_start, rows, relative = _row_structure(up, ui, first, parent, height)
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
    """The number of the supernode of each column: j - 1 and j are together when their patterns below j are the same."""
    n = len(parent)
    owner = np.zeros(n, np.int64)
    for j in range(1, n):
        together = parent[j - 1] == j and counts[j - 1] == counts[j] + 1
        owner[j] = owner[j - 1] + (0 if together else 1)
    return owner


@inner_kernel
def _operations(width, height):
    """Floating-point operations of a panel: the sum of c (c + 2) for c = height ... height + width - 1."""
    a, b = width + height - 1.0, height - 1.0
    squares = (a * (a + 1.0) * (2.0 * a + 1.0) - b * (b + 1.0) * (2.0 * b + 1.0)) / 6.0
    return squares + a * (a + 1.0) - b * (b + 1.0)


@inner_kernel
def _time(width, height):
    """The model of the time of a panel."""
    entries, update = width * (0.5 * width + height), 0.5 * height * (height + 1.0)
    return FRONT + ENTRY * entries + UPDATE * update + FLOP * _operations(width, height)


@kernel
def total_operations(first, row_start):
    """Floating-point operations of all panels."""
    total = 0.0
    for k in range(len(first) - 1):
        total += _operations(first[k + 1] - first[k], row_start[k + 1] - row_start[k])
    return total


@kernel
def total_time(first, row_start):
    """The model of the time of all panels."""
    total = 0.0
    for k in range(len(first) - 1):
        total += _time(first[k + 1] - first[k], row_start[k + 1] - row_start[k])
    return total


@kernel
def _amalgamate(parent, counts, owner):
    """Merge supernodes with their parents where the model gains; the new order, first columns, parents and heights."""
    n = len(parent)
    count = owner[n - 1] + 1 if n > 0 else 0
    width, height = np.zeros(count, np.int64), np.zeros(count, np.int64)
    begin, above = np.empty(count, np.int64), np.empty(count, np.int64)
    for j in range(n - 1, -1, -1):
        k = owner[j]
        if width[k] == 0:
            height[k] = counts[j]
            above[k] = owner[parent[j]] if parent[j] != -1 else -1
        width[k] += 1
        begin[k] = j
    size = width.copy()
    head, following = np.arange(count), np.full(count, -1, np.int64)
    into = np.arange(count)  # head and following: lists of the fundamental supernodes which are in k, k itself last
    child, sibling = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    for k in range(count):  # children before parents: the children of k are complete
        c = child[k]
        while c != -1:
            gain = _time(size[c], height[c]) + _time(size[k], height[k]) - _time(size[c] + size[k], height[k])
            if gain > 0.0:
                into[c] = k
                size[k] += size[c]
                following[c] = head[k]
                head[k] = head[c]
            c = sibling[c]
        if above[k] != -1:
            sibling[k] = child[above[k]]
            child[above[k]] = k
    return _number_supernodes(n, begin, width, size, height, above, into, head, following)


@kernel
def _number_supernodes(n, begin, width, size, height, above, into, head, following):
    """Numbers of the merged supernodes in postorder of their tree, and the new order of the columns."""
    visited, tree = _merged_tree(height, above, into)
    label = np.full(len(into), -1, np.int64)
    for node in range(len(visited)):
        label[visited[node]] = node
    order = np.empty(n, np.int64)
    first, parent = np.zeros(len(visited) + 1, np.int64), np.full(len(visited), -1, np.int64)
    new_height = np.empty(len(visited), np.int64)
    for node in range(len(visited)):
        k = visited[node]
        first[node + 1] = first[node] + size[k]
        new_height[node] = height[k]
        if tree[k] != -1:
            parent[node] = label[tree[k]]
        place = first[node]
        part = head[k]
        while part != -1:
            for j in range(begin[part], begin[part] + width[part]):
                order[place] = j
                place += 1
            part = following[part]
    return order, first, parent, new_height


@kernel
def _merged_tree(height, above, into):
    """The supernodes that are left, in postorder, the child with the largest need of stack first; and their parents."""
    count = len(into)
    for k in range(count - 1, -1, -1):
        if into[k] != k:
            into[k] = into[into[k]]
    child, sibling = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    tree = np.full(count, -1, np.int64)
    peak, held = np.zeros(count, np.int64), np.zeros(count, np.int64)  # stack below k, update matrices of its children
    left = 0
    for k in range(count):
        if into[k] != k:
            tree[k] = k  # not a root
            continue
        left += 1
        peak[k] = max(peak[k], held[k])
        if above[k] == -1:
            continue
        p = into[above[k]]
        tree[k] = p
        held[p] += height[k] * (height[k] + 1) // 2
        if child[p] == -1 or peak[k] >= peak[child[p]]:
            sibling[k] = child[p]
            child[p] = k
        else:
            sibling[k] = sibling[child[p]]
            sibling[child[p]] = k
        peak[p] = max(peak[p], peak[k])
    return depth_first(tree, child, sibling)[:left], tree


@kernel
def _row_structure(indptr, indices, first, parent, height):
    """Rows of each supernode below its triangle, and their places in its parent."""
    count = len(parent)
    n = first[count]
    owner = np.empty(n, np.int64)
    row_start = np.zeros(count + 1, np.int64)
    for k in range(count):
        owner[first[k] : first[k + 1]] = k
        row_start[k + 1] = row_start[k] + height[k]
    rows = np.empty(row_start[count], np.int64)
    fill = row_start[:count].copy()
    seen = np.full(count, -1, np.int64)
    for i in range(n):  # row i of L lives in the supernodes between the entries of K(1:i, i) and i
        seen[owner[i]] = i
        for p in range(indptr[i], indptr[i + 1]):
            k = owner[indices[p]]
            while seen[k] != i:
                seen[k] = i
                rows[fill[k]] = i
                fill[k] += 1
                k = parent[k]
    relative = np.empty(len(rows), np.int64)
    for k in range(count):
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
    return row_start, rows, relative


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
