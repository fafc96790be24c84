"""When a loop of warm starts goes back to cold starts."""

from __future__ import annotations

MOST = 63  # cold starts between two trials of a warm start


class Habit:
    """Policy of starts from the last answer: as long as they save iterations, and after losses in a row less often.

    Attributes
    ----------
    cold : int
        Iterations of the last run with a cold start; 0 if there is none.

    Examples
    --------
    >>> habit, starts = Habit(), []
    >>> habit.count(12, False)
    >>> for _ in range(12):
    ...     starts.append(habit.is_due())
    ...     habit.count(14 if starts[-1] else 12, starts[-1])
    >>> "".join("cw"[start] for start in starts)
    'wwcwcccwcccc'
    """

    def __init__(self) -> None:
        self.cold = self._losses = self._wait = 0

    def is_due(self) -> bool:
        """Return True if the next run should begin at the last answer."""
        return self._wait == 0

    def count(self, iterations: int, is_warm: bool) -> None:
        """Count the iterations of a run that has found an answer."""
        if not is_warm:
            self.cold = iterations
            self._wait = max(self._wait - 1, 0)
        elif iterations > self.cold > 0:
            self._wait = min((1 << self._losses) - 1, MOST)
            self._losses += 1
        else:
            self._losses = 0
