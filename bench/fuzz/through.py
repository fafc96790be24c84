"""A program through many doors and after many changes: all answers are compared, see `same`.

`crossing` runs the campaign, in which `python -m bench.fuzz.through` is the process that may crash.
"""

from __future__ import annotations

import faulthandler
import sys
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import qp
from socp import ProgramError, Status

from .. import peers
from ..answers.answer import Answer
from ..answers.program import VECTORS, arguments_of
from ..answers.verify import verify
from ..compare.process import serve
from . import catalogue
from .case import OPTIMAL, Case, Planted
from .changes import CHANGES, FORM, UNITS, Changed
from .doors import DOORS
from .judge import WRONG, has_crossed_sides, judge
from .points import Generator
from .same import AGREE, DISAGREE, compare

REFERENCE = "solve"
JUDGES = {"cone": ("clarabel",), "quadratic": ("clarabel", "piqp"), "linear": ("clarabel", "highspy")}
"""Solvers that answer a program independently, by its kind; HiGHS may not end where there is a quadratic term."""
OTHER_BLOCKS = ("other form", "cvxpy")
"""Doors that divide rows and bounds into other blocks, whose sizes the stopping test takes."""
PATIENCE = 2.0
"""Seconds of an independent solver."""
RARE = {"cvxpy": 0.1}
"""Share of the programs that go through a door that takes long."""


@dataclass(frozen=True)
class Passage:
    """One comparison: the door, the change, and the outcome."""

    door: str
    change: str
    outcome: str
    distance: float = 0.0
    why: str = ""


def passages(family: str, seed: int, number: int, every: bool = False) -> list[Passage]:
    """Send a program of a family through a sample of doors and changes, or through `every` one."""
    case = catalogue.case(family, seed, number)
    rng = np.random.default_rng([seed, zlib.crc32(family.encode()), number, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(through(rng, case, every))


def through(rng: Generator, case: Case, every: bool = False) -> Iterator[Passage]:
    """Send a program through doors and changes; yield what each comparison shows."""
    case = Case(case.program, case.planted, case.hard)
    reference, passage = _answer(rng, REFERENCE, "", case, None)
    yield passage
    if reference is None:
        return
    yield from _independent(rng, case, reference, every)
    for door in _sample(rng, [door for door in DOORS if door != REFERENCE], 3, every, RARE):
        yield from _compared(rng, door, "", case, None, reference)
    for name in _sample(rng, list(CHANGES), 3, every, {}):
        try:
            change = CHANGES[name][0](rng, case.program)
        except ProgramError as error:
            if "can never hold" not in str(error):  # a side that other units put beyond 1e20, which is infinite
                yield Passage(REFERENCE, name, DISAGREE, np.inf, f"{type(error).__name__}: {error}")
            continue
        if change is None or (_infinite(change.program) != _infinite(case.program) and CHANGES[name][1] == UNITS):
            continue
        if has_crossed_sides(change.program) and not has_crossed_sides(case.program):  # whole numbers on one side only
            continue
        held = reference
        if change.against is not None:
            found, passage = _answer(rng, REFERENCE, "", Case(change.against, Planted(), True), None)
            if found is None:
                yield passage
                continue
            held = found
        door = REFERENCE if rng.random() < 0.5 else _sample(rng, list(DOORS), 1, False, RARE)[0]
        yield from _compared(rng, door, name, case, change, held)


def _sample(rng: Generator, names: Sequence[str], count: int, every: bool, rare: dict[str, float]) -> list[str]:
    if every:
        return list(names)
    names = [name for name in names if rng.random() < rare.get(name, 1.0)]
    return [names[i] for i in rng.permutation(len(names))[:count]]


def _compared(
    rng: Generator, door: str, name: str, case: Case, change: Changed | None, reference: Answer
) -> Iterator[Passage]:
    answer, passage = _answer(rng, door, name, case, change)
    if answer is None:
        if passage.outcome:
            yield passage
        return
    program = case.program if change is None or change.against is None else change.against
    if change is not None:
        answer = change.back(answer, program)
    is_of_units = bool(name) and CHANGES[name][1] == UNITS
    same_sizes = (not name or CHANGES[name][1] == FORM) and door not in OTHER_BLOCKS
    found = compare(program, reference, answer, same_sizes, case.hard or is_of_units)
    yield Passage(door, name, found.name, found.distance, found.why)


def _answer(rng: Generator, door: str, name: str, case: Case, change: Changed | None) -> tuple[Answer | None, Passage]:
    """Return the answer of a door and its passage; the answer is None if the door refused, failed or was wrong."""
    program = case.program if change is None else change.program
    data = (change.arguments if change is not None else None) or arguments_of(program)
    try:
        answer = DOORS[door](rng, program, data)
    except Exception as error:  # any exception is a failure to report
        return None, Passage(door, name, DISAGREE, np.inf, f"{type(error).__name__}: {str(error)[:300]}")
    if answer is None:
        return None, Passage(door, name, "")
    if answer.told is not None:
        own = case if change is None and door == REFERENCE else Case(program, Planted(), True)
        verdict = judge(own, answer)
        if verdict.name == WRONG:
            return None, Passage(door, name, DISAGREE, np.inf, f"wrong by itself: {verdict.why}")
    return answer, Passage(door, name, AGREE)


def _independent(rng: Generator, case: Case, reference: Answer, every: bool) -> Iterator[Passage]:
    """Compare with the planted answer, and with the answer of another solver if that is verified."""
    program, planted = case.program, case.planted
    if planted.kind == OPTIMAL and not case.hard:
        answer = Answer("the plan", Status.OPTIMAL, planted.x, planted.y, planted.z, 0, 0.0, 0.0)
        found = compare(program, reference, answer, True, case.hard)
        yield Passage("the plan", "", found.name, found.distance, found.why)
    names = [name for name in JUDGES[_kind(program)] if peers.is_installed(name)]
    for name in names if every else [names[i] for i in rng.permutation(len(names))[: int(rng.random() < 0.3)]]:
        answer = peers.solve(name, program, 1e-10, PATIENCE)
        if answer.x is None or answer.y is None or answer.z is None:
            continue
        measured = verify(program, answer.x, answer.y, answer.z)
        if answer.status is Status.OPTIMAL and measured.worst <= 1e-8:
            found = compare(program, reference, answer, True, case.hard)
            yield Passage(f"judge {name}", "", found.name, found.distance, found.why)


def _infinite(program: Any) -> int:
    """Return the number of infinite sides."""
    return sum(int(np.isinf(getattr(program, name)).sum()) for name in VECTORS[type(program).__name__])


def _kind(program: Any) -> str:
    if not isinstance(program, qp.QuadraticProgram):
        return "cone"
    return "linear" if program.P is None else "quadratic"


if __name__ == "__main__":
    faulthandler.enable()
    serve(
        lambda: {"seconds": qp.warmup()},
        lambda asked, _: {
            "passages": [asdict(p) for p in passages(asked["family"], int(sys.argv[1]), asked["number"])]
        },
    )
