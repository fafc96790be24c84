"""What an iterate of the homogeneous embedding says (chapter: the homogeneous embedding and certificates)."""

import numpy as np


def verdict(data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, tau: float, tol: float) -> str:
    """One of "optimal", "primal_infeasible", "dual_infeasible", "unknown", of  minimize c'x,  Ax = b,  Gx <= h.

    optimal             (x, y, z) / tau is feasible, z >= 0, dual feasible, and the objectives agree, all to tol
    primal_infeasible   z >= -tol and ||A'y + G'z|| <= tol once (y, z) is scaled to b'y + h'z = -1
    dual_infeasible     ||Ax|| <= tol and Gx <= tol once x is scaled to c'x = -1

    in infinity norms, tested in this order.  `data` has c, A, b, G, h; tau >= 0 may be zero.
    """
    raise NotImplementedError
