"""Which supernodes of L become one panel.

A supernode is a set of columns of L which are stored as one dense panel: w columns over the same m rows below them,
a w by w triangle and an m by w rectangle.  The columns of a fundamental supernode have the same pattern by
themselves.  Two supernodes are merged, at the price of explicit zeros, when the panel of both is expected to take
less time than the two:

    time(w, m) = FRONT + ENTRY (w w / 2 + w m) + UPDATE m (m + 1) / 2 + FLOP (operations),
    a child and its parent, (w1, m1) and (w2, m2):  merged to (w1 + w2, m2) when time(w1 + w2, m2) is less than
                                                    time(w1, m1) + time(w2, m2);
    siblings with the same rows, (w1, m), (w2, m):  merged to (w1 + w2, m) as long as time(w, m) / w falls.

Siblings with the same rows come from dense blocks: each column of a diagonal block beside a dense one is a leaf of
the tree over all the rows of the dense one.
"""

from __future__ import annotations

import numpy as np

from ...compiled.jit import inner_kernel, kernel
from .symbolic import depth_first

# The time of a panel in one factorization and three solves, in nanoseconds: a fit to matrices of many kinds
FRONT = 280.0  # calls and loops
ENTRY = 18.0  # an entry of L
UPDATE = 3.0  # an entry of its update: subtracted at its place in the panel of an ancestor
FLOP = 0.02


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
def panel_work(first, row_start):
    """(floating-point operations, the model of the time) of all panels."""
    operations, time = 0.0, 0.0
    for k in range(len(first) - 1):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        operations += _operations(width, height)
        time += _time(width, height)
    return operations, time


@kernel
def amalgamate(first, above, height, row_start, rows):
    """Merge fundamental supernodes where the model gains.

    The fundamental supernode k has the columns first[k] ... first[k+1] - 1, the parent above[k] (-1 at a root) and
    the height[k] rows from rows[row_start[k]] on.  Returns the new order of the columns, and first, parent and height
    of the supernodes that are left, in postorder.
    """
    count = len(above)
    size = np.empty(count, np.int64)
    value = np.empty(count, np.int64)  # hash value of the rows
    for k in range(count):
        size[k] = first[k + 1] - first[k]
        value[k] = height[k]
        for p in range(row_start[k], row_start[k + 1]):
            value[k] = (value[k] * 31 + rows[p]) % count
    # lists of the fundamental supernodes which are in k: head[k], its following, ..., k
    head, following, into = np.arange(count), np.full(count, -1, np.int64), np.arange(count)
    child, sibling = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    group = np.full(count, -1, np.int64)  # of a hash value: the latest sibling that has it
    for k in range(count):  # children before parents: the children of k are complete
        c = child[k]
        while c != -1:
            g = group[value[c]]
            if g == -1 or above[g] != k or not _same_rows(c, g, height, row_start, rows):
                group[value[c]] = c
            elif _dilutes(size[c], size[g], height[g]):
                _merge(c, g, size, head, following, into)
            else:  # the group is large enough
                group[value[c]] = c
            c = sibling[c]
        c = child[k]
        while c != -1:
            if into[c] == c and _gains(size[c], height[c], size[k], height[k]):
                _merge(c, k, size, head, following, into)
            c = sibling[c]
        if above[k] != -1:
            sibling[k] = child[above[k]]
            child[above[k]] = k
    return _number_supernodes(first, size, height, above, into, head, following)


@inner_kernel
def _gains(width, height, parent_width, parent_height):
    """Whether a panel and that of its parent are quicker together."""
    apart = _time(width, height) + _time(parent_width, parent_height)
    return _time(width + parent_width, parent_height) < apart


@inner_kernel
def _dilutes(width, group_width, height):
    """Whether a column of a group of siblings takes less time when one more sibling comes in."""
    together = group_width + width
    return _time(together, height) * group_width < _time(group_width, height) * together


@inner_kernel
def _merge(c, k, size, head, following, into):
    """Put the columns of c before those of k."""
    into[c] = k
    size[k] += size[c]
    following[c] = head[k]
    head[k] = head[c]


@inner_kernel
def _same_rows(c, g, height, row_start, rows):
    """Whether two supernodes have the same rows."""
    if height[c] != height[g]:
        return False
    for i in range(height[c]):
        if rows[row_start[c] + i] != rows[row_start[g] + i]:
            return False
    return True


@kernel
def _number_supernodes(begin, size, height, above, into, head, following):
    """Numbers of the merged supernodes in postorder of their tree, and the new order of the columns."""
    visited, tree = _merged_tree(height, above, into)
    label = np.full(len(into), -1, np.int64)
    for node in range(len(visited)):
        label[visited[node]] = node
    order = np.empty(begin[len(into)], np.int64)
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
            for j in range(begin[part], begin[part + 1]):
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
