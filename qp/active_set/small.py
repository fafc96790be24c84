"""The dual active set as a method for one small program, in the memory that lanes have."""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.batch.driver import OPTIMAL as ANSWERED
from socp.batch.driver import PRIMAL_INFEASIBLE
from socp.batch.verify import NO_LAYOUT
from socp.method.run import test_holds
from socp.problem.settings import Settings
from socp.problem.status import Status
from socp.verify.certificates import primal_infeasibility

from ..lane import Lane, Room
from ..plan.choice import choose_method
from ..problem.program import QuadraticProgram
from ..problem.solution import Solution
from ..reduce.cone_form import ConeForm
from ..reduce.presolve import fixes_variables
from .dual import DualSet, load_dual, solve_dual

TOL, SHARE = 1e-10, 1e-2  # by which sides may be missed, at most and as a share of the tolerance
MISSED_TOL, MISSED_SHARE = 1e-8, 0.25  # of rows that depend on those that hold: presolve takes as much for rounding
STEPS = 6  # at most, for each row and variable: programs take one or two
CERTIFIED = "(y, z) certifies that no feasible point exists"


class DualActiveSet(Lane):
    """A small program with a definite P, solved by the dual active set of `dual`.

    Parameters
    ----------
    program : QuadraticProgram
        One that `qp.plan.choice` has for it.
    settings : Settings
    form : ConeForm
        Its cone form.
    before : Lane or None
        The method of the solver's last program, whose memory it takes if that fits.

    Attributes
    ----------
    plan : Plan
    """

    method, words = "dual active set", "dual active set"
    _room: DualRoom

    def __init__(
        self, program: QuadraticProgram, settings: Settings, form: ConeForm, before: Lane | None = None
    ) -> None:
        super().__init__(program, settings, form, before)
        room = self._enter()
        self._is_definite, room.is_at_work = room.is_definite, False

    def _enter(self) -> DualRoom:
        return super()._enter()  # type: ignore[return-value]

    def _kind_of(self, program: QuadraticProgram, form: ConeForm) -> tuple[object, ...]:
        """The sizes and the tolerances: sides may become finite, infinite or equal."""
        return "dual active set", program.n, program.m, self.settings.tol, self.settings.tol_abs

    def _room_of_own(self) -> DualRoom:
        return DualRoom(self._kind, self.program.n, self.form.kinds, self.settings)

    def is_clearly_definite(self) -> bool:
        """Whether P has a Cholesky factor whose pivots are more than rounding."""
        return self._is_definite

    def solve(self, warm_start: bool) -> Solution | None:
        """The answer or a certificate, from the last working set on with `warm_start`; None where neither is found."""
        room = self._enter()
        is_warm, room.has_answer = warm_start and room.has_answer, False
        found = self._find(room, is_warm) if room.is_definite else None
        room.is_at_work = False
        return found

    def _find(self, room: DualRoom, is_warm: bool) -> Solution | None:
        program, settings = self.program, self.settings
        solve_dual(room.batch, room.work, room.test, *NO_LAYOUT, is_warm)
        code = room.code.item()
        if code == ANSWERED:
            return self._answer(room, f"{test_holds(settings.tol)}; {room.work.count} sides in the working set")
        _, y, z = room.point()
        limit = settings.tol_infeasible or settings.tol
        if code != PRIMAL_INFEASIBLE or not primal_infeasibility(program, y, z) <= limit:
            return None
        return self._answer(room, CERTIFIED, Status.PRIMAL_INFEASIBLE)


def small_method(program: QuadraticProgram, settings: Settings, before: Lane | None = None) -> Lane | None:
    """The dual active set, where P is definite, or a lane, for the whole program, if one of them is chosen.

    Presolve costs more than the rows that it would take out.  The variables that it fixes are where they are to be to
    the bit, which they are not in a lane.
    """
    method = choose_method(program, settings)
    if method not in ("dual active set", "lane"):
        return None
    form = ConeForm(program)
    if method == "dual active set":
        dual = DualActiveSet(program, settings, form, before)
        if dual.is_clearly_definite():
            return dual
        dual.let_go(before)
        method = choose_method(program, settings, may_be_definite=False)
    if method != "lane" or form.has_fixed or (settings.presolve and fixes_variables(program)):
        return None
    return Lane(program, settings, form, before)


class DualRoom(Room):
    """The memory of the dual active set, for programs with the same sizes and tolerances."""

    @property
    def words(self) -> int:
        return self.batch.words + self.test.words + self.work.words

    def _most_records(self, N: int) -> int:
        return STEPS * N + 1

    def _make_work(self, kinds: np.ndarray, settings: Settings) -> None:
        m, n = self.batch.m, self.batch.n
        self.work, self.is_definite = DualSet(m=m, n=n), False
        self.work.max_steps = STEPS * (m + n)
        tol = min(settings.tol, settings.tol_abs or settings.tol)
        self.work.tol, self.work.missed_tol = min(TOL, SHARE * tol), min(MISSED_TOL, MISSED_SHARE * tol)

    def _load(self, P: np.ndarray, A: Any) -> None:
        self.is_definite = load_dual(self.batch, self.work, self.test, P, A.indptr, A.indices, A.data)
