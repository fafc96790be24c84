"""Refinement of the Newton system of lanes with a second-order cone; `test_lanes` has the twin of all steps."""

import numpy as np

from socp.batch.cones import scale_cone
from socp.batch.driver import Batch, Shape, lanes_for
from socp.batch.lanes import factor, solve_refined
from socp.batch.spans import spans_of
from socp.batch.state import Lanes
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Matrix
from socp.compiled.vec import LANES, lane_rows, load, splat, store
from socp.problem.settings import Settings


def lanes_in(dim, rng):
    """Return lanes of a program with one second-order cone, with s and z in its interior."""
    n = 2
    none, sides = np.zeros(dim + n, bool), np.zeros((1, dim + n))
    matrices = {"P": np.zeros((1, n * n)), "A": np.zeros((1, dim * n))}
    batch = Batch(m=dim, n=n, count=1, **matrices, q=np.zeros((1, n)), l=sides, u=sides)
    spans = spans_of(np.ones((n, n)), np.ones((dim, n)), np.array([0, dim]))
    lanes = lanes_for(batch, Shape(none, none, none, none, spans, np.array([0, dim])), Settings())
    for v in (lanes.cone_s, lanes.y[:dim]):
        v[:] = rng.normal(size=v.shape)
        v[0] = np.linalg.norm(v[1:], axis=0) * (1.0 + 10.0 ** -rng.uniform(0.0, 6.0, LANES)) + 1e-3
    return lanes


@kernel
def set_scaling(lanes: Lanes) -> None:
    sz = splat(0.0)
    for i in range(lanes.cone_rows):
        sz += load(lanes.cone_s, i) * load(lanes.y, i)
    scale_cone(lanes, 0, sz)


@kernel
def try_solve(lanes: Lanes, x: Matrix, Gx: Matrix, y: Matrix, Gy: Matrix) -> None:
    factor(lanes)
    for j in range(lanes.n):
        store(lanes.pivots, j, 1.001 * load(lanes.pivots, j))  # as rounding spoils it
    solve_refined(lanes, x, Gx)
    lanes.any_refine = 1
    solve_refined(lanes, y, Gy)


def test_refinement_is_for_the_lanes_that_need_it():
    rng = np.random.default_rng(0)
    lanes = lanes_in(4, rng)
    for name in ("P_own", "A_own", "P", "A"):
        array = getattr(lanes, name)
        array[:] = rng.normal(size=array.shape)
    lanes.P[:] = 1e-3 * np.eye(2).ravel()
    set_scaling(lanes)
    lanes.refine = np.arange(LANES) % 2
    x, y, Gx, Gy = lane_rows(2), lane_rows(2), lane_rows(6), lane_rows(6)
    rhs = x[:] = y[:] = rng.normal(size=x.shape)
    lanes.W[4:] = 1e-10
    try_solve(lanes, x, Gx, y, Gy)
    assert np.array_equal(x[:, ::2], y[:, ::2]) and np.array_equal(Gx[:, ::2], Gy[:, ::2])
    G = np.vstack([lanes.A.reshape(4, 2), np.eye(2)])
    for lane in range(LANES):
        q, eta = lanes.nt[:, lane], lanes.eta[0, lane]
        signed = q * [1.0, -1.0, -1.0, -1.0]
        W = np.diag(np.full(6, 1e-10))
        W[:4, :4] = (2.0 * np.outer(signed, signed) - np.diag([1.0, -1.0, -1.0, -1.0])) / eta**2
        H = lanes.P.reshape(2, 2) + G.T @ W @ G
        before, after = (np.abs(H @ v[:, lane] - rhs[:, lane]).max() for v in (x, y))
        assert after < 0.01 * before if lane % 2 else after == before
        assert np.allclose(G @ y[:, lane], Gy[:, lane])
