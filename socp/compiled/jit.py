"""The one decorator of every compiled kernel.

A kernel is compiled by numba at its first call, without the GIL, and cached on disk.  Two traps of
numba's cache are closed here:

* its key sees only the text of the function's own file, so that a change in a callee in another
  file would run stale machine code (numba#8851).  Here the stamp of a kernel covers the text of
  its file, the stamps of all kernels which that file has imported, by name or with their module,
  and the numbers which it has imported, as these are compiled in.
* where no cache folder can be written, numba raises at import (librosa#1156).  Here the kernel is
  compiled without a cache, and the log says so once.

The first kernel of a process that is compiled, not loaded, is announced in the log: after an installation the first
programs wait for the compiler, and nobody should wonder why.  Where the installation cannot be written, numba keeps
the machine code in the user's cache folder; the note names the place.

Environment: ``CENTRALPATH_NO_CACHE=1`` switches the cache off; numba's own ``NUMBA_DISABLE_JIT=1``
runs the same kernels as plain Python.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import event

logger = logging.getLogger("socp")

_stamps: dict[int, str] = {}  # id of a kernel's dispatcher -> stamp
_stamps_of_module: dict[str, set[str]] = {}
_kernels: list[Any] = []


def kernel(py_func: Callable[..., Any]) -> Any:
    """Compile `py_func` at its first call: no GIL, cached on disk, no fast-math."""
    return _compile(py_func, {})


def inner_kernel(py_func: Callable[..., Any]) -> Any:
    """As `kernel`, for a function that allocates nothing and makes no views, and is called from kernels very often.

    numba then counts no references: otherwise each call costs two atomic operations for each array among the arguments.
    """
    return _compile(py_func, {"_nrt": False})


def _compile(py_func: Callable[..., Any], options: dict[str, Any]) -> Any:
    # x / 0 is inf or NaN as in NumPy, which the callers look for, not a ZeroDivisionError in the middle of a solve
    options = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", **options}
    want_cache = os.environ.get("CENTRALPATH_NO_CACHE", "0") in ("", "0")
    try:
        compiled = numba.njit(cache=want_cache, **options)(py_func)
    except RuntimeError:  # numba: "cannot cache function ...: no locator available"
        _say_once(
            "no folder for compiled kernels can be written, they are compiled anew in each process; "
            "NUMBA_CACHE_DIR may name one"
        )
        want_cache = False
        compiled = numba.njit(**options)(py_func)
    stamp = _stamp(py_func)
    _stamps[id(compiled)] = stamp
    _stamps_of_module.setdefault(py_func.__module__, set()).add(stamp)
    _kernels.append(compiled)
    if want_cache and hasattr(compiled, "_cache"):
        cache_file = getattr(compiled._cache, "_cache_file", None)
        if cache_file is not None and hasattr(cache_file, "_source_stamp"):
            cache_file._source_stamp = stamp
    return compiled


class _Announcement(event.Listener):
    """Says once that kernels are compiled, and where they are kept."""

    said = False

    def on_start(self, event: event.Event) -> None:
        compiled = event.data["dispatcher"]
        if id(compiled) in _stamps and not self.said:
            self.said = True
            logger.warning(_note(Path(compiled.py_func.__code__.co_filename).parent, getattr(compiled, "_cache", None)))

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())


def _note(home: Path, cache: Any) -> str:
    """What is said when kernels of the folder `home` are compiled with that cache."""
    folder = getattr(cache, "cache_path", None)
    if folder is None:
        return "compiling kernels for this process (no cache), which takes up to a minute in all"
    note = f"compiling kernels, once for this installation and up to a minute in all; they are kept in {folder}"
    if Path(folder).parent != home and not os.environ.get("NUMBA_CACHE_DIR"):
        note += f", as {home} cannot be written"
    return note


def kernels() -> list[Any]:
    """All kernels that are defined so far, for tests that count compiled signatures."""
    return list(_kernels)


def _stamp(py_func: Callable[..., Any]) -> str:
    seen = py_func.__globals__
    imported = {_stamps[id(g)] for g in seen.values() if id(g) in _stamps}
    for g in seen.values():
        if isinstance(g, ModuleType):
            imported |= _stamps_of_module.get(g.__name__, set())
    numbers = sorted((name, repr(g)) for name, g in seen.items() if isinstance(g, (int, float, np.number)))
    digest = hashlib.sha256(_file_text(py_func.__code__.co_filename))
    digest.update(_file_text(__file__))
    digest.update(str(seen.get("STAMP", "")).encode())
    digest.update(repr(numbers).encode())
    for stamp in sorted(imported):
        digest.update(stamp.encode())
    return digest.hexdigest()


@functools.cache
def _file_text(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return path.encode()


@functools.cache
def _say_once(message: str) -> None:
    logger.warning(message)
