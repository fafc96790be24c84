"""The number of threads of BLAS: it is set through ctypes in the OpenBLAS of the wheels of NumPy and SciPy.

The number belongs to the process.  It is set while a solver is at work, and restored when the last solver ends.  If
solvers in several threads overlap, the number of the first solver is used.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy

WORK = 5e7  # most multiplications in one compiled call, which Ctrl-C cannot interrupt

logger = logging.getLogger("socp")

_lock = threading.Lock()
_open: weakref.WeakSet[blas_threads] = weakref.WeakSet()  # active contexts; weak, as Ctrl-C may prevent an exit
_before: list[tuple[Callable[[], int], Callable[[int], None], int]] = []  # (get, set, count to restore) by library


class blas_threads:
    """Context in which BLAS uses `count` threads; its end restores the former number."""

    def __init__(self, count: int) -> None:
        self.count, self.thread = count, threading.get_ident()

    def __enter__(self) -> None:
        libraries = bundled_libraries()
        if not libraries and self.count != 1:
            _say_that_nothing_can_be_set()
        with _lock:
            if not _open:
                _put_back()  # Restore the counts if Ctrl-C has prevented an exit.
                _before[:] = [(get, set_to, get()) for get, set_to in libraries]
                for _, set_to, number in _before:
                    if number != self.count:
                        set_to(self.count)
            _open.add(self)

    def __exit__(self, *exception: object) -> None:
        with _lock:
            _open.discard(self)
            if not _open:
                _put_back()


def _put_back() -> None:
    for get, set_to, number in _before:
        if get() != number:
            set_to(number)
    _before.clear()


def _after_fork() -> None:
    """Discard the contexts of other threads in a forked child, where these threads do not exist."""
    others = [block for block in _open if block.thread != threading.get_ident()]
    for block in others:
        _open.discard(block)
    if others and not _open:
        _put_back()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


@functools.cache
def bundled_libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return the getter and the setter of the thread count of each OpenBLAS in the wheels of NumPy and SciPy."""
    return [functions for package in (np, scipy) for functions in _functions_of(package)]


def _functions_of(package: ModuleType) -> Iterator[tuple[Callable[[], int], Callable[[int], None]]]:
    for path in _bundled(package):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for name in ("scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
            for suffix in ("", "64_"):
                get = getattr(library, name.format("get") + suffix, None)
                set_to = getattr(library, name.format("set") + suffix, None)
                if get is not None and set_to is not None:
                    get.restype, get.argtypes = ctypes.c_int, []
                    set_to.restype, set_to.argtypes = None, [ctypes.c_int]
                    yield get, set_to


def _bundled(package: ModuleType) -> list[Path]:
    """Return the paths of the OpenBLAS libraries in the wheel of a package (Linux, Windows, macOS)."""
    folder = Path(str(package.__file__)).parent
    return sorted([*folder.parent.glob(f"{package.__name__}.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")])


@functools.cache
def _say_that_nothing_can_be_set() -> None:
    logger.warning(
        "threads has no effect on dense factors: no OpenBLAS was found in the wheels of NumPy and SciPy; "
        "OPENBLAS_NUM_THREADS, MKL_NUM_THREADS or the like, set before Python starts, may do it"
    )
