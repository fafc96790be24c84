"""What the kernels of the active set share.

    minimize 1/2 x'Px + q'x   subject to   a'x = side,  lb <= x <= ub,     g = Px + q,  v = g + a y

A variable x_k is free to move where its slope v_k does not push it against a bound that it is at.  There may be two
rows without a variable in common, of the first variables and of the last: v = g + a y with the y of the variable's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.compiled.kernels import inner, leaf
from socp.compiled.signatures import Ints
from socp.compiled.structures import Structure, flag, floats, integer, integers, matrix, number, structure

from ..problem.mercer import Samples, make_rows

BLOCK = 16  # variables that are taken out at a time: so many that gain by rising along the row, by falling, without it
SIDES = 3
PACE = 2**24  # multiplications between two looks at the clock, or for an interrupt


class Box(Structure):
    """Some variables: their entries in the row, their bounds, where they are and the gradient there."""

    a, lb, ub = floats("size"), floats("size"), floats("size")
    x, g = floats("size"), floats("size")


class BoxedProgram(Box):
    """All of them; where the row has two sides, its value is one more variable behind those of P, without curvature.

    P may be the matrix of a kernel between `samples` (variables beyond their `count` are held at zero) whose rows are
    made when they are first read; `made` tells which are there.
    """

    P = matrix()
    samples = structure(Samples)
    on_demand, count = flag(), integer()
    made, wanted = integers("size"), integers("size")
    diagonal = floats("size")  # of P, and a curvature in place of that of the row's value
    largest = number()  # of the diagonal
    ends = integers("3")  # row r has the entries of a from ends[r] to ends[r + 1]; without a second row it has none
    sides = floats("2")  # what a'x is to be
    q = floats("size")
    max_work = number()  # the multiplications of factorizations that are allowed

    multipliers = floats("2")  # y
    objective, scale = number(), number()  # what the dual residual of a round is relative to
    gain, first_gain = number(), number()  # the largest of a variable alone, as the last descent saw it, and at first
    share = number()  # of the first gain, to which the next descent goes
    newton, outcome = integer(), integer()  # steps of Newton's method since the last descent, what the last came to
    exact = number()  # the share of the tolerance to which multipliers are to have the right sign
    rows_read = integer()  # rows of P, by all descents
    wrong_slope = number()  # the largest, see `wrong_slope`
    work = number()  # the multiplications of factorizations so far

    def __init__(self, size: int, **parts: Any) -> None:
        super().__init__(size=size, **parts)
        self.ends[1:] = size


class Block(Box):
    """Variables that are taken out and worked on in the cache: `BLOCK` for each of three sides, and two more.

    `chosen` and `gains` have `BLOCK` places for each side: variables that gain by rising along the row, by
    falling along it, and without it; `counts` of them are taken.
    """

    K = matrix("size, size")  # their part of P
    which = integers("size")  # the variables
    moves = floats("size")
    count = integer()
    chosen, gains, counts = integers("size"), floats("size"), integers("3")

    def __init__(self) -> None:
        super().__init__(size=SIDES * BLOCK + 2)


class Face(Structure):
    """The variables that are free, and a step of theirs."""

    free = integers("size")
    count = integer()  # of the free variables
    between = integer()  # how many of them are variables of P
    shift = number()  # of the diagonal of P_FF, as a share of it
    factor = floats()  # of P_FF
    rhs = floats("size")  # -v_F - P_FC e_C
    step = floats("size")  # d
    moves = floats("size")  # of all variables, free or not
    missing = floats("2")  # what the free variables are to add to a'x
    value_is_free = flag()  # whether the row's own value is a free variable, so that the row has no multiplier
    multipliers = floats("2")  # y on the face, less y before


@inner
def need_rows(program: BoxedProgram, which: Ints, count: int) -> None:
    """Have the rows of the first `count` of `which` in P."""
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
    """How far a multiplier of a bound that x is at has the wrong sign, or the slope v of a free x is from 0."""
    return abs(v) if (v < 0.0 and x < upper) or (v > 0.0 and x > lower) else 0.0


@inner
def extremes(box: Box, first: int, last: int) -> tuple[int, int, float, float]:
    """(i, j, g_i / a_i, g_j / a_j): x_i may rise along the row with the smallest slope, x_j fall with the largest.

    The row is that of the variables from `first` to `last`; i or j is -1, and its slope infinite, where there is none.
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
    """The y in the middle of what the `extremes` ask for."""
    if i < 0 and j < 0:
        return 0.0
    if i < 0:
        return -high
    return -low if j < 0 else -0.5 * (low + high)
