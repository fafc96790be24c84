"""Generated programs: equal bits for equal seeds, feasible by construction, and correct descriptions."""

import numpy as np
import pytest
from scipy.optimize import minimize

import socp
from bench.answers import answer
from bench.answers.verify import verify
from bench.programs import generate, repeated
from tests.bench.programs.test_drawn import CLASSES

SIZES = (1, 2, 7, 30)


# the sizes of each set, and to what its answers verify
SOLVED = {"generated": (SIZES, 1e-7), "large": ((2, 3, 40), 1e-6), "small": ((2, 3, 40), 1e-6),
          "learning": ((2, 3, 12), 1.01e-8)}  # fmt: skip
ASKED = [(group, name, size) for group, (sizes, _) in SOLVED.items() for name in CLASSES[group] for size in sizes]


@pytest.mark.parametrize("group, name, size", ASKED)
def test_solved_or_certified_here(group, name, size):
    program = CLASSES[group][name](size, size if group == "generated" else 1)
    result = answer.solve(program)
    found = verify(program, result.x, result.y, result.z)
    if name == "infeasible":
        assert result.status == "primal_infeasible" and found.primal_infeasible <= 1e-7
    elif name == "unbounded":
        assert result.status == "dual_infeasible" and found.dual_infeasible <= 1e-7
    else:
        assert found.solved(SOLVED[group][1]) and (group == "generated" or result.status == "optimal")


@pytest.mark.parametrize("size", SIZES)
def test_the_unbounded_class_has_a_feasible_point(size):
    program = generate.unbounded(size, size)
    feasible = socp.ConeProgram(
        c=np.zeros(size), G=program.G, h=program.h, cones=program.cones, A=program.A, b=program.b
    )
    result = answer.solve(feasible)
    assert verify(feasible, result.x, result.y, result.z).solved(1e-7)


def solve(program):
    result = answer.solve(program)
    found = verify(program, result.x, result.y, result.z)
    assert found.solved(1e-7)
    return result.x, found.objective


def test_lasso_is_the_function_in_its_line():
    linear_model = pytest.importorskip("sklearn.linear_model")
    program = generate.lasso(10, 1)
    D, targets, weight = program.A.toarray()[:20, :10], program.u[:20], program.q[-1]
    _, objective = solve(program)
    model = linear_model.Lasso(alpha=weight / 20, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(D, targets)
    expected = 0.5 * np.sum((D @ model.coef_ - targets) ** 2) + weight * np.abs(model.coef_).sum()
    assert objective == pytest.approx(expected, rel=1e-6)


def test_huber_is_the_function_in_its_line():
    program = generate.huber(5, 1)
    D, targets = program.A.toarray()[:, :5], program.u

    def objective(w):
        r = np.abs(D @ w - targets)
        return np.where(r <= 1.0, 0.5 * r**2, r - 0.5).sum()

    x, value = solve(program)
    assert value == pytest.approx(objective(x[:5]), rel=1e-6)
    assert value == pytest.approx(minimize(objective, np.zeros(5), tol=1e-12).fun, rel=1e-6)


def test_robust_least_squares_is_the_function_in_its_line():
    program = generate.robust_least_squares(4, 1)
    D, targets = -program.G.toarray()[1:9, :4], -program.h[1:9]

    def objective(w):
        return np.linalg.norm(D @ w - targets) + np.linalg.norm(w)

    assert solve(program)[1] == pytest.approx(minimize(objective, np.ones(4), tol=1e-12).fun, rel=1e-6)
    # and the worst case over ||U||_F <= 1 is attained by a matrix of rank one
    w = solve(program)[0][:4]
    worst = np.outer(D @ w - targets, w) / np.linalg.norm(D @ w - targets) / np.linalg.norm(w)
    assert np.linalg.norm((D + worst) @ w - targets) == pytest.approx(objective(w), rel=1e-9)


def test_group_lasso_is_the_function_in_its_line():
    program = generate.group_lasso(10, 1)
    D, targets, weight = program.A.toarray()[:, :10], program.b, program.c[-1]
    x, objective = solve(program)
    norms = np.linalg.norm(x[:10].reshape(2, 5), axis=1)
    assert objective == pytest.approx(0.5 * np.sum((D @ x[:10] - targets) ** 2) + weight * norms.sum(), rel=1e-6)


def test_robust_kalman_is_the_function_in_its_line():
    size = 20
    program = generate.robust_kalman(size, 1)
    x, objective = solve(program)
    states = 4 * (size + 1)
    pushes, noises = x[states : states + 2 * size], program.b[4 * size :].reshape(size, 2)
    seen = x[:states].reshape(size + 1, 4)[:size, :2]
    r = np.linalg.norm(noises - seen, axis=1)
    huber = np.where(r <= 2.0, 0.5 * r**2, 2.0 * r - 2.0)
    assert objective == pytest.approx(0.5 * np.sum(pushes**2) + huber.sum(), rel=1e-5)


def test_the_smallest_ball_around_two_balls():
    program = generate.enclosing_ball(2, 0)
    radii, centres = -program.h.reshape(2, 11)[:, 0], -program.h.reshape(2, 11)[:, 1:]
    x, objective = solve(program)
    assert objective == pytest.approx((np.linalg.norm(centres[0] - centres[1]) + radii.sum()) / 2, rel=1e-6)
    assert x[10] == pytest.approx(objective)


def test_mpc_follows_its_dynamics_and_reaches_its_input_bounds():
    size = 10
    program = generate.mpc(size, 0)
    x, _ = solve(program)
    inputs = x[8 * size :]
    assert np.abs(program.A @ x - program.u).max() <= 1e-7
    assert np.abs(inputs).max() == pytest.approx(0.1, abs=1e-5)


def test_the_last_result_of_a_repeated_call_is_kept():
    asked, last = repeated.held(pow)
    assert asked(2, 3) is None and asked(3, 2) is None and last == [9]
