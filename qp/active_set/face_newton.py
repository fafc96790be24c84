"""Newton's method on faces of the box: the second, exact part of the working set's `method`.

The variables strictly between their bounds, and those that a bound holds back with the wrong sign, are free; the
others stay.  On the free ones F the minimum under the row is that of a linear system,

    [ P_FF  a_F ] [ d ]   [ -g_F - P_FC e_C ]
    [ a_F'   .  ] [ y ] = [ -a_C'e_C        ]

where C are variables that were free and whose way would have led out of the box: each goes by e_C to the bound that it
meets, and the system is solved again without it: as long as they are few with the factor that is there,

    d = t - Z' S^-1 (t_C - e_C),   Z_c = P_FF^-1 e_c,   S = Z_CC,   t = P_FF^-1 (-g_F - y a_F).

Where the objective falls, the step is taken.
"""

from __future__ import annotations

import numpy as np

from socp.compiled.jit import inner_kernel, kernel
from socp.linalg.cholesky import ONE, START, cholesky, solve_lower, solve_lower_transposed

from .coordinate_descent import add_rows, extremes, row_multiplier

PASSES = 30  # factorizations of one round at most
HELD_SHARE = 12  # one in so many free variables may stay at a bound that it meets without another factorization
ROUNDING = 1e-12  # a rise of the objective by this share of its parts is none
SHIFTS = (1e-13, 1e-8)  # of P_FF, as shares of its diagonal: the second one where the first leaves it indefinite
LEAST_CURVATURE = 1e-6  # the share of the largest P_kk that shifts are shares of at least

# what a round tells: whether the step was taken, or why not
TAKEN, SHORTENED, TOO_LARGE, NOT_DEFINITE, NO_DESCENT, REDUCED = range(6)
# places in `state`: the multiplier, the largest `wrong_slope`, the multiplications of factorizations so far, those
# allowed, what a'x is to be, what of that the free variables are to add, and the largest P_kk
Y, WRONG, WORK, MOST_WORK, SIDE, MISSING, SIZE, STATE = range(8)


@inner_kernel
def wrong_slope(a, lb, ub, x, g, y, k):
    """How far the multiplier of the bound that x_k is at has the wrong sign, or the slope of a free one is from 0."""
    v = g[k] + a[k] * y
    return abs(v) if (v < 0.0 and x[k] < ub[k]) or (v > 0.0 and x[k] > lb[k]) else 0.0


@kernel
def largest_wrong_slope(a, lb, ub, x, g, y):
    """The largest `wrong_slope`."""
    largest = 0.0
    for k in range(x.size):
        largest = max(largest, wrong_slope(a, lb, ub, x, g, y, k))
    return largest


@kernel
def find_free(a, lb, ub, x, g, y, tol, free):
    """free := the variables that are free; their number."""
    count = START
    for k in range(x.size):
        if (lb[k] < x[k] < ub[k]) or wrong_slope(a, lb, ub, x, g, y, k) > tol:
            free[count] = k
            count += 1
    return count


@kernel
def factor_free(P, free, count, shift, size, H):
    """H := the factor of P_FF with its diagonal raised by a share `shift`; as `cholesky`."""
    for i in range(count):
        row = free[i]
        for j in range(i, count):
            H[i * count + j] = P[row, free[j]]
        H[i * count + i] += shift * (P[row, row] + LEAST_CURVATURE * size)
    return cholesky(count, H)


@kernel
def hold(count, H, which, first, held, Z):
    """Z[c] := P_FF^-1 e_k with k = which[c], for first <= c < held."""
    columns = Z[first * count : held * count]
    columns[:] = 0.0
    for c in range(first, held):
        columns[(c - first) * count + which[c]] = 1.0
    solve_lower(count, H, held - first, columns)
    solve_lower_transposed(count, H, held - first, columns)


@kernel
def correct(count, which, held, goal, Z, base, out):
    """out := base - Z'h with out[which] = goal; 0, or not where that cannot be solved."""
    S, h = np.empty(held * held), np.empty(held)
    for i in range(count):
        out[i] = base[i]
    for c in range(held):
        h[c] = base[which[c]] - goal[c]
        for e in range(held):
            S[c * held + e] = Z[c * count + which[e]]
    info = 0 if held == 0 else cholesky(held, S)
    if held == 0 or info != 0:
        return info
    solve_lower(held, S, ONE, h)
    solve_lower_transposed(held, S, ONE, h)
    for c in range(held):
        for i in range(count):
            out[i] -= h[c] * Z[c * count + i]
    for c in range(held):
        out[which[c]] = goal[c]
    return info


@kernel
def find_leaving(lb, ub, x, free, count, d, which, held, goal, holds):
    """Append the variables that d takes out of the box to `which`, their ways to the bounds to `goal`; their number."""
    for i in range(count):
        k = free[i]
        end = x[k] + d[i]
        if not holds[i] and not lb[k] < end < ub[k]:
            which[held], goal[held], holds[i] = i, (lb[k] if end <= lb[k] else ub[k]) - x[k], True
            held += 1
    return held


@kernel
def solve_on_face(P, a, lb, ub, x, free, count, r, slack, H, d, which, goal, moves, state):
    """d := the step to the minimum on the face with the factor H, few variables staying at bounds that they meet.

    Returns (how many stay there, y, whether the row's own value is still free, what came of it).
    """
    room, holds, none = count // HELD_SHARE, np.zeros(count, np.bool_), np.zeros(count)
    t, v, t0, v0, Z = np.empty(count), np.zeros(count), np.empty(count), np.empty(count), np.empty(room * count)
    for i in range(count):
        t0[i], v0[i] = r[i], a[free[i]]
    if count > 0:
        for part in (t0, v0):
            solve_lower(count, H, ONE, part)
            solve_lower_transposed(count, H, ONE, part)
    held = START
    while True:
        if correct(count, which, held, goal, Z, t0, t) + correct(count, which, held, none, Z, v0, v) != 0:
            return held, 0.0, slack, REDUCED
        product, curvature, y, has_row = 0.0, 0.0, 0.0, False
        for i in range(count):
            product += a[free[i]] * t[i]
            curvature += a[free[i]] * v[i]
            has_row |= a[free[i]] != 0.0 and not holds[i]
        if slack:
            n = P.shape[0]
            way = product - state[MISSING]
            moves[n] = min(max(way, lb[n] - x[n]), ub[n] - x[n])
            slack = moves[n] == way
            state[MISSING] += 0.0 if slack else moves[n]
        if has_row and not slack:
            y = (product - state[MISSING]) / curvature
        elif not slack and abs(product - state[MISSING]) > ROUNDING * (1.0 + abs(state[SIDE])):
            return held, y, slack, NO_DESCENT
        for i in range(count):
            d[i] = t[i] - y * v[i]
        found = find_leaving(lb, ub, x, free, count, d, which, held, goal, holds)
        if found == held or found > room:
            return found, y, slack, TAKEN if found == held else REDUCED
        hold(count, H, which, held, found, Z)
        state[WORK] += float(count) ** 2 * (found - held)
        held = found


@kernel
def go_without(P, a, free, count, which, held, goal, r, moves, state):
    """Take `which` out of the free variables, to their bounds; how many are left."""
    gone, stays = np.empty(held, np.int64), np.ones(count, np.bool_)
    for c in range(held):
        gone[c], stays[which[c]] = free[which[c]], False
        moves[gone[c]] = goal[c]
        state[MISSING] -= a[gone[c]] * goal[c]
    left = START
    for i in range(count):
        if stays[i]:
            free[left], r[left] = free[i], r[i]
            left += 1
    for c in range(held):
        for i in range(left):
            r[i] -= P[gone[c], free[i]] * goal[c]
    return left


@kernel
def step_on_face(P, a, lb, ub, x, g, shift, free, count, H, state):
    """One round from x with the gradient g, `count` variables being free; what came of it."""
    n = P.shape[0]
    r, d, which, goal = np.empty(count), np.empty(count), np.empty(count, np.int64), np.empty(count)
    moves = np.zeros(x.size)
    slack = x.size > n and count > 0 and free[count - 1] == n  # the row's own value is free: no multiplier
    count -= int(slack)
    for i in range(count):
        r[i] = -g[free[i]]
    state[MISSING] = state[SIDE]
    for k in range(x.size):
        state[MISSING] -= a[k] * x[k]
    for _ in range(PASSES):
        state[WORK] += float(count) ** 3 / 3.0
        if state[WORK] > state[MOST_WORK]:
            return TOO_LARGE
        if count > 0 and factor_free(P, free, count, shift, state[SIZE], H) != 0:
            return NOT_DEFINITE
        held, y, slack, outcome = solve_on_face(
            P, a, lb, ub, x, free, count, r, slack, H, d, which, goal, moves, state
        )  # fmt: skip
        if outcome == NO_DESCENT:
            return outcome
        if outcome == TAKEN:
            has_row = slack
            for i in range(count):
                moves[free[i]] = d[i]
                has_row |= a[free[i]] != 0.0
            for c in range(held):
                moves[free[which[c]]] = goal[c]
            return take(P, a, lb, ub, x, g, y, has_row, moves, state)
        count = go_without(P, a, free, count, which, held, goal, r, moves, state)
    return NO_DESCENT


@kernel
def take(P, a, lb, ub, x, g, y, knows_multiplier, moves, state):
    """x += moves and g with it, or as large a share of them as the objective falls by."""
    n = P.shape[0]
    which, d, change, count = np.empty(n, np.int64), np.empty(n), np.zeros(n), START
    for k in range(n):
        if moves[k] != 0.0:
            which[count], d[count] = k, moves[k]
            count += 1
    add_rows(P, which, d, count, change)
    slope, curvature, size, share = 0.0, 0.0, 0.0, 1.0
    for k in range(x.size):
        slope += moves[k] * (g[k] + a[k] * state[Y])  # what rounding took from the row counts for nothing
        size += abs(moves[k] * g[k])
    for k in range(n):
        curvature += moves[k] * change[k]
    if not slope + 0.5 * curvature <= ROUNDING * size:
        if not slope < -ROUNDING * size:
            return NO_DESCENT
        share = -slope / curvature  # the minimum on the way, which is in the box as both ends are
    for k in range(x.size):
        way = share * moves[k]
        x[k] = lb[k] if way == lb[k] - x[k] else ub[k] if way == ub[k] - x[k] else x[k] + way
        if k < n:
            g[k] += share * change[k]
    state[Y] = y
    if not knows_multiplier or share < 1.0:
        i, j = extremes(a, lb, ub, x, g)
        state[Y] = row_multiplier(a, g, i, j)
    state[WRONG] = largest_wrong_slope(a, lb, ub, x, g, state[Y])
    return TAKEN if share == 1.0 else SHORTENED
