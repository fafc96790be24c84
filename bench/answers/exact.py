"""Residuals in exact arithmetic, computed from x, y, z to check the numbers that a solution reports.

Doubles are integers times powers of two, and so are their sums and products: Python's integers hold them on any
processor, while longer floating-point types exist only on some and would need a bound on their own errors.  Only the
final numbers, residuals and the values that they are compared with, are rounded to doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

import qp
import socp

from .verify import (
    HIDDEN,
    Program,
    bound_rows,
    certificate_error,
    largest_entry,
    leaving,
    objective_unit,
    on_infinite_side,
    outside,
    second_order,
)

GUARD = 128
"""Additional binary digits with which the distance from a second-order cone is computed."""


@dataclass(frozen=True)
class Exact:
    """Array of exact numbers whole * 2**power, where `whole` contains Python integers.

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
        """Convert a vector or matrix of finite doubles."""
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
        """Return the inner product of two vectors, as an array of one entry."""
        product = self * other
        return Exact(np.array([product.whole.sum()], dtype=object), product.power)

    def rounded(self) -> np.ndarray:
        """Return the nearest doubles, infinite beyond the largest."""
        up, down = 1 << max(0, self.power), 1 << max(0, -self.power)
        return np.array([_quotient(int(entry) * up, down) for entry in self.whole], dtype=float)


def times(matrix: Any, x: Exact) -> Exact:
    """Return M x for a matrix in any form of a program, such as a `LowRank` P or None."""
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


@dataclass(frozen=True)
class Measured:
    """Residuals and objectives of an answer in exact arithmetic."""

    # primal, dual, gap: relative residuals as in `verify`, without an allowance for rounding
    primal: float = np.inf
    dual: float = np.inf
    gap: float = np.inf
    bounds: float = np.inf  # part of `primal` from bounds of variables and rows with one entry
    absolute: float = np.inf  # largest absolute residual
    # objective, dual_objective: including the program's offset
    objective: float = np.nan
    dual_objective: float = np.nan

    @property
    def residuals(self) -> tuple[float, float, float]:
        """Primal residual, dual residual and gap."""
        return self.primal, self.dual, self.gap


def measure(program: Program, x: Any, y: Any, z: Any, s: Any = None) -> Measured:
    """Return the residuals and the objectives of an answer; the residuals are infinite where a number is missing.

    For a quadratic program z is ``z_bounds``.  If a solver of cone programs gives slacks s, Gx + s = h and s in K are
    tested, too; s is infinite where h is.

    Examples
    --------
    Three times the double 1/3 is one in doubles, but 2^-54 less in truth:

    >>> program = qp.QuadraticProgram(None, [0.0], [[3.0]], 1.0, 1.0)
    >>> 3 * (1 / 3) - 1, measure(program, [1 / 3], [0.0], [0.0]).primal == 2.0**-54 / 2
    (0.0, True)
    """
    parts = _finite(program, x, y, z)
    if parts is None:
        return Measured()
    if isinstance(program, socp.ConeProgram):
        return _of_cone_program(program, *parts, s)
    return _of_quadratic_program(program, *parts)


def _finite(program: Program, x: Any, y: Any, z: Any) -> tuple[Exact, Exact, Exact] | None:
    """Return the parts of an answer as `Exact` vectors, or None if an entry is missing or not finite."""
    is_cone = isinstance(program, socp.ConeProgram)
    sizes = program.n, program.A.shape[0], program.m if is_cone else program.n
    parts = [np.zeros(0) if part is None else np.asarray(part, dtype=float).ravel() for part in (x, y, z)]
    if any(part.size != size or not np.isfinite(part).all() for part, size in zip(parts, sizes)):
        return None
    x, y, z = map(Exact.of, parts)
    return x, y, z


def _of_cone_program(program: socp.ConeProgram, x: Exact, y: Exact, z: Exact, s: Any) -> Measured:
    holds = np.isposinf(program.h)
    sides = np.where(holds, 0.0, program.h)
    b, c, h = Exact.of(program.b), Exact.of(program.c), Exact.of(sides)
    Px, Ax, Gx = times(program.P, x), times(program.A, x), times(program.G, x)
    along = np.where(holds, 0.0, np.abs(Gx.rounded()))
    size, alone = 1.0 + max(_norm(sides), _norm(along)), bound_rows(program.G) & ~second_order(program.cones)
    own = np.where(alone, 1.0 + np.maximum(np.abs(sides), along), size)
    misses = [(np.where(holds, 0.0, distances(h - Gx, program.cones)), own)]
    if s is not None:
        slack = np.where(holds, 0.0, np.asarray(s, dtype=float))
        if not np.isfinite(slack).all() or not np.isposinf(np.asarray(s)[holds]).all():
            return Measured()
        left = np.where(holds, 0.0, np.abs((Gx + Exact.of(slack) - h).rounded()))
        misses += [(left, own), (distances(Exact.of(slack), program.cones), own)]
    cone, bounds = (max(_norm(of * miss / scale) for miss, scale in misses) for of in (1.0, 1.0 * alone))
    rows = _norm((Ax - b).rounded())
    gradient = (Px + c + times(program.A.T, y) + times(program.G.T, z)).rounded()
    dual = max(_norm(gradient), _norm(distances(z, program.cones)), _norm(z.rounded()[holds]))
    primal = max(rows / (1.0 + max(_norm(program.b), _norm(Ax.rounded()))), cone)
    absolute = max(rows, dual, *(_norm(miss) for miss, _ in misses))
    sums = x.dot(Px), c.dot(x), b.dot(y) + h.dot(z)
    relative = dual / (objective_unit(program) + max(_norm(Px.rounded()), _norm(program.c)))
    hidden = HIDDEN * _norm(x.rounded() * gradient)
    return _with_gap(program, primal, relative, bounds, max(absolute, hidden), sums, hidden)


def _of_quadratic_program(program: qp.QuadraticProgram, x: Exact, y: Exact, z: Exact) -> Measured:
    A, l, u, lb, ub = program.A, program.l, program.u, program.lb, program.ub
    Px, Ax, q = times(program.P, x), times(A, x), Exact.of(program.q)
    missed, variables = _excess(Ax, l, u), _excess(x, lb, ub)
    alone, every = bound_rows(A), np.ones(program.n, dtype=bool)
    rows = outside(Ax.rounded(), l, u, missed, alone)
    bounds = outside(x.rounded(), lb, ub, variables, every)
    alone_rows = outside(Ax.rounded(), l, u, np.where(alone, missed, 0.0), alone)
    gradient = (Px + q + times(A.T, y) + z).rounded()
    dual = max(
        _norm(gradient),
        on_infinite_side(y.rounded(), l, u), on_infinite_side(z.rounded(), lb, ub),
    )  # fmt: skip
    absolute = max(_norm(missed), _norm(variables), dual)
    relative = dual / (objective_unit(program) + max(_norm(Px.rounded()), _norm(program.q)))
    hidden = HIDDEN * _norm(x.rounded() * gradient)
    sums = x.dot(Px), q.dot(x), _support(y, l, u) + _support(z, lb, ub)
    return _with_gap(program, max(rows, bounds), relative, max(alone_rows, bounds), max(absolute, hidden), sums, hidden)


def _with_gap(
    program: Program,
    primal: float,
    dual: float,
    bounds: float,
    absolute: float,
    sums: tuple[Exact, Exact, Exact],
    hidden: float,
) -> Measured:
    """Return the residuals with the gap between x'Px / 2 + c'x and -x'Px / 2 - support: the `sums` are its parts.

    The gap is at least `hidden`, `HIDDEN` times the largest |x_j| times the dual residual of column j.
    """
    (curvature, linear, support), offset = sums, Exact.of(np.array([program.offset]))
    half = Exact(curvature.whole, curvature.power - 1)
    up, down = half + linear, half + support
    primal_value, dual_value, gap, objective, below = (
        float(value.rounded()[0]) for value in (up, down, curvature + linear + support, up + offset, down - offset)
    )
    relative = max(abs(gap), hidden) / (objective_unit(program) + max(abs(primal_value), abs(dual_value)))
    return Measured(primal, dual, relative, bounds, max(absolute, abs(gap)), objective, -below)


def infeasibility(program: Program, y: Any, z: Any) -> tuple[float, float]:
    """Return the slope b'y + h'z (for sides u'y+ - l'y-) and the error of a certificate that no point is feasible.

    The error is defined as in `verify`; rounding excuses none of it.

    Examples
    --------
    >>> program = qp.QuadraticProgram(None, [0.0], [[1.0]], 2.0, None, None, 1.0)  # x >= 2 and x <= 1
    >>> infeasibility(program, [-1.0], [1.0]), infeasibility(program, [-2.0], [2.5])
    ((-1.0, 0.0), (-1.5, 0.1111111111111111))
    """
    parts = _finite(program, np.zeros(program.n), y, z)
    if parts is None:
        return np.nan, np.inf
    _, y, z = parts
    data, sizes = largest_entry(program.A) * _norm(y.rounded()), (_norm(y.rounded()), _norm(z.rounded()))
    if isinstance(program, socp.ConeProgram):
        holds = np.isposinf(program.h)
        slope = Exact.of(program.b).dot(y) + Exact.of(np.where(holds, 0.0, program.h)).dot(z)
        left, data = times(program.A.T, y) + times(program.G.T, z), data + largest_entry(program.G) * sizes[1]
        stray = max(_norm(distances(z, program.cones)), _norm(z.rounded()[holds]))
    else:
        slope = _support(y, program.l, program.u) + _support(z, program.lb, program.ub)
        left, data = times(program.A.T, y) + z, data + sizes[1]
        l, u, lb, ub = program.l, program.u, program.lb, program.ub
        stray = max(on_infinite_side(y.rounded(), l, u), on_infinite_side(z.rounded(), lb, ub))
    return _certified(slope, [(_norm(left.rounded()), data), (stray, max(sizes))])


def unboundedness(program: Program, x: Any) -> tuple[float, float]:
    """Return the slope c'x and the error of a certificate of an unbounded objective; see `infeasibility`.

    Examples
    --------
    >>> unboundedness(qp.QuadraticProgram(None, [-1.0], lb=0.0), [1.0])
    (-1.0, 0.0)
    """
    is_cone = isinstance(program, socp.ConeProgram)
    zeros = np.zeros(program.A.shape[0]), np.zeros(program.m if is_cone else program.n)
    parts = _finite(program, x, *zeros)
    if parts is None:
        return np.nan, np.inf
    x, size = parts[0], _norm(parts[0].rounded())
    Px, Ax = times(program.P, x).rounded(), times(program.A, x)
    left = [(_norm(Px), largest_entry(program.P) * size)]
    if isinstance(program, socp.ConeProgram):
        Gx = times(program.G, x)
        out = np.where(np.isposinf(program.h), 0.0, distances(Exact(-Gx.whole, Gx.power), program.cones))
        left += [(_norm(Ax.rounded()), largest_entry(program.A) * size), (_norm(out), largest_entry(program.G) * size)]
        return _certified(Exact.of(program.c).dot(x), left)
    rows, bounds = leaving(Ax.rounded(), program.l, program.u), leaving(x.rounded(), program.lb, program.ub)
    left += [(_norm(rows), largest_entry(program.A) * size), (_norm(bounds), size)]
    return _certified(Exact.of(program.q).dot(x), left)


def _certified(slope: Exact, left: list[tuple[float, float]]) -> tuple[float, float]:
    value = float(slope.rounded()[0])
    return value, certificate_error(value, 0.0, left)


def distances(v: Exact, cones: Any) -> np.ndarray:
    """Return max(0, -v) in orthants and, at the first entry of each second-order cone, the distance to it; else 0."""
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
    """Return the distance of `verify` by its Newton's method in integers `GUARD` bits finer than the entries."""
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
    """Return by how much each entry violates its sides."""
    below, above = np.isfinite(lower), np.isfinite(upper)
    under = (Exact.of(np.where(below, lower, 0.0)) - v).rounded()
    over = (v - Exact.of(np.where(above, upper, 0.0))).rounded()
    return np.maximum(0.0, np.maximum(np.where(below, under, 0.0), np.where(above, over, 0.0)))


def _support(y: Exact, lower: np.ndarray, upper: np.ndarray) -> Exact:
    """Return u'y+ - l'y- over finite sides."""
    side = np.where(y.whole > 0, upper, lower)
    return Exact.of(np.where(np.isfinite(side), side, 0.0)).dot(y)


def _quotient(a: int, b: int) -> float:
    try:
        return a / b
    except OverflowError:
        return np.inf if a > 0 else -np.inf


def _norm(v: np.ndarray) -> float:
    return float(np.abs(v).max(initial=0.0))
