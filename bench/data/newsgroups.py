"""20 Newsgroups, the by-date split: posts with their subject and body."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .source import Folder, Source, check, locate, read_archive

SOURCE = Source(
    "20news-bydate.tar.gz",
    "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
    "20 Newsgroups (by-date split, 18,846 posts)",
)


@dataclass(frozen=True)
class Newsgroups:
    """Posts in the order of their groups and numbers."""

    # shape (posts,): the group of each post, such as "alt.atheism"
    groups: np.ndarray
    # shape (posts,): True for the training part of the split, which is the earlier one
    is_train: np.ndarray
    # subjects, bodies: subject line of the header, and text after the header
    subjects: list[str]
    bodies: list[str]


def newsgroups(data: Folder = None, groups: Collection[str] | None = None) -> Newsgroups:
    """Return the posts of the newsgroups `groups`, or of all."""
    path = locate(SOURCE, data)
    posts = []
    for name, text in read_archive(path, lambda name: groups is None or Path(name).parent.name in groups):
        part, group, number = name.split("/")[-3:]
        posts.append((group, number, part.endswith("train"), text))
    found = {group for group, *_ in posts}
    missing = sorted(set(groups) - found) if groups is not None else []
    check(bool(posts) and not missing, path, f"posts of {', '.join(missing) or 'newsgroups'}", "none of them")
    posts.sort()
    texts = [split_post(text) for *_, text in posts]
    return Newsgroups(
        np.array([group for group, *_ in posts]),
        np.array([is_train for *_, is_train, _ in posts]),
        [subject for subject, _ in texts],
        [body for _, body in texts],
    )


def split_post(text: str) -> tuple[str, str]:
    """Return the subject and the body of a post.

    Examples
    --------
    >>> split_post("From: me@here\\nSubject: Re: cars\\n\\nBlue ones.")
    ('Re: cars', 'Blue ones.')
    """
    header, _, body = text.partition("\n\n")
    subject = re.search(r"^Subject:[ \t]*(.*(?:\n[ \t].*)*)", header, re.MULTILINE | re.IGNORECASE)
    return subject.group(1).strip() if subject else "", body
