"""The active set along rows of a kernel gives the answers of the full matrix."""

import numpy as np
import pytest

import qp
from models import KernelMatrix, KernelProgram, KernelSolver
from models.kernel_machines import working_set
from models.kernel_machines.pairs import FAR
from models.kernel_machines.working_set import WorkingSet
from socp import Settings


def machine(n=400, kernel="rbf", C=1.0, bias=True, sides=1, seed=0, features=6, **parameters):
    """Return the dual program of a classifier, or of a regression if `sides` is 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    f = X[:, 0] + X[:, 1] ** 2 - 1.0 + 0.5 * rng.normal(size=n)
    if sides == 1:
        signs, q = np.where(f > 0.0, 1.0, -1.0), np.full(n, -1.0)
    else:
        signs, q = np.repeat([1.0, -1.0], n), np.concatenate([0.1 - f, 0.1 + f])
    rows = {"A": -2.0 * signs[None], "l": 0.0, "u": 0.0} if bias else {}
    P = KernelMatrix(X, kernel, signs=signs, **{"gamma": 0.2, **parameters})
    return KernelProgram(P, q, lb=0.0, ub=C, **rows)


@pytest.mark.parametrize("kernel, parameters", [("rbf", {}), ("poly", {"coef0": 1.0}), ("linear", {})])
@pytest.mark.parametrize("C", [0.01, 1.0, pytest.param(100.0, marks=pytest.mark.full)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sides", [1, 2])
def test_it_finds_what_is_found_with_the_matrix_in_full(kernel, parameters, C, bias, sides):
    program = machine(150, kernel, C, bias, sides, **parameters)
    solver = KernelSolver(program, tol=1e-9)
    assert solver.working_set is not None
    found, full = solver.solve(), qp.solve(program, tol=1e-10)
    assert found.status == full.status == "optimal"
    assert found.objective == pytest.approx(full.objective, rel=1e-8)
    #  the point, on the program's own data
    P = program.P.toarray()
    assert np.abs(found.x - np.clip(found.x, 0.0, C)).max() <= 1e-9  # exact only if the working set finished the solve
    gradient = P @ found.x + program.q + program.A.T @ found.y + found.z_bounds
    assert np.abs(gradient).max() <= 1e-8 * (1.0 + np.abs(P @ found.x).max())
    assert found.objective == pytest.approx(0.5 * found.x @ P @ found.x + program.q @ found.x, rel=1e-10)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("total", [6.0, 40.0])
def test_a_row_for_the_first_variables_and_one_for_the_last(sides, total):
    one = machine(300, sides=sides, bias=False)
    signs = one.P.signs[np.argsort(-one.P.signs, kind="stable")] if sides == 1 else one.P.signs
    P = KernelMatrix(one.P.samples, "rbf", gamma=0.2, signs=signs)
    A = np.array([3.0 * signs * (signs > 0.0), -signs * (signs < 0.0)])
    ends = np.array([1.5, 0.5]) * total
    program = KernelProgram(P, one.q if sides == 2 else 0.0 * one.q, A, ends, ends, 0.0, 1.0)
    solver = KernelSolver(program, tol=1e-9)
    assert solver.working_set is not None
    found, full = solver.solve(), qp.solve(program, tol=1e-11)
    assert found.status == full.status == "optimal" and found.plan.method == "working set"
    assert found.objective == pytest.approx(full.objective, rel=1e-8)
    np.testing.assert_allclose(A @ found.x, ends, rtol=1e-9)
    np.testing.assert_allclose(P @ found.x + program.q + A.T @ found.y + found.z_bounds, 0.0, atol=1e-8)
    np.testing.assert_allclose(found.y, full.y, atol=1e-6)
    again = solver.solve(True)
    assert again.objective == pytest.approx(full.objective, rel=1e-8)


def test_two_variables_of_a_sample_are_split_so_that_both_rows_hold():
    rng, n, most, rows = np.random.default_rng(0), 30, 2.0, np.zeros((2, 60))
    rows[0, :30] = rows[1, 30:] = 1.0
    rows[1] *= -1.0
    P = KernelMatrix(rng.normal(size=(n, 2)), "rbf", signs=np.repeat([1.0, -1.0], n))
    for total in (12.0, 20.0, 29.0, 31.0):
        program = KernelProgram(P, np.zeros(2 * n), rows, [total, -total], [total, -total], 0.0, most)
        run = KernelSolver(program).working_set._start(None)
        twice, u = np.arange(3, 20), run.pairs.u
        u[:] = 0.0
        u[twice] = rng.uniform(-0.5, 0.5, twice.size)  # sums of x_i and -x_(i + n)
        sums, room = u[twice].copy(), (most - np.abs(u[twice])).sum()
        missing = total - np.maximum(sums, 0.0).sum()
        assert run._share(twice) == (0.0 <= missing < room)
        np.testing.assert_allclose(u[twice] + u[twice + n], sums, atol=1e-14)
        if missing < room:
            assert u[:n].sum() == pytest.approx(total, rel=1e-14)
            assert (0.0 <= u[:n]).all() and (u[:n] <= most).all() and (-most <= u[n:]).all() and (u[n:] <= 0.0).all()
            moves = u[twice] - np.maximum(sums, 0.0)
            np.testing.assert_allclose(moves / (most - np.abs(sums)), missing / room, rtol=1e-12)


def pairs_in_numpy(K, u, F, lower, upper, has_row, least, tol):
    """Descend on pairs, or without a row on single variables too; return u, F and the number of steps."""
    sides, diagonal, steps = u.size // len(K), np.tile(np.diag(K), u.size // len(K)), 0
    while True:
        rises, falls = u < upper, u > lower
        top, bottom = F[rises].max(initial=-FAR), F[falls].min(initial=FAR)
        if (top - bottom if has_row else max(top, -bottom)) <= tol:
            return u, F, steps
        i = int(
            np.where(falls, -F, -FAR).argmax() if not has_row and -bottom > top else np.where(rises, F, -FAR).argmax()
        )
        Ki = np.tile(K[i % len(K)], sides)
        if has_row:
            slope = np.where(falls, np.maximum(top - F, 0.0), 0.0)
            curvature = np.maximum(diagonal[i] + diagonal - 2.0 * Ki, least)
            j = int((slope**2 / curvature).argmax())
            t = min(slope[j] / curvature[j], upper[i] - u[i], u[j] - lower[j])
            F = F - t * (Ki - np.tile(K[j % len(K)], sides))
            u[j] = lower[j] if t == u[j] - lower[j] else u[j] - t
        else:
            t = np.clip(F[i] / max(diagonal[i], least), lower[i] - u[i], upper[i] - u[i])
            F = F - t * Ki
        end = upper[i] if t > 0.0 else lower[i]
        u[i], steps = end if t == end - u[i] else u[i] + t, steps + 1


@pytest.mark.parametrize("cache", [100.0, 0.05])
@pytest.mark.parametrize("bias, sides", [(True, 1), (True, 2), (False, 1), (False, 2)])
@pytest.mark.parametrize("kernel, C, share", [("rbf", 0.05, 0.3), ("rbf", 5.0, 0.2), ("poly", 0.01, 0.3)])
def test_pairs_in_numpy(kernel, C, share, bias, sides, cache, monkeypatch):
    """Compare with NumPy over several tiles, from zero and from the last point; rows are the kernel's in float32."""
    monkeypatch.setattr(working_set, "LARGEST_KEPT", 10**5)
    program = machine(300, kernel, C, bias, sides, coef0=1.0)
    program.P.cache_size = cache
    run = KernelSolver(program).working_set._start(None)
    assert run.meet_row()
    run.find_gradient()
    pairs, store, first, room = run.pairs, run.store, run.slope(), run.store.capacity
    K = program.P.kernel_rows(np.arange(300)).astype(np.float64)
    np.testing.assert_array_equal(pairs.u, 0.0)
    np.testing.assert_allclose(pairs.F, -program.P.signs * program.q)
    for tol in (share * first, 0.5 * share * first):
        given = (pairs.u.copy(), pairs.F.copy(), pairs.lower, pairs.upper, bias, pairs.least, tol)
        before = pairs.steps
        u, F, steps = pairs_in_numpy(K, *given)
        assert run.descend(tol, None) and pairs.steps - before == steps > 0
        np.testing.assert_allclose(pairs.u, u, atol=1e-4 * C)
        np.testing.assert_allclose(pairs.F, F, atol=1e-4 * first)
    has_grown = pairs.made > (1 + working_set.PATIENCE) * room
    assert store.capacity == min((1 + has_grown) * room, store.slots)
    owner = store.owner[: store.used]
    np.testing.assert_array_equal(store.place_of[owner], np.arange(store.used))
    assert np.count_nonzero(store.place_of >= 0) == store.used <= store.capacity and pairs.made >= store.used
    rows = store.rows[: store.used * 300].reshape(-1, 300)
    np.testing.assert_allclose(rows, K[owner], rtol=1e-4, atol=1e-4 * np.abs(K).max())


def test_without_newton_pairs_and_exact_gradients_go_on_to_the_answer(monkeypatch):
    program = machine(200)
    wanted = qp.solve(program)
    monkeypatch.setattr(working_set, "MOST_ENTRIES", 0.0)
    solver = KernelSolver(program, tol=1e-6)
    found = solver.solve()
    assert found.plan.method == "working set" and found.status == "optimal"
    assert found.objective == pytest.approx(wanted.objective, rel=1e-5)


def test_an_indefinite_kernel_is_refused():
    program = machine(100, "poly", coef0=-5.0, degree=3)
    for solve in (qp.solve, KernelSolver):
        with pytest.raises(ValueError, match="semidefinite"):
            solve(program)


def test_an_interrupt_and_a_time_limit_leave_the_point_that_was_reached(monkeypatch):
    program = machine(300)
    found = KernelSolver(program, time_limit=1e-9).solve()
    assert found.status == "time_limit" and (found.x >= 0.0).all() and abs(program.A @ found.x).max() < 1e-9
    descend = working_set.descend_in_pairs

    def interrupted(*arguments):
        descend(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(working_set, "PACE", 10**4)
    monkeypatch.setattr(working_set, "descend_in_pairs", interrupted)
    found = KernelSolver(program).solve()
    assert found.status == "interrupted" and found.x.any() and found.objective < 0.0
    assert found.objective == pytest.approx(0.5 * found.x @ (program.P @ found.x) + program.q @ found.x, rel=1e-12)


def test_equal_samples_of_two_classes_do_no_harm():
    base = machine(100)
    X = np.vstack([base.P.samples] * 2)
    signs = np.concatenate([base.P.signs, -base.P.signs])
    P = KernelMatrix(X, "rbf", gamma=0.2, signs=signs)
    program = KernelProgram(P, -np.ones(200), signs[None], 0.0, 0.0, 0.0, 1.0)
    found = KernelSolver(program).solve()
    assert found.status == "optimal" and found.objective == pytest.approx(qp.solve(program).objective, rel=1e-7)


def test_a_start_that_is_given_and_rows_that_are_there_serve_the_next_program():
    program = machine()
    solver = KernelSolver(program, tol=1e-9)
    first = solver.solve()
    made = solver.working_set.run.pairs.made
    assert made > 0
    bounds = np.where(np.arange(400) < 40, 0.0, 2.0)
    solver.update(ub=bounds, q=1.0 * program.q)
    found = solver.solve(2.0 * first.x)
    assert solver.working_set.run.store.used >= made and solver.working_set.run.pairs.made < 400 + made
    alone = KernelSolver(KernelProgram(program.P, program.q, program.A, 0.0, 0.0, 0.0, bounds), tol=1e-9).solve()
    assert found.objective == pytest.approx(alone.objective, rel=1e-8) and (found.x[:40] == 0.0).all()
    #  the multipliers of those held at zero are the slopes there
    np.testing.assert_allclose(found.z_bounds[:40], alone.z_bounds[:40], atol=1e-6)
    with pytest.raises(qp.ProgramError, match="warm_start"):
        solver.solve(np.ones(3))
    with pytest.raises(qp.ProgramError, match="warm_start"):
        solver.solve(np.full(400, np.nan))


@pytest.mark.parametrize("again", [False, True])
def test_rows_that_an_interrupt_left_unmade_are_not_taken_for_made(monkeypatch, again):
    by_name = machine()

    def function(A, B):
        return np.exp(-0.2 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    P = KernelMatrix(by_name.P.samples, function, signs=by_name.P.signs, semidefinite=True)
    solver = KernelSolver(KernelProgram(P, by_name.q, by_name.A, 0.0, 0.0, 0.0, 1.0), tol=1e-9)
    rows, calls = KernelMatrix.kernel_rows, []

    def interrupted(self, which):
        calls.append(which)
        if len(calls) == 2 - again:
            raise KeyboardInterrupt
        return rows(self, which)

    if again:  # some rows are stored from a solve with few samples
        solver.update(q=np.where(np.arange(400) < 9, -1.0, 9.0))
        solver.solve()
        solver.update(q=by_name.q)
    monkeypatch.setattr(KernelMatrix, "kernel_rows", interrupted)
    assert solver.solve().status == "interrupted"
    solver.update(q=1.0 * by_name.q)
    np.testing.assert_allclose(solver.solve().x, KernelSolver(by_name, tol=1e-9).solve().x, atol=1e-7)
    assert solver.working_set.run.pairs.made > 0  # otherwise another method has compensated wrong rows


def test_rows_of_another_kernel_are_not_taken_over():
    program, other, settings = machine(60), machine(60, seed=1), Settings()
    solver = KernelSolver(program)
    solver.solve()
    assert WorkingSet(program, settings, solver.working_set).store is solver.working_set.store is not None
    assert WorkingSet(other, settings, solver.working_set).store is None
