"""Fill-reducing order of elimination: approximate minimum degree.

    amd(n, indptr, indices) -> perm

The method is that of Amestoy, Davis and Duff (SIAM J. Matrix Anal. Appl. 17, 1996).  The graph of the
partly eliminated matrix is kept as a quotient graph, in no more space than the matrix itself: each
variable i has a list of elements E(i), the pivots behind it, and of variables A(i), the entries of the
matrix which no element covers yet; each element e has its list of variables L(e), the pattern of the
pivot's column of L.  Eliminating a pivot p makes the new element

    L(p) = (A(p) + union of the L(e), e in E(p)) - {p},      all e in E(p) are absorbed,

and the degree of each i in L(p) is bounded from above by

    d(i) = min( n left - |i|,
                d(i) + |L(p) - i|,
                |A(i) - i| + |L(p) - i| + sum of |L(e) - L(p)| over e in E(i), e != p ).

Variables which have become indistinguishable are merged into one supervariable, variables which have no
neighbour outside of L(p) are eliminated with p, elements with L(e) inside of L(p) are absorbed, and
variables with very many neighbours are set aside and ordered last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import kernel
from .symbolic import postorder

IntArray = NDArray[np.int64]

DENSE_FACTOR = 10.0  # a row with more than DENSE_FACTOR sqrt(n) neighbours is dense,
DENSE_LEAST = 16  # but not one with at most DENSE_LEAST


def amd(n: int, indptr: IntArray, indices: IntArray) -> IntArray:
    """Approximate minimum degree order of a symmetric pattern.

    Parameters
    ----------
    n : int
        Order of the matrix.
    indptr, indices : int64 arrays
        A pattern by columns: the upper triangle, the lower one, or both. The pattern of K + K' is ordered; the
        diagonal does not matter, and neither do repeated entries.

    Returns
    -------
    perm : (n,) int64 array
        ``perm[k]`` is the variable that is eliminated as the k-th; postordered by the assembly tree.

    Examples
    --------
    The hub of a star goes last, or last but one.

    >>> import numpy as np
    >>> perm = amd(4, np.array([0, 1, 3, 5, 7]), np.array([0, 0, 1, 0, 2, 0, 3]))
    >>> sorted(perm.tolist()), 0 in perm[-2:]
    ([0, 1, 2, 3], True)
    """
    dense = max(DENSE_LEAST, int(DENSE_FACTOR * np.sqrt(n)))
    return _minimum_degree(n, indptr, indices, min(dense, n))


class QuotientGraph(NamedTuple):
    """The quotient graph and its degree lists; all arrays but `lists` and `free` have length n.

    A variable is alive while its size is not 0; an element is alive while its mark is not 0.
    """

    lists: Any  # of a variable: elements, then variables; of an element: variables
    start: Any  # of the list of a variable or an element
    length: Any  # of the list
    elements: Any  # of a variable: how many elements its list begins with; -1: it is an element
    size: Any  # of a supervariable: variables in it, negative while it is in the element under construction
    degree: Any  # of a variable: bound on its external degree; of an element: |L(e)|
    parent: Any  # of an absorbed variable or element: what it went into; -1 at a root
    mark: Any  # of an element e: flag + |L(e) - L(p)|, 0 when absorbed
    head: Any  # of degree d: first variable of that degree
    after: Any  # next variable of the same degree, or of the same hash value
    before: Any  # previous variable of the same degree; or hash value
    bucket: Any  # of a hash value: first variable
    free: Any  # (1,) first free place of `lists`


@kernel
def _minimum_degree(n, indptr, indices, dense):
    """Eliminate pivot after pivot of least approximate degree."""
    graph = _adjacency(n, indptr, indices)
    eliminated = _start_degree_lists(graph, n, dense)
    flag, least, largest = np.int64(2), 0, 0
    while eliminated < n:
        while graph.head[least] == -1:
            least += 1
        pivot = graph.head[least]
        _unlink(graph, pivot)
        eliminated += graph.size[pivot]
        _form_element(graph, pivot, n - eliminated)
        graph.mark[pivot] = flag
        largest = max(largest, graph.degree[pivot])
        _measure_elements(graph, pivot, flag)
        eliminated += _update_variables(graph, pivot, flag, n)
        flag = _merge_indistinguishable(graph, pivot, flag + largest + 1)
        least = min(least, _close_element(graph, pivot, n - eliminated))
    return _assembly_order(graph, n)


@kernel
def _adjacency(n, indptr, indices):
    """The pattern of K + K' without diagonal and repetitions, with elbow room behind it."""
    start = np.zeros(n + 1, np.int64)
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            if indices[p] != j:
                start[indices[p] + 1] += 1
                start[j + 1] += 1
    for j in range(n):
        start[j + 1] += start[j]
    nnz = start[n]
    lists = np.empty(nnz + nnz // 5 + n, np.int64)
    fill = start[:n].copy()
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            if i != j:
                lists[fill[i]] = j
                lists[fill[j]] = i
                fill[i] += 1
                fill[j] += 1
    seen = np.full(n, -1, np.int64)
    length = np.zeros(n, np.int64)
    free = np.zeros(1, np.int64)
    for j in range(n):
        begin = free[0]
        for p in range(start[j], start[j + 1]):
            if seen[lists[p]] != j:
                seen[lists[p]] = j
                lists[free[0]] = lists[p]
                free[0] += 1
        start[j] = begin
        length[j] = free[0] - begin
    empty = np.full((5, n), -1, np.int64)  # parent, head, after, before, bucket
    return QuotientGraph(
        lists, start, length, np.zeros(n, np.int64), np.ones(n, np.int64), length.copy(), empty[0],
        np.ones(n, np.int64), empty[1], empty[2], empty[3], empty[4], free,
    )  # fmt: skip


@kernel
def _start_degree_lists(graph, n, dense):
    """Set dense variables aside, eliminate those without neighbours, list the others; how many are done."""
    lists, start, length, degree, size = graph.lists, graph.start, graph.length, graph.degree, graph.size
    done = 0
    for i in range(n):
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
            graph.elements[i] = -1
            graph.mark[i] = 0
            done += 1
        else:
            _link(graph, i)
    return done


@kernel
def _link(graph, i):
    """Put variable i at the head of the list of its degree."""
    first = graph.head[graph.degree[i]]
    graph.before[i] = -1
    graph.after[i] = first
    if first != -1:
        graph.before[first] = i
    graph.head[graph.degree[i]] = i


@kernel
def _unlink(graph, i):
    """Take variable i out of the list of its degree."""
    before, after = graph.before[i], graph.after[i]
    if after != -1:
        graph.before[after] = before
    if before != -1:
        graph.after[before] = after
    else:
        graph.head[graph.degree[i]] = after


@kernel
def _form_element(graph, pivot, left):
    """L(p) = A(p) + union of L(e), e in E(p), without p; its variables leave the degree lists, sizes negative."""
    lists, start, length, size = graph.lists, graph.start, graph.length, graph.size
    count = graph.elements[pivot]
    size[pivot] = -size[pivot]
    total = 0
    if count == 0:  # L(p) = A(p) in its own place
        write = start[pivot]
    else:
        if graph.free[0] + left > len(lists):
            _compress(graph)
        write = graph.free[0]
    begin = write
    for k in range(count + 1):
        if k < count:
            source = lists[start[pivot] + k]
            p, end = start[source], start[source] + length[source]
            graph.parent[source] = pivot
            graph.mark[source] = 0
        else:
            p, end = start[pivot] + count, start[pivot] + length[pivot]
        while p < end:
            i = lists[p]
            p += 1
            if size[i] > 0:
                total += size[i]
                size[i] = -size[i]
                lists[write] = i
                write += 1
                _unlink(graph, i)
    start[pivot] = begin
    length[pivot] = write - begin
    graph.degree[pivot] = total
    graph.elements[pivot] = -1


@kernel
def _compress(graph):
    """Move all lists that are alive to the front of the space."""
    lists, start, length = graph.lists, graph.start, graph.length
    n = len(length)
    for i in range(n):
        alive = graph.mark[i] != 0 if graph.elements[i] == -1 else graph.size[i] != 0
        if alive and length[i] > 0:  # the list's head tells its owner, its first entry waits in start
            first = start[i]
            start[i] = lists[first]
            lists[first] = -i - 1
    write, p, end = 0, 0, graph.free[0]
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
    graph.free[0] = write


@kernel
def _measure_elements(graph, pivot, flag):
    """mark(e) - flag = |L(e) - L(p)| for every element e beside a variable of L(p)."""
    lists, start, size, mark = graph.lists, graph.start, graph.size, graph.mark
    for k in range(start[pivot], start[pivot] + graph.length[pivot]):
        i = lists[k]
        for p in range(start[i], start[i] + graph.elements[i]):
            e = lists[p]
            if mark[e] >= flag:
                mark[e] += size[i]  # size[i] is negative
            elif mark[e] != 0:
                mark[e] = graph.degree[e] + flag + size[i]


@kernel
def _update_variables(graph, pivot, flag, n):
    """E(i), A(i), d(i) and the hash value for each i in L(p); returns how many variables went with the pivot."""
    lists, start, length, elements = graph.lists, graph.start, graph.length, graph.elements
    size, degree, mark, parent = graph.size, graph.degree, graph.mark, graph.parent
    with_pivot = 0
    for k in range(start[pivot], start[pivot] + length[pivot]):
        i = lists[k]
        begin, middle, end = start[i], start[i] + elements[i], start[i] + length[i]
        write, value, external = begin, 0, 0
        for p in range(begin, middle):
            e = lists[p]
            if mark[e] > flag:
                external += mark[e] - flag
                lists[write] = e
                write += 1
                value += e
            elif mark[e] != 0:  # L(e) is inside of L(p): absorbed
                parent[e] = pivot
                mark[e] = 0
        first_variable = write
        for p in range(middle, end):
            j = lists[p]
            if size[j] > 0:
                external += size[j]
                lists[write] = j
                write += 1
                value += j
        if external == 0:  # no neighbour outside of L(p)
            parent[i] = pivot
            with_pivot -= size[i]
            size[i] = 0
            continue
        lists[write] = lists[first_variable]  # make room for the pivot at the front
        lists[first_variable] = lists[begin]
        lists[begin] = pivot
        elements[i] = first_variable - begin + 1
        length[i] = write - begin + 1
        degree[i] = min(degree[i], external)
        value %= n
        graph.before[i] = value
        graph.after[i] = graph.bucket[value]
        graph.bucket[value] = i
    size[pivot] -= with_pivot
    degree[pivot] -= with_pivot
    return with_pivot


@kernel
def _merge_indistinguishable(graph, pivot, flag):
    """Merge the variables of L(p) that have the same elements and variables; returns an unused flag."""
    lists, start, size, after, bucket = graph.lists, graph.start, graph.size, graph.after, graph.bucket
    for k in range(start[pivot], start[pivot] + graph.length[pivot]):
        if size[lists[k]] == 0:
            continue
        value = graph.before[lists[k]]
        i = bucket[value]
        bucket[value] = -1
        while i != -1 and after[i] != -1:
            for p in range(start[i] + 1, start[i] + graph.length[i]):
                graph.mark[lists[p]] = flag
            previous, j = i, after[i]
            while j != -1:
                if _same_lists(graph, i, j, flag):
                    graph.parent[j] = i
                    size[i] += size[j]
                    size[j] = 0
                    after[previous] = after[j]
                else:
                    previous = j
                j = after[j]
            flag += 1
            i = after[i]
    return flag


@kernel
def _same_lists(graph, i, j, flag):
    """Whether j has the lists of i, whose entries carry the flag."""
    if graph.length[i] != graph.length[j] or graph.elements[i] != graph.elements[j]:
        return False
    for p in range(graph.start[j] + 1, graph.start[j] + graph.length[j]):
        if graph.mark[graph.lists[p]] != flag:
            return False
    return True


@kernel
def _close_element(graph, pivot, left):
    """Put the variables of L(p) that are left back into the degree lists; returns the least degree."""
    lists, start, size, degree = graph.lists, graph.start, graph.size, graph.degree
    begin, end = start[pivot], start[pivot] + graph.length[pivot]
    write, least = begin, len(size)
    for k in range(begin, end):
        i = lists[k]
        if size[i] == 0:
            continue
        size[i] = -size[i]
        degree[i] = min(degree[i] + degree[pivot], left) - size[i]
        least = min(least, degree[i])
        _link(graph, i)
        lists[write] = i
        write += 1
    size[pivot] = -size[pivot]
    graph.length[pivot] = write - begin
    if write == begin:
        graph.mark[pivot] = 0
    if begin >= graph.free[0]:
        graph.free[0] = write
    return least


@kernel
def _assembly_order(graph, n):
    """Elements in postorder of the assembly tree, each with the variables it absorbed; dense variables last."""
    parent, elements = graph.parent, graph.elements
    owner = np.empty(n, np.int64)  # the element in which a variable was eliminated
    for i in range(n):
        j = i
        while elements[j] != -1 and parent[j] != -1:
            j = parent[j]
        owner[i] = j
        root = j
        j = i
        while j != root and elements[j] != -1:
            above = parent[j]
            parent[j] = root
            j = above
    tree = np.full(n, -1, np.int64)
    for i in range(n):
        if elements[i] == -1:
            tree[i] = parent[i]
    place = np.empty(n, np.int64)
    position = 0
    for i in postorder(tree):
        if elements[i] == -1:
            place[i] = position
            position += graph.size[i]
    perm = np.empty(n, np.int64)
    for i in range(n):
        if elements[owner[i]] != -1:  # dense
            perm[position] = i
            position += 1
        else:
            perm[place[owner[i]]] = i
            place[owner[i]] += 1
    return perm
