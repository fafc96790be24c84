"""Derivatives of the answers to a batch of small programs of one shape.

The gradient with respect to data that all programs share is the sum of the gradients of the programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.threads import WORK
from ..linalg.csc import csc_of_dense
from ..problem.checks import ProgramError, as_dense, as_vector, check_finite
from ..problem.hessian import hessian_of
from ..problem.status import Status
from .conditions import Conditions, differentiate
from .linearization import SMALL, Arrays, Linearization, Pair, RowForm, as_smoothing, check_path
from .saddle import PIVOT
from .sides import note_cones


class Linearizations:
    """Optimality conditions of the programs of a batch, linearized at their answers: see `Linearization`.

    Parameters
    ----------
    form : RowForm
        Form whose arrays have a leading axis; P and the blocks are arrays.
    parts, slacks : tuples of arrays
        Arrays of `Linearization` with a leading axis: a row for each program.
    smoothing : float
    has_axis : dict of bool
        True for arguments that were given with a leading axis.
    """

    def __init__(
        self, form: RowForm, parts: Arrays, slacks: Arrays, smoothing: float, has_axis: dict[str, bool]
    ) -> None:
        self.mu, self.has_axis, B = as_smoothing(smoothing), has_axis, side_by_side(*form.blocks)
        (self.k, n), self.m, r = parts[0].shape, B.shape[1], form.limits.shape[1] // 2
        self.form, self._given = form._replace(blocks=(B,)), sum([part.shape[1] for part in slacks])
        self._answer = np.concatenate([*parts, np.empty((self.k, r)), *slacks, np.zeros((self.k, 2))], axis=1)
        self.x, self.w, self.share = np.split(self._answer[:, : n + 2 * r], [n, n + r], axis=1)
        self.differentiable = np.zeros(self.k, bool)

    def solve(self, a: np.ndarray, b: np.ndarray, below: np.ndarray | None = None) -> Pair:
        """Run `Linearization.solve` with a right-hand side for each program; compute the points, too."""
        form, (n, m, r), answer = self.form, (self.x.shape[1], self.m, self.w.shape[1]), self._answer
        right = np.concatenate([a, b] if below is None else [a, b, below], axis=1)
        answer[:, -2:], is_small = 0.0, n * (n + m) <= SMALL
        if is_small:
            B = form.blocks[0]
            conditions = Conditions(
                n=n, m=m, r=r, given=self._given, P=form.P.reshape(-1, n * n), B=B.reshape(len(B), m * n), c=form.c,
                limits=form.limits, answer=answer, right=right,
            )  # fmt: skip
            conditions.sides.mu = self.mu
            note_cones(conditions.sides, *form.layout, form.before)
            step = max(1, int(WORK / (n + m + 1) ** 3))
            for begin in range(0, self.k, step):
                differentiate(conditions, begin, min(begin + step, self.k))
        check_path(answer[:, -2].min(), self.mu)
        self.differentiable = answer[:, -1] > 0.0
        for i in np.flatnonzero(~(answer[:, -2] > PIVOT)):
            P, c, B, limits = (part[i % len(part)] for part in (form.P, form.c, form.blocks[0], form.limits))
            own = form._replace(P=hessian_of(P, n), c=c, blocks=(csc_of_dense(B),), limits=limits)
            slacks, is_dense = answer[i, n + 2 * r : -2], False if is_small else None
            one = Linearization(own, (self.x[i], self.w[i]), (slacks,), self.mu, is_dense)
            right[i, : n + r] = np.concatenate(one.solve(a[i], b[i], None if below is None else below[i]))
            self.x[i], self.w[i], self.share[i] = one.x, one.w, one.share
            self.differentiable[i] = one.differentiable
        return right[:, :n], right[:, n : n + r]

    def find(self) -> None:
        """Compute the points at which the conditions are linearized."""
        self.solve(np.zeros_like(self.x), np.zeros_like(self.w))

    def vector(self, name: str, value: Any, size: int) -> np.ndarray:
        """Return `value` as finite vectors, one row for each program."""
        if value is None:
            return np.zeros((self.k, size))
        rows = as_vector(name, value, size, spread=True, leading=True)
        check_finite(name, rows)
        if rows.ndim == 2 and len(rows) not in (1, self.k):
            raise ProgramError(f"{name} must have a row for each of {self.k} programs, but {len(rows)} came")
        return np.array(np.broadcast_to(rows, (self.k, size)))

    def matrix(self, name: str, value: Any, rows: int) -> np.ndarray:
        """Return `value` as finite matrices, one for each program or one for all."""
        shape = rows, self.x.shape[1]
        found = as_dense(name, value, shape, leading=True)
        if found.ndim == 3 and len(found) != self.k:
            raise ProgramError(f"{name} must have a matrix for each of {self.k} programs, but {len(found)} came")
        return found.reshape(-1, *shape)

    def total(self, name: str, gradient: np.ndarray) -> np.ndarray:
        """Return the gradients with respect to vectors of the programs, or the sum if they share the vector."""
        return gradient if self.has_axis[name] else np.ones(self.k) @ gradient

    def symmetric(self, name: str, matrix: Any, u: np.ndarray, x: np.ndarray) -> Any:
        """Return -(u x' + x u') / 2, the gradients with respect to symmetric matrices, or the sum if shared."""
        product = u[:, :, None] * x[:, None, :] if self.has_axis[name] else u.T @ x
        return -0.5 * (product + np.swapaxes(product, -1, -2))

    def products(self, name: str, matrix: Any, w: np.ndarray, u: np.ndarray, r: np.ndarray, x: np.ndarray) -> Any:
        """Return -(w u' + r x'), the gradients with respect to matrices, or the sum if programs share the matrix."""
        if self.has_axis[name]:
            return -(w[:, :, None] * u[:, None, :]) - r[:, :, None] * x[:, None, :]
        return -(w.T @ u) - r.T @ x


def refuse_failed(many: Any) -> None:
    """Raise ProgramError with the number of the first program whose answer is not optimal."""
    if many.status.tolist().count(Status.OPTIMAL) < len(many):  # faster than comparing arrays
        failed = np.flatnonzero(many.status != Status.OPTIMAL)[0]
        raise ProgramError(
            f"only an optimal answer has a derivative, but the status of program {failed} is "
            f"{many.status[failed].value!r}"
        )


def side_by_side(*parts: np.ndarray) -> np.ndarray:
    """Concatenate arrays along their second axis; each has a row for each program or one row for all."""
    count = max(map(len, parts))
    wide = [part if len(part) == count else np.broadcast_to(part, (count, *part.shape[1:])) for part in parts]
    return np.concatenate(wide, axis=1)
