"""Symbolic analysis of the sparse factorization P K P' = L D L': tree, counts and index map, without values.

The elimination tree of a symmetric pattern has  parent(j) = min{i > j : L(i,j) != 0};  the pattern of
row k of L is the subtree of the tree that is cut off by the entries of row k of K (Liu 1990).  All
routines take the upper triangle by columns, which is the lower triangle by rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...compiled.kernels import inner, kernel
from ...compiled.signatures import Ints
from ..csc import transposed

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Analysis:
    """What the pattern of K and a permutation determine about  P K P' = L D L'.

    Attributes
    ----------
    perm : (n,) array
        The order of elimination, postordered: row k of P K P' is row ``perm[k]`` of K.
    parent : (n,) array
        Elimination tree of P K P', -1 at a root; ``parent[j] > j``, and every subtree is a range that ends in its root.
    counts : (n,) array
        Entries of each column of L below the diagonal.
    indptr, indices : arrays
        Upper triangle of P K P' by columns, in no particular order of the rows.
    position : (nnz,) array
        Entry k of K is entry ``position[k]`` of the permuted upper triangle.
    """

    perm: IntArray
    parent: IntArray
    counts: IntArray
    indptr: IntArray
    indices: IntArray
    position: IntArray

    @property
    def nnz(self) -> int:
        """Entries of L below the diagonal."""
        return int(self.counts.sum())

    @property
    def flops(self) -> float:
        """Floating-point operations of one factorization: c divisions and c (c + 1) for the update, per column."""
        c = self.counts.astype(np.float64)
        return float(np.sum(c * (c + 2.0)))


def analyze(n: int, indptr: IntArray, indices: IntArray, perm: IntArray) -> Analysis:
    """Analyze ``P K P'`` for the permutation `perm`, which is first postordered by its own elimination tree.

    A postorder is an equivalent order: the same fill and the same operations, with the columns that are
    alike beside each other.

    Parameters
    ----------
    n : int
        Order of K.
    indptr, indices : int64 arrays
        Upper triangle of K by columns (row <= column), the diagonal included.
    perm : (n,) int64 array
        Order of elimination.

    Returns
    -------
    Analysis

    Examples
    --------
    An arrow that points up fills in; eliminated from the tail it does not.

    >>> import numpy as np
    >>> indptr, indices = np.array([0, 1, 3, 5, 7]), np.array([0, 0, 1, 0, 2, 0, 3])
    >>> analyze(4, indptr, indices, np.arange(4)).nnz, analyze(4, indptr, indices, np.arange(4)[::-1].copy()).nnz
    (6, 3)
    """
    up, ui, position = permute_upper(n, indptr, indices, perm)
    parent = elimination_tree(n, up, ui)
    order, child, sibling, stack = np.empty((4, n), np.int64)
    postorder(parent, child, sibling, stack, order)
    if not np.array_equal(order, np.arange(n)):
        perm = perm[order]
        up, ui, position = permute_upper(n, indptr, indices, perm)
        above = parent[order]
        parent = np.where(above < 0, -1, inverse_permutation(order)[above])
    return Analysis(perm, parent, column_counts(n, up, ui, parent), up, ui, position)


def inverse_permutation(perm: IntArray) -> IntArray:
    """The permutation with ``inverse[perm] = 0, 1, ..., n - 1``."""
    inverse = np.empty_like(perm)
    inverse[perm] = np.arange(len(perm))
    return inverse


def permute_upper(n: int, indptr: IntArray, indices: IntArray, perm: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Upper triangle of ``P K P'`` from the upper triangle of K: ``(indptr, indices, position)``."""
    out_ptr = np.zeros(n + 1, np.int64)
    out_ind = np.empty(len(indices), np.int64)
    position = np.empty(len(indices), np.int64)
    _permute_upper(n, indptr, indices, inverse_permutation(perm), out_ptr, out_ind, position)
    return out_ptr, out_ind, position


@kernel
def _permute_upper(
    n: int, indptr: Ints, indices: Ints, inverse: Ints, out_ptr: Ints, out_ind: Ints, position: Ints
) -> None:  # fmt: skip
    # unsigned: numba then makes no test of negative indices
    for j in range(n):
        k = inverse[j]
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            out_ptr[np.uint64(max(inverse[np.uint64(indices[p])], k) + 1)] += 1
    for j in range(n):
        out_ptr[j + 1] += out_ptr[j]
    for j in range(n):  # column k goes to out_ptr[k] and on, which ends where column k + 1 begins
        k = inverse[j]
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            i = inverse[np.uint64(indices[p])]
            column = np.uint64(max(i, k))
            q = out_ptr[column]
            out_ptr[column] = q + 1
            out_ind[np.uint64(q)] = min(i, k)
            position[p] = q
    for j in range(n, 0, -1):
        out_ptr[j] = out_ptr[j - 1]
    out_ptr[0] = 0


def elimination_tree(n: int, indptr: IntArray, indices: IntArray) -> IntArray:
    """Parents in the elimination tree of a symmetric matrix given by its upper triangle; -1 at a root."""
    parent, ancestor = np.empty((2, n), np.int64)
    _elimination_tree(n, indptr, indices, ancestor, parent)
    return parent


@kernel
def _elimination_tree(n: int, indptr: Ints, indices: Ints, ancestor: Ints, parent: Ints) -> None:
    """`ancestor` is a shortcut on the path to the root of the tree built so far."""
    for k in range(n):
        parent[k] = ancestor[k] = -1
        for p in range(np.uint64(indptr[k]), np.uint64(indptr[k + 1])):
            i = indices[p]
            while i != -1 and i < k:
                above = ancestor[np.uint64(i)]
                ancestor[np.uint64(i)] = k
                if above == -1:
                    parent[np.uint64(i)] = k
                i = above


@kernel
def postorder(parent: Ints, child: Ints, sibling: Ints, stack: Ints, order: Ints) -> None:
    """order := the nodes of a forest, each behind all of its descendants; children and roots in ascending order.

    `child` (the first one of each node), `sibling` and `stack` are work arrays.
    """
    n = len(parent)
    for j in range(n):
        child[j] = sibling[j] = -1
    for j in range(n - 1, -1, -1):
        if parent[j] != -1:
            sibling[j] = child[parent[j]]
            child[parent[j]] = j
    depth_first(parent, child, sibling, stack, order)


@inner
def depth_first(parent: Ints, child: Ints, sibling: Ints, stack: Ints, order: Ints) -> None:
    """order := postorder of a forest whose children are linked lists, -1 at the end; `child` is used up."""
    count = 0
    for root in range(len(parent)):
        if parent[root] != -1:
            continue
        stack[0] = root
        depth = 0
        while depth >= 0:
            j = stack[depth]
            if child[j] == -1:
                order[count] = j
                count += 1
                depth -= 1
            else:
                depth += 1
                stack[depth] = child[j]
                child[j] = sibling[child[j]]


def column_counts(n: int, indptr: IntArray, indices: IntArray, parent: IntArray) -> IntArray:
    """Entries of each column of L below the diagonal, for a postordered tree (Gilbert, Ng and Peyton 1994).

    Row i of L is a subtree of the elimination tree.  A node j has  count(j) = sum over its subtree of the
    weights: +1 where a row subtree has a leaf, -1 at the least common ancestor of two neighbouring leaves
    of it, -1 at the parent of the root of it.  The time is nearly linear in the entries of K, not of L.
    """
    lower_ptr, lower_ind, _ = transposed(n, indptr, indices)
    counts, *work = np.empty((5, n), np.int64)
    _column_counts(n, lower_ptr, lower_ind, parent, *work, counts)
    return counts


@kernel
def _column_counts(
    n: int, lower_ptr: Ints, lower_ind: Ints, parent: Ints, first: Ints, ancestor: Ints, latest_first: Ints,
    latest_leaf: Ints, weight: Ints,
) -> None:  # fmt: skip
    """weight := the counts, from the lower triangle by columns; `first` is the first descendant of each node,
    `latest_first` of a row the first descendant of its latest leaf."""
    for j in range(n):
        ancestor[j] = j
        weight[j] = 0
        first[j] = latest_first[j] = latest_leaf[j] = -1
    for j in range(n):
        if first[j] == -1:
            first[j] = j
            weight[j] = 1  # a leaf of the tree is the leaf of its own row subtree
        if parent[j] != -1 and first[parent[j]] == -1:
            first[parent[j]] = first[j]
    for j in range(n):
        if parent[j] != -1:
            weight[parent[j]] -= 1  # row subtree j ends in j, the diagonal of L
        first_j = first[j]
        for p in range(np.uint64(lower_ptr[j]), np.uint64(lower_ptr[j + 1])):
            i = np.uint64(lower_ind[p])
            if first_j > latest_first[i] and i != np.uint64(j):
                weight[j] += 1
                if latest_leaf[i] != -1:
                    weight[_root(ancestor, latest_leaf[i])] -= 1
                latest_leaf[i] = j
                latest_first[i] = first_j
        if parent[j] != -1:
            ancestor[j] = parent[j]
    for j in range(n):
        if parent[j] != -1:
            weight[parent[j]] += weight[j]
        weight[j] -= 1


@inner
def _root(ancestor: Ints, j: int) -> int:
    """The root of the set of j, with path compression."""
    root = j
    while ancestor[root] != root:
        root = ancestor[root]
    while ancestor[j] != root:
        above = ancestor[j]
        ancestor[j] = root
        j = above
    return root
