"""The dual of the support vector machine (chapter: from a paper to a program)."""

import numpy as np


def dual(X: np.ndarray, y: np.ndarray, C: float) -> dict[str, np.ndarray]:
    signed = y[:, None] * X
    n = len(X)
    return {
        "P": signed @ signed.T, "q": -np.ones(n), "A": y[None, :].astype(float), "b": np.zeros(1),
        "lb": np.zeros(n), "ub": np.full(n, float(C)),
    }  # fmt: skip


def hyperplane(X: np.ndarray, y: np.ndarray, C: float, a: np.ndarray) -> tuple[np.ndarray, float]:
    w = X.T @ (a * y)
    inner = np.minimum(a, C - a)
    i = int(inner.argmax())  # the one that is farthest from its bounds
    return w, float(y[i] - X[i] @ w)
