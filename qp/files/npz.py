"""Quadratic programs in ``.npz`` files of numpy, as ``qpsolvers.Problem.save`` writes them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.files.textfile import read_blocks, too_large
from socp.problem.checks import ProgramError

from ..problem.program import QuadraticProgram, program_of_inequalities

NAMES = ("P", "q", "G", "h", "A", "b", "lb", "ub")


def read_npz(path: str | Path, max_bytes: int) -> QuadraticProgram:
    r"""Read a program with the fields ``P, q`` and perhaps ``G, h, A, b, lb, ub`` of qpsolvers.

    .. math::
        \min_x \tfrac12 x^\top P x + q^\top x \quad \text{s.t.} \quad Gx \le h,\; Ax = b,\; lb \le x \le ub

    A field that holds None is not stated.  A sparse matrix X may be the fields ``X_data, X_indices, X_indptr,
    X_shape`` of its compressed columns.

    Raises
    ------
    ProgramError
        The file is damaged, larger than `max_bytes` when unpacked, or a field is missing or of the wrong shape.
    """
    found = fields_of(path, max_bytes)
    try:
        if found["q"] is None:
            raise ProgramError(f"q is missing, there is only {', '.join(k for k in NAMES if found[k] is not None)}")
        return program_of_inequalities(**found)
    except ProgramError as error:
        raise ProgramError(f"{path}: {error}") from None


def fields_of(path: str | Path, max_bytes: int) -> dict[str, Any]:
    """Return the fields of a file as they are stated there, None for those that are not.

    Raises
    ------
    ProgramError
        The file is damaged, or larger than `max_bytes` when unpacked.
    """
    content = b"".join(read_blocks(path, max_bytes))
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as fields:
            if sum(part.file_size for part in fields.zip.infolist()) > max_bytes:
                raise ProgramError(too_large(max_bytes))
            return {name: _field(fields, name) for name in NAMES}
    except Exception as error:  # Damaged content raises many kinds of exceptions.
        raise ProgramError(f"{path} cannot be read as a .npz file of numpy: {error}") from None


def _field(fields: Any, name: str) -> Any:
    """Return an array or a sparse matrix; None if the field is not there or holds None, which numpy pickles."""
    if f"{name}_data" in fields:
        data, indices, indptr, shape = (fields[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape"))
        return sp.csc_array((data, indices, indptr), shape=tuple(shape))
    if name not in fields:
        return None
    with fields.zip.open(f"{name}.npy") as stream:
        shape, _, kind = _HEADERS[np.lib.format.read_magic(stream)](stream)
    return None if kind.hasobject and not shape else fields[name]


_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
