"""Interrupts at lines drawn at random, and what the trials see of a solver that does not stand them."""

import pytest

import models
from bench.fuzz import interrupts
from socp.compiled import threads
from socp.engine import SetUpOnce


@pytest.mark.parametrize("kind", interrupts.KINDS)
def test_what_was_interrupted_goes_on(kind, monkeypatch):
    monkeypatch.setattr(interrupts, "ESTIMATORS", (models.SVC, models.LogisticRegression))
    counts, wrong = interrupts.run(25, 0, [kind])
    assert counts[kind] >= 25 and wrong == []


def test_a_solver_that_goes_on_with_what_was_half_done_is_seen(monkeypatch):
    answers, solve = [], interrupts.qp.Solver.solve

    def beside(self, warm_start=False):
        solution = solve(self, warm_start)
        answers.append(solution.objective)
        solution.objective += len(answers)
        return solution

    monkeypatch.setattr(interrupts.qp.Solver, "solve", beside)
    _, wrong = interrupts.run(3, 0, ["quadratic updates"])
    assert wrong and "where a new solver has" in wrong[0]


@pytest.mark.parametrize("turned", [False, True])
def test_an_interrupt_that_is_swallowed_is_told_where_another_model_is_left(turned, monkeypatch):
    class Swallows(models.LogisticRegression):
        def fit(self, X, y):
            try:
                return super().fit(X, y)
            except KeyboardInterrupt:
                return super().fit(X, 1 - y if turned else y)

    monkeypatch.setattr(interrupts, "ESTIMATORS", (Swallows,))
    _, wrong = interrupts.run(5, 0, ["fits"])
    assert len(wrong) == 5 * turned and all("Swallows: the interrupt was swallowed" in line for line in wrong)


def test_an_exception_is_told(monkeypatch):
    def broken(self):
        raise IndexError("out of range")

    monkeypatch.setattr(SetUpOnce, "_make_ready", broken)
    _, wrong = interrupts.run(1, 0, ["cone updates"])
    assert wrong == ["cone updates 0: IndexError: out of range"]


def test_no_line_of_a_block_leaves_its_lock_locked():
    def action():
        with threads.blas_threads(1):
            pass

    action()  # finds the libraries
    at = 1
    while interrupts.Interrupted(action, at).raised:
        assert not threads._lock.locked()
        threads._open.clear()  # of what was interrupted while it was entered
        at += 1
    assert at > 8
