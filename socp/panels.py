"""Dense kernels of the supernodal factorization: one front, and the triangular solves with one panel.

A front of `width` columns with `height` rows below their triangle is stored by columns in two parts,

    [ F11  .  ]  width      the panel, in `panels` from `begin` on, its columns width + height long;
    [ F21  F22 ] height     F22 in `update`, its columns height long, the lower triangle alone.

Indices inside the loops are unsigned: for these numba makes no test of negative ones, and the loops vectorize.
"""

from __future__ import annotations

import numpy as np

from .blas import LOWER, NO_TRANSPOSE, TRANSPOSE, UNIT, ZERO, gemm, gemv, trsv
from .jit import inner_kernel

BLOCK = 64  # columns that are factorized before the rest of the front is updated,
WIDE_BLOCK = 128  # in a long front
COLUMNS = 64  # columns of one call of gemm, so that it stays near the lower triangle,
WIDE_COLUMNS = 192  # in a long front
LONG = 800  # rows of a long front
STRIP = 8  # columns that are factorized by loops
LOOP_UPDATE = 32  # a product of width times height up to this is quicker by loops than by gemm,
LOOP_MULTIPLY = 64  # or by gemv,
RUN = 16  # so many neighbours are added as a vector
LOOP_SOLVE = 8  # and a triangular solve of this order than by trsv


@inner_kernel
def subtract_multiple(x, destination, y, source, count, factor):
    """x[destination:][:count] -= factor y[source:][:count]."""
    to, origin = np.uint64(destination), np.uint64(source)
    for i in range(np.uint64(count)):
        x[to + i] -= y[origin + i] * factor


@inner_kernel
def set_zero(x, begin, count):
    """x[begin:][:count] = 0."""
    to = np.uint64(begin)
    for i in range(np.uint64(count)):
        x[to + i] = 0.0


@inner_kernel
def scale(x, destination, y, source, count, factor):
    """x[destination:][:count] = factor y[source:][:count]."""
    to, origin = np.uint64(destination), np.uint64(source)
    for i in range(np.uint64(count)):
        x[to + i] = y[origin + i] * factor


def scaled_size(length: int) -> int:
    """The size of the work array of `factor_front` for fronts of up to `length` columns and rows."""
    return length * (BLOCK if length < LONG else WIDE_BLOCK)


@inner_kernel
def factor_front(panels, begin, width, height, signs, column, eps, delta, d, update, scaled):
    """The partial factorization of a front, whose columns are `column`, column + 1, ... of the matrix:

        F11 = L11 D1 L11',   L21 = F21 L11^-T D1^-1,   F22 := F22 - L21 D1 L21',

    L11 and L21 over F11 and F21.  A pivot d with signs[.] d <= eps becomes signs[.] delta.  Returns how many were
    replaced, or -1 when one is not finite.  `scaled` is a work array of scaled_size(width + height).
    """
    length = width + height
    block = BLOCK if length < LONG else WIDE_BLOCK
    replaced = 0
    for a in range(0, width, block):
        b = min(a + block, width)
        for s in range(a, b, STRIP):
            t = min(s + STRIP, b)
            wrong = _factor_strip(panels, begin, length, s, t, signs, column, eps, delta, d)
            if wrong < 0:
                return -1
            replaced += wrong
            if t < b:  # halves of halves: the columns that are done in an aligned range update as many behind them
                half = (t - a) & (a - t)
                _scale_columns(panels, begin, length, t - half, t, t, column, d, scaled)
                _update_panel(panels, begin, length, t - half, t, min(t + half, b), scaled)
        if b == width and (b - a) * height <= LOOP_UPDATE:
            _update_by_loops(panels, begin, length, a, b, column, d, update)
        elif b < length:
            _scale_columns(panels, begin, length, a, b, b, column, d, scaled)
            _update_panel(panels, begin, length, a, b, width, scaled)
            _update_rest(panels, begin, length, a, b, width, scaled, update)
    return replaced


@inner_kernel
def _factor_strip(panels, begin, length, s, t, signs, column, eps, delta, d):
    """Factorize columns s ... t - 1 of a panel, to which all columns before s have been applied."""
    replaced = 0
    for j in range(s, t):
        diagonal = begin + j * length + j
        for k in range(s, j):
            l_jk = begin + k * length + j
            subtract_multiple(panels, diagonal, panels, l_jk, length - j, panels[l_jk] * d[column + k])
        pivot = panels[diagonal]
        if not np.isfinite(pivot):
            return -1
        if signs[column + j] * pivot <= eps:
            pivot = signs[column + j] * delta
            replaced += 1
        d[column + j] = pivot
        panels[diagonal] = 1.0
        scale(panels, diagonal + 1, panels, diagonal + 1, length - j - 1, 1.0 / pivot)
    return replaced


@inner_kernel
def _update_by_loops(panels, begin, length, s, width, column, d, update):
    """F22 -= L(width:, s:width) D L(width:, s:width)' for a small front."""
    height = length - width
    for j in range(height):
        for k in range(s, width):
            l_jk = begin + k * length + width + j
            factor = panels[l_jk] * d[column + k]
            subtract_multiple(update, j * height + j, panels, l_jk, height - j, factor)


@inner_kernel
def _scale_columns(panels, begin, length, s, t, top, column, d, scaled):
    """scaled := L(top:, s:t) D(s:t)."""
    count = length - top
    for k in range(s, t):
        scale(scaled, (k - s) * count, panels, begin + k * length + top, count, d[column + k])


@inner_kernel
def _update_panel(panels, begin, length, s, t, end, scaled):
    """F(t:, t:end) -= L(t:, s:t) D(s:t) L(t:end, s:t)', the lower triangle by blocks of columns."""
    columns = COLUMNS if length - t < LONG else WIDE_COLUMNS
    for j in range(t, end, columns):
        gemm(
            NO_TRANSPOSE, TRANSPOSE, length - j, min(columns, end - j), t - s, -1.0,
            panels, begin + s * length + j, length, scaled, j - t, length - t,
            1.0, panels, begin + j * length + j, length,
        )  # fmt: skip


@inner_kernel
def _update_rest(panels, begin, length, s, t, width, scaled, update):
    """F22 -= L(width:, s:t) D(s:t) L(width:, s:t)', the lower triangle by blocks of columns."""
    height = length - width
    columns = COLUMNS if height < LONG else WIDE_COLUMNS
    for j in range(0, height, columns):
        gemm(
            NO_TRANSPOSE, TRANSPOSE, height - j, min(columns, height - j), t - s, -1.0,
            panels, begin + s * length + width + j, length, scaled, width + j - t, length - t,
            1.0, update, j * height + j, height,
        )  # fmt: skip


@inner_kernel
def clear_front(panels, begin, width, height, update):
    """F = 0, of F22 the lower triangle."""
    set_zero(panels, begin, width * (width + height))
    for j in range(height):
        set_zero(update, j * height + j, height - j)


@inner_kernel
def extend_add(stack, start, places, first_place, size, panels, begin, width, height, update):
    """Add the packed update matrix of a child, of order `size`, at its places in the front of the parent."""
    scattered = _scattered(places, first_place, size)
    place, source, above = np.uint64(first_place), np.uint64(start), np.uint64(width)
    for j in range(np.uint64(size)):
        column = places[place + j]
        middle = max(scattered, j)
        if column < above:
            origin = np.uint64(begin) + column * np.uint64(width + height)
            for i in range(j, middle):
                panels[origin + places[place + i]] += stack[source + (i - j)]
            if middle < np.uint64(size):
                _add(panels, origin + places[place + middle], stack, source + (middle - j), np.uint64(size) - middle)
        else:
            origin = (column - above) * np.uint64(height)
            for i in range(j, middle):
                update[origin + (places[place + i] - above)] += stack[source + (i - j)]
            if middle < np.uint64(size):
                to = origin + (places[place + middle] - above)
                _add(update, to, stack, source + (middle - j), np.uint64(size) - middle)
        source += np.uint64(size) - j


@inner_kernel
def _scattered(places, first_place, size):
    """How many places come before a run of neighbours at the end; all of them when the run is not worth the while."""
    run = size
    if size >= RUN:
        run -= 1
        while run > 0 and places[first_place + run - 1] + np.uint64(1) == places[first_place + run]:
            run -= 1
        if size - run < RUN:
            run = size
    return np.uint64(run)


@inner_kernel
def _add(x, to, y, source, count):
    """x[to:][:count] += y[source:][:count]; unsigned numbers."""
    for i in range(count):
        x[to + i] += y[source + i]


@inner_kernel
def pack(update, height, stack, start):
    """Move the lower triangle of an update matrix to the stack, by columns."""
    position = start
    for j in range(height):
        scale(stack, position, update, j * height + j, height - j, 1.0)
        position += height - j


@inner_kernel
def solve_lower(panels, begin, width, height, x, column, rows, first_row, below):
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
        gemv(NO_TRANSPOSE, height, width, 1.0, panels, begin + width, length, x, column, 0.0, below, ZERO)
        for i in range(np.uint64(height)):
            x[rows[place + i]] -= below[i]


@inner_kernel
def solve_upper(panels, begin, width, height, x, column, rows, first_row, below):
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
        gemv(TRANSPOSE, height, width, -1.0, panels, begin + width, length, below, ZERO, 1.0, x, column)
    if width <= LOOP_SOLVE:
        for k in range(width - 1, -1, -1):
            diagonal = np.uint64(begin + k * length + k)
            x_k = x[column + k]
            for i in range(np.uint64(1), np.uint64(width - k)):
                x_k -= panels[diagonal + i] * x[np.uint64(column + k) + i]
            x[column + k] = x_k
    else:
        trsv(LOWER, TRANSPOSE, UNIT, width, panels, begin, length, x, column)
