"""Whether kernels can call each other through symbols with the numba that is installed: tried with trivial ones.

The calls lean on numba's calling convention and on how it holds LLVM's modules, which another version may change, and
a process may end by it.  So they are tried in a process of their own, once for each version.
"""

from __future__ import annotations

import functools
import os
import sys

import numpy as np

from .kernels import Kernel, deferred, inner, kernel
from .signatures import Floats


@inner
def probe_sum(x: Floats, scale: float) -> tuple[float, int]:
    """(scale sum x, its size)."""
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return scale * total, x.size


@deferred
def probe_size(x: Floats) -> int:
    """The size of x."""
    return x.size


@kernel
def probe(x: Floats) -> float:
    """2 sum x + twice the size of x, by calls."""
    total, size = probe_sum(x, 2.0)
    return total + size + probe_size(x)


KERNELS: list[Kernel] = [probe_sum, probe_size, probe]


@functools.cache
def symbols_wanted() -> bool:
    """False where ``CENTRALPATH_LINKED=1`` asks for kernels that are linked into each other."""
    return os.environ.get("CENTRALPATH_LINKED", "0") in ("", "0")


def works() -> bool:
    """Whether the trivial kernels, compiled and loaded in this process, have the right answer."""
    for each in KERNELS:
        if not each.address_or_zero:
            each.load(each.compile())
    return bool(probe(np.ones(3)) == 12.0)


def main() -> None:
    """End this process with 0 where they do."""
    sys.exit(0 if works() else 1)
