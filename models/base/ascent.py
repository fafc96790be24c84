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

    Parameters
    ----------
    expect : callable
        The E step: the expected statistics at the present parameters, and the objective there.  It gets the statistics
        of the step before, None at first, from which a variational method can go on.
    maximize : callable
        The M step: sets the parameters from the statistics.
    history : History
        The objectives, that of the start first.
    tol, max_iter : float, int
        EM ends when the objective rises by at most tol `unit`, or after max_iter M steps.
    unit : float, optional
        The number of observations; 1 + the size of the objective without one.

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
