"""P as the matrix of a kernel between samples, against the matrix written out."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest

import models
import qp
from models import KernelMatrix, KernelProgram
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
        lambda A, B: np.array(KernelMatrix(np.vstack([A, B]), name, **parameters).toarray()[: len(A), len(A) :]),
    ):
        P = KernelMatrix(X, kernel, signs=signs, **parameters)
        which = np.array([3, 69, 0, 70 * sides - 1])
        assert P.shape == full.shape
        np.testing.assert_allclose(P.toarray(), full, atol=1e-13 * size)
        np.testing.assert_allclose(P.diagonal(), full.diagonal(), atol=1e-13 * size)
        np.testing.assert_allclose(P @ v, full @ v, atol=1e-12 * size)
        rows = P.signs[which][:, None] * np.tile(P.kernel_rows(which % P.count), P.sides) * P.signs
        np.testing.assert_allclose(rows, full[which], atol=1e-13 * size)
        np.testing.assert_allclose(P.among(which), full[np.ix_(which, which)], atol=1e-13 * size)


def test_it_knows_which_kernels_are_semidefinite():
    X = np.ones((3, 2))
    assert KernelMatrix(X, "rbf").is_semidefinite and KernelMatrix(X, "poly", coef0=1.0).is_semidefinite
    assert not KernelMatrix(X, "poly", coef0=-1.0).is_semidefinite
    assert not KernelMatrix(X, lambda A, B: A @ B.T).is_semidefinite


def test_it_pickles_as_its_samples():
    P = KernelMatrix(np.arange(6.0).reshape(3, 2), "rbf", gamma=0.1)
    before = P @ np.ones(3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(P)) @ np.ones(3), before)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"kernel": "tanh"}, "kernel must be one of 'linear', 'poly', 'rbf' or a function, but 'tanh' came"),
        ({"kernel": "sigmoid"}, "kernel='sigmoid' is not positive semidefinite"),
        ({"kernel": "rbf", "signs": [1.0, 2.0, 1.0]}, r"signs must be \+1 and -1"),
        ({"kernel": "rbf", "signs": [1.0, -1.0]}, "a multiple"),
        ({"kernel": "rbf", "cache_size": 0.0}, "cache_size must be above 0"),
        ({"kernel": "rbf", "samples": np.array([[np.nan]])}, r"samples must be finite, but samples\[0, 0\] is nan"),
        ({"kernel": "rbf", "samples": np.array([[1j]])}, "samples must be real"),
        ({"kernel": "rbf", "samples": np.ones(3)}, "samples must be a matrix"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "what kernel returns must be finite"),
        ({"kernel": lambda A, B: np.ones((len(A), 1 + len(B)))}, r"what kernel returns must have shape \(3, 3\)"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ProgramError, match=words):
        KernelMatrix(**{"samples": np.ones((3, 2)), **arguments}).toarray()


NO_NUMBERS = (
    "1",
    None,
    True,
    np.True_,
    1j,
    np.complex128(1.0),
    np.ones(1),
    [1.0],
    np.nan,
    np.inf,
    -np.inf,
)
REFUSED = {
    "gamma": (*NO_NUMBERS[1:], -np.inf, -0.5, -1e-300), "coef0": (*NO_NUMBERS, -np.inf),
    "degree": (*NO_NUMBERS, -np.inf, -1, 1.5, 1001, 10**400),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_are_refused_by_the_matrix_the_kernel_and_the_estimators_in_the_same_words(name):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    for kernel, value in itertools.product(("linear", "poly", "rbf"), REFUSED[name]):
        said = set()
        for make in (
            lambda **parameter: KernelMatrix(X, kernel, **parameter),  # noqa: B023
            lambda **parameter: models.Kernel(kernel, **parameter),  # noqa: B023
            lambda **parameter: models.SVC(kernel=kernel, **parameter).fit(X, y),  # noqa: B023
            lambda **parameter: models.OneClassSVM(kernel=kernel, **parameter).fit(X),  # noqa: B023
        ):
            with pytest.raises(ProgramError, match=rf"^{name} must be a (finite|whole) number.* came$") as error:
                make(**{name: value})
            said.add(str(error.value))
        assert len(said) == 1


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int8(2), Fraction(2), np.array(2.0)])
def test_parameters_may_be_any_real_number(value):
    P = KernelMatrix(np.ones((3, 2)), "poly", gamma=value, coef0=value, degree=value)
    assert (P.gamma, P.coef0, P.degree) == (2.0, 2.0, 2) and type(P.degree) is int and type(P.gamma) is float


@pytest.mark.parametrize(
    "kernel, size, parameters",
    [
        ("rbf", 1.0, {"gamma": 1e308}), ("rbf", 1e-200, {"gamma": 1e308}), ("rbf", 1e200, {"gamma": 1e-300}),
        ("rbf", 1e150, {"gamma": 1e10}), ("poly", 1e100, {"coef0": 1.0}), ("poly", 2.0, {"degree": 1000}),
        ("poly", 1e160, {"degree": 0}), ("linear", 1e160, {}), ("poly", 1e80, {"coef0": 6.1e161, "degree": 2}),
    ],
)  # fmt: skip
def test_a_kernel_out_of_range_is_refused(kernel, size, parameters):
    """Kernels that overflow would give a P of NaN or infinite entries."""
    with pytest.raises(ProgramError, match=f"samples are too large for kernel='{kernel}', gamma="):
        KernelMatrix(size * np.arange(1.0, 7.0).reshape(3, 2), kernel, **parameters)


def test_a_program_wants_one_variable_a_sign():
    for kind in (KernelProgram, qp.QuadraticProgram):
        with pytest.raises(ValueError, match="P must have shape"):
            kind(KernelMatrix(np.ones((3, 2)), "rbf"), np.ones(4))
    with pytest.raises(ValueError, match="P must be a KernelMatrix, but a ndarray came"):
        KernelProgram(np.eye(3), np.ones(3))


def test_what_rounding_would_take_of_a_matrix_is_there():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    P = KernelMatrix(1e6 + X, "rbf", gamma=0.2).toarray()
    np.testing.assert_allclose(P, written_out(X, "rbf", gamma=0.2), atol=1e-9)  # also far from the origin
    np.testing.assert_array_equal(P.diagonal(), 1.0)
    P = KernelMatrix(X, lambda A, B: A @ B.T + 1e-14 * A[:, :1]).toarray()
    np.testing.assert_array_equal(P, P.T)


def test_rows_along_the_signs():
    signs, A = np.array([1.0, -1.0, -1.0, 1.0]), np.zeros((3, 4))
    P = KernelMatrix(np.eye(4, 2), "linear", signs=signs)

    def along(rows, l, u, **more):
        found = KernelProgram(P, np.zeros(4), rows, l, u, **more).rows_along_signs()
        return None if found is None else [part if isinstance(part, list) else part.tolist() for part in found]

    assert along(None, None, None) == [[], [], [0, 4, 4]]
    assert along([2.0 * signs], 0.0, 0.0) == [[0], [2.0], [0, 4, 4]]
    A[0], A[1, :3], A[2, 3] = [1.0, 2.0, 3.0, 4.0], -0.5 * signs[:3], 3.0 * signs[3]
    assert along(A, [-np.inf, 1.0, 2.0], [np.inf, 1.0, 2.0]) == [[1, 2], [-0.5, 3.0], [0, 3, 4]]
    assert along(A[1:], [1.0, 2.0], [1.5, 2.0]) is along(A, 0.0, 0.0) is along(A[[2, 1]], 1.0, 1.0) is None
    assert along([signs * [1, 1, 1, 2]], 0.0, 0.0) is along([np.abs(signs)], 0.0, 0.0) is None
    first = np.arange(4) < 2
    for rows in (  # that alternate, share variables, leave one out, and both
        [signs * (signs > 0.0), signs * (signs < 0.0)], [signs, signs * first],
        [signs * (np.arange(4) < 1), signs * ~first], [[*signs[:2], 0.0, 0.0], [0.0, *signs[2:], 0.0]],
    ):  # fmt: skip
        assert along(rows, 0.0, 0.0) is None


def test_in_full_it_is_an_array_of_which_memory_is_asked_before():
    asked = []
    P = KernelMatrix(np.eye(4, 2), "linear", signs=[1.0, -1.0, -1.0, 1.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("socp.problem.hessian.check_memory", lambda size, what: asked.append((size, what)))
        for program in (KernelProgram(P, np.zeros(4)).plain(), qp.QuadraticProgram(P, np.zeros(4))):
            assert type(program) is qp.QuadraticProgram and np.array_equal(program.P.toarray(), P.toarray())
    assert asked == 2 * [(8.0 * 16, "P in full, 4 by 4,")]
    assert np.asarray(P, dtype=np.float32).dtype == np.float32
