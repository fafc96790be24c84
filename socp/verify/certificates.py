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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..linalg.accurate import add_both, add_rows
from .distances import norm

BALANCINGS = 8  # rounds that find the scales of rows and variables
LEAST_SLOPE = 1e-12  # least slope of a certificate, relative to the sum of the sizes of its terms, which are rounded
CERTAIN = 1e-10  # error at which a run ends with a certificate
ROUNDED = 8.0 * float(np.finfo(np.float64).eps)  # rounding error of a sum that counts 0, relative to its own terms

Ray = tuple[np.ndarray, ...]


class Slope(NamedTuple):
    """Slope of a ray, the sum of the sizes of its terms, and what it loses where each of the data moves by its size."""

    value: float
    size: float
    play: float


def primal_slope(program: Any, *multipliers: np.ndarray) -> Slope:
    """Return the slope b'y + h'z, or u'y+ - l'y- for rows with two sides; each side may move by 1 + its size."""
    slope, size, play = np.zeros(2), 0.0, 0.0
    for block, v in zip(program.constraints, multipliers):
        sides = block.support(v)[0]
        add_transposed(sides[:, None], v, slope)
        size += float(np.abs(sides * v).sum())
        play += float(np.abs(v).sum())
    return Slope(float(rounded_sums(slope)[0]), size, size + play)


def dual_slope(program: Any, x: np.ndarray) -> Slope:
    """Return the slope c'x of a direction; each c_j may move by the largest one, in balanced units."""
    slope, size, (D, *_) = np.zeros(2), float(np.abs(program.cost * x).sum()), balance(program)
    add_transposed(program.cost[:, None], x, slope)
    return Slope(float(rounded_sums(slope)[0]), size, norm(D * program.cost) * float(np.abs(x / D).sum()))


def primal_error(program: Any, *multipliers: np.ndarray) -> float:
    """Return the error of multipliers of slope -1; it is infinite for multipliers outside their cones."""
    gradient, own, largest = np.zeros(2 * program.n), np.zeros(program.n), np.zeros(program.n)
    side, (_, *units) = 0.0, balance(program)
    for block, v, E in zip(program.constraints, multipliers, units):
        sides, distance = block.support(v)
        if distance > ROUNDED * norm(v):
            return np.inf
        M = block.matrix
        add_transposed(M, v, gradient)
        own += abs(M).T @ np.abs(v)
        side = max(side, norm(E * sides * (v != 0.0)))
        largest = np.maximum(largest, maxima(M, np.abs(M.data) * E[M.indices], 0))
    return error_of(np.abs(rounded_sums(gradient)), own, ratios(side, largest))


def dual_error(program: Any, x: np.ndarray) -> float:
    """Return the error of a direction of slope -1: of Px, and of how far x leads out of the sides and the cones."""
    P, (D, *_) = program.hessian, balance(program)
    cost = norm(D * program.cost * (x != 0.0))
    root = np.sqrt(np.abs(P.diagonal()))
    curved = np.abs(rounded_sums(P.accurate_product(x)))
    error = error_of(curved, P.sizes(x), ratios(cost, root * norm(root * D)))
    for block in program.constraints:
        M = block.matrix
        columns = np.repeat(np.arange(program.n), np.diff(M.indptr))
        reach = ratios(cost, maxima(M, np.abs(M.data) * D[columns], 1))
        error = max(error, block.outward(*multiply(M, x), abs(M) @ np.abs(x), reach))
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
    several = [np.bincount(M.indices, M.data != 0.0, minlength=M.shape[0]) > 1.0 for M in matrices]
    for last in [False] * BALANCINGS + [True]:
        columns = np.zeros(program.n)
        for M, E, some in zip(matrices, rows, several):
            sizes = np.abs(M.data) * np.repeat(D, np.diff(M.indptr))
            scaled = np.where(some[M.indices], sizes * E[M.indices], 0.0)
            columns = np.maximum(columns, maxima(M, scaled, 0))
            if last:
                E[~some] = ratios(1.0, maxima(M, sizes, 1))[~some]
            else:
                own = maxima(M, scaled, 1)
                E[own > 0.0] /= np.sqrt(own[own > 0.0])
        if not last:
            D[columns > 0.0] /= np.sqrt(columns[columns > 0.0])
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
    error is infinite if sides that each give way by tol (1 + |side|) leave no negative slope.
    """
    plain = [block.admissible(v) for block, v in zip(program.constraints, multipliers)]
    for k, block in enumerate(program.constraints):
        if block.are_bounds:
            plain[k] = np.where(_in_rows(program), plain[k], 0.0)
    absorb(program, plain)
    return _best(primal_slope, primal_error, program, multipliers, tuple(plain), tol)


def absorb(program: Any, multipliers: list[np.ndarray]) -> None:
    """Move residuals of A'y + G'z in place into multipliers of bounds, as far as their signs allow."""
    gradient = np.zeros(2 * program.n)
    for block, v in zip(program.constraints, multipliers):
        add_transposed(block.matrix, v, gradient)
    left = rounded_sums(gradient)
    for block, v in zip(program.constraints, multipliers):
        i, j, a = block.singles()
        for sides in (1.0, -1.0):  # a variable's lower and upper bounds, each once
            some = np.flatnonzero((a * v[i] * sides > 0.0) | ((v[i] == 0.0) & (a * sides > 0.0)))
            _, first = np.unique(j[some], return_index=True)
            some = some[first]
            rows, columns, entries = i[some], j[some], a[some]
            before = v[rows]
            v[rows] = before - left[columns] / entries
            v[rows] = block.admissible(v)[rows]
            left[columns] += entries * (v[rows] - before)


def dual_certificate(program: Any, x: np.ndarray, tol: float = 0.0) -> tuple[Ray, float]:
    """Return x scaled to c'x = -1, with zeros for variables in no row and no part of the objective, and its error.

    The error is infinite if a c within tol of the given one, in balanced units, has no negative slope.
    """
    used = _in_rows(program) | (program.cost != 0.0) | (program.hessian.sizes(np.ones(program.n)) > 0.0)
    return _best(dual_slope, dual_error, program, (x,), (np.where(used, x, 0.0),), tol)


def _best(
    slope_of: Callable[..., Slope], error: Callable[..., float], program: Any, given: Ray, plain: Ray, tol: float
) -> tuple[Ray, float]:
    """Return the plain ray scaled to slope -1 and its error, or the given ray if its error is less than half of it.

    The given ray is not tried if the plain one is certain.
    """
    ray, found = certificate_of(slope_of, error, program, plain, tol)
    if not found <= CERTAIN and not all(map(np.array_equal, plain, given)):
        other, as_given = certificate_of(slope_of, error, program, given, tol)
        if not found <= 2.0 * as_given:
            return other, as_given
    return ray, found


def certificate_of(
    slope_of: Callable[..., Slope], error: Callable[..., float], program: Any, ray: Ray, tol: float
) -> tuple[Ray, float]:
    """Return the ray scaled to slope -1, and its error: infinite if the slope is not clearly negative."""
    with np.errstate(all="ignore"):
        slope = slope_of(program, *ray).value
        ray = tuple(part / -slope for part in ray) if slope < 0.0 else ray
        slope, size, play = slope_of(program, *ray)
        return ray, error(program, *ray) if -slope > max(LEAST_SLOPE * size, tol * play) else np.inf


def ratios(numerator: Any, denominator: np.ndarray) -> np.ndarray:
    """Return |numerator / denominator| entry by entry, 0 where the denominator is 0."""
    size = np.abs(denominator)
    return np.divide(np.abs(numerator), size, out=np.zeros(size.shape), where=size > 0.0)  # type: ignore[no-any-return]


def maxima(M: sp.csc_array, values: np.ndarray, axis: int) -> np.ndarray:
    """Return the largest value of the entries of M in each column (axis 0) or row (axis 1), 0 if there is none."""
    found = np.zeros(M.shape[1 - axis])
    if axis == 1:
        np.maximum.at(found, M.indices, values)
    elif values.size:
        filled = np.flatnonzero(np.diff(M.indptr))
        found[filled] = np.maximum.reduceat(values, M.indptr[filled])
    return found


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


def add_transposed(M: Any, v: np.ndarray, sums: np.ndarray) -> None:
    """Add M'v to `sums`, whose second half holds the errors."""
    n = sums.size // 2
    if isinstance(M, np.ndarray):
        add_rows(np.ascontiguousarray(M), v, sums[:n], sums[n:])
    else:
        add_both(M.indptr, M.indices, M.data, np.zeros(n), v, np.zeros(2 * v.size), sums)


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
