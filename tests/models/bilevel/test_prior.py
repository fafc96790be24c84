"""Covariances in their three forms, and the generative prior."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import socp
from models import GenerativePrior
from models.bilevel.covariance import Covariance
from models.bilevel.radii import Directions
from tests.support.bilevel_problems import random_problem


@pytest.mark.parametrize(("value", "kind"), [
    (2.0, "scalar"),
    (np.full(3, 2.0), "scalar"),
    (2.0 * np.eye(3), "scalar"),
    ([1.0, 0.0, 4.0], "diagonal"),
    (np.diag([1.0, 2.0, 4.0]), "diagonal"),
    (sp.diags_array([1.0, 2.0, 4.0]), "diagonal"),
    (np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), "full"),
    (np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), "full"),
    (1e-20 * np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), "full"),
])  # fmt: skip
def test_a_covariance_does_what_its_matrix_does(value, kind):
    S = Covariance(value, 3)
    matrix = np.asarray(value.toarray() if sp.issparse(value) else value, dtype=float)
    matrix = matrix * np.eye(3) if matrix.ndim == 0 else np.diag(matrix) if matrix.ndim == 1 else matrix
    w = np.array([0.5, -1.0, 2.0])
    R = S.root_matrix().toarray()
    assert S.kind == kind
    assert np.allclose(R.T @ R, matrix, atol=1e-9 * matrix.max())
    assert np.allclose(S.times(w), matrix @ w)
    assert S.length(w) == pytest.approx(np.sqrt(w @ matrix @ w))
    values = np.linalg.eigvalsh(matrix)
    assert np.allclose(S.extreme_eigenvalues(), (max(0.0, values[0]), values[-1]))
    positive = values[values > 1e-9 * values[-1]]
    assert S.support()[0] == positive.size
    assert S.support()[1] == pytest.approx(np.log(positive).sum())


@pytest.mark.parametrize(("value", "words"), [
    ("wide", "S must be a number, a vector or a matrix"),
    ([1.0, 2.0], r"S must be a number, have shape \(3,\) or \(3, 3\) for 3 features, but \(2,\) came"),
    ([1.0, np.nan, 1.0], "S must be finite"),
    ([1.0, -1.0, 1.0], "S must have nonnegative variances, but -1 came"),
    (np.triu(np.ones((3, 3))), "S must be symmetric"),
    (np.ones((3, 3)) - 2 * np.eye(3), "S must be positive semidefinite, but it has the eigenvalue -2"),
])  # fmt: skip
def test_what_is_no_covariance_is_refused(value, words):
    with pytest.raises(socp.ProgramError, match=words):
        Covariance(value, 3, "S")


@pytest.mark.parametrize(("arguments", "words"), [
    ((1.0, (1.0, 1.0)), "t must be a pair"),
    ((([0.0], [1.0, 2.0]), (1.0, 1.0)), "t must hold two vectors of one length, but lengths 1 and 2 came"),
    ((([0.0], [np.nan]), (1.0, 1.0)), r"t\[1\] must be a finite vector"),
    ((([0.0], [1.0]), 1.0), "Omega must be a pair"),
    ((([0.0], [1.0]), (1.0, 1.0), (1.0, -1.0)), r"Sigma\[1\] must have nonnegative variances"),
])  # fmt: skip
def test_a_wrong_prior_is_refused_by_name(arguments, words):
    with pytest.raises(socp.ProgramError, match=words):
        GenerativePrior(*arguments)


def test_a_prior_from_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)), np.repeat(["a", "b"], 10)
    weights = rng.integers(1, 4, 20)
    prior = GenerativePrior.from_samples(X, y, weights)
    copies, labels = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    for k, name in enumerate("ab"):
        own = copies[labels == name]
        assert np.allclose(prior.t[k], own.mean(axis=0))
        assert np.allclose(prior.Omega[k].value, own.var(axis=0) / len(own))
        others = copies[labels != name]
        pooled = (len(own) * own.var(axis=0) + len(others) * others.var(axis=0)) / len(copies)
        assert np.allclose(prior.Sigma[k].value, pooled)
    sparse = GenerativePrior.from_samples(sp.csr_array(X), y, weights)
    assert np.allclose(sparse.t, prior.t) and np.allclose(sparse.Omega[1].value, prior.Omega[1].value)
    with pytest.raises(socp.ProgramError, match="y must hold two labels, but 3 came"):
        GenerativePrior.from_samples(X[:3], [0, 1, 2])


def test_the_largest_beta_is_the_largest_share_of_the_spreads_between_the_means():
    for seed in range(14):
        _, prior, _ = random_problem(seed)
        apart = prior.t[1] - prior.t[0]
        if not prior.Sigma[0].length(apart):
            assert prior.largest_beta() == np.inf
            continue
        found = minimize(lambda w: -(w @ apart) / sum(S.length(w) for S in prior.Sigma), apart, tol=1e-12)  # noqa: B023
        assert prior.largest_beta() == pytest.approx(-found.fun, rel=1e-6)
    assert GenerativePrior(([1.0, 1.0], [1.0, 1.0]), (1.0, 1.0)).largest_beta() == 0.0
    none = np.array([4.0, 0.0])  # no variance along the second feature
    for means, Sigma, expected in (
        (([0.0, 0.0], [3.0, 0.0]), (none, none), 0.75), (([0.0, 0.0], [3.0, 1e-9]), (none, none), np.inf),
        (([0.0, 0.0], [3.0, 4.0]), (0.0, 0.0), np.inf), (([0.0, 0.0], [3.0, 4.0]), (0.0, 4.0), 2.5),
        (([0.0, 0.0], [3.0, 0.0]), (none, np.array([1.0, 9.0])), 1.0),
    ):  # fmt: skip
        assert GenerativePrior(means, Sigma, Sigma).largest_beta() == pytest.approx(expected)


def test_the_usual_reach_is_that_of_a_margin_of_one_between_the_means():
    covariance, w = np.diag([4.0, 1.0]), np.array([3.0, 4.0])
    for means, Omega, usual in (
        (([-1.0, 0.0], [3.0, 0.0]), covariance, 2.0 * 2.0 * 4.0 / 16.0),
        (([1.0, 2.0], [1.0, 2.0]), covariance, 1.0),
        (([-1.0, 0.0], [3.0, 0.0]), 0.0 * covariance, 1.0),
    ):
        found = Directions.of(GenerativePrior(means, (Omega, np.eye(2))), w, np.zeros(2))
        length = np.sqrt(w @ Omega @ w)
        assert found.usual[0] == usual and found.reach == pytest.approx([length, 5.0])
        np.testing.assert_allclose(found.g, [Omega @ w / (length or 1.0), w / 5.0])
