"""Counts as results: by which method, and in how many iterations, programs are solved in each way.

A change of these is a change of the method, which a fallback or refinement may hide.  Factorizations differ in rounding
from one processor to another: one iteration of the interior-point method, and a few steps of refinement, are left open.
"""

import numpy as np
import pytest

import qp
from tests.support.counted import check_counts, made

WAYS = [
    {}, {"active_set": False}, {"kkt": "ldl"}, {"kkt": "dense", "equilibrate": False},
    {"kkt": "ldl", "tol": 1e-05, "step_fraction": 0.9},
]  # fmt: skip
# program: for each of these ways the method or backend, iterations + steps of refinement
COUNTS = {
    "generate.lasso(10)": "dual active set 3, dense 7, sparse 7, dense 7, sparse 7",
    "generate.lasso(60)": "sparse 7, sparse 7, sparse 7, dense 7, sparse 7",
    "generate.huber(12)": "sparse 6, sparse 6, sparse 6, dense 6, sparse 7",
    "generate.portfolio(60)": "dual active set 11, low rank 10, sparse 10, dense 11, sparse 8",
    "generate.svm_primal(20)": "dual active set 9, dense 7, sparse 7, dense 7, sparse 8",
    "generate.svm_dual_rbf(30)": "dual active set 9, dense 8, sparse 8, dense 8, sparse 7",
    "generate.svm_dual_linear(60)": "low rank 9, low rank 9, sparse 9, dense 9, sparse 9",
    "generate.mpc(6)": "dual active set 4, sparse 8, sparse 8, dense 8, sparse 8",
    "learning.ea_svm_cubic(60)": "active set 1+361, dense 10, sparse 10, dense 10, sparse 10",
    "learning.ea_svm_linear(40)": "low rank 8, low rank 8, sparse 8, dense 8, sparse 9",
    "learning.med_dual(60)": "dual active set 16, dense 9, sparse 9, dense 8, sparse 10",
    "learning.med_dual(150)": "low rank 11, low rank 11, sparse 11, dense 11, sparse 12",
    "small.random(20)": "dual active set 12, dense 8, sparse 8, dense 8, sparse 9",
    "small.equalities(30)": "dual active set 0, dense 0, sparse 0, dense 0, sparse 0",
    "small.control(20)": "dual active set 1, dense 8, sparse 8, dense 8, sparse 7",
    "small.svm(20)": "dual active set 11, dense 7, sparse 7, dense 7, sparse 8",
    "tiny.box(10)": "dual active set 4, dense 7, sparse 7, dense 7, sparse 7",
    "tiny.rows(20)": "dual active set 9, dense 8, sparse 8, dense 8, sparse 9",
    "tiny.rows(60)": "dual active set 16, dense 8, sparse 8, dense 8, sparse 9",
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    for way, told in zip(WAYS, COUNTS[name].split(", "), strict=True):
        check_counts(qp.solve(made(name), **way), told, way)


@pytest.mark.parametrize("name, cold, warm", [
    ("generate.lasso(10)", 7, 3), ("generate.lasso(60)", 7, 3), ("generate.huber(12)", 6, 3),
    ("generate.portfolio(60)", 10, 3), ("generate.svm_primal(20)", 7, 3), ("generate.svm_dual_rbf(30)", 8, 3),
    ("generate.svm_dual_linear(60)", 11, 3), ("generate.mpc(6)", 8, 4), ("learning.ea_svm_cubic(60)", 10, 3),
    ("learning.ea_svm_linear(40)", 8, 3), ("learning.med_dual(60)", 9, 4), ("learning.med_dual(150)", 12, 3),
    ("small.random(20)", 8, 3), ("small.control(20)", 8, 4), ("small.svm(20)", 7, 3), ("tiny.box(10)", 7, 3),
    ("tiny.rows(20)", 8, 4), ("tiny.rows(60)", 8, 4),
])  # fmt: skip
def test_counts_of_a_solver_with_other_vectors(name, cold, warm):
    """Count iterations after q has changed by one per cent, from a cold and from a warm start."""
    program = made(name)
    solver = qp.Solver(program, active_set=False)
    solver.solve()
    solver.update(q=program.q * (1.0 + 0.01 * np.cos(np.arange(program.n))))
    found = solver.solve().iterations, solver.solve(warm_start=True).iterations
    assert np.abs(np.subtract(found, (cold, warm))).max() <= 1, found
