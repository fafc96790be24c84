"""Counts as results: by which method, and in how many iterations, programs are solved in each way.

A change of these is a change of the method, which a fallback or refinement may hide.  Factorizations differ in rounding
from one processor to another: one iteration of the interior-point method, and a few steps of refinement, are left open.
"""

import numpy as np
import pytest

import socp
from tests.support.counted import check_counts, made

WAYS = [
    {}, {"kkt": "ldl"}, {"kkt": "dense"}, {"kkt": "ldl", "equilibrate": False},
    {"tol": 1e-05, "step_fraction": 0.9},
]  # fmt: skip
# program: for each of these ways the method or backend, iterations + steps of refinement
COUNTS = {
    "generate.group_lasso(20)": "sparse 6, sparse 6, dense 6+1, sparse 7+3, sparse 6",
    "generate.robust_kalman(10)": "sparse 7+9, sparse 7+9, dense 7, sparse 8+5, sparse 7+2",
    "generate.robust_kalman(60)": "sparse 11+18, sparse 11+18, dense 10+1, sparse 10+8, sparse 8+2",
    "generate.robust_least_squares(10)": "dense 6, sparse 6, dense 6, sparse 6, dense 6",
    "generate.robust_least_squares(40)": "dense 6, sparse 6, dense 6, sparse 5, dense 6",
    "generate.enclosing_ball(10)": "dense 9, sparse 9, dense 9, sparse 9, dense 8",
    "generate.enclosing_ball(60)": "dense 11, sparse 11+3, dense 11, sparse 11+3, dense 9",
    "generate.infeasible(10)": "dense 6, sparse 6, dense 6, sparse 6, dense 7",
    "generate.infeasible(40)": "dense 6, sparse 6, dense 6, sparse 6, dense 7",
    "generate.unbounded(10)": "dense 12, sparse 12, dense 12, sparse 12, dense 14",
    "generate.unbounded(40)": "dense 14, sparse 14, dense 14, sparse 14, dense 16",
    "tiny.ball(8)": "dense 7, sparse 7, dense 7, sparse 7, dense 7",
    "tiny.ball(60)": "sparse 10, sparse 10, dense 10, sparse 8, sparse 8",
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    for way, told in zip(WAYS, COUNTS[name].split(", "), strict=True):
        check_counts(socp.solve(made(name), **way), told, way)


@pytest.mark.parametrize("name, cold, warm", [
    ("generate.group_lasso(20)", 6, 3), ("generate.robust_kalman(10)", 7, 2), ("generate.robust_kalman(60)", 10, 2),
    ("generate.robust_least_squares(10)", 6, 3), ("generate.robust_least_squares(40)", 6, 3),
    ("generate.enclosing_ball(10)", 9, 3), ("generate.enclosing_ball(60)", 11, 4), ("tiny.ball(8)", 7, 3),
    ("tiny.ball(60)", 10, 3),
])  # fmt: skip
def test_counts_of_a_solver_with_other_vectors(name, cold, warm):
    """Count iterations after c has changed by one per cent, from a cold and from a warm start."""
    program = made(name)
    solver = socp.Solver(program)
    solver.solve()
    solver.update(c=program.c * (1.0 + 0.01 * np.cos(np.arange(program.n))))
    found = solver.solve().iterations, solver.solve(warm_start=True).iterations
    assert np.abs(np.subtract(found, (cold, warm))).max() <= 1, found
