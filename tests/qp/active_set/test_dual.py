"""The dual active set alone, without the methods that take over when it fails."""

import numpy as np
import pytest

import qp
from bench.programs import tiny
from docs.teaching.faces import dual_active_set
from qp.active_set.dual import BESIDE
from qp.active_set.small import DualActiveSet
from qp.solver import KNOWN
from socp.problem.settings import Settings
from tests.support.programs import check


def method(program, **given):
    return DualActiveSet(program, Settings.of_call(given, "solve", KNOWN))


def own(program, **given):
    return method(program, **given).find(False)


def stacked(program):
    """Return P, q, [A; I], and the lower and upper sides."""
    sides = np.append(program.l, program.lb), np.append(program.u, program.ub)
    return program.hessian.dense(), program.q, np.vstack([program.A.toarray(), np.eye(program.n)]), *sides


def made(seed, kind="random"):
    """Return a program of up to forty variables; it has a feasible point unless `kind` is "split"."""
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(1, 41))
    m = int(rng.integers(0, 2 * n + 2))
    F, x = rng.normal(size=(n, n)), rng.normal(size=n)
    P = F @ F.T / n + 10.0 ** rng.uniform(-4.0, 0.0) * np.eye(n)
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < rng.choice([0.2, 0.6, 1.0]))
    if kind == "ties":
        P, A, x = np.round(P) + n * np.eye(n), np.round(A), np.round(x)
        P = 0.5 * (P + P.T)
    elif kind == "dependent":
        A[m - m // 2 :] = A[: m // 2] * rng.choice([1.0, -2.0, 0.5], size=(m // 2, 1))
    v = A @ x
    l, u = v - rng.choice([0.0, 0.0, 0.5, np.inf], size=m), v + rng.choice([0.0, 0.3, np.inf], size=m)
    lb, ub = x - rng.choice([0.0, 0.5, 1.0, np.inf], size=n), x + rng.choice([0.0, 0.5, np.inf], size=n)
    q = 10.0 ** rng.uniform(-2.0, 3.0) * rng.normal(size=n)
    if kind == "scaled":
        D = 10.0 ** rng.uniform(-3.0, 3.0, n)
        P, A, q, lb, ub = D[:, None] * P * D, A * D, D * q, lb / D, ub / D
    if kind in ("low rank", "linear"):
        F = F[:, : n // 3] if kind == "low rank" else F[:, :0]
        P, lb, ub = F @ F.T, x - rng.choice([0.0, 0.5, 10.0], size=n), x + rng.choice([0.0, 0.5, 10.0], size=n)
    if kind == "split" and m > 0:
        i = int(rng.integers(m))
        l[i] = u[i] = v[i] + rng.normal()
    return qp.QuadraticProgram(P, q, A, l, u, lb, ub)


@pytest.mark.parametrize("kind", ["random", "ties", "dependent", "scaled", "split", "low rank", "linear"])
def test_answers_are_those_of_the_interior_point_method(kind):
    left = 0
    for seed in range(60):
        program = made(seed, kind)
        ours, other = own(program), qp.solve(program, kkt="dense")
        if ours is None:  # whether an objective that falls is unbounded, the interior-point method finds out
            left += other.status != "dual_infeasible"
            continue
        check(program, ours, str(other.status))
        if other.status == "optimal":
            assert ours.objective == pytest.approx(other.objective, rel=1e-6, abs=1e-6)
    assert left <= 2


def one_after_another(program):
    """Return the answer of a method that adds sides to the working set one at a time."""
    dual = method(program)
    dual._workspace.work.beside = np.inf
    found = dual.find(False)
    dual._workspace.work.beside = BESIDE  # restored for the next program
    return found


@pytest.mark.parametrize("seed", range(12))
def test_steps_are_those_of_the_book(seed):
    """Compare the objectives of all working sets with the textbook's, where sides are added one at a time."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    program = tiny.rows(n, seed) if seed % 2 else tiny.box(n, seed)
    P, q, *rows = stacked(program)
    walk, ours = dual_active_set(P, q, *rows), one_after_another(program)
    objectives = [0.5 * x @ P @ x + q @ x for x in walk.points]
    first = len(objectives) - len(ours.trace)  # ours begins with the equality
    assert first == seed % 2 or n == 1
    np.testing.assert_allclose(ours.trace["primal_objective"], objectives[first:], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.x, walk.x, rtol=1e-8, atol=1e-8)
    assert (np.diff(ours.trace["dual_objective"]) > 0.0).all()


@pytest.mark.parametrize("kind", ["random", "ties", "dependent", "scaled", "low rank", "linear"])
def test_sides_that_come_together_save_rounds(kind):
    together, alone = 0, 0
    for seed in range(30):
        program = made(seed, kind)
        ours, other = own(program), one_after_another(program)
        if other is None:
            continue
        assert ours.objective == pytest.approx(other.objective, rel=1e-7, abs=1e-7)
        together, alone = together + ours.iterations, alone + other.iterations
    assert together < 0.8 * alone


def test_where_sides_that_come_together_lead_nowhere_they_come_one_after_another(monkeypatch):
    tried, find = [], DualActiveSet._attempt

    def first_fails(dual, workspace, is_warm):
        tried.append(workspace.work.beside)
        return find(dual, workspace, is_warm) if len(tried) > 1 else None

    monkeypatch.setattr(DualActiveSet, "_attempt", first_fails)
    program = tiny.rows(8, 1)
    check(program, own(program))
    assert tried == [BESIDE, np.inf]
    own(program)
    assert tried[2] == BESIDE


ROOT = np.sqrt(0.5)
INF = np.inf
EDGES = {  # P, q, A, l, u, lb, ub, x
    "one variable, nothing else": ([[2.0]], [-2.0], None, None, None, -INF, INF, [1.0]),
    "one variable between bounds": ([[2.0]], [-8.0], None, None, None, -1.0, 3.0, [3.0]),
    "fixed variables": (np.eye(3), [0, 0, 0], [[1, 1, 1]], [3], [3], [1, 1, -INF], [1, 1, INF], [1, 1, 1]),
    "an equality twice": (np.eye(2), [0, 0], [[1, 1], [2, 2]], [2, 4], [2, 4], -INF, INF, [1, 1]),
    "rows of zeros": (np.eye(2), [-1, -2], [[0, 0], [0, 0]], [-1, 0], [INF, 0], -INF, INF, [1, 2]),
    "rows without sides": (np.eye(2), [-1, -2], [[1, 1]], [-INF], [INF], -INF, INF, [1, 2]),
    "four rows through a vertex": (
        np.eye(2), [-5, -5], [[1, 0], [0, 1], [1, 1], [1, 2], [2, 1]], [-INF] * 5, [1, 1, 2, 3, 3], -INF, INF, [1, 1]),
    "multipliers of zero": (np.eye(2), [-1, -1], [[1, 1]], [-INF], [2], -1, 1, [1, 1]),
    "a row that is a bound": (np.eye(2), [-9, -9], [[0, 4]], [-INF], [2], 0, 1, [1, 0.5]),
    "sides that cross by rounding": (np.eye(1), [0], [[1], [1]], [1, -INF], [INF, 1 - 1e-12], -INF, INF, [1]),
    "large sides": (np.eye(2), [0, 0], [[1, 1]], [2e8], [3e8], -INF, 1.2e8, [1e8, 1e8]),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    P, q, A, l, u, lb, ub, x = EDGES[name]
    program = qp.QuadraticProgram(P, q, A, l, u, lb, ub)
    found = own(program)
    check(program, found)
    np.testing.assert_allclose(found.x, x, rtol=1e-9)
    cone = found.cone_solution
    assert cone.status == "optimal" and cone.objective == pytest.approx(found.objective, rel=1e-9, abs=1e-9)
    assert cone.x.size == np.count_nonzero(program.lb < program.ub)


EMPTY = {  # P, A, l, u, lb, ub
    "a row beyond its bounds": (np.eye(3), [[1, 1, 1]], [4], [INF], -1, 1),
    "equalities apart": (np.eye(2), [[1, 1], [2, 2]], [2, 5], [2, 5], -INF, INF),
    "a row of zeros": (np.eye(2), [[0, 0]], [1], [INF], -INF, INF),
    "three rows": (np.eye(2), [[1, 1], [-1, 0], [0, -1]], [-INF] * 3, [-1, 0, 0], -INF, INF),
    "a fixed variable": (np.eye(2), [[1, 1]], [5], [5], [1, -INF], [1, 3], ),
    "in small units": (np.eye(2), [[1e-4, 1e-4]], [4e-4], [INF], -1, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_what_is_infeasible_is_certified(name):
    P, A, l, u, lb, ub = EMPTY[name]
    program = qp.QuadraticProgram(P, np.ones(len(P)), A, l, u, lb, ub)
    found = own(program)
    check(program, found, "primal_infeasible")
    assert found.message == qp.solve(program, kkt="dense").message
    cone = found.cone_solution
    assert cone.status == "primal_infeasible" and cone.primal_residual <= 1e-8 and np.isnan(cone.x).all()


def test_an_infeasible_program_within_the_tolerance_is_none():
    """Sides that cross by less than a quarter of the tolerance count as feasible, as in presolve."""
    for gap, status in ((1e-9, "optimal"), (1e-6, "primal_infeasible")):
        program = qp.QuadraticProgram([[1.0]], [0.0], [[1.0], [1.0]], [1.0, -INF], [INF, 1.0 - gap])
        check(program, own(program), status)


@pytest.mark.parametrize("rank", [0, 2])
def test_an_objective_that_falls_for_ever_is_left_to_the_interior_point_method(rank):
    for seed in range(20):
        rng = np.random.default_rng([seed, 9])
        n, m = int(rng.integers(3, 20)), int(rng.integers(0, 12))
        ray = rng.normal(size=n)
        F, A = rng.normal(size=(rank, n)), rng.normal(size=(m, n))
        F -= np.outer(F @ ray, ray) / (ray @ ray)  # no curvature along the ray, and no side limits it
        A *= np.where(A @ ray < 0.0, -1.0, 1.0)[:, None]
        q = rng.normal(size=n)
        q -= (q @ ray + 1.0) / (ray @ ray) * ray
        program = qp.QuadraticProgram(F.T @ F, 10.0 ** rng.uniform(-3.0, 3.0) * q, A, l=-1.0 - rng.random(m))
        assert own(program) is None
        check(program, qp.solve(program), "dual_infeasible")


def test_a_warm_start_begins_with_the_working_set():
    program = tiny.rows(20, 3)
    dual = method(program)
    cold = dual.find(True)  # there is no last answer yet
    again = dual.find(True)
    assert cold.iterations > 0 and again.iterations == 0
    np.testing.assert_allclose(again.x, cold.x, rtol=0.0, atol=1e-12)
    rng = np.random.default_rng(0)
    fewer = 0
    for k in range(40):
        l, u = program.l + 0.02 * rng.normal(size=program.m), program.u.copy()
        u[0], lb, ub = l[0], program.lb.copy(), program.ub.copy()
        i, j = rng.integers(1, program.m), rng.integers(program.n)
        l[i], ub[j] = (-INF, INF) if k % 3 else (u[i], lb[j] if k % 2 else 0.5)
        q = program.q + 0.05 * rng.normal(size=program.n)
        changed = program.with_data(q, np.minimum(l, u), u, lb, ub)
        dual.program = changed
        warm, cold = dual.find(True), own(changed)
        assert (warm is None) == (cold is None)
        if cold is not None:
            check(changed, warm, str(cold.status))
        if cold is not None and cold.status == "optimal":
            np.testing.assert_allclose(warm.x, cold.x, rtol=0.0, atol=1e-8)
            fewer += warm.iterations < cold.iterations
    assert fewer > 20


def test_what_is_not_for_it_is_left_to_others():
    for least in (-1.0, -1e-7):
        dual = method(qp.QuadraticProgram(np.diag([1.0, least]), [1.0, 1.0], lb=-1.0, ub=1.0))
        assert not dual.is_clearly_definite()
    program = tiny.rows(12, 1)
    assert own(program, tol=1e-17) is None
    dual = method(program)
    dual._workspace.work.max_steps = 3
    assert dual.find(False) is None  # out of steps
    dual._workspace.work.max_steps = 1000
    check(program, dual.find(True))


@pytest.mark.parametrize("kind", ["low rank", "linear"])
def test_a_warm_start_of_proximal_steps(kind):
    for seed in range(20):
        dual = method(made(seed, kind))
        cold = dual.find(False)
        if cold is not None and cold.status == "optimal":
            warm = dual.find(True)
            assert warm.iterations <= 2
            check(dual.program, warm)


def test_proximal_steps_know_no_unit_of_the_objective():
    for seed in range(20):
        program = made(seed, "linear")
        one, other = own(program), own(program.with_data(2.0**20 * program.q))
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one.x, other.x)


@pytest.mark.parametrize("name", ["q", "P", "A"])
def test_what_is_not_a_number_is_never_optimal(name):
    dual = method(tiny.rows(6, 1))
    workspace = dual._workspace
    if name == "q":
        dual.program.q[3] = np.nan
    else:
        program = dual.program
        P, A = program.hessian.dense().copy(), program.A.copy()
        (P[2] if name == "P" else A.data)[3] = np.nan
        workspace.load(
            (P.reshape(-1), A.indptr[:0], A.indices[:0]), (A.data, A.indptr, A.indices), (program.q, *workspace.sides)
        )
    assert dual.find(False) is None
