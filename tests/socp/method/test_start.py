"""Starting points: inside the cone, and not drawn away by sides that stand for infinity."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from socp import ConeProgram, NonNeg, SecondOrder, Solver
from socp.cones import product as cones
from socp.method.start import FAR, cold, side_weights
from socp.method.step import Point
from tests.support.programs import planted_optimum, planted_quadratic, solve_and_check

BIG = [1e5, 1e8, 1e10, 1e15, 1e19]


def with_far_sides(program, big, rng):
    """The quadratic program with finite numbers in place of most infinite sides."""
    sides = {}
    for name, sign in (("l", -1), ("u", 1), ("lb", -1), ("ub", 1)):
        side = getattr(program, name).copy()
        chosen = np.isinf(side) & (rng.random(side.size) < 0.7)
        side[chosen] = sign * rng.choice(big, size=chosen.sum())
        sides[name] = side
    return qp.QuadraticProgram(program.P, program.q, program.A, **sides)


def with_far_rows(program, big, rng):
    """The cone program with rows and a second-order cone that are far from holding it back."""
    G, h = rng.normal(size=(8, program.n)), rng.choice(big, size=6)
    return ConeProgram(
        program.c, sp.vstack([program.G, G]), np.r_[program.h, h, rng.normal(size=2)],
        [*program.cones, NonNeg(5), SecondOrder(3)], program.A, program.b, program.P, program.offset,
    )  # fmt: skip


@pytest.mark.parametrize("big", [1e8, 1e10, 1e15, 1e19, 1e20, 1e30])
def test_bounds_in_place_of_infinity(big):
    program = qp.QuadraticProgram(np.eye(2), [-1, -1], lb=[-big, 0], ub=[big, big])
    solution = solve_and_check(program, objective=-1.0, x=[1.0, 1.0])
    assert solution.iterations <= 10


@pytest.mark.parametrize("big", [[side] for side in BIG] + [BIG], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_far_sides_do_not_change_a_quadratic_program(seed, big):
    rng = np.random.default_rng([seed, 1])
    program, value = planted_quadratic(rng, n=int(rng.integers(3, 30)))
    solve_and_check(with_far_sides(program, big, rng), objective=value)


@pytest.mark.parametrize("big", [[side] for side in BIG] + [BIG], ids=str)
@pytest.mark.parametrize("seed", range(1, 9))  # seed 0 is flat in three directions, in which only far rows end it
def test_far_rows_do_not_change_a_cone_program(seed, big):
    rng = np.random.default_rng([seed, 2])
    program, value = planted_optimum(rng, n=int(rng.integers(3, 20)))
    solve_and_check(with_far_rows(program, big, rng), objective=value)


def test_far_sides_cost_few_iterations():
    near = far = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 3])
        program, _ = planted_quadratic(rng, n=20)
        near += qp.solve(program).iterations
        far += qp.solve(with_far_sides(program, [1e10], rng)).iterations
    assert far <= 1.25 * near  # each is one more inequality; from the middle of the boxes it would be 2.5 times as many


@pytest.mark.parametrize("seed", range(10))
def test_cold_start_is_inside(seed):
    rng = np.random.default_rng([seed, 4])
    program, _ = planted_optimum(rng)
    solver = Solver(with_far_rows(program, [1.0, 1e10], rng))
    form, point = solver.form, Point(solver.form)
    assert cold(form, solver.kkt, point)
    assert cones.margin(form.l, form.ptr, point.s) > 0.0
    assert cones.margin(form.l, form.ptr, point.z) > 0.0


def test_weights_of_sides():
    # s = h - Gx: 0 misses the second row by 10, the size beside which a side is far
    h = [1.0, -10.0, 20 * FAR, 1.0, 0.0, 0.0, 30 * FAR, 1.0]
    cone_program = ConeProgram([1.0], np.ones((8, 1)), h, [NonNeg(3), SecondOrder(3), SecondOrder(2)])
    w, eta, weight = side_weights(Solver(cone_program, equilibrate=False).form)
    np.testing.assert_allclose(weight, [1, 1, 2 * FAR, 1, 1, 1, 3 * FAR, 3 * FAR])
    np.testing.assert_allclose(w, [1, 1, 2 * FAR, 1, 0, 0, 1, 0])
    np.testing.assert_allclose(eta, [1, 3 * FAR])
