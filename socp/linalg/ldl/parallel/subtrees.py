"""Which supernodes threads factorize side by side: subtrees of the assembly tree, which know nothing of each other.

Above the subtrees is the top of the tree, a few supernodes with large panels, which all threads work on together.
"""

from __future__ import annotations

import numpy as np

from ....compiled.structures import Structure, integer, integers
from ..symbolic.assembly_tree import AssemblyTree

PARTS = 16  # what has more than this part of the work is no subtree of one task
FEW = 4  # tasks of that size are too few


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
    parent, size = tree.parent.tolist(), tree.parent.size
    work, first = _work(tree), list(range(size))
    for k in range(size):
        if parent[k] >= 0:
            work[parent[k]] += work[k]
            first[parent[k]] = min(first[parent[k]], first[k])
    most = sum(work[k] for k in range(size) if parent[k] < 0) / PARTS
    roots = _roots(parent, work, most)
    below = sum(work[k] for k in roots)
    if below < FEW * most:  # the top has nearly all of it: by what is left, then
        roots = _roots(parent, work, below / FEW)
    most = min(most, sum(work[k] for k in roots) / PARTS)
    tasks: list[list[int]] = []  # of roots; small subtrees together with their neighbours
    for k in roots:
        if tasks and tasks[-1][-1] + 1 == first[k] and sum(work[r] for r in tasks[-1]) + work[k] <= most:
            tasks[-1].append(k)
        else:
            tasks.append([k])
    below_each = [
        np.unique(np.concatenate([tree.rows[tree.row_start[k] : tree.row_start[k + 1]] for k in task]))
        for task in tasks
    ]
    subtrees = Subtrees(count=len(tasks), below=sum(map(len, below_each)))
    subtrees.count = len(tasks)
    subtrees.begin[:], subtrees.end[:] = [first[task[0]] for task in tasks], [task[-1] + 1 for task in tasks]
    subtrees.order[:] = np.argsort([-sum(work[k] for k in task) for task in tasks], kind="stable")
    subtrees.row_start[1:] = np.cumsum([len(rows) for rows in below_each])
    subtrees.rows[:] = np.concatenate([np.empty(0, np.int64), *below_each])
    return subtrees


def _work(tree: AssemblyTree) -> list[float]:
    """The operations on each panel, its update included."""
    width, height = np.diff(tree.first).astype(float), np.diff(tree.row_start).astype(float)
    work: list[float] = (width * (width * (width / 3.0 + height) + height * (height + 1.0))).tolist()
    return work


def _roots(parent: list[int], work: list[float], most: float) -> list[int]:
    """The roots of the largest subtrees with at most so much work."""
    return [k for k, above in enumerate(parent) if work[k] <= most and (above < 0 or work[above] > most)]
