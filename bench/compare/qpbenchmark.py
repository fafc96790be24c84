"""The sets of qpbenchmark as it measures them: through qpsolvers, at its four settings, with its residuals and limit.

An answer is right if it is said to be found, took at most the limit, and its primal residual, dual residual and duality
gap, absolute ones, are below the tolerance of the setting.  The mean of the times is the shifted geometric one, in
which an answer that is not right counts as the limit; qpbenchmark's own mean counts a wrong answer by its time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from qp.files.npz import fields_of
from qp.interop.qpsolvers import register_with_qpsolvers
from socp.files.textfile import MAX_BYTES

from ..programs import sets
from .measurement import OURS
from .pairs import Pair
from .summary import TINY_SHIFT, shifted_geometric_mean

SETS = ("mpc_qpbenchmark", "free_for_all_qpbenchmark", "qpbenchmark")
LIMIT, LONG, MOST = 10.0, 0.3, 2000
"""Seconds of a run; seconds from which one run is enough; most variables for a solver without a limit of its own."""
ACCURACIES = {"default": None, "low_accuracy": 1e-3, "mid_accuracy": 1e-6, "high_accuracy": 1e-9}
"""The tolerance that each setting of qpbenchmark asks of the solver; None is the solver's own, judged at 1."""
TOLERANCES: Mapping[str, tuple[str, ...]] = {
    "clarabel": ("tol_feas", "tol_gap_abs"),
    "daqp": ("dual_tol", "primal_tol"),
    "osqp": ("eps_abs",),
    "piqp": ("eps_abs", "eps_duality_gap_abs"),
    "proxqp": ("eps_abs", "eps_duality_gap_abs"),
    "qpalm": ("eps_abs",),
    "quadprog": (),
    OURS: ("eps_abs",),
}
RELATIVE: Mapping[str, tuple[str, ...]] = {
    "clarabel": ("tol_gap_rel",), "osqp": ("eps_rel",), "piqp": ("eps_rel", "eps_duality_gap_rel"),
    "proxqp": ("eps_rel", "eps_duality_gap_rel"), "qpalm": ("eps_rel",), OURS: ("eps_rel",),
}  # fmt: skip
"""Names of the absolute and relative tolerances of each solver; qpbenchmark sets the relative ones to zero."""
LIMITED, FAST = ("osqp", "qpalm", OURS), ("clarabel", "piqp")
"""Solvers that get `LIMIT` as ``time_limit``, and others that are given large programs without one."""


class Run(NamedTuple):
    """What a solver did with a program at a setting."""

    seconds: float
    is_found: bool
    is_right: bool


def settings_of(solver: str, accuracy: str) -> dict[str, Any]:
    """Return the keyword arguments that qpbenchmark gives to a solver.

    Examples
    --------
    >>> settings_of("piqp", "mid_accuracy")["eps_abs"], settings_of("daqp", "default")
    (1e-06, {})
    """
    tol, given = ACCURACIES[accuracy], {"time_limit": LIMIT} if solver in LIMITED else {}
    if tol is None:
        return given
    given |= dict.fromkeys(TOLERANCES[solver], tol) | dict.fromkeys(RELATIVE.get(solver, ()), 0.0)
    return given | ({"check_duality_gap": True} if solver in ("piqp", "proxqp") else {})


def measure(problem: Any, solver: str, accuracy: str) -> Run:
    """Solve a ``qpsolvers.Problem``, thrice if it is fast, and judge the answer by the residuals of qpsolvers."""
    import qpsolvers

    times: list[float] = []
    while not times or (len(times) < 3 and times[0] < LONG):
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = qpsolvers.solve_problem(problem, solver, **settings_of(solver, accuracy))
        except Exception:  # A solver that raises has failed on this program only.
            found = qpsolvers.Solution(problem)
        times.append(time.perf_counter() - begin)
    is_found, seconds = bool(found.found), min(times)
    residuals = [found.primal_residual(), found.dual_residual(), found.duality_gap()] if is_found else [np.nan]
    is_close = all(residual is not None and residual < (ACCURACIES[accuracy] or 1.0) for residual in residuals)
    return Run(seconds, is_found, is_found and is_close and seconds <= LIMIT)


def compare(name: str, data: sets.Folder, only: str | None) -> Iterator[Pair]:
    """Yield our shifted mean beside that of each solver for each setting, over the programs that both were given.

    A program that a solver is not given is one that needs sparse matrices, or time beyond the limit without having one.
    The errors are the shares of the programs that are not solved; wrong is an answer that is called found and is none.
    """
    import qpsolvers

    register_with_qpsolvers()
    paths = sets.files(name, data, only)
    programs = {path: _problem(path) for path in paths}
    peers = [solver for solver in TOLERANCES if solver != OURS and solver in qpsolvers.available_solvers]
    for accuracy in ACCURACIES:
        runs = {
            (path, solver): measure(_taken_by(solver, problem), solver, accuracy)
            for path, problem in programs.items()
            for solver in (OURS, *peers)
            if _takes(solver, problem)
        }
        for peer in peers:
            both = [path for path in paths if (path, peer) in runs]
            if both:
                yield _pair(name, accuracy, peer, [(runs[path, OURS], runs[path, peer]) for path in both])


def _pair(name: str, accuracy: str, peer: str, runs: list[tuple[Run, Run]]) -> Pair:
    ours, its = zip(*runs, strict=True)
    return Pair(
        f"{name}, {accuracy}", f"{len(runs)} programs", peer, _mean(ours), _mean(its),
        _failed(ours), _failed(its), _is_wrong(ours), _is_wrong(its),
    )  # fmt: skip


def _mean(runs: Sequence[Run]) -> float:
    return shifted_geometric_mean([run.seconds if run.is_right else LIMIT for run in runs], TINY_SHIFT)


def _failed(runs: Sequence[Run]) -> float:
    return float(np.mean([not run.is_right for run in runs]))


def _is_wrong(runs: Sequence[Run]) -> bool:
    return any(run.is_found and not run.is_right for run in runs)


def _takes(solver: str, problem: Any) -> bool:
    """Return True unless a program is too large for a solver of dense matrices, or for one without a time limit."""
    import qpsolvers

    is_large = problem.q.size > MOST
    return not is_large or (solver in qpsolvers.sparse_solvers and solver in (*LIMITED, *FAST))


def _taken_by(solver: str, problem: Any) -> Any:
    """Return the program with the matrices that a solver takes: as it is, or in its only form."""
    import qpsolvers

    takes_dense, takes_sparse = solver in qpsolvers.dense_solvers, solver in qpsolvers.sparse_solvers
    P, q, G, h, A, b, lb, ub = problem.unpack()
    if sp.issparse(P) and not takes_sparse:
        P, G, A = (None if M is None else M.toarray() for M in (P, G, A))
    elif not sp.issparse(P) and not takes_dense:
        P, G, A = (None if M is None else sp.csc_matrix(M) for M in (P, G, A))
    return qpsolvers.Problem(P, q, G, h, A, b, lb, ub)


def _problem(path: Path) -> Any:
    """Return a program as qpbenchmark states it; the rows of a .mat file become equalities and one-sided rows."""
    import qpsolvers

    if path.suffix == ".npz":
        fields = fields_of(path, MAX_BYTES).items()
        return qpsolvers.Problem(
            **{name: sp.csc_matrix(field) if sp.issparse(field) else field for name, field in fields}
        )
    program: Any = sets.read(path)
    equal = program.l == program.u
    above, below = ~equal & np.isfinite(program.u), ~equal & np.isfinite(program.l)
    G = sp.vstack([program.A[above], -program.A[below]])
    matrices = [sp.csc_matrix(M) if M.shape[0] else None for M in (program.P, G, program.A[equal])]
    h, b = np.concatenate([program.u[above], -program.l[below]]), program.u[equal]
    sides = [None if M is None else v for M, v in zip(matrices[1:], (h, b), strict=True)]
    return qpsolvers.Problem(
        matrices[0], program.q, matrices[1], sides[0], matrices[2], sides[1], program.lb, program.ub
    )
