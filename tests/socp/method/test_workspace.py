"""Memory that goes from one small program to the next: the same bits as in memory of its own, and nobody else's."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp.compiled.memory import Pool
from socp.method import workspace
from socp.problem.settings import Settings

HESSIANS = ["none", "dense", "sparse"]


@pytest.fixture(autouse=True)
def nothing_left():
    workspace.forget()
    yield
    workspace.forget()


def quadratic(rng, kind="dense", parallel=False):
    """Ten bounds, three rows, of which two may be parallel."""
    F, A = rng.normal(size=(5, 5)), rng.normal(size=(3, 5))
    if parallel:
        A[1] = 2.0 * A[0]
    P = {"none": None, "dense": F @ F.T, "sparse": sp.csc_array(np.diag(rng.uniform(1.0, 2.0, 5)))}[kind]
    return qp.QuadraticProgram(P, rng.normal(size=5), A, -np.ones(3), np.ones(3), -1.0, 1.0)


def conic(rng):
    G = np.vstack([-np.eye(3), np.zeros((1, 3)), rng.normal(size=(3, 3))])
    h = np.concatenate([np.ones(3), [2.0], 0.1 * rng.normal(size=3)])
    return socp.ConeProgram(rng.normal(size=3), G, h, [socp.NonNeg(3), socp.SecondOrder(4)])


def left():
    """The workspace that was left last."""
    return list(workspace._pool.kept.values())[-1][-1][1] if workspace._pool.kept else None


def alone(solver, program, **settings):
    """The solution in memory of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "_pool", Pool())
        return solver(program, **settings).solve()


def check_same(solution, other):
    assert (solution.status, solution.iterations) == (other.status, other.iterations)
    for name in ("x", "y", "z" if hasattr(solution, "z") else "z_bounds"):
        np.testing.assert_array_equal(getattr(solution, name), getattr(other, name))


@pytest.mark.parametrize("first", HESSIANS)
@pytest.mark.parametrize("second", HESSIANS)
def test_a_program_in_the_memory_of_another_has_its_own_bits(first, second):
    rng = np.random.default_rng(HESSIANS.index(first) + 3 * HESSIANS.index(second))
    memories = []
    for kind, parallel in ((first, False), (second, False), (first, True), (second, True), (first, True)):
        program = quadratic(rng, kind, parallel)
        engine = {"presolve": False, "max_iter": 100}  # with a limit no program goes to the dual active set
        check_same(qp.solve(program, **engine), alone(qp.Solver, program, **engine))
        memories.append(left())
    # two parallel rows count as one in the KKT system, of which the sizes are others then
    assert len({id(memory) for memory in memories[:2]} & {id(memory) for memory in memories[2:]}) == 0
    if first == second:
        assert memories[0] is memories[1] and memories[2] is memories[3] is memories[4]


def test_a_sparse_program_is_solved_in_the_same_way_after_a_dense_one_of_the_same_sizes():
    n, rng = 100, np.random.default_rng(0)
    B, c = rng.normal(size=(n, n)), rng.normal(size=n)
    beside = sp.diags_array([np.full(n - 1, 0.3)], offsets=[1])
    sparse = sp.csc_array(sp.diags_array(np.linspace(1.0, 2.0, n)) + beside + beside.T)
    rest = {"c": c, "G": -np.eye(n), "h": np.zeros(n), "cones": [socp.NonNeg(n)]}
    alone = socp.Solver(P=sparse, **rest)
    expected = alone.solve()
    socp.solve(P=B @ B.T / n + np.eye(n), **rest)
    assert left() is not None
    solver = socp.Solver(P=sparse, **rest)
    assert solver.kkt.description == alone.kkt.description and "sparse" in alone.kkt.description
    check_same(solver.solve(), expected)


def sparse_program(seed, moved=False):
    """A hundred and fifty variables, sixty rows, some with two sides, some fixed; `moved` has another place."""
    rng, places = np.random.default_rng(seed), np.random.default_rng(7).random((60, 150)) < 0.04
    places[:, 0] = places[0] = True
    if moved:
        j = int(np.flatnonzero(~places[1])[0])
        places[1, j], places[1, int(np.flatnonzero(places[1])[-1])] = True, False
    A = sp.csc_array(rng.normal(size=places.shape) * places)
    b = A @ rng.uniform(size=150)
    P = sp.diags_array(rng.uniform(size=150) * (np.arange(150) % 3 > 0))
    return qp.QuadraticProgram(P, rng.normal(size=150), A, b - (np.arange(60) % 2), b, 0.0, 2.0)


def test_a_sparse_program_is_analyzed_once_for_all_with_entries_in_the_same_places():
    memory = None
    for seed in range(4):
        program = sparse_program(seed)
        solution = qp.solve(program)
        assert "sparse" in str(solution.plan) and solution.status == "optimal"
        check_same(solution, alone(qp.Solver, program))
        assert memory is None or left() is memory
        analysis = solution.timings["ordering"], solution.timings["symbolic"]
        # what was done once is told once
        assert min(analysis) > 0.0 if memory is None else analysis == (0.0, 0.0)
        assert min(solution.timings.values()) >= 0.0
        memory = left()
    for _ in range(2):  # the pattern is another one, which is analyzed once, too
        solution = qp.solve(sparse_program(9, moved=True))
        check_same(solution, alone(qp.Solver, sparse_program(9, moved=True)))
        assert left() is not memory
    memory = left()
    qp.solve(sparse_program(10, moved=True))
    assert left() is memory


@pytest.mark.parametrize("changed", ["bounds", "parallel rows", "P", "A"])
def test_other_places_in_programs_of_the_same_sizes_are_seen(changed):
    n, rng = 90, np.random.default_rng(3)
    rows = np.zeros((20, n))
    for row in rows:
        row[rng.permutation(n)[:5]] = rng.uniform(1.0, 2.0, 5)

    def program(first, twice, curved, shift):
        A, lb, ub, P = np.roll(rows, shift, axis=1), np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
        A[twice + 5] = 3.0 * A[twice]
        lb[first : first + 30], ub[first : first + 30], P[curved : curved + 80] = 0.0, 2.0, rng.uniform(1.0, 2.0, 80)
        return qp.QuadraticProgram(sp.diags_array(P).tocsc(), rng.normal(size=n), A, -1.0, 1.0, lb, ub)

    settings, one = {"presolve": False, "max_iter": 99}, (0, 1, 0, 0)
    other = {"bounds": (3, 1, 0, 0), "parallel rows": (0, 2, 0, 0), "P": (0, 1, 5, 0), "A": (0, 1, 0, 1)}[changed]
    memories = []
    for places in (one, one, other, other, one):
        asked = program(*places)
        solution = qp.solve(asked, **settings)
        assert "sparse" in str(solution.plan)
        memories.append(left())
        check_same(solution, alone(qp.Solver, asked, **settings))
    assert [memory is memories[0] for memory in memories] == [True, True, False, False, False]
    assert memories[2] is memories[3] is not memories[4]


def test_a_low_rank_is_taken_where_its_rank_and_what_is_held_are_the_same():
    rng = np.random.default_rng(4)

    def program(rank, first, d, n=40):
        """Three quarters of the variables have a bound, from `first` on, the others d in P."""
        lb, ub, held = np.full(n, -np.inf), np.full(n, np.inf), (np.arange(n) + first) % n < 30
        lb[held], ub[held & (np.arange(n) % 2 > 0)] = 0.0, 1.0
        P = socp.LowRank(rng.normal(size=(n, rank)), np.where(held, 0.0, d))
        return qp.QuadraticProgram(P, rng.normal(size=n), rng.normal(size=(2, n)), 0.0, [0.0, 1.0], lb, ub)

    kinds = [(3, 0, 1.0), (3, 0, 2.0), (3, 8, 1.0), (4, 0, 1.0), (4, 0, 1.0), (4, 0, 0.0), (3, 0, 1.0)]
    memories = []
    for kind in kinds:
        asked = program(*kind)
        solution = qp.solve(asked, active_set=False)
        check_same(solution, alone(qp.Solver, asked, active_set=False))
        assert ("rank" in str(solution.plan)) == (kind[2] > 0.0)  # what nothing holds has no D^-1
        memories.append(left())
        linear = qp.QuadraticProgram(None, *(getattr(asked, name) for name in ("q", "A", "l", "u", "lb", "ub")))
        qp.solve(linear, active_set=False)  # of the same sizes, and in memory of another kind
    first, other = memories[0], memories[3]
    assert [memory is first for memory in memories[:3]] == [True] * 3 and memories[4] is other is not first


def test_cone_programs():
    rng = np.random.default_rng(0)
    memory = None
    for _ in range(4):
        program = conic(rng)
        check_same(socp.solve(program), alone(socp.Solver, program))
        assert memory is None or left() is memory
        memory = left()


def test_programs_of_two_kinds_in_turn_find_their_own_again():
    programs = [conic(np.random.default_rng(0)), quadratic(np.random.default_rng(1))]
    solves = [lambda program: socp.solve(program), lambda program: qp.solve(program, max_iter=100)]
    memories = []
    for _ in range(3):
        for program, solve in zip(programs, solves):
            solve(program)
            memories.append(left())
    assert memories[0] is not memories[1] and memories == 3 * memories[:2]


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


def test_nothing_is_left_where_somebody_watched_or_by_another_way_of_solving():
    program = conic(np.random.default_rng(4))
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
    rng = np.random.default_rng(6)
    program = quadratic(rng)
    expected = alone(qp.Solver, program)
    qp.solve(program)
    with pytest.raises(socp.ProgramError, match="semidefinite"):
        qp.solve(-np.asarray(program.P), program.q, program.A, program.l, program.u, program.lb, program.ub)
    check_same(qp.solve(program), expected)


def test_the_data_of_an_earlier_program_are_not_written_to():
    rng = np.random.default_rng(7)
    kernel = np.eye(5) + 0.5  # equilibration leaves it as it is, so that the engine works on the program's own array
    for kind in HESSIANS:
        program = qp.QuadraticProgram(kernel, np.ones(5), lb=-1.0, ub=1.0)
        qp.solve(program)
        qp.solve(qp.QuadraticProgram(quadratic(rng, kind).P, np.ones(5), lb=-1.0, ub=1.0))
        np.testing.assert_array_equal(program.P, kernel)
