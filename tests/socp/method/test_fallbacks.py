"""Programs at which the first run fails, by rounding near the boundary of a cone, and the fallbacks after it."""

import numpy as np
import pytest

import socp
from socp import ConeProgram, LowRank, NonNeg, SecondOrder, Solver, Status
from socp.method.answer import FAILS, Judged
from socp.method.fallbacks import Fallbacks
from socp.method.run import Run
from socp.plan.fallbacks import fallbacks
from tests.support.programs import planted_optimum

# The optimal sets are thin: s and z are both on the boundary of their cones there, or z is not bounded.
THIN = {
    "a cone that x fills": (ConeProgram([0.0], [[3.0], [3.0]], [0.0, 0.0], [SecondOrder(2)]), 0.0),
    "a cone of two beside equalities without entries": (
        ConeProgram(
            [0.0, 4.0], [[2.0, -3.0], [-2.0, 0.0]], [3.0, 0.0], [SecondOrder(2)], A=np.zeros((2, 2)), b=[0.0, 0.0],
            P=LowRank(np.array([[0.0], [2.0]])),
        ),
        -2.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", THIN)
@pytest.mark.parametrize("kkt", ["auto", "dense", "ldl"])
def test_thin_optimal_sets(name, kkt):
    program, objective = THIN[name]
    solution = socp.solve(program, kkt=kkt)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(objective, abs=1e-7)


def test_each_plan_has_the_memory_of_its_form_and_backend():
    solver = Solver(THIN["a cone that x fills"][0])
    runs = Fallbacks(solver._state, solver.settings)
    states = [runs._state_for(plan, solver.program) for plan in fallbacks(solver.plan, solver.form, 1)]
    assert [type(state.kkt).__name__ for state in states[:3]] == ["DenseKKT", "SparseKKT", "SparseKKT"]
    assert states[0] is solver._state and states[1] is states[2] and states[6] is states[7]
    assert [state.form is solver.form for state in states] == 6 * [True] + 2 * [False]


def inconsistent(seed):
    """Return a program whose equalities contradict each other by 1e-9: infeasible, but feasible within tolerance."""
    rng = np.random.default_rng(seed)
    n, p = 20, 6
    A, x, G = rng.normal(size=(p, n)), rng.normal(size=n), rng.normal(size=(30, n))
    sums = rng.integers(-2, 3, (4, p)).astype(float)
    A, b = np.vstack([A, sums @ A]), np.append(A @ x, sums @ A @ x + 1e-9 * rng.uniform(-1.0, 1.0, 4))
    z = np.maximum(rng.normal(size=30), 0.0)
    h = G @ x + np.where(z > 0.0, 0.0, rng.uniform(size=30))
    return ConeProgram(-(G.T @ z) - A.T @ rng.normal(size=10), G, h, [NonNeg(30)], A, b)


@pytest.mark.parametrize("kkt", ["auto", "ldl"])
def test_equalities_that_miss_each_other_by_less_than_the_tolerance(kkt):
    for seed in range(20):
        program = inconsistent(seed)
        solution = socp.solve(program, kkt=kkt)
        assert solution.status is Status.OPTIMAL


def test_after_the_attempts_a_solver_is_as_before():
    program = inconsistent(2)
    solver = Solver(program)
    deltas, steps = solver.kkt.policy.deltas.copy(), solver.kkt.policy.refinement_steps
    first, again = solver.solve(), solver.solve()
    assert solver._fallbacks is not None
    assert np.array_equal(solver.kkt.policy.deltas, deltas) and solver.kkt.policy.refinement_steps == steps
    assert np.array_equal(first.x, again.x) and np.array_equal(first.y, again.y)


def test_an_attempt_without_room_in_memory_loses_no_answer(monkeypatch):
    program = THIN["a cone that x fills"][0]

    def no_room(*arguments, **settings):
        raise MemoryError("no room")

    monkeypatch.setattr("socp.method.fallbacks.build", no_room)
    monkeypatch.setattr(Run, "_is_solved", lambda run: False)  # so that every run fails
    solution = socp.solve(program, max_iter=1000)
    assert solution.x.shape == (1,) and solution.status is not Status.MAX_ITERATIONS


def failing(run, answer):
    """Return the verdict that an answer fails."""
    return Judged(answer, run.test.residuals(*answer), FAILS)


@pytest.mark.parametrize("stop", [1, 3])
def test_an_attempt_that_is_stopped_takes_no_better_answer_away(stop, monkeypatch):
    starts, seen = [], []

    def stopped(iterate):
        starts.append(iterate.iteration == 0)
        seen.append(max(iterate.primal_residual, iterate.dual_residual, iterate.gap))
        return sum(starts) == 1 + stop  # immediately in the attempt `stop`

    # every run that is not stopped ends as inaccurate
    monkeypatch.setattr(Run, "_judge", failing)
    solution = socp.solve(THIN["a cone that x fills"][0], callback=stopped, max_iter=1000)
    assert sum(starts) == 1 + stop
    assert solution.status is not Status.INTERRUPTED
    assert max(solution.primal_residual, solution.dual_residual, solution.gap) < 1e-3 * seen[-1]


def test_iterations_times_and_the_time_limit_are_those_of_all_attempts(monkeypatch):
    efforts, begun, solve = [], set(), Run.solve

    def counted(run):
        solve(run)
        begun.add(run.started)
        efforts.append((run.trace.size - 1, run.state.kkt.factor_seconds, run.state.kkt.solve_seconds))

    monkeypatch.setattr(Run, "solve", counted)
    monkeypatch.setattr(Run, "_judge", failing)  # every run fails
    solution = socp.solve(THIN["a cone that x fills"][0], max_iter=1000)
    iterations, factorization, solves = map(sum, zip(*efforts))
    assert len(efforts) > 2 and len(begun) == 1 and solution.iterations == iterations > len(solution.trace) - 1
    assert solution.timings["factorization"] == pytest.approx(factorization)
    assert solution.timings["solves"] == pytest.approx(solves)


def test_precise_solves_end_with_the_attempts(monkeypatch):
    program = planted_optimum(np.random.default_rng(0))[0]
    solver = Solver(program)
    run, state = solver.run(), solver._state
    seen = []
    solve = Run.solve
    monkeypatch.setattr(Run, "solve", lambda run: (seen.append(run.state.kkt.policy.precise), solve(run)))
    # a plan that solves the program
    monkeypatch.setattr("socp.method.fallbacks.fallbacks", lambda *of: iter([solver.plan._replace(precise=True)]))
    Fallbacks(state, solver.settings).improve(run, program, None, np.inf)
    assert seen == [True] and not state.kkt.policy.precise


@pytest.mark.parametrize("most", [30, 110, 130, 199, 201])
def test_a_limit_of_iterations_that_is_given_is_that_of_all_attempts(most, monkeypatch):
    monkeypatch.setattr(Run, "_judge", failing)  # every run fails
    assert socp.solve(THIN["a cone that x fills"][0], max_iter=most).iterations <= most
    assert socp.solve(THIN["a cone that x fills"][0]).iterations > 201


def test_no_attempt_begins_after_the_time_limit(monkeypatch):
    begun, solve = [], Run.solve
    monkeypatch.setattr(Run, "solve", lambda run: (begun.append(run), solve(run)))
    monkeypatch.setattr(Run, "_judge", failing)  # every run fails
    monkeypatch.setattr("socp.method.fallbacks.clock", lambda: 1e300)
    socp.solve(THIN["a cone that x fills"][0], time_limit=1e3, max_iter=1000)
    assert len(begun) == 1
