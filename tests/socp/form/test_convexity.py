"""Fast sufficient tests of a semidefinite P, and the refusal of indefinite ones."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp import ConeProgram, ProgramError
from socp.form.convexity import (
    SEMIDEFINITE_TOL,
    check_semidefinite,
    has_factor,
    is_clearly_semidefinite,
    is_dominant,
    set_shift,
)
from socp.problem.checks import as_csc
from socp.problem.hessian import GLANCE, DenseHessian, hessian_of


def test_the_variable_that_is_named_has_a_negative_curvature():
    # negative entries of the size of the largest entry's rounding are no curvature
    for others in (0, 10 * GLANCE):  # more columns, without entries
        P = hessian_of(as_csc("P", sp.diags_array([1.0, -1e-17, 0.0, -1.0, -2.0, *np.zeros(others)])), 5 + others)
        with pytest.raises(socp.ProgramError, match="eliminating variable 3 meets a negative pivot"):
            check_semidefinite(P)


@pytest.mark.parametrize(
    ("P", "convex"),
    [
        (np.diag([1.0, 0.0]), True), (np.ones((2, 2)), True), ([[1.0, 2.0], [2.0, 1.0]], False),
        ([[1.0, 0.0], [0.0, -1e-5]], False), ([[1.0, 0.01], [0.01, 0.0]], False), ([[0.0, 1.0], [1.0, 0.0]], False),
        (1.0 - np.eye(3), False),
    ],
)  # fmt: skip
def test_at_a_glance(P, convex):
    array = np.array(P)
    assert looks_semidefinite(array) == looks_semidefinite(sp.csc_array(array)) == convex
    large = sp.block_diag([array, sp.eye_array(2 * GLANCE)])  # too large for this test
    for form in (array, sp.csc_array(array), np.kron(array, np.ones((2, 2))), large, large.toarray()):
        n = form.shape[0]
        if convex:
            socp.Solver(ConeProgram(np.zeros(n), P=form))
        else:
            with pytest.raises(socp.ProgramError, match="P must be positive semidefinite"):
                socp.Solver(ConeProgram(np.zeros(n), P=form))


@pytest.mark.parametrize("n", [2, 70, 2 * GLANCE])
@pytest.mark.parametrize("kind", [np.array, sp.csc_array])
@pytest.mark.parametrize("coupling", [0.0, 1e-5])
def test_no_scaling_of_the_variables_hides_a_negative_curvature(n, kind, coupling):
    # a curvature of -1e-9 next to 1e3; x_n has a bound of its own size, so that equilibration does not reveal it
    P = np.diag(np.r_[1e3, np.ones(n - 2), -1e-9])
    P[0, -1] = P[-1, 0] = coupling
    sides = np.zeros((1, n))
    sides[0, -1] = 1.0
    for factor in (1.0, 1e-6, 1e6):
        with pytest.raises(socp.ProgramError, match="P must be positive semidefinite"):
            socp.Solver(ConeProgram(np.zeros(n), sides, [2e6], [socp.NonNeg(1)], P=kind(factor * P)))
    P[-1, -1] = 1e-9 + coupling**2 / 1e3
    socp.Solver(ConeProgram(np.zeros(n), sides, [2e6], [socp.NonNeg(1)], P=kind(P)))


@pytest.mark.parametrize("seed", range(20))
def test_semidefinite_matrices_of_any_scale_are_taken(seed):
    rng = np.random.default_rng([seed, 5])
    n = int(rng.integers(2, 3 * GLANCE))
    F = rng.normal(size=(n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.uniform(-4, 4, (n, 1))
    for P in (F @ F.T, sp.csc_array(F @ F.T)):
        socp.Solver(ConeProgram(np.zeros(n), P=P))
        socp.Solver(ConeProgram(np.zeros(n), P=P), equilibrate=False)


@pytest.mark.parametrize("seed", range(20))
def test_random_matrices(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    F = rng.normal(size=(n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.uniform(-3, 3, (n, 1))
    P = F @ F.T
    assert looks_semidefinite(P) and looks_semidefinite(sp.csc_array(P))
    eigenvalues, Q = np.linalg.eigh(P)
    eigenvalues[0] = -1e-5 * P.diagonal().max()
    P = (Q * eigenvalues) @ Q.T
    assert not looks_semidefinite(P) and not looks_semidefinite(sp.csc_array(P))


@pytest.mark.parametrize("seed", range(20))
def test_a_dominant_diagonal_is_semidefinite(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    F = np.where(rng.random((n, n)) < 0.4, rng.normal(size=(n, n)), 0.0)
    P = F + F.T
    np.fill_diagonal(P, 0.0)
    sums = np.abs(P).sum(axis=0)
    for share, expected in ((1.0, True), (1.5, True), (0.999, not sums.any())):
        np.fill_diagonal(P, share * (1.0 + 1e-15) * sums)
        csc = sp.csc_array(P)
        found = is_dominant(csc.indptr.astype(np.int64), csc.indices.astype(np.int64), csc.data)
        assert found == expected
        assert not found or np.linalg.eigvalsh(P).min() >= -1e-12
    np.fill_diagonal(P, -1.0 - sums)
    csc = sp.csc_array(P)
    assert not is_dominant(csc.indptr.astype(np.int64), csc.indices.astype(np.int64), csc.data)


def looks_semidefinite(P):
    """Return `is_clearly_semidefinite` of a dense or sparse matrix in its own units."""
    csc = as_csc("P", P)
    values = csc.data if sp.issparse(P) else np.ascontiguousarray(P, float).ravel()
    places = csc.shape[0], sp.issparse(P), csc.indptr, csc.indices, values
    return is_clearly_semidefinite(*places, np.ones(0), 1.0, SEMIDEFINITE_TOL)


@pytest.mark.parametrize("seed", range(10))
def test_entries_near_the_diagonal(seed):
    rng = np.random.default_rng(seed)
    n, width = GLANCE + int(rng.integers(1, 50)), int(rng.integers(1, 5))
    F = np.tril(np.triu(rng.normal(size=(n, n))), width)
    F[rng.random(n) < 0.2] = 0.0  # not of full rank
    P = F @ F.T
    assert not is_dominant_matrix(P)
    check_semidefinite(hessian_of(as_csc("P", P), n))
    i = int(rng.integers(n))
    P[i, i] -= np.linalg.norm(F[i]) ** 2 + 1e-4
    with pytest.raises(socp.ProgramError, match="eliminating variable"):
        check_semidefinite(hessian_of(as_csc("P", P), n))


def is_dominant_matrix(P):
    return (2 * P.diagonal() >= np.abs(P).sum(axis=0)).all()


def kernel_of_samples(n, rank, seed=0):
    """Return the linear kernel of samples whose lengths spread over six powers of ten."""
    X = np.random.default_rng(seed).normal(size=(n, rank)) * np.logspace(-3, 3, n)[:, None]
    return X @ X.T


@pytest.mark.parametrize("place", [(195, 195), (180, 199)])
def test_what_a_low_rank_does_not_explain_is_seen(place):
    P = kernel_of_samples(200, 10)
    i, j = place
    P[i, j] = P[j, i] = P[i, j] - 1e-4 * np.sqrt(P[i, i] * P[j, j])  # no semidefinite matrix has such an entry
    hessian = DenseHessian(P)
    assert hessian._has_low_rank(P.diagonal().max()) and not hessian._find_factor(P.diagonal().max())
    with pytest.raises(ProgramError, match="semidefinite"):
        check_semidefinite(hessian)
    assert has_factor(DenseHessian(np.zeros((70, 70))), np.zeros(70))


def test_the_shift_is_a_share_of_each_entry_and_rounding_of_the_largest():
    diagonal, D, n = np.array([4.0, 0.0, 1e6, -2.0]), np.array([1.0, 2.0, 0.5, 1.0]), 4
    rounding = (64.0 + n) * np.finfo(float).eps
    for scales, factor in ((D, 3.0), (np.zeros(0), 1.0)):
        size = factor * scales**2 if scales.size else np.ones(n)
        expected = 1e-9 * np.maximum(diagonal, 0.0) + rounding * (diagonal / size).max() * size
        shift = np.empty(n)
        set_shift(diagonal, scales, factor, 1e-9, shift)
        np.testing.assert_allclose(shift, expected, rtol=1e-13)


def test_a_variable_that_stands_alone_needs_no_curvature():
    P = sp.csc_array(np.array([[2.0, 3.0, 0.0], [3.0, 8.0, 0.0], [0.0, 0.0, 0.0]]))
    arguments = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data, np.zeros(0), 1.0, 1e-9
    assert is_clearly_semidefinite(3, True, *arguments)
