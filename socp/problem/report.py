"""Reports of solves as JSON: program, settings, configuration and the figures of the answer.

An object is written as its class under "kind" and the arguments that make it; a vector as a list; a matrix with its
shape, dense by rows or sparse by columns.  Numbers have all their digits; those that JSON lacks are "inf", "-inf" and
"nan".
"""

from __future__ import annotations

import inspect
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled.configuration import configuration
from .checks import ProgramError
from .hessian import Hessian, WithHessian
from .settings import Settings

FIGURES = (
    "message", "objective", "dual_objective", "primal_residual", "dual_residual", "gap", "iterations", "setup_time",
    "solve_time",
)  # fmt: skip


def write_report(
    path: str | os.PathLike[str], program: Any, settings: Settings | None = None, solution: Any = None
) -> None:
    """Write a program, and the settings and the figures of its solution if they are given, to a file ``.json``."""
    if not isinstance(path, (str, os.PathLike)) or not str(path).lower().endswith(".json"):
        raise ProgramError(f"path must end in .json, but {path!r} came")
    found: dict[str, Any] = {"versions": configuration(), "settings": {}, "answer": {}}
    del found["versions"]["cache"]  # a path of the user's machine
    if settings is not None:
        found["settings"] = {name: as_json(value) for name, value in vars(settings).items() if name != "callback"}
    if solution is not None:
        found["answer"] = {"status": solution.status.value, "plan": str(solution.plan)}
        found["answer"] |= {name: as_json(getattr(solution, name)) for name in FIGURES}
    of_P = {"P": as_json(program.hessian.portable()), "P_eps": program.P_eps}
    found["program"] = as_json(program) | of_P | {"maximize": program.maximize}
    Path(path).write_text(json.dumps(found, allow_nan=False) + "\n", encoding="utf-8")


def as_json(value: Any) -> Any:
    """Return a number, a vector, a matrix, or an object of the project in the form that JSON holds.

    Examples
    --------
    >>> as_json(np.array([1.5, np.inf])), as_json(np.eye(2))
    ([1.5, 'inf'], {'shape': [2, 2], 'data': [1.0, 0.0, 0.0, 1.0]})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, np.ndarray):
        numbers = value.reshape(-1).tolist()
        if not np.isfinite(value).all():
            numbers = [as_json(number) for number in numbers]
        return numbers if value.ndim == 1 else {"shape": list(value.shape), "data": numbers}
    if sp.issparse(value):
        parts = {part: as_json(getattr(value, part)) for part in ("indptr", "indices", "data")}
        return {"shape": list(value.shape), **parts}
    if isinstance(value, tuple):
        return [as_json(part) for part in value]
    kind = next(kind for kind in type(value).__mro__ if kind.__base__ in (object, Hessian, WithHessian))
    names = inspect.signature(kind).parameters
    return {"kind": kind.__name__, **{name: as_json(getattr(value, name)) for name in names if name != "P"}}
