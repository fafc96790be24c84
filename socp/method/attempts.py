"""What is tried after a run has failed: other ways of solving the same program, one after another.

`Attempts._ways` has them in turn, each with what it is good for; the best answer of all is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..form.standard import LIMIT, StandardForm
from ..kkt.choice import MAX_DENSE, choose
from ..kkt.dense import DenseKKT
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..problem.status import Status
from ..problem.stopping import Test
from .loop import State
from .run import Run

logger = logging.getLogger("socp")

FAILED = (Status.INACCURATE, Status.NUMERICAL_ERROR)
DECIDED = (Status.OPTIMAL, Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)
SHORT_STEPS = 0.9  # share of the way to the boundary
REGULARIZATION = 1e-6  # that stays in the KKT system
WIDE = 1e8  # limit of the scales where the first one was met
LARGE = 5_000  # variables and rows from which a second run with shorter steps takes too long to be a surprise


class Attempts:
    """The runs after a failed one.

    Parameters
    ----------
    state : State
        The memory of the first run.
    settings : Settings
    """

    def __init__(self, state: State, settings: Settings) -> None:
        self.state, self.settings = state, settings
        self._robust: State | None = None

    def improve(self, run: Run, program: ConeProgram, test: Test | None) -> Run:
        """The first run that decides the program, or the best, `run` being one that has failed.

        One that is stopped ends the attempts, but takes no better answer away.  The effort told is that of all.
        """
        efforts = [run.effort]
        try:
            for state, settings, precise in self._ways(run, program):
                state.kkt.regularize(settings.regularization, settings.refinement_steps)
                state.kkt.precise = precise
                again = Run(program, state, settings, False, test)
                again.started = run.started
                again.solve()
                efforts.append(again.effort)
                if again.status in DECIDED or _worst(again) < _worst(run):
                    run = again
                if again.status not in FAILED:
                    break
        except MemoryError as error:  # of another KKT solver: the answer that there is is not lost
            logger.info("no further attempt: %s", error)
        finally:
            self.state.kkt.regularize(self.settings.regularization, self.settings.refinement_steps)
            self.state.kkt.precise = False
        iterations, factorization, solves = zip(*efforts)
        run.effort = sum(iterations), sum(factorization), sum(solves)
        return run

    def _ways(self, run: Run, program: ConeProgram) -> Iterator[tuple[State, Settings, bool]]:
        """What to run, and whether with precise solves.

        Of a hundred thousand random programs (`python -m bench fuzz`) the first run failed on one in a hundred.  About
        half of these were solved by what follows, by each way some that no other solved.
        """
        form, settings, robust = self.state.form, self.settings, self.state
        # the KKT system with a regularization that stays, as in a proximal method: one step of refinement takes out
        # most of what it does to a solution, and little in a direction that the exact system does not see
        proximal = replace(settings, regularization=REGULARIZATION, refinement_steps=min(settings.refinement_steps, 1))
        if form.p > 0 and run.iterations > 0:
            # equalities that depend on each other, and miss each other by less than tol, have y run away without end
            yield self.state, proximal, False
        if form.cones > 0 and run.iterations > 0:
            # near the boundary of a cone the residual of an inexact solve can spoil the direction
            yield self.state, settings, True
        breaks_down = settings.kkt == "auto" and isinstance(self.state.kkt, DenseKKT) and form.n <= MAX_DENSE
        if breaks_down:
            robust = self.robust()
            # where dense Cholesky breaks down, sparse LDL' goes on with pivots of either sign
            yield robust, settings, True
            # the same where data are scaled so badly that no solve is precise
            yield robust, settings, False
        if run.iterations == 0 or form.n + form.p + form.m > LARGE:
            return
        careful = replace(settings, step_fraction=min(settings.step_fraction, SHORT_STEPS))
        # further from the boundary s0 - |s1| has more digits, and so has the scaling
        yield self.state, careful, False
        # all of that together
        yield robust, careful, True
        if form.p == 0:
            # rows of the cones have z run away
            yield self.state, proximal, False
        if settings.equilibrate and is_cut_off(form):
            wide = StandardForm(program, limit=WIDE)
            # numbers near 1e12 need scales beyond the limit that is good for others
            yield State(wide, choose(wide, settings, robust=breaks_down)), settings, False
        if settings.equilibrate:
            form = StandardForm(program, False)
            plain = State(form, choose(form, settings, robust=breaks_down))
            # equilibration can make of a thin set one that looks empty or large
            yield plain, careful, False
            # the same in long steps: near infeasibility now these end well, now the short ones
            yield plain, settings, False
            if form.p > 0:
                # equalities beside each other in the caller's units
                yield plain, proximal, False

    def robust(self) -> State:
        """The memory of runs with sparse LDL' in place of dense Cholesky."""
        if self._robust is None:
            self._robust = State(self.state.form, choose(self.state.form, self.settings, robust=True))
        return self._robust


def is_cut_off(form: StandardForm) -> bool:
    """Whether a scale of rows or columns has met its limit."""
    scales = np.concatenate([form.D, form.E])
    return bool(((scales <= 1.0 / LIMIT) | (scales >= LIMIT)).any())


def _worst(run: Run) -> float:
    """The largest relative residual of the answer with which a run has ended."""
    assert run.found is not None
    return run.found.worst
