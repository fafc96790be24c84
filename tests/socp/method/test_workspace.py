"""Workspaces that pass from one small program to the next: equal bits, and never two users at once."""

import itertools
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp.compiled.memory import Pool
from socp.method import workspace
from socp.problem.settings import Settings


@pytest.fixture(autouse=True)
def nothing_left():
    workspace.forget()
    yield
    workspace.forget()


def quadratic(rng, kind="dense", parallel=False):
    """Return a program with ten bounds and three rows; the first two are parallel if `parallel`."""
    F, A = rng.normal(size=(5, 5)), rng.normal(size=(3, 5))
    if parallel:
        A[1] = 2.0 * A[0]
    P = {"none": None, "dense": F @ F.T, "sparse": sp.csc_array(np.diag(rng.uniform(1.0, 2.0, 5)))}[kind]
    return qp.QuadraticProgram(P, rng.normal(size=5), A, -np.ones(3), np.ones(3), -1.0, 1.0)


def conic(rng):
    G = np.vstack([-np.eye(3), np.zeros((1, 3)), rng.normal(size=(3, 3))])
    h = np.concatenate([np.ones(3), [2.0], 0.1 * rng.normal(size=3)])
    return socp.ConeProgram(rng.normal(size=3), G, h, [socp.NonNeg(3), socp.SecondOrder(4)])


def of_a_hundred(rng, is_sparse, n=100):
    """Return a program over the nonnegative orthant whose P is banded if `is_sparse`, else full."""
    B, beside = rng.normal(size=(n, n)), sp.diags_array([np.full(n - 1, 0.3)], offsets=[1])
    P = sp.csc_array(sp.diags_array(rng.uniform(1.0, 2.0, n)) + beside + beside.T) if is_sparse else B @ B.T + np.eye(n)
    return socp.ConeProgram(rng.normal(size=n), -np.eye(n), np.zeros(n), [socp.NonNeg(n)], P=P)


def sparse(rng, first=0, twice=1, curved=0, shift=0, n=90):
    """Return a program with 20 rows of 5 entries, two of them parallel, 30 boxes from `first` on, 80 entries in P."""
    places, A = np.random.default_rng(3), np.zeros((20, n))
    for row in A:
        row[places.permutation(n)[:5]] = rng.uniform(1.0, 2.0, 5)
    A, lb, ub, P = np.roll(A, shift, axis=1), np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
    A[twice + 5] = 3.0 * A[twice]
    lb[first : first + 30], ub[first : first + 30], P[curved : curved + 80] = 0.0, 2.0, rng.uniform(1.0, 2.0, 80)
    return qp.QuadraticProgram(sp.diags_array(P).tocsc(), rng.normal(size=n), A, -1.0, 1.0, lb, ub)


def low_rank(rng, rank, d=1.0, n=40):
    """Return a program in which 3/4 of the variables are bounded; the others have `d` in P, or no P if rank is 0."""
    lb, ub, bounded = np.full(n, -np.inf), np.full(n, np.inf), np.roll(np.arange(n) < 30, rng.integers(n))
    lb[bounded], ub[bounded & (np.arange(n) % 2 > 0)] = 0.0, 1.0
    P = socp.LowRank(rng.normal(size=(n, rank)), np.where(bounded, 0.0, d * rng.uniform(1.0, 2.0))) if rank else None
    return qp.QuadraticProgram(P, rng.normal(size=n), rng.normal(size=(2, n)), 0.0, [0.0, 1.0], lb, ub)


SMALL = {
    "no P": lambda rng: quadratic(rng, "none"), "dense": quadratic, "sparse": lambda rng: quadratic(rng, "sparse"),
    "parallel rows": lambda rng: quadratic(rng, parallel=True), "a cone": conic,
    "no P, parallel rows": lambda rng: quadratic(rng, "none", True),
}  # fmt: skip
KINDS = SMALL | {
    "full": lambda rng: of_a_hundred(rng, False), "a band": lambda rng: of_a_hundred(rng, True),
    "places": sparse, "other bounds": lambda rng: sparse(rng, first=3), "other twins": lambda rng: sparse(rng, twice=2),
    "other P": lambda rng: sparse(rng, curved=5), "other A": lambda rng: sparse(rng, shift=1),
    "rank 3": lambda rng: low_rank(rng, 3), "rank 4": lambda rng: low_rank(rng, 4),
    "not held": lambda rng: low_rank(rng, 3, 0.0), "linear": lambda rng: low_rank(rng, 0),
}  # fmt: skip
PLACES = ["other bounds", "other twins", "other P", "other A"]
PAIRS = [*itertools.permutations(SMALL, 2), ("full", "a band"), ("a band", "full"), *(("places", k) for k in PLACES)]
PAIRS += itertools.permutations(["rank 3", "rank 4", "not held", "linear"], 2)


def left():
    """Return the workspace that was released last, or None."""
    return list(workspace._pool.kept.values())[-1][-1][1] if workspace._pool.kept else None


def solver_of(program):
    """Return a solver that uses the interior-point method: with `max_iter` set, the dual active set is not chosen."""
    if isinstance(program, socp.ConeProgram):
        return socp.Solver(program)
    return qp.Solver(program, presolve=False, active_set=False, max_iter=99)


def solved(program):
    """Return the solution and its workspace, which is released for the next program."""
    solver = solver_of(program)
    solution, memory = solver.solve(), (solver if isinstance(program, socp.ConeProgram) else solver.cone_solver)._state
    solver.release()
    return solution, memory


def alone(program):
    """Return the solution computed in a workspace of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "_pool", Pool())
        return solver_of(program).solve()


def check_same(solution, other):
    assert (solution.status, solution.iterations) == (other.status, other.iterations)
    assert str(solution.plan) == str(other.plan)
    for name in ("x", "y", "z" if hasattr(solution, "z") else "z_bounds"):
        np.testing.assert_array_equal(getattr(solution, name), getattr(other, name))


@pytest.mark.parametrize("first, second", PAIRS)
def test_a_program_has_its_own_bits_in_memory_that_goes_to_others_of_its_kind(first, second):
    """Sparse programs with equal patterns share one analysis; other patterns do not take over its memory."""
    rng, memories = np.random.default_rng(PAIRS.index((first, second))), []
    for kind in (first, first, second, second, first):
        program = KINDS[kind](rng)
        solution, memory = solved(program)
        check_same(solution, alone(program))
        is_shared = any(memory is earlier for earlier in memories)
        memories.append(memory)
        if solution.plan.backend == "sparse":  # the analysis is timed only once
            assert (solution.timings["symbolic"] == 0.0) == (solution.timings["ordering"] == 0.0) == is_shared
        assert min(solution.timings.values()) >= 0.0
    one, again, other, once_more, back = memories
    assert again is not other and once_more is not back
    # with many free variables a dense factorization is not kept
    assert (one is again) == (first != "not held") and (other is once_more) == (second != "not held")


def test_what_a_solver_took_is_its_own():
    program = conic(np.random.default_rng(1))
    socp.solve(program)
    memory = left()
    solver = socp.Solver(program)
    assert solver._state is memory and left() is None
    expected = solver.solve()
    socp.solve(conic(np.random.default_rng(2)))
    assert left() is not memory
    check_same(solver.solve(), expected)


def test_other_sizes_and_settings_take_nothing():
    program = conic(np.random.default_rng(3))
    for other in ({"regularization": 1e-9}, {"refinement_steps": 3}, {"kkt": "ldl"}):
        socp.solve(program)
        memory = left()
        assert socp.Solver(program, **other)._state is not memory
    socp.solve(program)
    memory = left()
    assert workspace.acquire(program, (1, 0, 1, 1, 0, 1), Settings()) is None and left() is memory


def test_nothing_is_left_where_somebody_watched_or_by_another_way_of_solving(monkeypatch):
    """No workspace is kept after runs with a callback, by other methods, or if it is larger than `MOST`."""
    program = conic(np.random.default_rng(4))
    socp.solve(program)
    words = workspace._pool.words
    assert words == left().form.words + left().kkt.words + left().words
    for most in (words, words - 1):
        workspace.forget()
        monkeypatch.setattr(workspace, "MOST", most)
        socp.solve(program)
        assert (left() is not None) == (most == words)
    monkeypatch.undo()
    socp.solve(program, callback=lambda iterate: False)
    socp.solve(program, kkt="ldl")
    socp.solve(program, kkt="dense")
    assert left() is None


def test_each_thread_has_its_own():
    program, found = conic(np.random.default_rng(5)), []
    socp.solve(program)
    thread = threading.Thread(target=lambda: found.append(left()))
    thread.start()
    thread.join()
    assert found == [None] and left() is not None


def test_a_program_that_is_refused_leaves_the_next_one_unharmed():
    program = quadratic(np.random.default_rng(6))
    expected, _ = alone(program), solved(program)
    with pytest.raises(socp.ProgramError, match="semidefinite"):
        solver_of(program.with_data(P=-np.asarray(program.P)))
    check_same(solved(program)[0], expected)


def test_the_data_of_an_earlier_program_are_not_written_to():
    rng = np.random.default_rng(7)
    kernel = np.eye(5) + 0.5  # equilibration keeps it unchanged, so that the solver uses the program's own array
    for kind in ("none", "dense", "sparse"):
        program = qp.QuadraticProgram(kernel, np.ones(5), lb=-1.0, ub=1.0)
        qp.solve(program)
        qp.solve(qp.QuadraticProgram(quadratic(rng, kind).P, np.ones(5), lb=-1.0, ub=1.0))
        np.testing.assert_array_equal(program.P, kernel)


def test_a_solver_that_dies_leaves_its_workspace_unless_it_is_held(monkeypatch):
    pool = Pool()
    monkeypatch.setattr(workspace, "_pool", pool)
    program = qp.QuadraticProgram(sp.eye_array(30), np.ones(30), lb=0.0)

    def count():
        return sum(map(len, pool.kept.values()))

    solver_of(program).solve()
    assert count() == 1
    solver = solver_of(program)
    solver.release()
    solver.release()
    again = solver.solve().x  # sets up again
    del solver
    assert count() == 1
    np.testing.assert_array_equal(again, alone(program).x)
    cone = socp.ConeProgram(c=[1.0, 1.0], G=-np.eye(2), h=np.zeros(2), cones=[socp.NonNeg(2)])
    iterates, before = socp.iterates(cone), count()
    next(iterates)
    socp.solve(cone)  # in a workspace of its own
    assert count() == before + 1 and sum(1 for _ in iterates) > 0
