"""Texts as counts of words, prepared once and kept on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from .source import Folder, Source, cache_folder, locate

ADDRESS = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+"
NUMBER = r"\d+(?:[.,:/]\d+)*"
WORD = r"[A-Za-z]+"
TOKEN = re.compile(f"({ADDRESS})|({NUMBER})|({WORD})")


def tokenize(text: str, address: str | None = "EMAILADDR", number: str | None = "NUMBER") -> list[str]:
    """Return the words of a text in lower case, with one token for all e-mail addresses and one for all numbers.

    If `address` or `number` is None, addresses or numbers are left out.

    Examples
    --------
    >>> tokenize("Write to a.b@c.org before 3:30, Don't wait.")
    ['write', 'to', 'EMAILADDR', 'before', 'NUMBER', 'don', 't', 'wait']
    """
    tokens = []
    for found in TOKEN.finditer(text):
        token = address if found.group(1) else number if found.group(2) else found.group(3).lower()
        if token is not None:
            tokens.append(token)
    return tokens


@functools.cache
def _stem(word: str) -> str:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer().stem(word)


def stem_words(tokens: Iterable[str]) -> list[str]:
    """Return Porter's stems; tokens in capitals, which are placeholders, do not change.

    Examples
    --------
    >>> stem_words(["connections", "relational", "NUMBER"])
    ['connect', 'relat', 'NUMBER']
    """
    return [token if token.isupper() else _stem(token) for token in tokens]


@dataclass(frozen=True)
class Tokens:
    """Texts as indices into a vocabulary."""

    # shape (words,): sorted
    vocabulary: np.ndarray
    # shape (tokens of all texts,): the word of each token, text after text
    words: np.ndarray
    # shape (texts + 1,): where the tokens of each text begin
    start: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Tokens:
        """Return the tokens of texts that were split into words.

        Examples
        --------
        >>> tokens = Tokens.of([["b", "a", "b"], [], ["a"]])
        >>> tokens.vocabulary.tolist(), tokens.words.tolist(), tokens.start.tolist()
        (['a', 'b'], [1, 0, 1, 0], [0, 3, 3, 4])
        """
        texts = list(texts)
        flat = np.array([word for text in texts for word in text], dtype=str)
        vocabulary, words = np.unique(flat, return_inverse=True)
        start = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
        return cls(vocabulary, words.reshape(-1).astype(np.int32), start)

    def counts(self) -> sp.csr_array:
        """Return how often each word is in each text, shape (texts, words)."""
        ones = np.ones(self.words.size)
        shape = (self.start.size - 1, self.vocabulary.size)
        matrix = sp.csr_array((ones, self.words.astype(np.int64), self.start), shape=shape)
        matrix.sum_duplicates()
        return matrix


def cached_tokens(name: str, source: Source, data: Folder, texts: Iterable[Sequence[str]]) -> Tokens:
    """Return the tokens of texts, which are read once for a source and kept in the user's cache.

    The file's name has the checksum of the source and of this module's text, so that other data or other code
    do not find it.
    """
    digest = hashlib.sha256(Path(__file__).read_bytes())
    with locate(source, data).open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    path = cache_folder() / "tokens" / f"{name}-{digest.hexdigest()[:16]}.npz"
    if path.is_file():
        with np.load(path) as kept:
            return Tokens(kept["vocabulary"], kept["words"], kept["start"])
    tokens = Tokens.of(texts)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.npz")
    np.savez_compressed(unfinished, vocabulary=tokens.vocabulary, words=tokens.words, start=tokens.start)
    os.replace(unfinished, path)
    return tokens
