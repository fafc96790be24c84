"""Sides in conflict: those of an infeasibility certificate, and irreducible sets of them.

A set of sides is infeasible exactly if it has a certificate, and the support of a certificate whose rows are linearly
dependent in one way only is irreducible (Gleeson and Ryan 1990).  A deletion filter (Chinneck and Dravnieks 1991)
leaves out one side after another, and goes on with the certificate of the others where they are still infeasible:

    for each side of the set:  if the others are infeasible, go on with the sides of their certificate
                               else each irreducible set within the present one needs this side
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from socp.problem.status import Status

from .program import QuadraticProgram

SIDES = ("l", "u", "lb", "ub")
NAMED, NEGLIGIBLE = 5, 1e-6  # sides in conflict that a message names; least multiplier, relative to the largest
ROUNDED = 1e-9  # least multiplier, relative to the largest, with which a side stays in the set that is reduced


class Side(NamedTuple):
    """Entry `entry` of "l" or "u" (rows) or of "lb" or "ub" (variables), and the name in the program's file, or ""."""

    side: str
    entry: int
    name: str = ""

    def __str__(self) -> str:
        return f"{self.side}[{self.entry}]" + f" ({self.name})" * bool(self.name)


def side_of(program: QuadraticProgram, side: str, entry: int) -> Side:
    """Return a side with the name of its row or variable."""
    names = program.row_names if side in ("l", "u") else program.column_names
    return Side(side, entry, "" if names is None else names[entry])


def sides_of(program: QuadraticProgram, y: np.ndarray, z: np.ndarray, least: float = NEGLIGIBLE) -> list[Side]:
    """Return the finite sides of a certificate's multipliers, the largest first; sides that cross most if it is zero.

    Multipliers of less than `least` times the largest do not count.
    """
    v, m = np.concatenate([y, z]), program.m
    lower, upper = np.append(program.l, program.lb), np.append(program.u, program.ub)
    size = np.where(np.isfinite(np.where(v > 0.0, upper, lower)), np.abs(v), 0.0)
    if program.are_crossed and not size.any():
        with np.errstate(invalid="ignore"):  # inf - inf
            k = int(np.nanargmax((lower - upper) / (1.0 + np.minimum(np.abs(lower), np.abs(upper)))))
        found = [(k, "l"), (k, "u")]
    else:
        order = np.argsort(-size, kind="stable")[: np.count_nonzero(size > least * size.max(initial=0.0))]
        found = [(k, "u" if v[k] > 0.0 else "l") for k in order.tolist()]
    return [side_of(program, side if k < m else f"{side}b", k if k < m else k - m) for k, side in found]


def conflict(program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> str:
    """Return the sides with the largest multipliers of an infeasibility certificate, as "l[0], ub[3] and 2 others".

    Examples
    --------
    >>> program = QuadraticProgram(None, [0.0], A=[[1.0], [1.0]], l=[4.0, 0.0], ub=1.0)
    >>> conflict(program, np.array([-1.0, 0.0]), np.array([1.0]))
    'l[0], ub[0]'
    """
    sides = sides_of(program, y, z)
    shown = sorted(sides[:NAMED], key=lambda side: (side.side in ("lb", "ub"), side.entry))
    return listed([str(side) for side in shown], len(sides))


def listed(names: list[str], count: int) -> str:
    """Return the first `NAMED` of the names as text, and how many others there are of `count`."""
    names = names[:NAMED]
    others = count - len(names)
    return ", ".join(names) + (f" and {others} other{'s' * (others > 1)}" if others else "")


def only(program: QuadraticProgram, sides: Iterable[Side]) -> tuple[QuadraticProgram, np.ndarray, np.ndarray]:
    """Return the program of the shortest x within these sides alone, and the rows and variables that it keeps."""
    ends = {name: np.full(getattr(program, name).size, np.inf if "u" in name else -np.inf) for name in SIDES}
    for side, entry, _ in sides:
        ends[side][entry] = getattr(program, side)[entry]
    rows = np.flatnonzero(np.isfinite(ends["l"]) | np.isfinite(ends["u"]))
    A = program.A[rows]
    used = np.isfinite(ends["lb"]) | np.isfinite(ends["ub"])
    used[sp.coo_array(A).col] = True
    columns = np.flatnonzero(used)
    l, u = ends["l"][rows], ends["u"][rows]
    part = QuadraticProgram(
        sp.eye_array(columns.size), np.zeros(columns.size), A[:, columns], l, u, ends["lb"][columns],
        ends["ub"][columns],
    )  # fmt: skip
    return part, rows, columns


def irreducible(program: QuadraticProgram, sides: list[Side], solve: Callable[[QuadraticProgram], Any]) -> list[Side]:
    """Return an irreducible infeasible subset of infeasible `sides`: without any one of them a point is feasible.

    If the sides are feasible, as far as `solve` can tell, they are returned as they are.
    """

    def smaller(some: list[Side], by_support: bool) -> list[Side] | None:
        """Return the sides of a certificate for these sides, or all of them; None unless they are infeasible."""
        part, rows, columns = only(program, some)
        answer = solve(part)
        if answer.status is not Status.PRIMAL_INFEASIBLE:
            return None
        if not by_support:
            return some
        found = sides_of(part, answer.y, answer.z_bounds, ROUNDED)
        return [side_of(program, k.side, int((rows if k.side in ("l", "u") else columns)[k.entry])) for k in found]

    for by_support in (True, False):  # A certificate with multipliers of very different sizes may lose a side.
        found, needed = smaller(sides, by_support), set[Side]()
        if found is None:
            return sides
        kept = found
        while True:
            tried = next((side for side in reversed(kept) if side not in needed), None)
            if tried is None:
                break
            rest = smaller([side for side in kept if side != tried], by_support)
            if rest is None:
                needed.add(tried)
            else:
                kept = rest
        if not by_support or smaller(kept, False) is not None:
            break
    return sorted(kept, key=lambda side: (SIDES.index(side.side), side.entry))
