"""How the answers to many quadratic programs of one shape move with their data, all at once.

As `derivatives`, with a leading axis.  What all programs share has the sum of their gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.batch.derivatives import WORK, BatchDerivatives, times, times_transposed
from socp.linalg.saddle import PIVOT

from .derivatives import NEAR, Gradient, Sensitivity, Tangent, held_by, solve_held


class Sensitivities(BatchDerivatives):
    """The optimality conditions of the programs of a batch, linearized at their answers.

    Parameters
    ----------
    programs : `qp.batch.Programs`
    many : `qp.batch.Solutions`
        Their answers, all optimal.
    smoothing : float
        As in `Sensitivity`.
    """

    def __init__(self, programs: Any, many: Any, smoothing: float) -> None:
        super().__init__(programs, many, smoothing)
        self.n, self.m = programs.n, programs.m
        self.x, self.multipliers = many.x.copy(), np.concatenate([many.y, many.z_bounds], axis=1)
        self.lower, self.upper = (
            np.concatenate([np.broadcast_to(part, (self.k, part.shape[1])) for part in sides], axis=1)
            for sides in ((programs.l, programs.lb), (programs.u, programs.ub))
        )
        held = held_by(self.lower, self.upper, self._values(), self.multipliers)
        self.share_upper, self.share_lower, self.E, self.held = held.upper, held.lower, held.E, held.E == 0.0
        self.differentiable: np.ndarray = np.all(held.is_strict, axis=1)

    def _values(self) -> np.ndarray:
        return np.concatenate([times(self.programs.A, self.x), self.x], axis=1)

    def _solve(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(u, w) of `Sensitivity` for a right-hand side of each program; takes the answers to more digits, too."""
        programs, n, m, k = self.programs, self.n, self.m, self.k
        alone = np.arange(k)
        right = np.concatenate([a, b, np.zeros((k, 2 * n + m))], axis=1)
        if self.mu == 0.0:
            start, size = np.where(self.held, self.multipliers, 0.0), 2 * n + m
            P, A = programs.P.reshape(-1, n * n), programs.A.reshape(-1, m * n) if m else np.zeros((1, 0))
            side = np.where(self.share_upper > 0.0, self.upper, self.lower)
            right[:, size : size + n] = -(
                times(programs.P, self.x) + programs.q + times_transposed(programs.A, start[:, :m]) + start[:, m:]
            )
            right[:, size + n :] = np.where(self.held, np.where(self.held, side, 0.0) - self._values(), 0.0)
            quality, step = np.empty(k), max(1, int(WORK / (n + m + 1) ** 3))
            for begin in range(0, k, step):
                solve_held(n, m, P, A, self.E, right, quality, begin, min(begin + step, k))
            u, w = right[:, size : size + n], right[:, size + n :]
            limit = NEAR * (1.0 + np.abs(self.x).max(axis=1, initial=0.0))
            near = (quality > PIVOT) & (np.abs(u).max(axis=1, initial=0.0) <= limit)
            self.x[near] += u[near]
            self.multipliers[near] = (start + w)[near]
            alone = np.flatnonzero(~(quality > PIVOT))
        for i in alone:
            one = Sensitivity(
                programs.program(int(i)), self.x[i], self.multipliers[i, :m], self.multipliers[i, m:], self.mu
            )
            right[i, :n], right[i, n : 2 * n + m] = one.solve(a[i], b[i])
            self.x[i], self.multipliers[i], self.differentiable[i] = one.x, one.multipliers, one.differentiable
            self.share_upper[i], self.share_lower[i] = one.share_upper, one.share_lower
        return right[:, :n], right[:, n : 2 * n + m]

    def gradient(self, dx: Any = None, dy: Any = None, dz_bounds: Any = None) -> Gradient:
        """The gradients by all data of one number of each answer, or of their sum by what the programs share."""
        n, m, x = self.n, self.m, self.x
        b = np.concatenate([self._rows("dy", dy, m), self._rows("dz_bounds", dz_bounds, n)], axis=1)
        u, w = self._solve(self._rows("dx", dx, n), b)
        upper, lower, y = self.share_upper * w, self.share_lower * w, self.multipliers[:, :m]
        P = self._outer("P", u, x)
        return Gradient(
            -0.5 * (P + np.swapaxes(P, -1, -2)), self._summed("q", -u),
            -self._outer("A", y, u) - self._outer("A", w[:, :m], x), self._summed("l", lower[:, :m]),
            self._summed("u", upper[:, :m]), self._summed("lb", lower[:, m:]), self._summed("ub", upper[:, m:]),
            self.differentiable,
        )  # fmt: skip

    def tangent(
        self, dP: Any = None, dq: Any = None, dA: Any = None, dl: Any = None, du: Any = None, dlb: Any = None,
        dub: Any = None,
    ) -> Tangent:  # fmt: skip
        """The derivative of each answer along a change of its data; what has no leading axis changes for all."""
        n, m = self.n, self.m
        right = -self._rows("dq", dq, n)
        lower = np.concatenate([self._rows("dl", dl, m), self._rows("dlb", dlb, n)], axis=1)
        upper = np.concatenate([self._rows("du", du, m), self._rows("dub", dub, n)], axis=1)
        if self.mu > 0.0 or dP is not None or dA is not None:
            self._solve(right, np.zeros_like(lower))  # x and the shares first
        sides = self.share_upper * upper + self.share_lower * lower
        if dP is not None:
            P = self._matrices("dP", dP, (n, n))
            right -= times(0.5 * (P + np.swapaxes(P, 1, 2)), self.x)
        if dA is not None:
            A = self._matrices("dA", dA, (m, n))
            right -= times_transposed(A, self.multipliers[:, :m])
            sides[:, :m] -= times(A, self.x)
        u, w = self._solve(right, sides)
        return Tangent(u, w[:, :m], w[:, m:], self.differentiable)
