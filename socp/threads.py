"""How many threads BLAS may use: OpenBLAS, as the wheels of NumPy and SciPy carry it, is told through ctypes.

The number belongs to the process.  It is set while a solver is at work and put back when the last one is done; of
solvers that overlap in several threads, the first one's number counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy

logger = logging.getLogger("socp")

_lock = threading.Lock()
_before: list[list[int]] = []  # the numbers to put back, one entry for each solver at work


@contextlib.contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Let BLAS use `count` threads inside the block, which ends with the number that was there before."""
    libraries = _libraries()
    if not libraries:
        if count != 1:
            _say_that_nothing_can_be_set()
        yield
        return
    with _lock:
        _before.append(_before[0] if _before else [get() for get, _ in libraries])
        if len(_before) == 1:
            _set_all([count] * len(libraries))
    try:
        yield
    finally:
        with _lock:
            numbers = _before.pop()
            if not _before:
                _set_all(numbers)


def _set_all(numbers: list[int]) -> None:
    for (get, set_to), number in zip(_libraries(), numbers):
        if get() != number:
            set_to(number)


@functools.cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """The getter and the setter of each OpenBLAS that came with NumPy and SciPy."""
    found = []
    for package in (np, scipy):
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
                        found.append((get, set_to))
    return found


def _bundled(package: ModuleType) -> list[Path]:
    """The OpenBLAS libraries inside the wheel of a package (Linux and Windows, macOS)."""
    folder = Path(str(package.__file__)).parent
    return sorted([*folder.parent.glob(f"{package.__name__}.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")])


@functools.cache
def _say_that_nothing_can_be_set() -> None:
    logger.warning(
        "threads has no effect: no OpenBLAS was found in the wheels of NumPy and SciPy; OPENBLAS_NUM_THREADS, "
        "MKL_NUM_THREADS or the like, set before Python starts, may do it"
    )
