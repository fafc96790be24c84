"""Nested dissection: the separators that cut a graph into ever smaller parts.

It serves meshes and large programs: CVXQP1_L and CVXQP3_L take a quarter of the operations of minimum degree, obstacle
and control problems on grids in space half.

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

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ....compiled.kernels import deferred_kernel, inner, leaf
from ....compiled.signatures import IntMatrix, Ints
from .quotient_graph import dense_degree

IntArray = NDArray[np.int64]

# vertices of a coarsest graph and of a part that is not cut; moves without a better separator, and looks at the
# separator's vertices, per vertex, after which a pass ends
COARSEST = 80
SIDE = 0.6  # of all vertices that a side may have

LEFT, RIGHT, BETWEEN = range(3)


class Graph(NamedTuple):
    """A graph by its lists of neighbours, with the weights of the edges and the sizes of the vertices."""

    indptr: IntArray
    indices: IntArray
    weight: IntArray
    size: IntArray


def dissection(n: int, indptr: IntArray, indices: IntArray, flops: float = np.inf) -> IntArray:
    """Find nested separators of a symmetric pattern.

    Parameters
    ----------
    n, indptr, indices
        As for `minimum_degree.amd`.
    flops : float
        Operations of another order. There are no separators where the first one alone, which becomes a dense block,
        would make this order take more.

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
    ones = np.ones(int(indptr[n]), np.int64)
    upper = sp.csr_array((ones, indices[: indptr[n]], indptr), shape=(n, n))
    full = sp.csr_array(upper + upper.T)
    depth = np.zeros(n, np.int64)
    depth[np.diff(full.indptr) - 1 > dense_degree(n)] = 1
    vertices = np.flatnonzero(depth == 0)
    whole = Graph(full.indptr.astype(np.int64), full.indices.astype(np.int64), full.data, np.ones(n, np.int64))
    _dissect(_part(whole, vertices), vertices, int(depth.any()), depth, flops)
    return np.where(depth > 0, depth.max() + 1 - depth, 0)


def _dissect(graph: Graph, vertices: IntArray, above: int, depth: IntArray, flops: float) -> None:
    """depth[separator] := above + 1, and deeper in the two parts; `vertices` are those of the graph."""
    n = len(vertices)
    if n <= COARSEST:
        return
    part = _separate(graph)
    left, right, between = (np.flatnonzero(part == p) for p in (LEFT, RIGHT, BETWEEN))
    if len(between) ** 3 / 3.0 > flops or max(len(left), len(right), len(between)) > SIDE * n:
        return
    depth[vertices[between]] = above + 1
    for side in (left, right):
        _dissect(_part(graph, side), vertices[side], above + 1, depth, flops)


def _separate(graph: Graph) -> IntArray:
    """Return LEFT, RIGHT or BETWEEN for each vertex."""
    levels, largest = [], max(2, 3 * graph.size.size // (2 * COARSEST))
    while graph.size.size > COARSEST:
        into = np.empty_like(graph.size)
        count = match(*graph, np.argsort(np.diff(graph.indptr), kind="stable"), largest, into)
        if count == into.size:
            break
        levels.append((graph, into))
        graph = _contracted(graph, into, count)
    part = np.empty_like(graph.size)
    grow(graph.indptr, graph.indices, graph.size, 0, part)
    refine(graph.indptr, graph.indices, graph.size, part)
    for graph, into in reversed(levels):
        part = part[into]
        refine(graph.indptr, graph.indices, graph.size, part)
    return part


def _part(graph: Graph, vertices: IntArray) -> Graph:
    """Return the graph of some of the vertices."""
    into = np.full_like(graph.size, -1)
    into[vertices] = np.arange(len(vertices))
    return _contracted(graph, into, len(vertices))


def _contracted(graph: Graph, into: IntArray, count: int) -> Graph:
    """Return the graph of `count` vertices in which vertex i goes into vertex into[i], or nowhere where that is -1."""
    indptr, edges = np.zeros(count + 1, np.int64), graph.indices.size
    indices, weight = np.empty(edges, np.int64), np.empty(edges, np.int64)
    contract(graph.indptr, graph.indices, graph.weight, into, indptr, indices, weight)
    kept, end = into >= 0, indptr[count]
    size = np.bincount(into[kept], graph.size[kept], count).astype(np.int64)
    return Graph(indptr, indices[:end].copy(), weight[:end].copy(), size)


@deferred_kernel
def contract(
    indptr: Ints, indices: Ints, weight: Ints, into: Ints, coarse_indptr: Ints, coarse_indices: Ints,
    coarse_weight: Ints,
) -> None:  # fmt: skip
    """Find the edges of a coarse graph, the sums of those between what goes into its vertices."""
    n, count, end = into.size, coarse_indptr.size - 1, 0
    first, following, place = np.full(count, -1), np.empty(n, np.int64), np.full(count, -1)
    for k in range(n):
        i = n - 1 - k
        if into[i] >= 0:
            following[i], first[into[i]] = first[into[i]], i
    for c in range(count):
        begin, i = end, first[c]
        while i != -1:
            for p in range(indptr[i], indptr[i + 1]):
                d = into[indices[p]]
                if d == c or d < 0:
                    continue
                if place[d] < begin:
                    place[d] = end
                    coarse_indices[end], coarse_weight[end] = d, 0
                    end += 1
                coarse_weight[place[d]] += weight[p]
            i = following[i]
        coarse_indptr[c + 1] = end


@deferred_kernel
def match(indptr: Ints, indices: Ints, weight: Ints, size: Ints, order: Ints, largest: int, into: Ints) -> int:
    """into[i] := the vertex of the coarse graph that i goes into; returns how many there are.

    `order` has the vertices by ascending degree.  A pair is not larger than `largest`.
    """
    for i in range(size.size):
        into[i] = -1
    count = 0
    for i in order:
        if into[i] != -1:
            continue
        best, partner = 0, -1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if weight[p] > best and into[j] == -1 and size[i] + size[j] <= largest:
                best, partner = weight[p], j
        if partner != -1:
            into[i] = into[partner] = count
            count += 1
    for i in range(size.size):
        if into[i] == -1:
            into[i] = count
            count += 1
    return count


@deferred_kernel
def grow(indptr: Ints, indices: Ints, size: Ints, seed: int, part: Ints) -> None:
    """part := half of the vertices around one that is far from `seed`, and the other half beside a separator."""
    queue, total, left = np.empty(size.size, np.int64), 0, 0
    breadth_first(indptr, indices, seed, queue)
    breadth_first(indptr, indices, int(queue[-1]), queue)
    for i in range(size.size):
        total += size[i]
        part[i] = RIGHT
    for k in range(queue.size):
        if 2 * left < total:
            part[queue[k]] = LEFT
            left += size[queue[k]]
    for i in range(size.size):
        for p in range(indptr[i], indptr[i + 1]):
            if part[i] == LEFT and part[indices[p]] == RIGHT:
                part[i] = BETWEEN


@inner
def breadth_first(indptr: Ints, indices: Ints, seed: int, queue: Ints) -> None:
    """queue := the vertices by their distance to `seed`, those that it does not reach behind the others."""
    seen, end, head = np.zeros(queue.size, np.bool_), 0, 0
    for root in range(-1, queue.size):
        start = seed if root < 0 else root
        if seen[start]:
            continue
        seen[start], queue[end] = True, start
        end += 1
        while head < end:
            i = queue[head]
            head += 1
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if not seen[j]:
                    seen[j], queue[end] = True, j
                    end += 1


@deferred_kernel
def refine(indptr: Ints, indices: Ints, size: Ints, part: Ints) -> int:
    """Make the separator smaller and the sides more alike; returns the separator's size."""
    side = np.zeros(3, np.int64)
    for i in range(size.size):
        side[part[i]] += size[i]
    before = cost(side) + 1
    while cost(side) < before:
        before = cost(side)
        improve(indptr, indices, size, part, side)
    return side[BETWEEN]


@leaf
def cost(side: Ints) -> int:
    """The separator first, then the balance."""
    return side[BETWEEN] * (side[LEFT] + side[RIGHT] + side[BETWEEN]) + abs(side[LEFT] - side[RIGHT])


@inner
def improve(indptr: Ints, indices: Ints, size: Ints, part: Ints, side: Ints) -> None:
    """Move vertices out of the separator, each once at most; then go back to the best one that came up."""
    n, most, moved, separator = size.size, int(SIDE * side.sum()), np.zeros(size.size, np.bool_), np.empty_like(size)
    changed, former = np.empty(3 * n, np.int64), np.empty(3 * n, np.int64)  # vertices, and where each was before
    beside = np.zeros((n, 3), np.int64)  # of each vertex the sizes of its neighbours in each part
    end, changes, kept, wasted, looks, best = 0, 0, 0, 0, COARSEST * n, cost(side)
    for i in range(n):
        if part[i] == BETWEEN:
            separator[end] = i
            end += 1
        for p in range(indptr[i], indptr[i + 1]):
            beside[i, part[indices[p]]] += size[indices[p]]
    while wasted < COARSEST and looks > 0:
        looks -= end
        end, chosen, to = best_move(size, part, side, beside, most, separator[:end])
        if chosen < 0:
            break
        moved[chosen] = True
        changed[changes], former[changes] = chosen, BETWEEN
        changes += 1
        change(indptr, indices, size, part, side, beside, chosen, to)
        for p in range(indptr[chosen], indptr[chosen + 1]):
            j = indices[p]
            if part[j] != 1 - to:
                continue
            changed[changes], former[changes] = j, part[j]
            changes += 1
            change(indptr, indices, size, part, side, beside, j, BETWEEN)
            if not moved[j]:
                separator[end] = j
                end += 1
        wasted += 1
        if cost(side) < best and max(side[LEFT], side[RIGHT]) <= most:
            best, kept, wasted = cost(side), changes, 0
    while changes > kept:
        changes -= 1
        change(indptr, indices, size, part, side, beside, changed[changes], former[changes])


@inner
def change(
    indptr: Ints, indices: Ints, size: Ints, part: Ints, side: Ints, beside: IntMatrix, i: int, to: int
) -> None:  # fmt: skip
    """Move a vertex to another part."""
    before, own = part[i], size[i]
    part[i] = to
    side[before] -= own
    side[to] += own
    for p in range(indptr[i], indptr[i + 1]):
        beside[indices[p], before] -= own
        beside[indices[p], to] += own


@inner
def best_move(
    size: Ints, part: Ints, side: Ints, beside: IntMatrix, most: int, separator: Ints
) -> tuple[int, int, int]:  # fmt: skip
    """Find the vertex and the side after whose move the separator is least, the sides within bounds; -1 if none is.

    The list `separator` is rid of vertices that have left it; returns how many there are, the vertex and the side.
    """
    lighter, best, chosen, chosen_side, end = (LEFT if side[LEFT] <= side[RIGHT] else RIGHT), 0, -1, 0, 0
    for i in separator:
        if part[i] != BETWEEN:
            continue
        separator[end] = i
        end += 1
        for to in (lighter, 1 - lighter):
            growth = beside[i, 1 - to] - size[i]  # what is drawn into the separator from the other side
            if (chosen < 0 or growth < best) and side[to] + size[i] <= most:
                best, chosen, chosen_side = growth, i, to
    return end, chosen, chosen_side
