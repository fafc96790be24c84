"""One solver called by several threads: each waits for the others, and gets the bits that it would get alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import qp
import socp
from bench.programs import generate

THREADS, CALLS = 3, 9


def check_that_threads_wait(solver):
    alone = solver.solve()
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(lambda _: solver.solve(), range(CALLS)))
    for solution in together:
        assert solution.status == alone.status == "optimal"
        np.testing.assert_array_equal(solution.x, alone.x)


def test_a_cone_program():
    check_that_threads_wait(socp.Solver(generate.group_lasso(60)))


def test_a_quadratic_program_by_both_methods():
    program = generate.svm_dual_rbf(300)
    for active_set in (True, False):
        check_that_threads_wait(qp.Solver(program, active_set=active_set))


def test_an_update_waits_for_a_solve():
    """Each answer belongs to one of the two objectives."""
    program = generate.mpc(40)
    solver, costs = qp.Solver(program), (program.q, program.q + 1.0)
    wanted = []
    for q in costs:
        solver.update(q=q)
        wanted.append(solver.solve().x)

    def work(k):
        if k % 2:
            solver.update(q=costs[k // 2 % 2])
            return None
        return solver.solve().x

    with ThreadPoolExecutor(THREADS) as pool:
        found = [x for x in pool.map(work, range(4 * CALLS)) if x is not None]
    assert all(any(np.array_equal(x, one) for one in wanted) for x in found)
