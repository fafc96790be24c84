"""Directions of the embedding: its linearization, written out, and the identities of the method."""

import numpy as np
import pytest

from socp import ConeProgram, NonNeg, SecondOrder
from socp.cones.product import margin
from socp.form.standard import StandardForm
from socp.kkt.sparse import SparseKKT
from socp.method.start import cold
from socp.method.step import PRIMAL, Newton, Point
from tests.support.cone_points import arrow, identity, inside, matrices
from tests.support.programs import planted_optimum
from tests.support.standard_forms import dense_M, mixture, operator_matrix


def at_a_point(form, seed):
    """(newton, point) at a random interior point, factored there."""
    rng = np.random.default_rng(seed)
    newton, point = Newton(form, SparseKKT(form, None, 10)), Point(form)
    point.u[:] = rng.normal(size=point.u.size)
    point.z[:] = inside(form.l, form.ptr, rng)
    point.s[:] = inside(form.l, form.ptr, rng)
    point.tau, point.kappa = rng.uniform(0.5, 2.0, 2)
    newton.residuals(point)
    assert newton.linearize(point)
    return newton, point


def written_out(form, point):
    """(rx, rv, rtau, mu) of the embedding."""
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
    assert newton.rtau == pytest.approx(rtau, rel=1e-11)
    assert newton.mu == pytest.approx(mu, rel=1e-12)
    # in the caller's units
    assert newton.scalars[PRIMAL] == pytest.approx(np.abs(rv / form.E).max(initial=0.0), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_directions_solve_the_linearized_embedding(form, sigma):
    newton, point = at_a_point(form, 1)
    n, l, ptr = form.n, form.l, form.ptr
    P, M = operator_matrix(form.P, n), dense_M(form)
    W, W_inverse, _ = matrices(l, ptr, newton.w, newton.eta)
    newton.predictor(point)
    dz_affine, ds_affine, scale = newton.dz_scaled.copy(), newton.ds_scaled.copy(), 1.0
    lam = newton.lam
    ds_rhs = -arrow(l, ptr, lam) @ lam
    kappa_rhs = -point.tau * point.kappa
    if sigma:
        ds_rhs += sigma * newton.mu * identity(l, ptr) - arrow(l, ptr, ds_affine) @ dz_affine
        kappa_rhs += sigma * newton.mu - newton.dtau * newton.dkappa
        newton.corrector(point, sigma)
    dx, dv = newton.du[:n], newton.du[n:].copy()
    dz_scaled = dv[form.p :].copy()
    dv[form.p :] = W_inverse @ dz_scaled
    ds = W @ newton.ds_scaled
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
    np.testing.assert_allclose(arrow(l, ptr, lam) @ (dz_scaled + newton.ds_scaled), ds_rhs, **close)
    assert point.kappa * dtau + point.tau * dkappa == pytest.approx(kappa_rhs, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    "seed, spread, gains", [(0, 2.0, False), (1, 0.5, False), (0, 0.5, True), (4, 0.5, True), (5, 0.5, True)]
)
def test_a_centrality_corrector_solves_the_same_linear_equations_and_steps_further(seed, spread, gains):
    rng = np.random.default_rng(seed)
    n, m = 6, 40
    G, cones = rng.normal(size=(m, n)), [NonNeg(m - 4), SecondOrder(4)]
    h = np.concatenate([np.ones(m - 4), [3.0, 1.0, 1.0, 1.0]])
    form = StandardForm(ConeProgram(rng.normal(size=n), G, h, cones, np.ones((1, n)), [0.5], np.eye(n)))
    newton, point = at_a_point(form, seed)
    point.s[: m - 4] *= 10.0 ** rng.uniform(-spread, spread, m - 4)  # off the central path
    newton.residuals(point)
    assert newton.linearize(point)
    sigma = (1.0 - min(1.0, newton.predictor(point))) ** 3
    alpha = newton.corrector(point, sigma)
    kept = newton.du.copy(), newton.ds_scaled.copy(), newton.dtau, newton.dkappa
    further = newton.centrality_corrector(point, sigma, alpha)
    assert further > alpha if gains else further == alpha
    if not gains:  # given up: the direction is the old one
        np.testing.assert_array_equal(newton.du, kept[0])
        np.testing.assert_array_equal(newton.ds_scaled, kept[1])
        assert (newton.dtau, newton.dkappa) == kept[2:]
    before = np.concatenate(written_out(form, point)[:2])
    newton.step(point, 0.9 * further)
    after = np.concatenate(written_out(form, point)[:2])
    share = 1.0 - 0.9 * further * (1.0 - sigma)
    np.testing.assert_allclose(after, share * before, rtol=1e-6, atol=1e-8 * np.abs(before).max())
    assert newton_interior(form, point)


def test_a_step_leaves_its_share_of_the_linear_residuals_and_stays_inside(form):
    newton, point = at_a_point(form, 2)
    before = np.concatenate(written_out(form, point)[:2])
    affine = min(1.0, newton.predictor(point))
    sigma = (1.0 - affine) ** 3
    alpha = min(1.0, 0.99 * newton.corrector(point, sigma))
    assert 0.0 < alpha <= 1.0
    newton.step(point, alpha)
    after = np.concatenate(written_out(form, point)[:2])
    np.testing.assert_allclose(after, (1 - alpha * (1 - sigma)) * before, rtol=1e-6, atol=1e-8 * np.abs(before).max())
    assert point.tau > 0.0 and point.kappa > 0.0
    newton.residuals(point)
    assert newton.linearize(point)  # s and z are in the interior


def test_the_longest_step_ends_on_the_boundary(form):
    newton, point = at_a_point(form, 3)
    alpha = newton.predictor(point)
    if alpha == np.inf:
        alpha = 1e6
    newton.step(point, alpha * (1 - 1e-9))
    assert newton_interior(form, point)
    newton.step(point, alpha * 1e-6)
    assert not newton_interior(form, point)


def newton_interior(form, point):
    inside_cone = min(margin(form.l, form.ptr, point.s), margin(form.l, form.ptr, point.z))
    return min(inside_cone, point.tau, point.kappa) > 0.0


def test_cold_start_is_inside_and_minimizes_the_penalized_program(form):
    kkt, point = SparseKKT(form, None, 10), Point(form)
    assert cold(form, kkt, point)
    assert newton_interior(form, point)
    if not form.P.is_zero:
        P, M = operator_matrix(form.P, form.n), dense_M(form)
        m = form.m
        K = np.block([[P, M.T], [M, np.diag(np.r_[np.zeros(form.p), -np.ones(m)])]])
        found = np.linalg.lstsq(K, np.r_[-form.c, form.g], rcond=None)[0]
        residual = K @ np.r_[point.u[: form.n + form.p], found[form.n + form.p :]] - np.r_[-form.c, form.g]
        np.testing.assert_allclose(residual, 0.0, atol=1e-7)
