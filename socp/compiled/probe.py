"""Whether kernels can call each other through symbols with the numba that is installed: tried once, with trivial ones.

The calls lean on numba's calling convention and on how it holds LLVM's modules, which another version may change.
"""

from __future__ import annotations

import functools
import os

from .kernels import Kernel, inner, kernel
from .signatures import Floats


@inner
def probe_sum(x: Floats, scale: float) -> tuple[float, int]:
    """(scale sum x, its size)."""
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return scale * total, x.size


@kernel
def probe(x: Floats) -> float:
    """2 sum x + the size of x, by a call."""
    total, size = probe_sum(x, 2.0)
    return total + size


KERNELS: list[Kernel] = [probe_sum, probe]


@functools.cache
def symbols_wanted() -> bool:
    """False where ``CENTRALPATH_LINKED=1`` asks for kernels that are linked into each other."""
    return os.environ.get("CENTRALPATH_LINKED", "0") in ("", "0")
