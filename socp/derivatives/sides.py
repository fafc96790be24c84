r"""The projection onto the sides of rows and onto second-order cones, smooth on the central path, and its derivative.

A row with the value a = b'x, the sides l <= a <= u and the multiplier w is optimal where a = Pi(v), v = a + w, with
the projection Pi onto the sides; so are the rows of a cone, with the projection onto h - K.  On the central path
w = mu / (u - a) - mu / (a - l), or (h - a) o w = mu e in a cone, and Pi becomes smooth.

The derivative D of Pi has the eigenvalues 1 / (1 + theta).  The weight theta is infinite for a row that is an equation,
0 for an inactive row, and mu / (u - a)^2 + mu / (a - l)^2 on the path, so that two sides make one row.
"""

from __future__ import annotations

import math

from ..compiled.kernels import deferred_kernel, inner, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, dimension, floats, integer, integers, number
from ..linalg.vectors import norm_tail
from .saddle import REFINED

WEAK = 1e-3  # ratio of a slack and its multiplier, smaller over larger, above which neither counts as zero
AT_BOUNDARY = 1e-6  # eigenvalue of v, relative to the largest, at which v is on the boundary of a second-order cone


class Sides(Structure):
    """Sides of the r rows of a program, measured from `origin`, the nearest side, and the results of `project`.

    Attributes
    ----------
    mu : float
        Parameter of the point of the central path; 0 for the answer itself.
    cone : array of int64
        Number of the second-order cone, with two rows or more, of each row; -1 for rows in no such cone.
    first, last : arrays of int64
        Cone k has the rows first[k]:last[k].
    low, up : arrays
        Sides: equal for an equality, both infinite for a free row; `up` is 0 in a cone.
    a, w : arrays
        Pi(v), and the multipliers v - Pi(v).
    theta : array
        Weights of the rows; in a cone, of the rows of its frame: low, high, then between.
    share : array
        Share of the upper side in the weight of a row; the lower side has the rest.
    unit : array
        In a cone with unequal weights: the sign used by `reflect`, then the tail of -v, normalized; else 0 at first.
    """

    r, mu, cones = dimension(), number(), integer()
    cone, first, last = integers("r", scratch=True), integers("r", scratch=True), integers("r", scratch=True)
    origin, low, up = floats("r", scratch=True), floats("r", scratch=True), floats("r", scratch=True)
    a, w, theta = floats("r", scratch=True), floats("r", scratch=True), floats("r", scratch=True)
    share, unit = floats("r", scratch=True), floats("r", scratch=True)


@deferred_kernel
def note_cones(sides: Sides, start: Ints, second_order: Bools, before: int) -> None:
    """Set `cone`, `first` and `last` from a layout of cones whose rows follow `before` other rows."""
    sides.cones = 0
    for i in range(sides.r):
        sides.cone[i] = -1
    for k in range(second_order.size):
        first, last = before + start[k], before + start[k + 1]
        if second_order[k] and last - first > 1:
            sides.cone[first:last] = sides.cones
            sides.first[sides.cones], sides.last[sides.cones] = first, last
            sides.cones += 1


@deferred_kernel
def begin_at(sides: Sides, lower: Floats, upper: Floats, slacks: Floats, v: Floats) -> bool:
    """Set the sides of a program, and v = a + w from the values `sides.a` and the multipliers `sides.w`.

    `slacks` are the distances of the last rows from their upper sides, and replace their values.  Returns True if
    slacks and multipliers are strictly complementary, as far as their digits show.
    """
    given, is_strict, low, up, origins = sides.r - slacks.size, True, sides.low, sides.up, sides.origin
    cone, multipliers, values = sides.cone, sides.w, sides.a
    for i in range(sides.r):
        l, u, w, a, in_cone = lower[i], upper[i], multipliers[i], values[i], cone[i] >= 0
        above, below = (slacks[i - given], math.inf) if i >= given else (u - a, a - l)
        at_upper = in_cone or above <= below
        side, near, sign = (u, above, -1.0) if at_upper else (l, below, 1.0)
        if l == -math.inf and u == math.inf:
            v[i], side = 0.0 if i >= given else a, 0.0
        elif l == u:
            v[i] = w
        else:
            v[i] = w + sign * near
            is_strict &= in_cone | ~(is_weak(above, w) | is_weak(below, -w))
        origins[i], low[i], up[i] = side, l - side, u - side
    for k in range(sides.cones):
        first, last = sides.first[k], sides.last[k]
        t, r, largest = abs(v[first]), norm_tail(v, first, last), 0.0
        for i in range(first, last):
            largest = max(largest, abs(slacks[i - given]))
        is_strict &= abs(t - r) > AT_BOUNDARY * max(largest, t + r)
    return is_strict


@leaf
def is_weak(slack: float, multiplier: float) -> bool:
    """Return True if neither a slack nor its multiplier is known to be zero, or both are zero."""
    s, z = max(slack, 0.0), max(multiplier, 0.0)
    return (min(s, z) > WEAK * max(s, z)) | (s == z)


@deferred_kernel
def project(sides: Sides, v: Floats) -> None:
    """Compute a, w, theta, share and unit at v."""
    lower, upper, mu, cone = sides.low, sides.up, sides.mu, sides.cone
    a, multipliers, weights, share = sides.a, sides.w, sides.theta, sides.share
    for i in range(sides.r):
        low, up, here = lower[i], upper[i], v[i]
        if cone[i] >= 0:
            continue
        if low == up:
            a[i], multipliers[i], weights[i], share[i] = up, here - up, math.inf, 0.5
            continue
        if low == -math.inf and up == math.inf:
            a[i], multipliers[i], weights[i], share[i] = here, 0.0, 0.0, 1.0
            continue
        at_upper, far = up < math.inf and (low == -math.inf or here >= 0.5 * (low + up)), 0.0
        side, sign = (up, 1.0) if at_upper else (low, -1.0)
        inside = sign * (side - here)
        s, w, theta = (
            max(inside, 0.0),
            max(-inside, 0.0),
            0.0 if inside >= -REFINED * abs(sides.origin[i]) else math.inf,
        )
        if mu > 0.0:
            s = slack_on_path(inside, up - low, mu)
            rest = up - low - s
            w, far = mu / s - mu / rest, (s / rest) ** 2
            theta = mu / s / s * (1.0 + far)
        near = 1.0 / (1.0 + far)
        a[i], multipliers[i], weights[i] = side - sign * s, sign * w, theta
        share[i] = near if at_upper else far * near
    for k in range(sides.cones):
        project_cone(sides, k, v)


@inner
def project_cone(sides: Sides, k: int, v: Floats) -> None:
    """Compute a, w, theta, share and unit of the rows of cone k at v, by the eigenvalues of -v."""
    first, last, mu, unit = sides.first[k], sides.last[k], sides.mu, sides.unit
    t, r = -v[first], norm_tail(v, first, last)
    low, high = raised(t - r, mu), raised(t + r, mu)
    between = 0.5 * (high - low) / r if r > 0.0 else 0.0
    sides.a[first] = -0.5 * (low + high)
    for i in range(first + 1, last):
        sides.a[i] = between * v[i]
    for i in range(first, last):
        sides.w[i], sides.share[i] = v[i] - sides.a[i], 1.0
    weak, strong = weight(t + r, mu), weight(t - r, mu)
    unit[first], between = 0.0, strong
    if weak != strong and r > 0.0:
        between = mu / (low * high) if mu > 0.0 else (r - t) / (r + t)
        unit[first] = 1.0 if v[first + 1] <= 0.0 else -1.0
        for i in range(first + 1, last):
            unit[i] = -v[i] / r
    sides.theta[first], sides.theta[first + 1] = strong, weak
    for i in range(first + 2, last):
        sides.theta[i] = between


@inner
def reflect(sides: Sides, unit: Floats, X: Floats, columns: int, back: bool) -> None:
    """X := Q X, or Q'X with `back`, for the rows X of all sides; Q turns rows of cones into rows of their frames."""
    half = math.sqrt(0.5)
    for k in range(sides.cones):
        first, last = sides.first[k], sides.last[k]
        sign = unit[first]
        if sign == 0.0:
            continue
        longer = 1.0 + abs(unit[first + 1])
        for j in range(columns):
            head, one = first * columns + j, (first + 1) * columns + j
            if back:
                X[head], X[one] = half * (X[head] + X[one]), half * sign * (X[head] - X[one])
            along = sign * X[one]
            for i in range(first + 1, last):
                along += unit[i] * X[i * columns + j]
            along /= longer
            X[one] -= along * sign
            for i in range(first + 1, last):
                X[i * columns + j] -= along * unit[i]
            if not back:
                X[head], X[one] = half * (X[head] + sign * X[one]), half * (X[head] - sign * X[one])


@leaf
def slack_on_path(inside: float, width: float, mu: float) -> float:
    """Return the s with s - mu / s + mu / (width - s) = inside, at most width / 2.

    The left side is concave there, so Newton's method increases from below to the root; it ends at the last increase.
    """
    s, before = raised(inside - 2.0 * mu / width, mu), 0.0
    while s > before:
        rest, before = width - s, s
        s += (inside - s + mu / s - mu / rest) / (1.0 + mu / s / s + mu / rest / rest)
        s = min(s, 0.5 * width)
    return s


@leaf
def raised(t: float, mu: float) -> float:
    """Return the s > 0 with s - mu / s = t, or max(t, 0) if mu = 0."""
    if mu == 0.0:
        return max(t, 0.0)
    larger = 0.5 * (abs(t) + math.sqrt(t * t + 4.0 * mu))  # computed without cancellation
    return larger if t > 0.0 else mu / larger


@leaf
def weight(t: float, mu: float) -> float:
    """Return mu / raised(t)^2, the weight of an eigenvalue t of -v, which is 0 or infinite if mu = 0."""
    if mu == 0.0:
        return 0.0 if t > 0.0 else math.inf
    return mu / raised(t, mu) ** 2
