"""Interface of the papers' experiments: many independent seeded runs, and tables, figure and verdict made of them."""

from __future__ import annotations

import abc
import functools
import json
import operator
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from socp.compiled.threads import blas_threads

from ...compare.tables import Table

Parameters = dict[str, Any]
Result = dict[str, Any]
RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


class Part(NamedTuple):
    """Part of a claim: a number computed from the runs, and a bound that follows from the claim's words.

    The number is taken over all sizes and settings on the page; an example is the least gain.

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
        """Whether the number satisfies the bound; NaN satisfies none."""
        return bool(RELATIONS[self.relation](self.value, self.bound))

    def __str__(self) -> str:
        """Return the words, the number and the bound."""
        return f"{self.words} ({self.value:.3g} {self.relation} {self.bound:g})"


class Verdict(NamedTuple):
    """Verdict on a claim: whether the measurements confirm it, the reason, and the parts that decide it."""

    kind: Literal["confirmed", "in part", "not"]
    reason: str
    parts: tuple[Part, ...] = ()


class Trial(NamedTuple):
    """Attempt to overturn a verdict: what was tried, and what came of it."""

    tried: str
    outcome: str


@dataclass(frozen=True)
class Protocol:
    """Protocol of the paper, protocol used here, and their differences."""

    paper: str
    ours: str
    differences: str


class Experiment(abc.ABC):
    """Interface of one experiment of a paper.

    A run is a function of its parameters, one of which is ``seed``, and of the data: its numbers do not depend on the
    process, the order or the machine.
    """

    # name on the command line, and title of the page
    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]  # paper, and figure or table
    claim: ClassVar[str]  # claim of the paper, in words
    protocol: ClassVar[Protocol]
    repeats: ClassVar[int]  # number of runs per set-up, as in the paper
    few: ClassVar[int] = 2  # largest number of runs per set-up in the short form
    # numbers of a run that are no findings and may differ when it is computed again
    incidental: ClassVar[frozenset[str]] = frozenset({"seconds"})
    # True if machines are compared only within a run: a page then has all kept runs, whatever their number per set-up
    apart: ClassVar[bool] = False
    # names of the numbers that the claim compares; without names it compares set-ups
    rivals: ClassVar[tuple[str, ...]] = ()
    # former verdict, and what decided the present one
    before: ClassVar[tuple[str, str]] = ("", "")

    def runs(self, repeats: int, quick: bool) -> list[Parameters]:
        """Return the parameters of all runs: each set-up with its seeds."""
        repeats = min(repeats, self.few) if quick else repeats
        return [{**setup, "seed": seed} for setup in self.setups(quick) for seed in self.seeds(setup, repeats)]

    def setups(self, quick: bool) -> list[Parameters]:
        """Return the set-ups, which JSON can hold; with `quick` so few that all runs take less than a minute."""
        raise NotImplementedError

    def seeds(self, setup: Parameters, repeats: int) -> range:
        """Return the seeds of a set-up."""
        return range(repeats)

    @abc.abstractmethod
    def prepare(self, data: str | None, quick: bool) -> Any:
        """Return the data that all runs share, such as vectorized texts; called once per process."""

    @abc.abstractmethod
    def run(self, prepared: Any, parameters: Parameters) -> Result:
        """Return the numbers of one run, which JSON can hold."""

    @abc.abstractmethod
    def tables(self, runs: list[Result]) -> list[Table]:
        """Return the tables; each of `runs` holds its parameters and its numbers by their names."""

    @abc.abstractmethod
    def figure(self, runs: list[Result]) -> Any:
        """Return the figure with the paper's axes, a `matplotlib.figure.Figure`."""

    @abc.abstractmethod
    def verdict(self, runs: list[Result]) -> Verdict:
        """Return whether the runs confirm the claim, judged by the claim's own words, and the reason."""

    def trials(self, runs: list[Result]) -> list[Trial]:
        """Return what this page tried against its verdict beyond `opponent.trials`."""
        return []


def verdict_of(parts: list[Part], reason: str = "") -> Verdict:
    """Return the verdict that follows from the parts of a claim, with `reason` if some of them do not hold.

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
    """Return the parameters as one text, equal for equal parameters."""
    return json.dumps(parameters, sort_keys=True)


def perform(experiment: Experiment, data: str | None, quick: bool, parameters: Parameters) -> Result:
    """Perform one run on one thread; return its numbers, and the seconds that it took."""
    prepared = _prepared(type(experiment), data, quick)
    started = time.perf_counter()
    with blas_threads(1):
        found = experiment.run(prepared, parameters)
    return {**found, "seconds": round(time.perf_counter() - started, 4)}


@functools.lru_cache(maxsize=1)
def _prepared(kind: type[Experiment], data: str | None, quick: bool) -> Any:
    return kind().prepare(data, quick)  # cached by class, as each run brings a worker a new copy
