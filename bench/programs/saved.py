"""Programs saved to the bit in NumPy archives ``.npz``, for both kinds of programs.

CBF has no quadratic objective and QPS no cones, and neither stores the form of P; an archive stores all of it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp
from socp.files.textfile import MAX_BYTES

from ..answers.program import CONE, MATRICES, QUADRATIC, VECTORS, Program


def write(program: Program, path: str | os.PathLike[str]) -> None:
    """Write a program to a file, whose name should end in ``.npz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.npz"
    >>> write(qp.QuadraticProgram([[2.0]], [-4.0], lb=0.0), path)
    >>> read(path)
    QuadraticProgram(n=1, m=0)
    """
    kind = CONE if isinstance(program, socp.ConeProgram) else QUADRATIC
    fields: dict[str, Any] = {"kind": np.array(kind), "offset": np.array(program.offset)}
    fields |= {name: getattr(program, name) for name in VECTORS[kind]}
    for name in MATRICES[kind]:
        fields |= _parts(name, getattr(program, name))
    if isinstance(program, socp.ConeProgram):
        fields["cones"] = np.array([cone.dim for cone in program.cones], dtype=np.int64)
        fields["second_order"] = np.array([isinstance(cone, socp.SecondOrder) for cone in program.cones], dtype=bool)
    with open(path, "wb") as file:
        np.savez_compressed(file, **fields)


def read(path: str | os.PathLike[str]) -> Program:
    """Read a program that `write` wrote."""
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                if sum(member.file_size for member in archive.zip.infolist()) > MAX_BYTES:
                    raise ValueError(f"it decompresses to more than {MAX_BYTES} bytes")
                return _program(dict(archive))
        except Exception as error:  # NumPy raises many kinds of exceptions for damaged files.
            raise socp.ProgramError(f"{path} is no archive of a program: {error}") from None


def _program(fields: dict[str, np.ndarray]) -> Program:
    kind = str(fields["kind"])
    data: dict[str, Any] = {name: fields[name] for name in VECTORS[kind]}
    data |= {name: _matrix(name, fields) for name in MATRICES[kind]}
    data["offset"] = float(fields["offset"])
    if kind == QUADRATIC:
        return qp.QuadraticProgram(**data)
    kinds = zip(fields["cones"].tolist(), fields["second_order"].tolist())
    return socp.ConeProgram(**data, cones=[(socp.SecondOrder if q else socp.NonNeg)(dim) for dim, q in kinds])


def _parts(name: str, matrix: Any) -> dict[str, Any]:
    """Return a matrix as arrays under names that tell its form; an empty dictionary for None."""
    if matrix is None:
        return {}
    if isinstance(matrix, np.ndarray):
        return {name: matrix}
    if isinstance(matrix, socp.LowRank):
        return {f"{name}_F": matrix.F, f"{name}_d": matrix.d}
    parts = {part: getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
    return {f"{name}_{part}": np.asarray(value) for part, value in parts.items()}


def _matrix(name: str, fields: dict[str, np.ndarray]) -> Any:
    if name in fields:
        return fields[name]
    if f"{name}_F" in fields:
        return socp.LowRank(fields[f"{name}_F"], fields[f"{name}_d"])
    if f"{name}_data" not in fields:
        return None
    data, indices, indptr = (fields[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csc_array((data, indices, indptr), shape=tuple(fields[f"{name}_shape"].tolist()))
