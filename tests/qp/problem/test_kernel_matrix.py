"""P as the matrix of a kernel between samples, against the matrix written out."""

import pickle

import numpy as np
import pytest

import qp
from socp import ProgramError

CASES = [
    ("linear", {}),
    ("poly", {"degree": 3, "coef0": 1.0, "gamma": 0.3}),
    ("poly", {"degree": 0}),
    ("rbf", {"gamma": 0.2}),
]


def written_out(X, name, gamma=1.0, coef0=0.0, degree=3):
    products = X @ X.T
    if name == "linear":
        return products
    if name == "poly":
        return (gamma * products + coef0) ** degree
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("name, parameters", CASES)
@pytest.mark.parametrize("sides", [1, 2])
def test_all_that_is_asked_of_it_is_that_of_the_matrix(name, parameters, sides):
    rng = np.random.default_rng(0)
    X, signs, v = 3.0 + rng.normal(size=(70, 5)), rng.choice([-1.0, 1.0], 70 * sides), rng.normal(size=70 * sides)
    full = np.tile(written_out(X, name, **parameters), (sides, sides)) * signs * signs[:, None]
    size = np.abs(full).max()
    for kernel in (
        name,
        lambda A, B: np.array(qp.KernelMatrix(np.vstack([A, B]), name, **parameters).toarray()[: len(A), len(A) :]),
    ):
        P = qp.KernelMatrix(X, kernel, signs=signs, **parameters)
        which = np.array([3, 69, 0, 70 * sides - 1])
        assert P.shape == full.shape
        np.testing.assert_allclose(P.toarray(), full, atol=1e-13 * size)
        np.testing.assert_allclose(P.diagonal(), full.diagonal(), atol=1e-13 * size)
        np.testing.assert_allclose(P @ v, full @ v, atol=1e-12 * size)
        np.testing.assert_allclose(P.rows(which), full[which], atol=1e-13 * size)
        np.testing.assert_allclose(P.among(which), full[np.ix_(which, which)], atol=1e-13 * size)


def test_it_knows_which_kernels_are_semidefinite():
    X = np.ones((3, 2))
    assert qp.KernelMatrix(X, "rbf").is_semidefinite and qp.KernelMatrix(X, "poly", coef0=1.0).is_semidefinite
    assert not qp.KernelMatrix(X, "poly", coef0=-1.0).is_semidefinite
    assert not qp.KernelMatrix(X, lambda A, B: A @ B.T).is_semidefinite


def test_it_pickles_as_its_samples():
    P = qp.KernelMatrix(np.arange(6.0).reshape(3, 2), "rbf", gamma=0.1)
    before = P @ np.ones(3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(P)) @ np.ones(3), before)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"kernel": "tanh"}, "kernel must be one of linear, poly, rbf or a function"),
        ({"kernel": "rbf", "signs": [1.0, 2.0, 1.0]}, r"signs must be \+1 and -1"),
        ({"kernel": "rbf", "signs": [1.0, -1.0]}, "a multiple"),
        ({"kernel": "rbf", "cache_size": 0.0}, "cache_size must be above 0"),
        ({"kernel": "poly", "degree": 1.5}, "degree must be a whole number"),
        ({"kernel": "rbf", "samples": np.array([[np.nan]])}, "samples must be a matrix of finite numbers"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ProgramError, match=words):
        qp.KernelMatrix(**{"samples": np.ones((3, 2)), **arguments})


def test_a_program_wants_one_variable_a_sign():
    with pytest.raises(ValueError, match="P must"):
        qp.QuadraticProgram(qp.KernelMatrix(np.ones((3, 2)), "rbf"), np.ones(4))
