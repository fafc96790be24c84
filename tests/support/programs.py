"""Named programs with known answers, random programs around a known optimum or certificate, and a check of answers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.answers.verify import verify
from socp import ConeProgram, LowRank, NonNeg, SecondOrder, textbook

ROOT = np.sqrt(0.5)
BOX = {"G": np.vstack([np.eye(2), -np.eye(2)]), "h": [1.0, 1.0, 0.0, 0.0], "cones": [NonNeg(4)]}  # 0 <= x <= 1
DISK = {"G": [[0, 0], [-1, 0], [0, -1]], "h": [1, 0, 0], "cones": [SecondOrder(3)]}  # ||x|| <= 1
BALL = 20_000  # the dimension of the largest cone

# name: (program, x or None where it is not unique, objective)
OPTIMAL = {
    "nothing at all": (ConeProgram([]), [], 0.0),
    "no variables, one row": (ConeProgram([], np.zeros((1, 0)), [2.0], [NonNeg(1)], offset=3.0), [], 3.0),
    "no constraints": (ConeProgram([-2.0, -3.0], P=[[2, 1], [1, 2]]), [1 / 3, 4 / 3], -7 / 3),
    "no constraints, flat": (ConeProgram([-2.0, 0.0], P=np.diag([2.0, 0.0])), None, -1.0),
    "nothing to minimize": (ConeProgram([0.0, 0.0], **BOX), None, 0.0),
    "equalities only": (ConeProgram([0.0, 0.0], A=[[3, 4]], b=[5], P=np.eye(2)), [0.6, 0.8], 0.5),
    "equalities that leave one point": (ConeProgram([1.0, 1.0], A=[[1, 1], [1, -1]], b=[3, 1]), [2, 1], 3.0),
    "equalities twice": (
        ConeProgram([1.0, 2.0], -np.eye(2), [0, 0], [NonNeg(2)], [[1, 1], [1, 1]], [1, 1]), [1, 0], 1.0),
    "redundant equalities": (
        ConeProgram([1.0, 2.0, 0.0], -np.eye(3), [0] * 3, [NonNeg(3)], [[1, 1, 0], [0, 1, 1], [1, 2, 1]], [1, 1, 2]),
        [1, 0, 1], 1.0),
    "a zero equality": (ConeProgram([1.0], [[-1]], [-3], [NonNeg(1)], [[0.0]], [0.0]), [3], 3.0),
    "a zero row": (ConeProgram([1.0], [[-1], [0]], [-3, 0], [NonNeg(2)]), [3], 3.0),
    "a zero column": (ConeProgram([1.0, 0.0], [[-1, 0]], [-3], [NonNeg(1)]), None, 3.0),
    "one variable": (ConeProgram([-2.0], [[1], [-1]], [0.25, 0], [NonNeg(2)], P=[[4.0]]), [0.25], -0.375),
    "linear over a box": (ConeProgram([-1.0, 2.0], **BOX), [1, 0], -1.0),
    "an optimal face": (ConeProgram([-1.0, 0.0], **BOX), None, -1.0),
    "a row that always holds": (
        ConeProgram([1.0, 1.0], [[5, 5], [-1, 0], [7, 7], [0, -1]], [np.inf, -3, np.inf, -4], [NonNeg(3), NonNeg(1)]),
        [3, 4], 7.0),
    "fixed by two inequalities": (ConeProgram([1.0], [[1], [-1]], [2, -2], [NonNeg(2)]), [2], 2.0),
    "a row thrice": (ConeProgram([-1.0, -1.0], [[1, 2], [1, 2], [-1, -2], [2, 1]], [4, 3, 0, 3], [NonNeg(4)]),
        [1, 1], -2.0),
    "disk": (ConeProgram([1.0, 1.0], **DISK), [-ROOT, -ROOT], -2 * ROOT),
    "projection onto the disk": (ConeProgram([-3.0, -4.0], **DISK, P=np.eye(2), offset=12.5), [0.6, 0.8], 8.0),
    "cone of dimension 1": (ConeProgram([1.0], [[-1]], [-3], [SecondOrder(1)]), [3], 3.0),
    "cone of dimension 2": (ConeProgram([1.0], [[-1], [0]], [0, -3], [SecondOrder(2)]), [3], 3.0),
    "an empty cone": (ConeProgram([1.0], [[-1]], [-3], [SecondOrder(0), NonNeg(0), NonNeg(1), NonNeg(0)]), [3], 3.0),
    "cones before orthants": (  # x1 >= ||(x2, 1)||, x2 >= 2 between two other rows
        ConeProgram([1.0, 0.0], [[0, -1], [-1, 0], [0, -1], [0, 0], [0, 1]], [-2, 0, 0, 1, 9],
                    [NonNeg(1), SecondOrder(3), NonNeg(1)]), [np.sqrt(5), 2], np.sqrt(5)),
    "the vertex of a cone": (ConeProgram([2.0, 1.0, -1.0], -np.eye(3), [0] * 3, [SecondOrder(3)]), [0, 0, 0], 0.0),
    "sum of norms": (  # min ||(x, 1)|| + ||(x - 2, 1)||: in the middle
        ConeProgram([0.0, 1.0, 1.0], [[0, -1, 0], [-1, 0, 0], [0, 0, 0], [0, 0, -1], [-1, 0, 0], [0, 0, 0]],
                    [0, 0, 1, 0, -2, 1], [SecondOrder(3)] * 2), [1, 2 * ROOT, 2 * ROOT], 4 * ROOT),
    "low rank": (ConeProgram([-1.0, -0.8], **BOX, P=LowRank([[1.0], [1.0]], [1, 0])), [0.2, 0.6], -0.34),
    "dense P": (ConeProgram([-1.0, -0.8], **BOX, P=[[2.0, 1.0], [1.0, 1.0]]), [0.2, 0.6], -0.34),
    "large cone": (  # min sum x over the unit ball
        ConeProgram(np.ones(BALL - 1), sp.vstack([sp.csr_array((1, BALL - 1)), -sp.eye_array(BALL - 1)]),
                    np.r_[1.0, np.zeros(BALL - 1)], [SecondOrder(BALL)]), None, -np.sqrt(BALL - 1.0)),
}  # fmt: skip

PRIMAL_INFEASIBLE = {
    "no variables": ConeProgram([], np.zeros((1, 0)), [-1.0], [NonNeg(1)]),
    "no variables, an equality": ConeProgram([], A=np.zeros((1, 0)), b=[1.0]),
    "interval": ConeProgram([0.0], [[1], [-1]], [-1, -1], [NonNeg(2)]),
    "contradictory equalities": ConeProgram([1.0, 1.0], A=[[1, 1], [1, 1]], b=[1, 2]),
    "a zero equality": ConeProgram([1.0], A=[[0.0]], b=[1.0]),
    "a zero row": ConeProgram([1.0], [[-1], [0]], [0, -1], [NonNeg(2)]),
    "two disks": ConeProgram([0.0, 0.0], np.vstack([DISK["G"]] * 2), [1, 0, 0, 1, 3, 0], [SecondOrder(3)] * 2),
    "bounds cross through a row": ConeProgram(
        [0.0, 0.0], np.vstack([np.eye(2), -np.eye(2), [[-1, -1]]]), [1, 1, 0, 0, -3], [NonNeg(5)]
    ),
    "with curvature": ConeProgram([0.0], [[1], [-1]], [-1, -1], [NonNeg(2)], P=[[1.0]]),
    "in large units": ConeProgram([0.0], [[1], [-1]], [-1e6, -1e6], [NonNeg(2)]),
    "both": ConeProgram([-1.0, 0.0], [[0, 1], [0, -1]], [-1, -1], [NonNeg(2)]),  # primal and dual infeasible
    "beside a row that always holds": ConeProgram([0.0], [[1], [3], [-1]], [-1, np.inf, -1], [NonNeg(3)]),
}

DUAL_INFEASIBLE = {
    "half line": ConeProgram([-1.0], [[-1]], [0], [NonNeg(1)]),
    "no constraints": ConeProgram([1.0, -2.0]),
    "along an equation": ConeProgram([1.0, 1.0], A=[[1, -1]], b=[3]),
    "a flat direction of P": ConeProgram([0.0, 1.0], P=np.diag([1.0, 0.0])),
    "a flat direction of a dense P": ConeProgram([1.0, 0.0], P=[[1.0, 1.0], [1.0, 1.0]]),
    "a flat direction of a low-rank P": ConeProgram([1.0, 0.0], P=LowRank([[1.0], [1.0]])),
    "inside a cone": ConeProgram([-1.0, 0.5, 0.0], -np.eye(3), np.zeros(3), [SecondOrder(3)]),
    "a zero column": ConeProgram([1.0, -1.0], [[-1, 0]], [-3], [NonNeg(1)]),
    "through a row that always holds": ConeProgram([-1.0], [[1], [-1]], [np.inf, 0], [NonNeg(2)]),
}


# what the textbook engine takes: finite h, and no matrix of twenty thousand rows
OUT_OF_THE_BOOK = ("large cone", "nothing at all")
IN_THE_BOOK, PRIMAL_IN_THE_BOOK, DUAL_IN_THE_BOOK = (
    # which has no form with lines that always hold, and asks SciPy, which may refuse a system of order 0
    {name: one for name, one in named.items() if "always holds" not in name and name not in OUT_OF_THE_BOOK}
    for named in (OPTIMAL, PRIMAL_INFEASIBLE, DUAL_INFEASIBLE)
)


def solve_and_check(program, expected="optimal", objective=None, x=None, tol=1e-8, excused=False, **settings):
    """Solve, check the answer from x, y, z alone, and return the solution."""
    solution = (socp if isinstance(program, ConeProgram) else qp).solve(program, tol=tol, **settings)
    check(program, solution, expected, tol, excused)
    if objective is not None:
        assert solution.objective == pytest.approx(objective, rel=10 * tol, abs=10 * tol)
    if x is not None:
        np.testing.assert_allclose(solution.x, x, rtol=1e-5, atol=1e-5)
    return solution


def check(program, solution, expected="optimal", tol=1e-8, excused=False):
    """Check that the status is the expected one and that the answer is what the status promises.

    With `excused`, residuals may be above tol where the message says that double precision has no more digits.
    """
    said = solution.trace[-1] if isinstance(solution, textbook.TextbookSolution) else solution
    assert str(solution.status) == expected, said
    quadratic = isinstance(program, qp.QuadraticProgram)
    dual = solution.z_bounds if quadratic else solution.z
    found = verify(program, solution.x, solution.y, dual)
    if expected == "optimal":
        # verify computes the norms in another order: leave room for rounding
        assert found.solved(tol * (1 + 1e-6)), found
        # sums of n terms in another order: what verify allows for is 128 eps of the sizes of all terms
        lost = found.objective_rounding * max(1.0, program.n / 128)
        assert solution.objective == pytest.approx(found.objective, rel=1e-12, abs=1e-12 + lost)
        assert solution.dual_objective == pytest.approx(found.dual_objective, rel=1e-9, abs=1e-9 + lost)
        measures = (said.primal_residual, said.dual_residual, said.gap)
        says_so = excused and "double precision has no more digits" in solution.message
        assert max(measures) <= (1e-5 if says_so else tol)
    elif expected == "primal_infeasible":
        assert found.primal_infeasible <= tol * (1 + 1e-6), found
        assert np.isnan(solution.x).all() and np.isnan([solution.objective, solution.dual_objective]).all()
        assert said is not solution or solution.primal_residual <= tol
    elif expected == "dual_infeasible":
        assert found.dual_infeasible <= tol * (1 + 1e-6), found
        assert np.isnan(solution.y).all() and np.isnan(dual).all()
        assert np.isnan([solution.objective, solution.dual_objective]).all()
        assert said is not solution or solution.dual_residual <= tol


def complementary(cones, rng):
    """Return (s, z) in K with s'z = 0, of all kinds: s or z zero, both on the boundary, one inside."""
    s_parts, z_parts = [np.zeros(0)], [np.zeros(0)]
    for cone in cones:
        s, z = np.zeros(cone.dim), np.zeros(cone.dim)
        if isinstance(cone, NonNeg):
            active = rng.random(cone.dim) < 0.5
            s[~active], z[active] = rng.uniform(0.1, 2.0, (~active).sum()), rng.uniform(0.1, 2.0, active.sum())
        elif cone.dim:
            u = rng.normal(size=cone.dim - 1)
            t = np.linalg.norm(u)
            kind = rng.integers(3) if cone.dim > 1 else rng.integers(2)
            if kind == 0:
                s[0], s[1:] = t + rng.uniform(0.1, 1.0), u
            elif kind == 1:
                z[0], z[1:] = t + rng.uniform(0.1, 1.0), u
            else:  # s on the boundary and z on the opposite ray
                factor = rng.uniform(0.1, 2.0)
                s[0], s[1:], z[0], z[1:] = t, u, factor * t, -factor * u
        s_parts.append(s)
        z_parts.append(z)
    return np.concatenate(s_parts), np.concatenate(z_parts)


def interior(cones, rng):
    """Return a point well inside K."""
    parts = [np.zeros(0)]
    for cone in cones:
        v = rng.normal(size=cone.dim)
        if isinstance(cone, NonNeg):
            v = np.abs(v) + 0.1
        elif cone.dim:
            v[0] = np.linalg.norm(v[1:]) + rng.uniform(0.1, 1.0)
        parts.append(v)
    return np.concatenate(parts)


def random_cones(rng, most=5, largest=12):
    """Return a few cones of all kinds."""
    dims = rng.integers(0, largest, size=rng.integers(1, most + 1))
    return [NonNeg(int(d)) if rng.random() < 0.5 else SecondOrder(int(d)) for d in dims]


def random_hessian(rng, n):
    """Return None or a semidefinite matrix, in a random form of those that a program takes."""
    F = rng.normal(size=(n, max(1, n // 2)))
    kind = rng.integers(5)
    if kind == 0:
        return None
    if kind == 1:
        return F @ F.T
    if kind == 2:
        return LowRank(F, rng.uniform(0.0, 1.0, n))
    if kind == 3:
        return sp.diags_array(rng.integers(0, 2, n) * rng.uniform(0.1, 3.0, n), format="csr")
    F[rng.random(F.shape) < 0.6] = 0.0
    return sp.csc_array(F @ F.T)


def times(P, x):
    """Return P x for all forms of P."""
    return np.zeros_like(x) if P is None else P @ x


def planted_optimum(rng, n=None, density=1.0):
    """Return (program, optimal value) of a random program around an optimal triple."""
    n = int(rng.integers(1, 15)) if n is None else n
    cones, p = random_cones(rng), int(rng.integers(0, max(1, n // 2) + 1))
    m = sum(cone.dim for cone in cones)
    A, G = rng.normal(size=(p, n)), rng.normal(size=(m, n))
    for M in (A, G):
        M[rng.random(M.shape) > density] = 0.0
    P = random_hessian(rng, n)
    x, y = rng.normal(size=n), rng.normal(size=p)
    s, z = complementary(cones, rng)
    c = -(times(P, x) + A.T @ y + G.T @ z)
    offset = float(rng.normal())
    value = 0.5 * x @ times(P, x) + c @ x + offset
    return ConeProgram(c, G, G @ x + s, cones, A, A @ x, P, offset), float(value)


def has_interior(program, least=1e-5):
    """Return True if some feasible point and some dual feasible point are in the interior of the cones by a margin.

    Otherwise the smallest change of the data, rounding for example, can remove the solutions.
    """
    n, p, m = program.n, program.p, program.m
    parts = [np.ones(k.dim) if isinstance(k, NonNeg) else np.eye(1, k.dim)[0] for k in program.cones if k.dim]
    e = np.concatenate([np.zeros(0), *parts])[:, None]
    A, G, P = program.A.toarray(), program.G.toarray(), np.column_stack([times(program.P, e) for e in np.eye(n)])

    def largest_margin(A, b, G, h):
        """Return the largest t <= 1 with Ax = b, h - Gx - t e in K."""
        variables = A.shape[1]
        G = np.block([[G, e], [np.zeros((1, variables)), np.ones((1, 1))]])
        c = np.append(np.zeros(variables), -1.0)
        found = ConeProgram(c, G, np.append(h, 1.0), [*program.cones, NonNeg(1)], np.pad(A, ((0, 0), (0, 1))), b)
        return -socp.solve(found, tol=1e-7).objective

    primal = largest_margin(A, program.b, G, program.h)
    dual = largest_margin(
        np.hstack([P, A.T, G.T]), -program.c, np.hstack([np.zeros((m, n + p)), -np.eye(m)]), np.zeros(m)
    )
    return min(primal, dual) > least


def well_posed(seed):
    """Return a random program around an optimal triple, with interior primal and dual points."""
    rng = np.random.default_rng(seed)
    while not has_interior(program := planted_optimum(rng)[0]):
        pass
    return program


def planted_primal_certificate(rng):
    """Return an infeasible program: A'y + G'z = 0 with z inside K and b'y + h'z = -1 by construction."""
    n, cones = int(rng.integers(1, 10)), [*random_cones(rng), NonNeg(1)]
    p, m = int(rng.integers(0, 3)), sum(cone.dim for cone in cones)
    A, G = rng.normal(size=(p, n)), rng.normal(size=(m, n))
    y, z = rng.normal(size=p), interior(cones, rng)
    G -= np.outer(z, A.T @ y + G.T @ z) / (z @ z)
    G[np.abs(G) < 1e-12] = 0.0  # rounding, with which x of 1e16 would be feasible
    b, h = rng.normal(size=p), rng.normal(size=m)
    h -= z * (b @ y + h @ z + 1.0) / (z @ z)
    # a dual feasible c, so that the program is not infeasible on both sides
    P = random_hessian(rng, n)
    c = -(A.T @ rng.normal(size=p) + G.T @ interior(cones, rng)) + times(P, rng.normal(size=n))
    return ConeProgram(c, G, h, cones, A, b, P)


def planted_dual_certificate(rng):
    """Return a feasible, unbounded program: Px = 0, Ax = 0, -Gx inside K, c'x = -1 by construction."""
    n, cones = int(rng.integers(2, 10)), random_cones(rng)
    p, m = int(rng.integers(0, 3)), sum(cone.dim for cone in cones)
    x, s = rng.normal(size=n), interior(cones, rng)
    project = np.eye(n) - np.outer(x, x) / (x @ x)
    A, G = rng.normal(size=(p, n)) @ project, rng.normal(size=(m, n)) @ project - np.outer(s, x) / (x @ x)
    F = project @ rng.normal(size=(n, 2))
    P = F @ F.T if rng.random() < 0.5 else None
    c = project @ rng.normal(size=n) - x / (x @ x)
    start = rng.normal(size=n)
    return ConeProgram(c, G, G @ start + interior(cones, rng), cones, A, A @ start, P)


RAYS = {"primal_infeasible": planted_primal_certificate, "dual_infeasible": planted_dual_certificate}


def planted_quadratic(rng, n=None):
    """Return (program, optimal value) of a random two-sided quadratic program around an optimal triple."""
    n = int(rng.integers(1, 15)) if n is None else n
    m = int(rng.integers(0, 2 * n))
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    P, x = random_hessian(rng, n), rng.normal(size=n)
    l, u, y = planted_sides(A @ x, rng)
    lb, ub, z = planted_sides(x, rng)
    q = -(times(P, x) + A.T @ y + z)
    value = 0.5 * x @ times(P, x) + q @ x
    return qp.QuadraticProgram(P, q, A, l, u, lb, ub), float(value)


def planted_sides(v, rng):
    """Return (lower, upper, multiplier) with lower <= v <= upper and nonzero multipliers only of active sides."""
    kind = rng.integers(6, size=v.size)
    slack = rng.uniform(0.1, 2.0, size=(2, v.size))
    lower = np.choose(kind, [v, v - slack[0], v - slack[0], v, v - np.inf, v - np.inf])
    upper = np.choose(kind, [v + slack[1], v, v + slack[1], v, v + slack[1], v + np.inf])
    force = rng.uniform(0.1, 2.0, v.size)
    free = np.zeros(v.size)
    return lower, upper, np.choose(kind, [-force, force, free, rng.normal(size=v.size), free, free])
