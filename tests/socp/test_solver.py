"""The solver: programs with known answers, every status with its contract, traces, the same bits."""

import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from bench.answers.verify import verify
from socp import ConeProgram, LowRank, NonNeg, ProgramError, SecondOrder, Solver, Status
from socp.method.loop import PATIENCE
from socp.verify.stopping import residuals
from tests.support.programs import (
    BOX,
    DISK,
    DUAL_INFEASIBLE,
    OPTIMAL,
    PRIMAL_INFEASIBLE,
    check,
    planted_optimum,
    planted_primal_certificate,
    solve_and_check,
)

pytestmark = pytest.mark.filterwarnings("error")

# ---- answers


@pytest.mark.parametrize("name", OPTIMAL)
@pytest.mark.parametrize("settings", [
    {}, {"equilibrate": False}, {"kkt": "ldl"}, {"kkt": "dense"}, {"regularization": 1e-8}, {"step_fraction": 0.9},
    {"tol": 1e-5}, {"tol": 1e-10},
], ids=str)  # fmt: skip
def test_optimal(name, settings):
    if name == "large cone":  # avoid 3 GB of dense arrays; a sum of 20,000 numbers is not known to 1e-10
        replaced = {"dense": {"kkt": "auto"}, 1e-10: {"tol": 1e-9}}
        settings = replaced.get(settings.get("kkt", settings.get("tol")), settings)
    program, x, objective = OPTIMAL[name]
    solve_and_check(program, objective=objective, x=x if settings.get("tol", 1) <= 1e-8 else None, **settings)


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
@pytest.mark.parametrize("equilibrate", [True, False])
@pytest.mark.parametrize("name", PRIMAL_INFEASIBLE)
def test_primal_infeasible(name, equilibrate, kkt):
    solution = socp.solve(PRIMAL_INFEASIBLE[name], equilibrate=equilibrate, kkt=kkt)
    if name == "both" and solution.status is Status.DUAL_INFEASIBLE:
        check(PRIMAL_INFEASIBLE[name], solution, "dual_infeasible")
        return
    check(PRIMAL_INFEASIBLE[name], solution, "primal_infeasible")
    program = PRIMAL_INFEASIBLE[name]
    finite = np.isfinite(program.h)
    assert program.b @ solution.y + program.h[finite] @ solution.z[finite] == pytest.approx(-1.0)
    assert np.isnan(solution.s).all() and solution.message


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
@pytest.mark.parametrize("equilibrate", [True, False])
@pytest.mark.parametrize("name", DUAL_INFEASIBLE)
def test_dual_infeasible(name, equilibrate, kkt):
    program = DUAL_INFEASIBLE[name]
    solution = solve_and_check(program, "dual_infeasible", equilibrate=equilibrate, kkt=kkt)
    assert program.c @ solution.x == pytest.approx(-1.0)
    np.testing.assert_array_equal(solution.s, -(program.G @ solution.x))


def test_a_full_matrix_in_a_sparse_container_is_a_full_matrix():
    rng = np.random.default_rng(0)
    for n in (40, 300):
        X, y = rng.normal(size=(n, 4)), rng.choice([-1.0, 1.0], n)
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) * np.outer(y, y)
        G, h = sp.vstack([sp.eye_array(n), -sp.eye_array(n)]), np.r_[np.ones(n), np.zeros(n)]
        rest = {"c": -np.ones(n), "G": G, "h": h, "cones": [NonNeg(2 * n)], "A": y[None, :], "b": [0.0]}
        solvers = [Solver(ConeProgram(P=container(K), **rest)) for container in (np.array, sp.csc_array, sp.coo_matrix)]
        expected = solvers[0].solve()
        for solver in solvers[1:]:
            assert solver.kkt.description == solvers[0].kkt.description and "dense Cholesky" in solver.kkt.description
            solution = solver.solve()
            assert solution.iterations == expected.iterations
            np.testing.assert_array_equal(solution.x, expected.x)


@pytest.mark.parametrize("rank", [1, 3, 20])
def test_lowrank_is_done_for_a_full_matrix_of_any_order_and_rank(rank):
    rng = np.random.default_rng(rank)
    n = 20
    F = rng.normal(size=(n, rank))
    P = F @ F.T
    program = ConeProgram(rng.normal(size=n), np.vstack([np.eye(n), -np.eye(n)]), np.ones(2 * n), [NonNeg(2 * n)],
                          P=0.5 * (P + P.T))  # fmt: skip
    solver = Solver(program, kkt="lowrank")
    assert f"(rank {rank} of P, 0 rows)" in solver.kkt.description
    np.testing.assert_allclose(solver.solve().x, socp.solve(program, tol=1e-10).x, atol=1e-4)
    wide = ConeProgram(
        program.c, program.G, program.h, program.cones, P=LowRank(np.hstack([F, 0.1 * np.ones((n, 25))]))
    )
    assert f"(rank {rank + 25} of P" in Solver(wide, kkt="lowrank").kkt.description


def test_lowrank_is_refused_where_it_cannot_work():
    with pytest.raises(ProgramError, match='kkt="lowrank" needs a dense or LowRank P'):
        Solver(ConeProgram([1.0, 1.0], **BOX), kkt="lowrank")
    with pytest.raises(ProgramError, match='kkt="lowrank" needs every variable to have a bound or a positive entry'):
        Solver(ConeProgram([1.0, 1.0], P=LowRank([[1.0], [1.0]])), kkt="lowrank")
    with pytest.raises(ProgramError, match='kkt="lowrank" needs every variable to have a bound or a positive entry'):
        zero = sp.csc_array(([-1.0, 0.0], ([0, 1], [0, 1])), shape=(2, 2))  # an explicit zero bounds nothing
        Solver(ConeProgram([1.0, 1.0], zero, [1.0, 1.0], [NonNeg(2)], P=np.ones((2, 2))), kkt="lowrank")


# ---- statuses


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_max_iterations_gives_the_best_iterate(hard, limit):
    solution = socp.solve(hard, max_iter=limit)
    assert solution.status is Status.MAX_ITERATIONS and str(limit) in solution.message
    assert solution.iterations == limit and len(solution.trace) == limit + 1
    for part in (solution.x, solution.y, solution.z, solution.s, solution.objective, solution.dual_objective):
        assert np.isfinite(part).all()
    worst = np.max([solution.trace[name] for name in ("primal_residual", "dual_residual", "gap")], axis=0)
    own = max(solution.primal_residual, solution.dual_residual, solution.gap)
    assert own == pytest.approx(worst.min(), rel=1e-6, abs=0.0)
    found = verify(hard, solution.x, solution.y, solution.z)
    assert found.worst <= own * (1 + 1e-6)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_the_best_iterate_is_judged_by_its_residuals(size):
    # h large compared with c: every point has a ray of small slope, but is no better solution
    n = 20
    rows = [-np.eye(n)]
    for i in range(n - 2):
        block = np.zeros((3, n))
        block[[0, 1, 2], [i, i + 1, i + 2]] = -2.0, -1.0, -1.0
        rows.append(block)
    h = np.r_[-size * np.linspace(1, 2, n), np.zeros(3 * (n - 2))]
    program = ConeProgram(1e-3 * np.arange(1.0, n + 1), np.vstack(rows), h, [NonNeg(n)] + [SecondOrder(3)] * (n - 2))
    for limit in (2, 4, 6):
        solution = socp.solve(program, max_iter=limit)
        worst = np.max([solution.trace[name] for name in ("primal_residual", "dual_residual", "gap")], axis=0)
        assert max(solution.primal_residual, solution.dual_residual, solution.gap) == pytest.approx(
            worst.min(), rel=1e-3, abs=0.0
        )


@pytest.mark.parametrize("limit", [0, 0.0, 1e-12])
def test_time_limit(hard, limit):
    solution = socp.solve(hard, time_limit=limit)
    assert solution.status is Status.TIME_LIMIT and solution.iterations == 0
    assert not solution.x.any() and "limit" in solution.message
    assert solution.primal_residual == residuals(hard, solution.x, solution.y, solution.z, solution.s).relative[0]
    assert socp.solve(hard, time_limit=np.inf).status is Status.OPTIMAL


@pytest.mark.parametrize("answer, stops", [
    (True, True), (np.True_, True), (StopIteration, True), (False, False), (None, False), (1, False), ("stop", False),
    (np.False_, False), (np.ones(2), False),
])  # fmt: skip
def test_the_callback_stops_by_true_alone(hard, answer, stops):
    seen = []

    def callback(iterate):
        seen.append((iterate.iteration, iterate.x.copy()))
        if answer is StopIteration and iterate.iteration == 3:
            raise StopIteration
        return answer if iterate.iteration == 3 else None

    solution = socp.solve(hard, callback=callback)
    if not stops:
        assert solution.status is Status.OPTIMAL and len(seen) > 4
        return
    assert solution.status is Status.INTERRUPTED and "callback" in solution.message
    assert [k for k, _ in seen] == [0, 1, 2, 3] and solution.iterations == 3
    assert any(np.array_equal(solution.x, x) for _, x in seen)


@pytest.mark.usefixtures("listens_to_ctrl_c")
@pytest.mark.parametrize("interrupt", [lambda: (_ for _ in ()).throw(KeyboardInterrupt), None])
def test_ctrl_c(hard, interrupt):
    def callback(iterate):
        if iterate.iteration == 2:
            signal.raise_signal(signal.SIGINT) if interrupt is None else next(interrupt())

    solver = Solver(hard, callback=callback)
    solution = solver.solve()
    assert solution.status is Status.INTERRUPTED and "keyboard" in solution.message
    assert solution.iterations == 2 and np.isfinite(solution.x).all()
    # the solver works as before
    assert Solver(hard).solve().objective == pytest.approx(continue_without(solver).objective, rel=1e-7)


def continue_without(solver):
    from dataclasses import replace

    solver.settings = replace(solver.settings, callback=None)
    return solver.solve()


@pytest.mark.parametrize("seed", range(5))
def test_a_run_that_no_longer_improves_ends_early(seed):
    program, _ = planted_optimum(np.random.default_rng(seed), n=12)
    solution = socp.solve(program, tol=1e-17)
    trace = solution.trace
    worst = np.max([trace[name] for name in ("primal_residual", "dual_residual", "gap")], axis=0)
    assert np.nanmin(worst) < 1e-8
    # "optimal" if only rounding errors remain
    found = residuals(program, solution.x, solution.y, solution.z, solution.s, rounding=True)
    assert solution.status == ("optimal" if found.meets(1e-17) else "inaccurate")
    assert found.meets(1e-10) and verify(program, solution.x, solution.y, solution.z).solved(1e-10)
    assert "the stopping test holds at" in solution.message and solution.status.has_solution
    # the trace is of one run, the iterations are the sum of all runs
    assert trace.size - 1 <= int(np.nanargmin(worst)) + PATIENCE + 1 + 1


@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-8, 1e-11])
def test_tol(hard, tol):
    solution = solve_and_check(hard, tol=tol)
    before = solution.trace[-2]
    assert max(before["primal_residual"], before["dual_residual"], before["gap"]) > tol


def test_tol_abs():
    # in large units the relative test holds long before the absolute one
    program = ConeProgram([-3e3, -4e3], **DISK, P=1e3 * np.eye(2))
    loose, tight = socp.solve(program, tol=1e-4), socp.solve(program, tol=1e-4, tol_abs=1e-6)
    for solution, absolute in ((loose, False), (tight, True)):
        x, y, z, s = solution.x, solution.y, solution.z, solution.s
        found = residuals(program, x, y, z, s)
        assert found.meets(1e-4) and (max(found[:4]) <= 1e-6) == absolute
    assert tight.iterations > loose.iterations


def test_tol_infeasible():
    program = planted_primal_certificate(np.random.default_rng(1))
    loose, tight = socp.solve(program, tol_infeasible=1e-2), socp.solve(program, tol_infeasible=1e-12)
    assert loose.primal_residual <= 1e-10 and tight.primal_residual <= 1e-12  # a run goes on to 1e-10
    assert loose.status is tight.status is Status.PRIMAL_INFEASIBLE


def test_statuses():
    assert [str(status) for status in Status] == [
        "optimal", "inaccurate", "primal_infeasible", "dual_infeasible", "max_iterations", "time_limit", "interrupted",
        "numerical_error",
    ]  # fmt: skip
    assert Status.OPTIMAL == "optimal" and f"{Status.TIME_LIMIT}" == "time_limit"
    assert [s for s in Status if s.has_solution] == [Status.OPTIMAL, Status.INACCURATE]
    assert [s for s in Status if s.is_infeasible] == [Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE]
    assert pickle.loads(pickle.dumps(Status.OPTIMAL)) is Status.OPTIMAL


# ---- trace and iterates


def test_the_trace_is_the_run(hard):
    solution = socp.solve(hard)
    trace = solution.trace
    np.testing.assert_array_equal(trace["iteration"], np.arange(solution.iterations + 1))
    assert trace["primal_objective"][-1] == pytest.approx(solution.objective, rel=1e-9)
    assert trace["dual_objective"][-1] == pytest.approx(solution.dual_objective, rel=1e-9)
    for name, value in (("primal_residual", solution.primal_residual), ("dual_residual", solution.dual_residual)):
        assert trace[name][-1] == pytest.approx(value, rel=1e-3, abs=1e-12)
    assert (np.diff(trace["mu"]) < 0).all() and (np.diff(trace["seconds"]) > 0).all() and trace["seconds"][0] > 0
    assert np.isnan(trace["alpha"][0]) and np.isnan(trace["sigma"][0])
    for name in ("alpha", "alpha_affine", "sigma"):
        assert ((trace[name][1:] >= 0) & (trace[name][1:] <= 1)).all()
    assert (trace["tau"] > 0).all() and (trace["kappa"] > 0).all() and (trace["regularization"] > 0).all()
    assert solution.solve_time >= trace["seconds"][-1] and solution.setup_time > 0


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
def test_iterates_are_the_same_run(hard, kkt):
    solution = socp.solve(hard, kkt=kkt)
    records = [iterate.record.copy() for iterate in socp.iterates(hard, kkt=kkt)]
    assert len(records) == solution.iterations + 1  # the last one is the answer
    for record, expected in zip(records, solution.trace, strict=True):
        for name in set(solution.trace.dtype.names) - {"seconds"}:
            np.testing.assert_array_equal(record[name], expected[name])


def test_an_iterate_is_open(hard):
    for iterate in socp.iterates(hard):
        x, y, z, s = iterate.x, iterate.y, iterate.z, iterate.s
        half = 0.5 * x @ (0.0 * x if hard.P is None else hard.P @ x)
        assert iterate.primal_objective == pytest.approx(half + hard.c @ x + hard.offset)
        assert iterate.dual_objective == pytest.approx(-half - hard.b @ y - hard.h @ z + hard.offset)
        assert iterate.mu == pytest.approx(iterate.newton.mu, rel=1e-12, abs=0.0) and iterate.tau == iterate.point.tau
        assert s.shape == hard.h.shape
        with pytest.raises(AttributeError, match="nothing_of_this_name"):
            iterate.nothing_of_this_name  # noqa: B018
    for one, other in pairwise(socp.iterates(hard)):
        assert other.iteration == one.iteration + 1


def test_solutions_are_pickled_and_printed(hard):
    solution = socp.solve(hard)
    copy = pickle.loads(pickle.dumps(solution))
    assert all(getattr(copy, name).tobytes() == getattr(solution, name).tobytes() for name in ("trace", *"xyzs"))
    assert copy.status is Status.OPTIMAL
    assert repr(copy) == repr(solution)
    assert repr(solution).startswith("Solution(status='optimal', objective=")
    assert "residuals=" in repr(solution) and "\n" not in repr(solution)


# ---- the same bits, threads


def test_two_threads_give_the_bits_of_one():
    programs = [planted_optimum(np.random.default_rng(seed), n=14)[0] for seed in range(8)]
    expected = [socp.solve(program).x for program in programs]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            for solution, x in zip(pool.map(socp.solve, programs), expected):
                np.testing.assert_array_equal(solution.x, x)


def test_the_program_is_not_changed(hard):
    Solver(hard).solve()  # fill the program's caches first
    before = pickle.dumps(hard)
    solver = Solver(hard)
    solver.solve()
    solver.update(c=np.zeros(hard.n), G_data=2.0 * hard.G.data, h=2.0 * hard.h)
    solver.solve(warm_start=True)
    assert pickle.dumps(hard) == before


def test_a_low_rank_hessian_of_rank_zero_without_rows_asks_nothing_of_blas(capfd):
    program = ConeProgram(
        [1.0], np.array([[-1.0], [1.0]]), [0.0, 1.0], [SecondOrder(1)] * 2, P=LowRank(np.zeros((1, 0)))
    )
    assert Solver(program, kkt="lowrank").solve().status is Status.OPTIMAL
    captured = capfd.readouterr()
    assert "DSYRK" not in captured.out + captured.err


def test_warm_starts_that_lose_iterations_become_rare():
    rng, n = np.random.default_rng(1), 100
    A = rng.random((n // 2, n)) * (rng.random((n // 2, n)) < 0.3) + np.eye(n // 2, n)
    G, h = np.vstack([A, np.eye(n), -np.eye(n)]), np.concatenate([A.sum(axis=1) / 3.0, np.ones(n), np.zeros(n)])
    solver, counts = socp.Solver(c=-rng.uniform(0.5, 1.5, n), G=G, h=h, cones=[socp.NonNeg(h.size)]), [0, 0]
    solver.solve()
    for _ in range(40):
        c = -rng.uniform(0.5, 1.5, n)
        solver.update(c=c)
        warm, cold = solver.solve(warm_start=True), socp.solve(c=c, G=G, h=h, cones=[socp.NonNeg(h.size)])
        counts[0] += warm.iterations
        counts[1] += cold.iterations
        assert warm.status == cold.status == "optimal" and abs(warm.objective - cold.objective) < 1e-6 * n
    assert counts[0] <= 1.1 * counts[1]
