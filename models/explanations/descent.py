r"""Coordinate descent for explanations of sparse samples: no matrix of inner products is formed.

The program is `programs.explanations.explained_dual` in u = (alpha_i y_i, lambda_j).  With the rows F = (x_i, d_j) it
is the dual of `linear.dual` with one more row,

    minimize  1/2 |F'u|^2 - sum_i y_i u_i (+ sum_j lambda_j^2 / (4 Q_j)),   low <= u <= high,   sum_i u_i = 0

The multiplier of this row is b, found by the method of multipliers: B^2 / 2 (sum_i u_i)^2 is added to the objective,
which is a feature of value B in every sample and in no d_j; after a descent with y - b for y, b rises by B^2 sum_i u_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp

from ..base.answers import Built
from ..linear.coordinate_descent import LEAST_VIOLATION, coordinates_of, descend, take_newton_steps
from ..linear.dual import Answer, Dual, solution_of
from ..margins.multipliers import INSIDE_MARGIN, NOT_SUPPORT, ON_MARGIN, WRONG_SIDE

PENALTY = 1.0  # B of the method of multipliers
A_ROUND = 20  # passes of descent between two updates of b
NEWTON_EVERY = 100  # passes (a multiple of A_ROUND) between Newton steps on the multipliers off their bounds


class Descent:
    """Dual of one machine with finite C, and the state of its last descent; the rows of F are x_i, then d_j."""

    def __init__(self, F: Any, y: np.ndarray, C: np.ndarray, bias: bool) -> None:
        self.y, self.C, self.bias, self.b = y, C, bias, 0.0
        self.F, self.q = F, np.concatenate([y, np.zeros(F.shape[0] - y.size)])
        self.row = self.q != 0.0
        self.rows = sp.hstack([F, sp.csr_array(PENALTY * self.row[:, None])], format="csr") if bias else F
        self.u = np.zeros(self.q.size)

    def solve(self, Q: np.ndarray, is_squared: bool, tol: float, passes: int) -> Answer:
        """Descend to a relative gap of `tol` in at most `passes` passes; set `dual`, the program without its row."""
        most = np.where(Q > 0.0, np.inf, 0.0) if is_squared else Q
        damping = np.divide(0.5, Q, out=np.zeros(Q.size), where=(Q > 0.0) & is_squared)
        damping = np.concatenate([0.0 * self.C, damping])
        low = np.concatenate([np.minimum(0.0, self.C * self.y), -most])
        high = np.concatenate([np.maximum(0.0, self.C * self.y), most])
        self.dual = Dual(self.F, 0.0, self.q, 0.0, damping, low, high)
        step = Dual(self.rows, 0.0, self.q - self.b * self.row, 0.0, damping, low, high)
        state, goal, done, best = coordinates_of(step, 0), 0.1, 0, None
        state.beta[:] = np.clip(self.u, low, high)
        state.w[:] = step.weights(state.beta)
        while True:
            allowed = min(A_ROUND, passes - done)
            count = descend(state, goal, allowed)
            done += count
            if count == allowed and done % NEWTON_EVERY == 0:  # descent is slow
                found = take_newton_steps(step, step.measured(state.beta.copy(), done), tol)
                state.beta[:], state.w[:] = found.beta, found.w
            if self.bias:
                self.b += PENALTY * float(state.w[-2])
                step.q = self.q - self.b * self.row
                state.q[:] = step.q
            answer = self.certified(state.beta.copy(), done, tol)
            if best is None or answer.gap < best.gap:
                best, self.u = answer, state.beta.copy()
            best.passes = done
            if best.converged or done >= passes:
                return best
            if count < allowed:
                goal = max(LEAST_VIOLATION, 0.3 * goal)

    def certified(self, u: np.ndarray, passes: int, tol: float) -> Answer:
        """Return the answer at `u` once its row holds; its gap is between feasible points of the machine's program."""
        if not self.bias:
            return self.dual.measured(u, passes, tol)
        answer = self.dual.measured(self.with_row(u), passes)
        left = self.q - self.dual.scores(answer.w)
        squares = 0.5 * float(answer.w @ answer.w)
        answer.objective = squares + self.dual.loss(left - self.row * self.intercept(left[: self.y.size]))
        answer.converged = answer.gap <= tol
        return answer

    def with_row(self, u: np.ndarray) -> np.ndarray:
        """Return u corrected to sum_i u_i = 0, starting with the samples nearest to the margin."""
        n, u = self.y.size, u.copy()
        excess = float(u[:n].sum())
        ends = (self.dual.low if excess > 0.0 else self.dual.high)[:n]
        order = np.argsort(np.abs(self.q[:n] - self.F[:n] @ (self.F.T @ u) - self.b), kind="stable")
        room = np.abs(u[:n] - ends)[order]
        taken = np.clip(abs(excess) - np.concatenate([[0.0], np.cumsum(room)[:-1]]), 0.0, room)
        u[order] -= np.sign(excess) * taken
        return u

    def intercept(self, left: np.ndarray) -> float:
        """Return the b that minimizes sum_i C_i max(0, y_i (left_i - b)), a weighted quantile; 0 without a bias."""
        if not self.bias:
            return 0.0
        order = np.argsort(left)
        reached = np.cumsum(self.C[order]) >= self.C[self.y > 0.0].sum()
        return float(left[order][np.argmax(reached)])

    def kinds(self, answer: Answer) -> np.ndarray:
        """Return the kinds of the samples as in `multipliers.tell_apart`; multipliers at bounds are there exactly."""
        n = self.y.size
        alpha, left = np.abs(answer.beta[:n]), self.q[:n] - self.F[:n] @ answer.w[:-1]
        violation = self.y * (left - self.intercept(left))
        at_bound = np.where(violation > 1.0, WRONG_SIDE, INSIDE_MARGIN)
        return np.where(alpha == 0.0, NOT_SUPPORT, np.where(alpha < self.C, ON_MARGIN, at_bound))

    def program(self) -> qp.QuadraticProgram:
        """Return the quadratic program in (F'u, u)."""
        free = self.dual.program()
        if not self.bias:
            return free
        zeros = np.zeros(free.n - self.row.size)
        A = sp.vstack([free.A, sp.csr_array(np.concatenate([zeros, 1.0 * self.row])[None, :])])
        return qp.QuadraticProgram(free.P, free.q, A=A, l=0.0, u=0.0, lb=free.lb, ub=free.ub)

    def built(self, answer: Answer, tol: float) -> Built:
        """Return the program of this descent, and `answer` as a solution of the program."""
        left, program = self.q - self.dual.scores(answer.w), self.program()
        b = np.full(int(self.bias), self.intercept(left[: self.y.size]))
        return program, solution_of(program, answer.beta, b, answer, tol)
