"""Squared hinge losses of linear machines for samples in blocks of rows: those of `linear.dual` in each block, summed.

With c the means of the columns and s the value of the last feature, scores are w'(x - c) + s (v + w'c / s), so that no
digits are lost in columns far from zero; see `summed_newton`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from ..base.answers import Built
from ..base.blocks import Block, RowBlocks
from ..base.multiclass import two_class_problems
from ..numerics.newton_minimizer import add_gram
from ..numerics.summed_newton import Run, SummedLoss, SummedPoint, check_unknowns, minimize_sum
from .dual import Answer, machine_dual, respond

ROUNDS, CLOSER = 4, 1e-3  # most runs of Newton's method, and factor of its tolerance from one to the next


def losses(
    classes: int, bias: float, C: float, theta: np.ndarray, block: Block
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return losses, gradients and Hessians of the machines in one block at theta, and parts of the dual objectives.

    The parts are sum_i beta_i x_i, shape (machines, 2, features + 1), and the sums of q_i beta_i and d_i beta_i^2,
    shape (machines, 2, 2), of either sign.
    """
    found, slopes, hessians = np.empty(len(theta)), np.empty(theta.shape), np.empty((*theta.shape, theta.shape[1]))
    mapped, parts = np.empty((len(theta), 2, theta.shape[1])), np.empty((len(theta), 2, 2))
    for k, (_, signs) in enumerate(two_class_problems(block.codes, classes, "ovr")):
        dual = machine_dual(block.X, bias, signs, 0.0, C * block.weights, True, signs)
        r, beta = signs - dual.scores(theta[k]), np.empty(signs.size)
        found[k] = respond(dual.losses, r, r, 0.0, beta, np.empty(2))
        for side, own in enumerate((np.maximum(beta, 0.0), np.minimum(beta, 0.0))):
            mapped[k, side], parts[k, side] = dual.weights(own), (signs @ own, dual.damping @ own**2)
        slopes[k] = -mapped[k].sum(axis=0)
        H = np.zeros(hessians[k].shape, order="F")
        add_gram(H, block.X, np.where(beta != 0.0, 1.0 / dual.damping, 0.0), bias)
        hessians[k] = H
    return found, slopes, hessians, mapped, parts


def dual_objective(w: np.ndarray, centre: np.ndarray, mapped: np.ndarray, parts: np.ndarray) -> float:
    """Return the larger dual objective: of beta, and of beta whose side is scaled so that the last entry of w follows.

    Far from zero a sum_i beta_i whose last digits are wrong spoils sum_i beta_i x_i.
    """
    found = -np.inf
    for side in (None, 0, 1):
        scale = np.ones(2)
        if side is not None:
            own, rest = mapped[side, -1], mapped[1 - side, -1]
            scale[side] = (w[-1] - rest) / own if own != 0.0 else 1.0
        total = scale @ mapped
        total[-1] = total[-1] if side is None or scale[side] == 1.0 else w[-1]
        total[:-1] += centre * total[-1]
        if (scale >= 0.0).all():
            found = max(found, float(scale @ parts[:, 0] - 0.5 * scale**2 @ parts[:, 1] - 0.5 * total @ total))
    return found


def stacked(one: Block, other: Block) -> Block:
    """Return two blocks as one."""
    X = sp.vstack([one.X, other.X]) if sp.issparse(one.X) or sp.issparse(other.X) else np.vstack([one.X, other.X])
    return Block(X, np.append(one.codes, other.codes), np.append(one.weights, other.weights))


def unchanged(block: Block) -> Block:
    """Return `block`."""
    return block


@dataclass
class BlockMachines:
    """Machines over blocks, with squared hinge and the last feature `bias`; `totals` has the weight of each class."""

    blocks: RowBlocks
    totals: np.ndarray
    bias: float
    C: float

    def __post_init__(self) -> None:
        check_unknowns(self.blocks.surveyed.features + 1)
        self.machines = 1 if self.totals.size == 2 else self.totals.size
        self.uncentred = self.blocks.reader
        self.centre = self.blocks.centre() / self.bias if self.bias else np.zeros(self.blocks.surveyed.features)

    @cached_property
    def summed(self) -> SummedLoss:
        """The function that Newton's method minimizes."""
        sums = partial(losses, self.totals.size, self.bias, self.C)
        return SummedLoss(self.blocks, sums, np.ones(self.centre.size + 1), self.machines, self.totals, self.centre)

    @property
    def unit(self) -> float:
        """Objective of a machine at w = 0, at most 1."""
        return min(float(self.C * self.totals.sum()), 1.0)

    def minimize(
        self, tol: float, max_iter: int, history: list[float], time_limit: float | None
    ) -> tuple[Run, list[Answer]]:
        """Minimize until the gap of every machine is at most `tol`; return the last run and the answers."""
        goal, passes, theta = tol * self.unit, 0, None
        for _ in range(ROUNDS):
            run = minimize_sum(self.summed, goal, max_iter - passes, history, time_limit, theta)
            passes, theta, goal = passes + run.minimum.iterations, run.minimum.theta, goal * CLOSER
            answers = self.answers(run.point, passes, tol)
            if not run.minimum.converged or passes >= max_iter or all(answer.converged for answer in answers):
                break
        return run, answers

    def answers(self, point: SummedPoint, passes: int, tol: float) -> list[Answer]:
        """Return the answer of each machine at `point`, without its multipliers."""
        found = []
        for theta, objective, mapped, parts in zip(point.table, point.objectives, *point.rest):
            bound = dual_objective(theta, self.centre, mapped, parts)
            answer = Answer(theta, np.empty(0), float(objective), bound, passes, False, self.unit)
            answer.converged = answer.gap <= tol
            found.append(answer)
        return found

    def built(self, answer: Answer, tol: float) -> Built:
        """Return the program of the last machine and its solution; all blocks are brought to memory."""
        whole = replace(self.blocks, reader=self.uncentred).fold(unchanged, stacked)
        *_, (_, signs) = two_class_problems(whole.codes, self.totals.size, "ovr")
        dual = machine_dual(whole.X, self.bias, signs, 0.0, self.C * whole.weights, True, signs)
        r, beta = signs - dual.scores(answer.w), np.empty(signs.size)
        respond(dual.losses, r, r, 0.0, beta, np.empty(2))
        return dual.built(replace(answer, beta=beta), tol)
