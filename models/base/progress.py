"""Progress of iterative fits as `verbose` prints it.

`verbose` prints one line per iteration, in a notebook one table that changes in place.  The columns are the iteration
(0 is the start), the objective or log-likelihood, its change, and the seconds since the iterations began.  A last line
says whether they converged.
"""

from __future__ import annotations

import time

from socp.problem import notebook

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
