"""LDL' of a quasi-definite matrix, regularized, and what refinement repairs (chapters: factorization, numerics).

May import numpy, math, itertools, functools, collections, copy, dataclasses, typing and warnings;
may not call numpy.linalg: factor and substitute in loops of your own.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def factor(K: np.ndarray, signs: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return L with a unit diagonal and the vector d of L diag(d) L' = K + delta diag(signs), without pivoting.

    A pivot d_j with signs_j d_j < delta / 10 is replaced by signs_j delta: then the product differs from the matrix in
    the entry (j, j).  `signs` has entries 1 and -1.
    """
    raise NotImplementedError


def solve(K: np.ndarray, signs: np.ndarray, rhs: np.ndarray, delta: float, steps: int) -> np.ndarray:
    """Return the solution of K u = rhs by one call of `factor` and so many steps of iterative refinement."""
    raise NotImplementedError
