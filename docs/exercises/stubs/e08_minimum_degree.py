"""The minimum degree ordering of a sparse symmetric matrix (chapter: sparse factorization).

May import numpy, math, itertools, functools, collections, heapq, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def order(pattern: np.ndarray) -> np.ndarray:
    """Return an order of elimination, as a permutation: always next a node with the fewest neighbours that are left.

    `pattern` is a symmetric boolean matrix; its diagonal does not count.  Eliminating a node joins all its neighbours
    with each other.  Which of several nodes with the same degree is taken is up to you.
    """
    raise NotImplementedError


def fill(pattern: np.ndarray, permutation: np.ndarray) -> int:
    """Return the number of entries below the diagonal of L in this order, those of the matrix and those filled in."""
    raise NotImplementedError
