"""A quadratic program made smaller before it is solved, and its multipliers afterwards.

    empty row       l <= 0 <= u                           left out, its multiplier is 0
    parallel rows   l <= a'x <= u,  l' <= s a'x <= u'     one row with the tighter sides; y' = y / s where they are its
    singleton row   l <= a x_j <= u                       bounds of x_j; y = z_j / a where they are the tighter ones
    empty column    no entry in A nor in P                x_j at its better bound (any value between them when q_j = 0)

What equal bounds fix counts as gone: its entries move to the sides, and rows become singletons or empty by that.
(`cone_form` substitutes the fixed variables.)  A multiplier that moves from a bound of x_j to its row i also acts, by
a_ik y_i, on the fixed variables k of that row; they take it up in z_k, those that were fixed last first.

A contradiction (an empty row with 0 < l, bounds that cross) stays in the program as it is: the engine certifies it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import inner, kernel, leaf
from socp.compiled.signatures import Bools, Floats, Ints
from socp.compiled.structures import Structure, floats, integer, integers
from socp.linalg.csc import csc, transpose
from socp.linalg.parallel_rows import parallel_rows
from socp.problem.lowrank import LowRank

from ..problem.program import QuadraticProgram

ROUNDING = 1e-12  # sides that miss each other by less than this, relative to their size, are equal
NONE = -1
ROWS, COLUMNS = 1, 2  # what `look_for_more` finds


class Removed(Structure):
    """What was taken out of a program, and the sides of what is left.

    Rows and bounds that nothing was taken from are `NONE` in `upper_row` and so on.
    """

    l, u = floats("m"), floats("m")
    lb, ub = floats("n"), floats("n")
    indptr, indices, values = integers("m + 1"), integers("entries"), floats("entries")  # the rows of A
    lead, ratio = integers("m"), floats("m")  # a row of A is so many times its lead
    upper_twin, lower_twin = integers("m"), integers("m")  # the merged rows that a row's sides come from
    upper_row, lower_row = integers("n"), integers("n")  # the singleton rows that bounds come from
    backwards = integers("n")  # the variables with such bounds, those that were fixed last in the order of that
    tightened = integer()  # their number


class Presolve:
    """What can be left out of one program.

    Parameters
    ----------
    program : QuadraticProgram
    wanted : bool
        When False nothing is looked for.

    Attributes
    ----------
    program : QuadraticProgram
        What is left: the same variables with tighter bounds, fewer rows.  The given one where nothing was found.
    kept : array of bool, shape (m,), or None
        The rows that are left; None where nothing was found.
    """

    def __init__(self, program: QuadraticProgram, wanted: bool = True) -> None:
        self.program, self.kept = program, None
        self.removed: Removed | None = None
        A, found = program.A, 0
        if wanted:
            found = look_for_more(A.indptr, A.indices, A.data, program.l, program.u, program.lb, program.ub)
        if found & ROWS or (found and not _all_curved(program.P)):
            self._reduce(program, bool(found & ROWS))

    def _reduce(self, program: QuadraticProgram, has_rows: bool) -> None:
        """Take out what there is: rows where `has_rows`, and variables."""
        A, l, u, lb, ub = program.A, program.l, program.u, program.lb, program.ub
        kept, left = np.ones(program.m, dtype=np.bool_), program.m
        if has_rows:
            removed = Removed(m=program.m, n=program.n, entries=A.data.size)
            left -= remove_rows(A.indptr, A.indices, A.data, l, u, lb, ub, removed, kept)
            l, u, lb, ub = removed.l, removed.u, removed.lb, removed.ub
        fixed, lb, ub = fix_empty_columns(program, kept, lb, ub)
        if left < program.m:
            self.removed = removed
            A, l, u = _rows_kept(A, kept, left), l[kept], u[kept]
        if left < program.m or fixed:
            self.kept = kept
            self.program = QuadraticProgram.of_checked(program.P, program.q, A, l, u, lb, ub, program.offset)

    def fits(self, other: Presolve) -> bool:
        """Whether the same rows are left."""
        if self.kept is None or other.kept is None:
            return self.kept is other.kept
        return np.array_equal(self.kept, other.kept)

    def dual(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The multipliers (y, z_bounds) of the given program from those of what is left of it."""
        if self.removed is None:
            return y, z
        rows, bounds = np.zeros(self.kept.size), z.copy()
        rows[self.kept] = y
        postsolve(self.removed, rows, bounds)
        return rows, bounds


def _all_curved(P: Any) -> bool:
    """Whether no variable is without an entry in the diagonal of a dense P."""
    return isinstance(P, np.ndarray) and bool(P.diagonal().all())


def _rows_kept(A: sp.csc_array, kept: np.ndarray, count: int) -> sp.csc_array:
    place = np.cumsum(kept) - 1
    inside = kept[A.indices]
    indptr = np.concatenate([[0], np.cumsum(inside)])[A.indptr]
    return csc(A.data[inside], place[A.indices[inside]], indptr, (count, A.shape[1]))


def fix_empty_columns(
    program: QuadraticProgram, kept: np.ndarray, lb: np.ndarray, ub: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray]:
    """(how many variables without entries have a better bound, the lower and the upper bounds with these at it)."""
    A, P, entries = program.A, program.P, np.zeros(program.n, dtype=np.int64)
    count_entries(A.indptr, A.indices, A.data, kept, entries)
    if isinstance(P, sp.csc_array):
        count_entries(P.indptr, P.indices, P.data, np.ones(program.n, dtype=np.bool_), entries)
    j = np.flatnonzero((entries == 0) & (lb < ub))
    if j.size and isinstance(P, (np.ndarray, LowRank)):
        j = j[_is_empty(P, j)]
    if not j.size:
        return 0, lb, ub
    best = np.select([program.q[j] > 0.0, program.q[j] < 0.0], [lb[j], ub[j]], np.clip(0.0, lb[j], ub[j]))
    j, best = j[np.isfinite(best)], best[np.isfinite(best)]
    lb, ub = lb.copy(), ub.copy()
    lb[j] = ub[j] = best
    return j.size, lb, ub


def _is_empty(P: np.ndarray | LowRank, j: np.ndarray) -> np.ndarray:
    """For each of the variables j whether its column of P has no entry."""
    empty = P.diagonal()[j] == 0.0
    for k in np.flatnonzero(empty):  # the diagonal decides where P is semidefinite, which is not known yet
        unit = np.zeros(P.shape[0])
        unit[j[k]] = 1.0
        empty[k] = not (P @ unit).any()
    return empty


@leaf
def has_sides(lower: float, upper: float) -> bool:
    """Whether there is a finite side."""
    return math.isfinite(lower) or math.isfinite(upper)


@kernel
def look_for_more(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats
) -> int:  # fmt: skip
    """Whether there are rows to take out and variables without entries in A: the sum of `ROWS` and `COLUMNS`."""
    m, long = l.size, 0
    live = np.zeros(m, np.int64)
    found = COLUMNS if count_live(A_indptr, A_indices, A_data, lb, ub, live) > 0 else 0
    for i in range(m):
        if has_sides(l[i], u[i]):
            if live[i] <= 1:
                return found | ROWS
            long += 1
    if long > 1:
        indptr, indices, source = np.empty(m + 1, np.int64), np.empty_like(A_indices), np.empty_like(A_indices)
        transpose(m, A_indptr, A_indices, indptr, indices, source)
        if find_parallel(l, u, live, indptr, indices, source, A_data, np.empty(m, np.int64), np.empty(m)) > 0:
            found |= ROWS
    return found


@inner
def count_live(A_indptr: Ints, A_indices: Ints, A_data: Floats, lb: Floats, ub: Floats, live: Ints) -> int:
    """live += the entries of each row in variables that are not fixed; returns how many of these have no entry."""
    empty = 0
    for j in range(lb.size):
        if lb[j] < ub[j]:
            entries = 0
            for k in range(A_indptr[j], A_indptr[j + 1]):
                if A_data[k] != 0.0:
                    live[A_indices[k]] += 1
                    entries += 1
            empty += int(entries == 0)
    return empty


@inner
def find_parallel(
    l: Floats, u: Floats, live: Ints, indptr: Ints, indices: Ints, source: Ints, data: Floats, lead: Ints, ratio: Floats
) -> int:
    """`parallel_rows` of those that have a side and two live entries."""
    m, size = l.size, 4
    while size < 2 * m:
        size *= 2
    wanted = np.empty(m, np.bool_)
    for i in range(m):
        wanted[i] = live[i] > 1 and has_sides(l[i], u[i])
    table, keys = np.empty(size, np.int64), np.empty(m, np.int64)
    return parallel_rows(0, m, indptr, indices, source, data, wanted, lead, ratio, table, keys)


@kernel
def remove_rows(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats, removed: Removed,
    kept: Bools,
) -> int:  # fmt: skip
    """Take out parallel, singleton and empty rows (kept := False); returns how many."""
    m, n = l.size, lb.size
    for i in range(m):
        removed.l[i], removed.u[i] = l[i], u[i]
        removed.upper_twin[i], removed.lower_twin[i] = NONE, NONE
    for j in range(n):
        removed.lb[j], removed.ub[j] = lb[j], ub[j]
        removed.upper_row[j], removed.lower_row[j] = NONE, NONE
    source, live = np.empty_like(A_indices), np.zeros(m, np.int64)
    transpose(m, A_indptr, A_indices, removed.indptr, removed.indices, source)
    values = removed.values
    for k in range(A_data.size):
        values[k] = A_data[source[k]]
    count_live(A_indptr, A_indices, A_data, lb, ub, live)
    find_parallel(l, u, live, removed.indptr, removed.indices, source, A_data, removed.lead, removed.ratio)
    merge_rows(removed, kept)
    tighten_bounds(A_indptr, A_indices, A_data, live, removed, kept)
    count = 0
    for i in range(m):
        count += int(not kept[i])
    return count


@leaf
def close(a: float, b: float) -> bool:
    """Whether two finite sides differ by rounding."""
    return abs(a - b) <= ROUNDING * max(1.0, abs(a), abs(b))


@inner
def merge_rows(removed: Removed, kept: Bools) -> None:
    """Take out the rows that are parallel to another, whose sides become the tighter ones."""
    l, u, lead = removed.l, removed.u, removed.lead
    for i in range(lead.size):
        r, s = lead[i], removed.ratio[i]
        if r == i:
            continue
        lower, upper = (l[i] / s, u[i] / s) if s > 0.0 else (u[i] / s, l[i] / s)
        if (lower > u[r] and not close(lower, u[r])) or (upper < l[r] and not close(upper, l[r])):
            continue
        kept[i] = False
        if lower > l[r]:
            l[r], removed.lower_twin[r] = min(lower, u[r]), i
        if upper < u[r]:
            u[r], removed.upper_twin[r] = max(upper, l[r]), i


@inner
def tighten_bounds(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, live: Ints, removed: Removed, kept: Bools
) -> None:  # fmt: skip
    """Take out rows with at most one live entry, as bounds, again and again as they fix variables."""
    l, u, lb, ub = removed.l, removed.u, removed.lb, removed.ub
    m, n = l.size, lb.size
    stack, fixed = np.empty(m, np.int64), np.empty(n, np.int64)
    waiting, count = 0, 0
    for i in range(m - 1, -1, -1):
        if kept[i] and live[i] <= 1 and has_sides(l[i], u[i]):
            stack[waiting] = i
            waiting += 1
    while waiting > 0:
        waiting -= 1
        j = take_singleton(stack[waiting], removed, kept)
        if j < 0:
            continue
        fixed[count] = j
        count += 1
        for k in range(A_indptr[j], A_indptr[j + 1]):
            i = A_indices[k]
            if kept[i] and A_data[k] != 0.0 and has_sides(l[i], u[i]):
                live[i] -= 1
                if live[i] == 1:  # the only time that a row comes here, so that the stack is long enough
                    stack[waiting] = i
                    waiting += 1
    at = 0
    for j in range(n):
        if lb[j] < ub[j] and (removed.upper_row[j] >= 0 or removed.lower_row[j] >= 0):
            removed.backwards[at] = j
            at += 1
    for k in range(count - 1, -1, -1):
        removed.backwards[at] = fixed[k]
        at += 1
    removed.tightened = at


@inner
def take_singleton(i: int, removed: Removed, kept: Bools) -> int:
    """Make of row i bounds of the only variable in it that is not fixed; returns the variable if that fixes it."""
    l, u, lb, ub = removed.l, removed.u, removed.lb, removed.ub
    moved, size, j, a = 0.0, 0.0, NONE, 0.0
    for k in range(removed.indptr[i], removed.indptr[i + 1]):
        value, v = removed.values[k], removed.indices[k]
        if value == 0.0:
            continue
        if lb[v] < ub[v]:
            j, a = v, value
        else:
            moved += value * lb[v]
            size = max(size, abs(value * lb[v]))
    if j < 0:
        slack = ROUNDING * max(1.0, size)
        kept[i] = not (l[i] - slack <= moved <= u[i] + slack)
        return NONE
    lower, upper = (l[i] - moved) / a, (u[i] - moved) / a
    if a < 0.0:
        lower, upper = upper, lower
    if (lower > ub[j] and not close(lower, ub[j])) or (upper < lb[j] and not close(upper, lb[j])):
        return NONE
    kept[i] = False
    if lower > lb[j]:
        lb[j], removed.lower_row[j] = min(lower, ub[j]), i
    if upper < ub[j]:
        ub[j], removed.upper_row[j] = max(upper, lb[j]), i
    return NONE if lb[j] < ub[j] else j


@kernel
def count_entries(A_indptr: Ints, A_indices: Ints, A_data: Floats, kept: Bools, entries: Ints) -> None:
    """entries += the entries of each column in the rows that are kept."""
    for j in range(entries.size):
        for k in range(A_indptr[j], A_indptr[j + 1]):
            entries[j] += int(kept[A_indices[k]] and A_data[k] != 0.0)


@kernel
def postsolve(removed: Removed, y: Floats, z: Floats) -> None:
    """Move multipliers from bounds and merged rows to the rows that these come from."""
    indptr, indices, values = removed.indptr, removed.indices, removed.values
    for at in range(removed.tightened):
        j = removed.backwards[at]
        i = removed.upper_row[j] if z[j] > 0.0 else removed.lower_row[j]
        if i < 0 or z[j] == 0.0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] == j:
                y[i] = z[j] / values[k]
        for k in range(indptr[i], indptr[i + 1]):
            z[indices[k]] -= values[k] * y[i]
        z[j] = 0.0
    for r in range(y.size):
        i = removed.upper_twin[r] if y[r] > 0.0 else removed.lower_twin[r]
        if i >= 0 and y[r] != 0.0:
            y[i] = y[r] / removed.ratio[i]
            y[r] = 0.0
