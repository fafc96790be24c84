"""A job done by centralpath and by another solver: the row of `compare kernels`, `linear`, `derivatives`, `warm`.

A fit or a gradient is no program of a set.  Each of these comparisons states its jobs and measures them as pairs; the
clock, the table, the summary and what counts as wrong are here, once.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import peers
from ..programs.sets import DataError, chosen
from .tables import markdown_heads, markdown_row, seconds

HEADER = markdown_heads("job | size | other | ours | its | ours/its | error | its error | note")
RUNS, LONG_ENOUGH = 10, 1.0  # limits of repeated timing: number of calls, seconds in total


@dataclass(frozen=True)
class Pair:
    """Times and errors of one job, by us and by a peer."""

    job: str
    size: str  # as "1000 x 20": samples and features, or variables and programs
    peer: str  # the other solver, and its settings after a comma; "" if none takes the job
    seconds: float
    peer_seconds: float
    # error, peer_error: as the comparison defines them; NaN where there is none
    error: float
    peer_error: float
    is_wrong: bool = False
    peer_is_wrong: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """Our time divided by the peer's."""
        return self.seconds / self.peer_seconds

    def line(self) -> str:
        """Return the row of the table in Markdown."""
        times = [seconds(self.seconds), seconds(self.peer_seconds)]
        ratio = "-" if math.isnan(self.ratio) else f"{self.ratio:.2f}"
        judged = (self.error, self.is_wrong), (self.peer_error, self.peer_is_wrong)
        errors = ("-" if math.isnan(error) else f"{error:.0e}{' WRONG' * wrong}" for error, wrong in judged)
        return markdown_row(self.job, self.size, self.peer or "-", *times, ratio, *errors, self.note)


@dataclass(frozen=True)
class Comparison:
    """The jobs of a comparison by name: each is a function that measures and returns its pairs."""

    jobs: Mapping[str, Callable[[], Iterable[Pair]]]
    noun: str = "data"  # what a name is a name of
    needs: str = ""  # the peer without which there is nothing to compare with

    def run(self, only: str | None = None) -> Iterator[Pair]:
        """Yield the pairs of the jobs whose names match `only` (see `sets.matches`)."""
        names = chosen(list(self.jobs), only, self.noun)
        if self.needs and not peers.is_installed(self.needs):
            raise DataError("the comparison needs scikit-learn, for its solvers and data: install the extra 'bench'")
        for name in names:
            yield from self.jobs[name]()


def shortest(call: Callable[[], Any], least: int = 1) -> tuple[float, Any]:
    """Return the shortest processor time of the calls that fit into a second, at least `least`, and the last result."""
    times: list[float] = []
    while len(times) < min(least, RUNS) or (len(times) < RUNS and sum(times) <= LONG_ENOUGH):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.process_time()
            result = call()
            times.append(time.process_time() - begin)
    return min(times), result


def summary(pairs: Sequence[Pair]) -> str:
    """Return a line for each peer: mean and largest of the ratios where it is right, and how many answers are wrong."""
    lines = []
    for peer in dict.fromkeys(pair.peer.split(",")[0] for pair in pairs):
        those = [pair for pair in pairs if pair.peer.split(",")[0] == peer]
        ratios = [pair.ratio for pair in those if not (pair.peer_is_wrong or math.isnan(pair.ratio))]
        mean = f", ours/its {np.exp(np.log(ratios).mean()):.2f}, at most {max(ratios):.2f}" if ratios else ""
        wrong = sum(pair.is_wrong for pair in those), sum(pair.peer_is_wrong for pair in those)
        lines.append(f"{peer or 'no other'}: {len(those)} jobs{mean}; wrong: {wrong[0]} of ours, {wrong[1]} of its")
    return "\n".join(lines) or "nothing was measured"
