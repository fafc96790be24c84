"""LDL' of a quasi-definite matrix, regularized, and what refinement repairs (chapters: factorization, numerics)."""

import numpy as np


def factor(K: np.ndarray, signs: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    n = len(K)
    L, d = np.eye(n), np.zeros(n)
    for j in range(n):
        d[j] = K[j, j] + delta * signs[j] - L[j, :j] ** 2 @ d[:j]
        if signs[j] * d[j] < 0.1 * delta:
            d[j] = signs[j] * delta
        L[j + 1 :, j] = (K[j + 1 :, j] - L[j + 1 :, :j] @ (d[:j] * L[j, :j])) / d[j]
    return L, d


def solve(K: np.ndarray, signs: np.ndarray, rhs: np.ndarray, delta: float, steps: int) -> np.ndarray:
    L, d = factor(K, signs, delta)
    u = np.zeros(rhs.size)
    for _ in range(1 + steps):
        v = rhs - K @ u
        for j in range(len(d)):
            v[j] -= L[j, :j] @ v[:j]
        v = v / d
        for j in reversed(range(len(d))):
            v[j] -= L[j + 1 :, j] @ v[j + 1 :]
        u = u + v
    return u
