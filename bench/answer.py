"""What a solver answered, ours or another: the common form that is verified and printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import qp
import socp
from socp import Status

from .verify import Program


@dataclass(frozen=True)
class Answer:
    """One solver's answer to one program, in the signs of the project.

    Attributes
    ----------
    solver : str
        Who answered.
    status : `socp.Status`
        What the solver says of its answer.
    x, y, z : ndarray or None
        The point or the certificate; z is ``z_bounds`` for a quadratic program.
    iterations : int
        As the solver counts them.
    setup_seconds, solve_seconds : float
        Wall time of the solver's own set-up and solve, the translation of the program excluded.
    note : str
        Why there is no answer, when there is none.
    """

    solver: str
    status: Status
    x: np.ndarray | None
    y: np.ndarray | None
    z: np.ndarray | None
    iterations: int
    setup_seconds: float
    solve_seconds: float
    note: str = ""

    @property
    def seconds(self) -> float:
        """Set-up and solve together."""
        return self.setup_seconds + self.solve_seconds


def solve(program: Program, **settings: Any) -> Answer:
    """Solve a program with this project's engine.

    Parameters
    ----------
    program : `socp.ConeProgram` or `qp.QuadraticProgram`
        Goes to `socp.solve` or to `qp.solve`.
    **settings
        Those of `socp.solve`: tol, max_iter, time_limit, verbose, ...
    """
    solution: Any
    if isinstance(program, socp.ConeProgram):
        solution = socp.solve(program, **settings)
        z = solution.z
    else:
        solution = qp.solve(program, **settings)
        z = solution.z_bounds
    return Answer(
        "centralpath",
        solution.status,
        solution.x,
        solution.y,
        z,
        solution.iterations,
        solution.setup_time,
        solution.solve_time,
    )
