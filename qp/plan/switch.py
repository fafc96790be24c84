"""When a loop goes over from one method to another."""

from __future__ import annotations

COLD = 32  # answers of one method after which cold solves are a loop: few solves have the same bits in any order
ALLOWED = 10  # answers of the method on trial for each failure, after which another method solves the program


class Switch:
    """Policy of going over: considered after 1, 2, 4, ... answers, until the method on trial fails too often.

    Attributes
    ----------
    solved : int
        Number of programs with the present matrices that have been solved without a trial.

    Examples
    --------
    >>> switch, due = Switch(), []
    >>> for _ in range(6):
    ...     switch.count()
    ...     due.append(switch.is_due())
    >>> due
    [True, True, False, True, False, False]
    >>> switch.allows_failure(), switch.is_due()
    (False, False)
    """

    def __init__(self) -> None:
        self.solved, self._is_open = 0, True
        self._answers = self._failures = 0

    def count(self) -> None:
        """Count an answer of a method that is not on trial."""
        self.solved += 1

    def is_due(self, is_warm: bool = True) -> bool:
        """Return True if going over should be considered now; without warm starts, after `COLD` answers at least."""
        solved = self.solved
        return self._is_open and solved >= (1 if is_warm else COLD) and solved & (solved - 1) == 0

    def succeeded(self) -> None:
        """Count an answer of the method on trial."""
        self._answers += 1

    def allows_failure(self) -> bool:
        """Return True if another failure of the method on trial costs at most a tenth of the time; else end trials."""
        self._failures += 1
        self._is_open = ALLOWED * self._failures <= self._answers
        return self._is_open

    def reset(self) -> None:
        """Begin again, as the program has other matrices."""
        self.solved = 0
