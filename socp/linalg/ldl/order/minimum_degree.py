"""Fill-reducing order of elimination: approximate minimum degree.

    amd(n, indptr, indices) -> perm

The method is that of Amestoy, Davis and Duff (SIAM J. Matrix Anal. Appl. 17, 1996).  The graph of the partly
eliminated matrix is kept as a quotient graph, in no more space than the matrix itself: each variable i has a
list of elements E(i), the eliminated pivots that it is adjacent to, and of variables A(i), the entries of the
matrix which no element covers yet; each element e has its list of variables L(e), the pattern of the pivot's
column of L.  Eliminating a pivot p makes the new element

    L(p) = (A(p) + union of the L(e), e in E(p)) - {p},      all e in E(p) are absorbed,

and the degree of each i in L(p) is bounded from above by

    d(i) = min( n left - |i|,
                d(i) + |L(p) - i|,
                |A(i) - i| + |L(p) - i| + sum of |L(e) - L(p)| over e in E(i), e != p ).

Variables which have become indistinguishable are merged into one supervariable, variables which have no
neighbour outside of L(p) are eliminated with p, elements with L(e) inside of L(p) are absorbed, and
variables with very many neighbours are set aside and ordered last.  Variables whose diagonal entry is
zero wait until a neighbour has been eliminated.

A graph with a sparse part around a dense block is ordered without all this: see `dense_block`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import deferred, inner, kernel
from ....compiled.signatures import Bools, Ints
from ..symbolic.analysis import postorder
from .dense_block import dense_block_order
from .quotient_graph import ALONE, WAITING, QuotientGraph, adjacency, compress, dense_degree, link, unlink

IntArray = NDArray[np.int64]


def amd(
    n: int, indptr: IntArray, indices: IntArray, zero_diagonal: NDArray[np.bool_] | None = None
) -> IntArray:  # fmt: skip
    """Return the approximate minimum degree order of a symmetric pattern.

    Parameters
    ----------
    n : int
        Order of the matrix.
    indptr, indices : int64 arrays
        The upper triangle by columns, without repeated entries; the diagonal is ignored.
    zero_diagonal : (n,) bool array, optional
        Variables that should be eliminated only after one of their neighbours.

    Returns
    -------
    perm : (n,) int64 array
        ``perm[k]`` is the k-th variable to be eliminated; the order is a postorder of the assembly tree.

    Examples
    --------
    The hub of a star goes last, or last but one.

    >>> import numpy as np
    >>> perm = amd(4, np.array([0, 1, 3, 5, 7]), np.array([0, 0, 1, 0, 2, 0, 3]))
    >>> sorted(perm.tolist()), 0 in perm[-2:]
    ([0, 1, 2, 3], True)
    """
    dense = dense_degree(n)
    zero_diagonal = np.zeros(n, np.bool_) if zero_diagonal is None else np.ascontiguousarray(zero_diagonal, np.bool_)
    perm = np.empty(n, np.int64)
    if n:
        entries = 2 * int(indptr[n])
        graph = QuotientGraph(n=n, capacity=entries + entries // 5 + n)
        graph.n = n
        adjacency(graph, indptr, indices)
        if not dense_block_order(graph, dense, zero_diagonal, perm):
            minimum_degree(graph, dense, zero_diagonal, perm)
    return perm


@kernel
def minimum_degree(graph: QuotientGraph, dense: int, zero_diagonal: Bools, perm: Ints) -> None:
    """Eliminate pivots of least approximate degree from a graph built by `adjacency`; write the order to `perm`."""
    n, size, degree, mark = graph.n, graph.size, graph.degree, graph.mark
    head, after, before = graph.head, graph.after, graph.before
    eliminated = _start_degree_lists(graph, dense, zero_diagonal)
    flag, least, largest, last_value = 2, 0, 0, 1
    while 2 * last_value <= n:
        last_value *= 2
    last_value -= 1  # hash values are 0 ... 2^k - 1
    while eliminated < n:
        while least < n and head[least] == -1:
            least += 1
        while least == n:
            least = _link_waiting(graph)
        pivot = head[least]
        unlink(degree, head, after, before, pivot)
        eliminated += size[pivot]
        _form_element(graph, pivot, n - eliminated)
        mark[pivot] = flag
        largest = max(largest, degree[pivot])
        _measure_elements(graph, pivot, flag)
        eliminated += _update_variables(graph, pivot, flag, last_value)
        flag = _merge_indistinguishable(graph, pivot, flag + largest + 1)
        least = min(least, _close_element(graph, pivot, n - eliminated))
    _assembly_order(graph, zero_diagonal, perm)


@inner
def _start_degree_lists(graph: QuotientGraph, dense: int, zero_diagonal: Bools) -> int:
    """Set dense variables aside, eliminate isolated ones, list the others by degree; return how many are done."""
    n, lists, start, length, elements = graph.n, graph.lists, graph.start, graph.length, graph.elements
    size, degree, parent, mark, head = graph.size, graph.degree, graph.parent, graph.mark, graph.head
    after, before, bucket = graph.after, graph.before, graph.bucket
    done = 0
    for i in range(n):
        size[i] = 1
        mark[i] = 1
        degree[i] = length[i]
        parent[i] = head[i] = bucket[i] = -1
        if length[i] > dense:
            size[i] = 0
            done += 1
    for i in range(n):
        if size[i] == 0:
            for p in range(start[i], start[i] + length[i]):
                degree[lists[p]] -= 1
    for i in range(n):
        if size[i] == 0:
            continue
        if degree[i] == 0:
            elements[i] = -1
            mark[i] = 0
            done += 1
        elif zero_diagonal[i]:
            before[i] = WAITING
        else:
            link(degree, head, after, before, i)
    return done


@deferred
def _link_waiting(graph: QuotientGraph) -> int:
    """List the variables with zero diagonals that no eliminated neighbour has freed; return the least degree."""
    least = graph.n
    for i in range(graph.n):
        if graph.elements[i] != -1 and graph.size[i] != 0 and graph.before[i] == WAITING:
            link(graph.degree, graph.head, graph.after, graph.before, i)
            least = min(least, graph.degree[i])
    return least


@inner
def _form_element(graph: QuotientGraph, pivot: int, left: int) -> None:
    """Form L(p) = A(p) + union of L(e), e in E(p), without p; take its variables off the degree lists, negate sizes."""
    lists, start, length, elements, size = graph.lists, graph.start, graph.length, graph.elements, graph.size
    degree, parent, mark = graph.degree, graph.parent, graph.mark
    head, after, before = graph.head, graph.after, graph.before
    count = elements[pivot]
    size[pivot] = -size[pivot]
    total = 0
    if count == 0:  # L(p) = A(p) stays in its place.
        write = start[pivot]
    else:
        if graph.free + left > len(lists):
            compress(graph)
        write = graph.free
    begin = write
    for k in range(count + 1):
        if k < count:
            source = lists[start[pivot] + k]
            first, end = start[source], start[source] + length[source]
            parent[source] = pivot
            mark[source] = 0
        else:
            first, end = start[pivot] + count, start[pivot] + length[pivot]
        for p in range(first, end):
            i = lists[p]
            size_i = size[i]
            if size_i > 0:
                total += size_i
                size[i] = -size_i
                lists[write] = i
                write += 1
                unlink(degree, head, after, before, i)
    start[pivot] = begin
    length[pivot] = write - begin
    degree[pivot] = total
    elements[pivot] = -1


@inner
def _measure_elements(graph: QuotientGraph, pivot: int, flag: int) -> None:
    """Set mark[e] = flag + |L(e) - L(p)| for every element e adjacent to a variable of L(p)."""
    lists, start, length, elements, size = graph.lists, graph.start, graph.length, graph.elements, graph.size
    degree, mark = graph.degree, graph.mark
    for k in range(start[pivot], start[pivot] + length[pivot]):
        i = lists[k]
        size_i = size[i]  # negative, as i is in L(p)
        for p in range(start[i], start[i] + elements[i]):
            e = lists[p]
            mark_e = mark[e]
            if mark_e >= flag:
                mark[e] = mark_e + size_i
            elif mark_e != 0:
                mark[e] = degree[e] + flag + size_i


@inner
def _update_variables(graph: QuotientGraph, pivot: int, flag: int, last_value: int) -> int:
    """Update E(i), A(i), d(i) and the hash value of each i in L(p); return how many variables joined the pivot."""
    lists, start, length, elements = graph.lists, graph.start, graph.length, graph.elements
    size, degree, parent, mark, after = graph.size, graph.degree, graph.parent, graph.mark, graph.after
    before, bucket = graph.before, graph.bucket
    with_pivot = 0
    for k in range(start[pivot], start[pivot] + length[pivot]):
        variable = lists[k]
        i = variable
        begin, middle, end = start[i], start[i] + elements[i], start[i] + length[i]
        write, value, external = begin, 0, 0
        for p in range(begin, middle):
            element = lists[p]
            e = element
            mark_e = mark[e]
            if mark_e > flag:
                external += mark_e - flag
                lists[write] = element
                write += 1
                value += element
            elif mark_e != 0:  # L(p) contains L(e) and absorbs e.
                parent[e] = pivot
                mark[e] = 0
        first_variable = write
        for p in range(middle, end):
            j = lists[p]
            size_j = size[j]
            if size_j > 0:
                external += size_j
                lists[write] = j
                write += 1
                value += j
        if external == 0:  # Variable i has no neighbour outside L(p).
            parent[i] = pivot
            if elements[i] == 0:
                degree[i] = ALONE
            with_pivot -= size[i]
            size[i] = 0
            continue
        lists[write] = lists[first_variable]  # Put the pivot at the front of the list.
        lists[first_variable] = lists[begin]
        lists[begin] = pivot
        elements[i] = first_variable - begin + 1
        length[i] = write - begin + 1
        degree[i] = min(degree[i], external)
        value &= last_value
        before[i] = value
        after[i] = bucket[value]
        bucket[value] = variable
    size[pivot] -= with_pivot
    degree[pivot] -= with_pivot
    return with_pivot


@inner
def _merge_indistinguishable(graph: QuotientGraph, pivot: int, flag: int) -> int:
    """Merge the variables of L(p) with equal elements and variables; return an unused flag."""
    lists, start, length, elements = graph.lists, graph.start, graph.length, graph.elements
    size, parent = graph.size, graph.parent
    mark, after, before, bucket = graph.mark, graph.after, graph.before, graph.bucket
    for k in range(start[pivot], start[pivot] + length[pivot]):
        if size[lists[k]] == 0:
            continue
        value = before[lists[k]]
        i = bucket[value]
        bucket[value] = -1
        while i != -1 and after[i] != -1:
            for p in range(start[i] + 1, start[i] + length[i]):
                mark[lists[p]] = flag
            previous, j = i, after[i]
            while j != -1:
                same, p = length[i] == length[j] and elements[i] == elements[j], start[j] + 1
                while same and p < start[j] + length[j]:
                    same = mark[lists[p]] == flag
                    p += 1
                if same:
                    parent[j] = i
                    size[i] += size[j]
                    size[j] = 0
                    after[previous] = after[j]
                else:
                    previous = j
                j = after[j]
            flag += 1
            i = after[i]
    return flag


@inner
def _close_element(graph: QuotientGraph, pivot: int, left: int) -> int:
    """Put the remaining variables of L(p) back into the degree lists; return their least degree."""
    n, lists, start, length, size, degree = graph.n, graph.lists, graph.start, graph.length, graph.size, graph.degree
    mark, head, after, before = graph.mark, graph.head, graph.after, graph.before
    begin, end = start[pivot], start[pivot] + length[pivot]
    write, least = begin, n
    own = degree[pivot]
    for k in range(begin, end):
        variable = lists[k]
        i = variable
        size_i = -size[i]
        if size_i == 0:
            continue
        size[i] = size_i
        degree_i = min(degree[i] + own, left) - size_i
        degree[i] = degree_i
        least = min(least, degree_i)
        link(degree, head, after, before, variable)
        lists[write] = variable
        write += 1
    size[pivot] = -size[pivot]
    length[pivot] = write - begin
    if write == begin:
        mark[pivot] = 0
    if begin >= graph.free:
        graph.free = write
    return least


@inner
def _assembly_order(graph: QuotientGraph, zero_diagonal: Bools, perm: Ints) -> None:
    """Write to `perm` the variables in postorder of their element, zero diagonals last in each element; dense variables
    are last of all."""
    n, start, elements, size, parent = graph.n, graph.start, graph.elements, graph.size, graph.parent
    degree, owner, before, bucket, mark = (
        graph.degree, graph.owner, graph.before, graph.bucket, graph.mark
    )  # fmt: skip
    tree, order = graph.head, graph.after  # The degree lists are no longer needed.
    for i in range(n):
        tree[i] = parent[i] if elements[i] == -1 else -1
        j = i
        while elements[j] != -1 and parent[j] != -1:
            j = parent[j]
        owner[i] = j
        k = i
        while k != j:  # path compression, for absorbed variables only
            above = parent[k]
            parent[k] = j
            k = above
    postorder(tree, before, bucket, mark, order)
    count = 0
    for k in range(n):
        element = order[k]
        if elements[element] == -1:
            start[element] = count
            count += size[element]
    for turn in range(3):
        for i in range(n):
            if turn != (0 if not zero_diagonal[i] else 2 if degree[i] == ALONE else 1):
                continue
            last = owner[i]
            if elements[last] == -1:
                perm[start[last]] = i
                start[last] += 1
            else:  # a dense variable
                perm[count] = i
                count += 1
