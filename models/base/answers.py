"""The program of an estimator and its solution, built when they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import qp

from .estimator import Estimator

Built = tuple[qp.QuadraticProgram, qp.Solution]


class BuiltAnswer(Estimator):
    """Estimator whose `fit` keeps a function that builds the program and its solution, since both may be large.

    Attributes
    ----------
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Program of the last machine and its solution, as large as the samples of `fit`; pickles and copies lack them.
    """

    _left_behind: ClassVar[tuple[str, ...]] = ("_answer",)
    _answer: Callable[[], Built]

    @property
    def program_(self) -> qp.QuadraticProgram:
        """Program of the last machine."""
        answer: Built = self._last("_answer")()
        return answer[0]

    @property
    def solution_(self) -> qp.Solution:
        """Solution of `program_`."""
        answer: Built = self._last("_answer")()
        return answer[1]
