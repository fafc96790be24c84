"""Series of points: hand movements of the Brazilian sign language, and spoken Japanese vowels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .source import Folder, Source, check, locate, read_rows

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
LIBRAS = Source("uci/movement_libras.data", f"{UCI}/libras/movement_libras.data", "Libras hand movements")
VOWELS_TRAIN = Source("uci/ae.train", f"{UCI}/JapaneseVowels-mld/ae.train", "Japanese vowels, the part to train on")
VOWELS_TEST = Source("uci/ae.test", f"{UCI}/JapaneseVowels-mld/ae.test", "Japanese vowels, the part to test on")
FRAMES, MOVEMENTS = 45, 15
TRAIN_UTTERANCES = (30,) * 9
TEST_UTTERANCES = (31, 35, 88, 44, 29, 24, 40, 50, 29)
"""Number of utterances of each speaker, in the order of the file."""
COEFFICIENTS = 12


@dataclass(frozen=True)
class Series:
    """Series of points and their labels."""

    # arrays of shapes (points, dimensions)
    series: list[np.ndarray]
    # shape (series,)
    labels: np.ndarray


def libras(data: Folder = None) -> Series:
    """Return 360 movements of 15 kinds (labels 1 to 15), each 45 points in the unit square."""
    path = locate(LIBRAS, data)
    parts = read_rows(path)
    if parts and not _is_number(parts[0][0]):  # some copies have a row of names
        parts = parts[1:]
    rows = _numbers(parts, 2 * FRAMES + 1, path)
    labels = rows[:, -1].astype(np.int64)
    good = set(labels) <= set(range(1, MOVEMENTS + 1))
    check(good, path, f"labels 1 to {MOVEMENTS} at the end of each line", "others")
    points = rows[:, :-1].reshape(len(rows), FRAMES, 2)
    return Series(list(points), labels)


def japanese_vowels(data: Folder = None) -> Series:
    """Return utterances of two vowels by nine speakers (labels 1 to 9): 7 to 29 frames of 12 cepstrum coefficients."""
    train, train_labels = _utterances(locate(VOWELS_TRAIN, data), TRAIN_UTTERANCES)
    test, test_labels = _utterances(locate(VOWELS_TEST, data), TEST_UTTERANCES)
    return Series(train + test, np.concatenate([train_labels, test_labels]))


def _utterances(path: Path, counts: tuple[int, ...]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the blocks between lines that are blank or, in newer copies, hold only ones, and their speakers."""
    blocks: list[list[list[str]]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if set(line.split()) - {"1.0", "1.00"}:
            blocks[-1].append(line.split())
        elif blocks[-1]:
            blocks.append([])
    series = [_numbers(block, COEFFICIENTS, path) for block in blocks if block]
    check(len(series) == sum(counts), path, f"{sum(counts)} utterances", str(len(series)))
    return series, np.repeat(np.arange(1, len(counts) + 1), counts)


def _numbers(rows: list[list[str]], columns: int, path: Path) -> np.ndarray:
    wrong = [row for row in rows if len(row) != columns or not all(map(_is_number, row))]
    check(bool(rows) and not wrong, path, f"lines of {columns} numbers", repr(wrong[0])[:60] if wrong else "nothing")
    return np.array(rows, dtype=np.float64)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
