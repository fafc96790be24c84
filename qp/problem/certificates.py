"""Certificates of many dense quadratic programs at once, as `qp.problem.stopping` judges each.

Arrays have a row for each program; P, A and the sides have one row where programs share them.
The sides and multipliers of the variables are behind those of the rows.
"""

from __future__ import annotations

import numpy as np

from socp.problem.certificates import LEAST_SLOPE


def primal_infeasibilities(A: np.ndarray, l: np.ndarray, u: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the smallest tol at which each y certifies that nothing is feasible, y scaled to u'y+ - l'y- = -1)."""
    m, side = A.shape[1], np.where(y > 0.0, u, l)
    finite = np.isfinite(side)
    terms = np.where(finite, side, 0.0) * y
    slope = -terms.sum(axis=1)
    steep = slope > LEAST_SLOPE * np.abs(terms).sum(axis=1)
    y = y / np.where(steep, slope, 1.0)[:, None]
    sizes = np.abs(y)
    residual = _largest(np.einsum("kij,ki->kj", np.broadcast_to(A, (len(y), *A.shape[1:])), y[:, :m]) + y[:, m:])
    stray = _largest(np.where(finite, 0.0, sizes))
    size = _largest(A) * _largest(sizes[:, :m]) + _largest(sizes[:, m:])
    relative = np.maximum(_share(residual, size), _share(stray, _largest(sizes)))
    return np.where(steep, np.maximum(np.maximum(residual, stray), relative), np.inf), y


def dual_infeasibilities(
    P: np.ndarray, q: np.ndarray, A: np.ndarray, l: np.ndarray, u: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(the smallest tol at which each x certifies that the objective falls for ever, x scaled to q'x = -1)."""
    m, k, terms = A.shape[1], len(x), q * x
    slope = -terms.sum(axis=1)
    steep = slope > LEAST_SLOPE * np.abs(terms).sum(axis=1)
    x = x / np.where(steep, slope, 1.0)[:, None]
    v = np.concatenate([np.einsum("kij,kj->ki", np.broadcast_to(A, (k, *A.shape[1:])), x), x], axis=1)
    outside = np.maximum(np.where(np.isfinite(l), -v, 0.0), np.where(np.isfinite(u), v, 0.0)).clip(0.0)
    curved = _largest(np.einsum("kij,kj->ki", np.broadcast_to(P, (k, *P.shape[1:])), x))
    size, worst = _largest(x), np.zeros(k)
    rows, bounds = _largest(outside[:, :m]), _largest(outside[:, m:])
    for data, residual in ((_largest(P), curved), (_largest(A), rows), (np.ones(1), bounds)):
        worst = np.maximum(worst, np.maximum(residual, _share(residual, data * size)))
    return np.where(steep, worst, np.inf), x


def _largest(array: np.ndarray) -> np.ndarray:
    """The largest entry in size of each program."""
    found: np.ndarray = np.abs(array).reshape(len(array), -1).max(axis=1, initial=0.0)
    return found


def _share(value: np.ndarray, size: np.ndarray) -> np.ndarray:
    """value / size, 0 for 0 / 0."""
    return np.divide(value, size, out=np.where(value > 0.0, np.inf, 0.0), where=size > 0.0)
