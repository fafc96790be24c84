"""Programs solved by hand, infeasible, unbounded and random ones, and what every answer to them must hold."""

import numpy as np
import pytest

from socp import ConeProgram, LowRank, NonNeg, SecondOrder, textbook
from tests.support.programs import interior


def random_program(seed, kind):
    """A program that is feasible with a feasible dual, or certainly infeasible (the other side is feasible)."""
    rng = np.random.default_rng([seed, len(kind)])
    cones = [NonNeg(d) if rng.random() < 0.4 else SecondOrder(d) for d in rng.integers(1, 11, size=rng.integers(1, 6))]
    m, n = sum(cone.dim for cone in cones), int(rng.integers(1, 15))
    p = int(rng.integers(0, min(n, 4)))
    A, G = rng.normal(size=(p, n)), rng.normal(size=(m, n))
    if p > 1 and rng.random() < 0.5:
        A[-1] = 2.0 * A[0]
    F = rng.normal(size=(n, int(rng.integers(1, n + 1))))
    P = F @ F.T if rng.random() < 0.5 else None
    x, y, s, z = rng.normal(size=n), rng.normal(size=p), interior(cones, rng), interior(cones, rng)
    if kind == "primal_infeasible":  # A'y + G'z = 0 and b'y + h'z = -1
        G = G - np.outer(z, A.T @ y + G.T @ z) / (z @ z)
        b, h = A @ x, rng.normal(size=m)
        h = h - z * (b @ y + h @ z + 1.0) / (z @ z)
        y, z = rng.normal(size=p), interior(cones, rng)
    elif kind == "dual_infeasible":  # P x = 0, A x = 0, G x + s = 0 and c'x = -1
        project = np.eye(n) - np.outer(x, x) / (x @ x)
        P = None if P is None else project @ P @ project
        P = None if P is None else (P + P.T) / 2.0
        A, G = A @ project, G @ project - np.outer(s, x) / (x @ x)
        c = project @ rng.normal(size=n) - x / (x @ x)
        x = rng.normal(size=n)
        return ConeProgram(c, G, G @ x + interior(cones, rng), cones, A, A @ x, P)
    else:
        b, h = A @ x, G @ x + s
    c = -(A.T @ y + G.T @ z) - (0.0 if P is None else P @ x)
    return ConeProgram(c, G, h, cones, A, b, P, offset=rng.normal())


def hessian(program):
    P = np.zeros((program.n, program.n)) if program.P is None else program.P
    return P if isinstance(P, np.ndarray) else P.toarray()


def check(program, solution, tol=1e-8):
    """The answer against the definitions in DESIGN's words: residuals, cones, gap; or the certificate."""
    A, G, b, h, c = program.A.toarray(), program.G.toarray(), program.b, program.h, program.c
    P = hessian(program)
    cone = textbook.Cone(program.cones)
    x, y, z, s = solution.x, solution.y, solution.z, solution.s
    big = textbook.norm
    if solution.status == "optimal":
        primal = 1.0 + max(map(big, (b, h, A @ x, G @ x)))
        assert max(big(A @ x - b), big(G @ x + s - h), -cone.depth(s)) <= tol * primal
        dual = 1.0 + max(big(P @ x), big(c))
        assert max(big(P @ x + c + A.T @ y + G.T @ z), -cone.depth(z)) <= tol * dual
        value, bound = 0.5 * x @ P @ x + c @ x, -0.5 * x @ P @ x - b @ y - h @ z
        assert abs(value - bound) <= tol * (1.0 + max(abs(value), abs(bound)))
        assert solution.objective == pytest.approx(value + program.offset, rel=1e-12, abs=1e-12)
        assert solution.dual_objective == pytest.approx(bound + program.offset, rel=1e-12, abs=1e-12)
    elif solution.status == "primal_infeasible":
        assert b @ y + h @ z == pytest.approx(-1.0)
        assert big(A.T @ y + G.T @ z) <= tol
        assert cone.depth(z) >= 0.0
        assert np.isnan(x).all() and np.isnan(s).all() and np.isnan(solution.objective)
    elif solution.status == "dual_infeasible":
        assert c @ x == pytest.approx(-1.0)
        assert max(big(P @ x), big(A @ x), -cone.depth(-G @ x)) <= tol
        np.testing.assert_array_equal(s, -(program.G @ x))
        assert np.isnan(y).all() and np.isnan(z).all() and np.isnan(solution.objective)
    else:
        raise AssertionError(solution.status)


box = {"G": np.vstack([np.eye(2), -np.eye(2)]), "h": [1.0, 1.0, 0.0, 0.0], "cones": [NonNeg(4)]}  # 0 <= x <= 1
disk = {"G": [[0, 0], [-1, 0], [0, -1]], "h": [1, 0, 0], "cones": [SecondOrder(3)]}  # ||x|| <= 1
root = np.sqrt(0.5)
BY_HAND = {
    # name: program, x (None: not unique), objective
    "linear over a box": (ConeProgram([-1.0, 2.0], **box), [1, 0], -1.0),
    "equality and orthant": (ConeProgram([1.0, 2.0], -np.eye(2), [0, 0], [NonNeg(2)], [[1, 1]], [1]), [1, 0], 1.0),
    "disk": (ConeProgram([1.0, 1.0], **disk), [-root, -root], -2 * root),
    "disk with offset": (ConeProgram([1.0, 1.0], **disk, offset=5.0), [-root, -root], 5 - 2 * root),
    "projection onto the disk": (ConeProgram([-3.0, -4.0], **disk, P=np.eye(2)), [0.6, 0.8], 0.5 - 5.0),
    "projection onto the box": (ConeProgram([-3.0, 2.0], **box, P=np.eye(2)), [1, 0], -2.5),
    "nearest point of a line": (ConeProgram([0.0, 0.0], A=[[3, 4]], b=[5], P=np.eye(2)), [0.6, 0.8], 0.5),
    "no constraints": (ConeProgram([-2.0, -3.0], P=[[2, 1], [1, 2]]), [1 / 3, 4 / 3], -7 / 3),
    "no variables that matter": (ConeProgram([0.0]), [0.0], 0.0),
    "cone of dimension 1": (ConeProgram([1.0], [[-1]], [-3], [SecondOrder(1)]), [3], 3.0),
    "cone of dimension 2": (ConeProgram([1.0], [[-1], [0]], [0, -3], [SecondOrder(2)]), [3], 3.0),
    "norm as an objective": (  # min ||(x, 1)|| + ||(x - 2, 1)||: at the middle
        ConeProgram([0.0, 1.0, 1.0], [[0, -1, 0], [-1, 0, 0], [0, 0, 0], [0, 0, -1], [-1, 0, 0], [0, 0, 0]],
                    [0, 0, 1, 0, -2, 1], [SecondOrder(3)] * 2), [1, 2 * root, 2 * root], 4 * root),
    "the same equation twice": (
        ConeProgram([1.0, 2.0], -np.eye(2), [0, 0], [NonNeg(2)], [[1, 1], [2, 2]], [1, 2]), [1, 0], 1.0),
    "flat direction": (ConeProgram([-2.0, 0.0], P=np.diag([2.0, 0.0])), None, -1.0),
    "optimal face": (ConeProgram([-1.0, 0.0], **box), None, -1.0),
    "low rank": (ConeProgram([-1.0, -0.8], **box, P=LowRank([[1.0], [1.0]], [1, 0])), [0.2, 0.6], -0.34),
    "fixed by two inequalities": (ConeProgram([1.0], [[1], [-1]], [2, -2], [NonNeg(2)]), [2], 2.0),
    "an empty cone": (ConeProgram([1.0], [[-1]], [-3], [SecondOrder(0), NonNeg(0), NonNeg(1)]), [3], 3.0),
}  # fmt: skip


INFEASIBLE = {
    "interval": ConeProgram([0.0], [[1], [-1]], [-1, -1], [NonNeg(2)]),  # x <= -1 and x >= 1
    "equations": ConeProgram([1.0, 1.0], A=[[1, 1], [1, 1]], b=[1, 2]),  # with c = (1, 0) both certificates exist
    "two disks": ConeProgram([0.0, 0.0], np.vstack([disk["G"], disk["G"]]), [1, 0, 0, 1, 3, 0], [SecondOrder(3)] * 2),
    "with curvature": ConeProgram([0.0], [[1], [-1]], [-1, -1], [NonNeg(2)], P=[[1.0]]),
    "in large units": ConeProgram([0.0], [[1], [-1]], [-1e6, -1e6], [NonNeg(2)]),
}


UNBOUNDED = {
    "half line": ConeProgram([-1.0], [[-1]], [0], [NonNeg(1)]),
    "no constraints": ConeProgram([1.0, -2.0]),
    "along an equation": ConeProgram([1.0, 1.0], A=[[1, -1]], b=[3]),
    "flat direction of P": ConeProgram([0.0, 1.0], P=np.diag([1.0, 0.0])),
    "inside a cone": ConeProgram([-1.0, 0.5, 0.0], -np.eye(3), np.zeros(3), [SecondOrder(3)]),
}
