"""The types that the arguments of kernels are annotated with, and the numba type of each.

    int, float, bool        int64, float64, boolean; np.float32 is float32
    Ints, Floats, Bools     C-contiguous vectors of these
    Matrix, IntMatrix       C-contiguous matrices
    Singles                 a vector of float32

A structure (see `structures`) is annotated with its class.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

Floats = Annotated[NDArray[np.float64], "Floats"]
Ints = Annotated[NDArray[np.int64], "Ints"]
Bools = Annotated[NDArray[np.bool_], "Bools"]
Matrix = Annotated[NDArray[np.float64], "Matrix"]
IntMatrix = Annotated[NDArray[np.int64], "IntMatrix"]
Singles = Annotated[NDArray[np.float32], "Singles"]

SCALARS: dict[Any, types.Type] = {
    int: types.int64, float: types.float64, bool: types.boolean, type(None): types.none, np.float32: types.float32,
}  # fmt: skip
ARRAYS: dict[str, types.Array] = {
    "Floats": types.float64[::1],
    "Ints": types.int64[::1],
    "Bools": types.boolean[::1],
    "Matrix": types.float64[:, ::1],
    "IntMatrix": types.int64[:, ::1],
    "Singles": types.float32[::1],
}


def numba_type(annotation: Any) -> types.Type:
    """Return the numba type of an annotation."""
    if annotation in SCALARS:
        return SCALARS[annotation]
    if typing.get_origin(annotation) is Annotated:
        return ARRAYS[annotation.__metadata__[0]]
    if typing.get_origin(annotation) is tuple:
        return types.BaseTuple.from_types(tuple(numba_type(part) for part in typing.get_args(annotation)))
    if hasattr(annotation, "numba_type"):
        return annotation.numba_type
    raise TypeError(f"{annotation!r} is not the type of an argument of a kernel")


def numba_signature(py_func: Callable[..., Any]) -> tuple[types.Type, tuple[types.Type, ...]]:
    """Return the numba types of the result and of the arguments of an annotated function."""
    hints = typing.get_type_hints(py_func, include_extras=True)
    missing = [name for name in [*inspect.signature(py_func).parameters, "return"] if name not in hints]
    if missing:
        raise TypeError(f"{py_func.__module__}.{py_func.__name__} lacks annotations of {', '.join(missing)}")
    result = numba_type(hints.pop("return"))
    return result, tuple(numba_type(hint) for hint in hints.values())
