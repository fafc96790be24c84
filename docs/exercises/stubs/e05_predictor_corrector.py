"""A whole method: Mehrotra's predictor-corrector for quadratic programs (chapter: predictor and corrector).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

from collections.abc import Callable

import numpy as np


def factor(data: dict[str, np.ndarray], z: np.ndarray, s: np.ndarray) -> Callable:
    """Return a function of (r1, r2, r3, r4), four arrays, that returns (dx, dy, dz, ds) with

        P dx + A'dy + G'dz = r1
        A dx               = r2
        G dx + ds          = r3
        z ds + s dz        = r4

    What depends on `data`, z and s alone is done here: by LAPACK's LU, your own LDL', Schur complements, as you like.
    `data` has P, c, A, b, G, h; A may have no rows.
    """
    raise NotImplementedError


def step(
    data: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the next (x, y, z, s) from a point with s, z > 0, which need not be feasible: one iteration.

    1. predictor: the Newton direction of exercise 3 with sigma = 0, and the largest alpha <= 1 that keeps s, z >= 0
    2. sigma = (1 - alpha)^3
    3. combined direction: right-hand side  sigma mu - s z - ds dz  in the last equation, ds and dz of the predictor
    4. step: alpha = min(1, 0.99 alpha_max), with alpha_max the largest step, perhaps above 1, that keeps s, z >= 0;
       the same alpha for x, y, z and s

    mu = s'z / m.  The first three equations of both directions have the whole residuals on the right, not 1 - sigma
    times these as the embedding of the chapter has.  Call `factor` once, and the function that it returns twice: the
    grader counts both.
    """
    raise NotImplementedError


def solve(data: dict[str, np.ndarray], tol: float = 1e-8) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return (x, y, z, iterations) of  minimize 1/2 x'Px + c'x  subject to  Ax = b,  Gx <= h.

    The program has a solution.  Start anywhere with s, z > 0 and call `step` until the largest entry of the residuals
    |Px + c + A'y + G'z|,  |Ax - b|,  |Gx + s - h|  and the gap s'z are at most tol.
    """
    raise NotImplementedError
