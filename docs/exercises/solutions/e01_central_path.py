"""The barrier of second-order cones, and a point of the central path (chapter: the central path)."""

import numpy as np


def barrier(s: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """phi(s) = -1/2 log det s of one second-order cone, det s = s_0^2 - ||s_1||^2, with its gradient and Hessian.

    A cone of dimension 1 is an entry of the nonnegative orthant: phi(s) = -log s.  Outside of the interior of the cone
    the value is infinite, and the derivatives may be anything.
    """
    J = np.diag(np.r_[1.0, -np.ones(s.size - 1)])
    tail = np.linalg.norm(s[1:])
    if s[0] <= tail:
        return np.inf, np.zeros(s.size), np.zeros((s.size, s.size))
    det = (s[0] - tail) * (s[0] + tail)
    reflected = J @ s
    hessian = (2.0 * np.outer(reflected, reflected) - det * J) / det**2
    return -0.5 * np.log(det), -reflected / det, hessian


def central_point(c: np.ndarray, G: np.ndarray, h: np.ndarray, mu: float, x: np.ndarray) -> np.ndarray:
    """The minimizer of c'x - mu sum_i log(h - Gx)_i, by Newton's method from a strictly feasible x.

    Stop where half of the squared Newton decrement is at most 1e-12 mu.  Cut a step short before the boundary, and
    halve it until the objective falls.
    """

    def value(x: np.ndarray) -> float:
        s = h - G @ x
        return c @ x - mu * np.log(s).sum() if s.min() > 0.0 else np.inf

    for _ in range(100):
        s = h - G @ x
        gradient = c + mu * G.T @ (1.0 / s)
        dx = np.linalg.solve(mu * G.T @ (G / s[:, None] ** 2), -gradient)
        decrement = -gradient @ dx
        if 0.5 * decrement <= 1e-12 * mu:
            break
        step = 1.0
        while value(x + step * dx) > value(x) - 0.1 * step * decrement and step > 1e-10:
            step *= 0.5
        x = x + step * dx
    return x
