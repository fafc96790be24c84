"""Small programs from data to answer in a few kernels: the engine's answers, tested on the caller's data, or none."""

import numpy as np
import pytest

import qp
import socp
from bench.programs import generate
from socp import ConeProgram, LowRank, NonNeg, ProgramError, Status
from tests.support.programs import (
    DUAL_INFEASIBLE,
    OPTIMAL,
    PRIMAL_INFEASIBLE,
    check,
    planted_optimum,
    planted_quadratic,
)


def made_by_engine(solver):
    """Whether anything of the general way was set up."""
    return (solver._engine if isinstance(solver, qp.Solver) else solver._form) is not None


def without(solver):
    """The solver when it has no such kernel."""
    solver.direct = None
    return solver


def cone_programs():
    for seed in range(40):
        rng = np.random.default_rng([seed, 21])
        program = planted_optimum(rng, n=int(rng.integers(1, 40)), density=rng.uniform(0.2, 1.0))[0]
        if seed % 3 == 1:
            program.P = LowRank(rng.normal(size=(program.n, 2)), rng.uniform(size=program.n))
        yield program


def test_cone_programs():
    direct = 0
    for program in cone_programs():
        solver = socp.Solver(program)
        ours, general = solver.solve(), without(socp.Solver(program)).solve()
        assert ours.status is general.status is Status.OPTIMAL
        check(program, ours)
        assert ours.objective == pytest.approx(general.objective, rel=1e-6, abs=1e-6)
        assert abs(ours.iterations - general.iterations) <= 2
        direct += not made_by_engine(solver)
    assert direct >= 36


def quadratic_programs():
    """(program, whether the kernel is to have its answer)."""
    for seed in range(40):
        rng = np.random.default_rng([seed, 22])
        n = int(rng.integers(1, 30))
        if seed % 2:  # with fixed variables and rows that presolve looks at
            yield planted_quadratic(rng, n=n)[0], None
        else:
            yield box(n + 1, seed), True


def test_quadratic_programs():
    for program, direct in quadratic_programs():
        solver = qp.Solver(program)
        ours, general = solver.solve(), without(qp.Solver(program)).solve()
        assert ours.status is general.status is Status.OPTIMAL
        check(program, ours)
        assert ours.objective == pytest.approx(general.objective, rel=1e-6, abs=1e-6)
        assert ours.cone_solution.objective == pytest.approx(ours.objective, rel=1e-9, abs=1e-9)
        assert made_by_engine(solver) is not direct


@pytest.mark.parametrize("name", [*PRIMAL_INFEASIBLE, *DUAL_INFEASIBLE])
def test_certificates_are_the_engines(name):
    program = {**PRIMAL_INFEASIBLE, **DUAL_INFEASIBLE}[name]
    ours, general = socp.solve(program), without(socp.Solver(program)).solve()
    assert ours.status is general.status and ours.status.is_infeasible
    np.testing.assert_array_equal(ours.z, general.z)
    np.testing.assert_array_equal(ours.x, general.x)


@pytest.mark.parametrize("equilibrate", [True, False])
def test_units(equilibrate):
    """Rows, variables and objective in other units: the same point in these."""
    rng = np.random.default_rng(5)
    program = generate.portfolio(12, 0)
    D, E, f = 10.0 ** rng.uniform(-2, 2, program.n), 10.0 ** rng.uniform(-2, 2, program.m), 50.0
    F, d = np.asarray(program.P.F), np.asarray(program.P.d)
    P = f * D[:, None] * (F @ F.T + np.diag(d)) * D
    scaled = qp.QuadraticProgram(
        P, f * D * program.q, E[:, None] * program.A.toarray() * D, E * program.l, E * program.u, program.lb / D,
        program.ub / D,
    )  # fmt: skip
    one, other = qp.solve(program, tol=1e-10), qp.solve(scaled, tol=1e-10, equilibrate=equilibrate)
    check(scaled, other)
    np.testing.assert_allclose(D * other.x, one.x, atol=1e-4)
    assert other.objective == pytest.approx(f * one.objective, rel=1e-6)


def box(n=8, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    rows = rng.normal(size=(3, n))
    return qp.QuadraticProgram(F @ F.T, rng.normal(size=n), rows, -np.ones(3), [0.5, np.inf, 0.5], -1.0, 1.0)


UPDATES = {
    "q": lambda p: {"q": 2.0 * p.q + 1.0},
    "sides": lambda p: {"l": p.l - 0.1, "u": p.u - 0.2},
    "bounds": lambda p: {"lb": -0.4, "ub": 0.3},
    "another side": lambda p: {"u": [np.inf, 0.4, 0.5]},
    "an equality": lambda p: {"l": [0.5, -1.0, -1.0]},
    "P": lambda p: {"P_data": 3.0 * p.P},
    "A": lambda p: {"A_data": -0.5 * p.A.data},
    "everything": lambda p: {"q": -p.q, "u": p.u + 0.1, "P_data": 2.0 * p.P, "A_data": 1.1 * p.A.data},
    "a fixed variable": lambda p: {"ub": np.where(np.arange(p.n) == 2, -1.0, 1.0)},
}


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("name", UPDATES)
def test_updates(name, warm):
    program = box()
    solver = qp.Solver(program)
    solver.solve()
    for _ in range(2):  # there and once more
        solver.update(**UPDATES[name](program))
        ours, general = solver.solve(warm_start=warm), qp.solve(solver.program, kkt="ldl")
        check(solver.program, ours)
        assert ours.objective == pytest.approx(general.objective, rel=1e-6, abs=1e-7)
    solver.update(q=program.q, l=program.l, u=program.u, lb=-1.0, ub=1.0, P_data=program.P, A_data=program.A.data)
    assert solver.solve(warm_start=warm).objective == pytest.approx(qp.solve(program).objective, rel=1e-6)


def test_a_warm_start_saves_iterations():
    program = box(20)
    solver = qp.Solver(program)
    cold = solver.solve().iterations
    solver.update(q=1.0001 * program.q)
    warm = solver.solve(warm_start=True)
    assert warm.status is Status.OPTIMAL and warm.iterations < cold and not made_by_engine(solver)
    cone_solver = socp.Solver(OPTIMAL["projection onto the disk"][0])
    cold = cone_solver.solve().iterations
    assert cone_solver.solve(warm_start=True).iterations < cold and not made_by_engine(cone_solver)


def test_what_is_refused_leaves_the_solver_as_it_was():
    program = box()
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        qp.Solver(qp.QuadraticProgram(np.diag([1.0, -1.0]), [0.0, 0.0], lb=-1.0, ub=1.0))
    solver = qp.Solver(program)
    before = solver.solve()
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        solver.update(P_data=-program.P, q=np.zeros(8))
    after = solver.solve()
    np.testing.assert_array_equal(before.x, after.x)
    cone_program = ConeProgram(program.q, np.eye(8), np.ones(8), [NonNeg(8)], P=program.P)
    cone_solver = socp.Solver(cone_program)
    before = cone_solver.solve()
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        cone_solver.update(P_data=-program.P)
    np.testing.assert_array_equal(before.x, cone_solver.solve().x)


def test_a_hardly_indefinite_P_is_judged_in_equilibrated_units():
    # beside 1e10 the -1 would be a rounding error, but its variable has units of its own
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        qp.Solver(qp.QuadraticProgram(np.diag([1e10, -1.0]), [0.0, 0.0], lb=-1.0, ub=1.0))
    assert qp.solve(np.diag([1.0, -1e-12]), [1.0, 1.0], lb=-1.0, ub=1.0).status is Status.OPTIMAL


def test_nothing_else_is_set_up_until_it_is_asked_for():
    solver = qp.Solver(box())
    solver.solve()
    assert not made_by_engine(solver)
    assert solver.cone_solver.kkt is not None and solver.presolved.kept is None  # to look at
    assert solver.solve().status is Status.OPTIMAL


def test_answers_do_not_share_memory():
    solver = qp.Solver(box())
    one = solver.solve()
    kept = one.x.copy()
    one.x[:] = 7.0
    one.cone_solution.x[:] = 7.0
    other = solver.solve(warm_start=True)
    np.testing.assert_allclose(other.x, kept, atol=1e-6)


def test_limits_and_the_tolerance_of_absolute_residuals():
    program = box()
    assert qp.solve(program, max_iter=2).status is Status.MAX_ITERATIONS
    solution = qp.solve(program, tol_abs=1e-9)
    assert solution.status is Status.OPTIMAL and solution.gap <= 1e-9
    assert qp.solve(program, tol=1e-3).iterations < qp.solve(program).iterations


@pytest.mark.parametrize("solver", [qp.Solver(box()), socp.Solver(OPTIMAL["projection onto the disk"][0])])
def test_an_interrupt_ends_the_solve(solver, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(solver.direct, "answer", interrupt)
        solution = solver.solve()
    assert solution.status is Status.INTERRUPTED and solution.x.size == solver.program.n
    assert solver.solve().status is Status.OPTIMAL
