"""Fast sufficient tests of a semidefinite P, and the refusal of indefinite ones."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp import ConeProgram, ProgramError
from socp.form.convexity import (
    DIRECT,
    check_semidefinite,
    has_factor,
    is_clearly_semidefinite,
    is_dominant,
    set_shift,
)
from socp.problem.checks import EPS, as_csc
from socp.problem.hessian import GLANCE, DenseHessian, hessian_of


def test_the_variable_that_is_named_has_a_negative_curvature():
    # negative entries of the size of the largest entry's rounding are no curvature
    for others, message in ((0, r"v'Pv = -2 v'v for a vector v in variable 4: 1 of"), (DIRECT, "v'Pv = -[12] v'v")):
        P = hessian_of(as_csc("P", sp.diags_array([1.0, -1e-17, 0.0, -1.0, -2.0, *np.zeros(others)])), 5 + others)
        with pytest.raises(socp.ProgramError, match=message):
            check_semidefinite(P)


@pytest.mark.parametrize("n", [4, 2 * GLANCE, DIRECT + 2])
@pytest.mark.parametrize("kind", [np.array, sp.csc_array])
def test_a_refusal_tells_how_negative_p_is_where_and_a_remedy_that_works(n, kind):
    D = np.logspace(-3, 3, n)
    P = np.kron(np.eye(n // 2), [[1.0, 0.5], [0.5, 1.0]])
    P[2:4, 2:4] = 1.0 + 1e-9 * (1.0 - np.eye(2))
    P *= D * D[:, None]
    with pytest.raises(ProgramError) as error:
        socp.Solver(ConeProgram(np.zeros(n), P=kind(P)))
    found = re.search(
        r"= (\S+) v'v .* variables (\d+) and (\d+): 1e-09 of .* add (at least )?(\S+) times", str(error.value)
    )
    assert found and [*map(int, found.group(2, 3))] == [2, 3] and "LowRank(F)" in str(error.value)
    v = np.array([1.0, -1.0]) / D[2:4]
    assert float(found[1]) == pytest.approx(v @ P[2:4, 2:4] @ v / (v @ v), rel=1e-2)
    socp.Solver(ConeProgram(np.zeros(n), P=kind(P + float(found[5]) * np.diag(P.diagonal()))))


@pytest.mark.parametrize("scale", [1.0, 1e-4])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
@pytest.mark.parametrize("n", [4, 60, 2 * GLANCE])
def test_semidefinite_up_to_the_rounding_of_the_type_in_which_p_came(n, kind, scale):
    rng, eps = np.random.default_rng(n), np.finfo(kind).eps
    limit = min((64.0 + 8.0 * n) * eps, 2.0 * np.sqrt(eps))
    forms = (np.array, np.asfortranarray) if kind == "float16" else (np.array, sp.csr_array)  # as scipy has no float16
    D = np.where(np.arange(n) % 2, 1.0, 1.0 if kind == "float16" else scale)
    X = (D[:, None] * rng.normal(size=(n, max(2, n // 3))) / 4.0).astype(kind)
    for P in (X @ X.T, (X * rng.uniform(0.5, 2.0, X.shape[1]).astype(kind)) @ X.T, np.cov(X).astype(kind)):
        for form in forms:
            socp.Solver(ConeProgram(np.zeros(n), P=form(P)))
    for share, is_refused in ((0.3, False), (3.0, True)):  # the eigenvalue along (1, ..., 1) / D
        P = ((np.eye(n) - (1.0 + share * limit) / n) * D * D[:, None]).astype(kind)
        for form in forms:
            if not is_refused:
                socp.Solver(ConeProgram(np.zeros(n), P=form(P)))
                continue
            with pytest.raises(ProgramError, match=f"the rounding of {kind} explains {limit:.2g}"):
                socp.Solver(ConeProgram(np.zeros(n), P=form(P)))


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
    return is_clearly_semidefinite(*places, np.ones(0), 1.0, EPS)


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
    with pytest.raises(socp.ProgramError, match="P must be positive semidefinite"):
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
    assert has_factor(DenseHessian(np.zeros((70, 70))), EPS, np.ones(70))


def test_the_shift_is_a_share_of_each_entry_and_rounding_in_rows_of_rounding():
    P = np.diag([4.0, 0.0, 1e6, 1e-20, -2.0, 1e-11, 1e-9])
    P[1, 5] = P[5, 1] = 2e-11
    is_rounding = [1, 5]  # of 1e6; 1e-20 belongs to a variable in another unit, and 1e-9 is a curvature
    n, D, share = 7, np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0]), (64.0 + 8.0 * 7) * EPS
    for scales, factor in ((D, 3.0), (np.zeros(0), 1.0)):
        size = factor * scales**2 if scales.size else np.ones(n)
        expected, root = share * np.maximum(P.diagonal(), 0.0), np.sqrt(size)
        expected[is_rounding] = share * 1e6
        full = P * root * root[:, None]
        csc = as_csc("P", full)
        for form in ((False, csc.indptr, csc.indices, full.ravel()), (True, csc.indptr, csc.indices, csc.data)):
            shift = np.empty(n)
            set_shift(*form, scales, factor, EPS, shift)
            np.testing.assert_allclose(shift, expected * size, rtol=1e-13)
    zero = np.empty(2)
    set_shift(False, csc.indptr, csc.indices, np.zeros(4), np.zeros(0), 1.0, EPS, zero)
    assert (zero == 1.0).all()


def test_a_variable_that_stands_alone_needs_no_curvature():
    P = sp.csc_array(np.array([[2.0, 3.0, 0.0], [3.0, 8.0, 0.0], [0.0, 0.0, 0.0]]))
    arguments = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data, np.zeros(0), 1.0, 1e-9
    assert is_clearly_semidefinite(3, True, *arguments)
