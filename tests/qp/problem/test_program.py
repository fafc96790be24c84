"""Quadratic programs: accepted arguments, and every wrong argument refused by name."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from qp import QuadraticProgram
from socp import LowRank, ProgramError

GOOD = {
    "P": np.diag([1.0, 0.0, 2.0]), "q": [1.0, 2.0, 3.0], "A": [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], "l": [-1.0, -np.inf],
    "u": [1.0, 2.0], "lb": [0.0, -np.inf, 1.0], "ub": [np.inf, np.inf, 1.0], "offset": 4.0,
}  # fmt: skip


def test_good():
    program = QuadraticProgram(**GOOD)
    assert (program.n, program.m, program.offset) == (3, 2, 4.0)
    for name in ("q", "l", "u", "lb", "ub"):
        np.testing.assert_array_equal(getattr(program, name), GOOD[name])
    assert repr(program) == "QuadraticProgram(n=3, m=2)"
    copy = pickle.loads(pickle.dumps(program))
    np.testing.assert_array_equal(copy.A.toarray(), GOOD["A"])


@pytest.mark.parametrize("name", ["q", "l", "u", "lb", "ub"])
def test_each_vector_may_be_another_one(name):
    program = QuadraticProgram(**GOOD)
    value = 0.5 * np.where(np.isfinite(getattr(program, name)), getattr(program, name), 0.0)
    value = {"l": value - 1.0, "u": value + 1.0, "lb": value - 1.0, "ub": value + 1.0}.get(name, value)
    other = program.with_data(**{name: value})
    for each in ("q", "l", "u", "lb", "ub"):
        np.testing.assert_array_equal(getattr(other, each), value if each == name else getattr(program, each))
    with pytest.raises(ProgramError, match=f"{name} must have {value.size} entries"):
        program.with_data(**{name: np.ones(7)})
    with pytest.raises(ProgramError, match=name):
        program.with_data(**{name: np.full(value.size, np.nan)})


def test_what_is_absent():
    program = QuadraticProgram(None, [1.0, 2.0])
    assert program.P is None and program.A.shape == (0, 2) and program.l.size == program.u.size == 0
    np.testing.assert_array_equal(program.lb, [-np.inf] * 2)
    np.testing.assert_array_equal(program.ub, [np.inf] * 2)
    one_sided = QuadraticProgram(None, [1.0], A=[[1.0]], u=[3.0])
    np.testing.assert_array_equal(one_sided.l, [-np.inf])


def test_numbers_stand_for_all_entries():
    program = QuadraticProgram(**(GOOD | {"l": -1, "u": np.float32(5), "lb": -np.inf, "ub": 7}))
    np.testing.assert_array_equal(program.u, [5.0, 5.0])
    np.testing.assert_array_equal(program.lb, [-np.inf] * 3)
    np.testing.assert_array_equal(program.ub, [7.0] * 3)


def test_sides_of_1e20_are_infinite():
    program = QuadraticProgram(**(GOOD | {"l": [-1e20, -1e19], "u": [1e30, 2.0], "lb": -1.797e308, "ub": 1e20}))
    np.testing.assert_array_equal(program.l, [-np.inf, -1e19])
    np.testing.assert_array_equal(program.u, [np.inf, 2.0])
    np.testing.assert_array_equal(program.lb, [-np.inf] * 3)
    np.testing.assert_array_equal(program.ub, [np.inf] * 3)


@pytest.mark.parametrize("change, message", [
    ({"q": None}, "q"),
    ({"P": np.eye(2)}, "P must have shape (3, 3) (3 variables in q), but (2, 2) came"),
    ({"P": sp.csc_array(np.triu(np.ones((3, 3))))}, "P must be symmetric, but "),
    ({"P": LowRank(np.ones((2, 1)))}, "P must have shape (3, 3) (3 variables in q), but (2, 2) came"),
    ({"A": None}, "l and u are the sides of the rows of A, but A is missing"),
    ({"l": None, "u": None}, "A came without the sides of its rows, l <= Ax <= u"),
    ({"A": np.ones((2, 2))}, "A must have shape (any, 3) (3 variables in q), but (2, 2) came"),
    ({"l": [1.0]}, "l must have 2 entries (the rows of A), but 1 came"),
    ({"u": [1.0, 2.0, 3.0]}, "u must have 2 entries (the rows of A), but 3 came"),
    ({"l": [np.nan, 0]}, "l must not be NaN, but l[0] is"),
    ({"l": [np.inf, 0]}, "l[0] is inf: that side can never hold"),
    ({"u": [1, -np.inf]}, "u[1] is -inf: that side can never hold"),
    ({"lb": [0, 0]}, "lb must have 3 entries (3 variables in q), but 2 came"),
    ({"lb": np.inf}, "lb[0] is inf: that side can never hold"),
    ({"lb": 1e20}, "lb[0] is inf: that side can never hold"),
    ({"offset": None}, "offset must be a finite number, but None came"),
    ({"offset": np.inf}, "offset must be a finite number, but inf came"),
])  # fmt: skip
def test_one_wrong_argument(change, message):
    with pytest.raises(ProgramError, match="^" + re.escape(message)):
        QuadraticProgram(**(GOOD | change))
    if change != {"offset": None}:  # `solve` takes None as no offset
        with pytest.raises(ProgramError, match="^" + re.escape(message)):
            qp.solve(**(GOOD | change))
    if "offset" not in change:
        batch = GOOD | {"q": np.ones((2, 3))} | change
        del batch["offset"]
        with pytest.raises(ProgramError, match="^" + re.escape(message)):
            qp.solve_many(**batch)


def test_solve_takes_a_program_or_its_data_and_not_both():
    program = QuadraticProgram(**GOOD)
    for extra in ({"q": [1.0]}, {"A": [[1.0]]}, {"l": 0}, {"u": 0}, {"lb": 0}, {"ub": 0}):
        with pytest.raises(ProgramError, match=f"a QuadraticProgram came, and {next(iter(extra))} beside it"):
            qp.solve(program, **extra)
    with pytest.raises(ProgramError, match="q, the linear objective, is missing"):
        qp.solve(np.eye(2))
    with pytest.raises(TypeError, match="'eps'"):
        qp.solve(program, eps=1e-3)
    with pytest.raises(TypeError, match="'G'"):
        qp.solve(np.eye(2), [1, 1], G=[[1, 1]])
    with pytest.raises(ProgramError, match="tol must be a positive number"):
        qp.Solver(program, tol=0)


@pytest.mark.parametrize("P", [np.diag([1.0, -1.0]), [[1.0, 2.0], [2.0, 1.0]], sp.csc_array([[0.0, 1.0], [1.0, 0.0]])])
def test_not_semidefinite(P):
    with pytest.raises(ProgramError, match=r"P must be positive semidefinite"):
        qp.Solver(QuadraticProgram(P, [1.0, 1.0], lb=0, ub=1))
