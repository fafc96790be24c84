"""Programs of both kinds: names of their parts, and copies with some parts replaced."""

from __future__ import annotations

from typing import Any

import qp
import socp

Program = socp.ConeProgram | qp.QuadraticProgram

CONE, QUADRATIC = "ConeProgram", "QuadraticProgram"
VECTORS = {CONE: ("c", "h", "b"), QUADRATIC: ("q", "l", "u", "lb", "ub")}
MATRICES = {CONE: ("G", "A", "P"), QUADRATIC: ("A", "P")}


def changed(program: Any, **parts: Any) -> Any:
    """Return the program with the given parts replaced.

    Examples
    --------
    >>> changed(qp.QuadraticProgram([[2.0]], [-4.0], lb=0.0), q=[3.0]).q
    array([3.])
    """
    kind: Any = socp.ConeProgram if isinstance(program, socp.ConeProgram) else qp.QuadraticProgram
    return kind(**arguments_of(program) | parts)


def arguments_of(program: Any) -> dict[str, Any]:
    """Return the data of a program as arguments of its engine."""
    return parts_of(program) | {"offset": program.offset}


def parts_of(program: Any, *without: str) -> dict[str, Any]:
    """Return the vectors, matrices and cones of a program by name, except those named in `without`."""
    names: tuple[str, ...] = (*VECTORS[QUADRATIC], *MATRICES[QUADRATIC])
    if isinstance(program, socp.ConeProgram):
        names = (*VECTORS[CONE], *MATRICES[CONE], "cones")
    return {name: getattr(program, name) for name in names if name not in without}


def engine_of(program: Any) -> Any:
    """Return the package that solves the program, `socp` or `qp`."""
    return socp if isinstance(program, socp.ConeProgram) else qp


def linear_name(program: Any) -> str:
    """Return the name of the linear objective, c or q."""
    return "c" if isinstance(program, socp.ConeProgram) else "q"


def with_objective(program: Any, c: Any) -> Any:
    """Return the program with linear objective `c`."""
    return changed(program, **{linear_name(program): c})
