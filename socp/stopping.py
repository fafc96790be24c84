"""When a point is a solution, and when it is a certificate: tests on the caller's own data.

Everything is relative, in infinity norms and the caller's units:

    primal   |Ax - b|, |Gx + s - h|, distance of s from K      <= tol (1 + max(|b|, |h|, |Ax|, |Gx|))
    dual     |Px + c + A'y + G'z|, distance of z from K        <= tol (1 + max(|Px|, |c|))
    gap      |primal objective - dual objective|               <= tol (1 + max(|primal|, |dual|))

A certificate is judged twice.  Scaled to b'y + h'z = -1, the ray (y, z) has the slope r = A'y + G'z: any
feasible x has r'x <= -1, hence ||x||_1 >= 1 / |r|; |r| <= tol says that no x of reasonable size is
feasible.  And |r| <= tol |A|'|y| + |G|'|z| says that it is a zero of the data's own size: the ray is exact
for a program within a relative tol of the given one.  Likewise for x, scaled to c'x = -1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .cones import norm_tail
from .jit import kernel
from .program import ConeProgram, NonNeg

INACCURATE_TOL = 1e-5  # what "inaccurate" stands for


@dataclass(frozen=True)
class Residuals:
    """Absolute residuals of a point, and the scales that the stopping test divides them by."""

    primal: float
    dual: float
    gap: float
    primal_scale: float
    dual_scale: float
    gap_scale: float

    @property
    def worst(self) -> float:
        """The largest relative residual: the smallest tol at which the test holds (inf for NaN)."""
        ratios = (self.primal / self.primal_scale, self.dual / self.dual_scale, self.gap / self.gap_scale)
        return max(ratios) if all(ratio == ratio for ratio in ratios) else np.inf

    def meets(self, tol: float, tol_abs: float | None = None) -> bool:
        """Whether the stopping test holds."""
        return self.worst <= tol and (tol_abs is None or max(self.primal, self.dual, self.gap) <= tol_abs)


def cone_violation(program: ConeProgram, v: np.ndarray) -> float:
    """The distance of v from K in the infinity norm."""
    worst, start = 0.0, 0
    for cone in program.cones:
        stop = start + cone.dim
        if isinstance(cone, NonNeg):
            worst = max(worst, -float(v[start:stop].min(initial=0.0)))
        elif cone.dim:
            worst = max(worst, cone_distance(v, start, stop))
        start = stop
    return worst


@kernel
def cone_distance(v, start, stop):
    """The smallest d >= 0 for which (v_0 + d, max(|v_1| - d, 0)) is in the cone, by bisection; 0 inside."""
    if not norm_tail(v, start, stop) > v[start]:
        return 0.0 if v[start] == v[start] else np.inf
    low, high = 0.0, norm_tail(v, start, stop) - v[start]
    for _ in range(60):
        d = 0.5 * (low + high)
        total = 0.0
        for i in range(start + 1, stop):
            total += max(abs(v[i]) - d, 0.0) ** 2
        if math.sqrt(total) <= v[start] + d:
            high = d
        else:
            low = d
    return high


def residuals(program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray) -> Residuals:
    """The residuals of a point on the program's own data."""
    finite = np.isfinite(program.h)
    h, zf = np.where(finite, program.h, 0.0), np.where(finite, z, 0.0)
    Ax, Gx, Px = program.A @ x, program.G @ x, hessian_product(program, x)
    distance = max(cone_violation(program, s), cone_violation(program, np.where(finite, h - Gx, np.inf)))
    # the norm of the three: Python's max would lose a NaN
    primal = norm(np.array([norm(Ax - program.b), norm((Gx + s - h)[finite]), distance]))
    dual_vector = Px + program.c + program.A.T @ y + program.G.T @ z
    dual = norm(np.array([norm(dual_vector), cone_violation(program, z), norm(z[~finite])]))
    xPx, cx, gv = x @ Px, program.c @ x, program.b @ y + h @ zf
    p_objective, d_objective = 0.5 * xPx + cx, -0.5 * xPx - gv
    return Residuals(
        primal,
        dual,
        abs(p_objective - d_objective),
        1.0 + max(norm(program.b), norm(h), norm(Ax), norm(Gx[finite])),
        1.0 + max(norm(Px), norm(program.c)),
        1.0 + max(abs(p_objective), abs(d_objective)),
    )


def primal_infeasibility(program: ConeProgram, y: np.ndarray, z: np.ndarray) -> float:
    """The smallest tol at which (y, z), scaled to b'y + h'z = -1, certifies that nothing is feasible."""
    finite = np.isfinite(program.h)
    slope = program.b @ y + program.h[finite] @ z[finite]
    if not slope < 0.0 or norm(z[~finite]) > 0.0:
        return np.inf
    y, z = y / -slope, z / -slope
    r = norm(program.A.T @ y + program.G.T @ z)
    size = norm(abs(program.A).T @ abs(y) + abs(program.G).T @ abs(z))
    outside = cone_violation(program, z)
    return max(r, relative(r, size), outside, relative(outside, norm(z)))


def dual_infeasibility(program: ConeProgram, x: np.ndarray) -> float:
    """The smallest tol at which x, scaled to c'x = -1, certifies that the objective falls for ever."""
    slope = program.c @ x
    if not slope < 0.0:
        return np.inf
    x = x / -slope
    finite = np.isfinite(program.h)
    Gx = program.G @ x
    r = max(norm(hessian_product(program, x)), norm(program.A @ x))
    outside = cone_violation(program, np.where(finite, -Gx, np.inf))
    size_x = norm(x)
    data = max(largest(program.P), largest(program.A), largest(program.G))
    return max(r, outside, relative(max(r, outside), data * size_x))


def hessian_product(program: ConeProgram, x: np.ndarray) -> np.ndarray:
    """P x, zero when P is absent."""
    return np.zeros(program.n) if program.P is None else program.P @ x


def largest(matrix) -> float:
    """The largest absolute entry of a matrix in any of its forms."""
    if matrix is None:
        return 0.0
    if hasattr(matrix, "data") and not isinstance(matrix, np.ndarray):
        return norm(matrix.data)
    if isinstance(matrix, np.ndarray):
        return norm(matrix)
    return norm(matrix.diagonal())


def relative(value: float, size: float) -> float:
    """value / size, 0 for 0 / 0."""
    return value / size if value > 0.0 else 0.0


def norm(v: np.ndarray) -> float:
    """The infinity norm (0 for an empty vector, NaN when there is one)."""
    return float(np.abs(v).max(initial=0.0))
