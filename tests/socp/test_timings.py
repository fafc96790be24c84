"""Seconds by part: they add up, and belong to what was done."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp.problem.solution import TIMINGS


def portfolio(n=60, seed=0):
    rng = np.random.default_rng(seed)
    A = sp.vstack([np.ones((1, n)), sp.random_array((n, n), density=0.1, rng=rng)])
    return qp.QuadraticProgram(
        sp.diags_array(rng.uniform(0.1, 1.0, n)), rng.normal(size=n), A, np.r_[1, -np.ones(n)], np.r_[1, np.ones(n)]
    )


def check_sum(solution):
    assert tuple(solution.timings) == TIMINGS
    assert sum(solution.timings.values()) == pytest.approx(solution.setup_time + solution.solve_time, rel=1e-9)
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


def test_a_small_program_is_one_piece():
    solver = socp.Solver(socp.ConeProgram([1.0], [[-1.0]], [-3.0], [socp.NonNeg(1)]))
    solution = solver.solve()
    check_sum(solution)
    assert solution.timings["factorization"] == solution.timings["solves"] == solution.timings["ordering"] == 0.0
    assert solver.kkt is not None  # from here on there is an engine, which did not run either
    again = solver.solve()
    check_sum(again)
    assert again.timings["factorization"] == again.timings["ordering"] == 0.0
