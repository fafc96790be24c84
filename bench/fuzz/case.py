"""One program to be solved, and the known facts about its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OPTIMAL, INFEASIBLE, UNBOUNDED, UNKNOWN = "optimal", "infeasible", "unbounded", "unknown"


@dataclass(frozen=True)
class Planted:
    """Known answer around which a program was built: an optimal pair, a certificate, or nothing."""

    kind: str = UNKNOWN  # "optimal", "infeasible", "unbounded" (and feasible) or "unknown"
    # x, y, z: optimal pair, certificate (y, z), or ray x, else None; z is ``z_bounds`` for a quadratic program
    x: Any = None
    y: Any = None
    z: Any = None


@dataclass(frozen=True)
class Case:
    """A program, the answer planted in it, and how it is solved."""

    program: Any  # ConeProgram or QuadraticProgram
    planted: Planted
    # True if a missing answer is no failure: data scaled beyond 1e4, nearly infeasible, or extreme settings
    hard: bool = False
    settings: dict[str, Any] = field(default_factory=dict)  # settings of the solve
    # the case for which the solver is set up and solved first; `change` updates its program to this one
    before: Case | None = None
    change: dict[str, Any] = field(default_factory=dict)  # arguments of ``update``
    warm_start: bool = False  # argument of ``solve`` after the update

    @property
    def chain(self) -> list[Case]:
        """Cases from the one that the solver is set up for to this one, each an update of the previous case."""
        return [*(self.before.chain if self.before else ()), self]

    @property
    def expected(self) -> bool:
        """Whether an answer is expected: one is planted, and the case is not `hard`."""
        return not self.hard and self.planted.kind != UNKNOWN
