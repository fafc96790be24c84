"""Tests of a direction as a certificate that a program is infeasible, or that its objective falls for ever.

A certificate (y, z), scaled to b'y + h'z = -1, has the residual r = A'y + G'z: a feasible x has r'x <= -1.  Its error
is the least e for which, in each column j, r_j is zero up to e in two ways:

    |r_j| <= e (|A|'|y| + |G|'|z|)_j     relative to its own terms: the ray is exact for a program with entries within
                                         a relative e of the given ones, in whatever units of rows and variables
    |r_j| <= e / X_j                     relative to the size X_j = max_i |E_i g_i| / max_i |E_i M_ij| that x_j may take

The second excludes every x with sum |x_j| / X_j < 1 / e.  E, and D for the variables, are scales that balance the rows
with several entries (Ruiz 2001), so that units do not matter.  Likewise for a direction x, scaled to c'x = -1, whose
Px, Ax and Gx must be zero in each row relative to their own terms and to the sizes of multipliers.  Only data at
entries of the ray that are not zero count.  A slope b'y + h'z or c'x must exceed the rounding errors of its terms by
some digits, or the ray is no certificate.

A run ends with a certificate at the error `CERTAIN`.  One with a larger error, up to `tol_infeasible`, is kept while
the run goes on, and returned if neither a better one nor an optimum is found.

All is measured in twice the working precision, on the ray that is returned, which scaling has rounded.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import inner, kernel, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..linalg.accurate import add_both, add_product, add_rows, rounded
from ..linalg.vectors import norm_tail
from .distances import distance_from_cones, norm

BALANCINGS = 8  # rounds that find the scales of rows and variables
LEAST_SLOPE = 1e-12  # least slope of a certificate, relative to the sum of the sizes of its terms, which are rounded
CERTAIN = 1e-10  # error at which a run ends with a certificate
ROUNDED = 8.0 * float(np.finfo(np.float64).eps)  # rounding error of a sum that counts 0, relative to its own terms

Ray = tuple[np.ndarray, ...]
Sides = tuple[Ints, Ints, Floats, Floats, Floats, Ints, Bools]  # indptr, indices, data of M; lower, upper sides; cones


class Slope(NamedTuple):
    """Slope of a ray, the sum of the sizes of its terms, and what it loses where each of the data moves by its size."""

    value: float
    size: float
    play: float


def dual_slope(program: Any, x: np.ndarray) -> Slope:
    """Return the slope c'x of a direction; each c_j may move by the largest one, in balanced units."""
    slope, size, (D, *_) = np.zeros(2), float(np.abs(program.cost * x).sum()), balance(program)
    add_rows(np.ascontiguousarray(program.cost[:, None]), x, slope[:1], slope[1:])
    return Slope(float(rounded_sums(slope)[0]), size, norm(D * program.cost) * float(np.abs(x / D).sum()))


def dual_error(program: Any, x: np.ndarray) -> float:
    """Return the error of a direction of slope -1: of Px, and of how far x leads out of the sides and the cones."""
    P, (D, *_) = program.hessian, balance(program)
    cost = norm(D * program.cost * (x != 0.0))
    root = np.sqrt(np.abs(P.diagonal()))
    curved = np.abs(rounded_sums(P.accurate_product(x)))
    error = error_of(curved, P.sizes(x), ratios(cost, root * norm(root * D)))
    for block in program.constraints:
        M, own, largest = block.matrix, np.zeros(block.upper.size), np.zeros(block.upper.size)
        size_rows(M.indptr, M.indices, M.data, x, D, own, largest)
        error = max(error, block.outward(*multiply(M, x), own, ratios(cost, largest)))
    return error


def balance(program: Any) -> tuple[np.ndarray, ...]:
    """Return the scales D of the variables and E of each block's rows with entries E_i |M_ij| D_j up to about 1.

    Rows with one entry have no part in D.  The scales are kept as long as the program's matrices are the same objects.
    """
    matrices = [block.matrix for block in program.constraints]
    kept = vars(program).get("_balance")
    if kept is not None and all(one is other for one, other in zip(kept[0], matrices)):
        return kept[1]  # type: ignore[no-any-return]
    D, rows = np.ones(program.n), [np.ones(M.shape[0]) for M in matrices]
    find_scales(*(block.sides for block in program.constraints), D, *rows)
    program.__dict__["_balance"] = matrices, (D, *rows)
    return D, *rows


def error_of(residual: np.ndarray, own: np.ndarray, reach: np.ndarray) -> float:
    """Return the largest of residual_i / own_i, where that is more than rounding, and of residual_i reach_i."""
    if np.isnan(residual).any():
        return np.inf
    relative = np.where(residual > ROUNDED * own, ratios(residual, own), 0.0)
    return float(np.maximum(relative, residual * reach).max(initial=0.0))


def primal_infeasibility(program: Any, *multipliers: np.ndarray, tol: float = 0.0) -> float:
    """Return the error of (y, z) as a certificate that the program is infeasible: see `primal_certificate`."""
    return primal_certificate(program, *multipliers, tol=tol)[1]


def dual_infeasibility(program: Any, x: np.ndarray, tol: float = 0.0) -> float:
    """Return the error of x as a certificate that the objective falls for ever: see `dual_certificate`."""
    return dual_certificate(program, x, tol)[1]


def primal_certificate(program: Any, *multipliers: np.ndarray, tol: float = 0.0) -> tuple[Ray, float]:
    """Return (y, z) scaled to slope -1 and its error, inside its cones and with bounds that absorb residuals.

    Empty rows that add nothing to the slope, and bounds of variables that occur in no row, get zero multipliers.  The
    error is infinite if sides that each give way by tol (1 + |side|) leave no negative slope.  The given multipliers
    are taken as they are if that more than halves the error.
    """
    plain = cleaned(program, *multipliers)
    ray, found = certified(program, plain, tol)
    if not found <= CERTAIN and not all(map(np.array_equal, plain, multipliers)):
        other, as_given = certified(program, multipliers, tol)
        if not found <= 2.0 * as_given:
            return other, as_given
    return ray, found


def certified(program: Any, ray: Ray, tol: float) -> tuple[Ray, float]:
    """Return multipliers, as they are but scaled to slope -1, and their error as a `primal_certificate`."""
    (first, second), (_, *scales), figures = program.constraints, balance(program), np.zeros(4)
    ray = tuple(v.copy() for v in ray)
    certify(first.sides, second.sides, tuple(scales), *ray, figures)
    slope, size, play, error = figures.tolist()
    return ray, error if -slope > max(LEAST_SLOPE * size, tol * (size + play)) else np.inf


def cleaned(program: Any, *multipliers: np.ndarray) -> Ray:
    """Return multipliers inside their cones, without idle ones, and with residuals moved into those of bounds."""
    first, second = program.constraints
    plain = tuple(v.copy() for v in multipliers)
    clean_multipliers(first.sides, second.sides, second.are_bounds, *plain)
    return plain


def dual_certificate(program: Any, x: np.ndarray, tol: float = 0.0) -> tuple[Ray, float]:
    """Return x scaled to c'x = -1, with zeros for variables in no row and no part of the objective, and its error.

    The error is infinite if a c within tol of the given one, in balanced units, has no negative slope.
    """
    used = _in_rows(program) | (program.cost != 0.0) | (program.hessian.sizes(np.ones(program.n)) > 0.0)
    plain = np.where(used, x, 0.0)
    ray, found = _scaled(program, plain, tol)
    if not found <= CERTAIN and not np.array_equal(plain, x):
        other, as_given = _scaled(program, x, tol)
        if not found <= 2.0 * as_given:
            return (other,), as_given
    return (ray,), found


def _scaled(program: Any, x: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """Return a direction scaled to slope -1, and its error: infinite if the slope is not clearly negative."""
    with np.errstate(all="ignore"):
        slope = dual_slope(program, x).value
        x = x / -slope if slope < 0.0 else x
        slope, size, play = dual_slope(program, x)
        return x, dual_error(program, x) if -slope > max(LEAST_SLOPE * size, tol * play) else np.inf


def ratios(numerator: Any, denominator: np.ndarray) -> np.ndarray:
    """Return |numerator / denominator| entry by entry, 0 where the denominator is 0."""
    size = np.abs(denominator)
    return np.divide(np.abs(numerator), size, out=np.zeros(size.shape), where=size > 0.0)  # type: ignore[no-any-return]


def _in_rows(program: Any) -> np.ndarray:
    """Return which variables occur in rows; bounds do not count."""
    used = np.zeros(program.n, bool)
    for block in program.constraints:
        used |= False if block.are_bounds else has_entries(block.matrix, 1)
    return used


def multiply(M: sp.csc_array, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M x rounded once, and the rounding errors."""
    rows = M.shape[0]
    sums = np.zeros(2 * rows)
    add_both(M.indptr, M.indices, M.data, x, np.zeros(rows), sums, np.zeros(2 * x.size))
    total = rounded_sums(sums)
    with np.errstate(invalid="ignore"):  # inf - inf
        return total, (sums[:rows] - total) + errors_of(sums)


def rounded_sums(sums: np.ndarray) -> np.ndarray:
    """Return sums plus the errors in their second half, rounded once; errors that are not finite are ignored."""
    return sums[: sums.size // 2] + errors_of(sums)  # type: ignore[no-any-return]


def errors_of(sums: np.ndarray) -> np.ndarray:
    """Return the errors in the second half of `sums`, with zeros for values that are not finite."""
    errors = sums[sums.size // 2 :]
    return errors if np.isfinite(errors).all() else np.where(np.isfinite(errors), errors, 0.0)


def has_entries(matrix: sp.csc_array, axis: int) -> np.ndarray:
    """Return which rows (axis 0) or columns (axis 1) have a nonzero entry."""
    if axis == 1 and matrix.data.all():
        return np.asarray(matrix.indptr[1:] > matrix.indptr[:-1])
    where = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.bincount(where, matrix.data != 0.0, minlength=matrix.shape[axis]) > 0.0


@kernel
def clean_multipliers(first: Sides, second: Sides, are_bounds: bool, y: Floats, z: Floats) -> None:
    """Clean multipliers in place; see `cleaned`.  `are_bounds` tells that `second` has the bounds of the variables."""
    n = first[0].size - 1
    entries, others = np.zeros(y.size, np.int64), np.zeros(z.size, np.int64)
    count_entries(first, entries)
    count_entries(second, others)
    make_admissible(first, entries, y)
    make_admissible(second, others, z)
    if are_bounds:
        indptr, data = first[0], first[2]
        for j in range(n):
            is_used = False
            for k in range(indptr[j], indptr[j + 1]):
                is_used = is_used or data[k] != 0.0
            z[j] = z[j] if is_used else 0.0
    gradient, unused = np.zeros(2 * n), np.zeros(n)
    add_gradient(first, y, y, gradient, unused, unused)
    add_gradient(second, z, z, gradient, unused, unused)
    for j in range(n):
        gradient[j] = rounded(gradient[j], gradient[n + j])
    absorb(first, entries, y, gradient)
    absorb(second, others, z, gradient)


@kernel
def certify(
    first: Sides, second: Sides, scales: tuple[Floats, Floats], y: Floats, z: Floats, figures: Floats
) -> None:  # fmt: skip
    """Scale multipliers in place to slope -1; `figures` is their slope, its size and play, and their error.

    The play is what the slope loses where each side moves by 1, beyond that by its size.
    """
    n, support, is_inside = first[0].size - 1, np.zeros(5), True
    for is_scaled in (False, True):
        support[:] = 0.0
        is_inside = add_support(first, scales[0], y, support)
        is_inside = add_support(second, scales[1], z, support) and is_inside
        slope = rounded(support[0], support[1])
        if slope < 0.0 and not is_scaled:
            for i in range(y.size):
                y[i] /= -slope
            for i in range(z.size):
                z[i] /= -slope
    figures[0], figures[1], figures[2], error = slope, support[2], support[3], 0.0 if is_inside else np.inf
    gradient, own, largest = np.zeros(2 * n), np.zeros(n), np.zeros(n)
    add_gradient(first, scales[0], y, gradient, own, largest)
    add_gradient(second, scales[1], z, gradient, own, largest)
    for j in range(n):
        residual = abs(rounded(gradient[j], gradient[n + j]))
        relative = residual / own[j] if residual > ROUNDED * own[j] and own[j] > 0.0 else 0.0
        absolute = residual * (support[4] / largest[j]) if largest[j] > 0.0 else 0.0
        if relative > error:
            error = relative
        if absolute > error:
            error = absolute
        if residual != residual or absolute != absolute:
            error = np.inf
    figures[3] = error


@kernel
def slope_between(lower: Floats, upper: Floats, v: Floats, slope: float) -> float:
    """Return `slope` + sum of the sides that multipliers v of rows with two sides belong to, rounded; it may be inf."""
    for i in range(v.size):
        if v[i] != 0.0:
            slope += v[i] * (upper[i] if v[i] > 0.0 else lower[i])
    return slope


@leaf
def side_of(lower: Floats, upper: Floats, i: int, v: float) -> float:
    """Return the side of row i that a multiplier v belongs to; rows in cones have no `lower`."""
    return upper[i] if v > 0.0 or lower.size == 0 else lower[i]


@inner
def count_entries(block: Sides, entries: Ints) -> None:
    """Count the nonzero entries of each row; a row of a second-order cone with c entries has -1 - c."""
    _, indices, data, _, _, start, second_order = block
    for k in range(data.size):
        entries[indices[k]] += 1 if data[k] != 0.0 else 0
    for k in range(second_order.size):
        if second_order[k]:
            for i in range(start[k], start[k + 1]):
                entries[i] = -1 - entries[i]


@leaf
def has_several(entries: int) -> bool:
    """Return True if a row has more than one entry; see `count_entries`."""
    return entries > 1 or entries < -2


@inner
def make_admissible(block: Sides, entries: Ints, v: Floats) -> None:
    """Set multipliers of infinite sides, and of empty rows that add nothing to the slope, to 0, and enter the cones."""
    _, _, _, lower, upper, start, second_order = block
    for k in range(second_order.size):
        if second_order[k] and start[k + 1] > start[k] and entries[start[k]] == -1:
            entries[start[k]] = -2  # This row bounds the others: it does not count as empty.
    for i in range(v.size):
        side = side_of(lower, upper, i, v[i])
        is_idle = not math.isfinite(side) or (lower.size == 0 and entries[i] >= 0 and v[i] < 0.0)
        if is_idle or ((entries[i] == 0 or entries[i] == -1) and side * v[i] >= 0.0):
            v[i] = 0.0
    for k in range(second_order.size):
        if second_order[k] and start[k + 1] > start[k]:
            v[start[k]] = max(v[start[k]], norm_tail(v, start[k], start[k + 1]))


@inner
def absorb(block: Sides, entries: Ints, v: Floats, left: Floats) -> None:
    """Move the residuals `left` into multipliers of rows with one entry, each variable's upper bound, then its lower.

    A multiplier takes what leaves it at its side.
    """
    indptr, indices, data, lower, upper, _, _ = block
    for sign in (1.0, -1.0):
        for j in range(indptr.size - 1):
            for k in range(indptr[j], indptr[j + 1]):
                i, a = indices[k], data[k]
                before = v[i]
                if entries[i] != 1 or not (a * before * sign > 0.0 or (before == 0.0 and a * sign > 0.0)):
                    continue
                after = before - left[j] / a
                is_free = math.isfinite(side_of(lower, upper, i, after)) and (lower.size > 0 or after >= 0.0)
                v[i] = after if is_free else 0.0
                left[j] += a * (v[i] - before)
                break


@inner
def add_gradient(
    block: Sides, scale: Floats, v: Floats, gradient: Floats, own: Floats, largest: Floats
) -> None:  # fmt: skip
    """Add M'v and its errors to `gradient`, |M|'|v| to `own`, and raise `largest` to max_i |M_ij| scale_i."""
    indptr, indices, data, _, _, _, _ = block
    n = indptr.size - 1
    for j in range(n):
        total, low, size, most = gradient[j], gradient[n + j], own[j], largest[j]
        for k in range(indptr[j], indptr[j + 1]):
            i, a = indices[k], data[k]
            total, low = add_product(a, v[i], total, low)
            size += abs(a * v[i])
            most = max(most, abs(a) * scale[i])
        gradient[j], gradient[n + j], own[j], largest[j] = total, low, size, most


@inner
def add_support(block: Sides, scale: Floats, v: Floats, support: Floats) -> bool:
    """Add the slope, its error, the sizes of its terms and of v to `support`; return True if v is in its cones.

    support[4] is raised to the largest side of a nonzero multiplier, times the scale of its row.
    """
    _, _, _, lower, upper, start, second_order = block
    outside, largest = np.zeros(2), 0.0
    for i in range(v.size):
        side, size = side_of(lower, upper, i, v[i]), abs(v[i])
        support[3] += size
        largest = max(largest, size)
        if math.isfinite(side):
            support[0], support[1] = add_product(side, v[i], support[0], support[1])
            support[2] += abs(side * v[i])
            support[4] = max(support[4], abs(scale[i] * side) if size > 0.0 else 0.0)
        elif size > 0.0:
            outside[0] = max(outside[0], np.inf if lower.size == 0 else size)
    distance_from_cones(start, second_order, v, v[:0], v[:0], v[:0], outside)
    return not outside[0] > ROUNDED * largest


@kernel
def find_scales(first: Sides, second: Sides, D: Floats, E: Floats, own: Floats) -> None:
    """Compute the scales of `balance`, all 1 at the beginning, in place."""
    entries, others, columns = np.zeros(E.size, np.int64), np.zeros(own.size, np.int64), np.zeros(D.size)
    count_entries(first, entries)
    count_entries(second, others)
    for _ in range(BALANCINGS):
        columns[:] = 0.0
        balance_rows(first, entries, D, E, columns)
        balance_rows(second, others, D, own, columns)
        for j in range(D.size):
            D[j] /= math.sqrt(columns[j]) if columns[j] > 0.0 else 1.0
    scale_bounds(first, entries, D, E)
    scale_bounds(second, others, D, own)


@inner
def balance_rows(block: Sides, entries: Ints, D: Floats, E: Floats, columns: Floats) -> None:
    """Divide E by the roots of the largest scaled entries of its rows with several entries; raise those of columns."""
    indptr, indices, data, _, _, _, _ = block
    largest = np.zeros(E.size)
    for j in range(D.size):
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            if has_several(entries[i]):
                scaled = abs(data[k]) * D[j] * E[i]
                columns[j], largest[i] = max(columns[j], scaled), max(largest[i], scaled)
    for i in range(E.size):
        E[i] /= math.sqrt(largest[i]) if largest[i] > 0.0 else 1.0


@inner
def scale_bounds(block: Sides, entries: Ints, D: Floats, E: Floats) -> None:
    """Set E of rows without several entries to 1 / (|M_ij| D_j), or to 0 in empty rows."""
    indptr, indices, data, _, _, _, _ = block
    for i in range(E.size):
        E[i] = E[i] if has_several(entries[i]) else 0.0
    for j in range(D.size):
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            if not has_several(entries[i]) and data[k] != 0.0:
                E[i] = 1.0 / (abs(data[k]) * D[j])


@kernel
def size_rows(
    indptr: Ints, indices: Ints, data: Floats, x: Floats, D: Floats, own: Floats, largest: Floats
) -> None:  # fmt: skip
    """Add |M| |x| to `own`, and raise `largest` to max_j |M_ij| D_j."""
    for j in range(x.size):
        for k in range(indptr[j], indptr[j + 1]):
            i, a = indices[k], abs(data[k])
            own[i] += a * abs(x[j])
            largest[i] = max(largest[i], a * D[j])
