"""The short-step method keeps what its theorem promises."""

import numpy as np
import pytest

import socp
from docs.teaching import short_step
from socp import ConeProgram, NonNeg, SecondOrder, textbook


def test_derivatives_are_those_of_the_logarithm_of_the_determinants():
    cone = textbook.Cone([NonNeg(2), SecondOrder(3)])
    s = np.array([0.5, 2.0, 1.5, 0.4, -0.3])

    def value(s):
        return -np.log(s[0]) - np.log(s[1]) - np.log(textbook.det(s[2:]))

    gradient, hessian = short_step.derivatives(cone, s)
    h = 1e-5
    ways = h * np.eye(5)
    differences = [(value(s + d) - value(s - d)) / (2 * h) for d in ways]
    np.testing.assert_allclose(gradient, differences, atol=1e-8)
    second = [(short_step.derivatives(cone, s + d)[0] - short_step.derivatives(cone, s - d)[0]) / (2 * h) for d in ways]
    np.testing.assert_allclose(hessian, second, atol=1e-7)
    assert short_step.parameter(cone) == 4
    np.testing.assert_allclose([gradient @ s, gradient @ np.linalg.solve(hessian, gradient)], [-4.0, 4.0])


@pytest.mark.parametrize("nu", [4, 12])
def test_it_ends_within_the_bound_with_certificates_on_its_way(nu):
    program, x = short_step.symmetric_program(nu)
    cone = textbook.Cone(program.cones)
    assert short_step.parameter(cone) == nu
    t0 = short_step.NEAR / short_step.newton(program, x, 1.0)[1].decrement
    points = list(short_step.short_step(program, x, nu / t0 / 100.0))
    assert len(points) - 1 <= short_step.bound(nu, 100.0)
    assert max(point.decrement for point in points[1:]) < short_step.NEAR
    best = socp.solve(program).objective
    for point in points:
        np.testing.assert_allclose(program.c + program.G.T @ point.z, 0.0, atol=1e-10)
        assert cone.depth(point.z) > 0.0 and cone.depth(program.h - program.G @ point.x) > 0.0
        assert program.c @ point.x - best <= point.gap
    assert points[-1].gap <= nu / t0 / 100.0 < points[-2].gap


def test_what_it_is_not_for_is_refused():
    with pytest.raises(socp.ProgramError, match="without P and A"):
        next(short_step.short_step(ConeProgram([1.0], [[-1.0]], [1.0], [NonNeg(1)], P=[[1.0]]), np.zeros(1), 1.0))
    with pytest.raises(socp.ProgramError, match="a multiple of 4, but it is 6"):
        short_step.symmetric_program(6)
