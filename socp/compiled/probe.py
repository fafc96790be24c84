"""Kernels that call each other, tried in a process of their own with a numba that `build` does not know."""

from __future__ import annotations

import sys

import numpy as np

from .kernels import inner, kernel
from .signatures import Floats


@inner
def probe_sum(x: Floats, scale: float) -> tuple[float, int]:
    """Return scale * sum(x) and the size of x."""
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return scale * total, x.size


@kernel
def probe(x: Floats) -> float:
    """Return 2 * sum(x) + the size of x, by a call of `probe_sum`."""
    total, size = probe_sum(x, 2.0)
    return total + size


def main() -> None:
    """End this process with 0 if the kernels compile, load and answer."""
    for each in (probe_sum, probe):
        each.load(each.compile())
    sys.exit(0 if probe(np.ones(3)) == 9.0 else 1)
