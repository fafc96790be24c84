"""Rows that state one row several times: bounds as rows, the two sides of a row apart, repetitions."""

import numpy as np
import pytest

import qp
from qp.active_set.distinct_rows import find_distinct
from tests.support.programs import check

INF = np.inf


def apart(program, rng):
    """Return the program with each side of a row or bound as a row of its own, some twice, in any order, and maps.

    The map takes multipliers of the new rows to those of (rows, bounds) of the program.
    """
    n, rows, sides, owner, factors = program.n, [], [], [], []
    stacked = np.vstack([program.A.toarray(), np.eye(n)])
    lower, upper = np.append(program.l, program.lb), np.append(program.u, program.ub)
    for i, a in enumerate(stacked):
        for side, sign in ((upper[i], 1.0), (lower[i], -1.0)):
            if np.isfinite(side):
                for _ in range(int(rng.integers(1, 3))):
                    f = sign * (2.0 ** rng.integers(-2, 3) if np.count_nonzero(a) == 1 else 1.0)
                    # Either f a'x <= f side, or the same row turned round.
                    turn = rng.choice([-1.0, 1.0])
                    rows.append(turn * f * a)
                    sides.append((-INF, f * side) if turn > 0 else (-f * side, INF))
                    owner.append(i), factors.append(turn * f)
    order = rng.permutation(len(rows))
    l, u = np.array(sides).T[:, order]
    to_owner = np.zeros((len(stacked), len(rows)))
    to_owner[np.array(owner)[order], np.arange(len(rows))] = np.array(factors)[order]
    return qp.QuadraticProgram(program.P, program.q, np.array(rows)[order], l, u), to_owner


def drawn(rng, kind="feasible"):
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 7))
    F, x = rng.normal(size=(n, n)), rng.normal(size=n)
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
    l, u = A @ x - rng.choice([0.0, 0.5, INF], size=m), A @ x + rng.choice([0.0, 0.5, INF], size=m)
    lb, ub = x - rng.choice([0.1, INF], size=n), x + rng.choice([0.1, 1.0], size=n)
    if kind == "crossed":
        lb[0], ub[0] = x[0] + 1.0, INF
        l[0], u[0], A[0] = -INF, x[0], np.eye(n)[0]
    return qp.QuadraticProgram(F @ F.T + 0.1 * np.eye(n), 3.0 * rng.normal(size=n), A, l, u, lb, ub)


@pytest.mark.parametrize("seed", range(20))
def test_sides_apart_are_one_row(seed):
    rng = np.random.default_rng([seed, 1])
    program = drawn(rng)
    other, to_owner = apart(program, rng)
    sol, found = qp.solve(program, tol=1e-10), qp.solve(other, tol=1e-10)
    assert found.plan.method == "dual active set"
    check(other, found)
    np.testing.assert_allclose(found.x, sol.x, atol=1e-7)
    y = to_owner @ found.y
    gradient = program.hessian.dense() @ found.x + program.q + program.A.toarray().T @ y[: program.m] + y[program.m :]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)


def test_a_bound_of_zero_has_no_sign():
    x = qp.solve(np.eye(2), [1.0, 1.0], A=-np.eye(2), u=[0.0, 0.0]).x
    assert not x.any() and not np.signbit(x).any()


@pytest.mark.parametrize("seed", range(10))
def test_loops_batches_and_own_points(seed):
    """A loop whose sides move, a batch and points of the caller's find what single programs find."""
    rng = np.random.default_rng([seed, 2])
    other, _ = apart(drawn(rng), rng)
    shifts = 0.2 * rng.random((6, other.m))
    solver = qp.Solver(other)
    solver.solve()
    many = qp.solve_many(other.P, other.q, other.A, other.l - shifts, other.u + shifts)
    assert {str(answer.status) for answer in many} == {"optimal"}
    for shift, answer in zip(shifts, many):
        alone = qp.solve(other.P, other.q, other.A, other.l - shift, other.u + shift)
        solver.update(l=other.l - shift, u=other.u + shift)
        for found in (
            solver.solve(warm_start=True),
            solver.solve(warm_start=(alone.x, alone.y, alone.z_bounds)),
            answer,
        ):
            check(solver.program, found)
            np.testing.assert_allclose(found.x, alone.x, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_sides_that_cross_are_told_with_the_rows_that_give_them(seed):
    rng = np.random.default_rng([seed, 3])
    other, _ = apart(drawn(rng, "crossed"), rng)
    for found in (qp.solve(other), qp.solve(other, kkt="dense")):
        check(other, found, "primal_infeasible")
    found = qp.solve(other)
    assert np.count_nonzero(found.y) == 2 and not np.any(found.z_bounds)
    np.testing.assert_allclose(other.A.toarray().T @ found.y, 0.0, atol=1e-12)


def test_bounds_as_rows_of_any_size_are_within_the_tolerance_of_the_rows():
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        program = drawn(rng)
        f = 10.0 ** rng.uniform(-9.0, 9.0, size=program.n) * rng.choice([-1.0, 1.0], size=program.n)
        sides = np.sort([f * program.lb, f * program.ub], axis=0)
        A = np.vstack([program.A.toarray(), np.diag(f)])
        l, u = np.append(program.l, sides[0]), np.append(program.u, sides[1])
        stated = qp.QuadraticProgram(program.P, program.q, A, l, u)
        found = qp.solve(stated)
        assert found.plan.method == "dual active set" and found.primal_residual < 1e-10
        check(stated, found)
        np.testing.assert_allclose(found.x, qp.solve(program).x, atol=1e-7)


@pytest.mark.parametrize("is_warm", [False, True])
def test_a_row_may_cross_and_part_again_in_a_loop(is_warm):
    A = [[1.0, 1.0], [-1.0, -1.0], [2.0, 0.0]]
    solver = qp.Solver(np.eye(2), [-1.0, -1.0], A=A, u=[1.0, 0.0, 3.0])
    for top, bottom, status in ((1.0, 0.0, "optimal"), (-1.0, -2.0, "primal_infeasible"), (1.0, -1.0, "optimal")):
        solver.update(u=[top, -bottom if status == "optimal" else -2.0, 3.0])
        found = solver.solve(warm_start=is_warm)
        check(solver.program, found, status)
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-9)


def test_rows_are_told_apart():
    """Rows equal in their key alone, rows of zeros, and many repetitions."""
    rng = np.random.default_rng(4)
    A = rng.integers(-1, 2, size=(300, 4)).astype(float)
    row_of, factor = np.zeros(300, np.int64), np.zeros(300)
    count = find_distinct(A.ravel(), 300, 4, row_of, factor, np.zeros(4), np.zeros(601, np.int64))
    distinct = []
    for i, a in enumerate(A):
        if np.count_nonzero(a) == 1:
            assert A[i, -1 - row_of[i]] == factor[i] != 0.0
            continue
        same = [k for k, b in enumerate(distinct) if (a == b).all() or (a == -b).all()]
        if not same:
            distinct.append(a)
            same = [len(distinct) - 1]
        assert row_of[i] == same[0]
        np.testing.assert_array_equal(factor[i] * distinct[same[0]], a)
    assert count == len(distinct) < 40


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_keys_of_rows_of_one_form_at_other_places_differ(order):
    """Bounds of rates, accelerations and jerks are such rows: equal keys would make the search for each one longer."""
    n = 200
    A = np.diff(np.eye(n) + np.eye(n, k=-7), n=order, axis=0)
    m, weights = len(A), np.zeros(n)
    count = find_distinct(A.ravel(), m, n, np.zeros(m, np.int64), np.zeros(m), weights, np.zeros(2 * m + 1, np.int64))
    assert count >= m - 7 and len(np.unique(np.abs(A @ weights))) == m


@pytest.mark.parametrize("what", ["bounds", "pairs", "bounds and pairs"])
def test_programs_whose_rows_are_products_by_blas(what):
    rng, n = np.random.default_rng(6), 80
    F, A = rng.normal(size=(n, n)), rng.normal(size=(30, n))
    P, q, u, ub = F @ F.T / n + np.eye(n), 3.0 * rng.normal(size=n), 0.3 + rng.random(30), 0.1 + rng.random(n)
    G = {"bounds": [np.eye(n), -np.eye(n)], "pairs": [A, -A], "bounds and pairs": [A, -np.eye(n), -A, np.eye(n)]}[what]
    h = {"bounds": [ub, ub], "pairs": [u, u], "bounds and pairs": [u, ub, u, ub]}[what]
    stated = qp.QuadraticProgram(P, q, np.vstack(G), u=np.concatenate(h))
    rows = {} if what == "bounds" else {"A": A, "l": -u, "u": u}
    bounds = {} if what == "pairs" else {"lb": -ub, "ub": ub}
    found, expected = qp.solve(stated), qp.solve(P, q, **rows, **bounds)
    assert found.plan.method == expected.plan.method == "dual active set"
    check(stated, found)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-9)
