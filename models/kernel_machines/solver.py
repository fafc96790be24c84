"""The solver of kernel programs: the working set where it applies, else `qp.Solver` with P in full."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import qp
from qp.plan.choice import allows_active_set
from qp.problem.starts import start_of
from socp.problem import printing
from socp.problem.checks import ArrayLike, Number
from socp.problem.settings import ALIASES, CHECKS, QuadraticSettings, Settings, document_settings
from socp.problem.starts import WarmStart

from .program import KernelProgram
from .working_set import WorkingSet

if TYPE_CHECKING:
    from typing_extensions import Unpack


@document_settings
class KernelSolver:
    """Solver of a `KernelProgram`, set up once and solved again after `update`.

    The working set reads only the rows of P whose variables move.  If it does not apply, or finds no answer, P is
    formed in full for `qp.Solver`.

    Parameters
    ----------
    program : KernelProgram
    tol, max_iter, ...
        The settings, each as in `socp.Settings`.

    Attributes
    ----------
    working_set : WorkingSet or None
        The method, or None if it does not apply.

    Examples
    --------
    >>> import numpy as np
    >>> from models import KernelMatrix, KernelProgram, KernelSolver
    >>> P = KernelMatrix(np.eye(2), "linear", signs=[1, -1])
    >>> solver = KernelSolver(KernelProgram(P, [-1.0, -1.0], A=[[1.0, -1.0]], l=0.0, u=0.0, lb=0.0, ub=9.0))
    >>> print(solver.solve().x)
    [1. 1.]
    >>> solver.update(ub=0.5)
    >>> print(solver.solve(warm_start=True).x)
    [0.5 0.5]
    """

    def __init__(self, program: KernelProgram, **settings: Unpack[QuadraticSettings]) -> None:
        self.settings = Settings.of_call(settings, "KernelSolver", (*CHECKS, *ALIASES))
        self.at_work = threading.RLock()
        self.working_set: WorkingSet | None = None
        self._last: np.ndarray | None = None  # last optimal x
        self._take(program)

    def _take(self, program: KernelProgram) -> None:
        """Set up for a program; rows of P that were computed for the last one are kept."""
        started, working_set, full = time.perf_counter(), None, None
        if suits(program, self.settings):
            working_set = WorkingSet(program, self.settings, self.working_set)
        else:
            full = self._in_full(program)
        self.program, self.working_set, self._full = program, working_set, full
        self.setup_time = time.perf_counter() - started

    def _in_full(self, program: KernelProgram, spent: float = 0.0) -> qp.Solver:
        """Return the solver of the program with P in full, with what is left of the time limit."""
        settings = self.settings
        if settings.time_limit is not None:
            settings = dataclasses.replace(settings, time_limit=max(settings.time_limit - spent, 0.0))
        return qp.Solver.of_checked(program.plain(), settings)

    def update(
        self, q: ArrayLike | None = None, l: ArrayLike | Number | None = None, u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None, ub: ArrayLike | Number | None = None,
    ) -> None:  # fmt: skip
        """Replace vectors of the program."""
        with self.at_work:
            program = self.program.with_data(q, l, u, lb, ub)
            assert isinstance(program, KernelProgram)
            self._take(program)

    def solve(self, warm_start: WarmStart = False) -> qp.Solution:
        """Solve the program; with `warm_start` begin at the last answer, or another point, as `qp.Solver.solve`."""
        start = start_of(warm_start, self.program)
        with self.at_work:
            solution, started = None, time.perf_counter()
            if self.working_set is not None:
                if self.settings.verbose:
                    self._show(self.working_set)
                last = start[0] if isinstance(start, tuple) else self._last if start else None
                solution = self.working_set.find(last)
            if solution is None:
                if self._full is None:
                    self._full = self._in_full(self.program, self.setup_time + time.perf_counter() - started)
                solution = self._full.solve(start)
            else:
                solution.take_seconds(self.setup_time, time.perf_counter() - started)
                solution._settings = self.settings.without_functions
                if self.settings.verbose:
                    printing.footer(solution)
            if solution.status == "optimal":  # for a warm start
                self._last = solution.x.copy()
            return solution

    def _show(self, working_set: WorkingSet) -> None:
        """Print the header of the working set."""
        program, count = self.program, working_set.rows.size
        entries = program.n**2, program.A.data.size
        printing.header(working_set.plan, self.settings.tol, program.n, count, 2 * program.n, (), entries)

    def __getstate__(self) -> dict[str, Any]:
        return {"program": self.program, "settings": self.settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.settings, self.at_work = state["settings"], threading.RLock()
        self.working_set, self._last = None, None
        self._take(state["program"])


def suits(program: KernelProgram, settings: Settings) -> bool:
    """Return True if the working set applies.

    All variables must have two bounds, each row with sides must be a multiple of the samples' signs, and the kernel
    must be known to be positive semidefinite unless `check_convexity` is False.
    """
    P = program.P
    if not allows_active_set(settings) or program.are_crossed or (settings.check_convexity and not P.is_semidefinite):
        return False
    are_bounded = np.isfinite(program.lb).all() and np.isfinite(program.ub).all()
    return bool(are_bounded and program.rows_along_signs() is not None)
