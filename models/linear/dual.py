r"""The dual program of a linear machine, its losses, and answers with both objectives.

With signed multipliers, w = sum_i beta_i x_i, the duals of all linear machines here are one program:

    minimize  1/2 |sum_i beta_i x_i|^2 + 1/2 sum_i d_i beta_i^2 - q'beta + epsilon |beta|_1,    low <= beta <= high

    hinge                      q = y, d = 0,        beta_i between 0 and y_i C_i
    squared hinge              q = y, d = 1 / 2C,   beta_i between 0 and y_i infinity
    epsilon-insensitive        epsilon > 0, d = 0,      |beta_i| <= C_i
    its square                 epsilon > 0, d = 1 / 2C, beta_i free

Its primal is 1/2 |w|^2 + sum_i max_beta [beta (q_i - w'x_i) - epsilon |beta| - d_i beta^2 / 2], over the same bounds,
which for these four is the sum of the losses.  The last feature has the value `bias` in all samples; it is not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
from qp.problem.solution import solution_at
from socp.compiled.exponential import larger, smaller
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats
from socp.compiled.structures import Structure, floats, number
from socp.problem.solution import TIMINGS, TRACE
from socp.problem.status import Status
from socp.verify.stopping import residuals

from ..base.answers import Built
from ..base.estimator import GOOD
from ..base.rows import Rows, rows_of
from ..base.validation import as_dense
from ..kernels.samples import squares
from ..programs.linear import linear_dual

TINY = 1e-300  # positive number in place of 0
ROUGH = 1e-5  # largest residual and gap of status "inaccurate"


class Losses(Structure):
    """Losses max_beta [beta_i r_i - epsilon |beta_i| - d_i beta_i^2 / 2] over low_i <= beta_i <= high_i."""

    damping, inverse, low, high = floats(), floats(), floats(), floats()  # inverse: 1 / d, huge where d = 0
    epsilon = number()


@kernel
def respond(losses: Losses, r: Floats, moved: Floats, t: float, beta: Floats, along: Floats) -> float:
    """Set `beta` to the maximizing multipliers at r - t moved; return the sum of the losses there.

    along := (beta'moved, -d(beta'moved) / dt).
    """
    damping, inverse, low, high, epsilon = losses.damping, losses.inverse, losses.low, losses.high, losses.epsilon
    total, pull, bend = 0.0, 0.0, 0.0
    for i in range(r.size):
        left = r[i] - t * moved[i]
        left = larger(left - epsilon, smaller(left + epsilon, 0.0))
        beta[i] = smaller(larger(left * inverse[i], low[i]), high[i])
        total += beta[i] * (left - 0.5 * damping[i] * beta[i])
        pull += beta[i] * moved[i]
        bend += moved[i] * moved[i] * inverse[i] if low[i] < beta[i] < high[i] and left != 0.0 else 0.0
    along[0], along[1] = pull, bend
    return total


@dataclass
class Answer:
    """Result of `coordinate_descent.solve`.

    Attributes
    ----------
    w : array, shape (features + 1,)
    beta : array, shape (samples,)
    objective, dual_objective : float
        Primal objective at w, and minus the objective of the dual program at beta; their gap certifies both.
    passes : int
    converged : bool
        True if the gap is at most the tolerance.
    unit : float
        Objective at w = 0, at most 1.
    """

    w: np.ndarray
    beta: np.ndarray
    objective: float
    dual_objective: float
    passes: int
    converged: bool
    unit: float = 1.0

    @property
    def gap(self) -> float:
        """Relative duality gap, with the scaling of `qp.Solution.gap`, and where all objectives are small, theirs."""
        return (self.objective - self.dual_objective) / (self.unit + max(abs(self.objective), abs(self.dual_objective)))


@dataclass(eq=False)
class Dual:
    """Dual program of this module's docstring; `bias` is the value of the last feature, 0 for none."""

    X: Any
    bias: float
    q: np.ndarray
    epsilon: float
    damping: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @cached_property
    def rows(self) -> Rows:
        """Samples in the form that compiled code reads."""
        return rows_of(self.X, self.bias)

    @cached_property
    def curvature(self) -> np.ndarray:
        """Diagonal of the Hessian, positive also for samples of zeros."""
        curvature = squares(self.X) + self.bias**2 + self.damping
        return np.where(curvature > 0.0, curvature, TINY)  # moves a sample of zeros to its bound

    @cached_property
    def losses(self) -> Losses:
        """Losses in the form that compiled code reads."""
        inverse = 1.0 / np.maximum(self.damping, TINY)
        losses = Losses(damping=self.damping, inverse=inverse, low=self.low, high=self.high)
        losses.epsilon = self.epsilon
        return losses

    @cached_property
    def unit(self) -> float:
        """Objective at w = 0, at most 1; tolerances are relative to it plus the objective."""
        return min(self.loss(self.q), 1.0) or 1.0

    def every(self, stride: int) -> Dual:
        """Return the program of every `stride`-th sample, each with weight `stride`."""
        X = self.X[::stride] if sp.issparse(self.X) else np.ascontiguousarray(self.X[::stride])
        q, damping = self.q[::stride], self.damping[::stride] / stride
        return Dual(X, self.bias, q, self.epsilon, damping, stride * self.low[::stride], stride * self.high[::stride])

    def near(self, beta: np.ndarray, width: float) -> Dual:
        """Return the program plus width / (2 u_i) (beta_i - `beta`_i)^2, u_i = max(high_i, -low_i); 0 if infinite."""
        more = width / np.maximum(self.high, -self.low)
        return Dual(self.X, self.bias, self.q + more * beta, self.epsilon, self.damping + more, self.low, self.high)

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return w = sum_i beta_i x_i."""
        return np.append(self.X.T @ beta, self.bias * beta.sum())

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return w'x_i of every sample."""
        return np.asarray(self.X @ w[:-1] + self.bias * w[-1])

    def measured(self, beta: np.ndarray, passes: int, tol: float = 0.0, w: np.ndarray | None = None) -> Answer:
        """Return the answer at `beta`, with both objectives; it is converged if its gap is at most `tol`.

        `w` is the sum of beta_i x_i up to rounding; it is computed if None.
        """
        w = self.weights(beta) if w is None else w
        return self.answer(w, beta, w, self.q - self.scores(w), passes, tol)

    def answer(
        self, w: np.ndarray, beta: np.ndarray, mapped: np.ndarray, r: np.ndarray, passes: int, tol: float
    ) -> Answer:
        """Return the answer at `w` and `beta`, where r_i = q_i - w'x_i and `mapped` = sum_i beta_i x_i."""
        dual = float(self.q @ beta - self.epsilon * np.abs(beta).sum() - 0.5 * self.damping @ beta**2)
        primal = 0.5 * float(w @ w) + self.loss(r)
        answer = Answer(w, beta, primal, dual - 0.5 * float(mapped @ mapped), passes, False, self.unit)
        answer.converged = answer.gap <= tol
        return answer

    def loss(self, r: np.ndarray) -> float:
        """Return sum_i max_beta [beta r_i - epsilon |beta| - d_i beta^2 / 2]."""
        return respond(self.losses, r, r, 0.0, np.empty(r.size), np.empty(2))

    def free(self, beta: np.ndarray) -> np.ndarray:
        """Return the indices of the multipliers off their bounds and, if epsilon > 0, off 0."""
        return np.flatnonzero((beta > self.low) & (beta < self.high) & ((beta != 0.0) | (self.epsilon == 0.0)))

    def program(self) -> qp.QuadraticProgram:
        """Return the program in beta, or in (a, a*), beta = a - a*, if epsilon > 0; sparse X adds w = X'beta first."""
        q, low, high, damping = -self.q, self.low, self.high, self.damping
        if self.epsilon > 0.0:
            q, damping = np.concatenate([self.epsilon + q, self.epsilon - q]), np.tile(damping, 2)
            low, high = np.zeros(q.size), np.concatenate([high, -low])
        signed = sp.csr_array(self.X) if sp.issparse(self.X) else as_dense(self.X)
        stack = sp.vstack if sp.issparse(signed) else np.vstack
        extend = sp.hstack if sp.issparse(signed) else np.hstack
        if self.bias:
            signed = extend([signed, np.full((self.q.size, 1), self.bias)])
        if self.epsilon > 0.0:
            signed = stack([signed, -signed])
        return linear_dual(signed, damping, q, low, high)

    def built(self, answer: Answer, tol: float) -> Built:
        """Return `program()`, and `answer` as its solution."""
        v, program = answer.beta, self.program()
        if self.epsilon > 0.0:
            v = np.concatenate([np.maximum(v, 0.0), np.maximum(-v, 0.0)])
        return program, solution_of(program, v, np.zeros(0), answer, tol)


def machine_dual(
    X: Any, bias: float, q: np.ndarray, epsilon: float, C: np.ndarray, is_squared: bool, signs: Any
) -> Dual:  # fmt: skip
    """Return the program of one machine; its multipliers have the given `signs`, 0 for either sign."""
    size = np.full(q.size, np.inf) if is_squared else C
    low, high = np.where(signs > 0.0, 0.0, -size), np.where(signs < 0.0, 0.0, size)
    return Dual(X, bias, q, epsilon, 0.5 / C if is_squared else np.zeros(q.size), low, high)


def solution_of(program: qp.QuadraticProgram, v: np.ndarray, y: np.ndarray, answer: Answer, tol: float) -> qp.Solution:
    """Return the solution of a program of `programs.linear.linear_dual` at `v`, with residuals as measured there.

    `y` holds the multipliers of the rows that follow w = F'v.  The status is "optimal" if the residuals and the gap are
    at most `tol`, or 1e-8 if `tol` is smaller.
    """
    w = answer.w[: program.n - v.size]
    if w.size:
        w = np.asarray(program.A[: w.size, w.size :] @ v)  # the row w = F'v holds to rounding
    x, y = np.concatenate([w, v]), np.concatenate([w, y])
    z = -(program.P @ x + program.q + program.A.T @ y)
    z[: w.size] = 0.0
    z[(z > 0.0) & ~np.isfinite(program.ub) | (z < 0.0) & ~np.isfinite(program.lb)] = 0.0
    found = residuals(program, x, y, z)
    status = Status.OPTIMAL if found.worst <= max(tol, GOOD) else Status.MAX_ITERATIONS
    if answer.converged and status is not Status.OPTIMAL:
        status = Status.INACCURATE if found.worst <= ROUGH else Status.NUMERICAL_ERROR
    words = f"{answer.passes} passes of descent and Newton steps; the largest residual is {found.worst:.1e}"
    trace = np.zeros(1, TRACE)
    trace["iteration"], trace["dual_residual"] = answer.passes, found.relative[1]
    return solution_at(
        program, status, (x, y, z), found, iterations=answer.passes, setup_time=0.0, solve_time=0.0, message=words,
        trace=trace, timings=dict.fromkeys(TIMINGS, 0.0),
    )  # fmt: skip
