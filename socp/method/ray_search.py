"""The search for a certificate among the rays of the iterates of a run.

If a program is infeasible, tau -> 0 along the embedding and the iterates become rays.  A ray is looked at where its
residual, scaled to slope -1, has become small, and again when it has halved.  Candidates are tested on the caller's own
data, in this order:

    the point without its small entries, and the point
    for the dual, two directions near the null space of the KKT matrix
    a repair of each candidate from the iterate (see `rays`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..problem.status import Status
from ..verify.certificates import CERTAIN, Ray
from ..verify.stopping import ConeTest
from .answer import Point4, in_callers_units
from .loop import RAY, State
from .newton import Point, singular_directions
from .rays import repaired_direction, repaired_multipliers

CLOSER = 0.01  # residual of a ray, relative to that of the last failed repair, from which a repair is tried again
NOT_FEASIBLE = "(y, z) certifies that no feasible point exists"
FALLS = "the objective falls for ever along x"  # which shows that it is unbounded below if a feasible point exists
RAYS = {Status.PRIMAL_INFEASIBLE: NOT_FEASIBLE, Status.DUAL_INFEASIBLE: FALLS}


Certified = tuple[Ray, float]  # a certificate on the program of a test, normalized, and its error


class BestRay(NamedTuple):
    """The status that a ray (x, y, z, s) shows, and the certificate that the test has made of it."""

    status: Status
    ray: Point4
    found: Certified


class RaySearch:
    """Search for a certificate among the rays of the iterates of one run, whose best ray is kept.

    Parameters
    ----------
    program : ConeProgram
    state : State
        State of the run.
    test : ConeTest
        Tests of certificates on the caller's own data.
    settings : Settings

    Attributes
    ----------
    best : BestRay or None
        The best certificate so far.
    """

    def __init__(self, program: ConeProgram, state: State, test: ConeTest, settings: Settings) -> None:
        self.program, self.state, self.test, self.settings = program, state, test, settings
        self.best: BestRay | None = None
        self._repaired = {False: np.inf, True: np.inf}  # sizes of residuals at which repairs of rays have failed

    @property
    def is_certain(self) -> bool:
        """Whether the best ray is a certificate at `CERTAIN`."""
        return self.best is not None and self.best.found[1] <= CERTAIN

    def search(self) -> bool:
        """Look at the rays of the present iterate; return True if one of this run is a certificate at `CERTAIN`.

        A ray that is a certificate only at `tol_infeasible` is kept: the run may still find an optimum or a better ray.
        """
        state, test = self.state, self.test
        if state.primal_ray <= RAY * state.tol_infeasible:
            self._keep(Status.PRIMAL_INFEASIBLE, *self.certificate(lambda ray: test.primal_certificate(ray[1], ray[2])))
            state.primal_refused = 0.5 * state.primal_ray
        if state.dual_ray <= state.ray_limit:
            self._keep(Status.DUAL_INFEASIBLE, *self.certificate(lambda ray: test.dual_certificate(ray[0]), True))
            state.dual_refused = 0.5 * state.dual_ray
        return self.is_certain

    def _keep(self, status: Status, found: Certified, ray: Point4) -> None:
        """Keep a ray whose error is at most `tol_infeasible` and less than that of the ray kept so far."""
        error = found[1]
        if error <= self.state.tol_infeasible and (self.best is None or error < self.best.found[1]):
            self.best = BestRay(status, ray, found)

    def certificate(
        self, certified: Callable[[Point4], Certified], unbounded: bool = False
    ) -> tuple[Certified, Point4]:  # fmt: skip
        """Return the ray with the least error: the point, without small entries, or near a null space.

        Small entries are dropped as a multiplier that tends to zero is the whole residual where it has no opposite
        term: x >= 0 and 0 x <= -1 have the multipliers (tau, 1).
        """
        point, form = self.state.point, self.state.form
        certain = min(CERTAIN, self.state.tol_infeasible)
        rays: list[Point4] = []
        found: list[Certified] = []

        def has_certain(candidates: Iterable[Point4]) -> bool:
            for ray in candidates:
                rays.append(ray)
                found.append(certified(ray))
                if found[-1][1] <= certain:
                    return True
            return False

        size = self.state.dual_ray if unbounded else self.state.primal_ray
        if has_certain(map(self._unscale, (point.without_small_entries(form, self.settings.tol), point))):
            pass
        elif size > min(CLOSER * self._repaired[unbounded], self.state.tol_infeasible):
            pass  # It is much like a ray that a repair has failed to mend, or an early one.
        elif not unbounded:
            repaired = ((x, repaired_multipliers(self.program, y, z), s) for x, y, z, s in rays[:])
            has_certain((x, y, z, s) for x, (y, z), s in repaired)
        elif not has_certain(map(self._unscale, self._directions())):
            has_certain((repaired_direction(self.program, x), y, z, s) for x, y, z, s in rays[:])
        if found[-1][1] > certain and len(found) > 2:
            self._repaired[unbounded] = size
        best = int(np.argmin([error for _, error in found]))
        return found[best], rays[best]

    def _directions(self) -> list[Point]:
        """Return two points whose x is near a ray if the objective is unbounded below."""
        first, second = Point(self.state.form), Point(self.state.form)
        singular_directions(self.state.newton, first.u, second.u)
        second.u[:] = np.nan_to_num(second.u)
        return [first, second]

    def _unscale(self, point: Point) -> Point4:
        """Return (x, y, z, s) of a point in the units and the row order of the program."""
        return in_callers_units(self.program, self.state.form, point)
