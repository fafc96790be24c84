"""Mehrotra's predictor-corrector for quadratic programs (chapter: predictor and corrector)."""

from collections.abc import Callable

import numpy as np
import scipy.linalg


def factor(data: dict[str, np.ndarray], z: np.ndarray, s: np.ndarray) -> Callable:
    P, A, G = (data[name] for name in ("P", "A", "G"))
    n, p = P.shape[0], A.shape[0]
    K = np.block([[P + G.T @ (G * (z / s)[:, None]), A.T], [A, np.zeros((p, p))]])
    factors = scipy.linalg.lu_factor(K)

    def solve(r1, r2, r3, r4):
        u = scipy.linalg.lu_solve(factors, np.concatenate([r1 + G.T @ ((z * r3 - r4) / s), r2]))
        ds = r3 - G @ u[:n]
        return u[:n], u[n:], (r4 - z * ds) / s, ds

    return solve


def residuals(data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray) -> list:
    P, c, A, b, G, h = (data[name] for name in ("P", "c", "A", "b", "G", "h"))
    return [P @ x + c + A.T @ y + G.T @ z, A @ x - b, G @ x + s - h]


def step(
    data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rx, ry, rz = residuals(data, x, y, z, s)
    direction = factor(data, z, s)

    def longest(dz, ds):
        return min([np.inf] + [(-v[d < 0] / d[d < 0]).min() for v, d in ((z, dz), (s, ds)) if (d < 0).any()])

    _, _, dz, ds = direction(-rx, -ry, -rz, -s * z)
    sigma = (1.0 - min(1.0, longest(dz, ds))) ** 3
    dx, dy, dz, ds = direction(-rx, -ry, -rz, sigma * (s @ z) / z.size - s * z - ds * dz)
    alpha = min(1.0, 0.99 * longest(dz, ds))
    return x + alpha * dx, y + alpha * dy, z + alpha * dz, s + alpha * ds


def solve(data: dict[str, np.ndarray], tol: float = 1e-8) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    c, b, h = (data[name] for name in ("c", "b", "h"))
    x, y, z, s = np.zeros(c.size), np.zeros(b.size), np.ones(h.size), np.maximum(1.0, h)
    for iteration in range(100):
        if max(np.abs(np.concatenate(residuals(data, x, y, z, s))).max(), s @ z) <= tol:
            return x, y, z, iteration
        x, y, z, s = step(data, x, y, z, s)
    raise RuntimeError("no solution in 100 iterations")
