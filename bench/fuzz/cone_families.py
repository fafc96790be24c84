"""Families of cone programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import socp
from socp import NonNeg, SecondOrder

from ..answers.program import changed
from . import planting, points, shapes
from .case import INFEASIBLE, Case, Planted
from .points import Generator, Style, any_style, matrix, vector


def tiny(rng: Generator) -> Case:
    """Draw a program of few variables from whole numbers between -3 and 3, sometimes degenerate."""
    cones = points.some_cones(rng, int(rng.integers(0, 7)))
    return planting.any_cone_optimal(rng, int(rng.integers(1, 5)), int(rng.integers(0, 3)), cones, Style(True, 0.2))


def unknown(rng: Generator) -> Case:
    """Draw a program from whole numbers with no planted answer: optimal, infeasible, unbounded, or between these."""
    n, p, m = int(rng.integers(1, 4)), int(rng.integers(0, 3)), int(rng.integers(0, 7))
    style = Style(True, density=float(rng.choice([1.0, 0.5])))
    program = socp.ConeProgram(
        c=vector(rng, n, style),
        P=points.any_hessian(rng, n, style) if rng.random() < 0.5 else None,
        A=matrix(rng, p, n, style),
        b=vector(rng, p, style),
        G=matrix(rng, m, n, style),
        h=vector(rng, m, style),
        cones=points.some_cones(rng, m),
    )
    return Case(program, Planted(), hard=True)


def degenerate(rng: Generator) -> Case:
    """Draw a program with more active rows than needed, with and without multipliers."""
    n = int(rng.integers(1, 9))
    cones = points.some_cones(rng, int(rng.integers(1, 4 * n)))
    return planting.any_cone_optimal(rng, n, int(rng.integers(0, n + 1)), cones, any_style(rng, float(rng.random())))


def dependent(rng: Generator) -> Case:
    """Draw a program with repeated rows, and with multiples and sums of other rows."""
    n = int(rng.integers(1, 7))
    cones = points.some_cones(rng, int(rng.integers(1, 2 * n + 1)))
    return shapes.with_copies(rng, planting.any_cone_optimal(rng, n, int(rng.integers(0, n)), cones, any_style(rng)))


def deficient(rng: Generator) -> Case:
    """Draw a program whose matrices see x through a map of lower rank: solutions form a subspace, rows of A depend."""
    n, style = int(rng.integers(2, 9)), any_style(rng, 0.2)
    rank = int(rng.integers(1, n))
    seen = matrix(rng, rank, n, style)
    p, cones = int(rng.integers(0, rank + 3)), points.some_cones(rng, int(rng.integers(1, 2 * n)))
    G = matrix(rng, sum(c.dim for c in cones), rank, style) @ seen
    P = points.hessian(rng, seen.T @ matrix(rng, rank, int(rng.integers(0, rank + 1)), style))
    return planting.cone_optimal(rng, P, matrix(rng, p, rank, style) @ seen, G, cones, style)


def curved(rng: Generator) -> Case:
    """Draw a program with a P of any form and rank, often 0 or 1, and few constraints or none."""
    n, style = int(rng.integers(1, 16)), any_style(rng)
    rank = int(rng.integers(0, n + 1)) if rng.random() < 0.5 else int(rng.integers(0, 2))
    d = points.positive(rng, n, style) * (rng.random(n) < rng.choice([0.0, 0.0, 0.5, 1.0]))
    P = points.hessian(rng, matrix(rng, n, rank, style), d)
    cones = points.some_cones(rng, int(rng.integers(0, n + 1)))
    A, G = matrix(rng, int(rng.integers(0, 2)), n, style), matrix(rng, sum(c.dim for c in cones), n, style)
    return planting.cone_optimal(rng, P, A, G, cones, style)


def empty_parts(rng: Generator) -> Case:
    """Draw a program with cones of dimension 0 to 2, zero rows and columns, rows that always hold, or no rows."""
    n, style = int(rng.integers(1, 5)), any_style(rng, 0.2)
    dims = rng.integers(0, 3, int(rng.integers(0, 6))).tolist()
    cones = [NonNeg(dim) if rng.random() < 0.5 else SecondOrder(dim) for dim in dims]
    m, p = sum(dims), int(rng.integers(0, 3))
    A, G = matrix(rng, p, n, style), matrix(rng, m, n, style)
    for block in (A, G):
        block[rng.random(block.shape[0]) < 0.3] = 0.0
        block[:, rng.random(n) < 0.2] = 0.0
    P = points.any_hessian(rng, n, style)
    case = planting.cone_optimal(rng, P, A, G, cones, style)
    program, z = case.program, case.planted.z
    linear = np.repeat([isinstance(c, NonNeg) for c in cones], dims) if dims else np.zeros(0, dtype=bool)
    h = np.where(linear & (z == 0.0) & (rng.random(m) < 0.3), np.inf, program.h)
    return replace(case, program=changed(program, h=h))


def many_cones(rng: Generator) -> Case:
    """Draw a program with ten to sixty small cones."""
    n, count = int(rng.integers(5, 40)), int(rng.integers(10, 60))
    cones = [SecondOrder(int(rng.integers(1, 6))) if rng.random() < 0.8 else NonNeg(1) for _ in range(count)]
    style = Style(False, float(rng.choice([0.0, 0.2])), float(rng.choice([1.0, 0.2])))
    return planting.any_cone_optimal(rng, n, int(rng.integers(0, n // 4 + 1)), cones, style)


def large_cone(rng: Generator) -> Case:
    """Draw a program with one second-order cone of up to two hundred rows."""
    n, dim = int(rng.integers(2, 40)), int(rng.integers(20, 200))
    style = Style(False, 0.0, float(rng.choice([1.0, 0.1])))
    return planting.any_cone_optimal(rng, n, int(rng.integers(0, n // 3 + 1)), [SecondOrder(dim), NonNeg(3)], style)


def large_sparse(rng: Generator) -> Case:
    """Draw a program of 200 to 400 variables, for the sparse factorization."""
    n = int(rng.integers(200, 400))
    style = Style(False, 0.0, 3.0 / n)
    cones: list[NonNeg | SecondOrder] = [NonNeg(n), *(SecondOrder(int(k)) for k in rng.integers(2, 12, 10))]
    A, G = matrix(rng, n // 5, n, style), matrix(rng, sum(c.dim for c in cones), n, style)
    G[:n] += np.diag(rng.choice([-1.0, 1.0], n))
    P = points.hessian(rng, np.zeros((n, 0)), points.positive(rng, n, style) * (rng.random(n) < 0.5))
    return planting.cone_optimal(rng, P, A, G, cones, style)


def infeasible(rng: Generator) -> Case:
    """Draw an infeasible program with a planted certificate."""
    n, p = int(rng.integers(1, 9)), int(rng.integers(0, 4))
    cones = points.some_cones(rng, int(rng.integers(1, 2 * n + 2)))
    case = planting.cone_infeasible(rng, n, p, cones, any_style(rng, 0.2))
    return shapes.with_copies(rng, case) if rng.random() < 0.2 else case


def unbounded(rng: Generator) -> Case:
    """Draw a feasible program with a planted ray."""
    n = int(rng.integers(1, 9))
    cones = points.some_cones(rng, int(rng.integers(0, 2 * n + 1)))
    return planting.cone_unbounded(rng, n, int(rng.integers(0, n)), cones, any_style(rng, 0.2))


def neither(rng: Generator) -> Case:
    """Draw an infeasible program that has a ray, too: either certificate is right."""
    style = any_style(rng)
    cones = points.some_cones(rng, int(rng.integers(1, 6)))
    case = planting.cone_infeasible(rng, int(rng.integers(1, 5)), int(rng.integers(0, 3)), cones, style)
    program = case.program
    G, A = (np.column_stack([rows.toarray(), np.zeros(rows.shape[0])]) for rows in (program.G, program.A))
    ray = Planted(INFEASIBLE, np.append(np.zeros(program.n), 1.0), case.planted.y, case.planted.z)
    return Case(socp.ConeProgram(np.append(program.c, -1.0), G, program.h, program.cones, A, program.b), ray)


def nearly_infeasible(rng: Generator) -> Case:
    """Draw a program that is infeasible or feasible by a margin of 1e-13 to 1e-4, or by no margin at all."""
    n, style = int(rng.integers(1, 6)), any_style(rng)
    cones = points.some_cones(rng, int(rng.integers(1, 8)))
    margin = float(10.0 ** rng.uniform(-13.0, -4.0)) * float(rng.choice([-1.0, 0.0, 1.0]))
    if margin > 0.0:
        return replace(planting.cone_infeasible(rng, n, int(rng.integers(0, 3)), cones, style, margin), hard=True)
    case = planting.cone_infeasible(rng, n, int(rng.integers(0, 3)), cones, style)
    program = case.program
    y, z = case.planted.y, case.planted.z  # Moving the sides along (y, z) makes b'y + h'z = -margin.
    step = (1.0 - margin) / float(y @ y + z @ z)
    b, h = program.b + step * y, program.h + step * z
    return Case(changed(program, b=b, h=h), Planted(), hard=True)


def inconsistent(rng: Generator) -> Case:
    """Draw a program with equalities and sums of them that contradict each other by about the tolerance."""
    n = int(rng.integers(2, 40))
    cones = points.some_cones(rng, int(rng.integers(1, 2 * n)))
    program = planting.any_cone_optimal(rng, n, int(rng.integers(1, n // 2 + 2)), cones, any_style(rng)).program
    A, b = shapes.equalities_again(rng, program.A.toarray(), program.b)
    return Case(changed(program, A=A, b=b), Planted(), hard=True)


def heavy(rng: Generator) -> Case:
    """Draw a program whose equalities, or rows of cones, have a part near 1e12."""
    n, style = int(rng.integers(2, 40)), any_style(rng)
    cones = points.some_cones(rng, int(rng.integers(1, 2 * n)))
    A, G = matrix(rng, int(rng.integers(1, n // 2 + 2)), n, style), matrix(rng, sum(c.dim for c in cones), n, style)
    if rng.random() < 0.7:
        A = shapes.with_a_heavy_part(rng, A)
    else:
        G = shapes.with_a_heavy_part(rng, G)
    return replace(planting.cone_optimal(rng, points.any_hessian(rng, n, style), A, G, cones, style), hard=True)


def pinched(rng: Generator) -> Case:
    """Draw a program with each equality written as two inequalities, one of them scaled: feasible, without interior."""
    n, style = int(rng.integers(1, 6)), any_style(rng)
    cones = points.some_cones(rng, int(rng.integers(0, n + 1)))
    case = planting.any_cone_optimal(rng, n, int(rng.integers(1, n + 1)), cones, style)
    program = case.program
    A, factor = program.A.toarray(), rng.choice([1.0, 2.0, 0.1, 3.0], program.p)
    inequalities = socp.ConeProgram(
        program.c,
        np.vstack([A, -factor[:, None] * A, program.G.toarray()]),
        np.concatenate([program.b, -factor * program.b, program.h]),
        [NonNeg(2 * program.p), *program.cones],
        P=program.P,
    )
    above, below = np.maximum(case.planted.y, 0.0), np.maximum(-case.planted.y, 0.0) / factor
    z = np.concatenate([above, below, case.planted.z])
    return replace(case, program=inequalities, planted=replace(case.planted, y=np.zeros(0), z=z), hard=True)


def weakly(rng: Generator) -> Case:
    """Draw a program, in mixed variables, that is weakly infeasible, has no minimizer, or no optimal multipliers."""
    which, n = int(rng.integers(3)), int(rng.integers(2, 5))
    G, h = np.zeros((3, n)), np.zeros(3)
    c = np.zeros(n)
    if which == 0:  # x >= ||(x, 1)||
        G[:2, 0], h[2] = -1.0, 1.0
    elif which == 1:  # min y with x y >= 1
        G[0, :2], G[1, :2], h[2], c[1] = -1.0, (-1.0, 1.0), 2.0, 1.0
    else:  # min y with x >= ||(x, y)||
        G[:2, 0], G[2, 1], c[1] = -1.0, -1.0, 1.0
    mixed = rng.integers(-2, 3, (n, n)).astype(float) + 5.0 * np.eye(n)
    cones: list[NonNeg | SecondOrder] = [SecondOrder(3)]
    if rng.random() < 0.5:
        G, h = np.vstack([G, rng.integers(-1, 2, (2, n))]), np.append(h, [1.0, 2.0])
        cones.append(NonNeg(2))
    return Case(socp.ConeProgram(c @ mixed, G @ mixed, h, cones), Planted(), hard=True)


def ill_conditioned(rng: Generator) -> Case:
    """Draw a program of few rows with a P whose inverse is lost to rounding, scaled by up to 1e8."""
    n, scale, style = int(rng.integers(4, 14)), 10.0 ** rng.uniform(0.0, 8.0), Style()
    P = scale * points.ill_conditioned(rng, n)
    cones = points.some_cones(rng, int(rng.integers(0, n)))
    A, G = matrix(rng, int(rng.integers(0, 3)), n, style), matrix(rng, sum(c.dim for c in cones), n, style)
    return replace(planting.cone_optimal(rng, P, A, G, cones, style), hard=scale > 1e4)


def uneven(rng: Generator) -> Case:
    """Draw a program whose solution has entries up to 1e7 among entries near one, in bounds, rows and cones."""
    n, style = int(rng.integers(2, 9)), Style(False, 0.1, float(rng.choice([1.0, 0.5])))
    decades = float(rng.choice([3.0, 7.0]))
    cones = [NonNeg(n), *points.some_cones(rng, int(rng.integers(0, n)))]
    G = np.vstack([np.diag(rng.choice([-1.0, 1.0], n)), matrix(rng, sum(c.dim for c in cones[1:]), n, style)])
    A, P = matrix(rng, int(rng.integers(0, n)), n, style), points.any_hessian(rng, n, style)
    x = points.uneven(rng, n, decades)
    return replace(planting.cone_optimal(rng, P, A, G, cones, style, x), hard=decades > 4.0)


def bound_rows(rng: Generator) -> Case:
    """Draw a program with rows of one entry in orthants, cones and equalities, and with zeros that are stored."""
    n, style = int(rng.integers(1, 6)), any_style(rng, 0.2)
    cones = points.some_cones(rng, int(rng.integers(1, 3 * n + 1)))
    m, p = sum(c.dim for c in cones), int(rng.integers(0, n + 1))
    alone = rng.random(m) < 0.7
    G = np.where(alone[:, None], points.single_entries(rng, m, n), matrix(rng, m, n, style))
    A = points.single_entries(rng, p, n) if rng.random() < 0.5 else matrix(rng, p, n, style)
    A, G = points.with_stored_zeros(rng, A), points.with_stored_zeros(rng, G)
    return planting.cone_optimal(rng, points.any_hessian(rng, n, style), A, G, cones, style)


def any_planted(rng: Generator) -> Case:
    """Draw a program of few variables with a planted optimum, certificate or ray."""
    n, style = int(rng.integers(1, 7)), any_style(rng)
    cones, p = points.some_cones(rng, int(rng.integers(1, 2 * n + 1))), int(rng.integers(0, n))
    which = rng.random()
    if which < 0.6:
        return planting.any_cone_optimal(rng, n, p, cones, style)
    return (planting.cone_infeasible if which < 0.8 else planting.cone_unbounded)(rng, n, p, cones, style)


FAMILIES = (
    tiny, unknown, degenerate, dependent, deficient, curved, empty_parts, many_cones, large_cone, large_sparse,
    infeasible, unbounded, neither, nearly_infeasible, inconsistent, heavy, pinched, weakly,
    ill_conditioned, uneven, bound_rows,
)  # fmt: skip
