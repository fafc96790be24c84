r"""The optimality conditions of small dense cone programs, linearized at their answers.

With D the derivative of the projection at v = s - z (see `derivatives`) the answer moves by (u, w, dv) with

    P u + A'w + G'(D - I) dv = a,    A u = b,    G u + D dv = r,

and D = Q'diag(d) Q, where Q reflects the rows of each second-order cone so that v becomes its eigenvalues.  Reflected
rows of G are equations for d = 0, absent for d = 1, and weighted by (1 - d) / d in between: a dense saddle-point system
(see `saddle`).  Its factors also serve at points nearby, by refinement with the D of that point.
"""

from __future__ import annotations

import math

from ..compiled.kernels import deferred_kernel, inner, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, dimension, floats, integer, integers, matrix, number
from ..linalg.refinement import SLOW
from ..linalg.saddle import EQUATION, PIVOT, REFINED, STEPS, factor_saddle, solve_saddle
from ..linalg.vectors import dot_within, norm_tail

WEAK = 1e-3  # of s_i and z_i, the smaller over the larger: neither is then known to be zero
SAME = 1e-10  # relative difference of points that have the same factors, and of residuals that are none
AT_BOUNDARY = 1e-6  # an eigenvalue of v in a second-order cone, relative to the largest
NEWTON_STEPS = 100
ON_PATH, OFF_PATH = 1e-12, 1e-6  # residual of a point of the path, relative to the data, and of one that is not


class Conditions(Structure):
    """The programs of a batch, or one, and room to linearize one of them.

    Attributes
    ----------
    P, B, c, sides : matrices, a row for each program or one for all
        P and B = [A; G] by rows, c, and (b, h).
    point : matrix, shape (k, n + p + 2 m)
        (x, y, z, s) of each, which become those of the point of the path, or of the answer to more digits.
    right : matrix, shape (k, n + p + m)
        (a, b, r) of each, which become (u, w, dz) with dz = (D - I) dv.
    quality : matrix, shape (k, 2)
        The smallest pivot beside its diagonal entry, 0 where the system was not solved, and whether s and z are
        strictly complementary.
    """

    n, p, m, cones, mu = dimension(), dimension(), dimension(), integer(), number()
    P, B, c, sides, point, right, quality = matrix(), matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    first, last = integers("m"), integers("m")
    at, moved = floats("n + p + m", scratch=True), floats("n + p + m", scratch=True)  # (x, y, v)
    left, step, image = (floats("n + p + m", scratch=True) for _ in range(3))
    s, z, turned = floats("m", scratch=True), floats("m", scratch=True), floats("m", scratch=True)
    d, axis = floats("m", scratch=True), floats("m", scratch=True)  # at the point
    factored_d, factored_axis = floats("m", scratch=True), floats("m", scratch=True)
    rows = floats("m * n", scratch=True)  # of G, reflected
    H, L, C = floats("n * n", scratch=True), floats("n * n", scratch=True), floats("n * n", scratch=True)
    Y, S, room = floats("n * n", scratch=True), floats("n * n", scratch=True), floats("2 * n + 1", scratch=True)
    u, w = floats("n", scratch=True), floats("n", scratch=True)
    q, pivot = integer(), number()


@deferred_kernel
def differentiate(w: Conditions, start: Ints, second_order: Bools, begin: int, end: int) -> None:
    """`find_point` and `solve_conditions` for some programs."""
    for i in range(begin, end):
        find_point(w, start, second_order, i)
        solve_conditions(w, i)


@deferred_kernel
def find_point(w: Conditions, start: Ints, second_order: Bools, i: int) -> None:
    """Newton's method from the answer of program i, factored anew where a step with the factors does not serve."""
    n, p, m = w.n, w.p, w.m
    point, at, sides = w.point[i], w.at, w.sides[min(i, w.sides.shape[0] - 1)]
    w.cones = 0
    for k in range(second_order.size):
        if second_order[k] and start[k + 1] - start[k] > 1:
            w.first[w.cones], w.last[w.cones] = start[k], start[k + 1]
            w.cones += 1
    for j in range(n + p):
        at[j] = point[j]
    for j in range(m):
        always = sides[p + j] == math.inf
        w.z[j], w.s[j] = 0.0 if always else point[n + p + j], 1.0 if always else point[n + p + m + j]
        at[n + p + j] = w.s[j] - w.z[j]
    w.quality[i, 0], w.quality[i, 1] = 0.0, 1.0 if w.mu > 0.0 or is_strict(w) else 0.0
    scale = 1.0 + max(largest_finite(w.c[min(i, w.c.shape[0] - 1)]), largest_finite(sides))
    size = conditions_at(w, i, at)
    factor_conditions(w, i, at)
    for _ in range(NEWTON_STEPS):
        if not (size > ON_PATH * scale and w.pivot > PIVOT):
            break
        correct(w, i)
        share, now = 1.0, math.inf
        while share >= 1e-6:
            for j in range(n + p + m):
                w.moved[j] = at[j] + share * w.step[j]
            now = conditions_at(w, i, w.moved)
            if now <= (1.0 - 1e-4 * share) * size:
                break
            share *= 0.5
        if not now < size:
            break
        for j in range(n + p + m):
            at[j] = w.moved[j]
        if now > SLOW * size:
            factor_conditions(w, i, at)
        size = now
    size = conditions_at(w, i, at)
    if not w.pivot > PIVOT or (w.mu > 0.0 and not size <= OFF_PATH * scale):
        return
    w.quality[i, 0] = w.pivot
    find_slopes(w, i, at, w.d, w.axis)
    for j in range(n + p):
        point[j] = at[j]
    for j in range(m):
        point[n + p + j], point[n + p + m + j] = w.z[j], w.s[j]


@deferred_kernel
def solve_conditions(w: Conditions, i: int) -> None:
    """(u, w, dz) for the right-hand side of program i, at its point; quality becomes 0 where a residual is left."""
    n, p, m, right, found = w.n, w.p, w.m, w.right[i], w.moved
    if not w.quality[i, 0] > 0.0:
        return
    size, scale = math.inf, largest_finite(right)
    for turn in range(2):
        if turn == 1:
            factor_conditions(w, i, w.at)
        size, last = math.inf, math.inf
        found[:] = 0.0
        w.step[:] = 0.0
        for _ in range(STEPS):
            for j in range(n + p + m):
                found[j] += w.step[j]
            size = residual_of(w, i, right, found)
            if size <= REFINED * scale or not size < SLOW * last:
                break
            last = size
            correct(w, i)
        if size <= SAME * scale:
            break
    if not size <= SAME * scale:
        w.quality[i, 0] = 0.0
        return
    for j in range(n + p):
        right[j] = found[j]
    for j in range(m):
        right[n + p + j] = w.z[j]


@inner
def residual_of(w: Conditions, i: int, right: Floats, found: Floats) -> float:
    """left := what (u, w, dv) leaves of a right-hand side, z := dz; returns the largest entry."""
    n, p, m, largest = w.n, w.p, w.m, 0.0
    for j in range(m):
        w.turned[j] = found[n + p + j]
    reflect(w, w.axis, w.turned, 1, False)
    for j in range(m):
        w.turned[j] *= w.d[j]
    reflect(w, w.axis, w.turned, 1, True)
    for j in range(m):
        w.z[j] = w.turned[j] - found[n + p + j]
    multiply_blocks(w, i, found, w.z)
    for j in range(n + p + m):
        w.left[j] = right[j] - w.image[j]
        if j >= n + p:
            w.left[j] -= w.turned[j - n - p]
        largest = max(largest, abs(w.left[j]))
    return largest


@inner
def conditions_at(w: Conditions, i: int, at: Floats) -> float:
    """left := what (x, y, v) leaves of the conditions, with s and z of v; returns its norm."""
    n, p, m, total = w.n, w.p, w.m, 0.0
    c, sides = w.c[min(i, w.c.shape[0] - 1)], w.sides[min(i, w.sides.shape[0] - 1)]
    for j in range(m):
        v = at[n + p + j]
        w.s[j] = v if sides[p + j] == math.inf else raised(v, w.mu)
    for k in range(w.cones):
        first, last = w.first[k], w.last[k]
        t, r = at[n + p + first], norm_tail(at, n + p + first, n + p + last)
        low, high = raised(t - r, w.mu), raised(t + r, w.mu)
        w.s[first] = 0.5 * (low + high)
        factor = 0.5 * (high - low) / r if r > 0.0 else 0.0
        for j in range(first + 1, last):
            w.s[j] = factor * at[n + p + j]
    for j in range(m):
        w.z[j] = w.s[j] - at[n + p + j]
    multiply_blocks(w, i, at, w.z)
    for j in range(n):
        w.left[j] = -c[j] - w.image[j]
    for j in range(p + m):
        left = sides[j] - w.image[n + j]
        if j >= p:
            left = 0.0 if sides[j] == math.inf else left - w.s[j - p]
        w.left[n + j] = left
    for j in range(n + p + m):
        total += w.left[j] * w.left[j]
    return math.sqrt(total)


@inner
def multiply_blocks(w: Conditions, i: int, at: Floats, z: Floats) -> None:
    """image := (P x + A'y + G'z, A x, G x)."""
    n, p, image = w.n, w.p, w.image
    P, B = w.P[min(i, w.P.shape[0] - 1)], w.B[min(i, w.B.shape[0] - 1)]
    for j in range(n):
        image[j] = dot_within(P, j * n, at, 0, n)
    for j in range(p + w.m):
        row, multiplier, total = B[j * n : (j + 1) * n], at[n + j] if j < p else z[j - p], 0.0
        for k in range(n):
            image[k] += row[k] * multiplier
            total += row[k] * at[k]
        image[n + j] = total


@inner
def find_slopes(w: Conditions, i: int, at: Floats, d: Floats, axis: Floats) -> None:
    """d := the eigenvalues of D at v, of a cone low, high and between; axis := what reflects v to the first two.

    The first entry of a cone's axis is the sign of the reflected tail, 0 where the rows stay as they are.
    """
    sides, at_v = w.sides[min(i, w.sides.shape[0] - 1)], w.n + w.p
    for j in range(w.m):
        d[j], axis[j] = 1.0 if sides[w.p + j] == math.inf else slope(at[at_v + j], w.mu), 0.0
    for k in range(w.cones):
        first, last = w.first[k], w.last[k]
        t, r = at[at_v + first], norm_tail(at, at_v + first, at_v + last)
        low, high = slope(t - r, w.mu), slope(t + r, w.mu)
        between = low
        if low != high:
            s = raised(t - r, w.mu) * raised(t + r, w.mu)
            between = s / (s + w.mu) if w.mu > 0.0 else (t + r) / (2.0 * r)
            one = at[at_v + first + 1] / r
            axis[first] = 1.0 if one >= 0.0 else -1.0
            length = math.sqrt(2.0 + 2.0 * abs(one))
            axis[first + 1] = (one + axis[first]) / length
            for j in range(first + 2, last):
                axis[j] = at[at_v + j] / r / length
        d[first], d[first + 1] = low, high
        for j in range(first + 2, last):
            d[j] = between


@inner
def reflect(w: Conditions, axis: Floats, X: Floats, columns: int, back: bool) -> None:
    """X := Q X, or Q'X back, for the rows X of all cones."""
    half = math.sqrt(0.5)
    for k in range(w.cones):
        first, last = w.first[k], w.last[k]
        sign = axis[first]
        if sign == 0.0:
            continue
        for j in range(columns):
            head, one = first * columns + j, (first + 1) * columns + j
            if back:
                X[head], X[one] = half * (X[head] + X[one]), half * sign * (X[head] - X[one])
            along = 0.0
            for row in range(first + 1, last):
                along += axis[row] * X[row * columns + j]
            for row in range(first + 1, last):
                X[row * columns + j] -= 2.0 * along * axis[row]
            if not back:
                X[head], X[one] = half * (X[head] + sign * X[one]), half * (X[head] - sign * X[one])


@inner
def factor_conditions(w: Conditions, i: int, at: Floats) -> None:
    """Factor the system with the D of a point; the pivot is 0 where there are no factors."""
    n, p, m = w.n, w.p, w.m
    P, B = w.P[min(i, w.P.shape[0] - 1)], w.B[min(i, w.B.shape[0] - 1)]
    find_slopes(w, i, at, w.factored_d, w.factored_axis)
    for j in range(m * n):
        w.rows[j] = B[p * n + j]
    reflect(w, w.factored_axis, w.rows, n, False)
    for j in range(n * n):
        w.H[j] = P[j]
    w.q, w.pivot = p, 0.0
    for j in range(m):
        w.q += w.factored_d[j] <= EQUATION
    if w.q > n:
        return
    for j in range(p * n):
        w.C[j] = B[j]
    q = p
    for j in range(m):
        d, row = w.factored_d[j], w.rows[j * n : (j + 1) * n]
        if d <= EQUATION:
            for k in range(n):
                w.C[q * n + k] = row[k]
            q += 1
        elif d < 1.0:
            for k in range(n):
                factor = row[k] * (1.0 - d) / d
                if factor != 0.0:
                    for l in range(n):
                        w.H[k * n + l] += factor * row[l]
    w.pivot = factor_saddle(n, q, w.H, w.C, w.L, w.Y, w.S, w.room)


@inner
def correct(w: Conditions, i: int) -> None:
    """step := the solution (u, w, dv) for the right-hand side `left`, with the factors."""
    n, p, m, d = w.n, w.p, w.m, w.factored_d
    B, q = w.B[min(i, w.B.shape[0] - 1)], p
    for j in range(n):
        w.u[j] = w.left[j]
    for j in range(p):
        w.w[j] = w.left[n + j]
    for j in range(m):
        w.turned[j] = w.left[n + p + j]
    reflect(w, w.factored_axis, w.turned, 1, False)
    for j in range(m):
        if d[j] <= EQUATION:
            w.w[q] = w.turned[j]
            q += 1
        elif d[j] < 1.0:
            factor = w.turned[j] * (1.0 - d[j]) / d[j]
            for k in range(n):
                w.u[k] += factor * w.rows[j * n + k]
    solve_saddle(n, q, w.H, w.C, w.L, w.Y, w.S, w.room, w.u, w.w)
    q = p
    for j in range(m):
        if d[j] <= EQUATION:
            w.turned[j] = w.w[q]
            q += 1
        elif d[j] < 1.0:
            w.turned[j] = (dot_within(w.rows, j * n, w.u, 0, n) - w.turned[j]) * (1.0 - d[j]) / d[j]
        else:
            w.turned[j] = 0.0
    reflect(w, w.factored_axis, w.turned, 1, True)
    for j in range(n):
        w.step[j] = w.u[j]
    for j in range(p):
        w.step[n + j] = w.w[j]
    for j in range(m):
        w.step[n + p + j] = w.left[n + p + j] - dot_within(B, (p + j) * n, w.u, 0, n) - w.turned[j]


@inner
def is_strict(w: Conditions) -> bool:
    """Whether s and z are strictly complementary, as far as their digits tell."""
    k = 0
    for j in range(w.m):
        while k < w.cones and j >= w.last[k]:
            k += 1
        s, z = w.s[j], w.z[j]
        if k < w.cones and j >= w.first[k]:
            if j > w.first[k]:
                continue
            square, largest = 0.0, 0.0
            for row in range(j, w.last[k]):
                square += (w.s[row] - w.z[row]) ** 2 if row > j else 0.0
                largest = max(largest, abs(w.s[row]))
            t, r = s - z, math.sqrt(square)
            if min(abs(t - r), abs(t + r)) <= AT_BOUNDARY * max(largest, abs(t) + r):
                return False
        elif is_weak(s, z):
            return False
    return True


@leaf
def is_weak(s: float, z: float) -> bool:
    """Whether neither of a slack and its multiplier is known to be zero, or both are."""
    return min(s, z) > WEAK * max(s, z) or s == z


@leaf
def raised(t: float, mu: float) -> float:
    """f(t) = (t + (t^2 + 4 mu)^(1/2)) / 2; max(t, 0) for mu = 0."""
    if mu == 0.0:
        return max(t, 0.0)
    larger = 0.5 * (abs(t) + math.sqrt(t * t + 4.0 * mu))  # without cancellation
    return larger if t > 0.0 else mu / larger


@leaf
def slope(t: float, mu: float) -> float:
    """f'(t) = f(t) / (f(t) + f(-t)); 1 or 0 for mu = 0."""
    if mu == 0.0:
        return 1.0 if t > 0.0 else 0.0
    return raised(t, mu) / (raised(t, mu) + raised(-t, mu))


@leaf
def largest_finite(values: Floats) -> float:
    """The largest absolute value of the finite entries."""
    largest = 0.0
    for value in values:
        if abs(value) < math.inf:
            largest = max(largest, abs(value))
    return largest


@deferred_kernel
def expand(indptr: Ints, indices: Ints, data: Floats, rows: Floats, first: int) -> None:
    """Write a CSC matrix into zeros that hold rows, from row `first` on."""
    n = indptr.size - 1
    for j in range(n):
        for k in range(indptr[j], indptr[j + 1]):
            rows[(first + indices[k]) * n + j] = data[k]
