"""How the answers to many programs of one shape move with their data, all at once.

What all programs share has the sum of their gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg.saddle import PIVOT
from ..problem.checks import ProgramError, as_dense, as_vector, check_finite
from ..problem.conditions import Conditions, differentiate
from ..problem.derivatives import SMALL, Gradient, Linearization, Tangent, as_smoothing
from ..problem.status import Status
from .lots import WORK


class BatchDerivatives:
    """The arguments and results of the derivatives of a batch.

    Parameters
    ----------
    programs : object
        `has_axis` says of each argument whether it has a leading axis.
    many : Answers
        All optimal.
    smoothing : float
    """

    def __init__(self, programs: Any, many: Any, smoothing: float) -> None:
        failed = np.flatnonzero(many.status != Status.OPTIMAL)
        if failed.size:
            raise ProgramError(
                f"only an optimal answer has a derivative, but the status of program {failed[0]} is "
                f"{many.status[failed[0]].value!r}"
            )
        self.programs, self.mu, self.k = programs, as_smoothing(smoothing), len(many)

    def _rows(self, name: str, value: Any, size: int) -> np.ndarray:
        """A vector for each program."""
        if value is None:
            return np.zeros((self.k, size))
        rows = as_vector(name, value, size, spread=True, leading=True)
        check_finite(name, rows)
        if rows.ndim == 2 and len(rows) not in (1, self.k):
            raise ProgramError(f"{name} must have a row for each of {self.k} programs, but {len(rows)} came")
        return np.array(np.broadcast_to(rows, (self.k, size)))

    def _matrices(self, name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
        """A matrix for each program, or one for all."""
        found = as_dense(name, value, shape, leading=True)
        if found.ndim == 3 and len(found) != self.k:
            raise ProgramError(f"{name} must have a matrix for each of {self.k} programs, but {len(found)} came")
        return found.reshape(-1, *shape)

    def _summed(self, name: str, rows: np.ndarray) -> np.ndarray:
        """The gradients of the programs' own vectors, or their sum."""
        return rows if self.programs.has_axis[name] else rows.sum(axis=0)

    def _outer(self, name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The outer products of a matrix's gradient, or their sum."""
        return left[:, :, None] * right[:, None, :] if self.programs.has_axis[name] else left.T @ right


class Linearizations(BatchDerivatives):
    """The optimality conditions of the cone programs of a batch, linearized at their answers: see `Linearization`."""

    def __init__(self, programs: Any, many: Any, smoothing: float) -> None:
        super().__init__(programs, many, smoothing)
        self.n, self.p, self.m = many.x.shape[1], many.y.shape[1], many.z.shape[1]
        self.points = np.concatenate([many.x, many.y, many.z, many.s], axis=1)
        self.differentiable = np.zeros(self.k, bool)

    def _parts(self) -> list[np.ndarray]:
        """x, y and z of all."""
        n, p, m = self.n, self.p, self.m
        return np.split(self.points[:, : n + p + m], [n, n + p], axis=1)

    def _solve(self, right: np.ndarray) -> list[np.ndarray]:
        """(u, w, dz) for a right-hand side (a, b, r) of each program; takes the answers to more digits, too."""
        programs, n, p, m, k = self.programs, self.n, self.p, self.m, self.k
        quality, right = np.zeros((k, 2)), np.ascontiguousarray(right)
        given = right.copy()
        if (n + p) * (n + p + m) <= SMALL:
            B, sides = (
                np.concatenate([np.broadcast_to(part, (max(map(len, both)), *part.shape[1:])) for part in both], axis=1)
                for both in ((programs.A, programs.G), (programs.b, programs.h))
            )
            conditions = Conditions(
                n=n, p=p, m=m, P=programs.P.reshape(-1, n * n), B=B.reshape(len(B), (p + m) * n), c=programs.c,
                sides=sides, point=self.points, right=right, quality=quality,
            )  # fmt: skip
            conditions.mu = self.mu
            step, layout = max(1, int(WORK / (n + p + m) ** 3)), programs.program(0).cone_layout
            for begin in range(0, k, step):
                differentiate(conditions, *layout, begin, min(begin + step, k))
        self.differentiable = quality[:, 1] > 0.0
        for i in np.flatnonzero(~(quality[:, 0] > PIVOT)):
            x, y, z, s = np.split(self.points[i], [n, n + p, n + p + m])
            one = Linearization(programs.program(int(i)), x, y, z, s, self.mu)
            right[i] = np.concatenate(one.solve(*np.split(given[i], [n, n + p])))
            self.points[i], self.differentiable[i] = one.point, one.differentiable
        return np.split(right, [n, n + p], axis=1)

    def gradient(self, dx: Any = None, dy: Any = None, dz: Any = None, ds: Any = None) -> Gradient:
        """The gradients by all data of one number of each answer, or of their sum by what the programs share."""
        programs, n, m = self.programs, self.n, self.m
        gs = np.where(programs.h == np.inf, 0.0, self._rows("ds", ds, m))
        gx = self._rows("dx", dx, n) - times_transposed(programs.G, gs)
        u, w, r = self._solve(np.concatenate([gx, self._rows("dy", dy, self.p), self._rows("dz", dz, m)], axis=1))
        (x, y, z), r = self._parts(), r + gs
        P = self._outer("P", u, x)
        return Gradient(
            -0.5 * (P + np.swapaxes(P, -1, -2)), self._summed("c", -u),
            -self._outer("A", y, u) - self._outer("A", w, x), self._summed("b", w),
            -self._outer("G", z, u) - self._outer("G", r, x), self._summed("h", r), self.differentiable,
        )  # fmt: skip

    def tangent(
        self, dP: Any = None, dc: Any = None, dA: Any = None, db: Any = None, dG: Any = None, dh: Any = None
    ) -> Tangent:
        """The derivative of each answer along a change of its data; what has no leading axis changes for all."""
        n, p, m = self.n, self.p, self.m
        first, second, third = -self._rows("dc", dc, n), self._rows("db", db, p), self._rows("dh", dh, m)
        if dP is not None or dA is not None or dG is not None:
            self._solve(np.zeros((self.k, n + p + m)))  # the points first
        x, y, z = self._parts()
        if dP is not None:
            P = self._matrices("dP", dP, (n, n))
            first -= times(0.5 * (P + np.swapaxes(P, 1, 2)), x)
        if dA is not None:
            A = self._matrices("dA", dA, (p, n))
            first, second = first - times_transposed(A, y), second - times(A, x)
        if dG is not None:
            G = self._matrices("dG", dG, (m, n))
            first, third = first - times_transposed(G, z), third - times(G, x)
        always = self.programs.h == np.inf
        third = np.where(always, 0.0, third)
        u, w, r = self._solve(np.concatenate([first, second, third], axis=1))
        return Tangent(u, w, r, np.where(always, 0.0, third - times(self.programs.G, u)), self.differentiable)


def times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The products of matrices, one for each vector or one for all, with the rows of an array."""
    if matrices.shape[0] == 1:
        return np.asarray(vectors @ matrices[0].T)
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def times_transposed(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """`times` of the transposed matrices."""
    return times(np.swapaxes(matrices, 1, 2), vectors)
