"""A start on the central path, near where the last program's solution was (chapter: active sets, warm starts)."""

import numpy as np


def centered(s: np.ndarray, z: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    v = s - z
    length = np.linalg.norm(v[1:])
    axis = v[1:] / length if length > 0.0 else np.eye(max(v.size - 1, 1))[0][: v.size - 1]

    def larger(eigenvalue: float) -> float:
        root = np.sqrt(eigenvalue**2 + 4.0 * mu)
        return 0.5 * (eigenvalue + root) if eigenvalue > 0.0 else 2.0 * mu / (root - eigenvalue)

    def of(function) -> np.ndarray:
        upper, lower = function(v[0] + length), function(v[0] - length)
        return np.r_[0.5 * (upper + lower), 0.5 * (upper - lower) * axis]

    return of(larger), of(lambda eigenvalue: larger(-eigenvalue))
