"""Families in which a solver is set up for one program and updated, once or more, to the one that is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import socp

from ..answers.program import changed
from . import cone_families, planting, quadratic_families
from .case import Case
from .points import Generator, Style


def of_cone_programs(rng: Generator) -> Case:
    """Draw a cone program, reached by updates of c, b, h and of values in P, A and G, some through a certificate."""
    return _updated(rng, cone_families.any_planted(rng), ("c", "b", "h"), ("A", "G", "P"))


def of_quadratic_programs(rng: Generator) -> Case:
    """Draw a quadratic program, reached by updates of q, sides, bounds and values in P and A; sides may become inf."""
    return _updated(rng, quadratic_families.any_planted(rng), ("q", "l", "u", "lb", "ub"), ("P", "A"))


def _updated(rng: Generator, original: Case, vectors: tuple[str, ...], matrices: tuple[str, ...]) -> Case:
    case = original
    if rng.random() < 0.5:
        case = _other_vectors(rng, case.program)
    for _ in range(int(rng.integers(1, 4))):
        after = original if rng.random() < 0.2 else _like(rng, case.program, matrices)
        change = _changed(case.program, after.program, vectors, matrices)
        case = replace(after, before=case, change=change, warm_start=bool(rng.random() < 0.7))
    return case


def _like(rng: Generator, program: Any, matrices: tuple[str, ...]) -> Case:
    if rng.random() < 0.5:
        return _other_vectors(rng, program)
    others = {name: _other_values(rng, getattr(program, name), name == "P") for name in matrices}
    return _other_vectors(rng, changed(program, **others))


def _other_vectors(rng: Generator, program: Any) -> Case:
    """Plant another optimum with the matrices of the program."""
    if isinstance(program, socp.ConeProgram):
        return planting.cone_optimal(rng, program.P, program.A, program.G, program.cones, Style())
    return planting.quadratic_optimal(rng, program.P, program.A, Style())


def _other_values(rng: Generator, matrix: Any, is_hessian: bool) -> Any:
    """Draw other values on the pattern; multiply P by a positive number, but keep a `LowRank` P (it has no update)."""
    if is_hessian:
        fixed = matrix is None or isinstance(matrix, socp.LowRank)
        return matrix if fixed else float(rng.uniform(0.1, 3.0)) * matrix
    other = matrix.copy()
    other.data = rng.normal(size=matrix.data.size)
    return other


def _changed(before: Any, after: Any, vectors: tuple[str, ...], matrices: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of ``update`` that lead from one program to the other."""
    change: dict[str, Any] = {}
    for name in vectors:
        if not np.array_equal(getattr(before, name), getattr(after, name)):
            change[name] = getattr(after, name)
    for name in matrices:
        old, new = (getattr(program, name) for program in (before, after))
        if new is old or old is None or isinstance(old, socp.LowRank):
            continue
        old, new = (P if isinstance(P, np.ndarray) else P.data for P in (old, new))
        if not np.array_equal(old, new):
            change[f"{name}_data"] = new
    return change
