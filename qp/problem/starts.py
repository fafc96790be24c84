"""Points at which a solve of a quadratic program begins: checked, completed, and judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.compiled.kernels import inner
from socp.compiled.signatures import Floats
from socp.method.start import WARM_LIMIT, WARM_MARGIN
from socp.problem.starts import Start, checked_start

from .program import QuadraticProgram
from .solution import Point, Solution


def start_of(value: Any, program: QuadraticProgram, name: str = "warm_start") -> bool | Start:
    """Return `value` as a bool or a point; raise ProgramError, which calls it `name`, if it is neither."""
    return checked_start(value, Solution, {"x": program.n, "y": program.m, "z_bounds": program.n}, name)


def completed(program: QuadraticProgram, start: Start) -> Start:
    """Return a point with all multipliers, or with none if x alone is known and rows are active there.

    Unknown y of rows that are not active are zero; unknown z_bounds solve Px + q + A'y + z_bounds = 0.
    """
    x, y, z = start
    if y is None and z is None:
        Ax = program.A @ x
        if (np.minimum(Ax - program.l, program.u - Ax) < WARM_MARGIN * (1.0 + np.abs(Ax))).any():
            return x, None, None
    y = np.zeros(program.m) if y is None else y
    if z is None:
        gradient = program.hessian.product(x) + program.q + program.A.T @ y
        z = bound_multipliers(gradient, x, program.lb, program.ub)
    return x, y, z


def bound_multipliers(gradient: np.ndarray, x: np.ndarray, lb: np.ndarray, ub: np.ndarray) -> np.ndarray:
    """Return -gradient where x is nearer to the bound on whose side that is than its size, else zero."""
    return np.where(np.where(gradient < 0.0, ub - x, x - lb) <= np.abs(gradient), -gradient, 0.0)


def active_sides(program: QuadraticProgram, point: Point) -> int:
    """Return how many sides that are not equalities have multipliers that exceed their slacks."""
    x, y, z = point
    found = 0
    for values, v, lower, upper in ((program.A @ x, y, program.l, program.u), (x, z, program.lb, program.ub)):
        slack = np.where(v > 0.0, upper - values, values - lower)
        found += int(np.count_nonzero((lower < upper) & (np.abs(v) > slack)))
    return found


@inner
def is_near(
    at: Floats, lower: Floats, upper: Floats, q: Floats, Px: Floats, gradient: Floats, v: Floats, known: int
) -> bool:  # fmt: skip
    """Complete the multipliers `v`; return True if residuals are well below the size of the data, as in `start_warm`.

    `at` has the values of the rows and variables, `v` (y, z_bounds), and `gradient` q + A'y.  What is not `known` is
    computed as in `completed`: it is 1 if y is known, 2 if z_bounds is, 3 if both are.
    """
    n, missed, size = q.size, 0.0, 0.0
    m = at.size - n
    for i in range(m):
        slack = min(at[i] - lower[i], upper[i] - at[i])
        if known == 0 and slack < WARM_MARGIN * (1.0 + abs(at[i])):
            return False
        missed, size = max(missed, -slack), max(size, abs(at[i]))
    worst = missed / (1.0 + size)
    missed, size, scale, left = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        i, g = m + j, Px[j] + gradient[j]
        if known < 2:
            v[i] = -g if (upper[i] - at[i] if g < 0.0 else at[i] - lower[i]) <= abs(g) else 0.0
        missed = max(missed, lower[i] - at[i], at[i] - upper[i])
        size, scale, left = max(size, abs(at[i])), max(scale, abs(Px[j]), abs(q[j])), max(left, abs(g + v[i]))
    return max(worst, missed / (1.0 + size), left / (1.0 + scale)) < WARM_LIMIT


def residual(Px: np.ndarray, q: np.ndarray, v: np.ndarray, *sides: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Any:
    """Return the largest residual relative to its block, of each point of a batch.

    `v` is A'y + z_bounds; `sides` has (values, lower sides, upper sides) of each block.
    """
    found = largest(Px + q + v) / (1.0 + np.maximum(largest(Px), largest(q)))
    for value, lower, upper in sides:
        violation = largest(np.maximum(np.maximum(lower - value, value - upper), 0.0))
        found = np.maximum(found, violation / (1.0 + largest(value)))
    return found


def largest(v: np.ndarray) -> Any:
    """Return norm(v, inf) along the last axis."""
    return np.abs(v).max(axis=-1, initial=0.0)
