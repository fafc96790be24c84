"""Newton steps on faces: the exact minimum, with and without a row, and the sides reached on the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qp.active_set.boxed import BoxedProgram, Face, extremes, row_multiplier
from qp.active_set.face_newton import (
    NO_DESCENT,
    NOT_DEFINITE,
    SHIFTS,
    SHORTENED,
    TAKEN,
    TOO_LARGE,
    find_free,
    step_on_face,
)

N = 60


def at_zero(row, width=10.0, seed=0, definite=True):
    """Return a program at x = 0 inside its box, a face and the gradient; `row` is "none", "equality" or "between"."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(N, 2 * N)) / np.sqrt(N)
    P = F @ F.T - (0.0 if definite else 2.0) * np.eye(N)
    size = N + (row == "between")
    program, face = BoxedProgram(size=size), Face(size=size)
    program.P, program.largest, program.max_work = P, P.diagonal().max(), 1e12
    program.lb[:], program.ub[:], program.g[:N] = -width, width, rng.normal(size=N)
    if row != "none":
        program.a[:N] = rng.normal(size=N)
    if row == "between":
        program.a[N], program.lb[N], program.ub[N] = -1.0, -0.1, 0.1
    face.factor, face.shift = np.empty(size**2), SHIFTS[0]
    return program, face, program.g[:N].copy()


def check_point(program, q):
    x = program.x[:N]
    np.testing.assert_allclose(program.g[:N], program.P @ x + q, atol=1e-12)
    assert (program.lb <= program.x).all() and (program.x <= program.ub).all()
    assert abs(program.a @ program.x - program.sides[0]) < 1e-13


def slope_left(program):
    """Return the slope that a step from x = 0 may leave: ten times the effect of the diagonal's shift."""
    return 10.0 * SHIFTS[0] * program.largest * np.abs(program.x[:N]).max()


@pytest.mark.parametrize("row", ["none", "equality", "between"])
def test_the_minimum_inside_of_the_box(row):
    program, face, q = at_zero(row)
    assert find_free(program, face, 0.0) == program.x.size
    assert step_on_face(program, face) == TAKEN
    check_point(program, q)
    v = program.g + program.a * program.multipliers[0]
    assert np.abs(v[:N]).max() < slope_left(program) and program.dual_violation < slope_left(program)
    if row == "none":
        np.testing.assert_allclose(program.x, np.linalg.solve(program.P, -q), atol=1e-10)
    elif row == "equality":
        kkt = np.block([[program.P, program.a[:, None]], [program.a[None], np.zeros((1, 1))]])
        expected = np.linalg.solve(kkt, np.r_[-q, 0])
        np.testing.assert_allclose(np.r_[program.x, program.multipliers[0]], expected, atol=1e-10)
    else:  # the row stops at the side that it reaches, with a multiplier of the right sign
        assert abs(program.x[N]) == 0.1 and np.sign(program.multipliers[0]) == np.sign(program.x[N])


@pytest.mark.parametrize("row, side", [("equality", 0.0), ("between", 0.1), ("between", 90.0)])
def test_from_a_point_off_the_row_the_minimum_is_the_same(row, side):
    found = []
    for away in (0.0, 0.01):
        program, face, q = at_zero(row)
        program.lb[N:], program.ub[N:] = -side, side
        program.x[:N] = away * np.random.default_rng(1).normal(size=N)
        program.g[:N] = program.P @ program.x[:N] + q
        find_free(program, face, 0.0)
        assert step_on_face(program, face) == TAKEN
        check_point(program, q)
        found.append(program.x)
    np.testing.assert_allclose(*found, atol=1e-9)
    assert row == "equality" or (abs(program.x[N]) == side) == (side < 90.0)


@pytest.mark.parametrize("width", [10.0, 0.3])
def test_two_rows_without_a_variable_in_common(width):
    rng = np.random.default_rng(3)
    program, face, q = at_zero("equality", width)
    program.ends[1], program.sides[:], program.multipliers[:] = 23, [0.4, -0.3], rng.normal(size=2)
    A = np.array([np.where(np.arange(N) < 23, program.a, 0.0), np.where(np.arange(N) < 23, 0.0, program.a)])
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TAKEN
    x, free = program.x, np.abs(program.x) < width
    np.testing.assert_allclose(A @ x, program.sides, atol=1e-13)
    np.testing.assert_allclose(program.g, program.P @ x + q, atol=1e-12)
    assert free.all() == (width == 10.0) and free[:23].any() and free[23:].any() and face.count == free.sum()
    v = program.g + program.multipliers @ A
    assert np.abs(v[free]).max() < 1e-11
    if width == 10.0:
        kkt = np.block([[program.P, A.T], [A, np.zeros((2, 2))]])
        expected = np.linalg.solve(kkt, np.r_[-q, program.sides])
        np.testing.assert_allclose(np.r_[x, program.multipliers], expected, atol=1e-10)


@pytest.mark.parametrize("row, fixed, free", [(1, slice(23, N), slice(23)), (0, slice(23), slice(23, N))])
def test_a_row_of_two_that_nobody_can_meet(row, fixed, free):
    program, face, _ = at_zero("equality")
    program.ends[1] = 23
    program.lb[fixed], program.ub[fixed], program.sides[:] = 0.0, 0.0, 0.3
    assert find_free(program, face, 0.0) == program.x[free].size
    assert step_on_face(program, face) == NO_DESCENT
    program.sides[row] = 0.0
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TAKEN and not program.x[fixed].any() and program.x[free].all()
    assert program.a[free] @ program.x[free] == pytest.approx(0.3, rel=1e-12)


def test_a_variable_without_curvature_goes_to_a_bound():
    program, face, q = at_zero("none")
    program.P[0], program.P[:, 0] = 0.0, 0.0
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TAKEN
    assert program.x[0] == -np.sign(q[0]) * program.ub[0]
    check_point(program, q)
    assert np.abs(program.g[1:N]).max() < slope_left(program)


def test_a_row_between_wide_sides_has_no_multiplier():
    program, face, q = at_zero("between")
    program.lb[N], program.ub[N] = -100.0, 100.0
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TAKEN
    check_point(program, q)
    assert program.multipliers[0] == 0.0
    np.testing.assert_allclose(program.x[:N], np.linalg.solve(program.P, -q), atol=1e-10)


@pytest.mark.parametrize("row", ["none", "equality", "between"])
@pytest.mark.parametrize("share", [0.97, 0.5])
def test_bounds_that_are_met(row, share):
    program, face, q = at_zero(row)
    find_free(program, face, 0.0)
    step_on_face(program, face)
    width = np.quantile(np.abs(program.x[:N]), share)
    program, face, q = at_zero(row, width)
    if row == "between":
        program.lb[N], program.ub[N] = -0.1, 0.1
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TAKEN
    check_point(program, q)
    at_bound = np.abs(program.x[:N]) == width
    assert at_bound.any() and not at_bound.all()
    assert face.count == N - np.count_nonzero(at_bound)
    v = (program.g + program.a * program.multipliers[0])[:N]
    assert np.abs(v[~at_bound]).max() < slope_left(program)  # the minimum on the face of the remaining free variables
    assert program.x[:N] @ (program.g[:N] + q) < 0.0


def boxed(P, minimum, lb, ub, a=None, side=0.0):
    """Return the box program of 1/2 (x - minimum)'P(x - minimum), with a row a'x = side if `a` is given, and a face."""
    n = len(P)
    program, face = BoxedProgram(size=n), Face(size=n)
    program.P, program.largest, program.max_work = np.array(P, dtype=float), np.max(np.diagonal(P)), 1e12
    program.lb[:], program.ub[:] = lb, ub
    program.g[:] = -program.P @ minimum
    if a is not None:
        program.a[:], program.sides[0] = a, side
    face.factor, face.shift = np.empty(n**2), SHIFTS[0]
    return program, face


def slopes(program):
    """Return the largest |slope| of the variables whose bounds allow descent, from the definition."""
    v = program.g + program.a * program.multipliers[0]
    falls = np.where(v < 0.0, program.x < program.ub, program.x > program.lb)
    return np.abs(v[falls & (v != 0.0)]).max(initial=0.0)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), has_row=st.booleans())
def test_a_step_goes_to_its_end_where_that_is_lower_else_to_the_lowest_point_on_its_way(seed, has_row):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    F = rng.normal(size=(n, n))
    P = F @ F.T + 10.0 ** rng.uniform(-3, 0) * np.eye(n)
    a = rng.choice([-1.0, 1.0, 2.0], n) if has_row else None
    program, face = boxed(P, rng.normal(size=n) * 10, -rng.uniform(0.1, 9, n), rng.uniform(0.1, 9, n), a)
    program.multipliers[0] = rng.normal() if has_row else 0.0
    q = program.g.copy()
    find_free(program, face, 0.0)
    outcome = step_on_face(program, face)
    x, way, whole = program.x, face.moves, 1.0 + np.abs(face.moves) @ np.abs(q)
    if outcome == NO_DESCENT:  # no descent exists, or none that keeps the row
        np.testing.assert_array_equal(x, 0.0)
        assert has_row or way @ q >= -1e-9 * whole
        return
    assert (program.lb <= x).all() and (x <= program.ub).all()
    np.testing.assert_allclose(program.g, P @ x + q, atol=1e-11 * whole)
    assert program.a @ x == pytest.approx(program.sides[0], abs=1e-11)
    share, at_the_end = x @ way / (way @ way), 0.5 * way @ P @ way + way @ q
    np.testing.assert_allclose(x, share * way, atol=1e-12)
    if outcome == TAKEN:
        assert share == pytest.approx(1.0, rel=1e-9) and at_the_end <= 1e-9 * whole
    else:
        assert outcome == SHORTENED and at_the_end > -1e-9 * whole
        assert program.g @ way == pytest.approx(0.0, abs=1e-9 * whole)
        # points on the way have no multiplier: the middle of the variables' demands is taken
        assert program.multipliers[0] == row_multiplier(*extremes(program, 0, n))
    assert program.dual_violation == slopes(program)


def test_why_a_step_is_not_taken():
    program, face, _ = at_zero("none", definite=False)
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == NOT_DEFINITE
    program, face, _ = at_zero("none")
    program.max_work = 10.0
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TOO_LARGE
    program, face, _ = at_zero("equality")
    program.sides[0], program.ub[:], program.x[:] = 1.0, 0.0, 0.0  # no variable may move as the row requires
    program.lb[:] = 0.0
    assert find_free(program, face, 0.0) == 0
    assert step_on_face(program, face) == NO_DESCENT
    np.testing.assert_array_equal(program.x, 0.0)


def test_who_is_free():
    program, face, _ = at_zero("none")
    program.g[:] = 1.0
    program.x[:10], program.x[10:20] = -10.0, 10.0  # at bounds with multipliers of the right and the wrong sign
    program.g[30:40] = 0.0
    assert find_free(program, face, 0.0) == N - 10
    np.testing.assert_array_equal(face.free[: N - 10], np.arange(10, N))
    assert find_free(program, face, 2.0) == N - 20  # a slope below the tolerance does not set free
    np.testing.assert_array_equal(face.free[: N - 20], np.arange(20, N))


def test_extremes_and_the_multiplier_between_them():
    program, _, _ = at_zero("none")
    program.a[:4], program.g[:4] = [2.0, -1.0, 0.0, 1.0], [2.0, 4.0, -9.0, 3.0]  # slopes 1, -4, none, 3
    assert extremes(program, 0, 4) == (1, 3, -4.0, 3.0)
    program.x[1], program.x[3] = program.lb[1], program.lb[3]  # may not rise along the row, may not fall
    assert extremes(program, 0, 4) == (0, 0, 1.0, 1.0)
    program.x[0] = program.ub[0]
    assert extremes(program, 0, 4)[:2] == (3, 0)
    assert extremes(program, 0, 0) == (-1, -1, np.inf, -np.inf)
    assert row_multiplier(1, 0, -4.0, 3.0) == row_multiplier(0, 1, -4.0, 3.0) == 0.5
    assert row_multiplier(-1, -1, np.inf, -np.inf) == 0.0
    assert row_multiplier(-1, 3, np.inf, 3.0) == -3.0 and row_multiplier(1, -1, -4.0, -np.inf) == 4.0
