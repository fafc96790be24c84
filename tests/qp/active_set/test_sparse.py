"""The dual active set over the sparse factors of the equalities, against the interior-point method."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from qp.active_set.sparse import SparseActiveSet
from qp.method import Offer
from qp.plan.switch import COLD
from socp import Status
from socp.problem.settings import Settings
from tests.support.defined import KINDS, dynamics, inventory, mixed_up, residual, soft
from tests.support.programs import check


def over_equalities(program, solved=1 << 20):
    """Return the method for a program of a loop, where no set-up counts, without its limit of time."""
    method = SparseActiveSet.on_trial(program, Settings(), solved)
    method.is_on_trial = False
    return method


def by_interior_point(program):
    return qp.solve(program, tol=1e-10, active_set=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_answers_and_multipliers_are_those_of_the_program(kind, seed):
    program = KINDS[kind](np.random.default_rng(seed))
    method, expected = over_equalities(program), by_interior_point(program)
    equalities = int((program.l == program.u).sum() + (program.lb == program.ub).sum())
    assert f"{program.n - equalities} variables left by {equalities} equalities" in method.plan.what
    found = method.find(False)
    assert found.status is expected.status is Status.OPTIMAL
    assert max(found.primal_residual, found.dual_residual, found.gap) < 1e-11
    scale = 1.0 + np.abs(expected.x).max()
    np.testing.assert_allclose(found.x, expected.x, atol=2e-5 * scale)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8, abs=1e-8)
    # The multipliers of dependent rows are not unique: the gradient that they leave is.
    A = program.A
    np.testing.assert_allclose(A.T @ found.y + found.z_bounds, A.T @ expected.y + expected.z_bounds, atol=1e-4 * scale)
    if kind not in {"flow", "terminal"}:
        np.testing.assert_allclose(found.y, expected.y, atol=1e-3 * (1.0 + np.abs(expected.y).max()))


LONG = {
    "x_0 in the sides": lambda rng: dynamics(rng, N=30),
    "x_0 fixed": lambda rng: dynamics(rng, N=30, given="bounds"),
    "x_0 in rows": lambda rng: dynamics(rng, N=30, given="rows"),
    "soft": lambda rng: soft(rng, N=20),
    "mixed_up": lambda rng: mixed_up(rng, N=30),
    "inventory": lambda rng: inventory(rng, T=100),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_loop_of_warm_starts_goes_over_and_stays_right(kind):
    rng = np.random.default_rng(7)
    program = LONG[kind](rng)
    solver, methods = qp.Solver(program), set()
    for _ in range(40):
        move = 1.0 + 0.1 * rng.normal()
        equal = program.l == program.u
        l, u = np.where(equal, move * program.l, program.l), np.where(equal, move * program.u, program.u)
        fixed = program.lb == program.ub
        lb, ub = np.where(fixed, move * program.lb, program.lb), np.where(fixed, move * program.ub, program.ub)
        q = program.q + 0.1 * rng.normal(size=program.n)
        solver.update(q=q, l=l, u=u, lb=lb, ub=ub)
        found = solver.solve(warm_start=True)
        expected = by_interior_point(solver.program)
        assert found.status is expected.status
        if found.status is Status.OPTIMAL:
            if found.plan.method == "dual active set":
                np.testing.assert_allclose(found.x, expected.x, atol=1e-5)
            assert found.objective == pytest.approx(expected.objective, rel=1e-7, abs=1e-7)
        methods.add(type(solver.methods[0]))
    assert SparseActiveSet in methods


@pytest.mark.parametrize("kind", ["x_0 in the sides", "x_0 fixed", "x_0 in rows", "mixed_up"])
def test_a_loop_without_warm_starts_goes_over_and_its_answers_do_not_depend_on_those_before(kind):
    rng = np.random.default_rng(11)
    program = LONG[kind](rng)
    equal = program.l == program.u
    steps = [np.where(equal, move, 1.0) for move in 1.0 + 0.1 * rng.normal(size=(12, 1))]

    def answers(order):
        solver, found = qp.Solver(program), {}
        for _ in range(COLD):
            solver.update(l=program.l, u=program.u)
            assert solver.solve().plan.method == "interior point"
        for k in order:
            solver.update(l=steps[k] * program.l, u=steps[k] * program.u)
            found[k] = solver.solve()
            assert found[k].plan.method == "dual active set"
            check(solver.program, found[k])
            expected = by_interior_point(solver.program)
            assert found[k].objective == pytest.approx(expected.objective, rel=1e-7, abs=1e-7)
        return found

    first, second = answers(range(12)), answers(rng.permutation(12))
    for k in range(12):
        np.testing.assert_array_equal(first[k].x, second[k].x)
        np.testing.assert_array_equal(first[k].y, second[k].y)


@pytest.mark.parametrize("what", ["semidefinite", "many sides"])
def test_a_loop_without_warm_starts_stays_where_rounds_would_cost_more(what):
    """P is only semidefinite where the equalities hold, or most limits are active: the set-up would be in vain."""
    rng = np.random.default_rng(12)
    program = dynamics(rng, N=60)
    n = program.n
    if what == "semidefinite":
        q, given = program.q, {"P": sp.csc_array((n, n))}
    else:
        q, given = 1e3 * rng.normal(size=n), {"lb": np.full(n, -0.3), "ub": np.full(n, 0.3)}
    data = {"P": program.P, "A": program.A, "l": program.l, "u": program.u, "lb": program.lb, "ub": program.ub, **given}
    if what == "many sides":
        x = np.clip(0.1 * rng.normal(size=n), -0.2, 0.2)
        data["l"] = data["u"] = program.A @ x
    solver = qp.Solver(q=q, **data)
    for _ in range(COLD + 2):
        solver.update(q=q * (1.0 + 0.01 * rng.normal(size=n)))
        assert solver.solve().status is Status.OPTIMAL and len(solver.methods) == 1


def test_an_infeasible_program_has_a_certificate_of_its_own_rows():
    program = dynamics(np.random.default_rng(0), N=10)
    sides = program.l.copy()
    sides[:3] = 50.0
    far = program.with_data(l=sides, u=sides)
    method = over_equalities(program)
    method.program = far
    found = method.find(False)
    assert found.status is Status.PRIMAL_INFEASIBLE
    A, y, z = far.A, found.y, found.z_bounds
    assert np.abs(A.T @ y + z).max() < 1e-9
    slope = np.where(y > 0, far.u, far.l) @ y + np.where(z > 0, far.ub, far.lb) @ z
    assert slope == pytest.approx(-1.0, abs=1e-9)


def test_one_solve_of_least_squares_with_its_residuals_as_variables():
    program = residual(np.random.default_rng(0), m=4000, n=6)
    found = qp.solve(program)
    assert "6 variables left by 4000 equalities" in str(found.plan)
    expected = by_interior_point(program)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
    np.testing.assert_allclose(found.y, expected.y, atol=1e-6)


def test_stored_zeros_change_nothing():
    program = dynamics(np.random.default_rng(2))
    A = sp.csc_array(program.A.toarray() + 0.0)
    rows, columns = np.nonzero(np.ones(A.shape))
    full = sp.csc_array((A.toarray().ravel(), (rows, columns)), A.shape)
    assert full.nnz == full.shape[0] * full.shape[1]
    stored = qp.QuadraticProgram(program.P, program.q, full, program.l, program.u, program.lb, program.ub)
    one, other = over_equalities(program).find(False), over_equalities(stored).find(False)
    assert np.array_equal(one.x, other.x) and np.array_equal(one.y, other.y)


def test_a_nonconvex_program_is_refused_although_the_reduced_one_is_convex():
    program = residual(np.random.default_rng(0), m=4000, n=6)
    diagonal = program.P.diagonal()
    diagonal[0] = -1e-3  # F'F outweighs it
    with pytest.raises(qp.ProgramError, match="semidefinite"):
        qp.solve(sp.diags_array(diagonal), program.q, program.A, program.l, program.u, program.lb, program.ub)


def test_sides_of_another_kind_are_left_to_the_other_methods():
    program = dynamics(np.random.default_rng(3))
    method = over_equalities(program)
    u = program.u.copy()
    u[0] += 1.0  # no equality any more
    method.program = program.with_data(u=u)
    assert method.find(False) is None


def test_derivatives_of_its_answers():
    program = dynamics(np.random.default_rng(4))
    found, expected = over_equalities(program).find(False), by_interior_point(program)
    dx = np.random.default_rng(0).normal(size=program.n)
    one, other = found.vjp(dx), expected.vjp(dx)
    assert one.differentiable == other.differentiable
    np.testing.assert_allclose(one.l + one.u, other.l + other.u, atol=1e-5)
    np.testing.assert_allclose(one.q, other.q, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_units_of_the_rows_change_nothing(kind):
    given, rng = KINDS[kind](np.random.default_rng(0)), np.random.default_rng(104)
    units = 10.0 ** rng.integers(-3, 4, given.m)
    l, u = units * given.l, units * given.u
    program = qp.QuadraticProgram(given.P, given.q, sp.diags_array(units) @ given.A, l, u, given.lb, given.ub)
    found, expected = over_equalities(program).find(False), over_equalities(given).find(False)
    assert found.status is expected.status is Status.OPTIMAL
    assert found.objective == pytest.approx(expected.objective, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-6 * (1.0 + np.abs(expected.x).max()))


def test_the_dense_factor_is_no_larger_than_the_rows_that_could_be_active():
    n = 500
    lb = np.append([-0.5, -0.5], np.full(n - 2, -np.inf))
    program = qp.QuadraticProgram(
        sp.eye_array(n), np.ones(n), sp.eye_array(3, n, k=9), [-1, 0, 2], [1, 0, 2], lb, np.inf
    )
    method = over_equalities(program)
    assert method._workspace.work.n == 3  # a row and two bounds
    found = method.find(False)
    assert found.status is Status.OPTIMAL and np.array_equal(found.x[:3], [-0.5, -0.5, -1.0])
    assert np.allclose(found.x[9:12], [-1.0, 0.0, 2.0])


def test_a_single_program_is_looked_at_only_where_few_variables_are_left():
    program = dynamics(np.random.default_rng(0), N=200, nx=4, nu=2)
    assert SparseActiveSet.take(Offer(program, Settings()), None) is None
    assert SparseActiveSet.take(Offer(residual(np.random.default_rng(0), m=4000, n=6), Settings()), None) is not None


def test_a_linear_program_in_a_loop_of_warm_starts():
    rng, n, m = np.random.default_rng(0), 100, 50
    A = sp.csc_array(rng.random((m, n)) * (rng.random((m, n)) < 0.1)) + sp.eye_array(m, n)
    q = -rng.uniform(0.5, 1.5, n)
    solver = qp.Solver(None, q, A, u=np.full(m, 2.0), lb=0.0, ub=1.0)
    for _ in range(20):
        q = q + 0.05 * rng.normal(size=n)
        solver.update(q=q)
        found, expected = solver.solve(warm_start=True), qp.solve(None, q, A, u=np.full(m, 2.0), lb=0.0, ub=1.0)
        assert found.status is Status.OPTIMAL and found.objective == pytest.approx(expected.objective, rel=1e-7)


def test_a_loop_of_own_points_goes_over_and_a_working_set_that_costs_too_much_is_not_factored():
    program = dynamics(np.random.default_rng(0), N=40, nx=4, nu=2)
    solver, rng = qp.Solver(program, active_set=True), np.random.default_rng(1)
    last, methods = solver.solve(), []
    for _ in range(12):
        solver.update(q=program.q + 0.01 * rng.normal(size=program.n))
        last = solver.solve(warm_start=last)
        methods.append(last.plan.method)
    assert last.status is Status.OPTIMAL and methods[-1] == "dual active set"
    method = SparseActiveSet.on_trial(solver.program, Settings(), 1 << 20)
    assert method.is_on_trial and method.start_at(last.x, last.y, last.z_bounds)
    step, method._workspace.step = method._workspace.step, 1e3
    assert method._workspace.work.count > 0 and method.find(True) is None
    method._workspace.step = step
    assert method.find(False).status is Status.OPTIMAL


def test_a_start_in_a_program_of_many_equalities_writes_to_the_rows_of_the_working_set_alone():
    """The set has four rows where the program has 60 equalities and 64 variables."""
    program = residual(np.random.default_rng(3), m=60)
    expected = by_interior_point(program)
    method = over_equalities(program)
    work = method._workspace.work
    assert work.m + work.n == 4
    beyond = work.margin, work.v, work.u, work.Mv, work.Mu, work.L, work.D, work.scale
    kept = [array.copy() for array in beyond]
    for array in beyond[:5]:
        array[:] = 123.0
    assert method.start_at(expected.x, expected.y, expected.z_bounds)
    assert all((array == 123.0).all() for array in beyond[:5])
    np.testing.assert_array_equal(work.scale, kept[-1])
    found = method.find(True)
    assert found.status is Status.OPTIMAL and found.iterations <= 1
    np.testing.assert_allclose(found.x, expected.x, atol=1e-7)
