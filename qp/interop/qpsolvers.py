"""The engine behind the interface of qpsolvers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.interop.names import in_our_names
from socp.problem.checks import ArrayLike, Number, ProgramError, as_csc
from socp.problem.lowrank import LowRank
from socp.problem.settings import Settings
from socp.problem.status import Status

from ..problem.program import QuadraticProgram
from ..solver import Solver


def solve_qp(
    P: ArrayLike | LowRank | None,
    q: ArrayLike,
    G: ArrayLike | None = None,
    h: ArrayLike | Number | None = None,
    A: ArrayLike | None = None,
    b: ArrayLike | Number | None = None,
    lb: ArrayLike | Number | None = None,
    ub: ArrayLike | Number | None = None,
    solver: str | None = None,
    initvals: Any = None,
    verbose: bool = False,
    **settings: Any,
) -> np.ndarray | None:
    r"""Solve a quadratic program given as to ``qpsolvers.solve_qp``.

    .. math::
        \min_x \tfrac12 x^\top P x + q^\top x \quad \text{s.t.} \quad Gx \le h,\; Ax = b,\; lb \le x \le ub

    Parameters
    ----------
    P, q, G, h, A, b, lb, ub
        The program; a single row may be one-dimensional.  `qp.solve` gives the multipliers, too.
    solver : str, optional
        For calls written for qpsolvers; anything but "centralpath" is refused.
    initvals
        Of no use here: the engine finds a start.
    verbose : bool, default False
    **settings
        See `socp.Settings`; ``eps_abs`` is `tol_abs`, ``eps_rel`` is `tol`, ``max_iters`` is `max_iter`.

    Returns
    -------
    ndarray of shape (n,) or None
        The solution; None, with a warning, if none was found: `qp.solve` returns the best point with any status.

    Raises
    ------
    ProgramError
        The data cannot be accepted.

    Examples
    --------
    >>> solve_qp([[2.0, 0.0], [0.0, 2.0]], [-2.0, -8.0], G=[1.0, 1.0], h=[2.0], lb=[0.0, 0.0]).round(6)
    array([0., 2.])
    """
    if solver not in (None, "centralpath"):
        raise ProgramError(f"solver must be None or 'centralpath', but {solver!r} came")
    program = _program(P, q, G, h, A, b, lb, ub)
    solution = Solver.of_checked(program, _settings(verbose, settings)).solve()
    if solution.status is Status.OPTIMAL:
        return solution.x
    warnings.warn(f"no solution: the program ended as {solution.status.value!r}, {solution.message}", stacklevel=2)
    return None


def qpsolvers_solve_problem(problem: Any, initvals: Any = None, verbose: bool = False, **settings: Any) -> Any:
    """Solve a ``qpsolvers.Problem``; the function that qpsolvers dispatches to, after `register_with_qpsolvers`.

    Returns
    -------
    qpsolvers.Solution
        With x, y, z, z_box in qpsolvers' signs, whatever the status; ``found`` is True only when optimal.  The whole
        answer of the engine is in ``extras["solution"]``.

    Examples
    --------
    >>> import numpy as np, qpsolvers
    >>> problem = qpsolvers.Problem(np.eye(2), np.array([-3.0, 1.0]), ub=np.array([2.0, 2.0]))
    >>> solution = qpsolvers_solve_problem(problem)
    >>> solution.found, solution.x.round(6), solution.z_box.round(6), bool(solution.is_optimal(1e-6))
    (True, array([ 2., -1.]), array([1., 0.]), True)
    """
    import qpsolvers

    P, q, G, h, A, b, lb, ub = problem.unpack()
    try:
        checked = _settings(verbose, settings)
        ours = Solver.of_checked(_program(P, q, G, h, A, b, lb, ub), checked).solve()
    except KeyError as error:  # qpsolvers would report that the solver is not installed
        raise RuntimeError(f"the solver failed on the key {error}") from error
    equalities = 0 if b is None else np.size(b)
    return qpsolvers.Solution(
        problem,
        found=ours.status is Status.OPTIMAL,
        x=ours.x,
        y=ours.y[:equalities],
        z=ours.y[equalities:],
        z_box=ours.z_bounds if lb is not None or ub is not None else np.empty(0),
        obj=ours.objective,
        build_time=ours.setup_time,
        solve_time=ours.solve_time,
        extras={"status": ours.status.value, "message": ours.message, "iterations": ours.iterations, "solution": ours},
    )


def register_with_qpsolvers(name: str = "centralpath") -> None:
    """Make the engine one of qpsolvers' solvers, dense and sparse, for this process.

    Examples
    --------
    >>> import numpy as np, qpsolvers
    >>> register_with_qpsolvers()
    >>> qpsolvers.solve_qp(np.eye(2), np.ones(2), lb=np.zeros(2), solver="centralpath").round(6)
    array([0., 0.])
    """
    import qpsolvers.solvers

    qpsolvers.solvers.solve_function[name] = qpsolvers_solve_problem
    for names in (
        qpsolvers.solvers.available_solvers,
        qpsolvers.solvers.dense_solvers,
        qpsolvers.solvers.sparse_solvers,
    ):
        if name not in names:
            names.append(name)


def _settings(verbose: bool, settings: dict[str, Any]) -> Settings:
    return Settings(**in_our_names({"verbose": verbose, **settings}))


def _program(P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any) -> QuadraticProgram:
    """The equalities, then the inequalities, as rows between two sides."""
    if (G is None) != (h is None) or (A is None) != (b is None):
        raise ProgramError("G and h, and A and b, come in pairs, but one of a pair is missing")
    if not isinstance(P, LowRank) and not sp.issparse(P):
        P = np.atleast_2d(P)
    rows, lower, upper = [], [], []
    for name, matrix, side, least in (("A", A, b, None), ("G", G, h, -np.inf)):
        if matrix is None:
            continue
        rows.append(as_csc(name, matrix) if sp.issparse(matrix) else np.atleast_2d(matrix))
        upper.append(np.atleast_1d(np.asarray(side, dtype=np.float64)).ravel())
        if rows[-1].shape[0] != upper[-1].size:
            names = "b must have an entry a row of A" if name == "A" else "h must have an entry a row of G"
            raise ProgramError(f"{names}, {rows[-1].shape[0]}, but {upper[-1].size} came")
        lower.append(upper[-1] if least is None else np.full(upper[-1].size, least))
    if not rows:
        return QuadraticProgram(P, q, lb=lb, ub=ub)
    if len(rows) == 2 and rows[0].shape[1] != rows[1].shape[1]:
        raise ProgramError(f"A and G must have as many columns, but {rows[0].shape[1]} and {rows[1].shape[1]} came")
    stacked = rows[0] if len(rows) == 1 else sp.vstack([sp.csr_array(part) for part in rows], format="csc")
    return QuadraticProgram(P, q, stacked, np.concatenate(lower), np.concatenate(upper), lb, ub)
