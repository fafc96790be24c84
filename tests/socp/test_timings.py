"""Seconds by part: they add up, and are assigned to the right part."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp.problem.solution import TIMINGS
from tests.support.sparse_matrices import random_sparse


def portfolio(n=60, seed=0):
    rng = np.random.default_rng(seed)
    A = sp.vstack([np.ones((1, n)), random_sparse((n, n), density=0.1, rng=rng)])
    return qp.QuadraticProgram(
        sp.diags_array(rng.uniform(0.1, 1.0, n)), rng.normal(size=n), A, np.r_[1, -np.ones(n)], np.r_[1, np.ones(n)]
    )


def check_sum(solution):
    assert tuple(solution.timings) == TIMINGS
    assert sum(solution.timings.values()) == pytest.approx(solution.setup_time + solution.solve_time, rel=1e-9, abs=0.0)
    assert min(solution.timings.values()) >= 0.0


@pytest.mark.parametrize("kkt", ["ldl", "dense"])
def test_parts_add_up(kkt):
    solution = qp.solve(portfolio(), kkt=kkt)
    check_sum(solution)
    check_sum(solution.cone_solution)
    assert min(solution.timings[part] for part in ("equilibration", "factorization", "solves", "rest")) > 0.0
    # a dense method has no order and no pattern
    assert (solution.timings["ordering"] > 0.0) == (solution.timings["symbolic"] > 0.0) == (kkt == "ldl")


def test_an_update_has_no_analysis():
    program = portfolio()
    solver = qp.Solver(program, kkt="ldl")
    assert solver.solve().timings["ordering"] > 0.0
    for data in ({"q": 2.0 * program.q}, {"A_data": 2.0 * program.A.data}):
        solver.update(**data)
        solution = solver.solve()
        check_sum(solution)
        assert solution.timings["ordering"] == solution.timings["symbolic"] == 0.0
        assert solution.timings["equilibration"] > 0.0
    cone_solver = socp.Solver(socp.ConeProgram([1.0], [[-1.0]], [-3.0], [socp.NonNeg(1)]))
    cone_solver.update(h=[-4.0])
    check_sum(cone_solver.solve())


@pytest.mark.parametrize("kkt", ["auto", "dense", "ldl", "lowrank"])
def test_a_small_program_has_the_same_parts(kkt):
    program = socp.ConeProgram([1.0, 1.0], -np.eye(2), [-3.0, -4.0], [socp.NonNeg(2)], P=socp.LowRank([[1.0], [1.0]]))
    solver = socp.Solver(program, kkt=kkt)
    for _ in range(2):
        solution = solver.solve()
        check_sum(solution)
        assert min(solution.timings[part] for part in ("equilibration", "factorization", "solves", "rest")) > 0.0
        assert (solution.timings["ordering"] > 0.0) == (solution.timings["symbolic"] > 0.0) == (kkt == "ldl")


def test_factorizations_and_solves_are_those_of_one_run():
    solver = socp.Solver(socp.ConeProgram([1.0], [[-1.0]], [-3.0], [socp.NonNeg(1)]))
    first, second = solver.run(), solver.run()
    for run in (first, second):
        assert run.timings["factorization"] + run.timings["solves"] <= run.solve_time
    assert solver.kkt.factor_seconds == second.timings["factorization"]
