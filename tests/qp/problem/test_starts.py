"""Points of the caller's own: what `warm_start` takes and refuses, and what it saves, in every method."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from models import KernelMatrix, KernelProgram, KernelSolver
from qp import ProgramError, Solver
from qp.problem.starts import completed
from tests.support.programs import planted_quadratic
from tests.support.sparse_matrices import random_sparse

N = 60
RNG = np.random.default_rng(0)
F = RNG.normal(size=(N, N))
DATA = {"P": F @ F.T / N + np.eye(N), "q": RNG.normal(size=N), "A": RNG.normal(size=(20, N)), "l": -0.1, "u": 0.1}
METHODS = {
    "interior point": lambda **k: Solver(**DATA, **k, lb=-1.0, ub=1.0, active_set=False),
    "dual active set": lambda **k: Solver(**DATA, **k, lb=-1.0, ub=1.0),
    "active set": lambda **k: Solver(np.tile(DATA["P"], (4, 4)) + np.eye(4 * N), np.ones(4 * N), **k, lb=-0.1, ub=0.1),
    "working set": lambda **k: KernelSolver(
        KernelProgram(KernelMatrix(F, "rbf", gamma=0.1), -np.ones(N), lb=0.0, ub=0.5), **k
    ),
}  # fmt: skip


def points(solution):
    x, y, z = solution.x, solution.y, solution.z_bounds
    return solution, (x, y, z), (x, y, None), x, list(x)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_starts_at_every_kind_of_point(method):
    solver = METHODS[method]()
    cold = solver.solve()
    assert cold.plan.method == method
    for start in points(cold):
        warm = solver.solve(warm_start=start)
        assert warm.status == "optimal" and warm.iterations <= cold.iterations
        np.testing.assert_allclose(warm.x, cold.x, atol=1e-6)
    if cold.iterations > 2:
        assert solver.solve(warm_start=cold).iterations <= 0.6 * cold.iterations


@pytest.mark.parametrize("method", METHODS)
def test_other_values_are_refused_by_name(method):
    solver = METHODS[method]()
    x = np.zeros(solver.program.n)
    for start in ("no", {"x": 3}, 0.5, np.float64(0.5), 1, (x,), (x, x), (None, x, x), object()):
        with pytest.raises(ProgramError, match=r"^warm_start must be True, False, a qp.Solution, a tuple \(x, y, z_bo"):
            solver.solve(warm_start=start)
    for start, message in (
        (np.zeros(7), f"warm_start must have {x.size} entries, but 7 came"),
        (np.zeros((2, 2)), r"warm_start must be a vector, but an array of shape \(2, 2\) came"),
        (np.full(x.size, np.nan), "warm_start must be finite, but warm_start.0. is nan"),
        ((x, None, x[1:]), f"warm_start: z_bounds must have {x.size} entries"),
        ((x, np.full(solver.program.m + 1, 1.0), x), f"warm_start: y must have {solver.program.m} entries"),
        (["a"] * x.size, "warm_start"),
        (qp.solve([[1.0]], [1.0]), "warm_start.x must have"),
    ):
        with pytest.raises(ProgramError, match=message):
            solver.solve(warm_start=start)
    assert solver.solve().status == "optimal"


@pytest.mark.parametrize("method", METHODS)
def test_numpy_truth_values_are_truth_values(method):
    counts = []
    for start in (True, np.True_, False, np.False_, None):
        solver = METHODS[method]()
        solver.solve()
        solver.update(q=solver.program.q + 1e-3)
        counts.append(solver.solve(warm_start=start).iterations)
    assert counts[0] == counts[1] and counts[2] == counts[3] == counts[4]


def test_an_answer_without_a_point_is_a_cold_start():
    solver = METHODS["interior point"]()
    cold = solver.solve()
    solver.update(l=3.0, u=2.0)
    infeasible = solver.solve()
    solver.update(l=DATA["l"], u=DATA["u"])
    assert solver.solve(warm_start=infeasible).iterations == cold.iterations


@pytest.mark.parametrize("seed", range(12))
def test_a_point_near_the_answer_saves_iterations_whatever_presolve_removes(seed):
    program, _ = planted_quadratic(np.random.default_rng(seed), n=30)
    rows = sp.vstack([program.A, 2.0 * program.A[:2], sp.eye_array(30, format="csr")[:3]], format="csc")
    l, u = np.r_[program.l, 2.0 * program.l[:2], program.lb[:3]], np.r_[program.u, 2.0 * program.u[:2], program.ub[:3]]
    data = program.P, program.q, rows, l, u, np.r_[[-np.inf] * 3, program.lb[3:]], np.r_[[np.inf] * 3, program.ub[3:]]
    cold = qp.solve(*data, active_set=False)
    other = qp.solve(
        *data, active_set=False, presolve=False
    )  # It may have multipliers at the rows that presolve removes.
    for answer in (cold, other):
        warm = qp.solve(*data, active_set=False, warm_start=answer)
        assert warm.status == cold.status == "optimal" and warm.iterations <= max(0.7 * cold.iterations, 3)


def test_far_points_cost_nothing():
    for method in METHODS:
        solver, rng = METHODS[method](), np.random.default_rng(3)
        cold = solver.solve()
        for size in (1.0, 1e4):
            start = tuple(size * rng.normal(size=part.size) for part in (cold.x, cold.y, cold.z_bounds))
            warm = solver.solve(warm_start=start)
            assert warm.status == "optimal" and warm.iterations <= 1.1 * cold.iterations + 1, method


def test_a_point_that_is_optimal_for_another_objective_costs_nothing():
    for seed in range(6):
        rng, n = np.random.default_rng(seed), 60
        A = random_sparse((20, n), density=0.3, rng=rng)
        side = A @ rng.random(n)
        for P in (None, sp.diags_array(rng.random(n))):
            data = {"A": A, "l": side, "u": side, "lb": 0.0, "active_set": False}
            other = qp.solve(P, rng.random(n), **data)
            cold, solver = None, Solver(P, rng.random(n), **data)
            cold = solver.solve()
            for start in (other, other.x):
                assert solver.solve(warm_start=start).iterations <= 1.1 * cold.iterations


def test_unknown_multipliers_of_bounds_are_computed():
    program = qp.QuadraticProgram(np.eye(3), [-3.0, 0.5, 2.0], [[1.0, 1.0, 1.0]], u=9.0, lb=-1.0, ub=1.0)
    x, y, z = completed(program, (np.array([1.0, 0.0, -1.0]), None, None))
    np.testing.assert_array_equal(y, [0.0])
    np.testing.assert_array_equal(z, [2.0, 0.0, -1.0])
    np.testing.assert_array_equal(completed(program, (x, np.array([0.25]), None))[2], [1.75, 0.0, -1.25])
    active = qp.QuadraticProgram(np.eye(3), [-3.0, 0.5, 2.0], [[1.0, 1.0, 1.0]], u=0.0, lb=-1.0, ub=1.0)
    assert completed(active, (x, None, None)) == (x, None, None)  # The multiplier of the row is not zero.


@pytest.mark.parametrize("seed", range(5))
def test_a_working_set_that_says_nothing_is_left_at_once(seed):
    rng, n = np.random.default_rng(seed), 80
    M = rng.normal(size=(n, n))
    solver, q = Solver(M @ M.T / n + np.eye(n), np.zeros(n), lb=-1.0, ub=1.0), 10.0 * rng.normal(size=n)
    for k in range(6):
        solver.update(q=(-1.0) ** k * q)
        cold = qp.solve(solver.program)
        warm = solver.solve(warm_start=True)
        assert warm.iterations <= cold.iterations and warm.plan.method == "dual active set"
        np.testing.assert_allclose(warm.x, cold.x, atol=1e-9)


def test_a_point_keeps_what_it_shares_with_the_last_working_set():
    solver = METHODS["dual active set"]()
    rng, last = np.random.default_rng(2), METHODS["dual active set"]().solve()
    for _ in range(10):
        solver.update(q=DATA["q"] + 0.2 * rng.normal(size=N))
        cold, warm = qp.solve(solver.program), solver.solve(warm_start=last)
        np.testing.assert_allclose(warm.x, cold.x, atol=1e-9)
        np.testing.assert_allclose(warm.y, cold.y, atol=1e-8)
        assert warm.status == "optimal" and warm.iterations <= cold.iterations
        last = warm
