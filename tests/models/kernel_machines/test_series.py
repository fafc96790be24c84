"""Many programs over samples of one kernel: the answers of `qp.solve`, one by one, and their residuals."""

import numpy as np
import pytest

import qp
from models import KernelMatrix, KernelProgram, solve_series
from models.kernel_machines.series import UNSOLVED
from socp.verify.stopping import Residuals
from tests.qp.test_verbose import LINE


def kernel_of(name, n=60, features=3, seed=0, **parameters):
    samples = np.random.default_rng(seed).normal(size=(n, features))
    return KernelMatrix(samples, name, **{"gamma": 0.4, **parameters})


def problems(n=60, sizes=(40, 25, 60, 1), seed=1):
    """Return parts of different sizes (samples and begins), their signs, and signed bounds."""
    rng = np.random.default_rng(seed)
    parts = [np.sort(rng.permutation(n)[:size]) for size in sizes]
    which, begins = np.concatenate(parts), np.concatenate([[0], np.cumsum(sizes)])
    signs = np.where(rng.normal(size=which.size) > 0.0, 1.0, -1.0)
    return which, begins, signs, signs * rng.uniform(0.2, 2.0, size=which.size)


def alone(kernel, which, q, lower, upper, row, tol=1e-11):
    rows = {"A": np.ones((1, which.size)), "l": 0.0, "u": 0.0} if row else {}
    K = kernel.toarray()[np.ix_(which, which)]
    return qp.solve(K, q, lb=lower, ub=upper, tol=tol, active_set=False, **rows), K


@pytest.mark.parametrize("row", [True, False])
@pytest.mark.parametrize(
    "name, parameters", [("rbf", {}), ("poly", {"coef0": 1.0, "degree": 2}), ("linear", {"features": 70})]
)
def test_each_part_has_the_answer_that_it_has_alone(name, parameters, row):
    kernel = kernel_of(name, **parameters)
    which, begins, signs, bounds = problems()
    lower, upper = np.minimum(bounds, 0.0), np.maximum(bounds, 0.0)
    found = solve_series(kernel, which, begins, -signs, lower, upper, sides=np.zeros((4, int(row))), tol=1e-10)
    for k in range(begins.size - 1):
        at = slice(begins[k], begins[k + 1])
        reference, K = alone(kernel, which[at], -signs[at], lower[at], upper[at], row)
        assert found.rounds[k] > 0
        u, g = found.x[at], found.gradient[at]
        assert 0.5 * u @ K @ u - signs[at] @ u == pytest.approx(reference.objective, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(g, K @ u - signs[at], atol=1e-11)
        assert ((lower[at] <= u) & (u <= upper[at])).all()
        assert abs(u.sum()) <= 1e-10 or not row
        residuals = Residuals(*found.residuals[k])
        assert residuals.meets(1e-10)
        assert residuals.primal_objective == pytest.approx(reference.objective, rel=1e-9, abs=1e-9)


def test_programs_of_one_part_share_it_and_begin_where_the_one_before_ended():
    kernel = kernel_of("rbf")
    which, begins, signs, bounds = problems(sizes=(30, 50))
    Cs, parts = np.array([0.1, 1.0, 10.0]), np.repeat([0, 1], 3)
    q = np.concatenate([-signs[begins[p] : begins[p + 1]] for p in parts])
    ends = np.concatenate([C * bounds[begins[p] : begins[p + 1]] for p, C in zip(parts, np.tile(Cs, 2))])
    lower, upper = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
    several = [
        solve_series(
            kernel, which, begins, q, lower, upper, sides=np.zeros((6, 1)), tol=1e-10, parts=parts, ratios=ratios
        )
        for ratios in (None, np.tile([0.0, 10.0, 10.0], 2))
    ]
    for found in several:
        assert (found.rounds > 0).all()
        assert all(Residuals(*residuals).meets(1e-10) for residuals in found.residuals)
    np.testing.assert_allclose(several[0].x, several[1].x, atol=1e-7)


def test_the_first_and_the_last_samples_of_a_part_have_their_own_sums():
    kernel = kernel_of("rbf")
    which, begins, signs, bounds = problems(sizes=(40, 25, 60))
    splits = np.array([17, 24, 30])
    first = np.concatenate([np.arange(size) < split for size, split in zip(np.diff(begins), splits)])
    lower, upper = np.where(first, -0.1, -np.abs(bounds)), np.where(first, np.abs(bounds), 0.1)
    sides = np.array([[2.0, -1.5], [0.4, 0.05], [0.0, -3.0]])
    found = solve_series(kernel, which, begins, 0.1 * signs, lower, upper, sides=sides, splits=splits, tol=1e-10)
    for k in range(3):
        at, A = slice(begins[k], begins[k + 1]), np.array([first[begins[k] : begins[k + 1]]] * 2)
        A[1] = ~A[1]
        K = kernel.toarray()[np.ix_(which[at], which[at])]
        rows = {"A": A.astype(float), "l": sides[k], "u": sides[k], "lb": lower[at], "ub": upper[at]}
        reference = qp.solve(K, 0.1 * signs[at], tol=1e-11, active_set=False, **rows)
        assert found.rounds[k] > 0
        u, g = found.x[at], found.gradient[at]
        assert 0.5 * u @ K @ u + 0.1 * signs[at] @ u == pytest.approx(reference.objective, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(A @ u, sides[k], atol=1e-9)
        v, between = g + found.multipliers[k] @ A, (lower[at] < u) & (u < upper[at])
        assert between.any() and np.abs(v[between]).max() < 1e-8
        assert Residuals(*found.residuals[k]).meets(1e-10)


def test_what_cannot_be_settled_is_said_to_be_unsolved():
    # the tolerance is beyond what double precision has
    which, begins, signs, bounds = problems(sizes=(60,))
    ends = np.minimum(bounds, 0.0), np.maximum(bounds, 0.0)
    found = solve_series(kernel_of("rbf"), which, begins, -signs, *ends, sides=np.zeros((1, 1)), tol=1e-30)
    assert found.rounds.tolist() == [UNSOLVED]


def test_every_round_of_every_program_is_printed(capsys):
    which, begins, signs, bounds = problems(400, sizes=(300, 400))
    ends = np.minimum(bounds, 0.0), np.maximum(bounds, 0.0)
    given = kernel_of("rbf", 400), which, begins, -signs, *ends
    found = solve_series(*given, sides=np.zeros((2, 1)), tol=1e-10, verbose=True)
    told = [int(line.split()[0]) for line in capsys.readouterr().out.splitlines() if LINE.match(line)]
    assert max(found.rounds) > 1 and told == [k for rounds in found.rounds for k in range(told[0], told[0] + rounds)]


def test_a_solution_is_that_of_the_program_with_signs():
    which, begins, signs, bounds = problems(sizes=(20, 60))
    kernel = kernel_of("rbf")
    ends = np.minimum(bounds, 0.0), np.maximum(bounds, 0.0)
    found = solve_series(kernel, which, begins, -signs, *ends, sides=np.zeros((2, 1)), tol=1e-10)
    at = slice(20, 80)
    P = KernelMatrix(kernel.samples[which[at]], "rbf", gamma=0.4, signs=signs[at])
    program = KernelProgram(P, np.full(60, -1.0), signs[None, at], 0.0, 0.0, 0.0, np.abs(bounds[at]))
    told, reference = found.solution(1, at, program), qp.solve(program, tol=1e-11)
    assert told.status == "optimal"
    assert max(told.primal_residual, told.dual_residual, told.gap) <= 1e-10
    np.testing.assert_allclose(told.x, reference.x, atol=1e-6)
    np.testing.assert_allclose(P @ told.x + program.q + program.A.T @ told.y + told.z_bounds, 0.0, atol=1e-9)
    assert told.objective == pytest.approx(reference.objective, rel=1e-9)


@pytest.mark.parametrize("twice", [False, True])
def test_what_memory_held_before_counts_for_nothing(twice, monkeypatch):
    """Rows of P that were never computed, and the x of the first program, have no influence on the answers."""
    rng = np.random.default_rng(0)
    kernel, n = KernelMatrix(rng.poisson(1.0, (24, 5)).astype(float), "rbf", gamma=0.2), 24
    which, y = np.tile(np.arange(n), 1 + twice), np.arange(n) % 2.0
    q = np.concatenate([0.1 - y, -0.1 - y]) if twice else -y
    lower, upper = (np.repeat([0.0, -1.0], n), np.repeat([1.0, 0.0], n)) if twice else (-np.ones(n), np.ones(n))
    empty, found = np.empty, []
    for held in (0.0, np.nan, 1e300):

        def filled(shape, dtype=float, held=held, **rest):
            array = empty(shape, dtype, **rest)
            if array.dtype == float:
                array.fill(held)
            return array

        monkeypatch.setattr(np, "empty", filled)
        part = np.array([0, which.size])
        found.append(solve_series(kernel, which, part, q, lower, upper, sides=[[0.0]], tol=1e-10))
    assert found[0].rounds[0] > 0
    for other in found[1:]:
        assert other.x.tobytes() == found[0].x.tobytes() and other.rounds[0] == found[0].rounds[0]
