"""The engine with the interface of qpsolvers."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.interop.names import in_our_names
from socp.problem.checks import FLOAT, ArrayLike, Number, ProgramError, as_csc, as_vector
from socp.problem.lowrank import LowRank
from socp.problem.program import check_pair
from socp.problem.settings import Settings
from socp.problem.status import Status

from ..active_set.small import Data
from ..problem.program import QuadraticProgram
from ..problem.solution import Solution
from ..problem.starts import start_of
from ..solver import solve_checked


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
    r"""Solve a quadratic program with the arguments of ``qpsolvers.solve_qp``.

    .. math::
        \min_x \tfrac12 x^\top P x + q^\top x \quad \text{s.t.} \quad Gx \le h,\; Ax = b,\; lb \le x \le ub

    Parameters
    ----------
    P, q, G, h, A, b, lb, ub
        Data of the program; a single row may be one-dimensional.  `qp.solve` also returns the multipliers.
    solver : str, optional
        For calls written for qpsolvers; must be "centralpath" if given.
    initvals : array_like, shape (n,), optional
        A point near the solution, or a start with multipliers, as `warm_start` of `qp.Solver.solve`.
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
    solution = _solution((P, q, G, h, A, b, lb, ub), initvals, _settings(verbose, settings))
    if solution.status is Status.OPTIMAL:
        return solution.x
    warnings.warn(f"no solution: the program ended as {solution.status.value!r}, {solution.message}", stacklevel=2)
    return None


def qpsolvers_solve_problem(problem: Any, initvals: Any = None, verbose: bool = False, **settings: Any) -> Any:
    """Solve a ``qpsolvers.Problem``: the function that qpsolvers calls after `register_with_qpsolvers`.

    Returns
    -------
    qpsolvers.Solution
        x, y, z, z_box with qpsolvers' signs, for any status; ``found`` is True only if optimal.  The complete answer
        of the engine is ``extras["solution"]``.

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
        ours = _solution((P, q, G, h, A, b, lb, ub), initvals, _settings(verbose, settings))
    except KeyError as error:  # qpsolvers takes a KeyError as a solver that is not installed.
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
    """Register the engine with qpsolvers as a dense and sparse solver, for this process.

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


@functools.lru_cache(maxsize=64)
def _plain_settings(items: tuple[tuple[str, Any], ...]) -> Settings:
    return Settings(**in_our_names(dict(items)))


def _settings(verbose: bool, settings: dict[str, Any]) -> Settings:
    given = {"verbose": verbose, **settings}
    try:
        return _plain_settings(tuple(given.items()))
    except TypeError:  # a value without a hash
        return Settings(**in_our_names(given))


def _solution(data: tuple[Any, ...], initvals: Any, settings: Settings) -> Solution:
    """Return the answer to a program with the arguments P, q, G, h, A, b, lb, ub of qpsolvers."""
    if initvals is None:
        return solve_checked(_stacked(*data), lambda: _program(*data), settings, None)
    program = _program(*data)
    return solve_checked(None, lambda: program, settings, start_of(initvals, program, "initvals"))


def _stacked(P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any) -> Data | None:
    """Return the data of the program as `qp.solve` takes them if the rows are arrays that need no conversion."""
    if (G is None) != (h is None) or (A is None) != (b is None):
        return None
    parts = [(A, b)] * (A is not None) + [(G, h)] * (G is not None)
    for rows, side in parts:
        if not (
            type(rows) is np.ndarray and type(side) is np.ndarray and rows.ndim == 2 and rows.shape[0] == side.size
        ):
            return None
        if side.ndim != 1 or rows.dtype != FLOAT or side.dtype != FLOAT or rows.shape[1] != np.size(q):
            return None
    if not parts:
        return P, q, None, None, None, lb, ub, 0.0
    rows, upper = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts))
    lower = np.full(upper.size, -np.inf)
    if A is not None:
        lower[: b.size] = b
    return P, q, rows, lower, upper, lb, ub, 0.0


def _program(P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any) -> QuadraticProgram:
    """Return the program whose rows are the equalities, then the inequalities, each with two sides."""
    if not isinstance(P, LowRank) and not sp.issparse(P):
        P = np.atleast_2d(P)
    rows, lower, upper, n = [], [], [], np.size(q)
    for name, matrix, side, sides in (("A", A, "b", b), ("G", G, "h", h)):
        check_pair(name, matrix, side, sides)
        if matrix is not None:
            rows.append(as_csc(name, matrix, (None, n), f" ({n} variables in q)"))
            upper.append(as_vector(side, sides, rows[-1].shape[0], f" (the rows of {name})"))
            lower.append(upper[-1] if name == "A" else np.full(upper[-1].size, -np.inf))
    if not rows:
        return QuadraticProgram(P, q, lb=lb, ub=ub)
    return QuadraticProgram(P, q, sp.vstack(rows, format="csc"), np.concatenate(lower), np.concatenate(upper), lb, ub)
