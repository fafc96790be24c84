r"""Dual coordinate descent for linear machines: one coordinate at a time, in a random order (Hsieh and others 2008).

With signed multipliers, w = sum_i beta_i x_i, the duals of all linear machines here are one program:

    minimize  1/2 |sum_i beta_i x_i|^2 + 1/2 sum_i d_i beta_i^2 - q'beta + epsilon |beta|_1,    low <= beta <= high

    hinge                      q = y, d = 0,        beta_i between 0 and y_i C_i
    squared hinge              q = y, d = 1 / 2C,   beta_i between 0 and y_i infinity
    epsilon-insensitive        epsilon > 0, d = 0,      |beta_i| <= C_i
    its square                 epsilon > 0, d = 1 / 2C, beta_i free

Its primal is 1/2 |w|^2 + sum_i max_beta [beta (q_i - w'x_i) - epsilon |beta| - d_i beta^2 / 2], over the same bounds,
which for these four is the sum of the losses; with no more features than samples it is solved by Newton's method (see
`primal_newton`).  Descent is fast at first and slow at the end, which Newton's method on the multipliers off their
bounds and off 0 takes over.  The last feature has the value `bias` in all samples; it is not stored.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
from socp.compiled.kernels import kernel
from socp.compiled.structures import Structure, floats, integer, integers, number, structure

from ..base.rows import Rows, add_row, draw, row_times, rows_of
from ..base.validation import as_dense
from ..numerics.newton_minimizer import factored, solve_conjugate_gradients
from ..programs.margins import linear_dual
from .kernels import squares
from .primal_newton import Losses, minimize_losses, respond

LEAST_VIOLATION, TINY = 1e-12, 1e-300  # smallest goal of `descend`; positive number in place of 0
MOST_FACTORED = 600  # most free multipliers whose Newton system is formed and factored
FEW_FREE = 100  # most free multipliers for which Newton steps, being cheap, follow every round of descent
NEWTON_STEPS = 20  # most Newton steps in a round
FEW_ENTRIES = 20_000  # entries of X up to which a round of descent is faster than two Newton steps in the primal
A_ROUND = 100  # passes of descent between two rounds of Newton steps


class Coordinates(Structure):
    """Data of the dual and state of its descent: w = sum_i beta_i x_i, an order of the samples, the random state."""

    rows = structure(Rows)
    q, damping, low, high, curvature = floats(), floats(), floats(), floats(), floats()
    epsilon = number()
    beta, w = floats("samples"), floats("features")
    active = integers()
    random = integer()


@kernel
def descend(state: Coordinates, goal: float, passes: int) -> int:
    """Update beta and w, in random orders of samples, until no optimality condition is violated by more than `goal`.

    Returns the number of passes, at most `passes`.  A multiplier at a bound or at 0 that is held there by more than
    the largest violation of the previous pass is skipped (shrinking); before the end all are visited once more.
    """
    rows, q, damping, low, high, curvature = (
        state.rows, state.q, state.damping, state.low, state.high, state.curvature,
    )  # fmt: skip
    epsilon, beta, w, active, random = state.epsilon, state.beta, state.w, state.active, state.random
    count, left, held, done = active.size, active.size, np.inf, 0
    while done < passes:
        done += 1
        worst, place = 0.0, 0
        for k in range(left - 1):
            random = draw(active, k, left, random)
        while place < left:
            i = active[place]
            old = beta[i]
            slope = row_times(rows, i, w) + damping[i] * old - q[i]
            right = slope + epsilon if old >= 0.0 else slope - epsilon
            left_slope = slope + epsilon if old > 0.0 else slope - epsilon
            margin = np.inf  # slack of the optimality conditions
            if old < high[i]:
                margin = right
            if old > low[i]:
                margin = min(margin, -left_slope)
            if margin >= 0.0:
                if margin > held:
                    left -= 1
                    active[place], active[left] = active[left], i
                else:
                    place += 1
                continue
            worst = max(worst, -margin)
            if curvature[i] * old > slope + epsilon:
                new = old - (slope + epsilon) / curvature[i]
            elif curvature[i] * old < slope - epsilon:
                new = old - (slope - epsilon) / curvature[i]
            else:
                new = 0.0
            new = min(max(new, low[i]), high[i])
            if new != old:
                beta[i] = new
                add_row(rows, i, new - old, w)
            place += 1
        held = worst if worst > 0.0 else np.inf
        if worst <= goal:
            if left == count:
                break
            left, held = count, np.inf
    state.random = random
    return done


@dataclass
class Answer:
    """Result of `solve`.

    Attributes
    ----------
    w : array, shape (features + 1,)
    beta : array, shape (samples,)
    objective, dual_objective : float
        Primal objective at w, and minus the objective of the module's dual at beta; their gap certifies both.
    passes : int
    converged : bool
        True if the gap is at most the tolerance.
    """

    w: np.ndarray
    beta: np.ndarray
    objective: float
    dual_objective: float
    passes: int
    converged: bool

    @property
    def gap(self) -> float:
        """Relative duality gap, with the scaling of `qp.Solution.gap`."""
        return (self.objective - self.dual_objective) / (1.0 + max(abs(self.objective), abs(self.dual_objective)))


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

    def every(self, stride: int) -> Dual:
        """Return the program of every `stride`-th sample, each with weight `stride`."""
        X = self.X[::stride] if sp.issparse(self.X) else np.ascontiguousarray(self.X[::stride])
        q, damping = self.q[::stride], self.damping[::stride] / stride
        return Dual(X, self.bias, q, self.epsilon, damping, stride * self.low[::stride], stride * self.high[::stride])

    def near(self, beta: np.ndarray, width: float) -> Dual:
        """Return the program plus width / (2 u_i) (beta_i - `beta`_i)^2, u_i = max(high_i, -low_i); 0 if infinite."""
        more = width / np.maximum(self.high, -self.low)
        return Dual(self.X, self.bias, self.q + more * beta, self.epsilon, self.damping + more, self.low, self.high)

    def coordinates(self, seed: int) -> Coordinates:
        """Return the state of a descent from beta = 0 with the random state `seed`."""
        given = {name: getattr(self, name) for name in ("rows", "q", "damping", "low", "high", "curvature")}
        state = Coordinates(samples=self.q.size, features=self.X.shape[1] + 1, **given)
        state.epsilon, state.active, state.random = self.epsilon, np.arange(self.q.size), seed
        return state

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
        answer = Answer(w, beta, primal, dual - 0.5 * float(mapped @ mapped), passes, False)
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

    def newton(self, answer: Answer, tol: float) -> Answer:
        """Take Newton steps on the multipliers off their bounds and off 0 while they help; return the last answer."""
        for _ in range(NEWTON_STEPS):
            beta, passes = answer.beta, answer.passes
            F = self.free(beta)
            if F.size == 0:
                return answer
            signs = np.sign(beta[F]) * self.epsilon
            slope = self.scores(answer.w)[F] + self.damping[F] * beta[F] - self.q[F] + signs
            step = self._newton_step(F, -slope)
            low = np.where(signs > 0.0, np.maximum(self.low[F], 0.0), self.low[F])
            high = np.where(signs < 0.0, np.minimum(self.high[F], 0.0), self.high[F])
            best = answer
            for moved in (np.clip(beta[F] + step, low, high), _to_the_first(beta[F], step, low, high)):
                trial = beta.copy()
                trial[F] = moved
                found = self.measured(trial, passes, tol)
                if found.dual_objective >= best.dual_objective:
                    best = found
                    break
            if best is answer:
                return answer
            stays = best.dual_objective - answer.dual_objective <= 1e-15 * (1.0 + abs(answer.objective))
            answer = best
            if answer.converged or stays:
                return answer
        return answer

    def _newton_step(self, F: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        part, damping = self.X[F], self.damping[F]
        if F.size <= MOST_FACTORED:
            product = part @ part.T
            H = (product.toarray() if sp.issparse(product) else product) + self.bias**2
            H[np.diag_indices(F.size)] += damping
            return factored(H)(rhs)

        def multiply(v: np.ndarray) -> np.ndarray:
            return np.asarray(part @ (part.T @ v)) + self.bias**2 * v.sum() + damping * v

        return solve_conjugate_gradients(multiply, self.curvature[F], rhs, 1e-8, 200)


def _to_the_first(x: np.ndarray, step: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return x + t step for the largest t <= 1 within the bounds; entries that stop it are exactly on their bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0.0, (high - x) / step, np.where(step < 0.0, (low - x) / step, np.inf))
    t = min(1.0, float(room.min()))
    ends = np.where(step > 0.0, high, low)
    return np.where(room <= t, ends, np.clip(x + t * step, low, high))


def solve(
    dual: Dual, tol: float, max_iter: int, seed: int, time_limit: float | None, history: list[float]
) -> Answer:  # fmt: skip
    """Minimize to a relative gap of `tol`, in at most `max_iter` passes and about `time_limit` seconds.

    With no more features than samples the primal is solved, in small programs after a round of descent; otherwise the
    dual.  Every measured primal objective is appended to `history`.
    """
    end, best = time.perf_counter() + (math.inf if time_limit is None else time_limit), None

    def is_over(passes: int) -> bool:
        return passes >= max_iter or time.perf_counter() >= end

    samples, features = dual.X.shape
    has_few_entries = samples * features <= FEW_ENTRIES
    is_small = time_limit is None and has_few_entries and not dual.damping.any()
    is_tall = samples >= features  # Newton steps in the primal check the clock, a round of descent does not
    state, passes = None, 0
    goal = min(max(math.sqrt(tol), 1e-4), 0.1)
    while True:
        if is_tall and (passes >= A_ROUND or not is_small):
            found = minimize_losses(dual, tol, lambda k: is_over(passes + k), history, best)  # noqa: B023
            passes, is_tall = passes + found.passes, False
            best = found if best is None or found.gap < best.gap else best
            best.passes = passes
            if best.converged or is_over(passes):
                return best
        state = dual.coordinates(seed) if state is None else state
        allowed = min(A_ROUND, max_iter - passes)
        done = descend(state, goal, allowed)
        passes += done
        answer = dual.measured(state.beta.copy(), passes, tol, None if has_few_entries else state.w.copy())
        if not has_few_entries and (answer.converged or is_over(passes)):
            answer = dual.measured(answer.beta, passes, tol)  # without the accumulated rounding of w
        is_slow = done == allowed and not answer.converged
        # Before the primal is tried: the Newton system of more than features + 1 free multipliers is singular.
        few = features + 1 if is_tall else FEW_FREE
        if (is_slow and not is_tall) or dual.free(answer.beta).size <= few:
            answer = dual.newton(answer, tol)
        history.append(answer.objective)
        if best is None or answer.gap < best.gap:
            best = answer
        best.passes = passes
        if best.converged or is_over(passes):
            return best
        state.beta[:], state.w[:] = answer.beta, answer.w
        if done < allowed:
            goal = max(LEAST_VIOLATION, goal * min(0.3, max(1e-3, 0.5 * tol / answer.gap)))
