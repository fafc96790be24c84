"""How many threads BLAS may use: OpenBLAS, as the wheels of NumPy and SciPy carry it, is told through ctypes.

Sparse factors have threads of their own (`teams`).

The number belongs to the process.  It is set while a solver is at work and put back when the last one is done; of
solvers that overlap in several threads, the first one's number counts.
"""

from __future__ import annotations

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
_active: list[list[tuple[Callable[[int], None], int]]] = []  # for each block that is open, what is to be put back


class blas_threads:
    """Let BLAS use `count` threads inside a ``with`` block, which ends with the number that was there before."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> None:
        libraries = bundled_libraries()
        if not libraries and self.count != 1:
            _say_that_nothing_can_be_set()
        with _lock:
            if _active:
                _active.append(_active[0])
                return
            before = [(set_to, get()) for get, set_to in libraries]
            _active.append([(set_to, number) for set_to, number in before if number != self.count])
            for set_to, _ in _active[0]:
                set_to(self.count)

    def __exit__(self, *exception: object) -> None:
        with _lock:
            put_back = _active.pop()
            if not _active:
                for set_to, number in put_back:
                    set_to(number)


@functools.cache
def bundled_libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """The getter and the setter of each OpenBLAS that came with NumPy and SciPy."""
    return [functions for package in (np, scipy) for functions in _functions_of(package)]


def addresses_of_blas() -> tuple[int, int]:
    """Where the getter and the setter are of the OpenBLAS that kernels call, SciPy's; zeros where that is another."""
    for functions in _functions_of(scipy):
        get, set_to = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in functions)  # type: ignore[arg-type]
        return get, set_to
    return 0, 0


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
    """The OpenBLAS libraries inside the wheel of a package (Linux and Windows, macOS)."""
    folder = Path(str(package.__file__)).parent
    return sorted([*folder.parent.glob(f"{package.__name__}.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")])


@functools.cache
def _say_that_nothing_can_be_set() -> None:
    logger.warning(
        "threads has no effect on dense factors: no OpenBLAS was found in the wheels of NumPy and SciPy; "
        "OPENBLAS_NUM_THREADS, MKL_NUM_THREADS or the like, set before Python starts, may do it"
    )
