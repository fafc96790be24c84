"""Quadratic programs solved: known answers, statuses, updates of every kind, warm starts."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.answers.verify import verify
from qp import QuadraticProgram, Solver, engine, interior_point
from qp.active_set.method import ActiveSet
from socp import LowRank, ProgramError, Status
from tests.support.programs import check, planted_quadratic, solve_and_check

pytestmark = pytest.mark.filterwarnings("error")
INF = np.inf
EYE = np.eye(2)

# name: (program, x or None, objective)
OPTIMAL = {
    "no constraints": (QuadraticProgram(2 * EYE, [-2.0, -4.0], offset=1.0), [1, 2], -4.0),
    "box": (QuadraticProgram(2 * EYE, [-3.0, -4.0], lb=0, ub=1), [1, 1], -5.0),
    "linear": (QuadraticProgram(None, [1.0, -1.0], lb=[-2, -3], ub=[5, 7]), [-2, 7], -9.0),
    "upper side": (QuadraticProgram(EYE, [-1, -3], A=[[1, 1]], u=[1], lb=0, ub=2), [0, 1], -2.5),
    "lower side": (QuadraticProgram(EYE, [0, 0], A=[[1, 1]], l=[2]), [1, 1], 1.0),
    "two sides": (QuadraticProgram(EYE, [0, 0], A=[[1, 1]], l=[2], u=[9]), [1, 1], 1.0),
    "equality": (QuadraticProgram(EYE, [0, 0], A=[[3, 4]], l=[5], u=[5]), [0.6, 0.8], 0.5),
    "equalities twice": (QuadraticProgram(EYE, [0, 0], A=[[3, 4], [6, 8]], l=[5, 10], u=[5, 10]), [0.6, 0.8], 0.5),
    "free rows": (QuadraticProgram(EYE, [-1, -1], A=[[1, 1], [1, 2]], l=-INF, u=INF), [1, 1], -1.0),
    "one fixed": (QuadraticProgram(EYE, [1, 1], A=[[1, 1]], l=[1], lb=[-9, 3], ub=[9, 3]), [-1, 3], 7.0),
    "all fixed": (QuadraticProgram(EYE, [1, 1], lb=[1, 2], ub=[1, 2]), [1, 2], 5.5),
    "all fixed, low rank": (QuadraticProgram(LowRank(np.ones((2, 1)), 1), [1, 1], lb=[1, 2], ub=[1, 2]), [1, 2], 10.0),
    "all fixed, with rows": (QuadraticProgram(EYE, [1, 1], [[1, 1]], [0], [3], [1, 2], [1, 2]), [1, 2], 5.5),
    "singular P": (QuadraticProgram(np.diag([2.0, 0]), [-2, 1], lb=[-INF, -3]), [1, -3], -4.0),
    "low rank P": (QuadraticProgram(LowRank([[1.0], [1.0]], [1, 0]), [-1, -0.8], lb=0, ub=1), [0.2, 0.6], -0.34),
    "a zero row": (QuadraticProgram(EYE, [-1, -1], A=[[0, 0], [1, 0]], l=[-1, -9], u=[1, 9]), [1, 1], -1.0),
    "a zero column": (QuadraticProgram(np.diag([1.0, 0]), [-1, 0], A=[[1, 0]], u=[0.5]), None, -0.375),
    "a row with one entry": (QuadraticProgram(EYE, [-1, -1], A=[[2, 0]], u=[1]), [0.5, 1], -0.875),
    "rows thrice": (QuadraticProgram(EYE, [-9, -9], A=[[1, 1], [-1, -1], [2, 2]], u=[3, 8, 4]), [1, 1], -17.0),
    "very wide sides": (QuadraticProgram(EYE, [-1, -1], A=[[1, 1]], l=[-1e14], u=[1e14], ub=1e6), [1, 1], -1.0),
    "nothing": (QuadraticProgram(None, []), [], 0.0),
}  # fmt: skip

PRIMAL_INFEASIBLE = {
    "row against bounds": QuadraticProgram(None, [0, 0], A=[[1, 1]], l=[3], lb=0, ub=1),
    "row against fixed variables": QuadraticProgram(EYE, [1, 1], A=[[1, 1]], l=[4], u=[5], lb=[1, 2], ub=[1, 2]),
    "rows against each other": QuadraticProgram(EYE, [1, 1], A=[[1, 1], [2, 2]], u=[1, INF], l=[-INF, 3]),
    "equalities": QuadraticProgram(EYE, [1, 1], A=[[1, 1], [1, 1]], l=[1, 2], u=[1, 2]),
    "a zero row": QuadraticProgram(EYE, [1, 1], A=[[0, 0]], l=[1], u=[2]),
    "one fixed": QuadraticProgram(None, [1, 1], A=[[1, 1]], l=[4], lb=[0, 2], ub=[1, 2]),
}
DUAL_INFEASIBLE = {
    "no constraints": QuadraticProgram(None, [1, 0]),
    "singular P": QuadraticProgram(np.diag([1.0, 0.0]), [0, 1], lb=[0, -INF]),
    "singular dense P": QuadraticProgram(np.ones((2, 2)), [1, 0]),
    "along a row": QuadraticProgram(None, [-1, -1], A=[[1, -1]], l=[0], u=[1], lb=0),
    "beside a fixed variable": QuadraticProgram(np.diag([0.0, 1.0]), [-1, 0], lb=[0, 2], ub=[INF, 2]),
}


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
@pytest.mark.parametrize("equilibrate", [True, False])
@pytest.mark.parametrize("name", OPTIMAL)
def test_optimal(name, equilibrate, kkt):
    program, x, objective = OPTIMAL[name]
    solve_and_check(program, objective=objective, x=x, equilibrate=equilibrate, kkt=kkt)


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
@pytest.mark.parametrize("name", PRIMAL_INFEASIBLE)
def test_primal_infeasible(name, kkt):
    program = PRIMAL_INFEASIBLE[name]
    solution = solve_and_check(program, "primal_infeasible", kkt=kkt)
    np.testing.assert_allclose(program.A.T @ solution.y + solution.z_bounds, 0.0, atol=1e-7)


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
@pytest.mark.parametrize("name", DUAL_INFEASIBLE)
def test_dual_infeasible(name, kkt):
    program = DUAL_INFEASIBLE[name]
    solution = solve_and_check(program, "dual_infeasible", kkt=kkt)
    assert program.q @ solution.x == pytest.approx(-1.0)


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, sp.coo_matrix, lambda P: LowRank(np.linalg.cholesky(P))])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_forms_and_scales_of_the_hessian(form, scale):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(6, 6))
    P, q = scale * (F @ F.T + np.eye(6)), scale * rng.normal(size=6)
    reference = qp.solve(P / scale, q / scale, A=np.ones((1, 6)), l=1, lb=-1, ub=1)
    solution = qp.solve(form(P), q, A=np.ones((1, 6)), l=1, lb=-1, ub=1)
    check(QuadraticProgram(P, q, np.ones((1, 6)), [1], None, -1, 1), solution)
    assert solution.objective == pytest.approx(scale * reference.objective, rel=1e-6, abs=2e-8)


def test_limits_and_interruptions():
    program, _ = planted_quadratic(np.random.default_rng(3), n=14)
    assert qp.solve(program, max_iter=2).status is Status.MAX_ITERATIONS
    assert qp.solve(program, time_limit=0).status is Status.TIME_LIMIT
    assert qp.solve(program, callback=lambda it: it.iteration == 1).status is Status.INTERRUPTED
    solution = qp.solve(program, max_iter=2)
    assert np.isfinite(solution.x).all() and np.isfinite(solution.objective)
    assert len(solution.trace) == 3 and solution.iterations == 2


@pytest.mark.parametrize("size", [1e3, 1e4, 1e5, 1e8])
def test_terms_that_cancel(size):
    # the fixed variable's term cancels the optimal value: the gap is relative to the difference, or not claimed
    program = QuadraticProgram(
        None, [1, 1.0, 0], [[1, 0, 1.0], [1, 0, -1]], [-size, -INF], [3 * size, size], [-size, size, -1], [INF, size, 1]
    )
    calls = []
    solution = qp.solve(program, callback=lambda it: calls.append(it.iteration))
    found = verify(program, solution.x, solution.y, solution.z_bounds)
    if solution.status is Status.OPTIMAL:
        assert found.solved(1e-8 * (1 + 1e-6))
    elif solution.status is Status.INACCURATE:
        assert found.solved(1e-5)
    else:
        assert solution.status is Status.NUMERICAL_ERROR
    if size <= 1e4:  # the engine goes on until the test holds in the form of the quadratic program
        assert solution.status is Status.OPTIMAL and max(solution.primal_residual, solution.dual_residual) <= 1e-8
    if size == 1e4:
        assert calls == list(range(len(solution.trace)))  # one run


def test_a_hardly_indefinite_P_is_judged_by_its_own_diagonal():
    # -1 next to 1e10 exceeds rounding; with bounds of 2e6, -1e-9 next to 1e3 changes the objective by 2000
    for P, size in ((np.diag([1e10, -1.0]), 1.0), (np.diag([1e3, -1e-9]), 2e6)):
        with pytest.raises(ProgramError, match="P must be positive semidefinite"):
            Solver(QuadraticProgram(P, [0.0, 0.0], lb=-size, ub=size))
    assert qp.solve(np.diag([1.0, -1e-15]), [1.0, 1.0], lb=-1.0, ub=1.0).status is Status.OPTIMAL


@pytest.mark.parametrize("presolve", [True, False])
def test_a_P_that_is_indefinite_in_fixed_variables_only_is_refused_all_the_same(presolve):
    # fixed by equal bounds, and by a row that presolve turns into bounds
    for more in ({"lb": [-1.0, 2.0], "ub": 2.0}, {"A": [[0.0, 3.0]], "l": 6.0, "u": 6.0}):
        with pytest.raises(ProgramError, match="P must be positive semidefinite"):
            qp.solve(np.diag([1.0, -1.0]), [0.0, 0.0], presolve=presolve, **more)
    fixed = Solver(QuadraticProgram(sp.eye_array(2), [0.0, 0.0], lb=[-1.0, 2.0], ub=2.0), presolve=presolve)
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        fixed.update(P_data=[1.0, -1.0])
    assert fixed.solve().objective == pytest.approx(2.0)


def test_a_set_up_during_a_solve_is_told_as_set_up(monkeypatch):
    ticks = itertools.count()
    for module in (engine, interior_point):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    solver = Solver(np.diag([1.0, 0.0]), [0.0, -1.0], ub=1e9)  # the dual active set finds nothing
    before = solver.setup_time
    for seconds in (2.0, 1.0):
        solution = solver.solve()
        assert (solution.setup_time - before, solution.solve_time) == (pytest.approx(1.0), seconds)


def test_answers_do_not_share_memory():
    solver = Solver(planted_quadratic(np.random.default_rng(3), n=14)[0])
    one = solver.solve()
    kept = one.x.copy()
    one.x[:] = one.cone_solution.x[:] = 7.0
    np.testing.assert_allclose(solver.solve(warm_start=True).x, kept, atol=1e-6)


# ---- update


@pytest.mark.parametrize("change, message", [
    ({"q": [1.0]}, "q"), ({"q": [1.0, np.nan]}, "q must be finite"), ({"l": [INF]}, "can never hold"),
    ({"ub": [1.0]}, "ub must have 2 entries"), ({"P_data": [1.0, -1.0], "lb": 2.0}, "P must be positive semidefinite"),
    ({"u": np.nan}, "u must not be NaN"),
    ({"A_data": [1.0]}, "A_data must have 2 entries"), ({"P_data": [1.0, -1.0]}, "P must be positive semidefinite"),
    ({"P_data": [1.0, -1.0], "ub": INF}, "P must be positive semidefinite"), ({"P_data": "x"}, "P_data must be"),
])  # fmt: skip
def test_a_refused_update_changes_nothing(change, message):
    solver = Solver(QuadraticProgram(sp.csc_array(2 * EYE), [-2.0, -4.0], [[1, 1]], [-5], [5], 0.0, 1.0))
    before = solver.solve()
    with pytest.raises(ProgramError, match=message):
        solver.update(**change)
    after = solver.solve()
    assert after.status is Status.OPTIMAL
    np.testing.assert_array_equal(after.x, before.x)


@pytest.mark.parametrize("name", ["q", "A_data", "P_data"])
def test_values_of_a_program_that_presolve_has_made_smaller_are_replaced(name):
    # a row of one entry, which is a bound, and a fixed variable
    P, q = np.array([[2.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 3.0]]), np.array([-5.0, -1.2, -1.0])
    program = QuadraticProgram(P, q, [[2.0, 0, 0], [1, 1, 1]], None, [1.0, 2.0], [-9, -9, 0.5], [9, 9, 0.5])
    solver = Solver(program, active_set=False)
    solver.solve()
    solver.update(**{name: 1.5 * {"q": program.q, "A_data": program.A.data, "P_data": P}[name]})
    np.testing.assert_allclose(solver.solve().x, qp.solve(solver.program, kkt="dense", presolve=False).x, atol=1e-6)


def test_a_warm_start_of_the_active_set_outlives_another_set_up(monkeypatch):
    starts, solve = [], ActiveSet.solve_from

    def recorded(self, last, test):
        starts.append(last)
        return solve(self, last, test)

    monkeypatch.setattr(ActiveSet, "solve_from", recorded)
    rng = np.random.default_rng(0)
    B = rng.normal(size=(200, 200))
    solver = Solver(B @ B.T / 200 + np.eye(200), rng.normal(size=200), lb=0.0, ub=0.3)
    first, active_set = solver.solve(warm_start=True), solver.active_set
    solver.update(P_data=1.001 * solver.program.P)
    assert solver.active_set is not active_set
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        solver.update(P_data=-solver.program.P)
    assert solver.solve(warm_start=True).status is solver.solve().status is Status.OPTIMAL
    assert [start is None for start in starts] == [True, False, True]
    np.testing.assert_array_equal(starts[1], first.x)


@pytest.mark.parametrize("call", [qp.solve, qp.Solver])
def test_inequalities_of_other_forms_lead_to_solve_qp(call):
    for name in ("G", "h", "b"):
        with pytest.raises(TypeError, match=rf"'{name}'; rows are l <= A x <= u here, and qp.solve_qp takes G, h"):
            call(np.eye(2), [1.0, 1.0], **{name: [[1.0, 1.0]]})
    with pytest.raises(TypeError, match=r"and qp\.solve takes A, l, u, lb"):
        socp.solve(c=[1.0], lb=0.0)


def test_a_solver_is_shown_with_its_program_and_changed_settings():
    solver = qp.Solver(np.eye(2), [1.0, 1.0], lb=0.0, tol=1e-6)
    assert repr(solver) == "Solver(QuadraticProgram(n=2, m=0), tol=1e-06)"
    cone = socp.Solver(c=[1.0], G=[[-1.0]], h=[0.0], cones=[socp.NonNeg(1)])
    assert repr(cone) == f"Solver({cone.program!r})" and "tol" not in repr(cone)
