"""What an experiment of a paper is: many independent runs, each with its seed, and what is made of their results."""

from __future__ import annotations

import abc
import functools
import json
import time
from typing import Any, ClassVar

from socp.compiled.threads import blas_threads

from ..compare.tables import Table

Parameters = dict[str, Any]
Result = dict[str, Any]


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
    repeats : int
        How often each set-up is run, as in the paper.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    claim: ClassVar[str]
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


def key(parameters: Parameters) -> str:
    """The parameters as one text, the same for the same parameters."""
    return json.dumps(parameters, sort_keys=True)


def perform(experiment: Experiment, data: str | None, quick: bool, parameters: Parameters) -> Result:
    """One run on one thread: its parameters, its numbers, and the seconds that it took."""
    prepared = _prepared(experiment, data, quick)
    started = time.perf_counter()
    with blas_threads(1):
        found = experiment.run(prepared, parameters)
    return {**parameters, **found, "seconds": time.perf_counter() - started}


@functools.lru_cache(maxsize=1)
def _prepared(experiment: Experiment, data: str | None, quick: bool) -> Any:
    return experiment.prepare(data, quick)
