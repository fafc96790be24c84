"""Residuals and objectives of points in exact arithmetic, entry by entry as the stopping test has them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def fractions(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.asarray(values).ravel()]


def product(matrix: Any, x: list[Fraction]) -> list[Fraction]:
    """matrix x, for a dense or sparse matrix, one of diagonal plus low rank, or None."""
    if matrix is None:
        return [Fraction(0)] * len(x)
    if hasattr(matrix, "F"):
        inner = product(matrix.F.T, x)
        return [a + d * v for a, d, v in zip(product(matrix.F, inner), fractions(matrix.d), x, strict=True)]
    rows = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return [sum((Fraction(float(a)) * v for a, v in zip(row, x, strict=True) if a != 0.0), Fraction(0)) for row in rows]


def inner(u: list[Fraction], v: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def total(*vectors: list[Fraction]) -> list[Fraction]:
    return [sum(entries, Fraction(0)) for entries in zip(*vectors, strict=True)]


def norm(v: list[Fraction]) -> float:
    return float(max((abs(value) for value in v), default=Fraction(0)))


def cone_figures(program: Any, x: Any, y: Any, z: Any, s: Any) -> dict[str, float]:
    """rows, cone (the equation only), dual and gap, and the objectives, of a point of a program with finite h."""
    x, y, z, s = map(fractions, (x, y, z, s))
    c, b, h = map(fractions, (program.c, program.b, program.h))
    Px, Ax, Gx = product(program.P, x), product(program.A, x), product(program.G, x)
    primal = inner(x, Px) / 2 + inner(c, x)
    dual = -inner(x, Px) / 2 - inner(b, y) - inner(h, z)
    gradient = total(Px, c, product(program.A.T.tocsc(), y), product(program.G.T.tocsc(), z))
    rows = [a - v for a, v in zip(Ax, b, strict=True)]
    cone = [a + e - v for a, e, v in zip(Gx, s, h, strict=True)]
    return {
        "rows": norm(rows), "cone": norm(cone), "dual": norm(gradient), "gap": float(abs(primal - dual)),
        "primal_objective": float(primal), "dual_objective": float(dual),
    }  # fmt: skip


def quadratic_figures(program: Any, x: Any, y: Any, z: Any) -> dict[str, float]:
    """rows, cone (the bounds), dual and gap, and the objectives, of a point with no multiplier of an infinite side."""
    given = x
    x, y, z = map(fractions, (x, y, z))
    q, Px, Ax = fractions(program.q), product(program.P, x), product(program.A, x)

    def outside(l: Any, u: Any, v: list[Fraction]) -> float:
        below = [Fraction(float(a)) - value for a, value in zip(l, v, strict=True) if np.isfinite(a)]
        above = [value - Fraction(float(a)) for a, value in zip(u, v, strict=True) if np.isfinite(a)]
        return float(max([Fraction(0), *below, *above]))

    def support(l: Any, u: Any, v: list[Fraction]) -> Fraction:
        sides = [float(b if value > 0 else a) for a, b, value in zip(l, u, v, strict=True)]
        return inner(fractions([side if np.isfinite(side) else 0.0 for side in sides]), v)

    held = support(program.l, program.u, y) + support(program.lb, program.ub, z)
    primal, dual = inner(x, Px) / 2 + inner(q, x), -inner(x, Px) / 2 - held
    gradient = total(Px, q, product(program.A.T.tocsc(), y), z) if len(given) else []
    return {
        "rows": outside(program.l, program.u, Ax), "cone": outside(program.lb, program.ub, x), "dual": norm(gradient),
        "gap": float(abs(primal - dual)), "primal_objective": float(primal), "dual_objective": float(dual),
    }  # fmt: skip
