r"""Strokes of drawn characters as explanations: the Hough transform of Sun and DeJong 2005, section 4.

A stroke is a straight piece of a character.  The line at the distance rho from the origin with the normal at the angle
theta to the axis of columns holds the points

.. math:: x \cos\theta + y \sin\theta = \rho, \qquad x \text{ the column},\; y \text{ the row} .

Every pixel votes with its ink for all lines through it, and the significant lines are those with most votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.validation import check_number

ANGLES = 36
STEP = 0.5  # between distances, in pixels
SLANT = np.pi / 8  # by which a line may be off the stroke of a prototype


def hough_lines(image: Any, count: int = 8, width: float = 1.0, share: float = 0.3, angles: Any = None) -> np.ndarray:
    """The significant lines of an image, by the votes of its pixels.

    The line with most votes is taken, its pixels vote no more, and so on.

    Parameters
    ----------
    image : array_like, shape (rows, columns)
        Ink, at least 0.
    count : int, default 8
        The most lines.
    width : float, default 1.0
        Pixels whose centres are at most so far from a line, in pixels, are its own.
    share : float, default 0.3
        The least votes of a line, as a share of those of the first.
    angles : array_like, optional
        The angles theta to try, in radians; 36 between 0 and pi by default.

    Returns
    -------
    lines : array, shape (lines, 3)
        theta, rho and the votes of each: its pixels' ink.

    Raises
    ------
    ValueError
        The image is not a matrix of finite numbers of at least 0, or a parameter is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from models import hough_lines
    >>> image = np.zeros((8, 8))
    >>> image[:, 5] = image[2, :] = 1.0  # x = 5 and y = 2
    >>> print(hough_lines(image, width=0.5).round(3))
    [[0.    5.    8.   ]
     [1.571 2.    7.   ]]
    """
    ink = np.array(image, dtype=np.float64)
    if ink.ndim != 2 or not np.isfinite(ink).all() or (ink < 0.0).any():
        raise ValueError(f"image must be a matrix of finite numbers of at least 0, but {np.shape(image)} came")
    check_number("count", count, 1, whole=True)
    check_number("width", width, 0.0, open_low=True)
    check_number("share", share, 0.0)
    theta = np.arange(ANGLES) * np.pi / ANGLES if angles is None else np.asarray(angles, dtype=np.float64).ravel()
    y, x = np.nonzero(ink)
    votes, found = ink[y, x], list[tuple[float, float, float]]()
    distance = np.outer(np.cos(theta), x) + np.outer(np.sin(theta), y)
    low = distance.min(initial=0.0)
    places = np.rint((distance - low) / STEP).astype(np.int64)
    size = int(places.max(initial=0)) + 1
    for _ in range(count):
        if not votes.any():
            break
        k, step = _strongest(places, votes, size, width)
        near = np.where(np.abs(distance[k] - low - STEP * step) <= width, votes, 0.0)
        rho = float(near @ distance[k] / near.sum())
        own = np.abs(distance[k] - rho) <= width
        total = float(votes[own].sum())
        if found and total < share * found[0][2]:
            break
        found.append((theta[k], rho, total))
        votes = np.where(own, 0.0, votes)
    return np.array(found).reshape(-1, 3)


def _strongest(places: np.ndarray, votes: np.ndarray, size: int, width: float) -> tuple[int, float]:
    """The angle and the distance, in steps, of the line nearest to which most ink is."""
    reach = int(width / STEP)
    window = 1.0 - np.abs(np.arange(-reach, reach + 1)) / (reach + 1.0)  # ink counts for the less, the farther it is
    counted = [np.convolve(np.bincount(row, votes, size), window, mode="same")[:size] for row in places]
    k = int(np.argmax([row.max() for row in counted]))
    best = counted[k] >= counted[k].max() * (1.0 - 1e-12)
    return k, float(np.flatnonzero(best).mean())


def stroke_explanations(
    images: Any, prototypes: Sequence[Any], radius: float = 1.0, reach: float = 2.0, share: float = 0.5
) -> np.ndarray:
    """Which pixels of each image realize the strokes that explain it, for `ExplanationAugmentedSVC.fit`.

    A stroke of a prototype is looked for among the ink at most `reach` pixels from where the prototype has it: the
    strongest of the lines whose angle is at most pi / 8 off (`hough_lines`).  The pixels at most `radius` from this
    line, between its ends, realize the stroke.  An image in which no stroke is found is not explained: all its pixels
    are important.

    Parameters
    ----------
    images : array_like, shape (samples, rows, columns)
    prototypes : sequence
        Of each image the strokes that explain it, an array of shape (strokes, 4): row and column of one end, row and
        column of the other.
    radius, reach : float
        In pixels.
    share : float, default 0.5
        A line with less ink than this share of the stroke's length, times the darkest ink of the image, is none.

    Returns
    -------
    important : array of bool, shape (samples, rows * columns)

    Raises
    ------
    ValueError
        There is not one prototype an image, or something else does not fit, which the message names.

    Examples
    --------
    An upright one, drawn a column to the right of its prototype, and the bar of a seven:

    >>> import numpy as np
    >>> from models import stroke_explanations
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
    X = np.asarray(images, dtype=np.float64)
    if X.ndim != 3:
        raise ValueError(f"images must have the shape (samples, rows, columns), but {X.shape} came")
    if len(prototypes) != X.shape[0]:
        raise ValueError(
            f"prototypes must have strokes for each of the {X.shape[0]} images, but {len(prototypes)} came"
        )
    check_number("radius", radius, 0.0, open_low=True)
    check_number("reach", reach, 0.0, open_low=True)
    check_number("share", share, 0.0)
    found = np.zeros((X.shape[0], X.shape[1] * X.shape[2]), dtype=bool)
    for row, ink, strokes in zip(found, X, prototypes):
        for stroke in np.asarray(strokes, dtype=np.float64).reshape(-1, 4):
            row |= _realized(ink, stroke, radius, reach, share).ravel()
        if not row.any():
            row[:] = True
    return found


def _realized(ink: np.ndarray, stroke: np.ndarray, radius: float, reach: float, share: float) -> np.ndarray:
    """The pixels of an image that realize a stroke; none where it is not found."""
    y, x = np.indices(ink.shape, dtype=np.float64)
    (y0, x0), along = stroke[:2], stroke[2:] - stroke[:2]
    length = float(np.hypot(*along))
    if length == 0.0:
        raise ValueError(f"prototypes must have strokes with two ends, but {stroke.tolist()} came")
    rise, run = along / length
    inside = (y - y0) * rise + (x - x0) * run  # the place along the stroke, from its first end
    is_between = (inside >= -radius) & (inside <= length + radius)
    is_near = is_between & (np.abs((x - x0) * rise - (y - y0) * run) <= reach)
    normal = np.arctan2(run, -rise) + np.linspace(-SLANT, SLANT, 9)  # (cos, sin) at right angles to the stroke
    lines = hough_lines(np.where(is_near, ink, 0.0), count=1, width=radius, angles=normal)
    if lines.size == 0 or lines[0, 2] < share * length * ink.max():
        return np.zeros(ink.shape, dtype=bool)
    theta, rho, _ = lines[0]
    return is_between & (ink > 0.0) & (np.abs(x * np.cos(theta) + y * np.sin(theta) - rho) <= radius)
