"""Dense panels of the supernodal factorization: their memory, a panel, its update by another, and solves with it.

The panel of a supernode with `width` columns and `height` rows below their triangle is stored by columns, each
width + height long, in `values` from ``panel_start`` on:

    [ F11  .  ]  width
    [ F21     ]  height
"""

from __future__ import annotations

from ....compiled.blas import LOWER, NO_TRANSPOSE, RIGHT, TRANSPOSE, UNIT, gemm, gemv, trsm, trsv
from ....compiled.clock import clock
from ....compiled.kernels import inner, leaf
from ....compiled.signatures import Floats
from ....compiled.structures import floats, integers, structure
from ...cholesky import LOOPS
from ..factors import Factors, put_pivot
from ..symbolic.assembly_tree import AssemblyTree


class PanelFactors(Factors):
    """L as dense panels; supernode k is ``values[panel_start[k]:panel_start[k + 1]]``.

    Attributes
    ----------
    tree : AssemblyTree
    head, following, position : arrays
        Linked lists: head[k] is the first supernode that waits to update supernode k, following[c] the next one after c
        in its list, and position[c] the place of the first row of c that is not subtracted yet.
    place, places, product, scaled, below : arrays
        Work arrays.
    """

    tree = structure(AssemblyTree)
    values, work = floats("entries", scratch=True), floats("2 * n")
    head, following, position = integers("supernodes"), integers("supernodes"), integers("supernodes")
    place, places = integers("n"), integers("n")
    product, scaled, below = floats("update"), floats("front"), floats("rows")

    def __init__(self, tree: AssemblyTree, signs: Floats) -> None:
        super().__init__(
            n=tree.perm.size, supernodes=tree.parent.size, entries=int(tree.panel_start[-1]),
            rows=tree.largest_update, update=tree.largest_update * LOOPS,
            front=tree.largest_front * LOOPS, tree=tree,
        )  # fmt: skip
        self.perm[:], self.signs[:] = tree.perm, signs[tree.perm]
        self.d[:] = 1.0


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
    """Return the number of columns of supernode `k`, and the number of rows below their triangle."""
    tree = ldl.tree
    return tree.first[k + 1] - tree.first[k], tree.row_start[k + 1] - tree.row_start[k]


@inner
def factor_panel(ldl: PanelFactors, k: int, scaled: Floats) -> int:
    """Factor panel `k` by blocks of columns; return the number of replaced pivots, or -1 if one is bad or time is over.

        F11 = L11 D1 L11',   L21 = F21 L11^-T D1^-1,

    L11 and L21 overwrite F11 and F21; `scaled` is workspace.
    """
    (width, height), replaced, panels = extent(ldl, k), 0, ldl.values
    length, begin, column = width + height, ldl.tree.panel_start[k], ldl.tree.first[k]
    for a in range(0, width, LOOPS):
        if ldl.until > 0.0 and clock() >= ldl.until:
            return -1
        b = min(a + LOOPS, width)
        wrong = factor_block(ldl, k, a, b)
        if wrong < 0:
            return -1
        replaced += wrong
        if b == length:
            break
        # F(b:, a:b) := L(b:, a:b), and scaled := L(b:, a:b) D(a:b)
        first, count = begin + a * length, length - b
        trsm(RIGHT, LOWER, TRANSPOSE, UNIT, count, b - a, 1.0, panels, first + a, length, panels, first + b, length)
        for j in range(a, b):
            at = begin + j * length + b
            scale(scaled, (j - a) * count, panels, at, count, 1.0)
            scale(panels, at, panels, at, count, 1.0 / ldl.d[column + j])
        for j in range(b, width, LOOPS):  # F(j:, j) -= L(j:, a:b) D(a:b) L(j, a:b)'
            gemm(
                NO_TRANSPOSE, TRANSPOSE, length - j, min(LOOPS, width - j), b - a, -1.0, panels, first + j, length,
                scaled, j - b, count, 1.0, panels, begin + j * length + j, length,
            )  # fmt: skip
    return replaced


@inner
def factor_block(ldl: PanelFactors, k: int, a: int, b: int) -> int:
    """Factor the triangle of columns a ... b - 1 of panel `k` by loops; all columns before `a` have been applied."""
    panels, d, begin, column, replaced = ldl.values, ldl.d, ldl.tree.panel_start[k], ldl.tree.first[k], 0
    width, height = extent(ldl, k)
    length = width + height
    for j in range(a, b):
        diagonal = begin + j * length + j
        for i in range(a, j):
            l_ji = begin + i * length + j
            subtract_multiple(panels, diagonal, panels, l_ji, b - j, panels[l_ji] * d[column + i])
        wrong = put_pivot(ldl, column + j, panels[diagonal])
        if wrong < 0:
            return -1
        replaced += wrong
        panels[diagonal] = 1.0
        scale(panels, diagonal + 1, panels, diagonal + 1, b - j - 1, 1.0 / d[column + j])
    return replaced


@inner
def update_panel(ldl: PanelFactors, k: int, c: int, start: int, stop: int) -> None:
    """F(R, C) -= L_c(R, :) D_c L_c(C, :)' in the lower triangle of panel k.

    R: the rows of supernode c from place `start` on; C: its rows start:stop, which are columns of k.  `place` gives the
    row in panel k of each row of the matrix.
    """
    tree, panels, d = ldl.tree, ldl.values, ldl.d
    width, height = extent(ldl, c)
    above, leading, column = width + start - tree.row_start[c], width + height, tree.first[c]
    count, columns, other, begin = leading - above, stop - start, tree.panel_start[c], tree.panel_start[k]
    length = (tree.panel_start[k + 1] - begin) // (tree.first[k + 1] - tree.first[k])
    places, place, product, scaled = ldl.places, ldl.place, ldl.product, ldl.scaled
    for i in range(count):
        places[i] = place[tree.rows[start + i]]
    for a in range(0, columns, LOOPS):
        block = min(LOOPS, columns - a)
        first = other + above + a
        for t in range(width):
            scale(scaled, t * block, panels, first + t * leading, block, d[column + t])
        gemm(
            NO_TRANSPOSE, TRANSPOSE, count - a, block, width, 1.0, panels, first, leading, scaled, 0, block, 0.0,
            product, 0, count - a,
        )  # fmt: skip
        for j in range(block):
            origin, source = begin + places[a + j] * length, j * (count - a)
            for i in range(j, count - a):
                panels[origin + places[a + i]] -= product[source + i]


@inner
def solve_lower(ldl: PanelFactors, k: int, x: Floats, below: Floats) -> None:
    """x1 := L11^-1 x1, then x2 -= L21 x1, where x1 is x at the columns of panel k and x2 at the rows below."""
    panels, begin, column, rows = ldl.values, ldl.tree.panel_start[k], ldl.tree.first[k], ldl.tree.rows
    (width, height), place = extent(ldl, k), ldl.tree.row_start[k]
    length = width + height
    if width <= LOOPS:
        for j in range(width):
            subtract_multiple(x, column + j + 1, panels, begin + j * length + j + 1, width - j - 1, x[column + j])
    else:
        trsv(LOWER, NO_TRANSPOSE, UNIT, width, panels, begin, length, x, column)
    if width * height <= LOOPS:
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
    """x1 := L11^-T (x1 - L21' x2), where x1 is x at the columns of panel k and x2 at the rows below."""
    panels, begin, column, rows = ldl.values, ldl.tree.panel_start[k], ldl.tree.first[k], ldl.tree.rows
    (width, height), place = extent(ldl, k), ldl.tree.row_start[k]
    length = width + height
    if width * height <= LOOPS:
        for j in range(width):
            origin, x_j = begin + j * length + width, x[column + j]
            for i in range(height):
                x_j -= panels[origin + i] * x[rows[place + i]]
            x[column + j] = x_j
    else:
        for i in range(height):
            below[i] = x[rows[place + i]]
        gemv(TRANSPOSE, height, width, -1.0, panels, begin + width, length, below, 0, 1.0, x, column)
    if width <= LOOPS:
        for j in range(width - 1, -1, -1):
            diagonal, x_j = begin + j * length + j, x[column + j]
            for i in range(1, width - j):
                x_j -= panels[diagonal + i] * x[(column + j) + i]
            x[column + j] = x_j
    else:
        trsv(LOWER, TRANSPOSE, UNIT, width, panels, begin, length, x, column)
