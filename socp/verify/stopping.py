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

A program states its constraints as two blocks of rows, `SlackRows` in cones and `TwoSidedRows` with numbers on both
sides.  Each has multipliers; the blocks are measured alike, whatever the program.

All residuals are measured in twice the working precision and reported as measured.  A point in working precision may
have residuals that no other point near it avoids: where the test holds at `EXCUSED_TOL`, entries may be excused that
are no larger than `LOST` times the sum of the sizes of their terms (see `method.run`, which then reports this).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import kernel, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, floats, number
from ..linalg.accurate import add_both, add_product, rounded, sum_error
from ..linalg.csc import csc
from ..linalg.vectors import NO_VALUES
from .certificates import (
    ROUNDED,
    dual_infeasibility,
    error_of,
    has_entries,
    primal_infeasibility,
    ratios,
)
from .distances import (
    NO_CONES,
    Entries,
    beyond,
    bounds_among,
    cone_violation,
    distance_from_cones,
    find_bounds,
    norm,
    raise_to,
    single_entries,
)

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


@functools.lru_cache(maxsize=1)
def identity(n: int) -> sp.csc_array:
    """Return the cached, read-only identity matrix of order n."""
    return csc(np.ones(n), np.arange(n), np.arange(n + 1), (n, n))


class TwoSidedRows(NamedTuple):
    """Rows l <= M x <= u with multipliers y: y_i > 0 belongs to u_i, y_i < 0 to l_i.

    `constant` is the term that rows have besides M x, or None for the bounds of the variables, M = I, which are
    compared without a sum.  With `holds_bounds`, rows with one entry are bounds, too, and have their own scale.
    """

    matrix: Any
    lower: np.ndarray
    upper: np.ndarray
    constant: np.ndarray | float | None = None
    holds_bounds: bool = False

    @property
    def name(self) -> str:
        """Letter of the matrix."""
        return "A"

    @property
    def are_bounds(self) -> bool:
        """Whether the rows are the bounds of the variables."""
        return self.constant is None

    def measure(
        self, x: np.ndarray, y: np.ndarray, s: np.ndarray, lost: np.ndarray, dual: np.ndarray, found: Measured
    ) -> np.ndarray:
        """Return M x followed by its errors; add M'y to `dual`, and measure the rows in `found`."""
        values, M = np.zeros(2 * y.size), self.matrix
        add_both(M.indptr, M.indices, M.data, x, y, values, dual)
        is_bound = bounds_among(self.matrix) if self.holds_bounds else NO_VALUES
        measure_sides(self.lower, self.upper, values, y, is_bound, lost, self.are_bounds, found)
        return values

    def terms(self, s: np.ndarray) -> np.ndarray | float | None:
        """Return the absolute values of the terms besides M x, or None for the bounds of the variables."""
        return None if self.constant is None else np.abs(self.constant)

    def support(self, y: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the sides that y multiplies in u'y+ - l'y-, infinite ones as 0, and max |y_i| at infinite sides."""
        side = np.where(y > 0.0, self.upper, self.lower)
        finite = np.isfinite(side)
        return np.where(finite, side, 0.0), norm(np.where(finite, 0.0, y))

    def outward(self, v: np.ndarray, low: np.ndarray, own: np.ndarray, reach: np.ndarray) -> float:
        """Return the `error_of` of how far the direction M x = v + low leads out of the sides."""
        below, above = np.where(np.isfinite(self.lower), -v, 0.0), np.where(np.isfinite(self.upper), v, 0.0)
        return error_of(np.maximum(np.maximum(below, above), 0.0), own, reach)

    def singles(self) -> Entries:
        """Return (rows, columns, entries) of the rows that are bounds."""
        if self.are_bounds:
            places = np.arange(self.lower.size)
            return places, places, np.ones(places.size)
        return single_entries(self.matrix, (NO_CONES, NO_CONES[:0] > 0))

    def violation(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far M x = v is outside of the sides, and the sizes of the sides, 0 for absent ones."""
        outside = np.maximum(self.lower - v, v - self.upper)
        sides = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (self.lower, self.upper)]
        return np.maximum(outside, 0.0), np.where(self.lower - v > v - self.upper, *sides)

    def admissible(self, y: np.ndarray) -> np.ndarray:
        """Return y with zeros at infinite sides and in empty rows that add nothing to a certificate."""
        sides = np.where(y > 0.0, self.upper, self.lower)
        idle = ~np.isfinite(sides)
        empty = ~has_entries(self.matrix, 0)
        if empty.any():
            idle |= empty & (np.where(idle, 0.0, sides) * y >= 0.0)
        return np.where(idle, 0.0, y)


class SlackRows(NamedTuple):
    """Rows M x + s = h with s and multipliers z in K; rows of the orthant with an infinite h always hold."""

    matrix: sp.csc_array
    h: np.ndarray
    layout: tuple[np.ndarray, np.ndarray]

    @property
    def name(self) -> str:
        """Letter of the matrix."""
        return "G"

    @property
    def are_bounds(self) -> bool:
        """Whether the rows are the bounds of the variables: never."""
        return False

    def measure(
        self, x: np.ndarray, z: np.ndarray, s: np.ndarray, lost: np.ndarray, dual: np.ndarray, found: Measured
    ) -> np.ndarray:
        """Return h - M x, its errors and scales; add M'z to `dual`, and measure the rows in `found`."""
        M, m = self.matrix, z.size
        rows = np.zeros(6 * m)
        add_both(M.indptr, M.indices, M.data, x, z, rows, dual)
        find_bounds(M.indices, M.data, *self.layout, rows[2 * m : 3 * m])
        measure_slacks(*self.layout, self.h, s, z, rows, lost, found)
        return rows[3 * m :]

    def terms(self, s: np.ndarray) -> np.ndarray:
        """Return |h| + |s|, the absolute values of the terms besides M x; infinite ones count 0."""
        return np.where(np.isfinite(self.h), np.abs(self.h), 0.0) + np.where(np.isfinite(s), np.abs(s), 0.0)

    def support(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Return h with infinite entries as 0, and the distance of z from K, inf if z is nonzero at an infinite h."""
        finite = np.isfinite(self.h)
        outside = cone_violation(self.layout, z) if norm(z[~finite]) == 0.0 else np.inf
        return np.where(finite, self.h, 0.0), outside

    def outward(self, v: np.ndarray, low: np.ndarray, own: np.ndarray, reach: np.ndarray) -> float:
        """Return the `error_of` of how far the direction M x = v + low leads out of the cones, each one row."""
        own, reach = (self._by_cone(sizes) for sizes in (own, reach))
        inside = np.where(np.isfinite(self.h), -v, np.inf)
        found, relative = np.zeros(2), np.zeros(2)
        distance_from_cones(*self.layout, inside, -low, NO_VALUES, ratios(1.0, reach), found)
        distance_from_cones(*self.layout, inside, -low, ROUNDED * own, own, relative)
        # What is on the boundary of a second-order cone may be outside by a rounding error.
        start, second_order = self.layout
        firsts = start[:-1][second_order & (np.diff(start) > 0)]
        rounding = 0.5 * ROUNDED * own[firsts] * reach[firsts]
        return max(float(found[1]), float(relative[1]), rounding.max(initial=0.0))

    def singles(self) -> Entries:
        """Return (rows, columns, entries) of the rows of the orthant that are bounds."""
        return single_entries(self.matrix, self.layout)

    def violation(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far h - M x, M x = v, is outside of the orthant, and |h|; 0 for rows of second-order cones."""
        finite, (start, second_order) = np.isfinite(self.h), self.layout
        rows = finite & ~np.repeat(second_order, np.diff(start))
        with np.errstate(invalid="ignore"):
            return np.where(rows, np.maximum(v - self.h, 0.0), 0.0), np.where(finite, np.abs(self.h), 0.0)

    def _by_cone(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest of the `sizes` of the rows of each second-order cone in all its rows."""
        start, second_order = self.layout
        largest = sizes.copy()
        for k in np.flatnonzero(second_order & (np.diff(start) > 0)):
            largest[start[k] : start[k + 1]] = sizes[start[k] : start[k + 1]].max()
        return largest

    def admissible(self, z: np.ndarray) -> np.ndarray:
        """Return z in its cones, with zeros at infinite h and in empty rows that add nothing to a certificate.

        The first entry of a second-order cone is raised to the norm of the others.
        """
        start, second_order = self.layout
        firsts = start[:-1][second_order & (np.diff(start) > 0)]
        in_cones, empty = np.repeat(second_order, np.diff(start)), ~has_entries(self.matrix, 0)
        idle = ~np.isfinite(self.h) | (~in_cones & (z < 0.0))
        if empty.any():
            empty[firsts] = False
            idle |= empty & (np.where(np.isfinite(self.h), self.h, 0.0) * z >= 0.0)
        z = np.where(idle, 0.0, z)
        for first, end in zip(firsts, start[1:][second_order & (np.diff(start) > 0)]):
            z[first] = max(z[first], float(np.linalg.norm(z[first + 1 : end])))
        return z


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
    worst, words = FAR_SHARE, ""
    for block in program.constraints:
        if block.are_bounds:
            continue
        M = block.matrix
        terms = M.data * np.repeat(x, np.diff(M.indptr))
        value, size = (np.bincount(M.indices, part, M.shape[0]) for part in (terms, np.abs(terms)))
        outside, sides = block.violation(value)
        own = size + sides
        share = ratios(np.where(outside > tol * (1.0 + own), outside, 0.0), own)
        if share.max(initial=0.0) > worst:
            worst = float(share.max())
            words = f"; row {int(share.argmax())} of {block.name} is violated by {worst:.1e} of its own terms"
    return words


@kernel
def prepare(found: Measured, objective_unit: float) -> None:
    """Prepare `found` for the measurement of a point: the sums are zero, and blocks without rows have the scale 1."""
    found.rows, found.cone, found.dual, found.gap = 0.0, 0.0, 0.0, 0.0
    found.rows_scale, found.cone_scale, found.objective_unit = 1.0, 1.0, objective_unit
    found.support, found.support_low = 0.0, 0.0


@kernel
def measure_sides(
    l: Floats, u: Floats, v: Floats, y: Floats, is_bound: Floats, lost: Floats, are_bounds: bool, found: Measured
) -> None:
    """Measure the violation of l <= v <= u, its scale, u'y+ - l'y-, and the largest multiplier of an infinite side.

    The errors of v may follow it.  The scale of rows is 1 plus the largest |v_i| of a row with a side, or violated
    side; the scale of a bound, marked by 1 in `is_bound`, is 1 plus its side.  If `are_bounds`, all rows are bounds.
    A violation of at most `lost`, which may be empty, counts 0.
    """
    m, trap, stray = l.size, 0.0, 0.0  # `trap` becomes NaN if a number is not finite.
    support, support_low = found.support, found.support_low
    size, violation, own, own_relative = 0.0, 0.0, 0.0, 0.0  # own: violations of bounds, absolute and relative
    for i in range(m):
        side = u[i] if y[i] > 0.0 else l[i]
        if y[i] != y[i]:
            stray = np.inf
        elif math.isfinite(side):
            support, support_low = add_product(side, y[i], support, support_low)
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
            if are_bounds or (is_bound.size > 0 and is_bound[i] == 1.0):
                own, own_relative = max(own, outside), max(own_relative, outside / (1.0 + side))
            else:
                violation = max(violation, outside)
    scale, worst = 1.0 + size, max(violation, own)
    residual, scale = worst + trap, scale_of(worst, max(violation / scale, own_relative), scale)
    if are_bounds:
        found.cone, found.cone_scale = residual, scale
    else:
        found.rows, found.rows_scale = residual, scale
    found.dual = max(found.dual, stray)
    found.support, found.support_low = support, support_low


@kernel
def measure_slacks(
    start: Ints, second_order: Bools, h: Floats, s: Floats, z: Floats, rows: Floats, lost: Floats, found: Measured
) -> None:
    """Measure Gx + s - h, the distances of s, h - Gx and z from the cones, and the part of h'z in the gap.

    `rows` has six vectors: Gx, its errors, 1 for each bound, and three that are computed: h - Gx, its errors, and
    the scales of the residuals, which are 1 + max(|h_i|, |(Gx)_i|) for a bound and the largest of these for other rows.
    A row with an infinite h always holds: h - Gx is infinite there.
    """
    m, size, stray, nothing = h.size, 1.0, 0.0, lost[:0]
    Gx, Gx_low, is_bound = rows[:m], rows[m : 2 * m], rows[2 * m : 3 * m]
    inside, inside_low, scale = rows[3 * m : 4 * m], rows[4 * m : 5 * m], rows[5 * m : 6 * m]
    outside_dual, outside = found.outside_dual, found.outside
    support, support_low = found.support, found.support_low
    dual_trap, trap = 0.0, 0.0  # become NaN if a multiplier, or a residual, is not finite
    for i in range(m):
        if math.isfinite(h[i]):
            total = Gx[i] - h[i]
            low = Gx_low[i] + sum_error(Gx[i], -h[i], total)
            excess = rounded(total, low)
            low += total - excess
            inside[i], inside_low[i] = -excess, -low if math.isfinite(low) else 0.0
            own = 1.0 + max(abs(excess + h[i]), abs(h[i]))
            size, scale[i] = max(size, own), own if is_bound[i] == 1.0 else 0.0
            support, support_low = add_product(h[i], z[i], support, support_low)
        else:
            stray = max(stray, abs(z[i]))
            dual_trap += 0.0 * z[i]
            inside[i], inside_low[i], scale[i] = np.inf, 0.0, 1.0
    found.support, found.support_low = support, support_low
    outside_dual[:] = 0.0
    distance_from_cones(start, second_order, z, nothing, nothing, nothing, outside_dual)
    found.dual = max(found.dual, stray, outside_dual[0]) + dual_trap
    outside[:] = 0.0
    for i in range(m):
        scale[i] = scale[i] if scale[i] > 0.0 else size
        if math.isfinite(h[i]):
            total = s[i] - inside[i]
            residual = rounded(total, sum_error(s[i], -inside[i], total) - inside_low[i])
            trap += 0.0 * residual
            if beyond(residual, lost, i) > 0.0:
                raise_to(abs(residual), i, scale, outside)
    distance_from_cones(start, second_order, s, nothing, nothing, scale, outside)
    distance_from_cones(start, second_order, inside, inside_low, lost, scale, outside)
    found.cone, found.cone_scale = outside[0] + trap, scale_of(outside[0], outside[1], size)


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


@leaf
def scale_of(residual: float, relative: float, scale: float) -> float:
    """Return residual / relative, the scale of the largest relative residual, or `scale` if `relative` is 0 or inf."""
    return residual / relative if 0.0 < relative < np.inf else scale


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

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        """Return the error of (y, z) as a certificate that the program is infeasible."""
        return primal_infeasibility(self.program, y, z, tol=self.tol)

    def dual_infeasibility(self, x: np.ndarray) -> float:
        """Return the error of x as a certificate that the objective falls for ever."""
        return dual_infeasibility(self.program, x, self.tol)
