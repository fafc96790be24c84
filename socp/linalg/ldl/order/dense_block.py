"""Graphs with a sparse part around a dense block: the order of elimination by counts alone.

A least squares term  D w - r = t  of few variables w and many rows, a slack variable in each row, has such a KKT
matrix: slacks, then rows, are eliminated without fill and leave a full matrix of w, for which all orders are alike.
Minimum degree would find this order, too, but it updates the degrees of all w after each row, which takes longer than
the factorization.  Here each variable is visited once, by ascending degree in K.  It is eliminated if its column of L
has hardly more entries than its column of K, and belongs to the dense block otherwise.  In the end both of these hold,

    the columns of the sparse part have at most 1 + FILL times the entries of K, and no order has fewer than K;
    when the sparse part is eliminated, all but FILL of the variables in the dense block have at least 1 - FILL of
    the others as neighbours, so that every order of the block fills nearly all of it,

or this order is not taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import deferred, inner, kernel, leaf
from ....compiled.signatures import Bools, Ints
from ....compiled.structures import Structure, integer, integers, structure
from .quotient_graph import QuotientGraph

IntArray = NDArray[np.int64]

FILL = 0.1  # largest fill in the sparse part, relative to its entries in K; a column may always have two more entries
NEIGHBOURS = 10  # mean degree of a neighbour up to which minimum degree is used, as it then updates little

OPEN, PUT_OFF, GONE = range(3)  # states of a variable


class Partition(Structure):
    """Graph, columns of the sparse part of L, and state of each variable.

    An eliminated variable of the sparse part is an element, as in `quotient_graph`, with the column of L
    columns[column_start : column_start + column_length], until a later element absorbs it.  `gone` counts these
    variables, `entries` and `fill` the entries of K and the fill in their columns; `free` is the end of `columns`.
    """

    n, gone, fill, entries, free = integer(), integer(), integer(), integer(), integer()
    graph = structure(QuotientGraph)
    state, parent, mark = integers("n"), integers("n", scratch=True), integers("n", scratch=True)
    element_mark, column_start = integers("n", scratch=True), integers("n", scratch=True)
    column_length = integers("n", scratch=True)
    columns = integers("capacity", scratch=True)
    ascending = integers("n", scratch=True)
    count = integers("n + 1")  # number of variables of each degree; later the elements adjacent to a variable


def dense_block_order(graph: QuotientGraph, dense: int, zero_diagonal: NDArray[np.bool_], perm: IntArray) -> bool:
    """Write to `perm` the sparse part, then the dense block; return False if the graph is not of this kind.

    Parameters
    ----------
    graph : QuotientGraph
        As `adjacency` leaves it; read-only.
    dense : int
        Variables with more neighbours belong to the dense block.
    zero_diagonal : (n,) bool array
        Variables that should be eliminated only after one of their neighbours.
    perm : (n,) int64 array
        Order of elimination, valid if the result is True.

    Returns
    -------
    bool
    """
    if not may_have_block(graph, dense):
        return False
    n, entries = graph.n, graph.free
    split = Partition(n=n, capacity=entries // 2 + int(0.5 * FILL * entries) + 2 * n, graph=graph)
    split.n = n
    return _order_by_counts(split, dense, zero_diagonal, perm)


@kernel
def may_have_block(graph: QuotientGraph, dense: int) -> bool:
    """Return True if the variables that are not dense have `NEIGHBOURS` neighbours in the mean over their entries."""
    degrees, squares = 0, 0
    for each in graph.length:
        if each <= dense:
            degrees += each
            squares += each * each
    return squares >= NEIGHBOURS * degrees


@kernel
def _order_by_counts(split: Partition, dense: int, zero_diagonal: Bools, perm: Ints) -> bool:
    graph = split.graph
    n, state, lists, start, length = split.n, split.state, graph.lists, graph.start, graph.length
    count = split.count  # Sort the variables by degree; among equal degrees, zero diagonals are last.
    for i in range(n):
        count[length[i] + 1] += 1
    for d in range(n):
        count[d + 1] += count[d]
    for turn in range(2):
        for i in range(n):
            if zero_diagonal[i] == (turn == 1):
                degree = length[i]
                split.ascending[count[degree]] = i
                count[degree] += 1
    for i in range(n):
        split.parent[i] = split.mark[i] = split.element_mark[i] = -1
    waiting, watched = 0, 0
    for k in range(n):
        i = split.ascending[k]
        if zero_diagonal[i] and not _has_pivot(split, i):
            state[i] = PUT_OFF
            waiting += 1
            continue
        if length[i] > dense or not _eliminate(split, i, perm):
            continue
        while waiting > 0 and watched < split.gone:  # Reopen the waiting neighbours of eliminated variables.
            j = perm[watched]
            watched += 1
            for p in range(start[j], start[j] + length[j]):
                i = lists[p]
                if state[i] == PUT_OFF:
                    state[i] = OPEN
                    waiting -= 1
                    if length[i] <= dense:
                        _eliminate(split, i, perm)
        watched = split.gone if waiting == 0 else watched
    size = n - split.gone
    if split.fill > FILL * split.entries or (size * (size - 1) // 2 > FILL * split.entries and not _is_full(split)):
        return False
    at = split.gone  # Append the dense block; its zero diagonals without an eliminated neighbour are last.
    for turn in range(2):
        for i in range(n):
            if state[i] != GONE and (zero_diagonal[i] and not _has_pivot(split, i)) == (turn == 1):
                perm[at] = i
                at += 1
    return True


@inner
def _has_pivot(split: Partition, i: int) -> bool:
    """Return True if a neighbour of variable `i` has been eliminated."""
    lists, start, length = split.graph.lists, split.graph.start, split.graph.length
    for p in range(start[i], start[i] + length[i]):
        if split.state[lists[p]] == GONE:
            return True
    return False


@leaf
def _element(parent: Ints, i: int) -> int:
    """Return the element that holds variable `i` of the sparse part, with path compression."""
    e = i
    while parent[e] != -1:
        e = parent[e]
    while i != e:
        above = parent[i]
        parent[i] = e
        i = above
    return e


@inner
def _eliminate(split: Partition, i: int, perm: Ints) -> bool:
    """Eliminate variable `i` if its column of L has few more entries than K there; return True if it was eliminated."""
    lists, start, length = split.graph.lists, split.graph.start, split.graph.length
    state, parent, mark, element_mark = split.state, split.parent, split.mark, split.element_mark
    columns, column_start, column_length = split.columns, split.column_start, split.column_length
    absorbed, elements = split.count, 0
    begin, end = start[i], start[i] + length[i]
    write = first = split.free
    mark[i] = i
    for p in range(begin, end):
        j = lists[p]
        if state[j] != GONE:
            mark[j] = i
            columns[write] = j
            write += 1
    own = write - first
    most = write + max(2, int(FILL * own))
    for p in range(begin, end):
        if state[lists[p]] != GONE:
            continue
        e = _element(parent, lists[p])
        if element_mark[e] == i:
            continue
        element_mark[e] = i
        absorbed[elements] = e
        elements += 1
        for q in range(column_start[e], column_start[e] + column_length[e]):
            j = columns[q]
            if mark[j] != i:
                if write == most:
                    return False
                mark[j] = i
                columns[write] = j
                write += 1
    for k in range(elements):
        parent[absorbed[k]] = i
    column_start[i], column_length[i] = first, write - first
    state[i] = GONE
    split.free = write
    perm[split.gone] = i
    split.gone += 1
    split.entries += own
    split.fill += write - first - own
    return True


@deferred
def _is_full(split: Partition) -> bool:
    """Return True if nearly all variables of the dense block have nearly all others of it as neighbours."""
    lists, start, length = split.graph.lists, split.graph.start, split.graph.length
    state, mark, element_mark, columns = split.state, split.mark, split.element_mark, split.columns
    column_start, column_length = split.column_start, split.column_length
    size = split.n - split.gone
    enough, short = size - 1 - int(FILL * size), int(FILL * size)
    for i in range(split.n):
        mark[i] = element_mark[i] = -1
    for i in range(split.n):
        if state[i] == GONE:
            continue
        found = 0
        mark[i] = i
        for p in range(start[i], start[i] + length[i]):
            j = lists[p]
            if state[j] != GONE:
                mark[j] = i
                found += 1
        for p in range(start[i], start[i] + length[i]):
            if found >= enough:
                break
            if state[lists[p]] == GONE:
                e = _element(split.parent, lists[p])
                if element_mark[e] != i:
                    element_mark[e] = i
                    for q in range(column_start[e], column_start[e] + column_length[e]):
                        j = columns[q]
                        found += mark[j] != i
                        mark[j] = i
        if found < enough:
            short -= 1
            if short < 0:
                return False
    return True
