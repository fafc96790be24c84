r"""Dual coordinate descent for linear machines: one coordinate at a time, in a random order (Hsieh and others 2008).

The program is `programs.linear.linear_dual`, in the form of `linear.dual`; with no more features than samples
its primal is solved by Newton's method (see `primal_newton`).  Descent is fast at first and slow at the end, where
Newton's method on the multipliers off their bounds and off 0 takes over.
"""

from __future__ import annotations

import math
import time

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import kernel
from socp.compiled.structures import Structure, floats, integer, integers, number, structure

from ..base.rows import Rows, add_row, draw, row_times
from ..numerics.newton_minimizer import factored, solve_conjugate_gradients
from .dual import Answer, Dual
from .primal_newton import minimize_losses

LEAST_VIOLATION = 1e-12  # smallest goal of `descend`
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


def coordinates_of(dual: Dual, seed: int) -> Coordinates:
    """Return the state of a descent from beta = 0 with the random state `seed`."""
    given = {name: getattr(dual, name) for name in ("rows", "q", "damping", "low", "high", "curvature")}
    state = Coordinates(samples=dual.q.size, features=dual.X.shape[1] + 1, **given)
    state.epsilon, state.active, state.random = dual.epsilon, np.arange(dual.q.size), seed
    return state


def take_newton_steps(dual: Dual, answer: Answer, tol: float) -> Answer:
    """Take Newton steps on the multipliers off their bounds and off 0 while they help; return the last answer."""
    for _ in range(NEWTON_STEPS):
        beta, passes = answer.beta, answer.passes
        F = dual.free(beta)
        if F.size == 0:
            return answer
        signs = np.sign(beta[F]) * dual.epsilon
        slope = dual.scores(answer.w)[F] + dual.damping[F] * beta[F] - dual.q[F] + signs
        step = _newton_step(dual, F, -slope)
        low = np.where(signs > 0.0, np.maximum(dual.low[F], 0.0), dual.low[F])
        high = np.where(signs < 0.0, np.minimum(dual.high[F], 0.0), dual.high[F])
        best = answer
        for moved in (np.clip(beta[F] + step, low, high), _to_the_first(beta[F], step, low, high)):
            trial = beta.copy()
            trial[F] = moved
            found = dual.measured(trial, passes, tol)
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


def _newton_step(dual: Dual, F: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    part, damping = dual.X[F], dual.damping[F]
    if F.size <= MOST_FACTORED:
        product = part @ part.T
        H = (product.toarray() if sp.issparse(product) else product) + dual.bias**2
        H[np.diag_indices(F.size)] += damping
        return factored(H)(rhs)

    def multiply(v: np.ndarray) -> np.ndarray:
        return np.asarray(part @ (part.T @ v)) + dual.bias**2 * v.sum() + damping * v

    return solve_conjugate_gradients(multiply, dual.curvature[F], rhs, 1e-8, 200)


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
        state = coordinates_of(dual, seed) if state is None else state
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
            answer = take_newton_steps(dual, answer, tol)
        history.append(answer.objective)
        if best is None or answer.gap < best.gap:
            best = answer
        best.passes = passes
        if best.converged or is_over(passes):
            return best
        state.beta[:], state.w[:] = answer.beta, answer.w
        if done < allowed:
            goal = max(LEAST_VIOLATION, goal * min(0.3, max(1e-3, 0.5 * tol / answer.gap)))
