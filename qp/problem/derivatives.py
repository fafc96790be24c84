r"""How the answer to a quadratic program moves with its data.

At a strictly complementary answer the rows and bounds that hold it back, a, stay equations, and

    [ P    A_a'  I_a' ] [ dx ]       [ dP x + dq + dA'y      ]
    [ A_a  0     0    ] [ dy ]  =  - [ dA_a x - (the side)'  ]       dy, dz = 0 elsewhere: see `Saddle`.
    [ I_a  0     0    ] [ dz ]       [ - (the bound)'        ]

On the central path each side has its slack s, its multiplier z = mu / s and the weight theta = z / s; a row with the
sides u and l, y = z_u - z_l, becomes

    dA x + A dx - dy / (theta_u + theta_l)  =  (theta_u du + theta_l dl) / (theta_u + theta_l).

Rows and bounds are treated alike, one after the other: below, `sides` are those of both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from socp.compiled.kernels import deferred_kernel
from socp.compiled.signatures import Bools, Floats, Matrix
from socp.linalg.saddle import PIVOT, Saddle, factor_saddle, solve_saddle
from socp.problem.checks import ProgramError, as_csc
from socp.problem.conditions import expand, is_weak
from socp.problem.derivatives import (
    NO_PATH,
    ON_PATH,
    Point,
    as_change,
    as_smoothing,
    damped_newton,
    dense_if_full,
    largest_of,
    norm_of,
    on_pattern,
    raised,
    symmetric_change,
)

from .program import QuadraticProgram

SMALL = 80  # variables and rows up to which one call factors and solves
NEAR = 1e-4  # a step to more digits of an answer is at most so long, relative to it


class Gradient(NamedTuple):
    """The gradient of a number of the answer by all data of a quadratic program.

    Attributes
    ----------
    P, A : arrays or CSC, or None
        Sparse where the data are, on their pattern; that by P is symmetric.
    q, l, u, lb, ub : arrays
        Zero by an infinite side; both sides of an equality have one half of the gradient by their common value.
    differentiable : bool, or an array of a batch
        Whether the answer has a derivative; else this is the element of least norm.
    """

    P: Any
    q: np.ndarray
    A: Any
    l: np.ndarray
    u: np.ndarray
    lb: np.ndarray
    ub: np.ndarray
    differentiable: bool | np.ndarray


class Tangent(NamedTuple):
    """The derivative of the answer to a quadratic program along a change of the data.

    Attributes
    ----------
    x, y, z_bounds : arrays
    differentiable : bool, or an array of a batch
        Whether the answer has a derivative; else this is the element of least norm.
    """

    x: np.ndarray
    y: np.ndarray
    z_bounds: np.ndarray
    differentiable: bool | np.ndarray


class Held(NamedTuple):
    """Which sides hold an answer back; arrays with an entry for each row and then each variable.

    Attributes
    ----------
    upper, lower : arrays
        The shares of the sides in the row: 1 for the one that holds, one half each for an equality, else 0.
    E : array
        0 where a side holds, infinity elsewhere.
    is_strict : array of bool
        Whether slack and multiplier say the same.
    """

    upper: np.ndarray
    lower: np.ndarray
    E: np.ndarray
    is_strict: np.ndarray


def held_by(lower: np.ndarray, upper: np.ndarray, values: np.ndarray, multipliers: np.ndarray) -> Held:
    """The sides that hold, by whether the slack or the multiplier is larger."""
    shares = np.empty((3, *lower.shape))
    is_strict = np.empty(lower.shape, bool)
    find_held(
        lower.ravel(), upper.ravel(), values.ravel(), multipliers.ravel(), shares.reshape(3, -1), is_strict.ravel()
    )
    return Held(shares[0], shares[1], shares[2], is_strict)


class Sensitivity:
    """The optimality conditions of a quadratic program, linearized at its answer.

    Parameters
    ----------
    program : QuadraticProgram
    x, y, z : arrays
        An optimal answer (x, y, z_bounds).
    smoothing : float, default 0
        The mu of the point on the central path that is differentiated in its place.

    Attributes
    ----------
    x, multipliers : arrays
        That point, or the answer, to more digits once it was solved with; y and z_bounds one after the other.
    differentiable : bool
    """

    def __init__(
        self, program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, smoothing: float = 0.0
    ) -> None:
        if hasattr(program.P, "expansion"):
            raise ProgramError("a program whose P gives rows has no derivative by its data here: give P as a matrix")
        self.program, self.mu = program, as_smoothing(smoothing)
        self.saddle: Saddle | None
        self.P: Any
        self.A: Any
        self.P, self.A, self.saddle = program.P, program.A, None
        is_small = self.mu == 0.0 and program.n + program.m <= SMALL
        if is_small:
            self.P, self.A = _expanded(program.P, program.n, program.n), _expanded(program.A, program.m, program.n)
        else:
            self.A = dense_if_full(program.A)
        self.lower, self.upper = np.concatenate([program.l, program.lb]), np.concatenate([program.u, program.ub])
        self.x, self.multipliers = x, np.concatenate([y, z])
        if self.mu > 0.0:
            self._follow()
        else:
            held = held_by(self.lower, self.upper, self._values(x), self.multipliers)
            self.E, self.share_upper, self.share_lower = held.E, held.upper, held.lower
            self.differentiable = bool(held.is_strict.all())
            if not is_small:
                self._polish()

    def _values(self, x: np.ndarray) -> np.ndarray:
        """What the sides are of."""
        return np.concatenate([self.A @ x, x])

    def _linearize(self, E: np.ndarray, upper: np.ndarray, lower: np.ndarray) -> Saddle:
        """Factor the system with these weights and shares of the sides."""
        m = self.program.m
        self.E, self.share_upper, self.share_lower = E, upper, lower
        self.saddle = Saddle(self.P, self.A, E[:m], E[m:])
        return self.saddle

    def solve(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(u, w) with Pu + A'w + w_bounds = a and (A u, u) - E w = b where w is free.

        Of a small program, one call factors, solves, and takes the answer to more digits.
        """
        n, m = self.program.n, self.program.m
        if self.saddle is None:
            start, first, second = self._newton_system()
            right, quality = np.concatenate([a, b, first, second])[None], np.zeros(1)
            solve_held(n, m, self.P.reshape(1, -1), self.A.reshape(1, -1), self.E[None], right, quality, 0, 1)
            if quality[0] > PIVOT:
                found, size = right[0], 2 * n + m
                u, w, du, dw = found[:n], found[n:size], found[size : size + n], found[size + n :]
                if np.abs(du).max(initial=0.0) <= NEAR * (1.0 + np.abs(self.x).max(initial=0.0)):
                    self.x, self.multipliers = self.x + du, start + dw
                return u, w
            self._polish()
        assert self.saddle is not None
        u, w, t = self.saddle.solve(a, b[:m], b[m:])
        return u, np.concatenate([w, t])

    def _dual_residual(self, x: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        P, m = self.P, self.program.m
        left: np.ndarray = self.program.q + self.A.T @ multipliers[:m] + multipliers[m:]
        return left if P is None else left + P @ x

    def _newton_system(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The multipliers of the sides that hold, and the right-hand side of the step to the answer to more digits."""
        held, side = self.E == 0.0, np.where(self.share_upper > 0.0, self.upper, self.lower)
        start = np.where(held, self.multipliers, 0.0)
        return start, -self._dual_residual(self.x, start), np.where(held, side - self._values(self.x), 0.0)

    def _polish(self) -> None:
        """Take that step where it leaves a smaller residual."""
        saddle, held = self._linearize(self.E, self.share_upper, self.share_lower), self.E == 0.0
        self.differentiable &= saddle.is_regular
        start, first, second = self._newton_system()
        before = self._dual_residual(self.x, self.multipliers), np.where(held, second, self.multipliers)
        u, w = self.solve(first, second)
        last = self.x, self.multipliers
        self.x, self.multipliers = self.x + u, start + w
        now = self._dual_residual(self.x, self.multipliers), np.where(held, self._newton_system()[2], self.multipliers)
        if not norm_of(now) < norm_of(before):
            self.x, self.multipliers = last

    def _follow(self) -> None:
        """The point of the central path at mu, from the answer; v = s - z of upper sides, then of lower ones."""
        mu, equal, values = self.mu, self.lower == self.upper, self._values(self.x)
        sides, sign = np.stack([self.upper, self.lower]), np.array([[1.0], [-1.0]])
        present = np.isfinite(sides) & ~equal
        sides = np.where(present, sides, 0.0)

        def multipliers(free: np.ndarray, v: np.ndarray) -> np.ndarray:
            """Of an equality its own, else those of the upper side less those of the lower one."""
            found: np.ndarray = free + (sign * np.where(present, raised(v, mu) - v, 0.0)).sum(axis=0)
            return found

        def residual(x: np.ndarray, free: np.ndarray, v: np.ndarray) -> Point:
            values = self._values(x)
            above = np.where(present, sign * (values - sides) + raised(v, mu), 0.0)
            return self._dual_residual(x, multipliers(free, v)), np.where(equal, values - self.lower, 0.0), above

        def weigh(v: np.ndarray) -> np.ndarray:
            theta: np.ndarray = np.where(present, mu / raised(v, mu) ** 2, 0.0)
            both = theta.sum(axis=0)
            E = np.divide(1.0, both, out=np.where(equal, 0.0, np.inf), where=both > 0.0)
            self._linearize(E, *np.where(equal, 0.5, np.where(both > 0.0, theta * E, 0.0)))
            return theta

        def step(point: Point, left: Point) -> Point:
            theta = weigh(point[2])
            right = self.share_lower * left[2][1] - self.share_upper * left[2][0]
            u, w = self.solve(-left[0], np.where(equal, -left[1], right))
            change = sign * self._values(u) + left[2]
            return u, np.where(equal, w, 0.0), np.where(present, -(1.0 + theta) * change, 0.0)

        start = np.where(present, sign * (sides - values) - np.maximum(sign * self.multipliers, 0.0), 1.0)
        scale = 1.0 + largest_of((self.program.q, sides))
        point = self.x, np.where(equal, self.multipliers, 0.0), start
        (self.x, free, v), left = damped_newton(point, residual, step, ON_PATH * scale)
        if not left <= 1e-6 * scale:
            raise ProgramError(NO_PATH.format(mu))
        self.multipliers = multipliers(free, v)
        weigh(v)
        assert self.saddle is not None
        self.differentiable = self.saddle.is_regular

    def gradient(self, dx: Any = None, dy: Any = None, dz_bounds: Any = None) -> Gradient:
        """The gradient by all data of a number of which dx, dy, dz_bounds are the gradients by the answer."""
        program, m = self.program, self.program.m
        b = np.concatenate([as_change("dy", dy, m), as_change("dz_bounds", dz_bounds, program.n)])
        u, w = self.solve(as_change("dx", dx, program.n), b)
        upper, lower = self.share_upper * w, self.share_lower * w
        return Gradient(
            on_pattern(program.P, -0.5 * u, self.x, -0.5 * self.x, u), -u,
            on_pattern(program.A, -self.multipliers[:m], u, -w[:m], self.x),
            lower[:m], upper[:m], lower[m:], upper[m:], self.differentiable,
        )  # fmt: skip

    def tangent(
        self, dP: Any = None, dq: Any = None, dA: Any = None, dl: Any = None, du: Any = None, dlb: Any = None,
        dub: Any = None,
    ) -> Tangent:  # fmt: skip
        """The derivative of the answer along a change of the data."""
        n, m = self.program.n, self.program.m
        right = -as_change("dq", dq, n)
        lower = np.concatenate([as_change("dl", dl, m), as_change("dlb", dlb, n)])
        upper = np.concatenate([as_change("du", du, m), as_change("dub", dub, n)])
        sides = self.share_upper * upper + self.share_lower * lower
        if self.saddle is None and (dP is not None or dA is not None):
            self.solve(right, sides)  # x to more digits first
        if dP is not None:
            right -= symmetric_change("dP", dP, n) @ self.x
        if dA is not None:
            A = as_csc("dA", dA, (m, n))
            right -= A.T @ self.multipliers[:m]
            sides[:m] -= A @ self.x
        u, w = self.solve(right, sides)
        return Tangent(u, w[:m], w[m:], self.differentiable)


def _expanded(matrix: Any, rows: int, columns: int) -> np.ndarray:
    """A matrix, or None for zeros, as an array."""
    if isinstance(matrix, np.ndarray):
        return matrix
    found = np.zeros(rows * columns)
    if matrix is not None:
        expand(matrix.indptr, matrix.indices, matrix.data, found, 0)
    return found.reshape(rows, columns)


@deferred_kernel
def find_held(lower: Floats, upper: Floats, values: Floats, multipliers: Floats, shares: Matrix, strict: Bools) -> None:
    """(upper, lower, E) := shares; strict[i] := whether slack and multiplier of side i say the same."""
    for i in range(lower.size):
        z, above, below = multipliers[i], upper[i] - values[i], values[i] - lower[i]
        equal = lower[i] == upper[i]
        at_upper, at_lower = not equal and z > above, not equal and -z > below
        shares[0, i] = 0.5 if equal else (1.0 if at_upper else 0.0)
        shares[1, i] = 0.5 if equal else (1.0 if at_lower else 0.0)
        shares[2, i] = 0.0 if equal or at_upper or at_lower else np.inf
        strict[i] = equal or not (is_weak(max(above, 0.0), max(z, 0.0)) or is_weak(max(below, 0.0), max(-z, 0.0)))


@deferred_kernel
def solve_held(
    n: int, m: int, P: Matrix, A: Matrix, E: Matrix, right: Matrix, quality: Floats, begin: int, end: int
) -> None:
    """(u, w, t) := the solutions of the systems of the rows and bounds that hold, for both (a, b, f) of each program.

    E is that of `Held`.
    quality[p] := the smallest pivot of program p beside its diagonal entry, 0 where there are no factors.
    """
    H, L, C, Y = np.empty(n * n), np.empty(n * n), np.empty(m * n), np.empty(m * n)
    S, room, a, b = np.empty(m * m), np.empty(n + m + 1), np.empty(n), np.empty(m)
    free, rows, size = np.empty(n, np.int64), np.empty(m, np.int64), 2 * n + m
    u, w, left = np.empty(n), np.empty(m), np.empty(n)
    for p in range(begin, end):
        P_own, A_own, holds = P[min(p, P.shape[0] - 1)], A[min(p, A.shape[0] - 1)], E[p]
        nf, q = 0, 0
        for j in range(n):
            if holds[m + j] != 0.0:
                free[nf] = j
                nf += 1
        for i in range(m):
            if holds[i] == 0.0:
                rows[q] = i
                q += 1
        for i in range(nf):
            row, own = H[i * nf : (i + 1) * nf], P_own[free[i] * n : (free[i] + 1) * n]
            for j in range(nf):
                row[j] = own[np.uint64(free[j])]
        for i in range(q):
            row, own = C[i * nf : (i + 1) * nf], A_own[rows[i] * n : (rows[i] + 1) * n]
            for j in range(nf):
                row[j] = own[np.uint64(free[j])]
        quality[p] = 0.0
        if q <= nf:
            quality[p] = factor_saddle(
                nf, q, H[: nf * nf], C[: q * nf], L[: nf * nf], Y[: q * nf], S[: q * q], room[: nf + q + 1]
            )
        if not quality[p] > 0.0:
            continue
        for r in range(2):
            v = right[p, r * size : (r + 1) * size]
            for j in range(n):
                u[j] = v[n + m + j] if holds[m + j] == 0.0 else 0.0
            for i in range(m):
                w[i] = 0.0
            last = 2 - r  # solve, refine what is not a correction itself, and see what is left in the end
            for turn in range(last + 1):
                for j in range(n):
                    value, own = v[j], P_own[j * n : (j + 1) * n]
                    for i in range(n):
                        value -= own[i] * u[i]
                    left[j] = value
                for i in range(q):
                    own, value, weight = A_own[rows[i] * n : (rows[i] + 1) * n], v[n + rows[i]], w[rows[i]]
                    for j in range(n):
                        left[j] -= own[j] * weight
                    for j in range(n):
                        value -= own[j] * u[j]
                    b[i] = value
                if turn == last:
                    break
                for i in range(nf):
                    a[i] = left[free[i]]
                solve_saddle(
                    nf, q, H[: nf * nf], C[: q * nf], L[: nf * nf], Y[: q * nf], S[: q * q], room[: nf + q + 1],
                    a[:nf], b[:q],
                )  # fmt: skip
                for i in range(nf):
                    u[free[i]] += a[i]
                for i in range(q):
                    w[rows[i]] += b[i]
            for j in range(n):
                v[j], v[n + m + j] = u[j], left[j] if holds[m + j] == 0.0 else 0.0
            for i in range(m):
                v[n + i] = w[i]
