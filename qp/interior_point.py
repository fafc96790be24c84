"""The interior-point method as the method that answers every quadratic program: its form as a cone program, solved."""

from __future__ import annotations

import time
from typing import Any

from socp.engine import OutOfTime
from socp.method.run import OPTIMAL
from socp.plan.plan import Plan
from socp.problem.starts import Start
from socp.solver import Solver as ConeSolver

from .method import Method, Offer
from .plan.choice import choose_method
from .problem.solution import Point, Solution, solution_at
from .problem.starts import completed
from .reduce.cone_form import SidesProgram


class InteriorPoint(Method):
    """The interior-point method of `socp` for the cone form of the presolved program.

    Parameters
    ----------
    offer : Offer
        The cone program is set up at its first use, or by `take`.

    Attributes
    ----------
    answer : (x, y, z_bounds) or None
        Last optimal point.
    """

    def __init__(self, offer: Offer) -> None:
        self.offer = offer
        self.answer: Point | None = None
        self._cone_solver: ConeSolver | None = None

    @classmethod
    def take(cls, offer: Offer, before: Any) -> InteriorPoint:
        """Return the method with its cone program set up; raise ProgramError if P is tested and not semidefinite."""
        method = cls(offer)
        method._cone_solver = method._set_up()
        return method

    @property
    def plan(self) -> Plan:  # type: ignore[override]
        """Plan of the cone program."""
        return self.cone_solver.plan

    @property
    def cone_solver(self) -> ConeSolver:
        """Solver of the cone program."""
        if self._cone_solver is None:
            started = time.perf_counter()
            self._cone_solver = self._set_up()
            self.offer.spent += time.perf_counter() - started
        return self._cone_solver

    def _set_up(self) -> ConeSolver:
        offer, program = self.offer, self._cone_program(self.offer)
        offer.check_time("the test of convexity")  # A substitution of fixed variables has tested P.
        solver = ConeSolver.of_checked(program, offer.settings, offer.at_work, offer.until)
        if solver._late:
            raise OutOfTime(solver._late)
        return solver

    @staticmethod
    def _cone_program(offer: Offer) -> SidesProgram:
        return offer.form.program(offer.presolved.program, offer.settings.check_convexity)

    def solve(self, start: bool | Start, offer: Offer) -> Solution:
        """Return the answer of a run, which stops by the test on the program's own data."""
        program, test = offer.program, offer.test()
        if isinstance(start, tuple):
            start = test.lower(*completed(program, start))
        run = self.cone_solver.run(start, test, offer.until)
        assert run.answer is not None and run.status is not None
        x, y, z, _ = run.answer
        found, point = run.found, (x, y, z)
        if found is not None:
            point = test.point(found, x, y, z)
        if run.status is OPTIMAL:
            self.answer = point
        solution = solution_at(
            program, run.status, point, found, run.certificate, iterations=run.iterations, setup_time=0.0,
            solve_time=0.0, message=run.message, trace=run.trace, timings=run.timings.copy(), plan=run.plan,
            run=run.solution,
        )  # fmt: skip
        solution._settings = offer.settings.without_functions
        return solution

    def update(self, offer: Offer, new_P: bool, new_A: bool) -> bool:
        """Take the changed program; return False if another method may be faster now."""
        if new_P and choose_method(offer.presolved.program, offer.settings) == "active set":
            return False
        solver = self._cone_solver
        if solver is not None:
            if new_P or new_A or not isinstance(solver.program, SidesProgram):
                solver.replace(self._cone_program(offer))
            else:
                solver.replace_vectors(solver.program.with_vectors(offer.presolved.program))
        self.offer = offer
        if new_P or new_A:
            self.answer = None
        return True

    def release(self, next_user: Any = None) -> None:
        """Release the workspace to the next program."""
        if self._cone_solver is not None:
            self._cone_solver.release()
