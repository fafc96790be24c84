"""When a point is a solution, and when it is a certificate: tests on the caller's own data.

Everything is relative, in infinity norms and the caller's units, each block by its own size:

    rows     |Ax - b|                                          <= tol (1 + max(|b|, |Ax|))
    cone     |Gx + s - h|, distance of s and of h - Gx from K  <= tol (1 + max(|h|, |Gx|))
    bounds   the same of a row of the orthant with one entry   <= tol (1 + max(|h_i|, |(Gx)_i|))
    dual     |Px + c + A'y + G'z|, distance of z from K        <= tol (1 + max(|Px|, |c|))
    gap      |primal objective - dual objective|               <= tol (1 + max(|primal|, |dual|))

All is measured in twice the working precision and told as it was measured.  A point in working precision may leave
residuals that no other point near it is without: where the test holds at `INACCURATE_TOL`, entries may be excused that
are no larger than `LOST` times the sum of the sizes of their terms (see `method.run`, which then says so).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import kernel, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..linalg.accurate import add_both, product_error, rounded, sum_error
from .certificates import dual_infeasibility, primal_infeasibility
from .distances import NOTHING, beyond, distance_from_cones, find_bounds, raise_to
from .program import ConeProgram

INACCURATE_TOL = 1e-5  # what "inaccurate" stands for
LOST = 64.0 * np.finfo(np.float64).eps  # of a sum of products, relative to the sum of their sizes


class Residuals(NamedTuple):
    """Absolute residuals of a point, the scales that the stopping test divides them by, and the objectives.

    `rows` are those of A, `cone` those of G; of a quadratic program its bounds.  The objectives are without the
    program's offset.
    """

    rows: float
    cone: float
    dual: float
    gap: float
    rows_scale: float
    cone_scale: float
    dual_scale: float
    gap_scale: float
    primal_objective: float = np.nan
    dual_objective: float = np.nan

    @property
    def relative(self) -> tuple[float, float, float]:
        """The primal residual, the dual residual and the gap, each relative to its scale."""
        rows, cone = self.rows / self.rows_scale, self.cone / self.cone_scale
        primal = max(rows, cone) if rows == rows and cone == cone else math.nan
        return primal, self.dual / self.dual_scale, self.gap / self.gap_scale

    @property
    def worst(self) -> float:
        """The largest relative residual: the smallest tol at which the test holds (inf for NaN)."""
        primal, dual, gap = self.relative
        return max(primal, dual, gap) if primal == primal and dual == dual and gap == gap else np.inf

    def meets(self, tol: float, tol_abs: float | None = None) -> bool:
        """Whether the stopping test holds."""
        rows, cone, dual, gap, rows_scale, cone_scale, dual_scale, gap_scale, _, _ = self
        if not (rows <= tol * rows_scale and cone <= tol * cone_scale):
            return False
        if not (dual <= tol * dual_scale and gap <= tol * gap_scale):
            return False
        return tol_abs is None or (rows <= tol_abs and cone <= tol_abs and dual <= tol_abs and gap <= tol_abs)


RESIDUALS = len(Residuals._fields)
ROWS, CONE, DUAL, GAP, SCALES, OBJECTIVES = 0, 1, 2, 3, 4, 8  # places among these
SUPPORT, SUPPORT_LOW = GAP, SCALES + GAP  # what stands there at first: g'v, or u'y+ - l'y-, and its error


def residuals(
    program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool = False
) -> Residuals:
    """The residuals of a point on the program's own data; with `rounding` without what rounding excuses."""
    return measure(program, x, y, z, s, rounding)[0]


def evaluate(
    program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray
) -> tuple[Residuals, np.ndarray]:
    """`residuals`, and the vector (Px + c + A'y + G'z, Ax - b, Gx + s - h); rows with infinite h are 0."""
    found, dual, Ax, inside = measure(program, x, y, z, s)
    p, m, finite = y.size, z.size, np.isfinite(program.h)
    slack = np.where(finite, s, 0.0) - np.where(finite, inside[:m], 0.0) - inside[m:]
    return found, np.concatenate([dual[: x.size], (Ax[:p] - program.b) + Ax[p:], slack])


def measure(
    program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool = False
) -> tuple[Residuals, np.ndarray, np.ndarray, np.ndarray]:
    """(the residuals of a point, Px + c + A'y + G'z, Ax, h - Gx), vectors in twice the precision: errors stand behind.

    The parts of the test are measured one after another, each raises what was `found`.
    """
    A, G, b, h, n, p, m = program.A, program.G, program.b, program.h, x.size, y.size, z.size
    lost, lost_gap = _lost(program, x, y, z, s) if rounding else (NOTHING, 0.0)
    found, scale = np.zeros(RESIDUALS), np.zeros(m)
    dual, Ax, inside = np.zeros(2 * n), np.zeros(2 * p), np.zeros(2 * m)
    add_both(A.indptr, A.indices, A.data, x, y, Ax[:p], Ax[p:], dual[:n], dual[n:])
    add_both(G.indptr, G.indices, G.data, x, z, inside[:m], inside[m:], dual[:n], dual[n:])
    find_bounds(G.indices, G.data, *program.cone_layout, scale)
    measure_sides(b, b, Ax, y, NOTHING, lost[n:], ROWS, found)
    measure_slacks(h, s, z, inside, lost[n + p :], scale, found)
    measure_cones(*program.cone_layout, s, z, inside, lost[n + p :], scale, found)
    measure_gradient(program.hessian.accurate_product(x), program.c, x, lost, dual, found)
    return told(found, lost_gap), dual, Ax, inside


def told(found: np.ndarray, lost_gap: float) -> Residuals:
    """What was found, but for a gap that rounding excuses."""
    measured = Residuals._make(found.tolist())
    return measured._replace(gap=0.0) if measured.gap <= lost_gap else measured


def _lost(program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
    """What rounding may take of each entry of (Px + c + A'y + G'z, Ax - b, Gx + s - h), and of the gap."""
    b, h = np.abs(program.b), np.where(np.isfinite(program.h), np.abs(program.h), 0.0)
    blocks = [(program.A, y, b), (program.G, z, h + np.where(np.isfinite(s), np.abs(s), 0.0))]
    return lost_to_rounding(program, program.c, x, blocks, b @ np.abs(y) + h @ np.abs(z))


def lost_to_rounding(
    program: Any, c: np.ndarray, x: np.ndarray, blocks: list[tuple[sp.csc_array, np.ndarray, np.ndarray]], held: float
) -> tuple[np.ndarray, float]:
    """What rounding may take of each entry of the gradient and of the rows in `blocks`, and of the gap.

    A block are a matrix, its multipliers, and the sizes of what stands beside its rows; `held` is the part of the sides
    in the gap, by its size.
    """
    objective = program.hessian.sizes(x) + np.abs(c)
    dual = sum((abs(M).T @ np.abs(v) for M, v, _ in blocks), objective)
    rows = [abs(M) @ np.abs(x) + sides for M, _, sides in blocks]
    return LOST * np.concatenate([dual, *rows]), LOST * float(np.abs(x) @ objective + held)


@kernel
def measure_sides(
    l: Floats, u: Floats, v: Floats, y: Floats, is_bound: Floats, lost: Floats, block: int, found: Floats
) -> None:
    """The violation of l <= v <= u, its scale, u'y+ - l'y- and the largest multiplier of an infinite side.

    Behind v are its errors, where it has some.  The scale is the largest v where there is a side, or violated side; of
    a bound, which `is_bound` marks with 1 and all of the block `CONE` are, its own side.  What is not more than `lost`,
    which may be empty, is no violation.
    """
    m, trap, stray = l.size, 0.0, 0.0  # 0 times a number that is not finite is NaN
    support, support_low = found[SUPPORT], found[SUPPORT_LOW]
    size, violation, own, own_relative = 0.0, 0.0, 0.0, 0.0  # of rows, then bounds
    for i in range(m):
        side = u[i] if y[i] > 0.0 else l[i]
        if y[i] != y[i]:
            stray = np.inf
        elif math.isfinite(side):
            term = side * y[i]
            support_low += product_error(side, y[i], term) + sum_error(support, term, support + term)
            support += term
        else:
            stray = max(stray, abs(y[i]))
        trap += 0.0 * y[i] + 0.0 * v[i]
        if math.isfinite(l[i]) or math.isfinite(u[i]):
            size = max(size, abs(v[i]))
        below, above = l[i] - v[i], v[i] - u[i]
        if v.size > m and math.isfinite(v[m + i]):
            below, above = below - v[m + i], above + v[m + i]
        outside = max(below, above)
        if outside > 0.0:
            side = abs(l[i]) if below > above else abs(u[i])
            size, outside = max(size, side), beyond(outside, lost, i)
            if block == CONE or (is_bound.size > 0 and is_bound[i] == 1.0):
                own, own_relative = max(own, outside), max(own_relative, outside / (1.0 + side))
            else:
                violation = max(violation, outside)
    scale, worst = 1.0 + size, max(violation, own)
    found[block] = worst + trap
    found[SCALES + block] = scale_of(worst, max(violation / scale, own_relative), scale)
    found[DUAL] = max(found[DUAL], stray)
    found[SUPPORT], found[SUPPORT_LOW] = support, support_low


@kernel
def measure_slacks(h: Floats, s: Floats, z: Floats, inside: Floats, lost: Floats, scale: Floats, found: Floats) -> None:
    """What Gx + s - h leaves, and the part of h'z in the gap; for `measure_cones` to go on.

    `inside` comes as Gx and becomes h - Gx, each with its errors behind.  `scale` comes with 1 for each bound and
    becomes what its residual is relative to: 1 + max(|h_i|, |(Gx)_i|), or the largest of these.
    """
    m, trap, size, stray = h.size, 0.0, 1.0, 0.0
    support, support_low = found[SUPPORT], found[SUPPORT_LOW]
    for i in range(m):
        if math.isfinite(h[i]):
            total, term = inside[i] - h[i], h[i] * z[i]
            low = inside[m + i] + sum_error(inside[i], -h[i], total)
            excess = rounded(total, low)
            low += total - excess
            inside[i], inside[m + i] = -excess, -low if math.isfinite(low) else 0.0
            own = 1.0 + max(abs(excess + h[i]), abs(h[i]))
            size, scale[i] = max(size, own), own if scale[i] == 1.0 else 0.0
            support_low += product_error(h[i], z[i], term) + sum_error(support, term, support + term)
            support += term
        else:
            stray = max(stray, abs(z[i]))
            trap += 0.0 * z[i]
            inside[i], inside[m + i], scale[i] = np.inf, 0.0, 1.0
    found[DUAL] = max(found[DUAL], stray) + trap
    worst, trap = found[OBJECTIVES:], 0.0
    for i in range(m):
        scale[i] = scale[i] if scale[i] > 0.0 else size
        if math.isfinite(h[i]):
            total = s[i] - inside[i]
            residual = rounded(total, sum_error(s[i], -inside[i], total) - inside[m + i])
            trap += 0.0 * residual
            if beyond(residual, lost, i) > 0.0:
                raise_to(abs(residual), i, scale, worst)
    found[CONE], found[SCALES + CONE] = trap, size
    found[SUPPORT], found[SUPPORT_LOW] = support, support_low


@kernel
def measure_cones(
    start: Ints, second_order: Bools, s: Floats, z: Floats, inside: Floats, lost: Floats, scale: Floats, found: Floats
) -> None:
    """The distances of s, of h - Gx and of z from the cones, beside what `measure_slacks` has found."""
    m, worst, nothing = s.size, found[OBJECTIVES:], lost[:0]
    distance_from_cones(start, second_order, s, nothing, nothing, scale, worst)
    distance_from_cones(start, second_order, inside[:m], inside[m:], lost, scale, worst)
    found[CONE] += worst[0]
    found[SCALES + CONE] = scale_of(worst[0], worst[1], found[SCALES + CONE])
    worst[:] = 0.0
    distance_from_cones(start, second_order, z, nothing, nothing, nothing, worst)
    found[DUAL] = max(found[DUAL], worst[0])


@kernel
def measure_gradient(Px: Floats, c: Floats, x: Floats, lost: Floats, dual: Floats, found: Floats) -> None:
    """What Px + c leaves of the multipliers' part in `dual`, the objectives and the gap: the last part of the test.

    Errors stand behind Px and `dual`, whose head becomes the rounded residual.
    """
    n, worst, size, trap = c.size, 0.0, 0.0, 0.0
    xPx, xPx_low, cx, cx_low = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        part, low = Px[j] + c[j], Px[n + j] + dual[n + j]
        total = part + dual[j]
        dual[j] = rounded(total, low + (sum_error(Px[j], c[j], part) + sum_error(part, dual[j], total)))
        worst, size = max(worst, beyond(dual[j], lost, j)), max(size, abs(Px[j]), abs(c[j]))
        trap += 0.0 * dual[j] + 0.0 * x[j]
        term = x[j] * Px[j]
        xPx_low += product_error(x[j], Px[j], term) + sum_error(xPx, term, xPx + term) + x[j] * Px[n + j]
        xPx += term
        term = x[j] * c[j]
        cx_low += product_error(x[j], c[j], term) + sum_error(cx, term, cx + term)
        cx += term
    gv, gv_low, half, total = found[SUPPORT], found[SUPPORT_LOW], 0.5 * xPx, xPx + cx
    gap, primal, below = total + gv, half + cx, half + gv
    gap_low = sum_error(xPx, cx, total) + sum_error(total, gv, gap) + (xPx_low + cx_low + gv_low)
    primal = rounded(primal, sum_error(half, cx, primal) + (0.5 * xPx_low + cx_low))
    below = rounded(below, sum_error(half, gv, below) + (0.5 * xPx_low + gv_low))
    found[DUAL], found[SCALES + DUAL] = max(found[DUAL], worst) + trap, 1.0 + size
    found[GAP], found[SCALES + GAP] = abs(rounded(gap, gap_low)), 1.0 + max(abs(primal), abs(below))
    found[OBJECTIVES], found[OBJECTIVES + 1] = primal, -below


@leaf
def scale_of(residual: float, relative: float, scale: float) -> float:
    """What the largest residual is to be divided by to be the largest relative one; `scale` where there is none."""
    return residual / relative if 0.0 < relative < np.inf else scale


class Test(Protocol):
    """What judges points and certificates on the caller's own data."""

    @property
    def residuals(self) -> Callable[..., Residuals]:
        """Of a point (x, y, z, s), and `rounding`: without what evaluating them may lose."""

    @property
    def primal_infeasibility(self) -> Callable[..., float]:
        """The smallest tol at which (y, z) certifies that nothing is feasible."""

    @property
    def dual_infeasibility(self) -> Callable[..., float]:
        """The smallest tol at which x certifies that the objective falls for ever."""


class ConeTest:
    """The `Test` of a cone program on its own data."""

    def __init__(self, program: ConeProgram) -> None:
        self.program = program

    def residuals(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool = False
    ) -> Residuals:
        return residuals(self.program, x, y, z, s, rounding)

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        return primal_infeasibility(self.program, y, z)

    def dual_infeasibility(self, x: np.ndarray) -> float:
        return dual_infeasibility(self.program, x)
