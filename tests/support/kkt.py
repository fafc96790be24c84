"""The optimality conditions of a program at a solution, from their definition and without the engine."""

from typing import NamedTuple

import numpy as np

import models
import qp
import socp
from bench.answers.verify import cone_distance


class Kkt(NamedTuple):
    """Residuals of the conditions, each relative to 1 plus the size of its terms."""

    stationarity: float
    feasibility: float
    complementarity: float
    gap: float

    @property
    def worst(self):
        return max(self)


def size(*vectors):
    return 1.0 + max((float(np.abs(v).max(initial=0.0)) for v in vectors), default=0.0)


def times_P(program, x):
    return np.zeros(x.size) if program.P is None else np.asarray(program.P @ x)


def kkt(program, solution):
    """Return the residuals of `program` at `solution`; feasibility is that of x and of the multipliers' signs."""
    return (_of_cones if isinstance(program, socp.ConeProgram) else _of_sides)(program, solution)


def _of_sides(program, solution):
    x, y, z = solution.x, solution.y, solution.z_bounds
    Px, Aty = times_P(program, x), np.asarray(program.A.T @ y)
    rows = np.asarray(program.A @ x)
    values, multipliers = np.concatenate([rows, x]), np.concatenate([y, z])
    low, high = np.concatenate([program.l, program.lb]), np.concatenate([program.u, program.ub])
    outside = np.maximum(np.maximum(low - values, values - high), 0.0)
    forbidden = np.where(multipliers > 0.0, np.isinf(high), np.isinf(low)) * np.abs(multipliers)
    sides = np.where(multipliers > 0.0, high, low)
    finite = np.isfinite(sides)
    products = np.abs(multipliers * np.where(finite, values - np.where(finite, sides, 0.0), 0.0))
    primal = 0.5 * x @ Px + program.q @ x
    dual = -0.5 * x @ Px - multipliers[finite] @ sides[finite]
    return Kkt(
        np.abs(Px + program.q + Aty + z).max(initial=0.0) / size(Px, program.q),
        max(outside.max(initial=0.0) / size(values), forbidden.max(initial=0.0) / size(Px, program.q)),
        products.sum() / (1.0 + abs(primal)),
        abs(primal - dual) / (1.0 + abs(primal)),
    )


def _of_cones(program, solution):
    x, y, z = solution.x, solution.y, solution.z
    Px, s = times_P(program, x), program.h - program.G @ x
    equalities = program.A @ x - program.b
    primal = 0.5 * x @ Px + program.c @ x
    dual = -0.5 * x @ Px - program.b @ y - program.h @ z
    return Kkt(
        np.abs(Px + program.c + program.A.T @ y + program.G.T @ z).max() / size(Px, program.c),
        max(
            np.abs(equalities).max(initial=0.0) / size(x), cone_distance(s, program.cones) / size(program.h, x),
            cone_distance(z, program.cones) / size(z),
        ),
        abs(s @ z) / (1.0 + abs(primal)),
        abs(primal - dual) / (1.0 + abs(primal)),
    )  # fmt: skip


def same(program, other):
    """Return True if two programs have equal data, up to the rounding of P."""
    if isinstance(program, socp.ConeProgram) is not isinstance(other, socp.ConeProgram):
        return False
    names = ("c", "G", "h", "A", "b") if isinstance(program, socp.ConeProgram) else ("q", "A", "l", "u", "lb", "ub")
    return all(_equal(getattr(program, name), getattr(other, name)) for name in (*names, "P"))


def dense(value):
    """Return a matrix or vector of a program as an array."""
    if isinstance(value, qp.LowRank):
        return value.F @ value.F.T + np.diag(np.broadcast_to(value.d, value.F.shape[0]))
    if isinstance(value, models.KernelMatrix):
        return np.array([value @ column for column in np.eye(value.shape[0])])
    return value.toarray() if hasattr(value, "toarray") else np.zeros(()) if value is None else np.asarray(value)


def _equal(one, other):
    one, other = dense(one), dense(other)
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-12)
