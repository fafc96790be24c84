"""The interior-point method, set up once for a program that is solved, changed and solved again."""

from __future__ import annotations

import abc
import copy
import dataclasses
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from .compiled.memory import keep_freed_memory
from .compiled.threads import blas_threads
from .derivatives.cones import linearize
from .form.standard import StackedProgram, StandardForm, sizes_of
from .kernel_groups import ready_for_large
from .kkt.backends import build
from .kkt.base import KKT
from .linalg.cholesky import LOOPS
from .linalg.csc import same_storage
from .method import workspace
from .method.fallbacks import FAILED, Fallbacks
from .method.loop import State
from .method.newton import Newton, Point
from .method.run import INTERRUPTED, NO_RECORDS, OPTIMAL, Iterate, Run, limit_reached
from .plan.choice import decide
from .plan.habit import Habit
from .plan.plan import Plan
from .problem import printing
from .problem.checks import ProgramError
from .problem.hessian import GLANCE
from .problem.program import ConeProgram
from .problem.settings import Settings
from .problem.solution import TIMINGS, Solution, answer_at
from .problem.starts import Start, WarmStart, checked_start
from .problem.status import Status
from .problem.zeros import NO_ZEROS, StoredZeros
from .verify.stopping import ConeTest, residuals

SHOWN = ", from a feasible point: it is unbounded below"
NO_TIMINGS = dict.fromkeys(TIMINGS, 0.0)

Kind = TypeVar("Kind", bound="SetUpOnce")


class OutOfTime(Exception):
    """A set-up has reached the time limit; the message names the part that is missing."""


class SetUpOnce(abc.ABC):
    """Base class of the solvers of all kinds of programs: a program, its checked settings, and a timed set-up."""

    program: Any
    settings: Settings
    setup_time: float
    _until = np.inf  # time on the clock at which the set-up ends without a result
    _late = ""  # where the set-up has ended so, or ""
    _is_stale = True  # True while parts change; after an interruption the next use sets up again
    _zeros = NO_ZEROS  # places that the set-up leaves out
    _are_filled = False  # True once a program has had entries in such places: later set-ups keep all places
    at_work: threading.RLock  # held by the thread that uses the solver, which has memory for one run only

    @classmethod
    def of_checked(
        cls: type[Kind], program: Any, settings: Settings, at_work: Any = None, until: float | None = None
    ) -> Kind:
        """Return a solver with checked settings; a solver inside another one is given its lock and its end of time."""
        solver = object.__new__(cls)
        solver._start(program, settings, at_work, until)
        return solver

    def _start(self, program: Any, settings: Settings, at_work: Any = None, until: float | None = None) -> None:
        keep_freed_memory()
        self.settings, self.at_work = settings, at_work or threading.RLock()
        self._give_time(until)
        self._set_up_for(program)

    def _give_time(self, until: float | None = None) -> None:
        """Set the end of a set-up that begins now, by default by the time limit."""
        limit = self.settings.time_limit
        self._until = (np.inf if limit is None else time.perf_counter() + limit) if until is None else until

    def _set_up_for(self, program: Any) -> None:
        """Set up for a program; if the program is refused, the solver stays unchanged."""
        self._go_over(program, self._set_up)

    def _go_over(self, program: Any, change: Callable[[Any], None]) -> None:
        """Call `change(program)` and measure the time; if the program is refused, the solver stays unchanged."""
        started, was_stale = time.perf_counter(), self._is_stale
        self._is_stale, self._late = True, ""
        try:
            change(program)
        except ProgramError:
            self._is_stale = was_stale
            raise
        except OutOfTime as late:
            self._late, self.program = str(late), program
            self.setup_time = time.perf_counter() - started
            return
        self.setup_time = time.perf_counter() - started
        self.program, self._is_stale = program, False

    def _zeros_of(self, program: Any) -> StoredZeros:
        """Return the stored zeros that a set-up for `program` leaves out."""
        return NO_ZEROS if self._are_filled else StoredZeros(program)

    def _has_time_for(self, part: str) -> None:
        """Raise OutOfTime, and name the next part of the set-up, if the time limit is reached."""
        if time.perf_counter() >= self._until:
            raise OutOfTime(part)

    def _end_of_solve(self) -> float:
        """Return the time on the clock at which a solve that begins now ends by its limit, which counts the set-up."""
        limit = self.settings.time_limit
        return np.inf if limit is None else time.perf_counter() + limit - self.setup_time

    def _out_of_time(self) -> str:
        """Return the message of a solve whose set-up has reached the time limit."""
        return f"{limit_reached(self.settings)} in the set-up, before {self._late}; all variables are zero"

    @abc.abstractmethod
    def _set_up(self, program: Any) -> None:
        """Do the work that a program needs once; change nothing in the solver before the program is accepted."""

    def _make_ready(self) -> None:
        """Set up again for the solver's program if a change or a run was interrupted."""
        if self._is_stale and not self._late:
            self._give_time()
            self._set_up_for(self.program)

    def __repr__(self) -> str:
        given = (f", {name}={value!r}" for name, value in self.settings.changed.items())
        return f"{type(self).__name__}({self.program!r}{''.join(given)})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the program and the settings: copies and pickles are set up again, as set-up makes views of arrays."""
        return {"program": self.program, "settings": self.settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._start(state["program"], state["settings"])


class Engine(SetUpOnce):
    """Solver of a cone program; equilibration, ordering and symbolic analysis are done once, in the set-up.

    Attributes
    ----------
    program : ConeProgram
    timings : dict
        Seconds of the last set-up, by part.
    first : ConeProgram or None
        Program of the set-up if the backend was chosen for solving it once; None if the choice is final.
    """

    program: ConeProgram
    timings: dict[str, float]
    _habit: Habit
    _is_shared = False  # True once somebody else may hold parts of the workspace: it is not released

    def _set_up(self, program: ConeProgram) -> None:
        settings = self.settings
        started = time.perf_counter()
        zeros = NO_ZEROS if isinstance(program, StackedProgram) else self._zeros_of(program)
        worked = zeros.left_out(program)
        sizes = sizes_of(worked)
        order = sizes[0] + sizes[1]
        if order > GLANCE:
            ready_for_large(sizes[4] > 0)
        state = None if callable(settings.kkt) else workspace.acquire(worked, sizes, settings)
        if state is None:
            form = StandardForm(worked, settings.equilibrate, sizes)
        else:
            form = state.form
            form.take(worked, settings.equilibrate)
        timings = {**NO_TIMINGS, "equilibration": time.perf_counter() - started}
        with self._blas(order):
            self._has_time_for("the test of convexity")
            form.check_convexity(worked, settings.check_convexity)
            self._has_time_for("the ordering and the first factorization")
            if state is None or not state.kkt.try_refresh():
                state = State(form, *build(form, decide(form, settings)))
                timings["ordering"], timings["symbolic"] = state.kkt.analysis_seconds()
                form.is_pooled = False  # `workspace.release` decides whether the new state is pooled.
        # The program is accepted: from here on the solver changes.
        self.form, self.timings, self._state, self._zeros, self._habit = form, timings, state, zeros, Habit()
        self._fallbacks: Fallbacks | None = None  # created when a run fails
        # The choice of dense Cholesky counts the cost of a sparse analysis, which more than one solve would share.
        self.first = program if state.plan.is_free and state.plan.backend == "dense" else None
        self._ended_well = False  # True if `_state.point` is the optimal point of the last run
        self._has_last = False  # True if `_state.last` is an optimal point

    def _blas(self, order: int) -> Any:
        """Return the context of a run: BLAS with the threads of the settings if its matrices are large enough for them.

        For smaller matrices it is the solver's own lock, which the caller may hold already.
        """
        return self.at_work if order <= LOOPS else blas_threads(self.settings.threads)

    def release(self) -> None:
        """Release the workspace to the next program; a later use of the solver sets it up again."""
        if self._is_stale or self._is_shared or self.settings.has_functions:  # A callback may keep an iterate.
            return
        self._is_stale = True
        workspace.release(self._state, self.settings)

    def __del__(self) -> None:
        """Release the workspace to the next program of this thread."""
        if not sys.is_finalizing():
            self.release()

    @property
    def newton(self) -> Newton:
        """Linearized embedding of the last iterate."""
        self._is_shared = True
        newton: Newton = self._state.newton
        return newton

    @property
    def plan(self) -> Plan:
        """Plan by which the program is solved; it prints in words."""
        return self._state.plan

    @property
    def kkt(self) -> KKT:
        """Solver of the KKT systems."""
        self._is_shared = True
        return self._state.kkt

    def replace_vectors(self, program: ConeProgram) -> None:
        """Replace the vectors of the program by checked ones, with infinite entries in unchanged places.

        No other thread may use the solver meanwhile.
        """
        if self._is_stale:
            self._give_time()
            return self._set_up_for(program)
        self._go_over(program, self.form.refresh_vectors)
        self.timings = {**NO_TIMINGS, "equilibration": self.setup_time}
        return None

    def equilibrate_for(self, program: ConeProgram) -> None:
        """Replace the vectors as `replace_vectors`, and equilibrate as a new solver would for the new program."""
        self._give_time()
        self._go_over(program, self._set_up if self._is_stale else self._rescale)

    def _rescale(self, program: ConeProgram) -> None:
        """Replace the vectors of the program and equilibrate for the new program."""
        started = time.perf_counter()
        with self._blas(self.form.n + self.form.p):
            if self.form.rescale(self._zeros.left_out(program), self.settings.equilibrate):
                if self.plan.backend == "low rank" and not self.kkt.still_fits():  # A set-up finds the rank of P.
                    return self._set_up(program)
                self.kkt.refresh()
                self._fallbacks = None
        self._ended_well = self._has_last = False
        self.timings = {**NO_TIMINGS, "equilibration": time.perf_counter() - started}
        return None

    def replace(self, program: ConeProgram) -> None:
        """Replace the program; results of the set-up are kept if the cones and the places of entries are unchanged.

        If the program is refused, the solver stays unchanged.
        """
        with self.at_work:
            self._give_time()
            same = not self._is_stale and _same_pattern(self.program, program)
            if same and self._zeros.left_out(program) is None:
                self._are_filled, same = True, False
            self._go_over(program, self._refresh if same else self._set_up)

    def _refresh(self, program: ConeProgram) -> None:
        """Replace the program by one of equal pattern; if it is refused, restore the form of the old program."""
        try:
            with self._blas(self.form.n + self.form.p):
                self._take_values(program)
        except ProgramError:
            self.form.refresh(self._zeros.left_out(self.program))
            raise

    def _take_values(self, program: ConeProgram) -> None:
        """Load the values of a program of equal pattern, with a new set-up if needed; refuse a nonconvex P."""
        started = time.perf_counter()
        self.form.refresh(self._zeros.left_out(program))
        timings = {**NO_TIMINGS, "equilibration": time.perf_counter() - started}
        if program.P is not self.program.P:
            self.form.check_convexity(program, self.settings.check_convexity)
        if self.kkt.still_fits():
            self.kkt.refresh()
            self.timings, self._fallbacks = timings, None
            return
        form, last = self.form, self._last_optimal()
        self._set_up(program)
        if last is not None:
            self._keep(last, form)

    def _plan_for_many(self) -> None:
        """Choose the backend by the cost of an iteration, once other programs follow the program of the set-up."""
        started, old, form = time.perf_counter(), self._state, self.form
        plan = decide(form, self.settings, is_kept=True)
        if plan.backend != old.plan.backend:
            with self._blas(self.form.n + self.form.p):
                state = State(form, *build(form, plan))
            state.last.copy_from(old.last)
            form.is_pooled, self._fallbacks = False, None  # The workspace serves another kind of programs now.
            self._state = state
            for name, seconds in zip(("ordering", "symbolic"), self.kkt.analysis_seconds()):
                self.timings[name] += seconds
        self.first = None
        self.setup_time += time.perf_counter() - started

    def _last_optimal(self) -> Point | None:
        """Return the last optimal point, stored where no run overwrites it, or None."""
        if self._ended_well:
            self._state.last.copy_from(self._state.point)
            self._ended_well, self._has_last = False, True
        return self._state.last if self._has_last else None

    def _keep(self, last: Point, form: StandardForm) -> None:
        """Store a point, in the units of `form`, as the last optimal one."""
        own = self._state.last
        own.copy_from(last)
        if form is not self.form:
            change_units(own, form, self.form)
        self._ended_well, self._has_last = False, True

    def solve(self, warm_start: WarmStart = False) -> Solution:
        """Solve the program; with `warm_start` begin at the last answer, or another point, if that is near enough.

        Parameters
        ----------
        warm_start : bool, Solution, tuple (x, y, z), or vector x
            True for the last optimal answer.  In a tuple, None stands for unknown multipliers.  A point whose residuals
            are of the size of the data is not used: the run starts as without it.

        Returns
        -------
        Solution
        """
        start = warm_start
        if not isinstance(start, bool):
            start = checked_start(start, Solution, {"x": self.program.n, "y": self.program.p, "z": self.program.m})
        with self.at_work:
            self._make_ready()
            solution = self._late_solution() if self._late else self.run(start).solution()
            if self.settings.verbose:
                printing.footer(solution)
            return solution

    def _late_solution(self) -> Solution:
        """Return the point zero for a program whose set-up has reached the time limit."""
        program, started = self.program, time.perf_counter()
        x, y, z, s = (np.zeros(size) for size in (program.n, program.p, program.m, program.m))
        _, _, figures = answer_at(program, Status.TIME_LIMIT, x, (y, z), residuals(program, x, y, z, s))
        solution = Solution(
            Status.TIME_LIMIT, x, y, z, s, *figures, iterations=0, setup_time=0.0, solve_time=0.0,
            message=self._out_of_time(), trace=NO_RECORDS, timings=NO_TIMINGS.copy(),
        )  # fmt: skip
        solution.take_seconds(self.setup_time, time.perf_counter() - started)
        solution._settings = self.settings.without_functions
        solution._linearize = functools.partial(linearize, program)
        return solution

    def run(self, start: bool | Start = False, test: ConeTest | None = None, until: float | None = None) -> Run:
        """Make a run, followed by others if it fails (see `method.fallbacks`), and return the best one.

        `start` is True to begin at the last optimal point, or the point to begin at.  `until` is the time on the clock
        at which the runs end, by default the limit of the settings.
        `test` replaces the program's stopping and certificate tests.  No other thread may use the solver meanwhile.
        """
        self._make_ready()
        if self._ended_well:
            self._last_optimal()
        if self.first is not None and self.first is not self.program:
            self._plan_for_many()
        until = self._end_of_solve() if until is None else until
        self._is_stale = True  # True until the run ends, as an interruption may leave its memory inconsistent
        start = start if start is not True else self._has_last and self._habit.is_due()
        run = Run(self.program, self._state, self.settings, start, test, until)
        with self._blas(self.form.n + self.form.p):
            run.solve()
            if run.status is OPTIMAL and not isinstance(start, tuple):
                self._habit.count(run.iterations, start and self._state.warm)
            if run.status in FAILED or run.has_large_multipliers:
                self._fallbacks = self._fallbacks or Fallbacks(self._state, self.settings)
                run = self._fallbacks.improve(run, self.program, test, until)
        if run.status is Status.DUAL_INFEASIBLE:
            self._look_for_a_point(run, until)
        if run.status is OPTIMAL:
            if run.state is self._state and run.kept is None:
                self._ended_well = True
            else:
                self._keep(run.kept or run.state.point, run.form)
        self._is_stale = run.message == INTERRUPTED
        _, factorization, solves = run.effort
        run.close(self.setup_time, {**self.timings, "factorization": factorization, "solves": solves})
        return run

    def _look_for_a_point(self, run: Run, until: float) -> None:
        """Complete a run that ended with a direction in which the objective falls: is there a feasible point?

        The direction shows that the objective is unbounded below only if there is one.  The program without its
        objective has a feasible point or a certificate that none exists, which then replaces the direction.
        """
        program, settings = self.program, self.settings
        found = run.test.residuals(*run.unscale(run.state.point))
        if max(found.rows, found.cone) <= settings.tol:
            run.message += SHOWN
            return
        seconds, iterations = until - time.perf_counter(), settings.max_iter - settings.spent(run.iterations)
        if seconds <= 0.0 or iterations <= 0:
            return
        left = None if seconds == np.inf else seconds
        settings = dataclasses.replace(
            settings.without_functions, verbose=False, time_limit=left, max_iter=iterations
        )  # The caller's KKT solver has the P of this program.
        feasibility = copy.copy(program)
        feasibility.c, feasibility.P = np.zeros(program.n), None
        engine = Engine.of_checked(feasibility, settings)
        if engine._late:
            return
        phase_one = engine.run()
        (iterations, *parts), more = run.effort, phase_one.effort
        run.effort = iterations + more[0], parts[0] + more[1], parts[1] + more[2]
        if phase_one.status is OPTIMAL:
            run.message += SHOWN
        elif phase_one.status is Status.PRIMAL_INFEASIBLE and phase_one.answer is not None:
            _, y, z, _ = phase_one.answer
            certificate = run.test.primal_certificate(y, z)
            if certificate[1] <= run.state.tol_infeasible:
                run.certificate = certificate
                run.status, run.answer, run.message = phase_one.status, phase_one.answer, phase_one.message

    def own_iterates(self) -> Iterator[Iterate]:
        """Return the iterates of a run in this solver's memory, which must not be used until the run has ended."""
        if self._late:
            return iter(())
        self._is_shared = True
        return Run(self.program, self._state, self.settings, False, None, self._end_of_solve()).iterates()


def change_units(point: Point, old: StandardForm, new: StandardForm) -> None:
    """Convert a point in place from the units of one equilibrated form to another one of equal pattern.

    In each form the caller's x, s and v = (y, z) are D x, E^-1 s and E v / f, f the scale of the cost.
    """
    n, p = new.n, new.p
    point.u[:n] *= old.D / new.D
    point.u[n:] *= old.E / new.E * (new.cost_scale / old.cost_scale)
    point.s *= new.E[p:] / old.E[p:]


def _same_pattern(old: ConeProgram, new: ConeProgram) -> bool:
    """Return True if two programs have equal cones, always-true rows, and places of entries in P, A and G."""
    pairs: list[tuple[Any, Any]] = [(old.P, new.P)]
    if isinstance(new, StackedProgram):
        if not new.has_pattern_of(old):
            return False
    elif old.cones != new.cones or not np.array_equal(np.isfinite(old.h), np.isfinite(new.h)):
        return False
    else:
        pairs += [(old.A, new.A), (old.G, new.G)]
    return all(same_storage(one, other) for one, other in pairs)
