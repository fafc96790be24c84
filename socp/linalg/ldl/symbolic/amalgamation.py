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

from ....compiled.kernels import inner, kernel, leaf
from ....compiled.signatures import Floats, Ints
from ....compiled.structures import Structure, integer, integers, number
from .analysis import IntArray, depth_first

# The time of a panel in one factorization and three solves, in nanoseconds: a fit to matrices of many kinds
FRONT = 238.0  # calls and loops
ENTRY = 15.3  # an entry of L
UPDATE = 2.55  # an entry of its update: subtracted at its place in the panel of an ancestor
FLOP = 0.017


@leaf
def _operations(width: int, height: int) -> float:
    """Floating-point operations of a panel: the sum of c (c + 2) for c = height ... height + width - 1."""
    a, b = width + height - 1.0, height - 1.0
    squares = (a * (a + 1.0) * (2.0 * a + 1.0) - b * (b + 1.0) * (2.0 * b + 1.0)) / 6.0
    return squares + a * (a + 1.0) - b * (b + 1.0)


@leaf
def _time(width: int, height: int) -> float:
    """The model of the time of a panel."""
    entries, update = width * (0.5 * width + height), 0.5 * height * (height + 1.0)
    return FRONT + ENTRY * entries + UPDATE * update + FLOP * _operations(width, height)


def panel_work(first: IntArray, row_start: IntArray) -> tuple[float, float]:
    """(floating-point operations, the model of the time) of all panels."""
    work = np.zeros(2)
    _panel_work(first, row_start, work)
    return work.item(0), work.item(1)


@kernel
def _panel_work(first: Ints, row_start: Ints, work: Floats) -> None:
    for k in range(len(first) - 1):
        width, height = first[k + 1] - first[k], row_start[k + 1] - row_start[k]
        work[0] += _operations(width, height)
        work[1] += _time(width, height)


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
        As in `panel_work`.
    """

    begin, above, height = integers("count + 1"), integers("count"), integers("count")
    size, head, following, into = integers("count"), integers("count"), integers("count"), integers("count")
    child, sibling = integers("count"), integers("count")
    value, group = integers("count"), integers("count")  # hash value of the rows; of a value: its latest sibling
    tree, visited = integers("count"), integers("count")  # parents of those that are left, and these in postorder
    peak, held = integers("count"), integers("count")  # stack below k, update matrices of its children
    stack = integers("count")
    order, first, parent, new_height = integers("n"), integers("count + 1"), integers("count"), integers("count")
    left, rows, flops, time = integer(), integer(), number(), number()


@inner
def amalgamate(merging: Merging, row_start: Ints, rows: Ints) -> None:
    """Merge fundamental supernodes where the model gains; those of k are rows[row_start[k]:row_start[k + 1]]."""
    begin, above, height = merging.begin, merging.above, merging.height
    size, head, following, into = merging.size, merging.head, merging.following, merging.into
    value, group, child, sibling = merging.value, merging.group, merging.child, merging.sibling
    count = len(above)
    for k in range(count):
        size[k] = begin[k + 1] - begin[k]
        value[k] = _hash(rows, row_start[k], row_start[k + 1], count)
        head[k] = into[k] = k
        following[k] = child[k] = sibling[k] = group[k] = -1
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
    merging.left = _merged_tree(merging)
    _number_supernodes(merging)


@leaf
def _hash(rows: Ints, begin: int, end: int, count: int) -> int:
    """A number below `count` that is the same for the same rows."""
    value, modulus = np.uint64(end - begin), np.uint64(count)
    for p in range(np.uint64(begin), np.uint64(end)):
        value = value * np.uint64(31) + np.uint64(rows[p])
        if value >= np.uint64(1 << 56):  # divisions are slow
            value %= modulus
    return int(value % modulus)


@leaf
def _gains(width: int, height: int, parent_width: int, parent_height: int) -> bool:
    """Whether a panel and that of its parent are quicker together."""
    apart = _time(width, height) + _time(parent_width, parent_height)
    return _time(width + parent_width, parent_height) < apart


@leaf
def _dilutes(width: int, group_width: int, height: int) -> bool:
    """Whether a column of a group of siblings takes less time when one more sibling comes in."""
    together = group_width + width
    return _time(together, height) * group_width < _time(group_width, height) * together


@leaf
def _merge(c: int, k: int, size: Ints, head: Ints, following: Ints, into: Ints) -> None:
    """Put the columns of c before those of k."""
    into[c] = k
    size[k] += size[c]
    following[c] = head[k]
    head[k] = head[c]


@leaf
def _same_rows(c: int, g: int, height: Ints, row_start: Ints, rows: Ints) -> bool:
    """Whether two supernodes have the same rows."""
    if height[c] != height[g]:
        return False
    for i in range(height[c]):
        if rows[row_start[c] + i] != rows[row_start[g] + i]:
            return False
    return True


@inner
def _number_supernodes(merging: Merging) -> None:
    """Numbers of the merged supernodes in postorder of their tree, the new order of the columns, and their work."""
    begin, height, size, head, following = (
        merging.begin, merging.height, merging.size, merging.head, merging.following
    )  # fmt: skip
    tree, visited, label = merging.tree, merging.visited, merging.value
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
        merging.flops += _operations(size[k], height[k])
        merging.time += _time(size[k], height[k])


@inner
def _merged_tree(merging: Merging) -> int:
    """The supernodes that are left, in postorder, the child with the largest need of stack first; and their parents."""
    above, height, into = merging.above, merging.height, merging.into
    child, sibling, tree = merging.child, merging.sibling, merging.tree
    peak, held = merging.peak, merging.held
    count = len(into)
    for k in range(count - 1, -1, -1):
        if into[k] != k:
            into[k] = into[into[k]]
    for k in range(count):
        child[k] = sibling[k] = tree[k] = -1
        peak[k] = held[k] = 0
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
    depth_first(tree, child, sibling, merging.stack, merging.visited)
    return left
