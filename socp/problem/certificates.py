"""When a direction is a certificate that nothing is feasible, or that the objective falls for ever.

A certificate is judged twice.  Scaled to b'y + h'z = -1, the ray (y, z) has the slope r = A'y + G'z: any
feasible x has r'x <= -1, hence ||x||_1 >= 1 / |r|; |r| <= tol says that no x of reasonable size is
feasible.  And |r| <= tol (|A| |y| + |G| |z|), in largest entries, says that it is a zero of the data's own size: the
ray is exact for a program within a relative tol of the given one.  Likewise for x, scaled to c'x = -1, where Px, Ax
and Gx are each a zero of the size of their own data.  A b'y + h'z or c'x that is not some digits beyond what its terms
lose to rounding is none.

A ray may be an array of them, one for each of many dense programs: all that is told of it is then an array, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.csc import multiply_both
from .distances import norm

LEAST_SLOPE = 1e-12  # of a certificate, relative to the sum of the sizes of its terms: its digits beyond rounding

# the slope of a ray, the sum of the sizes of its terms, and what is to be zero, each with the size of its own data
RayTerms = tuple[Any, Any, list[tuple[Any, Any]]]
Ray = tuple[np.ndarray, ...]


def ray_error(slope: Any, size: Any, zeros: list[tuple[Any, Any]]) -> Any:
    """The smallest tol at which a ray is a certificate, once it is scaled to the slope -1."""
    values, own = np.array([value for value, _ in zeros]), np.array([own for _, own in zeros])
    with np.errstate(all="ignore"):
        error = np.divide(values, np.minimum(-slope, own), out=np.zeros(values.shape), where=values != 0.0).max(axis=0)
    return np.where(-slope > LEAST_SLOPE * size, error, np.inf)[()]


def primal_terms(program: Any, *multipliers: np.ndarray) -> RayTerms:
    """What is to be seen of the multipliers of each block of constraints: the slope is b'y + h'z, or of sides."""
    slope, size, data, gradient = 0.0, 0.0, 0.0, np.zeros(program.n)
    outside: list[tuple[Any, Any]] = []
    for block, v in zip(program.constraints, multipliers):
        terms, distance = block.support(v)
        slope, size = slope + terms.sum(axis=-1), size + np.abs(terms).sum(axis=-1)
        data, gradient = data + largest_entry(block.matrix) * norm(v), gradient + multiply_transposed(block.matrix, v)
        outside.append((distance, norm(v)))
    return slope, size, [(norm(gradient), data), *outside]


def dual_terms(program: Any, x: np.ndarray) -> RayTerms:
    """What is to be seen of the direction x, which may not lead out of the constraints: the slope is c'x."""
    zeros = [(norm(program.hessian.product(x)), program.hessian.largest)]
    zeros += [(block.outward(multiply(block.matrix, x)), largest_entry(block.matrix)) for block in program.constraints]
    terms = program.cost * x
    return terms.sum(axis=-1), np.abs(terms).sum(axis=-1), [(value, data * norm(x)) for value, data in zeros]


def primal_infeasibility(program: Any, *multipliers: np.ndarray) -> Any:
    """The smallest tol at which (y, z), scaled to the slope -1, certifies that nothing is feasible."""
    return ray_error(*primal_terms(program, *multipliers))


def dual_infeasibility(program: Any, x: np.ndarray) -> Any:
    """The smallest tol at which x, scaled to c'x = -1, certifies that the objective falls for ever."""
    return ray_error(*dual_terms(program, x))


def primal_certificate(program: Any, *multipliers: np.ndarray) -> tuple[Ray, float]:
    """(y, z) scaled to the slope -1, with zeros on rows without entries that add nothing to that, and its error.

    The bound of a variable that no row has can have no multiplier.
    """
    used, blocks = _in_rows(program), zip(program.constraints, multipliers)
    plain = [np.where(~used if block.are_bounds else block.idle(v), 0.0, v) for block, v in blocks]
    return _best(primal_terms, program, multipliers, tuple(plain))


def dual_certificate(program: Any, x: np.ndarray) -> tuple[Ray, float]:
    """x scaled to c'x = -1, with zeros for variables that no row and no part of the objective has, and its error."""
    used = _in_rows(program) | (program.cost != 0.0) | (program.hessian.sizes(np.ones(program.n)) > 0.0)
    return _best(dual_terms, program, (x,), (np.where(used, x, 0.0),))


def _best(terms_of: Any, program: Any, given: Ray, plain: Ray) -> tuple[Ray, float]:
    """The plain ray scaled to the slope -1, and its error; the given one where that is far better."""
    ray, error = plain, ray_error(*terms_of(program, *plain))
    as_given = ray_error(*terms_of(program, *given))
    if not error <= 2.0 * as_given:
        ray, error = given, as_given
    return scaled(terms_of(program, *ray)[0], *ray), float(error)


def scaled(slope: Any, *ray: np.ndarray) -> Ray:
    """The ray with the slope -1; as it is where it does not fall."""
    size = np.where(slope < 0.0, -slope, 1.0)[..., None]
    return tuple(part / size for part in ray)


def _in_rows(program: Any) -> np.ndarray:
    """The variables that rows have; bounds are none."""
    used = np.zeros(program.n, bool)
    for block in program.constraints:
        used |= False if block.are_bounds else has_entries(block.matrix, 1)
    return used


def multiply(M: Any, x: np.ndarray) -> np.ndarray:
    """M x."""
    if isinstance(M, np.ndarray):
        return (M @ x[..., None])[..., 0]
    Mx = np.empty(M.shape[0])
    multiply_both(M.indptr, M.indices, M.data, x, np.zeros(Mx.size), Mx, np.empty(x.size))
    return Mx


def multiply_transposed(M: Any, v: np.ndarray) -> np.ndarray:
    """M'v."""
    if isinstance(M, np.ndarray):
        return (v[..., None, :] @ M)[..., 0, :]
    Mtv = np.empty(M.shape[1])
    multiply_both(M.indptr, M.indices, M.data, np.zeros(Mtv.size), v, np.empty(v.size), Mtv)
    return Mtv


def largest_entry(M: Any) -> Any:
    """The largest entry in size."""
    return norm(M.reshape(len(M), -1) if isinstance(M, np.ndarray) else M.data)


def has_entries(matrix: sp.csc_array, axis: int) -> np.ndarray:
    """Which rows (axis 0) or columns (1) have an entry that is not zero."""
    where = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.bincount(where, matrix.data != 0.0, minlength=matrix.shape[axis]) > 0.0
