"""The interfaces of CVXOPT's `solvers.conelp` and `solvers.coneqp`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..problem.checks import ProgramError
from ..problem.program import ConeProgram
from ..problem.solution import Solution
from ..problem.status import Status
from ..solver import Solver
from .ecos import cones_of

WORDS = {
    Status.OPTIMAL: "optimal",
    Status.PRIMAL_INFEASIBLE: "primal infeasible",
    Status.DUAL_INFEASIBLE: "dual infeasible",
}


def conelp(
    c: Any,
    G: Any,
    h: Any,
    dims: dict[str, Any] | None = None,
    A: Any = None,
    b: Any = None,
    primalstart: Any = None,
    dualstart: Any = None,
    kktsolver: Any = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Solve min c'x s.t. Gx + s = h, Ax = b, s in K as ``cvxopt.solvers.conelp`` does; see `coneqp`.

    Examples
    --------
    >>> sol = conelp([1.0, 1.0], [[-1.0, 0.0], [0.0, -1.0]], [-1.0, -2.0])
    >>> sol["status"], sol["x"].round(6)
    ('optimal', array([1., 2.]))
    """
    return coneqp(None, c, G, h, dims, A, b, None, kktsolver, options)


def coneqp(
    P: Any,
    q: Any,
    G: Any = None,
    h: Any = None,
    dims: dict[str, Any] | None = None,
    A: Any = None,
    b: Any = None,
    initvals: Any = None,
    kktsolver: Any = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Solve min 1/2 x'Px + q'x s.t. Gx + s = h, Ax = b, s in K as ``cvxopt.solvers.coneqp`` does.

    Parameters
    ----------
    P, q, G, h, A, b
        Arrays, sparse matrices, or CVXOPT's own `matrix` and `spmatrix`.
    dims : dict, optional
        ``{"l": ..., "q": [...]}``; an ``"s"`` with anything in it is refused.  Without it, all rows of G are those of
        the orthant.
    initvals, kktsolver
        Of no use here: a start is found by the engine, and `kktsolver` may only be one of CVXOPT's names.
    options : dict, optional
        CVXOPT's ``abstol``, ``reltol``, ``feastol`` (the smallest counts, as `tol`), ``maxiters``, ``show_progress``,
        or any of `socp.Settings`; by default ``cvxopt.solvers.options`` when CVXOPT is loaded.

    Returns
    -------
    dict
        With CVXOPT's keys.  Vectors are CVXOPT matrices when q is one, otherwise arrays.

    Raises
    ------
    ProgramError
        The data or an option cannot be accepted.

    Examples
    --------
    The point of the unit disk nearest to (3, 4):

    >>> import numpy as np
    >>> sol = coneqp(np.eye(2), [-3, -4], [[0, 0], [-1, 0], [0, -1]], [1, 0, 0], {"l": 0, "q": [3]})
    >>> sol["status"], sol["x"].round(6), round(sol["primal objective"], 6)
    ('optimal', array([0.6, 0.8]), -4.5)
    """
    if callable(kktsolver):
        raise ProgramError("kktsolver must be a name or None: a function of CVXOPT's cannot be used here")
    P, G, A = (_as_array(value) for value in (P, G, A))
    c, h, b = (_as_vector(value) for value in (q, h, b))
    cones = None
    if G is not None:
        rows = G.shape[0] if sp.issparse(G) else np.atleast_2d(G).shape[0]
        cones = cones_of(dims if dims is not None else {"l": rows, "q": []}, "s")
    program = ConeProgram(c=c, G=G, h=h, cones=cones, A=A, b=b, P=P)
    solution = Solver(program, **_settings(options)).solve()
    library = sys.modules.get("cvxopt")
    theirs = library is not None and isinstance(q, library.matrix)
    return _result(program, solution, library.matrix if theirs and library is not None else None)


def _as_array(value: Any) -> Any:
    """A matrix of CVXOPT as an array or CSC; whatever else comes is left as it is."""
    if type(value).__module__.split(".")[0] != "cvxopt":
        return value
    if hasattr(value, "CCS"):
        indptr, indices, data = (np.array(part).ravel() for part in value.CCS)
        return sp.csc_array((data.astype(np.float64), indices, indptr), shape=value.size)
    return np.array(value, dtype=np.float64)


def _as_vector(value: Any) -> Any:
    """A column, a vector."""
    value = _as_array(value)
    value = value.toarray() if sp.issparse(value) else value
    return value.ravel() if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 1 else value


def _settings(options: dict[str, Any] | None) -> dict[str, Any]:
    if options is None:
        library = sys.modules.get("cvxopt.solvers")
        options = {} if library is None else library.options
    known = {"abstol", "reltol", "feastol", "maxiters", "show_progress", "refinement", "kktreg", "debug"}
    settings = {name: value for name, value in options.items() if name not in known and not isinstance(value, dict)}
    tolerances = [options[name] for name in ("abstol", "reltol", "feastol") if name in options]
    if tolerances:
        settings["tol"] = min(tolerances)
    if "maxiters" in options:
        settings["max_iter"] = options["maxiters"]
    settings.setdefault("verbose", bool(options.get("show_progress", False)))
    return settings


def _result(program: ConeProgram, solution: Solution, matrix: Any) -> dict[str, Any]:
    status = solution.status

    def vector(values: np.ndarray, there: bool) -> Any:
        if not there:
            return None
        return values if matrix is None else matrix(values)

    primal, dual = status is not Status.PRIMAL_INFEASIBLE, status is not Status.DUAL_INFEASIBLE
    both = primal and dual
    return {
        "status": WORDS.get(status, "unknown"),
        "x": vector(solution.x, primal),
        "s": vector(solution.s, primal),
        "y": vector(solution.y, dual),
        "z": vector(solution.z, dual),
        # the rays are normalized to these values
        "primal objective": solution.objective if both else (-1.0 if primal else None),
        "dual objective": solution.dual_objective if both else (1.0 if dual else None),
        "gap": float(solution.s @ solution.z) if both and np.isfinite(solution.s).all() else None,
        "relative gap": solution.gap if both else None,
        "primal infeasibility": solution.primal_residual if both else None,
        "dual infeasibility": solution.dual_residual if both else None,
        "primal slack": _slack(program, solution.s) if primal else None,
        "dual slack": _slack(program, solution.z) if dual else None,
        "residual as primal infeasibility certificate": None if primal else solution.primal_residual,
        "residual as dual infeasibility certificate": None if dual else solution.dual_residual,
        "iterations": solution.iterations,
    }


def _slack(program: ConeProgram, s: np.ndarray) -> float:
    """The largest t for which s - t e is in the cone, e being its unit."""
    start, slack = 0, np.inf
    for cone in program.cones:
        part = s[start : start + cone.dim]
        start += cone.dim
        if part.size:
            is_orthant = type(cone).__name__ == "NonNeg"
            slack = min(slack, float(part.min() if is_orthant else part[0] - np.linalg.norm(part[1:])))
    return slack
