"""Cases that cvxpy's standard tests lack, compared with Clarabel: objective, solution and dual values."""

import cvxpy as cp
import numpy as np
import pytest

from socp.interop.cvxpy import CentralPath
from socp.problem.checks import ProgramError

NAME = "CENTRALPATH"
SHARP = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}


def rows_of_one_entry():
    """Return a problem, its variables with a unique optimal value, and its constraints with a unique dual value."""
    x = cp.Variable(4)
    rows = [x[0] == 0.7, 2 * x[1] <= 3, -4 * x[2] <= -2, 3 * x[3] >= 1, x[1] <= 9, cp.sum(x) <= 50]
    return cp.Problem(cp.Minimize(cp.sum_squares(x - [0, 4, 0, 3])), rows), [x], rows


def attributes_of_variables():
    target = np.random.default_rng(33).normal(size=(3, 3))
    symmetric, nonpos = cp.Variable((3, 3), symmetric=True), cp.Variable(nonpos=True)
    bounded = cp.Variable(3, bounds=[np.array([-np.inf, 0.0, 0.1]), np.array([0.5, np.inf, 0.2])])
    sizes = cp.sum_squares(symmetric - target), cp.sum_squares(bounded - target[0]), cp.square(nonpos - target[1, 1])
    row = cp.sum(bounded) + nonpos <= -1.0
    return cp.Problem(cp.Minimize(sum(sizes)), [row]), [symmetric, bounded, nonpos], [row]


@pytest.mark.parametrize("make", [rows_of_one_entry, attributes_of_variables])
def test_the_answer_is_clarabels(make):
    problem, variables, constraints = make()

    def answer():
        return [np.array(v) for v in [x.value for x in variables] + [row.dual_value for row in constraints]]

    theirs, expected = problem.solve(solver=cp.CLARABEL, **SHARP), answer()
    for solver in (NAME, CentralPath()):
        ours = problem.solve(solver=solver, **SHARP)
        assert problem.status == "optimal" and ours == pytest.approx(theirs, rel=1e-6, abs=1e-6)
        for one, other in zip(answer(), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=5e-4, atol=5e-4)


def unsolvable():
    """Yield problems without a solution: (name, problem, status, optimal value)."""
    x, inf = cp.Variable(3), float("inf")
    for kind, size in (("linear", cp.sum(x)), ("quadratic", cp.sum_squares(x)), ("cone", cp.norm(x))):
        both = [cp.sum(x) >= 4, x <= 1]
        yield f"{kind}-infeasible", cp.Problem(cp.Minimize(size), both), "infeasible", inf
        yield f"{kind}-infeasible-maximum", cp.Problem(cp.Maximize(-size), both), "infeasible", -inf
    yield "bounds-cross", cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] >= 1, 2 * x[0] <= 1]), "infeasible", inf
    yield (
        "attributes-cross",
        cp.Problem(cp.Minimize(cp.Variable(nonneg=True) + (y := cp.Variable(neg=True))), [y >= 1]),
        "infeasible",
        inf,
    )
    yield "equalities", cp.Problem(cp.Minimize(cp.norm(x)), [x[0] + x[1] == 1, x[0] + x[1] == 2]), "infeasible", inf
    yield "cone", cp.Problem(cp.Minimize(0), [cp.norm(x) <= 1, cp.sum(x) == 2]), "infeasible", inf
    yield "linear-unbounded", cp.Problem(cp.Minimize(cp.sum(x)), [x <= 1]), "unbounded", -inf
    yield "linear-unbounded-maximum", cp.Problem(cp.Maximize(cp.sum(x)), [x >= 1]), "unbounded", inf
    yield "quadratic-unbounded", cp.Problem(cp.Minimize(cp.sum_squares(x[:2]) - x[2]), [x >= 0]), "unbounded", -inf
    yield "cone-unbounded", cp.Problem(cp.Minimize(x[0] - 2 * x[1]), [cp.norm(x[1:]) <= x[0]]), "unbounded", -inf


@pytest.mark.parametrize("solver", [NAME, CentralPath()], ids=["name", "object"])
@pytest.mark.parametrize(("problem", "status", "value"), [pytest.param(*rest, id=name) for name, *rest in unsolvable()])
def test_there_is_no_solution(problem, status, value, solver):
    assert problem.solve(solver=solver) == value
    assert problem.status == status
    assert all(x.value is None for x in problem.variables())


@pytest.mark.parametrize("solver", [NAME, CentralPath()], ids=["name", "object"])
def test_data_that_are_no_numbers_are_refused(solver):
    x = cp.Variable(2)
    rows = [x[0] + x[1] <= 3, x <= 5, x[0] - x[1] == 1]
    data, chain, _ = cp.Problem(cp.Minimize(cp.sum_squares(x)), rows).get_problem_data(solver)
    for name in set(data) & set("PqcAbFG"):
        spoilt = data[name].copy()
        (spoilt if isinstance(spoilt, np.ndarray) else spoilt.data)[-1] = np.nan
        with pytest.raises(ProgramError, match=r"(?i)nan"):
            chain.solver.solve_via_data(data | {name: spoilt}, False, False, {})
    for name in ("lower_bounds", "upper_bounds"):
        with pytest.raises(ProgramError, match=f"{name} must be None, for bounds are rows here, but array"):
            chain.solver.solve_via_data(data | {name: np.array([np.nan, 0.0])}, False, False, {})
    assert chain.solver.solve_via_data(data, False, False, {}).status == "optimal"
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] >= np.nan])
    with pytest.raises(ValueError, match=r"(?i)nan"):
        problem.solve(solver=solver)
