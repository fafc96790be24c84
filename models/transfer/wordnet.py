"""WordNet as an ontology: semantic distance between words and a label (Epshteyn and DeJong 2006, section 2).

Words are joined to their senses, the synsets, and synsets to each other: is-a, part-of, and every other relation of
WordNet between nouns (or verbs, if chosen).  The distance of two words is the number of links on the shortest path

    word - synset - ... - synset - word,

so that synonyms have distance two, as the paper counts: its examples at distance two from "gun" (artillery, shooter,
ordnance) are the synonyms of its senses.  A path leads through words only at its ends.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from socp import ProgramError

from .ontology import UNREACHABLE, label_words, links_from, undirected_links

ENDINGS = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "verb": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", "")),
        *(("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    ),
}
"""Endings of inflected words and their replacements in the base form: WordNet's rules of detachment, and ves."""

NOT_FOUND = (
    "WordNet is not in {where}. Either get it once by python -m nltk.downloader wordnet, or give the folder that holds "
    "nltk's corpora/wordnet (or data.noun itself): WordNet(folder)"
)


class WordNet:
    """The nouns of WordNet, or its verbs, or both.

    Parameters
    ----------
    folder : path, optional
        nltk's data folder, or the folder of WordNet's own files; by default the first of nltk's data folders
        (``nltk.data.path``, which begins with ``$NLTK_DATA``) that has WordNet, as files or as nltk's archive.
    relations : sequence of str, optional
        WordNet's symbols of the links to follow, such as ``"@"`` and ``"@i"`` (hypernyms), ``"#m" "#s" "#p"``
        (holonyms), ``"!"`` (antonyms); a link is followed both ways.  All between words of `parts` by default.
    parts : sequence of {"noun", "verb"}, default ("noun",)
        The parts of speech.

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

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        relations: Sequence[str] | None = None,
        parts: Sequence[str] = ("noun",),
    ) -> None:
        if isinstance(parts, str) or not parts or not set(parts) <= set(ENDINGS):
            raise ProgramError(f"parts must be some of {', '.join(map(repr, ENDINGS))}, but {parts!r} came")
        files = _read(folder, parts)
        lines = {part: map(str.split, files[part].exceptions) for part in parts}
        self._exceptions = {part: {irregular: bases for irregular, *bases in lines[part]} for part in parts}
        offsets, ends = _synsets(files, None if relations is None else frozenset(relations))
        self._synsets_of = {part: _senses(files[part].words, offsets, part[0]) for part in parts}
        self._links = undirected_links(len(offsets), ends)

    def bases(self, word: str) -> tuple[str, ...]:
        """Return the words of WordNet that a word can be a form of: itself, its irregular and regular base forms."""
        return tuple(dict.fromkeys(base for base, _ in self._forms(word)))

    def _forms(self, word: str) -> list[tuple[str, str]]:
        """Return the base forms of a word with their parts of speech."""
        word = word.lower().replace(" ", "_")
        found = []
        for part, known in self._synsets_of.items():
            regular = (word[: -len(old)] + new for old, new in ENDINGS[part] if word.endswith(old))
            forms = dict.fromkeys((word, *self._exceptions[part].get(word, regular)))
            found += [(form, part) for form in forms if form in known]
        return found

    def is_noun(self, word: str) -> bool:
        """Return True if WordNet has a noun that `word` can be a form of."""
        return any(part == "noun" for _, part in self._forms(word))

    def senses(self, word: str) -> np.ndarray:
        """Return the indices of the word's synsets; an empty array for an unknown word."""
        found = [synset for base, part in self._forms(word) for synset in self._synsets_of[part][base]]
        return np.unique(np.array(found, dtype=np.int64))

    def distances(self, words: Sequence[str], label: str | Iterable[str]) -> np.ndarray:
        """Return the number of links between each word and a label.

        Parameters
        ----------
        words : sequence of str
        label : str, or list of str
            A text of several words is taken as one ("middle east") when WordNet has it, else as its words; of
            several words the nearest counts.

        Returns
        -------
        array of int, shape (words,)
            0 for the label's own words in any form, 2 for their synonyms, and so on; `models.UNREACHABLE`, which
            is -1, for words that are unknown or have no path.

        Raises
        ------
        socp.ProgramError
            No word of the label is known.
        """
        names = [name for text in label_words(label) for name in self._parts(text)]
        own = {base for name in names for base in self.bases(name)}
        if not own:
            raise ProgramError(f"label {label!r} has no word that is a {' or '.join(self._synsets_of)} of WordNet")
        between = links_from(self._links, np.concatenate([self.senses(name) for name in names]))
        return np.array([self._distance(word, own, between) for word in words], dtype=np.int64)

    def _parts(self, text: str) -> list[str]:
        return [text] if self._forms(text) else text.replace("_", " ").split()

    def _distance(self, word: str, own: set[str], between: np.ndarray) -> int:
        forms = self._forms(word)
        if any(base in own for base, _ in forms):
            return 0
        reached = [between[synset] for base, part in forms for synset in self._synsets_of[part][base]]
        links = min((distance for distance in reached if distance != UNREACHABLE), default=None)
        return UNREACHABLE if links is None else int(links) + 2


def _synsets(
    files: dict[str, _Files], relations: frozenset[str] | None
) -> tuple[dict[tuple[str, str], int], np.ndarray]:
    """Return the index of each synset by part of speech and offset, and the pairs of linked indices.

    Format of a line:  offset file type  words(hex) {word id}  pointers(dec) {symbol offset part source/target} | gloss
    """
    offsets: dict[tuple[str, str], int] = {}
    pairs = []
    for part in files:
        for line in files[part].synsets:
            fields = line.partition("|")[0].split()
            here = (part[0], fields[0])
            offsets[here] = len(offsets)
            at = 4 + 2 * int(fields[3], 16)
            for p in range(at + 1, at + 1 + 4 * int(fields[at]), 4):
                if relations is None or fields[p] in relations:
                    pairs.append((here, (fields[p + 2], fields[p + 1])))
    ends = [(offsets[a], offsets[b]) for a, b in pairs if b in offsets]
    return offsets, np.array(ends, dtype=np.int64).reshape(-1, 2)


def _senses(lines: list[str], offsets: dict[tuple[str, str], int], part: str) -> dict[str, tuple[int, ...]]:
    """Return the indices of the synsets of each word: the last fields of its line, as many as its third field says."""
    senses = {}
    for line in lines:
        fields = line.split()
        senses[fields[0]] = tuple(offsets[part, offset] for offset in fields[-int(fields[2]) :])
    return senses


class _Files(NamedTuple):
    """Lines of the files of a part of speech."""

    words: list[str]
    synsets: list[str]
    exceptions: list[str]


def _read(folder: str | os.PathLike[str] | None, parts: Sequence[str]) -> dict[str, _Files]:
    """Read the files of all parts of speech, without the licence at their heads."""
    names = {part: (f"index.{part}", f"data.{part}", f"{part}.exc") for part in parts}
    for place in _places(folder):
        for files in (place / "corpora" / "wordnet", place / "wordnet", place):
            if all((files / name).is_file() for part in parts for name in names[part]):
                return {part: _Files(*(_lines((files / name).read_bytes()) for name in names[part])) for part in parts}
        for archive in (place / "corpora" / "wordnet.zip", place / "wordnet.zip", place):
            if archive.is_file() and zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as opened:
                    return {
                        part: _Files(*(_lines(opened.read(f"wordnet/{name}")) for name in names[part]))
                        for part in parts
                    }
    raise ProgramError(NOT_FOUND.format(where=", ".join(map(str, _places(folder))) or "any folder"))


def _places(folder: str | os.PathLike[str] | None) -> list[Path]:
    if folder is not None:
        return [Path(folder)]
    import nltk.data

    return [Path(path) for path in nltk.data.path]


def _lines(content: bytes) -> list[str]:
    return [line for line in content.decode("utf-8").splitlines() if line and not line.startswith("  ")]
