"""Copies of a sample merged into one with the sum of their weights, in an order independent of the samples' order.

A random algorithm then gives equal results for a sample of weight two and for two copies of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

MULTIPLIERS = np.array([6364136223846793005, 3935559000370003845])  # multipliers of generators modulo 2^64


def merge_copies(X: Any, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the index of one sample per group of copies, the weight of each group, and the group of every sample.

    Copies are equal samples of one class.
    """
    rows = sp.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    # Two hashes of every row: sums of its values weighted by fixed pseudorandom numbers, one per column.
    prints = [rows @ _numbers(rows.shape[1], f) for f in (0, 1)]
    order = np.lexsort((prints[1], prints[0], codes))
    told = np.stack([codes, *prints])[:, order]
    is_new = np.append(True, (told[:, 1:] != told[:, :-1]).any(axis=0))[: order.size]
    alike = np.flatnonzero(~is_new)  # rows with equal hashes may differ
    is_new[alike] = np.diff((rows[order[alike]] != rows[order[alike - 1]]).indptr) > 0
    owner = np.empty(codes.size, dtype=np.int64)
    owner[order] = np.cumsum(is_new) - 1
    return order[is_new], np.bincount(owner, weights), owner


def _numbers(size: int, f: int) -> np.ndarray:
    """Return `size` fixed pseudorandom numbers of 32 bits, one per column; `f` is 0 or 1."""
    mixed = np.arange(1, size + 1, dtype=np.int64) * MULTIPLIERS[f] & 0x7FFFFFFFFFFFFFFF
    mixed = (mixed ^ (mixed >> 29)) * MULTIPLIERS[1 - f]
    return ((mixed ^ (mixed >> 32)) & 0xFFFFFFFF).astype(np.float64) + 1.0
