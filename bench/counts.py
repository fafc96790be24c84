"""Counts as results: status, iterations, refinements and plan of some 240 programs, kept in a file and compared.

Times drift with the machine, counts do not: a count that moves is reported with the program's name, before and after.
`python -m bench counts` compares with the file, with ``--update`` brings it up to date.
"""

from __future__ import annotations

import csv
import functools
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import socp

from .answers.program import engine_of, linear_name
from .fuzz import catalogue as families
from .fuzz.case import Case
from .programs import generate, learning, many, sets, small, tiny

KEPT = Path(__file__).with_name("counts.tsv")
SECONDS = 0.2  # programs of sets that take longer are not kept
SIZES = {"generated": (20, 60), "learning": (50, 150), "small": (30, 100), "tiny": (10,)}
CLASSES = {
    "generated": generate.CLASSES, "learning": learning.CLASSES, "small": small.FUNCTIONS, "tiny": tiny.CLASSES,
}  # fmt: skip
NUMBERS = 2  # number of programs per family of random programs
BY_ROUNDING = ("inconsistent", "neither", "nearly_infeasible", "pinched", "weakly")
"""Families whose results depend on rounding, which differs between processors."""
BATCH = 64  # number of programs per batch


class Counts(NamedTuple):
    """Counts of a solve; `alone` is the number of programs of a batch that were solved again outside it."""

    # status; plan is the plan in words, without numbers
    status: str
    # iterations of all runs; refinements of the last run
    iterations: int
    refinements: int
    fallbacks: int  # 1 if the first run failed and others followed, else 0
    alone: int
    plan: str

    def differs(self, other: Counts) -> bool:
        """Return True if a count differs by more than rounding on another processor can explain."""
        return (
            (self.status, self.plan) != (other.status, other.plan)
            or self.fallbacks != other.fallbacks
            or abs(self.alone - other.alone) > 0.02 * BATCH
            or abs(self.iterations - other.iterations) > 2 + 0.1 * self.iterations
            or abs(self.refinements - other.refinements) > 6 + 0.4 * self.refinements
        )


def of_solution(solution: Any) -> Counts:
    """Return the counts of one solution."""
    steps = solution.iterations - max(solution.trace.size - 1, 0)
    later = solution.plan.method == "interior point" and steps > 0
    plan = f"{solution.plan.method}: {' '.join(re.sub(r'[0-9][0-9,.]*', '', solution.plan.what).split())}"
    refinements = int(solution.trace["refinements"].sum())
    return Counts(solution.status.value, solution.iterations, refinements, int(later), 0, plan)


def solve(program: Any, **settings: Any) -> Counts:
    """Solve a cone or quadratic program and return its counts."""
    try:
        return of_solution(engine_of(program).solve(program, **settings))
    except socp.ProgramError:
        return Counts("refused", 0, 0, 0, 0, "")


def of_batch(program: Any) -> Counts:
    """Solve a batch of programs that differ in their linear objective; return the counts over all of them."""
    name = linear_name(program)
    objectives = many.drawn(getattr(program, name))[0][:BATCH]
    found = engine_of(program).Solver(program).solve_many(**{name: objectives})
    optimal = sum(status == "optimal" for status in found.status)
    return Counts(f"{optimal} optimal", int(found.iterations.sum()), 0, 0, len(found.alone), "batch")


def generated() -> Iterator[tuple[str, Callable[[], Counts]]]:
    """Yield the name of every program that needs no data, and a function that returns its counts."""
    for group, classes in CLASSES.items():
        for size in SIZES[group]:
            for name, made in classes.items():
                yield f"{group}/{name}_{size}", functools.partial(lambda made, size: solve(made(size, 0)), made, size)
    for name, made in many.CLASSES.items():
        yield f"many/{name}_10", functools.partial(lambda made: of_batch(made(10, 0)), made)
    for family in families.names():
        if family.endswith(BY_ROUNDING):
            continue
        for number in range(NUMBERS):
            case = families.case(family, 0, number)
            if isinstance(case, Case) and case.before is None and "verbose" not in case.settings:
                yield f"fuzz/{family}_{number}", functools.partial(solve, case.program, **case.settings)


def of_sets(names: set[str] | None, data: str | None = None) -> Iterator[tuple[str, Callable[[], Counts]]]:
    """Yield name and counting function of every program of the available sets, or only of `names`."""
    for group in sets.SETS:
        try:
            files = sets.files(group, data)
        except sets.DataError:
            continue
        for path in files:
            name = f"{group}/{sets.stem(path)}"
            if names is None or name in names:
                yield name, functools.partial(lambda path: solve(sets.read(path), time_limit=30.0), path)


def kept() -> dict[str, Counts]:
    """Return the counts in the file `KEPT` by program name."""
    if not KEPT.exists():
        raise sets.DataError(
            f"{KEPT} is not there: the counts to compare with are in a checkout and in the source distribution, not in "
            "a wheel; there, `python -m bench counts` compares, and --update writes the file"
        )
    with KEPT.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        return {
            name: Counts(status, int(iterations), int(refinements), int(later), int(alone), plan)
            for name, status, iterations, refinements, later, alone, plan in rows
        }


def keep(found: dict[str, Counts]) -> None:
    """Write the counts `found` to the file `KEPT`."""
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(("name", *Counts._fields))
        rows.writerows((name, *counts) for name, counts in found.items())


def update(data: str | None = None) -> list[str]:
    """Count all programs (of the sets, known ones and those within `SECONDS`), write the file, return changed lines."""
    before, found = kept() if KEPT.exists() else {}, {}
    for name, count in [*generated(), *of_sets(None, data)]:
        start = time.perf_counter()
        counts = count()
        of_set = name.split("/")[0] in sets.SETS
        if not of_set or name in before or time.perf_counter() - start <= SECONDS:
            found[name] = counts
    keep(found)
    return moved(found, before)


def moved(found: dict[str, Counts], before: dict[str, Counts]) -> list[str]:
    """Return a line for each program whose counts `found` differ from the counts `before`."""
    return [
        f"{name}: {tuple(before[name]) if name in before else 'not kept'} -> {tuple(counts)}"
        for name, counts in found.items()
        if name not in before or before[name].differs(counts)
    ]
