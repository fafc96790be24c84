"""Directions of the embedding: its linearization, written out, and the identities of the method."""

import numpy as np
import pytest

from socp import ConeProgram, LowRank, NonNeg, SecondOrder
from socp.cones.product import margin
from socp.form.standard import StandardForm
from socp.kkt.dense import DenseKKT
from socp.kkt.lowrank import LowRankKKT
from socp.kkt.sparse import SparseKKT
from socp.method.newton import (
    MIN_PRODUCT,
    SHARE,
    Newton,
    Point,
    advance,
    center,
    correct,
    descent_limit,
    lift,
    limit_residuals,
    linearize,
    measure,
    predict,
    relative_residuals,
    round_inside,
    tau_curvature,
)
from socp.method.start import start_cold
from tests.support.cone_points import arrow, identity, inside, matrices
from tests.support.programs import planted_optimum
from tests.support.standard_forms import dense_M, mixture, operator_matrix


def at_a_point(form, seed, kkt=None):
    """Return (newton, point) at a random interior point, at which the KKT matrix is factored."""
    rng = np.random.default_rng(seed)
    newton, point = Newton(form, kkt or SparseKKT(form, None, 10)), Point(form)
    point.u[:] = rng.normal(size=point.u.size)
    point.z[:] = inside(form.l, form.ptr, rng)
    point.s[:] = inside(form.l, form.ptr, rng)
    point.tau, point.kappa = rng.uniform(0.5, 2.0, 2)
    newton.kkt.policy.precise = True  # directions are compared up to rounding
    measure(newton, point)
    assert linearize(newton, point)
    return newton, point


def written_out(form, point):
    """Return (rx, rv, rtau, mu) of the embedding."""
    P, M = operator_matrix(form.P, form.n), dense_M(form)
    x, v = point.u[: form.n], point.u[form.n :]
    rx = P @ x + M.T @ v + form.c * point.tau
    rv = M @ x - form.g * point.tau
    rv[form.p :] += point.s
    rtau = point.kappa + form.c @ x + form.g @ v + x @ P @ x / point.tau
    degree = form.l + form.ptr.size - 1
    return rx, rv, rtau, (point.s @ point.z + point.tau * point.kappa) / (degree + 1)


@pytest.fixture(params=[(0, [3, 7]), (1, [2, 12, 6]), (1, []), *range(6)], ids=str)
def form(request):
    if isinstance(request.param, tuple):
        return mixture(*request.param)
    return StandardForm(planted_optimum(np.random.default_rng(request.param))[0])


def test_residuals_are_those_of_the_embedding(form):
    newton, point = at_a_point(form, 0)
    rx, rv, rtau, mu = written_out(form, point)
    np.testing.assert_allclose(newton.r[: form.n], rx, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(newton.r[form.n :], rv, rtol=1e-10, atol=1e-11)
    assert newton.rtau == pytest.approx(rtau, rel=1e-11, abs=1e-11)
    assert newton.mu == pytest.approx(mu, rel=1e-12, abs=0.0)
    P, M, x, v = operator_matrix(form.P, form.n), dense_M(form), point.u[: form.n], point.u[form.n :]
    p, slack = form.p, np.concatenate([np.zeros(form.p), point.s])
    expected = {"xPx": x @ P @ x, "cx": form.c @ x, "gv": form.g @ v}
    # in the caller's units
    for name, value, units in (
        ("rows", rv[:p], form.E[:p]), ("cone", rv[p:], form.E[p:]),
        ("dual", rx, form.cost_scale * form.D), ("norm_Px", P @ x, form.cost_scale * form.D),
        ("norm_Ax", M[:p] @ x, form.E[:p]), ("norm_Gx", M[p:] @ x, form.E[p:]), ("norm_Mxs", M @ x + slack, form.E),
        ("norm_Mtv", M.T @ v, form.cost_scale * form.D),
    ):  # fmt: skip
        expected[name] = np.abs(value / units).max(initial=0.0)
    for name, value in expected.items():
        assert getattr(newton, name) == pytest.approx(value, rel=1e-10, abs=1e-12), name
    # residuals are relative to the larger of their two terms, and tau
    for name, data, term in (
        ("rows_size", form.norm_b, newton.norm_Ax), ("cone_size", form.norm_h, newton.norm_Gx),
        ("dual_size", form.norm_c, newton.norm_Px),
    ):  # fmt: skip
        assert getattr(newton, name) == pytest.approx(point.tau * (1.0 + max(data, term / point.tau)), rel=1e-14), name
    primal = max(newton.rows / newton.rows_size, newton.cone / newton.cone_size)
    assert relative_residuals(newton) == (primal, newton.dual / newton.dual_size)


def test_what_a_solve_may_leave_of_each_block(form):
    newton, _ = at_a_point(form, 5)
    policy, r, ends = newton.kkt.policy, newton.r, [form.n, form.n + form.p]
    for row, factor in ((0, 3.0), (1, 0.5)):
        policy.block_limits[:] = policy.caller_limits[:] = np.nan
        limit_residuals(newton, row, factor)
        own, level = slice(3 * row, 3 * row + 3), SHARE / factor * max(*relative_residuals(newton), newton.tol)
        largest = [np.abs(part).max(initial=0.0) for part in np.split(r, ends)]
        np.testing.assert_allclose(policy.block_limits[own], SHARE / factor * np.array(largest), rtol=1e-14)
        sizes = [newton.dual_size * form.cost_scale, newton.rows_size, newton.cone_size]
        np.testing.assert_allclose(policy.caller_limits[own], level * np.array(sizes), rtol=1e-14)
        assert (
            np.isnan(policy.block_limits).sum() == np.isnan(policy.caller_limits).sum() == policy.block_limits.size - 3
        )


def test_the_corrector_may_leave_as_much_as_the_predictor(form):
    newton, point = at_a_point(form, 5)
    limits = newton.kkt.policy.block_limits, newton.kkt.policy.caller_limits
    for of_predictor in (limits[0][3:6], limits[1][3:6]):
        of_predictor[:] = 1.0 + np.arange(3.0)
    predict(newton, point)
    correct(newton, point, 0.1)
    assert limits[0][:3].tolist() == limits[1][:3].tolist() == [1.0, 2.0, 3.0]


def scaled(newton):
    """Return W dz, the end of du."""
    return newton.du[newton.du.size - newton.ds_scaled.size :]


def check_direction(newton, point, sigma, ds_rhs, kappa_rhs):
    """Check that the direction solves the linearized embedding with these right-hand sides of complementarity."""
    form = newton.form
    n, l, ptr = form.n, form.l, form.ptr
    P, M = operator_matrix(form.P, n), dense_M(form)
    W, W_inverse, _ = matrices(l, ptr, newton.w, newton.eta)
    dx, dv = newton.du[:n], newton.du[n:].copy()
    dz_scaled = dv[form.p :].copy()
    dv[form.p :] = W_inverse @ dz_scaled
    ds = W @ newton.ds_scaled
    np.testing.assert_allclose(newton.ds, ds, rtol=1e-8, atol=1e-9 * (1.0 + np.abs(ds).max(initial=0.0)))
    rx, rv, rtau, _ = written_out(form, point)
    dtau, dkappa, x = newton.dtau, newton.dkappa, point.u[:n]
    scale = 1.0 + max(np.abs(newton.du).max(initial=0.0), np.abs(dv).max(initial=0.0), np.abs(ds).max(initial=0.0))
    close = {"rtol": 1e-8, "atol": 1e-9 * scale}
    np.testing.assert_allclose(P @ dx + M.T @ dv + form.c * dtau, -(1 - sigma) * rx, **close)
    dr = M @ dx - form.g * dtau
    dr[form.p :] += ds
    np.testing.assert_allclose(dr, -(1 - sigma) * rv, **close)
    slope = 2 * x @ P @ dx / point.tau - x @ P @ x / point.tau**2 * dtau
    np.testing.assert_allclose(dkappa + form.c @ dx + form.g @ dv + slope, -(1 - sigma) * rtau, **close)
    np.testing.assert_allclose(arrow(l, ptr, newton.lam) @ (dz_scaled + newton.ds_scaled), ds_rhs, **close)
    assert point.kappa * dtau + point.tau * dkappa == pytest.approx(kappa_rhs, rel=1e-8, abs=1e-9)


def right_sides(newton, point, sigma):
    """Return (ds_rhs, kappa_rhs) of the predictor, or for `sigma` > 0 of the corrector; `newton` has the predictor."""
    l, ptr, lam = newton.form.l, newton.form.ptr, newton.lam
    ds_rhs, kappa_rhs = -arrow(l, ptr, lam) @ lam, -point.tau * point.kappa
    if sigma:
        ds_rhs += sigma * newton.mu * identity(l, ptr) - arrow(l, ptr, newton.ds_scaled) @ scaled(newton)
        kappa_rhs += sigma * newton.mu - newton.dtau * newton.dkappa
    return ds_rhs, kappa_rhs


def dense_and_low_rank():
    """Return a form that all backends can solve."""
    rng = np.random.default_rng(7)
    G, P = np.vstack([-np.eye(8), rng.normal(size=(6, 8))]), LowRank(rng.normal(size=(8, 2)), np.ones(8))
    A, cones = rng.normal(size=(2, 8)), [NonNeg(10), SecondOrder(4)]
    return StandardForm(ConeProgram(rng.normal(size=8), G, np.ones(14), cones, A, np.ones(2), P))


@pytest.mark.parametrize("backend", [SparseKKT, DenseKKT, LowRankKKT])
@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_directions_solve_the_linearized_embedding(form, sigma, backend):
    form = form if backend is SparseKKT else dense_and_low_rank()
    newton, point = at_a_point(form, 1, backend(form, None, 10))
    rhs = right_sides(newton, point, 0.0)
    predict(newton, point)
    if sigma:
        rhs = right_sides(newton, point, sigma)
        correct(newton, point, sigma)
    check_direction(newton, point, sigma, *rhs)


def test_the_denominator_of_dtau_is_the_larger_of_its_two_forms(form):
    """The two forms are equal in exact arithmetic; rounding reduces the one or the other."""
    newton, point = at_a_point(form, 3)
    n, x, u2, tau = form.n, point.u[: form.n], newton.solution[: newton.q.size], point.tau
    P, W_z = operator_matrix(form.P, n), u2[u2.size - form.m :]
    d, base = x / tau - u2[:n], point.kappa / tau
    squares, linear = W_z @ W_z + d @ P @ d, x @ P @ x / tau**2 - 2.0 * x @ P @ u2[:n] / tau - newton.q @ u2
    assert newton.curvature == pytest.approx(base + squares, rel=1e-7) == pytest.approx(base + linear, rel=1e-7)
    for more in (-1e3, 1e3):
        newton.xPx = x @ P @ x + more
        expected = base + max(squares, linear + more / tau**2)
        assert tau_curvature(newton, point, P @ u2[:n]) == pytest.approx(expected, rel=1e-9)


def off_the_path(seed, spread):
    """Return (form, newton, point) of a program with many rows, at a point off the central path."""
    rng = np.random.default_rng(seed)
    n, m = 6, 40
    G, cones = rng.normal(size=(m, n)), [NonNeg(m - 4), SecondOrder(4)]
    h = np.concatenate([np.ones(m - 4), [3.0, 1.0, 1.0, 1.0]])
    form = StandardForm(ConeProgram(rng.normal(size=n), G, h, cones, np.ones((1, n)), [0.5], np.eye(n)))
    newton, point = at_a_point(form, seed)
    point.s[: m - 4] *= 10.0 ** rng.uniform(-spread, spread, m - 4)
    measure(newton, point)
    assert linearize(newton, point)
    return form, newton, point


CENTRALITY = [(0, 2.0, False), (1, 0.5, False), (5, 0.5, True), (9, 0.5, True), (11, 0.5, True)]


@pytest.mark.parametrize("seed, spread, gains", CENTRALITY)
def test_a_centrality_corrector_solves_the_same_linear_equations_and_steps_further(seed, spread, gains):
    form, newton, point = off_the_path(seed, spread)
    sigma = (1.0 - min(1.0, predict(newton, point))) ** 3
    alpha = correct(newton, point, sigma)
    kept, kept_slack = (newton.du.copy(), newton.ds_scaled.copy(), newton.dtau, newton.dkappa), newton.ds.copy()
    further = center(newton, point, sigma, alpha)
    assert further > alpha if gains else further == alpha
    np.testing.assert_allclose(newton.ds_scaled, newton.shift - scaled(newton), rtol=1e-9, atol=1e-9)
    if not gains:  # rejected: the old direction is kept
        np.testing.assert_array_equal(newton.du, kept[0])
        np.testing.assert_array_equal(newton.ds_scaled, kept[1])
        np.testing.assert_array_equal(newton.ds, kept_slack)
        assert (newton.dtau, newton.dkappa) == kept[2:]
    for _ in range(2):  # later corrections start from the first
        alpha, further = further, center(newton, point, sigma, further)
        assert further >= alpha
    before = np.concatenate(written_out(form, point)[:2])
    advance(newton, point, 0.9 * further)
    after = np.concatenate(written_out(form, point)[:2])
    share = 1.0 - 0.9 * further * (1.0 - sigma)
    np.testing.assert_allclose(after, share * before, rtol=1e-6, atol=1e-8 * np.abs(before).max())
    assert newton_interior(form, point)


# tau kappa over the mean of the products (None: unchanged), where the corrector is kept
MOVES = [(5, 0.5, None), (9, 0.5, None), (11, 0.5, 30.0), (11, 0.3, 30.0), (13, 0.3, 30.0), (17, 0.0, 30.0),
         (6, 0.0, 100.0), (11, 0.0, 100.0)]  # fmt: skip


@pytest.mark.parametrize("seed, spread, tau_kappa", MOVES)
def test_a_centrality_corrector_moves_the_products_it_says(seed, spread, tau_kappa):
    form, newton, point = off_the_path(seed, spread)
    if tau_kappa is not None:  # far from the mean, so that it is corrected as the other products are
        point.kappa = tau_kappa * newton.mu / point.tau
        measure(newton, point)
        assert linearize(newton, point)
    sigma = (1.0 - min(1.0, predict(newton, point))) ** 3
    ds_rhs, kappa_rhs = right_sides(newton, point, sigma)
    alpha = correct(newton, point, sigma)
    target = sigma * newton.mu
    l, lam = form.l, newton.lam[: form.l]
    products = (lam + newton.ds_scaled[:l]) * (lam + scaled(newton)[:l])
    of_tau = (point.tau + newton.dtau) * (point.kappa + newton.dkappa)
    within = MIN_PRODUCT * target, target / MIN_PRODUCT
    # towards [target / 10, 10 target], changed by at most 10 target; cones are unchanged
    ds_rhs[:l] += np.maximum(np.clip(products, *within) - products, -within[1])
    move = max(np.clip(of_tau, *within) - of_tau, -within[1])
    assert (abs(move) > 0.5 * target) == (tau_kappa is not None)
    assert center(newton, point, sigma, alpha) > alpha
    check_direction(newton, point, sigma, ds_rhs, kappa_rhs + move)


def test_lift():
    assert lift(1.0, 1.0) == 0.0
    assert lift(0.05, 1.0) == pytest.approx(0.05)
    assert lift(-3.0, 1.0) == pytest.approx(3.1)
    assert lift(12.0, 1.0) == pytest.approx(-2.0)
    assert lift(1e6, 1.0) == -10.0


ONE_CONE = ConeProgram([1.0, -2.0], [[3, 2], [3, 0], [3, -2]], [17, 8, 15], [SecondOrder(3)], P=np.diag([4.0, 3.0]))


@pytest.mark.parametrize("margin", [1e-2, 1e-5, 1e-8, 1e-10])
@pytest.mark.parametrize("backend", [SparseKKT, DenseKKT])
def test_a_step_near_the_boundary_of_a_cone_loses_nothing_of_the_linear_equations(margin, backend):
    # s and z on opposite sides of a cone's boundary: W has the condition number 1 / margin
    form = StandardForm(ONE_CONE, equilibrate=False)
    newton, point = Newton(form, backend(form, None, 10)), Point(form)
    point.u[:2] = 0.3, -0.2
    point.s[:] = 5.0 * np.array([1.0 + margin, 0.6, 0.8])
    point.z[:] = 2.0 * np.array([1.0 + margin, -0.6, -0.8])
    measure(newton, point)
    assert linearize(newton, point)
    sigma = (1.0 - min(1.0, predict(newton, point))) ** 3
    alpha = min(1.0, 0.99 * correct(newton, point, sigma))
    before = written_out(form, point)[1]
    advance(newton, point, alpha)
    after = written_out(form, point)[1]
    np.testing.assert_allclose(after, (1 - alpha * (1 - sigma)) * before, rtol=0.0, atol=1e-12 * np.abs(form.g).max())
    assert newton_interior(form, point)


def test_a_step_to_which_rounding_leaves_no_interior_stays_inside():
    # s and z whose distances from the boundary fall below their rounding
    form = StandardForm(ONE_CONE, equilibrate=False)
    newton, point = Newton(form, SparseKKT(form, None, 10)), Point(form)
    point.s[:] = np.array([1.0 + 5e-15, 0.6, 0.8])
    point.z[:] = np.array([1.0 + 5e-15, -0.6, -0.8])
    measure(newton, point)
    assert linearize(newton, point)
    newton.du[:], newton.dtau, newton.dkappa = 0.0, 0.0, 0.0
    newton.ds[:] = np.array([-5e-15, 0.0, 0.0])
    advance(newton, point, 0.9999)
    assert not newton_interior(form, point)
    round_inside(point, form.ptr)
    assert newton_interior(form, point) and linearize(newton, point)
    np.testing.assert_allclose(point.s, np.array([1.0, 0.6, 0.8]), rtol=2e-15)
    # points clearly outside of the cones are rejected
    advance(newton, point, 1e3)
    round_inside(point, form.ptr)
    assert not newton_interior(form, point)


@pytest.mark.parametrize("tau, kappa", [(1.0, 1.0), (1e-3, 1.0), (1.0, 1e-3), (1.0, 1e3), (1e3, 1e3)])
def test_the_longest_step_ends_on_the_boundary(form, tau, kappa):
    newton, point = at_a_point(form, 3)
    point.tau, point.kappa = tau, kappa
    measure(newton, point)
    assert linearize(newton, point)
    alpha = predict(newton, point)
    if alpha == np.inf:
        alpha = 1e6
    advance(newton, point, alpha * (1 - 1e-9))
    assert newton_interior(form, point)
    advance(newton, point, alpha * 1e-6)
    assert not newton_interior(form, point)


def newton_interior(form, point):
    inside_cone = min(margin(form.l, form.ptr, point.s), margin(form.l, form.ptr, point.z))
    return min(inside_cone, point.tau, point.kappa) > 0.0


@pytest.mark.parametrize("backend", [SparseKKT, DenseKKT])
def test_cold_start_is_inside_and_minimizes_the_penalized_program(form, backend):
    newton, point = Newton(form, backend(form, None, 10)), Point(form)
    assert start_cold(newton, point)
    assert newton_interior(form, point)
    assert (point.tau, point.kappa) == (1.0, 1.0)
    if not form.P.is_zero:
        P, M = operator_matrix(form.P, form.n), dense_M(form)
        m = form.m
        K = np.block([[P, M.T], [M, np.diag(np.r_[np.zeros(form.p), -np.ones(m)])]])
        found = np.linalg.lstsq(K, np.r_[-form.c, form.g], rcond=None)[0]
        residual = K @ np.r_[point.u[: form.n + form.p], found[form.n + form.p :]] - np.r_[-form.c, form.g]
        np.testing.assert_allclose(residual, 0.0, atol=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_mu_is_smallest_at_the_descent_limit(seed):
    rng = np.random.default_rng([seed, 5])
    form = StandardForm(planted_optimum(rng, n=6)[0])
    newton, point = at_a_point(form, seed)
    assert linearize(newton, point)
    predict(newton, point)
    longest = correct(newton, point, 0.1)

    def mu(alpha):
        other = Point(form)
        other.copy_from(point)
        advance(newton, other, alpha)
        return other.s @ other.z + other.tau * other.kappa

    # fit a parabola through three steps; if it opens upwards, its vertex is the limit
    steps = np.array([0.0, 0.4, 0.8]) * min(longest, 1.0)
    curvature, slope, _ = np.polyfit(steps, [mu(alpha) for alpha in steps], 2)
    limit = descent_limit(newton, point)
    scale = mu(0.0)
    if curvature > 1e-9 * scale and slope < 0.0:
        assert limit == pytest.approx(-0.5 * slope / curvature, rel=1e-5, abs=0.0)
    elif curvature < -1e-9 * scale:
        assert limit == np.inf
