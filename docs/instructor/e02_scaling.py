"""The Nesterov-Todd scaling of a second-order cone (chapter: scaling)."""

import numpy as np


def scaling(s: np.ndarray, z: np.ndarray) -> np.ndarray:
    J = np.diag(np.r_[1.0, -np.ones(s.size - 1)])
    e = np.eye(s.size)[0]
    root_s, root_z = (np.sqrt(u @ J @ u) for u in (s, z))
    w = s / root_s + J @ z / root_z
    w /= np.sqrt(w @ J @ w)
    return np.sqrt(root_s / root_z) * (np.outer(w + e, w + e) / (1.0 + w[0]) - J)
