"""Copies of one sample made one sample of their weights' sum, in an order that depends on no order of the samples.

What is random in an algorithm then falls the same way for a sample of weight two and for that sample twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import kernel
from socp.compiled.signatures import Bools, Floats, Ints, Matrix

MULTIPLIERS = (6364136223846793005, 3935559000370003845)


@kernel
def take_fingerprints(indptr: Ints, indices: Ints, values: Floats, fingerprints: Matrix) -> None:
    """Two sums of every row's values, each times a number that the column alone decides; the same for equal rows."""
    mask = 0x7FFFFFFFFFFFFFFF
    for i in range(indptr.size - 1):
        for f in range(2):
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                mixed = ((indices[k] + 1) * MULTIPLIERS[f]) & mask
                mixed = ((mixed ^ (mixed >> 29)) * MULTIPLIERS[1 - f]) & mask
                mixed = mixed ^ (mixed >> 32)
                total += values[k] * (float(mixed & 0xFFFFFFFF) + 1.0)
            fingerprints[f, i] = total


@kernel
def find_copies(indptr: Ints, indices: Ints, values: Floats, codes: Ints, order: Ints, is_new: Bools) -> None:
    """Whether a sample differs from the one before it in the order."""
    for k in range(1, order.size):
        a, b = order[k - 1], order[k]
        count = indptr[b + 1] - indptr[b]
        is_new[k] = codes[a] != codes[b] or indptr[a + 1] - indptr[a] != count
        if not is_new[k]:
            for j in range(count):
                if indices[indptr[a] + j] != indices[indptr[b] + j] or values[indptr[a] + j] != values[indptr[b] + j]:
                    is_new[k] = True
                    break


def merge_copies(X: Any, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which samples are the first of their copies, with what weights, and of every sample which of these it is.

    Parameters
    ----------
    X : array or sparse, shape (samples, features)
    codes : array of int, shape (samples,)
        The classes: samples of different classes are no copies.
    weights : array, shape (samples,)

    Returns
    -------
    first, weights : arrays, shape (distinct samples,)
    owner : array of int, shape (samples,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]])
    >>> first, weights, owner = merge_copies(X, np.array([1, 0, 1]), np.array([1.0, 3.0, 2.0]))
    >>> first.tolist(), weights.tolist(), owner.tolist()
    ([1, 0], [3.0, 3.0], [1, 0, 1])
    """
    rows = sp.csr_array(X)
    if not rows.has_canonical_format or not rows.data.all():
        rows = sp.csr_array(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
    parts = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64)
    fingerprints = np.empty((2, codes.size))
    take_fingerprints(*parts, fingerprints)
    order = np.lexsort((fingerprints[1], fingerprints[0], codes))
    is_new = np.ones(codes.size, dtype=bool)
    find_copies(*parts, codes.astype(np.int64), order, is_new)
    owner = np.empty(codes.size, dtype=np.int64)
    owner[order] = np.cumsum(is_new) - 1
    return order[is_new], np.bincount(owner, weights), owner
