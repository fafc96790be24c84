"""Residuals and objectives of points in exact arithmetic: absolute, in the blocks of the stopping test."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.answers.exact import Exact, times


def norm(v: Exact) -> float:
    return float(np.abs(v.rounded()).max(initial=0.0))


def _objectives(curved: Exact, linear: Exact, held: Exact, hidden: Exact) -> dict[str, float]:
    """Return gap and objectives from x'Px (`curved`), c'x (`linear`) and the multipliers' support (`held`).

    The gap is at least a hundredth of the largest entry of `hidden`, x_j times the dual residual.
    """
    half = Exact(curved.whole, curved.power - 1)
    return {
        "gap": max(norm(curved + linear + held), 0.01 * norm(hidden)),
        "primal_objective": float((half + linear).rounded()[0]),
        "dual_objective": -float((half + held).rounded()[0]),
    }  # fmt: skip


def cone_figures(program: Any, x: Any, y: Any, z: Any, s: Any) -> dict[str, float]:
    """Return rows, cone (its equation only), dual, gap and objectives at a point of a program with finite h."""
    x, y, z, s = map(Exact.of, (x, y, z, s))
    c, b, h = map(Exact.of, (program.c, program.b, program.h))
    Px = times(program.P, x)
    gradient = Px + c + times(program.A.T, y) + times(program.G.T, z)
    return {
        "rows": norm(times(program.A, x) - b), "cone": norm(times(program.G, x) + s - h), "dual": norm(gradient),
        **_objectives(x.dot(Px), c.dot(x), b.dot(y) + h.dot(z), x * gradient),
    }  # fmt: skip


def quadratic_figures(program: Any, x: Any, y: Any, z: Any) -> dict[str, float]:
    """Return rows, cone (bounds), dual, gap and objectives at a point without multipliers of infinite sides."""
    x, y, z = map(Exact.of, (x, y, z))

    def outside(l: Any, u: Any, v: Exact) -> float:
        below, above = (Exact.of(np.where(np.isfinite(side), side, 0.0)) for side in (l, u))
        beyond = (
            np.where(np.isfinite(l), (below - v).rounded(), 0.0),
            np.where(np.isfinite(u), (v - above).rounded(), 0.0),
        )
        return float(np.max(beyond, initial=0.0))

    def support(l: Any, u: Any, v: Exact) -> Exact:
        side = np.where(v.whole > 0, u, l)
        return Exact.of(np.where(np.isfinite(side), side, 0.0)).dot(v)

    Px, q = times(program.P, x), Exact.of(program.q)
    gradient, held = Px + q + times(program.A.T, y) + z, support(program.l, program.u, y)
    return {
        "rows": outside(program.l, program.u, times(program.A, x)), "cone": outside(program.lb, program.ub, x),
        "dual": norm(gradient),
        **_objectives(x.dot(Px), q.dot(x), held + support(program.lb, program.ub, z), x * gradient),
    }  # fmt: skip
