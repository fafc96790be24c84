"""How far a step may go in a second-order cone (chapter: scaling)."""

import numpy as np


def longest_step(u: np.ndarray, du: np.ndarray) -> float:
    J = np.diag(np.r_[1.0, -np.ones(u.size - 1)])
    root = np.sqrt(u @ J @ u)
    unit, d = u / root, du / root
    d0 = unit @ J @ d
    d1 = d[1:] - (d0 + d[0]) / (1.0 + unit[0]) * unit[1:]
    smallest = d0 - np.linalg.norm(d1)  # smallest eigenvalue of du in the scaling in which u is e
    return -1.0 / smallest if smallest < 0.0 else np.inf
