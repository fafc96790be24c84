"""Logistic regression with absolute values in the penalty, by Newton steps that are quadratic programs.

    minimize  f(W, b) + lam a ||W||_1,        f = sum_i s_i loss_i + lam (1 - a) / 2 ||W||^2

A step from theta = (W, b) minimizes the same with the quadratic model of f in its place. In W = U - V, U and V at least
zero, that is a quadratic program with bounds:

    minimize  g'd + 1/2 d'H d + lam a sum(U + V),     d = (U - V, b) - theta

Of the weights only those come into it that are not zero, or whose slope says that they should not be: the others keep
their zeros exactly.  The way to the minimum of the model is searched as in `newton_minimizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import qp

from ..base.estimator import uninterrupted
from ..numerics.newton_minimizer import MOST_HALVINGS, SUFFICIENT, Minimum

if TYPE_CHECKING:
    from .logistic import LogisticPart

EXACT = 1e-2  # the tolerance of a step, as a share of how far the objective is known
TIGHTEST, LOOSEST = 1e-12, 1e-6  # tolerances of a step


def minimize_with_absolute_values(
    at: Callable[[np.ndarray], LogisticPart], prices: np.ndarray, tol: float, max_iter: int, history: list[float]
) -> Minimum:
    """The minimum of f(theta) + sum_j prices_j |theta_j| from zero on; those of price zero are free.

    It ends when a step promises no more than tol (1 + the objective); that step is still taken.
    """
    theta = np.zeros(prices.size)
    point = at(theta)
    value = point.value
    history.append(value)
    promised = np.inf
    for iteration in range(1, max_iter + 1):
        slope = np.abs(point.gradient)
        which = np.flatnonzero((theta != 0.0) | (slope > prices) | (prices == 0.0))
        step_tol = min(LOOSEST, max(TIGHTEST, EXACT * promised / (1.0 + abs(value))))
        target = theta.copy()
        target[which] = minimum_of_model(point, theta, which, prices[which], step_tol)
        d = target - theta
        change = float(prices @ (np.abs(target) - np.abs(theta)))
        decrease = -float(point.gradient @ d) - change
        promised, share = max(decrease, 0.0), 1.0
        if not decrease > 0.0:
            return Minimum(theta, value, iteration, step_tol <= TIGHTEST or promised <= tol, promised)
        for _ in range(MOST_HALVINGS):
            tried = target if share == 1.0 else theta + share * d
            found = at(tried)
            new = found.value + float(prices @ np.abs(tried))
            if new <= value - SUFFICIENT * share * decrease + 1e-15 * (1.0 + abs(value)):
                break
            share *= 0.5
        else:
            return Minimum(theta, value, iteration, False, promised)
        theta, point, value = tried, found, new
        history.append(value)
        if promised <= tol * (1.0 + abs(value)):
            return Minimum(theta, value, iteration, True, promised)
    return Minimum(theta, value, max_iter, False, promised)


def minimum_of_model(
    point: LogisticPart, theta: np.ndarray, which: np.ndarray, prices: np.ndarray, tol: float
) -> np.ndarray:
    """The unknowns `which` where the quadratic model at a point and the absolute values are least together."""
    H, priced = point.hessian(which), prices > 0.0
    q = point.gradient[which] - H @ theta[which]
    # (U, V, free): the unknowns are T times these
    size, free = int(priced.sum()), int((~priced).sum())
    P = np.empty((2 * size + free, 2 * size + free))
    sign = np.repeat([1.0, -1.0, 1.0], [size, size, free])
    places = np.concatenate([np.flatnonzero(priced), np.flatnonzero(priced), np.flatnonzero(~priced)])
    P[:] = sign[:, None] * H[np.ix_(places, places)] * sign
    cost = np.concatenate([prices[priced], prices[priced], np.zeros(free)])
    lower = np.where(np.arange(sign.size) < 2 * size, 0.0, -np.inf)
    found = uninterrupted(qp.solve(P, sign * q[places] + cost, lb=lower, tol=tol, check_convexity=False))
    # of x_k >= 0 and its multiplier one is zero: the smaller of the two
    x = np.where((found.x > np.abs(found.z_bounds)) | ~np.isfinite(lower), found.x, 0.0)
    return np.bincount(places, sign * x, which.size)
