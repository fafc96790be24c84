"""Every solver on every program of a set, each solver in a process of its own that can be killed.

A solver's process is kept from program to program, so that nothing is loaded or compiled while the clock runs, and is
restarted after it crashed, was killed, or grew beyond a gigabyte.  The order is program by program, so that the
solvers run on a program within a short time.  Every measurement is saved at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .. import peers
from ..programs.catalogue import Case
from ..programs.sets import DataError
from .measurement import OURS, Measurement, Record, without_paths
from .process import Died, Late, Process

START_SECONDS = 600.0
"""Seconds within which a process must start, including the compilation of our kernels."""
LOAD_SECONDS = 300.0
"""Seconds within which a program must be read or generated."""
LARGE_MEGABYTES = 1024.0

LIBRARIES = "OPENBLAS", "OMP", "MKL", "BLIS", "NUMBA", "RAYON", "VECLIB_MAXIMUM"
THREAD_VARIABLES = tuple(f"{name}_NUM_THREADS" for name in LIBRARIES)


@dataclass(frozen=True)
class Limits:
    """Limits of every solver: its tolerance, the seconds after which a run is a failure, and its threads.

    A solver that has no time limit, or does not keep it, is killed `grace` seconds after the limit.  The grace also
    covers the translation of the program, which is not timed.
    """

    tol: float = 1e-8
    seconds: float = 60.0
    threads: int = 1

    @property
    def grace(self) -> float:
        """Seconds after the limit until a process is killed."""
        return 2.0 + 0.2 * self.seconds


class WorkerNotStarted(Exception):
    """The solver's process ended or timed out before its first answer."""


class WorkerDied(Exception):
    """The solver's process ended by itself; the message says how."""


class Worker:
    """The process of one solver."""

    def __init__(self, solver: str, threads: int) -> None:
        self.solver = solver
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
        root = str(Path(__file__).resolve().parents[2])  # makes a checkout importable from any folder
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        self.words = tempfile.TemporaryFile()
        command = ("bench.compare.worker", solver, str(threads))
        self.process = Process(*command, environment=environment, errors=self.words)
        try:
            self.first_answer_seconds = float(self._reply(START_SECONDS)["first_answer_seconds"])
        except BaseException as error:
            self.close()
            if isinstance(error, (WorkerDied, Late)):
                raise WorkerNotStarted(str(error) or f"no first answer in {START_SECONDS:g} s") from None
            raise

    def _reply(self, seconds: float) -> dict[str, Any]:
        try:
            return self.process.reply(seconds)
        except Died as died:
            self.words.seek(0)
            lines = self.words.read().decode(errors="replace").strip().splitlines()
            last = without_paths(lines[-1]) if lines else ""
            raise WorkerDied(f"{_how_it_ended(died.code)} {last}".strip()) from None

    def measure(self, case: Case, form: str, limits: Limits) -> Measurement:
        """Return one measurement; `WorkerDied` or `Late` means that there is none and that the process has ended."""
        request = {"case": asdict(case), "form": form, "tol": limits.tol, "limit": limits.seconds}
        self.process.ask(request)
        patience = LOAD_SECONDS
        while (reply := self._reply(patience))["event"] == "run":
            patience = limits.seconds + limits.grace
        return Measurement(**reply["measurement"])

    def close(self) -> None:
        """Kill the process and close its files."""
        self.process.close()
        self.words.close()


def choose(wanted: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the solvers to compare, ours first, and the names of wanted solvers that are not installed.

    `wanted` holds names, or module:function; None means every known solver.
    """
    known = [OURS, *peers.names(), *peers.BATCHES]
    names = list(dict.fromkeys([OURS, *(known if wanted is None else wanted)]))
    for name in names:
        if name not in known and ":" not in name:
            raise DataError(f"there is no solver {name!r}; there are {', '.join(known)}, and module:function")
    missing = [name for name in names if name in known[1:] and not peers.is_installed(name)]
    return [name for name in names if name not in missing], missing


def check_functions(solvers: Sequence[str]) -> None:
    """Raise DataError for a solver module:function that its own process cannot import; nothing is measured yet."""
    for name in solvers:
        if ":" in name:
            try:
                Worker(name, 1).close()
            except WorkerNotStarted as error:
                raise DataError(f"the solver {name} cannot be used: {error}") from None


def tasks(cases: Sequence[Case], solvers: Sequence[str]) -> list[tuple[Case, str, str]]:
    """Return (case, solver, form) of every measurement, in the order of the run."""
    return [
        (case, solver, form)
        for case in cases
        for solver in solvers
        if solver in case.peers or solver not in (*peers.names(), *peers.BATCHES)
        for form in (case.forms if solver in peers.names() else case.forms[:1])
    ]


def run(
    cases: Sequence[Case],
    solvers: Sequence[str],
    limits: Limits,
    record: Record,
    save: Callable[[], None],
    show: Callable[[int, int, str], None],
) -> None:
    """Make the measurements that the record does not have yet; call `save` after each one.

    A solver whose process does not start is skipped and named in the record.  Before each measurement, also if it is in
    the record, `show` gets the number of measurements done, the total number, and a text on the next one.
    """
    workers: dict[str, Worker] = {}
    record.broken.clear()
    try:
        wanted = tasks(cases, solvers)
        for done, (case, solver, form) in enumerate(wanted):
            show(done, len(wanted), f"{case.name} {solver} {form}".strip())
            if (case.name, solver, form) in record.measurements or solver in record.broken:
                continue
            try:
                record.add(_one(workers, case, solver, form, limits, record))
            except WorkerNotStarted as error:
                record.broken[solver] = str(error)
            if solver in workers:
                record.cold_starts.setdefault(solver, workers[solver].first_answer_seconds)
            save()
    finally:
        for worker in workers.values():
            worker.close()


def _one(workers: dict[str, Worker], case: Case, solver: str, form: str, limits: Limits, record: Record) -> Measurement:
    gave_up = _gave_up(record, case, solver, form, limits)
    if gave_up is not None:
        return _failure(case, solver, form, "not tried", limits.seconds, f"took the limit at size {gave_up}")
    limit = _limit_of_second_form(record, case, solver, form, limits)
    if solver in workers and workers[solver].process.poll() is not None:
        workers.pop(solver).close()
    start = time.perf_counter()
    try:
        if solver not in workers:
            workers[solver] = Worker(solver, limits.threads)
        start = time.perf_counter()
        measurement = workers[solver].measure(case, form, limit)
    except WorkerDied as died:
        _drop(workers, solver)
        return _failure(case, solver, form, "crashed", time.perf_counter() - start, str(died))
    except Late:
        _drop(workers, solver)
        return _failure(case, solver, form, "killed", limit.seconds, "no answer within the limit")
    if measurement.peak_megabytes > LARGE_MEGABYTES:
        _drop(workers, solver)
    return measurement


def _drop(workers: dict[str, Worker], solver: str) -> None:
    if solver in workers:
        workers.pop(solver).close()


def _gave_up(record: Record, case: Case, solver: str, form: str, limits: Limits) -> int | None:
    """Return the size of a smaller program of the class where this solver failed after half the limit, or None."""
    smaller = (m for m in record.measurements.values() if m.size < case.size and case.group)
    failed = (m for m in smaller if not m.good and m.status not in ("not tried", "crashed"))
    late = (m for m in failed if m.seconds >= 0.5 * limits.seconds)
    return min((m.size for m in late if (m.group, m.solver, m.form) == (case.group, solver, form)), default=None)


def _limit_of_second_form(record: Record, case: Case, solver: str, form: str, limits: Limits) -> Limits:
    """Return limits with at most twice the time of another form that is solved, but at least one second."""
    others = [record.measurements.get((case.name, solver, other)) for other in case.forms if other != form]
    solved = [m.seconds for m in others if m is not None and m.good]
    if not solved:
        return limits
    return replace(limits, seconds=min(limits.seconds, max(1.0, 2.0 * min(solved))))


def _failure(case: Case, solver: str, form: str, status: str, seconds: float, note: str) -> Measurement:
    return Measurement(case.name, case.group, case.size, solver, form, status, "failed", seconds, note=note)


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"the process ended with code {code}"
    known = -code in set(signal.Signals)
    return f"the process ended by {signal.Signals(-code).name if known else f'signal {-code}'}"


@contextlib.contextmanager
def progress() -> Iterator[Callable[..., None]]:
    """Yield a function that shows a progress bar on stderr, or prints a line now and then if tqdm is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield _plain_progress
        return
    with tqdm(file=sys.stderr, dynamic_ncols=True, smoothing=0.0, leave=False) as bar:

        def show(done: int, of: int, text: str = "") -> None:
            if bar.total != of:  # Work of an earlier call does not count for the speed of this one.
                bar.initial = done
                bar.reset(total=of)
                bar.n = done
            bar.update(done - bar.n)
            bar.set_description_str(text)

        yield show


def _plain_progress(done: int, of: int, text: str = "") -> None:
    if done % 10 == 0 or done == of:
        print(f"{done}/{of} {text}".strip(), file=sys.stderr, flush=True)
