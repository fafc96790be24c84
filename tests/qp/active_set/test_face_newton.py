"""Steps on faces: the exact minimum there, with and without a row, and what is met on the way."""

import numpy as np
import pytest

from qp.active_set.boxed import BoxedProgram, Face, extremes, row_multiplier
from qp.active_set.face_newton import (
    HELD_SHARE,
    NO_DESCENT,
    NOT_DEFINITE,
    SHIFTS,
    TAKEN,
    TOO_LARGE,
    find_free,
    step_on_face,
)

N = 60


def at_zero(row, width=10.0, seed=0, definite=True):
    """A program at x = 0 inside of its box, and all of it as a face; `row` is "none", "equality" or "between"."""
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
    assert abs(program.a @ program.x - program.side) < 1e-13


@pytest.mark.parametrize("row", ["none", "equality", "between"])
def test_the_minimum_inside_of_the_box(row):
    program, face, q = at_zero(row)
    assert find_free(program, face, 0.0) == program.x.size
    assert step_on_face(program, face) == TAKEN
    check_point(program, q)
    v = program.g + program.a * program.multiplier
    assert np.abs(v[:N]).max() < 1e-12 and program.wrong_slope < 1e-12
    if row == "none":
        np.testing.assert_allclose(program.x, np.linalg.solve(program.P, -q), atol=1e-10)
    elif row == "equality":
        kkt = np.block([[program.P, program.a[:, None]], [program.a[None], np.zeros((1, 1))]])
        np.testing.assert_allclose(np.r_[program.x, program.multiplier], np.linalg.solve(kkt, np.r_[-q, 0]), atol=1e-10)
    else:  # the row ends at the side that it meets, with a multiplier of the right sign
        assert abs(program.x[N]) == 0.1 and np.sign(program.multiplier) == np.sign(program.x[N])


def test_a_row_between_wide_sides_has_no_multiplier():
    program, face, q = at_zero("between")
    program.lb[N], program.ub[N] = -100.0, 100.0
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TAKEN
    check_point(program, q)
    assert program.multiplier == 0.0
    np.testing.assert_allclose(program.x[:N], np.linalg.solve(program.P, -q), atol=1e-10)


@pytest.mark.parametrize("row", ["none", "equality", "between"])
@pytest.mark.parametrize("share", [0.97, 0.5])
def test_bounds_that_are_met(row, share):
    # few: they are held with the factor that is there; many: the face is made smaller
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
    assert (face.held <= N // HELD_SHARE) and (face.count < N) == (share == 0.5)
    v = (program.g + program.a * program.multiplier)[:N]
    assert np.abs(v[~at_bound]).max() < 1e-12  # the minimum on the face of those that are left
    assert program.x[:N] @ (program.g[:N] + q) < 0.0


def test_why_a_step_is_not_taken():
    program, face, _ = at_zero("none", definite=False)
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == NOT_DEFINITE
    program, face, _ = at_zero("none")
    program.max_work = 10.0
    find_free(program, face, 0.0)
    assert step_on_face(program, face) == TOO_LARGE
    program, face, _ = at_zero("equality")
    program.side, program.ub[:], program.x[:] = 1.0, 0.0, 0.0  # nobody may move as the row asks
    program.lb[:] = 0.0
    assert find_free(program, face, 0.0) == 0
    assert step_on_face(program, face) == NO_DESCENT
    np.testing.assert_array_equal(program.x, 0.0)


def test_who_is_free():
    program, face, _ = at_zero("none")
    program.g[:] = 1.0
    program.x[:10], program.x[10:20] = -10.0, 10.0  # held back with the right sign, and with the wrong one
    program.g[30:40] = 0.0
    assert find_free(program, face, 0.0) == N - 10
    np.testing.assert_array_equal(face.free[: N - 10], np.arange(10, N))
    assert find_free(program, face, 2.0) == N - 20  # a slope below the tolerance does not set free
    np.testing.assert_array_equal(face.free[: N - 20], np.arange(20, N))


def test_extremes_and_the_multiplier_between_them():
    program, _, _ = at_zero("none")
    program.a[:4], program.g[:4] = [2.0, -1.0, 0.0, 1.0], [2.0, 4.0, -9.0, 3.0]  # slopes 1, -4, none, 3
    assert extremes(program, 4) == (1, 3, -4.0, 3.0)
    program.x[1], program.x[3] = program.lb[1], program.lb[3]  # may not rise along the row, may not fall
    assert extremes(program, 4) == (0, 0, 1.0, 1.0)
    program.x[0] = program.ub[0]
    assert extremes(program, 4)[:2] == (3, 0)
    assert extremes(program, 0) == (-1, -1, np.inf, -np.inf)
    assert row_multiplier(1, 3, -4.0, 3.0) == 0.5 and row_multiplier(-1, -1, np.inf, -np.inf) == 0.0
    assert row_multiplier(-1, 3, np.inf, 3.0) == -3.0 and row_multiplier(1, -1, -4.0, -np.inf) == 4.0
