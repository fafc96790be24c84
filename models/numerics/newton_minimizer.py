"""Newton's method with a line search, for smooth convex functions without constraints.

    solve H d = -g,    theta := theta + t d,    f(theta + t d) <= f(theta) + 1e-4 t g'd,    t = 1, 1/2, 1/4, ...

The method ends when half the squared Newton decrement, -g'd / 2, which estimates f - min f, is at most
tol (1 + |f|); the last step is still taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

SUFFICIENT = 1e-4  # sufficient decrease, relative to the decrease that the slope predicts
ROUNDING = 1e-13  # relative rounding error of a sum of many terms
MOST_HALVINGS = 60
MEMORY, SOON, PATIENCE, FRESH, SLOW, TINY = 10, 3, 6, 4, math.log(0.75), 1e-300  # of `minimize_lbfgs`
LOOSE, CG_STEPS = 0.1, 100  # relative residual and most steps of conjugate gradients in `minimize_lbfgs`
SHORT = 5  # steps of L-BFGS in less time than a direction by conjugate gradients
BLOCK = 128_000  # numbers in a block of rows that stays in the cache

Solve = Callable[[np.ndarray], np.ndarray]


class Point(Protocol):
    """Point of a function: its value is computed at once, the rest when the step is accepted."""

    theta: np.ndarray
    value: float

    def gradient(self) -> np.ndarray: ...

    def direction(self, gradient: np.ndarray) -> np.ndarray: ...


@dataclass
class Minimum:
    """Result of Newton's method.

    Attributes
    ----------
    theta : array
    value : float
    iterations : int
    converged : bool
    decrement : float
        -g'd / 2 at the point before the last one.
    """

    theta: np.ndarray
    value: float
    iterations: int
    converged: bool
    decrement: float


def minimize(
    at: Callable[[np.ndarray], Point], theta: np.ndarray, tol: float, max_iter: int, history: list[float] | None = None
) -> Minimum:
    """Minimize a function from `theta`; `at(theta)` returns its points, whose values are appended to `history`."""
    history = [] if history is None else history
    point = at(theta)
    history.append(point.value)
    decrement = np.inf
    for iteration in range(1, max_iter + 1):
        gradient = point.gradient()
        direction = point.direction(gradient)
        slope = float(gradient @ direction)
        decrement = -0.5 * slope
        last = decrement <= tol * (1.0 + abs(point.value))
        found = _search(at, point, direction, slope)
        if found is None or last:
            if found is not None:
                point = found
                history.append(point.value)
            return Minimum(point.theta, point.value, iteration, last, decrement)
        point = found
        history.append(point.value)
    return Minimum(point.theta, point.value, max_iter, False, decrement)


def minimize_lbfgs(
    at: Callable[[np.ndarray], Any], rough_at: Callable[[Any], Solve], inverse_at: Callable[[Any], Solve] | None,
    cost: float, theta: np.ndarray, tol: float, max_iter: int, history: list[float],
) -> Minimum:  # fmt: skip
    """Minimize by L-BFGS (Nocedal 1980), with the initial matrix from `rough_at` and later from `inverse_at`.

    Both return maps r -> H^-1 r of approximate Hessians at a point.  `inverse_at` takes the time of `cost` values of f;
    it is called whenever the last decrements predict more than `cost` + `FRESH` further steps.  If with the rough map
    -g'd / 2 is at most tol (1 + |f|), conjugate gradients find the direction that decides.  The method ends
    converged, after `max_iter` steps, or unconverged, for Newton's method to go on: if the decrements fall slower than
    `SLOW`, or if `inverse_at` is None and the remaining steps would take longer than a Newton step, the time `cost`.
    """
    pairs: list[tuple[np.ndarray, np.ndarray, float]] = []
    decrements: list[float] = []
    point, is_rough = at(theta), True
    inverse = rough_at(point)
    history.append(point.value)
    gradient = point.gradient()
    for iteration in range(1, max_iter + 1):
        goal = tol * (1.0 + abs(point.value))
        excess = point.excess(gradient, tol) if is_rough else math.inf
        if excess <= tol:
            return Minimum(point.theta, point.value, iteration - 1, True, excess * (1.0 + abs(point.value)))
        approximate = lambda r: quasi_newton(r, pairs, inverse, is_rough)  # noqa: B023, E731
        direction = -approximate(gradient)
        decrements = [*decrements[-PATIENCE:], -0.5 * float(gradient @ direction)]
        last, steps, slope = decrements[-1] <= goal, len(decrements) - 1, -math.inf
        if steps >= SOON and decrements[-1] > 0.0:
            slope = math.log(decrements[-1] / decrements[0]) / steps
        is_old = slope > -math.inf and not last and slope * (cost + FRESH) > math.log(max(goal, TINY) / decrements[-1])
        is_slow = steps == PATIENCE and (is_old if inverse_at is None else slope > SLOW and not is_rough)
        if is_rough and last and math.inf > -slope * SHORT >= math.log(excess / max(tol, TINY)):
            last = False  # a few more steps certify it in less time
        elif is_rough and last:
            direction = solve_conjugate_gradients(point.multiply, approximate, -gradient, LOOSE, CG_STEPS)
            decrements = [-0.5 * float(gradient @ direction)]
            last = decrements[-1] <= goal
        found = _search(at, point, direction, -2.0 * decrements[-1])
        if found is None or last or is_slow:
            point = found or point
            if last and found is not None:
                history.append(point.value)
            return Minimum(point.theta, point.value, iteration, last, decrements[-1])
        before, gradient = gradient, found.gradient()
        step, change = found.theta - point.theta, gradient - before
        if (curvature := float(step @ change)) > 0.0:
            pairs = [*pairs[1 - MEMORY :], (step, change, curvature)]
        point = found
        history.append(point.value)
        if is_old and inverse_at is not None:
            pairs, inverse, decrements, is_rough = [], inverse_at(point), [], False
    return Minimum(point.theta, point.value, max_iter, False, decrements[-1])


def quasi_newton(
    gradient: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray, float]], inverse: Solve, is_rough: bool = False
) -> np.ndarray:  # fmt: skip
    """Return the L-BFGS approximation of H^-1 gradient from pairs (s, y, s'y), by the two loops of Nocedal.

    A rough `inverse` is scaled so that the last pair fits.
    """
    q, shares = gradient.copy(), []
    for step, change, curvature in reversed(pairs):
        shares.append(float(step @ q) / curvature)
        q -= shares[-1] * change
    q = inverse(q)
    if is_rough and pairs:
        _, change, curvature = pairs[-1]
        q *= curvature / float(change @ inverse(change))
    for (step, change, curvature), share in zip(pairs, reversed(shares)):
        q += (share - float(change @ q) / curvature) * step
    return q


def _search(at: Callable[[np.ndarray], Point], point: Point, direction: np.ndarray, slope: float) -> Point | None:
    """Return the first point of sufficient decrease along halved steps, or None if there is none."""
    step, slack = 1.0, ROUNDING * (1.0 + abs(point.value))
    for _ in range(MOST_HALVINGS):
        trial = at(point.theta + step * direction)
        if trial.value <= point.value + SUFFICIENT * step * slope + slack:
            return trial
        step *= 0.5
    return None


def row_blocks(rows: int, columns: int) -> list[slice]:
    """Return slices of the rows of a dense matrix that stay in the cache while they are used."""
    size = max(64, BLOCK // max(columns, 1))
    return [slice(begin, begin + size) for begin in range(0, rows, size)]


def add_gram(H: np.ndarray, X: Any, weights: np.ndarray, bias: float = 0.0) -> None:
    """Add Z' diag(weights) Z to the lower triangle of `H` in place, Z = [X bias], or X if `H` has X's columns.

    `H` is in Fortran order, X dense or sparse, the weights are of one sign; rows of weight zero are not read.  Dense
    rows are scaled in blocks that stay in the cache.
    """
    used, columns = np.flatnonzero(weights), X.shape[1]
    if used.size == 0 or len(H) == 0:
        return
    weights = weights[used]
    if sp.issparse(X):
        part = X[used]
        H[:columns, :columns] += (part.T @ (sp.diags_array(weights) @ part)).toarray()
        if len(H) > columns:
            H[columns, :columns] += bias * (part.T @ weights)
            H[columns, columns] += bias**2 * weights.sum()
        return
    sign, roots, blocks = float(np.sign(weights[0])), np.sqrt(np.abs(weights)), row_blocks(used.size, len(H))
    room = np.empty((min(used.size, blocks[0].stop), len(H)))
    for block in blocks:
        root = roots[block]
        part = room[: root.size]
        np.multiply(X[block] if used.size == len(X) else X[used[block]], root[:, None], out=part[:, :columns])
        part[:, columns:] = bias * root[:, None]
        blas.dsyrk(sign, part.T, beta=1.0, c=H, overwrite_c=1, lower=1)


def factored(H: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the map rhs -> H^-1 rhs for positive definite H; the diagonal of a singular H is slightly increased."""
    n, shift = len(H), 0.0
    scale = np.sqrt(np.maximum(np.diagonal(H), 0.0))
    scale[scale == 0.0] = 1.0
    while True:
        raised = H / np.outer(scale, scale)
        raised.flat[:: n + 1] += shift
        R, info = lapack.dpotrf(raised.T, overwrite_a=1)  # the transpose is in Fortran order
        if info == 0:
            break
        shift = max(1e-14 * n, 100.0 * shift)

    def solve(rhs: np.ndarray) -> np.ndarray:
        by_row = scale if rhs.ndim == 1 else scale[:, None]
        return lapack.dpotrs(R, rhs / by_row)[0] / by_row

    return solve


def solve_conjugate_gradients(
    multiply: Callable[[np.ndarray], np.ndarray],
    preconditioner: np.ndarray | Callable[[np.ndarray], np.ndarray],
    rhs: np.ndarray,
    tol: float,
    max_iter: int,
    least: float = 0.0,
) -> np.ndarray:
    """Return H^-1 rhs by conjugate gradients, preconditioned by H's diagonal or a solve, to relative residual `tol`.

    It also stops if the squared residual, in the norm of the preconditioner, is at most `least`.

    (scipy's function stops neither in the norm of the preconditioner nor where H is flat.)
    """
    diagonal = preconditioner if isinstance(preconditioner, np.ndarray) else None
    solve = preconditioner if callable(preconditioner) else lambda r: r / diagonal
    x, r = np.zeros_like(rhs), rhs.copy()
    z = solve(r)
    p, rz = z.copy(), float(r @ z)
    goal = max(tol**2 * rz, least)
    for _ in range(max_iter):
        Hp = multiply(p)
        curvature = float(p @ Hp)
        if curvature <= 0.0 or rz <= goal:
            break
        step = rz / curvature
        x += step * p
        r -= step * Hp
        z = solve(r)
        rz, before = float(r @ z), rz
        p = z + (rz / before) * p
    return x
