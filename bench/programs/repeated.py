"""Repeated solves of programs such as `tiny` and `small` through the solvers' Python interfaces.

There are three ways, each timed as the median of many calls:

    construct    from matrices to the answer: set-up and solve
    update       a solver that is set up gets another linear objective: update, and solve from the last answer
    loop         as `update`, but the sides of equalities change: the next initial state of a controller

DAQP, OSQP and SCS start from their last answers by themselves, the other peers make a cold start.  HPIPM, and PIQP's
backend by stages, are asked of controllers that know their stages (`control`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

import qp
import socp

from .. import peers
from ..answers import answer
from ..answers.answer import Answer
from ..answers.program import changed, engine_of, linear_name, parts_of
from ..answers.verify import Program, verify
from ..peers.forms import Point
from ..peers.peer import PEERS, peer_settings

NOT_TOLD = -1
"""Value of `iterations` for an updated solver, from which they are not read."""
CONSTRUCT, UPDATE, LOOP = "construct", "update", "loop"
ASKED = {UPDATE: ("clarabel", "piqp", "qoco", "scs", "daqp"), LOOP: ("piqp", "daqp", "osqp", *peers.STAGED)}
"""Peers that are measured with updates, and in loops."""
SECONDS, LEAST, MOST = 0.3, 20, 2000
"""Seconds of one measurement, and the least and the largest number of its calls."""


Call = Callable[[Program], Answer]
Measured = tuple[Answer, Program, int]
Change = dict[str, np.ndarray]  # new vectors of a program by their names


@dataclass(frozen=True)
class Again:
    """A solver that is set up: `solve(change)` updates vectors and solves, `point()` reads the answer."""

    solve: Callable[[Change], Any]
    point: Callable[[], Point]


def in_both_ways(classes: dict[str, Callable[[int, int], Program]]) -> dict[str, Callable[[int, int], Program]]:
    """Return every class under two names: one to be set up for each solve, and one to be updated."""
    return {f"{name}_{way}": made for name, made in classes.items() for way in (CONSTRUCT, UPDATE)}


def peers_for(group: str, sample: Program) -> tuple[str, ...]:
    """Return the solvers that support the way of asking that the name of `group` ends with."""
    names = [*peers.peers_for(sample), *(["daqp"] if isinstance(sample, qp.QuadraticProgram) else [])]
    names += peers.STAGED if hasattr(sample, "stages") else ()
    return tuple(name for name in names if name in ASKED.get(group.rpartition("_")[2], names))


def measure(solver: str, group: str, program: Program, tol: float, own: Call | None = None) -> Measured:
    """Return the answer with the median time of many calls, the program that it answers, and the number of calls.

    A user's function `own` knows no update: it is called with each program separately.
    """
    if group.endswith(CONSTRUCT):
        ours = _our_call(program, tol) if solver == "centralpath" else lambda asked: peers.solve(solver, asked, tol)
        return by_calls(own or ours, [program])
    changes = _first_states(program) if group.endswith(LOOP) else _objectives(program)
    if own is not None:
        return by_calls(own, [changed(program, **change) for change in changes])
    return _update(solver, program, tol, changes)


def by_calls(call: Call, programs: Sequence[Program]) -> Measured:
    """Return the worst of the last answers to each program, with the median time of all calls; see `measure`."""
    call(programs[0])  # The first call may load something and is not timed.
    times, last = list[float](), deque[tuple[Answer, Program]](maxlen=len(programs))
    for k in _enough():
        program = programs[k % len(programs)]
        last.append((call(program), program))
        times.append(last[-1][0].seconds)
    worst, asked = max(last, key=lambda one: verify(one[1], one[0].x, one[0].y, one[0].z).worst)
    return replace(worst, setup_seconds=0.0, solve_seconds=median(times)), asked, len(times)


def _enough() -> Iterator[int]:
    """Yield 0, 1, ... as long and as often as one measurement calls."""
    start, k = time.perf_counter(), 0
    while k < LEAST or (time.perf_counter() - start < SECONDS and k < MOST):
        yield k
        k += 1


def _our_call(program: Program, tol: float) -> Call:
    """Return a call that starts from matrices, as users call: its time includes the checks of the program."""
    solve, parts = engine_of(program).solve, parts_of(program)

    def call(_: Program) -> Answer:
        start = time.perf_counter()
        solution = solve(**parts, tol=tol)
        return answer.from_solution(solution, time.perf_counter() - start)

    return call


def _objectives(program: Program) -> list[Change]:
    """Draw linear objectives around the program's own; every solver gets equal ones."""
    name, rng = linear_name(program), np.random.default_rng(0)
    objective = getattr(program, name)
    drawn = [objective + 0.1 * np.abs(objective) * rng.normal(size=objective.size) for _ in range(16)]
    return [{name: objective} for objective in drawn]


def _first_states(program: Program) -> list[Change]:
    """Return sides of a controller's equalities whose first state circles half its own, in sixteen steps."""
    own, rng = parts_of(program)["u"], np.random.default_rng(0)
    one, other = 0.3 * np.abs(own) * rng.normal(size=(2, own.size))
    turns = 2.0 * np.pi * np.arange(16) / 16
    sides = [0.5 * own + np.cos(turn) * one + np.sin(turn) * other for turn in turns]
    return [{"l": side, "u": side} for side in sides]


def _update(solver: str, program: Program, tol: float, changes: list[Change]) -> Measured:
    again = updates(solver, program, tol)
    again.solve(changes[0])
    times: list[float] = []
    for k in _enough():
        before = time.perf_counter()
        again.solve(changes[k % 16])
        times.append(time.perf_counter() - before)
    asked = changed(program, **changes[(len(times) - 1) % 16])
    result = Answer(solver, socp.Status.OPTIMAL, *again.point(), NOT_TOLD, 0.0, median(times))
    return result, asked, len(times)


def held(call: Callable[..., Any]) -> tuple[Callable[..., None], list[Any]]:
    """Return a function that runs `call`, and the list whose one entry is its last result."""
    last: list[Any] = []

    def asked(*given: Any) -> None:
        last[:] = [call(*given)]

    return asked, last


def updates(solver: str, program: Program, tol: float) -> Again:
    """Return the solver, set up for the program."""
    return _centralpath(program, tol) if solver == "centralpath" else _peer(solver, program, tol)


def _centralpath(program: Program, tol: float) -> Again:
    solver = engine_of(program).Solver(program, tol=tol)

    def solve(change: Change) -> Any:
        solver.update(**change)
        return solver.solve(warm_start=True)

    asked, last = held(solve)
    return Again(asked, lambda: answer.point_of(last[0]))


def _peer(solver: str, program: Program, tol: float) -> Again:
    more = {"presolve_enable": False} if solver == "clarabel" else {}  # no updates after presolve
    asked = PEERS[solver].ask(program, peer_settings(solver, tol) | more)
    handle = asked.setup()

    def solve(change: Change) -> Any:
        if "l" in change:
            asked.update(handle, b=change["l"])
        else:
            asked.update(handle, change[linear_name(program)])
        return asked.solve(handle)

    call, last = held(solve)
    return Again(call, lambda: asked.read(handle, last[0])[2])
