"""Progress of iterative fits as `verbose` prints it, and the loop of expectation maximization.

`verbose` prints one line per iteration, in a notebook one table that changes in place.  The columns are the iteration
(0 is the start), the objective or log-likelihood, its change, and the seconds since the iterations began.  A last line
says whether they converged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from socp.problem import notebook

Statistics = TypeVar("Statistics")
LONGEST = 20  # most rows of the table in a notebook
PAUSE = 0.1  # shortest time between two updates of the table in a notebook, seconds


class History(list[float]):
    """Objective after each iteration, including the start; every value is printed when appended unless level is 0.

    `title` names the fit, `objective` the values; `first` is the number of the first iteration.
    """

    def __init__(self, title: str = "", objective: str = "", level: int = 0, first: int = 0) -> None:
        super().__init__()
        self.title, self.first = title, first
        self.heads = f" iter {objective:>16}  {'change':>10}  {'sec':>6}"
        self.level, self.begun = level, time.perf_counter()
        self.sheet: notebook.Sheet | None = None

    def append(self, value: float) -> None:
        """Append `value`, and print the iteration."""
        super().append(value)
        if not self.level:
            return
        change = f"{value - self[-2]:10.2e}" if len(self) > 1 else "    ------"
        now = time.perf_counter()
        text = f"{len(self) - 1 + self.first:5d} {value:16.8e}  {change}  {now - self.begun:6.2f}"
        if self.sheet is None:
            self.sheet = notebook.Sheet(self.title, self.heads, LONGEST, PAUSE)
        self.sheet.add(text)

    def end(self, converged: bool) -> None:
        """Print whether the iterations converged, if anything was printed."""
        if self.sheet is None:
            return
        number = len(self) - 1 + self.first
        done = f"{'converged' if converged else 'not converged'} after {number} iteration{'' if number == 1 else 's'}"
        self.sheet.finish(f"{done}, {time.perf_counter() - self.begun:.2f} s")


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
