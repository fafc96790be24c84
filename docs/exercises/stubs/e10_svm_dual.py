"""The dual of the support vector machine (chapter: from a paper to a program).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def dual(X: np.ndarray, y: np.ndarray, C: float) -> dict[str, np.ndarray]:
    """Return P, q, A, b, lb, ub of the dual, as  minimize 1/2 a'Pa + q'a,  Aa = b,  lb <= a <= ub.

    The primal is  minimize 1/2 ||w||^2 + C sum_i xi_i,  y_i (w'x_i + beta) >= 1 - xi_i,  xi >= 0,  with a row of X a
    sample and labels y of 1 and -1.  The shapes are those of the formulas: A has one row, b one entry.
    """
    raise NotImplementedError


def hyperplane(X: np.ndarray, y: np.ndarray, C: float, a: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (w, beta) from the solution a of the dual.

    a has errors of at most 1e-9 C.  At least one a_i, perhaps no more, is between 1e-3 C and (1 - 1e-3) C.
    """
    raise NotImplementedError
