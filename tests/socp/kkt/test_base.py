"""The KKT solvers multiplied back: every backend, every mixture of rows, points near the boundary, bad ranks."""

import numpy as np
import pytest

from socp import ConeProgram, LowRank, NonNeg, SecondOrder
from socp.form.standard import StandardForm
from socp.kkt.base import REST
from socp.kkt.dense import DenseKKT
from socp.kkt.lowrank import LowRankKKT
from socp.kkt.sparse import SparseKKT
from socp.linalg.ldl.factorization import LDL
from tests.support.programs import planted_optimum
from tests.support.standard_forms import DIMENSIONS, dense_kkt, mixture, scaling_point

BACKENDS = [SparseKKT, DenseKKT]


def relative_residual(K, rhs, solution):
    return np.abs(K @ solution - rhs).max() / np.abs(rhs).max()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dims", DIMENSIONS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_solutions_multiplied_back(seed, dims, backend):
    form = mixture(seed, dims)
    w, eta = scaling_point(form, seed)
    K = dense_kkt(form, w, eta)
    kkt = backend(form, None, 10)
    rng = np.random.default_rng(seed)
    rhs, out = rng.normal(size=K.shape[0]), np.empty(K.shape[0])
    assert kkt.factor(w, eta, rhs, out) >= 0
    assert relative_residual(K, rhs, out) < 1e-11
    np.testing.assert_allclose(out, np.linalg.solve(K, rhs), rtol=1e-6, atol=1e-6 * np.abs(out).max())
    for place in range(0, K.shape[0], 3):  # unit vectors: zero parts of the right-hand side
        rhs = np.eye(K.shape[0])[place]
        left = kkt.solve(rhs, out)
        assert left == pytest.approx(np.abs(K @ out - rhs).max(), abs=1e-14)
        assert left < 1e-10
    assert kkt.solve(np.zeros_like(rhs), out) == 0.0
    np.testing.assert_array_equal(out, 0.0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("distance", [1e-4, 1e-8, 1e-12])
def test_points_near_the_boundary(distance, backend):
    form = mixture(1, [2, 3, 7, 12])
    w, eta = scaling_point(form, 3, distance)
    K = dense_kkt(form, w, eta)
    rhs, out = np.random.default_rng(0).normal(size=K.shape[0]), np.empty(K.shape[0])
    kkt = backend(form, None, 10)
    assert kkt.factor(w, eta, rhs, out) >= 0
    # the smallest error that floating point allows is the rounding of K times the solution
    rounding = np.finfo(float).eps * np.abs(K).max() * np.abs(out).max() * K.shape[0]
    assert np.abs(K @ out - rhs).max() < max(1e-8, rounding) * np.abs(rhs).max()


@pytest.mark.parametrize("backend", BACKENDS)
def test_redundant_equalities_and_no_curvature(backend):
    # P = 0, an equality twice and a zero one: K is singular, the system consistent
    rng = np.random.default_rng(4)
    n = 5
    A = rng.normal(size=(4, n))
    A[2], A[3] = A[0], 0.0
    b = A @ np.ones(n)
    program = ConeProgram(np.ones(n), -np.eye(n), np.zeros(n), [NonNeg(n)], A, b)
    form = StandardForm(program)
    w, eta = scaling_point(form)
    K = dense_kkt(form, w, eta)
    rhs = K @ rng.normal(size=K.shape[0])
    out = np.empty_like(rhs)
    kkt = backend(form, None, 10)
    assert kkt.factor(w, eta, rhs, out) >= 0
    assert relative_residual(K, rhs, out) < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_backends_agree(seed):
    rng = np.random.default_rng(seed)
    form = StandardForm(planted_optimum(rng, n=8)[0])
    w, eta = scaling_point(form, seed)
    K = dense_kkt(form, w, eta)
    rhs = K @ rng.normal(size=K.shape[0])
    for backend in BACKENDS:
        out = np.empty_like(rhs)
        assert backend(form, None, 10).factor(w, eta, rhs, out) >= 0
        assert relative_residual(K, rhs, out) < 1e-9


@pytest.mark.parametrize("p", [0, 2])
@pytest.mark.parametrize("rank", [1, 3])
def test_diagonal_plus_low_rank(rank, p):
    rng = np.random.default_rng(rank)
    n, cone = 10, 4
    F, d = rng.normal(size=(n, rank)), rng.uniform(0.5, 1.0, n)
    G = np.vstack([-np.eye(n), rng.normal(size=(1, n)), rng.normal(size=(cone, n))])
    program = ConeProgram(
        np.ones(n), G, np.ones(G.shape[0]), [NonNeg(n + 1), SecondOrder(cone)], rng.normal(size=(p, n)), np.ones(p),
        LowRank(F, d),
    )  # fmt: skip
    form = StandardForm(program)
    w, eta = scaling_point(form)
    K = dense_kkt(form, w, eta)
    rhs, out = rng.normal(size=K.shape[0]), np.empty(K.shape[0])
    for kkt in (LowRankKKT(form, None, 10, form.P.F, form.P.d), SparseKKT(form, None, 10), DenseKKT(form, None, 10)):
        assert kkt.factor(w, eta, rhs, out) >= 0
        assert relative_residual(K, rhs, out) < 1e-11


@pytest.mark.parametrize("backend", BACKENDS)
def test_not_a_number_is_a_failure(backend):
    form = mixture(1, [3, 7])
    w, eta = scaling_point(form)
    out = np.empty(form.n + form.p + form.m)
    for place in range(0, w.size, 4):
        bad = w.copy()
        bad[place] = np.nan
        assert backend(form, None, 10).factor(bad, eta, np.ones(out.size), out) == -1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_right_hand_side_with_a_nan_leaves_an_infinite_residual(backend):
    form = mixture(0, [3])
    w, eta = scaling_point(form, 0)
    kkt = backend(form, None, 10)
    rhs = np.ones(form.n + form.p + form.m)
    out = np.empty_like(rhs)
    assert kkt.factor(w, eta, rhs, out) >= 0
    rhs[1] = np.nan
    assert kkt.solve(rhs, out) == np.inf


@pytest.mark.parametrize("backend", BACKENDS)
def test_refreshed_is_built_anew(backend):
    form = mixture(1, [3, 7])
    kkt = backend(form, None, 10)
    w, eta = scaling_point(form)
    out, expected = np.empty((2, form.n + form.p + form.m))
    rhs = np.random.default_rng(0).normal(size=out.size)
    kkt.factor(w, eta, rhs, out)
    form.M_data *= 1.25
    kkt.refresh()
    kkt.factor(w, eta, rhs, out)
    backend(form, None, 10).factor(w, eta, rhs, expected)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("method", ["scalar", "supernodal"])
@pytest.mark.parametrize("distance", [1e-2, 1e-6])
@pytest.mark.parametrize("P", ["sparse", "dense", "none"])
def test_refinement_in_one_call_is_refinement_step_by_step(P, distance, method):
    rng = np.random.default_rng(3)
    n = 12
    F = rng.normal(size=(n, 4))
    hessian = {"sparse": np.diag(rng.uniform(0.0, 1.0, n)), "dense": F @ F.T, "none": None}[P]
    G = np.vstack([-np.eye(n), rng.normal(size=(9, n)), -np.eye(9, n)])
    cones = [NonNeg(n), SecondOrder(2), SecondOrder(7), SecondOrder(9)]
    program = ConeProgram(np.ones(n), G, np.ones(n + 18), cones, rng.normal(size=(2, n)), np.ones(2), hessian)
    form = StandardForm(program)
    w, eta = scaling_point(form, 0, distance)
    kkt = SparseKKT(form, 1e-8, 10)
    matrix = kkt.matrix
    kkt.ldl = LDL(matrix.size, matrix.indptr, matrix.indices, matrix.signs, method=method)
    kkt.refresh()
    # the second row needs no further solve
    rhs = np.vstack([rng.normal(size=form.n + form.p + form.m), np.zeros(form.n + form.p + form.m)])
    together, apart = np.empty(rhs.shape), np.empty(rhs.shape)
    assert kkt.factor(w, eta, rhs, together) >= 0
    for rows in (slice(0, 2), slice(0, 1)):
        one_call = kkt._solve_rows(rhs[rows], together[rows])[rows].copy()
        Px = kkt.Pu[rows].copy()
        steps = super(SparseKKT, kkt)._solve_rows(rhs[rows], apart[rows])
        assert one_call[0, 2] > 0
        np.testing.assert_allclose(one_call[:, [0, 2]], steps[:, [0, 2]])
        assert one_call[0, 1] == pytest.approx(steps[0, 1], rel=1e-3, abs=1e-9 * steps[0, 0])
        np.testing.assert_allclose(together[rows], apart[rows], rtol=1e-9, atol=1e-12 * np.abs(apart[rows]).max())
        np.testing.assert_allclose(Px, kkt.Pu[rows], rtol=1e-9, atol=1e-12)


def test_where_no_delta_is_good_the_best_is_kept_until_the_next_comparison(monkeypatch):
    form = mixture(1, [3, 7])
    kkt = SparseKKT(form, None, 10)
    w, eta = scaling_point(form)
    tried, left = [], {1e-14: 1e-4, 1e-8: 1e-7, 1e-11: np.inf, 1e-6: 1e-5}

    def solve(rhs, out):
        out[:] = kkt.static
        return left[kkt.static]

    monkeypatch.setattr(kkt, "_factor", lambda static: [setattr(kkt, "static", static), tried.append(static), 0][2])
    monkeypatch.setattr(kkt, "solve", solve)
    out = np.zeros(form.n + form.p + form.m)
    for count in range(1, REST + 2):
        tried.clear()
        assert kkt.factor(w, eta, np.ones(out.size), out) == 0
        # the first and the last time all are tried, and the best is factored again; its solution is not computed again
        assert tried == (
            [*kkt.choices, 1e-8] if count == 1 else [1e-8, 1e-14, 1e-11, 1e-6, 1e-8][: 1 + 4 * (count > REST)]
        )
        np.testing.assert_array_equal(out, 1e-8)
    left[1e-8] = 1e-3  # much worse than at the comparison: the others are asked before the rest is over
    kkt.factor(w, eta, np.ones(out.size), out)
    np.testing.assert_array_equal(out, 1e-6)
