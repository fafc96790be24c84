"""Many dense quadratic programs at once, as `socp.problem.certificates` sees one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from socp.problem.certificates import largest_entry, multiply
from socp.problem.stopping import Sides


class Stack(NamedTuple):
    """Arrays with a row for each program, or one where they share it; bounds are behind the sides of the rows."""

    P: np.ndarray
    cost: np.ndarray
    A: np.ndarray
    l: np.ndarray
    u: np.ndarray

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.A.shape[2]

    @property
    def constraints(self) -> tuple[Sides, Sides]:
        """As of a `QuadraticProgram`."""
        m = self.A.shape[1]
        rows = Sides(self.A, self.l[:, :m], self.u[:, :m], 0.0)
        return rows, Sides(np.eye(self.n)[None], self.l[:, m:], self.u[:, m:])

    @property
    def hessian(self) -> Stack:
        """What answers for P."""
        return self

    @property
    def largest(self) -> Any:
        """The largest entry of P."""
        return largest_entry(self.P)

    def product(self, x: np.ndarray) -> np.ndarray:
        """P x."""
        return multiply(self.P, x)
