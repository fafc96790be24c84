r"""Multipliers of a margin's dual: zeros and bounds are set exactly, and the other multipliers solved for again.

An interior-point method leaves every multiplier above zero and below its bound.  Setting multipliers to exactly zero
or to their bounds changes f, the more the larger the kernel, and moves support vectors off the margin.  The multipliers
M between the bounds are therefore solved for again, with the others fixed:

    G_MM d + A_M' b = -(G v + q)_M,    A_M d = -A v

With G = (s_i s_j k(x_i, x_j)) these are the conditions that s_i f(x_i) = 1 on the margin and s'v = 0.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

import qp

from .dual import MarginDual

NOT_SUPPORT, ON_MARGIN, INSIDE_MARGIN, WRONG_SIDE = range(4)
KINDS = np.array(["none", "margin", "inside", "wrong"])
SETTLED = 1e-10  # largest |y_i f(x_i) - 1| of a support vector on the margin
MOST_TO_SETTLE = 2000  # most multipliers for which the system is formed and solved
REGULARIZATION = 1e-13  # diagonal shift of the system's matrix, which may be singular, relative to its largest entry
REFINEMENTS = 10


def tell_apart(
    alpha: np.ndarray, C: np.ndarray, violation: np.ndarray, largest: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kind of every multiplier, and alpha with exact zeros and exact C_i, otherwise unchanged.

    One of alpha_i and the surplus y_i f(x_i) - 1 must be zero, and one of C_i - alpha_i and the slack xi_i: the smaller
    of the two is taken as zero.  Multipliers are measured in units of the largest alpha (of `largest`, if several
    machines are passed together), surplus and slack in units of one.
    """
    unit = np.minimum(C, np.maximum(alpha.max(initial=0.0) if largest is None else largest, 1e-300))
    kinds = np.full(alpha.size, ON_MARGIN)
    kinds[alpha <= unit * np.maximum(-violation, 1e-9)] = NOT_SUPPORT
    kinds[(C - alpha <= unit * np.maximum(violation, 1e-9)) & (kinds == ON_MARGIN)] = INSIDE_MARGIN
    kinds[(kinds == INSIDE_MARGIN) & (violation > 1.0)] = WRONG_SIDE
    alpha = np.where(kinds == NOT_SUPPORT, 0.0, alpha)
    return kinds, np.where(kinds >= INSIDE_MARGIN, C, np.minimum(alpha, C))


def settle(
    v: np.ndarray, free: np.ndarray, lower: np.ndarray, upper: np.ndarray, dual: MarginDual
) -> np.ndarray | None:
    """Return v with the multipliers in the mask `free` moved to satisfy their conditions, or None if that fails."""
    free = np.flatnonzero(free)
    A = dual.A[:, free]
    gradient = dual.gradient(v)[free]
    short = np.abs(gradient - A.T @ np.linalg.lstsq(A.T, gradient, rcond=None)[0]).max(initial=0.0)
    if short <= SETTLED:
        return v
    if free.size > MOST_TO_SETTLE:
        return None
    system = np.block([[dual.among(free), A.T], [A, np.zeros((A.shape[0], A.shape[0]))]])
    shift = REGULARIZATION * np.abs(system).max()
    lu, pivots, _ = lapack.dgetrf(system + np.diag(np.repeat([shift, -shift], [free.size, A.shape[0]])))
    target = -np.concatenate([gradient, dual.A @ v])
    step = np.zeros(target.size)
    for _ in range(REFINEMENTS):
        step += lapack.dgetrs(lu, pivots, target - system @ step)[0]
    moved = v.copy()
    moved[free] += step[: free.size]
    left = np.abs(target - system @ step)[: free.size].max()
    inside = (moved[free] > lower[free]).all() and (moved[free] < upper[free]).all()
    return moved if inside and left < short else None


def sort_out(
    dual: MarginDual, v: np.ndarray, violation: np.ndarray, solution: qp.Solution | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (kinds, v with exact zeros and bounds, P v + q at that v); the lower bounds are zero.

    `violation` is 1 - y_i f(x_i).  `solution` is the engine's answer with x = v, or None; its multipliers serve as the
    gradient if no entry of v changes.  If the multipliers between the bounds cannot be settled (they are too
    many, or one would leave its bounds), v stays as the engine returned it, within its bounds, and only `kinds`
    tells which multipliers should be at a bound.
    """
    kinds, clean = tell_apart(v, dual.program.ub, violation)
    if solution is not None and solution.dual_residual <= SETTLED and np.array_equal(clean, v):
        return kinds, v, -(solution.z_bounds + solution.y @ dual.A)
    settled = settle(clean, kinds == ON_MARGIN, np.zeros(v.size), dual.program.ub, dual)
    v = np.clip(v, 0.0, dual.program.ub) if settled is None else settled
    return kinds, v, dual.gradient(v)
