"""Siblings in the elimination tree with equal rows, moved next to each other: columns of L that form no chain.

A child j of p has rows(j) <= {p} + rows(p), so that all siblings with |rows(p)| + 1 rows have equal rows.  Columns of
a diagonal block next to a dense one are such siblings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import deferred_kernel, kernel, leaf
from ....compiled.signatures import Bools, Ints
from .analysis import Analysis, put_in_order


def by_strips(analysis: Analysis, may_stay: NDArray[np.bool_] | None = None) -> tuple[Analysis, int]:
    """Return an equivalent analysis in which every four siblings with equal rows are neighbours, static columns first.

    `may_stay` marks, in the order of K, columns of its lower triangle that rarely change.  The number of static columns
    (see `rows.static`) is returned, too; it is 0 if these would save too little.
    """
    n, static = analysis.perm.size, 0
    order, is_static = np.empty(n, np.int64), np.zeros(n, np.bool_)
    if may_stay is not None:
        static = static_columns(analysis, may_stay, is_static)
    if order_of_fours(analysis.parent, analysis.counts, is_static, order) == 0 == static:
        return analysis, 0
    after = Analysis(n=n, entries=analysis.source.size)
    put_in_order(after, analysis, order)
    return after, static


@leaf
def is_full(parent: Ints, counts: Ints, j: int) -> bool:
    """Return True if column j has its parent and all rows of its parent, and at least four rows."""
    return counts[j] >= 4 and counts[j] == counts[parent[j]] + 1


@leaf
def are_siblings(parent: Ints, counts: Ints, j: int) -> bool:
    """Return True if columns j ... j + 3 have one parent, and each has all rows of it."""
    p = parent[j]
    for i in range(j, j + 4):
        if parent[i] != p or not is_full(parent, counts, i):
            return False
    return True


@kernel
def static_columns(analysis: Analysis, may_stay: Bools, is_static: Bools) -> int:
    """Mark the columns that `may_stay` together with all of their descendants; return their number.

    None is marked if all could be, or if they save fewer operations than L has entries: comparing K would not pay.
    """
    n, parent, counts, saved, count = analysis.perm.size, analysis.parent, analysis.counts, 0.0, 0
    for j in range(n):
        is_static[j] = True
    for j in range(n):
        is_static[j] = is_static[j] and may_stay[analysis.perm[j]]
        if is_static[j]:
            saved += counts[j] * (counts[j] + 2.0)
            count += 1
        elif parent[j] >= 0:
            is_static[parent[j]] = False
    if saved > analysis.nnz and count < n:
        return count
    for j in range(n):
        is_static[j] = False
    return 0


@deferred_kernel
def order_of_fours(parent: Ints, counts: Ints, is_static: Bools, order: Ints) -> int:
    """Write to `order` the static columns, then the others, each after its descendants, fours of siblings together.

    Return the number of such fours; see `is_full`.
    """
    n, at, fours = parent.size, 0, 0
    waiting, children = np.empty(4 * n, np.int64), np.zeros(n, np.int64)
    for turn in range(2):
        for k in range(n):
            for i in range(children[k]):  # siblings left over, fewer than four
                order[at] = waiting[4 * k + i]
                at += 1
            children[k] = 0
            if is_static[k] != (turn == 0):
                continue
            if not is_full(parent, counts, k):
                order[at] = k
                at += 1
                continue
            p = parent[k]
            waiting[4 * p + children[p]] = k
            children[p] += 1
            if children[p] == 4:
                for i in range(4):
                    order[at] = waiting[4 * p + i]
                    at += 1
                children[p] = 0
                fours += 1
    return fours
