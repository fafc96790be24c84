"""Cone programs as the lanes take them, and their answers on the caller's data.

Rows come as the second-order cones, the equalities and the other rows of orthants; a row of an orthant with one entry
is a bound, where no other row holds the variable on that side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem import certificates
from ..problem.program import Cone, NonNeg, SecondOrder
from ..problem.settings import Settings
from ..problem.status import Status
from .checks import rows_at, side_by_side
from .cone_points import Slacks, verify
from .lots import Lot, Task, alike
from .points import points_for
from .spans import ordered_spans

if TYPE_CHECKING:
    from .programs import ConePrograms


class ConeRows:
    """Where the rows of G are in the lanes.

    Attributes
    ----------
    cones, others, singles : arrays of int
        The rows of second-order cones, of orthants, and those of these that are bounds.
    starts : array of int
        Second-order cone k is starts[k]:starts[k + 1] of `cones`.
    slots : array of int
        The bound of each of `singles`: 2 j is the lower bound of variable j, 2 j + 1 the upper one.
    is_single : array of bool, shape (1 or k, m)
        The rows of orthants with one entry.
    """

    def __init__(self, cones: Sequence[Cone], G: np.ndarray) -> None:
        ends = np.cumsum([0, *(cone.dim for cone in cones)])
        second = [k for k, cone in enumerate(cones) if isinstance(cone, SecondOrder) and cone.dim > 1]
        self.ranges = np.array([(ends[k], ends[k + 1]) for k in second], np.int64).reshape(-1)
        self.starts = np.cumsum([0, *(cones[k].dim for k in second)]).astype(np.int64)
        self.in_cones = np.zeros(G.shape[1], bool)
        for k in second:
            self.in_cones[ends[k] : ends[k + 1]] = True
        self.cones = np.flatnonzero(self.in_cones)
        entries, orthant = G != 0.0, np.repeat([isinstance(cone, NonNeg) for cone in cones], [c.dim for c in cones])
        self.is_single = (entries.sum(axis=2) == 1) & orthant.astype(bool)
        where = entries[0].argmax(axis=1) if G.shape[2] else np.zeros(G.shape[1], int)
        value = np.take_along_axis(G, np.broadcast_to(where[:, None], (*G.shape[:2], 1)), 2)[..., 0]
        signs = (value > 0.0).all(axis=0) | (value < 0.0).all(axis=0)
        same = (
            self.is_single.all(axis=0) & signs & (np.abs(value) <= 1.0).all(axis=0)
        )  # misses no larger than those of x
        rows = np.flatnonzero(same)
        slots, first = np.unique(2 * where[rows] + (value[0, rows] > 0.0), return_index=True)
        self.singles, self.slots = rows[first], slots
        self.values = value[:, self.singles]
        rest = ~self.in_cones
        rest[self.singles] = False
        self.others = np.flatnonzero(rest)


class ConeLot(Lot):
    """Cone programs with infinite entries of h in the same places: the rows are [A; G], the sides (b, h)."""

    equalities_apart = True

    def __init__(self, programs: ConePrograms, rows: ConeRows, chosen: np.ndarray, settings: Settings) -> None:
        self.programs = programs
        some: Any = slice(None) if chosen.size == programs.k else chosen
        data = (programs.G, programs.h, programs.A, programs.b, programs.P, programs.c, rows.values)
        G, h, A, b, P, c, values = (rows_at(array, some) for array in data)
        n, p, m = c.shape[1], b.shape[1], h.shape[1]
        bounds = np.broadcast_to(np.tile([-np.inf, np.inf], n), (max(len(h), len(values)), 2 * n)).copy()
        bounds[:, rows.slots] = h[:, rows.singles] / values
        held = {
            "P": P, "A": side_by_side(A, G), "q": c, "l": side_by_side(b, np.full((1, m), -np.inf), bounds[:, ::2]),
            "u": side_by_side(b, h, bounds[:, 1::2]),
            "x_start": np.zeros((0, n)), "y_start": np.zeros((0, p + m + n)),
        }  # fmt: skip
        single = rows.is_single[chosen[0] if len(rows.is_single) > 1 else 0]
        self._bound = np.concatenate([np.zeros(p, bool), single, np.ones(n, bool)])
        taken = np.concatenate([p + rows.cones, np.arange(p), p + rows.others])
        super().__init__(chosen, held, self._bound, taken, rows.starts, settings)
        self.batch.s = np.empty((chosen.size, m))
        self._spans = ordered_spans(P, held["A"], np.arange(p + m), np.array([0, p + m]))
        self._slacks = Slacks(
            orthant=(~rows.in_cones).astype(np.int64), ranges=rows.ranges, singles=rows.singles, slots=rows.slots,
            values=values,
        )  # fmt: skip

    def verifier(self) -> Callable[[Task], None]:
        points = points_for(self.batch, self._bound, self._spans, self.settings)
        return lambda task: verify(self.batch, points, self._slacks, *task)

    def vectors(self) -> dict[str, np.ndarray]:
        p, y = self.programs.b.shape[1], self.batch.y
        return {"x": self.batch.x, "y": y[:, :p], "z": y[:, p : self.batch.m], "s": self.batch.s}

    def certify(self, many: Any, which: np.ndarray, primal: np.ndarray) -> np.ndarray:
        holds, tol = np.zeros(which.size, bool), self.settings.tol_infeasible or self.settings.tol
        for place, (i, kind) in enumerate(zip(which, primal)):
            at = self.chosen[i]
            program, (x, y, z, _) = self.programs.program(at), (array[i] for array in self.vectors().values())
            if kind and certificates.primal_infeasibility(program, y, z) <= tol:
                (many.y[at], many.z[at]), many.primal_residual[at] = certificates.primal_certificate(program, y, z)
                many.status[at], holds[place] = Status.PRIMAL_INFEASIBLE, True
            if not kind and certificates.dual_infeasibility(program, x) <= tol:
                (x,), many.dual_residual[at] = certificates.dual_certificate(program, x)
                many.x[at], many.s[at] = x, -(program.G @ x)
                many.status[at], holds[place] = Status.DUAL_INFEASIBLE, True
        return holds


def lots_of(programs: ConePrograms, cones: Sequence[Cone], settings: Settings) -> list[ConeLot]:
    """The programs, together where the same entries of h are infinite and the same bounds equal."""
    rows = ConeRows(cones, programs.G)
    kinds = np.isfinite(programs.h).astype(int)
    if len(rows.is_single) > 1:
        kinds = side_by_side(kinds, rows.is_single)
    pairs = np.flatnonzero(np.diff(rows.slots // 2) == 0)  # an upper bound beside a lower one
    if pairs.size:
        bounds = programs.h[:, rows.singles] / rows.values
        kinds = side_by_side(kinds, bounds[:, pairs] == bounds[:, pairs + 1])
    return [ConeLot(programs, rows, chosen, settings) for chosen in alike(kinds, programs.k)]
