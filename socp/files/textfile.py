"""The lines of a text file that carry information, with their numbers for error messages."""

from __future__ import annotations

import codecs
import collections
import gzip
import io
import itertools
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ..problem.checks import ProgramError

MAX_BYTES = 2**29
"""Default limit of the bytes that are read from one file, counted after decompression."""
BLOCK = 2**20  # bytes that are decompressed at once, and most characters in a line
UNMENTIONED = 10**6  # rows and columns that a file may declare, in addition to a number proportional to its size


def check_ending(path: str | Path, *endings: str) -> None:
    """Raise ProgramError unless the name ends in one of `endings`, in upper or lower case."""
    if not str(path).lower().endswith(endings):
        raise ProgramError(f"path must end in {', '.join(endings[:-1])} or {endings[-1]}, but {str(path)!r} came")


def check_max_bytes(max_bytes: int) -> None:
    """Raise ProgramError unless the limit is a positive integer."""
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, (int, np.integer)) or max_bytes < 1:
        raise ProgramError(f"max_bytes must be a whole number of at least 1, but {max_bytes!r} came")


def too_large(max_bytes: int) -> str:
    """Return the message about a file with more than `max_bytes` bytes."""
    return f"it has or decompresses to more than {max_bytes} bytes; max_bytes=... raises the limit"


def read_blocks(path: str | Path, max_bytes: int) -> Iterator[bytes]:
    """Yield the content of a file in blocks, decompressed if it begins with the two bytes of gzip."""
    check_max_bytes(max_bytes)
    with open(path, "rb") as file:
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        stream, left = gzip.GzipFile(fileobj=file) if packed else file, max_bytes
        try:
            while block := stream.read(BLOCK):
                left -= len(block)
                if left < 0:
                    raise ProgramError(f"{path}: {too_large(max_bytes)}")
                yield block
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ProgramError(f"{path}: the gzip file is damaged ({error})") from None


def write_text(path: str | Path, text: str) -> None:
    """Write `text`, packed with gzip if the name ends in ``.gz``; equal texts give equal bytes."""
    data = text.encode()
    Path(path).write_bytes(gzip.compress(data, mtime=0) if str(path).lower().endswith(".gz") else data)


class TextLines:
    """Lines of a file for which `carries_information` holds, read one by one or many at once.

    The text is UTF-8 with or without a byte-order mark, with any line endings; one block of it is in memory.
    """

    def __init__(
        self, path: str | Path, carries_information: Callable[[str], bool], max_bytes: int = MAX_BYTES
    ) -> None:
        self.path, self.count = path, 0  # count: number of lines with information so far
        self._parts = self._read_parts(path, carries_information, max_bytes)
        self._numbers, self._texts, self._next = [0], [""], 1

    def _read_parts(
        self, path: str | Path, carries_information: Callable[[str], bool], max_bytes: int
    ) -> Iterator[tuple[list[int], list[str]]]:
        """Yield the lines that begin in each block, with their numbers."""
        decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")("replace"), translate=True)
        number, rest = 1, ""
        for block in itertools.chain(read_blocks(path, max_bytes), [b""]):  # The empty block ends the last line.
            text = rest + decoder.decode(block, final=not block)
            if text.isspace():  # Compressed blanks may be gigabytes: drop them at once.
                number, text = number + text.count("\n"), text[text.rfind("\n") + 1 :]
            *lines, rest = text.split("\n") if block else [text, ""]
            numbers = [k for k, line in enumerate(lines, start=number) if carries_information(line)]
            if numbers:
                yield numbers, [lines[k - number] for k in numbers]
            number += len(lines)
            if len(rest) > BLOCK:
                raise self.error(f"the line has more than {BLOCK} characters", number)

    @property
    def at_end(self) -> bool:
        if self._next == len(self._texts) and (part := next(self._parts, None)):
            (self._numbers, self._texts), self._next = part, 0
            self.count += len(self._texts)
        return self._next == len(self._texts)

    @property
    def number(self) -> int:
        """Number of the line that was read last, counted from 1."""
        return self._numbers[self._next - 1]

    def error(self, message: str, number: int | None = None) -> ProgramError:
        """Return a ProgramError with `message` on line `number`, by default the line that was read last."""
        return ProgramError(f"{self.path}, line {self.number if number is None else number}: {message}")

    def read(self, expected: str) -> str:
        """Return the next line; at the end of the file raise an error that names the `expected` content."""
        k = self._next
        if k == len(self._texts):
            if self.at_end:
                raise self.error(f"{expected} was expected, but the file ends here")
            k = 0
        self._next = k + 1
        return self._texts[k]

    def finish(self) -> None:
        """Read to the end of the file, where gzip stores the checksum of the content."""
        collections.deque(self._parts, maxlen=0)

    def read_integers(self, count: int, expected: str) -> list[int]:
        """Return the next line as `count` nonnegative integers."""
        fields = self.read(expected).split()
        if len(fields) != count or not all(map(is_integer, fields)):
            raise self.error(f"{expected} was expected, but {' '.join(fields)[:60]!r} came")
        return [int(field) for field in fields]

    def read_table(self, rows: int, columns: int, expected: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the next `rows` lines as a table of finite numbers, and the line numbers."""
        parts, numbers, left = [np.empty((0, columns))], [np.empty(0, np.int64)], rows
        while left:
            if self.at_end:
                raise self.error(f"{rows} lines of {expected} were announced, but only {rows - left} follow")
            begin, end = self._next, min(self._next + left, len(self._texts))
            texts, self._next, left = self._texts[begin:end], end, left - (end - begin)
            table = _as_table(texts)
            if not _is_table(table, len(texts), columns):
                bad = [k for k, text in enumerate(texts) if not _is_table(_as_table([text]), 1, columns)]
                k = begin + (bad[0] if bad else 0)
                raise self.error(f"{expected} was expected, but {self._texts[k].strip()[:60]!r} came", self._numbers[k])
            parts.append(table)
            numbers.append(np.array(self._numbers[begin:end]))
        return np.concatenate(parts), np.concatenate(numbers)


def _as_table(texts: list[str]) -> np.ndarray:
    try:
        return np.loadtxt(texts, comments=None, ndmin=2)
    except ValueError:
        return np.empty((0, 0))


def _is_table(table: np.ndarray, rows: int, columns: int) -> bool:
    return table.shape == (rows, columns) and bool(np.isfinite(table).all())


def is_integer(text: str) -> bool:
    """Return True if `text` is a nonnegative integer of at most 18 decimal digits, which fits into 64 bits."""
    return text.isascii() and text.isdigit() and len(text) <= 18
