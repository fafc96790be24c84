"""Sides that cross: a status with its certificate through every door, and equal sides within the tolerance."""

import pickle

import numpy as np
import pytest

import qp
from models import KernelMatrix
from qp import ProgramError, QuadraticProgram, Solver

EYE, q = np.eye(2), np.array([1.0, -3.0])
CROSSED = {"bounds": {"lb": [0.0, 0.1], "ub": [1.0, -0.1]}, "row": {"A": [[1.0, 1.0]], "l": [2.0], "u": [1.0]}}
NAMES = {"bounds": "lb[1] = 0.1 is above ub[1] = -0.1", "row": "l[0] = 2 is above u[0] = 1"}
P_OF = {"dense": EYE, "none": None, "kernel": KernelMatrix(EYE, "linear", signs=[1.0, -1.0])}


def solve_by_update(P, q, **sides):
    solver = Solver(P, q, A=sides.get("A"), **({"u": 9.0} if "A" in sides else {}), lb=-9.0, ub=9.0)
    solver.solve()
    solver.update(**{name: side for name, side in sides.items() if name != "A"})
    return solver.solve()


def solve_in_batch(P, q, **sides):
    return qp.solve_many(P, np.stack([q, q]), **sides)[1]


def solve_pickled(P, q, **sides):
    return pickle.loads(pickle.dumps(Solver(P, q, **sides))).solve()


DOORS = {
    "solve": qp.solve, "no active set": lambda *data, **sides: qp.solve(*data, **sides, active_set=False),
    "update": solve_by_update, "batch": solve_in_batch, "pickle": solve_pickled,
    "program": lambda *data, **sides: qp.solve(QuadraticProgram(*data, **sides), presolve=False),
}  # fmt: skip


@pytest.mark.parametrize("P", P_OF.values(), ids=P_OF.keys())
@pytest.mark.parametrize("kind", CROSSED)
@pytest.mark.parametrize("door", DOORS)
def test_sides_that_cross_are_infeasible_by_name(door, kind, P):
    solution = DOORS[door](P, q, **CROSSED[kind])
    assert solution.status == "primal_infeasible" and solution.primal_residual == 0.0
    assert solution.message.startswith("no feasible point exists: " + NAMES[kind])
    assert not solution.y.any() and not solution.z_bounds.any() and np.isnan([*solution.x, solution.objective]).all()
    more = {"lb": -9.0, "ub": 9.0} if (door, kind) == ("update", "row") else {}
    cone, program = solution.cone_solution, QuadraticProgram(None, q, **CROSSED[kind], **more)
    form = Solver(program, presolve=False).cone_form.program(program)
    assert (cone.z >= 0.0).all() and np.abs(form.G.T @ cone.z).max() <= 1e-15
    assert form.h @ cone.z == pytest.approx(-1.0)


@pytest.mark.parametrize("settings", [{}, {"active_set": False}, {"check_convexity": False}])
def test_a_loop_goes_on_after_an_infeasible_step(settings):
    solver = Solver(2.0 * EYE, q, A=[[1.0, 1.0]], l=-1.0, u=2.0, lb=0.0, ub=1.0, **settings)
    before = solver.solve()
    solver.update(l=3.0)
    assert solver.solve(warm_start=True).status == "primal_infeasible"
    solver.update(q=-q)
    assert solver.solve().status == "primal_infeasible"
    solver.update(P_data=EYE)
    assert solver.solve().status == "primal_infeasible"
    solver.update(l=0.5, u=0.5)
    expected = qp.solve(EYE, -q, A=[[1.0, 1.0]], l=0.5, u=0.5, lb=0.0, ub=1.0)
    np.testing.assert_allclose(solver.solve(warm_start=True).x, expected.x, atol=1e-7)
    solver.update(q=q, l=-1.0, u=2.0, P_data=2.0 * EYE)
    np.testing.assert_allclose(solver.solve(warm_start=True).x, before.x, atol=1e-7)


def test_a_nonconvex_program_whose_sides_cross_is_refused():
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        qp.solve(-EYE, q, lb=1.0, ub=0.0)


@pytest.mark.parametrize("crossing, status", [(1e-12, "optimal"), (0.9e-8, "optimal"), (3e-8, "primal_infeasible")])
@pytest.mark.parametrize("door", DOORS)
def test_sides_that_cross_within_the_tolerance_are_equal(door, crossing, status):
    low, up = np.array([0.0, 0.5 + crossing]), np.array([1.0, 0.5])
    solution = DOORS[door](EYE, q, lb=low, ub=up)
    assert solution.status == status
    if status == "optimal":
        np.testing.assert_allclose(solution.x, [0.0, 0.5 + crossing / 2], atol=1e-8)
        assert (low - solution.x <= 1e-8 * (1 + low)).all() and (solution.x - up <= 1e-8 * (1 + up)).all()
        assert solution.z_bounds[1] == pytest.approx(2.5, abs=1e-6)


def test_tol_abs_bounds_the_crossing_too():
    crossed = {"lb": 1e6, "ub": 1e6 - 1e-6}
    assert qp.solve(EYE, q, **crossed).status == "optimal"
    assert qp.solve(EYE, q, **crossed, tol_abs=1e-7).status == "primal_infeasible"
