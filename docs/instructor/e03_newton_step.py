"""One Newton step of the optimality conditions of a quadratic program (chapter: Newton's step)."""

import numpy as np


def newton_step(
    data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    P, c, A, b, G, h = (data[name] for name in ("P", "c", "A", "b", "G", "h"))
    n, p, m = c.size, b.size, h.size
    rx, ry, rz = P @ x + c + A.T @ y + G.T @ z, A @ x - b, G @ x + s - h
    rc = sigma * (s @ z) / m - s * z
    W_inv = np.sqrt(z / s)
    B = W_inv[:, None] * G
    K = np.block([[P, A.T, B.T], [A, np.zeros((p, p + m))], [B, np.zeros((m, p)), -np.eye(m)]])
    u = np.linalg.solve(K, np.concatenate([-rx, -ry, W_inv * (-rz - rc / z)]))
    dx, dy, dz = u[:n], u[n : n + p], W_inv * u[n + p :]
    return dx, dy, dz, (rc - s * dz) / z
