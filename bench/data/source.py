"""Access to data: from a given folder, or else from the network, with a clear error if neither has them."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..programs.sets import DATA_VARIABLE, DataError, Folder

TIMEOUT = 30.0
"""Seconds without data after which a download fails."""


@dataclass(frozen=True)
class Source:
    """A file of a data set."""

    # path in the data folder
    path: str
    # URL
    address: str
    # description for messages
    what: str


def data_folder(data: Folder = None) -> Path:
    """Return the given folder, else ``$CENTRALPATH_DATA``, else a folder in the user's cache."""
    given = data if data is not None else os.environ.get(DATA_VARIABLE)
    if given:
        return Path(given)
    return cache_folder() / "data"


def cache_folder() -> Path:
    """Return the folder of downloads and of data computed from them: ``$XDG_CACHE_HOME/centralpath`` or its default."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "centralpath"


def locate(source: Source, data: Folder = None) -> Path:
    """Return the file of a source, downloaded if it is not in the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "numbers.csv").write_text("1,2")
    ...     locate(Source("numbers.csv", "https://example.org/numbers.csv", "some numbers"), folder).name
    'numbers.csv'
    """
    folder = data_folder(data)
    path = folder / source.path
    for candidate in (path, folder / path.name):
        if candidate.is_file():
            return candidate
    try:
        return _download(source.address, path)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{source.what} is not in {folder}, and could not be downloaded ({error}). Either put the file "
            f"{source.address} to {path}, with the folder named by --data DIR or {DATA_VARIABLE}=DIR, or let "
            "this machine reach that address."
        ) from error


def _download(address: str, path: Path) -> Path:
    """Download a file and return its path; the file appears there once it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out, urllib.request.urlopen(address, timeout=TIMEOUT) as response:
            shutil.copyfileobj(response, out)
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    return path


def check(holds: bool, path: Path, expected: str, came: str) -> None:
    """Raise DataError that names `path`, `expected` and `came` unless `holds` is True."""
    if not holds:
        raise DataError(f"{path} is not what it should be: expected {expected}, but {came} came")


def read_archive(path: Path, is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the files of an archive whose names are wanted."""
    with tarfile.open(path) as archive:
        for member in archive:
            if is_wanted(member.name) and (file := archive.extractfile(member)) is not None:
                yield member.name, file.read().decode("latin-1")


def read_rows(path: Path) -> list[list[str]]:
    """Return the comma-separated parts of each line of a text file that is not blank."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[part.strip() for part in line.split(",")] for line in lines if line.strip()]
