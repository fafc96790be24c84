"""The chosen plan, and its description."""

import importlib
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.programs import sets
from socp import ConeProgram, LowRank, NonNeg, Settings, Solver, Status
from socp.form.standard import StandardForm
from socp.kkt.dense import DenseKKT
from socp.kkt.sparse import SparseKKT
from socp.method.answer import FAILS
from socp.method.run import Run
from socp.plan.choice import LIFTED, decide, is_held
from socp.plan.costs import COSTS, dense_seconds, low_rank_seconds, sparse_seconds
from socp.plan.plan import Plan
from tests.support.data import data_folder
from tests.support.sparse_matrices import random_sparse


def with_dense_rows(count, diagonal):
    """Return a program in 200 variables with `count` dense rows and a P that is diagonal or tridiagonal."""
    n, rng = 200, np.random.default_rng(0)
    offsets = [0] if diagonal else [-1, 0, 1]
    P = sp.diags_array([rng.uniform(0.1, 0.4, n - abs(k)) if k == 0 else np.full(n - 1, 0.03) for k in offsets],
                       offsets=offsets, format="csc")  # fmt: skip
    G = np.vstack([rng.normal(size=(count, n)), -np.eye(n)])
    return ConeProgram(rng.normal(size=n), G, np.r_[np.full(count, 10.0), np.zeros(n)], [NonNeg(count + n)], P=P)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("count, way", [(8, SparseKKT), (600, DenseKKT)])
def test_few_dense_rows_stay_behind_a_sparse_hessian(count, way, diagonal):
    program = with_dense_rows(count, diagonal)
    solver = Solver(program)
    assert isinstance(solver.kkt, way)
    found = solver.solve()
    for other in ("ldl", "dense"):
        assert found.objective == pytest.approx(Solver(program, kkt=other).solve().objective, rel=1e-6)


def sparse_rows(n=40, seed=0):
    """Return a small program whose matrices are sparse."""
    rng = np.random.default_rng(seed)
    A = random_sparse((n // 2, n), rng=rng, density=3.0 / n) + sp.eye_array(n // 2, n)
    return qp.QuadraticProgram(
        sp.diags_array(rng.uniform(0.0, 2.0, n).round()), rng.normal(size=n), A, -1.0, 1.0, -1.0, 1.0
    )


def test_the_backend_of_a_small_program_is_chosen_again_for_a_solver_that_is_kept():
    cone = qp.Solver(sparse_rows(), kkt="auto", max_iter=150).cone_solver.program  # by the interior-point method
    solver, another = Solver(cone), 1.001 * cone.c
    first = solver.solve()
    assert first.plan.backend == "dense" and first.plan.reason == "the program is small"
    np.testing.assert_array_equal(solver.solve().x, first.x)  # the same program again
    solver.update(c=another)
    warm = solver.solve(warm_start=True)
    expected = socp.solve(
        c=another, G=cone.G, h=cone.h, cones=cone.cones, A=cone.A, b=cone.b, P=cone.P, offset=cone.offset
    )
    assert warm.plan.backend == "sparse" and expected.plan.backend == "dense"
    assert warm.status is Status.OPTIMAL and warm.objective == pytest.approx(expected.objective, rel=1e-7)
    assert warm.iterations < expected.iterations  # the last point was carried over
    solver.update(c=cone.c)
    back = solver.solve()
    assert back.plan.backend == "sparse" and back.iterations == first.iterations
    np.testing.assert_allclose(back.x, first.x, atol=1e-6)
    assert sum(back.timings.values()) == pytest.approx(back.setup_time + back.solve_time, rel=1e-6)


@pytest.mark.parametrize("settings", [{"kkt": "dense"}, {"kkt": "ldl"}])
def test_a_backend_that_was_asked_for_is_kept(settings):
    solver = qp.Solver(sparse_rows(), **settings)
    before = solver.solve().plan
    assert f'kkt="{settings["kkt"]}" was asked for' in str(before)
    solver.update(q=np.ones(40))
    assert solver.solve().plan.backend == before.backend


def test_a_dense_program_stays_dense_when_its_solver_is_kept():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(30, 30))
    solver = Solver(ConeProgram(rng.normal(size=30), rng.normal(size=(40, 30)), np.ones(40), [NonNeg(40)], P=F @ F.T))
    state = solver._state
    solver.solve()
    solver.update(c=np.ones(30))
    assert solver.solve().plan.backend == "dense" and solver._state is state


def test_what_a_kept_solver_leaves_is_taken_by_no_other_kind():
    program = sparse_rows()
    anew = qp.solve(program, max_iter=150)
    solver = qp.Solver(program, max_iter=150)
    solver.solve()
    solver.update(q=2.0 * program.q)
    assert solver.solve().plan.backend == "sparse"
    solver.release()
    again = qp.solve(program, max_iter=150)
    assert again.plan.backend == anew.plan.backend == "dense"
    np.testing.assert_array_equal(again.x, anew.x)


@pytest.mark.parametrize("is_kept", [False, True])
def test_the_seconds_that_are_compared_are_those_of_the_sizes(is_kept):
    """Rows are counted without bounds; a low rank is counted; a solver that is kept needs no analysis.

    The sparse alternative of a low rank has w = F'x as 4 more variables and rows.
    """
    n, F = 300, np.eye(300, 4)
    G = np.vstack([-np.eye(n), np.ones((3, n)) + np.eye(3, n)])
    form = StandardForm(ConeProgram(np.ones(n), G, np.ones(n + 3), [NonNeg(n + 3)], np.eye(2, n, 1), np.ones(2),
                                    LowRank(F, np.ones(n))))  # fmt: skip
    plan, rows = decide(form, Settings(), is_kept), form.p + form.m - form.bounds
    assert rows == 5 and plan.backend == "low rank"
    table = COSTS._replace(analysis=0.0, analysis_of_entry=0.0) if is_kept else COSTS
    expected = {
        "low rank": low_rank_seconds(n, 4 + rows), "dense": dense_seconds(n, rows),
        LIFTED: sparse_seconds(n + 4, rows + 4, form.entries - form.bounds + 4 * (n + 1), table, P_entries=n + 4),
    }  # fmt: skip
    assert plan.seconds == pytest.approx(expected, rel=1e-12)
    for rows, d, held in ((n, 0.0, True), (n - 1, 0.0, False), (0, 1.0, True), (n - 1, np.eye(n)[-1], True)):
        bounds = ConeProgram(np.ones(n), -np.eye(n)[:rows], np.ones(rows), [NonNeg(rows)], P=LowRank(F, d))
        assert is_held(StandardForm(bounds)) == held, (rows, d)


def test_the_plan_is_that_of_the_run_that_gave_the_answer(monkeypatch):
    judge = Run._judge
    monkeypatch.setattr(
        Run,
        "_judge",
        lambda run, answer: judge(run, answer)._replace(**({} if run.plan.backend == "sparse" else {"verdict": FAILS})),
    )
    solver = Solver(ConeProgram([1.0], [[-1.0]], [0.0], [NonNeg(1)]))
    solution = solver.solve()
    assert solution.status is Status.OPTIMAL and solver.plan.backend == "dense"
    assert str(solution.plan).startswith("sparse LDL'") and "broke down" in str(solution.plan)


def test_a_plan_goes_with_a_pickled_solution():
    solution = qp.solve(np.eye(2), [1.0, 1.0], callback=lambda iterate: None)
    assert str(pickle.loads(pickle.dumps(solution)).plan) == str(solution.plan)


def test_settings_of_one_program_are_not_in_the_plan_of_the_next():
    program = ConeProgram([1.0], [[-1.0]], [0.0], [NonNeg(1)])
    for step in (0.9, 0.95, 0.95):
        assert socp.solve(program, step_fraction=step).plan.step_fraction == step


PAGE = Path(__file__).resolve().parents[3] / "docs" / "architecture.md"
PLANS = {
    name: " ".join(told.split())
    for name, told in re.findall(r"^- `([^`]+)`: (.+(?:\n  .+)*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
}  # fmt: skip


def program_named(name):
    """Return the program `set/file` of a public set, or `module.function(size)` of `bench.programs`."""
    if "/" in name:
        folder, _, stem = name.partition("/")
        return sets.read(next(data_folder(folder).glob(f"{stem}.*")))
    module, function, size = re.fullmatch(r"(\w+)\.(\w+)\((\d+)\)", name).groups()
    return getattr(importlib.import_module(f"bench.programs.{module}"), function)(int(size))


def in_kind(told):
    """Replace the numbers in the text of a plan by "#"."""
    return re.sub(r"\d[\d.,]*( [kMG])?", "#", told)


@pytest.mark.parametrize("name", PLANS)
def test_the_plans_of_the_page(name):
    program = program_named(name)
    if isinstance(program, socp.ConeProgram):
        told = str(Solver(program).plan)
    else:
        solver = qp.Solver(program)
        told = str((solver.dual_active_set or solver.active_set or solver.cone_solver).plan)
    assert in_kind(told) == in_kind(PLANS[name])


def test_the_page_has_a_plan_of_each_kind():
    ways = {told.partition(",")[0] for told in PLANS.values()}
    assert len(PLANS) >= 8 and len(ways) >= 6 and all("chosen over" in told for told in PLANS.values())


def test_work_in_words():
    plan = Plan("dense", "it is so", what="something")
    assert [str(plan._replace(flops=flops)) for flops in (0.0, 12.0, 1e3, 3.44e5, 2e9)] == [
        "something: it is so", "something, about 12 flop: it is so", "something, about 1 kflop: it is so",
        "something, about 340 kflop: it is so", "something, about 2 Gflop: it is so",
    ]  # fmt: skip
    compared = plan._replace(seconds={"dense": 2e-3, "sparse": 3e-3})
    assert str(compared) == "something: chosen over sparse (1.5x)"
    assert str(plan._replace(seconds={"dense": 0.0, "sparse": 3e-3})) == "something: it is so"


def test_a_plan_has_the_settings():
    given = {"regularization": 1e-7, "refinement_steps": 3, "equilibrate": False, "step_fraction": 0.8, "kkt": "ldl"}
    for settings, is_free in (({}, True), (given, False)):
        plan, expected = Solver(with_dense_rows(3, True), **settings).plan, socp.Settings(**settings)
        assert (plan.is_free, plan.method, plan.precise) == (is_free, "interior point", False)
        for name in ("regularization", "refinement_steps", "equilibrate", "step_fraction"):
            assert getattr(plan, name) == getattr(expected, name), name
