"""Tests of a direction as a certificate that a program is infeasible, or that its objective is unbounded.

A certificate is judged twice.  Scaled to b'y + h'z = -1, the ray (y, z) has the residual r = A'y + G'z: any
feasible x has r'x <= -1, hence ||x||_1 >= 1 / |r|; |r| <= tol says that no x of reasonable size is
feasible.  And |r| <= tol (|A| |y| + |G| |z|), in largest entries, says that r is zero relative to the data: the
ray is exact for a program within a relative tol of the given one.  Likewise for x, scaled to c'x = -1, where Px, Ax
and Gx must each be zero relative to their own data.  A slope b'y + h'z or c'x must exceed the rounding errors of its
terms by some digits, or the ray is no certificate.

All is measured in twice the working precision, on the ray that is returned, which scaling has rounded.

A ray may be an array of rays, one for each of many dense programs: all results are then arrays, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.accurate import add_both, add_rows
from .distances import norm

LEAST_SLOPE = 1e-12  # least slope of a certificate, relative to the sum of the sizes of its terms, which are rounded

# slope of a ray; sum of the sizes of the slope's terms; pairs of a value that must be zero and the size of its data
RayTerms = tuple[Any, Any, list[tuple[Any, Any]]]
Ray = tuple[np.ndarray, ...]


def ray_error(slope: Any, size: Any, zeros: list[tuple[Any, Any]]) -> Any:
    """Return the smallest tol at which a ray, scaled to slope -1, is a certificate; inf if the slope is too small."""
    values, own = np.array([value for value, _ in zeros]), np.array([own for _, own in zeros])
    with np.errstate(all="ignore"):
        error = np.divide(values, np.minimum(-slope, own), out=np.zeros(values.shape), where=values != 0.0).max(axis=0)
    return np.where(-slope > LEAST_SLOPE * size, error, np.inf)[()]


def primal_slope(program: Any, *multipliers: np.ndarray) -> Any:
    """Return the slope b'y + h'z of multipliers, or u'y+ - l'y- for rows with two sides."""
    slope = np.zeros((*multipliers[0].shape[:-1], 2))
    for block, v in zip(program.constraints, multipliers):
        add_transposed(block.support(v)[0][..., None], v, slope)
    return rounded_sums(slope)[..., 0]


def primal_terms(program: Any, *multipliers: np.ndarray) -> RayTerms:
    """Return the `RayTerms` of multipliers; A'y + G'z and their distances from the cones must be zero."""
    leading = multipliers[0].shape[:-1]
    slope, gradient = np.zeros((*leading, 2)), np.zeros((*leading, 2 * program.n))
    size, data, outside = 0.0, 0.0, []
    for block, v in zip(program.constraints, multipliers):
        sides, distance = block.support(v)
        add_transposed(sides[..., None], v, slope)
        add_transposed(block.matrix, v, gradient)
        largest = norm(v)
        size, data = size + np.abs(sides * v).sum(axis=-1), data + largest_entry(block.matrix) * largest
        outside.append((distance, largest))
    return rounded_sums(slope)[..., 0], size, [(norm(rounded_sums(gradient)), data), *outside]


def dual_slope(program: Any, x: np.ndarray) -> Any:
    """Return the slope c'x."""
    slope = np.zeros((*x.shape[:-1], 2))
    add_transposed(program.cost[..., None], x, slope)
    return rounded_sums(slope)[..., 0]


def dual_terms(program: Any, x: np.ndarray) -> RayTerms:
    """Return the `RayTerms` of a direction x; |Px| and how far x leads out of each block must be zero."""
    zeros = [(norm(rounded_sums(program.hessian.accurate_product(x))), program.hessian.largest)]
    zeros += [(block.outward(*multiply(block.matrix, x)), largest_entry(block.matrix)) for block in program.constraints]
    size, largest = np.abs(program.cost * x).sum(axis=-1), norm(x)
    return dual_slope(program, x), size, [(value, data * largest) for value, data in zeros]


def primal_infeasibility(program: Any, *multipliers: np.ndarray) -> float:
    """Return the smallest tol at which (y, z), scaled to slope -1, certifies that the program is infeasible."""
    return primal_certificate(program, *multipliers)[1]


def dual_infeasibility(program: Any, x: np.ndarray) -> float:
    """Return the smallest tol at which x, scaled to c'x = -1, certifies that the objective is unbounded below."""
    return dual_certificate(program, x)[1]


def primal_certificate(program: Any, *multipliers: np.ndarray) -> tuple[Ray, float]:
    """Return (y, z) scaled to slope -1, with zeros on empty rows that add nothing to the slope, and its error.

    Bounds of variables that occur in no row get a zero multiplier.
    """
    blocks = zip(program.constraints, multipliers)
    plain = [np.where(~_in_rows(program) if block.are_bounds else block.idle(v), 0.0, v) for block, v in blocks]
    return _best(primal_slope, primal_terms, program, multipliers, tuple(plain))


def dual_certificate(program: Any, x: np.ndarray) -> tuple[Ray, float]:
    """Return x scaled to c'x = -1, with zeros for variables in no row and no part of the objective, and its error."""
    used = _in_rows(program) | (program.cost != 0.0) | (program.hessian.sizes(np.ones(program.n)) > 0.0)
    return _best(dual_slope, dual_terms, program, (x,), (np.where(used, x, 0.0),))


def _best(
    slope_of: Callable[..., Any], terms_of: Callable[..., RayTerms], program: Any, given: Ray, plain: Ray
) -> tuple[Ray, float]:
    """Return the plain ray scaled to slope -1 and its error, or the given ray if its error is less than half of it."""
    ray, error = certificate_of(slope_of, terms_of, program, *plain)
    if not all(map(np.array_equal, plain, given)):
        other, as_given = certificate_of(slope_of, terms_of, program, *given)
        if not error <= 2.0 * as_given:
            ray, error = other, as_given
    return ray, float(error)


def certificate_of(
    slope_of: Callable[..., Any], terms_of: Callable[..., RayTerms], program: Any, *ray: np.ndarray
) -> tuple[Ray, Any]:
    """Return the ray scaled to slope -1, and the smallest tol at which it is a certificate."""
    ray = scaled(slope_of(program, *ray), *ray)
    return ray, ray_error(*terms_of(program, *ray))


def scaled(slope: Any, *ray: np.ndarray) -> Ray:
    """Scale the ray to slope -1; return it unchanged if its slope is not negative."""
    size = np.where(slope < 0.0, -slope, 1.0)[..., None]
    return tuple(part / size for part in ray)


def _in_rows(program: Any) -> np.ndarray:
    """Return which variables occur in rows; bounds do not count."""
    used = np.zeros(program.n, bool)
    for block in program.constraints:
        used |= False if block.are_bounds else has_entries(block.matrix, 1)
    return used


def multiply(M: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M x rounded once, and the rounding errors."""
    sums = np.zeros((*x.shape[:-1], 2 * M.shape[-2]))
    if isinstance(M, np.ndarray):
        add_transposed(np.swapaxes(M, -1, -2), x, sums)
    else:
        add_both(M.indptr, M.indices, M.data, x, np.zeros(M.shape[0]), sums, np.zeros(2 * x.size))
    total = rounded_sums(sums)
    with np.errstate(invalid="ignore"):  # inf - inf
        return total, (sums[..., : M.shape[-2]] - total) + errors_of(sums)


def add_transposed(M: Any, v: np.ndarray, sums: np.ndarray) -> None:
    """Add M'v to `sums`, whose second half holds the errors; for each program if v is an array of vectors."""
    n = sums.shape[-1] // 2
    if v.ndim > 1:
        for k in range(len(v)):
            add_transposed(M[k % len(M)], v[k], sums[k])
    elif isinstance(M, np.ndarray):
        add_rows(np.ascontiguousarray(M), v, sums[:n], sums[n:])
    else:
        add_both(M.indptr, M.indices, M.data, np.zeros(n), v, np.zeros(2 * v.size), sums)


def rounded_sums(sums: np.ndarray) -> np.ndarray:
    """Return sums plus the errors in their second half, rounded once; errors that are not finite are ignored."""
    return sums[..., : sums.shape[-1] // 2] + errors_of(sums)


def errors_of(sums: np.ndarray) -> np.ndarray:
    """Return the errors in the second half of `sums`, with zeros for values that are not finite."""
    errors = sums[..., sums.shape[-1] // 2 :]
    return errors if np.isfinite(errors).all() else np.where(np.isfinite(errors), errors, 0.0)


def largest_entry(M: Any) -> Any:
    """Return the largest absolute entry of M, or of each matrix if M is an array of matrices."""
    return norm(M.reshape(len(M), -1) if isinstance(M, np.ndarray) else M.data)


def has_entries(matrix: sp.csc_array, axis: int) -> np.ndarray:
    """Return which rows (axis 0) or columns (axis 1) have a nonzero entry."""
    if axis == 1 and matrix.data.all():
        return np.asarray(matrix.indptr[1:] > matrix.indptr[:-1])
    where = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.bincount(where, matrix.data != 0.0, minlength=matrix.shape[axis]) > 0.0
