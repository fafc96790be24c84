"""The dual of the support vector machine (chapter: from a paper to a program)."""

import numpy as np


def dual(X: np.ndarray, y: np.ndarray, C: float) -> dict[str, np.ndarray]:
    """P, q, A, b, lb, ub of the dual, as  minimize 1/2 a'Pa + q'a,  Aa = b,  lb <= a <= ub.

    The primal is  minimize 1/2 ||w||^2 + C sum_i xi_i,  y_i (w'x_i + beta) >= 1 - xi_i,  xi >= 0,  with a row of X a
    sample and labels y of 1 and -1.
    """
    signed = y[:, None] * X
    n = len(X)
    return {
        "P": signed @ signed.T, "q": -np.ones(n), "A": y[None, :].astype(float), "b": np.zeros(1),
        "lb": np.zeros(n), "ub": np.full(n, float(C)),
    }  # fmt: skip


def hyperplane(X: np.ndarray, y: np.ndarray, C: float, a: np.ndarray) -> tuple[np.ndarray, float]:
    """(w, beta) from the solution a of the dual; some a_i is strictly between 0 and C."""
    w = X.T @ (a * y)
    inner = np.minimum(a, C - a)
    i = int(inner.argmax())  # the one that is farthest from its bounds
    return w, float(y[i] - X[i] @ w)
