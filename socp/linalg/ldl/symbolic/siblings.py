"""Columns of L with the same rows that are no chain: siblings in the elimination tree, put side by side.

A child j of p has the rows of p among its own, rows(j) <= {p} + rows(p), so that siblings with as many rows as these
have the same ones.  Such are the columns of a diagonal block beside a dense one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import deferred_kernel, kernel, leaf
from ....compiled.signatures import Bools, Ints
from .analysis import Analysis, put_in_order


def by_strips(analysis: Analysis, may_stay: NDArray[np.bool_] | None = None) -> tuple[Analysis, int]:
    """Return an equivalent order in which every four siblings with the same rows are neighbours, static columns first.

    `may_stay` tells, in the order of K, which columns of its lower triangle never change.  Also returns the number of
    static columns (see `rows.static`), 0 if these are too few to be worth it.
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
    """Return True if column j has its parent and all rows of it, enough for the explicit zeros of their triangle."""
    return counts[j] >= 4 and counts[j] == counts[parent[j]] + 1


@leaf
def are_siblings(parent: Ints, counts: Ints, j: int) -> bool:
    """Whether four columns from j on have one parent, which is behind them, and all rows of it."""
    p = parent[j]
    for i in range(j, j + 4):
        if parent[i] != p or not is_full(parent, counts, i):
            return False
    return True


@kernel
def static_columns(analysis: Analysis, may_stay: Bools, is_static: Bools) -> int:
    """Mark the columns that stay as they are, as all of their descendants do; return their number.

    None is marked if they save less than it takes to subtract what they give, and to compare K, entry by entry.
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
    """order := static columns, then others, each behind its descendants; siblings with the same rows wait for a fourth.

    Returns how many such fours there are.
    """
    n, at, fours = parent.size, 0, 0
    waiting, children = np.empty(4 * n, np.int64), np.zeros(n, np.int64)
    for turn in range(2):
        for k in range(n):
            for i in range(children[k]):  # fewer than four
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
