"""Copies of one sample made one sample of their weights' sum, in an order that depends on no order of the samples.

What is random in an algorithm then falls the same way for a sample of weight two and for that sample twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


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
    rows = sp.csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    indices, ends = rows.indices.astype(np.int64), rows.indptr
    keys = [
        (code, indices[a:b].tolist(), rows.data[a:b].tolist()) for code, a, b in zip(codes.tolist(), ends, ends[1:])
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    is_new = [k == 0 or keys[i] != keys[order[k - 1]] for k, i in enumerate(order)]
    owner = np.empty(codes.size, dtype=np.int64)
    owner[order] = np.cumsum(is_new) - 1
    return np.array(order)[is_new], np.bincount(owner, weights), owner
