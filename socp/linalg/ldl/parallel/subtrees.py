"""Which supernodes threads factorize side by side: subtrees of the assembly tree, which know nothing of each other.

Above the subtrees is the top of the tree, a few supernodes with large panels, which all threads work on together.
"""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import deferred_kernel, inner, leaf
from ....compiled.signatures import Bools, Floats, Ints
from ....compiled.structures import Structure, integer, integers
from ..symbolic.assembly_tree import AssemblyTree

PARTS = 16  # what has more than this part of the work is no subtree of one task
FEW = 4  # tasks of that size are too few
OVERHEAD = 5e3  # operations that take as long as what a supernode takes beside them


class Subtrees(Structure):
    """Tasks, each of some subtrees beside each other; what is between two tasks is the top of the tree.

    They depend on the tree alone, not on the number of threads, and so do the bits of what is computed by them.

    Attributes
    ----------
    count : int
    begin, end : (count,) arrays
        Task t has the supernodes ``begin[t] ... end[t] - 1``; ``end[t] <= begin[t+1]``.
    order : (count,) array
        The tasks by the time that they take, the longest first.
    row_start, rows : (count + 1,) array and array
        The rows below the columns of task t, ascending: ``rows[row_start[t] : row_start[t+1]]``.
    """

    count = integer()
    begin, end, order, row_start = integers("count"), integers("count"), integers("count"), integers("count + 1")
    rows = integers("below")


def find_subtrees(tree: AssemblyTree) -> Subtrees:
    """The tasks of an assembly tree."""
    size = tree.parent.size
    begin, end, weight = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    count = int(find_tasks(tree, begin, end, weight))
    below = int(rows_below(tree, begin[:count], end[:count], np.empty(0, np.int64), np.empty(0, np.int64)))
    subtrees = Subtrees(count=count, below=below)
    subtrees.count = count
    subtrees.begin[:], subtrees.end[:] = begin[:count], end[:count]
    subtrees.order[:] = np.argsort(-weight[:count], kind="stable")
    rows_below(tree, subtrees.begin, subtrees.end, subtrees.row_start, subtrees.rows)
    return subtrees


@deferred_kernel
def find_tasks(tree: AssemblyTree, begin: Ints, end: Ints, weight: Floats) -> int:
    """The first and the last supernode of each task, and its operations; returns their number."""
    parent, size = tree.parent, tree.parent.size
    work, first, top = np.zeros(size), np.empty(size, np.int64), np.zeros(size, np.bool_)
    most = add_up_work(tree, work, first) / PARTS
    below = cut_off(parent, work, most, top)
    if below < FEW * most:  # the top has nearly all of it: by what is left, then
        below = cut_off(parent, work, below / FEW, top)
    return collect(parent, top, work, first, min(most, below / PARTS), begin, end, weight)


@inner
def cut_off(parent: Ints, work: Floats, most: float, top: Bools) -> float:
    """top := the subtrees with more work than that; returns the work of the others."""
    below = 0.0
    for k in range(work.size):
        top[k] = work[k] > most
    for k in range(work.size):
        if is_root(parent, top, k):
            below += work[k]
    return below


@leaf
def is_root(parent: Ints, top: Bools, k: int) -> bool:
    """Whether k is below the top, and its parent is not."""
    return not top[k] and (parent[k] < 0 or top[parent[k]])


@inner
def add_up_work(tree: AssemblyTree, work: Floats, first: Ints) -> float:
    """work := the operations of each subtree, first := the first supernode of it; returns the operations of all."""
    total = 0.0
    for k in range(work.size):
        first[k] = k
    for k in range(work.size):
        width, height = float(tree.first[k + 1] - tree.first[k]), float(tree.row_start[k + 1] - tree.row_start[k])
        own = width * (width * (width / 3.0 + height) + height * (height + 1.0)) + OVERHEAD
        work[k] += own
        total += own
        above = tree.parent[k]
        if above >= 0:
            work[above] += work[k]
            first[above] = min(first[above], first[k])
    return total


@inner
def collect(
    parent: Ints, top: Bools, work: Floats, first: Ints, most: float, begin: Ints, end: Ints, weight: Floats
) -> int:
    """Subtrees that are not of the top become tasks, small ones together with their neighbours."""
    count = 0
    for k in range(parent.size):
        if not is_root(parent, top, k):
            continue
        if count > 0 and end[count - 1] == first[k] and weight[count - 1] + work[k] <= most:
            weight[count - 1] += work[k]
        else:
            begin[count], weight[count] = first[k], work[k]
            count += 1
        end[count - 1] = k + 1
    return count


@deferred_kernel
def rows_below(tree: AssemblyTree, begin: Ints, end: Ints, row_start: Ints, rows: Ints) -> int:
    """The rows of the tasks, which are those of the roots of their subtrees, where there is room for them.

    Returns their number.
    """
    parent, total = tree.parent, 0
    seen = np.full(tree.owner.size, -1, np.int64)
    for t in range(begin.size):
        before = total
        for k in range(begin[t], end[t]):
            if parent[k] >= 0 and parent[k] < end[t]:
                continue
            for p in range(tree.row_start[k], tree.row_start[k + 1]):
                i = tree.rows[p]
                if seen[i] != t:
                    seen[i] = t
                    if rows.size > 0:
                        rows[total] = i
                    total += 1
        if rows.size > 0:
            rows[before:total].sort()
        if row_start.size > 0:
            row_start[t + 1] = total
    return total
