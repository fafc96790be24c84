"""The solver of kernel programs: where rows on demand are enough, and what it does elsewhere."""

import pickle

import numpy as np
import pytest

import qp
from models import KernelMatrix, KernelProgram, KernelSolver
from models.kernel_machines.solver import suits
from socp import Settings

BOX = {"lb": -1.0, "ub": 1.0}
SAMPLES = np.random.default_rng(0).normal(size=(6, 2))
SIGNS = np.array([1.0, -1, 1, 1, -1, 1])


def test_where_rows_of_a_kernel_are_enough():
    kernel, rows = KernelMatrix(SAMPLES, "rbf", signs=SIGNS), np.ones((2, 6))
    along, none, twice = 3.0 * SIGNS[None], [-np.inf, -np.inf, 1.0], [np.inf, np.inf, 1.0]
    for A, l, u, bounds, enough in (
        (None, None, None, {}, True), (along, 1, 1, {}, True), (along, 1, 2, {}, False),
        (np.vstack([rows, along]), none, twice, {}, True), (rows[:1], 0, 0, {}, False),
        (np.vstack([along, along]), 1, 1, {}, False), (0.0 * along, 0, 0, {}, False),
        (None, None, None, {"lb": np.where(SIGNS > 0.0, -np.inf, 0.0)}, False),
        (None, None, None, {"ub": np.where(SIGNS > 0.0, np.inf, 1.0)}, False),
    ):  # fmt: skip
        program = KernelProgram(kernel, np.ones(6), A, l, u, **BOX | bounds)
        assert suits(program, Settings()) == enough
        for asked in ({"active_set": False}, {"kkt": "dense"}, {"callback": print}, {"regularization": 1e-9}):
            assert not suits(program, Settings(**asked))
        found, full = KernelSolver(program, tol=1e-10).solve(), qp.solve(program, tol=1e-10)
        assert found.status is full.status and (found.plan.method == "working set") == enough
        np.testing.assert_allclose(found.x, full.x, atol=1e-7)
    program = KernelProgram(KernelMatrix(SAMPLES, lambda A, B: A @ B.T), np.ones(6), **BOX)
    for check in (True, False):  # definiteness is unknown
        assert suits(program, Settings(check_convexity=check)) != check


def test_a_copy_is_set_up_again():
    program = KernelProgram(KernelMatrix(SAMPLES, "rbf", signs=SIGNS), np.ones(6), **BOX)
    solver = KernelSolver(program, tol=1e-6)
    again = pickle.loads(pickle.dumps(solver))
    assert again.settings == solver.settings and np.array_equal(again.solve().x, solver.solve().x)


def test_a_program_whose_bounds_change_to_infinite_ones_is_solved_in_full_and_back():
    solver = KernelSolver(KernelProgram(KernelMatrix(SAMPLES, "rbf", signs=SIGNS), np.ones(6), **BOX))
    first = solver.solve()
    solver.update(lb=-np.inf)
    assert solver.working_set is None and solver.solve(warm_start=True).plan.method != "working set"
    solver.update(lb=[1.0] * 6, ub=[0.0] * 6)
    assert solver.solve().status == "primal_infeasible"
    solver.update(**BOX)
    assert np.array_equal(solver.solve().x, first.x)


def test_what_the_working_set_does_not_find_is_solved_in_full(monkeypatch, capsys):
    program = KernelProgram(KernelMatrix(SAMPLES, "rbf", signs=SIGNS), np.ones(6), **BOX)
    solver = KernelSolver(program, time_limit=60.0, verbose=True)
    monkeypatch.setattr(solver.working_set, "find", lambda last: None)
    assert solver.solve().plan.method != "working set" and solver._full.settings.time_limit < 60.0
    assert capsys.readouterr().out.count("plan:") == 2


@pytest.mark.parametrize("argument", [{"tolerance": 1e-3}, {"P_data": 1.0}])
def test_unknown_settings_are_refused(argument):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        KernelSolver(KernelProgram(KernelMatrix(SAMPLES, "rbf"), np.ones(6), **BOX), **argument)
