r"""The dual program of a margin: its solver, products with its matrix, and multipliers that meet their conditions.

An interior-point method leaves every multiplier above zero and below its bound.  Setting multipliers to exactly zero
or to their bounds changes f, the more the larger the kernel, and moves support vectors off the margin.  The multipliers
M between the bounds are therefore solved for again, with the others fixed:

    G_MM d + A_M' b = -(G v + q)_M,    A_M d = -A v

With G = (s_i s_j k(x_i, x_j)) these are the conditions that s_i f(x_i) = 1 on the margin and s'v = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

import qp
import socp

from ..base.estimator import uninterrupted
from ..base.validation import as_dense
from ..kernel_machines.kernel_matrix import KernelMatrix
from ..kernel_machines.program import KernelProgram
from ..kernel_machines.solver import KernelSolver
from .multipliers import ON_MARGIN, SETTLED, tell_apart
from .units import can_scale, solved, units_of_dual

NOT_SEMIDEFINITE = "the matrix of the kernel must be positive semidefinite, but it is not"
NOT_SEPARABLE = (
    "the classes cannot be separated, as the hard margin (C=inf) asks for: give a finite C, or another kernel"
)
MOST_TO_SETTLE = 2000  # most multipliers for which the system is formed and solved
REGULARIZATION = 1e-13  # diagonal shift of the system's matrix, which may be singular, relative to its largest entry
REFINEMENTS = 10


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
        if warm_start is False and self.solver is None:
            units = units_of_dual(self.program)
            if not units.are_usual and can_scale(self.program):
                return checked(lambda: solved(self.program, units, self.settings), self.infeasible)
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


def settle(
    v: np.ndarray, free: np.ndarray, lower: np.ndarray, upper: np.ndarray, dual: MarginDual
) -> np.ndarray | None:
    """Return v with the multipliers in the mask `free` moved to satisfy their conditions, or None if that fails."""
    free = np.flatnonzero(free)
    A = dual.A[:, free]
    gradient = dual.gradient(v)[free]
    short = np.abs(gradient - A.T @ np.linalg.lstsq(A.T, gradient, rcond=None)[0]).max(initial=0.0)
    if short <= SETTLED:
        return v
    if free.size > MOST_TO_SETTLE:
        return None
    system = np.block([[dual.among(free), A.T], [A, np.zeros((A.shape[0], A.shape[0]))]])
    shift = REGULARIZATION * np.abs(system).max()
    lu, pivots, _ = lapack.dgetrf(system + np.diag(np.repeat([shift, -shift], [free.size, A.shape[0]])))
    target = -np.concatenate([gradient, dual.A @ v])
    step = np.zeros(target.size)
    for _ in range(REFINEMENTS):
        step += lapack.dgetrs(lu, pivots, target - system @ step)[0]
    moved = v.copy()
    moved[free] += step[: free.size]
    left = np.abs(target - system @ step)[: free.size].max()
    inside = (moved[free] > lower[free]).all() and (moved[free] < upper[free]).all()
    return moved if inside and left < short else None


def sort_out(
    dual: MarginDual, v: np.ndarray, violation: np.ndarray, solution: qp.Solution | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (kinds, v with exact zeros and bounds, P v + q at that v); the lower bounds are zero.

    `violation` is 1 - y_i f(x_i).  `solution` is the engine's answer with x = v, or None; its multipliers serve as the
    gradient if no entry of v changes.  If the multipliers between the bounds cannot be settled (they are too
    many, or one would leave its bounds), v stays as the engine returned it, within its bounds, and only `kinds`
    tells which multipliers should be at a bound.
    """
    kinds, clean = tell_apart(v, dual.program.ub, violation)
    if solution is not None and solution.dual_residual <= SETTLED and np.array_equal(clean, v):
        return kinds, v, -(solution.z_bounds + solution.y @ dual.A)
    settled = settle(clean, kinds == ON_MARGIN, np.zeros(v.size), dual.program.ub, dual)
    v = np.clip(v, 0.0, dual.program.ub) if settled is None else settled
    return kinds, v, dual.gradient(v)
