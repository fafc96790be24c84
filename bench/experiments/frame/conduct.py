"""All runs of an experiment: in parallel, kept as they end, and resumed after an interruption."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from socp.version import __version__

from ...compare.measurement import hardware
from ...programs.sets import DataError
from . import digest
from .experiment import Experiment, Parameters, Result, key, perform

RUNS, CONFIRMED = "runs.jsonl", "confirmed.json"
SAME = ("experiment", "quick", "code")
"""Entries of the head that are equal for all runs in one file."""


def conduct(
    experiment: Experiment,
    folder: Path,
    data: str | None = None,
    repeats: int | None = None,
    jobs: int = 1,
    dask: str | None = None,
    quick: bool = False,
    show: Callable[[int, int], None] = lambda done, of: None,
) -> list[Result]:
    """Perform the runs missing from ``folder/runs.jsonl``; return all results in the order of `Experiment.runs`.

    DataError is raised if the file has runs of another form, or of other code that no check has confirmed (`confirm`).
    Every run is written as soon as it ends; the file survives Ctrl-C, and an equal call resumes from it.  Runs go to
    `jobs` processes of this machine, or to the workers of the running scheduler at the address `dask`.
    ``show(done, of)`` is called with the number of runs done.
    """
    wanted = experiment.runs(repeats or experiment.repeats, quick)
    made = {"code": digest.code_of(experiment), "version": __version__, "date": today(), "machine": hardware()}
    head = {"experiment": experiment.name, "quick": quick, **made}
    path = folder / RUNS
    found, done = read(path)
    checked = confirmation(folder)
    is_confirmed = checked.get("code") == head["code"] and not checked["different"]
    if found and any(found[name] != head[name] for name in SAME if not (name == "code" and is_confirmed)):
        other = "another form of the experiment, or of other code"
        raise DataError(f"{path} holds runs of {other}; give another --out, or --fresh")
    todo = [parameters for parameters in wanted if key(parameters) not in done]
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        if file.tell() == 0:
            _write(file, head)
        show(len(wanted) - len(todo), len(wanted))
        with contextlib.closing(_performed(experiment, data, quick, todo, jobs, dask)) as results:
            for count, (parameters, result) in enumerate(results, len(wanted) - len(todo) + 1):
                _write(file, {"parameters": parameters, "result": result})
                done[key(parameters)] = result
                show(count, len(wanted))
    return [{**parameters, **done[key(parameters)]} for parameters in wanted]


def confirmation(folder: Path) -> dict[str, Any]:
    """Return the result that the last check wrote next to the runs, or an empty dict if there was no check."""
    path = folder / CONFIRMED
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def today() -> str:
    """Return today's date in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def kept(experiment: Experiment, folder: Path, repeats: int) -> tuple[dict[str, Any], list[Result]]:
    """Return the head of a folder's file of runs, with code, date and machine, and all results in the file.

    Runs beyond the wanted repeats, left by an interrupted call with more, come last if `experiment.apart`.
    """
    head, done = read(folder / RUNS)
    wanted = experiment.runs(repeats, head["quick"]) if head else []
    missing = sum(key(parameters) not in done for parameters in wanted)
    if not head or missing:
        raise DataError(f"{folder / RUNS} has not all runs of {experiment.name}: {missing or 'all'} are missing")
    every = dict.fromkeys([*map(key, wanted), *(done if experiment.apart else ())])
    return head, [{**json.loads(one), **done[one]} for one in every]


def _performed(
    experiment: Experiment, data: str | None, quick: bool, todo: list[Parameters], jobs: int, dask: str | None
) -> Generator[tuple[Parameters, Result], None, None]:
    """Yield (parameters, result) of the runs in the order in which they end."""
    if jobs == 1 and dask is None:
        for parameters in todo:
            yield parameters, perform(experiment, data, quick, parameters)
        return
    import joblib

    with _backend(dask):
        parallel = joblib.Parallel(n_jobs=-1 if dask else jobs, return_as="generator_unordered")
        yield from parallel(joblib.delayed(_pair)(experiment, data, quick, parameters) for parameters in todo)


def _pair(*asked: Any) -> tuple[Parameters, Result]:
    return asked[-1], perform(*asked)


@contextlib.contextmanager
def _backend(dask: str | None) -> Iterator[None]:
    """Use the workers of a dask scheduler within the context, or this machine's processes if `dask` is None."""
    import joblib

    if dask is None:
        yield
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise DataError("--dask needs the package distributed: pip install 'dask[distributed]'") from error
    with Client(dask) as client, joblib.parallel_config(backend="dask", client=client):
        yield


def read(path: Path) -> tuple[dict[str, Any], dict[str, Result]]:
    """Return the head and the results of a file of runs; an incomplete last line is dropped."""
    if not path.is_file():
        return {}, {}
    whole, _, rest = path.read_text(encoding="utf-8").rpartition("\n")
    if not whole:
        path.unlink()
        return {}, {}
    if rest:
        beside = path.with_suffix(".part")
        beside.write_text(whole + "\n", encoding="utf-8")
        os.replace(beside, path)
    head, *records = map(json.loads, whole.split("\n"))
    return head, {key(record["parameters"]): record["result"] for record in records}


def _write(file: Any, document: dict[str, Any]) -> None:
    file.write(json.dumps(document, allow_nan=False) + "\n")
    file.flush()
