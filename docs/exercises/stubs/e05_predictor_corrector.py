"""A whole method: Mehrotra's predictor-corrector for quadratic programs (chapter: predictor and corrector)."""

import numpy as np


def solve(data: dict[str, np.ndarray], tol: float = 1e-8) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(x, y, z, iterations) of  minimize 1/2 x'Px + c'x  subject to  Ax = b,  Gx <= h.

    `data` has P, c, A, b, G, h; the program has a solution.  Stop when all residuals of the optimality conditions and
    the gap s'z are at most tol.  The grader counts: a predictor with sigma = (1 - alpha)^3, the corrector, and steps of
    0.99 of the way to the boundary are enough to pass.
    """
    raise NotImplementedError
