"""Presolve: removed rows and variables, and multipliers in the caller's rows, compared with no presolve."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from qp import QuadraticProgram
from qp.reduce.presolve import Presolve
from qp.reduce.removal import COLUMNS, ROWS, look_for_more
from socp import LowRank, ProgramError
from tests.support.programs import check, planted_quadratic, solve_and_check

INF = np.inf


def padded(program, rng):
    """Return the program with empty, parallel and singleton rows, fixed variables and empty columns added."""
    n, m = program.n, program.m
    extra = 3
    A = np.zeros((0, n + extra))
    A = np.vstack([A, np.hstack([program.A.toarray(), rng.normal(size=(m, extra)) * (rng.random((m, extra)) < 0.5)])])
    # variable n is fixed by its bounds, n + 1 by an equality with it, n + 2 has a cost only
    value = rng.normal(size=extra)
    A[:, n + 2] = 0.0
    shift = A[:, n : n + 2] @ value[:2]
    l, u = program.l + shift, program.u + shift
    rows, lower, upper = [], [], []

    def add(row, low, high):
        rows.append(row)
        lower.append(low)
        upper.append(high)

    add(2.0 * np.eye(n + extra)[n + 1] + np.eye(n + extra)[n], *[2.0 * value[1] + value[0]] * 2)
    for _ in range(3):  # sides of x_j, with the fixed variables in the row
        j, a, b = rng.integers(n), rng.choice([-2.0, 0.5, 3.0]), rng.normal(size=2) * rng.integers(0, 2, 2)
        row = np.zeros(n + extra)
        row[j], row[n : n + 2] = a, b
        sides = np.sort(a * np.array([program.lb[j], program.ub[j]]))
        add(row, *(sides + b @ value[:2]))
    add(np.zeros(n + extra), -rng.random(), rng.choice([0.0, INF]))
    add(np.zeros(n + extra), 0.0, 0.0)
    for _ in range(3 if m else 0):
        i, s = rng.integers(m), rng.choice([-3.0, -1.0, 0.25, 1.0])
        low, high = np.sort(s * np.array([l[i], u[i]]))
        # sometimes the copy has the tight side and the first row a loose one
        if rng.random() < 0.5:
            l[i], u[i] = l[i] - rng.random(), u[i] + rng.random()
        add(s * A[i], low, high)
    A = np.vstack([A, *rows])
    order = rng.permutation(A.shape[0])
    lb = np.r_[program.lb, value[0], -INF, [-1.0, -INF][rng.integers(2)]]
    ub = np.r_[program.ub, value[0], INF, 2.0]
    P = program.P if program.P is None else sp.block_diag([_sparse(program.P), sp.csc_array((extra, extra))])
    return QuadraticProgram(
        P, np.r_[program.q, rng.normal(size=2), -rng.random()], sp.csc_array(A[order]),
        np.r_[l, lower][order], np.r_[u, upper][order], lb, ub,
    )  # fmt: skip


def _sparse(P):
    return sp.csc_array(P.toarray() if isinstance(P, LowRank) else P)


@pytest.mark.parametrize("seed", range(60))
def test_planted_rows_and_columns(seed):
    rng = np.random.default_rng(seed)
    program = padded(planted_quadratic(rng)[0], rng)
    assert Presolve(program).kept.sum() <= program.m - 3  # the planted equality and the empty rows at least
    without = qp.solve(program, presolve=False)
    check(program, without)
    solution = solve_and_check(program, objective=without.objective)
    assert solution.x[-1] == 2.0


def supported(v, low, high):
    """Return sup {v'a: low <= a <= high}; entries of v that are zero up to rounding count as zero."""
    return np.where(v > 1e-12, high, np.where(v < -1e-12, low, 0.0)) @ v


@pytest.mark.parametrize("seed", range(60))
def test_multipliers_of_what_is_left_weigh_as_much_in_the_given_rows(seed):
    """For any (y, z) of the reduced program, A'y + z and the dual objective's part of the sides are preserved."""
    rng = np.random.default_rng(seed)
    program = padded(planted_quadratic(rng)[0], rng)
    presolved = Presolve(program)
    left, was_free = presolved.program, program.lb < program.ub
    has_entries = abs(left.A).sum(axis=0) + (0.0 if left.P is None else abs(left.P).sum(axis=0)) > 0.0
    for _ in range(4):
        y, z = rng.normal(size=left.m), rng.normal(size=left.n)
        for v, low, high in ((y, left.l, left.u), (z, left.lb, left.ub)):
            v[:] = np.where(np.isinf(high), -abs(v), v)
            v[:] = np.where(np.isinf(low), abs(v) * np.isfinite(high), v)
            v[rng.random(v.size) < 0.2] = 0.0
        z = np.where(has_entries, z, -left.q)  # variables without entries are at the bound with the lower cost
        rows, bounds = presolved.dual(y, z)
        np.testing.assert_allclose(program.A.T @ rows + bounds, left.A.T @ y + z, rtol=1e-9, atol=1e-9)
        own = supported(rows, program.l, program.u) + supported(
            bounds[was_free], program.lb[was_free], program.ub[was_free]
        )
        own += bounds[~was_free] @ program.lb[~was_free]
        assert own == pytest.approx(supported(y, left.l, left.u) + supported(z, left.lb, left.ub), rel=1e-8, abs=1e-8)


def test_nothing_found_is_the_program_itself():
    rng = np.random.default_rng(0)
    program = QuadraticProgram(np.eye(3), np.ones(3), rng.normal(size=(4, 3)), l=-1.0, u=1.0, lb=0.0)
    presolved = Presolve(program)
    assert presolved.program is program and presolved.kept is None
    y, z = np.ones(4), np.ones(3)
    assert presolved.dual(y, z) == (y, z)
    assert Presolve(padded(program, rng), wanted=False).kept is None


@pytest.mark.parametrize("y", [0.3, -0.3, 2.0, -2.0, 0.0])
@pytest.mark.parametrize("z", [0.3, -0.3, 2.0, -2.0, 0.0])
def test_each_side_of_a_row_and_of_a_variable_has_a_row_of_its_own(y, z):
    rows = [[1, 1], [2, 2], [-1, -1], [2, 0], [-4, 0]]
    program = QuadraticProgram(None, [1.0, 1.0], rows, [-5, *4 * [-INF]], [5, 2, 0.5, 3, 2], lb=-9.0, ub=9.0)
    presolved = Presolve(program)
    left = presolved.program
    np.testing.assert_array_equal([left.l[0], left.u[0], left.lb[0], left.ub[0]], [-0.5, 1.0, -0.5, 1.5])
    found, bounds = presolved.dual(np.array([y]), np.array([z, 0.0]))
    assert found.tolist() == [0.0, max(y, 0.0) / 2.0, max(-y, 0.0), max(z, 0.0) / 2.0, max(-z, 0.0) / 4.0]
    assert not bounds.any()


CURVED = np.vstack([np.eye(8) + 1.0, np.zeros((3, 8))])  # F of P = F F', in the first eight of eleven variables


@pytest.mark.parametrize(
    "P", [None, CURVED @ CURVED.T, sp.diags_array(np.repeat([1.0, 0.0], [8, 3])), LowRank(CURVED)],
    ids=["none", "dense", "sparse", "low rank"],
)  # fmt: skip
def test_a_variable_without_entries_goes_to_its_better_bound(P):
    # two are fixed by their costs; the last has cost 0 and is fixed at the value nearest to 0
    q, lb, ub = np.ones(11), np.full(11, -2.0), np.full(11, 7.0)
    q[-2:], lb[-1], ub[-1] = [-1.0, 0.0], 4.0, 6.0
    program = QuadraticProgram(P, q, lb=lb, ub=ub)
    assert isinstance(program.P, np.ndarray) == isinstance(P, np.ndarray)
    left = Presolve(program).program
    fixed = np.flatnonzero(left.lb == left.ub)
    np.testing.assert_array_equal(fixed, np.arange(11) if P is None else [8, 9, 10])
    np.testing.assert_array_equal(left.lb[-3:], [-2.0, 7.0, 4.0])
    solution = solve_and_check(program)
    np.testing.assert_array_equal(solution.x[-3:], [-2.0, 7.0, 4.0])


@pytest.mark.parametrize("A, l, u, lb, ub", [
    ([[0.0, 0.0], [1.0, 1.0]], [1, 0], [2, 1], -1, 1),  # an empty row that cannot hold
    ([[1.0, 1.0], [2.0, 2.0]], [0, 6], [1, 9], -9, 9),  # parallel rows apart
    ([[3.0, 0.0], [1.0, 1.0]], [9, 0], [12, 1], -1, 1),  # a side beyond the bound
    ([[3.0, 0.0], [-1.0, 0.0]], [3, 3], [3, 4], [-INF, 0], [INF, 1]),  # two singletons
    ([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [2, 5, -INF], [2, 5, 3], -9, 9),  # found only after x_1 is fixed
], ids=["empty", "parallel", "bound", "singletons", "chain"])  # fmt: skip
@pytest.mark.parametrize("P", [None, np.eye(2)], ids=["linear", "quadratic"])
def test_contradictions_are_certified_in_the_own_rows(A, l, u, lb, ub, P):
    solve_and_check(QuadraticProgram(P, [1.0, -1.0], A, l, u, lb, ub), "primal_infeasible")


def crossing(kind, low, high, factor):
    """Return a program with low <= v and v <= high for v = x_1 or x_1 + x_2; its last row is multiplied by `factor`."""
    rows, lb, ub = {
        "parallel": ([([1.0, 1.0], low, INF), ([1.0, 1.0], -INF, high)], -INF, INF),
        "parallel, the lower side last": ([([1.0, 1.0], -INF, high), ([1.0, 1.0], low, INF)], -INF, INF),
        "bound": ([([1.0, 0.0], low, INF)], -INF, [high, INF]),
        "upper bound by a row": ([([1.0, 0.0], -INF, high)], [low, -INF], INF),
        "singletons": ([([1.0, 0.0], low, INF), ([1.0, 0.0], -INF, high)], -INF, INF),
        "fixed by a row": ([([1.0, 0.0], low, low), ([1.0, 0.0], -INF, high)], -INF, INF),
        "fixed by bounds": ([([1.0, 0.0], -INF, high)], [low, -INF], [low, INF]),
    }[kind]
    row, *sides = rows.pop()
    rows.append((factor * np.array(row), *sorted(factor * side for side in sides)))
    A, l, u = zip(*rows, strict=True)
    return QuadraticProgram(np.eye(2), [1.0, -1.0], np.array(A), l, u, lb, ub)


@pytest.mark.parametrize("size", [1.0, -1.0, 1e6, -1e6])
@pytest.mark.parametrize("factor", [1.0, 2.0, -2.0])
@pytest.mark.parametrize(
    "kind",
    [
        "parallel", "parallel, the lower side last", "bound", "upper bound by a row", "singletons", "fixed by a row",
        "fixed by bounds",
    ],
)  # fmt: skip
def test_sides_that_cross_are_equal_only_by_rounding(kind, factor, size):
    left = {
        gap: Presolve(crossing(kind, size, size - gap * abs(size), factor)).program for gap in (0.0, 1e-13, 1e-11, 1e-8)
    }
    for program in left.values():
        assert (program.l <= program.u).all() and (program.lb <= program.ub).all()
    rows = {gap: program.m for gap, program in left.items()}
    assert rows[1e-13] == rows[0.0] and rows[1e-11] == rows[1e-8] == rows[0.0] + 1  # contradictory rows are kept


@pytest.mark.parametrize("size", [1.0, -1.0, 1e6])
@pytest.mark.parametrize("factor", [1.0, 2.0, -2.0, 1e3, -1e-3])
@pytest.mark.parametrize("kind", ["parallel", "bound", "singletons", "fixed by a row", "fixed by bounds"])
def test_sides_that_cross_by_a_part_of_the_tolerance(kind, factor, size):
    program = crossing(kind, size, size - 2e-9 * abs(size) * min(1.0, 1.0 / abs(factor)), factor)
    solution = solve_and_check(program)
    assert solution.status == "optimal"
    if factor == 1.0:
        assert qp.solve(program, tol=1e-10, max_iter=50).status != "optimal"  # sides cross by more than this
        assert qp.solve(program, tol_abs=1e-12, max_iter=50).status != "optimal"


@pytest.mark.parametrize("size", [0.3, -0.3, 1e6, 1e-6])
@pytest.mark.parametrize("factor", [3.0, -0.7])
def test_bounds_that_a_row_brings_within_rounding_fix_the_variable(size, factor):
    below, above = np.nextafter(size, -INF), np.nextafter(size, INF)
    for lb, ub, row in ((-INF, above, (below, INF)), (below, INF, (-INF, above)), (below, 2e6, (-INF, above))):
        sides = sorted(factor * side for side in row)
        program = QuadraticProgram(
            np.eye(2), [1.0, -1.0], [[factor, 0.0]], [sides[0]], [sides[1]], lb=[lb, 0.0], ub=[ub, 1.0]
        )
        left = Presolve(program).program
        assert left.m == 0 and left.lb[0] == left.ub[0] == pytest.approx(size, rel=1e-14)
        solve_and_check(program)
    l, u = sorted([factor * size, INF * factor])
    wide = QuadraticProgram(np.eye(2), [0.0, 0.0], [[factor, 0.0]], [l], [u], ub=size + 1e-11 * abs(size))
    left = Presolve(wide).program
    assert left.m == 0 and left.lb[0] < left.ub[0]


@pytest.mark.parametrize("size", [1e6, -1e9])
@pytest.mark.parametrize("factor", [1.0, 3.0, -0.7, 0.01, -100.0])
def test_what_a_fixed_variable_takes_with_it_is_rounding_too(size, factor):
    # factor x_1 + x_2 >= factor value + size with x_2 = size: x_1 >= value but for the rounding of size / factor
    value, lost = 0.3, 8.0 * np.finfo(float).eps * abs(size / factor)
    for gap, fixes in ((lost, True), (1e6 * lost, False)):
        sides = sorted([factor * (value - gap) + size, factor * INF])
        program = QuadraticProgram(np.eye(2), [1.0, -1.0], [[factor, 1.0]], [sides[0]], [sides[1]],
                                   lb=[-INF, size], ub=[value, size])  # fmt: skip
        left = Presolve(program).program
        assert left.m == 0 and left.ub[0] == value and (left.lb[0] == value) == fixes


def with_explicit_zeros(A, zeros):
    """Return A with explicit zeros stored at the places `zeros`."""
    A, places = np.array(A, dtype=float), tuple(np.transpose(zeros))
    assert not A[places].any()
    A[places] = 1.0
    stored = sp.csc_array(A)
    A[places] = 0.0
    rows, columns = stored.indices, np.repeat(np.arange(A.shape[1]), np.diff(stored.indptr))
    stored.data[:] = A[rows, columns]
    return stored


@pytest.mark.parametrize("zeros", [[(0, 1)], [(1, 0), (1, 2)], [(2, 2), (3, 0)], [(1, 1), (3, 4), (4, 4)]], ids=str)
@pytest.mark.parametrize("rows", [slice(0, 5), slice(0, 2), slice(1, 5), slice(2, 3)], ids=str)
def test_zeros_that_are_stored_are_no_entries(zeros, rows):
    # a singleton, an empty row, two rows that it makes singletons, one of two entries; the last column is empty
    A = np.array([[2.0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [1, 0, 3, 0, 0]])
    l, u = np.array([4.0, -1, -9, -9, 5]), np.array([4.0, 1, 9, 9, 5])
    zeros = [(i - rows.start, j) for i, j in zeros if rows.start <= i < rows.stop]
    plain, stored = (
        Presolve(QuadraticProgram(np.diag([1.0, 1, 1, 1, 0]), np.ones(5), matrix, l[rows], u[rows], lb=-8.0, ub=8.0))
        for matrix in (A[rows], with_explicit_zeros(A[rows], zeros) if zeros else sp.csc_array(A[rows]))
    )
    np.testing.assert_array_equal(stored.kept, plain.kept)
    for name in ("l", "u", "lb", "ub"):
        np.testing.assert_array_equal(getattr(stored.program, name), getattr(plain.program, name), err_msg=name)
    np.testing.assert_array_equal(stored.program.A.toarray(), plain.program.A.toarray())
    assert stored.program.lb[4] == stored.program.ub[4] == -8.0


def test_presolves_fit_that_leave_the_same_rows():
    A = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 0.0]])

    def presolved(A, wanted=True):
        return Presolve(QuadraticProgram(np.eye(2), [1.0, 1.0], A, u=[3.0, 4.0, 1.0], l=-9.0), wanted)

    all_three, first, nothing = presolved(A, False), presolved(A), presolved(A + np.outer([1.0, 0.0, 3.0], [0.0, 1.0]))
    other = presolved(A[[2, 0, 1]])
    assert all_three.kept is None and nothing.kept is None
    assert first.kept.tolist() == [True, False, False] and other.kept.tolist() == [False, True, False]
    assert first.fits(presolved(3.0 * A)) and nothing.fits(all_three)
    for one, two in ((first, other), (first, nothing)):
        assert not one.fits(two) and not two.fits(one)


def test_an_update_that_changes_what_is_left_out():
    A = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 0.0]])
    solver = qp.Solver(QuadraticProgram(np.eye(2), [-9.0, -8.5], A, u=[3, 4, 1], l=-9), tol=1e-10)
    assert solver.presolved.program.m == 1
    np.testing.assert_allclose(solver.solve().x, [1, 1], atol=1e-7)
    cone_solver = solver.cone_solver
    solver.update(u=[1, 4, 1])  # another row is now the tight one
    solution = solver.solve()
    np.testing.assert_allclose(solution.x, [0.75, 0.25], atol=1e-7)
    np.testing.assert_allclose(solution.y, [8.25, 0, 0], atol=1e-6)
    assert solver.cone_solver is cone_solver
    solver.update(A_data=[1, 2, 1, 1, 3])
    assert solver.presolved.program.m == 2 and solver.cone_solver is not cone_solver
    check(solver.program, solver.solve())
    with pytest.raises(ProgramError):
        solver.update(P_data=[-1, 1])
    check(solver.program, solver.solve())


def test_presolve_can_be_switched_off():
    program = QuadraticProgram(np.eye(2), [1.0, 1.0], [[1.0, 0.0]], [1.0], [2.0])
    assert qp.Solver(program).cone_solver.program.G.nnz == 2
    assert qp.Solver(program, presolve=False).presolved.program is program
    np.testing.assert_allclose(qp.solve(program).y, qp.solve(program, presolve=False).y, atol=1e-7)
    with pytest.raises(ProgramError, match="presolve must be True or False, but 2 came"):
        qp.Solver(program, presolve=2)


ROW = ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0])  # presolve finds nothing in these rows


@pytest.mark.parametrize("rows, sides, ub, found", [
    (ROW, (9, 9), 1.0, 0), ([[0.0, 1.0, 2.0]] * 2, (9, 9), 1.0, ROWS | COLUMNS), ([ROW[1]], (9,), 1.0, COLUMNS),
    ((ROW[0], [2.0, 2.0, 2.0]), (9, 9), 1.0, ROWS), ((ROW[0], [2.0, 2.0, 2.0]), (9, INF), 1.0, 0),
    ((ROW[0], [0.0, 0.0, 2.0]), (9, 9), 1.0, ROWS), ((ROW[0], [0.0, 0.0, 2.0]), (9, INF), 1.0, 0),
    ((ROW[0], [0.0, 0.0, 0.0]), (INF, 9), 1.0, ROWS), (ROW, (9, 9), [1.0, -1.0, 1.0], ROWS),
    ([ROW[1]], (9,), [-1.0, 1.0, 1.0], 0),
])  # fmt: skip
def test_what_there_may_be_to_leave_out(rows, sides, ub, found):
    program = QuadraticProgram(None, np.ones(3), np.array(rows), None, np.array(sides, dtype=float), -1.0, ub)
    A = program.A
    assert look_for_more(A.indptr, A.indices, A.data, program.l, program.u, program.lb, program.ub) == found
