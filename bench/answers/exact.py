"""Residuals without rounding: what a solution tells of itself, held against its own x, y, z in exact arithmetic.

Doubles are integers times powers of two, and so are their sums and products: Python's integers hold them on any
processor, where a longer floating-point type is had only on some and would need a bound of its own errors.  Only what
is left at the end, a residual or the value beside it, is rounded to a double.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

import qp
import socp

from .verify import Program, bound_rows, on_infinite_side, outside, second_order

GUARD = 128
"""Bits below the last of a cone's entries to which its distance is found."""


@dataclass(frozen=True)
class Exact:
    """An array of Python's integers `whole`, each times two to the `power`.

    Examples
    --------
    What rounding takes of (2^30 + 1)^2 = 2^60 + 2^31 + 1:

    >>> v = np.array([2.0**30 + 1.0])
    >>> (Exact.of(v) * Exact.of(v) - Exact.of(v * v)).rounded()
    array([1.])
    """

    whole: np.ndarray
    power: int

    @classmethod
    def of(cls, v: np.ndarray) -> Exact:
        """Finite doubles."""
        mantissa, exponent = np.frexp(v)
        lowest = int(exponent[mantissa != 0.0].min(initial=1024))
        shift = np.where(mantissa != 0.0, exponent - lowest, 0)
        return cls((mantissa * 2.0**53).astype(np.int64).astype(object) << shift.astype(object), lowest - 53)

    def __add__(self, other: Exact) -> Exact:
        power = min(self.power, other.power)
        return Exact((self.whole << (self.power - power)) + (other.whole << (other.power - power)), power)

    def __sub__(self, other: Exact) -> Exact:
        return self + Exact(-other.whole, other.power)

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.whole * other.whole, self.power + other.power)

    def dot(self, other: Exact) -> Exact:
        """The inner product of two vectors, as an array of one entry."""
        product = self * other
        return Exact(np.array([product.whole.sum()], dtype=object), product.power)

    def rounded(self) -> np.ndarray:
        """To the nearest doubles, infinite ones beyond the largest."""
        up, down = 1 << max(0, self.power), 1 << max(0, -self.power)
        return np.array([_quotient(int(entry) * up, down) for entry in self.whole], dtype=float)


def times(matrix: Any, x: Exact) -> Exact:
    """M x for a matrix as a program holds it, a `LowRank` P or none among them."""
    if matrix is None:
        return Exact(0 * x.whole, 0)
    if isinstance(matrix, socp.LowRank):
        return times(matrix.F, times(matrix.F.T, x)) + Exact.of(matrix.d) * x
    if isinstance(matrix, np.ndarray):
        factor = Exact.of(matrix)
        return Exact(factor.whole @ x.whole, factor.power + x.power)
    entries = matrix.tocoo()
    rows, columns = entries.row, entries.col
    product = Exact.of(entries.data) * Exact(x.whole[columns], x.power)
    total = np.zeros(matrix.shape[0], dtype=object)
    np.add.at(total, rows, product.whole)
    return Exact(total, product.power)


def residuals(program: Program, x: Any, y: Any, z: Any, s: Any = None) -> tuple[float, float, float]:
    """The primal residual, the dual residual and the gap of an answer, relative as in `verify`, none taken off.

    Parameters
    ----------
    program : `socp.ConeProgram` or `qp.QuadraticProgram`
    x, y, z : array_like
        The answer; for a quadratic program z is ``z_bounds``.
    s : array_like, optional
        The slacks that a solver of cone programs gives beside; Gx + s = h and s in K are then held to, too.

    Returns
    -------
    tuple of float
        All infinite where an entry is not finite.

    Examples
    --------
    Three times the double 1/3 is one in doubles, but 2^-54 less in truth:

    >>> program = qp.QuadraticProgram(None, [0.0], [[3.0]], 1.0, 1.0)
    >>> 3 * (1 / 3) - 1, residuals(program, [1 / 3], [0.0], [0.0])[0] == 2.0**-54 / 2
    (0.0, True)
    """
    parts = [np.zeros(0) if part is None else np.asarray(part, dtype=float) for part in (x, y, z)]
    if not all(np.isfinite(part).all() for part in parts):
        return np.inf, np.inf, np.inf
    x, y, z = map(Exact.of, parts)
    if isinstance(program, socp.ConeProgram):
        return _of_cone_program(program, x, y, z, s)
    return _of_quadratic_program(program, x, y, z)


def _of_cone_program(program: socp.ConeProgram, x: Exact, y: Exact, z: Exact, s: Any) -> tuple[float, float, float]:
    holds = np.isposinf(program.h)
    sides = np.where(holds, 0.0, program.h)
    b, c, h, G = Exact.of(program.b), Exact.of(program.c), Exact.of(sides), program.G
    Px, Ax, Gx = times(program.P, x), times(program.A, x), times(G, x)
    beside = np.where(holds, 0.0, Gx.rounded())
    size = 1.0 + max(_norm(sides), _norm(beside))
    scale = np.where(bound_rows(G) & ~second_order(program.cones), 1.0 + np.abs(sides), size)
    cone = _norm(np.where(holds, 0.0, distances(h - Gx, program.cones)) / scale)
    if s is not None:
        slack = np.where(holds, 0.0, s)
        if not np.isfinite(slack).all():
            return np.inf, np.inf, np.inf
        left = np.where(holds, 0.0, (Gx + Exact.of(slack) - h).rounded())
        cone = max(cone, max(_norm(left), _norm(distances(Exact.of(slack), program.cones))) / size)
    rows = _norm((Ax - b).rounded()) / (1.0 + max(_norm(program.b), _norm(Ax.rounded())))
    dual = _norm((Px + c + times(program.A.T, y) + times(G.T, z)).rounded())
    stray = max(_norm(distances(z, program.cones)), _norm(z.rounded()[holds]))
    dual_scale = 1.0 + max(_norm(Px.rounded()), _norm(program.c))
    return max(rows, cone), max(dual, stray) / dual_scale, _gap(x.dot(Px), c.dot(x), b.dot(y) + h.dot(z))


def _of_quadratic_program(program: qp.QuadraticProgram, x: Exact, y: Exact, z: Exact) -> tuple[float, float, float]:
    A, l, u, lb, ub = program.A, program.l, program.u, program.lb, program.ub
    Px, Ax, q = times(program.P, x), times(A, x), Exact.of(program.q)
    rows = outside(Ax.rounded(), l, u, _excess(Ax, l, u), bound_rows(A))
    bounds = outside(x.rounded(), lb, ub, _excess(x, lb, ub), np.ones(program.n, dtype=bool))
    dual = _norm((Px + q + times(A.T, y) + z).rounded())
    stray = max(on_infinite_side(y.rounded(), l, u), on_infinite_side(z.rounded(), lb, ub))
    dual_scale = 1.0 + max(_norm(Px.rounded()), _norm(program.q))
    gap = _gap(x.dot(Px), q.dot(x), _support(y, l, u) + _support(z, lb, ub))
    return max(rows, bounds), max(dual, stray) / dual_scale, gap


def distances(v: Exact, cones: Any) -> np.ndarray:
    """How far each entry of an orthant is below zero, and each cone, at its first entry, from its point; else zero."""
    found, start = np.zeros(v.whole.size), 0
    for cone in cones:
        part = Exact(v.whole[start : start + cone.dim], v.power)
        if isinstance(cone, socp.NonNeg):
            found[start : start + cone.dim] = np.maximum(0.0, -part.rounded())
        elif cone.dim:
            found[start] = _from_second_order(part)
        start += cone.dim
    return found


def _from_second_order(v: Exact) -> float:
    """The distance as in `verify`, by the same Newton's method in integers `GUARD` bits finer than the entries."""
    t, *u = (int(entry) << GUARD for entry in v.whole)
    u, distance = [abs(entry) for entry in u], 0
    while True:
        shrunk = [max(entry - distance, 0) for entry in u]
        norm = isqrt(sum(entry * entry for entry in shrunk))
        excess = norm - t - distance
        step = excess * norm // (norm + sum(shrunk)) if norm else excess
        if step <= 0:
            return float(Exact(np.array([distance], dtype=object), v.power - GUARD).rounded()[0])
        distance += step


def _excess(v: Exact, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """How far each entry is beyond its side."""
    below, above = np.isfinite(lower), np.isfinite(upper)
    under = (Exact.of(np.where(below, lower, 0.0)) - v).rounded()
    over = (v - Exact.of(np.where(above, upper, 0.0))).rounded()
    return np.maximum(0.0, np.maximum(np.where(below, under, 0.0), np.where(above, over, 0.0)))


def _support(y: Exact, lower: np.ndarray, upper: np.ndarray) -> Exact:
    """u'y+ - l'y-, nothing on infinite sides."""
    side = np.where(y.whole > 0, upper, lower)
    return Exact.of(np.where(np.isfinite(side), side, 0.0)).dot(y)


def _gap(curvature: Exact, linear: Exact, support: Exact) -> float:
    """The relative gap between curvature / 2 + linear and -curvature / 2 - support."""
    half = Exact(curvature.whole, curvature.power - 1)
    primal, dual = float((half + linear).rounded()[0]), float((half + support).rounded()[0])
    return abs(float((curvature + linear + support).rounded()[0])) / (1.0 + max(abs(primal), abs(dual)))


def _quotient(a: int, b: int) -> float:
    try:
        return a / b
    except OverflowError:
        return np.inf if a > 0 else -np.inf


def _norm(v: np.ndarray) -> float:
    return float(np.abs(v).max(initial=0.0))
