"""Quadratic programs stated by their blocks: terms of the objective, rows, bounds, and changes."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("kind", ["full", "blocks", "low rank", "low rank of one"])
def test_quadratic_terms(rng, kind):
    F = rng.normal(size=(3, 2))
    p = qp.Blocks(v=3) if kind == "full" else qp.Blocks(v=3, d=2, u=2)
    terms = {"v": F @ F.T + np.eye(3) if kind in ("full", "blocks") else qp.LowRank(F, 1.0)}
    expected = F @ F.T + np.eye(3)
    if kind != "full":
        terms |= {"d": np.array([2.0, 3.0]), "u": 4.0}
        expected = sp.block_diag([expected, np.diag([2.0, 3.0]), 4.0 * np.eye(2)]).toarray()
    if kind == "low rank of one":
        terms, expected = {"v": terms["v"]}, sp.block_diag([F @ F.T + np.eye(3), np.zeros((4, 4))]).toarray()
    p.minimize(terms)
    P = p.program().P
    assert isinstance(P, qp.LowRank) == kind.startswith("low rank")
    np.testing.assert_allclose(P if isinstance(P, np.ndarray) else P.toarray(), expected, atol=1e-14)


def test_a_quadratic_program_and_its_changes(rng):
    A, q = rng.normal(size=(2, 3)), rng.normal(size=3)
    p = qp.Blocks(x=3, t=1)
    p.minimize({"x": 1.0, "t": 1.0}, offset=2.0, x=q)
    p.minimize(x=q)
    rows = p.between(-1.0, [1.0, 2.0], x=A, t=1.0)
    budget = p.equal(1.0, x=np.ones(3))
    p.bounds(x=(-3.0, None))
    program = p.program()
    np.testing.assert_array_equal(program.A.toarray(), np.vstack([np.c_[A, [1.0, 1.0]], [1.0, 1.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(program.q, [*(2.0 * q), 0.0])
    assert (program.l.tolist(), program.u.tolist()) == ([-1.0, -1.0, 1.0], [1.0, 2.0, 1.0])
    assert (program.lb.tolist(), program.offset) == ([-3.0, -3.0, -3.0, -np.inf], 2.0)
    solver = qp.Solver(program)
    solver.update(**p.change(budget, 2.0, 2.0, x=[1.0, 2.0, 3.0]))
    solver.update(**p.change(rows, upper=5.0))
    sol = solver.solve()
    np.testing.assert_allclose(np.array([1.0, 2.0, 3.0]) @ sol.x[p.x], 2.0, rtol=1e-7)
    assert solver.program.u.tolist() == [5.0, 5.0, 2.0]


def test_a_block_of_size_zero_is_left_out():
    p = qp.Blocks(w=2, xi=0)
    p.minimize({"w": 1.0, "xi": 1.0}, xi=np.inf)
    p.at_least(1.0, w=np.eye(2), xi=1.0)
    p.bounds(xi=(0.0, None))
    program = p.program()
    assert (program.n, program.m) == (2, 2)
