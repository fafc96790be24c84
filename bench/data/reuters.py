"""Reuters-21578 with the ModApte split: 9,603 articles to train on, 3,299 to test."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

import numpy as np

from .source import Folder, Source, check, locate, read_archive

SOURCE = Source(
    "reuters21578.tar.gz",
    "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
    "Reuters-21578 (22 SGML files)",
)
ARTICLE = re.compile(r"<REUTERS([^>]*)>(.*?)</REUTERS>", re.DOTALL)
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)


@dataclass(frozen=True)
class Reuters:
    """Articles in the order of the files."""

    # topics of each article, possibly none
    topics: list[frozenset[str]]
    # shape (articles,): True for the training part of the split
    is_train: np.ndarray
    titles: list[str]
    bodies: list[str]

    def has(self, topic: str) -> np.ndarray:
        """Return a mask of the articles that have `topic`, shape (articles,)."""
        return np.array([topic in topics for topics in self.topics])


def reuters(data: Folder = None) -> Reuters:
    """Return the articles of the ModApte split: TOPICS is "YES", LEWISSPLIT "TRAIN" or "TEST"."""
    path = locate(SOURCE, data)
    topics, is_train, titles, bodies = [], [], [], []
    for _, text in sorted(read_archive(path, lambda name: name.endswith(".sgm"))):
        for attributes, article in ARTICLE.findall(text):
            split = _attribute(attributes, "LEWISSPLIT")
            if _attribute(attributes, "TOPICS") != "YES" or split not in ("TRAIN", "TEST"):
                continue
            listed = TOPICS.search(article)
            topics.append(frozenset(re.findall(r"<D>(.*?)</D>", listed.group(1)) if listed else ()))
            is_train.append(split == "TRAIN")
            titles.append(_element(article, "TITLE"))
            bodies.append(_element(article, "BODY"))
    check(bool(topics), path, "articles in <REUTERS> elements of .sgm files", "none")
    return Reuters(topics, np.array(is_train), titles, bodies)


def _attribute(attributes: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', attributes)
    return found.group(1) if found else ""


def _element(article: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", article, re.DOTALL)
    return html.unescape(found.group(1)).strip() if found else ""
