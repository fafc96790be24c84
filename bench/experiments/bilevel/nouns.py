"""Posts of newsgroups as sets of nouns, and the nouns' distances in WordNet to the groups' labels.

Shared by the experiments of Epshteyn and DeJong 2006.  A post is its subject and body; "words which could not be
interpreted as nouns by WordNet" are removed (note 3 of the paper) and nothing else, and a feature is binary: the word
is there or not.  Posts without any noun are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from models import WordNet, semantic_distances
from socp import ProgramError

from ...data import newsgroups, tokenize
from ...data.newsgroups import SOURCE
from ...data.source import data_folder
from ...data.text import cached_tokens
from ...programs.sets import DataError

GROUPS = {
    "atheism": "alt.atheism",
    "guns": "talk.politics.guns",
    "mideast": "talk.politics.mideast",
    "autos": "rec.autos",
}
"""Newsgroup of each label; a label is the last part of the name of its group, and a noun of WordNet."""

Words = tuple[str, ...]
Task = tuple[str, str]
"""Labels of class -1 and of class 1."""


@dataclass(frozen=True)
class NounPosts:
    """Posts as sets of nouns."""

    # shape (posts, nouns)
    X: sp.csr_array
    # shape (posts,): label of the group of each post
    label: np.ndarray
    nouns: np.ndarray
    # for each label, the distances of all nouns to it
    distances: dict[str, np.ndarray]

    def of(self, task: Task, among: np.ndarray) -> np.ndarray:
        """Return the posts of a task among the posts `among`."""
        return among[np.isin(self.label[among], task)]

    def only(self, kept: np.ndarray) -> NounPosts:
        """Return the posts with the nouns in the mask `kept` only, without posts that have none of them."""
        distances = {label: row[kept] for label, row in self.distances.items()}
        X = sp.csr_array(self.X[:, np.flatnonzero(kept)])
        some = np.diff(X.indptr) > 0
        return NounPosts(sp.csr_array(X[some]), self.label[some], self.nouns[kept], distances)

    def signs(self, task: Task, posts: np.ndarray) -> np.ndarray:
        """Return -1 for posts of the first label, 1 for posts of the second."""
        return np.where(self.label[posts] == task[1], 1, -1)

    def distances_of(self, task: Task) -> np.ndarray:
        """Return the distances of the nouns to both labels, shape (2, nouns)."""
        return np.array([self.distances[name] for name in task])


def noun_posts(data: str | None, labels: Words = tuple(GROUPS), relations: Words | None = None) -> NounPosts:
    """Return the posts of all four groups, or of `labels`; `relations` as in `models.WordNet`."""
    posts = newsgroups(data, list(GROUPS.values()))
    texts = (tokenize(f"{a}\n{b}", None, None) for a, b in zip(posts.subjects, posts.bodies))
    tokens = cached_tokens("newsgroups-words", SOURCE, data, texts)
    names = {group: label for label, group in GROUPS.items()}
    label = np.array([names[group] for group in posts.groups])
    return prepare(tokens.counts(), label, tokens.vocabulary, find_wordnet(data, relations), labels)


def prepare(counts: Any, label: np.ndarray, words: np.ndarray, wordnet: WordNet, labels: Words) -> NounPosts:
    """Return the posts of some labels as sets of nouns, from the counts of all words."""
    X = counts[np.isin(label, labels)]
    label = label[np.isin(label, labels)]
    used = np.asarray(X.sum(axis=0)).ravel() > 0.0
    X.data[:] = 1.0
    distances = semantic_distances(wordnet, words.tolist(), labels)
    nouns = np.array([wordnet.is_noun(word) for word in words])
    return NounPosts(X, label, words, dict(zip(labels, distances))).only(used & nouns)


def find_wordnet(data: str | None, relations: Words | None = None, parts: Words = ("noun",)) -> WordNet:
    """Return WordNet from the data folder, else from nltk's own; other arguments as in `models.WordNet`."""
    folder = data_folder(data) / "nltk_data"
    try:
        return WordNet(folder if folder.is_dir() else None, relations, parts)
    except ProgramError as error:
        raise DataError(f"{error}; here nltk_data is also looked for in the data folder {data_folder(data)}") from error
