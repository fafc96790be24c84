"""Structures and kernels that the parts of the active set share.

    minimize 1/2 x'Px + q'x   subject to   a'x = side,  lb <= x <= ub,     g = Px + q,  v = g + a y

A variable x_k is free to move where its slope v_k does not push it against a bound that it is at.  There may be two
rows without common variables, one of the first and one of the last variables; y is the multiplier of a variable's row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.compiled.kernels import inner, leaf
from socp.compiled.signatures import Ints
from socp.compiled.structures import Structure, flag, floats, integer, integers, matrix, number, structure

from ..problem.mercer import Samples, make_rows

BLOCK = 16  # variables of a block on each side: they gain by rising along the row, by falling, or outside it
SIDES = 3
PACE = 2**24  # multiplications between two looks at the clock, or for an interrupt


class Box(Structure):
    """Variables with their entries of the row, bounds, values x and gradient entries g."""

    a, lb, ub = floats("size"), floats("size"), floats("size")
    x, g = floats("size"), floats("size")


class BoxedProgram(Box):
    """The whole program; the value of a row with two sides is one more variable after those of P, without curvature.

    P may be the matrix of a kernel between `samples` (variables from `count` on are held at zero); its rows are
    computed when they are first read, and `made` marks them.
    """

    P = matrix()
    samples = structure(Samples)
    on_demand, count = flag(), integer()
    made, wanted = integers("size"), integers("size")
    diagonal = floats("size")  # of P, and a positive curvature for the row's value
    largest = number()  # of the diagonal
    ends = integers("3")  # row r has the entries of a from ends[r] to ends[r + 1]; without a second row it has none
    sides = floats("2")  # required values of a'x
    q = floats("size")
    max_work = number()  # the multiplications of factorizations that are allowed

    multipliers = floats("2")  # y
    objective, scale = number(), number()  # the dual residual of a round is relative to `scale`
    gain, first_gain = number(), number()  # the largest of a variable alone, as the last descent saw it, and at first
    share = number()  # of the first gain, to which the next descent goes
    newton, outcome = integer(), integer()  # Newton steps since the last descent, outcome of the last step
    exact = number()  # multipliers have the right sign up to this share of the tolerance
    rows_read = integer()  # rows of P, by all descents
    wrong_slope = number()  # the largest, see `wrong_slope`
    work = number()  # the multiplications of factorizations so far

    def __init__(self, size: int, **parts: Any) -> None:
        super().__init__(size=size, **parts)
        self.ends[1:] = size


class Block(Box):
    """Subproblem of a few variables that fits into the cache: `BLOCK` for each of three sides, and two more.

    `chosen` and `gains` have `BLOCK` places for each side: variables that gain by rising along the row, by
    falling along it, and outside it (a_k = 0); `counts` places are taken.
    """

    K = matrix("size, size")  # their part of P
    which = integers("size")  # the variables
    moves = floats("size")
    count = integer()
    chosen, gains, counts = integers("size"), floats("size"), integers("3")

    def __init__(self) -> None:
        super().__init__(size=SIDES * BLOCK + 2)


class Face(Structure):
    """Free variables of a face of the box, and a Newton step for them."""

    free = integers("size")
    count = integer()  # of the free variables
    between = integer()  # how many of them are variables of P
    shift = number()  # of the diagonal of P_FF, as a share of it
    factor = floats()  # of P_FF
    rhs = floats("size")  # -v_F - P_FC e_C
    step = floats("size")  # d
    moves = floats("size")  # of all variables, free or not
    missing = floats("2")  # required contribution of the free variables to a'x
    value_is_free = flag()  # whether the row's own value is a free variable, so that the row has no multiplier
    multipliers = floats("2")  # y on the face, less y before


@inner
def need_rows(program: BoxedProgram, which: Ints, count: int) -> None:
    """Compute rows `which[:count]` of P unless they are stored."""
    if not program.on_demand:
        return
    made, wanted, missing = program.made, program.wanted, 0
    for r in range(count):
        if made[which[r]] == 0:
            made[which[r]] = 1
            wanted[missing] = which[r]
            missing += 1
    if missing > 0:
        make_rows(program.samples, program.count, wanted, missing, wanted, program.P)


@leaf
def wrong_slope(lower: float, upper: float, x: float, v: float) -> float:
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
