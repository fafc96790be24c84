"""WordNet's nouns as an ontology: semantic distance between words and a label (Epshteyn and DeJong 2006, section 2).

Words are joined to their senses, the synsets, and synsets to each other: is-a, part-of, and every other relation of
WordNet between nouns.  The distance of two words is the number of links on the shortest path

    word - synset - ... - synset - word,

so that synonyms have distance two, as the paper counts: its examples at distance two from "gun" (artillery, shooter,
ordnance) are the synonyms of its senses.  A path leads through words only at its ends.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from socp import ProgramError

from .ontology import UNREACHABLE, label_words, links_from, undirected_links

ENDINGS = (
    *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
    *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
)
"""Of plural nouns, and what stands for them in the singular (WordNet's rules of detachment, and ves)."""

FILES = ("index.noun", "data.noun", "noun.exc")
NOT_FOUND = (
    "WordNet is not in {where}. Either get it once by python -m nltk.downloader wordnet, or give the folder that holds "
    "nltk's corpora/wordnet (or data.noun itself): WordNet(folder)"
)


class WordNet:
    """The nouns of WordNet.

    Parameters
    ----------
    folder : path, optional
        nltk's data folder, or the folder of WordNet's own files; by default the first of nltk's data folders
        (``nltk.data.path``, which begins with ``$NLTK_DATA``) that has WordNet, as files or as nltk's archive.
    relations : sequence of str, optional
        WordNet's symbols of the links to follow, such as ``"@"`` and ``"@i"`` (hypernyms), ``"#m" "#s" "#p"``
        (holonyms), ``"!"`` (antonyms); a link is followed both ways.  All between nouns by default.

    Raises
    ------
    socp.ProgramError
        WordNet is not there; the message says how to get it.

    Examples
    --------
    Three synsets in WordNet's own format; the real ones are read in the same way.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "data.noun").write_text(
    ...     "00000001 06 n 02 weapon 0 arm 0 000 | used in fighting\\n"
    ...     "00000002 06 n 01 gun 0 001 @ 00000001 n 0000 | fires\\n"
    ...     "00000003 06 n 01 bow 0 001 @ 00000001 n 0000 | shoots\\n")
    >>> _ = (folder / "index.noun").write_text(
    ...     "arm n 1 0 1 0 00000001\\nbow n 1 1 @ 1 0 00000003\\ngun n 1 1 @ 1 0 00000002\\n"
    ...     "weapon n 1 0 1 0 00000001\\n")
    >>> _ = (folder / "noun.exc").write_text("")
    >>> wordnet = WordNet(folder)
    >>> wordnet.distances(["gun", "arms", "bow", "quickly"], "guns")
    array([ 0,  3,  4, -1])
    >>> wordnet.is_noun("bows")
    True
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, relations: Sequence[str] | None = None) -> None:
        index, data, exceptions = _read(folder)
        self._exceptions = {irregular: forms for irregular, *forms in map(str.split, exceptions)}
        offsets, ends = _synsets(data, None if relations is None else frozenset(relations))
        self._synsets_of = _senses(index, offsets)
        self._links = undirected_links(len(offsets), ends)

    def bases(self, word: str) -> tuple[str, ...]:
        """The nouns that a word can be a form of: itself, its irregular and regular singulars."""
        word = word.lower().replace(" ", "_")
        regular = (word[: -len(old)] + new for old, new in ENDINGS if word.endswith(old))
        forms = (word, *self._exceptions.get(word, regular))
        return tuple(dict.fromkeys(form for form in forms if form in self._synsets_of))

    def is_noun(self, word: str) -> bool:
        """Whether WordNet can take a word for a noun."""
        return bool(self.bases(word))

    def senses(self, word: str) -> np.ndarray:
        """The places of the word's synsets, none of a word that is no noun."""
        return np.unique([synset for base in self.bases(word) for synset in self._synsets_of[base]]).astype(np.int64)

    def distances(self, words: Sequence[str], label: str | Iterable[str]) -> np.ndarray:
        """The links between each word and a label, by one breadth-first search.

        Parameters
        ----------
        words : sequence of str
        label : str, or list of str
            A text of several words is taken as one noun ("middle east") when WordNet has it, else as its words; of
            several words the nearest counts.

        Returns
        -------
        array of int, shape (words,)
            0 for the label's own words in any form, 2 for their synonyms, and so on; `models.UNREACHABLE`, which
            is -1, for what is no noun.

        Raises
        ------
        socp.ProgramError
            No word of the label is a noun.
        """
        names = [name for text in label_words(label) for name in self._parts(text)]
        own = {base for name in names for base in self.bases(name)}
        if not own:
            raise ProgramError(f"label {label!r} has no word that is a noun of WordNet")
        between = links_from(self._links, np.concatenate([self.senses(name) for name in names]))
        return np.array([self._distance(word, own, between) for word in words], dtype=np.int64)

    def _parts(self, text: str) -> list[str]:
        return [text] if self.is_noun(text) else text.replace("_", " ").split()

    def _distance(self, word: str, own: set[str], between: np.ndarray) -> int:
        bases = self.bases(word)
        if not own.isdisjoint(bases):
            return 0
        reached = [between[synset] for base in bases for synset in self._synsets_of[base]]
        links = min((distance for distance in reached if distance != UNREACHABLE), default=None)
        return UNREACHABLE if links is None else int(links) + 2


def _synsets(lines: list[str], relations: frozenset[str] | None) -> tuple[dict[str, int], np.ndarray]:
    """The place of each synset by its offset in the file, and the pairs of places that are linked.

    A line:  offset file type  words(hex) {word id}  pointers(dec) {symbol offset part source/target} | gloss
    """
    offsets: dict[str, int] = {}
    pairs: list[tuple[str, str]] = []
    for line in lines:
        fields = line.partition("|")[0].split()
        offset = fields[0]
        offsets[offset] = len(offsets)
        at = 4 + 2 * int(fields[3], 16)
        for p in range(at + 1, at + 1 + 4 * int(fields[at]), 4):
            if fields[p + 2] == "n" and (relations is None or fields[p] in relations):
                pairs.append((offset, fields[p + 1]))
    ends = [(offsets[a], offsets[b]) for a, b in pairs]
    return offsets, np.array(ends, dtype=np.int64).reshape(-1, 2)


def _senses(lines: list[str], offsets: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The places of the synsets of each word: the last fields of its line, as many as the third says."""
    senses = {}
    for line in lines:
        fields = line.split()
        senses[fields[0]] = tuple(offsets[offset] for offset in fields[-int(fields[2]) :])
    return senses


def _read(folder: str | os.PathLike[str] | None) -> list[list[str]]:
    """The lines of the three files, without the licence at their heads."""
    for place in _places(folder):
        for files in (place / "corpora" / "wordnet", place / "wordnet", place):
            if all((files / name).is_file() for name in FILES):
                return [_lines((files / name).read_bytes()) for name in FILES]
        for archive in (place / "corpora" / "wordnet.zip", place / "wordnet.zip", place):
            if archive.is_file() and zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as opened:
                    return [_lines(opened.read(f"wordnet/{name}")) for name in FILES]
    raise ProgramError(NOT_FOUND.format(where=", ".join(map(str, _places(folder))) or "any folder"))


def _places(folder: str | os.PathLike[str] | None) -> list[Path]:
    if folder is not None:
        return [Path(folder)]
    import nltk.data

    return [Path(path) for path in nltk.data.path]


def _lines(content: bytes) -> list[str]:
    return [line for line in content.decode("utf-8").splitlines() if line and not line.startswith("  ")]
