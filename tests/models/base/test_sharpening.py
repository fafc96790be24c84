"""Answers to more digits: the nearest point, what is at a rounding's distance already, what cannot be sharpened."""

import numpy as np
import pytest

import socp
from models.base.sharpening import sharpened


def nearest_point(target, radius):
    """min |x - target|, |x| <= radius, as a program with two cones."""
    p = socp.Blocks(x=target.size, t=1)
    p.minimize(t=1.0)
    p.cone("t", x=1.0, shift=-target)
    p.cone(radius=radius, x=1.0)
    return p


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_the_nearest_point_of_a_ball(tol):
    target = np.array([3.0, -1.0, 2.0])
    p = nearest_point(target, 1.5)
    program = p.program()
    rough = socp.solve(program, tol=tol)
    x = sharpened(program, rough)[p.x]
    np.testing.assert_allclose(x, 1.5 * target / np.linalg.norm(target), rtol=1e-12)


def test_rows_and_a_quadratic_term():
    # min 1/2 |x|^2 + |x - t|, x >= 1, x_1 = x_2: x = (1, 1, 1) where t is near
    p = socp.Blocks(x=3, r=1)
    p.minimize(quadratic={"x": 1.0}, r=1.0)
    p.cone("r", x=1.0, shift=-np.array([1.2, 1.2, 5.0]))
    p.equal(0.0, x=np.array([1.0, -1.0, 0.0]))
    p.bounds(x=(1.0, None))
    program = p.program()
    x = sharpened(program, socp.solve(program, tol=1e-5))[p.x]
    np.testing.assert_allclose(x[:2], 1.0, rtol=1e-14)
    # x_3 = (5 - x_3) / r at the minimum
    r = np.hypot(np.sqrt(2.0) * 0.2, 5.0 - x[2])
    assert x[2] == pytest.approx(max(1.0, (5.0 - x[2]) / r), abs=1e-12)


def test_an_answer_without_numbers_stays():
    program = socp.ConeProgram(c=[1.0], G=[[-1.0], [1.0]], h=[-2.0, 1.0], cones=[socp.NonNeg(2)])
    found = socp.solve(program)
    assert found.status == "primal_infeasible"
    np.testing.assert_array_equal(sharpened(program, found), found.x)
