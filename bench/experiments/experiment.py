"""What an experiment of a paper is: many independent runs, each with its seed, and what is made of their results."""

from __future__ import annotations

import abc
import functools
import json
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from socp.compiled.threads import blas_threads

from ..compare.tables import Table

Parameters = dict[str, Any]
Result = dict[str, Any]
Verdict = tuple[Literal["confirmed", "in part", "not"], str]
"""Whether the measurements bear out the claim, and why, or why not."""


@dataclass(frozen=True)
class Protocol:
    """How the paper measured, how it is measured here, and in what the two differ."""

    paper: str
    ours: str
    differences: str


class Experiment(abc.ABC):
    """One experiment of a paper.

    A run is a function of its parameters, of which one is ``seed``, and of the data: it gives the same numbers in
    whatever process, order or place it runs.

    Attributes
    ----------
    name, title : str
        As on the command line, and as on its page.
    source : str
        The paper and the figure or table.
    claim : str
        What the paper says.
    protocol : Protocol
    repeats : int
        How often each set-up is run, as in the paper.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    claim: ClassVar[str]
    protocol: ClassVar[Protocol]
    repeats: ClassVar[int]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:  # a worker gets a copy with every run, and knows it again
        return hash(type(self))

    @abc.abstractmethod
    def runs(self, repeats: int, quick: bool) -> list[Parameters]:
        """The parameters of all runs, which JSON can hold; with `quick` so few that all take less than a minute."""

    @abc.abstractmethod
    def prepare(self, data: str | None, quick: bool) -> Any:
        """What all runs share, such as vectorized texts; made once a process, from the data folder."""

    @abc.abstractmethod
    def run(self, prepared: Any, parameters: Parameters) -> Result:
        """The numbers of one run, which JSON can hold."""

    @abc.abstractmethod
    def tables(self, runs: list[Result]) -> list[Table]:
        """The tables; each run has its parameters and its numbers under their names."""

    @abc.abstractmethod
    def figure(self, runs: list[Result]) -> Any:
        """The figure with the paper's axes, a `matplotlib.figure.Figure`."""

    @abc.abstractmethod
    def finding(self, runs: list[Result]) -> str:
        """What was measured, in the words of the claim, computed from the runs."""

    @abc.abstractmethod
    def verdict(self, runs: list[Result]) -> Verdict:
        """Whether the runs bear out the claim, and the reason."""


def verdict_of(holds: dict[str, bool], reason: str) -> Verdict:
    """The verdict on a claim of several parts, each of which holds or does not, with what was found about the rest.

    Examples
    --------
    >>> verdict_of({"A is above B": True, "always": False}, "The samples are smaller.")
    ('in part', 'Holds: A is above B. Does not hold: always. The samples are smaller.')
    >>> verdict_of({"A is above B": True}, "")
    ('confirmed', 'Holds: A is above B.')
    """
    good, bad = ([part for part, held in holds.items() if held == which] for which in (True, False))
    words = [f"{head}: {'; '.join(parts)}." for head, parts in (("Holds", good), ("Does not hold", bad)) if parts]
    kind: Literal["confirmed", "in part", "not"] = "in part" if good and bad else "confirmed" if good else "not"
    return kind, " ".join([*words, *([reason] if reason and bad else [])])


def key(parameters: Parameters) -> str:
    """The parameters as one text, the same for the same parameters."""
    return json.dumps(parameters, sort_keys=True)


def perform(experiment: Experiment, data: str | None, quick: bool, parameters: Parameters) -> Result:
    """One run on one thread: its numbers, and the seconds that it took."""
    prepared = _prepared(experiment, data, quick)
    started = time.perf_counter()
    with blas_threads(1):
        found = experiment.run(prepared, parameters)
    return {**found, "seconds": round(time.perf_counter() - started, 4)}


@functools.lru_cache(maxsize=1)
def _prepared(experiment: Experiment, data: str | None, quick: bool) -> Any:
    return experiment.prepare(data, quick)
