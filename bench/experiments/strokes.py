"""The strokes that tell two handwritten digits apart, as masks of pixels: the explanations of `easvm_digits`.

A prototype says which strokes a digit has; essential to tell two digits apart are the strokes that one of them has and
the other has not.  Important are the pixels near one of these.
"""

from __future__ import annotations

import numpy as np

SIDE = 8
WIDTH = 1.0
"""Pixels whose centres are at most so far from a stroke, in pixels, belong to it."""

# From (row, column) to (row, column), where the digits' mean images have them on the grid of 8 x 8 pixels.
STROKES: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "top": ((0.5, 2.0), (0.5, 5.0)),
    "middle": ((3.5, 2.0), (3.5, 5.0)),
    "bottom": ((6.5, 2.0), (6.5, 5.0)),
    "upper left": ((0.5, 2.0), (3.5, 2.0)),
    "lower left": ((3.5, 2.0), (6.5, 2.0)),
    "upper right": ((0.5, 5.0), (3.5, 5.0)),
    "lower right": ((3.5, 5.0), (6.5, 5.0)),
    "upright": ((0.5, 3.5), (6.5, 3.5)),
    "slant": ((3.5, 5.0), (6.5, 2.0)),
    "long slant": ((0.5, 5.0), (6.5, 2.5)),
}

PROTOTYPES: tuple[frozenset[str], ...] = (
    frozenset({"top", "upper left", "lower left", "bottom", "lower right", "upper right"}),
    frozenset({"upright"}),
    frozenset({"top", "upper right", "slant", "bottom"}),
    frozenset({"top", "upper right", "middle", "lower right", "bottom"}),
    frozenset({"upper left", "middle", "upper right", "lower right"}),
    frozenset({"top", "upper left", "middle", "lower right", "bottom"}),
    frozenset({"upper left", "lower left", "middle", "lower right", "bottom"}),
    frozenset({"top", "long slant"}),
    frozenset({"top", "upper left", "upper right", "middle", "lower left", "lower right", "bottom"}),
    frozenset({"top", "upper left", "upper right", "middle", "lower right"}),
)
"""The strokes of each digit."""


def essential(one: int, other: int) -> frozenset[str]:
    """The strokes that one digit has and the other has not.

    Examples
    --------
    >>> sorted(essential(0, 8)), sorted(essential(5, 6))
    (['middle'], ['lower left', 'top'])
    """
    return PROTOTYPES[one] ^ PROTOTYPES[other]


def mask(strokes: frozenset[str]) -> np.ndarray:
    """Which pixels are near one of some strokes, shape (64,), row after row.

    Examples
    --------
    >>> print(mask(frozenset({"middle"})).reshape(8, 8)[2:6].astype(int))
    [[0 0 0 0 0 0 0 0]
     [0 0 1 1 1 1 0 0]
     [0 0 1 1 1 1 0 0]
     [0 0 0 0 0 0 0 0]]
    """
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    pixels = np.column_stack([rows, columns]).astype(np.float64)
    near = np.zeros(SIDE * SIDE, dtype=bool)
    for name in strokes:
        start, end = (np.array(point) for point in STROKES[name])
        along = np.clip((pixels - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
        near |= np.linalg.norm(pixels - start - along[:, None] * (end - start), axis=1) <= WIDTH
    return near
