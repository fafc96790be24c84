"""Campaigns of trials: all families in turn; verdicts are counted and failed programs saved as files."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from socp.problem.report import write_report
from socp.problem.settings import Settings

from ..compare.process import Died, Late, Process
from ..compare.tables import Table
from . import catalogue
from .judge import CRASH, EXCUSE, FAILURES, FATAL, MISSED, VERDICTS, Truth, Verdict

PATIENCE = 120.0
"""Seconds after which a trial counts as a crash."""
READY = 600.0
"""Seconds within which a process must start, including the compilation of kernels."""


@dataclass(frozen=True)
class Failure:
    """A program that failed, the reason, and the file in which it is saved, if any."""

    family: str
    seed: int
    number: int
    verdict: Verdict
    path: Path | None

    def text(self) -> str:
        """Return a few lines about the failure; the first one is the command that repeats it."""
        again = f"python -m bench fuzz --family {self.family} --seed {self.seed} --only {self.number}"
        kept = [f"    kept in {self.path}"] if self.path else []
        return "\n".join([f"{self.verdict.name.upper()}  {again}", f"    {self.verdict.why}", *kept])


@dataclass
class Campaign:
    """Results of a campaign: verdicts and exact residuals by family, number of expected answers, and failures."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    truths: dict[str, list[Truth]] = field(default_factory=dict)
    expected: int = 0
    failures: list[Failure] = field(default_factory=list)

    @property
    def programs(self) -> int:
        """Number of programs that were tried."""
        return sum(counter.total() for counter in self.counts.values())

    @property
    def failed(self) -> bool:
        """Whether any answer was wrong, any trial raised an exception, or any crashed."""
        return any(counter[verdict] for counter in self.counts.values() for verdict in FATAL)

    def table(self) -> Table:
        """Return a table of the verdicts by family and in total."""
        total: Counter[str] = sum(self.counts.values(), Counter())
        rows = [[family, str(c.total()), *_cells(c)] for family, c in [*self.counts.items(), ("all", total)]]
        note = f"{total[MISSED]} missed of {self.expected} in which an answer is planted and within reach"
        return Table("Verdicts by family", ["family", "programs", *VERDICTS], rows, note)

    def exact_table(self) -> Table:
        """Return a table of the worst exact residuals and the lowest ratio of reported to exact ones, by family."""
        everything = [truth for truths in self.truths.values() for truth in truths]
        rows = [_exact_row(family, found) for family, found in [*self.truths.items(), ("all", everything)] if found]
        header = ["family", "answers", "worst residual / tol", "lowest told / true", "excused by rounding"]
        note = f"programs of which an answer is excused tell so in their message ({EXCUSE!r})"
        return Table("Answers in exact arithmetic", header, rows, note if any(t.excused for t in everything) else "")


def _cells(counter: Counter[str]) -> list[str]:
    return [str(counter[verdict]) if counter[verdict] else "." for verdict in VERDICTS]


def _exact_row(family: str, found: list[Truth]) -> list[str]:
    held, excused = [t.over_tol for t in found if not t.excused], sum(t.excused for t in found)
    lowest = min(t.told for t in found)
    shown = [f"{max(held):.3g}" if held else "-", f"{lowest:.3g}" if math.isfinite(lowest) else "-"]
    return [family, str(len(found)), *shown, str(excused) if excused else "."]


def run(
    families: Sequence[str],
    seed: int,
    folder: Path,
    seconds: float,
    programs: int | None = None,
    on_failure: Callable[[Failure], None] = lambda failure: None,
) -> Campaign:
    """Try the programs 0, 1, 2, ... of all families in turn until `seconds` or `programs` are reached.

    Return the campaign, also after Ctrl-C.
    """
    campaign = Campaign({family: Counter() for family in families}, {family: [] for family in families})
    worker = Worker(seed)
    try:
        for family, number in in_turn(families, seconds, programs):
            verdict = worker.trial(family, number)
            campaign.counts[family][verdict.name] += 1
            campaign.expected += verdict.expected
            if verdict.truth is not None:
                campaign.truths[family].append(verdict.truth)
            if verdict.name in FAILURES:
                failure = Failure(family, seed, number, verdict, keep(folder, family, seed, number))
                campaign.failures.append(failure)
                on_failure(failure)
    except KeyboardInterrupt:
        pass
    finally:
        worker.stop()
    return campaign


def in_turn(families: Sequence[str], seconds: float, programs: int | None) -> Iterator[tuple[str, int]]:
    """Yield the programs 0, 1, 2, ... of all families in turn until `seconds` or `programs` are reached."""
    until = time.monotonic() + seconds
    for turn in islice(((family, number) for number in count() for family in families), programs):
        if time.monotonic() >= until:
            break
        yield turn


def keep(folder: Path, family: str, seed: int, number: int) -> Path | None:
    """Write the program to a file that ``bench solve`` reads; return its path, or None if it cannot be generated."""
    try:
        case = catalogue.case(family, seed, number)
    except Exception:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{family}_{seed}_{number}.json"
    write_report(path, case.program, Settings(**case.settings).without_functions)
    return path


class Worker:
    """Process of a module that tries programs, restarted after a crash or a timeout."""

    def __init__(self, seed: int, module: str = "bench.fuzz.trial") -> None:
        self.seed, self.module = seed, module
        self._process: Process | None = None

    def trial(self, family: str, number: int) -> Verdict:
        """Try program `number` of a family in the process; return the verdict."""
        try:
            reply = self.ask(family, number)
        except (Late, Died) as error:
            return Verdict(CRASH, str(error))
        found = reply.pop("truth")
        if found:
            found |= {name: tuple(found[name]) for name in ("residuals", "faults")}
        return Verdict(**reply, truth=found and Truth(**found))

    def ask(self, family: str, number: int) -> dict[str, Any]:
        """Return the reply of the process about program `number` of a family.

        Raises
        ------
        Died, Late
            The process crashed, or did not reply in time; the message says which.
        """
        if self._process is None:
            environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
            self._process = Process(self.module, str(self.seed), environment=environment)
            self._process.reply(READY)
        self._process.ask({"family": family, "number": number})
        try:
            return self._process.reply(PATIENCE)
        except Late:
            self.stop()
            raise Late(f"no answer within {PATIENCE:g} s") from None
        except Died:
            self.stop()
            raise

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
        self._process = None
