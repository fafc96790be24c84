"""Dense kernels of the supernodal factorization: one panel, its update by another, the triangular solves with it.

A panel of `width` columns with `height` rows below their triangle is stored by columns, each width + height long, in
`panels` from `begin` on:

    [ F11  .  ]  width
    [ F21     ]  height

Indices inside the loops are unsigned: for these numba makes no test of negative ones, and the loops vectorize.
"""

from __future__ import annotations

import math

import numpy as np

from ....compiled.blas import LOWER, NO_TRANSPOSE, RIGHT, TRANSPOSE, UNIT, gemm, gemv, trsm, trsv
from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Floats, Unsigned

BLOCK = 64  # columns that are factorized before the rest of the panel is updated,
WIDE_BLOCK = 128  # in a long panel
COLUMNS = 64  # columns of one call of gemm, so that it stays near the lower triangle,
WIDE_COLUMNS = 192  # in a long panel
LONG = 800  # rows of a long panel
STRIP = 8  # columns that are factorized by loops
LOOP_UPDATE = 2000  # an update of up to so many products is quicker by loops than by gemm,
RUN = 4  # so many neighbours are subtracted as a vector,
LOOP_MULTIPLY = 64  # a product of width times height up to this than by gemv,
SEPARATE = 16_384  # entries below a triangle from which on they are solved for by trsm, after the triangle
LOOP_SOLVE = 8  # and a triangular solve of this order than by trsv


@leaf
def subtract_multiple(x: Floats, destination: int, y: Floats, source: int, count: int, factor: float) -> None:
    """x[destination:][:count] -= factor y[source:][:count]."""
    to, origin = np.uint64(destination), np.uint64(source)
    for i in range(np.uint64(count)):
        x[to + i] -= y[origin + i] * factor


@leaf
def set_zero(x: Floats, begin: int, count: int) -> None:
    """x[begin:][:count] = 0."""
    to = np.uint64(begin)
    for i in range(np.uint64(count)):
        x[to + i] = 0.0


@leaf
def scale(x: Floats, destination: int, y: Floats, source: int, count: int, factor: float) -> None:
    """x[destination:][:count] = factor y[source:][:count]."""
    to, origin = np.uint64(destination), np.uint64(source)
    for i in range(np.uint64(count)):
        x[to + i] = y[origin + i] * factor


def scaled_size(length: int) -> int:
    """The size of the work array of `factor_panel` and `update_panel` for panels of up to `length` columns and rows."""
    return length * (BLOCK if length < LONG else WIDE_BLOCK)


def product_size(height: int) -> int:
    """The size of the work array of `update_panel` for panels with up to `height` rows below their triangles."""
    return height * COLUMNS


@inner
def factor_panel(
    panels: Floats, begin: int, width: int, height: int, signs: Floats, column: int, eps: float, delta: float,
    d: Floats, scaled: Floats,
) -> int:  # fmt: skip
    """The factorization of a panel, whose columns are `column`, column + 1, ... of the matrix:

        F11 = L11 D1 L11',   L21 = F21 L11^-T D1^-1,

    L11 and L21 over F11 and F21.  A pivot d with signs[.] d <= eps becomes signs[.] delta.  Returns how many were
    replaced, or -1 when one is not finite.  `scaled` is a work array of scaled_size(width + height).
    """
    length = width + height
    block = BLOCK if length < LONG else WIDE_BLOCK
    replaced = 0
    for a in range(0, width, block):
        b = min(a + block, width)
        # a triangle with few rows below it is factorized together with them
        bottom = b if (length - b) * (b - a) > SEPARATE else length
        wrong = factor_block(panels, begin, length, a, b, bottom, signs, column, eps, delta, d, scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        if b == length:
            continue
        if bottom == b:
            solve_rows(panels, begin, length, a, b, b, length, column, d, scaled)
        elif b < width:
            _scale_columns(panels, begin, length, a, b, b, length, column, d, scaled)
        if b < width:
            update_columns(panels, begin, length, a, b, b, width, length, scaled)
    return replaced


@inner
def factor_block(
    panels: Floats, begin: int, length: int, a: int, b: int, bottom: int, signs: Floats, column: int, eps: float,
    delta: float, d: Floats, scaled: Floats,
) -> int:  # fmt: skip
    """Factorize columns a ... b - 1 of a panel down to row `bottom` - 1; all columns before a have been applied."""
    replaced = 0
    for s in range(a, b, STRIP):
        t = min(s + STRIP, b)
        wrong = _factor_strip(panels, begin, length, s, t, bottom, signs, column, eps, delta, d)
        if wrong < 0:
            return -1
        replaced += wrong
        if t < b:  # halves of halves: the columns that are done in an aligned range update as many behind them
            half = (t - a) & (a - t)
            _scale_columns(panels, begin, length, t - half, t, t, bottom, column, d, scaled)
            update_columns(panels, begin, length, t - half, t, t, min(t + half, b), bottom, scaled)
    return replaced


@inner
def _factor_strip(
    panels: Floats, begin: int, length: int, s: int, t: int, bottom: int, signs: Floats, column: int, eps: float,
    delta: float, d: Floats,
) -> int:  # fmt: skip
    """Factorize columns s ... t - 1 of a panel, to which all columns before s have been applied."""
    replaced = 0
    for j in range(s, t):
        diagonal = begin + j * length + j
        for k in range(s, j):
            l_jk = begin + k * length + j
            subtract_multiple(panels, diagonal, panels, l_jk, bottom - j, panels[l_jk] * d[column + k])
        pivot = panels[diagonal]
        if not math.isfinite(pivot):
            return -1
        if signs[column + j] * pivot <= eps:
            pivot = signs[column + j] * delta
            replaced += 1
        d[column + j] = pivot
        panels[diagonal] = 1.0
        scale(panels, diagonal + 1, panels, diagonal + 1, bottom - j - 1, 1.0 / pivot)
    return replaced


@inner
def solve_rows(
    panels: Floats, begin: int, length: int, a: int, b: int, top: int, bottom: int, column: int, d: Floats,
    scaled: Floats,
) -> None:  # fmt: skip
    """Rows top ... bottom - 1 of columns a ... b - 1, of which the triangle is factorized, b <= top.

    scaled := L(b:, a:b) D(a:b), these rows of it.
    """
    count, first, all_rows = bottom - top, begin + a * length, length - b
    trsm(RIGHT, LOWER, TRANSPOSE, UNIT, count, b - a, 1.0, panels, first + a, length, panels, first + top, length)
    for k in range(a, b):
        at = begin + k * length + top
        scale(scaled, (k - a) * all_rows + top - b, panels, at, count, 1.0)
        scale(panels, at, panels, at, count, 1.0 / d[column + k])


@inner
def _scale_columns(
    panels: Floats, begin: int, length: int, s: int, t: int, top: int, bottom: int, column: int, d: Floats,
    scaled: Floats,
) -> None:  # fmt: skip
    """scaled := L(top:bottom, s:t) D(s:t)."""
    count = bottom - top
    for k in range(s, t):
        scale(scaled, (k - s) * count, panels, begin + k * length + top, count, d[column + k])


@inner
def update_columns(
    panels: Floats, begin: int, length: int, s: int, t: int, first: int, end: int, bottom: int, scaled: Floats
) -> None:  # fmt: skip
    """F(j:bottom, j) -= L(j:bottom, s:t) D(s:t) L(j, s:t)' for j = first ... end - 1, by blocks of columns.

    scaled = L(t:bottom, s:t) D(s:t), t <= first.
    """
    columns = COLUMNS if length - t < LONG else WIDE_COLUMNS
    for j in range(first, end, columns):
        gemm(
            NO_TRANSPOSE, TRANSPOSE, bottom - j, min(columns, end - j), t - s, -1.0,
            panels, begin + s * length + j, length, scaled, j - t, bottom - t,
            1.0, panels, begin + j * length + j, length,
        )  # fmt: skip


@inner
def update_panel(
    panels: Floats, begin: int, length: int, other: int, width: int, above: int, count: int, columns: int,
    places: Unsigned, d: Floats, column: int, product: Floats, scaled: Floats,
) -> None:  # fmt: skip
    """F(R, C) -= L(R, :) D L(C, :)' in the lower triangle, C being the first `columns` of the `count` rows R.

    F is the panel at `begin`, its columns `length` long, and R is at the rows `places` of it.  L is the panel at
    `other` with `width` columns, `column` and so on; R comes after `above` others of its rows.
    """
    leading = above + count
    run = _begin_of_run(places, count)
    if width * count * columns <= LOOP_UPDATE:
        for j in range(columns):
            origin, entry, middle = begin + np.int64(places[j]) * length, other + above + j, max(run, j)
            t = 0
            while t + 4 <= width:
                _subtract_four(panels, origin, places, j, middle, count, entry, leading, d, column + t)
                entry += 4 * leading
                t += 4
            while t < width:
                factor = panels[entry] * d[column + t]
                _subtract_at(panels, origin, places, j, middle, panels, entry, factor)
                if middle < count:
                    to = origin + np.int64(places[middle])
                    subtract_multiple(panels, to, panels, entry + middle - j, count - middle, factor)
                entry += leading
                t += 1
        return
    for a in range(0, columns, COLUMNS):
        block = min(COLUMNS, columns - a)
        first = other + above + a
        for t in range(width):
            scale(scaled, t * block, panels, first + t * leading, block, d[column + t])
        gemm(
            NO_TRANSPOSE, TRANSPOSE, count - a, block, width, 1.0, panels, first, leading, scaled, 0, block, 0.0,
            product, 0, count - a,
        )  # fmt: skip
        for j in range(block):
            origin = begin + np.int64(places[a + j]) * length
            _subtract(panels, origin, places, a + j, max(run, a + j), count, product, j * (count - a) + j)


@leaf
def _begin_of_run(places: Unsigned, count: int) -> int:
    """Where a run of neighbours at the end of the places begins, at their end when it is not worth the while."""
    run = count - 1
    while run > 0 and places[run - 1] + np.uint64(1) == places[run]:
        run -= 1
    return run if count - run >= RUN else count


@leaf
def _subtract_four(
    x: Floats, origin: int, places: Unsigned, j: int, middle: int, count: int, first: int, leading: int, d: Floats,
    column: int,
) -> None:  # fmt: skip
    """x[origin + places[i]] -= the sum of d x[first] x[first + i - j] over four columns, for i = j, ..., count - 1."""
    to, start, a, step = np.uint64(origin), np.uint64(j), np.uint64(first), np.uint64(leading)
    b, c, e = a + step, a + np.uint64(2) * step, a + np.uint64(3) * step
    p, q, r, s = x[a] * d[column], x[b] * d[column + 1], x[c] * d[column + 2], x[e] * d[column + 3]
    for i in range(np.uint64(middle - j)):
        x[to + places[start + i]] -= x[a + i] * p + x[b + i] * q + x[c + i] * r + x[e + i] * s
    if middle < count:
        to += places[middle] - np.uint64(middle - j)
        for i in range(np.uint64(middle - j), np.uint64(count - j)):
            x[to + i] -= x[a + i] * p + x[b + i] * q + x[c + i] * r + x[e + i] * s


@leaf
def _subtract(
    x: Floats, origin: int, places: Unsigned, j: int, middle: int, count: int, y: Floats, first: int
) -> None:  # fmt: skip
    """x[origin + places[i]] -= y[first + i - j] for i = j, ..., count - 1, neighbours from `middle` on."""
    _subtract_at(x, origin, places, j, middle, y, first, 1.0)
    if middle < count:
        subtract_multiple(x, origin + np.int64(places[middle]), y, first + middle - j, count - middle, 1.0)


@leaf
def _subtract_at(
    x: Floats, origin: int, places: Unsigned, j: int, end: int, y: Floats, first: int, factor: float
) -> None:  # fmt: skip
    """x[origin + places[i]] -= factor y[first + i - j] for i = j, ..., end - 1."""
    to, source, start = np.uint64(origin), np.uint64(first), np.uint64(j)
    for i in range(np.uint64(end - j)):
        x[to + places[start + i]] -= y[source + i] * factor


@inner
def solve_lower(
    panels: Floats, begin: int, width: int, height: int, x: Floats, column: int, rows: Unsigned, first_row: int,
    below: Floats,
) -> None:  # fmt: skip
    """x1 := L11^-1 x1, then x2 -= L21 x1;  x1 is x[column:][:width], x2 is at the rows of the panel."""
    length = width + height
    if width <= LOOP_SOLVE:
        for k in range(width):
            diagonal = begin + k * length + k
            subtract_multiple(x, column + k + 1, panels, diagonal + 1, width - k - 1, x[column + k])
    else:
        trsv(LOWER, NO_TRANSPOSE, UNIT, width, panels, begin, length, x, column)
    place = np.uint64(first_row)
    if width * height <= LOOP_MULTIPLY:
        for k in range(width):
            origin = np.uint64(begin + k * length + width)
            x_k = x[column + k]
            for i in range(np.uint64(height)):
                x[rows[place + i]] -= panels[origin + i] * x_k
    else:
        gemv(NO_TRANSPOSE, height, width, 1.0, panels, begin + width, length, x, column, 0.0, below, 0)
        for i in range(np.uint64(height)):
            x[rows[place + i]] -= below[i]


@inner
def solve_upper(
    panels: Floats, begin: int, width: int, height: int, x: Floats, column: int, rows: Unsigned, first_row: int,
    below: Floats,
) -> None:  # fmt: skip
    """x1 := L11^-T (x1 - L21' x2)."""
    length = width + height
    place = np.uint64(first_row)
    if width * height <= LOOP_MULTIPLY:
        for k in range(width):
            origin = np.uint64(begin + k * length + width)
            x_k = x[column + k]
            for i in range(np.uint64(height)):
                x_k -= panels[origin + i] * x[rows[place + i]]
            x[column + k] = x_k
    else:
        for i in range(np.uint64(height)):
            below[i] = x[rows[place + i]]
        gemv(TRANSPOSE, height, width, -1.0, panels, begin + width, length, below, 0, 1.0, x, column)
    if width <= LOOP_SOLVE:
        for k in range(width - 1, -1, -1):
            diagonal = np.uint64(begin + k * length + k)
            x_k = x[column + k]
            for i in range(np.uint64(1), np.uint64(width - k)):
                x_k -= panels[diagonal + i] * x[np.uint64(column + k) + i]
            x[column + k] = x_k
    else:
        trsv(LOWER, TRANSPOSE, UNIT, width, panels, begin, length, x, column)


@inner
def solve_lower_two(
    panels: Floats, begin: int, width: int, height: int, x: Floats, n: int, column: int, rows: Unsigned,
    first_row: int, below: Floats,
) -> None:  # fmt: skip
    """`solve_lower` for x and for x[n:]."""
    length = width + height
    if width > LOOP_SOLVE or width * height > LOOP_MULTIPLY:
        solve_lower_pair(panels, begin, width, height, x, n, column, rows, first_row, below)
        return
    second, place = np.uint64(n), np.uint64(first_row)
    for k in range(width):
        x_k, y_k = x[column + k], x[n + column + k]
        origin, to = np.uint64(begin + k * length), np.uint64(column)
        for i in range(np.uint64(k + 1), np.uint64(width)):
            x[to + i] -= panels[origin + i] * x_k
            x[second + to + i] -= panels[origin + i] * y_k
        origin += np.uint64(width)
        for i in range(np.uint64(height)):
            x[rows[place + i]] -= panels[origin + i] * x_k
            x[second + rows[place + i]] -= panels[origin + i] * y_k


@inner
def solve_upper_two(
    panels: Floats, begin: int, width: int, height: int, x: Floats, n: int, column: int, rows: Unsigned,
    first_row: int, below: Floats,
) -> None:  # fmt: skip
    """`solve_upper` for x and for x[n:]."""
    length = width + height
    if width > LOOP_SOLVE or width * height > LOOP_MULTIPLY:
        solve_upper(panels, begin, width, height, x, column, rows, first_row, below)
        solve_upper(panels, begin, width, height, x[n:], column, rows, first_row, below)
        return
    second, place = np.uint64(n), np.uint64(first_row)
    for k in range(width - 1, -1, -1):
        x_k, y_k = x[column + k], x[n + column + k]
        origin, to = np.uint64(begin + k * length), np.uint64(column)
        for i in range(np.uint64(k + 1), np.uint64(width)):
            x_k -= panels[origin + i] * x[to + i]
            y_k -= panels[origin + i] * x[second + to + i]
        origin += np.uint64(width)
        for i in range(np.uint64(height)):
            x_k -= panels[origin + i] * x[rows[place + i]]
            y_k -= panels[origin + i] * x[second + rows[place + i]]
        x[column + k], x[n + column + k] = x_k, y_k


@inner
def solve_lower_pair(
    panels: Floats, begin: int, width: int, height: int, x: Floats, n: int, column: int, rows: Unsigned,
    first_row: int, work: Floats,
) -> None:  # fmt: skip
    """`solve_lower_two` for a large panel, in one pass over it, which BLAS has not for two right-hand sides.

    `work` has room for both of them at the columns and at the rows of the panel.
    """
    length = width + height
    second, place, other, wide = np.uint64(n), np.uint64(first_row), np.uint64(length), np.uint64(width)
    for k in range(width):
        work[k], work[length + k] = x[column + k], x[n + column + k]
    for i in range(wide, other):
        work[i] = work[other + i] = 0.0
    for k in range(0, width - 3, 4):
        _eliminate_four(panels, begin + k * length, length, k, work)
    for k in range(width - width % 4, width):
        diagonal = begin + k * length + k
        subtract_multiple(work, k + 1, panels, diagonal + 1, length - k - 1, work[k])
        subtract_multiple(work, length + k + 1, panels, diagonal + 1, length - k - 1, work[length + k])
    for k in range(width):
        x[column + k], x[n + column + k] = work[k], work[length + k]
    for i in range(np.uint64(height)):
        x[rows[place + i]] += work[wide + i]
        x[second + rows[place + i]] += work[other + wide + i]


@leaf
def _eliminate_four(panels: Floats, begin: int, length: int, first: int, x: Floats) -> None:
    """Four columns of a unit lower triangle, of which the first begins at `begin`, out of x and x[length:]."""
    a, k, other = np.uint64(begin), np.uint64(first), np.uint64(length)
    b, c, d = a + other, a + np.uint64(2) * other, a + np.uint64(3) * other
    one, two, three = k + np.uint64(1), k + np.uint64(2), k + np.uint64(3)
    x_a, y_a = x[k], x[other + k]
    x_b, y_b = x[one] - panels[a + one] * x_a, x[other + one] - panels[a + one] * y_a
    x_c = x[two] - panels[a + two] * x_a - panels[b + two] * x_b
    y_c = x[other + two] - panels[a + two] * y_a - panels[b + two] * y_b
    x_d = x[three] - panels[a + three] * x_a - panels[b + three] * x_b - panels[c + three] * x_c
    y_d = x[other + three] - panels[a + three] * y_a - panels[b + three] * y_b - panels[c + three] * y_c
    x[one], x[two], x[three] = x_b, x_c, x_d
    x[other + one], x[other + two], x[other + three] = y_b, y_c, y_d
    for i in range(three + np.uint64(1), other):
        x[i] -= panels[a + i] * x_a + panels[b + i] * x_b + panels[c + i] * x_c + panels[d + i] * x_d
        x[other + i] -= panels[a + i] * y_a + panels[b + i] * y_b + panels[c + i] * y_c + panels[d + i] * y_d
