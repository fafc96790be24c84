"""Symbolic analysis of the sparse factorization P K P' = L D L': tree, counts and index map, without values.

The elimination tree of a symmetric pattern has  parent(j) = min{i > j : L(i,j) != 0};  the pattern of
row k of L is the subtree of the tree that is cut off by the entries of row k of K (Liu 1990).  All
routines take the upper triangle by columns, which is the lower triangle by rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import inner, kernel
from ....compiled.signatures import Ints
from ....compiled.structures import Structure, integer, integers, number

IntArray = NDArray[np.int64]


class Analysis(Structure):
    """Structure of  P K P' = L D L'  that follows from the pattern of K and a permutation.

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
    source : (nnz,) array
        Entry q of the permuted upper triangle is entry ``source[q]`` of K.
    nnz : int
        Entries of L below the diagonal.
    flops : float
        Floating-point operations of one factorization: c divisions and c (c + 1) operations for a column of c entries.
    """

    perm, parent, counts = integers("n", scratch=True), integers("n", scratch=True), integers("n", scratch=True)
    indptr, indices = integers("n + 1", scratch=True), integers("entries", scratch=True)
    source = integers("entries", scratch=True)
    nnz, flops = integer(), number()


def analyze(n: int, indptr: IntArray, indices: IntArray, perm: IntArray) -> Analysis:
    """Return the symbolic analysis of ``P K P'`` for the permutation `perm`, postordered by its elimination tree.

    A postorder is an equivalent order: fill and operations are equal, and columns with similar patterns are
    neighbours.

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
    raw, analysis = (Analysis(n=n, entries=int(indptr[n])) for _ in range(2))
    determine(analysis, raw, indptr, indices, perm)
    return analysis


@kernel
def determine(analysis: Analysis, raw: Analysis, indptr: Ints, indices: Ints, perm: Ints) -> None:
    """Run `analyze` into preallocated arrays; `raw` becomes the analysis before it is postordered."""
    n = perm.size
    order, child, sibling, stack = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), raw.perm
    permute_upper(indptr, indices, perm, raw.indptr, raw.indices, raw.source)
    tree_and_counts(raw.indptr, raw.indices, raw.parent, raw.counts)
    postorder(raw.parent, child, sibling, stack, order)
    raw.nnz, raw.flops = 0, 0.0
    for j in range(n):
        raw.perm[j] = perm[j]
        raw.nnz += raw.counts[j]
        raw.flops += raw.counts[j] * (raw.counts[j] + 2.0)
    put_in_order(analysis, raw, order)


@kernel
def put_in_order(after: Analysis, analysis: Analysis, order: Ints) -> None:
    """Write to `after` the analysis with column order[k] moved to place k; each column must follow its descendants."""
    n, parent, place, q = order.size, analysis.parent, np.empty(order.size, np.int64), 0
    for k in range(n):
        place[order[k]] = k
    after.indptr[0] = 0
    for k in range(n):
        j = order[k]
        after.perm[k], after.counts[k] = analysis.perm[j], analysis.counts[j]
        after.parent[k] = place[parent[j]] if parent[j] >= 0 else -1
        for p in range(analysis.indptr[j], analysis.indptr[j + 1]):
            after.indices[q], after.source[q] = place[analysis.indices[p]], analysis.source[p]
            q += 1
        after.indptr[k + 1] = q
    after.nnz, after.flops = analysis.nnz, analysis.flops


@inner
def permute_upper(indptr: Ints, indices: Ints, perm: Ints, out_ptr: Ints, out_ind: Ints, source: Ints) -> None:
    """Compute the upper triangle of ``P K P'`` from the upper triangle of K; entry q comes from entry ``source[q]``."""
    n, inverse = perm.size, np.empty(perm.size, np.int64)
    for k in range(n):
        inverse[perm[k]] = k
    for j in range(n + 1):
        out_ptr[j] = 0
    for j in range(n):
        k = inverse[j]
        for p in range(indptr[j], indptr[j + 1]):
            out_ptr[max(inverse[indices[p]], k) + 1] += 1
    for j in range(n):
        out_ptr[j + 1] += out_ptr[j]
    for j in range(n):  # out_ptr[k], the next free place of column k, ends where column k + 1 begins.
        k = inverse[j]
        for p in range(indptr[j], indptr[j + 1]):
            i = inverse[indices[p]]
            column = max(i, k)
            q = out_ptr[column]
            out_ptr[column] = q + 1
            out_ind[q] = min(i, k)
            source[q] = p
    for j in range(n, 0, -1):
        out_ptr[j] = out_ptr[j - 1]
    out_ptr[0] = 0


@inner
def tree_and_counts(indptr: Ints, indices: Ints, parent: Ints, counts: Ints) -> None:
    """Compute the elimination tree, with parent -1 at a root, and the entries of each column of L below the diagonal.

    All entries of L are visited row by row, which takes less time than one solve with L.
    """
    seen = np.empty(parent.size, np.int64)
    for k in range(parent.size):
        parent[k], counts[k], seen[k] = -1, 0, k
        for p in range(indptr[k], indptr[k + 1]):
            i = indices[p]
            while seen[i] != k:
                seen[i] = k
                counts[i] += 1
                if parent[i] == -1:
                    parent[i] = k
                i = parent[i]


@kernel
def postorder(parent: Ints, child: Ints, sibling: Ints, stack: Ints, order: Ints) -> None:
    """Write to `order` the nodes of a forest, each after all of its descendants; children and roots ascend.

    `child` (the first child of each node that is not yet visited), `sibling` and `stack` are work arrays.
    """
    n = len(parent)
    for j in range(n):
        child[j] = sibling[j] = -1
    for j in range(n - 1, -1, -1):
        if parent[j] != -1:
            above = parent[j]
            sibling[j] = child[above]
            child[above] = j
    count = 0
    for root in range(len(parent)):
        if parent[root] != -1:
            continue
        stack[0] = root
        depth = 0
        while depth >= 0:
            j = stack[depth]
            below = child[j]
            if below == -1:
                order[count] = j
                count += 1
                depth -= 1
            else:
                depth += 1
                stack[depth] = below
                child[j] = sibling[below]


@inner
def find_rows(indptr: Ints, indices: Ints, owner: Ints, parent: Ints, row_start: Ints, rows: Ints) -> None:
    """rows[row_start[k]:row_start[k + 1]] := the rows of block k of columns of L below its triangle, ascending.

    `owner` is the block of each column, `parent` the parent of each block in the tree.  Row i of L is in the blocks on
    the paths of the tree from the entries of K(1:i, i) to i.
    """
    fill, seen, above = row_start.copy(), np.empty(parent.size, np.int64), parent
    owners = owner
    for k in range(parent.size):
        seen[k] = -1
    for i in range(owner.size):
        seen[owners[i]] = i
        for p in range(indptr[i], indptr[i + 1]):
            k = owners[indices[p]]
            while seen[k] != i:
                seen[k] = i
                rows[fill[k]] = i
                fill[k] += 1
                k = above[k]
