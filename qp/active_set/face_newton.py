"""Newton's method on faces of the box: the second, exact part of the active set's `method`.

The variables strictly between their bounds, and variables at a bound whose multiplier has the wrong sign, are free; the
others stay.  The minimum over the free variables F, under the row, is the solution of a linear system,

    [ P_FF  a_F ] [ d ]   [ -g_F - P_FC e_C ]
    [ a_F'   .  ] [ y ] = [ -a_C'e_C        ]

where C are free variables that a step would have taken out of the box: each moves by e_C to the bound that it meets,
and the system is solved again without it.  The step is taken if the objective falls.
"""

from __future__ import annotations

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.linalg.cholesky import cholesky, solve_lower, solve_lower_transposed

from .boxed import BoxedProgram, Face, dual_violation, extremes, need_rows, row_multiplier
from .coordinate_descent import add_rows

PASSES = 30  # largest number of factorizations in one round
ROUNDING = 1e-12  # relative rounding error of the objective's change and of a'x
SHIFTS = (1e-13, 1e-8)  # relative increases of the diagonal of P_FF; the second if the first leaves it indefinite
MIN_CURVATURE = 1e-6  # shifts are relative to P_kk + MIN_CURVATURE * max P_kk

# outcomes of a Newton step: taken in full, shortened by the line search, or the reason why x did not move
TAKEN, SHORTENED, TOO_LARGE, NOT_DEFINITE, NO_DESCENT = range(5)


@inner
def largest_dual_violation(program: BoxedProgram) -> float:
    """Return the largest `dual_violation` of all variables."""
    a, lb, ub, x, g, y = program.a, program.lb, program.ub, program.x, program.g, program.multipliers
    largest = 0.0
    for row in range(2):
        for k in range(program.ends[row], program.ends[row + 1]):
            largest = max(largest, dual_violation(lb[k], ub[k], x[k], g[k] + a[k] * y[row]))
    return largest


@kernel
def find_free(program: BoxedProgram, face: Face, tol: float) -> int:
    """Write the variables between bounds or with `dual_violation` above `tol` to the face; return their number."""
    a, lb, ub, x, g, y = program.a, program.lb, program.ub, program.x, program.g, program.multipliers
    free, count = face.free, 0
    for row in range(2):
        for k in range(program.ends[row], program.ends[row + 1]):
            if (lb[k] < x[k] < ub[k]) or dual_violation(lb[k], ub[k], x[k], g[k] + a[k] * y[row]) > tol:
                free[count] = k
                count += 1
    need_rows(program, free, count)
    face.count = count
    return count


@inner
def factor_free(program: BoxedProgram, face: Face) -> int:
    """Factor P_FF with its diagonal increased by `face.shift`; return the status of `cholesky`."""
    P, free, count, H = program.P, face.free, face.count, face.factor
    for i in range(count):
        row = free[i]
        for j in range(i, count):
            H[i * count + j] = P[row, free[j]]
        H[i * count + i] += face.shift * (P[row, row] + MIN_CURVATURE * program.largest)
    return cholesky(count, H)


@inner
def solve_on_face(program: BoxedProgram, face: Face) -> int:
    """Compute the step d = t - V y to the minimum on the face that keeps the rows, from the factor of P_FF.

    t = P_FF^-1 (-v_F - P_FC e_C), V = P_FF^-1 A_F'; `multipliers` := y; return `NO_DESCENT` if a row cannot hold.
    """
    size, rows, n, y = face.count, 1 + int(program.ends[1] < program.ends[2]), program.P.shape[0], face.multipliers
    X = np.zeros((1 + rows) * size)
    for i in range(size):
        row = int(face.free[i] >= program.ends[1])
        X[i], X[(1 + row) * size + i] = face.rhs[i], program.a[face.free[i]]
    if size > 0:
        solve_lower(size, face.factor, 1 + rows, X)
        solve_lower_transposed(size, face.factor, 1 + rows, X)
    found = np.zeros((2, 3))  # A_F (t, V)
    for i in range(size):
        row = int(face.free[i] >= program.ends[1])
        for c in range(1 + rows):
            found[row, c] += program.a[face.free[i]] * X[c * size + i]
    if face.value_is_free:
        way = found[0, 0] - face.missing[0]
        end = min(max(way, program.lb[n] - program.x[n]), program.ub[n] - program.x[n])
        face.moves[n] = end
        face.value_is_free = end == way
        if end != way:
            face.missing[0] += end
    own, both, other, y[0], y[1] = found[0, 1], found[0, 2], found[1, 2], 0.0, 0.0
    left, other_left = found[0, 0] - face.missing[0], found[1, 0] - face.missing[1]
    if own > 0.0 and other > 0.0:
        y[1] = (other_left - both / own * left) / (other - both / own * both)
    elif other > 0.0:
        y[1] = other_left / other
    elif abs(other_left) > ROUNDING * (1.0 + abs(program.sides[1])):
        return NO_DESCENT
    if own > 0.0 and not face.value_is_free:
        y[0] = (left - both * y[1]) / own
    elif not face.value_is_free and abs(left) > ROUNDING * (1.0 + abs(program.sides[0])):
        return NO_DESCENT
    for i in range(size):
        face.step[i] = X[i] - y[0] * X[size + i] - (y[1] * X[2 * size + i] if rows > 1 else 0.0)
    return TAKEN


@inner
def reduce_face(program: BoxedProgram, face: Face) -> int:
    """Fix the free variables that the step takes out of the box at the bounds they meet; return their number."""
    P, lb, ub, x, free, rhs = program.P, program.lb, program.ub, program.x, face.free, face.rhs
    gone, count, left = np.empty(face.count, np.int64), 0, 0
    for i in range(face.count):
        k = free[i]
        end = x[k] + face.step[i]
        if lb[k] < end < ub[k]:
            free[left], rhs[left] = k, rhs[i]
            left += 1
        else:
            face.moves[k] = (lb[k] if end <= lb[k] else ub[k]) - x[k]
            face.missing[int(k >= program.ends[1])] -= program.a[k] * face.moves[k]
            gone[count] = k
            count += 1
    face.count = left
    for c in range(count):
        for i in range(left):
            rhs[i] -= P[gone[c], free[i]] * face.moves[gone[c]]
    return count


@kernel
def step_on_face(program: BoxedProgram, face: Face) -> int:
    """Take one Newton step from x with the free variables of `find_free`; return its outcome, such as `TAKEN`."""
    n, x, a = program.P.shape[0], program.x, program.a
    face.value_is_free = x.size > n and face.count > 0 and face.free[face.count - 1] == n  # then the row's y is 0
    face.count -= int(face.value_is_free)
    if face.value_is_free:
        program.multipliers[0] = 0.0
    for i in range(face.count):
        k = face.free[i]
        face.rhs[i] = -program.g[k] - a[k] * program.multipliers[int(k >= program.ends[1])]
    for row in range(2):
        face.missing[row] = program.sides[row]
        for k in range(program.ends[row], program.ends[row + 1]):
            face.moves[k] = 0.0
            face.missing[row] -= a[k] * x[k]
    for _ in range(PASSES):
        program.work += float(face.count) ** 3 / 3.0
        if program.work > program.max_work:
            return TOO_LARGE
        if face.count > 0 and factor_free(program, face) != 0:
            return NOT_DEFINITE
        if solve_on_face(program, face) == NO_DESCENT:
            return NO_DESCENT
        if reduce_face(program, face) == 0:
            return line_search(program, face)
    return NO_DESCENT


@inner
def line_search(program: BoxedProgram, face: Face) -> int:
    """Move x and g by the step, or by the share of it that minimizes the objective; return the outcome."""
    a, lb, ub, x, g, moves, n = program.a, program.lb, program.ub, program.x, program.g, face.moves, program.P.shape[0]
    knows_multiplier, knows_other = face.value_is_free, False
    for i in range(face.count):
        k = face.free[i]
        moves[k] = face.step[i]
        knows_multiplier |= a[k] != 0.0 and k < program.ends[1]
        knows_other |= a[k] != 0.0 and k >= program.ends[1]
    which, d, change, count = np.empty(n, np.int64), np.empty(n), np.zeros(n), 0
    for k in range(n):
        if moves[k] != 0.0:
            which[count], d[count] = k, moves[k]
            count += 1
    add_rows(program.P, which, d, count, change)
    slope, curvature, size, share = 0.0, 0.0, 0.0, 1.0
    for k in range(x.size):
        y = program.multipliers[int(k >= program.ends[1])]
        slope += moves[k] * (g[k] + a[k] * y)  # a'moves only corrects rounding errors of the row
        size += abs(moves[k] * g[k])
    for k in range(n):
        curvature += moves[k] * change[k]
    if not slope + 0.5 * curvature <= ROUNDING * size:
        if not slope < -ROUNDING * size:
            return NO_DESCENT
        share = -slope / curvature  # the minimizer on the segment, whose ends are in the box
    for k in range(x.size):
        way = share * moves[k]
        x[k] = lb[k] if way == lb[k] - x[k] else ub[k] if way == ub[k] - x[k] else x[k] + way
        if k < n:
            g[k] += share * change[k]
    for row in range(2):
        program.multipliers[row] += face.multipliers[row]
        if share < 1.0 or not (knows_other if row == 1 else knows_multiplier):
            i, j, low, high = extremes(program, program.ends[row], program.ends[row + 1])
            program.multipliers[row] = row_multiplier(i, j, low, high)
    program.dual_violation = largest_dual_violation(program)
    return TAKEN if share == 1.0 else SHORTENED
