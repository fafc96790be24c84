"""Answers of this engine and of other solvers in the common form that is verified and printed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import qp
import socp
from socp import Status

from .program import Program, engine_of


@dataclass(frozen=True)
class Answer:
    """Answer of one solver to one program, in the signs of the project."""

    solver: str  # name of the solver
    status: Status  # as reported by the solver
    # x, y, z: the point or the certificate; z is ``z_bounds`` for a quadratic program
    x: np.ndarray | None
    y: np.ndarray | None
    z: np.ndarray | None
    iterations: int  # as counted by the solver
    # setup_seconds, solve_seconds: wall time of set-up and solve, without the conversion of the program
    setup_seconds: float
    solve_seconds: float
    note: str = ""  # reason for a missing answer
    s: np.ndarray | None = None  # slacks, in the engine's solutions of cone programs
    # primal residual, dual residual and gap as reported by the engine
    told: tuple[float, float, float] | None = None
    message: str = ""  # the solver's message
    # primal and dual objective as reported by the engine
    objectives: tuple[float, float] | None = None

    @property
    def seconds(self) -> float:
        """Seconds of set-up and solve together."""
        return self.setup_seconds + self.solve_seconds


def solve(program: Program, **settings: Any) -> Answer:
    """Solve a program with this project's engine; wall time outside the set-up counts as solve time."""
    start = time.perf_counter()
    solution = engine_of(program).solve(program, **settings)
    return from_solution(solution, time.perf_counter() - start)


def from_solution(solution: socp.Solution | qp.Solution, seconds: float) -> Answer:
    """Return the engine's solution in the common form; `seconds` is the wall time of set-up and solve."""
    return Answer(
        "centralpath", solution.status, *point_of(solution), solution.iterations,
        solution.setup_time, seconds - solution.setup_time,
        s=None if isinstance(solution, qp.Solution) else solution.s,
        told=(solution.primal_residual, solution.dual_residual, solution.gap),
        message=solution.message, objectives=(solution.objective, solution.dual_objective),
    )  # fmt: skip


def point_of(solution: Any) -> tuple[Any, Any, Any]:
    """Return x, y and z (or z_bounds) of an engine's solution or batch of solutions."""
    return solution.x, solution.y, solution.z_bounds if hasattr(solution, "z_bounds") else solution.z
