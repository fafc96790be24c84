"""The dual program of a margin: its solver, with errors in the words of the margin, and products with its matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import qp
import socp

from ..base.estimator import uninterrupted
from ..base.validation import as_dense
from ..kernel_machines.kernel_matrix import KernelMatrix
from ..kernel_machines.program import KernelProgram
from ..kernel_machines.solver import KernelSolver

NOT_SEMIDEFINITE = "the matrix of the kernel must be positive semidefinite, but it is not"
NOT_SEPARABLE = (
    "the classes cannot be separated, as the hard margin (C=inf) asks for: give a finite C, or another kernel"
)


class MarginDual:
    """Dual of a margin: min 1/2 v'Pv + q'v  subject to  l <= A v <= u,  lower <= v <= upper.

    Unless P is known to be positive `semidefinite` the engine tests it; `infeasible` is the message of the ValueError
    that an infeasible program raises.
    """

    solver: qp.Solver | KernelSolver | None = None

    def __init__(
        self, program: qp.QuadraticProgram, settings: dict[str, Any], semidefinite: bool = False,
        infeasible: str = NOT_SEPARABLE,
    ) -> None:  # fmt: skip
        self.program, self.infeasible = program, infeasible
        self.settings = {"check_convexity": not (semidefinite or isinstance(program.P, qp.LowRank)), **settings}
        self._A: np.ndarray | None = None

    @property
    def q(self) -> np.ndarray:
        return self.program.q

    @property
    def A(self) -> np.ndarray:
        if self._A is None:
            self._A = np.asarray(self.program.A.toarray())
        return self._A

    def solve(self, warm_start: bool | np.ndarray = False) -> qp.Solution:
        """Solve the dual, from its last answer if `warm_start` is True, or from `warm_start` if it is an array.

        Raises
        ------
        ValueError
            The program is infeasible, or P not positive semidefinite.
        """
        return checked(lambda: self._solver().solve(warm_start), self.infeasible)

    def _solver(self) -> qp.Solver | KernelSolver:
        if self.solver is None:
            program = self.program
            kind: Any = KernelSolver if isinstance(program, KernelProgram) else qp.Solver
            self.solver = kind(program, **self.settings)
        return self.solver

    def update(self, **data: Any) -> None:
        """Replace data of the program, as `qp.Solver.update` does."""
        solver: Any = self._solver()
        solver.update(**data)
        self.program, self._A = solver.program, None

    def gradient(self, v: np.ndarray) -> np.ndarray:
        """Return P v + q."""
        P: Any = self.program.P
        return P @ v + self.q  # type: ignore[no-any-return]

    def among(self, free: np.ndarray) -> np.ndarray:
        """Return rows and columns `free` of P as a dense array."""
        P: Any = self.program.P
        if isinstance(P, qp.LowRank):
            return P.F[free] @ P.F[free].T + np.diag(P.d[free])  # type: ignore[no-any-return]
        if isinstance(P, KernelMatrix):
            return P.among(free)
        return as_dense(P[np.ix_(free, free)])


def checked(run: Callable[[], qp.Solution], infeasible: str = NOT_SEPARABLE) -> qp.Solution:
    """Return the solution of `run`; raise ValueError if the program is infeasible or P indefinite."""
    try:
        solution = uninterrupted(run())
    except socp.ProgramError as error:
        if "semidefinite" in str(error):
            raise ValueError(NOT_SEMIDEFINITE) from error
        raise
    if solution.status.is_infeasible:
        raise ValueError(infeasible)
    return solution
