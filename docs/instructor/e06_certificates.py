"""What an iterate of the homogeneous embedding says (chapter: the homogeneous embedding and certificates)."""

import numpy as np


def verdict(data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, tau: float, tol: float) -> str:
    c, A, b, G, h = (data[name] for name in ("c", "A", "b", "G", "h"))

    def norm(*vectors: np.ndarray) -> float:
        return float(np.abs(np.concatenate(vectors)).max(initial=0.0))

    if tau > 0.0:
        X, Y, Z = x / tau, y / tau, z / tau
        outside = max((G @ X - h).max(initial=0.0), (-Z).max(initial=0.0))
        gap = abs(c @ X + b @ Y + h @ Z)
        if max(norm(A @ X - b), norm(c + A.T @ Y + G.T @ Z), outside, gap) <= tol:
            return "optimal"
    slope = -(b @ y + h @ z)
    if slope > 0.0 and norm(A.T @ y + G.T @ z) <= tol * slope and z.min(initial=0.0) >= -tol * slope:
        return "primal_infeasible"
    slope = -(c @ x)
    if slope > 0.0 and norm(A @ x) <= tol * slope and (G @ x).max(initial=0.0) <= tol * slope:
        return "dual_infeasible"
    return "unknown"
