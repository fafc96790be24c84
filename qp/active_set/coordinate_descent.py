"""Descent on a few variables at a time: the first, rough part of the active set's `method`.

    minimize 1/2 x'Px + q'x   subject to   a'x = const,  lb <= x <= ub,     g = Px + q,  v = g + a y

Moving x_k alone where a_k = 0, or the pair x_i += t / a_i, x_j -= t / a_j, keeps the row.  The best pair has the i of
the smallest g_i / a_i among those that may move that way, and the j that gains most with it (Fan, Chen and Lin 2005).
The whole gradient is not updated after each pair: a block of some dozens of variables that gain most is copied,
optimized in the cache, and written back (Joachims 1999), so that a row of P is read once for all steps of its variable.
"""

from __future__ import annotations

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints, Matrix

from .boxed import BLOCK, SIDES, Block, BoxedProgram, extremes, need_rows, row_multiplier

TINY = 1e-12  # lower limit of curvatures, relative to the largest P_kk
SHARE = 0.1  # a block is done when its best gain is at most this share of its first gain


@inner
def best_pair(block: Block, least: float) -> tuple[int, int, float, float]:
    """Return (i, j, t, gain) of the pair with the largest gain; i = -1 if no pair gains."""
    i, _, low, high = extremes(block, 0, block.count)
    if not high > low:
        return -1, -1, 0.0, 0.0
    K, a, lb, ub, x, g = block.K, block.a, block.lb, block.ub, block.x, block.g
    j, gain, t = -1, 0.0, 0.0
    for k in range(block.count):
        if a[k] == 0.0 or not (x[k] > lb[k] if a[k] > 0.0 else x[k] < ub[k]):
            continue
        difference = g[k] / a[k] - low
        if difference > 0.0:
            curvature = K[i, i] / (a[i] * a[i]) + K[k, k] / (a[k] * a[k]) - 2.0 * K[i, k] / (a[i] * a[k])
            curvature = max(curvature, least / (a[i] * a[i]))
            if difference * difference > gain * curvature:
                gain, t, j = difference * difference / curvature, difference / curvature, k
    return i, j, t, gain


@inner
def best_single(block: Block, least: float) -> tuple[int, float]:
    """Return (k, gain) of the variable with a_k = 0 and the largest gain; k = -1 if none gains."""
    K, a, lb, ub, x, g = block.K, block.a, block.lb, block.ub, block.x, block.g
    best, gain = -1, 0.0
    for k in range(block.count):
        if a[k] == 0.0 and ((g[k] < 0.0 and x[k] < ub[k]) or (g[k] > 0.0 and x[k] > lb[k])):
            own = g[k] * g[k] / max(K[k, k], least)
            if own > gain:
                best, gain = k, own
    return best, gain


@inner
def descend(block: Block, least: float, tol: float, most: int) -> None:
    """Take at most `most` steps in the block, until the best gain is at most max(tol, SHARE * the first gain)."""
    K, a, lb, ub, x, g = block.K, block.a, block.lb, block.ub, block.x, block.g
    for step in range(most):
        i, j, t, pair_gain = best_pair(block, least)
        k, single_gain = best_single(block, least)
        gain = max(pair_gain, single_gain)
        if not gain > tol:
            return
        if step == 0:
            tol = max(tol, SHARE * gain)
        if single_gain > pair_gain:
            moved = min(max(x[k] - g[k] / max(K[k, k], least), lb[k]), ub[k])
            d = moved - x[k]
            x[k] = moved
            for r in range(block.count):
                g[r] += d * K[k, r]
            continue
        way_i = ((ub[i] if a[i] > 0.0 else lb[i]) - x[i]) * a[i]
        way_j = (x[j] - (lb[j] if a[j] > 0.0 else ub[j])) * a[j]
        t = min(t, way_i, way_j)
        di, dj = t / a[i], -t / a[j]
        x[i] = (ub[i] if a[i] > 0.0 else lb[i]) if t == way_i else x[i] + di
        x[j] = (lb[j] if a[j] > 0.0 else ub[j]) if t == way_j else x[j] + dj
        for r in range(block.count):
            g[r] += di * K[i, r] + dj * K[j, r]


@inner
def insert(block: Block, side: int, k: int, gain: float) -> None:
    """Insert variable k among the largest gains of its side, in descending order; a full side drops its smallest."""
    chosen, gains, counts, first = block.chosen, block.gains, block.counts, side * BLOCK
    if counts[side] < BLOCK:
        counts[side] += 1
    at = first + counts[side] - 1
    while at > first and gains[at - 1] < gain:
        gains[at], chosen[at] = gains[at - 1], chosen[at - 1]
        at -= 1
    gains[at], chosen[at] = gain, k


@inner
def choose_block(program: BoxedProgram, block: Block, row: int, least: float, tol: float) -> None:
    """Fill the block with the variables of a row that gain most, above `tol`, on each side of the row and outside."""
    a, lb, ub, x, g, diagonal = program.a, program.lb, program.ub, program.x, program.g, program.diagonal
    y, gains, counts = program.multipliers[row], block.gains, block.counts
    for side in range(SIDES):
        counts[side] = 0
    for k in range(program.ends[row], program.ends[row + 1]):
        v = g[k] + a[k] * y
        if (v < 0.0 and x[k] < ub[k]) or (v > 0.0 and x[k] > lb[k]):
            curvature = max(diagonal[k], least)
            side = 0 if v * a[k] < 0.0 else 1 if v * a[k] > 0.0 else 2
            enough = tol if counts[side] < BLOCK else gains[side * BLOCK + BLOCK - 1]
            if v * v > enough * curvature:
                insert(block, side, k, v * v / curvature)
    block.count = 0
    for side in range(SIDES):
        for r in range(side * BLOCK, side * BLOCK + block.counts[side]):
            block.which[block.count] = block.chosen[r]
            block.count += 1
            program.gain = max(program.gain, block.gains[r])


@inner
def add_to_block(block: Block, k: int) -> None:
    """Append variable k to the block unless it is there or k is -1."""
    if k < 0:
        return
    for r in range(block.count):
        if block.which[r] == k:
            return
    block.which[block.count] = k
    block.count += 1


@inner
def load_block(program: BoxedProgram, block: Block) -> None:
    """Copy the data of the block's variables, and their rows and columns of P, from the program."""
    P, which, count = program.P, block.which, block.count
    n = P.shape[0]
    need_rows(program, which, count)
    for r in range(count):
        k = which[r]
        block.a[r], block.lb[r], block.ub[r] = program.a[k], program.lb[k], program.ub[k]
        block.x[r], block.g[r] = program.x[k], program.g[k]
        for c in range(count):
            block.K[r, c] = P[k, which[c]] if k < n and which[c] < n else 0.0


@inner
def unload_block(program: BoxedProgram, block: Block) -> int:
    """Copy x of the block to the program and update the gradient; return the number of variables that moved."""
    x, moved = program.x, 0
    for r in range(block.count):
        k = block.which[r]
        block.moves[r] = block.x[r] - x[k]
        x[k] = block.x[r]
        moved += int(block.moves[r] != 0.0)
    if moved > 0:
        add_rows(program.P, block.which, block.moves, block.count, program.g)
    return moved


@kernel
def add_rows(P: Matrix, which: Ints, d: Floats, count: int, g: Floats) -> None:
    """Compute g += P[which]'d over `which[:count]`; an index beyond the order of P has no row."""
    n, at = P.shape[0], 0
    while at < count:
        rows, steps, found = (0, 0, 0, 0), (0.0, 0.0, 0.0, 0.0), 0
        while at < count and found < 4:  # g is read and written once for four rows.
            if which[at] < n and d[at] != 0.0:
                k = which[at]  # The first row fills all places: other rows may not be computed.
                rows = (rows[1], rows[2], rows[3], k) if found > 0 else (k, k, k, k)
                steps = (steps[1], steps[2], steps[3], d[at])
                found += 1
            at += 1
        if found > 0:
            i, j, k, r = rows
            di, dj, dk, dr = steps
            for c in range(n):
                g[c] += di * P[i, c] + dj * P[j, c] + dk * P[k, c] + dr * P[r, c]


@kernel
def descend_in_blocks(program: BoxedProgram, block: Block, tol: float, max_read: float) -> None:
    """Descend block by block until no gain exceeds `tol` or `max_read` rows of P have been read; update x and g."""
    least = TINY * program.largest
    while program.rows_read < max_read:
        moved, program.gain = 0, 0.0
        for row in range(2):
            i, j, low, high = extremes(program, program.ends[row], program.ends[row + 1])
            program.multipliers[row] = row_multiplier(i, j, low, high)
            choose_block(program, block, row, least, tol)
            if block.count == 0:
                continue
            add_to_block(block, i)  # Without i and j the block may contain no pair that gains.
            add_to_block(block, j)
            load_block(program, block)
            descend(block, least, tol, 10 * block.count)
            moved += unload_block(program, block)
        if moved == 0:
            return  # Gains at the middle multiplier need not belong to a pair, or rounding removes them.
        program.rows_read += moved
