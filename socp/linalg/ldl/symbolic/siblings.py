"""Columns of L with the same rows that are no chain: siblings in the elimination tree, put side by side.

A child j of p has the rows of p among its own, rows(j) <= {p} + rows(p), so that siblings with as many rows as these
have the same ones.  Such are the columns of a diagonal block beside a dense one.
"""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import deferred_kernel, leaf
from ....compiled.signatures import Ints
from .analysis import Analysis, IntArray, relabel

FOUR = 4  # columns, and rows that make up for the explicit zeros of their triangle


def siblings_together(analysis: Analysis) -> Analysis:
    """The analysis for an equivalent order, in which every four siblings with the same rows are neighbours."""
    order = np.empty(analysis.perm.size, np.int64)
    fours = order_of_fours(analysis.parent, analysis.counts, order)
    return reordered(analysis, order) if fours > 0 else analysis


def reordered(analysis: Analysis, order: IntArray) -> Analysis:
    """The analysis with column order[k] as the k-th one, each behind its descendants."""
    after = Analysis(n=analysis.perm.size, entries=analysis.source.size)
    put_in_order(after, analysis, order)
    return after


@leaf
def is_full(parent: Ints, counts: Ints, j: int) -> bool:
    """Whether column j has its parent and all rows of it, and many."""
    return counts[j] >= FOUR and counts[j] == counts[parent[j]] + 1


@leaf
def are_siblings(parent: Ints, counts: Ints, j: int) -> bool:
    """Whether four columns from j on have one parent, which is behind them, and all rows of it."""
    p = parent[j]
    for i in range(j, j + FOUR):
        if parent[i] != p or not is_full(parent, counts, i):
            return False
    return True


@deferred_kernel
def put_in_order(after: Analysis, analysis: Analysis, order: Ints) -> None:
    """Run `reordered` into preallocated arrays."""
    n, parent, place = analysis.perm.size, analysis.parent, np.empty(analysis.perm.size, np.int64)
    for k in range(n):
        place[order[k]] = k
    for k in range(n):
        j = order[k]
        after.perm[k], after.counts[k] = analysis.perm[j], analysis.counts[j]
        after.parent[k] = place[parent[j]] if parent[j] >= 0 else -1
    relabel(after, analysis.indptr, analysis.indices, analysis.source, order)
    after.nnz, after.flops = analysis.nnz, analysis.flops


@deferred_kernel
def order_of_fours(parent: Ints, counts: Ints, order: Ints) -> int:
    """order := the columns, each behind its descendants; siblings with the same rows wait until they are four.

    Returns how many such fours there are.
    """
    n, at, fours = parent.size, 0, 0
    waiting, children = np.empty(FOUR * n, np.int64), np.zeros(n, np.int64)
    for k in range(n):
        for i in range(children[k]):  # fewer than four
            order[at] = waiting[FOUR * k + i]
            at += 1
        if not is_full(parent, counts, k):
            order[at] = k
            at += 1
            continue
        p = parent[k]
        waiting[FOUR * p + children[p]] = k
        children[p] += 1
        if children[p] == FOUR:
            for i in range(FOUR):
                order[at] = waiting[FOUR * p + i]
                at += 1
            children[p] = 0
            fours += 1
    return fours
