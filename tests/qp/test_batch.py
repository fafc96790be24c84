"""Many programs at once: answers and residuals as if alone, neighbours, input that is refused."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from qp import batch
from qp.engine import Engine
from qp.plan.choice import suits_loop
from socp import ProgramError, Settings
from socp.batch import groups
from socp.verify.certificates import primal_infeasibility
from socp.verify.stopping import residuals


def data(k=20, n=7, m=5, seed=0, own=False):
    """Return programs with an equality, two- and one-sided rows, and bounds; matrices are shared unless `own`."""
    rng = np.random.default_rng(seed)
    shape = (k,) if own else ()
    F, A = rng.normal(size=(*shape, n, n)), rng.normal(size=(*shape, m, n))
    P = F @ np.swapaxes(F, -1, -2) / n
    middle = (A @ rng.uniform(-0.5, 0.5, size=(k, n, 1)))[..., 0]
    l, u = middle - 0.3, middle + rng.uniform(0.0, 0.5, size=(k, m))
    l[:, 0] = u[:, 0]
    l[:, 1], u[:, 2] = -np.inf, np.inf
    lb = np.full(n, -1.0)
    lb[0] = -np.inf
    return {"P": P, "q": rng.normal(size=(k, n)), "A": A, "l": l, "u": u, "lb": lb, "ub": 1.0}


def one(given, i):
    """Return the arguments of program `i`."""
    axes = {"P": 3, "q": 2, "A": 3, "l": 2, "u": 2, "lb": 2, "ub": 2}
    return {name: value[i] if np.ndim(value) == axes[name] else value for name, value in given.items()}


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_linear_programs_and_programs_without_rows(n):
    rng = np.random.default_rng(n)
    q = rng.normal(size=(9, n))
    boxes = qp.solve_many(None, q, lb=-1.0, ub=2.0)
    assert np.allclose(boxes.x, np.where(q > 0, -1.0, 2.0), atol=1e-6)
    free = qp.solve_many(np.eye(n), q)
    assert np.allclose(free.x, -q, atol=1e-7) and free.y.shape == (9, 0)
    simplex = qp.solve_many(sp.csc_array((n, n)), q, A=np.ones((1, n)), l=1.0, u=1.0, lb=0.0)
    assert np.allclose(simplex.objective, q.min(axis=1), atol=1e-6)
    assert (simplex.status == "optimal").all()


def test_a_time_limit_leaves_the_rest():
    many = qp.solve_many(**data(), time_limit=0.0)
    assert (many.status == "time_limit").all() and np.isnan(many.x).all()
    assert many[3].status == "time_limit" and "time limit" in many[3].message


def test_items_are_as_those_of_a_sequence():
    many = qp.solve_many(np.eye(2), np.ones((3, 2)))
    assert np.array_equal(many[-1].x, many.x[2]) and "3 optimal" in repr(many)
    assert many[0].trace.size == 0 and sum(many[0].timings.values()) > 0.0
    with pytest.raises(IndexError):
        many[3]


Q = np.ones((3, 2))
NAN = np.array([[1.0, 2.0], [3.0, np.nan], [1.0, 1.0]])
BAD = [
    ({"q": Q, "lb": NAN}, r"lb must not be NaN, but lb\[1, 1\] is"),
    ({"q": Q, "lb": NAN[[0, 2]]}, "leading axes must agree, but they are 3 of q, 2 of lb"),
    ({"q": Q, "lb": [[1.0, 1.0], [1.0, np.inf], [1.0, 1.0]]}, r"lb\[1, 1\] is inf: that side can never hold"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_is_refused_by_name(given, message):
    with pytest.raises(qp.problem.program.ProgramError, match=message):
        qp.solve_many(**{"P": np.eye(2), **given})


def test_certificates_where_a_row_is_empty():
    given = {"P": np.eye(3), "q": np.ones((4, 3)), "A": np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])}
    many = qp.solve_many(**given, l=[[0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])
    assert list(many.status) == ["optimal", "primal_infeasible", "optimal", "optimal"]


def test_a_warm_start_from_certificates_is_a_cold_one():
    given = {"P": np.eye(2), "q": np.ones((3, 2)), "A": np.ones((1, 2))}
    first = qp.solve_many(**given, l=[[0.0], [5.0], [1.0]], ub=1.0)
    assert list(first.status) == ["optimal", "primal_infeasible", "optimal"]
    cold = qp.solve_many(**given, l=np.ones((3, 1)), ub=1.0)
    warm = qp.solve_many(**given, l=np.ones((3, 1)), ub=1.0, warm_start=first)
    assert np.array_equal(cold.x[1], warm.x[1]) and (warm.status == "optimal").all()
    back = qp.solve_many(**given, l=[[0.0], [5.0], [1.0]], ub=1.0, warm_start=cold)
    assert list(back.status) == ["optimal", "primal_infeasible", "optimal"]


def test_a_solver_takes_a_warm_start():
    given = data(k=6)
    solver, vectors = qp.Solver(**one(given, 0)), {name: given[name] for name in ("q", "l", "u")}
    first = solver.solve_many(**vectors)
    assert solver.solve_many(**vectors, warm_start=first).iterations.sum() < first.iterations.sum()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("no", "warm_start must be the Solutions of a batch, a tuple .x, y, z_bounds. or an array x, but str came"),
        (qp.Solutions(2, x=2, y=0, z_bounds=2), "warm_start must have points of 3 programs"),
        (np.zeros((3, 1)), r"warm_start must have points of 3 programs .* but x of shape \(3, 1\) came"),
        ((Q, None, Q[:2]), r"but z_bounds of shape \(2, 2\) came"),
    ],
)
def test_a_warm_start_that_does_not_fit_is_refused(start, message):
    with pytest.raises(qp.problem.program.ProgramError, match=message):
        qp.solve_many(np.eye(2), Q, warm_start=start)


def test_points_near_the_answers_save_iterations_and_others_cost_none():
    rng, given = np.random.default_rng(1), data(k=40)
    cold = qp.solve_many(**given)
    for point, share in (
        ((cold.x, cold.y, cold.z_bounds), 0.5), ((cold.x, cold.y, None), 0.5), (cold.x, 1.1), (cold.x[3], 1.1),
        (tuple(1e3 * rng.normal(size=part.shape) for part in (cold.x, cold.y, cold.z_bounds)), 1.0),
    ):  # fmt: skip
        warm = qp.solve_many(**given, warm_start=point)
        assert (warm.status == "optimal").all() and warm.iterations.sum() <= share * cold.iterations.sum()
        np.testing.assert_allclose(warm.x, cold.x, atol=1e-5)


def test_a_program_that_is_solved_alone_starts_at_its_point():
    given = data(n=130, m=60, k=2)  # too large for the lanes
    given["P"] = None
    given["q"], given["lb"] = given["A"].T @ np.ones(60) + given["q"], -1.0
    cold = qp.solve_many(**given)
    warm = qp.solve_many(**given, warm_start=cold)
    assert warm.iterations.sum() < 0.6 * cold.iterations.sum()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_keeps_what_is_done(monkeypatch, threads):
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    given = data(k=300)
    whole, calls = qp.solve_many(**given), []
    monkeypatch.setattr(groups, "WORK", 1.0)  # 64 programs a call

    def interrupted(group, lanes, begin, end):
        calls.append(begin)
        if begin == 128:
            raise KeyboardInterrupt
        return run(group, lanes, begin, end)

    run = groups.run
    monkeypatch.setattr(groups, "run", interrupted)
    many = qp.solve_many(**given, threads=threads)
    assert (many.status[:64] == "optimal").all() and (many.status[128:192] == "interrupted").all()
    done = many.status == "optimal"
    assert np.array_equal(many.x[done], whole.x[done]) and np.isnan(many.x[~done]).all()


def test_an_interrupt_of_a_program_alone_ends_the_batch(monkeypatch):
    monkeypatch.setattr(groups, "LANES_UP_TO", 3)
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    given = data(k=5)
    solve, calls = Engine.solve, []

    def interrupted(self, warm_start=False):
        calls.append(1)
        solution = solve(self, warm_start)
        if len(calls) == 3:
            solution.status = qp.Status.INTERRUPTED
        return solution

    monkeypatch.setattr(Engine, "solve", interrupted)
    many = qp.solve_many(**given)
    assert list(many.status) == ["optimal"] * 2 + ["interrupted"] * 3


def test_semidefinite_matrices_are_taken_and_others_named():
    rng = np.random.default_rng(2)
    F = rng.normal(size=(20, 5, 2))
    P = F @ np.swapaxes(F, 1, 2)
    P[3], P[7] = 0.0, 1e-12 * P[7]
    assert (qp.solve_many(P, rng.normal(size=(20, 5)), lb=-1.0, ub=1.0).status == "optimal").all()
    P[11, 2, 2] -= 0.5
    with pytest.raises(qp.problem.program.ProgramError, match="program 11: P"):
        qp.solve_many(P, np.ones((20, 5)), lb=-1.0, ub=1.0)
    assert len(qp.solve_many(P, np.ones((20, 5)), lb=-1.0, ub=1.0, check_convexity=False)) == 20


def test_rows_with_one_entry_in_some_programs_are_bounds_there(monkeypatch):
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)  # Its answers have no residuals.
    rng = np.random.default_rng(4)
    A = rng.normal(size=(16, 2, 3))
    A[::3, 0, 1:] = 0.0
    A[:, 1] *= 1e6  # such large rows would hide violations of bounds
    q = rng.normal(size=(16, 3))
    many = qp.solve_many(np.eye(3), q, A=A, l=[1.2, -1e6], u=[1.2, 1e6], tol=1e-3)
    assert not many.alone and (many.primal_residual > 1e-12).sum() > 3
    for i, found in enumerate(many):
        program = qp.QuadraticProgram(np.eye(3), q[i], A[i], [1.2, -1e6], [1.2, 1e6])
        measured = residuals(program, found.x, found.y, found.z_bounds)
        assert found.primal_residual == pytest.approx(measured.relative[0], rel=1e-9, abs=1e-25)


def test_banded_programs_in_any_order_of_variables():
    rng = np.random.default_rng(5)
    steps, states, n = 9, 2, 27
    A = np.zeros((states * (steps - 1), n))
    for t in range(steps - 1):
        A[states * t : states * (t + 1), 3 * t : 3 * t + 3] = rng.normal(size=(states, 3))
        A[states * t : states * (t + 1), 3 * t + 3 : 3 * t + 5] = np.eye(states)
    columns, rows = rng.permutation(n), rng.permutation(len(A))
    A, side = A[rows][:, columns], rng.normal(size=(11, len(A))) * 0.1
    given = {"P": np.diag(rng.uniform(0.5, 2.0, n)), "q": rng.normal(size=(11, n)), "A": A, "l": side, "u": side}
    many = qp.solve_many(**given, lb=-2.0, ub=2.0)
    assert not many.alone and (many.status == "optimal").all()
    warm = qp.solve_many(**given, lb=-2.0, ub=2.0, warm_start=many)
    assert warm.iterations.sum() < many.iterations.sum()
    for i, found in enumerate(many):
        program = qp.QuadraticProgram(**one(given, i), lb=-2.0, ub=2.0)
        measured = residuals(program, found.x, found.y, found.z_bounds)
        assert measured.meets(1e-8) and residuals(program, warm.x[i], warm.y[i], warm.z_bounds[i]).meets(1e-8)
        assert found.gap == pytest.approx(measured.relative[2], rel=1e-9, abs=1e-25)
    given["A"] = np.where(A.any(axis=0), A, np.eye(len(A), 1))  # an entry in each column
    infeasible = qp.solve_many(**{**given, "l": side + 50.0, "u": side + 50.0}, lb=-2.0, ub=2.0)
    assert not infeasible.alone and (infeasible.status == "primal_infeasible").all()
    for i, found in enumerate(infeasible):
        program = qp.QuadraticProgram(given["P"], given["q"][i], given["A"], side[i] + 50.0, side[i] + 50.0, -2.0, 2.0)
        assert primal_infeasibility(program, found.y, found.z_bounds) <= 1e-8


@pytest.mark.parametrize(
    ("call", "program"), [(qp.solve_many, {"P": [[1.0]], "q": [[1.0]]}), (socp.solve_many, {"c": [[1.0]]})]
)
def test_unknown_settings_are_refused_with_a_hint(call, program):
    with pytest.raises(TypeError, match="'tolerance'; did you mean 'tol'"):
        call(**program, tolerance=1e-6)
    with pytest.raises(TypeError, match="'verbose'"):
        call(**program, verbose=True)


@pytest.mark.parametrize("seed", range(5))
def test_objectives_are_those_of_the_answer_in_exact_arithmetic(seed):
    # 1/2 x'Px + q'x of terms that cancel, at bounds that hold
    rng = np.random.default_rng(seed)
    n = 5
    F, lb = rng.random((n, n)), 0.1 + rng.random((10, n))
    P = 10.0 * (F @ F.T + np.eye(n))
    q = -0.49999 * lb @ P
    few = qp.solve_many(P, q[:1], lb=lb[:1])
    own = qp.solve_many(np.stack([P] * 10), q, lb=lb)
    single, dual = (qp.solve(P, q[0], lb=lb[0], active_set=wanted) for wanted in (False, True))
    assert (
        (single.plan.method, dual.plan.method) == ("interior point", "dual active set")
        and not few.alone
        and not own.alone
    )
    for i, found in [(0, few[0]), (0, single), (0, dual), *enumerate(own)]:
        x, half = [Fraction(v) for v in found.x.tolist()], Fraction(0)
        for k in range(n):
            half += sum(Fraction(P[k, j]) * x[k] * x[j] for j in range(n)) / 2
        objective = half + sum(Fraction(c) * v for c, v in zip(q[i].tolist(), x))
        below = -half - sum(Fraction(b) * Fraction(z) for b, z in zip(lb[i].tolist(), found.z_bounds.tolist()))
        assert found.objective == pytest.approx(float(objective), rel=1e-14, abs=1e-25)
        assert found.dual_objective == pytest.approx(float(below), rel=1e-14, abs=1e-25)


@pytest.mark.parametrize("rows", [0, 20])
def test_programs_with_a_common_definite_matrix_are_solved_in_a_loop_by_the_dual_active_set(rows):
    rng, n, k = np.random.default_rng(4), 64, 12
    F, A = rng.normal(size=(n, n)), rng.normal(size=(rows, n))
    P, q = F @ F.T / n + np.eye(n), rng.normal(size=(k, n))
    sides = {"A": A, "l": -0.4, "u": rng.uniform(0.3, 0.5, (k, rows))} if rows else {}
    data = {"P": P, "q": q, "lb": -0.3, "ub": 0.3, **sides}
    for is_shared in (False, True):
        assert suits_loop(n, rows, n * rows, n * n, Settings(), is_shared)
        assert suits_loop(12, 6, 72, 144, Settings(), is_shared)
    assert not suits_loop(n, rows, n * rows, n * n, Settings(active_set=False))
    assert not suits_loop(90, 56, 400, 90, Settings())  # in a narrow band
    many = qp.solve_many(**data)
    assert (many.status == "optimal").all() and not many.alone
    for i in range(k):
        own = {name: value[i] if np.ndim(value) and len(value) == k else value for name, value in data.items()}
        alone = qp.Solver(**own).solve()
        assert alone.plan.method == "dual active set"
        for name in ("x", "y", "z_bounds"):
            assert getattr(many, name)[i].tobytes() == getattr(alone, name).tobytes()
        assert many.iterations[i] == alone.iterations and many[i].gap == alone.gap
    two = qp.solve_many(**data, threads=2)
    assert all(getattr(many, name).tobytes() == getattr(two, name).tobytes() for name in ("x", "y", "z_bounds"))


def test_a_loop_leaves_what_it_does_not_solve_to_the_engine():
    rng, n = np.random.default_rng(4), 48
    F, A = rng.normal(size=(n, n)), np.ones((2, n))
    l = np.array([[-1.0, -1.0], [2.0, -1.0], [-1.0, -1.0]])
    many = qp.solve_many(F @ F.T / n + np.eye(n), rng.normal(size=(3, n)), A=A, l=l, u=[9.0, 1.0], lb=-1.0, ub=1.0)
    assert list(many.status) == ["optimal", "primal_infeasible", "optimal"] and many[1].primal_residual < 1e-8


@pytest.mark.parametrize("shared", [(), ("P",), ("A",), ("P", "A")])
def test_definite_programs_have_the_exact_answers_of_single_ones(shared):
    """The active set of each is found, in the memory that batches and single programs have left."""
    rng, n, m, k = np.random.default_rng(6), 12, 7, 30
    F = rng.normal(size=(k, n, n))
    P, A = F @ F.swapaxes(1, 2) / n + 0.1 * np.eye(n), rng.normal(size=(k, m, n))
    P, A = (matrix[0] if name in shared else matrix for name, matrix in (("P", P), ("A", A)))
    for scale in (1.0, 20.0, 1.0):
        q, u = scale * rng.normal(size=(k, n)), rng.uniform(0.2, 1.0, (k, m))
        many = qp.solve_many(P, q, A=A, l=-1.0, u=u, lb=-1.0, ub=2.0)
        assert (many.status == "optimal").all() and not many.alone
        for i in range(k):
            Pi, Ai = (matrix if matrix.ndim == 2 else matrix[i] for matrix in (P, A))
            one = qp.solve(Pi, q[i], A=Ai, l=np.full(m, -1.0), u=u[i], lb=np.full(n, -1.0), ub=np.full(n, 2.0))
            for name in ("x", "y", "z_bounds"):
                assert getattr(many, name)[i].tobytes() == getattr(one, name).tobytes()
            active, free = many.y[i] != 0.0, many.z_bounds[i] == 0.0
            B, x = Ai[active][:, free], many.x[i]
            K = np.block([[Pi[np.ix_(free, free)], B.T], [B, np.zeros((len(B), len(B)))]])
            sides = np.where(many.y[i] > 0.0, u[i], -1.0)[active] - Ai[active][:, ~free] @ x[~free]
            right = np.concatenate([-q[i][free] - Pi[np.ix_(free, ~free)] @ x[~free], sides])
            exact = np.linalg.solve(K, right)
            np.testing.assert_allclose(x[free], exact[: free.sum()], rtol=0.0, atol=1e-12)
            np.testing.assert_allclose(many.y[i][active], exact[free.sum() :], rtol=1e-10)


def test_a_singular_matrix_decides_nothing_for_its_neighbours():
    rng, n, k = np.random.default_rng(7), 6, 40
    P = np.stack([np.eye(n)] * k)
    P[13, 0, 0], P[13, 0, 1], P[13, 1, 0] = 1.0, 1.0, 1.0  # rank 5
    given = {"q": rng.normal(size=(k, n)), "lb": -1.0, "ub": 1.0}
    many = qp.solve_many(P, **given)
    assert not many.alone and (many.status == "optimal").all()
    for some in ([13], [12, 14], [13, 5]):
        own = qp.solve_many(P[some], given["q"][some], lb=-1.0, ub=1.0)
        assert own.x.tobytes() == many.x[some].tobytes()
    P[13, 1, 1] = 0.5  # indefinite, beside others that are not
    with pytest.raises(ProgramError, match="program 13: "):
        qp.solve_many(P, **given)
