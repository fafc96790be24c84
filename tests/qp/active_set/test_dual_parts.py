"""Each formula of the dual active set compared with NumPy: factors, rows, sides, margins, starts, certificates."""

import numpy as np
import pytest

import qp
from qp.active_set import dual, dual_set
from qp.active_set.dual_set import EQUAL, LOWER, MISSED, UPPER
from tests.qp.active_set.test_dual import INF, made, method


def distinct_rows(A):
    """Return the rows of A that are neither bounds nor an earlier row or its opposite, and the identity below them."""
    found = []
    for a in A:
        is_new = not any((a == b).all() or (a == -b).all() for b in found)
        found += [a] if np.count_nonzero(a) != 1 and is_new else []
    return np.vstack([*found, np.eye(A.shape[1])])


def of_numpy(program, rho):
    """Return R with R'R = P + rho I, the scales of the distinct rows of [A; I] R^-1 to length one, and these rows."""
    R = np.linalg.cholesky(program.hessian.dense() + rho * np.eye(program.n)).T
    rows = distinct_rows(program.A.toarray()) @ np.linalg.inv(R)
    length = np.linalg.norm(rows, axis=1)
    scale = 1.0 / np.where(length > 0.0, length, 1.0)
    return R, scale, scale[:, None] * rows


@pytest.mark.parametrize("kind", ["random", "ties", "dependent", "low rank", "linear"])
def test_loaded_and_solved(kind):
    for seed in range(12):
        program = made(seed, kind)
        method_, n, m = method(program), program.n, program.m
        workspace = method_._workspace
        w, batch, q = workspace.work, workspace.batch, program.q
        P, A = program.hessian.dense(), program.A.toarray()
        rank = np.linalg.matrix_rank(P)
        size = np.abs(P).max() if P.any() else np.abs(q).max()
        assert w.rho == (0.0 if rank == n else pytest.approx(dual.PROXIMAL * size)) and workspace.factor
        assert (method_.is_definite, method_.is_proximal) == (rank == n, rank < n)
        assert workspace.test.bound.tolist() == [float(np.count_nonzero(row) == 1) for row in A]
        np.testing.assert_array_equal(batch.A[0].reshape(m, n), A)
        R, scale, M = of_numpy(program, w.rho)
        np.testing.assert_allclose(np.triu(w.R.reshape(n, n)), R, rtol=1e-9, atol=1e-9 * np.abs(R).max())
        N, distinct = len(M), distinct_rows(A)
        assert w.distinct == N - n
        place = np.where(w.row_of < 0, N - n - 1 - w.row_of, w.row_of)
        np.testing.assert_array_equal(w.factor[:, None] * distinct[place], A)
        np.testing.assert_allclose(w.scale[:N], scale, rtol=1e-8)
        np.testing.assert_allclose(w.M[:N], M, atol=1e-8)
        np.testing.assert_array_equal(w.columns[:, :N], w.M[:N].T)
        found = method_.find(False)
        l, u = np.append(np.full(N - n, -INF), program.lb), np.append(np.full(N - n, INF), program.ub)
        for i, at in enumerate(place):
            sides = np.array([program.l[i], program.u[i]]) / w.factor[i]
            l[at], u[at] = max(l[at], sides.min()), min(u[at], sides.max())
        np.testing.assert_allclose([w.low[:N], w.high[:N]], [l, u], rtol=1e-15)
        l, u = w.low[:N], w.high[:N]  # Sides that cross by rounding have become equal.
        held, side = w.rows[: w.count], w.side
        assert set(held) == set(np.flatnonzero((side != 0) & (side != MISSED))) and len(set(held)) == w.count
        assert all((l[i] == u[i]) == (side[i] == EQUAL) for i in held)
        assert all(side[i] == EQUAL or side[i] * y >= 0.0 for i, y in zip(held, w.multipliers))
        L = np.tril(w.L[: w.count, : w.count], -1) + np.eye(w.count)
        np.testing.assert_allclose(L * w.D[: w.count] @ L.T, M[held] @ M[held].T, atol=1e-7)
        base = 0.0 if w.rho == 0.0 else None
        if base is None or found is None or found.status != "optimal":
            continue
        v = np.linalg.solve(R.T, q)
        Mv, of_u = w.Mv[:N], -M[held].T @ w.multipliers[: w.count]
        for own, expected in ((w.v, v), (Mv, M @ v), (w.u, of_u), (w.Mu[:N], M @ w.u)):
            np.testing.assert_allclose(own, expected, rtol=1e-7, atol=1e-7 * (1.0 + np.abs(v).max()))
        least = np.minimum(np.abs(l), np.abs(u))
        giver = w.giver[: 2 * N].reshape(N, 2)
        of_givers = np.where(giver < 0, 1.0, np.append(np.abs(w.factor), 1.0)[giver])
        unit = 1.0 / np.maximum(1.0, of_givers.max(axis=1))
        margin = np.maximum(w.tol * scale * (unit + least), dual.ROUNDING * (np.abs(Mv) + scale * least))
        np.testing.assert_allclose(w.margin[:N], margin, rtol=1e-6)
        np.testing.assert_allclose(w.lower[:N], scale * l + Mv, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(w.upper[:N], scale * u + Mv, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.x, np.linalg.solve(R, w.u - v), atol=1e-7 * (1.0 + np.abs(found.x).max()))
        y, of_rows = np.append(np.zeros(N - n), found.z_bounds), w.multipliers[: w.count] * w.scale[held]
        np.add.at(y, place, w.factor * found.y)
        np.testing.assert_allclose(y[held], of_rows, rtol=1e-12)
        assert np.count_nonzero(found.y) + np.count_nonzero(found.z_bounds) == np.count_nonzero(of_rows)
        last = found.trace[-1]
        assert last["iteration"] == found.iterations == len(found.trace) - 1
        assert (last["primal_objective"], last["gap"]) == (found.objective, found.gap)
        assert (last["primal_residual"], last["dual_residual"]) == (found.primal_residual, found.dual_residual)
        assert np.isnan([last[name] for name in ("mu", "sigma", "alpha_affine", "alpha", "tau", "kappa")]).all()


@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_what_is_told_of_a_point_on_the_way(rho):
    rng, n, m = np.random.default_rng(1), 5, 4
    program = qp.QuadraticProgram(np.diag([1.0, 2, 3, 4, 5]), rng.normal(size=n), rng.normal(size=(m, n)), -3.0, 2.0)
    workspace = method(program)._workspace
    w, batch = workspace.work, workspace.batch
    w.rho, before = rho, rng.normal(size=n)
    batch.x[0, :] = before
    for name in ("Mu", "Mv", "u", "v"):
        getattr(w, name)[:] = rng.normal(size=getattr(w, name).size)
    batch.l[0, :], batch.u[0, :] = -np.arange(9.0) - 1.0, np.arange(9.0) + 2.0
    dual_set.take_sides(w)
    w.lower[:], w.upper[:], w.margin[:], w.side[:] = -0.3, 0.4, 0.05, 0
    excess = np.maximum(w.Mu - 0.4, -0.3 - w.Mu)
    order = np.argsort(-excess)
    assert dual.most_violated(w) == order[0] and excess[order[2]] > 0.05
    w.side[order[0]] = UPPER
    assert dual.most_violated(w) == order[1]
    w.margin[order[1]], w.side[order[2]] = excess[order[1]], MISSED
    assert dual.most_violated(w) == (order[3] if excess[order[3]] > 0.05 else -1)
    w.margin[:] = 10.0
    assert dual.most_violated(w) == -1 and dual.relative_violation(w, -1) == 0.0
    for i in range(9):
        bound = batch.u[0, i] if w.Mu[i] > 0.4 else -batch.l[0, i]
        expected = (w.Mu[i] - 0.4 if w.Mu[i] > 0.4 else -0.3 - w.Mu[i]) / (w.scale[i] * (1.0 + bound))
        assert dual.relative_violation(w, i) == pytest.approx(expected)
    dual.record(batch, w, 3, 0.125)
    x = (w.Mu[m:] - w.Mv[m:]) / w.scale[m:]
    objective = 0.5 * (w.u @ w.u - w.v @ w.v) - rho * (0.5 * x @ x - x @ before)
    row = batch.trace[3]
    assert row["primal_objective"] == pytest.approx(objective) and row["dual_objective"] == row["primal_objective"]
    assert (row["iteration"], row["primal_residual"], row["seconds"]) == (3, 0.125, 0.0) and np.isnan(row["gap"])
    w.side[:], w.count = 0, 2
    w.rows[:3], w.side[[1, m + 2]] = [1, m + 2, 3], (LOWER, UPPER)
    w.multipliers[:2], w.ray[:3] = [-0.5, 0.25], [1.0, -2.0, 4.0]
    left = dual.write_answer(batch, w, False)
    y = np.zeros(m + n)
    y[[1, m + 2]] = [-0.5, 0.25] * w.scale[[1, m + 2]]
    x[2] = batch.u[0, m + 2]
    np.testing.assert_array_equal(batch.y[0], y)
    np.testing.assert_array_equal(batch.x[0], x)
    np.testing.assert_array_equal(w.step, x - before)
    assert left == pytest.approx(rho * np.abs(x - before).max() / (1.0 + np.abs(batch.q[0]).max()))
    dual.write_answer(batch, w, True)
    y[:] = 0.0
    y[[1, m + 2, 3]] = w.ray[:3] * w.scale[[1, m + 2, 3]]
    np.testing.assert_array_equal(batch.y[0], y)


def test_steps_to_the_sides_and_what_is_corrected_there():
    rng, n, m = np.random.default_rng(2), 6, 7
    workspace = method(qp.QuadraticProgram(np.eye(n), np.zeros(n), rng.normal(size=(m, n)), -1.0, 1.0))._workspace
    w = workspace.work
    for _ in range(20):
        w.side[:], w.count, w.steps, chosen = 0, 0, 0, rng.permutation(m + n)[:4]
        w.lower[:], w.upper[:] = -rng.random(m + n) - 0.1, rng.random(m + n) + 0.1
        for k, i in enumerate(chosen):
            assert dual_set.append(w, int(i))
            w.side[i] = (UPPER, LOWER, EQUAL, UPPER)[k]
        w.lower[chosen[2]] = w.upper[chosen[2]]
        w.multipliers[:4] = [1.0, -1.0, 0.0, 2.0]
        start, sides = w.multipliers[:4].copy(), np.where(w.side == LOWER, w.lower, w.upper)
        dual.settle(w, False)
        kept, y = list(chosen), start
        while True:  # step towards the shortest u, as far as the signs allow
            W = w.M[kept]
            target, kinds = (
                np.linalg.solve(W @ W.T, -sides[kept]),
                np.array([1, -1, 0, 1])[[list(chosen).index(i) for i in kept]],
            )
            shares = np.array([a / (a - b) if kind and kind * b < 0.0 else 2.0 for a, b, kind in zip(y, target, kinds)])
            if shares.min() > 1.0:
                break
            at = int(shares.argmin())
            y = np.delete(y + shares[at] * (target - y), at)
            kept.pop(at)
        assert w.rows[: w.count].tolist() == kept and w.steps == 4 - len(kept)
        np.testing.assert_allclose(w.multipliers[: w.count], target, atol=1e-10)
        np.testing.assert_allclose(w.u, -W.T @ target, atol=1e-10)
        np.testing.assert_allclose(w.Mu, w.M @ w.u, atol=1e-12)
        exact, w.margin[:] = w.multipliers[: w.count].copy(), 1.0
        assert not dual_set.refine(w, 1e-3)
        w.multipliers[: w.count] += 0.01
        dual_set.find_point(w)
        missed = np.abs(w.Mu - sides)[kept].max()
        assert not dual_set.refine(w, 1.01 * missed) and dual_set.refine(w, 0.99 * missed)
        signs = np.array([{UPPER: 1, LOWER: -1, EQUAL: 0}[w.side[i]] for i in kept])
        np.testing.assert_allclose(w.multipliers[: w.count], np.where(signs * exact < 0.0, 0.0, exact), atol=1e-9)


def test_starts_keep_what_still_holds():
    """Check the working set of warm and cold starts, and if factors are kept, as sides and equalities change."""
    rng, n, m = np.random.default_rng(3), 6, 5
    workspace = method(qp.QuadraticProgram(np.eye(n), np.zeros(n), rng.normal(size=(m, n)), -1.0, 1.0))._workspace
    w, N = workspace.work, n + m
    for trial in range(60):
        before = rng.permutation(N)[:4]
        l, u = np.full(N, -1.0), np.full(N, 2.0)
        l[before[0]] = u[before[0]]
        w.count, w.side[:], w.is_factored = 0, 0, True
        for k, i in enumerate(before):
            dual_set.append(w, int(i))
            w.side[i] = (EQUAL, LOWER, UPPER, LOWER)[k]
        w.multipliers[:4], missed = [3.0, -1.0, 1.0, -2.0], int(np.setdiff1d(np.arange(N), before)[0])
        w.side[missed] = MISSED
        what = trial % 6
        if what == 1:
            l[before[1]] = -INF
        elif what == 2:
            u[before[2]] = INF
        elif what == 3:
            l[before[0]] = -5.0  # no longer an equality
        elif what == 4:
            l[missed] = u[missed]
        elif what == 5:
            u[before[1]] = l[before[3]] = INF if trial % 12 == 5 else 2.5
            l[before[3]] = -1.0
        is_warm = bool(trial // 6 % 2)
        factor = w.L[:4, :4].copy()
        workspace.batch.l[0], workspace.batch.u[0] = l, u
        dual_set.take_sides(w)
        dual_set.begin(w, is_warm)
        equal = set(np.flatnonzero(l == u))
        old = [i for i, side in zip(before[1:], (l, u, l)) if np.isfinite(side[before[list(before).index(i)]])]
        expected = equal | (set(old) if is_warm else set())
        rows = w.rows[: w.count].tolist()
        assert set(rows) == expected and len(rows) == len(expected), (trial, rows, expected)
        assert set(np.flatnonzero(w.side)) == expected and w.is_factored
        assert all((w.side[i] == EQUAL) == (i in equal) for i in rows)
        W, L = w.M[rows], np.tril(w.L[: w.count, : w.count], -1) + np.eye(w.count)
        np.testing.assert_allclose(L * w.D[: w.count] @ L.T, W @ W.T, atol=1e-10)
        if what in (0, 5) and is_warm:  # the data did not change
            np.testing.assert_array_equal(w.L[:4, :4], factor)
            assert w.multipliers[:4].tolist() == [3.0, -1.0, 1.0, -2.0]
        else:
            assert not w.multipliers[: w.count].any()
