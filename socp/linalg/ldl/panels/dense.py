"""Dense kernels of the supernodal factorization: one panel, its update by another, the triangular solves with it.

The panel of a supernode with `width` columns and `height` rows below their triangle is stored by columns, each
width + height long, in `values` from ``panel_start`` on:

    [ F11  .  ]  width
    [ F21     ]  height
"""

from __future__ import annotations

import numpy as np

from ....compiled.blas import LOWER, NO_TRANSPOSE, RIGHT, TRANSPOSE, UNIT, gemm, gemv, trsm, trsv
from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Floats, Ints
from ...dense import ENTRIES
from ..factors import put_pivot
from .factors import BLOCK, PanelFactors

NARROW = 8  # columns that are factorized by loops, and the order of a triangle up to which loops solve with it


@leaf
def subtract_multiple(x: Floats, destination: int, y: Floats, source: int, count: int, factor: float) -> None:
    """x[destination:][:count] -= factor y[source:][:count]."""
    to, origin = destination, source
    for i in range(count):
        x[to + i] -= y[origin + i] * factor


@leaf
def scale(x: Floats, destination: int, y: Floats, source: int, count: int, factor: float) -> None:
    """x[destination:][:count] = factor y[source:][:count]."""
    to, origin = destination, source
    for i in range(count):
        x[to + i] = y[origin + i] * factor


@leaf
def extent(ldl: PanelFactors, k: int) -> tuple[int, int]:
    """The columns of supernode k, and the rows below their triangle."""
    tree = ldl.tree
    return tree.first[k + 1] - tree.first[k], tree.row_start[k + 1] - tree.row_start[k]


@inner
def factor_panel(ldl: PanelFactors, k: int, scaled: Floats) -> int:
    """The factorization of panel k by blocks of columns:

        F11 = L11 D1 L11',   L21 = F21 L11^-T D1^-1,

    L11 and L21 over F11 and F21.  Returns how many pivots were replaced, or -1 when one is not finite.
    """
    (width, height), replaced, panels = extent(ldl, k), 0, ldl.values
    length, begin, column = width + height, ldl.tree.panel_start[k], ldl.tree.first[k]
    for a in range(0, width, BLOCK):
        b = min(a + BLOCK, width)
        wrong = factor_block(ldl, k, a, b, scaled)
        if wrong < 0:
            return -1
        replaced += wrong
        if b < length:  # the rows below of these columns, and scaled := L(b:, a:b) D(a:b)
            first, count = begin + a * length, length - b
            trsm(RIGHT, LOWER, TRANSPOSE, UNIT, count, b - a, 1.0, panels, first + a, length, panels, first + b, length)
            for j in range(a, b):
                at = begin + j * length + b
                scale(scaled, (j - a) * count, panels, at, count, 1.0)
                scale(panels, at, panels, at, count, 1.0 / ldl.d[column + j])
            update_columns(ldl, k, a, b, b, width, length, scaled)
    return replaced


@inner
def factor_block(ldl: PanelFactors, k: int, a: int, b: int, scaled: Floats) -> int:
    """Factorize the triangle of columns a ... b - 1 of panel k, to which all columns before a have been applied."""
    (width, height), begin, replaced = extent(ldl, k), ldl.tree.panel_start[k], 0
    length = width + height
    for s in range(a, b, NARROW):
        t = min(s + NARROW, b)
        wrong = factor_narrow(ldl, k, s, t, b)
        if wrong < 0:
            return -1
        replaced += wrong
        if t < b:  # halves of halves: the columns that are done in an aligned range update as many behind them
            half = (t - a) & (a - t)
            for j in range(t - half, t):
                at = (j - (t - half)) * (b - t)
                scale(scaled, at, ldl.values, begin + j * length + t, b - t, ldl.d[ldl.tree.first[k] + j])
            update_columns(ldl, k, t - half, t, t, min(t + half, b), b, scaled)
    return replaced


@inner
def factor_narrow(ldl: PanelFactors, k: int, s: int, t: int, bottom: int) -> int:
    """Factorize columns s ... t - 1 of a panel down to row `bottom` - 1 by loops; all before s have been applied."""
    panels, d, begin, column, replaced = ldl.values, ldl.d, ldl.tree.panel_start[k], ldl.tree.first[k], 0
    width, height = extent(ldl, k)
    length = width + height
    for j in range(s, t):
        diagonal = begin + j * length + j
        for i in range(s, j):
            l_ji = begin + i * length + j
            subtract_multiple(panels, diagonal, panels, l_ji, bottom - j, panels[l_ji] * d[column + i])
        wrong = put_pivot(ldl, column + j, panels[diagonal])
        if wrong < 0:
            return -1
        replaced += wrong
        panels[diagonal] = 1.0
        scale(panels, diagonal + 1, panels, diagonal + 1, bottom - j - 1, 1.0 / d[column + j])
    return replaced


@inner
def update_columns(
    ldl: PanelFactors, k: int, s: int, t: int, first: int, end: int, bottom: int, scaled: Floats
) -> None:  # fmt: skip
    """F(j:bottom, j) -= L(j:bottom, s:t) D(s:t) L(j, s:t)' for j = first ... end - 1, by blocks of columns.

    scaled = L(t:bottom, s:t) D(s:t), t <= first.
    """
    width, height = extent(ldl, k)
    panels, begin, length = ldl.values, ldl.tree.panel_start[k], width + height
    for j in range(first, end, BLOCK):
        gemm(
            NO_TRANSPOSE, TRANSPOSE, bottom - j, min(BLOCK, end - j), t - s, -1.0,
            panels, begin + s * length + j, length, scaled, j - t, bottom - t,
            1.0, panels, begin + j * length + j, length,
        )  # fmt: skip


@inner
def update_panel(ldl: PanelFactors, k: int, c: int, start: int, stop: int) -> None:
    """F(R, C) -= L_c(R, :) D_c L_c(C, :)' in the lower triangle of panel k.

    R are the rows of supernode c from `start` on, C those before `stop` among them, which are columns of k.  `place`
    gives the row in panel k of each row of the matrix.
    """
    tree, panels, d = ldl.tree, ldl.values, ldl.d
    width, height = extent(ldl, c)
    above, leading, column = width + start - tree.row_start[c], width + height, tree.first[c]
    count, columns, other, begin = leading - above, stop - start, tree.panel_start[c], tree.panel_start[k]
    length = (tree.panel_start[k + 1] - begin) // (tree.first[k + 1] - tree.first[k])
    places, place, product, scaled = ldl.places, ldl.place, ldl.product, ldl.scaled
    for i in range(count):
        places[i] = place[tree.rows[start + i]]
    for a in range(0, columns, BLOCK):
        block = min(BLOCK, columns - a)
        first = other + above + a
        for t in range(width):
            scale(scaled, t * block, panels, first + t * leading, block, d[column + t])
        gemm(
            NO_TRANSPOSE, TRANSPOSE, count - a, block, width, 1.0, panels, first, leading, scaled, 0, block, 0.0,
            product, 0, count - a,
        )  # fmt: skip
        for j in range(block):
            origin = begin + np.int64(places[a + j]) * length
            subtract_at(panels, origin, places, a + j, count, product, j * (count - a) + j, 1.0)


@leaf
def subtract_at(
    x: Floats, origin: int, places: Ints, j: int, end: int, y: Floats, first: int, factor: float
) -> None:  # fmt: skip
    """x[origin + places[i]] -= factor y[first + i - j] for i = j, ..., end - 1."""
    to, source, start = origin, first, j
    for i in range(end - j):
        x[to + places[start + i]] -= y[source + i] * factor


@inner
def solve_lower(ldl: PanelFactors, k: int, x: Floats, below: Floats) -> None:
    """x1 := L11^-1 x1, then x2 -= L21 x1;  x1 is x at the columns of panel k, x2 at its rows."""
    panels, begin, column, rows = ldl.values, ldl.tree.panel_start[k], ldl.tree.first[k], ldl.tree.rows
    (width, height), place = extent(ldl, k), ldl.tree.row_start[k]
    length = width + height
    if width <= NARROW:
        for j in range(width):
            subtract_multiple(x, column + j + 1, panels, begin + j * length + j + 1, width - j - 1, x[column + j])
    else:
        trsv(LOWER, NO_TRANSPOSE, UNIT, width, panels, begin, length, x, column)
    if width * height <= ENTRIES:
        for j in range(width):
            origin, x_j = begin + j * length + width, x[column + j]
            for i in range(height):
                x[rows[place + i]] -= panels[origin + i] * x_j
    else:
        gemv(NO_TRANSPOSE, height, width, 1.0, panels, begin + width, length, x, column, 0.0, below, 0)
        for i in range(height):
            x[rows[place + i]] -= below[i]


@inner
def solve_upper(ldl: PanelFactors, k: int, x: Floats, below: Floats) -> None:
    """x1 := L11^-T (x1 - L21' x2)."""
    panels, begin, column, rows = ldl.values, ldl.tree.panel_start[k], ldl.tree.first[k], ldl.tree.rows
    (width, height), place = extent(ldl, k), ldl.tree.row_start[k]
    length = width + height
    if width * height <= ENTRIES:
        for j in range(width):
            origin, x_j = begin + j * length + width, x[column + j]
            for i in range(height):
                x_j -= panels[origin + i] * x[rows[place + i]]
            x[column + j] = x_j
    else:
        for i in range(height):
            below[i] = x[rows[place + i]]
        gemv(TRANSPOSE, height, width, -1.0, panels, begin + width, length, below, 0, 1.0, x, column)
    if width <= NARROW:
        for j in range(width - 1, -1, -1):
            diagonal, x_j = begin + j * length + j, x[column + j]
            for i in range(1, width - j):
                x_j -= panels[diagonal + i] * x[(column + j) + i]
            x[column + j] = x_j
    else:
        trsv(LOWER, TRANSPOSE, UNIT, width, panels, begin, length, x, column)
