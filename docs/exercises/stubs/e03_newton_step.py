"""One Newton step of the optimality conditions of a quadratic program (chapter: Newton's step).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def newton_step(
    data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (dx, dy, dz, ds) of the linearized conditions, for the point (x, y, z, s) with s, z > 0.

        P dx + A'dy + G'dz = -(Px + c + A'y + G'z)
        A dx               = -(Ax - b)
        G dx + ds          = -(Gx + s - h)
        z ds + s dz        = sigma mu - s z           mu = s'z / m

    `data` has P, c, A, b, G, h; A may have no rows.  Solve one linear system, of any order.  The four equations must
    hold to 1e-8 of the largest entry of point and step, also where s and z are as small as 1e-6 and where
    (x, y, z, s) is not feasible.
    """
    raise NotImplementedError
