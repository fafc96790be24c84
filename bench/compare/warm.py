"""Sequences of programs solved from the last answer, and without it, by us and by others, as a Markdown table.

The times are those of update and solve, in the mean of the steps; ours are the shorter ones of two passes, in turn.
The error is the worst of all answers, each verified on its own program: an "optimal" that fails at 1e-6 is WRONG.  A
peer that cannot take the change of a step is set up for it.  Peers that have no warm start make a cold one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import socp
from socp import Status
from socp.plan.costs import COSTS

from .. import peers
from ..answers import answer
from ..answers.program import CONE, MATRICES, QUADRATIC, engine_of
from ..answers.verify import Program, verify
from ..peers.peer import BY_WORD, PEERS, peer_settings
from ..programs import sequences
from ..programs.sequences import COUNT, DENSE, KINDS, SIZES, Sequence
from .measurement import OURS
from .pairs import Comparison, Pair
from .suite import VERIFIED_TOL, verdict

TOL, SECONDS = 1e-8, 10.0  # tolerance of all; time after which a peer takes no more steps
PEERS_OF = {QUADRATIC: ("daqp", "piqp", "osqp", "qpalm"), CONE: ("clarabel", "scs")}
MOST_DENSE = 500  # variables of the largest program for DAQP, whose matrices are dense
ROUNDS = {"interior point": COSTS.iterations, "dual active set": 10, "active set": COSTS.passes}
"""Rounds of each method that the engine's expected time of a solve counts."""


Answered = tuple[Status, Any, float]  # status, point, and seconds of update and solve


class Followed:
    """A sequence as a solver has followed it: seconds and verdicts by step, and the worst error of an answer.

    Answers are verified here, after the loop: what lies between two steps would empty the caches.
    """

    def __init__(self, programs: list[Program], answers: list[Answered], work: float = np.nan) -> None:
        self.work, self.seconds = work, np.array([seconds for *_, seconds in answers])
        self.statuses = [status for status, *_ in answers]
        found = [verify(asked, x, y, z, bounds_alone=False) for asked, (_, (x, y, z), _) in zip(programs, answers)]
        self.verdicts = [verdict(status, one, VERIFIED_TOL) for status, one in zip(self.statuses, found)]
        optimal = [one.worst for status, one in zip(self.statuses, found) if status is Status.OPTIMAL]
        self.error = max(optimal, default=np.nan)

    @property
    def is_wrong(self) -> bool:
        """Whether a claim does not verify."""
        return "WRONG" in self.verdicts


def work(solution: Any) -> float:
    """Return the seconds in which the engine expects a solve of so many rounds or iterations."""
    plan = solution.plan
    fixed = {"interior point": 0.5 * COSTS.interior_point, "dual active set": COSTS.dual}.get(plan.method, 0.0)
    return float(fixed + solution.iterations * max(plan.expected - fixed, 0.0) / ROUNDS[plan.method])


def follow(sequence: Sequence, is_warm: bool) -> Followed:
    """Follow a sequence with our solver, from the starts of its steps or from none."""
    solver = engine_of(sequence.program).Solver(sequence.program, tol=TOL)
    point, answers, total = answer.point_of(solver.solve()), [], 0.0
    for step in sequence.steps:
        start = is_warm and (step.start if isinstance(step.start, bool) else step.start(point))
        begin = time.perf_counter()
        solver.update(**step.change)
        solution = solver.solve(warm_start=start)
        seconds = time.perf_counter() - begin
        answers.append((solution.status, answer.point_of(solution), seconds))
        point, total = answers[-1][1] if solution.status is Status.OPTIMAL else point, total + work(solution)
    return Followed(list(sequence.programs()), answers, total)


def follow_peer(solver: str, sequence: Sequence) -> Followed:
    """Follow a sequence with a peer, as long as time allows."""
    settings, programs, answers = peer_settings(solver, TOL), list(sequence.programs()), []
    settings |= {"presolve_enable": False} if solver == "clarabel" else {}  # no updates after presolve
    ask = PEERS[solver].ask
    asked, began = ask(sequence.program, settings), time.perf_counter()
    handle = asked.setup()
    asked.solve(handle)
    for program, step in zip(programs, sequence.steps):
        take = _taking(asked, program, step.change)
        asked = ask(program, settings) if take is None else asked
        begin = time.perf_counter()
        if take is None:
            handle = asked.setup()
        else:
            take(handle)
        said = asked.solve(handle)
        seconds = time.perf_counter() - begin
        word, _, point = asked.read(handle, said)
        answers.append((BY_WORD.get(word, Status.NUMERICAL_ERROR), point, seconds))
        if time.perf_counter() - began > SECONDS:
            break
    return Followed(programs, answers)


def _taking(asked: Any, program: Program, change: dict[str, Any]) -> Callable[[Any], Any] | None:
    """Return the function that gives a peer the change of a step, None if it is to be set up."""
    if set(change) & {f"{name}_data" for names in MATRICES.values() for name in names}:
        return None
    if asked.follow is not None:
        taken: Callable[[Any], Any] = asked.follow(program)
        return taken
    return (lambda handle: asked.update(handle, change["c"])) if set(change) == {"c"} else None


def peers_of(program: Any) -> list[str]:
    """Return the installed peers that take such a program and its changes."""
    names = list(PEERS_OF[CONE if isinstance(program, socp.ConeProgram) else QUADRATIC])
    names += ["hpipm"] if hasattr(program, "stages") else []
    if program.P is None or program.n > MOST_DENSE:
        names = [name for name in names if name != "daqp"]
    return [name for name in names if peers.is_installed(name)]


def measure(name: str, size: int, count: int = COUNT) -> Iterator[Pair]:
    """Yield the pairs of our warm starts with our cold ones, and with each peer."""
    sequence = KINDS[name](size, count, 0)
    follow(sequence, True)
    (warm, cold), (warm_again, cold_again) = ([follow(sequence, is_warm) for is_warm in (True, False)] for _ in "12")
    ours, theirs = (np.minimum(one.seconds, two.seconds) for one, two in ((warm, warm_again), (cold, cold_again)))
    others = {f"{OURS}, cold": (theirs, cold)}
    for peer in peers_of(sequence.program):
        found = follow_peer(peer, sequence)
        others[peer] = found.seconds, found
    for peer, (times, its) in others.items():
        steps, failed = times.size, its.verdicts.count("failed")
        notes = [f"medians {np.median(ours[:steps]) / np.median(times):.2f}"]
        notes += [f"work {warm.work / cold.work:.2f}"] if its is cold else []
        notes += [f"{steps} of {count} steps"] if steps < count else []
        notes += [f"{failed} failed"] if failed else []
        yield Pair(
            f"{name}_{size}", f"{sequence.program.n} x {count}", peer, float(ours[:steps].mean()), float(times.mean()),
            warm.error, its.error, warm.is_wrong or "failed" in warm.verdicts, its.is_wrong, note=", ".join(notes),
        )  # fmt: skip


JOBS = {
    f"{kind}_{size}": partial(measure, kind, size) for kind in sequences.KINDS for size in SIZES
    if not (size == max(SIZES) and kind in DENSE)
}  # fmt: skip
COMPARISON = Comparison(JOBS, noun="sequence")
"""The table of warm starts in sequences of programs."""
