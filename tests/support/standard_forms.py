"""Standard forms of mixed programs, and their dense KKT matrices."""

import numpy as np
import scipy.sparse as sp

from socp import ConeProgram, NonNeg, SecondOrder
from socp.form.standard import StandardForm
from tests.support.cone_points import inside, matrices, scaled


def dense_M(form):
    M = sp.csc_array((form.M_data, form.M_indices, form.M_indptr), shape=(form.p + form.m, form.n))
    assert M.has_sorted_indices
    return M.toarray()


def operator_matrix(P, n):
    out = np.empty((n, n))
    for j, column in enumerate(np.eye(n)):
        out[j] = P.product(column)
    return out.T


def mixture(seed, dims, equilibrate=True, p=2, n=6, density=0.6):
    """Return a form with bounds, parallel rows, copies, a zero row and cones of the given dimensions; P is sparse."""
    rng = np.random.default_rng(seed)
    row, other = rng.normal(size=(2, n))
    bounds = np.zeros((3, n))
    bounds[[0, 1, 2], [0, 0, n - 1]] = [2.0, -1.0, -5.0]
    orthant = np.vstack([row, bounds[0], -row, other, bounds[1], row, bounds[2], np.zeros(n), -other])
    G = np.vstack([orthant[:5], *(sparse_rows(rng, d, n, density) for d in dims), orthant[5:]])
    F = sparse_rows(rng, n, n)
    A = sparse_rows(rng, p, n)
    cones = [NonNeg(5), *(SecondOrder(d) for d in dims), NonNeg(4)]
    P = sp.csc_array(F @ F.T) if seed % 2 else None
    m = G.shape[0]
    return StandardForm(ConeProgram(rng.normal(size=n), G, rng.normal(size=m), cones, A, rng.normal(size=p), P),
                        equilibrate)  # fmt: skip


def sparse_rows(rng, rows, columns, density=0.6):
    return rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < density)


def scaling_point(form, seed=0, distance=None):
    rng = np.random.default_rng(seed)
    s, z = inside(form.l, form.ptr, rng, distance), inside(form.l, form.ptr, rng)
    w, eta, _ = scaled(form.l, form.ptr, s, z)
    return w, eta


def dense_kkt(form, w, eta):
    """Return [P A' G'W^-1; A 0 0; W^-1 G 0 -I] as a dense matrix."""
    n, p, m = form.n, form.p, form.m
    M, W_inverse = dense_M(form), matrices(form.l, form.ptr, w, eta)[1]
    K = np.zeros((n + p + m, n + p + m))
    K[:n, :n] = operator_matrix(form.P, n)
    K[n : n + p, :n], K[n + p :, :n] = M[:p], W_inverse @ M[p:]
    K[:n, n:] = K[n:, :n].T
    K[n + p :, n + p :] = -np.eye(m)
    return K


DIMENSIONS = [[], [2], [3, 4], [5, 6], [7], [2, 7, 3, 30, 6]]
