"""Symmetric patterns and quasi-definite matrices for the tests of ordering and factorization."""

from __future__ import annotations

import inspect

import numpy as np
import scipy.sparse as sp

GENERATOR = "rng" if "rng" in inspect.signature(sp.random_array).parameters else "random_state"


def random_sparse(shape, *, rng, **rest):
    """Call `scipy.sparse.random_array`, whose argument for the generator has another name below scipy 1.15."""
    return sp.random_array(shape, **{GENERATOR: rng}, **rest)


def upper(K):
    """Return (indptr, indices, data) of the upper triangle in CSC with int64, the input of `LDL`."""
    triangle = sp.csc_array(sp.triu(sp.csc_array(K)))
    triangle.sort_indices()
    return triangle.indptr.astype(np.int64), triangle.indices.astype(np.int64), triangle.data.astype(np.float64)


def random_spd(n, density, seed):
    """Return a diagonally dominant symmetric matrix of random pattern."""
    rng = np.random.default_rng(seed)
    M = random_sparse((n, n), density=density, rng=rng)
    M = sp.csc_array(M + M.T)
    return sp.csc_array(M + sp.diags_array(1.0 + np.asarray(abs(M).sum(axis=1)).ravel()))


def grid_laplacian(rows, columns):
    """Return the five-point Laplacian of a grid."""

    def path(k):
        return sp.diags_array([-np.ones(k - 1), 2.0 * np.ones(k), -np.ones(k - 1)], offsets=[-1, 0, 1])

    return sp.csc_array(sp.kron(path(rows), sp.eye_array(columns)) + sp.kron(sp.eye_array(rows), path(columns)))


def arrow(n, heads=1):
    """Return a diagonal matrix whose first `heads` rows and columns are full."""
    K = sp.lil_array(sp.diags_array(np.full(n, float(n))))
    K[:heads, heads:] = 1.0
    K[heads:, :heads] = 1.0
    return sp.csc_array(K)


def kkt(n, m, density, seed, shift=1e-2):
    """Return [P + shift I, A'; A, -shift I] with random sparse P and A, and the signs of its pivots."""
    rng = np.random.default_rng(seed)
    F = random_sparse((n, n), density=density, rng=rng)
    A = random_sparse((m, n), density=density, rng=rng, data_sampler=lambda size: rng.normal(size=size))
    K = sp.block_array([[F @ F.T + shift * sp.eye_array(n), A.T], [A, -shift * sp.eye_array(m)]])
    return sp.csc_array(K), np.concatenate([np.ones(n, np.int64), -np.ones(m, np.int64)])


def dense_factor_pattern(K, perm):
    """Return the pattern of L of the permuted matrix, diagonal included, by elimination in a dense boolean matrix."""
    n = K.shape[0]
    pattern = np.asarray(abs(K).toarray() > 0)[np.ix_(perm, perm)]
    pattern |= pattern.T
    np.fill_diagonal(pattern, True)
    for j in range(n):
        below = j + 1 + np.flatnonzero(pattern[j + 1 :, j])
        pattern[np.ix_(below, below)] = True
    return np.tril(pattern)


def follow_a_neighbour(K, zero_diagonal, perm):
    """Return True if each zero diagonal with a nonzero-diagonal neighbour is eliminated after some neighbour."""
    place = np.argsort(perm)
    for i in np.flatnonzero(zero_diagonal):
        others = K.indices[K.indptr[i] : K.indptr[i + 1]]
        if place[others].min() >= place[i] and not zero_diagonal[others].all():
            return False
    return True
