"""The loop of expectation maximization."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .progress import History

Statistics = TypeVar("Statistics")


def ascend(
    expect: Callable[[Statistics | None], tuple[Statistics, float]],
    maximize: Callable[[Statistics], None],
    history: History,
    tol: float,
    max_iter: int,
    unit: float | None = None,
) -> bool:
    """Expectation maximization; returns whether it converged.

    `expect` returns the expected statistics at the present parameters, and the objective there; it gets the statistics
    of the step before, None at first, from which a variational method can go on.  `maximize` sets the parameters from
    them.  EM ends when the objective rises by at most `tol` times `unit` (1 + its size without one), or after
    `max_iter` M steps.

    Examples
    --------
    The mean of four numbers of which the last one is missing; EM fills it in with the mean:

    >>> mean = [0.0]
    >>> def expect(before):
    ...     filled = [1.0, 2.0, 6.0, mean[0]]
    ...     return filled, -sum((x - mean[0]) ** 2 for x in filled[:3])
    >>> def maximize(filled):
    ...     mean[0] = sum(filled) / 4.0
    >>> history = History()
    >>> ascend(expect, maximize, history, tol=1e-9, max_iter=100), round(mean[0], 4), len(history) < 30
    (True, 3.0, True)
    """
    statistics, value = expect(None)
    history.append(value)
    converged = False
    while not converged and len(history) <= max_iter:
        maximize(statistics)
        statistics, value = expect(statistics)
        history.append(value)
        converged = history[-1] - history[-2] <= tol * (1.0 + abs(value) if unit is None else unit)
    history.end(converged)
    return converged
