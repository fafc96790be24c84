"""Reference solvers behind one door: a program in, an `Answer` in the signs of the project out.

None of them is needed to use the project; those that are not installed are skipped and named.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import socp

from ..answers.answer import Answer
from ..answers.verify import Program
from . import cone, quadratic, svm
from .settings import peer_settings

_ON_CONE_PROGRAMS: dict[str, Callable[[Any, dict[str, Any]], Answer]] = {
    "clarabel": cone.clarabel,
    "ecos": cone.ecos,
    "cvxopt": cone.cvxopt,
    "scs": cone.scs,
    "qoco": cone.qoco,
}
_ON_QUADRATIC_PROGRAMS: dict[str, Callable[[Any, dict[str, Any]], Answer]] = {
    "clarabel": cone.clarabel,
    "piqp": quadratic.piqp,
    "qtqp": cone.qtqp,
    "osqp": quadratic.osqp,
    "highspy": quadratic.highspy,
    "proxsuite": quadratic.proxsuite,
    "cvxopt": cone.cvxopt,
    "qoco": cone.qoco,
    "ecos": cone.ecos,
    "scs": cone.scs,
}
_ON_SVM_DUALS = {**_ON_QUADRATIC_PROGRAMS, "libsvm": svm.libsvm}

BATCHES = ("moreau", "daqp")
"""Solvers that are asked for batches alone (`bench.programs.many`)."""
PACKAGES = {"libsvm": ("sklearn", "scikit-learn")}
"""The import and the distribution of a solver, where they do not have its name."""


def peers_for(program: Program) -> list[str]:
    """The names of the solvers that take this kind of program, installed or not."""
    return list(_adapters(program))


def names() -> list[str]:
    """The names of all solvers, installed or not."""
    return list(dict.fromkeys([*_ON_SVM_DUALS, *_ON_CONE_PROGRAMS]))


def is_installed(solver: str) -> bool:
    """Whether the solver's package can be imported."""
    return find_spec(PACKAGES.get(solver, (solver,))[0]) is not None


def solve(
    solver: str, program: Program, tol: float = 1e-8, time_limit: float | None = None, threads: int = 1
) -> Answer:
    """Solve a program with one of the reference solvers.

    Parameters
    ----------
    solver : str
        One of `peers_for(program)`, installed.
    program : `socp.ConeProgram` or `qp.QuadraticProgram`
        What is asked.
    tol : float
        The tolerance, given to every solver for each of its own relative and absolute tests.
    time_limit : float, optional
        Seconds; kept by those solvers that know a time limit.
    threads : int
        For those solvers that are told; the others obey the environment (OMP_NUM_THREADS and the like).

    Returns
    -------
    Answer
        With status "numerical_error" and the solver's words as its note when the solver refuses or fails.
    """
    adapter = _adapters(program)[solver]
    try:
        return adapter(program, peer_settings(solver, tol, time_limit, threads))
    except Exception as error:  # a solver that raises has failed on this program, and the comparison goes on
        return Answer(
            solver, socp.Status.NUMERICAL_ERROR, None, None, None, 0, 0.0, 0.0, f"{type(error).__name__}: {error}"
        )


def _adapters(program: Program) -> dict[str, Callable[[Any, dict[str, Any]], Answer]]:
    if isinstance(program, socp.ConeProgram):
        return _ON_CONE_PROGRAMS
    return _ON_SVM_DUALS if svm.is_svm_dual(program) else _ON_QUADRATIC_PROGRAMS
