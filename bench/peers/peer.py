"""Reference solvers: their adapters, the programs that they take, and tables of their settings and statuses.

All solvers get equal tolerances and numbers of threads, and print nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from socp import Status

from ..answers.answer import Answer
from .forms import Point

CONE, QUADRATIC, SVM_DUAL = "cone", "quadratic", "dual of a support vector machine"
NO_LIMIT = 1e6  # seconds, in place of a missing time limit

INTERIOR_POINT_ITERATIONS = 200
FIRST_ORDER_ITERATIONS = 1_000_000
PROXIMAL_ITERATIONS = 10_000

STATUSES = {
    Status.OPTIMAL: "Solved QOCO_SOLVED solved optimal PIQP_SOLVED OSQP_SOLVED PROXQP_SOLVED kOptimal "
    "ecos:0 scs:1 daqp:1 qpalm:1 hpipm:0",
    Status.INACCURATE: "AlmostSolved QOCO_SOLVED_INACCURATE almost_solved OSQP_SOLVED_INACCURATE ecos:10",
    Status.PRIMAL_INFEASIBLE: "PrimalInfeasible AlmostPrimalInfeasible infeasible PIQP_PRIMAL_INFEASIBLE kInfeasible "
    "OSQP_PRIMAL_INFEASIBLE PROXQP_PRIMAL_INFEASIBLE primal:infeasible ecos:1 ecos:11 scs:-2 scs:-7 qpalm:-3",
    Status.DUAL_INFEASIBLE: "DualInfeasible AlmostDualInfeasible unbounded PIQP_DUAL_INFEASIBLE kUnbounded "
    "OSQP_DUAL_INFEASIBLE PROXQP_DUAL_INFEASIBLE dual:infeasible ecos:2 ecos:12 scs:-1 scs:-6 qpalm:-4",
    Status.MAX_ITERATIONS: "MaxIterations max_iters QOCO_MAX_ITER hit_max_iter PIQP_MAX_ITER_REACHED kIterationLimit "
    "OSQP_MAX_ITER_REACHED PROXQP_MAX_ITER_REACHED ecos:-1 qpalm:-2 hpipm:1",
    Status.TIME_LIMIT: "MaxTime OSQP_TIME_LIMIT_REACHED kTimeLimit scs:2 qpalm:-5",
}
"""Status words of all solvers; a number follows the solver's name.  Other words are numerical errors."""
BY_WORD = {word: status for status, words in STATUSES.items() for word in words.split()}


class Asked(NamedTuple):
    """Program in the solver's own form; the translation is not timed."""

    setup: Callable[[], Any]  # returns the solver after its set-up
    solve: Callable[[Any], Any]  # takes the solver; its result is for `read`
    # takes the solver and the result of `solve`; returns the status word (see `STATUSES`), the iterations, and the
    # point in the project's signs
    read: Callable[[Any, Any], tuple[str, int, Point]]
    # gives the solver another linear objective c, or, if all rows are equalities, other sides b
    update: Callable[..., Any] = lambda solver, c: None
    # takes a program with other vectors, and returns a function that gives them to the solver; None: it is set up anew
    follow: Callable[[Any], Callable[[Any], Any]] | None = None


@contextlib.contextmanager
def silent_output() -> Iterator[None]:
    """Discard what compiled code prints to standard output inside a ``with`` block."""
    sys.stdout.flush()
    with open(os.devnull, "wb") as nothing:
        kept = os.dup(1)
        os.dup2(nothing.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


Adapter = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True)
class Peer:
    """A reference solver."""

    ask: Adapter  # adapter: maps a program and settings to an `Asked`, or to the `Answer` itself
    # name, package, distribution: names of the adapter, of the imported package, and of its distribution
    name: str
    package: str
    distribution: str
    # some of `CONE`, `QUADRATIC` and `SVM_DUAL`; empty for a solver that is measured on small programs and batches only
    takes: tuple[str, ...]
    tolerances: dict[str, float]  # names of the tolerances, with the least value of each
    # time_limit, threads: names of these settings, "" if the solver has none; ecos, cvxopt, qoco, piqp, qtqp and
    # proxsuite have no time limit
    time_limit: str
    threads: str
    is_definite: bool  # whether the solver takes only a positive definite P
    fixed: dict[str, Any]  # all other settings

    def settings(self, tol: float, time_limit: float | None = None, threads: int = 1) -> dict[str, Any]:
        """Return the keyword settings under the solver's own names."""
        found: dict[str, Any] = {name: max(tol, least) for name, least in self.tolerances.items()}
        found |= {self.time_limit: NO_LIMIT if time_limit is None else float(time_limit)} if self.time_limit else {}
        found |= {self.threads: threads} if self.threads else {}
        return found | self.fixed

    def solve(self, program: Any, settings: dict[str, Any]) -> Answer:
        """Set up and solve, both timed; return the answer in the project's signs."""
        asked = self.ask(program, settings)
        if isinstance(asked, Answer):
            return asked
        start = time.perf_counter()
        solver = asked.setup()
        ready = time.perf_counter()
        found = asked.solve(solver)
        end = time.perf_counter()
        word, iterations, (x, y, z) = asked.read(solver, found)
        status = BY_WORD.get(word, Status.NUMERICAL_ERROR)
        return Answer(self.name, status, x, y, z, int(iterations), ready - start, end - ready)


PEERS: dict[str, Peer] = {}
"""Every reference solver by the name of its adapter."""


def peer(
    *takes: str,
    tolerances: str | dict[str, float] = "",
    time_limit: str = "",
    threads: str = "",
    package: str | None = None,
    distribution: str | None = None,
    definite: bool = False,
    **fixed: Any,
) -> Callable[[Adapter], Adapter]:
    """Register an adapter in `PEERS` under its own name, which is also its package's unless `package` is given.

    `tolerances` holds the solver's names of its tolerances, separated by spaces, or a dictionary of their least values;
    it is empty for a solver without a tolerance.  A solver that needs a positive definite P is `definite`.
    """
    least = dict.fromkeys(tolerances.split(), 0.0) if isinstance(tolerances, str) else tolerances

    def register(adapter: Adapter) -> Adapter:
        name = adapter.__name__
        about = (name, package or name, distribution or name, takes)
        PEERS[name] = Peer(adapter, *about, least, time_limit, threads, definite, fixed)
        return adapter

    return register


def peer_settings(solver: str, tol: float, time_limit: float | None = None, threads: int = 1) -> dict[str, Any]:
    """Return the keyword settings of one solver under its own names."""
    return PEERS[solver].settings(tol, time_limit, threads)
