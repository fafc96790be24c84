"""Nested dissection: the separators that cut a graph into ever smaller parts.

It serves meshes and large programs: CVXQP1_L and CVXQP3_L take a quarter of the operations of minimum degree, and a
third of the time.

A separator S cuts a graph into parts A and B without edges between them.  Eliminated in the order A, B, S, the two
parts do not fill each other, and each of them is cut likewise in turn (George 1973; on a grid of k by k points L has
then at most 31/4 k^2 log2 k entries, and no order has fewer but for a factor).  Minimum degree orders what is left,
then the separators stage by stage.

Separators are found in a coarse graph and refined on the way back to the fine one (Karypis and Kumar 1998):

    match, contract   vertices joined in pairs along the heaviest edges, until few are left
    grow              half of the coarsest graph around a vertex, its boundary for a separator
    refine            vertices leave the separator for one side, which draws their neighbours on the other side into it,
                      the best first, also at a loss; then back to the least separator that came up (Fiduccia and
                      Mattheyses 1982)

There are no random numbers: the same graph has the same separators.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import deferred_kernel, inner, leaf
from ....compiled.signatures import Ints
from ....compiled.structures import Structure, integer, integers
from .quotient_graph import QuotientGraph, adjacency, dense_degree

IntArray = NDArray[np.int64]

# vertices of a coarsest graph and of a part that is not cut; moves without a better separator, and looks at the
# separator's vertices, per vertex, after which a pass ends
COARSEST = 80
SIDE = 0.6  # of all vertices that a side may have

LEFT, RIGHT, BETWEEN = 0, 1, 2


class Graph(Structure):
    """A graph with sizes of its vertices and weights of its edges, its separator, and what finds it."""

    n, length = integer(), integer()  # length: of the separator, as a list
    indptr, indices, weight, size = integers("n + 1"), integers("edges"), integers("edges"), integers("n")
    part, side = integers("n"), integers("3")  # LEFT, RIGHT or BETWEEN, and their sizes
    coarse, order, mark = integers("n"), integers("n"), integers("n")
    separator, place = integers("n"), integers("n")  # the list and where in it a vertex is, -1 outside of it
    drawn_left, drawn_right = integers("n"), integers("n")  # size of what a move to that side draws into the separator
    moved = integers("n")  # flags
    log, log_end, drawn = integers("n"), integers("n"), integers("2 * n")  # moves; where what each drew ends; these


def dissection(n: int, indptr: IntArray, indices: IntArray, flops: float = np.inf) -> IntArray:
    """Nested separators of a symmetric pattern.

    Parameters
    ----------
    n, indptr, indices
        As for `ordering.amd`.
    flops : float
        What another order takes. There are no separators where the first one alone, which becomes a dense block, would
        make this order take more.

    Returns
    -------
    stage : (n,) int64 array
        0 where a variable is in no separator, and the more, the larger the part that it separates.

    Examples
    --------
    A path of 500 vertices is cut by single ones.

    >>> import numpy as np
    >>> indptr, indices = np.append(0, np.arange(1, 1000, 2)), np.arange(999) // 2
    >>> stage = dissection(500, indptr, indices)
    >>> int((stage == stage.max()).sum())
    1
    """
    stage = np.zeros(n, np.int64)
    if n == 0:
        return stage
    lists = QuotientGraph(n=n, room=2 * int(indptr[n]))
    lists.n = n
    adjacency(lists, indptr, indices)
    graph = Graph(n=n, edges=lists.free)
    graph.n = n
    graph.indptr[1:], graph.indices[:] = np.cumsum(lists.length), lists.lists[: lists.free]
    graph.size[:] = graph.weight[:] = 1
    dense = np.diff(graph.indptr) > dense_degree(n)
    vertices = np.arange(n)
    if dense.any():
        graph.part[dense] = BETWEEN
        vertices = np.flatnonzero(~dense)
        graph = _part(graph, LEFT, len(vertices))
    _dissect(graph, vertices, 0, stage, flops)
    return np.where(stage > 0, stage.max() + 1 - stage, 0)


def _dissect(graph: Graph, vertices: IntArray, depth: int, stage: IntArray, flops: float) -> None:
    """stage := 1 + the depth of the part that a vertex separates; `vertices` are those of the graph."""
    if graph.n <= COARSEST:
        return
    _separate(graph)
    parts = [np.flatnonzero(graph.part == p) for p in (LEFT, RIGHT, BETWEEN)]
    if len(parts[BETWEEN]) ** 3 / 3.0 > flops or max(map(len, parts)) > SIDE * graph.n:
        return
    stage[vertices[parts[BETWEEN]]] = depth + 1
    for p in (LEFT, RIGHT):
        _dissect(_part(graph, p, len(parts[p])), vertices[parts[p]], depth + 1, stage, flops)


def _separate(graph: Graph) -> None:
    """Find graph.part."""
    levels = [graph]
    while levels[-1].n > COARSEST:
        fine = levels[-1]
        fine.order[: fine.n] = np.argsort(np.diff(fine.indptr[: fine.n + 1]), kind="stable")
        n = match(fine, max(2, 3 * graph.n // (2 * COARSEST)))
        if n == fine.n:
            break
        coarse = Graph(n=n, edges=int(fine.indptr[fine.n]))
        coarse.n = n
        contract(fine, coarse)
        levels.append(coarse)
    coarsest = levels.pop()
    grow(coarsest, 0)
    refine(coarsest)
    for fine in reversed(levels):
        fine.part[: fine.n] = coarsest.part[fine.coarse[: fine.n]]
        refine(fine)
        coarsest = fine


def _part(graph: Graph, which: int, n: int) -> Graph:
    """The graph that one part is, its vertices in ascending order."""
    part = Graph(n=n, edges=int(graph.indptr[graph.n]))
    part.n = n
    extract(graph, which, part)
    return part


@deferred_kernel
def extract(graph: Graph, which: int, part: Graph) -> None:
    """The graph of one part of the vertices."""
    number, at, vertex = graph.coarse, 0, 0
    for i in range(graph.n):
        if graph.part[i] == which:
            number[i] = vertex
            vertex += 1
    vertex = 0
    for i in range(graph.n):
        if graph.part[i] != which:
            continue
        part.size[vertex] = graph.size[i]
        for p in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[p]
            if graph.part[j] == which:
                part.indices[at], part.weight[at] = number[j], graph.weight[p]
                at += 1
        vertex += 1
        part.indptr[vertex] = at


@deferred_kernel
def match(graph: Graph, largest: int) -> int:
    """coarse[i] := the vertex of the coarse graph that i goes into; returns how many there are.

    `order` has the vertices by ascending degree.  A pair is not larger than `largest`.  Vertices that have no free
    neighbour are paired over a common one.
    """
    n, indptr, indices, weight, size = graph.n, graph.indptr, graph.indices, graph.weight, graph.size
    coarse, order, lonely = graph.coarse, graph.order, graph.mark
    for i in range(n):
        coarse[i] = lonely[i] = -1
    count = 0
    for k in range(n):
        i = order[k]
        if coarse[i] != -1:
            continue
        best, partner = 0, -1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if weight[p] > best and coarse[j] == -1 and size[i] + size[j] <= largest:
                best, partner = weight[p], j
        if partner != -1:
            coarse[i] = coarse[partner] = count
            count += 1
    for k in range(n):
        i = order[k]
        if coarse[i] != -1:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            hub = indices[p]
            other = lonely[hub]
            if other != -1 and coarse[other] == -1 and size[i] + size[other] <= largest:
                coarse[i] = coarse[other] = count
                count += 1
                break
            lonely[hub] = i
    for i in range(n):
        if coarse[i] == -1:
            coarse[i] = count
            count += 1
    return count


@deferred_kernel
def contract(graph: Graph, coarse: Graph) -> None:
    """The graph of the vertices `graph.coarse`, sizes and weights added up."""
    n, number, first, following = graph.n, graph.coarse, graph.mark, graph.order
    place = coarse.place
    for c in range(coarse.n):
        first[c] = place[c] = -1
    for i in range(n - 1, -1, -1):
        following[i] = first[number[i]]
        first[number[i]] = i
    at = 0
    for c in range(coarse.n):
        begin = at
        i = first[c]
        while i != -1:
            coarse.size[c] += graph.size[i]
            for p in range(graph.indptr[i], graph.indptr[i + 1]):
                d = number[graph.indices[p]]
                if d == c:
                    continue
                if place[d] < begin:
                    place[d] = at
                    coarse.indices[at], coarse.weight[at] = d, 0
                    at += 1
                coarse.weight[place[d]] += graph.weight[p]
            i = following[i]
        coarse.indptr[c + 1] = at


@deferred_kernel
def grow(graph: Graph, seed: int) -> None:
    """part := half of the vertices around one that is far from `seed`, and the other half beside a separator."""
    n, indptr, indices, part, queue = graph.n, graph.indptr, graph.indices, graph.part, graph.order
    _breadth_first(graph, seed)
    _breadth_first(graph, queue[n - 1])
    total, left = 0, 0
    for i in range(n):
        total += graph.size[i]
        part[i] = RIGHT
    for k in range(n):
        if 2 * left >= total:
            break
        part[queue[k]] = LEFT
        left += graph.size[queue[k]]
    for i in range(n):
        if part[i] != LEFT:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            if part[indices[p]] == RIGHT:
                part[i] = BETWEEN


@inner
def _breadth_first(graph: Graph, seed: int) -> None:
    """order := the vertices by their distance to `seed`, those that it does not reach behind the others."""
    n, indptr, indices, queue, seen = graph.n, graph.indptr, graph.indices, graph.order, graph.mark
    for i in range(n):
        seen[i] = 0
    end, start = 0, seed
    for root in range(-1, n):
        start = seed if root == -1 else root
        if seen[start]:
            continue
        seen[start] = 1
        queue[end] = start
        head = end
        end += 1
        while head < end:
            i = queue[head]
            head += 1
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if not seen[j]:
                    seen[j] = 1
                    queue[end] = j
                    end += 1


@deferred_kernel
def refine(graph: Graph) -> int:
    """Make the separator smaller and the sides more alike; returns the separator's size."""
    side = graph.side
    side[LEFT] = side[RIGHT] = side[BETWEEN] = 0
    for i in range(graph.n):
        side[graph.part[i]] += graph.size[i]
    before = _cost(side) + 1
    while _cost(side) < before:
        before = _cost(side)
        _pass(graph)
    return side[BETWEEN]


@leaf
def _cost(side: Ints) -> int:
    """The separator first, then the balance."""
    return side[BETWEEN] * (side[LEFT] + side[RIGHT] + side[BETWEEN]) + abs(side[LEFT] - side[RIGHT])


@inner
def _pass(graph: Graph) -> None:
    """Each vertex leaves the separator once at most; then back to the best that came up."""
    part, side, log, log_end, moved = graph.part, graph.side, graph.log, graph.log_end, graph.moved
    most = int(SIDE * (side[LEFT] + side[RIGHT] + side[BETWEEN]))
    graph.length = 0
    for i in range(graph.n):
        graph.place[i], moved[i] = -1, 0
    for i in range(graph.n):
        if part[i] == BETWEEN:
            _enter(graph, i)
    best, kept, moves, scans = _cost(side), 0, 0, COARSEST * graph.n
    if max(side[LEFT], side[RIGHT]) > most:
        best = side[LEFT] + side[RIGHT] + side[BETWEEN]
        best = best * best + best  # whatever comes is better
    while moves < kept + COARSEST and scans > 0:
        scans -= graph.length
        move = _best_move(graph, most)
        if move == -1:
            break
        i, to = move // 2, move % 2
        log[moves] = move
        log_end[moves] = _move(graph, i, to, log_end[moves - 1] if moves > 0 else 0)
        moved[i] = 1
        moves += 1
        if _cost(side) < best and max(side[LEFT], side[RIGHT]) <= most:
            best, kept = _cost(side), moves
    while moves > kept:
        moves -= 1
        i, to = log[moves] // 2, log[moves] % 2
        part[i] = BETWEEN
        side[to] -= graph.size[i]
        side[BETWEEN] += graph.size[i]
        for p in range(log_end[moves - 1] if moves > 0 else 0, log_end[moves]):
            j = graph.drawn[p]
            part[j] = 1 - to
            side[1 - to] += graph.size[j]
            side[BETWEEN] -= graph.size[j]


@inner
def _enter(graph: Graph, i: int) -> None:
    """Put a vertex into the list of the separator."""
    left, right = 0, 0
    for p in range(graph.indptr[i], graph.indptr[i + 1]):
        j = graph.indices[p]
        if graph.part[j] == LEFT:
            left += graph.size[j]
        elif graph.part[j] == RIGHT:
            right += graph.size[j]
    graph.drawn_left[i], graph.drawn_right[i] = right, left
    graph.place[i] = graph.length
    graph.separator[graph.length] = i
    graph.length += 1


@inner
def _best_move(graph: Graph, most: int) -> int:
    """2 i + side of the move after which the separator is least, the sides within bounds; -1 if there is none."""
    side, size, best, chosen = graph.side, graph.size, 0, -1
    lighter = LEFT if side[LEFT] <= side[RIGHT] else RIGHT
    for k in range(graph.length):
        i = graph.separator[k]
        if graph.moved[i]:
            continue
        for turn in range(2):
            to = lighter if turn == 0 else 1 - lighter
            if side[to] + size[i] > most:
                continue
            growth = (graph.drawn_left[i] if to == LEFT else graph.drawn_right[i]) - size[i]
            if chosen == -1 or growth < best or (growth == best and turn == 0 and chosen % 2 != lighter):
                best, chosen = growth, 2 * i + to
    return chosen


@inner
def _move(graph: Graph, i: int, to: int, end: int) -> int:
    """Move i out of the separator to one side; returns the end of the list `drawn`."""
    indptr, indices, part, side, size = graph.indptr, graph.indices, graph.part, graph.side, graph.size
    separator, place, drawn_left, drawn_right = graph.separator, graph.place, graph.drawn_left, graph.drawn_right
    graph.length -= 1
    latest = separator[graph.length]
    separator[place[i]] = latest
    place[latest] = place[i]
    place[i] = -1
    part[i] = to
    side[BETWEEN] -= size[i]
    side[to] += size[i]
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if part[j] == BETWEEN:
            if to == LEFT:
                drawn_right[j] += size[i]
            else:
                drawn_left[j] += size[i]
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if part[j] != 1 - to:
            continue
        part[j] = BETWEEN
        side[1 - to] -= size[j]
        side[BETWEEN] += size[j]
        graph.drawn[end] = j
        end += 1
        for q in range(indptr[j], indptr[j + 1]):
            k = indices[q]
            if part[k] == BETWEEN and place[k] >= 0:
                if to == LEFT:
                    drawn_left[k] -= size[j]
                else:
                    drawn_right[k] -= size[j]
        _enter(graph, j)
    return end
