"""The assembled matrix: eliminating the expanded and merged parts gives the KKT system."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp import ConeProgram, NonNeg, SecondOrder
from socp.form.standard import StandardForm
from socp.kkt.assembly import KKTMatrix, fill_matrix
from tests.support.standard_forms import DIMENSIONS, dense_kkt, dense_M, mixture, scaling_point


def assembled(form, w, eta, delta=0.0):
    matrix = KKTMatrix(form)
    fill_matrix(matrix, w, eta, delta)
    upper = sp.csc_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.size, matrix.size))
    assert upper.has_sorted_indices and (sp.tril(upper, -1).nnz == 0)
    np.testing.assert_array_equal(upper.indices[upper.indptr[1:] - 1], np.arange(matrix.size))
    upper = upper.toarray()
    return matrix, upper + np.triu(upper, 1).T


@pytest.mark.parametrize("equilibrate", [True, False])
@pytest.mark.parametrize("dims", DIMENSIONS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_schur_complement_onto_the_variables_and_equalities(seed, dims, equilibrate):
    form = mixture(seed, dims, equilibrate)
    w, eta = scaling_point(form, seed)
    K, (matrix, assembled_K) = dense_kkt(form, w, eta), assembled(form, w, eta)
    kept = form.n + form.p
    schur = [S[:kept, :kept] - S[:kept, kept:] @ np.linalg.solve(S[kept:, kept:], S[kept:, :kept])
             for S in (K, assembled_K)]  # fmt: skip
    np.testing.assert_allclose(schur[1], schur[0], rtol=1e-9, atol=1e-11 * np.abs(schur[0]).max())
    # bounds have no row, parallel rows share one; one-entry rows of a cone have none, and the cone adds two columns
    assert matrix.groups.count == 3
    entries = (dense_M(form)[form.p + form.l :] != 0.0).sum(axis=1)
    assert matrix.size == kept + 3 + (entries > 1).sum() + 2 * len(dims)


@pytest.mark.parametrize("dims", [[], [9], [3]], ids=str)
def test_weak_entries_of_the_diagonal_are_zero_but_for_delta(dims):
    # a diagonal P of two entries, a bound, and one-entry rows in a cone, which are eliminated
    n, p, delta = 8, 2, 1e-3
    G = np.vstack([np.eye(1, n, 2), *(np.eye(d, n, 3) for d in dims)])
    cones = [NonNeg(1), *(SecondOrder(d) for d in dims)]
    form = StandardForm(
        ConeProgram(np.ones(n), G, np.ones(len(G)), cones, np.ones((p, n)), np.ones(p),
                    np.diag(np.r_[1.0, 2.0, np.zeros(6)])),
        False,
    )  # fmt: skip
    matrix, K = assembled(form, *scaling_point(form), delta)
    zero_diagonal = np.flatnonzero(matrix.zero_diagonal)
    np.testing.assert_array_equal(zero_diagonal, np.flatnonzero(np.abs(np.diag(K)) == delta))
    assert not matrix.zero_diagonal[:3].any() and matrix.zero_diagonal[n : n + p].all()


def short_rows(seed, head, long=0, n=6, dim=12):
    """Return a form with a cone of rows of one entry, but for an empty row, a dense head and `long` dense rows."""
    rng = np.random.default_rng(seed)
    G = np.zeros((dim, n))
    G[np.arange(dim), rng.integers(n, size=dim)] = rng.normal(size=dim)
    G[1] = 0.0
    if head:
        G[0] = rng.normal(size=n)
    G[2 : 2 + long] = rng.normal(size=(long, n))
    program = ConeProgram(
        rng.normal(size=n), np.vstack([-np.eye(n), G, -np.eye(3, n)]), rng.normal(size=n + dim + 3),
        [NonNeg(n), SecondOrder(dim), SecondOrder(3)],
    )  # fmt: skip
    return StandardForm(program, False)


@pytest.mark.parametrize("distance", [None, 1e-2, 1e-5])
@pytest.mark.parametrize("long", [0, 1, 7])
@pytest.mark.parametrize("head", [False, True])
def test_rows_of_one_entry_are_eliminated(head, long, distance):
    form = short_rows(3, head, long)
    w, eta = scaling_point(form, 1, distance)
    K, (matrix, assembled_K) = dense_kkt(form, w, eta), assembled(form, w, eta)
    assert matrix.size == form.n + head + long + 2 + 2
    schur = [S[:6, :6] - S[:6, 6:] @ np.linalg.solve(S[6:, 6:], S[6:, :6]) for S in (K, assembled_K)]
    np.testing.assert_allclose(schur[1], schur[0], rtol=1e-6, atol=1e-9 * np.abs(schur[0]).max())
    # the columns v and u are scaled so that their pivots are -1 and 1
    v = matrix.cones.first[0]
    np.testing.assert_array_equal(np.diag(assembled_K)[[v, v + 1]], [-1.0, 1.0])


def test_rows_of_cones_that_stay_and_the_variables_of_those_that_go():
    # a cone of four rows, one empty and two of the same variable; one of two rows of one entry; one of full rows
    short = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    G = np.vstack([short, -np.eye(2, 3), np.ones((3, 3))])
    form = StandardForm(ConeProgram(np.ones(3), G, np.ones(9), [SecondOrder(4), SecondOrder(2), SecondOrder(3)]))
    cones = KKTMatrix(form).cones
    np.testing.assert_array_equal(cones.column, [-1, -1, -1, -1, -1, -1, 3, 4, 5])
    np.testing.assert_array_equal(cones.variable, [2, -1, 0, 2, 0, 1, -1, -1, -1])
    np.testing.assert_array_equal(cones.touched, [2, 2, 0])
    np.testing.assert_array_equal(cones.slots[[0, 1, 4, 5]], [0, 2, 0, 1])
    np.testing.assert_array_equal(cones.slot[[0, 2, 3, 4, 5]], [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(cones.first, [6, 8, 10])
    assert cones.end == 12


@pytest.mark.parametrize("dims", DIMENSIONS, ids=str)
def test_static_regularization_follows_the_signs(dims):
    form = mixture(1, dims, density=1.0)
    w, eta = scaling_point(form)
    (matrix, K), (_, regularized) = assembled(form, w, eta), assembled(form, w, eta, delta=1e-3)
    np.testing.assert_allclose(regularized - K, 1e-3 * np.diag(matrix.signs), atol=1e-12)


@pytest.mark.parametrize("long", [0, 1, 7])
@pytest.mark.parametrize("head", [False, True])
def test_static_regularization_of_an_expanded_cone_comes_before_the_elimination(head, long):
    form, delta = short_rows(5, head, long), 1e-2
    w, eta = scaling_point(form)
    _, K = assembled(form, w, eta, delta)
    n, M = form.n, dense_M(form)
    expected = delta * np.eye(n) + M[: form.l].T @ np.diag(w[: form.l] ** -2.0) @ M[: form.l]
    for k, (start, stop) in enumerate(zip(form.ptr[:-1], form.ptr[1:])):
        tail = w[start + 1 : stop]
        rho = w[start] + np.linalg.norm(tail)
        v, u = (np.append(1.0, side * tail / np.linalg.norm(tail)) / np.sqrt(2.0) for side in (-1.0, 1.0))
        v, u = eta[k] * np.sqrt(1.0 - rho**-2) * v, eta[k] * np.sqrt(rho**2 - 1.0) * u
        block = (eta[k] ** 2 + delta) * np.eye(stop - start) + (np.outer(u, u) - np.outer(v, v)) / (1.0 + delta)
        expected += M[start:stop].T @ np.linalg.solve(block, M[start:stop])
    schur = K[:n, :n] - K[:n, n:] @ np.linalg.solve(K[n:, n:], K[n:, :n])
    np.testing.assert_allclose(schur, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("dims", DIMENSIONS, ids=str)
def test_quasi_definite_with_the_stated_signs(dims):
    form = mixture(1, dims)
    w, eta = scaling_point(form)
    matrix, K = assembled(form, w, eta, delta=1e-6)
    positive = matrix.signs > 0
    assert np.linalg.eigvalsh(K[np.ix_(positive, positive)]).min() > 0
    assert np.linalg.eigvalsh(K[np.ix_(~positive, ~positive)]).max() < 0


@pytest.mark.parametrize("seed", [0, 1])
def test_filled_again_is_filled_anew(seed):
    form = mixture(seed, [3, 7])
    matrix, _ = assembled(form, *scaling_point(form, 5, 1e-6), delta=1e-4)
    w, eta = scaling_point(form, 6)
    fill_matrix(matrix, w, eta, 0.0)
    _, expected = assembled(form, w, eta)
    upper = sp.csc_array((matrix.data, matrix.indices, matrix.indptr)).toarray()
    np.testing.assert_array_equal(upper, np.triu(expected))
