"""Programs at which the first run fails, by rounding near the boundary of a cone, and what may follow a run."""

import numpy as np
import pytest

import socp
from socp import ConeProgram, LowRank, NonNeg, SecondOrder, Solver, Status
from socp.method.attempts import LARGE, SHORT_STEPS, Attempts
from socp.method.run import Run
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


def ways_after(run_iterations=1, **settings):
    solver = Solver(THIN["a cone that x fills"][0], **settings)
    run = Run(solver.program, solver._state, solver.settings, False, None)
    run.trace = np.zeros(run_iterations + 1)
    attempts = Attempts(solver._state, solver.settings)
    return solver, [
        (type(s.kkt).__name__, s.form is solver.form, t.step_fraction)
        for s, t, _ in attempts._ways(run, solver.program)
    ]


def test_the_ways_in_turn():
    _, ways = ways_after()
    assert ways == [
        ("DenseKKT", True, 0.99),
        ("SparseKKT", True, 0.99),
        ("SparseKKT", True, 0.99),
        ("DenseKKT", True, SHORT_STEPS),
        ("SparseKKT", True, SHORT_STEPS),
        ("SparseKKT", False, SHORT_STEPS),
        ("SparseKKT", False, 0.99),
    ]
    assert ways_after(kkt="ldl", equilibrate=False, step_fraction=0.5)[1] == 3 * [("SparseKKT", True, 0.5)]
    assert ways_after(0)[1] == 2 * [("SparseKKT", True, 0.99)]  # a matrix that cannot be factored at the start


def test_an_attempt_without_room_in_memory_loses_no_answer(monkeypatch):
    program = THIN["a cone that x fills"][0]

    def no_room(*arguments, **settings):
        raise MemoryError("no room")

    monkeypatch.setattr("socp.method.attempts.choose", no_room)
    monkeypatch.setattr(Run, "_is_solved", lambda run: False)  # so that every run fails
    solution = socp.solve(program, max_iter=1000)
    assert solution.x.shape == (1,) and solution.status is not Status.MAX_ITERATIONS


@pytest.mark.parametrize("stop", [1, 3])
def test_an_attempt_that_is_stopped_takes_no_better_answer_away(stop, monkeypatch):
    starts, seen = [], []

    def stopped(iterate):
        starts.append(iterate.iteration == 0)
        seen.append(max(iterate.primal_residual, iterate.dual_residual, iterate.gap))
        return sum(starts) == 1 + stop  # at once in that attempt

    # so that every run that is not stopped ends as inaccurate
    monkeypatch.setattr(Run, "_judge", lambda run, answer: (run.test.residuals(*answer), ""))
    monkeypatch.setattr(Run, "_is_excused", lambda run, answer, found: False)
    solution = socp.solve(THIN["a cone that x fills"][0], callback=stopped)
    assert sum(starts) == 1 + stop
    assert solution.status is not Status.INTERRUPTED
    assert max(solution.primal_residual, solution.dual_residual, solution.gap) < 1e-3 * seen[-1]


def test_a_large_program_fails_once():
    n = LARGE
    program = ConeProgram(np.ones(n), -np.ones((1, n)), [-1.0], [NonNeg(1)])
    solver = Solver(program, kkt="ldl")
    run = Run(program, solver._state, solver.settings, False, None)
    run.trace = np.zeros(2)
    assert list(Attempts(solver._state, solver.settings)._ways(run, program)) == []


def test_the_time_limit_is_one_for_all_attempts():
    program = THIN["a cone that x fills"][0]
    solution = socp.solve(program, time_limit=1e-9)
    assert solution.status is Status.TIME_LIMIT


def test_precise_solves_end_with_the_attempts(monkeypatch):
    program = planted_optimum(np.random.default_rng(0))[0]
    solver = Solver(program)
    run = solver.run()
    state, settings = solver._state, solver.settings
    seen = []
    solve = Run.solve
    monkeypatch.setattr(Run, "solve", lambda run: (seen.append(run.state.kkt.precise), solve(run)))
    monkeypatch.setattr(Attempts, "_ways", lambda attempts, run, program: iter([(state, settings, True)]))
    Attempts(state, settings).improve(run, program, None)  # that way decides the program
    assert seen == [True] and not state.kkt.precise
