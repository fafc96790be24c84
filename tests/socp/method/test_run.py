"""Runs: one iteration at a time and all at once, the trace, claims that are tested, interrupts."""

import signal
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from bench.fuzz import catalogue
from socp import ConeProgram, LowRank, NonNeg, SecondOrder, Solver, Status
from socp.compiled.clock import clock
from socp.kkt.dense import DenseKKT
from socp.kkt.lowrank import LowRankKKT
from socp.kkt.sparse import SparseKKT
from socp.method import run as run_module
from socp.method.loop import (
    GO_ON,
    NOT_FACTORED,
    PATIENCE,
    RECORDS,
    STALLED,
    begin,
    limit,
    prepare_run,
    take_best,
    take_residuals,
)
from socp.method.run import PATIENT, Run
from socp.problem.settings import Settings
from socp.verify.certificates import CERTAIN
from socp.verify.stopping import ConeTest, evaluate, residuals
from tests.support.exact import cone_figures
from tests.support.programs import (
    DUAL_INFEASIBLE,
    OPTIMAL,
    planted_dual_certificate,
    planted_optimum,
    planted_primal_certificate,
)
from tests.support.sparse_matrices import grid_laplacian


def grid(n, seed=0):
    """Return a sparse program with fill: the Laplacian of a grid, with a cone for each variable of its first line."""
    rng = np.random.default_rng(seed)
    N = n * n
    pick = [sp.csr_array((-rng.uniform(0.5, 1.0, 2), ([1, 2], [k, k + n])), shape=(3, N)) for k in range(n)]
    G, h = sp.vstack([-sp.eye_array(N), *pick]), np.r_[np.ones(N), np.tile([1.0, 0.0, 0.0], n)]
    return ConeProgram(rng.normal(size=N), G, h, [NonNeg(N)] + [SecondOrder(3)] * n, P=grid_laplacian(n, n))


def chain(n, seed=0):
    """Return a sparse program without fill."""
    rng = np.random.default_rng(seed)
    P = sp.diags_array([np.full(n, 2.0), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    G = sp.vstack([-sp.eye_array(n), sp.eye_array(n)])
    return ConeProgram(rng.normal(size=n), G, np.ones(2 * n), [NonNeg(2 * n)], P=P)


def full(n, seed=0):
    """Return a program over a box whose KKT matrix is full."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    G = sp.vstack([-sp.eye_array(n), sp.eye_array(n)])
    return ConeProgram(rng.normal(size=n), G, np.ones(2 * n), [NonNeg(2 * n)], P=F @ F.T / n)


def factors(n, k, seed=0):
    """Return a program over a box with an equality, whose P is diagonal plus low rank."""
    rng = np.random.default_rng(seed)
    G = np.vstack([-np.eye(n), np.eye(n)])
    P = LowRank(rng.normal(size=(n, k)), rng.uniform(0.1, 1.0, n))
    return ConeProgram(rng.normal(size=n), G, np.ones(2 * n), [NonNeg(2 * n)], np.ones((1, n)), [0.5], P)


BACKENDS = {
    "dense": (lambda: planted_optimum(np.random.default_rng(11), n=14)[0], "auto", DenseKKT, "dense"),
    "dense, by choice": (lambda: planted_optimum(np.random.default_rng(12), n=60)[0], "dense", DenseKKT, "dense"),
    "sparse, by rows": (lambda: chain(400), "auto", SparseKKT, "by columns"),
    "sparse, four-wide": (lambda: grid(60), "auto", SparseKKT, "by strips"),
    "sparse, by panels": (lambda: full(1100), "ldl", SparseKKT, "by panels"),
    "low rank": (lambda: factors(300, 5), "auto", LowRankKKT, "low rank"),
}


@pytest.mark.parametrize("name", BACKENDS)
def test_runs_are_the_same_to_the_bit_watched_or_not_and_however_often_the_loop_comes_back(name, monkeypatch):
    program, kkt, kind, words = BACKENDS[name]
    solver = Solver(program(), kkt=kkt)
    assert isinstance(solver.kkt, kind) and words in solver.kkt.description
    whole, seen = solver.solve(), []
    watched = socp.solve(solver.program, kkt=kkt, callback=lambda iterate: seen.append(iterate.iteration))
    assert whole.status is watched.status is Status.OPTIMAL
    assert seen == list(range(whole.iterations + 1)) and watched.iterations == whole.iterations > 3
    for part in "xyzs":
        np.testing.assert_array_equal(getattr(watched, part), getattr(whole, part))
    for column in set(whole.trace.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(watched.trace[column], whole.trace[column])
    again = solver.solve()  # a run has no influence on the next
    np.testing.assert_array_equal(again.x, whole.x)
    monkeypatch.setattr(run_module, "PATIENT", 1e-9)  # the loop comes back after each iteration
    again = solver.solve()
    np.testing.assert_array_equal(again.x, whole.x)
    assert again.iterations == whole.iterations and again.trace.size == whole.trace.size


# ---- the trace


def worst(trace):
    return np.max([trace[name] for name in ("primal_residual", "dual_residual", "gap")], axis=0)


@pytest.mark.parametrize("settings", [{}, {"callback": lambda iterate: None}], ids=["unwatched", "watched"])
def test_a_long_trace_is_complete(settings):
    # short steps: the trace's memory is doubled twice
    program = planted_optimum(np.random.default_rng(3), n=12)[0]
    solution = socp.solve(program, step_fraction=0.08, max_iter=1000, **settings)
    trace = solution.trace
    assert solution.status is Status.OPTIMAL and solution.iterations > 3 * RECORDS
    np.testing.assert_array_equal(trace["iteration"], np.arange(solution.iterations + 1))
    assert (np.diff(trace["mu"]) < 0.0).all() and (np.diff(trace["seconds"]) > 0.0).all()
    assert (trace["alpha"][1:] > 0.0).all() and (trace["alpha"][1:] < 0.1).all()
    assert (trace["tau"] > 0.0).all() and (trace["regularization"] > 0.0).all()
    assert worst(trace)[-1] <= 1e-8 < worst(trace)[-2]


@pytest.mark.parametrize("limit", [RECORDS - 2, RECORDS - 1, RECORDS, RECORDS + 1, 2 * RECORDS])
def test_limits_where_the_room_ends(limit):
    program = planted_optimum(np.random.default_rng(3), n=12)[0]
    solution = socp.solve(program, step_fraction=0.05, max_iter=limit)
    assert solution.status is Status.MAX_ITERATIONS and solution.iterations == limit
    np.testing.assert_array_equal(solution.trace["iteration"], np.arange(limit + 1))
    assert (solution.trace["mu"] > 0.0).all()


# ---- claims


class Strict(ConeTest):
    """Stopping test that rejects the first `times` points."""

    def __init__(self, program, times):
        super().__init__(program)
        self.times, self.asked = times, 0

    def residuals(self, *point, rounding=False):
        found = super().residuals(*point, rounding=rounding)
        self.asked += not rounding
        return found if self.asked > self.times else found._replace(gap=1.0, cone=1.0)

    def _later(self, certified):
        ray, error = certified
        self.asked += 1
        return ray, error if self.asked > self.times else 1.0

    def primal_certificate(self, y, z):
        return self._later(super().primal_certificate(y, z))

    def dual_certificate(self, x):
        return self._later(super().dual_certificate(x))


@pytest.mark.parametrize("name", BACKENDS)
def test_the_loop_goes_on_after_a_claim_that_failed(name):
    program, kkt, _, _ = BACKENDS[name]
    solver = Solver(program(), kkt=kkt, tol=1e-5)
    first = solver.run()
    test = Strict(solver.program, 2)
    run = solver.run(test=test)
    assert run.status is Status.OPTIMAL and test.asked == 3
    assert run.iterations == first.iterations + 2  # the claim was repeated one iterate later, twice
    np.testing.assert_array_equal(run.trace["iteration"], np.arange(run.iterations + 1))
    np.testing.assert_array_equal(run.trace["mu"][: first.trace.size], first.trace["mu"])
    assert run.found.worst < worst(first.trace)[-1]


@pytest.mark.parametrize("make, times, status", [
    (planted_primal_certificate, 9, Status.PRIMAL_INFEASIBLE), (planted_dual_certificate, 16, Status.DUAL_INFEASIBLE)
])  # fmt: skip
def test_a_certificate_that_fails_is_sought_further(make, times, status):
    solver = Solver(make(np.random.default_rng(2)))
    first = solver.run()
    test = Strict(solver.program, times)
    run = solver.run(test=test)
    assert first.status is run.status is status and test.asked > times  # certificates were asked for again


def test_a_claim_that_is_never_believed_ends_without_an_answer():
    solver = Solver(OPTIMAL["disk"][0])
    run = solver.run(test=Strict(solver.program, 10**6))
    assert run.status is Status.NUMERICAL_ERROR and run.found.worst > 1e-2
    assert solver.solve().status is Status.OPTIMAL


def test_a_ray_that_was_refused_is_asked_for_again_when_its_slope_is_half_of_that():
    asked = []

    class Refusing(ConeTest):
        """Stopping test that rejects every ray."""

        def dual_certificate(self, x):
            return (x,), np.inf

    program = DUAL_INFEASIBLE["inside a cone"]
    solver = Solver(program)
    run = Run(program, solver._state, solver.settings, False, Refusing(program))
    certificate = run.rays.certificate

    def counted(certified, unbounded=False):
        if unbounded:
            asked.append((run.state.iteration, run.state.dual_ray))
        return certificate(certified, unbounded)

    run.rays.certificate = counted
    run.solve()
    assert len(asked) > 1 and solver._state.dual_refused == asked[-1][1]
    last = run.iterations  # it always tests when it gives up
    slopes = [slope for iteration, slope in asked if iteration < last]
    assert all(later <= earlier for earlier, later in pairwise(slopes))


def test_a_run_stalls_by_its_residuals_unless_it_is_on_the_way_to_a_ray():
    state = Solver(OPTIMAL["disk"][0])._state
    prepare_run(state, 0.0)
    state.newton.mu, state.iteration, state.max_iter = 1.0, 50, 200
    state.best_worst, state.last_better, state.last_progress = 1e-6, 50 - PATIENCE - 1, 50
    state.best_ray = 1e-6
    assert limit(state) == GO_ON
    state.best_ray = 1.0
    assert limit(state) == STALLED
    state.last_better += 1
    assert limit(state) == GO_ON
    for last, outcome in ((50 - PATIENCE, GO_ON), (50 - PATIENCE - 1, STALLED)):
        state.last_progress = last
        assert limit(state) == outcome


# ---- what rounding excuses


class Rounded(ConeTest):
    """Stopping test that finds a dual residual of this relative size, all of it explained by rounding."""

    def __init__(self, program, size):
        super().__init__(program)
        self.size = size

    def residuals(self, *point, rounding=False):
        found = super().residuals(*point, rounding=rounding)
        return found if rounding else found._replace(dual=self.size * found.dual_scale)


def test_rounding_excuses_up_to_1e_6_or_tol():
    solver = Solver(OPTIMAL["disk"][0])
    excused, refused, far = (solver.run(test=Rounded(solver.program, size)) for size in (9e-7, 2e-6, 1e-4))
    assert excused.status is Status.OPTIMAL and excused.found.relative[1] == pytest.approx(9e-7)
    assert "double precision has no more digits" in excused.message and "9.0e-07" in excused.message
    assert refused.status is Status.INACCURATE and refused.found.relative[1] == pytest.approx(2e-6)
    assert far.status not in (Status.OPTIMAL, Status.INACCURATE) and far.found.relative[1] == pytest.approx(1e-4)
    assert "digits" not in solver.solve().message
    assert Solver(OPTIMAL["disk"][0], tol=1e-5).run(test=Rounded(solver.program, 9e-6)).status is Status.OPTIMAL


def test_large_multipliers_are_no_excuse():
    """Smaller multipliers are tried before an answer is excused; errors > 1e-6 never are (here one of 9.9e-6 was)."""
    solution = socp.solve(catalogue.case("cone_scaled", 20261123, 31).program)
    told = max(solution.primal_residual, solution.dual_residual, solution.gap)
    assert solution.status is Status.OPTIMAL and told <= 1e-6


HILBERT = 1e6 / (np.arange(11)[:, None] + np.arange(11) + 1)


@pytest.mark.parametrize("seed", range(6, 10))
def test_an_answer_with_no_more_digits_tells_what_is_left_and_why(seed):
    q = np.random.default_rng(seed).normal(size=11)
    program = ConeProgram(q, -np.eye(11), 1e6 * np.ones(11), [NonNeg(11)], P=HILBERT)
    solution = socp.solve(program)
    point = solution.x, solution.y, solution.z, solution.s
    found, exact = residuals(program, *point), cone_figures(program, *point)
    assert solution.dual_residual == found.relative[1] and solution.gap == found.relative[2]
    for name, value in exact.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-3), name
    told = max(solution.primal_residual, solution.dual_residual, solution.gap)
    assert (solution.status is Status.OPTIMAL) <= (told <= 1e-8 or "no more digits" in solution.message)
    assert told < 1e-5


def test_last_step_leave_the_policy_as_it_was():
    solver = Solver(ConeProgram(np.ones(11), -np.eye(11), 1e6 * np.ones(11), [NonNeg(11)], P=HILBERT))
    run = Run(solver.program, solver._state, solver.settings, False, None)
    run.solve()
    policy = solver._state.kkt.policy
    assert not policy.precise
    take_best(solver._state)
    answer = run.unscale(solver._state.point)
    judged = run._judge(answer)
    before = run.state.iteration
    assert (
        run._last_step(judged).found.worst <= judged.found.worst
        and not policy.precise
        and run.state.iteration == before + 1
    )
    run.state.max_iter = before + 1
    assert run._last_step(judged) is judged and run.state.iteration == before + 1


def test_residuals_of_the_callers_data_are_those_that_a_step_removes():
    program = planted_optimum(np.random.default_rng(5), n=12)[0]
    solver = Solver(program)
    run = Run(program, solver._state, solver.settings, False, None)
    run.solve()
    state = solver._state
    take_best(state)
    r, rtau = state.newton.r.copy(), state.newton.rtau
    found, vector = evaluate(program, *run.unscale(state.point))
    vector += 1.0  # far larger than rounding errors
    state.newton.r[:] = 0.0
    take_residuals(state, vector, found.primal_objective - found.dual_objective)
    form, n, p = run.form, run.form.n, run.form.p
    units = np.concatenate([form.cost_scale * form.D, form.E]) * state.point.tau
    np.testing.assert_allclose(state.newton.r, r + units, rtol=1e-6)
    assert state.newton.rtau == pytest.approx(rtau, rel=1e-6, abs=1e-12) and n + p + form.m == vector.size


# ---- directions that are no numbers


def test_a_direction_that_is_no_number_is_told():
    def spoil(iterate):
        if iterate.iteration == 2:
            iterate.newton.r[0] = np.nan

    program = planted_optimum(np.random.default_rng(3), n=12)[0]
    run = Run(program, Solver(program)._state, Settings(callback=spoil), False, None)
    run.solve()
    assert run.status is Status.NUMERICAL_ERROR and run.iterations == 2
    assert run.message.startswith("the Newton system could not be solved")
    assert np.isfinite(run.answer[0]).all()


# ---- the end of a run


@pytest.mark.parametrize("iteration, words", [(-1, "the KKT matrix at the starting point cannot be factored"),
                                              (2, "the Newton system can no longer be factored")])  # fmt: skip
def test_a_matrix_that_cannot_be_factored_ends_a_run(iteration, words):
    run = Run(OPTIMAL["disk"][0], Solver(OPTIMAL["disk"][0])._state, Settings(callback=None), False, None)
    run.state.iteration = iteration
    assert run._is_over(NOT_FACTORED) and run.status is Status.NUMERICAL_ERROR and run.message.startswith(words)


def test_a_run_lets_go_of_the_engine():
    solver = Solver(OPTIMAL["disk"][0])
    run = solver.run()
    answer, trace = [part.copy() for part in run.answer], run.trace.copy()
    solver.update(c=[-1.0, 2.0])
    solver.solve()
    assert not hasattr(run, "newton")
    assert run.trace.tobytes() == trace.tobytes()
    for part, kept in zip(run.answer, answer):
        np.testing.assert_array_equal(part, kept)
    assert run.solution().objective == pytest.approx(OPTIMAL["disk"][2], rel=1e-7)
    assert run.solution().setup_time == run.setup_time > 0.0


@pytest.mark.usefixtures("listens_to_ctrl_c")
def test_ctrl_c_while_the_loop_runs(hard, monkeypatch):
    follow, calls = run_module.follow, []

    def interrupted(state, until):
        calls.append(follow(state, until))
        if len(calls) == 3:  # Ctrl-C during compiled code is noticed on return
            signal.raise_signal(signal.SIGINT)
        return calls[-1]

    solver = Solver(hard)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "PATIENT", 1e-9)
        patch.setattr(run_module, "follow", interrupted)
        solution = solver.solve()
    assert solution.status is Status.INTERRUPTED and "keyboard" in solution.message
    assert solution.iterations == 3 and np.isfinite(solution.x).all()
    own = max(solution.primal_residual, solution.dual_residual, solution.gap)
    assert own == pytest.approx(worst(solution.trace).min(), rel=1e-6, abs=0.0)
    assert solver.solve().status is Status.OPTIMAL


@pytest.mark.parametrize("limit", [1e-9, 1e-2, 5.0])
def test_the_loop_comes_back_at_the_time_limit_or_when_its_patience_is_over(hard, limit, monkeypatch):
    follow, seen = run_module.follow, []

    def timed(state, until):
        seen.append((until - state.started, until - clock()))
        return follow(state, until)

    monkeypatch.setattr(run_module, "follow", timed)
    solution = socp.solve(hard, time_limit=limit)
    assert solution.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    for since_start, from_now in seen:
        assert since_start <= limit + 1e-9 and from_now <= PATIENT
    assert (limit == 1e-9) == (solution.status is Status.TIME_LIMIT and not seen)


def test_candidates_for_a_certificate_in_turn(hard):
    """Two candidates from the iterate, for an unbounded ray two directions more, and the repair of each."""
    solver = Solver(hard)
    run = Run(hard, solver._state, solver.settings, False, None)
    run.state.newton.last_dtau = 9.0  # left by an earlier run
    begin(run.state)
    assert run.state.newton.last_dtau == 1.0
    run.state.primal_ray = run.state.dual_ray = run.state.tol_infeasible  # near enough for a repair
    far = 2.0 * CERTAIN
    for errors, unbounded, count in (
        ((far, np.inf), True, 8), ((np.inf, far), True, 8), ((far, far), False, 4),
        ((far, far, far, CERTAIN), False, 4),
        ((CERTAIN,), True, 1), ((CERTAIN,), False, 1), ((far, far, far, CERTAIN), True, 4),
        ((far, *4 * [2 * far], CERTAIN), True, 6),
    ):  # fmt: skip
        seen, run.rays._repaired = [], {False: np.inf, True: np.inf}
        certified = lambda ray: seen.append(ray) or ((), (*errors, *[np.inf] * 8)[len(seen) - 1])  # noqa: B023, E731
        (_, error), found = run.rays.certificate(certified, unbounded)
        assert len(seen) == count and error == min(errors)
        assert found is seen[int(np.argmin(errors))]


def test_an_iterate_can_still_be_looked_at_when_the_run_is_over(hard):
    iterates = []
    solution = socp.solve(hard, callback=iterates.append)
    for name in ("x", "y", "z", "s"):  # its point is shared with the run, which has continued
        np.testing.assert_array_equal(getattr(iterates[-1], name), getattr(solution, name))
    assert [iterate.iteration for iterate in iterates] == list(range(len(iterates)))


def test_an_interrupt_while_the_end_is_noted_leaves_a_whole_answer(monkeypatch):
    unscale, calls = run_module.Run.unscale, []

    def interrupted(run, point):
        calls.append(point)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return unscale(run, point)

    monkeypatch.setattr(run_module.Run, "unscale", interrupted)
    solution = socp.solve(chain(400), max_iter=2)
    assert solution.status is Status.INTERRUPTED and np.isfinite(solution.x).all() and len(calls) >= 2
    assert np.isfinite(solution.gap) and len(solution.trace) == solution.iterations + 1
