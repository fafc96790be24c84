"""The quotient graph of a partly eliminated matrix, as `minimum_degree` describes it, and its variables by degree.

The lists of variables and elements are in one array; new elements are written at its end.  When the array is full, the
live lists are moved together.
"""

from __future__ import annotations

import math

from ....compiled.kernels import inner, kernel, leaf
from ....compiled.signatures import Ints
from ....compiled.structures import Structure, integer, integers

DENSE_FACTOR = 10.0  # A row with more than DENSE_FACTOR sqrt(n) neighbours is dense.

# WAITING in `before` marks a variable with a zero diagonal that is in no degree list yet.  ALONE in `degree` marks a
# variable that is eliminated together with a pivot and has no neighbour eliminated earlier.
WAITING, ALONE = range(-2, 0)


def dense_degree(n: int) -> int:
    """Return the number of neighbours beyond which one of n variables is set aside as dense."""
    return int(DENSE_FACTOR * math.sqrt(n))


class QuotientGraph(Structure):
    """Lists of variables and elements, with their sizes, degrees and marks.

    A list is lists[start : start + length]: the list of a variable has its elements, then its variables; the list of an
    element has its variables.
    """

    n, free = integer(), integer()  # order of the matrix; first unused place of `lists`
    lists = integers("capacity", scratch=True)
    start, length = integers("n", scratch=True), integers("n")
    elements = integers("n")  # number of elements at the head of a variable's list; -1 for an element
    size = integers("n", scratch=True)  # variables in a supervariable; 0 once absorbed, negative in the new element
    degree = integers("n", scratch=True)  # upper bound on a variable's external degree; |L(e)| of an element e
    parent = integers("n", scratch=True)  # element or variable that has absorbed this one; -1 at a root
    mark = integers("n")  # flag + |L(e) - L(p)| of an element e; 0 once it is absorbed
    head = integers("n", scratch=True)  # first variable of each degree, or -1
    after = integers("n", scratch=True)  # next variable of equal degree, or of equal hash value
    before = integers("n", scratch=True)  # previous variable of equal degree; or the variable's hash value
    bucket = integers("n", scratch=True)  # first variable of each hash value, or -1
    owner = integers("n", scratch=True)  # element in which each variable was eliminated, set at the end


@kernel
def adjacency(graph: QuotientGraph, indptr: Ints, indices: Ints) -> None:
    """Build the adjacency lists of a symmetric matrix from its upper triangle; the diagonal is ignored.

    `graph` must be zero except for scratch arrays; the end of `lists` stays free for new elements.
    """
    n, lists, start, length = graph.n, graph.lists, graph.start, graph.length
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            if i != j:
                length[j] += 1
                length[i] += 1
    total = 0
    for j in range(n):
        start[j] = total
        total += length[j]
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            if i != j:
                at, own = start[i], start[j]
                lists[at], lists[own], start[i], start[j] = j, i, at + 1, own + 1
    for j in range(n):
        start[j] -= length[j]
    graph.free = total


@inner
def compress(graph: QuotientGraph) -> None:
    """Move all live lists to the front of `lists`."""
    n, lists, start, length, elements = graph.n, graph.lists, graph.start, graph.length, graph.elements
    size, mark = graph.size, graph.mark
    for i in range(n):
        alive = mark[i] != 0 if elements[i] == -1 else size[i] != 0
        if alive and length[i] > 0:  # Mark the list's head by its owner; `start` holds its first entry.
            first = start[i]
            start[i] = lists[first]
            lists[first] = -i - 1
    write, p, end = 0, 0, graph.free
    while p < end:
        if lists[p] >= 0:
            p += 1
            continue
        i = -lists[p] - 1
        lists[write] = start[i]
        start[i] = write
        for k in range(1, length[i]):
            lists[write + k] = lists[p + k]
        write += length[i]
        p += length[i]
    graph.free = write


@leaf
def link(degree: Ints, head: Ints, after: Ints, before: Ints, i: int) -> None:
    """Put variable i at the head of the list of its degree."""
    place, own = degree[i], i
    first = head[place]
    before[own] = -1
    after[own] = first
    if first != -1:
        before[first] = i
    head[place] = i


@leaf
def unlink(degree: Ints, head: Ints, after: Ints, before: Ints, i: int) -> None:
    """Remove variable i from the list of its degree; a variable that waits is in none."""
    own = i
    left, right = before[own], after[own]
    if left == WAITING:
        return
    if right != -1:
        before[right] = left
    if left != -1:
        after[left] = right
    else:
        head[degree[own]] = right
