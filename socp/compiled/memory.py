"""Free memory, checked before large allocations; freed memory, kept for the next solver; and pools of workspaces.

Linux allocates more than it has and kills the process that uses it: a successful allocation proves nothing.
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

LARGEST_KEPT = 2**25 - 2**16  # bytes, just below the 32 MiB up to which glibc adapts its threshold to freed blocks
FREE = "MemAvailable:"
LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


@functools.cache
def keep_freed_memory() -> None:
    """Let malloc keep memory that a solver frees for the next solver, up to 64 MiB.

    Memory that was returned to the system is mapped again page by page, which costs a program of some milliseconds a
    third of its time.  glibc returns memory beyond a threshold, which it adapts to the largest block that was ever
    freed: here an untouched block of the largest size that counts is freed.  This has no effect on other systems, or if
    the environment sets the thresholds of malloc.
    """
    try:
        np.empty(LARGEST_KEPT, np.uint8)
    except MemoryError:  # The address space is too small.
        return


def scattered(count: int) -> np.ndarray:
    """Return an array of `count` numbers of which only the small pages that are touched take memory and time.

    A large `numpy.empty` asks Linux for pages of 2 MiB, each of which is cleared when one of its numbers is written.

    Examples
    --------
    >>> scattered(3).shape
    (3,)
    """
    if 8 * count <= LARGEST_KEPT or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.empty(count)
    pages = mmap.mmap(-1, 8 * count)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages)


def check_memory(size: float, what: str) -> None:
    """Raise MemoryError if `what`, of `size` bytes, does not fit into memory.

    Examples
    --------
    >>> check_memory(1e18, "a factor of 10^17 entries")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    MemoryError: a factor of 10^17 entries takes 1e+09 GB, and ... GB of memory are free
    """
    if size < LARGEST_KEPT:
        return
    free = free_memory()
    if size > free:
        raise MemoryError(f"{what} takes {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB of memory are free")


def free_memory() -> float:
    """Return the bytes that the machine and the container have left; infinity if the system does not say."""
    return min(_of_the_machine(), _of_the_group())


class Pool(threading.local):
    """Pool of free workspaces by kind, one for each thread.

    A workspace that is taken belongs to the caller.  Beyond `most_words`, the kinds that were added first are dropped.

    Attributes
    ----------
    kept : dict of list
        Lists of (size, workspace), by kind.
    words, most_words : int
        Total size of the workspaces, and its limit, in words of eight bytes.

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
        """Remove and return a workspace of this kind; return None if the pool has none."""
        found = self.kept.pop(kind, None)
        if not found:
            return None
        words, workspace = found.pop()
        if found:
            self.kept[kind] = found
        self.words -= words
        return workspace

    def leave(self, kind: Hashable, workspace: Any, words: int) -> None:
        """Add a workspace of `words` words to the pool, and drop the first kinds if the pool is too large."""
        self.kept.setdefault(kind, []).append((words, workspace))
        self.words += words
        while self.words > self.most_words and self.kept:
            self.take(next(iter(self.kept)))

    def clear(self) -> None:
        """Drop all workspaces."""
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
    except (AttributeError, ValueError, OSError):  # Windows refuses allocations beyond its memory.
        return math.inf


def _of_the_group(folder: Path = Path("/sys/fs/cgroup")) -> float:
    """Return the bytes that the container has left; infinity if it has no limit."""
    left = math.inf
    for limit, used in LIMITS:
        try:
            left = min(left, float(int((folder / limit).read_text()) - int((folder / used).read_text())))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return left
