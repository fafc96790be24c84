"""The textbook engine: its algebra, programs solved by hand, every status with its certificate."""

from itertools import pairwise

import numpy as np
import pytest

from socp import ConeProgram, NonNeg, ProgramError, SecondOrder, Status, textbook
from socp.textbook.method import Linearization
from socp.textbook.switches import dense
from tests.support.programs import DUAL_IN_THE_BOOK, IN_THE_BOOK, PRIMAL_IN_THE_BOOK, RAYS, check, interior, well_posed

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


@pytest.mark.parametrize("seed", [*range(16), *(pytest.param(k, marks=pytest.mark.full) for k in range(16, 40))])
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    program = well_posed(seed)
    check(program, textbook.solve(program))
    for kind, program in RAYS.items():
        program = program(rng)
        check(program, textbook.solve(program), kind)


def test_residuals_shrink_as_the_linearization_says():
    # rx, ry, rz are linear: a step leaves 1 - alpha (1 - sigma) of them
    program = well_posed(7)
    P, A, G = dense(program)

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


def test_a_step_ends_at_the_least_mu_along_the_direction():
    bends = 0
    for seed in range(8):
        method = textbook.Method(well_posed(seed))
        it = method.start()
        for _ in range(4):
            at = Linearization(method, it)
            d = at.direction(0.0, -at.products, -it.tau * it.kappa)

            def mu(a, at=at, d=d, it=it):
                return (at.s + a * d.ds) @ (at.z + a * d.dz) + (it.tau + a * d.dtau) * (it.kappa + a * d.dkappa)

            end = at.step_to_least_mu(d)
            bends += end < 1e4
            assert mu(min(end, 1e4)) < min(mu(0.8 * min(end, 1e4)), mu(1.2 * end) if end < 1e4 else np.inf)
            it = method.step(it)
    assert bends > 10


# ---- programs solved by hand


@pytest.mark.parametrize("name", IN_THE_BOOK)
def test_solved_by_hand(name):
    program, x, objective = IN_THE_BOOK[name]
    solution = textbook.solve(program)
    check(program, solution)
    assert solution.objective == pytest.approx(objective, rel=1e-7, abs=1e-7)
    if x is not None:
        np.testing.assert_allclose(solution.x, x, atol=1e-6)


@pytest.mark.parametrize("name", [*PRIMAL_IN_THE_BOOK, *DUAL_IN_THE_BOOK])
def test_infeasible_with_a_certificate_of_slope_minus_one(name):
    is_primal = name in PRIMAL_IN_THE_BOOK
    program = (PRIMAL_IN_THE_BOOK | DUAL_IN_THE_BOOK)[name]
    solution = textbook.solve(program)
    check(program, solution, "primal_infeasible" if is_primal else "dual_infeasible")
    slope = program.b @ solution.y + program.h @ solution.z if is_primal else program.c @ solution.x
    assert slope == pytest.approx(-1.0)
    np.testing.assert_array_equal(solution.s, np.nan if is_primal else -(program.G @ solution.x))


def test_limits_of_iterations_and_of_accuracy():
    program = IN_THE_BOOK["projection onto the disk"][0]
    limited = textbook.solve(program, max_iter=3)
    assert limited.status is Status.MAX_ITERATIONS
    assert limited.iterations == 3 and len(limited.trace) == 4
    assert np.isfinite(limited.x).all() and np.isfinite(limited.objective)
    # no double is that accurate: the best iterate is returned, with an honest status
    best = textbook.solve(program, tol=1e-30, max_iter=200)
    assert best.status in (Status.INACCURATE, Status.MAX_ITERATIONS)
    assert best.objective == pytest.approx(8.0, rel=1e-8)
    np.testing.assert_allclose(best.x, [0.6, 0.8], atol=1e-6)


def test_refused():
    with pytest.raises(ProgramError, match="P must be positive semidefinite, but it has the eigenvalue -1"):
        textbook.solve(ConeProgram([0.0, 0.0], P=np.diag([1.0, -1.0])))
    with pytest.raises(ProgramError, match="h must be finite here"):
        textbook.solve(ConeProgram([0.0], [[1.0]], [np.inf], [NonNeg(1)]))


def test_the_program_is_not_changed():
    program = well_posed(4)
    copies = [np.copy(v) for v in (program.c, program.b, program.h, program.A.data, program.G.data)]
    textbook.solve(program)
    for copy, now in zip(copies, (program.c, program.b, program.h, program.A.data, program.G.data)):
        np.testing.assert_array_equal(copy, now)
