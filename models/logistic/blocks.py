"""Logistic loss of samples in blocks of rows: `LogisticLoss` of each block, summed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ..base.blocks import Block, RowBlocks
from ..numerics.logistic_loss import LogisticLoss, LogisticPoint, feasible_mixture, fix_sums
from ..numerics.summed_newton import SummedLoss, SummedPoint, check_unknowns


def loss_of(classes: int, intercept: bool, block: Block) -> LogisticLoss:
    """Return the loss of one block, without a penalty."""
    return LogisticLoss(*block, classes, intercept, "cholesky")


def losses(classes: int, intercept: bool, theta: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return loss, gradient and Hessian of one block at theta, as `SummedLoss` adds them."""
    point = LogisticPoint(loss_of(classes, intercept, block), theta.ravel())
    return np.array([point.value]), point.slope[None], point.curvature()[None]


def dual_sums(
    classes: int, intercept: bool, theta: np.ndarray, share: float, q: np.ndarray, block: Block
) -> tuple[float, np.ndarray]:  # fmt: skip
    """Return `LogisticLoss.dual_sums` of one block at theta."""
    loss = loss_of(classes, intercept, block)
    return loss.dual_sums(loss.probabilities(theta), share, q)


@dataclass
class BlockLoss:
    """Objective sum_i s_i loss_i + penalty / 2 ||W||^2 over blocks; `totals` has the weight of each class."""

    blocks: RowBlocks
    totals: np.ndarray
    intercept: bool
    penalty: float

    @cached_property
    def shape(self) -> LogisticLoss:
        """Loss of no samples: the layout of the unknowns."""
        empty = Block(np.zeros((0, self.blocks.surveyed.features)), np.zeros(0, np.int64), np.zeros(0))
        return loss_of(self.totals.size, self.intercept, empty)

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W and b; see `LogisticLoss.split`."""
        return self.shape.split(theta)

    def summed(self) -> SummedLoss:
        """Return the function that Newton's method minimizes."""
        shape, classes = self.shape, self.totals.size
        check_unknowns(shape.unknowns)
        fix = None
        if shape.rows > 1 and self.intercept:
            fix = partial(fix_sums, rows=shape.rows, columns=shape.columns, free=slice(shape.columns - 1, None))
        penalty = self.penalty * shape.is_weight
        return SummedLoss(self.blocks, partial(losses, classes, self.intercept), penalty, 1, self.totals, fix=fix)

    def bound(self, point: SummedPoint) -> float:
        """Return a lower bound of the minimum, as `LogisticLoss.bound` does."""
        share, q, shape = 0.0, np.zeros(self.totals.size), self.shape
        if self.intercept:
            share, q = feasible_mixture(point.slopes.reshape(shape.rows, -1)[:, -1], self.totals)
        work = partial(dual_sums, self.totals.size, self.intercept, point.theta, share, q)
        entropy, mapped = self.blocks.fold(work)
        return float(entropy - 0.5 / self.penalty * (mapped**2).sum())
