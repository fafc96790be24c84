"""Families of quadratic programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import qp

from ..answers.program import changed
from . import planting, points, shapes
from .case import Case, Planted
from .points import Generator, Sides, Style, any_style, matrix, positive, vector


def tiny(rng: Generator) -> Case:
    """Draw a program of few variables from whole numbers between -3 and 3, sometimes degenerate."""
    return planting.any_quadratic_optimal(rng, int(rng.integers(1, 5)), int(rng.integers(0, 5)), Style(True, 0.2))


def unknown(rng: Generator) -> Case:
    """Draw a program from whole numbers with no planted answer: optimal, infeasible, unbounded, or between these."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(0, 6))
    style = Style(True, density=float(rng.choice([1.0, 0.5])))
    ends = [np.sort(rng.integers(-3, 4, (2, size)), axis=0).astype(float) for size in (m, n)]
    (l, u), (lb, ub) = [
        (np.where(rng.random(low.size) < 0.6, low, -np.inf), np.where(rng.random(low.size) < 0.6, high, np.inf))
        for low, high in ends
    ]
    P = points.any_hessian(rng, n, style) if rng.random() < 0.6 else None
    program = qp.QuadraticProgram(P, vector(rng, n, style), matrix(rng, m, n, style), l, u, lb, ub)
    return Case(program, Planted(), hard=True)


def degenerate(rng: Generator) -> Case:
    """Draw a program with more active rows and bounds than needed, with and without multipliers."""
    n, style = int(rng.integers(1, 9)), any_style(rng, float(rng.random()))
    return planting.any_quadratic_optimal(rng, n, int(rng.integers(1, 4 * n)), style)


def dependent(rng: Generator) -> Case:
    """Draw a program with repeated rows, multiplied by positive or negative numbers, and with fixed variables."""
    n, style = int(rng.integers(1, 7)), any_style(rng)
    return shapes.with_copies(rng, planting.any_quadratic_optimal(rng, n, int(rng.integers(1, 2 * n + 1)), style))


def deficient(rng: Generator) -> Case:
    """Draw a program whose A and P see x through a map of lower rank."""
    n, style = int(rng.integers(2, 9)), any_style(rng, 0.2)
    rank = int(rng.integers(1, n))
    seen = matrix(rng, rank, n, style)
    A = matrix(rng, int(rng.integers(1, 2 * n)), rank, style) @ seen
    P = points.hessian(rng, seen.T @ matrix(rng, rank, int(rng.integers(0, rank + 1)), style))
    return planting.quadratic_optimal(rng, P, A, style)


def curved(rng: Generator) -> Case:
    """Draw a program with a P of any form and rank, and few rows."""
    n, style = int(rng.integers(1, 30)), any_style(rng)
    rank = int(rng.integers(0, n + 1)) if rng.random() < 0.5 else int(rng.integers(0, 3))
    d = positive(rng, n, style) * (rng.random(n) < rng.choice([0.0, 0.0, 0.5, 1.0]))
    P = points.hessian(rng, matrix(rng, n, rank, style), d)
    return planting.quadratic_optimal(rng, P, matrix(rng, int(rng.integers(0, 3)), n, style), style)


def empty_parts(rng: Generator) -> Case:
    """Draw a program with zero rows and columns, rows of one entry, or no rows or sides."""
    n, m, style = int(rng.integers(1, 6)), int(rng.integers(0, 6)), any_style(rng, 0.2)
    A = matrix(rng, m, n, style)
    A[rng.random(m) < 0.3] = 0.0
    A[:, rng.random(n) < 0.2] = 0.0
    for i in np.flatnonzero(rng.random(m) < 0.3):  # a bound, written as a row
        A[i] = np.where(np.arange(n) == rng.integers(n), A[i], 0.0)
    return planting.quadratic_optimal(rng, points.any_hessian(rng, n, style), A, style)


def huge_bounds(rng: Generator) -> Case:
    """Draw a program whose inactive sides are moved to 1e5 or more, even to where they count as infinite."""
    n, style = int(rng.integers(1, 9)), any_style(rng)
    case = planting.any_quadratic_optimal(rng, n, int(rng.integers(0, n + 1)), style)
    program, planted = case.program, case.planted
    low, high = (5.0, 9.0) if rng.random() < 0.5 else (5.0, 21.0)
    l, u = _moved_out(rng, planted.y, program.l, program.u, low, high)
    lb, ub = _moved_out(rng, planted.z, program.lb, program.ub, low, high)
    return replace(case, program=changed(program, l=l, u=u, lb=lb, ub=ub), hard=True)


def _moved_out(rng: Generator, y: np.ndarray, l: np.ndarray, u: np.ndarray, low: float, high: float) -> Sides:
    """Return the sides, some sides without a multiplier moved far out; equal sides stay."""
    far = 10.0 ** rng.uniform(low, high, (2, y.size))
    moved = (rng.random((2, y.size)) < 0.5) & (l < u)
    return np.where(moved[0] & (y >= 0), -far[0], l), np.where(moved[1] & (y <= 0), far[1], u)


def boxed(rng: Generator) -> Case:
    """Draw a program with bounds on all variables, a dense P and at most one row, for the active set."""
    n, style = int(rng.integers(60, 140)), Style(False, float(rng.choice([0.0, 0.3])))
    x = vector(rng, n, style)
    where = rng.integers(0, 3, n)  # 0: x is at lb, 1: x is at ub, 2: x is between
    width = positive(rng, n, style)
    lb, ub = np.where(where == 0, x, x - width), np.where(where == 1, x, x + width)
    z = np.choose(where, [-1.0, 1.0, 0.0]) * width * (rng.random(n) >= style.degenerate)
    A = matrix(rng, int(rng.integers(0, 2)), n, style)
    l, u, y = planting.sides(rng, A @ x, style)
    factor = matrix(rng, n, n if rng.random() < 0.7 else n // 2, style) / np.sqrt(n)
    P = factor @ factor.T
    P = 0.5 * (P + P.T)
    return Case(qp.QuadraticProgram(P, -(P @ x + A.T @ y + z), A, l, u, lb, ub), Planted("optimal", x, y, z))


def large_sparse(rng: Generator) -> Case:
    """Draw a program of 200 to 400 variables, for the sparse factorization."""
    n = int(rng.integers(200, 400))
    style = Style(False, 0.0, 3.0 / n)
    P = points.hessian(rng, np.zeros((n, 0)), positive(rng, n, style) * (rng.random(n) < 0.5))
    return planting.quadratic_optimal(rng, P, matrix(rng, n // 2, n, style), style)


def infeasible(rng: Generator) -> Case:
    """Draw an infeasible program with a planted certificate."""
    n, m = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    case = planting.quadratic_infeasible(rng, n, m, any_style(rng))
    return shapes.with_copies(rng, case) if rng.random() < 0.2 else case


def unbounded(rng: Generator) -> Case:
    """Draw a feasible program with a planted ray."""
    n = int(rng.integers(1, 9))
    return planting.quadratic_unbounded(rng, n, int(rng.integers(0, 2 * n + 1)), any_style(rng))


def nearly_infeasible(rng: Generator) -> Case:
    """Draw a program with a certificate of slope -1e-4 to -1e-13."""
    margin = float(10.0 ** rng.uniform(-13.0, -4.0))
    case = planting.quadratic_infeasible(rng, int(rng.integers(1, 6)), int(rng.integers(1, 6)), any_style(rng), margin)
    return replace(case, hard=True)


def inconsistent(rng: Generator) -> Case:
    """Draw a program with equalities and sums of them that contradict each other by about the tolerance."""
    n, style = int(rng.integers(2, 40)), any_style(rng)
    case = planting.any_quadratic_optimal(rng, n, int(rng.integers(0, n)), style)
    program, planted = case.program, case.planted
    rows = matrix(rng, int(rng.integers(1, n // 2 + 2)), n, style)
    rows, b = shapes.equalities_again(rng, rows, rows @ planted.x)
    A = np.vstack([program.A.toarray(), rows])
    l, u = np.append(program.l, b), np.append(program.u, b)
    return Case(changed(program, A=A, l=l, u=u), Planted(), hard=True)


def heavy(rng: Generator) -> Case:
    """Draw a program whose rows have a part near 1e12."""
    n, style = int(rng.integers(1, 40)), any_style(rng)
    A = shapes.with_a_heavy_part(rng, matrix(rng, int(rng.integers(1, n + 2)), n, style))
    return replace(planting.quadratic_optimal(rng, points.any_hessian(rng, n, style), A, style), hard=True)


def narrow(rng: Generator) -> Case:
    """Draw a program with sides that are 1e-4 to 1e-13 apart, in rows and bounds."""
    n, style = int(rng.integers(1, 7)), any_style(rng)
    case = planting.any_quadratic_optimal(rng, n, int(rng.integers(1, n + 2)), style)
    program, planted = case.program, case.planted
    l, u = _narrowed(rng, program.A @ planted.x, planted.y, program.l, program.u)
    lb, ub = _narrowed(rng, planted.x, planted.z, program.lb, program.ub)
    return replace(case, program=changed(program, l=l, u=u, lb=lb, ub=ub), hard=True)


def _narrowed(rng: Generator, v: np.ndarray, y: np.ndarray, l: np.ndarray, u: np.ndarray) -> Sides:
    """Return the sides, some inactive sides without a multiplier moved near the values v."""
    width = 10.0 ** rng.uniform(-13.0, -4.0, (2, y.size))
    near = rng.random((2, y.size)) < 0.5
    l = np.where(near[0] & (y >= 0) & (l < v), v - width[0], l)
    return l, np.where(near[1] & (y <= 0) & (u > v), v + width[1], u)


def ill_conditioned(rng: Generator) -> Case:
    """Draw a program with a P whose inverse is lost to rounding, times up to 1e8, and an optimum or far bounds."""
    n, scale, style = int(rng.integers(4, 14)), 10.0 ** rng.uniform(0.0, 8.0), Style()
    P = scale * points.ill_conditioned(rng, n)
    if rng.random() < 0.5:
        A = matrix(rng, int(rng.integers(0, 4)), n, style)
        return replace(planting.quadratic_optimal(rng, P, A, style), hard=scale > 1e4)
    size = 10.0 ** rng.uniform(3.0, 7.0)
    program = qp.QuadraticProgram(P, vector(rng, n, style), lb=-size, ub=size if rng.random() < 0.5 else None)
    return Case(program, Planted(), hard=True)


def uneven(rng: Generator) -> Case:
    """Draw a program whose solution has entries up to 1e7 among entries near one, in rows and bounds."""
    n, style = int(rng.integers(2, 12)), Style(False, 0.1, float(rng.choice([1.0, 0.5])))
    decades = float(rng.choice([3.0, 7.0]))
    A = matrix(rng, int(rng.integers(1, n + 1)), n, style)
    P = points.any_hessian(rng, n, style)
    x = points.uneven(rng, n, decades) * (rng.random(n) < 0.7)
    return replace(planting.quadratic_optimal(rng, P, A, style, x), hard=decades > 4.0)


def bound_rows(rng: Generator) -> Case:
    """Draw a program with bounds written as rows of one entry, often repeated, and with zeros that are stored."""
    n, style = int(rng.integers(1, 7)), any_style(rng, 0.2)
    single = points.single_entries(rng, int(rng.integers(1, 3 * n + 1)), n)
    A = np.vstack([matrix(rng, int(rng.integers(0, n + 1)), n, style), single])
    A = points.with_stored_zeros(rng, A[rng.permutation(A.shape[0])])
    return planting.quadratic_optimal(rng, points.any_hessian(rng, n, style), A, style)


def one_hot(rng: Generator) -> Case:
    """Draw a program with a dense P in blocks, mostly zeros, bounds on all variables and at most one row."""
    n = int(rng.integers(2, 100))
    group, sign = rng.integers(0, int(rng.integers(2, 8)), n), rng.choice([-1.0, 1.0], n)
    P = np.equal.outer(group, group) * np.outer(sign, sign) + np.diag(rng.choice([0.0, 1e-3], n))
    A = sign[None, : n * int(rng.integers(0, 2))].reshape(-1, n)
    limit = float(10.0 ** rng.uniform(-2.0, 3.0))
    ends = np.zeros(A.shape[0])
    return Case(qp.QuadraticProgram(P, -np.ones(n), A, ends, ends, 0.0, limit), Planted(), hard=True)


def any_planted(rng: Generator) -> Case:
    """Draw a program of few variables with a planted optimum, certificate or ray."""
    n, m, style = int(rng.integers(1, 7)), int(rng.integers(1, 7)), any_style(rng)
    which = rng.random()
    if which < 0.6:
        return planting.any_quadratic_optimal(rng, n, m, style)
    return (planting.quadratic_infeasible if which < 0.8 else planting.quadratic_unbounded)(rng, n, m, style)


FAMILIES = (
    tiny, unknown, degenerate, dependent, deficient, curved, empty_parts, huge_bounds, boxed, large_sparse,
    infeasible, unbounded, nearly_infeasible, inconsistent, heavy, narrow,
    ill_conditioned, uneven, bound_rows, one_hot,
)  # fmt: skip
