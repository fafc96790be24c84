r"""Programs with a planted answer: the answer is drawn first, then data for which it is right.

An optimal pair of a cone program is drawn complementary, s'z = 0, and with any P, A and G the rest follows:

    b = A x,   h = G x + s,   c = -(P x + A'y + G'z).

A certificate (y, z) must satisfy A'y + G'z = 0 and b'y + h'z = -1: a row with a multiplier is changed for the
first equation, an entry of b or h for the second.  A ray x must satisfy Px = 0, Ax = 0, -Gx in K, c'x = -1: a
column is changed.  Quadratic programs are treated alike; each row and variable is a value with a lower and an
upper side (`sides`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import qp
import socp

from . import points
from .case import INFEASIBLE, OPTIMAL, UNBOUNDED, Case, Planted
from .points import Cones, Generator, Sides, Style, matrix, positive, times, vector

LOWER, UPPER, EQUAL, BETWEEN, ABOVE, BELOW, FREE = range(7)
"""A value: at its lower, upper or both sides, strictly between, above or below its only side, or without sides."""


def cone_optimal(rng: Generator, P: Any, A: Any, G: Any, cones: Cones, style: Style, x: Any = None) -> Case:
    """Draw a cone program with the given matrices and a planted optimal pair; x is drawn unless it is given."""
    x = vector(rng, A.shape[1], style) if x is None else x
    y = vector(rng, A.shape[0], style)
    s, z = points.pair(rng, cones, style)
    c = -(times(P, x) + A.T @ y + G.T @ z)
    program = socp.ConeProgram(c=c, P=P, A=A, b=A @ x, G=G, h=G @ x + s, cones=cones)
    return Case(program, Planted(OPTIMAL, x, y, z))


def any_cone_optimal(rng: Generator, n: int, p: int, cones: Cones, style: Style) -> Case:
    """Draw a cone program with random matrices, any P, and a planted optimal pair."""
    P = points.any_hessian(rng, n, style)
    A, G = matrix(rng, p, n, style), matrix(rng, sum(c.dim for c in cones), n, style)
    return cone_optimal(rng, P, A, G, cones, style)


def cone_infeasible(rng: Generator, n: int, p: int, cones: Cones, style: Style, margin: float = 1.0) -> Case:
    """Draw a cone program, of at least one row, with a certificate (y, z) of slope -margin and entries near one."""
    P, m = points.any_hessian(rng, n, style), sum(c.dim for c in cones)
    A, G, b, h = matrix(rng, p, n, style), matrix(rng, m, n, style), vector(rng, p, style), vector(rng, m, style)
    y, z = vector(rng, p, style), points.member(rng, cones, style)
    rows, sides, multipliers = np.vstack([A, G]), np.concatenate([b, h]), np.concatenate([y, z])
    usable = np.flatnonzero(np.abs(multipliers) == 1.0 if style.whole else np.abs(multipliers) > 0.1)
    if not usable.size:  # Row 0 is an equality or the first row of a cone: e_0 is a valid multiplier.
        multipliers[:], usable = 0.0, np.zeros(1, dtype=int)
        multipliers[0] = 1.0
    i = rng.choice(usable)
    rows[i], sides[i] = 0.0, 0.0
    rows[i], sides[i] = -(rows.T @ multipliers) / multipliers[i], -(sides @ multipliers + margin) / multipliers[i]
    y, z = multipliers[:p] / margin, multipliers[p:] / margin
    c = vector(rng, n, style)
    program = socp.ConeProgram(c=c, P=P, A=rows[:p], b=sides[:p], G=rows[p:], h=sides[p:], cones=cones)
    return Case(program, Planted(INFEASIBLE, None, y, z))


def cone_unbounded(rng: Generator, n: int, p: int, cones: Cones, style: Style, margin: float = 1.0) -> Case:
    """Draw a feasible cone program with a ray x of slope -margin."""
    m = sum(c.dim for c in cones)
    x, j = _ray(rng, n, style)
    A, G, start = matrix(rng, p, n, style), matrix(rng, m, n, style), vector(rng, n, style)
    c = vector(rng, n, style)
    A[:, j], G[:, j], c[j] = 0.0, 0.0, 0.0
    A[:, j], G[:, j] = -(A @ x) * x[j], -(G @ x + points.member(rng, cones, style)) * x[j]
    c[j] = -(c @ x + margin) * x[j]
    P = _flat_along(rng, x, j, style)
    h = G @ start + points.inside(rng, cones, style)
    program = socp.ConeProgram(c=c, P=P, A=A, b=A @ start, G=G, h=h, cones=cones)
    return Case(program, Planted(UNBOUNDED, x / margin, None, None))


def quadratic_optimal(rng: Generator, P: Any, A: Any, style: Style, x: np.ndarray | None = None) -> Case:
    """Draw a quadratic program with the given matrices and a planted optimal pair; x is drawn unless it is given."""
    x = vector(rng, A.shape[1], style) if x is None else x
    l, u, y = sides(rng, A @ x, style)
    lb, ub, z = sides(rng, x, style)
    q = -(times(P, x) + A.T @ y + z)
    return Case(qp.QuadraticProgram(P, q, A, l, u, lb, ub), Planted(OPTIMAL, x, y, z))


def any_quadratic_optimal(rng: Generator, n: int, m: int, style: Style) -> Case:
    """Draw a quadratic program with random A, any P, and a planted optimal pair."""
    return quadratic_optimal(rng, points.any_hessian(rng, n, style), matrix(rng, m, n, style), style)


def quadratic_infeasible(rng: Generator, n: int, m: int, style: Style, margin: float = 1.0) -> Case:
    """Draw a quadratic program, of at least one row, with a certificate (y, z_bounds) of slope -margin."""
    A, y = matrix(rng, m, n, style), vector(rng, m, style) * (rng.random(m) < 0.7)
    i = int(rng.integers(m))
    y[i] = rng.choice([-1.0, 1.0])
    held = rng.random(n) < 0.5  # variables whose bounds may have multipliers
    A[i, ~held] = 0.0
    A[i, ~held] = -(A.T @ y)[~held] * y[i]
    z = np.where(held, -(A.T @ y), 0.0)
    (l, u), (lb, ub) = _sides_for(rng, y, style), _sides_for(rng, z, style)
    move = _support(y, l, u) + _support(z, lb, ub) + margin
    l[i] = l[i] - abs(move) if y[i] > 0 else l[i] + move
    u[i] = u[i] - move if y[i] > 0 else u[i] + abs(move)
    P, q = points.any_hessian(rng, n, style), vector(rng, n, style)
    return Case(qp.QuadraticProgram(P, q, A, l, u, lb, ub), Planted(INFEASIBLE, None, y / margin, z / margin))


def quadratic_unbounded(rng: Generator, n: int, m: int, style: Style, margin: float = 1.0) -> Case:
    """Draw a feasible quadratic program with a ray x of slope -margin."""
    x, j = _ray(rng, n, style)
    A, start = matrix(rng, m, n, style), vector(rng, n, style)
    below, above = rng.random(m) < 0.5, rng.random(m) < 0.5  # rows with lower sides; with upper sides
    moves = np.abs(vector(rng, m, style)) * np.where(below, 1.0, -1.0) * ~(below & above)
    A[:, j] = 0.0
    A[:, j] = (moves - A @ x) * x[j]
    l, u = _around(rng, A @ start, below, above, style)
    lb, ub = _around(rng, start, (x >= 0) & (rng.random(n) < 0.5), (x <= 0) & (rng.random(n) < 0.5), style)
    q = vector(rng, n, style)
    q[j] = 0.0
    q[j] = -(q @ x + margin) * x[j]
    P = _flat_along(rng, x, j, style)
    return Case(qp.QuadraticProgram(P, q, A, l, u, lb, ub), Planted(UNBOUNDED, x / margin, None, None))


def sides(rng: Generator, v: np.ndarray, style: Style) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw lower and upper sides around the values v, and multipliers for which v is optimal; return (l, u, y)."""
    where = rng.integers(0, 7, v.size)
    below, above = (np.isin(where, (LOWER, UPPER, BETWEEN, one)) for one in (ABOVE, BELOW))
    l, u = _around(rng, v, below, above, style)
    l, u = np.where(np.isin(where, (LOWER, EQUAL)), v, l), np.where(np.isin(where, (UPPER, EQUAL)), v, u)
    l[(where == UPPER) & (rng.random(v.size) < 0.5)] = -np.inf
    u[(where == LOWER) & (rng.random(v.size) < 0.5)] = np.inf
    size = positive(rng, v.size, style) * (rng.random(v.size) >= style.degenerate)
    either = rng.choice([-1.0, 1.0], v.size)
    sign = np.select([where == UPPER, where == LOWER, where == EQUAL], [1.0, -1.0, either], 0.0)
    return l, u, sign * size


def _around(rng: Generator, v: np.ndarray, below: np.ndarray, above: np.ndarray, style: Style) -> Sides:
    """Draw sides away from the values v: lower ones where `below`, upper ones where `above`, otherwise infinite."""
    under, over = positive(rng, v.size, style), positive(rng, v.size, style)
    return np.where(below, v - under, -np.inf), np.where(above, v + over, np.inf)


def _sides_for(rng: Generator, y: np.ndarray, style: Style) -> Sides:
    """Draw sides, finite at least where the multipliers y need them."""
    middle, half = vector(rng, y.size, style), rng.random(y.size) < 0.5
    return _around(rng, middle, (y < 0) | half, (y > 0) | (rng.random(y.size) < 0.5), style)


def _support(y: np.ndarray, l: np.ndarray, u: np.ndarray) -> float:
    """Return u'y+ - l'y-; the sides of nonzero multipliers are finite."""
    return float(u[y > 0] @ y[y > 0] + l[y < 0] @ y[y < 0])


def _ray(rng: Generator, n: int, style: Style) -> tuple[np.ndarray, int]:
    """Draw a direction x, and the index of one of its entries, which is 1 or -1."""
    x, j = vector(rng, n, style), int(rng.integers(n))
    x[j] = rng.choice([-1.0, 1.0])
    return x, j


def _flat_along(rng: Generator, x: np.ndarray, j: int, style: Style) -> Any:
    """Draw a P with P x = 0; x_j is 1 or -1."""
    factor = matrix(rng, x.size, int(rng.integers(0, x.size)), style)
    factor[j] = 0.0
    factor[j] = -(x @ factor) * x[j]
    return points.hessian(rng, factor, positive(rng, x.size, style) * ((x == 0.0) & (rng.random(x.size) < 0.5)))
