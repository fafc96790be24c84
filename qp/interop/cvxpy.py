"""The interface of cvxpy for quadratic programs, in which bounds are bounds."""

from __future__ import annotations

from typing import Any

import cvxpy.settings as names
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.solvers import defines
from cvxpy.reductions.solvers.qp_solvers.qp_solver import QpSolver

from socp.interop.cvxpy import Interface, register

from ..problem.program import QuadraticProgram
from ..problem.solution import Solution
from ..solver import Solver


class CentralPathQP(Interface, QpSolver):  # type: ignore[misc]
    """Interface of cvxpy for a quadratic objective and linear constraints; see `socp.interop.cvxpy.CentralPath`.

    Examples
    --------
    >>> import cvxpy
    >>> import socp.interop.cvxpy
    >>> x = cvxpy.Variable(2, bounds=[0, 1])
    >>> problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - [-1, 3])))
    >>> round(problem.solve(solver="CENTRALPATH"), 6), x.value.round(6)
    (5.0, array([0., 1.]))
    """

    solver = Solver

    def program(self, data: Any) -> QuadraticProgram:
        """Return min 1/2 x'Px + q'x s.t. Ax = b, Fx <= g; presolve converts rows with one entry to bounds."""
        rows = sp.vstack([data[names.A], data[names.F]], format="csc")
        lower = np.concatenate([data[names.B], np.full(data[names.G].size, -np.inf)])
        upper = np.concatenate([data[names.B], data[names.G]])
        return QuadraticProgram(data[names.P], data[names.Q], rows, lower, upper)

    def multipliers(self, solution: Solution, equalities: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers of cvxpy's equalities, and the multipliers of its inequalities."""
        return solution.y[:equalities], solution.y[equalities:]

    def equalities(self, program: QuadraticProgram) -> tuple[Any, np.ndarray]:
        """Return (A, b) of the rows with equal sides."""
        rows = np.flatnonzero(program.l == program.u)
        return program.A.tocsr()[rows], program.u[rows]

    def goes_on(self, solver: Solver, program: QuadraticProgram) -> bool:
        """Update the solver with the data that differ and return True, or return False if the pattern differs."""
        old = solver.program
        new: dict[str, Any] = {}
        matrices: list[tuple[str, Any, Any]] = [("P_data", old.P, program.P), ("A_data", old.A, program.A)]
        for name, one, other in matrices:
            if type(one) is not type(other) or np.shape(one) != np.shape(other):
                return False
            if sp.issparse(one):
                if not (np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)):
                    return False
                one, other = one.data, other.data
            if not np.array_equal(one, other):
                new[name] = other
        for name in ("q", "l", "u", "lb", "ub"):
            if not np.array_equal(getattr(old, name), getattr(program, name)):
                new[name] = getattr(program, name)
        if new:
            solver.update(**new)
        return True


register(CentralPathQP(), defines.SOLVER_MAP_QP, defines.QP_SOLVERS)
