"""The contract between `Engine` and the methods for quadratic programs, which stand side by side in `methods`.

An engine offers its program to the methods in order.  Each returns an answer that passes the stopping test, or None:
then the next one is asked.  The last one, the interior-point method, answers every program.
"""

from __future__ import annotations

import abc
import time
from typing import Any

import numpy as np

from socp.engine import OutOfTime
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.settings import Settings
from socp.problem.starts import Start
from socp.problem.zeros import NO_ZEROS, StoredZeros

from .problem.program import QuadraticProgram
from .problem.solution import Solution
from .reduce.cone_form import ConeForm, reduced
from .reduce.presolve import Presolve, presolve
from .reduce.stopping import ProgramTest


class Offer:
    """A program that is offered to the methods, with the parts of its set-up that they share.

    Attributes
    ----------
    program, settings : QuadraticProgram, Settings
    at_work : lock
        Lock of the solver, which its parts hold, too.
    until : float
        Time on the clock at which set-ups and solves end.
    spent : float
        Seconds of set-ups that methods made during solves.
    presolved, form : Presolve, ConeForm
        The presolved program and its form as a cone program, computed at first use.
    has_lost_zeros : bool
        True once the program has had entries in places that presolve left out: later offers keep all places.
    """

    zeros = NO_ZEROS
    spent = 0.0
    is_reduced = False

    def __init__(
        self, program: QuadraticProgram, settings: Settings, at_work: Any = None, until: float = np.inf,
        has_lost_zeros: bool = False,
    ) -> None:  # fmt: skip
        self.program, self.settings, self.at_work, self.until = program, settings, at_work, until
        self.has_lost_zeros = has_lost_zeros

    @property
    def presolved(self) -> Presolve:
        return self._reduce()[0]

    @property
    def form(self) -> ConeForm:
        return self._reduce()[1]

    def _reduce(self) -> tuple[Presolve, ConeForm]:
        if not self.is_reduced:
            self.zeros = NO_ZEROS if self.has_lost_zeros else StoredZeros(self.program)
            self._reduced = reduced(self.zeros.left_out(self.program), self.settings)
            self.is_reduced = True
        return self._reduced

    def test(self) -> ProgramTest:
        """Return the stopping test of points of the presolved program and of the cone program."""
        return ProgramTest(self.program, self.presolved, self.form)

    def check_time(self, part: str) -> None:
        """Raise OutOfTime, and name the next part of the set-up, if the time limit is reached."""
        if time.perf_counter() >= self.until:
            raise OutOfTime(part)

    def replaced(self, program: QuadraticProgram, only_q: bool) -> Offer | None:
        """Return the offer of a program with matrices in the same storage; None if presolve must start anew.

        Presolve is skipped if only q is new and the old q has fixed no variable.
        """
        offer = Offer(program, self.settings, self.at_work, self.until, self.has_lost_zeros)
        if not self.is_reduced:
            return offer
        given = self.zeros.left_out(program)
        if given is None:
            self.has_lost_zeros = True
            return None
        presolved = self.presolved.with_objective(given) if only_q else None
        if presolved is None:
            presolved = presolve(given, self.settings)
            if not presolved.fits(self.presolved) or not self.form.fits(presolved.program):
                return None
        offer.zeros, offer._reduced, offer.is_reduced = self.zeros, (presolved, self.form), True
        return offer

    def show(self, plan: Plan, program: QuadraticProgram, form: ConeForm) -> None:
        """Print the header of an active-set method for `program`, if the settings say so."""
        if self.settings.verbose:
            entries = program.hessian.entries, program.A.data.size
            printing.header(plan, self.settings.tol, form.n, form.p, form.m, (), entries)


class Method(abc.ABC):
    """A way to solve quadratic programs, set up once for one program and its updates.

    Attributes
    ----------
    plan : Plan
        The method and the reason for it, in words.
    is_on_trial : bool
        True if the method has taken over from another one in a loop: its first failure is its last.
    begins_cold : bool
        True if a method on trial is also for loops without warm starts: without a start it begins at its own.
    """

    plan: Plan
    is_on_trial = False
    begins_cold = False

    @classmethod
    @abc.abstractmethod
    def take(cls, offer: Offer, before: Any) -> Any:
        """Return the method, set up for the offered program, or None if it does not apply or another one is faster.

        `before` is this method for the solver's last program, or None; what it has computed may be kept.
        """

    def is_clearly_definite(self) -> bool:
        """Return True if the set-up has shown P positive semidefinite; otherwise the last method tests P."""
        return False

    def yields_to(self, plan: Plan) -> bool:
        """Return True if the interior-point method is expected to be faster with this plan, which its set-up finds."""
        return False

    @abc.abstractmethod
    def solve(self, start: bool | Start, offer: Offer) -> Solution | None:
        """Return an answer that passes the stopping test, a certificate or the end of time, or None.

        `start` is True for the last answer, a point, or False.  A set-up in it adds its seconds to `offer.spent`.
        """

    def update(self, offer: Offer, new_P: bool, new_A: bool) -> bool:
        """Take the changed program; return False, and change nothing, if it must be set up again."""
        return False

    def release(self, next_user: Any = None) -> None:  # noqa: B027
        """Release the memory to the next program, unless `next_user`, which replaces this method, holds it."""
