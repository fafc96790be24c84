"""What solving a quadratic program returns."""

from types import SimpleNamespace

import numpy as np
import pytest

from qp import QuadraticProgram, Solution, Status, solve
from qp.problem.conflict import conflict
from qp.problem.solution import solution_at
from socp.problem.solution import TIMINGS, TRACE
from socp.verify.stopping import residuals

# min 1/2 4 x^2 - 2 x + 7, x <= 1/4
PROGRAM = QuadraticProgram([[4.0]], [-2.0], ub=[0.25], offset=7.0)
POINT = (np.array([0.25]), np.array([]), np.array([1.0]))
REST = {"iterations": 3, "setup_time": 0.5, "solve_time": 0.25, "message": "so", "trace": np.zeros(2, TRACE),
        "timings": dict.fromkeys(TIMINGS, 0.125)}  # fmt: skip


def at_the_optimum(**more):
    return solution_at(PROGRAM, Status.OPTIMAL, POINT, residuals(PROGRAM, *POINT), **REST, **more)


def test_a_point():
    solution = at_the_optimum()
    assert isinstance(solution, Solution) and solution.status is Status.OPTIMAL
    assert solution.objective == solution.dual_objective == 0.125 - 0.5 + 7.0
    assert solution.primal_residual == solution.dual_residual == solution.gap == 0.0
    assert solution.x is POINT[0] and solution.y is POINT[1] and solution.z_bounds is POINT[2]
    for name, value in REST.items():
        assert getattr(solution, name) is value
    assert solution.cone_solution is None
    assert "optimal" in repr(solution) and "6.625" in repr(solution) and "iterations=3" in repr(solution)


class Run:
    """Result of the interior-point method that counts how often it is requested."""

    def __init__(self):
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return SimpleNamespace(objective=5.0)


def test_the_cone_solution_is_made_once_when_it_is_asked_for():
    run = Run()
    solution = at_the_optimum(run=run)
    repr(solution)
    assert run.asked == 0
    first = solution.cone_solution
    assert solution.cone_solution is first and run.asked == 1


def test_the_sides_with_the_largest_multipliers_of_a_certificate():
    """Sides that are infinite, or whose multipliers are rounding errors, are not named."""
    program = QuadraticProgram(
        None, [0.0, 0.0, 0.0], np.eye(2, 3), [-np.inf, 1.0], [2.0, np.inf], [0.0, -np.inf, 0.0], 3.0
    )
    for y, z, told in (
        ([3.0, -2.0], [-1.0, -9.0, 0.0], "u[0], l[1], lb[0]"), ([-3.0, 2.0], [1.0, 4.0, -2.0], "ub[0], ub[1], lb[2]"),
        ([1.0, 0.0], [-1e-14, 0.5, 0.0], "u[0], ub[1]"),
    ):  # fmt: skip
        assert conflict(program, np.array(y), np.array(z)) == told


def test_what_is_left_for_later_is_made_without_the_cone_solution_and_found_by_a_thread_that_came_too_late():
    solution = solve(np.eye(3), [-1.0, -2.0, -3.0], lb=0.0, ub=1.0)
    assert "message" not in vars(solution)
    assert solution.message.endswith("in the working set") and vars(solution)["_run"] is not None
    assert Solution.__getattr__(solution, "message") is solution.message  # the first look-up has failed
    with pytest.raises(AttributeError, match="'Solution' object has no attribute 'massage'"):
        _ = solution.massage
    assert solution.cone_solution is solution.cone_solution and vars(solution)["_run"] is None
