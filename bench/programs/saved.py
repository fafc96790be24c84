"""Programs, and the reports of solves, in JSON files to the bit, as `sol.report` writes them.

CBF has no quadratic objective and QPS no cones, and neither stores the form of P; these files store all of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import models
import qp
import socp
from socp.files.textfile import MAX_BYTES, read_blocks
from socp.problem.checks import PRECISIONS
from socp.problem.report import FIGURES
from socp.problem.settings import QP_ONLY

from ..answers.program import Program

KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        socp.ConeProgram, qp.QuadraticProgram, socp.LowRank, models.KernelMatrix, socp.NonNeg, socp.SecondOrder,
    )
}  # fmt: skip

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Saved(NamedTuple):
    """A program in a file, and what else a report has; other files have the program alone."""

    program: Program
    settings: Mapping[str, Any] = NOTHING  # by name, for `solve`
    versions: Mapping[str, str] = NOTHING
    answer: SimpleNamespace | None = None  # with a status and `FIGURES`


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a file that `sol.report` or `socp.problem.report.write_report` wrote.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.json"
    >>> qp.solve([[2.0]], [-4.0], lb=0.0, tol=1e-6).report(path)
    >>> found = read(path)
    >>> found.program, found.settings["tol"], found.answer.status
    (QuadraticProgram(n=1, m=0), 1e-06, <Status.OPTIMAL: 'optimal'>)
    """
    content = b"".join(read_blocks(Path(path), MAX_BYTES))
    try:
        return _saved(json.loads(content))
    except Exception as error:  # Damaged content raises many kinds of exceptions.
        raise socp.ProgramError(f"{path} is no report of a solve: {error}") from None


def _saved(found: dict[str, Any]) -> Saved:
    stated = dict(found["program"])
    maximize, eps, program = bool(stated.pop("maximize")), stated.pop("P_eps"), _value(stated)
    if eps not in PRECISIONS:
        raise ValueError(f"P_eps is {eps!r}, which is that of no type of numbers")
    if not isinstance(program, (socp.ConeProgram, qp.QuadraticProgram)):
        raise ValueError(f"it states a {type(program).__name__} where a program was expected")
    program.maximize, program.P_eps = maximize, eps
    left_out = QP_ONLY if isinstance(program, socp.ConeProgram) else ()
    settings = {name: _value(value) for name, value in found["settings"].items() if name not in left_out}
    socp.Settings(**settings)  # raises ProgramError
    answer, told = None, found["answer"]
    if told:
        answer = SimpleNamespace(status=socp.Status(told["status"]), **{name: _value(told[name]) for name in FIGURES})
    return Saved(program, settings, {str(name): str(value) for name, value in found["versions"].items()}, answer)


def _value(value: Any) -> Any:
    """Return the number, vector, matrix or object that `socp.problem.report.as_json` wrote."""
    if isinstance(value, list):
        is_numbers = not any(isinstance(part, dict) for part in value)
        return np.array(value, dtype=np.float64) if is_numbers else [_value(part) for part in value]
    if isinstance(value, str):
        return float(value) if value in ("inf", "-inf", "nan") else value
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        parts = {name: _value(part) for name, part in value.items() if name != "kind"}
        is_kernel = isinstance(parts.get("P"), models.KernelMatrix)
        return (models.KernelProgram if is_kernel else KINDS[value["kind"]])(**parts)
    shape, data = tuple(value["shape"]), _value(value["data"])
    if "indptr" not in value:
        return data.reshape(shape)
    indices, indptr = (np.array(value[part], dtype=np.int64) for part in ("indices", "indptr"))
    return sp.csc_array((data, indices, indptr), shape=shape)
