"""Structures and kernels that the parts of the active set share.

    minimize 1/2 x'Px + q'x   subject to   a'x = side,  lb <= x <= ub,     g = Px + q,  v = g + a y

A variable x_k may move unless it is at a bound and its slope v_k pushes it outwards.  There may be two rows without
common variables, one with the leading and one with the other variables; y is the multiplier of the row with x_k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.compiled.kernels import inner, kernel_type, leaf
from socp.compiled.signatures import Ints
from socp.compiled.structures import Structure, flag, floats, integer, integers, matrix, number, part
from socp.verify.stopping import Measured

BLOCK = 16  # largest number of variables in a block per side
SIDES = 3  # a variable gains by rising along the row, by falling along it, or outside the row (a_k = 0)
PACE = 2**24  # multiplications in one compiled call; between calls Python checks the clock and Ctrl-C


class Box(Structure):
    """Variables with their entries of the row, bounds, values x and gradient entries g."""

    a, lb, ub = floats("size"), floats("size"), floats("size")
    x, g = floats("size"), floats("size")


class BoxedProgram(Box):
    """A whole program; the value of a row with two different sides is an additional last variable, on which P is zero.

    Variables from `count` on are zero.  If `rows_address` is the address of a kernel of the type `compute_rows`, that
    kernel computes rows of P before they are read; if it is 0, P has all rows.
    """

    P = matrix()
    rows_address, count = integer(), integer()
    diagonal = floats("size")  # diagonal of P; for the row's value, the mean of P_kk / a_k^2
    largest = number()  # max_k P_kk
    ends = integers("3")  # row r has the variables ends[r]:ends[r + 1]; a second row may be empty
    sides = floats("2")  # required value of a'x in each row
    q = floats("size")
    max_work, max_read = number(), number()  # largest allowed `work` and `rows_read`

    multipliers = floats("2")  # y of each row
    objective, scale = number(), number()  # 1/2 x'Px + q'x; 1 + max(norm(P x, inf), norm(q, inf))
    gain, first_gain = number(), number()  # max_k v_k^2 / P_kk in the last pass of descent; at the start
    share = number()  # the next descent stops when all gains are at most share * first_gain
    newton, outcome = integer(), integer()  # Newton steps since the last descent; outcome of the last step
    exact = number()  # share of the tolerance within which a multiplier of the wrong sign counts as zero
    rows_read = integer()  # number of rows of P read by all descents
    dual_violation = number()  # largest `dual_violation` of all variables
    work = number()  # multiplications in factorizations so far
    measured = part(Measured)  # residuals of a program of a series

    def __init__(self, size: int, **parts: Any) -> None:
        super().__init__(size=size, **parts)
        self.ends[1:] = size


class Block(Box):
    """Subproblem of a few variables that fits into the cache: at most `BLOCK` for each of three sides, and two more.

    `chosen` and `gains` have `BLOCK` places for each side (see `SIDES`): variables and their gains, in descending
    order; side r uses counts[r] of them.
    """

    K = matrix("size, size")  # P between the variables of the block
    which = integers("size")  # indices of the variables in the program
    moves = floats("size")
    count = integer()
    chosen, gains, counts = integers("size"), floats("size"), integers("3")

    def __init__(self) -> None:
        super().__init__(size=SIDES * BLOCK + 2)


class Face(Structure):
    """Free variables of a face of the box, and a Newton step for them."""

    free = integers("size")
    count = integer()  # number of free variables
    between = integer()  # number of free variables without the row's value
    shift = number()  # increase of the diagonal of P_FF, relative to P_kk + MIN_CURVATURE * max P_kk
    factor = floats()  # Cholesky factor of P_FF
    rhs = floats("size")  # -v_F - P_FC e_C
    step = floats("size")  # d
    moves = floats("size")  # step of every variable, free or not
    missing = floats("2")  # required value of a_F'd for each row
    value_is_free = flag()  # True if the row's value is a free variable, so that y is zero
    multipliers = floats("2")  # change of y by the step


@kernel_type
def compute_rows(address: int, program: BoxedProgram, which: Ints, count: int) -> None:
    """Compute rows `which[:count]` of P unless they are stored."""


@inner
def need_rows(program: BoxedProgram, which: Ints, count: int) -> None:
    """Compute rows `which[:count]` of P if they are computed on demand."""
    if program.rows_address != 0:
        compute_rows(program.rows_address, program, which, count)


@leaf
def dual_violation(lower: float, upper: float, x: float, v: float) -> float:
    """Return |v| if x can move against its slope v within its bounds, else 0: the dual violation of x."""
    return abs(v) if (v < 0.0 and x < upper) or (v > 0.0 and x > lower) else 0.0


@inner
def extremes(box: Box, first: int, last: int) -> tuple[int, int, float, float]:
    """Return (i, j, g_i / a_i, g_j / a_j): the least slope where a_i x_i may rise, the largest where a_j x_j may fall.

    Variables first:last with a_k != 0 count; i or j is -1, and its slope infinite, if no variable may move that way.
    """
    a, lb, ub, x, g = box.a, box.lb, box.ub, box.x, box.g
    i, j, low, high = -1, -1, np.inf, -np.inf
    for k in range(first, last):
        if a[k] == 0.0:
            continue
        slope = g[k] if a[k] == 1.0 else g[k] / a[k]
        rises, falls = (x[k] < ub[k], x[k] > lb[k]) if a[k] > 0.0 else (x[k] > lb[k], x[k] < ub[k])
        if rises and slope < low:
            low, i = slope, k
        if falls and slope > high:
            high, j = slope, k
    return i, j, low, high


@inner
def row_multiplier(i: int, j: int, low: float, high: float) -> float:
    """Return y = -(low + high) / 2 from `extremes`; use one slope if the other is missing, and 0 if both are."""
    if i < 0 and j < 0:
        return 0.0
    if i < 0:
        return -high
    return -low if j < 0 else -0.5 * (low + high)
