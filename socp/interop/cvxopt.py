"""The interfaces of CVXOPT's `solvers`: ``from socp.interop import solvers`` for ``from cvxopt import solvers``."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..problem.checks import ProgramError, as_csc, as_dense, as_vector
from ..problem.lowrank import LowRank
from ..problem.program import ConeProgram
from ..problem.settings import CHECKS, Settings
from ..problem.solution import Solution
from ..problem.status import Status
from ..solver import Solver
from .ecos import cones_of
from .names import in_our_names

KKT_SOLVERS = ("ldl", "ldl2", "qr", "chol", "chol2")
OPTIONS = ("abstol", "reltol", "feastol", "maxiters", "show_progress")
WORDS = {
    Status.OPTIMAL: "optimal",
    Status.PRIMAL_INFEASIBLE: "primal infeasible",
    Status.DUAL_INFEASIBLE: "dual infeasible",
}
Given = Mapping[str, Any]  # arguments of a call, by name
Answer = Callable[[Given], dict[str, Any]]
Call = Callable[..., dict[str, Any]]

options: dict[str, Any] = {}
"""Default options by name, with priority over ``cvxopt.solvers.options``, which apply here if CVXOPT is loaded."""


def _called_as(needed: str, optional: str) -> Callable[[Answer], Call]:
    """Decorate a function of named arguments with CVXOPT's signature: `needed` arguments, then `optional` ones."""
    kinds = inspect.Parameter
    listed = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in needed.split()]
    listed += [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None) for name in optional.split()]
    signature = inspect.Signature(listed, return_annotation="dict[str, Any]")

    def decorate(answer: Answer) -> Call:
        @functools.wraps(answer)
        def call(*values: Any, **named: Any) -> dict[str, Any]:
            came = signature.bind(*values, **named)
            came.apply_defaults()
            return answer(came.arguments)

        vars(call)["__signature__"] = signature
        return call

    return decorate


@_called_as("c G h", "A b kktsolver solver primalstart dualstart options")
def lp(given: Given) -> dict[str, Any]:
    """Solve min c'x s.t. Gx <= h, Ax = b as ``cvxopt.solvers.lp`` does; see `coneqp`.

    Examples
    --------
    >>> lp([1.0, 1.0], [[-1.0, 0.0], [0.0, -1.0]], [-1.0, -2.0])["x"].round(6)
    array([1., 2.])
    """
    return _answer(given)


@_called_as("P q", "G h A b solver kktsolver initvals options")
def qp(given: Given) -> dict[str, Any]:
    """Solve min 1/2 x'Px + q'x s.t. Gx <= h, Ax = b as ``cvxopt.solvers.qp`` does; see `coneqp`.

    Examples
    --------
    >>> qp([[2.0, 0.0], [0.0, 2.0]], [-2.0, -8.0], [[1.0, 1.0]], [2.0])["x"].round(6)
    array([-0.5, 2.5])
    """
    return _answer(given)


@_called_as("c", "Gl hl Gq hq A b kktsolver solver primalstart dualstart options")
def socp(given: Given) -> dict[str, Any]:
    """Solve min c'x s.t. Gl x <= hl, hq[k] - Gq[k] x in second-order cones, Ax = b as ``cvxopt.solvers.socp`` does.

    As in CVXOPT, the result has ``"sl"``, ``"sq"``, ``"zl"``, ``"zq"`` in place of ``"s"``, ``"z"``; see `coneqp`.

    Examples
    --------
    >>> sol = socp([1.0, 0.0], Gq=[[[0, 0], [-1, 0], [0, -1]]], hq=[[1, 0, 0]])
    >>> sol["x"].round(6), sol["sq"][0].round(6)
    (array([-1., 0.]), array([ 1., -1., 0.]))
    """
    _check_names(given)
    Gl, hl, Gq, hq = given["Gl"], given["hl"], given["Gq"] or (), given["hq"] or ()
    if (Gl is None) != (hl is None) or len(Gq) != len(hq):
        raise ProgramError("Gl and hl, and the items of Gq and hq, come in pairs, but one of a pair is missing")
    n, parts, sides = np.size(_as_vector(given["c"])), [], []
    blocks = [] if Gl is None else [("l", Gl, hl)]
    blocks += [(f"q[{k}]", G, h) for k, (G, h) in enumerate(zip(Gq, hq))]
    for name, G, h in blocks:
        parts.append(as_csc(f"G{name}", _as_array(G), (None, n), f" ({n} variables in c)"))
        sides.append(as_vector(f"h{name}", _as_vector(h), parts[-1].shape[0], f" (the rows of G{name})"))
    sizes = [side.size for side in sides]
    linear = 0 if Gl is None else sizes.pop(0)
    stacked = {"G": sp.vstack(parts, format="csc"), "h": np.concatenate(sides)} if parts else {}
    answer = _answer({**given, **stacked, "dims": {"l": linear, "q": sizes}})
    ends = np.cumsum([linear, *sizes])
    for name in ("s", "z"):
        values = answer.pop(name)
        answer[f"{name}l"] = None if values is None else values[: ends[0]]
        answer[f"{name}q"] = None if values is None else [values[i:j] for i, j in pairwise(ends)]
    return answer


@_called_as("c G h", "dims A b primalstart dualstart kktsolver options")
def conelp(given: Given) -> dict[str, Any]:
    """Solve min c'x s.t. Gx + s = h, Ax = b, s in K as ``cvxopt.solvers.conelp`` does; see `coneqp`.

    Examples
    --------
    >>> sol = conelp([1.0, 1.0], [[-1.0, 0.0], [0.0, -1.0]], [-1.0, -2.0])
    >>> sol["status"], sol["x"].round(6)
    ('optimal', array([1., 2.]))
    """
    return _answer(given)


@_called_as("P q", "G h dims A b initvals kktsolver options")
def coneqp(given: Given) -> dict[str, Any]:
    """Solve min 1/2 x'Px + q'x s.t. Gx + s = h, Ax = b, s in K as ``cvxopt.solvers.coneqp`` does.

    Parameters
    ----------
    P, q, G, h, A, b
        Arrays, sparse matrices, or CVXOPT's `matrix` and `spmatrix`.  Only the lower triangle of P is read.
    dims : dict, optional
        ``{"l": ..., "q": [...]}``; a nonempty ``"s"`` is refused.  By default all rows of G belong to the nonnegative
        orthant.
    initvals, kktsolver
        Without effect: the engine finds its own starting point; `kktsolver` must be one of CVXOPT's names.
    options : dict, optional
        CVXOPT's ``abstol``, ``reltol``, ``feastol`` (the smallest counts, as `tol`), ``maxiters``, ``show_progress``,
        or any of `socp.Settings`; other names are ignored, as in CVXOPT.  By default `options` of this module and,
        if CVXOPT is loaded, ``cvxopt.solvers.options``; the former have priority.

    Returns
    -------
    dict
        The result, with CVXOPT's keys.  Vectors are CVXOPT matrices if q is one, otherwise arrays.

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
    return _answer(given)


def _check_names(given: Given) -> None:
    """Raise ProgramError unless `solver` is None and `kktsolver` is None or one of CVXOPT's names."""
    solver, kktsolver = given.get("solver"), given["kktsolver"]
    if solver is not None:
        raise ProgramError(f"solver must be None, for it is this engine that solves, but {solver!r} came")
    if kktsolver is not None and (not isinstance(kktsolver, str) or kktsolver not in KKT_SOLVERS):
        raise ProgramError(f"kktsolver must be None or one of {', '.join(KKT_SOLVERS)}, but {kktsolver!r} came")


def _answer(given: Given) -> dict[str, Any]:
    """Return CVXOPT's result for its arguments; arguments that a function does not have count as None."""
    _check_names(given)
    settings = _settings(given["options"])
    P, G, A = (_as_array(given.get(name)) for name in "PGA")
    objective = given["q" if "q" in given else "c"]
    c, h, b = (_as_vector(value) for value in (objective, given.get("h"), given["b"]))
    dims, cones = given.get("dims"), None
    if G is not None:
        rows = G.shape[0] if sp.issparse(G) else np.atleast_2d(G).shape[0]
        cones = cones_of(dims if dims is not None else {"l": rows, "q": []}, "s")
    program = ConeProgram(c=c, G=G, h=h, cones=cones, A=A, b=b, P=_of_lower_triangle(P))
    solution = Solver.of_checked(program, settings).solve()
    library = sys.modules.get("cvxopt")
    theirs = library is not None and isinstance(objective, library.matrix)
    return _result(program, solution, library.matrix if theirs and library is not None else None)


def _as_array(value: Any) -> Any:
    """Return a matrix of CVXOPT as an array or CSC; return other values unchanged."""
    if type(value).__module__.split(".")[0] != "cvxopt":
        return value
    if hasattr(value, "CCS"):
        indptr, indices, data = (np.array(part).ravel() for part in value.CCS)
        return sp.csc_array((data.astype(np.float64), indices, indptr), shape=value.size)
    return np.array(value, dtype=np.float64)


def _as_vector(value: Any) -> Any:
    """Return a matrix with one column as a vector; return other values as `_as_array` does."""
    value = _as_array(value)
    return value.ravel() if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 1 else value


def _of_lower_triangle(P: Any) -> Any:
    """Return the symmetric matrix with the lower triangle of P; return a P that is not square unchanged."""
    if P is None or isinstance(P, LowRank):
        return P
    P, lower = (as_csc("P", P), sp.tril) if sp.issparse(P) else (as_dense("P", P), np.tril)
    return lower(P) + lower(P, -1).T if P.shape[0] == P.shape[1] else P


def _settings(given: dict[str, Any] | None) -> Settings:
    """Return settings from CVXOPT's options; an `abstol` or `reltol` that is not positive is switched off."""
    if given is None:
        library = sys.modules.get("cvxopt.solvers")
        given = {**({} if library is None else library.options), **options}
    known = {name: value for name, value in given.items() if name in CHECKS or name in OPTIONS}
    for name in ("abstol", "reltol"):
        if isinstance(known.get(name), (int, float)) and known[name] <= 0:
            del known[name]
    if "show_progress" in known:
        known.setdefault("verbose", bool(known.pop("show_progress")))
    return Settings(**in_our_names(known))


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
        # Certificates are normalized to the objective values -1 and 1.
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
    """Return the largest t for which s - t e is in the cone, where e is the cone's identity element."""
    start, slack = 0, np.inf
    for cone in program.cones:
        part = s[start : start + cone.dim]
        start += cone.dim
        if part.size:
            is_orthant = type(cone).__name__ == "NonNeg"
            slack = min(slack, float(part.min() if is_orthant else part[0] - np.linalg.norm(part[1:])))
    return slack
