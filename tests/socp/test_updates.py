"""A solver that is used again: updates, replacements, refusals, warm starts."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from bench.fuzz.updates import of_cone_programs
from socp import ConeProgram, LowRank, NonNeg, ProgramError, Solver
from socp.method.answer import in_callers_units
from tests.support.interrupts import Interrupted
from tests.support.programs import BOX, check, planted_optimum

pytestmark = pytest.mark.filterwarnings("error")

# ---- update


def changed(program, change):
    """Return a new program with `change` applied."""
    parts = {name: getattr(program, name) for name in ("c", "G", "h", "cones", "A", "b", "P", "offset")}
    for name, value in change.items():
        if name.endswith("_data"):
            name = name.removesuffix("_data")
            matrix = parts[name]
            if isinstance(matrix, np.ndarray):
                parts[name] = value
            else:
                parts[name] = matrix.copy()
                parts[name].data = np.asarray(value)
        else:
            parts[name] = value
    return ConeProgram(**parts)


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense", "lowrank"])
def test_merged_rows_after_an_update_are_those_of_a_new_solver(kkt):
    rng = np.random.default_rng(0)
    n, a = 8, rng.normal(size=8)
    G = np.vstack([a, -2.0 * a, np.eye(n), -np.eye(n)])
    P = LowRank(np.ones((n, 1)), np.ones(n))
    program = ConeProgram(rng.normal(size=n), G, np.r_[1.0, 2.0, np.ones(2 * n)], [NonNeg(2 * n + 2)], P=P)
    solver = Solver(program, kkt=kkt)
    newton, first = solver.newton, solver.solve()
    broken, other = G.copy(), G.copy()
    broken[1], other[1] = 3.0 * rng.normal(size=n), -3.0 * a
    for rows, is_set_up_anew in ((other, False), (broken, True), (G, True)):
        change = changed(program, {"G": rows})
        solver.update(G_data=change.G.data)
        assert (solver.newton is not newton) == is_set_up_anew
        newton, solution, fresh = solver.newton, solver.solve(), socp.solve(change, kkt=kkt)
        check(change, solution)
        assert solution.objective == pytest.approx(fresh.objective, rel=1e-7)
        # the factors fit the system: no refinement is needed
        assert solution.trace["refinements"].sum() <= fresh.trace["refinements"].sum() + 5
    assert solution.objective == pytest.approx(first.objective, rel=1e-7)


def test_the_least_change_of_a_dense_hessian():
    # stored dense though given sparse: P_data is the array, in any container, or the values in its places
    rng = np.random.default_rng(1)
    n = 30
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    rest = {"c": -np.ones(n), "G": np.vstack([np.eye(n), -np.eye(n)]), "h": np.r_[np.ones(n), np.zeros(n)],
            "cones": [NonNeg(2 * n)]}  # fmt: skip
    solver, other = Solver(ConeProgram(P=sp.csc_array(K), **rest)), Solver(ConeProgram(P=K, **rest))
    assert isinstance(solver.program.P, np.ndarray)
    new = 2.0 * K + np.eye(n)
    for data in (new, new.tolist(), K):
        solver.update(P_data=data)
        other.update(P_data=np.array(data))
        one, two = solver.solve(), other.solve()
        np.testing.assert_array_equal(one.x, two.x)
        assert one.objective == pytest.approx(socp.solve(ConeProgram(P=np.array(data), **rest)).objective, rel=1e-7)
    before = solver.solve()
    solver.update(P_data=sp.csc_array(new).data)
    np.testing.assert_array_equal(solver.program.P, new)
    solver.update(P_data=K)
    with pytest.raises(ProgramError, match="P_data must be symmetric"):
        solver.update(P_data=np.triu(K))
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        solver.update(P_data=-K, c=np.zeros(n))
    np.testing.assert_array_equal(solver.solve().x, before.x)


@pytest.mark.parametrize("change, message", [
    ({"c": [1.0]}, "c must have 3 entries, but 1 came"),
    ({"c": [1.0, np.nan, 1.0]}, "c must be finite"),
    ({"b": [1.0, 2.0]}, "b must have 1 entries"),
    ({"b": [np.inf]}, "b must be finite"),
    ({"h": [1.0]}, "h must have 5 entries"),
    ({"h": [1.0, np.nan, 1.0, 1.0, 1.0]}, "h must not be NaN"),
    ({"h": [np.inf, 1.0, 1.0, 1.0, 1.0]}, "h must be infinite in the same rows as before"),
    ({"h": [-np.inf, 1.0, 1.0, 1.0, 1.0]}, "h must be infinite in the same rows"),
    ({"G_data": [1.0]}, r"G_data must have 5 entries \(the entries of G; or .* of shape \(5, 3\)\), but 1 came"),
    ({"G_data": [1.0, 2.0, 3.0, 4.0, np.nan]}, r"G_data must be finite, but G_data\[4\] is nan"),
    ({"A_data": "x"}, "A_data must be an array of numbers"),
    ({"P_data": [1.0, 1.0, 2.0, 1.0]}, "P must be symmetric"),
    ({"P_data": [1.0, 2.0, 2.0, 1.0]}, "P must be positive semidefinite"),
    ({"P_data": [-1.0, 0.0, 0.0, 1.0], "c": [9.0, 9.0, -9.0]}, "P must be positive semidefinite"),
])  # fmt: skip
def test_a_refused_update_changes_nothing(change, message):
    P = sp.csc_array((np.array([2.0, 1.0, 1.0, 2.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4, 4])), shape=(3, 3))
    G = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]]
    solver = Solver(ConeProgram([1.0, -1.0, -1.0], G, [1, 1, 1, 1, 2], [NonNeg(5)], [[1, 1, 0]], [0.5], P))
    assert sp.issparse(solver.program.P)
    before = solver.solve()
    with pytest.raises(ProgramError, match=message):
        solver.update(**change)
    after = solver.solve()
    np.testing.assert_array_equal(after.x, before.x)
    np.testing.assert_array_equal(after.z, before.z)


def test_updates_of_what_is_not_there():
    solver = Solver(ConeProgram([1.0, 1.0], **BOX))
    with pytest.raises(ProgramError, match="P_data came, but the program has no P"):
        solver.update(P_data=[1.0])
    layout = solver.program.cone_layout
    solver.update(A_data=[], b=[])
    assert solver.program.cone_layout is layout
    assert solver.solve().objective == pytest.approx(0.0, abs=1e-7)
    with pytest.raises(ProgramError, match="P_data does not go with a LowRank P"):
        Solver(ConeProgram([1.0], P=LowRank([[1.0]]))).update(P_data=[1.0])


def test_a_refused_replacement_leaves_the_solver_as_it_was():
    rng = np.random.default_rng(0)
    n = 12
    F = rng.normal(size=(n, 2))
    box = ConeProgram(rng.normal(size=n), np.eye(n), np.ones(n), [NonNeg(n)], P=socp.LowRank(F, np.ones(n)))
    solver = Solver(box, kkt="lowrank")
    before = solver.solve()
    unbounded = ConeProgram(box.c, np.eye(n)[:3], np.ones(3), [NonNeg(3)], P=socp.LowRank(F, np.zeros(n)))
    with pytest.raises(ProgramError, match="lowrank"):
        solver.replace(unbounded)
    after = solver.solve()
    np.testing.assert_array_equal(after.x, before.x)


# ---- warm starts


def test_warm_start_without_an_earlier_answer_is_a_cold_start(hard):
    np.testing.assert_array_equal(Solver(hard).solve(warm_start=True).x, socp.solve(hard).x)


def test_a_warm_start_keeps_its_meaning_when_a_set_up_changes_the_equilibration():
    rng = np.random.default_rng(0)
    n, a = 8, rng.normal(size=8)
    G = np.vstack([a, -a, np.eye(n), -np.eye(n)])
    h, c = np.r_[0.1, 0.1, np.ones(2 * n)], rng.normal(size=n)
    program = ConeProgram(c, G * 1e3, h, [NonNeg(2 * n + 2)], P=np.diag(np.geomspace(1.0, 1e4, n)) + 0.1)
    solver = Solver(program)
    solver.update(G_data=program.G.data / 1e3, P_data=np.eye(n) + 0.1)  # with the equilibration of the first data
    solver.solve()
    before, form = solver.solve(), solver.form
    other = G.copy()
    other[1] *= 1.0 + 1e-7 * np.arange(n)  # no longer parallel: new set-up
    solver.update(G_data=sp.csc_array(other).data)
    assert solver.form is not form and not np.allclose(solver.form.D, form.D, rtol=0.5)
    last = in_callers_units(solver.program, solver.form, solver._state.last)
    for values, name in zip(last, "xyzs"):
        np.testing.assert_allclose(values, getattr(before, name), rtol=1e-10, atol=1e-14)
    cold = socp.solve(solver.program)
    assert 2 * solver.solve(warm_start=True).iterations < 2 * cold.iterations


# ---- entries that are zero


@pytest.mark.parametrize("kkt", ["auto", "ldl", "dense"])
def test_a_bound_whose_entry_becomes_zero_and_back(kkt):
    stored = sp.csc_array(([-1.0, 0.0, 1.0, 1.0], ([0, 1, 2, 3], [0, 1, 0, 1])), shape=(4, 2))
    program = ConeProgram([1.0, 1.0], stored, [0.0, 5.0, 3.0, 3.0], [NonNeg(4)], P=np.eye(2))
    solver = Solver(program, kkt=kkt)
    for first, second in ((-1.0, 0.0), (-1.0, -1.0), (0.0, -1.0), (0.0, 0.0), (-1.0, 0.0)):
        data = np.empty(4)
        data[[0, 2]], data[[1, 3]] = (first, second), (1.0, 1.0)  # by columns
        solver.update(G_data=data)
        assert solver.form.bounds == 2 + np.count_nonzero([first, second])
        solution = solver.solve()
        check(solver.program, solution)
        np.testing.assert_allclose(solution.x, [0.0 if first else -1.0, -1.0], atol=1e-6)


# ---- iterates during solves, and interrupts


def test_iterates_have_a_memory_of_their_own(hard):
    solver = Solver(hard)
    expected, seen = [iterate.mu for iterate in solver.iterates()], []
    first = solver.solve()
    for k, (one, other) in enumerate(zip(solver.iterates(), solver.iterates(), strict=True)):
        assert one.mu == other.mu
        seen.append(one.mu)
        if k == 2:
            np.testing.assert_array_equal(solver.solve().x, first.x)
            solver.update(h=hard.h + 1.0)
            solver.solve()
    assert seen == expected


def test_iterates_that_are_interrupted_anywhere_leave_a_solver_that_answers_as_a_new_one():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        program = of_cone_programs(rng).program
        solver, fresh = Solver(program), socp.solve(program)

        def follow(solver=solver):
            for k, _ in enumerate(solver.iterates()):
                if k == 2:
                    solver.solve()

        interrupted = Interrupted(follow, int(rng.integers(1, Interrupted(follow).lines + 1)))
        solution = solver.solve()
        assert interrupted.raised and solution.status == fresh.status
        assert solution.objective == pytest.approx(fresh.objective, rel=1e-5, abs=1e-5, nan_ok=True)


def test_the_units_of_a_new_solver():
    program, far = planted_optimum(np.random.default_rng(1), n=6)[0], 1e6
    moved = ConeProgram(far * program.c, program.G, program.h, program.cones, program.A, program.b, program.P)
    solver = Solver(program)
    solver.solve()
    solver.equilibrate_for(moved)
    found, expected = solver.solve(), Solver(moved).solve()
    assert solver.program is moved and found.iterations == expected.iterations
    np.testing.assert_array_equal(found.x, expected.x)
