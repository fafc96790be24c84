"""Programs in units far from one: what is told of them does not depend on units, nor on the way in which they come."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from qp.reduce.cone_form import ConeForm

INF = np.inf


def ways(P, q, **data):
    """Return the answers of every way in which a quadratic program can be solved."""
    program = qp.QuadraticProgram(P, q, **data)
    form = ConeForm(program)
    solver = qp.Solver(P, 0.5 * np.asarray(q), **data)
    solver.update(q=q)
    cone = socp.solve(form.program(program))
    many = qp.solve_many(P, np.stack([q, 2.0 * np.asarray(q)]), **data)
    return [
        qp.solve(P, q, **data), qp.solve(P, q, **data, active_set=False), qp.solve(P, q, **data, presolve=False),
        solver.solve(), many[0], cone,
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 1e9])
def test_large_costs_do_not_make_a_bounded_program_unbounded(size):
    # min -size w + y / 2, y >= size w / 1000, 0 <= w <= 1: w = 1 (public reports of ECOS and others)
    slope = size / 1000.0
    for answer in ways(None, [-size, 0.5], A=[[-slope, 1.0]], l=[0.0], lb=[0.0, 0.0], ub=[1.0, INF]):
        assert answer.status == "optimal"
        assert answer.objective == pytest.approx(-size + 0.5 * slope, rel=1e-6)


@pytest.mark.parametrize("n, size", [(10, 1e8), (30, 1e7), (60, 1e8)])
def test_costs_of_trading(n, size):
    a = np.random.default_rng(n).normal(size=n)
    eye = sp.eye_array(n)
    A = sp.vstack([sp.hstack([sign * 10.0 * size * eye, eye]) for sign in (-1.0, 1.0)]).tocsc()
    data = {"A": A, "l": 0.0, "lb": np.r_[-np.ones(n), np.zeros(n)], "ub": np.r_[np.ones(n), np.full(n, INF)]}
    q = np.r_[-100.0 * size * a, np.ones(n)]
    best = -np.maximum(100.0 * size * np.abs(a) - 10.0 * size, 0.0).sum()
    for answer in ways(None, q, **data):
        assert answer.status == "optimal" and answer.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("ratio, count", [(1e9, 1), (1e5, 2), (2.0, 30)])
def test_a_ray_must_be_zero_relative_to_the_terms_of_each_row(ratio, count):
    # min -x_0, x_k <= ratio x_{k+1}, x_count <= 1: the ray (1, 1 / ratio, ...) leaves the last row by all of its term
    A = np.eye(count, count + 1) - ratio * np.eye(count, count + 1, 1)
    data = {"A": A, "u": 0.0, "lb": 0.0, "ub": np.r_[np.full(count, INF), 1.0]}
    for answer in ways(None, -np.eye(count + 1)[0], **data):
        assert answer.status == "optimal" and answer.x[0] == pytest.approx(ratio**count, rel=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e4, 1e9])
def test_far_points_do_not_make_a_feasible_program_infeasible(size):
    # x >= 1 and x <= y / size, y <= 2 size: the multipliers (1, 1, 1 / size) leave the column of y by all of its term
    for answer in ways(None, [1.0, 0.0], A=[[1.0, -1.0 / size]], u=[0.0], lb=[1.0, 0.0], ub=[INF, 2.0 * size]):
        assert answer.status == "optimal" and answer.objective == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 1.0, 1e4, 1e9])
def test_objectives_that_fall_and_programs_without_points_in_any_units(size):
    units = size ** np.array([1.0, -1.0, 0.0])
    A = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]) * units
    for answer in ways(None, -np.array([1.0, 1.0, 1.0]) * units, A=A, l=0.0, lb=0.0):
        assert answer.status == "dual_infeasible"
    for answer in ways(None, np.ones(3) * units, A=np.vstack([A, A[0] + A[1]]), l=[1.0, 1.0, -INF], u=[INF, INF, 1.0]):
        assert answer.status == "primal_infeasible"


def test_a_program_without_points_whose_objective_falls_is_infeasible():
    # x_1 + x_2 >= 1 and <= 0, and the objective falls along x_3
    A, l, u = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], [1.0, -INF], [INF, 0.0]
    for answer in ways(None, [0.0, 0.0, -1.0], A=A, l=l, u=u, lb=[-INF, -INF, 0.0]):
        assert answer.status == "primal_infeasible" and "unbounded" not in answer.message
    falls = qp.solve(None, [0.0, 0.0, -1.0], A=A[:1], l=l[:1], u=u[:1], lb=[-INF, -INF, 0.0])
    assert falls.status == "dual_infeasible" and falls.message.endswith("it is unbounded below")


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3, 1.0, 1e6])
def test_a_small_objective_is_tested_by_its_own_size(size):
    # the least variance of hourly returns: the same weights in any units of the objective
    rng = np.random.default_rng(3)
    F = rng.normal(size=(40, 8)) * rng.uniform(0.5, 2.0, 8)
    P, data = F.T @ F / 40.0, {"A": np.ones((1, 8)), "l": 1.0, "u": 1.0, "lb": 0.0}
    exact = qp.solve(P, np.zeros(8), **data, tol=1e-12)
    for answer in ways(size * P, np.zeros(8), **data):
        assert answer.status == "optimal"
        x = answer.x if answer.x.size == 8 else None
        assert x is not None and np.abs(x - exact.x).max() <= 1e-4


def test_a_second_order_cone_on_whose_boundary_a_ray_is_none():
    # min -x over |(y, x)| <= y, which makes x = 0: (1, y) is outside of the cone by 1 / 2 y only
    for size in (1.0, 1e2, 1e4):
        answer = socp.solve(c=[-size, 0.0], G=[[0, -1], [0, -1], [-1, 0]], h=np.zeros(3), cones=[socp.SecondOrder(3)])
        assert answer.status not in ("dual_infeasible", "primal_infeasible") and "x is feasible" in answer.message


@pytest.mark.parametrize("size", [1e4, 1e6])
def test_a_point_without_multipliers(size):
    # min size x, y >= 1, x^2 + y^2 <= 1: the only point is (0, 1), and no multipliers exist
    G, h, cones = [[0, -1], [0, 0], [-1, 0], [0, -1.0]], [-1.0, 1, 0, 0], [socp.NonNeg(1), socp.SecondOrder(3)]
    answer = socp.solve(c=[size, 0.0], G=G, h=h, cones=cones)
    assert answer.status == "inaccurate" and "the multipliers grow" in answer.message
    assert np.abs(answer.x - [0.0, 1.0]).max() <= 1e-6 and answer.primal_residual <= 1e-8


def test_a_row_that_misses_its_own_terms_is_told():
    # a row in kilometres hides one in millimetres of its block
    A = np.array([[1e6, 1e6, 0.0], [0.0, 1e-4, 1e-4], [1.0, 2.0, 3.0]])
    told = []
    for seed in range(20):
        l = A @ np.random.default_rng(seed).uniform(1.0, 2.0, 3) * [1e4, 1e-3, 1.0]
        answer = qp.solve(np.eye(3), np.ones(3), A=A, l=l, u=l, active_set=False, tol=1e-4)
        share = np.abs(A @ answer.x - l) / (np.abs(A) @ np.abs(answer.x) + np.abs(l))
        far = share.max() > 1e-4 and np.abs(A @ answer.x - l).max() > 1e-4
        if answer.status == "optimal" and far:
            told.append("of its own terms" in answer.message)
    assert all(told)
