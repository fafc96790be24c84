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
variables with very many neighbours are set aside and ordered last.  Weak variables, whose diagonal entry is
zero, wait until a neighbour has been eliminated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compiled.kernels import inner, kernel, leaf
from ...compiled.signatures import Bools, IntMatrix, Ints
from .symbolic import postorder

IntArray = NDArray[np.int64]

DENSE_FACTOR = 10.0  # a row with more than DENSE_FACTOR sqrt(n) neighbours is dense,
DENSE_LEAST = 16  # but not one with at most DENSE_LEAST


def amd(n: int, indptr: IntArray, indices: IntArray, weak: NDArray[np.bool_] | None = None) -> IntArray:
    """Approximate minimum degree order of a symmetric pattern.

    Parameters
    ----------
    n : int
        Order of the matrix.
    indptr, indices : int64 arrays
        A pattern by columns: the upper triangle, the lower one, or both. The pattern of K + K' is ordered; the
        diagonal does not matter, and neither do repeated entries.
    weak : (n,) bool array, optional
        Variables that no pivot should be taken from before a neighbour of theirs.

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
    weak = np.zeros(n, np.bool_) if weak is None else np.ascontiguousarray(weak, np.bool_)
    perm = np.empty(n, np.int64)
    if n:
        entries = 2 * int(indptr[n])
        graph, lists = np.zeros((13, n), np.int64), np.empty(entries + entries // 5 + n, np.int64)
        _minimum_degree(n, indptr, indices, dense, weak, graph, lists, perm)
    return perm


# The quotient graph is one array with a row for each of
START = 0  # of a variable's or element's list in `lists`: elements, then variables; or the variables of the element
LENGTH = 1  # of the list
ELEMENTS = 2  # of a variable: how many elements its list begins with; -1: it is an element
SIZE = 3  # of a supervariable: variables in it, 0 when absorbed, negative while it is in the element in progress
DEGREE = 4  # of a variable: the bound on its external degree; of an element: |L(e)|
PARENT = 5  # what an absorbed variable or element went into; -1 at a root
MARK = 6  # of an element: flag + |L(e) - L(p)|, 0 when absorbed
HEAD = 7  # of degree d: first variable of that degree
AFTER = 8  # next variable of the same degree, or of the same hash value
BEFORE = 9  # previous variable of the same degree; or the hash value
BUCKET = 10  # of a hash value: first variable
OWNER = 11  # in the end: the element in which a variable was eliminated
FREE = 12  # at 0: the first free place of `lists`
WAITING = -2  # in BEFORE: a weak variable that is in no list yet


@kernel
def _minimum_degree(
    n: int, indptr: Ints, indices: Ints, dense: int, weak: Bools, graph: IntMatrix, lists: Ints, perm: Ints
) -> None:  # fmt: skip
    """Eliminate pivot after pivot of least approximate degree; `graph` comes as zeros."""
    _adjacency(graph, lists, n, indptr, indices)
    eliminated = _start_degree_lists(graph, lists, n, dense, weak)
    flag, least, largest = 2, 0, 0
    while eliminated < n:
        while least < n and graph[HEAD, least] == -1:
            least += 1
        if least == n:  # weak variables with weak neighbours alone
            least = _link_waiting(graph)
        pivot = graph[HEAD, least]
        _unlink(graph, pivot)
        eliminated += graph[SIZE, pivot]
        _form_element(graph, lists, pivot, n - eliminated)
        graph[MARK, pivot] = flag
        largest = max(largest, graph[DEGREE, pivot])
        _measure_elements(graph, lists, pivot, flag)
        eliminated += _update_variables(graph, lists, pivot, flag, n)
        flag = _merge_indistinguishable(graph, lists, pivot, flag + largest + 1)
        least = min(least, _close_element(graph, lists, pivot, n - eliminated))
    _assembly_order(graph, n, weak, perm)


@inner
def _adjacency(graph: IntMatrix, lists: Ints, n: int, indptr: Ints, indices: Ints) -> None:
    """The lists of the graph of K + K', without diagonal and repetitions, with elbow room behind them."""
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            graph[LENGTH, j] += 1
            graph[LENGTH, indices[p]] += 1
    total = 0
    for j in range(n):
        graph[START, j] = total
        total += graph[LENGTH, j]
        graph[LENGTH, j] = 0
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            lists[graph[START, i] + graph[LENGTH, i]] = j
            graph[LENGTH, i] += 1
            lists[graph[START, j] + graph[LENGTH, j]] = i
            graph[LENGTH, j] += 1
    write = 0
    for j in range(n):
        begin = write
        graph[MARK, j] = j + 1  # seen, and so is the diagonal
        for p in range(graph[START, j], graph[START, j] + graph[LENGTH, j]):
            i = lists[p]
            if graph[MARK, i] != j + 1:
                graph[MARK, i] = j + 1
                lists[write] = i
                write += 1
        graph[START, j] = begin
        graph[LENGTH, j] = write - begin
    graph[FREE, 0] = write


@inner
def _start_degree_lists(graph: IntMatrix, lists: Ints, n: int, dense: int, weak: Bools) -> int:
    """Set dense variables aside, eliminate those without neighbours, list the others; how many are done."""
    done = 0
    for i in range(n):
        graph[SIZE, i] = 1
        graph[MARK, i] = 1
        graph[DEGREE, i] = graph[LENGTH, i]
        graph[PARENT, i] = graph[HEAD, i] = graph[BUCKET, i] = -1
        if graph[LENGTH, i] > dense:
            graph[SIZE, i] = 0
            done += 1
    for i in range(n):
        if graph[SIZE, i] == 0:
            for p in range(graph[START, i], graph[START, i] + graph[LENGTH, i]):
                graph[DEGREE, lists[p]] -= 1
    for i in range(n):
        if graph[SIZE, i] == 0:
            continue
        if graph[DEGREE, i] == 0:
            graph[ELEMENTS, i] = -1
            graph[MARK, i] = 0
            done += 1
        elif weak[i]:
            graph[BEFORE, i] = WAITING
        else:
            _link(graph, i)
    return done


@inner
def _link_waiting(graph: IntMatrix) -> int:
    """List the variables that wait; returns their least degree."""
    least = graph.shape[1]
    for i in range(graph.shape[1]):
        if graph[ELEMENTS, i] != -1 and graph[SIZE, i] > 0 and graph[BEFORE, i] == WAITING:
            _link(graph, i)
            least = min(least, graph[DEGREE, i])
    return least


@leaf
def _link(graph: IntMatrix, i: int) -> None:
    """Put variable i at the head of the list of its degree."""
    first = graph[HEAD, graph[DEGREE, i]]
    graph[BEFORE, i] = -1
    graph[AFTER, i] = first
    if first != -1:
        graph[BEFORE, first] = i
    graph[HEAD, graph[DEGREE, i]] = i


@leaf
def _unlink(graph: IntMatrix, i: int) -> None:
    """Take variable i out of the list of its degree."""
    before, after = graph[BEFORE, i], graph[AFTER, i]
    if before == WAITING:
        return
    if after != -1:
        graph[BEFORE, after] = before
    if before != -1:
        graph[AFTER, before] = after
    else:
        graph[HEAD, graph[DEGREE, i]] = after


@inner
def _form_element(graph: IntMatrix, lists: Ints, pivot: int, left: int) -> None:
    """L(p) = A(p) + union of L(e), e in E(p), without p; its variables leave the degree lists, sizes negative."""
    count = graph[ELEMENTS, pivot]
    graph[SIZE, pivot] = -graph[SIZE, pivot]
    total = 0
    if count == 0:  # L(p) = A(p) in its own place
        write = graph[START, pivot]
    else:
        if graph[FREE, 0] + left > len(lists):
            _compress(graph, lists)
        write = graph[FREE, 0]
    begin = write
    for k in range(count + 1):
        if k < count:
            source = lists[graph[START, pivot] + k]
            p, end = graph[START, source], graph[START, source] + graph[LENGTH, source]
            graph[PARENT, source] = pivot
            graph[MARK, source] = 0
        else:
            p, end = graph[START, pivot] + count, graph[START, pivot] + graph[LENGTH, pivot]
        while p < end:
            i = lists[p]
            p += 1
            if graph[SIZE, i] > 0:
                total += graph[SIZE, i]
                graph[SIZE, i] = -graph[SIZE, i]
                lists[write] = i
                write += 1
                _unlink(graph, i)
    graph[START, pivot] = begin
    graph[LENGTH, pivot] = write - begin
    graph[DEGREE, pivot] = total
    graph[ELEMENTS, pivot] = -1


@inner
def _compress(graph: IntMatrix, lists: Ints) -> None:
    """Move all lists that are alive to the front of the space."""
    n = graph.shape[1]
    for i in range(n):
        alive = graph[MARK, i] != 0 if graph[ELEMENTS, i] == -1 else graph[SIZE, i] != 0
        if alive and graph[LENGTH, i] > 0:  # the list's head tells its owner, its first entry waits in start
            first = graph[START, i]
            graph[START, i] = lists[first]
            lists[first] = -i - 1
    write, p, end = 0, 0, graph[FREE, 0]
    while p < end:
        if lists[p] >= 0:
            p += 1
            continue
        i = -lists[p] - 1
        lists[write] = graph[START, i]
        graph[START, i] = write
        for k in range(1, graph[LENGTH, i]):
            lists[write + k] = lists[p + k]
        write += graph[LENGTH, i]
        p += graph[LENGTH, i]
    graph[FREE, 0] = write


@inner
def _measure_elements(graph: IntMatrix, lists: Ints, pivot: int, flag: int) -> None:
    """mark(e) - flag = |L(e) - L(p)| for every element e beside a variable of L(p)."""
    for k in range(graph[START, pivot], graph[START, pivot] + graph[LENGTH, pivot]):
        i = lists[k]
        size = graph[SIZE, i]  # negative
        # unsigned: numba then makes no test of negative indices
        for p in range(np.uint64(graph[START, i]), np.uint64(graph[START, i] + graph[ELEMENTS, i])):
            e = np.uint64(lists[p])
            mark = graph[MARK, e]
            if mark >= flag:
                graph[MARK, e] = mark + size
            elif mark != 0:
                graph[MARK, e] = graph[DEGREE, e] + flag + size


@inner
def _update_variables(graph: IntMatrix, lists: Ints, pivot: int, flag: int, n: int) -> int:
    """E(i), A(i), d(i) and the hash value for each i in L(p); returns how many variables went with the pivot."""
    with_pivot = 0
    for k in range(graph[START, pivot], graph[START, pivot] + graph[LENGTH, pivot]):
        i = lists[k]
        begin, middle, end = graph[START, i], graph[START, i] + graph[ELEMENTS, i], graph[START, i] + graph[LENGTH, i]
        write, value, external = begin, 0, 0
        for p in range(np.uint64(begin), np.uint64(middle)):
            element = lists[p]
            e = np.uint64(element)
            mark = graph[MARK, e]
            if mark > flag:
                external += mark - flag
                lists[np.uint64(write)] = element
                write += 1
                value += element
            elif mark != 0:  # L(e) is inside of L(p): absorbed
                graph[PARENT, e] = pivot
                graph[MARK, e] = 0
        first_variable = write
        for p in range(np.uint64(middle), np.uint64(end)):
            j = lists[p]
            size = graph[SIZE, np.uint64(j)]
            if size > 0:
                external += size
                lists[np.uint64(write)] = j
                write += 1
                value += j
        if external == 0:  # no neighbour outside of L(p)
            graph[PARENT, i] = pivot
            with_pivot -= graph[SIZE, i]
            graph[SIZE, i] = 0
            continue
        lists[write] = lists[first_variable]  # make room for the pivot at the front
        lists[first_variable] = lists[begin]
        lists[begin] = pivot
        graph[ELEMENTS, i] = first_variable - begin + 1
        graph[LENGTH, i] = write - begin + 1
        graph[DEGREE, i] = min(graph[DEGREE, i], external)
        value %= n
        graph[BEFORE, i] = value
        graph[AFTER, i] = graph[BUCKET, value]
        graph[BUCKET, value] = i
    graph[SIZE, pivot] -= with_pivot
    graph[DEGREE, pivot] -= with_pivot
    return with_pivot


@inner
def _merge_indistinguishable(graph: IntMatrix, lists: Ints, pivot: int, flag: int) -> int:
    """Merge the variables of L(p) that have the same elements and variables; returns an unused flag."""
    for k in range(graph[START, pivot], graph[START, pivot] + graph[LENGTH, pivot]):
        if graph[SIZE, lists[k]] == 0:
            continue
        value = graph[BEFORE, lists[k]]
        i = graph[BUCKET, value]
        graph[BUCKET, value] = -1
        while i != -1 and graph[AFTER, i] != -1:
            for p in range(graph[START, i] + 1, graph[START, i] + graph[LENGTH, i]):
                graph[MARK, lists[p]] = flag
            previous, j = i, graph[AFTER, i]
            while j != -1:
                if _same_lists(graph, lists, i, j, flag):
                    graph[PARENT, j] = i
                    graph[SIZE, i] += graph[SIZE, j]
                    graph[SIZE, j] = 0
                    graph[AFTER, previous] = graph[AFTER, j]
                else:
                    previous = j
                j = graph[AFTER, j]
            flag += 1
            i = graph[AFTER, i]
    return flag


@leaf
def _same_lists(graph: IntMatrix, lists: Ints, i: int, j: int, flag: int) -> bool:
    """Whether j has the lists of i, whose entries carry the flag."""
    if graph[LENGTH, i] != graph[LENGTH, j] or graph[ELEMENTS, i] != graph[ELEMENTS, j]:
        return False
    for p in range(graph[START, j] + 1, graph[START, j] + graph[LENGTH, j]):
        if graph[MARK, lists[p]] != flag:
            return False
    return True


@inner
def _close_element(graph: IntMatrix, lists: Ints, pivot: int, left: int) -> int:
    """Put the variables of L(p) that are left back into the degree lists; returns the least degree."""
    begin, end = graph[START, pivot], graph[START, pivot] + graph[LENGTH, pivot]
    write, least = begin, graph.shape[1]
    for k in range(begin, end):
        i = lists[k]
        if graph[SIZE, i] == 0:
            continue
        graph[SIZE, i] = -graph[SIZE, i]
        graph[DEGREE, i] = min(graph[DEGREE, i] + graph[DEGREE, pivot], left) - graph[SIZE, i]
        least = min(least, graph[DEGREE, i])
        _link(graph, i)
        lists[write] = i
        write += 1
    graph[SIZE, pivot] = -graph[SIZE, pivot]
    graph[LENGTH, pivot] = write - begin
    if write == begin:
        graph[MARK, pivot] = 0
    if begin >= graph[FREE, 0]:
        graph[FREE, 0] = write
    return least


@inner
def _assembly_order(graph: IntMatrix, n: int, weak: Bools, perm: Ints) -> None:
    """Elements in postorder of the assembly tree, each with the variables it absorbed, the weak ones behind the others;
    dense variables last."""
    tree, order = graph[HEAD], graph[AFTER]  # the degree lists have done their part
    for i in range(n):
        tree[i] = graph[PARENT, i] if graph[ELEMENTS, i] == -1 else -1
        j = i
        while graph[ELEMENTS, j] != -1 and graph[PARENT, j] != -1:
            j = graph[PARENT, j]
        graph[OWNER, i] = j
        k = i
        while k != j:  # path compression, among absorbed variables alone
            above = graph[PARENT, k]
            graph[PARENT, k] = j
            k = above
    postorder(tree, graph[BEFORE], graph[BUCKET], graph[MARK], order)
    count = 0
    for k in range(n):
        i = order[k]
        if graph[ELEMENTS, i] == -1:
            graph[START, i] = count
            count += graph[SIZE, i]
    for turn in range(2):
        for i in range(n):
            owner = graph[OWNER, i]
            if weak[i] != (turn == 1):
                continue
            if graph[ELEMENTS, owner] == -1:
                perm[graph[START, owner]] = i
                graph[START, owner] += 1
            else:  # dense
                perm[count] = i
                count += 1
