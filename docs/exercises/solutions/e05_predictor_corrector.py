"""A whole method: Mehrotra's predictor-corrector for quadratic programs (chapter: predictor and corrector)."""

import numpy as np


def step(
    data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The next (x, y, z, s) from a point with s, z > 0, which need not be feasible: one iteration.

    1. predictor: the Newton direction of exercise 3 with sigma = 0, and the largest alpha <= 1 that keeps s, z >= 0
    2. sigma = (1 - alpha)^3
    3. combined direction: right-hand side  sigma mu - s z - ds dz  in the last equation, ds and dz of the predictor
    4. step: alpha = min(1, 0.99 alpha_max), with alpha_max the largest step, perhaps above 1, that keeps s, z >= 0;
       the same alpha for x, y, z and s

    mu = s'z / m.  The first three equations of both directions have the whole residuals on the right, not 1 - sigma
    times these as the embedding of the chapter has.

    Both directions come from one matrix: the grader counts the different matrices given to numpy.linalg and
    scipy.linalg.
    """
    P, c, A, b, G, h = (data[name] for name in ("P", "c", "A", "b", "G", "h"))
    n, p, m = c.size, b.size, h.size
    rx, ry, rz = P @ x + c + A.T @ y + G.T @ z, A @ x - b, G @ x + s - h
    K = np.block([[P + G.T @ (G * (z / s)[:, None]), A.T], [A, np.zeros((p, p))]])

    def direction(rc):
        """The step for z ds + s dz = rc, with ds and dz eliminated."""
        u = np.linalg.solve(K, np.concatenate([-rx - G.T @ ((rc + z * rz) / s), -ry]))
        ds = -rz - G @ u[:n]
        return u[:n], u[n:], (rc - z * ds) / s, ds

    def longest(dz, ds):
        return min([np.inf] + [(-v[d < 0] / d[d < 0]).min() for v, d in ((z, dz), (s, ds)) if (d < 0).any()])

    _, _, dz, ds = direction(-s * z)
    sigma = (1.0 - min(1.0, longest(dz, ds))) ** 3
    dx, dy, dz, ds = direction(sigma * (s @ z) / m - s * z - ds * dz)
    alpha = min(1.0, 0.99 * longest(dz, ds))
    return x + alpha * dx, y + alpha * dy, z + alpha * dz, s + alpha * ds


def solve(data: dict[str, np.ndarray], tol: float = 1e-8) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(x, y, z, iterations) of  minimize 1/2 x'Px + c'x  subject to  Ax = b,  Gx <= h.

    `data` has P, c, A, b, G, h; the program has a solution.  Start anywhere with s, z > 0 and call `step` until the
    largest entry of the residuals  Px + c + A'y + G'z,  Ax - b,  Gx + s - h  and the gap s'z are at most tol.
    """
    P, c, A, b, G, h = (data[name] for name in ("P", "c", "A", "b", "G", "h"))
    x, y, z, s = np.zeros(c.size), np.zeros(b.size), np.ones(h.size), np.maximum(1.0, h)
    for iteration in range(100):
        rx, ry, rz = P @ x + c + A.T @ y + G.T @ z, A @ x - b, G @ x + s - h
        if max(np.abs(np.concatenate([rx, ry, rz])).max(), s @ z) <= tol:
            return x, y, z, iteration
        x, y, z, s = step(data, x, y, z, s)
    raise RuntimeError("no solution in 100 iterations")
