"""Programs asked again and again through the solvers' Python interfaces, as those of `tiny` and `small` are.

Two ways of asking, each timed as the median of many calls:

    construct    from matrices to the answer: set-up and solve
    update       a solver set up before gets another linear objective: update and solve
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

import qp
import socp

from .. import peers
from ..answers import answer
from ..answers.answer import Answer
from ..answers.program import changed
from ..answers.verify import Program, verify
from ..peers.forms import Point
from ..peers.peer import PEERS, peer_settings

NOT_TOLD = -1
"""The iterations of an updated solver, which are not asked for."""
CONSTRUCT, UPDATE = "construct", "update"
UPDATED = ("clarabel", "piqp", "qoco", "scs", "daqp")
"""The peers that are asked for updates."""
SECONDS, LEAST, MOST = 0.3, 20, 2000
"""One measurement calls for so long, at least and at most so many times."""


Call = Callable[[Program], Answer]


@dataclass(frozen=True)
class Again:
    """A solver that is set up: `solve(c)` updates the linear objective and solves, `point()` reads the answer."""

    solve: Callable[[np.ndarray], Any]
    point: Callable[[], Point]


def in_both_ways(classes: dict[str, Callable[[int, int], Program]]) -> dict[str, Callable[[int, int], Program]]:
    """Every class twice, by name: to be set up, and to be updated."""
    return {f"{name}_{way}": made for name, made in classes.items() for way in (CONSTRUCT, UPDATE)}


def peers_for(group: str, sample: Program) -> tuple[str, ...]:
    """The solvers that can be asked in this way."""
    names = [*peers.peers_for(sample), *(["daqp"] if isinstance(sample, qp.QuadraticProgram) else [])]
    return tuple(name for name in names if group.endswith(CONSTRUCT) or name in UPDATED)


def measure(
    solver: str, group: str, program: Program, tol: float, own: Call | None = None
) -> tuple[Answer, Program, int]:
    """The answer with the median time of many calls, the program that it answers, and the number of calls.

    A function of somebody's `own` knows no update: it is called with each objective anew.
    """
    if group.endswith(CONSTRUCT):
        return by_calls(own or _call(solver, program, tol), [program])
    if own is not None:
        return by_calls(own, [with_objective(program, objective) for objective in _objectives(program)])
    return _update(solver, program, tol)


def by_calls(call: Call, programs: Sequence[Program]) -> tuple[Answer, Program, int]:
    """The worst of the last answers to each program, with the median of the times that all calls tell."""
    call(programs[0])  # not counted: the first call may load something
    answers: list[tuple[Answer, Program]] = []
    start = time.perf_counter()
    while len(answers) < LEAST or (time.perf_counter() - start < SECONDS and len(answers) < MOST):
        asked = programs[len(answers) % len(programs)]
        answers.append((call(asked), asked))
    worst, asked = max(answers[-len(programs) :], key=lambda one: verify(one[1], one[0].x, one[0].y, one[0].z).worst)
    seconds = median(answer.seconds for answer, _ in answers)
    return replace(worst, setup_seconds=0.0, solve_seconds=seconds), asked, len(answers)


def _call(solver: str, program: Program, tol: float) -> Call:
    return _our_call(program, tol) if solver == "centralpath" else lambda asked: peers.solve(solver, asked, tol)


def _our_call(program: Program, tol: float) -> Call:
    """From matrices, as users call: the checks of the program are in our time."""
    if isinstance(program, socp.ConeProgram):
        keywords = {name: getattr(program, name) for name in ("c", "G", "h", "cones", "A", "b", "P")}

        def solve() -> Any:
            return socp.solve(**keywords, tol=tol)
    else:
        keywords = {name: getattr(program, name) for name in ("A", "l", "u", "lb", "ub")}

        def solve() -> Any:
            return qp.solve(program.P, program.q, **keywords, tol=tol)

    def call(_: Program) -> Answer:
        start = time.perf_counter()
        solution = solve()
        return answer.from_solution(solution, time.perf_counter() - start)

    return call


def _objectives(program: Program) -> list[np.ndarray]:
    """Linear objectives drawn around the program's own, the same for every solver."""
    objective = program.c if isinstance(program, socp.ConeProgram) else program.q
    rng = np.random.default_rng(0)
    return [objective + 0.1 * np.abs(objective) * rng.normal(size=objective.size) for _ in range(16)]


def _update(solver: str, program: Program, tol: float) -> tuple[Answer, Program, int]:
    objectives = _objectives(program)
    again = updates(solver, program, tol)
    again.solve(objectives[0])
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < LEAST or (time.perf_counter() - start < SECONDS and len(times) < MOST):
        c = objectives[len(times) % 16]
        before = time.perf_counter()
        again.solve(c)
        times.append(time.perf_counter() - before)
    asked = with_objective(program, objectives[(len(times) - 1) % 16])
    result = Answer(solver, socp.Status.OPTIMAL, *again.point(), NOT_TOLD, 0.0, median(times))
    return result, asked, len(times)


def updates(solver: str, program: Program, tol: float) -> Again:
    """The solver, set up for the program."""
    return _centralpath(program, tol) if solver == "centralpath" else _peer(solver, program, tol)


def with_objective(program: Program, c: np.ndarray) -> Program:
    """The program with another linear objective."""
    return changed(program, **{"c" if isinstance(program, socp.ConeProgram) else "q": c})  # type: ignore[no-any-return]


def _centralpath(program: Program, tol: float) -> Again:
    cone = isinstance(program, socp.ConeProgram)
    solver: Any = (socp.Solver if cone else qp.Solver)(program, tol=tol)  # type: ignore[arg-type]
    last: list[Any] = []

    def solve(c: np.ndarray) -> None:
        solver.update(**{"c" if cone else "q": c})
        last[:] = [solver.solve()]

    return Again(solve, lambda: (last[0].x, last[0].y, last[0].z if cone else last[0].z_bounds))


def _peer(solver: str, program: Program, tol: float) -> Again:
    more = {"presolve_enable": False} if solver == "clarabel" else {}  # which takes no update after it
    asked = PEERS[solver].ask(program, peer_settings(solver, tol) | more)
    handle, last = asked.setup(), list[Any]()

    def solve(c: np.ndarray) -> None:
        asked.update(handle, c)
        last[:] = [asked.solve(handle)]

    return Again(solve, lambda: asked.read(handle, last[0])[2])
