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
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Bools, Floats, Ints
from ..linalg.csc import multiply_both, multiply_symmetric
from ..linalg.vectors import norm_tail
from .program import ConeProgram

INACCURATE_TOL = 1e-5  # what "inaccurate" stands for


class Residuals(NamedTuple):
    """Absolute residuals of a point, the scales that the stopping test divides them by, and the objectives.

    The objectives are without the program's offset.
    """

    primal: float
    dual: float
    gap: float
    primal_scale: float
    dual_scale: float
    gap_scale: float
    primal_objective: float = np.nan
    dual_objective: float = np.nan

    @property
    def relative(self) -> tuple[float, float, float]:
        """The primal residual, the dual residual and the gap, each relative to its scale."""
        return self.primal / self.primal_scale, self.dual / self.dual_scale, self.gap / self.gap_scale

    @property
    def worst(self) -> float:
        """The largest relative residual: the smallest tol at which the test holds (inf for NaN)."""
        primal, dual, gap = self.relative
        return max(primal, dual, gap) if primal == primal and dual == dual and gap == gap else np.inf

    def meets(self, tol: float, tol_abs: float | None = None) -> bool:
        """Whether the stopping test holds."""
        primal, dual, gap, primal_scale, dual_scale, gap_scale, _, _ = self
        relative = primal <= tol * primal_scale and dual <= tol * dual_scale and gap <= tol * gap_scale
        return relative and (tol_abs is None or (primal <= tol_abs and dual <= tol_abs and gap <= tol_abs))


RESIDUALS = len(Residuals._fields)


@kernel
def meets(found: Floats, tol: float, tol_abs: float) -> bool:
    """`Residuals.meets` for the fields in an array; NaN fails."""
    absolute = max(found[0], found[1], found[2])
    return (
        found[0] <= tol * found[3] and found[1] <= tol * found[4] and found[2] <= tol * found[5] and absolute <= tol_abs
    )


def cone_violation(program: ConeProgram, v: np.ndarray) -> float:
    """The distance of v from K in the infinity norm."""
    return distance_from_cones(*program.cone_layout, v)


@kernel
def distance_from_cones(start: Ints, second_order: Bools, v: Floats) -> float:
    """The distance of v from the product of the cones in v[start[k]:start[k + 1]], in the infinity norm."""
    worst = 0.0
    for k in range(second_order.size):
        if second_order[k]:
            if start[k + 1] > start[k]:
                worst = max(worst, cone_distance(v, start[k], start[k + 1]))
        else:
            for i in range(start[k], start[k + 1]):
                if -v[i] > worst:
                    worst = -v[i]
    return worst


@inner
def cone_distance(v: Floats, start: int, stop: int) -> float:
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
    A, G = program.A, program.G
    found, work = np.zeros(RESIDUALS), np.empty(measure_size(program))
    measure(
        A.indptr, A.indices, A.data, G.indptr, G.indices, G.data, *program.cone_layout, hessian_product(program, x),
        program.c, program.b, program.h, x, y, z, s, work, found,
    )  # fmt: skip
    return Residuals(*found.tolist())


def measure_size(program: ConeProgram) -> int:
    """The entries that `measure` works in."""
    return 2 * program.n + program.p + 2 * program.m


@kernel
def measure(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, G_indptr: Ints, G_indices: Ints, G_data: Floats,
    start: Ints, second_order: Bools, Px: Floats, c: Floats, b: Floats, h: Floats,
    x: Floats, y: Floats, z: Floats, s: Floats, work: Floats, found: Floats,
) -> None:  # fmt: skip
    """found := the fields of `Residuals`, of which those with an entry that is not finite are NaN or inf.

    `work` has room for Ax, A'y, Gx, G'z and h - Gx.
    """
    n, p, m = c.size, b.size, h.size
    Ax, Aty, Gtz = work[:p], work[p : p + n], work[p + n : p + 2 * n]
    Gx, inside = work[p + 2 * n : p + 2 * n + m], work[p + 2 * n + m : p + 2 * n + 2 * m]
    multiply_both(A_indptr, A_indices, A_data, x, y, Ax, Aty)
    multiply_both(G_indptr, G_indices, G_data, x, z, Gx, Gtz)
    xPx, cx, gv, trap = 0.0, 0.0, 0.0, 0.0  # 0 times a number that is not finite is NaN
    dual, dual_size = distance_from_cones(start, second_order, z), 0.0
    for j in range(n):
        residual = Px[j] + c[j] + Aty[j] + Gtz[j]
        dual, dual_size = max(dual, abs(residual)), max(dual_size, abs(Px[j]), abs(c[j]))
        trap += 0.0 * residual
        xPx += x[j] * Px[j]
        cx += c[j] * x[j]
    primal, primal_size = 0.0, 0.0
    for i in range(p):
        primal, primal_size = max(primal, abs(Ax[i] - b[i])), max(primal_size, abs(Ax[i]), abs(b[i]))
        trap += 0.0 * Ax[i]
        gv += b[i] * y[i]
    for i in range(m):
        if math.isfinite(h[i]):
            residual = Gx[i] + s[i] - h[i]
            primal, primal_size = max(primal, abs(residual)), max(primal_size, abs(Gx[i]), abs(h[i]))
            trap += 0.0 * residual
            gv += h[i] * z[i]
            inside[i] = h[i] - Gx[i]
        else:
            dual = max(dual, abs(z[i]))
            trap += 0.0 * z[i]
            inside[i] = np.inf
    primal = max(primal, distance_from_cones(start, second_order, s), distance_from_cones(start, second_order, inside))
    primal_objective, dual_objective = 0.5 * xPx + cx, -0.5 * xPx - gv
    found[0], found[1], found[2] = primal + trap, dual + trap, abs(primal_objective - dual_objective)
    found[3], found[4] = 1.0 + primal_size, 1.0 + dual_size
    found[5] = 1.0 + max(abs(primal_objective), abs(dual_objective))
    found[6], found[7] = primal_objective, dual_objective


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


class Test(Protocol):
    """What judges points and certificates on the caller's own data."""

    def residuals(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray) -> Residuals:
        """The residuals of a point."""
        ...

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        """The smallest tol at which (y, z) certifies that nothing is feasible."""
        ...

    def dual_infeasibility(self, x: np.ndarray) -> float:
        """The smallest tol at which x certifies that the objective falls for ever."""
        ...


class ProgramTest:
    """The `Test` of a cone program: `residuals`, `primal_infeasibility` and `dual_infeasibility` on its data.

    Parameters
    ----------
    program : ConeProgram
    """

    def __init__(self, program: ConeProgram) -> None:
        self.program = program

    def residuals(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray) -> Residuals:
        return residuals(self.program, x, y, z, s)

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        return primal_infeasibility(self.program, y, z)

    def dual_infeasibility(self, x: np.ndarray) -> float:
        return dual_infeasibility(self.program, x)


def hessian_product(program: ConeProgram, x: np.ndarray) -> np.ndarray:
    """P x, zero when P is absent."""
    return product(program.P, x)


def product(P, x: np.ndarray) -> np.ndarray:
    """P x for P as a program holds it: zero when it is None."""
    if type(P) is np.ndarray:
        return P.dot(x)
    if P is None:
        return np.zeros(x.size)
    if isinstance(P, sp.csc_array):
        out = np.empty(x.size)
        multiply_symmetric(P.indptr, P.indices, P.data, x, out)
        return out
    return P @ x


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
