"""Starting points far from each other, for models whose training finds only a local optimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .validation import as_dense


def spread_rows(x: Any, number: int, rng: np.random.Generator, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Return indices of rows of x, drawn by weight times squared distance to the nearest row drawn before.

    This is k-means++ (Arthur and Vassilvitskii 2007).  Once all distances are zero, rows may be drawn again.
    """
    squares = np.asarray((x * x).sum(axis=1)).ravel()
    plain = np.ones(squares.size) if sample_weight is None else sample_weight
    first = rng.integers(squares.size) if sample_weight is None else rng.choice(squares.size, p=plain / plain.sum())
    chosen = [int(first)]
    nearest = np.full(squares.size, np.inf)
    while len(chosen) < number:
        last = chosen[-1]
        products = as_dense(x @ x[[last]].T).ravel()
        nearest = np.minimum(nearest, np.maximum(squares + squares[last] - 2.0 * products, 0.0))
        nearest[last] = 0.0
        weights = plain * nearest
        weights = weights if weights.any() else plain
        chosen.append(int(rng.choice(squares.size, p=weights / weights.sum())))
    return np.array(chosen)


def cluster_means(x: np.ndarray, number: int, rng: np.random.Generator, rounds: int = 10) -> np.ndarray:
    """Return the means of clusters after `rounds` rounds of k-means from spread rows."""
    means = x[spread_rows(x, number, rng)]
    for _ in range(rounds):
        owner = ((means**2).sum(axis=1) - 2.0 * x @ means.T).argmin(axis=1)
        means = np.array([x[owner == i].mean(axis=0) if (owner == i).any() else means[i] for i in range(number)])
    return means
