"""Which supernodes of L become one panel.

A supernode is a set of columns of L which are stored as one dense panel: w columns over the same m rows below them,
a w by w triangle and an m by w rectangle.  The columns of a fundamental supernode have the same pattern by
themselves.  A supernode and its parent are merged, at the price of explicit zeros, when the panel of
both is expected to take less time than the two:

    time(w, m) = FRONT + ENTRY (w w / 2 + w m) + UPDATE m (m + 1) / 2 + FLOP (operations),
    (w1, m1) goes into its parent (w2, m2) when  time(w1 + w2, m2) < time(w1, m1) + time(w2, m2).

Without it a factorization takes 2.5 times as long on the programs that are factored by panels (CVXQP3_L 5.8).
"""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import deferred_kernel, inner, leaf
from ....compiled.structures import Structure, integer, integers, number
from .analysis import Analysis, postorder

# The time of a panel in one factorization and three solves, in nanoseconds: a fit to matrices of many kinds
FRONT = 238.0  # calls and loops
ENTRY = 15.3  # an entry of L
UPDATE = 2.55  # an entry of its update: subtracted at its place in the panel of an ancestor
FLOP = 0.017


@leaf
def panel_flops(width: int, height: int) -> float:
    """Floating-point operations of a panel: the sum of c (c + 2) for c = height ... height + width - 1."""
    a, b = width + height - 1.0, height - 1.0
    squares = (a * (a + 1.0) * (2.0 * a + 1.0) - b * (b + 1.0) * (2.0 * b + 1.0)) / 6.0
    return squares + a * (a + 1.0) - b * (b + 1.0)


@leaf
def panel_time(width: int, height: int) -> float:
    """The model of the time of a panel."""
    entries, update = width * (0.5 * width + height), 0.5 * height * (height + 1.0)
    return FRONT + ENTRY * entries + UPDATE * update + FLOP * panel_flops(width, height)


class Merging(Structure):
    """Fundamental supernodes, those that they are merged to, and the work arrays.

    The fundamental supernode k has the columns begin[k] ... begin[k+1] - 1, the parent above[k] (-1 at a root) and
    height[k] rows below them.  Those that are in k are the list head[k], its following, ..., k, and size[k] is the
    number of their columns; k itself has gone into[k].

    Attributes
    ----------
    order : (n,) array
        The new order of the columns.
    left : int
        The supernodes that are left, in postorder: `first`, `parent` and `new_height` hold so many.
    rows : int
        The rows of all of them.
    flops, time : float
        Floating-point operations, and the model of the time, of all panels.
    """

    begin, above, height = integers("n + 1"), integers("n"), integers("n")
    size, head, following, into = integers("n"), integers("n"), integers("n"), integers("n")
    child, sibling, stack = integers("n"), integers("n"), integers("n")
    tree, visited = integers("n"), integers("n")  # parents of those that are left, and these in postorder
    label = integers("n")  # their numbers
    order, first, parent, new_height = integers("n"), integers("n + 1"), integers("n"), integers("n")
    left, rows, flops, time = integer(), integer(), number(), number()


@deferred_kernel
def amalgamate(merging: Merging, analysis: Analysis) -> None:
    """Merge fundamental supernodes with their parents where the model gains; the rest in postorder."""
    count = fundamental_supernodes(merging, analysis)
    begin, above, height, tree = merging.begin, merging.above, merging.height, merging.tree
    size, head, following, into = merging.size, merging.head, merging.following, merging.into
    child, sibling = merging.child, merging.sibling
    for k in range(count):
        size[k] = begin[k + 1] - begin[k]
        head[k] = into[k] = k
        following[k] = child[k] = sibling[k] = -1
    for k in range(count):  # children before parents: the children of k are complete
        c = child[k]
        while c != -1:
            apart = panel_time(size[c], height[c]) + panel_time(size[k], height[k])
            if panel_time(size[c] + size[k], height[k]) < apart:  # the columns of c before those of k
                into[c], following[c], head[k] = k, head[k], head[c]
                size[k] += size[c]
            c = sibling[c]
        if above[k] != -1:
            sibling[k] = child[above[k]]
            child[above[k]] = k
    for k in range(count - 1, -1, -1):
        into[k] = into[into[k]]
        if into[k] != k:
            tree[k] = k  # not a root
            continue
        merging.left += 1
        tree[k] = into[above[k]] if above[k] != -1 else -1
    postorder(tree[:count], child, sibling, merging.stack, merging.visited)
    number_supernodes(merging)


@inner
def fundamental_supernodes(merging: Merging, analysis: Analysis) -> int:
    """First columns, parents and heights: j - 1 and j are together when their patterns below j are the same.

    Returns how many they are.
    """
    parent, counts, begin, count = analysis.parent, analysis.counts, merging.begin, 0
    owner = np.empty(parent.size, np.int64)
    for j in range(parent.size):
        if j == 0 or parent[j - 1] != j or counts[j - 1] != counts[j] + 1:
            count += 1
        owner[j] = count - 1
        begin[count], merging.height[count - 1] = j + 1, counts[j]  # the last column decides
    for k in range(count):
        above = parent[begin[k + 1] - 1]
        merging.above[k] = owner[above] if above != -1 else -1
    return count


@inner
def number_supernodes(merging: Merging) -> None:
    """Numbers of the merged supernodes in postorder of their tree, the new order of the columns, and their work."""
    begin, height, size, head, following = (
        merging.begin, merging.height, merging.size, merging.head, merging.following
    )  # fmt: skip
    tree, visited, label = merging.tree, merging.visited, merging.label
    order, first, parent, new_height = merging.order, merging.first, merging.parent, merging.new_height
    left = merging.left
    for node in range(left):
        label[visited[node]] = node
    first[0] = 0
    for node in range(left):
        k = visited[node]
        first[node + 1] = first[node] + size[k]
        new_height[node] = height[k]
        parent[node] = label[tree[k]] if tree[k] != -1 else -1
        place = first[node]
        part = head[k]
        while part != -1:
            for j in range(begin[part], begin[part + 1]):
                order[place] = j
                place += 1
            part = following[part]
        merging.rows += height[k]
        merging.flops += panel_flops(size[k], height[k])
        merging.time += panel_time(size[k], height[k])
