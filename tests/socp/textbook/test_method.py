"""The textbook engine: its algebra, programs solved by hand, every status with its certificate, and Clarabel."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from socp import ConeProgram, NonNeg, ProgramError, SecondOrder, Status, textbook
from tests.support.programs import interior
from tests.support.textbook_programs import BY_HAND, INFEASIBLE, UNBOUNDED, check, hessian, random_program

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
