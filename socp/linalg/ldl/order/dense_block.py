"""Graphs that are a fringe around a dense core: the order of elimination by counts alone.

A least squares term  D w - r = t  of few variables w and many rows, a slack variable in each row, has such a KKT
matrix: slacks, then rows, go without fill, and what they leave of w is a full matrix, for which all orders are alike.
Minimum degree would find the same, but it updates the degrees of all w after each row, which takes longer than the
factorization.  Here the variables are taken once, by ascending degree in K.  One is eliminated if its column of L has
hardly more entries than K has there, and belongs to the core otherwise.  So

    the columns of the fringe have at most 1 + FILL times the entries of K, and no order can have less than K;
    in the core, once the fringe is gone, all but SPARSE of the variables have at least 1 - SPARSE of all others
    for neighbours, so that no order of the core leaves much of it empty,

or this order is not taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import inner, kernel, leaf
from ....compiled.signatures import Bools, Ints
from ....compiled.structures import Structure, integer, integers, structure
from .quotient_graph import QuotientGraph

IntArray = NDArray[np.int64]

FILL = 0.05  # of the entries of K in the columns of the fringe
SPARSE = 0.15
COLUMN_FILL = 8  # a column of the fringe may have one entry more than K for each so many, but two in any case
NEIGHBOURS = 10  # a neighbour's mean degree up to which minimum degree updates little
CORE_ENTRIES = 4  # times the entries of K that a full core may have

OPEN, WAITING, GONE = 0, 1, 2  # states of a variable


class Core(Structure):
    """A graph, the columns of the fringe, and what is known of the variables.

    A variable of the fringe is an element, as in
    `quotient_graph`, with a column of L, columns[column_start : column_start + column_length], until a later one
    absorbs it.
    """

    n, gone, fill, entries, free = integer(), integer(), integer(), integer(), integer()
    graph = structure(QuotientGraph)
    state, parent, mark = integers("n"), integers("n", scratch=True), integers("n", scratch=True)
    element_mark, column_start = integers("n", scratch=True), integers("n", scratch=True)
    column_length = integers("n", scratch=True)
    columns = integers("room", scratch=True)
    ascending = integers("n", scratch=True)
    count = integers("n + 1")  # of variables of each degree; then the elements beside a variable


def core_order(graph: QuotientGraph, dense: int, weak: NDArray[np.bool_], perm: IntArray) -> bool:
    """perm := fringe and core, if the graph is of this kind.

    Parameters
    ----------
    graph : QuotientGraph
        As `adjacency` leaves it, and as it stays.
    dense : int
        Variables with more neighbours belong to the core.
    weak : (n,) bool array
        Variables that no pivot should be taken from before a neighbour of theirs.
    perm : (n,) int64 array
        The result.

    Returns
    -------
    bool
    """
    n, entries = graph.n, count_if_worthwhile(graph, dense)
    if entries < 0:
        return False
    core = Core(n=n, room=entries // 2 + entries // (2 * COLUMN_FILL) + 2 * n, graph=graph)
    core.n = n
    return _core_order(core, dense, weak, perm)


@kernel
def count_if_worthwhile(graph: QuotientGraph, dense: int) -> int:
    """The entries of all lists, or -1 where minimum degree would update little."""
    total, degrees, squares = 0, 0, 0
    for each in graph.length:
        total += each
        if each <= dense:
            degrees += each
            squares += each * each
    return total if squares >= NEIGHBOURS * degrees else -1


@kernel
def _core_order(core: Core, dense: int, weak: Bools, perm: Ints) -> bool:
    graph = core.graph
    n, state, lists, start, length = core.n, core.state, graph.lists, graph.start, graph.length
    _sort_by_degree(core, weak)
    edges = 0
    for i in range(n):
        core.parent[i] = core.mark[i] = core.element_mark[i] = -1
        edges += length[i]
    edges //= 2
    waiting, left, watched = 0, 0, 0
    for k in range(n):
        i = core.ascending[k]
        if weak[i] and not _has_pivot(core, i):
            state[i] = WAITING
            waiting += 1
            continue
        if length[i] > dense or not _eliminate(core, i, perm):
            left += 1
            if left * (left - 1) // 2 > CORE_ENTRIES * edges:
                return False
            continue
        while waiting > 0 and watched < core.gone:  # the neighbours that wait for it
            j = perm[watched]
            watched += 1
            for p in range(np.uint64(start[j]), np.uint64(start[j] + length[j])):
                i = lists[p]
                if state[np.uint64(i)] == WAITING:
                    state[i] = OPEN
                    waiting -= 1
                    if length[i] > dense or not _eliminate(core, i, perm):
                        left += 1
        watched = core.gone if waiting == 0 else watched
    size = n - core.gone
    if core.fill > FILL * core.entries or (size * (size - 1) // 2 > FILL * core.entries and not _is_full(core)):
        return False
    _append_core(core, weak, perm)
    return True


@inner
def _sort_by_degree(core: Core, weak: Bools) -> None:
    """ascending := the variables by degree; of the same degree the weak ones last."""
    n, length, count, ascending = core.n, core.graph.length, core.count, core.ascending
    for i in range(n):  # unsigned: numba then makes no test of negative indices
        count[np.uint64(length[i] + 1)] += 1
    for d in range(n):
        count[d + 1] += count[d]
    for turn in range(2):
        for i in range(n):
            if weak[i] == (turn == 1):
                degree = np.uint64(length[i])
                ascending[np.uint64(count[degree])] = i
                count[degree] += 1


@inner
def _has_pivot(core: Core, i: int) -> bool:
    """Whether a neighbour of i has been eliminated."""
    lists, start, length = core.graph.lists, core.graph.start, core.graph.length
    for p in range(np.uint64(start[i]), np.uint64(start[i] + length[i])):
        if core.state[np.uint64(lists[p])] == GONE:
            return True
    return False


@leaf
def _element(parent: Ints, i: int) -> int:
    """The element that holds the variable i of the fringe, with path compression."""
    e = i
    while parent[np.uint64(e)] != -1:
        e = parent[np.uint64(e)]
    while i != e:
        above = parent[np.uint64(i)]
        parent[np.uint64(i)] = e
        i = above
    return e


@inner
def _eliminate(core: Core, i: int, perm: Ints) -> bool:
    """Eliminate i if its column of L has hardly more entries than K."""
    lists, start, length = core.graph.lists, core.graph.start, core.graph.length
    state, parent, mark, element_mark = core.state, core.parent, core.mark, core.element_mark
    columns, column_start, column_length = core.columns, core.column_start, core.column_length
    absorbed, elements = core.count, 0
    begin, end = np.uint64(start[i]), np.uint64(start[i] + length[i])
    write = first = core.free
    mark[i] = i
    for p in range(begin, end):
        j = lists[p]
        if state[np.uint64(j)] != GONE:
            mark[np.uint64(j)] = i
            columns[np.uint64(write)] = j
            write += 1
    own = write - first
    most = write + max(2, own // COLUMN_FILL)
    for p in range(begin, end):
        if state[np.uint64(lists[p])] != GONE:
            continue
        e = np.uint64(_element(parent, lists[p]))
        if element_mark[e] == i:
            continue
        element_mark[e] = i
        absorbed[elements] = e
        elements += 1
        for q in range(np.uint64(column_start[e]), np.uint64(column_start[e] + column_length[e])):
            j = columns[q]
            if mark[np.uint64(j)] != i:
                if write == most:
                    return False
                mark[np.uint64(j)] = i
                columns[np.uint64(write)] = j
                write += 1
    for k in range(elements):
        parent[absorbed[k]] = i
    column_start[i], column_length[i] = first, write - first
    state[i] = GONE
    core.free = write
    perm[core.gone] = i
    core.gone += 1
    core.entries += own
    core.fill += write - first - own
    return True


@inner
def _is_full(core: Core) -> bool:
    """Whether nearly all variables of the core have nearly all others for neighbours."""
    lists, start, length = core.graph.lists, core.graph.start, core.graph.length
    state, mark, element_mark, columns = core.state, core.mark, core.element_mark, core.columns
    column_start, column_length = core.column_start, core.column_length
    size = core.n - core.gone
    enough, short = size - 1 - int(SPARSE * size), int(SPARSE * size)
    for i in range(core.n):
        mark[i] = element_mark[i] = -1
    for i in range(core.n):
        if state[i] == GONE:
            continue
        found = 0
        mark[i] = i
        for p in range(np.uint64(start[i]), np.uint64(start[i] + length[i])):
            j = np.uint64(lists[p])
            if state[j] != GONE:
                mark[j] = i
                found += 1
        for p in range(np.uint64(start[i]), np.uint64(start[i] + length[i])):
            if found >= enough:
                break
            if state[np.uint64(lists[p])] == GONE:
                e = np.uint64(_element(core.parent, lists[p]))
                if element_mark[e] != i:
                    element_mark[e] = i
                    for q in range(np.uint64(column_start[e]), np.uint64(column_start[e] + column_length[e])):
                        j = np.uint64(columns[q])
                        found += mark[j] != i
                        mark[j] = i
        if found < enough:
            short -= 1
            if short < 0:
                return False
    return True


@inner
def _append_core(core: Core, weak: Bools, perm: Ints) -> None:
    """The core behind the fringe, in it those last that are weak and beside no variable of the fringe."""
    count = core.gone
    for turn in range(2):
        for i in range(core.n):
            if core.state[i] != GONE and (weak[i] and not _has_pivot(core, i)) == (turn == 1):
                perm[count] = i
                count += 1
