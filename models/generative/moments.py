"""Weights, means and scatters of classes, summed over blocks of rows.

Sums over one part of the samples and over another are joined about the common mean (Chan, Golub, LeVeque 1983):

    N = N_1 + N_2,   mu = mu_1 + N_2 / N (mu_2 - mu_1),   S = S_1 + S_2 + N_1 N_2 / N (mu_2 - mu_1)(mu_2 - mu_1)'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..base.blocks import Block


@dataclass
class Moments:
    """Weight N_k, shape (K,), mean, (K, p), and scatter about it, (c, p, p) or its diagonal (c, p), of each class.

    c is 1 if the scatters of all classes are added, else K.  `largest` has the largest |x_j| of each feature.
    """

    counts: np.ndarray
    means: np.ndarray
    scatters: np.ndarray
    largest: np.ndarray

    @classmethod
    def zeros(cls, classes: int, features: int, full: bool, shared: bool) -> Moments:
        """Return the moments of no samples."""
        shape = (1 if shared else classes, features, features) if full else (1 if shared else classes, features)
        return cls(np.zeros(classes), np.zeros((classes, features)), np.zeros(shape), np.zeros(features))

    def add(self, k: int, X: np.ndarray, weights: np.ndarray) -> None:
        """Set the weight and mean of class k, and add its scatter, from all of its samples."""
        if weights.size == 0:
            return
        R, self.counts[k] = X - X[0], weights.sum()  # columns far from zero lose no digits
        shift = weights @ R / self.counts[k]
        R -= shift
        self.means[k] = X[0] + shift
        S = self.scatters[k if len(self.scatters) == len(self.counts) else 0]
        S += (weights[:, None] * R).T @ R if S.ndim == 2 else weights @ R**2

    def join(self, means: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means and scatters after samples of the weights `counts` are added at the points `means`."""
        total, step, scatters = self.counts + counts, means - self.means, self.scatters.copy()
        share = np.divide(counts, total, out=np.zeros(total.size), where=total > 0.0)
        for k, weight in enumerate(self.counts * share):
            S = scatters[k if len(scatters) == len(self.counts) else 0]
            if weight > 0.0:
                S += weight * (np.outer(step[k], step[k]) if S.ndim == 2 else step[k] ** 2)
        return self.means + share[:, None] * step, scatters

    def overall(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each feature over all classes; the variance of a constant feature is 0."""
        N = self.counts.sum()
        mean = self.counts @ self.means / N
        within = self.scatters.sum(axis=0)
        within = within if within.ndim == 1 else np.diagonal(within)
        variance = (within + self.counts @ (self.means - mean) ** 2) / N
        rounding = 10.0 * np.finfo(float).eps * self.largest
        return mean, np.where(variance > rounding**2, variance, 0.0)


def classes_of(block: Block) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the number, samples and weights of every class in the block."""
    for k in np.unique(block.codes):
        own = block.codes == k
        yield int(k), block.X[own], block.weights[own]


def moments(classes: int, full: bool, shared: bool, block: Block) -> Moments:
    """Return the moments of one block."""
    found = Moments.zeros(classes, block.X.shape[1], full, shared)
    found.largest = np.abs(block.X).max(axis=0)
    for k, X, weights in classes_of(block):
        found.add(k, X, weights)
    return found


def joined(one: Moments, other: Moments) -> Moments:
    """Return the moments of two parts of the samples."""
    means, scatters = one.join(other.means, other.counts)
    largest = np.maximum(one.largest, other.largest)
    return Moments(one.counts + other.counts, means, scatters + other.scatters, largest)


def fourth_powers(X: np.ndarray, weights: np.ndarray, mean: np.ndarray, units: np.ndarray, full: bool) -> float:
    """Return sum_i w_i (r_i'r_i)^2 or, unless `full`, sum_ij w_i r_ij^4, for r = (x - mean) / sqrt(units)."""
    squares = (X - mean) ** 2 / units
    squares = squares.sum(axis=1, keepdims=True) if full else squares
    return float((weights @ squares**2).sum())


def fourths(means: np.ndarray, units: np.ndarray, full: bool, block: Block) -> tuple[np.ndarray]:
    """Return `fourth_powers` of every class in one block."""
    found = np.zeros(len(means))
    for k, X, weights in classes_of(block):
        found[k] = fourth_powers(X[:, : units.size], weights, means[k, : units.size], units, full)
    return (found,)
