r"""Compiled kernels that linearize the optimality conditions of dense programs at their answers.

With the projection Pi onto the sides of the rows and D, its derivative at v (see `sides`), x and v are optimal where

    P x + c + B'(v - Pi(v)) = 0,    B x = Pi(v),

and change by P u + B'(I - D) dv = a, B u - D dv = b; the last n rows of B may be bounds.  In the eigenvectors of D, a
row with weight theta is an equation if theta is infinite, absent if theta is 0, and else weighted; a bound that is an
equation determines its variable.  What remains is a dense saddle-point system (see `saddle`); its factors also serve
at points nearby, by refinement with the D there.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import deferred_kernel, inner, leaf
from ..compiled.signatures import Floats, Ints
from ..compiled.structures import Structure, dimension, floats, integer, integers, matrix, number, part
from ..linalg.dense import multiply_symmetric_dense
from ..linalg.refinement import SLOW
from ..linalg.vectors import dot_within, norm_within
from .saddle import PIVOT, REFINED, STEPS, add_squares, factor_saddle, solve_saddle
from .sides import Sides, begin_at, project, reflect

SAME = 1e-10  # relative: points this close share factors, residuals this small are zero, steps this short end a search
ON_PATH = 1e-12  # relative residual that ends Newton's method; rows with weights >= 1 / ON_PATH are equations


class Conditions(Structure):
    """Programs of a batch, or one program, and work arrays to linearize one of them.

    Attributes
    ----------
    n, m, r, given : int
        Numbers of variables, of rows of B without bounds, of all rows, and of rows, the last ones, with given slacks.
    P, B, c, limits : matrices, a row for each program or one for all
        P and B by rows, c, and the lower sides of the r rows, followed by the upper sides.
    answer : matrix, shape (k, n + 2 r + given + 2)
        In: (x, w), r entries that are not read, the given slacks, and two more entries.  Out: (x, w) of the point of
        the path, or of the answer to more digits; `Sides.share`; the slacks; the quality, which is the smallest pivot
        over its diagonal entry, 0 if the system was not solved, -1 off the path; and 1 if slacks and multipliers are
        strictly complementary.
    right : matrix, shape (k, n + r or n + 2 r)
        In: right-hand sides (a, b).  Out: (u, dw) with dw = (I - D) dv.  With r more columns, b belongs to the upper
        sides, and these columns belong to the lower sides.
    """

    n, m, r, given = dimension(), dimension(), dimension(), dimension()
    sides = part(Sides)
    P, B, c, limits, answer, right = matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    x, new_x, left_x, step_x = (floats("n", scratch=True) for _ in range(4))
    v, new_v, left_v, step_v = (floats("r", scratch=True) for _ in range(4))
    values, new_values, dual, turned = (floats("r", scratch=True) for _ in range(4))  # B x, B new_x, (I - D) dv, work
    theta, unit = floats("r", scratch=True), floats("r", scratch=True)  # theta and unit of `sides` when it was factored
    rows = floats("m * n", scratch=True)  # rows of B, reflected: the columns of the free variables
    H, L, C = floats("n * n", scratch=True), floats("n * n", scratch=True), floats("n * n", scratch=True)
    Y, S, workspace = floats("n * n", scratch=True), floats("n * n", scratch=True), floats("2 * n + 1", scratch=True)
    image, free_right = floats("n", scratch=True), floats("2 * n", scratch=True)  # P x + B'dual; reduced a, b
    columns, held = integers("n", scratch=True), integers("m", scratch=True)  # free, fixed columns; hard, weighted rows
    free, hard, weighted, pivot = integer(), integer(), integer(), number()


@deferred_kernel
def differentiate(conditions: Conditions, begin: int, end: int) -> None:
    """Run `find_point` and `solve_conditions` for programs begin:end."""
    for i in range(begin, end):
        find_point(conditions, i)
        solve_conditions(conditions, i)


@deferred_kernel
def find_point(conditions: Conditions, i: int) -> None:
    """Make Newton steps from the answer of program i; refactor if a step with the old factors is too slow."""
    n, r, sides, answer, last = (
        conditions.n, conditions.r, conditions.sides, conditions.answer[i], conditions.answer.shape[1] - 2
    )  # fmt: skip
    limits = conditions.limits[min(i, conditions.limits.shape[0] - 1)]
    answer[last] = 0.0
    copy(answer[:n], conditions.x)
    copy(answer[n : n + r], sides.w)
    multiply_rows(conditions, i, conditions.x, conditions.values)
    copy(conditions.values, sides.a)
    is_strict = begin_at(sides, limits[:r], limits[r:], answer[n + 2 * r : last], conditions.v)
    answer[last + 1] = 1.0 if is_strict or sides.mu > 0.0 else 0.0
    size = conditions_at(conditions, i, conditions.x, conditions.v, conditions.values)
    scale = 1.0 + max(
        norm_within(conditions.c[min(i, conditions.c.shape[0] - 1)], 0, n), norm_within(conditions.image, 0, n)
    )
    for j in range(r):
        if sides.low[j] > -math.inf or sides.up[j] < math.inf:
            scale = max(scale, 1.0 + abs(conditions.values[j]), 1.0 + abs(sides.origin[j]))
    factor_conditions(conditions, i)
    for _ in range(STEPS):
        if not (size > ON_PATH * scale and conditions.pivot > PIVOT):
            break
        correct(conditions, i)
        share, now = 1.0, math.inf
        while share >= SAME:
            advance(conditions, i, share)
            now = conditions_at(conditions, i, conditions.new_x, conditions.new_v, conditions.new_values)
            if now < size:
                break
            share *= 0.5
        if not now < size:
            conditions_at(conditions, i, conditions.x, conditions.v, conditions.values)
            break
        accept(conditions)
        if now > SLOW * size:
            factor_conditions(conditions, i)
        size = now
    if conditions.pivot > PIVOT:
        answer[last] = conditions.pivot if sides.mu == 0.0 or size <= SAME * scale else -1.0
        copy(conditions.x, answer[:n])
        copy(sides.w, answer[n : n + r])
        copy(sides.share, answer[n + r : n + 2 * r])


@deferred_kernel
def solve_conditions(conditions: Conditions, i: int) -> None:
    """Replace (a, b) of program i by (u, dw) at its point; the quality becomes 0 if a residual remains."""
    n, r, right, share, last = (
        conditions.n, conditions.r, conditions.right[i], conditions.answer[i, conditions.n + conditions.r :],
        conditions.answer.shape[1] - 2
    )  # fmt: skip
    if not conditions.answer[i, last] > 0.0:
        return
    a, b = right[:n], right[n : n + r]
    for j in range(right.size - n - r):
        b[j] = share[j] * b[j] + (1.0 - share[j]) * right[n + r + j]
    scale = max(norm_within(a, 0, a.size), norm_within(b, 0, b.size))
    size = scale
    for turn in range(2):
        if turn == 1:
            factor_conditions(conditions, i)
            if not conditions.pivot > PIVOT:
                break
        conditions.x[:], conditions.v[:], conditions.values[:], conditions.dual[:] = 0.0, 0.0, 0.0, 0.0
        copy(a, conditions.left_x)
        copy(b, conditions.left_v)
        size, before = scale, math.inf
        for _ in range(STEPS):
            if size <= REFINED * scale or not size < SLOW * before:
                break
            correct(conditions, i)
            advance(conditions, i, 1.0)
            accept(conditions)
            before, size = size, residual_of(conditions, i, a, b)
        if size <= SAME * scale:
            copy(conditions.x, a)
            copy(conditions.dual, b)
            return
    conditions.answer[i, last] = 0.0


@inner
def advance(conditions: Conditions, i: int, share: float) -> None:
    """new_x := x + share dx, new_values := B new_x, new_v := v + share dv + new_values - values."""
    x, step, new_x = conditions.x, conditions.step_x, conditions.new_x
    for j in range(conditions.n):
        new_x[j] = x[j] + share * step[j]
    v, step, new_v, values, new_values = (
        conditions.v, conditions.step_v, conditions.new_v, conditions.values, conditions.new_values
    )  # fmt: skip
    multiply_rows(conditions, i, new_x, new_values)
    for j in range(conditions.r):
        new_v[j] = v[j] + share * step[j] + (new_values[j] - values[j])


@inner
def accept(conditions: Conditions) -> None:
    """(x, v) := (new_x, new_v)."""
    copy(conditions.new_x, conditions.x)
    copy(conditions.new_v, conditions.v)
    copy(conditions.new_values, conditions.values)


@inner
def residual_of(conditions: Conditions, i: int, a: Floats, b: Floats) -> float:
    """Compute `left`, the residual of (u, dv) = (x, v), and dual = (I - D) dv; return the largest entry of `left`."""
    sides, theta, v, dual, turned, values, left = (
        conditions.sides, conditions.sides.theta, conditions.v, conditions.dual, conditions.turned, conditions.values,
        conditions.left_v
    )  # fmt: skip
    copy(v, turned)
    reflect(sides, sides.unit, turned, 1, False)
    for j in range(conditions.r):
        turned[j] /= 1.0 + theta[j]
    reflect(sides, sides.unit, turned, 1, True)
    for j in range(conditions.r):
        dual[j] = v[j] - turned[j]
        left[j] = b[j] - values[j] + turned[j]
    multiply(conditions, i, conditions.x, dual)
    left, image = conditions.left_x, conditions.image
    for j in range(conditions.n):
        left[j] = a[j] - image[j]
    return max(norm_within(left, 0, conditions.n), norm_within(conditions.left_v, 0, conditions.r))


@inner
def conditions_at(conditions: Conditions, i: int, x: Floats, v: Floats, values: Floats) -> float:
    """Compute `left`, the residual of the conditions at (x, v) with B x = `values`; return its Euclidean norm."""
    n, r, c, left, left_v, image = (
        conditions.n, conditions.r, conditions.c[min(i, conditions.c.shape[0] - 1)], conditions.left_x,
        conditions.left_v, conditions.image
    )  # fmt: skip
    a, low, up, origin = conditions.sides.a, conditions.sides.low, conditions.sides.up, conditions.sides.origin
    project(conditions.sides, v)
    multiply(conditions, i, x, conditions.sides.w)
    for j in range(n):
        left[j] = -c[j] - image[j]
    for j in range(r):
        is_free = (low[j] == -math.inf) & (up[j] == math.inf)
        left_v[j] = 0.0 if is_free else origin[j] + a[j] - values[j]
    return math.sqrt(dot_within(left, 0, left, 0, n) + dot_within(left_v, 0, left_v, 0, r))


@inner
def multiply(conditions: Conditions, i: int, x: Floats, dual: Floats) -> None:
    """image := P x + B'dual."""
    n, m, image, B = conditions.n, conditions.m, conditions.image, conditions.B[min(i, conditions.B.shape[0] - 1)]
    multiply_symmetric_dense(n, conditions.P[min(i, conditions.P.shape[0] - 1)], x, image)
    for j in range(m):
        if dual[j] != 0.0:
            row, multiplier = B[j * n :], dual[j]
            for k in range(n):
                image[k] += row[k] * multiplier
    bounds = dual[m:]
    for j in range(conditions.r - m):
        image[j] += bounds[j]


@inner
def multiply_rows(conditions: Conditions, i: int, x: Floats, values: Floats) -> None:
    """values := B x."""
    n, m, B = conditions.n, conditions.m, conditions.B[min(i, conditions.B.shape[0] - 1)]
    for j in range(m):
        values[j] = dot_within(B, j * n, x, 0, n)
    if conditions.r > m:
        copy(x, values[m:])


@inner
def factor_conditions(conditions: Conditions, i: int) -> None:
    """Factor the system with the D of `sides`; the pivot is 0 if it cannot be factored."""
    n, theta, rows = conditions.n, conditions.theta, conditions.rows
    P, B = conditions.P[min(i, conditions.P.shape[0] - 1)], conditions.B[min(i, conditions.B.shape[0] - 1)]
    sort_rows(conditions)
    f, conditions.pivot = conditions.free, 0.0
    if conditions.hard > f:
        return
    for j in range(conditions.m):
        if theta[j] > 0.0 or conditions.sides.cone[j] >= 0:
            gather(B[j * n :], conditions.columns, rows[j * f : (j + 1) * f])
    reflect(conditions.sides, conditions.unit, rows, f, False)
    for g in range(f):
        column = conditions.columns[g]
        gather(P[column * n :], conditions.columns, conditions.H[g * f : (g + 1) * f])
        if conditions.r > conditions.m:
            conditions.H[g * f + g] += theta[conditions.m + column]
    for g in range(conditions.hard):
        copy(rows[conditions.held[g] * f :], conditions.C[g * f : (g + 1) * f])
    for g in range(conditions.weighted):  # `rows` begins with the weighted rows, times the roots of their weights.
        j = conditions.held[conditions.m - 1 - g]
        root = math.sqrt(theta[j])
        for k in range(f):
            rows[g * f + k] = root * rows[j * f + k]
    add_squares(f, conditions.weighted, 1.0, rows, conditions.H)
    conditions.pivot = factor_saddle(
        f, conditions.hard, conditions.H, conditions.C, conditions.L, conditions.Y, conditions.S, conditions.workspace
    )


@inner
def sort_rows(conditions: Conditions) -> None:
    """Copy the weights; list free columns and hard rows, and from the list ends fixed columns and weighted rows."""
    n, m, theta, columns, held, has_bounds = (
        conditions.n, conditions.m, conditions.theta, conditions.columns, conditions.held, conditions.r > conditions.m
    )  # fmt: skip
    copy(conditions.sides.theta, theta)
    copy(conditions.sides.unit, conditions.unit)
    free, hard, weighted = 0, 0, 0
    for j in range(n):
        is_free = not has_bounds or theta[m + j] * ON_PATH < 1.0
        columns[free if is_free else n - 1 - (j - free)] = j
        free += is_free
    for j in range(m):
        if theta[j] > 0.0:
            is_hard = theta[j] * ON_PATH >= 1.0  # An equation, within the accuracy of points of the path.
            held[hard if is_hard else m - 1 - weighted] = j
            hard, weighted = hard + is_hard, weighted + (not is_hard)
    conditions.free, conditions.hard, conditions.weighted = free, hard, weighted


@leaf
def gather(values: Floats, places: Ints, out: Floats) -> None:
    """out[k] := values[places[k]]."""
    for k in range(out.size):
        out[k] = values[np.uint64(places[k])]


@inner
def correct(conditions: Conditions, i: int) -> None:
    """Compute step = (u, dv - B u) for the right-hand side `left`, with the current factors."""
    n, m, f, theta = conditions.n, conditions.m, conditions.free, conditions.theta
    dual, bounds, has_bounds = conditions.turned, conditions.left_v[m:], conditions.r > m
    P, B = conditions.P[min(i, conditions.P.shape[0] - 1)], conditions.B[min(i, conditions.B.shape[0] - 1)]
    rows, columns, held, both = conditions.rows, conditions.columns, conditions.held, conditions.free_right
    step, u, y, right = conditions.step_x, both[:f], both[f : f + conditions.hard], conditions.step_v
    copy(conditions.left_x, step)
    copy(conditions.left_v, right)
    for g in range(f, n):
        j = columns[g]
        value = bounds[j]
        if value != 0.0:
            own = P[j * n :]
            for k in range(n):
                step[k] -= own[k] * value
            for k in range(m):
                right[k] -= B[k * n + j] * value
    reflect(conditions.sides, conditions.unit, right, 1, False)
    gather(step, columns, u)
    if has_bounds:
        for g in range(f):
            u[g] += theta[m + columns[g]] * bounds[columns[g]]
    for g in range(conditions.weighted):
        j = held[m - 1 - g]
        row, factor = rows[g * f :], math.sqrt(theta[j]) * right[j]
        for k in range(f):
            u[k] += factor * row[k]
    gather(right, held, y)
    solve_saddle(
        f,
        conditions.hard,
        conditions.C,
        conditions.L,
        conditions.Y,
        conditions.S,
        conditions.workspace,
        conditions.free_right,
    )
    dual[:] = 0.0
    for g in range(conditions.hard):
        dual[held[g]] = y[g]
    for g in range(conditions.weighted):
        j = held[m - 1 - g]
        dual[j] = math.sqrt(theta[j]) * dot_within(rows, g * f, u, 0, f) - theta[j] * right[j]
    reflect(conditions.sides, conditions.unit, dual, 1, True)
    if has_bounds:
        copy(bounds, step)
    for g in range(f):
        j = columns[g]
        step[j] = u[g]
        if has_bounds:
            dual[m + j] = theta[m + j] * (u[g] - bounds[j])
    left, image = conditions.left_x, conditions.image
    if f < n:
        multiply(conditions, i, step, dual)
    for g in range(f, n):  # multiplier of a fixed variable: the residual of stationarity
        dual[m + columns[g]] = left[columns[g]] - image[columns[g]]
    left = conditions.left_v
    for j in range(conditions.r):
        right[j] = dual[j] - left[j]


@leaf
def copy(values: Floats, out: Floats) -> None:
    """out := values."""
    for k in range(out.size):
        out[k] = values[k]
