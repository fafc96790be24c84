"""Rows of a sparse matrix that are multiples of each other.

Rows with equal patterns and equal entries relative to the first one have equal keys.  A hash table with open
addressing finds for each row the earlier rows with its key, which are then compared entry by entry.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import inner, kernel, leaf
from ..compiled.signatures import Bools, Floats, Ints

SAME = 1e-15  # largest relative difference of two entries that is ascribed to rounding
STEPS = 1048576.0  # Keys round the ratio of an entry to the first one in its row to multiples of 1 / STEPS.
MASK = (1 << 62) - 1
PRIME = 1099511


@kernel
def parallel_rows(
    first: int, indptr: Ints, indices: Ints, source: Ints, data: Floats, wanted: Bools, lead: Ints, ratio: Floats
) -> int:
    """Find for each wanted row the first earlier wanted row that it is a multiple of, and the factor.

        row (first + i) = ratio[i] row (first + lead[i]),    0 <= i < wanted.size

    Row i has the entries data[source[k]] in the columns indices[k], indptr[i] <= k < indptr[i + 1].  A row that is not
    wanted, is empty, begins with a zero or is a multiple of no other has lead[i] = i, ratio[i] = 1.

    Return the number of rows with lead[i] != i.
    """
    count, size = wanted.size, 4
    while size < 2 * count:
        size *= 2
    table, keys, last = np.full(size, -1, np.int64), np.empty(count, np.int64), size - 1
    found = 0
    for i in range(count):
        lead[i], ratio[i] = i, 1.0
        if not wanted[i]:
            continue
        begin = indptr[first + i]
        if begin == indptr[first + i + 1] or data[source[begin]] == 0.0:
            continue
        key, head = 0, data[source[begin]]  # All multiples of a row have equal keys.
        for k in range(begin, indptr[first + i + 1]):
            key = longer_key(key, int(indices[k]), data[source[k]] / head)
        keys[i] = key
        at = first_place(key, last)
        while table[at] >= 0:
            r = table[at]
            s = row_ratio(first + i, first + r, indptr, indices, source, data) if keys[r] == keys[i] else 0.0
            if s != 0.0:
                lead[i], ratio[i] = r, s
                found += 1
                break
            at = (at + 1) & last
        if lead[i] == i:
            table[at] = i
    return found


@leaf
def longer_key(key: int, column: int, share: float) -> int:
    """Return the key of a row extended by an entry in `column`, where `share` is its ratio to the first entry."""
    rounded = math.floor(share * STEPS + 0.5) if abs(share) < 1e12 else 1
    key = ((key ^ (column + 1)) * PRIME) & MASK
    return ((key ^ (rounded & MASK)) * PRIME) & MASK


@leaf
def first_place(key: int, last: int) -> int:
    """Return where the search for a key begins in a table of last + 1 places."""
    return (key ^ (key >> 20)) & last


@inner
def may_be_parallel(indptr: Ints, indices: Ints, data: Floats, wanted: Bools) -> bool:
    """Return True if two wanted rows of a CSC matrix have equal keys, zeros ignored; if False, none are parallel."""
    m, size = wanted.size, 4
    while size < 2 * m:
        size *= 2
    keys, heads, table = np.zeros(m, np.int64), np.zeros(m), np.full(size, -1, np.int64)
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            row, entry = indices[k], data[k]
            if heads[row] == 0.0:
                heads[row] = entry
            if entry != 0.0:
                keys[row] = longer_key(int(keys[row]), j, entry / heads[row])
    for i in range(m):
        if not wanted[i]:
            continue
        at = first_place(keys[i], size - 1)
        while table[at] >= 0:
            if keys[table[at]] == keys[i]:
                return True
            at = (at + 1) & (size - 1)
        table[at] = i
    return False


@inner
def row_ratio(i: int, r: int, indptr: Ints, indices: Ints, source: Ints, data: Floats) -> float:
    """Return the ratio s with row i = s row r up to rounding, for r < i, or 0 if there is no such ratio."""
    begin, other = indptr[i], indptr[r]
    if indptr[i + 1] - begin != indptr[r + 1] - other:
        return 0.0
    s = data[source[begin]] / data[source[other]]
    if s == 0.0 or not math.isfinite(s):
        return 0.0
    back = begin - other
    for k in range(begin, indptr[i + 1]):
        if indices[k] != indices[k - back]:
            return 0.0
        entry = data[source[k]]
        if not abs(entry - s * data[source[k - back]]) <= SAME * abs(entry):
            return 0.0
    return s
