"""The barrier of second-order cones, and a point of the central path (chapter: the central path)."""

import numpy as np


def barrier(s: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    J = np.diag(np.r_[1.0, -np.ones(s.size - 1)])
    tail = np.linalg.norm(s[1:])
    if s[0] <= tail:
        return np.inf, np.zeros(s.size), np.zeros((s.size, s.size))
    det = (s[0] - tail) * (s[0] + tail)
    reflected = J @ s
    hessian = (2.0 * np.outer(reflected, reflected) - det * J) / det**2
    return -0.5 * np.log(det), -reflected / det, hessian


def central_point(c: np.ndarray, G: np.ndarray, h: np.ndarray, mu: float, x: np.ndarray) -> np.ndarray:
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
        while not value(x + step * dx) < (np.inf if decrement <= 2e-3 * mu else value(x)):
            step *= 0.5
        x = x + step * dx
    return x
