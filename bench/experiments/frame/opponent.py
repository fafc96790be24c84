"""What an opponent tries against a verdict: other draws, units left out, rivals exchanged; all from the kept runs.

A verdict names the numbers that would overturn it.  Each trial changes the runs and decides every part of the claim
again.  Exchanged rivals are the trial of the parts themselves: one that holds whatever the methods are called is empty.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .experiment import Experiment, Part, Result, Trial

EXCHANGES = 10
SEED = 20063


def trials(experiment: Experiment, runs: list[Result]) -> list[Trial]:
    """Return what was tried against the verdict on these runs: on every page alike, then what the page itself tries."""
    parts = experiment.verdict(runs).parts
    found = [other_draws(experiment, runs, parts), units_left_out(experiment, runs, parts)]
    return [one for one in (*found, exchanged(experiment, runs, parts), *experiment.trials(runs)) if one]


def other_draws(experiment: Experiment, runs: list[Result], parts: Iterable[Part]) -> Trial | None:
    """Return the trial that judges the draws of even and of odd seeds by themselves; None with one draw."""
    halves = {name: [run for run in runs if run["seed"] % 2 == k] for k, name in enumerate(("even", "odd"))}
    if not all(halves.values()):
        return None
    turned = [f"{words} ({name})" for name, own in halves.items() for words in otherwise(experiment, own, parts)]
    return Trial("other draws: the verdict from even seeds alone, and from odd seeds alone", told(turned))


def units_left_out(experiment: Experiment, runs: list[Result], parts: Iterable[Part]) -> Trial | None:
    """Return the trial that leaves out each value of each parameter of the set-ups in turn; None with one set-up."""
    turned, count = [], 0
    for name in names_of(experiment):
        values = dict.fromkeys(json.dumps(run[name]) for run in runs if name in run)
        for value in values if len(values) > 1 else ():
            count += 1
            rest = [run for run in runs if name not in run or json.dumps(run[name]) != value]
            without = f"without {name} {value}".replace('"', "")
            turned += [f"{words} ({without})" for words in otherwise(experiment, rest, parts)]
    return Trial(f"each of {count} units (values of the set-ups) left out in turn", told(turned)) if count else None


def exchanged(experiment: Experiment, runs: list[Result], parts: Iterable[Part]) -> Trial:
    """Return the trial that exchanges the rivals' numbers in every run; a part that always holds then is empty."""
    rng, decided = np.random.default_rng(SEED), list[dict[str, Part]]()
    for _ in range(EXCHANGES):
        decided.append({part.words: part for part in judged(experiment, list(_exchanged(experiment, runs, rng)))})
    holding = [part.words for part in parts if part.holds]
    empty = [words for words in holding if all(words in one and one[words].holds for one in decided)]
    tried = ", ".join(experiment.rivals) if experiment.rivals else "the set-ups"
    outcome = f"{len(empty)} of the {len(holding)} parts that hold would always hold"
    outcome += ", as parts that claim no difference or say nothing of the rivals do" if empty else ""
    return Trial(
        f"spoiled runs: {EXCHANGES} times the numbers of {tried} exchanged at random in every run",
        f"{outcome}: {'; '.join(empty)}" if empty else outcome,
    )


def otherwise(experiment: Experiment, runs: list[Result], parts: Iterable[Part]) -> list[str]:
    """Return the words of the parts that other runs decide otherwise; parts they say nothing of are left out."""
    before = {part.words: part.holds for part in parts}
    return [one.words for one in judged(experiment, runs) if before.get(one.words, one.holds) != one.holds]


def judged(experiment: Experiment, runs: list[Result]) -> list[Part]:
    """Return the parts that these runs decide: none where a set-up is missing that the claim is about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return [part for part in experiment.verdict(runs).parts if not np.isnan(part.value)]
        except (LookupError, ValueError, ZeroDivisionError):
            return []


def names_of(experiment: Experiment) -> list[str]:
    """Return the names of the parameters of the set-ups."""
    return list(dict.fromkeys(name for setup in experiment.runs(1, False) for name in setup if name != "seed"))


def told(turned: list[str]) -> str:
    """Return the outcome of a trial in words."""
    return f"decided otherwise: {'; '.join(turned)}" if turned else "every part is decided as before"


def _exchanged(experiment: Experiment, runs: list[Result], rng: np.random.Generator) -> Iterator[Result]:
    """Yield the runs with the rivals' numbers permuted in each, or else whole results permuted between the set-ups."""
    if experiment.rivals:
        yield from (_renamed(run, experiment.rivals, rng) for run in runs)
        return
    names = {*names_of(experiment), "seed"}
    groups: dict[Any, list[int]] = {}
    for k, run in enumerate(runs):
        groups.setdefault((run["seed"], *sorted(run.keys() - names)), []).append(k)
    source = {k: int(other) for own in groups.values() for k, other in zip(own, rng.permutation(own))}
    for k, run in enumerate(runs):
        yield {name: (run if name in names else runs[source[k]])[name] for name in run}


def _renamed(value: Any, rivals: tuple[str, ...], rng: np.random.Generator) -> Any:
    if not isinstance(value, dict):
        return value
    there = [name for name in rivals if name in value]
    order = dict(zip(there, (there[k] for k in rng.permutation(len(there)))))
    if len(there) == 1 and isinstance(listed := value[there[0]], list):  # rivals in one list
        value = {**value, there[0]: [listed[k] for k in rng.permutation(len(listed))]}
    return {name: value[order[name]] if name in order else _renamed(one, rivals, rng) for name, one in value.items()}
