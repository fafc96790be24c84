"""Points of the caller's own at which a solve begins: the values that `warm_start` takes."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from .checks import FLOAT, ProgramError, all_finite, as_vector, check_finite

Start = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]  # x and the multipliers; None if they are unknown

PLAIN = (8,)  # strides of a contiguous vector

WarmStart = Any  # bool, answer, tuple of vectors, or vector; `checked_start` refuses other values


def checked_start(value: Any, kind: type, sizes: dict[str, int], name: str = "warm_start") -> bool | Start:
    """Return `value` as a bool or a point; raise ProgramError, which calls it `name`, for any other value.

    Parameters
    ----------
    value
        A bool, an answer, a tuple of vectors (None for unknown multipliers), a vector x, or None, which is False.
    kind : type
        Class of the answers.
    sizes : dict of int
        Sizes of x and of the multipliers, by the names that they have in an answer.

    Returns
    -------
    bool or Start
        False for an answer without a point, such as a certificate.
    """
    if value is None or isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, kind):
        return _of_answer(value, sizes, name)
    if isinstance(value, tuple) and len(value) == len(sizes) and value[0] is not None:
        x, y, z = (
            None if part is None else _checked(name, part, size, key) for part, (key, size) in zip(value, sizes.items())
        )
        assert x is not None
        return x, y, z
    if isinstance(value, list) or (hasattr(value, "__array__") and not isinstance(value, np.generic)):
        return _checked(name, value, sizes["x"]), None, None
    raise ProgramError(
        f"{name} must be True, False, a {kind.__module__.partition('.')[0]}.{kind.__name__}, a tuple "
        f"({', '.join(sizes)}) or a vector x, but {reprlib.repr(value)} came"
    )


def _of_answer(answer: Any, sizes: dict[str, int], name: str) -> bool | Start:
    """Return the point of an answer, or False if it has none."""
    parts = {key: as_vector(f"{name}.{key}", getattr(answer, key), size) for key, size in sizes.items()}
    if answer.status.is_infeasible or not all(np.isfinite(part).all() for part in parts.values()):
        return False
    x, y, z = parts.values()
    return x, y, z


def _checked(name: str, part: Any, size: int, key: str = "") -> np.ndarray:
    """Return a part of a point as a vector, which is the caller's own if it can be."""
    if type(part) is np.ndarray and part.dtype is FLOAT and part.shape == (size,) and part.strides == PLAIN:
        if all_finite(part):
            return part
    name = f"{name}: {key}" if key else name
    vector = as_vector(name, part, size)
    check_finite(name, vector)
    return vector
