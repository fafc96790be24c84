"""Points of product cones, and the dense matrices of their algebra and scaling."""

import itertools

import numpy as np

from socp.cones import scaling

SHAPES = [(3, []), (0, [2]), (0, [5]), (4, [2, 3, 7, 1 + 30]), (1, [2, 2, 2]), (0, [])]


def layout(shape):
    l, dims = shape
    return l, l + np.concatenate([[0], np.cumsum(dims, dtype=np.int64)]).astype(np.int64)


def arrow(l, ptr, u):
    """Return the matrix of v -> u o v."""
    matrix = np.zeros((ptr[-1], ptr[-1]))
    matrix[range(l), range(l)] = u[:l]
    for start, stop in itertools.pairwise(ptr):
        block = u[start] * np.eye(stop - start)
        block[0], block[:, 0] = u[start:stop], u[start:stop]
        matrix[start:stop, start:stop] = block
    return matrix


def identity(l, ptr):
    e = np.zeros(ptr[-1])
    e[:l] = 1.0
    e[ptr[:-1]] = 1.0
    return e


def inside(l, ptr, rng, distance=None):
    """Return a point of the interior; its smallest eigenvalues are about `distance`, if given."""
    v = rng.normal(size=ptr[-1])
    v[:l] = rng.uniform(0.1, 2.0, l) if distance is None else distance
    for start, stop in itertools.pairwise(ptr):
        gap = rng.uniform(0.1, 2.0) if distance is None else distance
        v[start] = np.linalg.norm(v[start + 1 : stop]) + gap
    return v


def matrices(l, ptr, w, eta):
    """Return (W, W^-1, W^2) as dense matrices, by the formulas."""
    W, W_inverse, W_square = np.zeros((3, ptr[-1], ptr[-1]))
    W[range(l), range(l)], W_inverse[range(l), range(l)], W_square[range(l), range(l)] = w[:l], 1 / w[:l], w[:l] ** 2
    for k, (start, stop) in enumerate(itertools.pairwise(ptr)):
        part = slice(start, stop)
        w0, w1 = w[start], w[start + 1 : stop]
        J = np.diag(np.r_[1.0, -np.ones(w1.size)])
        V = np.block([[np.array([[w0]]), w1[None]], [w1[:, None], np.eye(w1.size) + np.outer(w1, w1) / (1 + w0)]])
        W[part, part], W_inverse[part, part] = eta[k] * V, J @ V @ J / eta[k]
        W_square[part, part] = eta[k] ** 2 * (2 * np.outer(w[part], w[part]) - J)
    return W, W_inverse, W_square


def scaled(l, ptr, s, z):
    w, eta, lam = np.zeros(ptr[-1]), np.ones(ptr.size - 1), np.zeros(ptr[-1])
    assert scaling.nesterov_todd(l, ptr, s, z, w, eta, lam) == 0
    return w, eta, lam
