"""The textbook engine: its algebra, programs solved by hand, every status with its certificate, and Clarabel."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from programs import interior

from socp import ConeProgram, LowRank, NonNeg, ProgramError, SecondOrder, Status, textbook

CONES = [NonNeg(3), SecondOrder(1), SecondOrder(2), SecondOrder(0), SecondOrder(5), NonNeg(1)]
K = textbook.Cone(CONES)


# ---- the algebra


def test_jordan_product():
    rng = np.random.default_rng(0)
    u, v, w = rng.normal(size=(3, K.dim))
    product = np.concatenate([u[:3] * v[:3], u[3:4] * v[3:4], [u[4:6] @ v[4:6], u[4] * v[5] + v[4] * u[5]],
                              [u[6:11] @ v[6:11]], u[6] * v[7:11] + v[6] * u[7:11], u[11:] * v[11:]])  # fmt: skip
    np.testing.assert_allclose(K.arrow(u) @ v, product)
    np.testing.assert_array_equal(K.arrow(K.e), np.eye(K.dim))
    assert K.degree == 3 + 1 + 1 + 1 + 1
    # the trace form is associative: (u o v)'w = v'(u o w)
    np.testing.assert_allclose((K.arrow(u) @ v) @ w, v @ (K.arrow(u) @ w))


def test_depth_is_the_smallest_eigenvalue():
    rng = np.random.default_rng(1)
    for u in rng.normal(size=(20, K.dim)):
        assert K.depth(u) == pytest.approx(np.linalg.eigvalsh(K.arrow(u))[0])
    assert textbook.det(np.array([3.0, 1.0, 2.0])) == pytest.approx(4.0)
    assert textbook.Cone([]).depth(np.zeros(0)) == np.inf


def test_longest_step_ends_on_the_boundary():
    rng = np.random.default_rng(2)
    for _ in range(50):
        u, du = interior(CONES, rng), rng.normal(size=K.dim)
        alpha = K.longest_step(u, du)
        assert 0.0 < alpha < np.inf
        assert K.depth(u + alpha * du) == pytest.approx(0.0, abs=1e-12 * (1 + alpha))
        assert K.depth(u + 0.999 * alpha * du) > 0.0
        assert K.longest_step(u, interior(CONES, rng)) == np.inf


def test_scaling_maps_z_and_s_to_the_same_point():
    rng = np.random.default_rng(3)
    for _ in range(20):
        s, z = interior(CONES, rng), interior(CONES, rng)
        W, W_inv = K.scaling(s, z)
        np.testing.assert_allclose(W, W.T, atol=1e-12)
        np.testing.assert_allclose(W @ W_inv, np.eye(K.dim), atol=1e-10)
        np.testing.assert_allclose(W @ z, W_inv @ s, rtol=1e-8, atol=1e-10)
        assert K.depth(W @ z) > 0.0
        # W is an automorphism of the cone
        assert K.depth(W @ interior(CONES, rng)) > 0.0


# ---- the method


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


def clarabel_answer(program):
    clarabel = pytest.importorskip("clarabel")
    cones = [clarabel.ZeroConeT(program.p)]
    for cone in program.cones:
        cones.append((clarabel.NonnegativeConeT if isinstance(cone, NonNeg) else clarabel.SecondOrderConeT)(cone.dim))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sp.csc_matrix(np.triu(hessian(program)))
    A = sp.csc_matrix(sp.vstack([program.A, program.G]))
    g = np.concatenate([program.b, program.h])
    answer = clarabel.DefaultSolver(P, program.c, A, g, cones, settings).solve()
    names = {"Solved": "optimal", "PrimalInfeasible": "primal_infeasible", "DualInfeasible": "dual_infeasible"}
    return names[str(answer.status)], answer.obj_val + program.offset


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
        assert solution.objective == pytest.approx(value + program.offset, rel=1e-12)
        assert solution.dual_objective == pytest.approx(bound + program.offset, rel=1e-12)
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


@pytest.mark.parametrize("kind", ["optimal", "primal_infeasible", "dual_infeasible"])
def test_random_programs_end_as_they_are_and_as_with_clarabel(kind):
    for seed in range(60 if kind == "optimal" else 20):
        program = random_program(seed, kind)
        solution = textbook.solve(program)
        status, value = clarabel_answer(program)
        assert (solution.status, status) == (kind, kind), seed
        check(program, solution)
        if kind == "optimal":
            assert solution.objective == pytest.approx(value, rel=1e-7, abs=1e-7), seed


def test_residuals_shrink_as_the_linearization_says():
    # rx, ry, rz are linear: a step leaves 1 - alpha (1 - sigma) of them
    program = random_program(7, "optimal")
    A, G = program.A.toarray(), program.G.toarray()
    P = hessian(program)

    def residual(it):
        rx = P @ it.x + A.T @ it.y + G.T @ it.z + program.c * it.tau
        return np.concatenate([rx, A @ it.x - program.b * it.tau, G @ it.x + it.s - program.h * it.tau])

    path = list(textbook.iterates(program))
    cone = textbook.Cone(program.cones)
    assert len(path) > 4
    for before, after in pairwise(path):
        expected = (1.0 - after.alpha * (1.0 - after.sigma)) * residual(before)
        np.testing.assert_allclose(residual(after), expected, atol=1e-9 * (1 + np.abs(residual(path[0])).max()))
        assert min(cone.depth(after.s), cone.depth(after.z), after.tau, after.kappa) > 0.0
        assert after.mu < before.mu
    assert [it.status for it in path[:-1]] == [None] * (len(path) - 1)
    assert path[-1].status is Status.OPTIMAL


# ---- programs solved by hand

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


@pytest.mark.parametrize("name", BY_HAND)
def test_solved_by_hand(name):
    program, x, objective = BY_HAND[name]
    solution = textbook.solve(program)
    check(program, solution)
    assert solution.objective == pytest.approx(objective, rel=1e-7, abs=1e-7)
    if x is not None:
        np.testing.assert_allclose(solution.x, x, atol=1e-6)


def test_multipliers_by_hand():
    # min x1 + 2 x2, x1 + x2 = 1 (y), x >= 0 (z): c + y (1, 1) - z = 0 with z1 = 0
    solution = textbook.solve(BY_HAND["equality and orthant"][0])
    np.testing.assert_allclose(solution.y, [-1.0], atol=1e-7)
    np.testing.assert_allclose(solution.z, [0.0, 1.0], atol=1e-7)
    np.testing.assert_allclose(solution.s, [1.0, 0.0], atol=1e-7)
    # the disk: c + G'z = 0 means z1 = c, and s'z = 0 means z0 = ||c||
    solution = textbook.solve(BY_HAND["disk"][0])
    np.testing.assert_allclose(solution.z, [np.sqrt(2), 1.0, 1.0], atol=1e-6)


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


@pytest.mark.parametrize("name", INFEASIBLE)
def test_primal_infeasible_with_certificate(name):
    solution = textbook.solve(INFEASIBLE[name])
    assert solution.status is Status.PRIMAL_INFEASIBLE
    check(INFEASIBLE[name], solution)


@pytest.mark.parametrize("name", UNBOUNDED)
def test_dual_infeasible_with_certificate(name):
    solution = textbook.solve(UNBOUNDED[name])
    assert solution.status is Status.DUAL_INFEASIBLE
    check(UNBOUNDED[name], solution)


def test_limits_of_iterations_and_of_accuracy():
    program = BY_HAND["projection onto the disk"][0]
    limited = textbook.solve(program, max_iter=3)
    assert limited.status is Status.MAX_ITERATIONS
    assert limited.iterations == 3 and len(limited.trace) == 4
    assert np.isfinite(limited.x).all() and np.isfinite(limited.objective)
    # no floating-point number is that accurate: the best iterate is given, and called what it is
    best = textbook.solve(program, tol=1e-30, max_iter=200)
    assert best.status in (Status.INACCURATE, Status.MAX_ITERATIONS)
    assert best.objective == pytest.approx(-4.5, rel=1e-8)
    np.testing.assert_allclose(best.x, [0.6, 0.8], atol=1e-6)


def test_refused():
    with pytest.raises(ProgramError, match="P must be positive semidefinite, but it has the eigenvalue -1"):
        textbook.solve(ConeProgram([0.0, 0.0], P=np.diag([1.0, -1.0])))
    with pytest.raises(ProgramError, match="h must be finite here"):
        textbook.solve(ConeProgram([0.0], [[1.0]], [np.inf], [NonNeg(1)]))


def test_the_program_is_not_changed():
    program = random_program(4, "optimal")
    copies = [np.copy(v) for v in (program.c, program.b, program.h, program.A.data, program.G.data)]
    textbook.solve(program)
    for copy, now in zip(copies, (program.c, program.b, program.h, program.A.data, program.G.data)):
        np.testing.assert_array_equal(copy, now)
