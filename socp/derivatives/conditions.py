r"""The optimality conditions of small dense programs, linearized at their answers.

With the projection Pi onto the sides of the rows and D, its derivative at v (see `sides`), x and v are optimal where

    P x + c + B'(v - Pi(v)) = 0,    B x = Pi(v),

and move by P u + B'(I - D) dv = a, B u - D dv = b; the last rows of B may be bounds, those of the identity.  In the
eigenvectors of D, rows are equations for a weight theta of infinity, absent for 0, and weighted in between; a bound that is
an equation gives its variable.  That leaves a dense saddle-point system (see `saddle`), whose factors also serve at points
nearby, by refinement with the D of that point.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import deferred_kernel, inner, leaf
from ..compiled.signatures import Floats
from ..compiled.structures import Structure, dimension, floats, integer, integers, matrix, number, part
from ..linalg.refinement import SLOW
from ..linalg.vectors import dot_within
from .saddle import EQUATION, PIVOT, REFINED, STEPS, factor_saddle, solve_saddle
from .sides import Sides, begin_at, project, reflect

SAME = 1e-10  # relative difference of points that have the same factors, and of residuals that are none
NEWTON_STEPS, LEAST_SHARE, FALL = 100, 1e-6, 1e-4
ON_PATH, OFF_PATH = 1e-12, 1e-6  # residual of a point of the path, relative to the data, and of one that is not
HARD = 1.0 / EQUATION  # the weight from which on the factors take a row for an equation


class Conditions(Structure):
    """The programs of a batch, or one, and room to linearize one of them.

    Attributes
    ----------
    n, m, r : int
        The numbers of variables, of rows of B but for bounds, and of all rows.
    P, B, c, lower, upper : matrices, a row for each program or one for all
        P and B by rows, c, and the sides of the r rows.
    slacks : matrix, shape (k, those of the last rows that come with slacks)
    point : matrix, shape (k, n + r)
        (x, w) of each, which become those of the point of the path, or of the answer to more digits.
    right : matrix, shape (k, n + r)
        (a, b) of each, which become (u, dw) with dw = (I - D) dv.
    below : matrix, shape (0 or k, r)
        The part of b that is by the lower sides, where `right` has that of the upper ones.
    share : matrix, shape (k, r)
        See `Sides`.
    quality : matrix, shape (k, 2)
        The smallest pivot over its diagonal entry, 0 where the system was not solved, and whether slacks and
        multipliers are strictly complementary.
    """

    n, m, r = dimension(), dimension(), dimension()
    sides = part(Sides)
    P, B, c, lower, upper, slacks = matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    point, right, below, share, quality = matrix(), matrix(), matrix(), matrix(), matrix()
    at, moved = floats("n + r", scratch=True), floats("n + r", scratch=True)  # (x, v)
    left, step, image = (floats("n + r", scratch=True) for _ in range(3))
    dual, turned = floats("r", scratch=True), floats("r", scratch=True)
    theta, unit = floats("r", scratch=True), floats("r", scratch=True)  # of the factors
    rows = floats("m * n", scratch=True)  # of B, in the free variables and reflected
    H, L, C = floats("n * n", scratch=True), floats("n * n", scratch=True), floats("n * n", scratch=True)
    Y, S, room = floats("n * n", scratch=True), floats("n * n", scratch=True), floats("2 * n + 1", scratch=True)
    u, hard, free = floats("n", scratch=True), floats("n", scratch=True), integers("n", scratch=True)
    free_count, hard_count, pivot = integer(), integer(), number()


@deferred_kernel
def differentiate(w: Conditions, begin: int, end: int) -> None:
    """`find_point` and `solve_conditions` for some programs."""
    for i in range(begin, end):
        find_point(w, i)
        solve_conditions(w, i)


@deferred_kernel
def find_point(w: Conditions, i: int) -> None:
    """Take Newton's steps from the answer of program i; refactor where a step with the factors does not serve."""
    n, r, sides, at, point = w.n, w.r, w.sides, w.at, w.point[i]
    w.quality[i, 0] = 0.0
    w.quality[i, 1] = 1.0 if begin(w, i) or sides.mu > 0.0 else 0.0
    size = conditions_at(w, i, at)
    scale = 1.0 + max(largest_of(w.c[min(i, w.c.shape[0] - 1)]), largest_term(w))
    factor_conditions(w, i)
    for _ in range(NEWTON_STEPS):
        if not (size > ON_PATH * scale and w.pivot > PIVOT):
            break
        correct(w, i)
        share, now = 1.0, math.inf
        while share >= LEAST_SHARE:
            for j in range(n + r):
                w.moved[j] = at[j] + share * w.step[j]
            now = conditions_at(w, i, w.moved)
            if now <= (1.0 - FALL * share) * size:
                break
            share *= 0.5
        if not now < size:
            conditions_at(w, i, at)
            break
        copy(w.moved, at)
        if now > SLOW * size:
            factor_conditions(w, i)
        size = now
    if not w.pivot > PIVOT or (sides.mu > 0.0 and not size <= OFF_PATH * scale):
        return
    w.quality[i, 0] = w.pivot
    copy(at[:n], point[:n])
    copy(sides.w, point[n:])
    copy(sides.share, w.share[i])


@inner
def begin(w: Conditions, i: int) -> bool:
    """Write (x, v) of the answer of program i into `at`; returns True if it is strictly complementary."""
    n, r, sides, at, point = w.n, w.r, w.sides, w.at, w.point[i]
    copy(point[:n], at[:n])
    copy(point[n:], sides.w)
    if w.slacks.shape[1] == 0:
        multiply_rows(w, i, at)
        copy(w.image[n:], sides.a)
    own = w.lower[min(i, w.lower.shape[0] - 1)], w.upper[min(i, w.upper.shape[0] - 1)]
    return begin_at(sides, own[0], own[1], w.slacks[i], at[n : n + r])


@deferred_kernel
def solve_conditions(w: Conditions, i: int) -> None:
    """(u, dw) for the right-hand side of program i, at its point; quality becomes 0 where a residual is left."""
    n, r, right, found = w.n, w.r, w.right[i], w.moved
    if not w.quality[i, 0] > 0.0:
        return
    if w.below.shape[0] > 0:
        for j in range(r):
            right[n + j] = w.share[i, j] * right[n + j] + (1.0 - w.share[i, j]) * w.below[i, j]
    scale = largest_of(right)
    size = scale
    for turn in range(2):
        if turn == 1:
            factor_conditions(w, i)
        found[:] = 0.0
        copy(right, w.left)
        size, last = scale, math.inf
        for _ in range(STEPS):
            if size <= REFINED * scale or not size < SLOW * last:
                break
            correct(w, i)
            for j in range(n + r):
                found[j] += w.step[j]
            last = size
            size = residual_of(w, i, right, found)
        if size <= SAME * scale:
            break
    if not size <= SAME * scale:
        w.quality[i, 0] = 0.0
        return
    if scale > 0.0:
        copy(found[:n], right[:n])
        copy(w.dual, right[n:])


@inner
def residual_of(w: Conditions, i: int, right: Floats, found: Floats) -> float:
    """left := what (u, dv) leaves of a right-hand side, dual := (I - D) dv; returns the largest entry."""
    n, r, sides, dual, turned, largest = w.n, w.r, w.sides, w.dual, w.turned, 0.0
    copy(found[n:], turned)
    reflect(sides, sides.unit, turned, 1, False)
    for j in range(r):
        turned[j] /= 1.0 + sides.theta[j]
    reflect(sides, sides.unit, turned, 1, True)
    for j in range(r):
        dual[j] = found[n + j] - turned[j]
    multiply(w, i, found, dual)
    for j in range(n + r):
        w.left[j] = right[j] - w.image[j]
        if j >= n:
            w.left[j] += turned[j - n]
        largest = max(largest, abs(w.left[j]))
    return largest


@inner
def conditions_at(w: Conditions, i: int, at: Floats) -> float:
    """left := what (x, v) leaves of the conditions; returns its norm."""
    n, sides, left, total = w.n, w.sides, w.left, 0.0
    c = w.c[min(i, w.c.shape[0] - 1)]
    project(sides, at[n : n + w.r])
    multiply(w, i, at, sides.w)
    for j in range(n):
        left[j] = -c[j] - w.image[j]
        total += left[j] * left[j]
    for j in range(w.r):
        is_free = sides.low[j] == -math.inf and sides.up[j] == math.inf
        left[n + j] = 0.0 if is_free else sides.origin[j] + sides.a[j] - w.image[n + j]
        total += left[n + j] * left[n + j]
    return math.sqrt(total)


@inner
def multiply(w: Conditions, i: int, x: Floats, dual: Floats) -> None:
    """image := (P x + B'dual, B x)."""
    n, m, image = w.n, w.m, w.image
    P, B = w.P[min(i, w.P.shape[0] - 1)], w.B[min(i, w.B.shape[0] - 1)]
    for j in range(n):
        image[j] = dot_within(P, j * n, x, 0, n)
    for j in range(m):
        if dual[j] != 0.0:
            row, multiplier = B[j * n : (j + 1) * n], dual[j]
            for k in range(n):
                image[k] += row[k] * multiplier
    for j in range(w.r - m):
        image[j] += dual[m + j]
    multiply_rows(w, i, x)


@inner
def multiply_rows(w: Conditions, i: int, x: Floats) -> None:
    """The last entries of image := B x."""
    n, B = w.n, w.B[min(i, w.B.shape[0] - 1)]
    for j in range(w.m):
        w.image[n + j] = dot_within(B, j * n, x, 0, n)
    for j in range(w.r - w.m):
        w.image[n + w.m + j] = x[j]


@inner
def factor_conditions(w: Conditions, i: int) -> None:
    """Factor the system with the D of `sides`; the pivot is 0 where there are no factors."""
    n, m, theta, sides, free = w.n, w.m, w.theta, w.sides, w.free
    P, B = w.P[min(i, w.P.shape[0] - 1)], w.B[min(i, w.B.shape[0] - 1)]
    copy(sides.theta, theta)
    copy(sides.unit, w.unit)
    f, q, w.pivot = 0, 0, 0.0
    for j in range(n):
        if w.r == m or not theta[m + j] >= HARD:
            free[f] = j
            f += 1
    for j in range(m):
        q += theta[j] >= HARD
        if theta[j] > 0.0 or sides.cone[j] >= 0:
            row, own = w.rows[j * f : (j + 1) * f], B[j * n : (j + 1) * n]
            for k in range(f):
                row[k] = own[np.uint64(free[k])]
    w.free_count, w.hard_count = f, q
    if q > f:
        return
    reflect(sides, w.unit, w.rows, f, False)
    for j in range(f):
        row, own = w.H[j * f : (j + 1) * f], P[free[j] * n : (free[j] + 1) * n]
        for k in range(f):
            row[k] = own[np.uint64(free[k])]
        if w.r > m:
            row[j] += theta[m + free[j]]
    q = 0
    for j in range(m):
        row = w.rows[j * f : (j + 1) * f]
        if theta[j] >= HARD:
            copy(row, w.C[q * f : (q + 1) * f])
            q += 1
        elif theta[j] > 0.0:
            for k in range(f):
                factor, column = theta[j] * row[k], w.H[k * f : (k + 1) * f]
                if factor != 0.0:
                    for l in range(k, f):  # the lower triangle, by columns
                        column[l] += factor * row[l]
    w.pivot = factor_saddle(f, q, w.H, w.C, w.L, w.Y, w.S, w.room)


@inner
def correct(w: Conditions, i: int) -> None:
    """step := the solution (u, dv) for the right-hand side `left`, with the factors."""
    n, m, f, theta, left, step, dual = w.n, w.m, w.free_count, w.theta, w.left, w.step, w.turned
    P, B, free = w.P[min(i, w.P.shape[0] - 1)], w.B[min(i, w.B.shape[0] - 1)], w.free
    copy(left, step)
    for j in range(w.r - m):
        value = left[n + m + j]
        if theta[m + j] >= HARD and value != 0.0:
            for k in range(n):
                step[k] -= P[j * n + k] * value
            for k in range(m):
                step[n + k] -= B[k * n + j] * value
        elif 0.0 < theta[m + j] < HARD:
            step[j] += theta[m + j] * value
    copy(step[n:], dual)
    reflect(w.sides, w.unit, dual, 1, False)
    q = 0
    for k in range(f):
        w.u[k] = step[free[k]]
    for j in range(m):
        if theta[j] >= HARD:
            w.hard[q] = dual[j]
            q += 1
        elif theta[j] > 0.0:
            factor = theta[j] * dual[j]
            for k in range(f):
                w.u[k] += factor * w.rows[j * f + k]
    solve_saddle(f, q, w.H, w.C, w.L, w.Y, w.S, w.room, w.u, w.hard)
    q = 0
    for j in range(m):
        if theta[j] >= HARD:
            dual[j] = w.hard[q]
            q += 1
        else:
            dual[j] = theta[j] * (dot_within(w.rows, j * f, w.u, 0, f) - dual[j]) if theta[j] > 0.0 else 0.0
    reflect(w.sides, w.unit, dual, 1, True)
    if w.r > m:
        copy(left[n + m :], step[:n])
    for k in range(f):
        step[free[k]] = w.u[k]
    find_bounds(w, P, B)
    for j in range(w.r):
        step[n + j] = dual[j] - left[n + j] + (dot_within(B, j * n, step, 0, n) if j < m else step[j - m])


@inner
def find_bounds(w: Conditions, P: Floats, B: Floats) -> None:
    """The last entries of turned := the multipliers of bounds, of those that are equations what stationarity leaves."""
    n, m, theta, dual = w.n, w.m, w.theta, w.turned
    for j in range(w.r - m):
        if theta[m + j] >= HARD:
            dual[m + j] = w.left[j] - dot_within(P, j * n, w.step, 0, n)
            for k in range(m):
                dual[m + j] -= B[k * n + j] * dual[k]
        else:
            dual[m + j] = theta[m + j] * (w.step[j] - w.left[n + m + j])


@inner
def largest_term(w: Conditions) -> float:
    """The largest size of the terms of the conditions: of image but for free rows, and of what values begin at."""
    n, sides, largest = w.n, w.sides, 0.0
    for j in range(n):
        largest = max(largest, abs(w.image[j]))
    for j in range(w.r):
        if sides.low[j] > -math.inf or sides.up[j] < math.inf:
            largest = max(largest, max(abs(w.image[n + j]), abs(sides.origin[j])))
    return largest


@leaf
def largest_of(values: Floats) -> float:
    """Return max |values|."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@leaf
def copy(values: Floats, out: Floats) -> None:
    """out := values."""
    for k in range(out.size):
        out[k] = values[k]
