"""Families in which a solver is set up for one program and updated, once or more, to the one that is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp

from . import cone_families, planting, points, quadratic_families
from .case import OPTIMAL, Case, Planted
from .points import Style

Generator = np.random.Generator


def of_cone_programs(rng: Generator) -> Case:
    """Other c, b, h, and other values in P, A and G, with and without a certificate on the way."""
    case = original = cone_families.any_planted(rng)
    if rng.random() < 0.5:
        case = _other_vectors_of_cone(rng, case.program)
    for _ in range(int(rng.integers(1, 4))):
        after = original if rng.random() < 0.2 else _cone_like(rng, case.program)
        change = _changed(case.program, after.program, ("c", "b", "h"), ("P", "A", "G"))
        case = replace(after, before=case, change=change, warm_start=bool(rng.random() < 0.7))
    return case


def of_quadratic_programs(rng: Generator) -> Case:
    """Other q, sides and bounds, and other values in P and A; sides come and go, rows become equalities."""
    case = original = quadratic_families.any_planted(rng)
    if rng.random() < 0.5:
        case = _other_vectors_of_quadratic(rng, case.program)
    for _ in range(int(rng.integers(1, 4))):
        after = original if rng.random() < 0.2 else _quadratic_like(rng, case.program)
        change = _changed(case.program, after.program, ("q", "l", "u", "lb", "ub"), ("P", "A"))
        case = replace(after, before=case, change=change, warm_start=bool(rng.random() < 0.7))
    return case


def _cone_like(rng: Generator, program: Any) -> Case:
    if rng.random() < 0.5:
        return _other_vectors_of_cone(rng, program)
    A, G = _other_values(rng, program.A), _other_values(rng, program.G)
    P = _other_hessian(rng, program.P)
    changed = socp.ConeProgram(program.c, G, program.h, program.cones, A, program.b, P)
    return _other_vectors_of_cone(rng, changed)


def _other_vectors_of_cone(rng: Generator, program: Any) -> Case:
    """On the same matrices another planted optimum."""
    style = Style()
    x, y = points.vector(rng, program.n, style), points.vector(rng, program.p, style)
    s, z = points.pair(rng, program.cones, style)
    c = -(points.times(program.P, x) + program.A.T @ y + program.G.T @ z)
    b, h = program.A @ x, program.G @ x + s
    return Case(socp.ConeProgram(c, program.G, h, program.cones, program.A, b, program.P), Planted(OPTIMAL, x, y, z))


def _quadratic_like(rng: Generator, program: Any) -> Case:
    if rng.random() < 0.5:
        return _other_vectors_of_quadratic(rng, program)
    P, A = _other_hessian(rng, program.P), _other_values(rng, program.A)
    changed = qp.QuadraticProgram(P, program.q, A, program.l, program.u, program.lb, program.ub)
    return _other_vectors_of_quadratic(rng, changed)


def _other_vectors_of_quadratic(rng: Generator, program: Any) -> Case:
    """On the same matrices another planted optimum; in half of the draws with the same sides where none holds."""
    style = Style()
    x = points.vector(rng, program.n, style)
    (l, u, y), (lb, ub, z) = planting.sides(rng, program.A @ x, style), planting.sides(rng, x, style)
    q = -(points.times(program.P, x) + program.A.T @ y + z)
    return Case(qp.QuadraticProgram(program.P, q, program.A, l, u, lb, ub), Planted(OPTIMAL, x, y, z))


def _other_values(rng: Generator, matrix: sp.csc_array) -> sp.csc_array:
    """Other numbers in the same places."""
    changed = matrix.copy()
    changed.data = rng.normal(size=matrix.data.size)
    return changed


def _other_hessian(rng: Generator, P: Any) -> Any:
    """P times a positive number; a `LowRank` P cannot be updated and stays."""
    return P if P is None or isinstance(P, socp.LowRank) else float(rng.uniform(0.1, 3.0)) * P  # type: ignore[operator]


def _changed(before: Any, after: Any, vectors: tuple[str, ...], matrices: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of ``update`` that lead from one program to the other."""
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
