"""The strokes that tell two characters apart, for `easvm_digits`: of the digits, and of drawn characters.

A prototype says which strokes a character has; essential to tell two apart are the strokes that one of them has and the
other has not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Stroke = tuple[float, float, float, float]
"""Row and column of one end, row and column of the other."""
WIDTH = 1.0
"""Pixels whose centres are at most so far from a stroke, in pixels, belong to it."""

# From (row, column) to (row, column), where the digits' mean images have them on the grid of 8 x 8 pixels.
STROKES: dict[str, Stroke] = {
    "top": (0.5, 2.0, 0.5, 5.0),
    "middle": (3.5, 2.0, 3.5, 5.0),
    "bottom": (6.5, 2.0, 6.5, 5.0),
    "upper left": (0.5, 2.0, 3.5, 2.0),
    "lower left": (3.5, 2.0, 6.5, 2.0),
    "upper right": (0.5, 5.0, 3.5, 5.0),
    "lower right": (3.5, 5.0, 6.5, 5.0),
    "upright": (0.5, 3.5, 6.5, 3.5),
    "slant": (3.5, 5.0, 6.5, 2.0),
    "long slant": (0.5, 5.0, 6.5, 2.5),
}

DIGITS: tuple[frozenset[str], ...] = (
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


# Ten characters on 16 x 16 pixels in the paper's three groups: within a group they share all strokes but one or two.
DRAWN_STROKES: dict[str, Stroke] = {
    "top bar": (2.0, 3.0, 2.0, 12.0),
    "middle bar": (7.5, 3.0, 7.5, 12.0),
    "bottom bar": (13.0, 3.0, 13.0, 12.0),
    "left stem": (2.0, 3.0, 13.0, 3.0),
    "middle stem": (2.0, 7.5, 13.0, 7.5),
    "right stem": (2.0, 12.0, 13.0, 12.0),
    "falling": (2.0, 3.0, 13.0, 12.0),
    "rising": (13.0, 3.0, 2.0, 12.0),
}
DRAWN: tuple[frozenset[str], ...] = (
    frozenset({"top bar", "middle bar", "bottom bar"}),
    frozenset({"top bar", "middle bar", "bottom bar", "middle stem"}),
    frozenset({"top bar", "middle bar", "bottom bar", "left stem"}),
    frozenset({"top bar", "middle bar", "bottom bar", "right stem"}),
    frozenset({"left stem", "right stem", "top bar"}),
    frozenset({"left stem", "right stem", "middle bar"}),
    frozenset({"left stem", "right stem", "bottom bar"}),
    frozenset({"falling", "rising"}),
    frozenset({"falling", "rising", "middle bar"}),
    frozenset({"falling", "rising", "middle stem"}),
)


@dataclass(frozen=True)
class Alphabet:
    """Characters by their strokes, in groups of similar ones.

    Attributes
    ----------
    side : int
        Rows and columns of an image.
    strokes : dict
    prototypes : tuple
        The names of the strokes of each character.
    groups : tuple
        Characters of one group are hard to tell apart.
    """

    side: int
    strokes: dict[str, Stroke]
    prototypes: tuple[frozenset[str], ...]
    groups: tuple[tuple[int, ...], ...]

    def essential(self, one: int, other: int) -> list[str]:
        """The strokes that one character has and the other has not."""
        return sorted(self.prototypes[one] ^ self.prototypes[other])

    def is_difficult(self, pair: tuple[int, int]) -> bool:
        """Whether both characters are of one group."""
        return any(set(pair) <= set(group) for group in self.groups)

    def mask(self, names: list[str]) -> np.ndarray:
        """Which pixels are near one of some strokes where the prototypes have them, row after row."""
        near = np.zeros(self.side * self.side, dtype=bool)
        for name in names:
            near |= distance(self.strokes[name], self.side).ravel() <= WIDTH
        return near


ALPHABETS = {
    "digits": Alphabet(8, STROKES, DIGITS, ((3, 5, 8, 9), (1, 4, 7), (0, 2, 6))),
    "drawn": Alphabet(16, DRAWN_STROKES, DRAWN, ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9))),
}


def distance(stroke: Stroke, side: int) -> np.ndarray:
    """How far each pixel is from a stroke.

    Examples
    --------
    >>> print(distance((1.0, 1.0, 1.0, 2.0), 4).round(1))
    [[1.4 1.  1.  1.4]
     [1.  0.  0.  1. ]
     [1.4 1.  1.  1.4]
     [2.2 2.  2.  2.2]]
    """
    start, end = np.array(stroke[:2]), np.array(stroke[2:])
    pixels = np.moveaxis(np.indices((side, side), dtype=np.float64), 0, -1)
    along = np.clip((pixels - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
    return np.asarray(np.linalg.norm(pixels - start - along[..., None] * (end - start), axis=-1))


def drawn_characters(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`count` images of each drawn character, with moved and shaken strokes, stray strokes and noise; and their codes.

    Each end of a stroke is off by some 0.7 pixels, the whole character by up to one; two short strays cross it.
    """
    alphabet = ALPHABETS["drawn"]
    images = []
    for names in alphabet.prototypes:
        for _ in range(count):
            moved = rng.uniform(-1.0, 1.0, 2)
            strokes = [
                np.array(alphabet.strokes[n]) + np.tile(moved, 2) + rng.normal(0.0, 0.7, 4) for n in sorted(names)
            ]
            for _ in range(2):
                centre, way = rng.uniform(2.0, 13.0, 2), rng.normal(size=2)
                half = 2.5 * way / np.linalg.norm(way)
                strokes.append(np.concatenate([centre - half, centre + half]))
            near = np.min([distance(tuple(stroke), alphabet.side) for stroke in strokes], axis=0)
            ink = np.clip(1.3 - near, 0.0, 1.0) + rng.normal(0.0, 0.15, near.shape)
            images.append(np.clip(ink, 0.0, 1.0).ravel())
    return np.array(images), np.repeat(np.arange(len(alphabet.prototypes)), count)
