"""The formulas of second-order cones in lanes, each beside its dense twin."""

import numpy as np
import pytest

from socp.batch.cones import begin_cone, longest_step, scale, scale_cone, weigh
from socp.batch.driver import Batch, Shape, lanes_for
from socp.batch.lanes import factor, solve_refined
from socp.batch.spans import spans_of
from socp.batch.state import Lanes
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Matrix
from socp.compiled.vec import LANES, lane_rows, load, splat, store
from socp.problem.settings import Settings


def lanes_in(dim, rng):
    """A lane structure of one cone with s and z inside."""
    n = 2
    none, sides = np.zeros(dim + n, bool), np.zeros((1, dim + n))
    matrices = {"P": np.zeros((1, n * n)), "A": np.zeros((1, dim * n))}
    batch = Batch(m=dim, n=n, count=1, **matrices, q=np.zeros((1, n)), l=sides, u=sides)
    spans = spans_of(np.ones((n, n)), np.ones((dim, n)), np.array([0, dim]))
    w = lanes_for(batch, Shape(none, none, none, none, spans, np.array([0, dim])), Settings())
    for v in (w.cone_s, w.y[:dim]):
        v[:] = rng.normal(size=v.shape)
        v[0] = np.linalg.norm(v[1:], axis=0) * (1.0 + 10.0 ** -rng.uniform(0.0, 6.0, LANES)) + 1e-3
    return w


@kernel
def try_scaling(q: Matrix, eta: Matrix, v: Matrix, forward: Matrix, back: Matrix, weighed: Matrix) -> None:
    scale(q, 0, v.shape[0], 1.0, load(eta, 0), v, forward)
    scale(q, 0, v.shape[0], -1.0, 1.0 / load(eta, 0), v, back)
    weigh(q, 0, v.shape[0], load(eta, 0), v, weighed)


@kernel
def try_step(lam: Matrix, v: Matrix, out: Matrix) -> None:
    store(out, 0, longest_step(lam, 0, v.shape[0], v))


@kernel
def set_scaling(w: Lanes) -> None:
    sz = splat(0.0)
    for i in range(w.cone_rows):
        sz += load(w.cone_s, i) * load(w.y, i)
    scale_cone(w, 0, sz)


@kernel
def begin_first_cone(w: Lanes) -> None:
    begin_cone(w, 0)


@pytest.mark.parametrize("dim", [2, 3, 7])
def test_the_scaling_takes_slacks_and_multipliers_to_one_point(dim):
    rng = np.random.default_rng(dim)
    w = lanes_in(dim, rng)
    s, z, v = w.cone_s, w.y[:dim].copy(), lane_rows(dim)
    v[:] = rng.normal(size=v.shape)
    set_scaling(w)
    forward, back, weighed, lam = lane_rows(dim), lane_rows(dim), lane_rows(dim), w.lam
    try_scaling(w.nt, w.eta, z, forward, back, weighed)
    assert np.allclose(forward, lam, rtol=1e-6)
    try_scaling(w.nt, w.eta, s, forward, back, weighed)
    assert np.allclose(back, lam, rtol=1e-6) and np.allclose(weighed, z, rtol=1e-5, atol=1e-6)
    try_scaling(w.nt, w.eta, v, forward, back, weighed)
    J = np.diag([1.0, *[-1.0] * (dim - 1)])
    for lane in range(LANES):
        q, eta = w.nt[:, lane], w.eta[0, lane]
        W2 = eta**2 * (2.0 * np.outer(q, q) - J)
        assert q @ J @ q == pytest.approx(1.0, abs=1e-6)
        assert np.allclose(W2 @ weighed[:, lane], v[:, lane], rtol=1e-5, atol=1e-5 * np.abs(W2).max())


@pytest.mark.parametrize("dim", [2, 3, 7])
def test_the_longest_step_ends_at_the_boundary(dim):
    rng = np.random.default_rng(dim)
    w, v, out = lanes_in(dim, rng), lane_rows(dim), lane_rows(1)
    v[:] = rng.normal(size=v.shape)
    try_step(w.cone_s, v, out)
    end = out * w.cone_s + v
    depth = end[0] - np.linalg.norm(end[1:], axis=0)
    assert np.allclose(depth / np.abs(end).max(axis=0), 0.0, atol=1e-7)
    inside = (out + 1e-3) * w.cone_s + v
    assert (inside[0] > np.linalg.norm(inside[1:], axis=0)).all()


@kernel
def try_solve(w: Lanes, x: Matrix, Gx: Matrix, y: Matrix, Gy: Matrix) -> None:
    factor(w)
    for j in range(w.n):
        store(w.pivots, j, 1.001 * load(w.pivots, j))  # as rounding spoils it
    solve_refined(w, x, Gx)
    w.any_refine = 1
    solve_refined(w, y, Gy)


def test_refinement_is_for_the_lanes_that_need_it():
    rng = np.random.default_rng(0)
    w = lanes_in(4, rng)
    for name in ("P_own", "A_own", "P", "A"):
        array = getattr(w, name)
        array[:] = rng.normal(size=array.shape)
    w.P[:] = 1e-3 * np.eye(2).ravel()
    set_scaling(w)
    begin_first_cone(w)
    w.refine = np.arange(LANES) % 2
    x, y, Gx, Gy = lane_rows(2), lane_rows(2), lane_rows(6), lane_rows(6)
    rhs = x[:] = y[:] = rng.normal(size=x.shape)
    w.W[4:] = 1e-10
    try_solve(w, x, Gx, y, Gy)
    assert np.array_equal(x[:, ::2], y[:, ::2]) and np.array_equal(Gx[:, ::2], Gy[:, ::2])
    G = np.vstack([w.A.reshape(4, 2), np.eye(2)])
    for lane in range(LANES):
        q, eta = w.nt[:, lane], w.eta[0, lane]
        signed = q * [1.0, -1.0, -1.0, -1.0]
        W = np.diag(np.full(6, 1e-10))
        W[:4, :4] = (2.0 * np.outer(signed, signed) - np.diag([1.0, -1.0, -1.0, -1.0])) / eta**2
        H = w.P.reshape(2, 2) + G.T @ W @ G
        before, after = (np.abs(H @ v[:, lane] - rhs[:, lane]).max() for v in (x, y))
        assert after < 0.01 * before if lane % 2 else after == before
        assert np.allclose(G @ y[:, lane], Gy[:, lane])
