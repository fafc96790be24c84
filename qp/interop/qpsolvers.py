"""The engine with the interface of qpsolvers."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats, Matrix
from socp.interop.names import in_our_names
from socp.linalg.vectors import NO_VALUES
from socp.problem.checks import FLOAT, ArrayLike, Number, ProgramError
from socp.problem.lowrank import LowRank
from socp.problem.settings import DEFAULTS, Settings
from socp.problem.status import Status

from ..active_set.small import Data
from ..problem.program import QuadraticProgram, program_of_inequalities
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
        extras=Extras(status=ours.status.value, iterations=ours.iterations, solution=ours),
    )


class Extras(dict[str, Any]):
    """Entries of an answer; any other attribute of the `Solution`, as "message", is computed when it is asked for."""

    def __missing__(self, name: str) -> Any:
        return getattr(self["solution"], name)


def register_with_qpsolvers(name: str = "centralpath") -> None:
    """Register the engine with qpsolvers as a dense and sparse solver, for this process.

    Raises
    ------
    ImportError
        qpsolvers is not installed.

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
    if not settings and verbose is False:
        return DEFAULTS
    given = {"verbose": verbose, **settings}
    try:
        return _plain_settings(tuple(given.items()))
    except TypeError:  # a value without a hash
        return Settings(**in_our_names(given))


def _solution(data: tuple[Any, ...], initvals: Any, settings: Settings) -> Solution:
    """Return the answer to a program with the arguments P, q, G, h, A, b, lb, ub of qpsolvers."""
    if initvals is None:
        arrays = _stacked(*data)
        return solve_checked(arrays, lambda: stated_program(data, arrays), settings, None)
    program = stated_program(data)
    return solve_checked(None, lambda: program, settings, start_of(initvals, program, "initvals"))


def _stacked(P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any) -> Data | None:
    """Return the data of the program as `qp.solve` takes them if the rows are arrays that need no conversion."""
    if G is h is A is b is None:
        return P, q, None, None, None, lb, ub, 0.0
    n = np.size(q)
    if A is b is None:
        A, b = np.empty((0, n)), NO_VALUES
    elif G is h is None:
        G, h = np.empty((0, n)), NO_VALUES
    if not (
        type(A) is type(b) is type(G) is type(h) is np.ndarray
        and A.dtype is b.dtype is G.dtype is h.dtype is FLOAT
        and b.ndim == h.ndim == 1 and A.shape == (b.size, n) and G.shape == (h.size, n)
        and A.flags.c_contiguous and G.flags.c_contiguous and b.flags.c_contiguous and h.flags.c_contiguous
    ):  # fmt: skip
        return None
    m = b.size + h.size
    rows, lower, upper = np.empty((m, n)), np.empty(m), np.empty(m)
    stack(A, b, G, h, rows, lower, upper)
    return P, q, rows, lower, upper, lb, ub, 0.0


@kernel
def stack(A: Matrix, b: Floats, G: Matrix, h: Floats, rows: Matrix, lower: Floats, upper: Floats) -> None:
    """Write the equalities A x = b, then the inequalities G x <= h, as rows with two sides."""
    p, n = b.size, rows.shape[1]
    for i in range(p + h.size):
        for j in range(n):
            rows[i, j] = A[i, j] if i < p else G[i - p, j]
        upper[i] = b[i] if i < p else h[i - p]
        lower[i] = b[i] if i < p else -np.inf


def stated_program(data: tuple[Any, ...], arrays: Data | None = None) -> QuadraticProgram:
    """Return the program whose rows are the equalities, then the inequalities, each with two sides.

    `data` are P, q, G, h, A, b, lb, ub, and `arrays` the result of `_stacked`; what is wrong is told in these names.
    """
    if arrays is not None:
        try:
            return QuadraticProgram(*arrays)
        except ProgramError:
            pass
    return program_of_inequalities(*data)
