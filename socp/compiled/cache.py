"""Compiled kernels on disk: one file a kernel, in the user's cache folder.

The folder is named after all that machine code depends on beside the kernel itself: Python, numba, LLVM, the processor,
the width of BLAS's integers, and the text of this package; a file after the kernel and its stamp (see `kernels`).  A
file holds the digest of its content, so that a truncated or altered one is found out, thrown away and made anew.

``NUMBA_CACHE_DIR`` names another place.  Where no folder can be written, or with ``CENTRALPATH_NO_CACHE=1``, kernels
are kept for the process alone.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import logging
import os
import pickle
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import registry

from .blas_integers import integer_bits
from .machine import MachineCode

logger = logging.getLogger("socp")

FOLDER = "CENTRALPATH_KERNELS"  # in the environment of the processes that compile for this one
UNUSED = 90 * 24 * 3600.0  # seconds after which a folder, or another version of a kernel, counts as unused
MARK = "last-use"
DIGEST = 32


@functools.cache
def folder() -> Path:
    """Where the kernels of this process are kept."""
    given = os.environ.get(FOLDER)
    if given:
        return Path(given)
    if os.environ.get("CENTRALPATH_NO_CACHE", "0") not in ("", "0"):
        return _temporary()
    place = _caches() / version()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError:
        logger.warning(
            "%s cannot be written: kernels are compiled anew in each process; NUMBA_CACHE_DIR may name a folder", place
        )
        return _temporary()
    _mark(place)
    return place


def _caches() -> Path:
    """The folder of all versions."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"]) / "centralpath"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "centralpath"


def _temporary() -> Path:
    place = Path(tempfile.mkdtemp(prefix="centralpath-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


@functools.cache
def version() -> str:
    """The name of the folder: what machine code depends on beside its kernel."""
    text = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text.update(path.read_bytes())
    parts = [llvmlite.__version__, repr(_codegen().magic_tuple()), str(integer_bits()), text.hexdigest()]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return f"python-{platform.python_version()}-numba-{numba.__version__}-{digest}"


def _codegen() -> Any:
    return registry.cpu_target.target_context.codegen()


def _mark(place: Path) -> None:
    """Note that the folder is in use, once a day, and remove those that were not for long."""
    mark, now = place / MARK, time.time()
    try:
        if mark.exists() and now - mark.stat().st_mtime < 24 * 3600.0:
            return
        mark.touch()
        for other in place.parent.iterdir():
            seen = other / MARK
            if other != place and seen.exists() and now - seen.stat().st_mtime > UNUSED:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        pass


def _path(kernel: Any) -> Path:
    return folder() / f"{kernel.name}-{kernel.stamp[:20]}.kernel"


def holds(kernel: Any) -> bool:
    """Whether there is a file of the kernel."""
    return _path(kernel).exists()


def read(kernel: Any) -> MachineCode | None:
    """The machine code of the kernel; None where there is no file, or a damaged one."""
    try:
        content = _path(kernel).read_bytes()
    except OSError:
        return None
    digest, payload = content[:DIGEST], content[DIGEST:]
    if hashlib.sha256(payload).digest() != digest:
        _say_damaged(_path(kernel).parent)
        _path(kernel).unlink(missing_ok=True)
        return None
    return MachineCode(*pickle.loads(payload))


@functools.cache
def _say_damaged(place: Path) -> None:
    logger.warning("a file of compiled kernels in %s is damaged; it is thrown away and compiled anew", place)


def write(kernel: Any, code: MachineCode) -> None:
    """Keep the machine code of the kernel; other versions of it go when they are old."""
    payload = pickle.dumps(tuple(code))
    path = _path(kernel)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    for other in path.parent.glob(f"{kernel.name}-{'?' * 20}.kernel"):
        if other != path and time.time() - other.stat().st_mtime > UNUSED:
            other.unlink(missing_ok=True)
