"""Errors of certificates by their definition, in exact arithmetic."""

from fractions import Fraction

import numpy as np

from bench.answers.exact import Exact, distances, times
from socp import ConeProgram, SecondOrder
from socp.verify import certificates

EPS = np.finfo(float).eps


def largest(v):
    return float(np.abs(v).max(initial=0.0))


def ratio(above, below):
    """Return |above / below|, 0 where `below` is 0."""
    below = np.abs(below)
    return np.divide(np.abs(above), below, out=np.zeros(below.shape), where=below > 0.0)


def exact_error(products, zeros):
    """Return the error by its definition; check that the slope, the sum of `products`, is near -1.

    `zeros` are (residuals, sizes of their own terms, sizes of the multipliers that the slope's data give).
    """
    terms = [product.rounded() for product in products]
    slope = sum(Fraction(int(entry)) * Fraction(2) ** product.power for product in products for entry in product.whole)
    assert abs(float(slope + 1)) <= 4.0 * EPS * (1.0 + sum(np.abs(part).sum() for part in terms))
    errors = [0.0]
    for residual, own, reach in zeros:
        errors += [largest(np.where(residual > 8.0 * EPS * own, ratio(residual, own), 0.0)), largest(residual * reach)]
    return max(errors)


def reach_of(M, sides, scales, axis):
    """Return max |s_k side_k| / max_k |s_k M_kj| by columns (axis 0) or rows (axis 1)."""
    by = scales[:, None] if axis == 0 else scales[None, :]
    return ratio(largest(scales * sides), (by * np.abs(M)).max(axis=axis, initial=0.0))


def exact_primal_error(program, y, z):
    ours = np.concatenate([y, z])
    y, z = map(Exact.of, (y, z))
    if isinstance(program, ConeProgram):
        assert largest(distances(z, program.cones)) <= 8.0 * EPS * largest(ours)
        sides, M = np.append(program.b, program.h), np.vstack([program.A.toarray(), program.G.toarray()])
        gradient = times(program.A.T, y) + times(program.G.T, z)
    else:
        sides = [np.where(v.whole > 0, u, l) for v, l, u in ((y, program.l, program.u), (z, program.lb, program.ub))]
        sides, M = np.concatenate(sides), np.vstack([program.A.toarray(), np.eye(program.n)])
        gradient = times(program.A.T, y) + z
    assert not ours[np.isinf(sides)].any()
    sides = np.where(ours != 0.0, sides, 0.0)
    products = [Exact.of(part) * v for part, v in zip(np.split(sides, [len(y.whole)]), (y, z))]
    reach = reach_of(M, sides, np.concatenate(certificates.balance(program)[1:]), 0)
    return exact_error(products, [(np.abs(gradient.rounded()), np.abs(M.T) @ np.abs(ours), reach)])


def exact_dual_error(program, x):
    v, size = Exact.of(x), np.abs(x)
    c = np.where(x != 0.0, program.cost, 0.0)
    P, D = program.hessian.dense(), certificates.balance(program)[0]
    root = np.sqrt(np.abs(np.diag(P)))
    reach = ratio(largest(D * c), root * largest(root * D))
    zeros = [(np.abs(times(program.P, v).rounded()), np.abs(P) @ size, reach)]
    blocks = [(program.A.toarray(), times(program.A, v))]
    if isinstance(program, ConeProgram):
        out = [np.abs(blocks[0][1].rounded())]
        blocks.append((program.G.toarray(), times(program.G, v)))
        inside = Exact(np.where(np.isfinite(program.h), -blocks[1][1].whole, 0), blocks[1][1].power)
        out.append(distances(inside, program.cones))
    else:
        blocks.append((np.eye(program.n), v))
        out = [
            np.maximum(0.0, np.maximum(np.where(np.isinf(l), 0.0, -move), np.where(np.isinf(u), 0.0, move)))
            for move, l, u in (
                (blocks[0][1].rounded(), program.l, program.u), (blocks[1][1].rounded(), program.lb, program.ub)
            )
        ]  # fmt: skip
    for (M, _), residual in zip(blocks, out):
        own, reach = np.abs(M) @ size, reach_of(M, c, D, 1)
        if isinstance(program, ConeProgram) and len(residual) == program.m:
            ends = np.cumsum([0, *(cone.dim for cone in program.cones)])
            for start, end, cone in zip(ends, ends[1:], program.cones):
                if isinstance(cone, SecondOrder):  # one row, which may be outside by a rounding error
                    own[start:end], reach[start:end] = largest(own[start:end]), largest(reach[start:end])
                    zeros.append((4.0 * EPS * own[start:end], np.full(end - start, np.inf), reach[start:end]))
        zeros.append((residual, own, reach))
    return exact_error([Exact.of(program.cost) * v], zeros)
