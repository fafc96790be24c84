"""Answers in the common form: set-up and solve are timed once each, and fields are copied from the solution."""

import time
from dataclasses import replace

import numpy as np
import pytest

import qp
import socp
from bench.answers import answer

PROGRAMS = {
    "qp": qp.QuadraticProgram(np.eye(1), [-3.0], [[1.0]], None, 2.0, 0.0, None),
    "socp": socp.ConeProgram([2.0], [[-1.0]], [-3.0], [socp.NonNeg(1)]),
}


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("setup, solve", [(2.0, 5.0), (5.0, 2.0), (0.0, 3.0), (3.0, 0.0)])
def test_the_seconds_are_those_of_set_up_and_solve_once_each(kind, setup, solve, monkeypatch):
    program, now = PROGRAMS[kind], [100.0]
    solution = (qp if kind == "qp" else socp).solve(program)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def fake(program, **settings):
        assert settings == {"tol": 1e-6}
        now[0] += setup + solve
        return replace(solution, setup_time=setup, solve_time=solve)

    monkeypatch.setattr(qp if kind == "qp" else socp, "solve", fake)
    found = answer.solve(program, tol=1e-6)
    assert (found.setup_seconds, found.solve_seconds, found.seconds) == (setup, solve, setup + solve)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_seconds_of_a_solver_are_no_more_than_the_clock_tells(kind):
    started = time.perf_counter()
    found = answer.solve(PROGRAMS[kind])
    passed = time.perf_counter() - started
    assert 0.0 < found.setup_seconds and 0.0 < found.solve_seconds and found.seconds <= passed


@pytest.mark.parametrize("kind", PROGRAMS)
def test_what_a_solution_tells_is_carried_over(kind):
    solution = (qp if kind == "qp" else socp).solve(PROGRAMS[kind])
    vectors = (np.array([1.0]), np.array([2.0]), np.array([3.0]))
    told = {"primal_residual": 1.0, "dual_residual": 2.0, "gap": 3.0, "objective": 4.0, "dual_objective": 5.0}
    names = ("x", "y", "z_bounds" if kind == "qp" else "z")
    slack = {} if kind == "qp" else {"s": np.array([4.0])}
    marked = replace(
        solution, **dict(zip(names, vectors, strict=True)), **slack, **told, message="a message", iterations=17
    )
    found = answer.from_solution(marked, 9.0)
    assert all(ours is theirs for ours, theirs in zip((found.x, found.y, found.z), vectors, strict=True))
    assert found.s is (None if kind == "qp" else slack["s"])
    assert (found.told, found.objectives, found.iterations) == ((1.0, 2.0, 3.0), (4.0, 5.0), 17)
    assert (found.message, found.status, found.solver) == ("a message", solution.status, "centralpath")
