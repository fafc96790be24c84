"""The engine behind the interface of qpsolvers."""

import re

import numpy as np
import pytest
import qpsolvers
import scipy.sparse as sp

import qp


@pytest.fixture(scope="module", autouse=True)
def registered():
    qp.register_with_qpsolvers()


def program(seed, sparse=False):
    rng = np.random.default_rng(seed)
    n = 6
    root, G, A = rng.normal(size=(n, n)), rng.normal(size=(4, n)), rng.normal(size=(2, n))
    feasible = rng.uniform(-0.5, 0.5, n)
    P, h, b = root @ root.T, G @ feasible + rng.uniform(0.0, 0.3, 4), A @ feasible
    matrices = [sp.csc_matrix(matrix) for matrix in (P, G, A)] if sparse else [P, G, A]
    lb, ub = np.full(n, -0.6), np.full(n, 0.6)
    ub[0] = np.inf
    return matrices[0], 5 * rng.normal(size=n), matrices[1], h, matrices[2], b, lb, ub


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_one_changed_argument_gives_the_answer_of_another_solver(seed, sparse):
    data = program(seed, sparse)
    theirs = qpsolvers.solve_qp(*program(seed, sparse=True), solver="clarabel")
    ours = qpsolvers.solve_qp(*data, solver="centralpath")
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_array_equal(qp.solve_qp(*data), ours)


@pytest.mark.parametrize("seed", range(5))
def test_the_multipliers_have_the_signs_of_qpsolvers(seed):
    solution = qpsolvers.solve_problem(qpsolvers.Problem(*program(seed)), solver="centralpath", tol=1e-9)
    assert solution.found
    assert solution.is_optimal(1e-6)  # Px + q + G'z + A'y + z_box = 0, z >= 0 and the gap, in their own signs
    assert (solution.z >= -1e-9).all()
    assert abs(solution.z_box).max() > 1e-3
    assert solution.extras["iterations"] > 0


def test_a_program_without_rows_or_bounds_and_one_with_a_single_row():
    P, q = np.diag([1.0, 2.0]), np.array([-1.0, -4.0])
    assert qpsolvers.solve_problem(qpsolvers.Problem(P, q), solver="centralpath").is_optimal(1e-7)
    problem = qpsolvers.Problem(P, q, np.array([1.0, 1.0]), np.array([1.0]))
    np.testing.assert_allclose(qpsolvers.solve_problem(problem, solver="centralpath").x, [-1 / 3, 4 / 3], atol=1e-7)


@pytest.mark.parametrize("crossing, found", [(0.2, False), (1e-12, True)])
def test_bounds_that_cross_are_a_program_without_a_solution(crossing, found):
    lb, ub = np.array([0.0, 0.1]), np.array([1.0, 0.1 - crossing])
    solution = qpsolvers.solve_problem(qpsolvers.Problem(np.eye(2), np.ones(2), lb=lb, ub=ub), solver="centralpath")
    assert solution.found is found and ("lb[1]" in solution.extras["message"]) is not found


def test_an_infeasible_program_is_not_found_and_the_best_point_is_there_after_a_limit():
    problem = qpsolvers.Problem(np.eye(1), np.zeros(1), np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))
    solution = qpsolvers.solve_problem(problem, solver="centralpath")
    assert not solution.found
    assert solution.extras["status"] == "primal_infeasible"
    cut = qpsolvers.solve_problem(qpsolvers.Problem(*program(0)), solver="centralpath", max_iter=2)
    assert not cut.found
    assert np.isfinite(cut.x).all()
    with pytest.warns(UserWarning, match="primal_infeasible"):
        assert qp.solve_qp(np.eye(1), np.zeros(1), [[1.0], [-1.0]], [-1.0, -1.0]) is None


def test_familiar_names_of_settings():
    problem = qpsolvers.Problem(*program(0))
    seen = []
    given = {
        "eps_abs": 1e-5,
        "eps_rel": 1e-6,
        "max_iters": 50,
        "callback": lambda iterate: seen.append(iterate.iteration),
    }
    assert qpsolvers.solve_problem(problem, solver="centralpath", **given).is_optimal(1e-4)
    assert seen
    exact = {"eps_abs": 1e-9, "eps_rel": 0.0}  # many callers set only an absolute tolerance
    assert qpsolvers.solve_problem(problem, solver="centralpath", **exact).is_optimal(1e-8)
    assert not qpsolvers.solve_problem(problem, solver="centralpath", max_iters=1).found
    for wrong, words in (
        ({"eps_abs": -1.0}, "eps_abs must be a positive number"),
        ({"eps_abs": 1e-5, "tol_abs": 1e-5}, "tol_abs and eps_abs are one setting"),
        ({"eps_rel": "small"}, "eps_rel must be a positive number"),
        ({"epsilon": 1e-3}, "unknown setting 'epsilon'"),
    ):
        with pytest.raises(ValueError, match=words):
            qp.solve_qp(*program(0), **wrong)


def test_initial_values_are_a_start_that_saves_iterations_and_are_checked():
    problem = qpsolvers.Problem(2.0 * np.eye(30), np.linspace(-9.0, 9.0, 30), lb=np.full(30, -1.0), ub=np.ones(30))
    cold = qpsolvers.solve_problem(problem, solver="centralpath", active_set=False)
    warm = qpsolvers.solve_problem(problem, solver="centralpath", active_set=False, initvals=cold.x)
    assert warm.found and warm.extras["iterations"] < 0.6 * cold.extras["iterations"]
    with pytest.raises(ValueError, match="initvals must have 30 entries, but 2 came"):
        qpsolvers.solve_problem(problem, solver="centralpath", initvals=np.ones(2))


def test_a_key_error_of_ours_is_not_taken_for_a_missing_solver(monkeypatch):
    def failing(*arguments):
        raise KeyError("inside")

    monkeypatch.setattr(qp.interop.qpsolvers, "solve_checked", failing)
    with pytest.raises(RuntimeError, match="inside"):
        qpsolvers.solve_qp(np.eye(1), np.ones(1), solver="centralpath")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"G": [[1.0, 1.0]]}, "G and h go together, but only G came: h is missing"),
        ({"b": [1.0]}, "A and b go together, but only b came: A is missing"),
        ({"G": [[1.0, 1.0]], "h": [1.0, 2.0]}, "h must have 1 entries (the rows of G), but 2 came"),
        ({"A": [[1.0, 1.0]], "b": [1.0, 2.0]}, "b must have 1 entries (the rows of A), but 2 came"),
        (
            {"A": [[1.0, 1.0]], "b": [1.0], "G": [[1.0]], "h": [1.0]},
            "G must have shape (any, 2) (2 variables in q), but (1, 1) came",
        ),
        ({"solver": "osqp"}, "solver must be None or 'centralpath', but 'osqp' came"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        qp.solve_qp(np.eye(2), np.ones(2), **arguments)


@pytest.mark.parametrize("n, m, p", [(2, 2, 1), (2, 0, 1), (16, 20, 6), (32, 64, 0), (32, 64, 6)])
def test_arrays_are_solved_without_a_program(monkeypatch, n, m, p):
    """A program of the shape of an earlier one is solved straight from the arrays, also from arrays in other orders."""
    rng = np.random.default_rng(n + m)
    F, A, G = rng.normal(size=(n, n)), rng.normal(size=(p, n)), rng.normal(size=(m, n))
    P, q, b, h = F @ F.T + np.eye(n), rng.normal(size=n), 0.1 * rng.normal(size=p), np.ones(m)
    (G, h), (A, b) = (G, h) if m else (None, None), (A, b) if p else (None, None)
    first, made = qp.solve_qp(P, q, G, h, A, b), []
    init = qp.QuadraticProgram.__init__
    monkeypatch.setattr(qp.QuadraticProgram, "__init__", lambda *own, **named: made.append(1) or init(*own, **named))
    again = qp.solve_qp(P, q, G, h, A, b)
    assert not made and again.tobytes() == first.tobytes()
    other = qp.solve_qp(P, q, *(None if v is None else np.asfortranarray(v) for v in (G, h, A, b)))
    np.testing.assert_allclose(other, first, atol=1e-9)
    if m:
        with pytest.raises(qp.ProgramError, match=r"^h\b"):
            qp.solve_qp(P, q, G, np.append(h[1:], np.nan)[:, None], A, b)
