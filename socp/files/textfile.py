"""The lines of a text file that carry information, with their numbers, for readers whose errors name the line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..problem.checks import ProgramError


def read_text(path: str | Path) -> str:
    """The text of a file, unpacked when its first bytes say gzip, without byte-order mark, with ``\\n`` line ends."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ProgramError(f"{path}: the gzip file is damaged ({error})") from None
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def write_text(path: str | Path, text: str) -> None:
    """Write `text`, packed with gzip when the name ends in ``.gz``; the same text gives the same bytes."""
    data = text.encode()
    Path(path).write_bytes(gzip.compress(data, mtime=0) if str(path).lower().endswith(".gz") else data)


class TextLines:
    """The lines of `path` for which `carries_information` holds, read one after the other or many at once."""

    def __init__(self, path: str | Path, carries_information: Callable[[str], bool]) -> None:
        self.path = path
        lines = read_text(path).split("\n")
        self._numbers = [k for k, line in enumerate(lines, start=1) if carries_information(line)]
        self._texts = [lines[k - 1] for k in self._numbers]
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next == len(self._texts)

    @property
    def number(self) -> int:
        """The number of the line that was read last, counted from 1."""
        return self._numbers[self._next - 1] if self._next else 0

    def error(self, message: str, number: int | None = None) -> ProgramError:
        """The error that says `message` of a line, by default of the line that was read last."""
        return ProgramError(f"{self.path}, line {self.number if number is None else number}: {message}")

    def read(self, expected: str) -> str:
        """The next line; at the end of the file the error says what was `expected`."""
        k = self._next
        if k == len(self._texts):
            raise self.error(f"{expected} was expected, but the file ends here")
        self._next = k + 1
        return self._texts[k]

    def read_integers(self, count: int, expected: str) -> list[int]:
        """The next line as `count` nonnegative integers."""
        fields = self.read(expected).split()
        if len(fields) != count or not all(field.isascii() and field.isdigit() for field in fields):
            raise self.error(f"{expected} was expected, but {' '.join(fields)[:60]!r} came")
        return [int(field) for field in fields]

    def read_table(self, rows: int, columns: int, expected: str) -> tuple[np.ndarray, list[int]]:
        """The next `rows` lines as a table of finite numbers, and the numbers of these lines."""
        first, last = self._next, self._next + rows
        if last > len(self._texts):
            raise self.error(
                f"{rows} lines of {expected} were announced, but only {len(self._texts) - first} follow",
                self._numbers[-1],
            )
        texts, numbers = self._texts[first:last], self._numbers[first:last]
        try:
            table = np.loadtxt(texts, comments=None, ndmin=2) if rows else np.empty((0, columns))
            good = table.shape == (rows, columns) and bool(np.isfinite(table).all())
        except ValueError:
            good = False
        if not good:
            bad = next(k for k, text in enumerate(texts) if not _is_row(text, columns))
            raise self.error(f"{expected} was expected, but {texts[bad].strip()[:60]!r} came", numbers[bad])
        self._next = last
        return table, numbers


def _is_row(text: str, columns: int) -> bool:
    try:
        row = np.loadtxt([text], comments=None, ndmin=1)
    except ValueError:
        return False
    return row.shape == (columns,) and bool(np.isfinite(row).all())
