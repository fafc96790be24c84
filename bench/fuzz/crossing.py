"""Campaigns through the doors: outcomes are counted by door, by change and by family, and failures are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..compare.process import Died, Late
from ..compare.tables import Table
from .campaign import Worker, in_turn, keep
from .same import DISAGREE, MISSED, OUTCOMES, THRESHOLD
from .through import Passage

CRASH = "crash"
FAILURES = (MISSED, DISAGREE, CRASH)
FATAL = (DISAGREE, CRASH)


@dataclass
class Crossing:
    """Results of a campaign: outcomes by door, change and family, and the largest distances from a threshold."""

    programs: int = 0
    doors: dict[str, Counter[str]] = field(default_factory=dict)
    changes: dict[str, Counter[str]] = field(default_factory=dict)
    families: dict[str, Counter[str]] = field(default_factory=dict)
    farthest: dict[str, float] = field(default_factory=dict)  # by the name of a door or change

    @property
    def failed(self) -> bool:
        """Whether any answers disagree, or any process crashed."""
        return any(counter[name] for counter in self.families.values() for name in FATAL)

    def add(self, family: str, passage: Passage) -> None:
        """Count a passage."""
        for kinds, name in ((self.doors, passage.door), (self.changes, passage.change), (self.families, family)):
            if name:
                kinds.setdefault(name, Counter())[passage.outcome] += 1
        if passage.outcome == THRESHOLD:
            for name in (passage.door, passage.change):
                self.farthest[name] = max(self.farthest.get(name, 0.0), passage.distance)

    def tables(self) -> list[Table]:
        """Return the tables by door, by change and by family."""
        header = ["passages", *OUTCOMES, CRASH, "farthest from a threshold"]
        note = f"{self.programs} programs; a distance is in multiples of what the documented test allows"
        kinds = {"door": self.doors, "change": self.changes, "family": self.families}
        return [
            Table(f"Answers by {what}", [what, *header], [self._row(*item) for item in counts.items()], note)
            for what, counts in kinds.items() if counts
        ]  # fmt: skip

    def _row(self, name: str, counter: Counter[str]) -> list[str]:
        cells = [str(counter[outcome]) if counter[outcome] else "." for outcome in (*OUTCOMES, CRASH)]
        far = self.farthest.get(name)
        return [name, str(counter.total()), *cells, f"{far:.1e}" if far else "."]


def run(
    families: Sequence[str],
    seed: int,
    folder: Path,
    seconds: float,
    programs: int | None = None,
    tell: Callable[[str], None] = print,
) -> Crossing:
    """Send the programs 0, 1, 2, ... of all families in turn through doors until `seconds` or `programs` are reached.

    Return the counts, also after Ctrl-C.
    """
    crossing, worker = Crossing(), Worker(seed, "bench.fuzz.through")
    try:
        for family, number in in_turn(families, seconds, programs):
            crossing.programs += 1
            try:
                found = [Passage(**passage) for passage in worker.ask(family, number)["passages"]]
            except (Late, Died) as error:
                found = [Passage("", "", CRASH, 0.0, str(error))]
            for passage in found:
                crossing.add(family, passage)
            report(family, seed, number, found, folder, tell)
    except KeyboardInterrupt:
        pass
    finally:
        worker.stop()
    return crossing


def report(
    family: str, seed: int, number: int, found: Sequence[Passage], folder: Path, tell: Callable[[str], None]
) -> None:
    """Print every failure among the passages of a program after the command that repeats it; keep the program."""
    failures = [passage for passage in found if passage.outcome in FAILURES]
    if failures:
        tell(f"python -m bench fuzz --doors --family {family} --seed {seed} --only {number}")
        for one in failures:
            way = ", ".join(name for name in (one.door, one.change) if name)
            tell(f"    {one.outcome.upper()}  {way}: {one.why}")
        path = keep(folder, family, seed, number)
        if path:
            tell(f"    kept in {path}")
