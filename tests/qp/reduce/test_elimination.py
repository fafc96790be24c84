"""Definitions of variables by equalities: the reduced program against the program."""

from __future__ import annotations

import numpy as np
import pytest

from qp.reduce.elimination import elimination_of, fits, lift, reduce_vectors, reduced_matrices
from tests.support.defined import KINDS, dynamics


def parts(program):
    """Return the elimination of a program, and P, rows, cost, lower and upper sides of the reduced program."""
    e = elimination_of(program)
    P, rows = reduced_matrices(program, e)
    lower, upper = np.empty(sum(rows.shape)), np.empty(sum(rows.shape))
    reduce_vectors(e, program.q, program.l, program.u, program.lb, program.ub, lower, upper)
    return e, P, rows, e.cost.copy(), lower, upper


def lifted(program, e, v, w):
    """Return the point of `program` for a point v and multipliers w of the reduced program."""
    x, multipliers = np.empty(program.n), np.empty(program.m + program.n)
    lift(e, program.q, program.u, program.lb, v, w, x, multipliers)
    return x, *np.split(multipliers, [program.m])


@pytest.mark.parametrize("kind", KINDS)
def test_the_reduced_program_has_the_objective_the_rows_and_the_gradient_of_the_program(kind):
    rng = np.random.default_rng(1)
    program = KINDS[kind](rng)
    e, P, rows, cost, lower, upper = parts(program)
    A, dense = program.A.toarray(), program.hessian.dense()
    v, other = rng.normal(size=(2, cost.size))
    w = rng.normal(size=lower.size)
    (x, y, z), x_other = lifted(program, e, v, w), lifted(program, e, other, w)[0]

    equal = program.l[e.rows]
    assert np.allclose(A[e.rows] @ x, equal, atol=1e-12)
    assert np.array_equal(x[e.independent], v) and np.array_equal(x[e.given], program.lb[e.given])

    def objective(x):
        return 0.5 * x @ dense @ x + program.q @ x

    def reduced(v):
        return 0.5 * v @ P @ v + cost @ v

    assert np.isclose(objective(x) - objective(x_other), reduced(v) - reduced(other), atol=1e-10)
    values = np.concatenate([A[e.kept] @ x, x[e.bounded], x[e.independent]])
    own = np.concatenate([rows @ v, v])
    sides = [
        np.concatenate([s[e.kept], b[e.bounded], b[e.independent]])
        for s, b in ((program.l, program.lb), (program.u, program.ub))
    ]
    for given, found in zip(sides, (lower, upper)):
        finite = np.isfinite(given)
        assert np.array_equal(finite, np.isfinite(found))
        assert np.allclose((values - given)[finite], (own - found)[finite], atol=1e-11)

    gradient = dense @ x + program.q + A.T @ y + z
    of_v = P @ v + cost + rows.T @ w[: rows.shape[0]] + w[rows.shape[0] :]
    scale = 1.0 + np.abs(y).max(initial=0.0)
    assert np.allclose(gradient[np.concatenate([e.variables, e.given])], 0.0, atol=1e-11 * scale)
    assert np.allclose(gradient[e.independent], of_v, atol=1e-10 * scale)
    assert np.array_equal(z[e.bounded], w[e.kept.size : rows.shape[0]])


@pytest.mark.parametrize(
    ("kind", "left"),
    [("dynamics", 12), ("x_0 in rows", 12), ("x_0 fixed", 12), ("mixed_up", 12), ("residual", 4), ("inventory", 15),
     ("differences", 20), ("tree", 15), ("soft", 40)],
)  # fmt: skip
def test_all_variables_that_are_defined_are_found(kind, left):
    program = KINDS[kind](np.random.default_rng(2))
    e = elimination_of(program)
    assert e.independent.size == left and e.count + e.given.size == program.n - left
    # The rows come from variables that were known before.
    known = set(e.independent.tolist()) | set(e.given.tolist())
    for i, j in zip(e.rows, e.variables):
        columns = set(np.flatnonzero(program.A[[int(i)]].toarray()[0]).tolist())
        assert columns - known == {int(j)}
        known.add(int(j))


def test_inputs_are_not_solved_for():
    # With a large B the inputs would be the largest entries of the last rows, and x the inverse system.
    program = dynamics(np.random.default_rng(3), N=40, nx=4, nu=2)
    e = elimination_of(program)
    assert e.independent.tolist() == list(range(160, 240))
    assert reduced_matrices(program, e) is not None


def test_definitions_that_grow_are_refused():
    program = dynamics(np.random.default_rng(3), N=40, nx=2, nu=1)
    A = program.A.copy()
    A.data[A.data == -1.0] = -0.3
    grown = program.of_checked(**{**vars(program), "A": A})
    assert reduced_matrices(grown, elimination_of(grown)) is None


def test_small_coefficients_define_nothing():
    program = dynamics(np.random.default_rng(4), N=1, nx=2, nu=2)
    A = program.A.copy()
    A.data[A.data == -1.0] = -1e-9
    tiny = program.of_checked(**{**vars(program), "A": A})
    e = elimination_of(tiny)
    assert e is None or not set(e.variables.tolist()) & {0, 1}


def test_other_kinds_of_sides_do_not_fit():
    program = dynamics(np.random.default_rng(5))
    e = elimination_of(program)
    sides = program.l, program.u, program.lb, program.ub
    assert fits(e, *sides)
    for k, value in ((0, -9.0), (2, program.ub[0]), (3, np.inf)):
        changed = [side.copy() for side in sides]
        changed[k][0] = value
        assert fits(e, *changed) == (k == 3)  # a bound may go: its row has an infinite side then
