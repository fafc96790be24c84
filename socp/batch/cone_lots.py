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
from .cone_points import verify
from .driver import Batch
from .lots import Lot, Task, alike
from .points import points_for
from .spans import Order

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


def _columns(count: int, *parts: np.ndarray) -> np.ndarray:
    """Rows side by side, one or `count` of each."""
    return np.concatenate([np.broadcast_to(part, (count, *part.shape[1:])) for part in parts], axis=1)


class ConeLot(Lot):
    """Cone programs with infinite entries of h in the same places.

    Attributes
    ----------
    claims : Batch
        The caller's data with [A; G] as A and (b, h) as u, and the answers.
    """

    equalities_apart = True

    def __init__(self, programs: ConePrograms, rows: ConeRows, chosen: np.ndarray, settings: Settings) -> None:
        self.programs, self.rows, k = programs, rows, chosen.size
        data = {}
        for name in ("c", "P", "G", "h", "A", "b"):
            array = getattr(programs, name)
            data[name] = array if array.shape[0] == 1 or k == programs.k else array[chosen]
        G, h, A, b, P, c = (data[name] for name in ("G", "h", "A", "b", "P", "c"))
        self._values = rows.values if rows.values.shape[0] == 1 or k == programs.k else rows.values[chosen]
        n, p, m, count = c.shape[1], b.shape[1], h.shape[1], max(G.shape[0], A.shape[0])
        sides = max(h.shape[0], b.shape[0], self._values.shape[0])
        bounds = np.broadcast_to(np.tile([-np.inf, np.inf], n), (sides, 2 * n)).copy()
        bounds[:, rows.slots] = h[:, rows.singles] / self._values
        none = np.full((1, rows.cones.size), -np.inf), np.full((1, rows.others.size), -np.inf)
        single = rows.is_single[chosen[0] if len(rows.is_single) > 1 else 0]
        bound = np.concatenate([np.zeros(rows.cones.size + p, bool), single[rows.others]])
        held = {
            "P": P, "A": _columns(count, G[:, rows.cones], A, G[:, rows.others]), "q": c,
            "l": _columns(sides, none[0], b, none[1], bounds[:, ::2]),
            "u": _columns(sides, h[:, rows.cones], b, h[:, rows.others], bounds[:, 1::2]),
            "x_start": np.zeros((0, n)), "y_start": np.zeros((0, bound.size + n)),
        }  # fmt: skip
        super().__init__(chosen, held, bound, rows.starts, settings)
        self._order_of_claims = Order(P, _columns(count, A, G), np.array([0, p + m]))
        P, A = self._order_of_claims.matrices()
        u = _columns(max(h.shape[0], b.shape[0]), b, h, np.zeros((1, n)))
        self.claims = Batch(
            m=p + m, n=n, count=k, P=P, A=A, q=c, l=u, u=u, s=np.zeros((k, m)), x_start=np.zeros((0, n)),
            y_start=np.zeros((0, p + m + n)),
        )  # fmt: skip
        self._bound = np.concatenate([np.zeros(p, bool), single, np.zeros(n, bool)])

    def verifier(self) -> Callable[[Task], None]:
        rows, claims, p = self.rows, self.claims, self.programs.b.shape[1]
        points = points_for(claims, self._bound, self._order_of_claims.spans)
        orthant = (~rows.in_cones).astype(np.int64)

        def solve(task: Task) -> None:
            self._unpack(slice(*task))
            verify(claims, points, p, orthant, rows.ranges, self.found, *task)

        return solve

    def _unpack(self, part: slice) -> None:
        """Some answers in the caller's order: x, (y, z), and the slacks of second-order cones."""
        rows, claims, p, first = self.rows, self.claims, self.programs.b.shape[1], self.rows.cones.size
        x, found = self._order.variables_back(self.batch.x[part]), self._order.all_back(self.batch.y[part])
        claims.x[part] = x
        y = claims.y[part]
        y[:, :p] = found[:, first : first + p]
        y[:, p + rows.cones] = found[:, :first]
        y[:, p + rows.others] = found[:, first + p : self.batch.m].clip(0.0)
        values = self._values if len(self._values) == 1 else self._values[part]
        y[:, p + rows.singles] = (found[:, self.batch.m + rows.slots // 2] * np.sign(values)).clip(0.0) / np.abs(values)
        claims.s[part, rows.cones] = self.batch.s[part]

    def vectors(self) -> dict[str, np.ndarray]:
        claims, p, m = self.claims, self.programs.b.shape[1], self.programs.h.shape[1]
        return {"x": claims.x, "y": claims.y[:, :p], "z": claims.y[:, p : p + m], "s": claims.s}

    def certify(self, many: Any, which: np.ndarray, primal: np.ndarray) -> np.ndarray:
        holds, tol = np.zeros(which.size, bool), self.settings.tol_infeasible or self.settings.tol
        p, m = self.programs.b.shape[1], self.programs.h.shape[1]
        for place, (i, kind) in enumerate(zip(which, primal)):
            at = self.chosen[i]
            program, x, y, z = (
                self.programs.program(at), self.claims.x[i], self.claims.y[i, :p], self.claims.y[i, p : p + m]
            )  # fmt: skip
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
        kinds = _columns(programs.k, kinds, rows.is_single)
    pairs = np.flatnonzero(np.diff(rows.slots // 2) == 0)  # an upper bound beside a lower one
    if pairs.size:
        bounds = programs.h[:, rows.singles] / rows.values
        kinds = _columns(max(len(bounds), len(kinds)), kinds, bounds[:, pairs] == bounds[:, pairs + 1])
    return [ConeLot(programs, rows, chosen, settings) for chosen in alike(kinds, programs.k)]
