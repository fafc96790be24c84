r"""Newton's method for sums over blocks of rows, with value, gradient and Hessian of a point from one pass.

    f(theta) = sum_k phi_k(T^-1 theta_k) + 1/2 theta_k'D theta_k,    phi_k = sum_blocks sum_i loss_i

D is diagonal, and T^-1 adds shift'w to the last entry v of theta = (w, v): the losses take columns less their means,
and the penalty is that of the columns as they are.  Newton's equations are solved in T^-1 theta, where they are well
conditioned.  The machines k have no term in common, so that the Hessian is block diagonal.  A minimum over the first
block, whose classes are weighed as they are in all blocks, is the start.  Nothing as large as the samples is kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..base.blocks import Block, RowBlocks
from .newton_minimizer import Minimum, factored, minimize

ROUGH = 1e-6  # tolerance of the start
ROWS_AN_UNKNOWN = 30  # fewest rows of the first block, per unknown of a machine, for a start from it
MOST_UNKNOWNS = 5000  # most unknowns of a machine, whose Hessian is formed


@dataclass
class SummedLoss:
    """Function f of this module's docstring.

    ``sums(theta, block)``, for theta of shape (machines, unknowns), returns the losses summed over the block, shape
    (machines,), their gradients, (machines, unknowns), and Hessians, (machines, unknowns, unknowns), and anything more
    that is to be summed.  It is pickled where workers sum.  `penalty` is the diagonal of D, `totals` has the weight of
    each class; `fix` makes the Hessian of a machine nonsingular in place.
    """

    blocks: RowBlocks
    sums: Callable[[np.ndarray, Block], tuple[Any, ...]]
    penalty: np.ndarray
    machines: int
    totals: np.ndarray
    shift: Any = 0.0
    fix: Callable[[np.ndarray], None] | None = None

    def pulled(self) -> np.ndarray:
        """Return T'D T."""
        T = np.eye(self.penalty.size)
        T[-1, :-1] -= self.shift
        return T.T @ (self.penalty[:, None] * T)

    def first(self) -> SummedLoss | None:
        """Return the function of the first block, weighed for all; None if it has too few rows or lacks a class."""
        found = self.blocks.fold(partial(_weights, self.totals.size), first=True)
        few = ROWS_AN_UNKNOWN * self.penalty.size
        if found is None or not few <= found[0] < 0.5 * self.blocks.surveyed.samples:
            return None
        if ((found[1] == 0.0) & (self.totals > 0.0)).any():
            return None
        factors = np.divide(self.totals, found[1], out=np.zeros(self.totals.size), where=found[1] > 0.0)
        reader = replace(self.blocks.reader, factors=self.blocks.reader.factors * factors)
        return replace(self, blocks=replace(self.blocks, reader=reader))


def _weights(classes: int, block: Block) -> tuple[int, np.ndarray]:
    return block.codes.size, np.bincount(block.codes, block.weights, classes)


class SummedPoint:
    """Point of a `SummedLoss`, see `newton_minimizer.Point`: objectives and gradients of the machines, further sums.

    `slopes` and `hessians` are those of phi_k.
    """

    def __init__(self, loss: SummedLoss, theta: np.ndarray, first: bool = False) -> None:
        self.loss, self.theta, self.table = loss, theta, theta.reshape(loss.machines, -1)
        inner, pull = self.table.copy(), loss.penalty * self.table
        inner[:, -1] += (self.table[:, :-1] * loss.shift).sum(axis=1)
        losses, self.slopes, self.hessians, *self.rest = loss.blocks.fold(partial(loss.sums, inner), first=first)
        self.objectives = losses + 0.5 * (pull * self.table).sum(axis=1)
        self.value = float(self.objectives.sum())
        self.inner_gradients = self.slopes + pull
        self.inner_gradients[:, :-1] -= loss.shift * pull[:, -1:]

    def gradient(self) -> np.ndarray:
        """Return the gradient of f."""
        found = self.inner_gradients.copy()
        found[:, :-1] += self.loss.shift * found[:, -1:]
        return found.ravel()

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Return the Newton direction."""
        steps, pulled = np.empty(self.table.shape), self.loss.pulled()
        for step, H, slope in zip(steps, self.hessians, self.inner_gradients):
            H = H + pulled
            if self.loss.fix is not None:
                self.loss.fix(H)
            step[:] = factored(H)(-slope)
        steps[:, -1] -= (steps[:, :-1] * self.loss.shift).sum(axis=1)
        return steps.ravel()


class _OutOfTimeError(Exception):
    """The time limit has passed."""


@dataclass
class Run:
    """Result of `minimize_sum`: the minimum, its point, and the Ctrl-C that ended the run, if any."""

    minimum: Minimum
    point: SummedPoint
    interrupt: KeyboardInterrupt | None = None


def minimize_sum(
    loss: SummedLoss, tol: float, max_iter: int, history: list[float], time_limit: float | None = None,
    theta: np.ndarray | None = None,
) -> Run:  # fmt: skip
    """Minimize f from `theta`, or from the minimum over the first block; values of f are appended to `history`.

    Where Ctrl-C or `time_limit` (seconds) ends the run, the best point of a whole pass is the result.
    """
    end = time.perf_counter() + (math.inf if time_limit is None else time_limit)
    if theta is None:
        theta = np.zeros(loss.machines * loss.penalty.size)
        start = loss.first()
        if start is not None:
            theta = minimize(lambda v: SummedPoint(start, v, True), theta, ROUGH, max_iter).theta
    points: list[SummedPoint] = []  # the best so far, and the last

    def at(v: np.ndarray) -> SummedPoint:
        if points and time.perf_counter() >= end:
            raise _OutOfTimeError
        point = SummedPoint(loss, v)
        points[:] = [min((points or [point])[0], point, key=lambda one: one.value), point]
        return point

    try:
        found = minimize(at, theta, tol, max_iter, history)
    except (KeyboardInterrupt, _OutOfTimeError) as stop:
        if not points:
            raise
        interrupt = stop if isinstance(stop, KeyboardInterrupt) else None
        best = points[0]
        return Run(Minimum(best.theta, best.value, len(history), False, math.nan), best, interrupt)
    point = points[1] if points[1].theta is found.theta else points[0]
    return Run(replace(found, theta=point.theta, value=point.value), point)


def check_unknowns(unknowns: int) -> None:
    """Raise ValueError if a machine has too many unknowns for its Hessian."""
    if unknowns > MOST_UNKNOWNS:
        raise ValueError(
            f"X must have fewer features where it comes in blocks: the {unknowns} unknowns are more than "
            f"{MOST_UNKNOWNS}, of which a Hessian is formed"
        )
