"""Measurements and decisions of a run, compared with NumPy on the caller's data."""

import numpy as np
import pytest

import socp
from socp.method.loop import FAR_RAY, GO_ON, RAY, RAY_FOUND, RISEN, SOLVED, STALLED, judge, prepare_run


def begun(seed):
    """Return a program with all kinds of rows, a state at a random point, the unscaled x, y, z and s, and the form."""
    rng = np.random.default_rng(seed)
    n, p, m = 5, 2, 9
    F, A, G = rng.normal(size=(n, n)), rng.normal(size=(p, n)) * 30.0, rng.normal(size=(m, n))
    G[4] *= 1e3
    data = 5.0 * rng.normal(size=n), G, 3.0 * rng.normal(size=m), [socp.NonNeg(5), socp.SecondOrder(4)], A
    program = socp.ConeProgram(*data, rng.normal(size=p), F @ F.T)
    state = socp.Solver(program)._state
    prepare_run(state, 0.0)
    state.offset, state.sigma, state.alpha_affine, state.alpha = 0.75, 0.1, 0.2, 0.3
    point, form = state.point, state.form
    point.u[:], point.s[:] = rng.normal(size=n + p + m), rng.random(m)
    point.tau, point.kappa = 10.0 ** rng.uniform(-1.0, 1.0), rng.random()
    x, v = form.D * point.u[:n], form.E * point.u[n:] / form.cost_scale
    return program, state, x, v[:p], v[p:], point.s / form.E[p:], form


@pytest.mark.parametrize("seed", range(6))
def test_residuals_objectives_and_slopes(seed):
    program, state, x, y, z, s, form = begun(seed)
    A, G, P, tau = program.A.toarray(), program.G.toarray(), program.P, state.point.tau
    judge(state)
    largest = lambda v: np.abs(v).max()  # noqa: E731
    Mtv, found = A.T @ y + G.T @ z, state.measured.residuals()
    blocks = {
        "rows": (A @ x - tau * program.b, max(largest(tau * program.b), largest(A @ x))),
        "cone": (G @ x + s - tau * program.h, max(largest(tau * program.h), largest(G @ x))),
        "dual": (P @ x + Mtv + tau * program.c, max(largest(tau * program.c), largest(P @ x))),
    }
    for name, (left, size) in blocks.items():
        assert getattr(found, name) == pytest.approx(largest(left) / tau, rel=1e-9)
        assert getattr(found, f"{name}_scale") == pytest.approx(1.0 + size / tau, rel=1e-9)
    curvature, gv = x @ P @ x / tau**2, (program.b @ y + program.h @ z) / tau
    primal, dual = 0.5 * curvature + program.c @ x / tau, -0.5 * curvature - gv
    assert found.gap == pytest.approx(abs(primal - dual))
    assert found.gap_scale == pytest.approx(1.0 + max(abs(primal), abs(dual)))
    relative = np.array(found[:4]) / found[4:8]
    assert state.worst == pytest.approx(relative.max())
    slope = largest(Mtv) / -(gv * tau) if gv < 0.0 else np.inf
    assert state.primal_ray == pytest.approx(slope)
    slope = max(largest(P @ x), largest(A @ x), largest(G @ x + s)) / -(program.c @ x) if program.c @ x < 0 else np.inf
    assert state.dual_ray == pytest.approx(slope)
    mu = (state.point.s @ state.point.u[7:] + tau * state.point.kappa) / (5 + 1 + 1)
    told = state.trace[state.iteration]
    expected = {
        "iteration": state.iteration, "primal_objective": primal + 0.75, "dual_objective": dual + 0.75, "mu": mu,
        "primal_residual": relative[:2].max(), "dual_residual": relative[2], "gap": relative[3], "tau": tau,
        "kappa": state.point.kappa, "sigma": 0.1, "alpha_affine": 0.2, "alpha": 0.3,
    }  # fmt: skip
    for name, value in expected.items():
        assert told[name] == pytest.approx(value, rel=1e-9), name
    assert told["seconds"] >= 0.0 and form.l == 5
    for kappa, factor in ((0.5, RAY), (2.0, FAR_RAY)):  # far directions are allowed as steeper rays
        state.point.kappa = kappa * tau
        judge(state)
        assert state.ray_limit == pytest.approx(factor * state.tol_infeasible)


def test_what_is_kept_and_decided():
    _, state, *_ = begun(1)
    judge(state)
    worst, rays, at = state.worst, (state.primal_ray, state.dual_ray), state.iteration
    assert (state.best_worst, state.last_better, state.last_progress) == (worst, at, at)
    np.testing.assert_array_equal(state.best.u, state.point.u)
    state.max_iter, state.tol_infeasible = 200, 1e-9

    def judged(**given):
        """Judge the same iterate again, which is no better than the last one."""
        defaults = {"best_worst": 0.0, "best_missed": 0.0, "best_ray": 0.0, "last_better": at, "last_progress": at}
        defaults["iteration"] = at
        refused = {"primal_refused": np.inf, "dual_refused": np.inf, "tol": 1e-30, "tol_abs": np.inf}
        for name, value in (defaults | refused | {"tol_infeasible": 1e-30} | given).items():
            setattr(state, name, value)
        return judge(state)

    assert judged() == GO_ON and state.last_progress == state.last_better == at and state.iteration == at + 1
    assert judged(best_worst=2.0 * worst) == GO_ON and state.last_better == state.last_progress == at + 1
    told = state.trace[at]
    assert state.missed == max(told["primal_residual"], told["dual_residual"]) > 0.0
    for share, later in ((1.01, 1), (1.0, 0), (0.99, 0)):  # decreasing residuals are progress, whatever the gap
        assert judged(best_missed=share * state.missed) == GO_ON and state.last_progress == at + later
        assert state.last_better == at and state.best_missed == min(share, 1.0) * state.missed
    assert judged(best_ray=np.inf) == GO_ON and state.last_progress == at + 1 * np.isfinite(min(rays))
    assert state.last_better == at
    assert judged(tol=2.0 * worst) == SOLVED and judged(tol=0.5 * worst) == GO_ON
    assert judged(tol=2.0 * worst, tol_abs=1e-30) == GO_ON
    assert judged(last_progress=at - 10_000) == STALLED
    for name, refused, ray in (("primal", "primal_refused", rays[0]), ("dual", "dual_refused", rays[1])):
        if np.isfinite(ray):
            limit = FAR_RAY if name == "dual" else RAY
            state.point.kappa = 0.99 * RISEN * state.point.tau
            assert judged(tol_infeasible=1.01 * ray / limit, **{refused: 1.01 * ray}) == GO_ON
            state.point.kappa = 1.01 * RISEN * state.point.tau
            assert judged(tol_infeasible=1.01 * ray / limit, **{refused: 1.01 * ray}) == RAY_FOUND
            other = {"dual_refused" if name == "primal" else "primal_refused": 0.0}
            assert judged(tol_infeasible=0.99 * ray / limit, **other) == GO_ON
            assert judged(tol_infeasible=1.01 * ray / limit, **{refused: 0.99 * ray}, **other) == GO_ON
