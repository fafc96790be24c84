r"""C and gamma of a support vector machine by the gradient of its validation loss.

The machine f(x) = sum_j alpha_j y_j k(x_j, x) + b is the answer to a quadratic program with P = (y y') o K(gamma) and
the upper bounds C; b is the multiplier of its row.  So the mean logistic loss L of other samples has a derivative by
the logarithms of C and gamma, at the cost of one more solve (`qp.Solution.vjp`):

    dL/dlog C = C sum_i dL/dub_i
    dL/dlog gamma = gamma ( <dL/dP, (y y') o dK/dgamma> + g'(dK_val/dgamma) (alpha o y) ),     dK/dgamma = -d^2 o K

with g = dL/df at the other samples and d their distances.  Where a sample enters or leaves a bound L has a kink and the
derivative is that of one side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import qp

from ..base.validation import check_number
from .kernels import squares

RADIUS, LARGEST, LEAST = 1.0, 4.0, 1e-3  # first step, longest and shortest radius, in natural logarithms
GOOD, POOR = 0.5, 0.1  # of what the model promises, the fall from which on the radius grows, and up to which it shrinks
TOL = 1e-9
AROUND = ((1.0, 1.0), (1.0, 10.0), (30.0, 0.1), (30.0, 1.0), (1000.0, 0.1), (1000.0, 1.0))
"""Factors of C and gamma of the first points."""


class ValidationLoss:
    """The mean logistic loss of a machine with a Gaussian kernel on other samples, and its gradient.

    Parameters
    ----------
    X, X_validation : array_like, shapes (samples, features)
    y, y_validation : array_like
        Labels -1 and 1.

    Attributes
    ----------
    fits : int
        Machines that were fitted.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> loss = ValidationLoss(X, y, X + 0.2, y)
    >>> value, slope = loss(np.log([1.0, 0.5]))
    >>> near = [loss(np.log([1.0, 0.5]) + step)[0] for step in ([0.0, 1e-4], [0.0, -1e-4])]
    >>> print(abs((near[0] - near[1]) / 2e-4 - slope[1]) < 1e-6, loss.fits)
    True 3
    """

    def __init__(self, X: Any, y: Any, X_validation: Any, y_validation: Any) -> None:
        X, X_validation = np.asarray(X, np.float64), np.asarray(X_validation, np.float64)
        self.y, self.y_validation = np.asarray(y, np.float64), np.asarray(y_validation, np.float64)
        for name, labels in (("y", self.y), ("y_validation", self.y_validation)):
            if not np.isin(labels, (-1.0, 1.0)).all():
                raise qp.ProgramError(f"{name} must be labels -1 and 1, but {np.unique(labels)[:5].tolist()} came")
        self.distances, self.others = _distances(X, X), _distances(X_validation, X)
        self.fits = 0

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """(loss, its gradient) at (log C, log gamma)."""
        (C, gamma), y = np.exp(parameters), self.y
        K, K_validation = np.exp(-gamma * self.distances), np.exp(-gamma * self.others)
        solution = qp.solve(
            y[:, None] * K * y, np.full(y.size, -1.0), A=y[None, :], l=0.0, u=0.0, lb=0.0, ub=C, tol=TOL
        )
        self.fits += 1
        coefficients = solution.x * y
        margins = self.y_validation * (K_validation @ coefficients + solution.y[0])
        g = -self.y_validation / (1.0 + np.exp(np.minimum(margins, 500.0))) / margins.size
        by = solution.vjp(dx=y * (g @ K_validation), dy=[g.sum()])
        by_gamma = (
            -np.sum(by.P * (y[:, None] * (self.distances * K) * y)) - g @ (self.others * K_validation) @ coefficients
        )
        slope = np.array([C * by.ub.sum(), gamma * by_gamma])
        return float(np.mean(np.logaddexp(0.0, -margins))), slope


@dataclass(frozen=True)
class Choice:
    """C and gamma that were chosen.

    Attributes
    ----------
    C, gamma, loss : float
    trace : list of (float, float, float)
        (C, gamma, loss) of every fit.
    """

    C: float
    gamma: float
    loss: float
    trace: list[tuple[float, float, float]]


def choose_parameters(
    loss: ValidationLoss, C: float = 1.0, gamma: float = 1.0, fits: int = 15, bounds: tuple[float, float] = (1e-6, 1e6)
) -> Choice:
    """C and gamma of the least validation loss that so many fits find.

    The loss may have several valleys: the best of a few points around the start is where a quasi-Newton method with a
    trust region begins.

    Parameters
    ----------
    loss : ValidationLoss
    C, gamma : float
        Where to start.
    fits : int, default 15
    bounds : pair of float
        Of C and of gamma.

    Returns
    -------
    Choice
    """
    check_number("fits", fits, low=1, whole=True)
    low, high = np.log(bounds)
    point = np.clip(np.log([C, gamma]), low, high)
    trace: list[tuple[float, float, float]] = []

    def ask(at: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = loss(at)
        trace.append((math.exp(at[0]), math.exp(at[1]), value))
        return value, slope

    around = [ask(np.clip(point + np.log(factors), low, high)) for factors in AROUND[: max(1, 2 * fits // 5)]]
    first = min(range(len(around)), key=lambda i: around[i][0])
    point, (value, slope) = np.clip(point + np.log(AROUND[first]), low, high), around[first]
    hessian, radius = np.eye(2) * max(float(np.linalg.norm(slope)), 1e-12) / RADIUS, RADIUS
    while len(trace) < fits and radius > LEAST:
        step = np.clip(point + _trust_step(hessian, slope, radius), low, high) - point
        promised = -(slope @ step + 0.5 * step @ hessian @ step)
        if not promised > 0.0:
            break
        there, slope_there = ask(point + step)
        change = slope_there - slope
        hessian = _updated(hessian, step, change)
        fall = value - there
        length = float(np.linalg.norm(step))
        if fall < POOR * promised:
            radius = 0.5 * length
        elif fall > GOOD * promised and length > 0.9 * radius:
            radius = min(2.5 * radius, LARGEST)
        if fall > 0.0:
            point, value, slope = point + step, there, slope_there
    best = min(trace, key=lambda one: one[2])
    return Choice(*best, trace)


def _trust_step(hessian: np.ndarray, slope: np.ndarray, radius: float) -> np.ndarray:
    """The minimizer of slope's + s'Hs/2 over |s| <= radius."""
    values, vectors = np.linalg.eigh(hessian)
    along = vectors.T @ slope

    def step(shift: float) -> np.ndarray:
        return -(vectors @ (along / (values + shift)))

    least = max(0.0, -float(values[0])) + 1e-12 * max(1.0, float(np.abs(values).max()))
    if values[0] > 0.0 and np.linalg.norm(step(0.0)) <= radius:
        return step(0.0)
    upper = least + float(np.linalg.norm(slope)) / radius + 1e-12
    for _ in range(60):
        middle = 0.5 * (least + upper)
        least, upper = (middle, upper) if np.linalg.norm(step(middle)) > radius else (least, middle)
    return step(upper)


def _updated(hessian: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The symmetric rank-one update, which also learns negative curvature."""
    rest = change - hessian @ step
    scale = float(rest @ step)
    if abs(scale) <= 1e-8 * float(np.linalg.norm(rest) * np.linalg.norm(step)):
        return hessian
    return hessian + np.outer(rest, rest) / scale


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances between rows."""
    found: np.ndarray = np.maximum(squares(A)[:, None] + squares(B) - 2.0 * A @ B.T, 0.0)
    return found
