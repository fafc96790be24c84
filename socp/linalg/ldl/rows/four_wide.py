"""Supernodes of L: one column, or four neighbouring ones over the same rows, for factorization by rows.

The columns of a fundamental supernode have equal rows, and so have some siblings (see `siblings`).  Four
columns that are a chain in the elimination tree are merged, too, at the price of few explicit zeros: four columns cost
little more than one.
"""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import inner, kernel
from ....compiled.signatures import Floats
from ....compiled.structures import Structure, floats, integer, integers, number
from ..factors import Factors
from ..symbolic.analysis import Analysis, find_rows
from ..symbolic.siblings import are_siblings

FIRST, ROW_BEGIN, VALUE_BEGIN, DONE, FIRST_AFTER, ROW_END, VALUE_END = range(7)  # places in `FourWideFactors.table`
ZEROS = 0.2  # largest share of explicit zeros in a supernode


class Supernodes(Structure):
    """The supernodes of a factor.

    Attributes
    ----------
    first : array
        Supernode s has the columns first[s] ... first[s + 1] - 1.
    count, rows, entries : int
        Number of supernodes, and the total numbers of rows below their triangles and of their entries.
    static_columns, static, kept : int
        Numbers of static columns (see `rows.static`), which are first, of their supernodes, and of the entries in these
        columns of the lower triangle of K.
    """

    first = integers("n + 1")
    count, rows, entries = integer(), integer(), integer()
    static_columns, static, kept = integer(), integer(), integer()


def supernodes_of(analysis: Analysis, static: int = 0, are_wide: bool = True) -> Supernodes:
    """Return the supernodes for an order whose first `static` columns are static; single columns unless `are_wide`."""
    supernodes = Supernodes(n=analysis.perm.size)
    supernodes.static_columns = static
    if static > 0:
        supernodes.kept = int(np.count_nonzero(analysis.indices < static))
    find_supernodes(supernodes, analysis, are_wide)
    return supernodes


@kernel
def find_supernodes(supernodes: Supernodes, analysis: Analysis, are_wide: bool) -> None:
    """Find the supernodes: four columns where `are_wide` and `go_together` holds, else one."""
    n, counts, first, count, rows, entries, j = analysis.perm.size, analysis.counts, supernodes.first, 0, 0, 0, 0
    static = supernodes.static_columns
    while j < n:
        first[count] = j
        count += 1
        if are_wide and go_together(analysis, j) and not j < static < j + 4:
            rows += counts[j + 3]
            entries += 6 + 4 * counts[j + 3]
            j += 4
        else:
            rows += counts[j]
            entries += counts[j]
            j += 1
        if j == static:
            supernodes.static = count
    first[count] = n
    supernodes.count, supernodes.rows, supernodes.entries = count, rows, entries


@inner
def go_together(analysis: Analysis, j: int) -> bool:
    """Return True if columns j ... j + 3 are siblings, or a chain in the elimination tree with few explicit zeros."""
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
    """L by supernodes of one or four columns.

    Attributes
    ----------
    indptr, indices, source : arrays
        The permuted upper triangle of K by columns; its entry q is entry ``source[q]`` of K.
    table : array
        Four numbers for each supernode, which a factorization reads at once: its first column, its places in `rows` and
        in `values`, and the end of its rows that are factored so far.  Supernode s has place t = 4 s, and its numbers
        are table[t + FIRST], table[t + ROW_BEGIN], table[t + VALUE_BEGIN] and table[t + DONE].  Rows and values end
        where those of the next supernode begin.
    start : array
        Twice the place of each supernode in `rows`, plus 1 if it has four columns.
    rows, values : arrays
        Rows of each supernode below its triangle; values of each triangle, followed by the values of these rows.
    row_start, columns : arrays
        ``columns[row_start[s]:row_start[s + 1]]`` are links to the supernodes that have rows in supernode s: for
        supernode t its place 4 t, plus 1 if it has four columns.
    inverse : (n,) array
        1 / D.
    static, static_columns : int
        Numbers of static supernodes and of static columns (see `rows.static`), which are first.
    base, base_start, kept : arrays
        L21 D1 L21' (see `rows.static`), the place in it of each supernode, and the entries of K it was computed from.
    link, middle : arrays
        First link of each supernode to one that is not static; first entry of K in each column in a row not static.
    """

    indptr, indices = integers("n + 1"), integers("given", scratch=True)
    source = integers("given", scratch=True)
    table, supernodes, reached = integers("4 * (count + 2)"), integer(), integer()
    start, row_start, link = integers("count + 1"), integers("count + 1"), integers("count")
    rows, columns = integers("held", scratch=True), integers("held", scratch=True)
    values, inverse = floats("entries", scratch=True), floats("n")
    work, work_four = floats("2 * n"), floats("4 * n")
    static, static_columns, replaced_static = integer(), integer(), integer()
    base, base_start = floats(), integers("based * (count + 1)")
    kept, middle = floats("kept_entries"), integers("n")
    kept_eps, kept_delta = number(), number()

    def __init__(self, supernodes: Supernodes, analysis: Analysis, signs: Floats) -> None:
        super().__init__(
            n=analysis.perm.size, given=analysis.source.size, count=supernodes.count, held=supernodes.rows,
            entries=supernodes.entries, based=int(supernodes.static > 0), kept_entries=supernodes.kept,
        )  # fmt: skip
        four_wide_pattern(self, supernodes, analysis, signs)
        if self.static > 0:
            self.base = np.zeros(self.base_start[-1])


@kernel
def four_wide_pattern(ldl: FourWideFactors, supernodes: Supernodes, analysis: Analysis, signs: Floats) -> None:
    """Write the order, the permuted K, and the pattern of L by supernodes and by their rows."""
    n, table, first, counts = analysis.perm.size, ldl.table, supernodes.first, analysis.counts
    ldl.supernodes = supernodes.count
    for k in range(n):
        ldl.perm[k] = analysis.perm[k]
        ldl.signs[k], ldl.d[k], ldl.inverse[k] = signs[ldl.perm[k]], 1.0, 1.0
        ldl.indptr[k + 1] = analysis.indptr[k + 1]
    ldl.static, ldl.static_columns = supernodes.static, supernodes.static_columns
    put_entries(ldl, analysis)
    for s in range(supernodes.count):
        t, width, height = 4 * s, first[s + 1] - first[s], counts[first[s + 1] - 1]
        ldl.start[s] = 2 * table[t + ROW_BEGIN] + (width > 1)
        table[t + FIRST_AFTER] = first[s + 1]
        table[t + ROW_END] = table[t + ROW_BEGIN] + height
        table[t + VALUE_END] = table[t + VALUE_BEGIN] + (width * (width - 1)) // 2 + width * height
    ldl.start[supernodes.count] = 2 * table[4 * supernodes.count + ROW_BEGIN]
    link_rows(ldl, analysis)
    for s in range(supernodes.count):
        ldl.link[s] = ldl.row_start[s]
        if s >= ldl.static:
            while ldl.link[s] < ldl.row_start[s + 1] and ldl.columns[ldl.link[s]] < ldl.static << 2:
                ldl.link[s] += 1
        if s >= ldl.static > 0:
            width, columns = first[s + 1] - first[s], first[s + 1] - first[s]
            for q in range(ldl.link[s], ldl.row_start[s + 1]):
                columns += 4 if ldl.columns[q] & 1 else 1
            ldl.base_start[s + 1] = ldl.base_start[s] + width * columns
    for i in range(ldl.kept.size):
        ldl.kept[i] = np.nan


@inner
def put_entries(ldl: FourWideFactors, analysis: Analysis) -> None:
    """Copy the permuted K by columns, in each column the entries of static rows first; the others begin at `middle`."""
    indptr, indices, static = analysis.indptr, analysis.indices, ldl.static_columns
    for k in range(ldl.middle.size):
        at = ldl.middle[k] = indptr[k]
        if k < static or static == 0:
            for q in range(indptr[k], indptr[k + 1]):
                ldl.indices[q], ldl.source[q] = indices[q], analysis.source[q]
            continue
        end = indptr[k + 1]
        for q in range(indptr[k], indptr[k + 1]):
            if indices[q] < static:
                ldl.indices[at], ldl.source[at] = indices[q], analysis.source[q]
                at += 1
            else:
                end -= 1
                ldl.indices[end], ldl.source[end] = indices[q], analysis.source[q]
        ldl.middle[k] = at


@inner
def link_rows(ldl: FourWideFactors, analysis: Analysis) -> None:
    """Set the rows of supernode s below its triangle, and the links of s to the supernodes that have a row in s."""
    n, count, table, linked, row_start = analysis.perm.size, ldl.supernodes, ldl.table, ldl.columns, ldl.row_start
    owner, above = np.empty(n, np.int64), np.empty(count, np.int64)
    begin, fill = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    for s in range(count):
        t = 4 * s
        begin[s], begin[s + 1] = table[t + ROW_BEGIN], table[t + ROW_END]
        for j in range(table[t + FIRST], table[t + FIRST_AFTER]):
            owner[j] = s
    for s in range(count):
        above[s] = owner[max(analysis.parent[table[4 * s + FIRST_AFTER] - 1], 0)]  # The entry of a root is not used.
    find_rows(analysis.indptr, analysis.indices, owner, above, begin, ldl.rows)
    for turn in range(2):  # Count the links, then write them.
        for s in range(count):
            before = np.int64(-1)
            for p in range(begin[s], begin[s + 1]):
                own = owner[ldl.rows[p]]
                if own != before and turn == 0:
                    row_start[own + 1] += 1
                elif own != before:
                    linked[fill[own]] = (s << 2) + (ldl.start[s] & 1)
                    fill[own] += 1
                before = own
        if turn == 0:
            for s in range(count):
                fill[s] = row_start[s]
                row_start[s + 1] += row_start[s]
