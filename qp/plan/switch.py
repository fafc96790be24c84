"""When a loop of warm starts goes over from the interior-point method to the dual active set."""

from __future__ import annotations


class Switch:
    """Policy of going over: considered after 1, 2, 4, ... answers of the interior point, until it fails once.

    Attributes
    ----------
    solved : int
        Number of programs with the present matrices that the interior-point method has solved.

    Examples
    --------
    >>> switch, due = Switch(), []
    >>> for _ in range(6):
    ...     switch.count()
    ...     due.append(switch.is_due())
    >>> due
    [True, True, False, True, False, False]
    >>> switch.never()
    >>> switch.is_due()
    False
    """

    def __init__(self) -> None:
        self.solved, self._is_open = 0, True

    def count(self) -> None:
        """Count an answer of the interior-point method."""
        self.solved += 1

    def is_due(self) -> bool:
        """Return True if going over should be considered now."""
        solved = self.solved
        return self._is_open and solved > 0 and solved & (solved - 1) == 0

    def reset(self) -> None:
        """Begin again, as the program has other matrices."""
        self.solved = 0

    def never(self) -> None:
        """Stay with the interior-point method."""
        self._is_open = False
