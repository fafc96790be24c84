"""A KKT solver of one's own, for covariances with few factors (chapter: structure)."""

from collections.abc import Callable

import numpy as np
import scipy.linalg


def capacitance(F: np.ndarray, D: np.ndarray) -> np.ndarray:
    return np.eye(F.shape[1]) + F.T @ (F / D[:, None])


def kkt_solver(d: np.ndarray, F: np.ndarray, w: np.ndarray) -> Callable:
    n, weight = len(d), 1.0 / w**2
    D = d + weight[:n] + weight[n:]
    M = scipy.linalg.cholesky(capacitance(F, D), lower=True)

    def solve(r, t):
        # z = W^-2 (G x - t), and (D + F F') x = r + W^-2 t_u - W^-2 t_l, by Woodbury's identity.
        b = (r + weight[:n] * t[:n] - weight[n:] * t[n:]) / D
        v = scipy.linalg.solve_triangular(M, F.T @ b, lower=True)
        x = b - F @ scipy.linalg.solve_triangular(M.T, v) / D
        return x, weight * (np.r_[x, -x] - t)

    return solve
