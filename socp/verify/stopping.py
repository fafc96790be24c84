"""Tests whether a point is a solution or a certificate, on the caller's own data.

Everything is relative, in infinity norms and the caller's units, each block by its own size:

    rows     |Ax - b|                                          <= tol (1 + max(|b|, |Ax|))
    cone     |Gx + s - h|, distance of s and of h - Gx from K  <= tol (1 + max(|h|, |Gx|))
    bounds   as cone, of rows of the orthant with one entry    <= tol (1 + max(|h_i|, |(Gx)_i|))
    dual     |Px + c + A'y + G'z|, distance of z from K        <= tol (w + max(|Px|, |c|))
    gap      |primal objective - dual objective|               <= tol (w + max(|primal|, |dual|))

with the objective's unit w = min(1, 100 max(|c|, diag P)), or 1 if both are 0: a small objective is tested by its own
size.  The gap is at least |x_j| / 100 times the dual residual in each column j: where x is large, a residual that is
small beside others may be what the objective is still to fall by.

A program states its constraints as two blocks of rows, each with its multipliers (see `constraints`).

All residuals are measured in twice the working precision and reported as measured.  A point in working precision may
have residuals that no other point near it avoids: where the test holds at `EXCUSED_TOL`, entries may be excused that
are no larger than `LOST` times the sum of the sizes of their terms (see `method.run`, which then reports this).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled.kernels import deferred_kernel, kernel
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, floats, number
from ..linalg.accurate import add_product, rounded, sum_error
from ..linalg.vectors import NO_VALUES
from .certificates import Ray, dual_certificate, primal_certificate
from .distances import beyond

INACCURATE_TOL = 1e-5  # tolerance of the status "inaccurate"
EXCUSED_TOL = 1e-6  # largest tolerance (or tol, if that is larger) at which rounding may excuse a residual
HIDDEN = 0.01  # share of |x_j| times a dual residual that counts as a gap
FAR_SHARE = 1e-4  # violation of a row, beside its own terms, that the message of an answer tells
OF_DATA = "data"  # value of `rounding` that excuses only terms without multipliers
LOST = 64.0 * np.finfo(np.float64).eps  # rounding error excused in a sum of products, relative to the sum of the sizes


class Residuals(NamedTuple):
    """Absolute residuals of a point, the scales that the stopping test divides them by, and the objectives.

    `rows` is the residual of A, `cone` the residual of G, or of the bounds of a quadratic program.  The objectives do
    not include the program's offset.
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
        """Return True if the stopping test holds at `tol`, and no residual exceeds `tol_abs` if it is given."""
        rows, cone, dual, gap, rows_scale, cone_scale, dual_scale, gap_scale, _, _ = self
        if not (rows <= tol * rows_scale and cone <= tol * cone_scale):
            return False
        if not (dual <= tol * dual_scale and gap <= tol * gap_scale):
            return False
        return tol_abs is None or (rows <= tol_abs and cone <= tol_abs and dual <= tol_abs and gap <= tol_abs)


RESIDUALS = len(Residuals._fields)


class Measured(Structure):
    """The fields of `Residuals` in compiled code, and what the blocks of constraints add to the dual residual and gap.

    Attributes
    ----------
    objective_unit : float
        The unit w of the objective.
    support, support_low : float
        The part of the multipliers in the gap, b'y + h'z or u'y+ - l'y-, and its error.
    outside_dual, outside : arrays
        Distance of z from the cones, and the largest residual of a row in cones, each absolute and relative.
    """

    rows, cone, dual, gap = number(), number(), number(), number()
    rows_scale, cone_scale, dual_scale, gap_scale = number(), number(), number(), number()
    primal_objective, dual_objective = number(), number()
    objective_unit, support, support_low = number(), number(), number()
    outside_dual, outside = floats("2"), floats("2")

    def residuals(self) -> Residuals:
        """Return the residuals, their scales and the objectives."""
        return Residuals._make(self._block[:RESIDUALS].tolist())


def residuals(
    program: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray = NO_VALUES,
    rounding: bool | str = False, Px: np.ndarray | None = None,
) -> Residuals:  # fmt: skip
    """Return the residuals of a point on the program's own data; with `rounding`, rounding errors count 0.

    `OF_DATA` excuses only the rounding errors of terms without multipliers.  A quadratic program has no slacks s; Px
    may be given if it is known.  All arrays must be contiguous.
    """
    return measure(program, x, (y, z), s, rounding, Px)[0]


def evaluate(program: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray) -> tuple[Residuals, np.ndarray]:
    """Return `residuals`, and the vector (Px + c + A'y + G'z, Ax - b, Gx + s - h), 0 in rows with infinite h."""
    found, dual, (Ax, inside) = measure(program, x, (y, z), s)
    p, m, finite = y.size, z.size, np.isfinite(program.h)
    slack = np.where(finite, s, 0.0) - np.where(finite, inside[:m], 0.0) - inside[m : 2 * m]
    return found, np.concatenate([dual[: x.size], (Ax[:p] - program.b) + Ax[p:], slack])


def measure(
    program: Any, x: np.ndarray, multipliers: tuple[np.ndarray, np.ndarray], s: np.ndarray = NO_VALUES,
    rounding: bool | str = False, Px: np.ndarray | None = None,
) -> tuple[Residuals, np.ndarray, list[np.ndarray]]:  # fmt: skip
    """Return the residuals of a point, the gradient of the Lagrangian, and the vectors of each block of constraints.

    The blocks are measured one after another, then the gradient and the gap, which sum over blocks.  Vectors are in
    twice the working precision, followed by their errors.
    """
    n, blocks, rows = x.size, program.constraints, []
    *lost, lost_dual, lost_gap = NO_VALUES, NO_VALUES, NO_VALUES, 0.0
    if rounding:
        y, z = multipliers
        *lost, lost_dual, lost_gap = _lost(program, x, (0.0 * y, 0.0 * z) if rounding == OF_DATA else (y, z), s)
    found, dual = Measured(), np.zeros(2 * n)
    prepare(found, program.objective_unit)
    for block, v, own in zip(blocks, multipliers, lost):
        rows.append(block.measure(x, v, s, own, dual, found) if v.size else NO_VALUES)
    Px = program.hessian.accurate_product(x) if Px is None else np.concatenate([Px, np.zeros(n)])
    measure_gradient(Px, program.cost, x, lost_dual, lost_gap, dual, found)
    return found.residuals(), dual, rows


def _lost(program: Any, x: np.ndarray, multipliers: tuple[np.ndarray, ...], s: np.ndarray) -> list[Any]:
    """Return the rounding errors to expect in the rows of each block, in the gradient, and in the gap."""
    x, lost = np.abs(x), []
    dual = objective = program.hessian.sizes(x) + np.abs(program.cost)
    gap = x @ objective
    for block, v in zip(program.constraints, multipliers):
        size, terms = abs(block.matrix), block.terms(s)
        lost.append(NO_VALUES if terms is None else LOST * (size @ x + terms))
        dual, gap = dual + size.T @ np.abs(v), gap + np.abs(block.support(v)[0] * v).sum()
    return [*lost, LOST * dual, LOST * float(gap)]


def far_row(program: Any, x: np.ndarray, tol: float) -> str:
    """Return words on the row that x violates most beside its own terms, or "" if no row does by `FAR_SHARE` of them.

    The stopping test divides by the size of a block of rows.  A row counts if it would fail the test by its own size.
    """
    share, words = np.full(1, FAR_SHARE), ""
    for block in program.constraints:
        row = -1 if block.are_bounds else farthest_row(*block.sides, x, tol, share)
        if row >= 0:
            words = f"; row {row} of {block.name} is violated by {share[0]:.1e} of its own terms"
    return words


@deferred_kernel
def farthest_row(
    indptr: Ints, indices: Ints, data: Floats, lower: Floats, upper: Floats, start: Ints, second_order: Bools,
    x: Floats, tol: float, share: Floats,
) -> int:  # fmt: skip
    """Return the row that x violates most beside its own terms, and by more than share[0], which is raised; else -1.

    Rows of second-order cones do not count.
    """
    m, found = upper.size, -1
    value, size = np.zeros(m), np.zeros(m)
    for j in range(x.size):
        for k in range(indptr[j], indptr[j + 1]):
            term = data[k] * x[j]
            value[indices[k]] += term
            size[indices[k]] += abs(term)
    for k in range(second_order.size):
        if second_order[k]:
            value[start[k] : start[k + 1]] = upper[start[k] : start[k + 1]]
    for i in range(m):
        below, above = lower[i] - value[i] if lower.size > 0 else -np.inf, value[i] - upper[i]
        outside, own = max(below, above), size[i] + (abs(lower[i]) if below > above else abs(upper[i]))
        if outside > tol * (1.0 + own) and outside > share[0] * own:
            found, share[0] = i, outside / own
    return found


@kernel
def prepare(found: Measured, objective_unit: float) -> None:
    """Prepare `found` for the measurement of a point: the sums are zero, and blocks without rows have the scale 1."""
    found.rows, found.cone, found.dual, found.gap = 0.0, 0.0, 0.0, 0.0
    found.rows_scale, found.cone_scale, found.objective_unit = 1.0, 1.0, objective_unit
    found.support, found.support_low = 0.0, 0.0


@kernel
def measure_gradient(
    Px: Floats, c: Floats, x: Floats, lost: Floats, lost_gap: float, dual: Floats, found: Measured
) -> None:  # fmt: skip
    """Measure the residual of Px + c + A'y + G'z, the objectives and the gap: the last part of the test.

    With the support g'v = h'z + b'y the gap is x'Px + c'x + g'v, between 1/2 x'Px + c'x and -1/2 x'Px - g'v.  `dual`
    is A'y + G'z; errors follow Px and `dual`.  Px + c is added to `dual`, and its first half becomes the rounded
    residual.  A gap up to `lost_gap` is rounding.
    """
    unit, gv, gv_low = found.objective_unit, found.support, found.support_low
    n, worst, size, trap, hidden = c.size, 0.0, 0.0, 0.0, 0.0  # hidden: max |x_j r_j| for the gradient r
    xPx, xPx_low, cx, cx_low = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        part, low = Px[j] + c[j], Px[n + j] + dual[n + j]
        total = part + dual[j]
        dual[j] = rounded(total, low + (sum_error(Px[j], c[j], part) + sum_error(part, dual[j], total)))
        worst, size = max(worst, beyond(dual[j], lost, j)), max(size, abs(Px[j]), abs(c[j]))
        trap += 0.0 * dual[j] + 0.0 * x[j]
        hidden = max(hidden, abs(x[j]) * beyond(dual[j], lost, j))
        xPx, xPx_low = add_product(x[j], Px[j], xPx, xPx_low + x[j] * Px[n + j])
        cx, cx_low = add_product(x[j], c[j], cx, cx_low)
    half, total = 0.5 * xPx, xPx + cx
    gap, primal, below = total + gv, half + cx, half + gv
    gap_low = sum_error(xPx, cx, total) + sum_error(total, gv, gap) + (xPx_low + cx_low + gv_low)
    primal = rounded(primal, sum_error(half, cx, primal) + (0.5 * xPx_low + cx_low))
    below = rounded(below, sum_error(half, gv, below) + (0.5 * xPx_low + gv_low))
    found.dual, found.dual_scale = max(found.dual, worst) + trap, unit + size
    gap = abs(rounded(gap, gap_low))
    found.gap = max(0.0 if gap <= lost_gap else gap, HIDDEN * hidden)
    found.gap_scale = unit + max(abs(primal), abs(below))
    found.primal_objective, found.dual_objective = primal, -below


@kernel
def meets(found: Measured, tol: float, tol_abs: float) -> bool:
    """Return True if the stopping test holds for `found`; an infinite `tol_abs` is no limit."""
    rows, cone, dual, gap = found.rows, found.cone, found.dual, found.gap
    if not (rows <= tol * found.rows_scale and cone <= tol * found.cone_scale):
        return False
    if not (dual <= tol * found.dual_scale and gap <= tol * found.gap_scale):
        return False
    return rows <= tol_abs and cone <= tol_abs and dual <= tol_abs and gap <= tol_abs


class ConeTest:
    """Tests of points and certificates of a cone program on its own data."""

    tol = 0.0  # tolerance up to which a point counts as feasible: a certificate excludes such points, too

    def __init__(self, program: Any) -> None:
        self.program = program

    def residuals(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool | str = False
    ) -> Residuals:
        """Return the residuals of a point (x, y, z, s); see the function `residuals` for `rounding`."""
        return residuals(self.program, x, y, z, s, rounding)

    def far_row(self, found: Residuals, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> str:
        """Return words on the row that the point with residuals `found` violates most; see the function `far_row`."""
        return far_row(self.program, x, self.tol)

    def primal_certificate(self, y: np.ndarray, z: np.ndarray) -> tuple[Ray, float]:
        """Return (y, z) as a certificate that the program is infeasible, and its error."""
        return primal_certificate(self.program, y, z, tol=self.tol)

    def dual_certificate(self, x: np.ndarray) -> tuple[Ray, float]:
        """Return x as a certificate that the objective falls for ever, and its error."""
        return dual_certificate(self.program, x, self.tol)
