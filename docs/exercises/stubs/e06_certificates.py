"""What an iterate of the homogeneous embedding says (chapter: the homogeneous embedding and certificates).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def verdict(data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, tau: float, tol: float) -> str:
    """Return "optimal", "primal_infeasible", "dual_infeasible" or "unknown", of  minimize c'x,  Ax = b,  Gx <= h.

    optimal             tau > 0, and (X, Y, Z) = (x, y, z) / tau has  |AX - b| <= tol,  GX - h <= tol,  Z >= -tol,
                        |c + A'Y + G'Z| <= tol,  and the objectives differ by at most tol:  |c'X + b'Y + h'Z| <= tol
    primal_infeasible   b'y + h'z < 0,  and once (y, z) is scaled to b'y + h'z = -1:  |A'y + G'z| <= tol,  z >= -tol
    dual_infeasible     c'x < 0,  and once x is scaled to c'x = -1:  |Ax| <= tol,  Gx <= tol

    entry by entry, tested in this order.  `data` has c, A, b, G, h; A may have no rows; tau >= 0 may be zero.
    """
    raise NotImplementedError
