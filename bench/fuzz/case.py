"""One program to be solved, with what is known of its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..answers.verify import Program

OPTIMAL, INFEASIBLE, UNBOUNDED, UNKNOWN = "optimal", "infeasible", "unbounded", "unknown"


@dataclass(frozen=True)
class Planted:
    """What a program was built around: an optimal pair, a certificate, or nothing.

    Attributes
    ----------
    kind : str
        "optimal", "infeasible", "unbounded" (and feasible) or "unknown".
    x, y, z : ndarray or None
        The optimal pair, or the part of it that is the certificate; z is ``z_bounds`` for a quadratic program.
    """

    kind: str = UNKNOWN
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    z: np.ndarray | None = None


@dataclass(frozen=True)
class Case:
    """A program, what is planted in it, and how it is solved.

    Attributes
    ----------
    program : `socp.ConeProgram` or `qp.QuadraticProgram`
    planted : Planted
    hard : bool
        No answer is no failure: scaled beyond 1e4, at the edge of feasibility, or with settings at their limits.
    settings : dict
        Those of the solve.
    before : Case, optional
        The program of which a solver is set up and solved, to be updated to this one by `change`.
    change : dict
        The arguments of ``update``.
    warm_start : bool
        How the updated program is solved.
    """

    program: Program
    planted: Planted
    hard: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    before: Case | None = None
    change: dict[str, Any] = field(default_factory=dict)
    warm_start: bool = False

    @property
    def expected(self) -> bool:
        """Whether an answer is expected: something is planted in data within 1e4 of one."""
        return not self.hard and self.planted.kind != UNKNOWN
