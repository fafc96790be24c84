"""The derivative of the solution of a quadratic program (chapter: derivatives of a solution)."""

from collections.abc import Callable

import numpy as np


def factor(P: np.ndarray, G: np.ndarray, z: np.ndarray, s: np.ndarray) -> Callable:
    n, active = len(P), z > s
    K = np.block([[P, G[active].T], [G[active], np.zeros((active.sum(), active.sum()))]])

    def solve(r, t):
        u, v = np.linalg.solve(K, np.r_[r, t[active]]), np.zeros(z.size)
        v[active] = u[n:]
        return u[:n], v

    return solve


def forward(
    P: np.ndarray, G: np.ndarray, x: np.ndarray, z: np.ndarray, s: np.ndarray, dq: np.ndarray, dh: np.ndarray
) -> np.ndarray:
    return factor(P, G, z, s)(-dq, dh)[0]


def backward(
    P: np.ndarray, G: np.ndarray, x: np.ndarray, z: np.ndarray, s: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    u, v = factor(P, G, z, s)(-gradient, np.zeros(z.size))
    return u, -v
