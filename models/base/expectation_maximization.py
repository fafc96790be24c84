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
    """Run expectation maximization; return True if it converged.

    `expect` returns the expected statistics and the objective at the current parameters; its argument is the statistics
    of the last step, at first None, from which a variational method can start.  `maximize` sets the parameters from the
    statistics.  EM ends when the objective rises by at most `tol` times `unit` (if None, 1 + |objective|), or after
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
