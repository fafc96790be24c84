"""Strokes that distinguish two characters, for `easvm_digits`: of the digits, and of drawn characters.

A prototype lists the strokes of a character; the strokes that exactly one of two characters has are essential to tell
them apart.  A Hough transform finds the strokes of a prototype in an image (Sun and DeJong 2005, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Stroke = tuple[float, float, float, float]
"""Row and column of one end, row and column of the other."""
WIDTH = 1.0
"""Largest distance from a stroke, in pixels, at which the centre of a pixel belongs to it."""
ANGLES = 36
STEP = 0.5  # step of the distances of lines, in pixels
REACH = 2.0  # largest distance of ink from a prototype's stroke, in pixels
SLANT = np.pi / 8  # largest angle between a line and a prototype's stroke

# Ends of the strokes in the digits' mean images, on the grid of 8 x 8 pixels.
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
    """Characters given by their strokes, in groups of similar characters."""

    # number of rows, and of columns, of an image
    side: int
    strokes: dict[str, Stroke]
    # names of the strokes of each character
    prototypes: tuple[frozenset[str], ...]
    # characters of one group are hard to tell apart
    groups: tuple[tuple[int, ...], ...]

    def essential(self, one: int, other: int) -> list[str]:
        """Return the names of the strokes that exactly one of two characters has."""
        return sorted(self.prototypes[one] ^ self.prototypes[other])

    def is_difficult(self, pair: tuple[int, int]) -> bool:
        """Return True if both characters are in one group."""
        return any(set(pair) <= set(group) for group in self.groups)

    def mask(self, names: list[str]) -> np.ndarray:
        """Return the mask of the pixels near one of some strokes of the prototypes, row after row."""
        near = np.zeros(self.side * self.side, dtype=bool)
        for name in names:
            near |= distance(self.strokes[name], self.side).ravel() <= WIDTH
        return near


ALPHABETS = {
    "digits": Alphabet(8, STROKES, DIGITS, ((3, 5, 8, 9), (1, 4, 7), (0, 2, 6))),
    "drawn": Alphabet(16, DRAWN_STROKES, DRAWN, ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9))),
}


def distance(stroke: Stroke, side: int) -> np.ndarray:
    """Return the distance of each pixel from a stroke.

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
    """Return `count` images of each drawn character, with moved and shaken strokes, strays and noise, and their codes.

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


def hough_line(image: np.ndarray, width: float = 1.0, angles: Any = None) -> tuple[float, float, float] | None:
    """Return (theta, rho, votes) of the strongest line of an image of ink >= 0, or None if there is no ink.

    The line at the distance rho from the origin with the normal at the angle theta to the axis of columns is
    x cos theta + y sin theta = rho.  Every pixel votes with its ink for all lines at most `width` from its centre.  The
    angles theta are 36 between 0 and pi by default.

    Examples
    --------
    >>> image = np.zeros((8, 8))
    >>> image[:, 5] = 1.0  # x = 5
    >>> hough_line(image, width=0.5)
    (0.0, 5.0, 8.0)
    """
    theta = np.arange(ANGLES) * np.pi / ANGLES if angles is None else angles
    y, x = np.nonzero(image)
    votes = image[y, x]
    if not votes.any():
        return None
    distance = np.outer(np.cos(theta), x) + np.outer(np.sin(theta), y)
    low = distance.min(initial=0.0)
    places = np.rint((distance - low) / STEP).astype(np.int64)
    # Find the angle and the distance, in steps, of the line with the most ink near it.
    reach, size = int(width / STEP), int(places.max(initial=0)) + 1
    window = 1.0 - np.abs(np.arange(-reach, reach + 1)) / (reach + 1.0)  # weights of ink by its distance from a line
    counted = [np.convolve(np.bincount(row, votes, size), window, mode="same")[:size] for row in places]
    k = int(np.argmax([row.max() for row in counted]))
    step = float(np.flatnonzero(counted[k] >= counted[k].max() * (1.0 - 1e-12)).mean())
    near = np.where(np.abs(distance[k] - low - STEP * step) <= width, votes, 0.0)
    rho = float(near @ distance[k] / near.sum())
    return float(theta[k]), rho, float(votes[np.abs(distance[k] - rho) <= width].sum())


def stroke_explanations(
    images: np.ndarray, prototypes: Sequence[Sequence[Stroke]], radius: float = WIDTH, share: float = 0.5
) -> np.ndarray:
    """Return the mask of the pixels that realize the strokes in each image, for `ExplanationAugmentedSVC.fit`.

    A stroke of a prototype is searched in the ink at most two pixels from its place in the prototype: it is the
    strongest line whose angle is at most pi / 8 off.  The pixels at most `radius` from this line, between its ends,
    realize the stroke; a line with less ink than `share` times the stroke's length times the darkest ink of the image
    is rejected.  An image in which no stroke is found is not explained: all its pixels are important.

    Examples
    --------
    An upright one, drawn a column to the right of its prototype, and the bar of a seven:

    >>> images = np.zeros((2, 5, 5))
    >>> images[0, :, 3] = images[1, 0, :] = images[1, :, 4] = 1.0
    >>> found = stroke_explanations(images, [[(0, 2, 4, 2)], [(0, 0, 0, 4)]], radius=0.5)
    >>> print(found.reshape(2, 5, 5).astype(int)[:, :2])
    [[[0 0 0 1 0]
      [0 0 0 1 0]]
    <BLANKLINE>
     [[1 1 1 1 1]
      [0 0 0 0 0]]]
    """
    found = np.zeros((images.shape[0], images.shape[1] * images.shape[2]), dtype=bool)
    for row, ink, strokes in zip(found, images, prototypes):
        for stroke in strokes:
            row |= _realized(ink, np.array(stroke), radius, share).ravel()
        if not row.any():
            row[:] = True
    return found


def _realized(ink: np.ndarray, stroke: np.ndarray, radius: float, share: float) -> np.ndarray:
    """Return the mask of the pixels of an image that realize a stroke; empty if the stroke is not found."""
    y, x = np.indices(ink.shape, dtype=np.float64)
    (y0, x0), along = stroke[:2], stroke[2:] - stroke[:2]
    length = float(np.hypot(*along))
    rise, run = along / length
    inside = (y - y0) * rise + (x - x0) * run  # position along the stroke, from its first end
    is_between = (inside >= -radius) & (inside <= length + radius)
    is_near = is_between & (np.abs((x - x0) * rise - (y - y0) * run) <= REACH)
    normal = np.arctan2(run, -rise) + np.linspace(-SLANT, SLANT, 9)  # angles of the normals of lines
    line = hough_line(np.where(is_near, ink, 0.0), radius, normal)
    if line is None or line[2] < share * length * ink.max():
        return np.zeros(ink.shape, dtype=bool)
    theta, rho, _ = line
    return is_between & (ink > 0.0) & (np.abs(x * np.cos(theta) + y * np.sin(theta) - rho) <= radius)
