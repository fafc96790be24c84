"""Newton's method on faces of the box: the second, exact part of the method of `sifting`.

The variables strictly between their bounds, and those that a bound holds back with the wrong sign, are free; the
others stay.  On the free ones F the minimum under the row is that of a linear system,

    [ P_FF  a_F ] [ d ]   [ -g_F - P_FC e_C ]
    [ a_F'   .  ] [ y ] = [ -a_C'e_C        ]

where C are variables that were free and whose way would have led out of the box: each goes by e_C to the bound that it
meets, and the system is solved again without it.  Where the objective falls, the step is taken.
"""

from __future__ import annotations

import numpy as np

from socp.cholesky import ONE, cholesky, solve_lower, solve_lower_transposed
from socp.jit import inner_kernel, kernel

from .descent import add_rows, extremes, row_multiplier

PASSES = 30  # solutions of one round at most
ROUNDING = 1e-12  # a rise of the objective by this share of its parts is none
SHIFTS = (1e-13, 1e-8)  # of P_FF, as shares of its diagonal: the second one where the first leaves it indefinite
LEAST_CURVATURE = 1e-6  # the share of the largest P_kk that shifts are shares of at least

# what a round tells: whether the step was taken, or why not
TAKEN, SHORTENED, TOO_LARGE, NOT_DEFINITE, NO_DESCENT = range(5)
# places in `state`: the multiplier, the largest `wrong_slope`, the multiplications of factorizations so far, those
# allowed, what a'x is to be, and the largest P_kk
Y, WRONG, WORK, MOST_WORK, SIDE, SIZE, STATE = range(7)


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
    count = 0
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
def solve_on_face(P, a, free, count, r, missing, has_row, shift, size, H, t, v):
    """t := d with P_FF d + y a_F = r and, with a row, a_F'd = missing; (info, y)."""
    info = 0 if count == 0 else factor_free(P, free, count, shift, size, H)
    if count == 0 or info != 0:
        return info, 0.0
    curvature, product, y = 0.0, 0.0, 0.0
    for i in range(count):
        t[i], v[i] = r[i], a[free[i]]
    solve_lower(count, H, ONE, t)
    solve_lower_transposed(count, H, ONE, t)
    if has_row:
        solve_lower(count, H, ONE, v)
        solve_lower_transposed(count, H, ONE, v)
        for i in range(count):
            curvature += a[free[i]] * v[i]
            product += a[free[i]] * t[i]
        y = (product - missing) / curvature
        for i in range(count):
            t[i] -= y * v[i]
    return info, y


@kernel
def fix_leaving(P, lb, ub, x, a, free, count, t, r, moves):
    """Take the variables out of `free` whose steps t leave the box, to the bounds; (how many are left, a_C'e_C)."""
    left, first, row = 0, 0, 0.0
    leaving = np.empty(count, np.int64)
    for i in range(count):
        k = free[i]
        goal = x[k] + t[i]
        if lb[k] < goal < ub[k]:
            free[left], r[left], t[left] = k, r[i], t[i]
            left += 1
        else:
            moves[k] = (lb[k] if goal <= lb[k] else ub[k]) - x[k]
            row += a[k] * moves[k]
            leaving[first] = k
            first += 1
    for c in range(first):
        k = leaving[c]
        for i in range(left):
            r[i] -= P[k, free[i]] * moves[k]
    return left, row


@kernel
def step_on_face(P, a, lb, ub, x, g, tol, shift, free, count, H, state):
    """One round from x with the gradient g, `count` variables being free; what came of it."""
    n = P.shape[0]
    r, t, v, moves, change = np.empty(count), np.empty(count), np.empty(count), np.zeros(x.size), np.zeros(n)
    slack = x.size > n and count > 0 and free[count - 1] == n  # the side of the row is free: no multiplier
    count -= int(slack)
    for i in range(count):
        r[i] = -g[free[i]]
    missing, y = state[SIDE], 0.0
    for k in range(x.size):
        missing -= a[k] * x[k]
    for _ in range(PASSES):
        state[WORK] += count**3 / 3.0
        if state[WORK] > state[MOST_WORK]:
            return TOO_LARGE
        has_row = False
        for i in range(count):
            has_row |= a[free[i]] != 0.0
        has_row &= not slack
        info, y = solve_on_face(P, a, free, count, r, missing, has_row, shift, state[SIZE], H, t, v)
        if info != 0:
            return NOT_DEFINITE
        before = count
        count, row = fix_leaving(P, lb, ub, x, a, free, count, t, r, moves)
        missing -= row
        if count == before and slack:
            side = -missing  # the way of the row's own value
            for i in range(count):
                side += a[free[i]] * t[i]
            moves[n] = min(max(side, lb[n] - x[n]), ub[n] - x[n])
            slack = moves[n] == side
            if not slack:
                missing += moves[n]
                continue
        if count == before:
            break
    else:
        return NO_DESCENT
    if not has_row and not slack and abs(missing) > ROUNDING * (1.0 + abs(state[SIDE])):
        return NO_DESCENT
    for i in range(count):
        moves[free[i]] = t[i]
    return take(P, a, lb, ub, x, g, y, has_row or slack, moves, change, state)


@kernel
def take(P, a, lb, ub, x, g, y, knows_multiplier, moves, change, state):
    """x += moves and g with it, or as large a share of them as the objective falls by."""
    n = P.shape[0]
    which, d, count = np.empty(n, np.int64), np.empty(n), 0
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
