"""Changes of a program after which its planted answer is known: repeated rows, scaled rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import qp
import socp
from socp import NonNeg

from ..answers.program import changed
from .case import Case, Planted
from .points import scaled_hessian

Family = Callable[[np.random.Generator], Case]


def with_copies(rng: np.random.Generator, case: Case) -> Case:
    """Append whole multiples and sums of rows; of a cone program, move a part of the multipliers to them, too."""
    program = case.program
    if not isinstance(program, socp.ConeProgram):
        return _quadratic_with_copies(rng, program, case)
    A, G, p = program.A.toarray(), program.G.toarray(), program.p
    combined = rng.integers(-2, 3, (int(rng.integers(0, p + 1)), p)).astype(float)
    rows: list[int] = []
    factors: list[float] = []
    cones, start = list(program.cones), 0
    for cone in program.cones:
        if rng.random() < 0.5:
            rows += range(start, start + cone.dim)
            scale = rng.integers(1, 4, cone.dim) if isinstance(cone, NonNeg) else np.full(cone.dim, rng.integers(1, 4))
            factors += scale.astype(float).tolist()
            cones.append(cone)
        start += cone.dim
    factor = np.array(factors, dtype=float)
    planted, split = case.planted, float(rng.choice([0.0, 0.5]))
    if planted.y is not None and planted.z is not None:
        z = planted.z.copy()
        moved = split * z[rows] / factor
        z[rows] *= 1.0 - split
        planted = replace(planted, y=np.append(planted.y, np.zeros(len(combined))), z=np.append(z, moved))
    parts = {
        "A": np.vstack([A, combined @ A]),
        "b": np.append(program.b, combined @ program.b),
        "G": np.vstack([G, factor[:, None] * G[rows]]),
        "h": np.append(program.h, factor * program.h[rows]),
    }
    return replace(case, program=changed(program, cones=cones, **parts), planted=planted)


def _quadratic_with_copies(rng: np.random.Generator, program: qp.QuadraticProgram, case: Case) -> Case:
    A = program.A.toarray()
    rows = np.flatnonzero(rng.random(program.m) < 0.5)
    factor = rng.choice([-2.0, -1.0, 1.0, 3.0], rows.size)
    ends = np.stack([factor * program.l[rows], factor * program.u[rows]])
    planted = case.planted
    if planted.y is not None:
        planted = replace(planted, y=np.append(planted.y, np.zeros(rows.size)))
    l, u = np.append(program.l, ends.min(axis=0)), np.append(program.u, ends.max(axis=0))
    repeated = changed(program, A=np.vstack([A, factor[:, None] * A[rows]]), l=l, u=u)
    return replace(case, program=repeated, planted=planted)


def equalities_again(rng: np.random.Generator, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Append sums of the rows of A x = b whose right-hand sides are off by up to 1e-10 to 2e-8, relatively."""
    sums = rng.integers(-2, 3, (int(rng.integers(1, b.size + 1)), b.size)).astype(float)
    rhs = sums @ b
    miss = 10.0 ** rng.uniform(-10.0, -7.7) * rng.uniform(-1.0, 1.0, rhs.size) * (1.0 + np.abs(rhs))
    return np.vstack([A, sums @ A]), np.append(b, rhs + miss)


def with_a_heavy_part(rng: np.random.Generator, A: np.ndarray) -> np.ndarray:
    """Return A with a row, a column, an entry, or all of it, multiplied by 1e11 to 1e13."""
    m, n = A.shape
    which = int(rng.integers(4))
    rows = np.arange(m) == rng.integers(max(m, 1)) if which in (0, 2) else np.ones(m, dtype=bool)
    columns = np.arange(n) == rng.integers(n) if which in (1, 2) else np.ones(n, dtype=bool)
    return np.where(np.outer(rows, columns), 10.0 ** rng.uniform(11.0, 13.0), 1.0) * A


def scaled(rng: np.random.Generator, case: Case, decades: float) -> Case:
    """Multiply rows (whole cones), columns and the objective by powers of ten of at most `decades`, either way."""
    program: Any = case.program
    is_conic = isinstance(program, socp.ConeProgram)
    rows = _powers(rng, program.p if is_conic else program.m, decades)
    columns, objective = _powers(rng, program.n, decades), _power(rng, decades)
    parts = {
        "c" if is_conic else "q": objective * columns * (program.c if is_conic else program.q),
        "P": scaled_hessian(program.P, columns, objective),
        "A": rows[:, None] * program.A.toarray() * columns,
    }
    if is_conic:
        blocks = [
            _powers(rng, c.dim, decades) if isinstance(c, NonNeg) else np.full(c.dim, _power(rng, decades))
            for c in program.cones
        ]
        z = np.concatenate([np.zeros(0), *blocks])
        parts |= {"b": rows * program.b, "G": z[:, None] * program.G.toarray() * columns, "h": z * program.h}
    else:
        z = 1.0 / columns
        parts |= {"l": rows * program.l, "u": rows * program.u, "lb": program.lb / columns, "ub": program.ub / columns}
    return replace(case, program=changed(program, **parts), planted=_scaled(case.planted, columns, rows, z, objective))


def scaled_families(any_planted: Family) -> dict[str, Family]:
    """Return families with rows, columns and objective multiplied: by 1/30 to 30, or by up to 1e-8 to 1e8."""

    def far(rng: np.random.Generator) -> Case:
        return replace(scaled(rng, any_planted(rng), float(rng.choice([4.0, 8.0]))), hard=True)

    return {"scaled_mildly": lambda rng: scaled(rng, any_planted(rng), 1.5), "scaled": far}


def _scaled(planted: Planted, columns: np.ndarray, y: np.ndarray, z: np.ndarray, objective: float) -> Planted:
    """Return the planted answer of a scaled program; rays and certificates keep their slope -1."""
    factor = 1.0 if planted.kind == "infeasible" else objective
    ray = objective if planted.kind == "unbounded" else 1.0
    return replace(
        planted,
        x=None if planted.x is None else planted.x / columns / ray,
        y=None if planted.y is None else factor * planted.y / y,
        z=None if planted.z is None else factor * planted.z / z,
    )


def _powers(rng: np.random.Generator, size: int, decades: float) -> np.ndarray:
    """Draw powers of ten; in half of the draws all are equal."""
    exponents = rng.uniform(-decades, decades, size)
    return np.asarray(10.0 ** (exponents if rng.random() < 0.5 else np.full(size, rng.uniform(-decades, decades))))


def _power(rng: np.random.Generator, decades: float) -> float:
    return float(_powers(rng, 1, decades)[0])
