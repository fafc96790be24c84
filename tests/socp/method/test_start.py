"""Starting points: inside the cone, and not drawn away by sides that stand for infinity."""

import numpy as np
import pytest

import qp
from socp import ConeProgram, NonNeg, SecondOrder, Solver
from socp.cones import product as cones
from socp.form.standard import StandardForm
from socp.kkt.dense import DenseKKT, apply_dense
from socp.kkt.sparse import SparseKKT
from socp.method.newton import Newton, Point, measure
from socp.method.start import (
    FAR,
    WARM_LIMIT,
    WARM_MARGIN,
    move_inside,
    scale_far_sides,
    shift_inside,
    start_cold,
    start_warm,
)
from tests.support.cone_points import SHAPES, identity, inside, layout
from tests.support.kkt_systems import factor_never
from tests.support.programs import OPTIMAL, planted_optimum, planted_quadratic, solve_and_check
from tests.support.standard_forms import dense_M

BIG = [1e5, 1e8, 1e10, 1e15, 1e19]


def with_far_sides(program, big, rng):
    """Return the quadratic program with most of its infinite sides replaced by large finite ones."""
    sides = {}
    for name, sign in (("l", -1), ("u", 1), ("lb", -1), ("ub", 1)):
        side = getattr(program, name).copy()
        chosen = np.isinf(side) & (rng.random(side.size) < 0.7)
        side[chosen] = sign * rng.choice(big, size=chosen.sum())
        sides[name] = side
    return qp.QuadraticProgram(program.P, program.q, program.A, **sides)


@pytest.mark.parametrize("big", [[side] for side in BIG] + [BIG], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_far_sides_do_not_change_a_quadratic_program(seed, big):
    rng = np.random.default_rng([seed, 1])
    program, value = planted_quadratic(rng, n=int(rng.integers(3, 30)))
    solve_and_check(with_far_sides(program, big, rng), objective=value)


def test_far_sides_cost_few_iterations():
    near = far = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 3])
        program, _ = planted_quadratic(rng, n=20)
        near += qp.solve(program).iterations
        far += qp.solve(with_far_sides(program, [1e10], rng)).iterations
    assert far <= 1.25 * near  # each is one more inequality; from the middle of the boxes it would be 2.5 times as many


def test_weights_of_sides():
    # s = h - Gx: x = 0 violates the second row by 10; sides are far relative to this
    h = [1.0, -10.0, 20 * FAR, 1.0, 0.0, 0.0, 30 * FAR, 1.0]
    cone_program = ConeProgram([1.0], np.ones((8, 1)), h, [NonNeg(3), SecondOrder(3), SecondOrder(2)])
    newton, weight = Solver(cone_program, equilibrate=False).newton, np.empty(8)
    scale_far_sides(newton, weight)
    np.testing.assert_allclose(weight, [1, 1, 2 * FAR, 1, 1, 1, 3 * FAR, 3 * FAR])
    np.testing.assert_allclose(newton.w, [1, 1, 2 * FAR, 1, 0, 0, 1, 0])
    np.testing.assert_allclose(newton.eta, [1, 3 * FAR])
    assert newton.w is newton.kkt.w  # the KKT system is solved at this scaling


def null_space(A):
    _, sizes, V = np.linalg.svd(A)
    return V[int((sizes > 1e-9).sum()) :].T


@pytest.mark.parametrize("backend", [SparseKKT, DenseKKT])
@pytest.mark.parametrize("seed", range(12))
def test_a_cold_start_without_curvature_is_the_solution_of_two_least_squares_problems(seed, backend):
    """Solve min ||s|| with s = h - Gx, Ax = b, and min ||z|| with A'y + G'z = -c; move both along e into the cone."""
    rng = np.random.default_rng([seed, 7])
    planted, _ = planted_optimum(rng)
    A, G = planted.A.toarray(), planted.G.toarray()
    c = -A.T @ rng.normal(size=planted.p) - G.T @ rng.normal(size=planted.m)
    form = StandardForm(ConeProgram(c, G, planted.h, planted.cones, A, planted.b))
    newton, point = Newton(form, backend(form, None, 10)), Point(form)
    assert start_cold(newton, point)
    M, n, p = dense_M(form), form.n, form.p
    A, G, N = M[:p], M[p:], null_space(M[:p])  # in the form's units
    x, y, z, s = point.u[:n], point.u[n : n + p], point.z, point.s
    x0 = np.linalg.lstsq(A, form.g[:p], rcond=None)[0]
    t = np.linalg.lstsq(G @ N, form.g[p:] - G @ x0, rcond=None)[0]
    least_s = form.g[p:] - G @ (x0 + N @ t)
    least_z = np.linalg.lstsq(N.T @ G.T, -N.T @ form.c, rcond=None)[0]
    np.testing.assert_allclose(A @ x, form.g[:p], atol=1e-6)
    np.testing.assert_allclose(G @ x, form.g[p:] - least_s, atol=1e-6)
    np.testing.assert_allclose(A.T @ y + G.T @ least_z, -form.c, atol=1e-6)
    for found, least in ((s, least_s), (z, least_z)):
        # moved, if at all, to the distance 1 from the boundary
        move = 1.0 - cones.margin(form.l, form.ptr, least) if cones.margin(form.l, form.ptr, least) <= 1e-6 else 0.0
        np.testing.assert_allclose(found, least + move * identity(form.l, form.ptr), atol=1e-6)


@pytest.mark.parametrize("backend", [SparseKKT, DenseKKT])
def test_slacks_of_far_sides_are_those_of_the_starting_point(backend):
    rng = np.random.default_rng(0)
    h = np.array([1.0, 2.0, 1e6, 0.5, 1e9, 3.0])
    form = StandardForm(ConeProgram(rng.normal(size=3), rng.normal(size=(6, 3)), h, [NonNeg(6)], P=np.eye(3)))
    newton, point, weight = Newton(form, backend(form, None, 10)), Point(form), np.empty(6)
    assert start_cold(newton, point)
    scale_far_sides(newton, weight)
    moves = (dense_M(form) @ point.u[:3] + point.s - form.g) / weight
    assert np.count_nonzero(weight > 1.0) == 2
    np.testing.assert_allclose(moves, moves[0], atol=1e-6)  # all are moved into the cone by the same amount


def test_without_factors_there_is_no_start():
    newton = Solver(OPTIMAL["disk"][0]).newton
    newton.kkt._use(factor_never, apply_dense)
    assert not start_cold(newton, Point(newton.form))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("depth", [-3.0, -0.1, 0.0, 0.01, 0.5])
def test_points_are_moved_along_the_identity(shape, depth):
    l, ptr = layout(shape)
    e = identity(l, ptr)
    v = inside(l, ptr, np.random.default_rng(0))
    v += (depth - cones.margin(l, ptr, v)) * e if v.size else 0.0
    moved, shifted = v.copy(), v.copy()
    move_inside(l, ptr, 0.2, moved)  # all move by the same amount, and none is nearer to the boundary than 0.2
    np.testing.assert_allclose(moved, v + (0.2 + max(-depth, 0.0)) * e if depth < 0.2 else v, atol=1e-12)
    shift_inside(l, ptr, shifted)  # to distance 1, if outside
    np.testing.assert_allclose(shifted, v + (1.0 - depth) * e if depth <= 0.0 else v, atol=1e-12)


def solved(seed):
    """Return (newton, the optimal point with tau = 1) of a program."""
    solver = Solver(planted_optimum(np.random.default_rng([seed, 6]), n=10)[0])
    solver.solve()
    form, last, point = solver.form, solver._last_optimal(), Point(solver.form)
    point.u[:], point.s[:] = last.u / last.tau, last.s / last.tau
    return Newton(form, solver.kkt), point


@pytest.mark.parametrize("seed", range(6))
def test_warm_start_is_inside_and_near(seed):
    newton, point = solved(seed)
    form, u, s = newton.form, point.u.copy(), point.s.copy()
    assert start_warm(newton, point, True)
    assert point.tau == 1.0 and point.kappa == pytest.approx(WARM_MARGIN, rel=0.1, abs=0.0)
    for v in (point.s, point.z):
        assert cones.margin(form.l, form.ptr, v) >= 0.999 * WARM_MARGIN
    assert np.abs(point.u - u).max(initial=0.0) <= 2.1 * WARM_MARGIN
    assert np.abs(point.s - s).max(initial=0.0) <= 2.1 * WARM_MARGIN
    np.testing.assert_array_equal(point.u[: form.n + form.p], u[: form.n + form.p])


@pytest.mark.parametrize("change", [1e-2, 10.0])
@pytest.mark.parametrize("seed", [0, 5])
def test_a_warm_start_is_moved_as_far_as_the_data_moved(seed, change):
    newton, point = solved(seed)
    form = newton.form
    assert (np.abs(form.c).max() > np.abs(form.g).max()) == (seed == 5)
    form.c[0] += change * (1.0 + np.abs(form.c).max())
    size = 1.0 + max(np.abs(form.c).max(), np.abs(form.g).max())
    point.tau = 1.0
    measure(newton, point)
    margin = np.abs(newton.r).max() / size
    assert start_warm(newton, point, True) == (margin < WARM_LIMIT)
    if margin < WARM_LIMIT:
        assert point.kappa == pytest.approx(margin, rel=1e-3, abs=0.0)
        assert min(cones.margin(form.l, form.ptr, v) for v in (point.s, point.z)) >= 0.999 * margin


def test_a_warm_start_that_is_not_finite_is_refused():
    newton, point = solved(0)
    point.u[0] = np.nan
    assert not start_warm(newton, point, True)
