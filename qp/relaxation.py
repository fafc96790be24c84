"""The nearest feasible program: the least change of sides after which an infeasible program has solutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from socp.problem.checks import ArrayLike, Number, ProgramError, as_vector
from socp.problem.settings import Settings
from socp.problem.status import Status

from .problem.conflict import SIDES, conflict
from .problem.program import QuadraticProgram
from .solver import solve

HARD = "hard sides contradict each other: {}; give one of them a finite weight"
TOL = 1e-9  # `tol` for the program that finds the change
CROSSED = Settings.tol  # sides that cross by more than CROSSED * (1 + |side|) move as far as they must
MOVED = 1e-7  # a side moves only by more than MOVED * (1 + |side|): ten times the default `tol`


class Shift(NamedTuple):
    """Side that moves: entry `entry` of `side` ("l", "u", "lb" or "ub"), by `change` = new - old."""

    side: str
    entry: int
    change: float


class Relaxation(NamedTuple):
    """Feasible program, and the sides that were moved, the largest change first.

    Examples
    --------
    >>> import numpy as np
    >>> import qp
    >>> found = qp.relax(qp.QuadraticProgram(None, [1.0, 1.0], [[1.0, 1.0]], l=3.0, ub=1.0), {"ub": np.inf})
    >>> found.program.l.round(6), found.shifts[0].side, round(found.shifts[0].change, 6)
    (array([2.]), 'l', -1.0)
    """

    program: QuadraticProgram
    shifts: list[Shift]


def relax(
    program: QuadraticProgram, weights: Mapping[str, ArrayLike | Number] | None = None, norm: int = 1
) -> Relaxation:
    r"""Find the least change of the sides of a program that makes it feasible.

    .. math::
        \min_{x,\, t \ge 0} \sum_k w_k t_k^p \quad \text{subject to } l - t_l \le A x \le u + t_u,\;
        lb - t_{lb} \le x \le ub + t_{ub}

    Parameters
    ----------
    program : QuadraticProgram
    weights : mapping, optional
        Cost of a change of one unit: for any of "l", "u", "lb", "ub" a positive number, or one for each entry; 1 by
        default.  A weight of infinity makes a side hard: it does not move.  Infinite sides never move.
    norm : {1, 2}, default 1
        The power p.  With 1 few sides move, which shows where the conflict is (as `feasRelax` in Gurobi); with 2 the
        change is spread over all sides in conflict (as the closest feasible program of ProxQP).

    Returns
    -------
    Relaxation
        Its fields are `program`, with the sides moved, and `shifts`.  Equal sides move together and stay equal.  A
        feasible program is returned unchanged, with no shifts.

    Raises
    ------
    ProgramError
        Hard sides contradict each other (the message names them), or a weight is not positive.

    Notes
    -----
    P and q have no influence.  If the least change is not unique, one near the center of the optimal set is returned.

    Examples
    --------
    Two variables of at most 1 and 2 cannot have a sum of 4, unless a side gives:

    >>> import qp
    >>> program = qp.QuadraticProgram(None, [1.0, 1.0], A=[[1.0, 1.0]], l=4.0, u=9.0, ub=[1.0, 2.0])
    >>> print(qp.solve(program).status)
    primal_infeasible
    >>> nearest, shifts = qp.relax(program, weights={"ub": np.inf})
    >>> print([(side, entry, round(change, 6)) for side, entry, change in shifts], nearest.l.round(6))
    [('l', 0, -1.0)] [3.]
    >>> print(qp.solve(nearest).status)
    optimal
    """
    if norm not in (1, 2):
        raise ProgramError(f"norm must be 1 or 2, but {norm!r} came")
    costs = _costs(program, weights or {})
    _refuse_hard_crossing(program, costs)
    elastic = _elastic(program, costs, norm)
    answer = solve(elastic, tol=TOL)
    if answer.status is Status.PRIMAL_INFEASIBLE:
        names = conflict(program, answer.y[: program.m], answer.z_bounds[: program.n])
        raise ProgramError(HARD.format(names))
    if answer.status not in (Status.OPTIMAL, Status.INACCURATE):
        raise ProgramError(f"the nearest feasible program was not found: {answer.message}")
    x, old = answer.x[: program.n], {name: getattr(program, name) for name in SIDES}
    new = _moved(("l", "u"), old, costs, program.A @ x) | _moved(("lb", "ub"), old, costs, x)
    shifts = [
        Shift(name, int(k), float(new[name][k] - old[name][k]))
        for name in SIDES
        for k in np.flatnonzero(new[name] != old[name])
    ]
    if not shifts:
        return Relaxation(program, [])
    shifts.sort(key=lambda shift: -abs(shift.change))
    return Relaxation(program.with_data(**new), shifts)


def _costs(program: QuadraticProgram, weights: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the cost of moving each side, infinite for sides that must not move."""
    unknown = set(weights) - set(SIDES)
    if unknown:
        raise ProgramError(f"weights may have the keys l, u, lb and ub, but {sorted(unknown)} came")
    costs = {}
    for name in SIDES:
        side = getattr(program, name)
        cost = as_vector(f"weights[{name!r}]", weights.get(name, 1.0), side.size, spread=True)
        if not (cost > 0.0).all():
            raise ProgramError(f"weights[{name!r}] must be positive; inf keeps a side where it is")
        costs[name] = np.where(np.isfinite(side), cost, np.inf)
    return costs


def _refuse_hard_crossing(program: QuadraticProgram, costs: dict[str, np.ndarray]) -> None:
    """Raise ProgramError if two sides cross and neither may move."""
    for low, up in (("l", "u"), ("lb", "ub")):
        at = np.flatnonzero((getattr(program, low) > getattr(program, up)) & np.isinf(costs[low]) & np.isinf(costs[up]))
        if at.size:
            raise ProgramError(HARD.format(f"{low}[{at[0]}], {up}[{at[0]}]"))


def _elastic(program: QuadraticProgram, costs: dict[str, np.ndarray], norm: int) -> QuadraticProgram:
    """Return the program in (x, t) whose answer is the least change t; a soft bound of x is a row."""
    n, soft = program.n, {name: np.isfinite(cost) for name, cost in costs.items()}
    rows = sp.vstack([program.A, sp.eye_array(n)], format="csc")
    l = np.concatenate([program.l, np.where(soft["lb"], program.lb, -np.inf)])
    u = np.concatenate([program.u, np.where(soft["ub"], program.ub, np.inf)])
    one, crossed = sp.eye_array(l.size, format="csr"), np.flatnonzero(l > u)
    raised = one[:, np.flatnonzero(np.concatenate([soft["l"], soft["lb"]]))]
    lowered = -one[:, np.flatnonzero(np.concatenate([soft["u"], soft["ub"]]))]
    # One value, a'x plus the changes of both sides, lies between the sides of a row; sides that cross need two rows.
    apart = sp.diags_array((l <= u).astype(float)) @ lowered
    A = sp.vstack([
        sp.hstack([rows, raised, apart]), sp.hstack([rows[crossed], 0.0 * raised[crossed], lowered[crossed]])
    ], format="csc")  # fmt: skip
    l, u = np.append(l, np.full(crossed.size, -np.inf)), np.append(u, u[crossed])
    u[crossed] = np.inf
    cost = np.concatenate([costs[name][soft[name]] for name in ("l", "lb", "u", "ub")])
    none = np.zeros(cost.size)
    return QuadraticProgram(
        sp.diags_array(np.concatenate([np.zeros(n), 2.0 * cost])) if norm == 2 else None,
        np.concatenate([np.zeros(n), cost if norm == 1 else none]),
        A,
        l,
        u,
        np.concatenate([np.where(soft["lb"], -np.inf, program.lb), none]),
        np.concatenate([np.where(soft["ub"], np.inf, program.ub), none + np.inf]),
    )


def _moved(
    names: tuple[str, str], old: dict[str, np.ndarray], costs: dict[str, np.ndarray], value: np.ndarray
) -> dict[str, np.ndarray]:
    """Return l and u, relaxed to `value` where it violates a side that may move; equalities move both."""
    lower, upper = (old[name] for name in names)
    least = np.where(lower - upper > CROSSED * (1.0 + np.minimum(np.abs(lower), np.abs(upper))), 0.0, MOVED)
    falls = np.isfinite(costs[names[0]]) & (value < lower - least * (1.0 + np.abs(lower)))
    rises = np.isfinite(costs[names[1]]) & (value > upper + least * (1.0 + np.abs(upper)))
    together = (lower == upper) & (falls | rises)
    return {names[0]: np.where(falls | together, value, lower), names[1]: np.where(rises | together, value, upper)}
