"""How much memory there is left, asked before much of it is taken; that what is freed is kept; and pools of it.

Linux hands out more than it has and ends the process that comes to use it: an allocation that succeeds says nothing.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

LARGEST_KEPT = 2**25 - 2**16  # bytes of a large block of memory: glibc adapts to blocks of up to 32 MiB
FREE = "MemAvailable:"
LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


@functools.cache
def keep_freed_memory() -> None:
    """Let malloc keep what a solver frees for the next one, up to 64 MiB.

    What is given back to the system and taken again is touched for the first time again, page by page, which costs a
    program of some milliseconds a third of its time.  glibc gives back what lies beyond a threshold that it adapts to
    the largest block that was ever freed.  Here one of the largest size that counts is freed, which was never touched.
    Other systems are left alone, and so is a malloc whose thresholds are set in the environment.
    """
    try:
        np.empty(LARGEST_KEPT, np.uint8)
    except MemoryError:  # a small address space
        return


def check_room(size: float, what: str) -> None:
    """Raise MemoryError if `what`, of `size` bytes, does not fit into memory.

    Examples
    --------
    >>> check_room(1e18, "a factor of 10^17 entries")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    MemoryError: a factor of 10^17 entries takes 1e+09 GB, and ... GB of memory are free
    """
    if size < LARGEST_KEPT:
        return
    free = free_memory()
    if size > free:
        raise MemoryError(f"{what} takes {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB of memory are free")


def free_memory() -> float:
    """Return the bytes that the machine and the container have left: infinity where the system does not say."""
    return min(_of_the_machine(), _of_the_group())


class Pool(threading.local):
    """Workspaces that nobody uses any more, for the next who needs one of their kind in this thread.

    Who takes one has it alone.  Kinds that were left first go first, once there is too much.

    Attributes
    ----------
    kept : dict of list
        (size, workspace) of each, by kind.
    words, most_words : int
        Their size, and the largest, in words of eight bytes.

    Examples
    --------
    >>> pool = Pool()
    >>> pool.leave("ten variables", [0.0] * 10, words=10)
    >>> print(len(pool.take("ten variables")), pool.take("ten variables"))
    10 None
    """

    most_words = 2**21

    def __init__(self) -> None:
        self.words, self.kept = 0, dict[Hashable, list[tuple[int, Any]]]()

    def take(self, kind: Hashable) -> Any:
        """Return a workspace of this kind, which is the caller's now; None where there is none."""
        found = self.kept.pop(kind, None)
        if not found:
            return None
        words, workspace = found.pop()
        if found:
            self.kept[kind] = found
        self.words -= words
        return workspace

    def leave(self, kind: Hashable, workspace: Any, words: int) -> None:
        """Leave a workspace of so many words."""
        self.kept.setdefault(kind, []).append((words, workspace))
        self.words += words
        while self.words > self.most_words and self.kept:
            self.take(next(iter(self.kept)))

    def clear(self) -> None:
        """Forget all of them."""
        self.kept.clear()
        self.words = 0


def _of_the_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(FREE))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows, which never hands out more than it has
        return math.inf


def _of_the_group(folder: Path = Path("/sys/fs/cgroup")) -> float:
    """Return the bytes that a container leaves."""
    left = math.inf
    for limit, used in LIMITS:
        try:
            left = min(left, float(int((folder / limit).read_text()) - int((folder / used).read_text())))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return left
