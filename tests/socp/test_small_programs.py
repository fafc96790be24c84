"""Small programs: the answers of any other way of solving the systems, and the way on where dense Cholesky fails."""

import numpy as np
import pytest

import socp
from socp import ConeProgram, LowRank, NonNeg, SecondOrder, Solver, Status
from socp.kkt.dense import apply_dense
from socp.method.fallbacks import Fallbacks
from tests.support.kkt_systems import factor_never
from tests.support.programs import OPTIMAL, check, solve_and_check

# ---- where dense Cholesky fails


def with_failing_cholesky(program, **settings):
    solver = Solver(program, **settings)
    solver.kkt._use(factor_never, apply_dense)
    return solver


@pytest.mark.parametrize("name", ["disk", "linear over a box", "redundant equalities", "dense P", "low rank"])
def test_a_run_that_fails_begins_anew_with_a_sparse_factorization(name):
    program, _, objective = OPTIMAL[name]
    solver = with_failing_cholesky(program)
    for _ in range(2):
        solution, expected = solver.solve(), socp.solve(program, kkt="ldl")
        check(program, solution)
        assert solution.objective == pytest.approx(objective, rel=1e-7, abs=1e-7)
        for part in "xyzs":
            np.testing.assert_allclose(getattr(solution, part), getattr(expected, part), rtol=1e-5, atol=1e-5)
        assert solution.timings["factorization"] > 0.0
        assert sum(solution.timings.values()) == pytest.approx(
            solution.setup_time + solution.solve_time, rel=1e-9, abs=0.0
        )
    warm = solver.solve(warm_start=True)
    assert warm.status is Status.OPTIMAL
    # updates of the data use it, too
    solver.update(c=2.0 * program.c)
    assert solver.solve().objective == pytest.approx(socp.solve(solver.program).objective, rel=1e-7, abs=1e-7)
    solver.update(G_data=0.5 * program.G.data)
    solver.kkt._use(factor_never, apply_dense)
    assert solver.solve().objective == pytest.approx(socp.solve(solver.program).objective, rel=1e-7, abs=1e-7)


def test_a_run_by_the_callers_choice_of_dense_cholesky_does_not():
    solution = with_failing_cholesky(OPTIMAL["disk"][0], kkt="dense").solve()
    assert solution.status is Status.NUMERICAL_ERROR
    assert solution.message == "the KKT matrix at the starting point cannot be factored"
    assert solution.iterations == 0 and solution.x.shape == (2,)


def test_where_both_fail_it_is_said():
    solver = with_failing_cholesky(OPTIMAL["disk"][0])
    solver._fallbacks = Fallbacks(solver._state, solver.settings)
    sparse = solver.plan._replace(backend="sparse")
    solver._fallbacks._state_for(sparse, solver.program).kkt._use(factor_never, apply_dense)
    solution = solver.solve()
    assert solution.status is Status.NUMERICAL_ERROR and solution.iterations == 0


ON_THE_BOUNDARY = {
    "an apex": dict(c=[36, -128], G=[[3, 2], [3, 0], [3, -2]], h=[17, 8, 15], cones=[SecondOrder(3)],
                    P=np.diag([4.0, 3.0])),
    "two sides": dict(c=[-10, 27], A=[[-2, 0]], b=[2], G=[[2, 1], [3, 1]], h=[-5, -6], cones=[SecondOrder(2)],
                      P=[[13, -9], [-9, 12]]),
    "low rank": dict(c=[-0.14328844654420414, 0.7985408228310257],
                     G=[[0.0, -0.7706832412726772], [0.0, -0.2270873725884556], [1.3803102894437718, 0.0], [0.0, 0.0],
                        [0.0, 0.0], [-0.3658167165430917, 0.0], [0.0, -0.08951528945662342]],
                     h=[2.638303383843464, 0.4771874040818572, -0.8781957901933383, 0.0, 0.6727356439891361,
                        -0.4399918160923293, 0.12341582828253847],
                     cones=[SecondOrder(1), NonNeg(3), SecondOrder(2), SecondOrder(1)],
                     P=LowRank(np.array([[1.62040573142079], [-1.4095442268981029]]))),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_THE_BOUNDARY)
@pytest.mark.parametrize("equilibrate", [True, False])
def test_answers_at_which_s_and_z_are_on_the_boundary_of_the_same_cone(name, equilibrate):
    # the two sides leave one x, and z is unbounded
    solve_and_check(ConeProgram(**ON_THE_BOUNDARY[name]), equilibrate=equilibrate, excused=name == "two sides")


FALLING_FOR_EVER = {
    "along the boundary": dict(c=[1, 0], G=[[0, 0], [2, 3], [3, 6], [-2, -3]], h=np.zeros(4),
                               cones=[NonNeg(1), SecondOrder(3)], P=[[9, 18], [18, 36]]),
    "between two rows": dict(c=[-1, 0, 0], G=[[-2, -3, -11], [0, 0, 1]], h=np.zeros(2), cones=[NonNeg(2)],
                             P=[[5, 1, 8], [1, 17, 52], [8, 52, 164]]),
}  # fmt: skip


@pytest.mark.parametrize("name", FALLING_FOR_EVER)
def test_a_ray_beside_a_singular_P_is_found(name):
    solve_and_check(ConeProgram(**FALLING_FOR_EVER[name]), "dual_infeasible")
