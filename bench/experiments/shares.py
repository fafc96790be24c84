"""Means of repeated measurements with their confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..metrics import mean_interval


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and the half width of its 95 % confidence interval by Student's t (0 of a single value).

    Examples
    --------
    >>> mean, error = mean_and_error([1.0, 2.0, 3.0])
    >>> mean, round(error, 3)
    (2.0, 2.484)
    """
    mean, half = mean_interval(list(values))
    return float(mean), float(np.nan_to_num(half))


def shown(values: Iterable[float], digits: int = 1) -> str:
    """The mean and its error as text.

    Examples
    --------
    >>> shown([1.0, 2.0, 3.0])
    '2.0 ± 2.5'
    """
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
