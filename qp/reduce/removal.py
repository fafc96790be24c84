"""Rows that presolve removes from a program, and their multipliers afterwards.

The head of `presolve` lists all reductions.
"""

from __future__ import annotations

import math

import numpy as np

from socp.compiled.kernels import deferred_kernel, inner, kernel, leaf
from socp.compiled.signatures import Bools, Floats, Ints
from socp.compiled.structures import Structure, floats, integer, integers, number
from socp.linalg.csc import transpose
from socp.linalg.parallel_rows import may_be_parallel, parallel_rows
from socp.verify.stopping import LOST

ROUNDING = 1e-12  # relative difference up to which two sides count as equal
ROWS, COLUMNS = range(1, 3)  # bits of the result of `look_for_more`


class Removed(Structure):
    """Sides of a program that presolve tightens, and a record of the rows that it removes.

    `upper_twin`, `lower_twin`, `upper_row` and `lower_row` are -1 for sides that no other row has tightened.  Sides
    that cross by at most the relative `slack` are merged.
    """

    l, u, lb, ub, slack = floats("m"), floats("m"), floats("n"), floats("n"), number()
    live = integers("m")  # number of entries of each row in variables that are not fixed
    # A by rows
    indptr, indices = integers("m + 1", scratch=True), integers("entries", scratch=True)
    values = floats("entries", scratch=True)
    lead, ratio = integers("m", scratch=True), floats("m", scratch=True)  # row i of A = ratio[i] * row lead[i]
    # the merged row from which each side of a row comes
    upper_twin, lower_twin = integers("m", scratch=True), integers("m", scratch=True)
    # the singleton row from which each bound comes
    upper_row, lower_row = integers("n", scratch=True), integers("n", scratch=True)
    # variables with tightened bounds: first the unfixed ones, then the fixed ones in reverse order of fixing
    backwards = integers("n", scratch=True)
    tightened = integer()  # number of variables in `backwards`


@leaf
def has_sides(lower: float, upper: float) -> bool:
    """Return True if the lower or the upper side is finite."""
    return math.isfinite(lower) or math.isfinite(upper)


@kernel
def look_for_more(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats
) -> int:  # fmt: skip
    """Return the sum of `ROWS`, if there may be redundant rows, and `COLUMNS`, if variables have no entry in A."""
    m = l.size
    live, wanted = np.zeros(m, np.int64), np.empty(m, np.bool_)
    found = COLUMNS if count_live(A_indptr, A_indices, A_data, lb, ub, live) > 0 else 0
    for i in range(m):
        wanted[i] = has_sides(l[i], u[i])
        if wanted[i] and live[i] <= 1:
            return found | ROWS
    return found | (ROWS if may_be_parallel(A_indptr, A_indices, A_data, wanted) else 0)


@inner
def count_live(A_indptr: Ints, A_indices: Ints, A_data: Floats, lb: Floats, ub: Floats, live: Ints) -> int:
    """Add each row's number of entries in unfixed variables to `live`; return how many of these variables have none."""
    empty = 0
    for j in range(lb.size):
        if lb[j] < ub[j]:
            entries = 0
            for k in range(A_indptr[j], A_indptr[j + 1]):
                stored = int(A_data[k] != 0.0)
                live[A_indices[k]] += stored
                entries += stored
            empty += int(entries == 0)
    return empty


@inner
def find_parallel(data: Floats, source: Ints, removed: Removed) -> bool:
    """Run `parallel_rows` on the rows with a side and at least two live entries; return True if any are parallel."""
    l, u, live, wanted = removed.l, removed.u, removed.live, np.empty(removed.l.size, np.bool_)
    for i in range(wanted.size):
        wanted[i] = live[i] > 1 and has_sides(l[i], u[i])
    return parallel_rows(0, removed.indptr, removed.indices, source, data, wanted, removed.lead, removed.ratio) > 0


@deferred_kernel
def remove_rows(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats, removed: Removed,
    kept: Bools,
) -> int:  # fmt: skip
    """Remove parallel, singleton and empty rows, and write the tightened sides to `removed`; return how many are kept.

    `kept` becomes False for the rows that are removed.
    """
    m, n = l.size, lb.size
    removed.l[:], removed.u[:], removed.lb[:], removed.ub[:] = l, u, lb, ub
    for i in range(m):
        removed.upper_twin[i], removed.lower_twin[i] = -1, -1
    for j in range(n):
        removed.upper_row[j], removed.lower_row[j] = -1, -1
    source = np.empty_like(A_indices)
    transpose(m, A_indptr, A_indices, removed.indptr, removed.indices, source)
    values = removed.values
    for k in range(A_data.size):
        values[k] = A_data[source[k]]
    count_live(A_indptr, A_indices, A_data, removed.lb, removed.ub, removed.live)
    if find_parallel(A_data, source, removed):
        merge_rows(removed, kept)
    tighten_bounds(A_indptr, A_indices, A_data, removed, kept)
    count = 0
    for i in range(m):
        count += int(kept[i])
    return count


@kernel
def keep_rows(
    kept: Bools, indptr: Ints, indices: Ints, data: Floats, new_indptr: Ints, new_indices: Ints, new_data: Floats
) -> int:  # fmt: skip
    """Copy the entries of the kept rows, which are numbered anew; return how many there are."""
    place, count, at = np.empty(kept.size, np.int64), 0, 0
    for i in range(kept.size):
        place[i] = count
        count += int(kept[i])
    for j in range(indptr.size - 1):
        new_indptr[j] = at
        for k in range(indptr[j], indptr[j + 1]):
            if kept[indices[k]]:
                new_indices[at], new_data[at] = place[indices[k]], data[k]
                at += 1
    new_indptr[indptr.size - 1] = at
    return at


@kernel
def find_empty(indptr: Ints, indices: Ints, data: Floats, kept: Bools, lb: Floats, ub: Floats, found: Ints) -> int:
    """Write the variables that are not fixed and have no entry in a kept row to `found`; return their number."""
    count = 0
    for j in range(lb.size):
        if lb[j] < ub[j]:
            is_empty = True
            for k in range(indptr[j], indptr[j + 1]):
                is_empty &= data[k] == 0.0 or not kept[indices[k]]
            found[count] = j
            count += int(is_empty)
    return count


@leaf
def close(a: float, b: float, factor: float, slack: float) -> bool:
    """Return True if sides a, b are equal up to rounding or `slack`, relative to the units of both merged rows.

    The second row is `factor` times the first one.
    """
    size = max(abs(a), abs(b))
    return abs(a - b) <= max(ROUNDING * max(1.0, size), slack * max(min(1.0, 1.0 / abs(factor)), size))


@inner
def merge_rows(removed: Removed, kept: Bools) -> None:
    """Remove the rows that are parallel to their lead, and give it the tighter sides; keep rows that contradict it."""
    lead, l, u, slack = removed.lead, removed.l, removed.u, removed.slack
    for i in range(lead.size):
        r, s = lead[i], removed.ratio[i]
        if r == i:
            continue
        lower, upper = (l[i] / s, u[i] / s) if s > 0.0 else (u[i] / s, l[i] / s)
        if (lower > u[r] and not close(lower, u[r], s, slack)) or (upper < l[r] and not close(upper, l[r], s, slack)):
            continue
        kept[i] = False
        if lower > l[r]:
            l[r], removed.lower_twin[r] = min(lower, u[r]), i
        if upper < u[r]:
            u[r], removed.upper_twin[r] = max(upper, l[r]), i


@inner
def tighten_bounds(A_indptr: Ints, A_indices: Ints, A_data: Floats, removed: Removed, kept: Bools) -> None:
    """Turn rows with at most one live entry into bounds, and repeat for rows whose other variables this fixes."""
    l, u, lb, ub, live = removed.l, removed.u, removed.lb, removed.ub, removed.live
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
                if live[i] == 1:  # This is true once per row, so m places suffice.
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
    """Turn row i into bounds of its only variable that is not fixed; return the variable if this fixes it, else -1."""
    l, u, lb, ub, slack = removed.l, removed.u, removed.lb, removed.ub, removed.slack
    moved, size, j, a = 0.0, 0.0, -1, 0.0
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
        most = max(ROUNDING, slack) * max(1.0, size)
        kept[i] = not (l[i] - most <= moved <= u[i] + most)
        return -1
    lower, upper = (l[i] - moved) / a, (u[i] - moved) / a
    if a < 0.0:
        lower, upper = upper, lower
    if (lower > ub[j] and not close(lower, ub[j], a, slack)) or (upper < lb[j] and not close(upper, lb[j], a, slack)):
        return -1
    kept[i] = False
    if lower > lb[j]:
        lb[j], removed.lower_row[j] = min(lower, ub[j]), i
    if upper < ub[j]:
        ub[j], removed.upper_row[j] = max(upper, lb[j]), i
    terms = max(abs(lb[j]), abs(ub[j]), size / abs(a))
    if math.isfinite(terms) and ub[j] - lb[j] <= LOST * terms:  # the difference of the bounds is rounding
        if removed.lower_row[j] == i:
            lb[j] = ub[j]
        elif removed.upper_row[j] == i:
            ub[j] = lb[j]
    return -1 if lb[j] < ub[j] else j


@deferred_kernel
def postsolve(removed: Removed, y: Floats, z: Floats) -> None:
    """Move multipliers from bounds and merged rows to the removed rows that the active sides come from."""
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


@deferred_kernel
def lower_multipliers(removed: Removed, kept: Bools, y: Floats, z: Floats) -> None:
    """Move multipliers of removed rows to the rows and bounds that they were merged with: A'y + z stays as it is."""
    lead, indptr, indices, values = removed.lead, removed.indptr, removed.indices, removed.values
    for i in range(y.size):
        r = lead[i]
        if r != i and not kept[i]:
            y[r] += removed.ratio[i] * y[i]
            y[i] = 0.0
    for i in range(y.size):
        if not kept[i] and y[i] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                z[indices[k]] += values[k] * y[i]
