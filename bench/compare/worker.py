"""Worker process of one solver: it reads requests as JSON lines from stdin and writes replies to stdout.

``python -m bench.compare.worker SOLVER THREADS``.  SOLVER is "centralpath", one of `bench.peers.names()`, or
module:function of a function (program, tol, time_limit) that returns a `bench.answers.answer.Answer`, on every set; see
docs/CONTRIBUTING.md.  A request is
{"case", "form", "tol", "limit"}; the replies to it are {"event": "run"} when a run begins, and {"event": "measured",
"measurement"}.  The caller keeps the time and may kill this process.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg  # noqa: F401  loaded here so that no solver's cold start includes it

from .process import serve

SHORT, RUNS = 1.0, 3
"""Seconds below which a run is repeated, and the total number of runs, of which the best counts."""


def main() -> None:
    """Serve requests until stdin ends."""
    solver, threads = sys.argv[1], int(sys.argv[2])

    def ready() -> dict[str, Any]:
        _stay_within_memory()
        seconds = _first_answer(solver, threads)
        _warm_up(solver, threads)
        return {"event": "ready", "first_answer_seconds": seconds}

    def answer(request: dict[str, Any], reply: Any) -> dict[str, Any]:
        measurement = measure(solver, threads, request, lambda: reply({"event": "run"}))
        return {"event": "measured", "measurement": measurement}

    serve(ready, answer)


def measure(solver: str, threads: int, request: dict[str, Any], on_run: Callable[[], None]) -> dict[str, Any]:
    """Load and solve a program and verify the answer; return the measurement, also of a failure."""
    import socp

    from ..programs.catalogue import Case, load
    from .measurement import Measurement, without_paths

    content: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in request["case"].items()}
    case = Case(**content)
    form = request["form"]
    about: Any = dict(program=case.name, group=case.group, size=case.size, solver=solver, form=form)
    program = None
    try:
        program = load(case, form)
        reset_peak()
        found = _measured(about, threads, case, program, request, on_run)
    except socp.ProgramError as error:
        found = Measurement(**about, status="refused", verdict="failed", seconds=0.0, note=without_paths(str(error)))
    except Exception as error:  # MemoryError, and any exception of a user's adapter
        note = without_paths(f"{type(error).__name__}: {error}")
        found = Measurement(**about, status="error", verdict="failed", seconds=0.0, note=note)
    del program
    gc.collect()
    return {**asdict(found), "peak_megabytes": peak_megabytes()}


def _measured(
    about: dict[str, Any], threads: int, case: Any, program: Any, request: dict[str, Any], on_run: Callable[[], None]
) -> Any:
    from socp.method import workspace

    from ..programs import many, repeated
    from ..programs.catalogue import MANY, REPEATED
    from .suite import VERIFIED_TOL, measured

    solver, tol, limit = about["solver"], request["tol"], request["limit"]
    asked, call = program, solver_function(solver, threads)
    own = (lambda one: call(one, tol, limit)) if ":" in solver else None
    on_run()
    if case.source in REPEATED:
        result, asked, runs = repeated.measure(solver, case.group, program, tol, own)
    elif case.source == MANY:
        result, asked, runs = many.measure(solver, program, tol, own)
    else:

        def anew() -> Any:
            workspace.forget()  # The last run has analyzed the pattern.
            return call(program, tol, limit)

        result, runs = anew(), 1
        while runs < RUNS and result.x is not None and result.seconds < SHORT:
            on_run()
            result, runs = min(result, anew(), key=lambda a: a.seconds), runs + 1
    return measured(about, asked, result, VERIFIED_TOL, runs)


def solver_function(solver: str, threads: int) -> Callable[[Any, float, float], Any]:
    """Return the function (program, tol, time_limit) that calls this solver."""
    from .. import peers
    from ..answers import answer

    if ":" in solver:
        module, _, name = solver.partition(":")
        function = getattr(importlib.import_module(module), name)

        def call(program: Any, tol: float, limit: float) -> answer.Answer:
            found = function(program, tol, limit)
            if not isinstance(found, answer.Answer):
                kind = type(found).__name__
                raise TypeError(f"{solver} must return a bench.answers.answer.Answer, but a {kind} came")
            return found

        return call
    return lambda program, tol, limit: peers.solve(solver, program, tol, limit, threads)


def _first_answer(solver: str, threads: int) -> float:
    """Return the seconds from importing the solver to its first answer, two variables; numpy and scipy are loaded."""
    if solver != "centralpath":
        from .. import peers
        from ..programs import control, many
    start = time.perf_counter()
    import qp

    if solver == "centralpath":
        qp.solve(np.eye(2), [-1.0, -1.0], A=[[1.0, -1.0]], l=0.0, u=0.0, lb=0.0, ub=0.5)
    elif ":" not in solver:  # this program as the dual of a support vector machine, which every peer takes
        program = qp.QuadraticProgram(np.eye(2), [-1.0, -1.0], [[1.0, -1.0]], 0.0, 0.0, 0.0, 0.5)
        if solver in peers.STAGED:
            program = control.controller(2)
        elif solver in peers.BATCHES:
            many.measure(solver, program, 1e-8)
            return time.perf_counter() - start
        answer = peers.solve(solver, program, threads=threads)
        if answer.note:
            raise RuntimeError(answer.note)
    else:
        solver_function(solver, threads)
    return time.perf_counter() - start


def _warm_up(solver: str, threads: int) -> None:
    """Load all that the solver loads at its first use, before the clock starts."""
    import qp

    from .. import peers
    from ..programs import generate

    if solver == "centralpath":
        qp.warmup()
    elif ":" not in solver:
        for program in (generate.svm_dual_rbf(5), generate.lasso(5), generate.enclosing_ball(5)):
            if solver in peers.peers_for(program):
                peers.solve(solver, program, time_limit=1.0, threads=threads)


def _stay_within_memory() -> None:
    """Limit the address space to the machine's memory: a solver gets MemoryError before the machine runs out of it."""
    try:
        import resource

        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_AS, (total, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, AttributeError, ValueError, OSError):
        pass


def reset_peak() -> None:
    """Reset the peak of the resident size on Linux; elsewhere it remains the peak of the whole process."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def peak_megabytes() -> float:
    """Return the largest resident size since `reset_peak`, in megabytes, from the kernel."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    except OSError:
        pass
    try:
        import resource

        peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return peak / 2**20 if sys.platform == "darwin" else peak / 1024
    except ImportError:
        return float("nan")


if __name__ == "__main__":
    main()
