"""Which columns of L become one panel.

A panel has neighbouring columns of L, w of them over the same m rows below: a w by w triangle and an m by w rectangle.
Columns of a fundamental supernode have the same rows by themselves.  A panel and the column that is its parent are
merged, at the price of explicit zeros, when both together are expected to take less time than the two:

    time(w, m) = FRONT + ENTRY (w w / 2 + w m) + UPDATE m (m + 1) / 2 + FLOP (operations),
    (w, m) is joined to a column over m2 rows when  time(w + 1, m2) < time(w, m) + time(1, m2).
"""

from __future__ import annotations

from ....compiled.kernels import deferred_kernel, leaf
from ....compiled.signatures import Ints
from .analysis import Analysis

# The time of a panel in one factorization and three solves, in nanoseconds: a fit to matrices of many kinds
FRONT = 238.0  # calls and loops
ENTRY = 15.3  # an entry of L
UPDATE = 2.55  # an entry of its update: subtracted at its place in the panel of an ancestor
FLOP = 0.017


@leaf
def panel_flops(width: int, height: int) -> float:
    """Floating-point operations of a panel: the sum of c (c + 2) for c = height ... height + width - 1."""
    a, b = width + height - 1.0, height - 1.0
    squares = (a * (a + 1.0) * (2.0 * a + 1.0) - b * (b + 1.0) * (2.0 * b + 1.0)) / 6.0
    return squares + a * (a + 1.0) - b * (b + 1.0)


@leaf
def panel_time(width: int, height: int) -> float:
    """The model of the time of a panel."""
    entries, update = width * (0.5 * width + height), 0.5 * height * (height + 1.0)
    return FRONT + ENTRY * entries + UPDATE * update + FLOP * panel_flops(width, height)


@deferred_kernel
def amalgamate(analysis: Analysis, first: Ints) -> int:
    """Find the panels, of the columns first[k]:first[k + 1]; return their number.

    Every column begins a panel.  The panel before it joins where it ends in a child of the column and the model gains.
    """
    parent, counts, count = analysis.parent, analysis.counts, 0
    for j in range(parent.size):
        begin = j
        if j > 0 and parent[j - 1] == j:
            width = j - first[count - 1]
            apart = panel_time(width, counts[j - 1]) + panel_time(1, counts[j])
            if panel_time(width + 1, counts[j]) < apart:
                count -= 1
                begin = first[count]
        first[count] = begin
        count += 1
    first[count] = parent.size
    return count
