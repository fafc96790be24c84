r"""Posteriors tilted towards the margin of a linear classifier, exactly or by sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .med import best_multipliers, margin_loss
from .scores import own_logarithms
from .sufficient_statistics import ChainStatistics, SideBySide, Statistics

ROOT_ROUNDS = 200  # most steps of the search for the samples' multipliers
ROOT_TOL = 1e-9  # tolerance of a multiplier, relative to c


@dataclass
class Tilted:
    """Tilted posteriors: each sample's multiplier, KL(Q || P(x, h)), loss of its margin, and E[T]."""

    multipliers: np.ndarray
    divergence: np.ndarray
    loss: np.ndarray
    table: np.ndarray


def tilt_exactly(
    samples: Statistics | SideBySide, signs: np.ndarray, w: np.ndarray, offset: float, a: float, c: float, xi: float
) -> Tilted:
    r"""Minimize KL(Q || P(x, h)) + xi l(y (w'E[T] + offset)) over Q for each sample; l is `med.margin_loss`.

    The best Q is P tilted by xi lambda y w'T with lambda = -l'(its margin).  A nonzero lambda is the root of

    .. math::
        (a - m(\lambda))\, (c - \lambda) - 1, \qquad m(\lambda) = y\, (w^\top E_{\lambda}[T] + \mathrm{offset}),

    which decreases, since more tilt gives more margin.
    """
    found = samples.expect(w, np.zeros(signs.size))
    margins = signs * (found.table @ w + offset)

    def excess(multipliers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the function at `multipliers` for the samples `rows`; store their margins and expectations."""
        part = samples.expect(w, xi * multipliers * signs[rows], rows)
        found.table[rows], found.log_partition[rows] = part.table, part.log_partition
        margins[rows] = signs[rows] * (part.table @ w + offset)
        return (a - margins[rows]) * (c - multipliers) - 1.0

    def is_root(multipliers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return abs(best_multipliers(margins[rows], a, c) - multipliers) <= ROOT_TOL * c

    at_zero = (a - margins) * c - 1.0
    multipliers = decreasing_roots(excess, is_root, at_zero, best_multipliers(margins, a, c))  # m increases
    divergence = xi * multipliers * signs * (found.table @ w) - found.log_partition
    return Tilted(multipliers, divergence, margin_loss(margins, a, c), found.table)


def decreasing_roots(f: Any, is_root: Any, at_zero: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the roots in [0, high] of decreasing functions, all at once; 0 where `high` is 0.

    The method is the Illinois form of false position, with a bisection after two steps that did not halve the interval:
    under a strong tilt the functions are nearly step functions.

    `f(points, rows)` returns the values of functions `rows`, and `is_root(points, rows)` whether to accept the points.
    `at_zero` holds the values at 0, which are positive where `high` is; the values at `high` are not positive.
    """
    low, at_low, high = np.zeros(high.size), at_zero.copy(), high.copy()
    current, at_high, side = high.copy(), np.zeros(high.size), np.zeros(high.size)
    slow, open_ = np.zeros(high.size, dtype=np.int64), high > 0.0
    k = np.flatnonzero(open_)
    if k.size:
        at_high[k] = f(high[k], k)
        open_[k] = ~is_root(high[k], k)
    for _ in range(ROOT_ROUNDS):
        k = np.flatnonzero(open_ & (high - low > 4.0 * np.finfo(np.float64).eps * high))
        if k.size == 0:
            break
        width = high[k] - low[k]
        share = np.where(slow[k] < 2, at_low[k] / (at_low[k] - at_high[k]), 0.5)
        current[k] = low[k] + share * width
        value = f(current[k], k)
        above = value > 0.0
        at_high[k] = np.where(above, np.where(side[k] > 0.0, 0.5 * at_high[k], at_high[k]), value)
        at_low[k] = np.where(above, value, np.where(side[k] < 0.0, 0.5 * at_low[k], at_low[k]))
        low[k], high[k] = np.where(above, current[k], low[k]), np.where(above, high[k], current[k])
        side[k] = np.where(above, 1.0, -1.0)
        slow[k] = np.where(high[k] - low[k] <= 0.5 * width, 0, slow[k] + 1)
        open_[k] = ~is_root(current[k], k)
    return current


class ExactTilt:
    """Exact tilted posteriors, with phi = T."""

    def __init__(self, samples: SideBySide, a: float, c: float, xi: float) -> None:
        self.samples, self.a, self.c, self.xi = samples, a, c, xi

    def start(self) -> np.ndarray:
        """Return E[phi] of the posteriors without a tilt."""
        return self.samples.expect().table

    def tilt(self, signs: np.ndarray, w: np.ndarray, offset: float, multipliers: np.ndarray) -> Tilted:
        """Return the best posteriors for `w`; `multipliers` is ignored, since the best ones are computed."""
        return tilt_exactly(self.samples, signs, w, offset, self.a, self.c, self.xi)

    def statistics(self, phi: np.ndarray) -> np.ndarray:
        """Return E[T] from E[phi]."""
        return phi


class SampledTilt:
    """Tilted posteriors by sampling, with the hats fixed; phi = (T, T log hats) for chains, T for topics."""

    def __init__(
        self, samples: SideBySide, a: float, c: float, xi: float, draws: int, rng: np.random.Generator
    ) -> None:
        self.samples, self.a, self.c, self.xi = samples, a, c, xi
        self.draws, self.rng = draws, rng

    def start(self) -> np.ndarray:
        """Return E[phi] of the posteriors without a tilt."""
        return self._phi(self.samples.expect().table)

    def _phi(self, table: np.ndarray) -> np.ndarray:
        phi, self.hats = with_logarithms(self.samples, table)
        return phi

    def tilt(self, signs: np.ndarray, w: np.ndarray, offset: float, multipliers: np.ndarray) -> Tilted:
        """Return posteriors tilted by `multipliers`."""
        samples, strength = self.samples, self.xi * multipliers * signs
        divergence, tables = -samples.of_owner(), []
        for part, own, hats in zip(samples.parts, samples.split(w), self.hats):
            d = own.size // 2 if hats.size else own.size
            by_sample = own[:d] + (own[d:] * hats if hats.size else np.zeros((strength.size, 1)))  # weights of T
            table, log_mean = part.draw_tilted(by_sample, strength, self.draws, self.rng)
            divergence += strength * np.einsum("td,td->t", table, by_sample) - log_mean
            tables.append(table)
        phi = self._phi(np.hstack(tables))
        return Tilted(multipliers, divergence, margin_loss(signs * (phi @ w + offset), self.a, self.c), phi)

    def statistics(self, phi: np.ndarray) -> np.ndarray:
        """Return E[T] from E[phi]."""
        parts = zip(self.samples.split(phi), self.hats)
        return np.hstack([part[:, : part.shape[1] // 2] if hats.size else part for part, hats in parts])


def with_logarithms(samples: SideBySide, table: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the statistics (T, T log hats) of all models side by side, and log hats of each; for topics T, empty."""
    found, hats = [], []
    for part, own in zip(samples.parts, samples.split(table)):
        logs = own_logarithms(part, own) if isinstance(part, ChainStatistics) else np.empty((own.shape[0], 0))
        found.append(np.hstack([own, own * logs]) if logs.size else own)
        hats.append(logs)
    return np.hstack(found), hats
