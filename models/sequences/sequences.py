"""Sequences of different lengths: checked, and laid end to end in one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.validation import warn

MISSING = -1
TABLE = (
    "a table of shape ({0}, {1}) is read as {0} sequences of {1} positions, with one feature: give [X] for one "
    "sequence of {0} positions with {1} features, or X[:, :, None] for what it is read as"
)
COLUMN = (
    "a column of {0} symbols is read as {0} sequences of one position: give [X.ravel()] for one sequence, or list(X) "
    "for what it is read as"
)


@dataclass(frozen=True)
class Sequences:
    """Sequences end to end; s is ``values[offsets[s]:offsets[s + 1]]``, symbols (n,) or vectors (n, features)."""

    values: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def split(self, array: np.ndarray) -> list[np.ndarray]:
        """Split an array with one row for each position into one array for each sequence."""
        return np.split(array, self.offsets[1:-1])

    def only(self, chosen: np.ndarray) -> Sequences:
        """Return the sequences `chosen`."""
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Sequences(self.values[at], offsets)


def as_symbols(sequences: Any, symbols: int | None = None) -> Sequences:
    """Check and join sequences of whole numbers 0, 1, ... (below `symbols` if given); -1 (or NaN) is missing.

    `sequences` is a list of array_like of shape (length,), or one array of shape (sequences, length).
    """
    is_table = getattr(sequences, "ndim", None) == 2 and not sp.issparse(sequences)
    parts = _parts(np.asarray(sequences) if is_table else sequences, 1)
    if is_table and sequences.shape[0] > 1 == sequences.shape[1]:
        warn(COLUMN.format(sequences.shape[0]))
    joined = np.concatenate(parts)
    if joined.dtype.kind == "f":
        joined = np.where(np.isnan(joined), MISSING, joined)
    if joined.dtype.kind not in "biuf":
        raise ValueError(
            f"sequences must hold symbols 0, 1, ..., but values of type {joined.dtype} came; "
            "encode_symbols makes numbers of letters"
        )
    batch = Sequences(joined.astype(np.int64), _offsets(parts))
    high = np.inf if symbols is None else symbols - 1
    bad = (joined != batch.values) | (joined < MISSING) | (joined > high)
    if bad.any():
        s, t = _place(batch.offsets, int(np.flatnonzero(bad)[0]))
        allowed = "whole numbers from 0" + ("" if symbols is None else f" to {symbols - 1}")
        raise ValueError(
            f"sequences must hold symbols, {allowed} (-1 is a missing one), but sequences[{s}][{t}] is {parts[s][t]}"
        )
    return batch


def as_vectors(sequences: Any, features: int | None = None) -> Sequences:
    """Check and join sequences of real vectors (with `features` coordinates if given); NaN is a missing coordinate.

    `sequences` is a list of array_like of shape (length, features), or (length,) for one feature, or one array.  A
    warning tells that a table is read as sequences of one feature.
    """
    is_table = getattr(sequences, "ndim", None) == 2 and not sp.issparse(sequences)
    parts = _parts(np.asarray(sequences) if is_table else sequences, 2)
    width = parts[0].shape[1] if features is None else features
    for s, part in enumerate(parts):
        if part.shape[1] != width:
            hint = f": [X] is one sequence, a table of shape {sequences.shape} is many" if is_table else ""
            raise ValueError(f"sequences must have {width} features each, but sequences[{s}] has {part.shape[1]}{hint}")
    if is_table:
        warn(TABLE.format(*sequences.shape))
    joined = np.concatenate(parts)
    if joined.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: sequences have entries of type {joined.dtype}")
    try:
        values = np.ascontiguousarray(joined, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sequences must hold numbers: {error}") from None
    batch = Sequences(values, _offsets(parts))
    if np.isinf(values).any():
        s, t = _place(batch.offsets, int(np.flatnonzero(np.isinf(values).any(axis=1))[0]))
        raise ValueError(f"sequences must be finite (NaN is missing), but sequences[{s}][{t}] has an infinity")
    return batch


def centre_and_scale(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation (1 if it is 0) of the observed values of every coordinate."""
    seen = ~np.isnan(values)
    count = np.maximum(seen.sum(axis=0), 1)
    centre = np.where(seen, values, 0.0).sum(axis=0) / count
    scale = np.sqrt(np.where(seen, (values - centre) ** 2, 0.0).sum(axis=0) / count)
    varies = np.where(seen, values, -np.inf).max(axis=0) > np.where(seen, values, np.inf).min(axis=0)
    return centre, np.where(varies & (scale > 0.0), scale, 1.0)  # the mean of equal values is rounded


def encode_symbols(texts: Any, alphabet: Any) -> list[np.ndarray]:
    """Encode letters as their indices in `alphabet`; other letters become missing observations, -1.

    Parameters
    ----------
    texts : list of str, or of lists of symbols
    alphabet : str or list
        The symbols, each once.

    Returns
    -------
    list of int64 arrays

    Raises
    ------
    ValueError
        A symbol of `alphabet` is repeated.

    Examples
    --------
    >>> from models import encode_symbols
    >>> encode_symbols(["gatn", "cc"], "acgt")
    [array([ 2,  0,  3, -1]), array([1, 1])]
    """
    place = {symbol: k for k, symbol in enumerate(alphabet)}
    if len(place) < len(alphabet):
        raise ValueError(f"alphabet must have each symbol once, but {alphabet!r} came")
    return [np.array([place.get(symbol, MISSING) for symbol in text], dtype=np.int64) for text in texts]


def _parts(sequences: Any, dimensions: int) -> list[np.ndarray]:
    """Return the sequences as arrays with `dimensions` axes; raise ValueError if one is empty or has other axes."""
    if sp.issparse(sequences):
        raise TypeError("Sparse X was passed, but sequences must be a list of arrays")
    if isinstance(sequences, (str, bytes, dict)) or not hasattr(sequences, "__len__"):
        letters = "; encode_symbols makes numbers of letters" * isinstance(sequences, (str, bytes))
        raise ValueError(f"sequences must be a list of arrays, but {type(sequences).__name__} came{letters}")
    if len(sequences) == 0:
        raise ValueError("sequences must hold at least one sequence, but it is empty")
    parts = []
    for s, sequence in enumerate(sequences):
        part = np.asarray(sequence)
        if part.dtype.kind in "US" or isinstance(sequence, (str, bytes)):
            raise ValueError(
                f"sequences[{s}] must hold numbers, but text came; encode_symbols makes numbers of letters"
            )
        if dimensions == 2 and part.ndim == 1:
            part = part[:, None]
        if part.ndim != dimensions:
            raise ValueError(
                f"sequences must be a list of arrays of {dimensions} dimension(s), but sequences[{s}] has {part.ndim}"
            )
        if part.shape[0] == 0:
            raise ValueError(f"sequences must not be empty, but sequences[{s}] has length 0")
        parts.append(part)
    return parts


def _offsets(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([part.shape[0] for part in parts])]).astype(np.int64)


def _place(offsets: np.ndarray, position: int) -> tuple[int, int]:
    s = int(np.searchsorted(offsets, position, side="right")) - 1
    return s, position - int(offsets[s])
