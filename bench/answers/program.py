"""Programs of either kind: the names of their parts, and one with other parts."""

from __future__ import annotations

from typing import Any

import qp
import socp

Program = socp.ConeProgram | qp.QuadraticProgram

CONE, QUADRATIC = "ConeProgram", "QuadraticProgram"
VECTORS = {CONE: ("c", "h", "b"), QUADRATIC: ("q", "l", "u", "lb", "ub")}
MATRICES = {CONE: ("G", "A", "P"), QUADRATIC: ("A", "P")}


def changed(program: Any, **parts: Any) -> Any:
    """Return the program with other parts.

    Examples
    --------
    >>> changed(qp.QuadraticProgram([[2.0]], [-4.0], lb=0.0), q=[3.0]).q
    array([3.])
    """
    is_cone = isinstance(program, socp.ConeProgram)
    kind, more = (CONE, ("cones",)) if is_cone else (QUADRATIC, ())
    names = (*VECTORS[kind], *MATRICES[kind], *more, "offset")
    kinds: Any = socp.ConeProgram if is_cone else qp.QuadraticProgram
    return kinds(**{name: getattr(program, name) for name in names} | parts)
