"""LDL' of a quasi-definite matrix, regularized, and what refinement repairs (chapters: factorization, numerics)."""

import numpy as np


def factor(K: np.ndarray, signs: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """L with a unit diagonal and d, L diag(d) L' = K + delta diag(signs), without pivoting.

    A pivot d_j with signs_j d_j < delta / 10 is replaced by signs_j delta: then the product differs from the matrix in
    the entry (j, j).  `signs` has entries 1 and -1.
    """
    n = len(K)
    L, d = np.eye(n), np.zeros(n)
    for j in range(n):
        d[j] = K[j, j] + delta * signs[j] - L[j, :j] ** 2 @ d[:j]
        if signs[j] * d[j] < 0.1 * delta:
            d[j] = signs[j] * delta
        L[j + 1 :, j] = (K[j + 1 :, j] - L[j + 1 :, :j] @ (d[:j] * L[j, :j])) / d[j]
    return L, d


def solve(K: np.ndarray, signs: np.ndarray, rhs: np.ndarray, delta: float, steps: int) -> np.ndarray:
    """The solution of K u = rhs by one factorization and so many steps of iterative refinement."""
    L, d = factor(K, signs, delta)
    u = np.zeros(rhs.size)
    for _ in range(1 + steps):
        v = np.linalg.solve(L, rhs - K @ u)  # L is triangular: a substitution would do
        u = u + np.linalg.solve(L.T, v / d)
    return u
