"""One Newton step of the optimality conditions of a quadratic program (chapter: Newton's step)."""

import numpy as np


def newton_step(
    data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(dx, dy, dz, ds) of the linearized conditions, for the point (x, y, z, s) with s, z > 0.

        P dx + A'dy + G'dz = -(Px + c + A'y + G'z)
        A dx               = -(Ax - b)
        G dx + ds          = -(Gx + s - h)
        z ds + s dz        = sigma mu - s z           mu = s'z / m

    `data` has P, c, A, b, G, h.  Solve a symmetric system of order n + p + m, or a smaller one.  The step is
    graded, also where s and z are as small as 1e-6 and where (x, y, z, s) is not feasible.
    """
    raise NotImplementedError
