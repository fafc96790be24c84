"""Strips of L: one column, or four neighbouring ones over the same rows, for factorization by rows.

Columns of a fundamental supernode have the same rows by themselves, and so have some siblings (see `siblings`).  A
column and its parent beside it are put together too where few explicit zeros do it: a strip costs little more than one
column of it.
"""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import inner, kernel
from ....compiled.signatures import Floats
from ....compiled.structures import Structure, floats, integer, integers, number
from ..factors import Factors
from ..symbolic.analysis import Analysis, find_rows
from ..symbolic.siblings import are_siblings

ZEROS = 0.2  # of the entries of a strip may be explicit zeros

# The time of one factorization and three solves, in nanoseconds: a fit to many matrices
STRIP = 35.0
NARROW, FOURTH = 3.8, 4.7  # an entry of a strip of one column, of four
# one entry of a strip of one column, of four, subtracted from one row, from four rows at once
ONE_ONE, FOUR_ONE, ONE_FOUR, FOUR_FOUR = 0.9, 1.2, 1.2, 2.5


class Strips(Structure):
    """The strips of a factor.

    Attributes
    ----------
    first : array
        Strip s has the columns first[s] ... first[s + 1] - 1.
    count, rows, entries : int
        The strips, the rows below the triangles of all of them, and the numbers that they hold.
    constant_columns, constant, kept : int
        The columns that are constant (see `constant`), the first ones; the strips of these, and the entries of K there.
    time : float
        What one factorization and three solves are expected to take, in nanoseconds.
    """

    first = integers("n + 1")
    count, rows, entries, time = integer(), integer(), integer(), number()
    constant_columns, constant, kept = integer(), integer(), integer()


def strips_of(analysis: Analysis, constant: int = 0) -> Strips:
    """The strips for an order of elimination in which so many columns are constant, the first ones."""
    strips = Strips(n=analysis.perm.size)
    strips.constant_columns = constant
    find_strips(strips, analysis)
    strips.time = expected_time(strips, analysis)
    return strips


@kernel
def find_strips(strips: Strips, analysis: Analysis) -> None:
    """Four columns where they fit together, else one."""
    n, counts, first, count, rows, entries, j = analysis.perm.size, analysis.counts, strips.first, 0, 0, 0, 0
    constant = strips.constant_columns
    while j < n:
        first[count] = j
        count += 1
        if fits(analysis, j) and not j < constant < j + 4:
            rows += counts[j + 3]
            entries += 6 + 4 * counts[j + 3]
            j += 4
        else:
            rows += counts[j]
            entries += counts[j]
            j += 1
        if j == constant:
            strips.constant = count
    first[count] = n
    strips.count, strips.rows, strips.entries = count, rows, entries
    if constant > 0:
        strips.kept = entries_of_constants(analysis, constant)


@inner
def entries_of_constants(analysis: Analysis, constant: int) -> int:
    """The entries of K in so many first columns of its lower triangle."""
    kept = 0
    for i in analysis.indices:
        kept += i < constant
    return kept


@kernel
def expected_time(strips: Strips, analysis: Analysis) -> float:
    """What one factorization and three solves are expected to take, in nanoseconds.

    The rows of a strip are among its ancestors in the elimination tree: those of strips of four come together.  Of
    its rows at least so many are of strips of four as ancestors of one column do not make up for.
    """
    first, counts, count, time = strips.first, analysis.counts, strips.count, STRIP * strips.count
    owner, ones, fours = np.empty(counts.size, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    for s in range(count):
        for j in range(first[s], first[s + 1]):
            owner[j] = s
    for s in range(count - 1, -1, -1):
        last = first[s + 1] - 1
        height, parent, ones[s], fours[s] = counts[last], analysis.parent[last], 0, 0
        if parent >= 0:
            t = owner[parent]
            wide = first[t + 1] - first[t] > 1
            ones[s], fours[s] = ones[t] + int(not wide), fours[t] + 4 * int(wide)
        together = min(max(height - ones[s], 0), fours[s])
        alone = height - together
        separate = alone * (together + 0.5 * alone)  # entries that are subtracted, row by row
        if s < strips.constant:  # solved with, and factorized once
            time += NARROW * (first[s + 1] - first[s]) * height
        elif last > first[s]:
            time += FOURTH * (6 + 4 * height) + FOUR_ONE * separate + FOUR_FOUR * together * together / 8.0
        else:
            missing = 1.0 - together / max(fours[s], 1)  # a strip of four is left out with the probability missing^4
            met = 0.25 * fours[s] * (1.0 - missing * missing * missing * missing)
            time += NARROW * height + ONE_ONE * separate + ONE_FOUR * met * 0.5 * together
    return time


@inner
def fits(analysis: Analysis, j: int) -> bool:
    """Whether four columns from j on make a strip: siblings, or each the parent of the one before, with few zeros."""
    parent, counts = analysis.parent, analysis.counts
    if j + 4 > parent.size:
        return False
    if are_siblings(parent, counts, j):
        return True
    last, zeros = counts[j + 3], 0
    for i in range(j, j + 3):
        if parent[i] != i + 1:
            return False
        zeros += last + (j + 3 - i) - counts[i]
    return zeros <= ZEROS * (4 * last + 6)


class FourWideFactors(Factors):
    """L by strips.

    Attributes
    ----------
    indptr, indices, source : arrays
        The permuted upper triangle of K by columns; its entry q is entry ``source[q]`` of K.
    strip : array
        Four numbers for each strip: its first column, the places of its rows and of its values, and the end of the rows
        that are factored.
    start : array
        Twice the place of the rows of each strip, and 1 more for four columns.
    rows, values : arrays
        The rows of each strip below its triangle; the triangle of each, then its rows.
    row_start, columns : arrays
        The strips that have rows of strip s are ``columns[row_start[s]:row_start[s + 1]]``.
    inverse : (n,) array
        1 / D.
    constant, constant_columns : int
        The strips and columns that are static (see `static`), the first ones; of these
    base, base_d, kept : arrays
        L21 D1 L21', its diagonal, and the entries of K that it was made of.
    link, middle : arrays
        Where in each row the other strips, and the other entries of K, begin.
    """

    indptr, indices = integers("n + 1"), integers("given", scratch=True)
    source = integers("given", scratch=True)
    strip, strips, reached = integers("4 * (count + 2)"), integer(), integer()
    start, row_start, link = integers("count + 1"), integers("count + 1"), integers("count")
    rows, columns = integers("held", scratch=True), integers("held", scratch=True)
    values, inverse = floats("entries", scratch=True), floats("n")
    work, work_four = floats("2 * n"), floats("4 * n")
    constant, constant_columns, replaced_constants = integer(), integer(), integer()
    base, base_d, kept, middle = floats("based * entries"), floats("based * n"), floats("kept_entries"), integers("n")
    kept_eps, kept_delta = number(), number()

    def __init__(self, strips: Strips, analysis: Analysis, signs: Floats) -> None:
        super().__init__(
            n=analysis.perm.size, given=analysis.source.size, count=strips.count, held=strips.rows,
            entries=strips.entries, based=int(strips.constant > 0), kept_entries=strips.kept,
        )  # fmt: skip
        strip_pattern(self, strips, analysis, signs)


@kernel
def strip_pattern(ldl: FourWideFactors, strips: Strips, analysis: Analysis, signs: Floats) -> None:
    """The order, the permuted K, and the pattern of L by strips and, for the order of the work, by their rows."""
    n, strip, first, counts = analysis.perm.size, ldl.strip, strips.first, analysis.counts
    ldl.strips = strips.count
    for k in range(n):
        ldl.perm[k] = analysis.perm[k]
        ldl.signs[k], ldl.d[k], ldl.inverse[k] = signs[ldl.perm[k]], 1.0, 1.0
        ldl.indptr[k + 1] = analysis.indptr[k + 1]
    ldl.constant, ldl.constant_columns = strips.constant, strips.constant_columns
    put_entries(ldl, analysis)
    for s in range(strips.count):
        width, height = first[s + 1] - first[s], counts[first[s + 1] - 1]
        ldl.start[s] = 2 * strip[4 * s + 1] + (width > 1)
        strip[4 * s + 4] = first[s + 1]
        strip[4 * s + 5] = strip[4 * s + 1] + height
        strip[4 * s + 6] = strip[4 * s + 2] + (width * (width - 1)) // 2 + width * height
    ldl.start[strips.count] = 2 * strip[4 * strips.count + 1]
    link_rows(ldl, analysis)
    for s in range(strips.count):
        ldl.link[s] = ldl.row_start[s]
        if s >= ldl.constant:
            while ldl.link[s] < ldl.row_start[s + 1] and ldl.columns[ldl.link[s]] < ldl.constant:
                ldl.link[s] += 1
    for i in range(ldl.kept.size):
        ldl.kept[i] = np.nan


@inner
def put_entries(ldl: FourWideFactors, analysis: Analysis) -> None:
    """The permuted K by columns, where the entries of constant columns of its lower triangle come before `middle`."""
    indptr, indices, constant = analysis.indptr, analysis.indices, ldl.constant_columns
    for k in range(ldl.middle.size):
        at = ldl.middle[k] = indptr[k]
        if k < constant or constant == 0:
            for q in range(indptr[k], indptr[k + 1]):
                ldl.indices[q], ldl.source[q] = indices[q], analysis.source[q]
            continue
        end = indptr[k + 1]
        for q in range(indptr[k], indptr[k + 1]):
            if indices[q] < constant:
                ldl.indices[at], ldl.source[at] = indices[q], analysis.source[q]
                at += 1
            else:
                end -= 1
                ldl.indices[end], ldl.source[end] = indices[q], analysis.source[q]
        ldl.middle[k] = at


@inner
def link_rows(ldl: FourWideFactors, analysis: Analysis) -> None:
    """rows := the rows of each strip below its triangle; columns := for each strip those that have its rows."""
    n, count, strip, linked, row_start = analysis.perm.size, ldl.strips, ldl.strip, ldl.columns, ldl.row_start
    owner, above = np.empty(n, np.int64), np.empty(count, np.int64)
    begin, fill = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    for s in range(count):
        begin[s], begin[s + 1] = strip[4 * s + 1], strip[4 * s + 5]
        for j in range(strip[4 * s], strip[4 * s + 4]):
            owner[j] = s
    for s in range(count):
        above[s] = owner[max(analysis.parent[strip[4 * s + 4] - 1], 0)]  # nobody asks for that of a root
    find_rows(analysis.indptr, analysis.indices, owner, above, begin, ldl.rows)
    for turn in range(2):  # count, then note
        for s in range(count):
            before = np.int64(-1)
            for p in range(np.uint64(begin[s]), np.uint64(begin[s + 1])):
                own = owner[np.uint64(ldl.rows[p])]
                if own != before and turn == 0:
                    row_start[own + 1] += 1
                elif own != before:
                    linked[fill[own]] = s
                    fill[own] += 1
                before = own
        if turn == 0:
            for s in range(count):
                fill[s] = row_start[s]
                row_start[s + 1] += row_start[s]
