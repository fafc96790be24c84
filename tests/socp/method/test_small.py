"""Small programs in one call: the same answers as the general engine, claims that are tested, and the way back."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp import ConeProgram, NonNeg, Status
from socp.cones import scaling
from socp.form.hessian import LOW_RANK_TOL, SEMIDEFINITE_TOL
from socp.method import small
from socp.method.small import MOST_VARIABLES, SmallPath
from socp.method.small_kkt import build_system, factor, is_semidefinite, solve
from socp.method.step import Point
from socp.problem.solution import TRACE
from tests.support.programs import (
    DUAL_INFEASIBLE,
    OPTIMAL,
    PRIMAL_INFEASIBLE,
    check,
    interior,
    planted_optimum,
    planted_quadratic,
)


def in_one_call(solution):
    """Whether a solution's trace is that of the kernel: only the end is timed."""
    return solution.iterations > 0 and not solution.trace["seconds"][:-1].any()


@pytest.mark.parametrize("name", OPTIMAL)
def test_optimal(name):
    program = OPTIMAL[name][0]
    solution = socp.solve(program)
    assert solution.status is Status.OPTIMAL
    assert max(solution.primal_residual, solution.dual_residual, solution.gap) <= 1e-8
    assert solution.objective == pytest.approx(socp.solve(program, kkt="ldl").objective, rel=1e-6, abs=1e-7)


def test_random_cone_programs():
    at_once = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        program, _ = planted_optimum(rng, n=int(rng.integers(1, 30)), density=rng.uniform(0.2, 1.0))
        solution, general = socp.solve(program), socp.solve(program, kkt="ldl")
        assert solution.status is general.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(general.objective, rel=1e-6, abs=1e-6)
        assert abs(solution.iterations - general.iterations) <= 2
        at_once += in_one_call(solution) or general.iterations == 0
    assert at_once >= 54  # a few end so near the boundary that dense Cholesky does not do


@pytest.mark.parametrize("seed", range(40))
def test_random_quadratic_programs(seed):
    rng = np.random.default_rng([seed, 2])
    program, _ = planted_quadratic(rng, n=int(rng.integers(1, 30)))
    solution, general = qp.solve(program), qp.solve(program, kkt="ldl")
    assert solution.status is general.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(general.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", [*PRIMAL_INFEASIBLE, *DUAL_INFEASIBLE])
def test_certificates(name):
    program = {**PRIMAL_INFEASIBLE, **DUAL_INFEASIBLE}[name]
    assert socp.solve(program).status is socp.solve(program, kkt="ldl").status


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_bad_units(scale):
    rng = np.random.default_rng(5)
    program, _ = planted_optimum(rng, n=12)
    units = scale ** rng.uniform(0.0, 1.0, program.n)
    P = None if program.P is None else program.P.toarray() * np.outer(units, units)
    scaled = ConeProgram(
        program.c * units, program.G * units, program.h, program.cones, program.A * units, program.b, P, program.offset
    )
    solution = socp.solve(scaled)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(socp.solve(program).objective, rel=1e-4)


@pytest.fixture
def program():
    return planted_optimum(np.random.default_rng(6), n=10)[0]


def test_a_program_without_a_claim_goes_to_the_engine(program, monkeypatch):
    def gives_up(self, point, warm, norms, offset):
        point.u[:] = np.nan
        return iter(())

    monkeypatch.setattr(SmallPath, "claims", gives_up)
    solution = socp.solve(program)
    assert solution.status is Status.OPTIMAL and solution.iterations > 2
    assert solution.objective == pytest.approx(socp.solve(program, kkt="ldl").objective, rel=1e-9)


@pytest.mark.parametrize("claim", [small.OPTIMAL, small.PRIMAL_RAY, small.DUAL_RAY])
def test_a_wrong_claim_is_not_believed(program, claim, monkeypatch):
    def lies(self, point, warm, norms, offset):
        point.u[:], point.s[:] = 1.0, 1.0
        yield claim, np.zeros(3, TRACE)

    monkeypatch.setattr(SmallPath, "claims", lies)
    solution = socp.solve(program)
    assert solution.status is Status.OPTIMAL and solution.iterations > 2
    assert max(solution.primal_residual, solution.dual_residual, solution.gap) <= 1e-8


def test_settings_that_watch_a_run_take_the_engine(program, capsys):
    seen = []
    assert socp.solve(program, callback=lambda iterate: seen.append(iterate.iteration)).status is Status.OPTIMAL
    assert len(seen) > 2
    socp.solve(program, verbose=True)
    assert len(capsys.readouterr().out.splitlines()) > 5
    for setting in ({"kkt": "ldl"}, {"time_limit": 0.5}, {"regularization": 1e-8}):
        assert not in_one_call(socp.solve(program, **setting))


def test_larger_programs_take_the_engine():
    n = MOST_VARIABLES + 1
    program = ConeProgram(np.ones(n), -np.eye(n), np.zeros(n), [NonNeg(n)])
    solution = socp.solve(program)
    assert solution.status is Status.OPTIMAL and not in_one_call(solution)


def test_limits_on_iterations(program):
    for limit in (0, 1, 3):
        solution = socp.solve(program, max_iter=limit)
        assert solution.status is Status.MAX_ITERATIONS and solution.iterations == limit


def test_update_and_warm_start(program):
    solver = socp.Solver(program)
    first = solver.solve()
    assert in_one_call(first)
    again = solver.solve(warm_start=True)
    assert again.status is Status.OPTIMAL and again.iterations < first.iterations
    solver.update(h=program.h + 0.1, c=1.1 * program.c)
    changed = ConeProgram(
        1.1 * program.c, program.G, program.h + 0.1, program.cones, program.A, program.b, program.P, program.offset
    )
    expected = socp.solve(changed, kkt="ldl").objective
    assert solver.solve().objective == pytest.approx(expected, rel=1e-6)
    assert solver.solve(warm_start=True).objective == pytest.approx(expected, rel=1e-6)
    solver.update(G_data=2.0 * solver.program.G.data, h=2.0 * (program.h + 0.1))
    assert solver.solve().objective == pytest.approx(expected, rel=1e-6)


def test_a_warm_start_that_does_not_fit_starts_cold(program):
    solver = socp.Solver(program)
    solver.solve()
    for scale in (-1.0, 30.0):
        solver.update(c=scale * program.c)
        cold, warm = solver.solve(), solver.solve(warm_start=True)
        assert warm.status is cold.status
        if cold.status is Status.OPTIMAL:
            assert warm.objective == pytest.approx(cold.objective, rel=1e-6, abs=1e-6)


def test_the_same_bits_each_time(program):
    solver = socp.Solver(program)
    one, other = solver.solve(), solver.solve()
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.z, other.z)


def test_the_path_starts_where_the_engine_does(program):
    from socp.method import start

    solver = socp.Solver(program, max_iter=0)
    form = solver.form
    here, there = Point(form), Point(form)
    assert list(SmallPath(form, solver.settings).claims(here, False, (1.0, 1.0), 0.0)) == []
    assert start.cold(form, solver.kkt, there)
    np.testing.assert_allclose(here.u, there.u, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(here.s, there.s, rtol=1e-7, atol=1e-8)


def test_the_kernel_goes_on_after_a_claim_that_failed(program, monkeypatch):
    refused = []
    claim = socp.method.loop.Run._claim

    def strict(self, status):
        if len(refused) < 2:
            refused.append(len(self.records))
            return False
        return claim(self, status)

    monkeypatch.setattr(socp.method.loop.Run, "_claim", strict)
    solver = socp.Solver(program)
    solver.direct = None
    solution = solver.solve()
    assert refused[1] == refused[0] + 1  # the claim was made anew one iterate later
    assert solution.status is Status.OPTIMAL and in_one_call(solution)
    np.testing.assert_array_equal(solution.trace["iteration"], np.arange(solution.iterations + 1))
    assert solution.gap < 1e-9


def test_the_trace_is_that_of_the_engine(program):
    ours, general = socp.solve(program).trace, socp.solve(program, kkt="ldl").trace
    assert ours.dtype == general.dtype
    for name in ("primal_objective", "dual_objective", "mu", "sigma", "alpha_affine", "alpha", "tau", "kappa"):
        np.testing.assert_allclose(ours[name][:4], general[name][:4], rtol=1e-5, atol=1e-7)
    assert np.isnan(ours["sigma"][0]) and ours["regularization"].min() > 0.0


@pytest.mark.parametrize("seed", range(20))
def test_degenerate_rows(seed):
    """Equalities of deficient rank, rows twice, both sides of rows, fixed variables, far bounds, no objective."""
    rng = np.random.default_rng([seed, 3])
    n = int(rng.integers(2, 12))
    x = rng.normal(size=n)
    A = rng.normal(size=(4, n))
    A = np.vstack([A, A[:2] + A[2:], -A[0], A[1], rng.normal(size=(2, n))])
    width = np.repeat([0.0, 1.0], [6, 4])
    lb, ub = x - rng.choice([0.0, 1.0, 1e6], n), x + rng.choice([0.0, 1.0, 1e6], n)
    P = None if seed % 2 else np.outer(x, x)
    program = qp.QuadraticProgram(P, rng.normal(size=n), A, A @ x - width, A @ x + width, lb, ub)
    for presolve in (True, False):
        check(program, qp.solve(program, presolve=presolve))
        general = qp.solve(program, presolve=presolve, kkt="ldl")
        assert qp.solve(program).objective == pytest.approx(general.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("P", "convex"),
    [
        (np.diag([1.0, 0.0]), True), (np.ones((2, 2)), True), ([[1.0, 2.0], [2.0, 1.0]], False),
        ([[1.0, 0.0], [0.0, -1e-5]], False), ([[1.0, 0.01], [0.01, 0.0]], False), ([[0.0, 1.0], [1.0, 0.0]], False),
    ],
)  # fmt: skip
def test_the_quick_test_of_convexity(P, convex):
    array = np.array(P)
    assert is_semidefinite(array, SEMIDEFINITE_TOL, LOW_RANK_TOL) == convex
    for form in (array, sp.csc_array(array)):
        if convex:
            socp.Solver(ConeProgram(np.zeros(2), P=form))
        else:
            with pytest.raises(socp.ProgramError, match="P must be positive semidefinite"):
                socp.Solver(ConeProgram(np.zeros(2), P=form))


@pytest.mark.parametrize("seed", range(10))
def test_systems_are_solved(seed):
    """The solution times the KKT matrix, put together here, is the right-hand side."""
    rng = np.random.default_rng([seed, 4])
    program, _ = planted_optimum(rng, n=8)
    form = socp.Solver(program).form
    n, p, l, m = form.n, form.p, form.l, form.m
    M = sp.csc_array((form.M_data, form.M_indices, form.M_indptr), shape=(p + m, n)).toarray()
    P = form.P.dense() + np.eye(n)
    w, eta, lam = np.zeros(m), np.zeros(form.ptr.size - 1), np.zeros(m)
    s, z = interior(program.cones, rng)[form.rows], interior(program.cones, rng)[form.rows]
    assert scaling.nesterov_todd(l, form.ptr, s, z, w, eta, lam) == 0
    scaled = M[p:].copy()
    for j in range(n):
        column = scaled[:, j].copy()
        scaling.apply_inverse(l, form.ptr, w, eta, column, column)
        scaled[:, j] = column
    K = np.zeros((n + p + m, n + p + m))
    K[:n, :n], K[n : n + p, :n], K[n + p :, :n] = P, M[:p], scaled
    K[n + p :, n + p :] = -np.eye(m)
    K[:n, n:] = K[n:, :n].T
    system = build_system(p, form.ptr, form.M_indptr, form.M_indices, form.M_data, P)
    factor(system, w, eta, 1e-12)
    rhs, out = rng.normal(size=n + p + m), np.zeros(n + p + m)
    residual, _ = solve(system, rhs, out, 10)
    assert residual < 1e-9
    np.testing.assert_allclose(K @ out, rhs, atol=1e-8 * max(1.0, np.abs(out).max()))


def test_sides_of_rows_are_one_row():
    A = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0]])
    G = np.vstack([A, -A, np.eye(3), [[0.0, 5.0, 0.0]], A[:1]])
    form = socp.Solver(ConeProgram(np.zeros(3), G, np.ones(9), [NonNeg(9)]), equilibrate=False).form
    system = build_system(form.p, form.ptr, form.M_indptr, form.M_indices, form.M_data, form.P.dense())
    np.testing.assert_array_equal(system.row, [0, 1, 0, 1, -1, -1, -1, -1, 0])
    np.testing.assert_array_equal(system.variable, [-1, -1, -1, -1, 0, 1, 2, 1, -1])
    np.testing.assert_array_equal(system.coefficient, [1, 1, -1, -1, 1, 1, 1, 5, 1])
    np.testing.assert_array_equal(system.rows.reshape(2, 3), A)
