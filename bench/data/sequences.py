"""DNA: promoters of E. coli, and splice junctions of primates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .source import Folder, Source, check, locate, read_rows

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/molecular-biology"
PROMOTERS = Source(
    "uci/promoters.data", f"{UCI}/promoter-gene-sequences/promoters.data", "E. coli promoters (106 sequences)"
)
SPLICE = Source("uci/splice.data", f"{UCI}/splice-junction-gene-sequences/splice.data", "primate splice junctions")
BASES = "ACGT"
AMBIGUOUS = {"D": "AGT", "N": "ACGT", "R": "AG", "S": "CG"}
"""Letters for a base that is not known exactly, with the possible bases."""


@dataclass(frozen=True)
class Sequences:
    """Sequences of bases of one length."""

    # in upper case: A, C, G, T and the letters of `AMBIGUOUS`
    strings: list[str]
    # shape (sequences,)
    labels: np.ndarray

    def codes(self) -> np.ndarray:
        """Return 0 to 3 for A, C, G, T and -1 for a letter that is not known, shape (sequences, length)."""
        table = np.full(256, -1, dtype=np.int64)
        table[[ord(base) for base in BASES]] = np.arange(4)
        return np.array([table[np.frombuffer(string.encode("ascii"), np.uint8)] for string in self.strings])


def promoters(data: Folder = None) -> Sequences:
    """Return 106 sequences of 57 bases, 50 before to 6 after the start of transcription; labels "+" (promoter), "-"."""
    return _read(PROMOTERS, data, 57, {"+", "-"})


def splice_junctions(data: Folder = None) -> Sequences:
    """Return 3,190 sequences of 60 bases around a possible junction; labels "EI" (donor), "IE" (acceptor), "N"."""
    return _read(SPLICE, data, 60, {"EI", "IE", "N"})


def _read(source: Source, data: Folder, length: int, classes: set[str]) -> Sequences:
    path = locate(source, data)
    rows = read_rows(path)
    if rows and rows[0][0] not in classes:  # some copies have a row of names
        rows = rows[1:]
    strings = [row[-1].upper() for row in rows]
    letters = set(BASES) | set(AMBIGUOUS)
    good = bool(rows) and all(
        len(row) == 3 and row[0] in classes and len(string) == length and set(string) <= letters
        for row, string in zip(rows, strings)
    )
    check(good, path, f"lines of a class of {sorted(classes)}, a name and {length} bases", "something else")
    return Sequences(strings, np.array([row[0] for row in rows]))
