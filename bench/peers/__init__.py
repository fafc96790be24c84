"""Reference solvers with one interface: a program in, an `Answer` in the signs of the project out.

None of them is needed to use the project; solvers that are not installed are skipped and named.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

import socp

from ..answers import answer
from ..answers.answer import Answer
from ..answers.verify import Program
from . import cone as cone
from . import quadratic as quadratic
from . import staged as staged
from . import svm
from .peer import CONE, PEERS, QUADRATIC, SVM_DUAL, peer_settings

MOST = 5000  # most rows of P that are factored to see if it is definite
STAGED = ("hpipm", "piqp_multistage")
"""Solvers that take the stages of a controller (`bench.programs.control`)."""
BATCHES = ("moreau", "daqp", *STAGED)
"""Solvers that are measured only on small programs, controllers and batches (`bench.programs.repeated`, `many`)."""


def peers_for(program: Program) -> list[str]:
    """Return the names of the solvers that take this kind of program, installed or not."""
    kinds = {CONE} if isinstance(program, socp.ConeProgram) else {QUADRATIC}
    if svm.is_svm_dual(program):
        kinds.add(SVM_DUAL)
    takers = [name for name, peer in PEERS.items() if kinds & set(peer.takes)]
    if any(PEERS[name].is_definite for name in takers) and not has_definite_hessian(program):
        takers = [name for name in takers if not PEERS[name].is_definite]
    return takers


def has_definite_hessian(program: Program) -> bool:
    """Return True if P is positive definite, by a Cholesky factorization; False for a P of more than `MOST` rows.

    A P of low rank is definite if its diagonal is, for a peer may get F'x as variables (`forms.two_sided`).
    """
    P: Any = program.P
    if P is None or P.shape[0] > MOST:
        return False
    if isinstance(P, socp.LowRank):
        return bool(np.all(P.d > 0.0))
    try:
        np.linalg.cholesky(P if isinstance(P, np.ndarray) else P.toarray())
    except np.linalg.LinAlgError:
        return False
    return True


def names() -> list[str]:
    """Return the names of all solvers, installed or not, except `BATCHES`."""
    return [name for name, peer in PEERS.items() if peer.takes]


def is_installed(solver: str) -> bool:
    """Return True if the solver's package can be imported."""
    return find_spec(PEERS[solver].package if solver in PEERS else solver) is not None


def solve(
    solver: str, program: Program, tol: float = 1e-8, time_limit: float | None = None, threads: int = 1
) -> Answer:
    """Solve a program with the engine, "centralpath", or with one of `peers_for(program)`, which must be installed.

    Every solver gets `tol` for each of its own relative and absolute tests, and `time_limit`, in seconds, and `threads`
    if it has such settings (the others obey OMP_NUM_THREADS and the like).  A solver that refuses or fails has the
    status "numerical_error", with its message as the note.
    """
    if solver == "centralpath":
        return answer.solve(program, tol=tol, time_limit=time_limit, threads=threads)
    if solver not in (*peers_for(program), *BATCHES):
        takers = ", ".join(["centralpath", *peers_for(program)])
        raise ValueError(f"no solver {solver!r} takes this program; these do: {takers}")
    try:
        return PEERS[solver].solve(program, peer_settings(solver, tol, time_limit, threads))
    except Exception as error:  # A solver that raises has failed on this program only.
        words = f"{type(error).__name__}: {error}"
        return Answer(solver, socp.Status.NUMERICAL_ERROR, None, None, None, 0, 0.0, 0.0, words)
