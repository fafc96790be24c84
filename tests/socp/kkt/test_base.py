"""The KKT solvers multiplied back: every backend, every mixture of rows, points near the boundary, bad ranks."""

import itertools

import numpy as np
import pytest

from socp import ConeProgram, LowRank, NonNeg, SecondOrder
from socp.form.standard import StandardForm
from socp.kkt.base import measure_residual, restart, scaled_residual, solve
from socp.kkt.dense import DenseKKT
from socp.kkt.lowrank import LowRankKKT
from socp.kkt.policy import EQUATIONS, GOOD_ENOUGH, PRECISE
from socp.kkt.sparse import SparseKKT, apply_sparse
from socp.linalg.ldl.symbolic.analysis import analyze
from socp.linalg.refinement import STOP, TAKE_BACK, refinement_decision
from tests.support.cone_points import matrices
from tests.support.kkt_systems import METHODS, factor_precisely, factored_by, solve_precisely, system
from tests.support.programs import planted_optimum
from tests.support.standard_forms import DIMENSIONS, dense_kkt, mixture, operator_matrix, scaling_point


def by_rows(*arguments):
    return factored_by("scalar", SparseKKT(*arguments))


def four_wide(*arguments):
    return factored_by("four-wide", SparseKKT(*arguments))


def by_panels(*arguments):
    return factored_by("supernodal", SparseKKT(*arguments))


BACKENDS = [by_rows, four_wide, by_panels, DenseKKT]


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
    assert factor_precisely(kkt, w, eta, rhs, out) >= 0
    assert relative_residual(K, rhs, out) < 1e-11
    np.testing.assert_allclose(out, np.linalg.solve(K, rhs), rtol=1e-6, atol=1e-6 * np.abs(out).max())
    two, both = rng.normal(size=(2, K.shape[0])), np.empty((2, K.shape[0]))
    assert solve_precisely(kkt, two, both) < 1e-10
    np.testing.assert_allclose(both @ K, two, rtol=0, atol=1e-10 * np.abs(two).max())
    for place in range(0, K.shape[0], 3):  # unit vectors: zero parts of the right-hand side
        rhs = np.eye(K.shape[0])[place]
        left = solve_precisely(kkt, rhs, out)
        rounding = len(K) * np.finfo(float).eps * (np.abs(K) @ np.abs(out)).max()  # of both products with K
        assert left == pytest.approx(np.abs(K @ out - rhs).max(), rel=0.0, abs=rounding)
        assert left < 1e-10
    assert solve_precisely(kkt, np.zeros_like(rhs), out) == 0.0
    np.testing.assert_array_equal(out, 0.0)


def without_correction(kkt, w, eta, rhs):
    """Return the solution from the factors alone, without refinement and with the first delta."""
    out = np.empty_like(rhs)
    assert factor_precisely(kkt, w, eta, rhs, out) == 0 and kkt.policy.delta == kkt.policy.deltas[0]
    solve_precisely(kkt, rhs, out)
    assert kkt.refinements == 0
    return out


# a sparse order may eliminate an equality before its variables; its pivot is then replaced
ALONE = [
    (backend, p) for backend in (*BACKENDS, LowRankKKT) for p in ((0, 1) if backend in BACKENDS[:3] else (0, 1, 3))
]


@pytest.mark.parametrize("backend, p", ALONE)
@pytest.mark.parametrize("dims", [[], [4], [3, 5]], ids=str)
def test_factors_alone_solve_a_system_in_good_condition(dims, p, backend):
    # without refinement, which would hide an omission of the backend
    rng = np.random.default_rng(p)
    n, rank = 25, 2  # with three equalities too many entries for loops: BLAS is called
    row, other = rng.normal(size=(2, n))
    orthant = np.vstack([-np.eye(n), row, 2.0 * row, other, np.eye(1, n)])  # bounds, two of one variable, merged rows
    G = np.vstack([orthant, *(rng.normal(size=(d, n)) for d in dims)])
    cones = [NonNeg(len(orthant)), *(SecondOrder(d) for d in dims)]
    F, d = rng.normal(size=(n, rank)), rng.uniform(0.5, 1.0, n)
    A = np.linalg.qr(rng.normal(size=(n, p)))[0].T
    form = StandardForm(ConeProgram(np.ones(n), G, np.ones(len(G)), cones, A, np.ones(p), LowRank(F, d)))
    w, eta = scaling_point(form, p)
    K = dense_kkt(form, w, eta)
    kkt = backend(form, 1e-14, 0)
    for i in range(len(K)):
        rhs = np.eye(len(K))[[i, i - 3]]  # one and two right-hand sides at once
        for both in (rhs[0], rhs):
            u = without_correction(kkt, w, eta, both)
            # the factored matrix differs from K by at most 100 delta = 1e-12
            assert np.abs(u @ K - both).max() < 1e-11 * (1.0 + np.abs(u).max())


def test_what_a_backend_tells_of_its_work():
    n, F = 9, np.random.default_rng(1).normal(size=(9, 2))
    A, G = np.eye(3, n), np.vstack([-np.eye(n), np.ones((2, n)), np.arange(4.0 * n).reshape(4, n)])
    program = ConeProgram(np.ones(n), G, np.ones(n + 6), [NonNeg(n + 2), SecondOrder(4)], A, np.ones(3), LowRank(F))
    form = StandardForm(program)  # bounds, two rows that are one, four of a cone
    low, dense, sparse = (backend(form, None, 10) for backend in (LowRankKKT, DenseKKT, SparseKKT))
    order, matrix = 2 + 3 + 5, sparse.matrix
    assert low.description == "diagonal plus low rank, Cholesky of order 10 (rank 2 of P, 8 rows)"
    assert dense.description == "dense Cholesky, order 9, 5 dense rows, Schur complement of 3 equalities"
    assert (low.flops, low.factor_entries) == pytest.approx((order**2 * (n + order / 3), order * (n + order / 2)))
    assert (dense.flops, dense.factor_entries) == pytest.approx((n**3 / 3 + n**2 * 5, n**2 / 2))
    analysis = analyze(matrix.size, matrix.indptr, matrix.indices, sparse.ldl.perm)
    assert (sparse.flops, sparse.factor_entries) == (analysis.flops, analysis.nnz)
    assert sparse.analysis_seconds() == (sparse.ldl.ordering_time, sparse.ldl.symbolic_time)
    assert f"order {matrix.size}, {analysis.nnz:,} entries in L" in sparse.description


@pytest.mark.parametrize("backend", BACKENDS)
def test_not_a_number_is_a_failure(backend):
    form = mixture(1, [3, 7])
    w, eta = scaling_point(form)
    out = np.empty(form.n + form.p + form.m)
    for place in range(0, w.size, 4):
        bad = w.copy()
        bad[place] = np.nan
        assert factor_precisely(backend(form, None, 10), bad, eta, np.ones(out.size), out) == -1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_right_hand_side_with_a_nan_leaves_an_infinite_residual(backend):
    form = mixture(0, [3])
    w, eta = scaling_point(form, 0)
    kkt = backend(form, None, 10)
    rhs = np.ones(form.n + form.p + form.m)
    out = np.empty_like(rhs)
    assert factor_precisely(kkt, w, eta, rhs, out) >= 0
    rhs[1] = np.nan
    assert solve_precisely(kkt, rhs, out) == np.inf


def refined(kkt, rhs, out):
    """Refine step by step as Python does; store the solution in `out`, return the residual and the further solves."""
    previous, count = np.inf, 0
    kkt.policy.precise, kkt.rhs_norm[0] = True, np.abs(rhs).max()
    kkt.residual[: rhs.size], out[:] = rhs, 0.0
    while True:
        before = out.copy()
        apply_sparse(kkt, 1, kkt.residual[: rhs.size].copy(), out)
        norm = measure_residual(kkt, 0, rhs, out)
        excess = kkt.scaled[0]
        what = refinement_decision(excess, previous, count, kkt.policy.refinement_steps, kkt.policy.refinement_steps)
        if what == TAKE_BACK:
            out[:] = before
            return measure_residual(kkt, 0, rhs, out), count
        if what == STOP:
            return norm, count
        previous, count = excess, count + 1


@pytest.mark.parametrize("seed, dims", [(0, [3, 7]), (1, []), (1, [2, 12])])
def test_what_a_residual_leaves_beside_what_may_be_left(seed, dims):
    rng, form = np.random.default_rng(seed), mixture(seed, dims)
    n, p, l = form.n, form.p, form.l
    kkt = SparseKKT(form, None, 10)
    kkt.w[:], kkt.eta[:] = scaling_point(form, seed)
    r, size = rng.normal(size=n + p + form.m), 3.0
    kkt.residual[: r.size], kkt.rhs_norm[0] = r, size

    def check(limits):
        for begin, end in ((0, n), (n, n + p), (n + p, r.size)):  # each block in turn has the largest residual
            own = np.where((np.arange(r.size) >= begin) & (np.arange(r.size) < end), 1e4, 1.0) * r
            kkt.residual[: r.size] = own
            assert scaled_residual(kkt, 0, np.abs(own).max()) == pytest.approx((np.abs(own) / limits).max(), rel=1e-13)

    # no extra allowance: all are relative to the right-hand side, the equations more strictly
    least = size * np.where(np.arange(r.size) < n + p, EQUATIONS, GOOD_ENOUGH)
    assert scaled_residual(kkt, 0, np.abs(r).max()) == pytest.approx((np.abs(r) / least).max(), rel=1e-14, abs=0.0)
    # each block relative to its allowance, the cone's before scaling
    kkt.policy.block_limits[:3] = 1e-5, 2e-5, 1e-6
    W = matrices(form.l, form.ptr, kkt.w, kkt.eta)[0]
    norms = [np.linalg.norm(W[i:j, i:j], 2) for i, j in itertools.pairwise(form.ptr)]
    tails = [np.full(j - i, 1e-6 / norm) for norm, (i, j) in zip(norms, itertools.pairwise(form.ptr))]
    limits = np.concatenate([np.full(n, 1e-5), np.full(p, 2e-5), 1e-6 / kkt.w[:l], *tails])
    limits = np.maximum(least, limits)
    check(limits)
    # entries with less weight in the caller's units may have larger residuals
    kkt.policy.block_limits[:3], kkt.policy.caller_limits[:3] = 0.0, (1e-4, 3e-5, 2e-5)
    form.D[:], form.E[: p + l] = rng.uniform(0.1, 10.0, n), rng.uniform(0.1, 10.0, p + l)
    scales = np.concatenate([1e-4 * form.D, 3e-5 * form.E[:p], 2e-5 * form.E[p : p + l] / kkt.w[:l]])
    ends = [2e-5 * np.full(j - i, form.E[p + i]) / norm for norm, (i, j) in zip(norms, itertools.pairwise(form.ptr))]
    limits = np.maximum(least, np.concatenate([scales, *ends]))
    check(limits)


def test_little_is_refined_where_much_may_be_left():
    program = planted_optimum(np.random.default_rng(0), n=30)[0]
    form = StandardForm(program)
    w, eta = scaling_point(form, 0, 1e-6)
    rhs = np.random.default_rng(1).normal(size=form.n + form.p + form.m)
    counts = []
    for enough in (0.0, 1e-2 * np.abs(rhs).max()):
        kkt = SparseKKT(form, 1e-6, 10)
        factor_precisely(kkt, w, eta, rhs, np.empty_like(rhs))
        kkt.policy.block_limits[:], kkt.refinements = enough, 0
        solve(kkt, 1, rhs, np.empty_like(rhs), True)
        counts.append(kkt.refinements)
        assert kkt.scaled[0] <= 1.0 or kkt.solves[0] > 0
    assert counts[1] < counts[0]


def test_the_first_right_hand_side_tells_whether_the_others_are_measured():
    form = StandardForm(planted_optimum(np.random.default_rng(0), n=30)[0])
    rhs = np.random.default_rng(1).normal(size=(2, form.n + form.p + form.m))
    kkt, out, exact = SparseKKT(form, 1e-6, 10), np.empty_like(rhs), np.empty_like(rhs)
    factor_precisely(kkt, *scaling_point(form, 0, 1e-6), rhs, exact)
    for enough, measured in ((1e-2 * np.abs(rhs).max(), False), (0.0, True)):
        kkt.policy.block_limits[:] = enough
        solve(kkt, 2, rhs.reshape(-1), out.reshape(-1), True)
        assert kkt.policy.trusted != measured and (kkt.residual_norm[1] > 0.0) == measured
        solve(kkt, 1, rhs[1], out[1], True)
        assert (kkt.residual_norm[0] > 0.0) == measured
        np.testing.assert_allclose(out[1], exact[1], rtol=0.0, atol=1e-2 * np.abs(exact).max())
    kkt.policy.block_limits[:] = 1e-2 * np.abs(rhs).max()
    solve(kkt, 2, rhs.reshape(-1), out.reshape(-1), True)
    assert (
        kkt.policy.trusted and solve_precisely(kkt, rhs[1], out[1]) < 1e-10 and kkt.solves[0] > 0
    )  # Python solves are precise


def test_python_asks_precisely_and_leaves_the_policy_as_it_was():
    form = mixture(1, [3, 7])
    kkt, rhs = SparseKKT(form, None, 10), np.ones(form.n + form.p + form.m)
    kkt.policy.block_limits[:] = kkt.policy.caller_limits[:] = 1e3
    for _ in range(2):  # seconds add up
        before = kkt.factor_seconds, kkt.solve_seconds
        factor_precisely(kkt, *scaling_point(form), rhs, rhs.copy())
        assert solve_precisely(kkt, rhs, rhs.copy()) <= 1e-11
        assert kkt.factor_seconds > before[0] and kkt.solve_seconds > before[1]
    policy = kkt.policy
    assert not policy.precise and (policy.block_limits == 1e3).all() and (policy.caller_limits == 1e3).all()
    policy.precise = True  # as after a failed run
    restart(kkt)
    assert policy.precise and (policy.block_limits == 0.0).all() and (policy.caller_limits == 0.0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distance", [1e-2, 1e-6])
@pytest.mark.parametrize("P", ["sparse", "dense", "none", "low rank"])
def test_refinement_of_two_is_refinement_step_by_step(P, distance, method):
    rng = np.random.default_rng(3)
    n = 12
    F = rng.normal(size=(n, 4))
    hessian = {"sparse": np.diag(rng.uniform(0.0, 1.0, n)), "dense": F @ F.T, "none": None,
               "low rank": LowRank(F, np.ones(n))}[P]  # fmt: skip
    G = np.vstack([-np.eye(n), rng.normal(size=(9, n)), -np.eye(9, n)])
    cones = [NonNeg(n), SecondOrder(2), SecondOrder(7), SecondOrder(9)]
    program = ConeProgram(np.ones(n), G, np.ones(n + 18), cones, rng.normal(size=(2, n)), np.ones(2), hessian)
    form = StandardForm(program)
    w, eta = scaling_point(form, 0, distance)
    kkt = factored_by(method, SparseKKT(form, 1e-8, 10))
    # the second row needs no further solve
    rhs = np.vstack([rng.normal(size=form.n + form.p + form.m), np.zeros(form.n + form.p + form.m)])
    together, apart = np.empty(rhs.shape), np.empty(rhs.shape)
    assert factor_precisely(kkt, w, eta, rhs, together) >= 0
    for rows in (slice(0, 2), slice(0, 1)):
        kkt.refinements = 0
        solve_precisely(kkt, rhs[rows], together[rows])
        found, solves, Px = kkt.residual_norm[0], kkt.solves.tolist(), kkt.Px[rows].copy()
        norm, count = refined(kkt, rhs[0], apart[0])
        apart[1] = 0.0
        # equal steps may round differently, so that one of the two needs a further solve
        assert kkt.refinements == solves[0] > 0 and abs(solves[0] - count) <= 1
        if rows == slice(0, 2):
            assert solves[1] == 0 and kkt.residual_norm[1] == 0.0
        assert found == pytest.approx(norm, rel=1e-3, abs=1e-9 * np.abs(rhs).max())
        np.testing.assert_allclose(together[rows], apart[rows], rtol=1e-9, atol=1e-12 * np.abs(apart[rows]).max())
        expected = apart[rows, :n] @ operator_matrix(form.P, n)
        np.testing.assert_allclose(Px, expected, rtol=1e-9, atol=1e-12 * max(1.0, np.abs(expected).max()))


LEFT = {1e-14: 1e-4, 1e-11: np.inf, 1e-8: 1e-7, 1e-6: 1e-5}  # residuals by delta


def test_where_no_delta_is_good_the_best_is_kept_until_the_next_comparison():
    kkt = system(np.eye(5), refinement_steps=0, errors=tuple(LEFT.values()))
    assert kkt.policy.deltas.tolist() == list(LEFT)
    rhs, out = np.ones(5), np.zeros(5)
    for count in range(1, 9):
        assert factor_precisely(kkt, np.zeros(0), np.zeros(0), rhs, out) == 0
        assert kkt.take_tried() == ([*LEFT, 1e-8] if count == 1 else [1e-8])  # the best delta is factored again
        assert kkt.policy.delta == 1e-8
        np.testing.assert_allclose(out, 1.0 - 1e-7, rtol=1e-12)
    kkt.errors[2] = 1e-3  # much worse than at the comparison
    factor_precisely(kkt, np.zeros(0), np.zeros(0), rhs, out)
    assert kkt.take_tried() == [1e-8, 1e-14, 1e-11, 1e-6] and kkt.policy.delta == 1e-6  # its factors are the last ones
    np.testing.assert_allclose(out, 1.0 - 1e-5, rtol=1e-12)
    restart(kkt)
    factor_precisely(kkt, np.zeros(0), np.zeros(0), rhs, out)
    assert kkt.take_tried()[0] == 1e-14  # as the first time: no run depends on an earlier run


def test_what_python_asks_for_in_precision_is_no_reason_to_try_another_delta():
    kkt = system(np.eye(5), refinement_steps=0, errors=(1e-10, 0.0, 0.0, 0.0))
    assert factor_precisely(kkt, np.zeros(0), np.zeros(0), np.ones(5), np.zeros(5)) == 0
    assert PRECISE < 1e-10 < GOOD_ENOUGH and kkt.take_tried() == [1e-14]


@pytest.mark.parametrize("errors, replaced, tried, best", [
    ((1e-5, 0.0, 0.0, 0.0), 0, [1e-14], 1e-14),  # fast enough: no other delta is tried
    ((0.05, 5e-3, 1e-5, 0.0), 0, [1e-14, 1e-11, 1e-8], 1e-8),  # none after the first that is fast enough
    ((0.05, 2e-3, 5e-3, 0.08), 0, [*LEFT, 1e-11], 1e-11),  # all are slow: the one with the fewest further solves
    ((0.05, 1.0, 1.0, 1.0), 0, [*LEFT, 1e-14], 1e-14),  # slow is better than wrong
    # after replaced pivots the next delta is tried, unless one further solve is enough: it needs fewer, or more
    ((1e-6, 0.0, 0.0, 0.0), 2, [1e-14], 1e-14), ((1e-3, 1e-6, 0.0, 0.0), 2, [1e-14, 1e-11], 1e-11),
    ((1e-3, 5e-3, 0.0, 0.0), 2, [1e-14, 1e-11, 1e-14], 1e-14),
])  # fmt: skip
def test_a_delta_that_is_good_but_slow_is_compared_with_the_others(errors, replaced, tried, best):
    # each further solve multiplies the residual by the error
    kkt, rhs, out = system(np.eye(5), errors=errors, replaced=(replaced, 0, 0, 0)), np.ones(5), np.zeros(5)
    for count in range(6):
        assert factor_precisely(kkt, np.zeros(0), np.zeros(0), rhs, out) == replaced * (best == 1e-14)
        assert kkt.take_tried() == (tried if count == 0 else [best])
        np.testing.assert_allclose(out, 1.0, rtol=1e-8)


def test_gmres_waits_for_the_delta_that_is_taken():
    kkt, rhs, out = system(np.eye(5), errors=(0.7,) * 4), np.ones(5), np.zeros(5)
    assert factor_precisely(kkt, np.zeros(0), np.zeros(0), rhs, out) == 0
    for finish in (False, True):  # refinement stalls at once, a step of GMRES ends it
        assert (solve(kkt, 1, rhs, out, finish) <= 1.0) == finish
    np.testing.assert_allclose(out, 1.0, rtol=1e-12)


def test_where_no_delta_gives_factors_it_is_said():
    kkt = system(np.eye(5), errors=(np.inf,) * 4)
    assert factor_precisely(kkt, np.zeros(0), np.zeros(0), np.ones(5), np.zeros(5)) == -1
    assert kkt.take_tried() == list(LEFT)
    assert kkt.applied == 0


def test_a_given_regularization_is_the_only_one():
    kkt = system(np.eye(5), errors=(1e-3,), refinement_steps=0)
    out = np.zeros(5)
    assert factor_precisely(kkt, np.zeros(0), np.zeros(0), np.ones(5), out) == 0
    assert kkt.take_tried() == [1e-8] and set(kkt.policy.deltas) == {1e-8}
    np.testing.assert_allclose(out, 1.0 - 1e-3, rtol=1e-12)
