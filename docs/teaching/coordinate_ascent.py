"""Coordinate ascent for the dual of the support vector machine without b: one multiplier at a time.

    maximize  D(alpha) = 1'alpha - 1/2 sum_ij alpha_i alpha_j y_i y_j K_ij   subject to   0 <= alpha_i <= C

Without b there is no equation y'alpha = 0, and every multiplier may move alone.  D is a parabola in each.
"""

from __future__ import annotations

import numpy as np

import socp


def coordinate_ascent(
    K: np.ndarray, y: np.ndarray, C: float, tol: float = 1e-6, max_passes: int = 10_000
) -> tuple[np.ndarray, list[float]]:
    """Return alpha, and the duality gap after every pass over the samples.

    With f(x_i) = sum_j alpha_j y_j K_ij, dD / dalpha_i = 1 - y_i f(x_i) and d^2 D / dalpha_i^2 = -K_ii: alpha_i moves
    to the top of the parabola or to a bound before it.  The primal objective at w = sum_j alpha_j y_j phi(x_j) is an
    upper bound of the optimum, D a lower bound: their difference, the gap, bounds the error of both.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -1.0]]), np.array([1.0, 1.0, -1.0])
    >>> alpha, gaps = coordinate_ascent(X @ X.T, y, C=10.0)
    >>> w = (alpha * y) @ X
    >>> print(alpha.round(3), w.round(3), (y * (X @ w)).round(3))
    [1.   0.25 0.  ] [1.  0.5] [1.  1.  1.5]
    """
    alpha, f, gaps = np.zeros(y.size), np.zeros(y.size), []
    curvature = np.maximum(np.diag(K), np.finfo(float).tiny)  # if it is zero, D is linear and alpha_i moves to a bound
    for _ in range(max_passes):
        for i in range(y.size):
            top = alpha[i] + (1.0 - y[i] * f[i]) / curvature[i]
            moved = min(max(top, 0.0), C) - alpha[i]
            alpha[i] += moved
            f += moved * y[i] * K[i]
        squared = (alpha * y) @ f  # |w|^2
        dual, primal = alpha.sum() - 0.5 * squared, 0.5 * squared + C * np.maximum(1.0 - y * f, 0.0).sum()
        gaps.append(float(primal - dual))
        if gaps[-1] <= tol * (1.0 + abs(dual)):
            return alpha, gaps
    raise socp.ProgramError(f"the gap is {gaps[-1]:.1e} after {max_passes} passes over the samples")
