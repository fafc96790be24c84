"""Further runs after a failed one: the program is solved by the next plans, and the best answer is kept.

A run also counts as failed if large multipliers let rounding spoil its answer, as another plan may find
smaller multipliers.
"""

from __future__ import annotations

import logging

from ..compiled.clock import clock
from ..form.standard import StandardForm
from ..kkt.backends import build
from ..plan.fallbacks import fallbacks
from ..plan.plan import Plan
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..problem.status import Status
from ..verify.stopping import ConeTest
from .loop import State
from .run import Run

logger = logging.getLogger("socp")

FAILED = (Status.INACCURATE, Status.NUMERICAL_ERROR)
DECIDED = (Status.OPTIMAL, Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)


class Fallbacks:
    """Runs that follow a failed run.

    Parameters
    ----------
    state : State
        State of the first run, with its plan.
    settings : Settings
    """

    def __init__(self, state: State, settings: Settings) -> None:
        self.state, self.settings, self.plan = state, settings, state.plan
        self._robust: State | None = None  # state with the first form and another backend
        self._other: State | None = None  # state with another form

    def improve(self, run: Run, program: ConeProgram, test: ConeTest | None, until: float) -> Run:
        """Return the first further run that settles the program, or else the best of all runs, `run` included.

        A run that is stopped ends the attempts; a better answer is kept.  The effort is summed over all runs.
        `until` is the time on the clock at which they end; a `max_iter` that is not the default limits them together.
        """
        efforts, self._other = [run.effort], None
        try:
            for plan in fallbacks(self.plan, self.state.form, run.iterations):
                spent = self.settings.spent(sum(iterations for iterations, *_ in efforts))
                if spent >= self.settings.max_iter or clock() >= until:
                    break
                state = self._state_for(plan, program)
                state.follow_plan(plan)
                again = Run(program, state, self.settings, False, test, until, spent)
                again.started = run.started
                again.solve()
                efforts.append(again.effort)
                if is_better(again, run):
                    run = again
                if is_settled(run) or again.status not in (*FAILED, *DECIDED):
                    break
        except MemoryError as error:  # Another KKT solver does not fit in memory; `run` is kept.
            logger.info("no further attempt: %s", error)
        finally:
            self.state.follow_plan(self.plan)
        iterations, factorization, solves = zip(*efforts)
        run.effort = sum(iterations), sum(factorization), sum(solves)
        return run

    def _state_for(self, plan: Plan, program: ConeProgram) -> State:
        """Return the state for a plan: the first run's or a new one, of the first form if it equilibrates alike."""
        if plan.is_for_form_of(self.plan):
            if plan.backend == self.plan.backend:
                return self.state
            if self._robust is None:
                self._robust = State(self.state.form, *build(self.state.form, plan))
            return self._robust
        if self._other is None or not plan.is_for_form_of(self._other.plan):
            form = StandardForm(program, plan.equilibrate, limit=plan.limit)
            self._other = State(form, *build(form, plan))
        return self._other


def is_settled(run: Run) -> bool:
    """Return True if the program is decided, and not by multipliers so large that rounding spoils the answer."""
    return run.status in DECIDED and not run.has_large_multipliers


def is_better(run: Run, other: Run) -> bool:
    """Return True if `run` is better than `other`, which is not settled."""
    if other.status is Status.OPTIMAL:
        return run.status is Status.OPTIMAL and (is_settled(run) or _worst(run) < _worst(other))
    return run.status in DECIDED or _worst(run) < _worst(other)


def _worst(run: Run) -> float:
    """Return the largest relative residual of the answer with which a run has ended."""
    assert run.found is not None
    return run.found.worst
