"""Quadratic programs in files: ``.mat`` of two kinds, ``.npz`` of qpsolvers (`qp.files.npz`), and QPS or MPS.

QPS and MPS (`qp.files.qps`) may be packed with gzip.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scipy.sparse as sp

from socp.files.textfile import MAX_BYTES, check_ending
from socp.problem.checks import ProgramError, as_csc, as_vector

from ..problem.program import QuadraticProgram, no_side_beyond
from . import matlab
from .npz import read_npz
from .qps import read_qps, write_qps

__all__ = ["read", "read_mat", "read_npz", "read_qps", "write", "write_qps"]

_QPS_ENDINGS = (".qps", ".mps", ".qps.gz", ".mps.gz")


def read(path: str | Path, max_bytes: int = MAX_BYTES) -> QuadraticProgram:
    """Read a quadratic program from a file named ``.mat``, ``.npz``, ``.qps`` or ``.mps``, the latter two also ``.gz``.

    A file with more than `max_bytes` bytes, counted after decompression, is refused.
    """
    check_ending(path, ".mat", ".npz", *_QPS_ENDINGS)
    packed = {".mat": read_mat, ".npz": read_npz}.get(Path(path).suffix.lower())
    return packed(path, max_bytes) if packed else read_qps(path, max_bytes=max_bytes)


def write(program: QuadraticProgram, path: str | Path) -> None:
    """Write a quadratic program to a file whose name ends in ``.qps`` or ``.mps``, also ``.gz``; see `write_qps`."""
    check_ending(path, *_QPS_ENDINGS)
    write_qps(program, path)


def read_mat(path: str | Path, max_bytes: int = MAX_BYTES) -> QuadraticProgram:
    r"""Read a quadratic program from a MATLAB file of versions 5 to 7.2, written with ``-v6`` or ``-v7``.

    There are two layouts, distinguished by the names in the file:

    * ``P, q, A, l, u`` and perhaps the constant ``r``, as in the Maros-Meszaros test set:
      :math:`l \le A x \le u`.  If the last n rows of A are the identity, they become bounds.
    * ``A, b, c, lo, hi`` and perhaps the constant ``z0``, in the file or in its structs ``Problem`` and
      ``Problem.aux``, as in the netlib linear programs of the SuiteSparse collection:
      :math:`A x = b,\; lo \le x \le hi`.

    A side of size 1e20 or more is infinite.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes : int, default 2**29
        A file with more content than this, counted after decompression, is refused.

    Raises
    ------
    ProgramError
        The file has another format, or a field is missing or of the wrong shape; the message names it.
    """
    try:
        fields = matlab.read(path, max_bytes)
    except ProgramError as error:
        raise ProgramError(f"{path} cannot be read as a MATLAB file of versions 5 to 7.2: {error}") from None
    try:
        if "Problem" in fields:
            return _from_equalities(_problem(fields["Problem"]))
        return _from_equalities(fields) if {"A", "b", "c"} <= fields.keys() else _from_rows(fields)
    except ProgramError as error:
        raise ProgramError(f"{path}: {error}") from None


def _from_rows(fields: dict[str, Any]) -> QuadraticProgram:
    P, q, A, l, u = (_field(fields, name) for name in ("P", "q", "A", "l", "u"))
    q = as_vector("q", q)
    n = q.size
    A = as_csc("A", A, (None, n), f" ({n} variables in q)")
    m = A.shape[0]
    l = no_side_beyond(as_vector("l", l, m, " (the rows of A)"))
    u = no_side_beyond(as_vector("u", u, m, " (the rows of A)"))
    bounds = {}
    k = m - n
    if k >= 0 and _is_identity(A[k:]):
        A, l, u, bounds = A[:k], l[:k], u[:k], {"lb": l[k:], "ub": u[k:]}
    return QuadraticProgram(P, q, A=A, l=l, u=u, **bounds, offset=_constant(fields, "r"))


def _problem(value: Any) -> dict[str, Any]:
    problem = _struct("Problem", value)
    problem.update(_struct("Problem.aux", problem["aux"]) if "aux" in problem else {})
    return problem


def _from_equalities(fields: dict[str, Any]) -> QuadraticProgram:
    A, b, c, lo, hi = (_field(fields, name) for name in ("A", "b", "c", "lo", "hi"))
    c = as_vector("c", c)
    A = as_csc("A", A, (None, c.size), f" ({c.size} variables in c)")
    b = as_vector("b", b, A.shape[0], " (the rows of A)")
    lo, hi = no_side_beyond(as_vector("lo", lo, c.size)), no_side_beyond(as_vector("hi", hi, c.size))
    return QuadraticProgram(None, c, A=A, l=b, u=b, lb=lo, ub=hi, offset=_constant(fields, "z0"))


def _struct(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProgramError(f"{name} must be a struct")
    return value


def _field(fields: dict[str, Any], name: str) -> Any:
    if name not in fields:
        known = ", ".join(sorted(fields))
        raise ProgramError(f"{name} is missing, there is only {known or 'nothing'}")
    return fields[name]


def _constant(fields: dict[str, Any], name: str) -> float:
    return float(as_vector(name, fields[name], 1)[0]) if name in fields else 0.0


def _is_identity(B: sp.csc_array) -> bool:
    n = B.shape[1]
    return B.nnz == n and bool((B.diagonal() == 1.0).all())
