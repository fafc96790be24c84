"""Blocks of constraints, each with its multipliers: rows with two sides, and rows in cones.

A program states its constraints as two such blocks, which tests of points and certificates measure alike, whatever the
program (see `stopping` and `certificates`).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import kernel, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..linalg.accurate import add_both, add_product, rounded, sum_error
from ..linalg.csc import csc
from ..linalg.vectors import NO_VALUES
from .certificates import ROUNDED, Sides, error_of, ratios
from .distances import (
    NO_CONES,
    beyond,
    bounds_among,
    cone_violation,
    distance_from_cones,
    find_bounds,
    norm,
    raise_to,
)
from .stopping import Measured


@functools.lru_cache(maxsize=8)
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

    @property
    def sides(self) -> Sides:
        """The rows as kernels for certificates take them."""
        M = self.matrix
        return M.indptr, M.indices, M.data, self.lower, self.upper, NO_CONES, NO_CONES[:0] > 0

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

    @property
    def upper(self) -> np.ndarray:
        """Right sides h."""
        return self.h

    @property
    def sides(self) -> Sides:
        """The rows as kernels for certificates take them: without lower sides."""
        M = self.matrix
        return M.indptr, M.indices, M.data, NO_VALUES, self.h, *self.layout

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

    def _by_cone(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest of the `sizes` of the rows of each second-order cone in all its rows."""
        start, second_order = self.layout
        largest = sizes.copy()
        for k in np.flatnonzero(second_order & (np.diff(start) > 0)):
            largest[start[k] : start[k + 1]] = sizes[start[k] : start[k + 1]].max()
        return largest


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


@leaf
def scale_of(residual: float, relative: float, scale: float) -> float:
    """Return residual / relative, the scale of the largest relative residual, or `scale` if `relative` is 0 or inf."""
    return residual / relative if 0.0 < relative < np.inf else scale
