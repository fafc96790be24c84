"""Each `program_` is the program that is stated here from the data; `solution_` solves it, and f follows from it."""

import numpy as np
import pytest

import models
import qp
import socp
from models.programs import linear, margins, nu
from models.svm import path
from tests.support.kkt import kkt, same
from tests.support.program_records import RECORDS
from tests.support.solved_programs import CASES, TOL, C, data, rbf

KKT = 1e-8  # the engine's promise, `models.base.estimator.GOOD`
EXACT = 1e-11  # tolerance of the oracle, whose objective then leaves f uncertain by about its root
NEAR = 1e-5

IN_SERIES = ("SVC", "SVCCV", "NuSVC", "SVR", "SVR, no tube", "NuSVR")  # a wrong answer is solved once more otherwise


@pytest.mark.parametrize("name", CASES)
def test_the_program_is_the_stated_one_its_solution_solves_it_and_f_follows(name):
    case = CASES[name]()
    program, solution = case.model.program_, case.model.solution_
    cones = isinstance(program, socp.ConeProgram)
    assert name not in IN_SERIES or solution.message.startswith("the stopping test holds; active set")
    assert isinstance(solution, socp.Solution if cones else qp.Solution)
    most = max(100.0 * RECORDS[name.partition(",")[0]].residual, 1e-12)  # on other processors, too
    assert solution.status == "optimal" and kkt(program, solution).worst <= min(most, KKT)
    assert case.other or same(program, case.stated)
    answer = (socp if cones else qp).solve(case.stated, tol=EXACT, max_iter=300)
    np.testing.assert_allclose(case.found, case.values(answer), atol=NEAR)
    assert solution.objective == pytest.approx(case.sign * answer.objective, rel=1e-7)


PRIMALS = {
    "LinearSVC": ("hinge", 0.0), "LinearSVC, squared": ("squared_hinge", 0.0),
    "LinearSVR": ("epsilon_insensitive", 0.3), "LinearSVR, squared": ("squared_epsilon_insensitive", 0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", PRIMALS)
def test_newton_steps_in_the_primal_solve_the_stated_primal(name):
    """`LinearSVC` and `LinearSVR` on more samples than features, against `linear_primal` solved by the engine."""
    loss, epsilon = PRIMALS[name]
    X, y, t = data(60, 4)
    given = {"C": C, "loss": loss, "intercept_scaling": 2.0, "tol": 1e-11}
    if epsilon:
        model = models.LinearSVR(epsilon=epsilon, **given).fit(X, t)
        rows, signs, q = np.vstack([X, X]), np.repeat([1.0, -1.0], 60), np.tile(t, 2)
    else:
        model, rows, signs, q = models.LinearSVC(**given).fit(X, y), X, y, y
    prices = np.full(q.size, C)
    program = linear.linear_primal(rows, signs, q, prices, loss.startswith("squared"), 2.0, epsilon)
    answer = qp.solve(program, tol=EXACT)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_ / 2.0), answer.x[:5], atol=NEAR)
    assert model.objective_ == pytest.approx(answer.objective, rel=1e-8)
    assert model.dual_objective_ == pytest.approx(answer.objective, rel=1e-8)


@pytest.mark.parametrize("bias", [True, False])
def test_the_series_solves_the_signed_dual_which_is_the_dual(bias):
    X, y, _ = data()
    K, price = rbf(X), np.full(40, C)
    matrix = models.Kernel("rbf", gamma=0.4).matrix(X, np.ones(40), 10.0)
    low, high = np.minimum(y * C, 0.0), np.maximum(y * C, 0.0)
    found = models.solve_series(
        matrix, np.arange(40), np.array([0, 40]), -y, low, high, sides=np.zeros((1, int(bias))), tol=TOL
    )
    signed = qp.solve(margins.signed_dual(K, y, low, high, bias), tol=EXACT)
    dual = qp.solve(margins.dual_program(K * np.outer(y, y), y, price, bias), tol=EXACT)
    np.testing.assert_allclose(K @ found.x, K @ signed.x, atol=NEAR)
    np.testing.assert_allclose(K @ signed.x, K @ (y * dual.x), atol=NEAR)
    assert signed.objective == pytest.approx(dual.objective, rel=1e-9)


def test_the_signed_dual_with_two_sums_is_the_dual_with_nu():
    X, y, _ = data()
    K, low, high = rbf(X), np.minimum(y, 0.0), np.maximum(y, 0.0)
    signed = qp.solve(margins.signed_dual(K, 0.0 * y, low, high, True, y, 0.4 * 40), tol=EXACT)
    share = qp.solve(nu.nu_dual(K * np.outer(y, y), y, np.ones(40), 0.4 * 40), tol=EXACT)
    assert signed.objective == pytest.approx(share.objective, rel=1e-9)
    np.testing.assert_allclose(K @ signed.x, K @ (y * share.x), atol=NEAR)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_machines_of_a_path_are_those_of_the_dual(C):
    X, y, _ = data(50)
    codes, ones, t = (y > 0.0).astype(int), np.ones(50), np.where(np.arange(50) < 40, y, 0.0)
    kernel, asked = models.Kernel("rbf", gamma=0.4), np.arange(40, 50)
    samples = path.Samples(X, codes, ones, np.array([-1, 1]), kernel, True, None, "ovo", 10.0)
    made, K, u = path.Path(samples, {"tol": 1e-9, "max_iter": 200}), rbf(X), y[:40]
    exact = qp.solve(margins.dual_program(K[:40, :40] * np.outer(u, u), u, np.full(40, C), True), tol=EXACT)
    f, Cs = K[40:, :40] @ (exact.x * u) + exact.y[0], np.array([0.1 * C, C])
    for found in (made.follow(t, ones, Cs, asked), np.array(list(made._one_by_one(t, ones, Cs, asked)))):
        np.testing.assert_allclose(found[1], f, atol=NEAR)
