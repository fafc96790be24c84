"""When a direction is a certificate that nothing is feasible, or that the objective falls for ever.

A certificate is judged twice.  Scaled to b'y + h'z = -1, the ray (y, z) has the slope r = A'y + G'z: any
feasible x has r'x <= -1, hence ||x||_1 >= 1 / |r|; |r| <= tol says that no x of reasonable size is
feasible.  And |r| <= tol (|A| |y| + |G| |z|), in largest entries, says that it is a zero of the data's own size: the
ray is exact for a program within a relative tol of the given one.  Likewise for x, scaled to c'x = -1, where Px, Ax
and Gx are each a zero of the size of their own data.  A b'y + h'z or c'x that is not some digits beyond what its terms
lose to rounding is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .distances import cone_violation, norm
from .program import ConeProgram

LEAST_SLOPE = 1e-12  # of a certificate, relative to the sum of the sizes of its terms: its digits beyond rounding

# the slope of a ray, the sum of the sizes of its terms, and what is to be zero, each with the size of its own data
RayTerms = tuple[float, float, list[tuple[float, float]]]
Ray = tuple[np.ndarray, ...]


def ray_error(slope: float, size: float, zeros: list[tuple[float, float]]) -> float:
    """The smallest tol at which a ray is a certificate, once it is scaled to the slope -1."""
    if not -slope > LEAST_SLOPE * size:
        return np.inf
    return max(max(value / -slope, relative(value, own)) for value, own in zeros)


def best_certificate(terms_of: Callable[..., RayTerms], program: Any, given: Ray, plain: Ray) -> tuple[Ray, float]:
    """The plain ray scaled to the slope -1, and its error; the given one where that is far better."""
    ray, error = plain, ray_error(*terms_of(program, *plain))
    as_given = ray_error(*terms_of(program, *given))
    if not error <= 2.0 * as_given:
        ray, error = given, as_given
    slope = terms_of(program, *ray)[0]
    return tuple(part / -slope for part in ray), error


def primal_terms(program: ConeProgram, y: np.ndarray, z: np.ndarray) -> RayTerms:
    """What is to be seen of the multipliers (y, z): the slope is b'y + h'z."""
    finite = np.isfinite(program.h)
    b, h = program.b, np.where(finite, program.h, 0.0)
    outside = cone_violation(program, z) if norm(z[~finite]) == 0.0 else np.inf
    slope, size = b @ y + h @ z, np.abs(b) @ np.abs(y) + np.abs(h) @ np.abs(z)
    data = largest(program.A) * norm(y) + largest(program.G) * norm(z)
    return slope, size, [(norm(program.A.T @ y + program.G.T @ z), data), (outside, norm(z))]


def dual_terms(program: ConeProgram, x: np.ndarray) -> RayTerms:
    """What is to be seen of the direction x: the slope is c'x."""
    outside = cone_violation(program, np.where(np.isfinite(program.h), -(program.G @ x), np.inf))
    zeros = (
        (program.hessian.largest, norm(program.hessian.product(x))), (largest(program.A), norm(program.A @ x)),
        (largest(program.G), outside),
    )  # fmt: skip
    size = np.abs(program.c) @ np.abs(x)
    return program.c @ x, size, [(value, data * norm(x)) for data, value in zeros]


def primal_infeasibility(program: ConeProgram, y: np.ndarray, z: np.ndarray) -> float:
    """The smallest tol at which (y, z), scaled to b'y + h'z = -1, certifies that nothing is feasible."""
    return ray_error(*primal_terms(program, y, z))


def dual_infeasibility(program: ConeProgram, x: np.ndarray) -> float:
    """The smallest tol at which x, scaled to c'x = -1, certifies that the objective falls for ever."""
    return ray_error(*dual_terms(program, x))


def primal_certificate(program: ConeProgram, y: np.ndarray, z: np.ndarray) -> tuple[Ray, float]:
    """(y, z) scaled to b'y + h'z = -1, with zeros on rows without entries that add nothing to that, and its error."""
    h = np.where(np.isfinite(program.h), program.h, 0.0)
    start, second_order = program.cone_layout
    idle_z = ~has_entries(program.G, 0) & (h * z >= 0.0)
    idle_z[start[:-1][second_order & (np.diff(start) > 0)]] = False  # the first of a cone holds the others
    idle_y = ~has_entries(program.A, 0) & (program.b * y >= 0.0)
    plain = np.where(idle_y, 0.0, y), np.where(idle_z, 0.0, z)
    return best_certificate(primal_terms, program, (y, z), plain)


def dual_certificate(program: ConeProgram, x: np.ndarray) -> tuple[Ray, float]:
    """x scaled to c'x = -1, with zeros for variables that are nowhere, and its error."""
    used = has_entries(program.A, 1) | has_entries(program.G, 1) | (program.c != 0.0)
    used |= program.hessian.sizes(np.ones(program.n)) > 0.0
    return best_certificate(dual_terms, program, (x,), (np.where(used, x, 0.0),))


def has_entries(matrix: sp.csc_array, axis: int) -> np.ndarray:
    """Which rows (axis 0) or columns (1) have an entry that is not zero."""
    where = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.bincount(where, matrix.data != 0.0, minlength=matrix.shape[axis]) > 0.0


def largest(matrix: sp.csc_array) -> float:
    """The largest absolute entry."""
    return norm(matrix.data)


def relative(value: float, size: float) -> float:
    """value / size, 0 for 0 / 0."""
    return value / size if value > 0.0 else 0.0
