r"""Dual coordinate descent for linear machines: one coordinate at a time, in a random order (Hsieh and others 2008).

With signed multipliers, w = sum_i beta_i x_i, the duals of all linear machines here are one program:

    minimize  1/2 |sum_i beta_i x_i|^2 + 1/2 sum_i d_i beta_i^2 - q'beta + epsilon |beta|_1,    low <= beta <= high

    hinge                      q = y, d = 0,        beta_i between 0 and y_i C_i
    squared hinge              q = y, d = 1 / 2C,   beta_i between 0 and y_i infinity
    epsilon-insensitive        epsilon > 0, d = 0,      |beta_i| <= C_i
    the same, squared          epsilon > 0, d = 1 / 2C, beta_i free

Its primal is 1/2 |w|^2 + sum_i max_beta [beta (q_i - w'x_i) - epsilon |beta| - d_i beta^2 / 2], over the same bounds,
which for these four is the sum of the losses.  Descent goes far fast and then slowly; from there Newton's method on the
multipliers that are off their bounds and off 0 takes it to the end.  The last feature is the same for all samples,
its value is `bias`: it is not stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats
from socp.compiled.structures import Structure, floats, integer, integers, number, structure
from socp.linalg.vectors import dot_within

from ..base.estimator import uninterrupted
from ..base.rows import Rows, add_row, draw, row_times, rows_of
from ..base.validation import as_dense
from ..numerics.newton_minimizer import solve_cholesky, solve_conjugate_gradients
from ..programs.margins import linear_dual
from .primal_newton import minimize_squares

LEAST_VIOLATION = 1e-12
MOST_FACTORED = 600  # free multipliers up to which their Newton system is formed
FEW_FREE = 100  # and up to which its steps cost so little that they follow any descent
FEWEST_SAMPLES = 4  # a feature from which the interior point goes on where descent is slow
MOST_FEATURES = 500  # and up to which
NEWTON_STEPS = 20  # in a round
A_ROUND = 100  # passes of descent between two rounds of Newton steps
A_FEATURE = 3  # passes a feature, of 30 at least, that are the work of an interior point


class Coordinates(Structure):
    """The program, and where its descent is: w = sum_i beta_i x_i, an order of all samples, random numbers' state."""

    rows = structure(Rows)
    q, damping, low, high, curvature = floats(), floats(), floats(), floats(), floats()
    epsilon = number()
    beta, w = floats("samples"), floats("features")
    active = integers()
    random = integer()


@kernel
def squared_lengths(rows: Rows, squares: Floats) -> None:
    """squares_i := x_i'x_i without the last feature."""
    indptr, values = rows.indptr, rows.values
    for i in range(squares.size):
        squares[i] = dot_within(values, indptr[i], values, indptr[i], indptr[i + 1] - indptr[i])


@kernel
def descend(state: Coordinates, goal: float, passes: int) -> int:
    """Passes over the samples in random orders until no optimality condition is violated by more than `goal`.

    A multiplier on a bound or at 0 that is held there by more than the largest violation of the pass before is left
    out (shrinking); before the end all come back once more.  Returns the number of passes.
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
            margin = np.inf  # by how much the conditions hold
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
    """Where the descent ended.

    Attributes
    ----------
    w : array, shape (features + 1,)
    beta : array, shape (samples,)
    objective, dual_objective : float
        Of the primal program at w, and minus that of the docstring above at beta: the gap certifies both.
    passes : int
    converged : bool
        Whether the gap is at most what was asked for.
    """

    w: np.ndarray
    beta: np.ndarray
    objective: float
    dual_objective: float
    passes: int
    converged: bool

    @property
    def gap(self) -> float:
        """Relative to the objectives, as in `qp.Solution`."""
        return (self.objective - self.dual_objective) / (1.0 + max(abs(self.objective), abs(self.dual_objective)))


class Dual:
    """The program of the docstring above; `bias` is the last feature's value, 0 for none."""

    def __init__(
        self, X: Any, bias: float, q: np.ndarray, epsilon: float, damping: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> None:
        self.X, self.bias, self.q, self.epsilon = X, bias, q, epsilon
        self.damping, self.low, self.high = damping, low, high

    @cached_property
    def rows(self) -> Rows:
        """The samples as compiled code reads them."""
        return rows_of(self.X, self.bias)

    @cached_property
    def curvature(self) -> np.ndarray:
        """The diagonal of the Hessian."""
        curvature = np.empty(self.q.size)
        squared_lengths(self.rows, curvature)
        curvature += self.bias**2 + self.damping
        return np.where(curvature > 0.0, curvature, 1e-300)  # a sample of zeros goes to its bound

    def every(self, stride: int) -> Dual:
        """Return the program of every `stride`-th sample, each for `stride` of them; all `damping` is positive."""
        X = self.X[::stride] if sp.issparse(self.X) else np.ascontiguousarray(self.X[::stride])
        q, damping, low, high = (part[::stride] for part in (self.q, self.damping / stride, self.low, self.high))
        return Dual(X, self.bias, q, self.epsilon, damping, low, high)

    def coordinates(self, seed: int) -> Coordinates:
        """For a descent from beta = 0."""
        given = {name: getattr(self, name) for name in ("rows", "q", "damping", "low", "high", "curvature")}
        state = Coordinates(samples=self.q.size, features=self.X.shape[1] + 1, **given)
        state.epsilon, state.active, state.random = self.epsilon, np.arange(self.q.size), seed
        return state

    def start(self) -> Answer:
        """beta = 0."""
        return self.measured(np.zeros(self.q.size), 0)

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """w = sum_i beta_i x_i."""
        return np.append(self.X.T @ beta, self.bias * beta.sum())

    def scores(self, w: np.ndarray) -> np.ndarray:
        """w'x_i."""
        return np.asarray(self.X @ w[:-1] + self.bias * w[-1])

    def measured(self, beta: np.ndarray, passes: int, tol: float = 0.0) -> Answer:
        """The answer at beta, with both objectives."""
        w = self.weights(beta)
        return self.answer(w, beta, w, self.q - self.scores(w), passes, tol)

    def answer(
        self, w: np.ndarray, beta: np.ndarray, mapped: np.ndarray, r: np.ndarray, passes: int, tol: float
    ) -> Answer:
        """Return the objectives at w, where r = q - w'x_i, and at beta, of which `mapped` is the sum of beta_i x_i."""
        dual = float(self.q @ beta - self.epsilon * np.abs(beta).sum() - 0.5 * self.damping @ beta**2)
        primal = 0.5 * float(w @ w) + self.loss(r)
        answer = Answer(w, beta, primal, dual - 0.5 * float(mapped @ mapped), passes, False)
        answer.converged = answer.gap <= tol
        return answer

    def loss(self, r: np.ndarray) -> float:
        """sum_i max_beta [beta r_i - epsilon |beta| - d_i beta^2 / 2]."""
        beyond = self.beyond(r)
        ends = np.where(beyond > 0.0, self.high, self.low)
        is_damped = self.damping > 0.0
        best = np.where(is_damped, beyond / np.where(is_damped, self.damping, 1.0), ends)
        best = np.where(beyond == 0.0, 0.0, np.clip(best, self.low, self.high))
        return float(best @ beyond - 0.5 * self.damping @ best**2)

    def beyond(self, r: np.ndarray) -> np.ndarray:
        """What a squared loss does not forgive of r."""
        found = np.sign(r) * np.maximum(np.abs(r) - self.epsilon, 0.0) if self.epsilon > 0.0 else r
        return np.where(found > 0.0, found * (self.high > 0.0), found * (self.low < 0.0))

    def free(self, beta: np.ndarray) -> np.ndarray:
        """The multipliers that are off their bounds and, where it is a kink, off 0."""
        return np.flatnonzero((beta > self.low) & (beta < self.high) & ((beta != 0.0) | (self.epsilon == 0.0)))

    @property
    def has_few_features(self) -> bool:
        """Whether the interior point has little work with a sample."""
        samples, features = self.X.shape
        return features <= MOST_FEATURES and samples >= FEWEST_SAMPLES * (features + 1)

    @property
    def is_tall(self) -> bool:
        """Whether there are no fewer samples than features."""
        return bool(self.X.shape[0] >= self.X.shape[1])

    def program(self) -> qp.QuadraticProgram:
        """The program: in beta, or in beta = a - a* where epsilon > 0; with w = X'beta in front where X is sparse."""
        q, low, high, damping = -self.q, self.low, self.high, self.damping
        if self.epsilon > 0.0:
            q, damping = np.concatenate([self.epsilon + q, self.epsilon - q]), np.tile(damping, 2)
            low, high = np.zeros(q.size), np.concatenate([high, -low])
        signed = sp.csr_array(self.X) if sp.issparse(self.X) and not self.has_few_features else as_dense(self.X)
        stack = sp.vstack if sp.issparse(signed) else np.vstack
        extend = sp.hstack if sp.issparse(signed) else np.hstack
        if self.bias:
            signed = extend([signed, np.full((self.q.size, 1), self.bias)])
        if self.epsilon > 0.0:
            signed = stack([signed, -signed])
        return linear_dual(signed, damping, q, low, high)

    def interior_point(self, answer: Answer, tol: float, settings: dict[str, Any]) -> Answer:
        """The engine's answer; a multiplier that is nearer to a bound than its slope is to 0 is put there."""
        solution = uninterrupted(qp.solve(self.program(), check_convexity=False, **settings))
        if not np.isfinite(solution.x).all():
            return answer
        count = self.q.size
        parts = solution.x[-count:] if self.epsilon == 0.0 else solution.x
        z = solution.z_bounds[-parts.size :]
        low = self.low if self.epsilon == 0.0 else np.zeros(2 * count)
        high = self.high if self.epsilon == 0.0 else np.concatenate([self.high, -self.low])
        parts = np.where(-z > parts - low, low, np.where(z > high - parts, high, np.clip(parts, low, high)))
        found = self.measured(parts if self.epsilon == 0.0 else parts[:count] - parts[count:], answer.passes, tol)
        return found if found.gap < answer.gap else answer

    def newton(self, answer: Answer, tol: float) -> Answer:
        """Newton steps on the multipliers that are off their bounds and off 0, as long as they help."""
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
            return solve_cholesky(H, rhs)

        def multiply(v: np.ndarray) -> np.ndarray:
            return np.asarray(part @ (part.T @ v)) + self.bias**2 * v.sum() + damping * v

        return solve_conjugate_gradients(multiply, self.curvature[F], rhs, 1e-8, 200)


def _to_the_first(x: np.ndarray, step: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """x + t step for the largest t <= 1 that stays between the bounds, exactly on those that stop it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0.0, (high - x) / step, np.where(step < 0.0, (low - x) / step, np.inf))
    t = min(1.0, float(room.min()))
    ends = np.where(step > 0.0, high, low)
    return np.where(room <= t, ends, np.clip(x + t * step, low, high))


def solve(dual: Dual, tol: float, max_iter: int, seed: int, settings: dict[str, Any], history: list[float]) -> Answer:
    """Descend to a relative gap of `tol`, in at most `max_iter` passes; if it is slow, others go on.

    The others are the engine, which has these settings, or Newton steps.  The primal objectives that were measured are
    appended to history.
    """
    if dual.is_tall and (dual.damping > 0.0).all():
        answer = minimize_squares(dual, tol, history)
        if answer.converged:
            return answer
    state = dual.coordinates(seed)
    goal, passes = min(max(math.sqrt(tol), 1e-4), 0.1), 0
    best = None
    a_round = min(max(30, A_FEATURE * dual.X.shape[1]), 300) if dual.has_few_features else A_ROUND
    while True:
        allowed = min(a_round, max_iter - passes)
        done = descend(state, goal, allowed)
        passes += done
        answer = dual.measured(state.beta.copy(), passes, tol)
        is_slow = done == allowed and not answer.converged
        if is_slow and dual.has_few_features:
            answer = dual.interior_point(answer, tol, settings)
        if is_slow or dual.free(answer.beta).size <= FEW_FREE:
            answer = dual.newton(answer, tol)
        history.append(answer.objective)
        if best is None or answer.gap < best.gap:
            best = answer
        best.passes = passes
        if best.converged or passes >= max_iter:
            return best
        state.beta[:], state.w[:] = answer.beta, answer.w
        if done < allowed:
            goal = max(LEAST_VIOLATION, goal * min(0.3, max(1e-3, 0.5 * tol / answer.gap)))
