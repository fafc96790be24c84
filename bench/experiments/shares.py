"""Means of repeated measurements with their confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and the half width of its 95 % confidence interval by Student's t (0 of a single value).

    Examples
    --------
    >>> mean, error = mean_and_error([1.0, 2.0, 3.0])
    >>> mean, round(error, 3)
    (2.0, 2.484)
    """
    array = np.array(list(values), dtype=np.float64)
    if array.size < 2:
        return float(array.mean()), 0.0
    from scipy.stats import t

    spread = array.std(ddof=1) / np.sqrt(array.size)
    return float(array.mean()), float(t.ppf(0.975, array.size - 1) * spread)


def shown(values: Iterable[float], digits: int = 1) -> str:
    """The mean and its error as text.

    Examples
    --------
    >>> shown([1.0, 2.0, 3.0])
    '2.0 ± 2.5'
    """
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
