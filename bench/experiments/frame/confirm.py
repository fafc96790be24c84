"""Checks of pages: a sample of the kept runs is computed again by the current code and compared.

A page of the current code needs no run.  The result is written next to the runs, with the digest of the code that
computed it: the page states it, and the next check of this code reads it if all was equal.

Two processors round differently, and a sample on a boundary, a tie between parameters or a search with several minima
turns rounding into another count.  Runs made on another processor may therefore differ, and are reported; the page
holds if every part of its claim is decided as before when the new runs replace the kept ones.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...compare.measurement import hardware
from ...programs.sets import DataError
from . import conduct, digest
from .experiment import Experiment, Parameters, Result, key, perform

BUDGET = 30.0
"""Seconds of computation per page, estimated by the seconds that the runs took."""
FEW = 2
"""Number of runs that are computed again for each value of each parameter, if the budget allows."""
SEED = 20061
TOLERANCE = 1e-6
"""Relative difference of equal numbers; one test sample on the other side of a boundary changes a count by more."""
VERDICTS = "by which some part is decided otherwise", "by which every part is decided as before"


class Check(NamedTuple):
    """Result of a check: whether a page is confirmed, a sentence that says how, and whether runs were computed now."""

    name: str
    holds: bool
    words: str
    is_new: bool = False


def pages(folder: Path, name: str = "all") -> list[Path]:
    """Return the files of runs of one experiment, or of all; raise DataError if there are none."""
    paths = sorted(folder.glob(f"{'*' if name == 'all' else name}/{conduct.RUNS}"))
    if not paths:
        raise DataError(f"no results of experiments in {folder}; give their folder by --out")
    return paths


def check(experiment: Experiment, folder: Path, data: str | None = None, budget: float = BUDGET) -> Check:
    """Check the runs of a folder against the current code; write the result next to the runs, and return it.

    Runs are computed again up to `budget` seconds, by the seconds that they took.
    """
    head, runs = conduct.read(folder / conduct.RUNS)
    now, made = digest.code_of(experiment), f"of code {head['code']} ({head['date']})"
    if head["code"] == now:
        return Check(experiment.name, True, "of this code")
    before = conduct.confirmation(folder)
    if before.get("code") == now and not before["different"]:
        return Check(experiment.name, True, f"{made}; {in_words(before)}")
    chosen, left_out = sample(list(map(json.loads, runs)), [run["seconds"] for run in runs.values()], budget)
    try:
        if not chosen:
            raise DataError(f"each run took more than {budget:g} s; see --budget")
        anew = {key(one): perform(experiment, data, head["quick"], one) for one in chosen}
    except DataError as error:
        return Check(experiment.name, False, f"{made}; cannot be confirmed: {error}")
    moved = {one: words for one, result in anew.items() if (words := _moved(experiment, result, runs[one]))}
    made_on, here = head["machine"]["processor"], hardware()["processor"]
    found = {
        "code": now,
        "date": conduct.today(),
        "computed": len(chosen),
        "runs": len(runs),
        "left_out": left_out,
        "different": [f"{one}: {words}" for one, words in moved.items()],
    }
    holds = not moved
    if moved and made_on != here:
        holds = _decided(experiment, runs) == _decided(experiment, {**runs, **anew})
        found["processors"] = f"made on {made_on}, computed again on {here}, " + VERDICTS[holds]
    (folder / conduct.CONFIRMED).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return Check(experiment.name, holds, f"{made}; {in_words(found)}", is_new=True)


def in_words(found: dict[str, Any]) -> str:
    """Return the result of a check as words for the page."""
    without = f", none with {', '.join(found['left_out'])}" if found["left_out"] else ""
    runs = f"{found['computed']} of {found['runs']} runs computed again by code {found['code']} on {found['date']}"
    different = found["different"]
    words = f"different in {len(different)}: {'; '.join(different)}" if different else "equal"
    return f"{runs}{without}: {words}" + (f" ({found['processors']})" if "processors" in found else "")


def sample(runs: list[Parameters], seconds: list[float], budget: float) -> tuple[list[Parameters], list[str]]:
    """Return runs that cover each value of each parameter within the budget, and the values that none has.

    Examples
    --------
    >>> runs = [{"model": name, "seed": seed} for name in ("quick", "slow") for seed in range(5)]
    >>> chosen, left_out = sample(runs, [1.0] * 5 + [100.0] * 5, 30.0)
    >>> [run["model"] for run in chosen], left_out
    (['quick', 'quick', 'quick', 'quick', 'quick'], ['model slow'])
    """
    order = np.random.default_rng(SEED).permutation(len(runs))
    seen: Counter[str] = Counter()
    chosen: dict[int, Parameters] = {}
    for enough in (1, FEW, math.inf):
        for i in map(int, order):
            values = _values(runs[i])
            if i not in chosen and seconds[i] <= budget and any(seen[value] < enough for value in values):
                chosen[i], budget = runs[i], budget - seconds[i]
                seen.update(values)
    every = dict.fromkeys(value for run in runs for value in _values(run))
    return list(chosen.values()), [value for value in every if not seen[value]]


def _values(parameters: Parameters) -> list[str]:
    return [f"{name} {value}" for name, value in parameters.items() if name != "seed"] or ["all"]


def _moved(experiment: Experiment, found: Result, kept: Result) -> str:
    """Return the first number that differs between two results, with both values; an empty text if all are equal."""
    now, before = ({name: run[name] for name in run if name not in experiment.incidental} for run in (found, kept))
    return next(differences(now, before), "")


def _decided(experiment: Experiment, runs: dict[str, Result]) -> list[bool]:
    """Return for each part of the claim whether it holds by these runs."""
    return [part.holds for part in experiment.verdict([{**json.loads(one), **runs[one]} for one in runs]).parts]


def differences(found: Any, kept: Any, name: str = "") -> Iterator[str]:
    """Yield a sentence for each number of two results that differs by more than rounding.

    Examples
    --------
    >>> list(differences({"area": 0.5, "errors": [1, 2]}, {"area": 0.5 + 1e-9, "errors": [1, 3]}))
    ['errors 3 became 2']
    """
    if isinstance(found, dict) and isinstance(kept, dict):
        for one in (one for one in kept if one in found):
            yield from differences(found[one], kept[one], f"{name} {one}".strip())
        yield from (f"{name} {one} is not on both sides".strip() for one in sorted(kept.keys() ^ found.keys()))
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        for one, other in zip(found, kept):
            yield from differences(one, other, name)
    elif isinstance(found, (int, float)) and isinstance(kept, (int, float)):
        if not math.isclose(found, kept, rel_tol=TOLERANCE, abs_tol=1e-12):
            yield f"{name} {kept:.6g} became {found:.6g}"
    elif found != kept:
        yield f"{name} has another form"
