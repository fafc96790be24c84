"""The engine as a solver of cvxpy, judged by cvxpy's own standard tests."""

import inspect

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.tests import solver_test_helpers as helpers

from socp.interop.cvxpy import CentralPath

CLASSES = (
    helpers.StandardTestLPs,
    helpers.StandardTestQPs,
    helpers.StandardTestSOCPs,
    helpers.StandardTestInfeasibleProblems,
)
ELSEWHERE = {
    "test_lp_7": "asks for the package of another solver before it looks at ours",
    "test_lp_bound_attr": "is for solvers that take bounds as bounds; cvxpy makes rows of them for the others",
    "test_qp_bound_attr": "is for solvers that take bounds as bounds; cvxpy makes rows of them for the others",
}


def standard_tests():
    for cls in CLASSES:
        for name, function in inspect.getmembers(cls, inspect.isfunction):
            if name.startswith("test_") and "mi_" not in name and name not in ELSEWHERE:  # no integers here
                yield pytest.param(function, id=f"{cls.__name__}-{name}")


@pytest.mark.parametrize("test", list(standard_tests()))
def test_standard(test):
    test(CentralPath())


@pytest.mark.parametrize("problem", ["lp_7", "lp_bound_attr", "qp_bound_attr"])
def test_the_problems_of_the_tests_that_ask_for_more(problem):
    case = getattr(helpers, problem)()
    case.solve(CentralPath())
    case.verify_objective(4)
    if problem != "lp_7":  # many solutions
        case.verify_primal_values(4)


def test_one_changed_line_gives_the_answers_of_the_default_solver():
    rng = np.random.default_rng(0)
    samples, target = rng.normal(size=(30, 5)), rng.normal(size=30)
    x = cp.Variable(5)
    constraints = [cp.norm(x) <= 0.5, cp.sum(x) == 0.2, x >= -0.3]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(samples @ x - target) + cp.norm1(x)), constraints)
    theirs = problem.solve(solver=cp.CLARABEL)
    duals = [np.hstack([np.ravel(part) for part in np.atleast_1d(c.dual_value)]) for c in constraints[1:]]
    ours = problem.solve(solver=CentralPath())
    assert problem.status == "optimal"
    assert ours == pytest.approx(theirs, rel=1e-6)
    for dual, constraint in zip(duals, constraints[1:], strict=True):
        np.testing.assert_allclose(np.ravel(constraint.dual_value), dual, atol=1e-5)


def test_statistics_and_the_whole_answer_are_kept():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= [1, 2]])
    problem.solve(solver=CentralPath())
    statistics = problem.solver_stats
    assert statistics.solver_name == "CENTRALPATH"
    assert statistics.num_iters == statistics.extra_stats.iterations > 0
    assert statistics.solve_time > 0
    assert statistics.setup_time > 0
    assert statistics.extra_stats.gap < 1e-8


def test_settings_go_through():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x - [1, 2])), [x >= 0, cp.sum(x) <= 1])
    problem.solve(solver=CentralPath(), tol=1e-4)
    coarse = problem.solver_stats.num_iters
    problem.solve(solver=CentralPath(), tol=1e-10)
    assert problem.solver_stats.num_iters > coarse
    with pytest.raises(ValueError, match="tolerance"):
        problem.solve(solver=CentralPath(), tolerance=1e-4)


def test_a_limit_gives_the_best_point_found():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x - [1, 2])), [x >= 0, cp.sum(x) <= 1])
    with pytest.warns(UserWarning, match="inaccurate"):
        problem.solve(solver=CentralPath(), max_iter=2)
    assert problem.status == "user_limit"
    assert np.isfinite(x.value).all()


def test_parameters_change_and_the_solver_is_kept():
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(20, 4))

    def make():
        target, radius, x = cp.Parameter(20), cp.Parameter(nonneg=True), cp.Variable(4)
        return target, radius, cp.Problem(cp.Minimize(cp.sum_squares(samples @ x - target)), [cp.norm(x) <= radius])

    problems, solver, kept = (make(), make()), CentralPath(), set()
    for size in (0.1, 0.12, 5.0):
        values = rng.normal(size=20)
        for target, radius, _ in problems:
            target.value, radius.value = values, size
        ours = problems[0][2].solve(solver=solver)
        kept.add(id(problems[0][2]._solver_cache["CENTRALPATH"]))
        assert ours == pytest.approx(problems[1][2].solve(solver=cp.CLARABEL), rel=1e-6)
    assert len(kept) == 1


def test_an_infeasible_problem_has_its_certificate_as_dual_values():
    x = cp.Variable(2)
    constraints = [x[0] + x[1] >= 3, cp.norm(x) <= 1]
    problem = cp.Problem(cp.Minimize(x[0]), constraints)
    assert problem.solve(solver=CentralPath()) == np.inf
    assert problem.status == "infeasible"
    assert constraints[0].dual_value > 0


def test_an_unbounded_problem_is_called_so():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= 1 + 2 * x[1]])
    assert problem.solve(solver=CentralPath()) == -np.inf
    assert problem.status == "unbounded"


def test_verbose_prints_the_iterations(capsys):
    x = cp.Variable(2)
    cp.Problem(cp.Minimize(cp.norm(x - [1, 2])), [x <= 1]).solve(solver=CentralPath(), verbose=True)
    assert "gap" in capsys.readouterr().out
