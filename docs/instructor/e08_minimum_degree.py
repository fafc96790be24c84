"""The minimum degree ordering of a sparse symmetric matrix (chapter: sparse factorization)."""

import numpy as np


def order(pattern: np.ndarray) -> np.ndarray:
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
    remaining = np.array(pattern, dtype=bool)[np.ix_(permutation, permutation)]
    count = 0
    for j in range(len(remaining)):
        below = j + 1 + np.flatnonzero(remaining[j + 1 :, j])
        count += below.size
        remaining[np.ix_(below, below)] = True
    return count
