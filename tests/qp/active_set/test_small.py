"""The dual active set as a method for small programs: its memory, its updates, and programs left to other methods."""

import copy
import pickle
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from bench.programs import small, tiny
from qp.active_set.small import DualActiveSet, Workspace, solve_again
from qp.methods import TRIED_IN_LOOPS
from qp.reduce.cone_form import NONE, ConeForm
from socp import ProgramError, Status
from socp.batch.driver import OPTIMAL
from socp.batch.verify import NO_LAYOUT, verify
from socp.plan.costs import COSTS, method_seconds
from socp.verify import certificates
from socp.verify.stopping import residuals
from tests.support.processes import python
from tests.support.programs import check


def other(program, **settings):
    """Return the solution by the interior-point method."""
    return qp.solve(program, kkt="dense", **settings)


@pytest.mark.parametrize("seed", range(6))
def test_residuals_are_those_of_the_callers_data(seed):
    """Residuals of bounds and of rows with one entry are relative to their own size, not to that of larger ones."""
    rng = np.random.default_rng(seed)
    program, rows = tiny.box(5, seed), np.vstack([rng.normal(size=(2, 5)), [0.0, 3.0, 0.0, 0.0, 0.0]])
    bounds = 10.0 ** rng.uniform(-3.0, 5.0, 5)
    solver = qp.Solver(
        qp.QuadraticProgram(program.P, program.q, rows, -np.ones(3), np.ones(3), -bounds, bounds), presolve=False
    )
    solver.solve()
    workspace = solver.dual_active_set._workspace
    for share in (1.0, 1.0 + 1e-9, 2.0):
        x, y = workspace.batch.x[0], workspace.batch.y[0]
        x[:], y[:] = share * bounds, rng.normal(size=8)
        workspace.batch.code[0] = OPTIMAL
        verify(workspace.batch, workspace.test, *NO_LAYOUT, 0, 1)
        found = residuals(solver.program, x, y[:3], y[3:])
        numbers = found.primal_objective, found.dual_objective, *found.relative
        np.testing.assert_allclose(workspace.batch.numbers.ravel(), numbers, rtol=1e-9, atol=1e-14)
        assert bool(workspace.batch.code[0] == OPTIMAL) is found.meets(1e-8)


def test_the_plan_in_words():
    told = str(qp.solve(tiny.rows(3)).plan)
    assert told.startswith("dual active set, order 3, 4 rows: chosen over interior point (")
    told = str(qp.solve(None, np.ones(3), np.ones((1, 3)), 1.0, 2.0, 0.0).plan)
    assert told.startswith("dual active set by proximal steps, order 3, 1 row: chosen over interior point (")


def test_a_limit_of_seconds_leaves_time_for_it():
    """The method is used if the limit allows all of its steps, or one second."""
    for program in (tiny.rows(5), tiny.box(20), small.control(60)):
        of_P, of_A = program.hessian.entries, program.A.data.size
        expected = method_seconds(program.n, program.m, of_A, of_P)["dual active set"]
        most = 4 * (program.n + program.m) * expected
        assert qp.Solver(program, time_limit=0.99 * most).dual_active_set is None
        for limit in (most, 1.0, 60.0):
            assert qp.Solver(program, time_limit=limit).dual_active_set is not None


def test_what_is_not_solved_is_left_to_the_engine():
    program = tiny.box(4)
    crossed = qp.QuadraticProgram(program.P, program.q, [[1.0] * 4], [9.0], [np.inf], -1.0, 1.0)
    solver = qp.Solver(crossed)
    assert solver.dual_active_set is not None and solver.solve().status is Status.PRIMAL_INFEASIBLE
    unbounded = qp.Solver(np.ones((3, 3)), [1.0, 0.0, 0.0])
    assert unbounded.dual_active_set is not None and unbounded.solve().status is Status.DUAL_INFEASIBLE
    solver.update(l=[1.0])  # with a previous answer
    found = solver.solve()
    check(solver.program, found)
    assert "dual active set" in str(found.plan)
    exact = qp.Solver(tiny.rows(12, 1), tol=1e-17).solve()
    assert exact.iterations > 0 and "dual active set" not in str(exact.plan)


def test_the_trace_leads_to_the_answer():
    for seed in range(4):  # numbers of iterations differ; the memory is shared
        qp.solve(tiny.rows(10, seed))
    program = tiny.rows(10, 2)
    found = qp.solve(qp.QuadraticProgram(
        program.P, program.q, program.A, program.l, program.u, program.lb, program.ub, offset=5.0
    ))  # fmt: skip
    rest, *arguments = found._rest  # two threads may evaluate it at once
    trace = rest(found, *arguments)["trace"]
    assert trace.tobytes() == found.trace.tobytes()
    np.testing.assert_array_equal(trace["iteration"], np.arange(found.iterations + 1))
    assert trace["primal_objective"][-1] == pytest.approx(found.objective, rel=1e-12)
    assert trace["dual_objective"][-1] == pytest.approx(found.dual_objective, rel=1e-12)
    worst = np.max([trace[name][-1] for name in ("primal_residual", "dual_residual", "gap")])
    assert worst <= 1e-8 < trace["primal_residual"][:-1].min()
    assert (np.diff(trace["dual_objective"]) > 0.0).all()
    assert 0.0 < trace["seconds"][-1] <= found.solve_time and not trace["seconds"][:-1].any()


def test_the_answer_to_the_cone_program():
    program = tiny.rows(6, 4)
    found = qp.solve(program)
    cone = found.cone_solution
    assert cone.status is Status.OPTIMAL and max(cone.primal_residual, cone.dual_residual, cone.gap) <= 1e-8
    assert cone.objective == pytest.approx(found.objective, rel=1e-12) and (cone.z >= 0.0).all()
    found.x[:] = 0.0
    assert np.abs(pickle.loads(pickle.dumps(found)).cone_solution.x - cone.x).max() == 0.0


@pytest.fixture
def made(monkeypatch):
    """Empty the pool of workspaces, and yield the list of workspaces made during the test."""
    workspaces, begin = [], Workspace.__init__

    def count(workspace, *arguments):
        begin(workspace, *arguments)
        workspaces.append(workspace)

    DualActiveSet.pool.clear()
    monkeypatch.setattr(Workspace, "__init__", count)
    yield workspaces
    DualActiveSet.pool.clear()


def bits(solution):
    return solution.x.tobytes(), solution.y.tobytes(), solution.z_bounds.tobytes(), solution.iterations


def half_bounded(seed):
    """Return a box program; `seed` decides which upper bounds are finite."""
    program, mask = tiny.box(6, seed), np.random.default_rng(seed).random(6) < 0.5
    return qp.QuadraticProgram(program.P, program.q, lb=-1.0, ub=np.where(mask, 1.0, np.inf))


def test_programs_of_other_kinds_in_turn_find_their_rooms_again(made):
    programs = [tiny.box(6), tiny.rows(6), *map(half_bounded, range(5))]
    first = [bits(qp.solve(program)) for program in programs]
    count = len(made)
    for solve in (qp.solve, lambda program: qp.Solver(program).solve()):
        for _ in range(3):
            assert [bits(solve(program)) for program in programs] == first
    assert len(made) == count


def test_a_solver_that_goes_over_to_another_kind_leaves_its_workspace(made):
    solver, sides = qp.Solver(tiny.box(6)), [np.inf, 1.0, np.append(np.inf, np.ones(5))]
    for ub in 3 * sides:
        solver.update(ub=ub)
        assert bits(solver.solve()) == bits(qp.solve(solver.program))
    assert len(made) <= 2 * len(sides)


def test_no_room_has_two_users(made):
    """Each solver keeps its own workspace, also solvers that were copied, pickled, or set up again after a refusal."""
    program = tiny.rows(6, 1)
    expected, solvers = bits(qp.solve(program)), [qp.Solver(program) for _ in range(3)]
    solvers += [copy.copy(solvers[0]), copy.deepcopy(solvers[0]), pickle.loads(pickle.dumps(solvers[0]))]
    for _ in range(2):
        assert [bits(solver.solve()) for solver in solvers] == len(solvers) * [expected]
        workspaces = [solver.dual_active_set._workspace for solver in solvers]
        assert len({id(workspace) for workspace in workspaces}) == len(solvers)
        with pytest.raises(ProgramError, match="semidefinite"):
            solvers[1].update(P_data=-program.P)
        with pytest.raises(ProgramError):
            qp.Solver(-program.P, program.q, program.A, program.l, program.u)
    method = solvers.pop().dual_active_set  # it outlives its solver
    assert method._workspace is None and bits(method.find(False)) == expected
    workspace = method._workspace
    assert (
        all(solver.dual_active_set._workspace is not workspace for solver in solvers)
        and DualActiveSet.pool.take(workspace.kind) is not workspace
    )


def test_a_room_that_was_interrupted_is_not_used_again(made, monkeypatch):
    program = tiny.rows(6, 2)
    expected = bits(qp.solve(program))

    def interrupted(*arguments):
        raise KeyboardInterrupt

    solver, another = qp.Solver(program), tiny.rows(6, 3)
    assert bits(solver.solve()) == expected
    workspace = solver.dual_active_set._workspace
    for name, attempt in [
        ("load_dual", lambda: qp.solve(another)), ("load_dual", lambda: solver.update(A_data=another.A.data)),
        ("solve_dual", solver.solve), ("solve_block", lambda: qp.solve(another)),
    ]:  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(f"qp.active_set.small.{name}", interrupted)
            with pytest.raises(KeyboardInterrupt):
                attempt()
                solver.solve()
        solver.update(A_data=program.A.data)
        assert bits(solver.solve()) == bits(qp.solve(program)) == expected
    assert solver.dual_active_set._workspace is not workspace


def test_rooms_stay_in_the_thread_that_they_were_left_in(made):
    """A solver made in one thread and deleted in another leaves its workspace in the latter's pool, and in no other."""
    program = tiny.rows(6, 4)
    expected, solver = bits(qp.solve(program)), [qp.Solver(program)]
    solver[0].solve()
    kind, workspace = solver[0].dual_active_set._kind, solver[0].dual_active_set._workspace

    def end():
        solver.clear()
        return DualActiveSet.pool.take(kind)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(end).result() is workspace
    assert DualActiveSet.pool.take(kind) is not workspace

    def work(seed):
        programs = [tiny.rows(6, 4), half_bounded(seed % 3)]
        return [bits(qp.Solver(program).solve()) for program in programs]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(60)))
    assert all(one == expected for one, _ in found)
    assert [other for _, other in found] == [bits(qp.solve(half_bounded(seed % 3))) for seed in range(60)]


def test_solvers_that_live_until_python_ends_die_silently():
    text = """
        import builtins, qp.active_set.small
        from bench.programs import tiny
        builtins.kept, qp.active_set.small.kept = [qp.Solver(tiny.box(n)) for n in (3, 4)]
        builtins.kept.solve(), qp.active_set.small.kept.solve()
    """
    done = python("-c", textwrap.dedent(text))
    assert done.stderr == "" and done.returncode == 0


def with_rows_to_leave_out(n=6, seed=0):
    """Return `tiny.rows` with three rows added: one parallel to the first, one with a single entry, one empty."""
    program = tiny.rows(n, seed)
    A = np.vstack([program.A.toarray(), -2.0 * program.A.toarray()[0], 3.0 * np.eye(n)[1], np.zeros(n)])
    l, u = np.append(program.l, [-2.0, -1.0, -1.0]), np.append(program.u, [-2.0, 1.0, 1.0])
    return qp.QuadraticProgram(program.P, program.q, A, l, u, -1.0, 1.0)


def test_it_takes_rows_that_presolve_would_leave_out(monkeypatch):
    program = with_rows_to_leave_out()
    expected = [other(program.with_data(f * program.q)).objective for f in (1.0, -2.0)]
    tighter = other(program.with_data(-2.0 * program.q, ub=0.9)).objective
    with monkeypatch.context() as patch:
        patch.setattr("qp.method.presolve", None)
        patch.setattr("qp.method.reduced", None)
        solver = qp.Solver(program)
        found = [solver.solve()]
        solver.update(q=-2.0 * program.q)
        found.append(solver.solve())
        solver.update(ub=0.9)
        found.append(solver.solve())
    for one, objective in zip(found, [*expected, tighter]):
        assert one.plan.method == "dual active set" and one.objective == pytest.approx(objective, rel=1e-7)
    check(solver.program, found[-1])
    assert solver.presolved.program.m == program.m - 3 and solver.cone_solver.solve().status is Status.OPTIMAL
    solver.update(q=program.q, ub=1.0)  # presolve is now active
    check(solver.program, solver.solve())
    assert solver.presolved.kept.sum() == program.m - 3
    solver.update(l=np.append(program.l[:-1], -np.inf))
    check(solver.program, solver.solve())
    upper, lower = ConeForm(solver.program).places.reshape(2, -1)[:, program.m - 1]
    assert upper >= 0 and lower == NONE


def test_the_engine_that_takes_over_has_what_presolve_leaves(monkeypatch):
    solver = qp.Solver(with_rows_to_leave_out())
    assert solver.dual_active_set is not None
    monkeypatch.setattr(DualActiveSet, "_attempt", lambda *given: None)
    for factor in (1.0, 2.0, 3.0):
        solver.update(q=factor * solver.program.q)
        assert solver.solve().plan.method == "interior point"
        assert solver.presolved.kept.sum() == solver.program.m - 3 == solver.cone_solver.program.A.shape[0] + 6
    monkeypatch.undo()
    program = with_rows_to_leave_out()
    empty = qp.Solver(program.with_data(lb=0.9))
    assert empty.dual_active_set is not None and empty.solve().status is Status.PRIMAL_INFEASIBLE


def test_what_presolve_fixes_is_where_it_is_to_be_to_the_bit():
    program = tiny.rows(6)
    fixed = qp.solve(program.with_data(lb=np.append(0.1, -np.ones(5)), ub=np.append(0.1, np.ones(5))))
    assert fixed.x[0] == 0.1
    free = np.append(np.ones(5), 0.0)  # the last variable occurs in the objective only
    found = qp.solve(
        program.P * np.outer(free, free), program.q, program.A.toarray() * free, program.l, program.u, -1, 1
    )
    assert found.x[-1] == -np.sign(program.q[-1])


KINDS = {
    "arrays": lambda p: (p.P, p.q, p.A.toarray(), p.l, p.u, p.lb, p.ub),
    "sparse": lambda p: (sp.csc_matrix(p.P), p.q, p.A, p.l, p.u, p.lb, p.ub),
    "short places": lambda p: (p.P, p.q, sp.csc_matrix(p.A.toarray()), p.l, p.u, None, 1.0),
    "a diagonal": lambda p: (sp.csc_array(np.diag(np.arange(1.0, 7.0))), p.q, p.A, None, p.u, -1, np.full(6, np.inf)),
    "no rows": lambda p: (p.P, p.q, None, None, None, -1.0, p.ub),
    "linear": lambda p: (None, p.q, p.A, p.l, p.u, p.lb, p.ub),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_callers_arrays_are_solved_as_a_program_is(kind, made, monkeypatch):
    data, weights, seen = KINDS[kind](tiny.rows(6, 5)), np.arange(6.0), []
    first = qp.solve(*data, tol=1e-9)

    def see(*given):
        seen.append(solve_again(*given))
        return seen[-1]

    monkeypatch.setattr("qp.solver.solve_again", see)
    given = [each.copy() if hasattr(each, "copy") else each for each in data]
    for arguments in (given, [qp.QuadraticProgram(*data)]):
        found = qp.solve(*arguments, tol=1e-9)
        assert found is seen[-1] is not None and len(made) == 1
        for each in given:  # the answer keeps its own program
            if hasattr(each, "copy"):
                (each.data if sp.issparse(each) else each)[:] = np.nan
        assert bits(found) == bits(first) and str(found.plan) == str(first.plan) and found.message == first.message
        one, other = (answer.vjp(dx=weights) for answer in (found, first))
        np.testing.assert_array_equal(one.q, other.q)
        assert one.A is other.A is None or (one.A != other.A).nnz == 0
        assert found.trace["primal_objective"].tobytes() == first.trace["primal_objective"].tobytes()
        assert found.cone_solution.objective == first.cone_solution.objective


BAD = {
    "q": np.append(np.nan, np.ones(5)), "P": np.diag(np.append(-1.0, np.ones(5))), "A": np.full((7, 6), np.inf),
    "l": np.full(7, np.inf), "u": np.ones(6), "lb": np.ones(7), "ub": -np.inf, "offset": np.inf,
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [*BAD, "a little curvature", "P of another size", "P without symmetry", "A of wrong places", "no A"]
)
def test_what_is_refused_once_is_refused_again(name, made, monkeypatch):
    p = tiny.rows(6, 5)
    data = {"P": p.P, "q": p.q, "A": p.A, "l": p.l, "u": p.u, "lb": p.lb, "ub": p.ub}
    wrong = sp.csc_matrix(p.A.toarray())
    wrong.indices[3] = 9
    values, vectors = np.linalg.eigh(p.P)
    bent = (vectors * np.append(-1e-7 * values[-1], values[1:])) @ vectors.T  # P + rho I has a factor
    other = {
        "a little curvature": {"P": 0.5 * (bent + bent.T)},
        "P of another size": {"P": np.eye(5)}, "P without symmetry": {"P": np.eye(6) + np.eye(6, k=1)},
        "A of wrong places": {"A": wrong}, "no A": {"A": None},
    }  # fmt: skip
    bad = {**data, **(other[name] if name in other else {name: BAD[name]})}
    told = []
    for _ in range(2):
        with pytest.raises(ProgramError) as refusal:
            qp.solve(**bad)
        told.append(str(refusal.value))
        qp.solve(**data)  # the pool now has a workspace
    assert told[0] == told[1]


def test_after_an_infeasible_program_a_warm_start_begins_at_the_last_answer():
    program = tiny.rows(9, 1)
    solver, cold = qp.Solver(program), qp.solve(program)
    infeasible = {"l": np.full(program.m, 90.0), "u": np.full(program.m, 91.0)}
    assert cold.iterations > 2 and solver.solve().iterations == cold.iterations
    for _ in range(2):
        for warm_start in (False, True):
            solver.update(**infeasible)
            assert solver.solve(warm_start).status is Status.PRIMAL_INFEASIBLE
        solver.update(l=program.l, u=program.u)
        again = solver.solve(warm_start=True)
        assert again.iterations == 0
        np.testing.assert_allclose(again.x, cold.x, rtol=0.0, atol=1e-13)
    first = qp.Solver(program.with_data(**infeasible))  # without an answer a warm start is a cold one
    assert first.solve().status is Status.PRIMAL_INFEASIBLE
    first.update(l=program.l, u=program.u)
    again = first.solve(warm_start=True)
    assert again.iterations == cold.iterations and again.x.tolist() == cold.x.tolist()


@pytest.mark.parametrize("program", [tiny.rows(9, 1), small.control(120)], ids=["small", "interior point"])
def test_a_certificate_is_measured_once(monkeypatch, program):
    measured, solver = [], qp.Solver(program)
    certify = certificates.certify

    def counted(*arguments):
        measured.append(1)
        certify(*arguments)

    monkeypatch.setattr(certificates, "certify", counted)
    l, u = (np.where(np.isfinite(side), side + 1e4, side) for side in (program.l, program.u))
    solver.update(l=l, u=u)
    found = solver.solve()
    assert found.status is Status.PRIMAL_INFEASIBLE and found.primal_residual <= certificates.CERTAIN
    assert "in conflict" in found.message and len(measured) == 1


def loop(size=200, seed=0):
    """Return a control program for the interior-point method, and its sides for 20 initial states near its own."""
    program, rng = small.control(size, seed), np.random.default_rng(seed)
    sides = np.tile(program.l, (20, 1))
    sides[:, :8] *= 1.0 - rng.uniform(0.0, 0.2, (20, 8))
    return program, sides


def test_it_goes_on_from_answers_of_the_interior_point_method():
    """It takes over when the solves have cost as much as its set-up, for cold starts, too, but not for new matrices."""
    program, sides = loop()
    solver, methods = qp.Solver(program), []
    solver.solve()
    for b in sides:
        solver.update(l=b, u=b)
        found, anew = solver.solve(warm_start=True), other(solver.program)
        check(solver.program, found)
        np.testing.assert_allclose(found.x, anew.x, atol=1e-6)
        methods.append(found.plan.method)
    change = methods.index("dual active set")
    told = [any(kind.on_trial(program, solver.settings, 2**k) for kind in TRIED_IN_LOOPS) for k in range(5)]
    first = told.index(True)
    assert change == 2**first - 1 and set(methods[change:]) == {"dual active set"}
    assert found.iterations <= 3 < anew.iterations
    begins_cold = type(solver.methods[0]).begins_cold
    assert solver.solve().plan.method == ("dual active set" if begins_cold else "interior point")
    assert solver.solve(warm_start=True).plan.method == "dual active set"
    solver.update(P_data=2.0 * program.P.data)
    for _ in range(2):
        assert solver.solve(warm_start=True).plan.method == "interior point"


def test_it_begins_with_the_sides_that_hold():
    """It starts from the sides whose multipliers exceed their slacks in a given solution; one iteration is enough."""
    for program in (loop()[0], small.portfolio(60), small.random(40)):
        solution = other(program)
        dual = DualActiveSet(program, qp.Solver(program).settings, solved=1)
        dual.start_at(solution.x, solution.y, solution.z_bounds)
        rows, side = dual._workspace.work.rows[: dual._workspace.work.count], dual._workspace.work.side
        v = np.concatenate([solution.y, solution.z_bounds])
        held = np.concatenate([(program.l < program.u) & (np.abs(solution.y) > 1e-3), np.abs(solution.z_bounds) > 1e-3])
        assert set(np.flatnonzero(held)) <= set(rows) and np.array_equal(side[rows], np.where(v[rows] > 0.0, 1, -1))
        found = dual.find(True)
        np.testing.assert_allclose(found.x, solution.x, atol=1e-6)
        assert found.iterations <= 1 < solution.iterations


def test_it_leaves_again_where_it_takes_longer(monkeypatch):
    program, sides = loop()
    solver = qp.Solver(program)
    for _ in range(17):
        solver.solve(warm_start=True)
    assert solver.dual_active_set is not None
    workspace = DualActiveSet(program, solver.settings, solved=1)._workspace
    work, (n, m, *_) = workspace.work, workspace.kind
    steps = n * (n + m)
    for seconds in (1e-3, 0.1):  # a step is a product with all rows
        workspace.allow(seconds)
        assert work.max_steps == int(seconds * COSTS.dual_flops / (2.0 * steps))
    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "allow", lambda workspace, seconds: setattr(workspace.work, "max_steps", -1))
        for b in sides:
            solver.update(l=b, u=b)
            found = solver.solve(warm_start=True)
            assert found.status is Status.OPTIMAL and found.plan.method == "interior point"
        assert solver.dual_active_set is None
    assert {solver.solve(warm_start=True).plan.method for _ in range(33)} == {"interior point"}  # for good


def test_a_start_of_ones_own_does_not_depend_on_the_program_before():
    # the optimal points are a face of a box, on which proximal steps go to the point nearest to the start
    face = qp.QuadraticProgram(None, np.append(np.zeros(5), 1.0), np.ones((1, 6)), 0.0, 4.0, -1.0, 1.0)
    start = np.array([0.3, -0.2, 0.9, 0.1, 0.5, -1.0])
    found = []
    for before in (-9.0, 0.0, 9.0):
        other = qp.Solver(qp.QuadraticProgram(None, before * np.arange(6.0), np.ones((1, 6)), -2.0, 2.0, -1.0, 1.0))
        other.solve()
        del other  # its workspace goes to the next program
        solver = qp.Solver(face)
        solution = solver.solve(warm_start=(start, None, None))
        assert solution.plan.method == "dual active set"
        found.append(solution.x)
    for x in found:
        np.testing.assert_array_equal(x, found[0])
        np.testing.assert_allclose(x, start, atol=1e-9)


def test_a_certificate_holds_again_in_a_loop_of_warm_starts():
    rng, n, m = np.random.default_rng(3), 8, 6
    R, A = rng.normal(size=(n, n)), rng.normal(size=(m, n))
    solver = qp.Solver(R @ R.T + np.eye(n), rng.normal(size=n), A, -np.ones(m), np.ones(m), -1.0, 1.0)
    far = np.ones(m)
    far[2] = -2.0 - np.abs(A[2]).sum()
    low = np.minimum(far - 1.0, -1.0)
    assert solver.solve().status is Status.OPTIMAL
    rounds = []
    for step in range(6):
        solver.update(q=rng.normal(size=n), l=low, u=far - 0.1 * step)
        found = solver.solve(warm_start=True)
        assert found.status is Status.PRIMAL_INFEASIBLE and found.primal_residual <= 1e-10
        assert certificates.primal_infeasibility(solver.program, found.y, found.z_bounds) <= 1e-10
        rounds.append(found.iterations)
        cold = qp.solve(solver.program)
        assert cold.status is Status.PRIMAL_INFEASIBLE
        solver.update(l=-np.ones(m), u=np.ones(m))
        again = solver.solve(warm_start=True)
        np.testing.assert_allclose(again.x, qp.solve(solver.program).x, atol=1e-9)
    assert rounds[0] > 0 and not any(rounds[1:])
    # another row is the cause: the old certificate does not hold, and a new one is found
    other = np.ones(m)
    other[4] = -2.0 - np.abs(A[4]).sum()
    solver.update(l=np.minimum(other - 1.0, -1.0), u=other)
    found = solver.solve(warm_start=True)
    assert found.status is Status.PRIMAL_INFEASIBLE and found.iterations > 0 and found.y[4] != 0.0
