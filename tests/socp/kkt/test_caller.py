"""KKT solvers of the caller: structure that is used, wrong solvers, exceptions."""

import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.linalg as la

import qp
import socp
from bench.programs import generate
from socp import ConeProgram, NonNeg, ProgramError, SecondOrder

RNG = np.random.default_rng


def dense(program):
    P = program.P.toarray() if hasattr(program.P, "toarray") else program.P
    return np.zeros((program.n, program.n)) if P is None else P, program.A.toarray(), program.G.toarray()


def eliminating(program, calls=None, spoil=lambda *d: d):
    """Return a KKT solver for any program: G eliminated by `Scaling.divide`, the rest by LAPACK."""
    P, A, G = dense(program)
    n, p = program.n, program.p

    def kkt(scaling):
        if calls is not None:
            calls.append(scaling)
        H = P + G.T @ scaling.divide(G)
        unit = 1.0 / np.sqrt(np.diag(H) + (np.diag(H) == 0.0))
        H, B = H * np.outer(unit, unit) + 1e-13 * np.eye(n), A * unit
        factors = la.lu_factor(np.block([[H, B.T], [B, np.zeros((p, p))]]))

        def solve(r1, r2, r3):
            dx, dy = np.split(la.lu_solve(factors, np.concatenate([unit * (r1 + G.T @ scaling.divide(r3)), r2])), [n])
            dx = unit * dx
            return spoil(dx, dy, scaling.divide(G @ dx - r3))

        return solve

    return kkt


def cones(seed, n=6, p=2):
    """Return a badly scaled program of both cones in mixed order, with a row that has no side."""
    rng = RNG(seed)
    sizes = [NonNeg(5), SecondOrder(4), NonNeg(2), SecondOrder(3), SecondOrder(1)]
    m = sum(cone.dim for cone in sizes)
    G, A, F = rng.normal(size=(m, n)), rng.normal(size=(p, n)), rng.normal(size=(n, 3))
    inside = np.concatenate([np.r_[np.full(1, 3.0), rng.normal(size=c.dim - 1)] if isinstance(c, SecondOrder) else
                             rng.uniform(1.0, 2.0, c.dim) for c in sizes])  # fmt: skip
    dual = np.concatenate([np.r_[np.full(1, 3.0), rng.normal(size=c.dim - 1)] if isinstance(c, SecondOrder) else
                           rng.uniform(1.0, 2.0, c.dim) for c in sizes])  # fmt: skip
    D = 10.0 ** rng.uniform(-2, 2, n)
    x = rng.normal(size=n)
    h = G @ x + inside
    h[2], dual[2] = np.inf, 0.0
    P = F @ F.T
    c = -(P @ x + A.T @ rng.normal(size=p) + G.T @ dual)
    return ConeProgram(D * c, G * D, h, sizes, A * D, A @ x, P * np.outer(D, D))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("equilibrate", [True, False])
def test_a_solver_of_the_caller_finds_what_the_engine_finds(seed, equilibrate):
    program, calls = cones(seed), []
    own = socp.solve(program, kkt="dense")
    solution = socp.solve(program, kkt=eliminating(program, calls), equilibrate=equilibrate)
    assert own.status == solution.status == "optimal" and len(calls) >= solution.iterations
    assert np.isclose(own.objective, solution.objective, rtol=1e-6, atol=1e-6)
    if equilibrate:
        assert abs(own.iterations - solution.iterations) <= 2
    assert "kkt, a function of the caller" in str(solution.plan)


@pytest.mark.parametrize("seed", range(3))
def test_the_scaling_is_that_of_the_iterate_in_the_callers_units(seed):
    program, calls, seen = cones(seed), [], []
    socp.solve(program, kkt=eliminating(program, calls), callback=lambda it: seen.append((it.s, it.z, len(calls))))
    for s, z, count in seen[1:-1]:
        scaling = calls[count] if count < len(calls) else calls[-1]
        finite = np.isfinite(program.h)
        z = np.where(finite, z, 0.0)
        W2z = scaling.multiply(np.where(finite, z, 1.0))
        assert np.allclose(scaling.divide(np.where(finite, s, 0.0)), z, rtol=1e-5, atol=1e-9 * np.abs(z).max())
        assert np.allclose(W2z[finite], s[finite], rtol=1e-5, atol=1e-9 * np.abs(s[finite]).max())
        assert np.isinf(W2z[~finite]).all()


def test_infeasible_and_unbounded_programs_have_their_certificates():
    program = generate.infeasible(12)
    assert socp.solve(program, kkt=eliminating(program)).status == "primal_infeasible"
    program = ConeProgram([-1.0, 0.0], [[-1.0, 0.0], [0.0, 1.0]], [0.0, 1.0], [NonNeg(2)])
    assert socp.solve(program, kkt=eliminating(program)).status == "dual_infeasible"


def test_diagonal_plus_low_rank_is_used():
    rng = RNG(0)
    n, k = 300, 4
    F, d, q = rng.normal(size=(n, k)), rng.uniform(0.5, 2.0, n), rng.normal(size=n)

    def kkt(scaling):
        lower, upper = scaling.weights[:n], scaling.weights[n:]
        D = d + lower + upper
        small = la.cho_factor(np.eye(k) + F.T @ (F / D[:, None]))

        def solve(r1, r2, r3):
            r = (r1 + upper * r3[n:] - lower * r3[:n]) / D
            dx = r - (F / D[:, None]) @ la.cho_solve(small, F.T @ r)
            return dx, r2, np.concatenate([lower * (-dx - r3[:n]), upper * (dx - r3[n:])])

        return solve

    program = ConeProgram(q, np.vstack([-np.eye(n), np.eye(n)]), np.ones(2 * n), [NonNeg(2 * n)],
                          P=F @ F.T + np.diag(d))  # fmt: skip
    own, solution = socp.solve(program), socp.solve(program, kkt=kkt)
    assert solution.status == "optimal" and np.allclose(own.x, solution.x, atol=1e-5)


def test_a_toeplitz_hessian_is_solved_by_ffts_and_refined():
    rng = RNG(1)
    n = 400
    column = 0.9 ** np.arange(n) + 0.1 * (np.arange(n) == 0)
    P, q = la.toeplitz(column), rng.normal(size=n)
    spectrum = np.fft.rfft(np.r_[column, 0.0, column[:0:-1]])

    def times(v):
        return np.fft.irfft(spectrum * np.fft.rfft(v, 2 * n), 2 * n)[:n]

    def kkt(scaling):
        D = scaling.weights

        def solve(r1, r2, r3):  # conjugate gradients, stopped early: the engine refines
            r = r1 - D * r3
            dx, p, residual, last = np.zeros(n), np.zeros(n), r.copy(), np.inf
            for _ in range(200):
                z = residual / (D + column[0])
                now = residual @ z
                if now <= 1e-20 * (r @ (r / (D + column[0]))):
                    break
                p = z + now / last * p
                Hp = times(p) + D * p
                alpha = now / (p @ Hp)
                dx, residual, last = dx + alpha * p, residual - alpha * Hp, now
            return dx, r2, D * (-dx - r3)

        return solve

    program = ConeProgram(q, -np.eye(n), np.zeros(n), [NonNeg(n)], P=P)
    own, solution = socp.solve(program), socp.solve(program, kkt=kkt)
    assert solution.status == "optimal" and np.allclose(own.x, solution.x, atol=1e-4)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda dx, dy, dz: (-dx, dy, dz),
        lambda dx, dy, dz: (0.0 * dx, 0.0 * dy, 0.0 * dz),
        lambda dx, dy, dz: (np.full(dx.size, np.nan), dy, dz),
        lambda dx, dy, dz: (dx[::-1], dy, dz),
        lambda dx, dy, dz: (np.ones(dx.size), np.ones(dy.size), np.ones(dz.size)),
        lambda dx, dy, dz: (1e6 * dx, dy, -dz),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_solver_never_yields_a_wrong_optimum(seed, spoil):
    program = cones(seed)
    right, solution = socp.solve(program), socp.solve(program, kkt=eliminating(program, spoil=spoil))
    assert solution.status not in ("primal_infeasible", "dual_infeasible")
    if solution.status == "optimal":  # refinement has mended the solver
        assert np.isclose(right.objective, solution.objective, rtol=1e-6, atol=1e-6)


def test_an_exception_reaches_the_caller_and_the_solver_stays_usable():
    program = cones(0)
    good = eliminating(program)
    count = 0

    def kkt(scaling):
        nonlocal count
        count += 1
        if count == 3:
            raise ZeroDivisionError("mine")
        return good(scaling)

    solver = socp.Solver(program, kkt=kkt)
    with pytest.raises(ZeroDivisionError, match="mine"):
        solver.solve()
    assert solver.solve().status == "optimal"

    def late(scaling):
        def solve(r1, r2, r3):
            raise KeyError("in the solve")

        return solve

    with pytest.raises(KeyError, match="in the solve"):
        socp.solve(program, kkt=late)
    with pytest.raises(KeyError, match="in the solve"):
        list(socp.iterates(program, kkt=late))


@pytest.mark.parametrize(
    "answer, said",
    [
        (lambda *r: None, "must give \\(dx, dy, dz\\), but NoneType"),
        (lambda *r: (r[0][:-1], r[1], r[2]), "dx of the solver .* must have shape \\(6,\\), but \\(5,\\) came"),
        (lambda *r: (r[0], r[1], r[2][:3]), "dz of the solver .* must have shape \\(15,\\)"),
    ],
)
def test_another_form_of_answer_is_refused(answer, said):
    with pytest.raises(ProgramError, match=said):
        socp.solve(cones(0), kkt=lambda scaling: answer)
    with pytest.raises(ProgramError, match="must return a function"):
        socp.solve(cones(0), kkt=lambda scaling: 3)


def test_qp_points_to_socp_and_nothing_is_kept_alive():
    with pytest.raises(ProgramError, match=r"socp\.solve"):
        qp.solve(np.eye(2), np.ones(2), kkt=lambda scaling: None)
    program = cones(0)
    kkt = eliminating(program)
    solution, gone = socp.solve(program, kkt=kkt), weakref.ref(kkt)
    pickle.loads(pickle.dumps(solution))
    del kkt
    gc.collect()
    assert gone() is None
