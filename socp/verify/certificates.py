"""When a direction is a certificate that nothing is feasible, or that the objective falls for ever.

A certificate is judged twice.  Scaled to b'y + h'z = -1, the ray (y, z) has the slope r = A'y + G'z: any
feasible x has r'x <= -1, hence ||x||_1 >= 1 / |r|; |r| <= tol says that no x of reasonable size is
feasible.  And |r| <= tol (|A| |y| + |G| |z|), in largest entries, says that it is a zero of the data's own size: the
ray is exact for a program within a relative tol of the given one.  Likewise for x, scaled to c'x = -1, where Px, Ax
and Gx are each a zero of the size of their own data.  A b'y + h'z or c'x that is not some digits beyond what its terms
lose to rounding is none.

All is measured in twice the working precision, on the ray scaled as it is told: that rounds it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.accurate import add_both, add_rows
from .distances import norm

LEAST_SLOPE = 1e-12  # of a certificate, relative to the sum of the sizes of its terms: its digits beyond rounding

# the slope of a ray, the sum of the sizes of its terms, and what is to be zero, each with the size of its own data
RayTerms = tuple[float, float, list[tuple[float, float]]]
Ray = tuple[np.ndarray, ...]


def ray_error(slope: float, size: float, zeros: list[tuple[float, float]]) -> float:
    """Return the smallest tol at which a ray is a certificate, once it is scaled to the slope -1."""
    if not -slope > LEAST_SLOPE * size:
        return np.inf
    values, own = np.array(zeros).T
    with np.errstate(all="ignore"):
        errors = np.divide(values, np.minimum(-slope, own), out=np.zeros(values.shape), where=values != 0.0)
    return float(errors.max())


def primal_slope(program: Any, *multipliers: np.ndarray) -> float:
    """Return the slope b'y + h'z, or of sides."""
    sides = [block.support(v)[0] for block, v in zip(program.constraints, multipliers)]
    return accurate_dot(np.concatenate(sides), np.concatenate(multipliers))


def dual_slope(program: Any, x: np.ndarray) -> float:
    """Return the slope c'x."""
    return accurate_dot(program.cost, x)


def primal_terms(program: Any, *multipliers: np.ndarray) -> RayTerms:
    """Return the terms of (y, z): the slope b'y + h'z, or of sides; A'y + G'z, and the distances from the cones."""
    gradient, size, data, outside = np.zeros(2 * program.n), 0.0, 0.0, []
    for block, v in zip(program.constraints, multipliers):
        sides, distance = block.support(v)
        M, largest = block.matrix, norm(v)
        add_both(M.indptr, M.indices, M.data, np.zeros(program.n), v, np.zeros(2 * v.size), gradient)
        size, data = size + np.abs(sides * v).sum(), data + norm(M.data) * largest
        outside.append((distance, largest))
    return primal_slope(program, *multipliers), size, [(norm(rounded_sums(gradient)), data), *outside]


def dual_terms(program: Any, x: np.ndarray) -> RayTerms:
    """Return the terms of the direction x: the slope c'x; Px, and how far x leads out of the constraints."""
    size, largest = np.abs(program.cost * x).sum(), norm(x)
    zeros = [(norm(rounded_sums(program.hessian.accurate_product(x))), program.hessian.largest * largest)]
    for block in program.constraints:
        zeros.append((block.outward(*multiply(block.matrix, x)), norm(block.matrix.data) * largest))
    return dual_slope(program, x), size, zeros


def primal_infeasibility(program: Any, *multipliers: np.ndarray) -> float:
    """Return the smallest tol at which (y, z), scaled to the slope -1, certifies that nothing is feasible."""
    return primal_certificate(program, *multipliers)[1]


def dual_infeasibility(program: Any, x: np.ndarray) -> float:
    """Return the smallest tol at which x, scaled to c'x = -1, certifies that the objective falls for ever."""
    return dual_certificate(program, x)[1]


def primal_certificate(program: Any, *multipliers: np.ndarray) -> tuple[Ray, float]:
    """Return (y, z) scaled to the slope -1, with zeros on rows without entries that add nothing to that, and its error.

    The bound of a variable that no row has can have no multiplier.
    """
    blocks = zip(program.constraints, multipliers)
    plain = [np.where(~_in_rows(program) if block.are_bounds else block.idle(v), 0.0, v) for block, v in blocks]
    return _best(primal_slope, primal_terms, program, multipliers, tuple(plain))


def dual_certificate(program: Any, x: np.ndarray) -> tuple[Ray, float]:
    """Return (x,) scaled to c'x = -1, and its error; variables in no row and not in the objective become zero."""
    used = _in_rows(program) | (program.cost != 0.0) | (program.hessian.sizes(np.ones(program.n)) > 0.0)
    return _best(dual_slope, dual_terms, program, (x,), (np.where(used, x, 0.0),))


def _best(
    slope_of: Callable[..., float], terms_of: Callable[..., RayTerms], program: Any, given: Ray, plain: Ray
) -> tuple[Ray, float]:
    """Return the plain ray scaled to the slope -1, and its error; the given one where that is far better."""
    ray, error = _scaled(slope_of, terms_of, program, plain)
    if not all(map(np.array_equal, plain, given)):
        other, as_given = _scaled(slope_of, terms_of, program, given)
        if not error <= 2.0 * as_given:
            return other, as_given
    return ray, error


def _scaled(
    slope_of: Callable[..., float], terms_of: Callable[..., RayTerms], program: Any, ray: Ray
) -> tuple[Ray, float]:
    """Scale the ray to slope -1 if its slope is negative; return it and its error."""
    slope = slope_of(program, *ray)
    if slope < 0.0:
        ray = tuple(part / -slope for part in ray)
    return ray, ray_error(*terms_of(program, *ray))


def _in_rows(program: Any) -> np.ndarray:
    """Return for each variable whether a row has it; bounds are none."""
    used = np.zeros(program.n, bool)
    for block in program.constraints:
        used |= False if block.are_bounds else has_entries(block.matrix, 1)
    return used


def multiply(M: sp.csc_array, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M x, rounded once, and what that leaves of it."""
    m = M.shape[0]
    sums = np.zeros(2 * m)
    add_both(M.indptr, M.indices, M.data, x, np.zeros(m), sums, np.zeros(2 * x.size))
    total = rounded_sums(sums)
    with np.errstate(invalid="ignore"):  # of infinite sums
        return total, (sums[:m] - total) + errors_of(sums)


def accurate_dot(u: np.ndarray, v: np.ndarray) -> float:
    """Return u'v, summed in twice the precision and rounded once."""
    sums = np.zeros(2)
    add_rows(u[:, None], v, sums[:1], sums[1:])
    return float(rounded_sums(sums)[0])


def rounded_sums(sums: np.ndarray) -> np.ndarray:
    """Return sums whose errors stand behind them, rounded once; an infinite sum has none that counts."""
    return sums[: sums.size // 2] + errors_of(sums)


def errors_of(sums: np.ndarray) -> np.ndarray:
    """Return the errors that stand behind sums, zeros in place of what is not finite."""
    errors = sums[sums.size // 2 :]
    return errors if np.isfinite(errors).all() else np.where(np.isfinite(errors), errors, 0.0)


def has_entries(matrix: sp.csc_array, axis: int) -> np.ndarray:
    """Return for each row (axis 0) or column (1) whether it has an entry that is not zero."""
    if axis == 1 and matrix.data.all():
        return np.asarray(matrix.indptr[1:] > matrix.indptr[:-1])
    where = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.bincount(where, matrix.data != 0.0, minlength=matrix.shape[axis]) > 0.0
