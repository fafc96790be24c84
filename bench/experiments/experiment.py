"""What an experiment of a paper is: many independent runs, each with its seed, and what is made of their results."""

from __future__ import annotations

import abc
import functools
import json
import operator
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from socp.compiled.threads import blas_threads

from ..compare.tables import Table

Parameters = dict[str, Any]
Result = dict[str, Any]
RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


class Part(NamedTuple):
    """A part of a claim: a number of the runs, beside a bound that follows from the claim's words.

    The number is taken over all sizes and settings that the page shows, such as the least gain of all.

    Examples
    --------
    >>> part = Part("A is above B at every size: least gain", -0.02, ">=", 0.0)
    >>> print(part, "|", part.holds)
    A is above B at every size: least gain (-0.02 >= 0) | False
    """

    words: str
    value: float
    relation: Literal["<", "<=", ">", ">=", "=="]
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the number is on its side of the bound; NaN is on none."""
        return bool(RELATIONS[self.relation](self.value, self.bound))

    def __str__(self) -> str:
        """The words, the number and the bound."""
        return f"{self.words} ({self.value:.3g} {self.relation} {self.bound:g})"


class Verdict(NamedTuple):
    """Whether the measurements bear out the claim, why or why not, and the parts that decide it."""

    kind: Literal["confirmed", "in part", "not"]
    reason: str
    parts: tuple[Part, ...] = ()


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
    """

    # as on the command line, and as on its page
    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]  # the paper and the figure or table
    claim: ClassVar[str]  # what the paper says
    protocol: ClassVar[Protocol]
    repeats: ClassVar[int]  # how often each set-up is run, as in the paper
    few: ClassVar[int] = 2  # how often at most in the short form
    # numbers that say how a run went and not what it found; they may differ when it is computed again
    incidental: ClassVar[frozenset[str]] = frozenset({"seconds"})
    # whether machines are compared within a run only: a page then has all runs that are kept, however many a set-up
    apart: ClassVar[bool] = False

    def runs(self, repeats: int, quick: bool) -> list[Parameters]:
        """The parameters of all runs: each set-up with its seeds."""
        repeats = min(repeats, self.few) if quick else repeats
        return [{**setup, "seed": seed} for setup in self.setups(quick) for seed in self.seeds(setup, repeats)]

    def setups(self, quick: bool) -> list[Parameters]:
        """The set-ups, which JSON can hold; with `quick` so few that all runs take less than a minute."""
        raise NotImplementedError

    def seeds(self, setup: Parameters, repeats: int) -> range:
        """The seeds of a set-up."""
        return range(repeats)

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
    def verdict(self, runs: list[Result]) -> Verdict:
        """Whether the runs bear out the claim, by what the claim's own words say, and the reason."""


def verdict_of(parts: list[Part], reason: str = "") -> Verdict:
    """Return the verdict that follows from the parts of a claim, with what was found about those that do not hold.

    Examples
    --------
    >>> parts = [Part("A is above B: least gain", 0.1, ">", 0.0), Part("so at every size: share", 0.5, "==", 1.0)]
    >>> print(*verdict_of(parts, "The samples are smaller.")[:2], sep="; ")
    in part; Holds: A is above B: least gain (0.1 > 0). Does not hold: so at every size: share (0.5 == 1). The samples \
are smaller.
    >>> verdict_of(parts[:1]).kind
    'confirmed'
    """
    good, bad = ([str(part) for part in parts if part.holds == which] for which in (True, False))
    words = [f"{head}: {'; '.join(some)}." for head, some in (("Holds", good), ("Does not hold", bad)) if some]
    kind: Literal["confirmed", "in part", "not"] = "in part" if good and bad else "confirmed" if good else "not"
    return Verdict(kind, " ".join([*words, *([reason] if reason and bad else [])]), tuple(parts))


def key(parameters: Parameters) -> str:
    """The parameters as one text, the same for the same parameters."""
    return json.dumps(parameters, sort_keys=True)


def perform(experiment: Experiment, data: str | None, quick: bool, parameters: Parameters) -> Result:
    """One run on one thread: its numbers, and the seconds that it took."""
    prepared = _prepared(type(experiment), data, quick)
    started = time.perf_counter()
    with blas_threads(1):
        found = experiment.run(prepared, parameters)
    return {**found, "seconds": round(time.perf_counter() - started, 4)}


@functools.lru_cache(maxsize=1)
def _prepared(kind: type[Experiment], data: str | None, quick: bool) -> Any:
    return kind().prepare(data, quick)  # a worker gets a copy of the experiment with every run
