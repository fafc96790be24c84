"""Descent on a few variables at a time: the first, rough part of the working set's `method`.

    minimize 1/2 x'Px + q'x   subject to   a'x = const,  lb <= x <= ub,     g = Px + q,  v = g + a y

Moving x_k alone where a_k = 0, or the pair x_i += t / a_i, x_j -= t / a_j, keeps the row.  The best pair has the i of
the smallest g_i / a_i among those that may move that way, and the j that gains most with it (Fan, Chen and Lin 2005).
The whole gradient need not follow each pair: some dozens of variables that gain most are taken out at a time, worked on
in the cache, and given back (Joachims 1999), so that a row of P is read once for all the steps of its variable.
"""

from __future__ import annotations

import numpy as np

from socp.compiled.jit import inner_kernel, kernel
from socp.linalg.cholesky import START

BLOCK = 24  # variables that are taken out at a time: so many that gain by rising along the row, by falling, without it
SIDES = 3
TINY = 1e-12  # a curvature below this share of the largest P_kk is none
SHARE = 0.1  # a block is worked on until the gains are this share of what they were
GOLDEN = 0.6180339887498949  # where scans begin moves on by this share, so that equal gains are taken from everywhere

# what a descent keeps: the multiplier y of the row, the largest gain, rows of P that were read
MULTIPLIER, GAIN, READ = range(3)


@inner_kernel
def best_pair(size, K, a, lb, ub, x, g, least):
    """(i, j, t, the gain) of the best pair; i = -1 when there is none."""
    i, j, gain, t = -1, -1, 0.0, 0.0
    low, high = np.inf, -np.inf
    for k in range(size):
        if a[k] == 0.0:
            continue
        slope = g[k] / a[k]
        rises, falls = (x[k] < ub[k], x[k] > lb[k]) if a[k] > 0.0 else (x[k] > lb[k], x[k] < ub[k])
        if rises and slope < low:
            low, i = slope, k
        if falls and slope > high:
            high = slope
    if not high > low:
        return -1, -1, 0.0, 0.0
    for k in range(size):
        if a[k] == 0.0 or not (x[k] > lb[k] if a[k] > 0.0 else x[k] < ub[k]):
            continue
        difference = g[k] / a[k] - low
        if difference > 0.0:
            curvature = K[i, i] / (a[i] * a[i]) + K[k, k] / (a[k] * a[k]) - 2.0 * K[i, k] / (a[i] * a[k])
            curvature = max(curvature, least / (a[i] * a[i]))
            if difference * difference > gain * curvature:
                gain, t, j = difference * difference / curvature, difference / curvature, k
    return i, j, t, gain


@inner_kernel
def best_single(size, K, a, lb, ub, x, g, least):
    """(k, the gain) of the best variable outside the row; k = -1 when there is none."""
    best, gain = -1, 0.0
    for k in range(size):
        if a[k] == 0.0 and ((g[k] < 0.0 and x[k] < ub[k]) or (g[k] > 0.0 and x[k] > lb[k])):
            own = g[k] * g[k] / max(K[k, k], least)
            if own > gain:
                best, gain = k, own
    return best, gain


@inner_kernel
def descend(size, K, a, lb, ub, x, g, least, tol, most):
    """Steps on `size` variables with Hessian K until no gain is above tol and a share of the first; their number."""
    for step in range(most):
        i, j, t, pair_gain = best_pair(size, K, a, lb, ub, x, g, least)
        k, single_gain = best_single(size, K, a, lb, ub, x, g, least)
        gain = max(pair_gain, single_gain)
        if not gain > tol:
            return step
        if step == 0:
            tol = max(tol, SHARE * gain)
        if single_gain > pair_gain:
            moved = min(max(x[k] - g[k] / max(K[k, k], least), lb[k]), ub[k])
            d = moved - x[k]
            x[k] = moved
            for r in range(size):
                g[r] += d * K[k, r]
            continue
        room_i = ((ub[i] if a[i] > 0.0 else lb[i]) - x[i]) * a[i]
        room_j = (x[j] - (lb[j] if a[j] > 0.0 else ub[j])) * a[j]
        t = min(t, room_i, room_j)
        di, dj = t / a[i], -t / a[j]
        x[i] = (ub[i] if a[i] > 0.0 else lb[i]) if t == room_i else x[i] + di
        x[j] = (lb[j] if a[j] > 0.0 else ub[j]) if t == room_j else x[j] + dj
        for r in range(size):
            g[r] += di * K[i, r] + dj * K[j, r]
    return most


@inner_kernel
def extremes(a, lb, ub, x, g):
    """(i, j): those that may rise along the row with the smallest slope, and fall with the largest; -1 for none."""
    low, high, i, j = np.inf, -np.inf, -1, -1
    for k in range(x.size):
        if a[k] == 0.0:
            continue
        slope = g[k] / a[k]
        rises, falls = (x[k] < ub[k], x[k] > lb[k]) if a[k] > 0.0 else (x[k] > lb[k], x[k] < ub[k])
        if rises and slope < low:
            low, i = slope, k
        if falls and slope > high:
            high, j = slope, k
    return i, j


@inner_kernel
def row_multiplier(a, g, i, j):
    """The y in the middle of what the extremes ask for."""
    if i < 0 or j < 0:
        return 0.0 if i == j else -g[max(i, j)] / a[max(i, j)]
    return -0.5 * (g[i] / a[i] + g[j] / a[j])


@inner_kernel
def insert(side, chosen, gains, counts, k, gain):
    """Keep k among the largest gains of its side, which descend."""
    at = counts[side]
    if at == BLOCK:
        if gain <= gains[side, BLOCK - 1]:
            return
        at = BLOCK - 1
    else:
        counts[side] += 1
    while at > 0 and gains[side, at - 1] < gain:
        gains[side, at], chosen[side, at] = gains[side, at - 1], chosen[side, at - 1]
        at -= 1
    gains[side, at], chosen[side, at] = gain, k


@inner_kernel
def choose_block(start, diagonal, a, lb, ub, x, g, y, least, tol, chosen, gains, counts):
    """chosen := the variables that gain most, more than tol, on each side of the row and outside it."""
    counts[:] = 0
    for position in range(x.size):
        k = start + position
        if k >= x.size:
            k -= x.size
        v = g[k] + a[k] * y
        if (v < 0.0 and x[k] < ub[k]) or (v > 0.0 and x[k] > lb[k]):
            gain = v * v / max(diagonal[k], least)
            if gain > tol:
                insert(0 if v * a[k] < 0.0 else 1 if v * a[k] > 0.0 else 2, chosen, gains, counts, k, gain)


@kernel
def add_rows(P, which, d, count, g):
    """g += P[which]'d, for the first `count` of `which`; what is beyond the order of P has no row."""
    n = P.shape[0]
    at = START
    while at < count:
        rows, steps, found = (0, 0, 0, 0), (0.0, 0.0, 0.0, 0.0), 0
        while at < count and found < 4:  # four rows at a time, for g to be read and written less often
            if which[at] < n and d[at] != 0.0:
                rows = (rows[1], rows[2], rows[3], which[at])
                steps = (steps[1], steps[2], steps[3], d[at])
                found += 1
            at += 1
        if found > 0:
            i, j, k, r = rows
            di, dj, dk, dr = steps
            for c in range(n):
                g[c] += di * P[i, c] + dj * P[j, c] + dk * P[k, c] + dr * P[r, c]


@kernel
def descend_in_blocks(P, diagonal, a, lb, ub, x, g, least, tol, most, state):
    """Blocks until no gain is above tol, or `most` rows of P were read; g follows x."""
    room = SIDES * BLOCK + 2
    chosen, gains = np.empty((SIDES, BLOCK), np.int64), np.empty((SIDES, BLOCK))
    counts, which, d = np.zeros(SIDES, np.int64), np.empty(room, np.int64), np.empty(room)
    K, parts = np.zeros((room, room)), np.empty((5, room))
    wa, wl, wu, wx, wg = parts[0], parts[1], parts[2], parts[3], parts[4]
    block = START
    while state[READ] < most:
        i, j = extremes(a, lb, ub, x, g)
        y = row_multiplier(a, g, i, j)
        start = int(block * GOLDEN * x.size) % x.size
        choose_block(start, diagonal, a, lb, ub, x, g, y, least, tol, chosen, gains, counts)
        state[MULTIPLIER], state[GAIN] = y, 0.0
        size = START  # a literal 0 would be a second signature of what is called with it
        for side in range(SIDES):
            for r in range(counts[side]):
                which[size] = chosen[side, r]
                state[GAIN] = max(state[GAIN], gains[side, r])
                size += 1
        if size == 0:
            return
        for k in (i, j):  # without which no pair of the block may be one that gains
            known = k < 0
            for r in range(size):
                known |= which[r] == k
            if not known:
                which[size] = k
                size += 1
        for r in range(size):
            k = which[r]
            wa[r], wl[r], wu[r], wx[r], wg[r] = a[k], lb[k], ub[k], x[k], g[k]
            for c in range(size):
                K[r, c] = P[k, which[c]] if k < P.shape[0] and which[c] < P.shape[0] else 0.0
        if descend(size, K, wa, wl, wu, wx, wg, least, tol, 10 * size) == 0:
            return  # the middle multiplier sees a gain where no pair has it
        before = state[READ]
        for r in range(size):
            d[r] = wx[r] - x[which[r]]
            x[which[r]] = wx[r]
            state[READ] += int(d[r] != 0.0)
        if state[READ] == before:
            return  # what is to be gained is lost in rounding
        add_rows(P, which, d, size, g)
        block += 1
