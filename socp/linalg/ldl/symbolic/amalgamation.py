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

from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Ints
from ....compiled.structures import Structure, integer, integers, number
from .analysis import depth_first

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

    begin, above, height = integers("count + 1"), integers("count"), integers("count")
    size, head, following, into = integers("count"), integers("count"), integers("count"), integers("count")
    child, sibling = integers("count"), integers("count")
    tree, visited = integers("count"), integers("count")  # parents of those that are left, and these in postorder
    label = integers("count")  # their numbers
    peak, held = integers("count"), integers("count")  # stack below k, update matrices of its children
    stack = integers("count")
    order, first, parent, new_height = integers("n"), integers("count + 1"), integers("count"), integers("count")
    left, rows, flops, time = integer(), integer(), number(), number()


@inner
def amalgamate(merging: Merging) -> None:
    """Merge fundamental supernodes with their parents where the model gains."""
    begin, above, height = merging.begin, merging.above, merging.height
    size, head, following, into = merging.size, merging.head, merging.following, merging.into
    child, sibling = merging.child, merging.sibling
    count = len(above)
    for k in range(count):
        size[k] = begin[k + 1] - begin[k]
        head[k] = into[k] = k
        following[k] = child[k] = sibling[k] = -1
    for k in range(count):  # children before parents: the children of k are complete
        c = child[k]
        while c != -1:
            if _gains(size[c], height[c], size[k], height[k]):
                _merge(c, k, size, head, following, into)
            c = sibling[c]
        if above[k] != -1:
            sibling[k] = child[above[k]]
            child[above[k]] = k
    merging.left = _merged_tree(merging)
    _number_supernodes(merging)


@leaf
def _gains(width: int, height: int, parent_width: int, parent_height: int) -> bool:
    """Whether a panel and that of its parent are quicker together."""
    apart = panel_time(width, height) + panel_time(parent_width, parent_height)
    return panel_time(width + parent_width, parent_height) < apart


@leaf
def _merge(c: int, k: int, size: Ints, head: Ints, following: Ints, into: Ints) -> None:
    """Put the columns of c before those of k."""
    into[c] = k
    size[k] += size[c]
    following[c] = head[k]
    head[k] = head[c]


@inner
def _number_supernodes(merging: Merging) -> None:
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
