"""Compiled kernels on disk: one file per kernel, in the user's cache folder.

The name of the folder depends on all that determines machine code apart from the kernel: Python, numba, LLVM, the
processor, the width of BLAS's integers, and the text of this package.  A file is named by its kernel and its stamp (see
`kernels`).

    SHA-256 of all that follows, the version, and the kernel's name and stamp     32 bytes
    the names in the object file, as JSON                                         one line
    the object file

A file with another digest is damaged or out of place: it is removed and compiled again.  A file is machine code that
this process will run, so it is loaded only if this user or root has written it, and nobody else may write it.

Kernels of the package (see `packaged`) are read if the user's folder has none.

``NUMBA_CACHE_DIR`` names another place.  A kernel that cannot be written is kept in the process, with one warning.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba

from . import packaged, target
from .memory import LARGEST_KEPT
from .target import CHECKS, MachineCode

logger = logging.getLogger("socp")

UNUSED = 90 * 24 * 3600.0  # seconds after which unused folders, old kernels and incomplete files are removed
MARK = "last-use"
DIGEST = hashlib.sha256().digest_size

_held: dict[tuple[str, str], MachineCode] = {}  # machine code that was compiled and not read yet, by (name, stamp)
_said: set[str] = set()


class Place(NamedTuple):
    """Folder that kernels are read from."""

    path: Path
    version: str  # version of its files, as `version` returns it
    is_cache: bool  # True for the user's cache, False for the folder of the package


def _caches() -> Path | None:
    """Return the absolute path of the folder of all versions, or None if the user has no home folder."""
    try:
        if os.environ.get("NUMBA_CACHE_DIR"):
            base = Path(os.environ["NUMBA_CACHE_DIR"])
        elif sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return base.absolute() / "centralpath"
    except (OSError, RuntimeError):  # There is no home folder or no current directory.
        _say("kernels are compiled anew in each process: no home folder was found; NUMBA_CACHE_DIR may name a folder")
        return None


def _say(message: str, *arguments: object) -> None:
    """Log a warning once per process."""
    if message not in _said:
        _said.add(message)
        logger.warning(message, *arguments)


CACHES = _caches()  # A relative NUMBA_CACHE_DIR starts at the directory that is current during import.


@functools.cache
def version(baseline: str = "") -> str:
    """Return the name of the folder, which identifies the target of machine code: this processor or a `baseline`."""
    triple, processor, features = target.processor()
    if baseline:
        triple, processor, features = re.sub(r"[\d.]+$", "", triple), baseline, ""  # without the release of macOS
    text = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text.update(path.read_bytes())
    parts = [llvmlite.__version__, repr((triple, processor, features)), str(target.integer_bits()), text.hexdigest()]
    parts += ["with checks"] * CHECKS
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return f"python-{target.python()}-numba-{numba.__version__}-{digest}"


def folder() -> Path | None:
    """Return the folder that kernels are written to and first read from, which may not exist; None without a cache."""
    return None if CACHES is None else CACHES / version()


@functools.cache
def _places() -> tuple[Place, ...]:
    """Return the folders that kernels are read from, in order."""
    found, cache = [], folder()
    if cache is not None and all(_is_safe(path) for path in (cache.parent, cache) if os.path.lexists(path)):
        _mark(cache)
        found.append(Place(cache, version(), True))
    if packaged.made_for() and _suits():
        found.append(Place(packaged.FOLDER, packaged.made_for()["version"], False))
    return tuple(found)


def _suits() -> bool:
    """Return True if the packaged kernels are of the installed versions and run on this processor."""
    made = packaged.made_for()
    return made.get("version") == version(made["processor"]) and packaged.has_baseline(target.processor()[2])


def unsuited() -> str:
    """Return the target of the packaged kernels if it differs from this machine, else ""."""
    made = packaged.made_for()
    if not made or _suits():
        return ""
    return ", ".join(f"{name} {made.get(name, '?')}" for name in ("Python", "numba", "llvmlite", "processor"))


def package(kernels: Iterable[Any], path: Path, processor: str) -> None:
    """Write kernels that were compiled for `processor` into the folder `path` of a package that is built."""
    path.mkdir(parents=True, exist_ok=True)
    for kernel in kernels:
        code = read(kernel)
        if code is None:
            raise RuntimeError(f"{kernel.name} was not compiled")
        (path / _file_name(kernel)).write_bytes(encode(kernel, code, version(processor)))
    made = {
        "Python": target.python(), "numba": numba.__version__, "llvmlite": llvmlite.__version__, "processor": processor,
        "version": version(processor),
    }  # fmt: skip
    (path / packaged.MADE_FOR).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def ready() -> Path | None:
    """Return the folder that kernels are written to, created if needed; warn and return None if it is not writable."""
    place = folder()
    if place is None:
        return None
    try:
        place.parent.parent.mkdir(parents=True, exist_ok=True)
        for path in (place.parent, place):
            path.mkdir(mode=0o755, exist_ok=True)
            if not _is_safe(path):
                return None
        if not os.access(place, os.W_OK):
            raise PermissionError("read-only")
    except OSError as error:
        _say_not_written(place, error)
        return None
    return place


def _say_not_written(place: Path, error: OSError) -> None:
    _say(
        "%s cannot be written (%s): kernels that are not in it are compiled anew in each process; NUMBA_CACHE_DIR may "
        "name a folder", place, error.strerror or error,
    )  # fmt: skip


def _is_safe(path: Path) -> bool:
    """Return True if only this user or root may write into a folder; a folder of this user is made so first."""
    try:
        status = path.stat()
        if os.name == "posix" and status.st_uid == os.geteuid() and status.st_mode & 0o022:
            path.chmod(stat.S_IMODE(status.st_mode) & ~0o022)
            status = path.stat()
    except OSError:
        return False
    return _is_trusted(status, path)


def _is_trusted(status: os.stat_result, path: Path) -> bool:
    if os.name != "posix" or (status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022):
        return True
    _say("%s belongs to another user, or others may write it: no kernel is loaded from it", path)
    return False


def _mark(place: Path) -> None:
    """Mark the folder as used, once a day, and remove folders and incomplete files that are unused for 90 days."""
    mark, now = place / MARK, time.time()
    with contextlib.suppress(OSError):
        if mark.exists() and now - mark.stat().st_mtime < 24 * 3600.0:
            return
        mark.touch()
        for other in place.parent.iterdir():
            seen = other / MARK
            if other != place and seen.exists() and now - seen.stat().st_mtime > UNUSED:
                shutil.rmtree(other, ignore_errors=True)
        for part in place.glob("*.part"):
            if now - part.stat().st_mtime > UNUSED:
                part.unlink()


def encode(kernel: Any, code: MachineCode, of: str | None = None) -> bytes:
    """Return the content of the kernel's file, for this version or the version `of`."""
    object_file, *names = code
    content = json.dumps(names).encode() + b"\n" + object_file
    return _digest(kernel, content, of) + content


def decode(kernel: Any, file: bytes, of: str | None = None) -> MachineCode | None:
    """Return the machine code in the kernel's file, or None if it is damaged or of another kernel or version."""
    digest, content = file[:DIGEST], file[DIGEST:]
    if digest != _digest(kernel, content, of):
        return None
    names, _, object_file = content.partition(b"\n")
    return MachineCode(object_file, *json.loads(names))


def _digest(kernel: Any, content: bytes, of: str | None) -> bytes:
    return hashlib.sha256(f"{of or version()}\n{kernel.name}\n{kernel.stamp}\n".encode() + content).digest()


def _file_name(kernel: Any) -> str:
    return f"{kernel.name}-{kernel.stamp[:20]}.kernel"


def read(kernel: Any) -> MachineCode | None:
    """Return the machine code of the kernel, or None if it must be compiled."""
    held = _held.pop((kernel.name, kernel.stamp), None)
    if held is not None:
        return held
    for place in _places():
        path = place.path / _file_name(kernel)
        file = _content(path, place.is_cache)
        code = None if file is None else decode(kernel, file, place.version)
        if code is not None:
            return code
        if file is not None:
            _say_damaged(path, place.is_cache)
    return None


def _say_damaged(path: Path, is_cache: bool) -> None:
    if is_cache:
        _say("a file of compiled kernels in %s is damaged; it is thrown away and compiled anew", path.parent)
        with contextlib.suppress(OSError):
            path.unlink()
    else:
        _say("a file of compiled kernels in %s is damaged: the kernel is compiled anew", path.parent)


def _content(path: Path, is_cache: bool) -> bytes | None:
    """Return the bytes of a file, b"" if it is too large, or None if it is missing or not trusted."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or (is_cache and not _is_trusted(status, path)):
            return None
        return path.read_bytes() if status.st_size <= LARGEST_KEPT else b""  # Files of kernels have less than 100 kB.
    except OSError:
        return None


def write(kernel: Any, code: MachineCode) -> None:
    """Store the machine code of the kernel on disk if possible, and in memory until this process reads it."""
    _held[kernel.name, kernel.stamp] = code
    place = ready()
    if place is not None:
        try:
            _replace(place / _file_name(kernel), encode(kernel, code))
            _remove_old(place, kernel)
        except OSError as error:
            _say_not_written(place, error)


def _replace(path: Path, content: bytes) -> None:
    """Write a file that others may read under a temporary name and rename it, so that it is never seen incomplete."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _remove_old(place: Path, kernel: Any) -> None:
    """Remove files of other versions of the kernel that are older than 90 days."""
    for other in place.glob(f"{kernel.name}-{'?' * 20}.kernel"):
        if other.name != _file_name(kernel) and time.time() - other.stat().st_mtime > UNUSED:
            other.unlink(missing_ok=True)
