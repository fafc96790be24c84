"""The minimum degree ordering of a sparse symmetric matrix (chapter: sparse factorization)."""

import numpy as np


def order(pattern: np.ndarray) -> np.ndarray:
    """An order of elimination, as a permutation: always next a node with the fewest neighbours that are left.

    `pattern` is a symmetric boolean matrix; its diagonal does not count.  Eliminating a node joins all its neighbours
    with each other.  Which of several nodes with the same degree is taken is up to you.
    """
    n = len(pattern)
    neighbours = [set(np.flatnonzero(pattern[i])) - {i} for i in range(n)]
    left, found = set(range(n)), []
    while left:
        k = min(left, key=lambda i: (len(neighbours[i]), i))
        for i in neighbours[k]:
            neighbours[i] |= neighbours[k]
            neighbours[i] -= {i, k}
        left.remove(k)
        found.append(k)
    return np.array(found)


def fill(pattern: np.ndarray, permutation: np.ndarray) -> int:
    """The number of entries below the diagonal of L in this order."""
    remaining = np.array(pattern, dtype=bool)[np.ix_(permutation, permutation)]
    count = 0
    for j in range(len(remaining)):
        below = j + 1 + np.flatnonzero(remaining[j + 1 :, j])
        count += below.size
        remaining[np.ix_(below, below)] = True
    return count
