"""Compilation of missing kernels in as many processes as there are processors, and loading of kernels.

Kernels call each other through symbols, so they are compiled in any order: this process and its helpers (`worker`)
take kernels from one list, the longest first.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import logging
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numba

from . import cache, kernels
from .kernels import Kernel
from .target import MachineCode, known_numbas, numba_is_known
from .worker import HEAD

logger = logging.getLogger("socp")

COLD = 3.0  # seconds of the first kernels of a process beyond their own: numba types and compiles its own parts
QUIET = 5.0  # seconds between lines of progress where output is no terminal
START = 1.2  # seconds that a helper takes to start; each START seconds of compilation justify one helper
SECONDS = (0.05, 5.2e-4)  # compilation time in seconds: per kernel, and per bytecode instruction


def prepare(wanted: Sequence[Kernel], alone: bool = False) -> None:
    """Load the kernels and all that they call; compile the kernels that are not in the cache.

    With `alone` no group that was registered by `together` is compiled with them.  With a numba that is not known the
    kernels are functions of numba (see `functions`).
    """
    with kernels.lock:
        order = _not_loaded(wanted)
        if order:
            if numba_is_known():
                _compile_and_load(order, alone)
            else:
                _compile_as_functions(order)


_company: list[Callable[[], list[Kernel]]] = []


def together(company: Callable[[], list[Kernel]]) -> None:
    """Register a group of kernels, which are all compiled as soon as one of them must be compiled."""
    _company.append(company)


def _company_of(missing: list[Kernel]) -> list[Kernel]:
    """Remove and return the first registered group that contains one of the `missing` kernels, or []."""
    for place, kernels_of in enumerate(_company if missing else []):
        company = kernels_of()
        if any(kernel in missing for kernel in company):
            del _company[place]
            return company
    return []


def _not_loaded(wanted: Iterable[Kernel]) -> list[Kernel]:
    return [kernel for kernel in callees_first(wanted) if not kernel.address_or_zero]


def _compile_and_load(order: list[Kernel], alone: bool) -> None:
    found = {kernel: cache.read(kernel) for kernel in order}
    company = [] if alone else _company_of([kernel for kernel in order if found[kernel] is None])
    found.update({kernel: cache.read(kernel) for kernel in _not_loaded(company) if kernel not in found})
    missing = [kernel for kernel, code in found.items() if code is None]
    if missing:
        Compilation(missing).run()
    for kernel, code in found.items():
        kernel.load(code or cache.read(kernel) or _compiled(kernel))


def _compiled(kernel: Kernel) -> MachineCode:
    """Compile the kernel in this process, cache its machine code and return it."""
    code = kernel.compile()
    cache.write(kernel, code)
    return code


def _compile_as_functions(order: list[Kernel]) -> None:
    """Compile the kernels as functions of numba, in this process, and say so once."""
    _say_not_known()
    with _without_collector():
        for kernel in order:
            kernel.compile_as_function()


@functools.cache
def _say_not_known() -> None:
    logger.warning(
        "numba %s is not known: kernels are compiled in each process anew, which takes up to some minutes "
        "before a first answer; with numba %s they are compiled once and kept", numba.__version__, known_numbas(),
    )  # fmt: skip


kernels.load[:] = [prepare]


def callees_first(wanted: Iterable[Kernel]) -> list[Kernel]:
    """Return the kernels and all that they call, callees before their callers."""
    order: dict[int, Kernel] = {}

    def visit(kernel: Kernel) -> None:
        if id(kernel) not in order:
            for callee in kernel.callees:
                visit(callee)
            order[id(kernel)] = kernel

    for kernel in wanted:
        visit(kernel)
    return list(order.values())


def expected_seconds(kernel: Kernel) -> float:
    """Return an estimate of the seconds that one processor takes to compile the kernel."""
    operations = kernel.py_func.__code__.co_code[::2]  # opcodes; from Python 3.11 on also zeros, for caches
    return SECONDS[0] + SECONDS[1] * (len(operations) - operations.count(0))


class Compilation:
    """Compilation of a list of kernels by this process and its helpers.

    Parameters
    ----------
    missing : list of Kernel
    """

    def __init__(self, missing: list[Kernel]) -> None:
        self.told = self.started = time.perf_counter()
        self.waiting = sorted(missing, key=expected_seconds)  # the longest last; `take` pops from the end
        self.total, self.done = len(missing), 0
        self.work = sum(map(expected_seconds, missing))
        self.left = self.work
        self.guard = threading.Lock()
        self.helpers: list[Helper] = []

    def run(self) -> None:
        """Compile all kernels; this process compiles the kernels that fail in a helper."""
        processes = max(1, min(_processors(), 1 + int(self.work / START)))
        self._announce(processes)
        self.started = time.perf_counter()
        self.helpers = [helper for helper in (Helper(self) for _ in range(processes - 1)) if helper.start()]
        try:
            with _without_collector():
                while (kernel := self.take(True)) is not None:
                    _compiled(kernel)
                    self.note(kernel)
                for helper in self.helpers:
                    helper.join()
        except KeyboardInterrupt:
            self._tell(last=True)
            logger.warning(
                "interrupted: %d of %d kernels are compiled and kept; the next call compiles the rest", self.done,
                self.total,
            )  # fmt: skip
            raise
        finally:
            for helper in self.helpers:
                helper.stop()
            self._tell(last=True)

    def take(self, anywhere: bool) -> Kernel | None:
        """Remove and return the next kernel, or None; unless `anywhere`, one that another process can import."""
        with self.guard:
            for at in range(len(self.waiting) - 1, -1, -1):
                if anywhere or self.waiting[at].importable:
                    return self.waiting.pop(at)
        return None

    def give_back(self, kernel: Kernel) -> None:
        """Put a kernel that a helper could not compile back into the list."""
        with self.guard:
            self.waiting.append(kernel)

    def note(self, kernel: Kernel) -> None:
        """Count a kernel as compiled."""
        with self.guard:
            self.done += 1
            self.left -= expected_seconds(kernel)
        self._tell()

    def _announce(self, processes: int) -> None:
        global _is_warm
        beyond = COLD * (not _is_warm) + START * (processes - 1)
        seconds, _is_warm = max(1.0, (self.work + beyond) / processes), True
        if self.total > 1:
            place, others = cache.ready(), cache.unsuited()
            logger.warning(
                "compiling %d kernels, once for this %s, about %.0f s; they are kept %s%s", self.total,
                "version" if place else "process", seconds, f"in {place}" if place else "in memory",
                f"; those that came with the package are for {others}" if others else "",
            )  # fmt: skip

    def _tell(self, last: bool = False) -> None:
        """Write a line of progress: again and again to a terminal or a notebook, now and then elsewhere."""
        now = time.perf_counter()
        replaces = _shows_progress(sys.stderr)
        if self.total < 10 or not (replaces or (now - self.told >= QUIET and not last)):
            return
        self.told, elapsed = now, now - self.started
        rest = elapsed * self.left / max(self.work - self.left, 1e-9)
        line = f"compiling kernels: {self.done} of {self.total}, {elapsed:.0f} s, about {rest:.0f} s left"
        if replaces:
            sys.stderr.write(f"\r\x1b[K{'' if last else line}")
            sys.stderr.flush()
        else:
            logger.warning("%s", line)


_is_warm = False  # True once this process has compiled a kernel


def _shows_progress(stream: Any) -> bool:
    """Return True if a line that is rewritten replaces the former one: on a terminal and in a notebook."""
    return stream.isatty() or type(stream).__module__.split(".")[0] == "ipykernel"


class Helper(threading.Thread):
    """Process that compiles kernels, and the thread that sends them to it."""

    def __init__(self, compilation: Compilation) -> None:
        super().__init__(daemon=True)
        self.compilation = compilation
        self.process: Any = None
        self.current: Kernel | None = None

    def start(self) -> bool:  # type: ignore[override]
        """Start the process and its thread; return False if no process can be started."""
        try:
            self.process = subprocess.Popen(
                _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=os.name == "posix",  # Ctrl-C reaches only this process, which kills its helpers.
            )  # fmt: skip
        except (OSError, ValueError):
            return False
        super().start()
        return True

    def run(self) -> None:
        try:
            self._send(json.dumps(_search_path()))
            while (kernel := self.compilation.take(False)) is not None:
                self.current = kernel
                self._send(f"{kernel.py_func.__module__} {kernel.py_func.__qualname__}")
                (length,) = HEAD.unpack(self.process.stdout.read(HEAD.size))
                code = cache.decode(kernel, self.process.stdout.read(length))
                if code is None:  # The source file has changed since this process imported it.
                    return
                cache.write(kernel, code)
                self.current = None
                self.compilation.note(kernel)
        except (OSError, ValueError, struct.error):
            pass
        finally:
            if self.current is not None:
                self.compilation.give_back(self.current)

    def _send(self, line: str) -> None:
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def stop(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            with contextlib.suppress(OSError):  # `close` flushes, which fails if the process is dead.
                self.process.stdin.close()
            self.process.stdout.close()


def _command() -> list[str]:
    """Return the command that starts a helper: isolated, with the search path that it is sent and no other imports."""
    if not Path(sys.executable).name.lower().startswith("python"):
        raise ValueError(f"{sys.executable!r} is a program that Python is part of, and would start once more")
    flags = ["-I", *["-O"] * sys.flags.optimize, *["-B"] * sys.flags.dont_write_bytecode]
    path = "import json, sys; sys.path[:] = json.loads(sys.stdin.readline())"
    return [sys.executable, *flags, "-c", f"{path}; from {__package__} import worker; worker.main()"]


def _search_path() -> list[str]:
    """Return the import path of a helper: the absolute entries of this process's path, then this package's folder."""
    return [*filter(os.path.isabs, sys.path), str(Path(__file__).parents[2])]


_collector_off = False  # True while `_without_collector` has switched garbage collection off


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Switch garbage collection off inside a ``with`` block: the compiler makes many long-lived objects."""
    global _collector_off
    _collector_off = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if _collector_off:
            gc.enable()
        _collector_off = False


def _after_fork() -> None:
    """Switch garbage collection on in a child where a thread of its parent compiles."""
    if _collector_off:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
