"""Rows of A that are one row stated several times: bounds as rows, the two sides of a row apart, repetitions.

Many modellers state l <= a'x <= u as the two rows a'x <= u and -a'x <= -l, and bounds as rows with one entry.  The dual
active set sees each such row once, with the tightest of its sides; its multiplier belongs to the row of A that gives
the side.  Rows of A that are distinct come first, in the order of A, and the bounds of variables after them.

`socp.linalg.parallel_rows` finds multiples of sparse rows, up to rounding; the keys of the dense rows here are inner
products, and a row has to be another one or its opposite exactly.
"""

from __future__ import annotations

from math import inf

from socp.compiled.kernels import inner
from socp.compiled.signatures import Floats, Ints
from socp.linalg.vectors import bits, dot_within

POLE = -1.6180339887498949  # weight j of a row's key is 1 / (j - POLE): no difference of any order repeats


@inner
def find_distinct(A: Floats, m: int, n: int, row_of: Ints, factor: Floats, weights: Floats, table: Ints) -> int:
    """Find the distinct rows of A, stored by rows; return how many there are.

    Row i of A is `factor[i]` (1, -1) times the distinct row `row_of[i]`, or `factor[i]` times variable j if `row_of[i]`
    is -1 - j.  `weights` has n entries and `table` 2 m + 1: a table of rows of A by their keys, sums that change only
    their sign with the row.
    """
    size, made = 2 * m + 1, 0
    for j in range(n):
        weights[j] = 1.0 / (j - POLE)
    for slot in range(size):
        table[slot] = -1
    for i in range(m):
        a, count, places = A[i * n : (i + 1) * n], 0, 0
        for j in range(n):
            count += int(a[j] != 0.0)
            places += j * int(a[j] != 0.0)
        if count == 1:
            row_of[i], factor[i] = -1 - places, a[places]
            continue
        key = bits(dot_within(a, 0, weights, 0, n))
        slot, sign = (key ^ (key >> 31)) % size, 0.0
        while table[slot] >= 0 and sign == 0.0:
            sign = same_or_opposite(a, A[table[slot] * n : (table[slot] + 1) * n])
            slot = slot if sign != 0.0 else (slot + 1) % size
        if sign != 0.0:
            row_of[i], factor[i] = row_of[table[slot]], sign
        else:
            table[slot], row_of[i], factor[i] = i, made, 1.0
            made += 1
    return made


@inner
def same_or_opposite(a: Floats, b: Floats) -> float:
    """Return 1 if a = b, -1 if a = -b, else 0."""
    are_same, are_opposite = True, True
    for j in range(a.size):
        are_same = are_same and a[j] == b[j]
        are_opposite = are_opposite and a[j] == -b[j]
    return 1.0 if are_same else -1.0 if are_opposite else 0.0


@inner
def place_of(row: int, distinct: int) -> int:
    """Return the place of an entry of `row_of` among the distinct rows and the bounds after them."""
    return row if row >= 0 else distinct - 1 - row


@inner
def take_tightest(
    l: Floats, u: Floats, row_of: Ints, factor: Floats, distinct: int, lower: Floats, upper: Floats, giver: Ints
) -> None:  # fmt: skip
    """Write the tightest sides of the distinct rows and of the bounds, given those of the m rows of A and n bounds.

    `giver[2 r]` and `giver[2 r + 1]` are the rows of A that give the sides of r, -1 for a bound.
    """
    m, n = row_of.size, l.size - row_of.size
    for r in range(distinct):
        lower[r], upper[r], giver[2 * r], giver[2 * r + 1] = -inf, inf, -1, -1
    for j in range(n):
        r = distinct + j
        lower[r], upper[r], giver[2 * r], giver[2 * r + 1] = l[m + j], u[m + j], -1, -1
    for i in range(m):
        r, f = place_of(row_of[i], distinct), factor[i]
        first, second = l[i] / f + 0.0, u[i] / f + 0.0  # + 0.0 turns the -0.0 of a negative factor into 0.0.
        if f < 0.0:
            first, second = second, first
        if first > lower[r]:
            lower[r], giver[2 * r] = first, i
        if second < upper[r]:
            upper[r], giver[2 * r + 1] = second, i


@inner
def join_crossed(lower: Floats, upper: Floats, tol: float) -> None:
    """Make sides equal that cross by at most `tol`, relative to 1 + their size."""
    for r in range(lower.size):
        excess = lower[r] - upper[r]
        if 0.0 < excess <= tol * (1.0 + min(abs(lower[r]), abs(upper[r]))):
            lower[r] = upper[r] = upper[r] + 0.5 * excess


@inner
def gather(values: Floats, y: Floats, row_of: Ints, factor: Floats, distinct: int, at: Floats, v: Floats) -> None:
    """Write the values of the distinct rows and bounds, and the sums of their multipliers, given those of [A; I]."""
    m, n = row_of.size, values.size - row_of.size
    for r in range(distinct):
        v[r] = 0.0
    for j in range(n):
        at[distinct + j], v[distinct + j] = values[m + j], y[m + j]
    for i in range(m):
        r = place_of(row_of[i], distinct)
        v[r] += factor[i] * y[i]
        if row_of[i] >= 0:
            at[r] = values[i] / factor[i]


@inner
def put_multiplier(y: Floats, r: int, value: float, factor: Floats, distinct: int, giver: Ints) -> None:
    """Write the multiplier of a distinct row or a bound to the row of A that gives the side that it belongs to."""
    i = giver[2 * r + 1] if value > 0.0 else giver[2 * r]
    if i >= 0:
        y[i] = value / factor[i]
    else:
        y[factor.size + r - distinct] = value


@inner
def unit_of_sides(r: int, factor: Floats, giver: Ints) -> float:
    """Return what 1 of the rows of A that give the sides of r is for r, and at most 1."""
    largest = 1.0
    for k in range(2 * r, 2 * r + 2):
        if giver[k] >= 0:
            largest = max(largest, abs(factor[giver[k]]))
    return 1.0 / largest
