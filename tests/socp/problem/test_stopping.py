"""The stopping test and the certificates, by hand, and beside the independent judge in bench."""

import numpy as np
import pytest

from bench.answers.verify import verify
from socp import ConeProgram, NonNeg, SecondOrder
from socp.problem import stopping
from socp.problem.stopping import Residuals, cone_violation, dual_infeasibility, norm, primal_infeasibility, residuals
from tests.support.programs import interior, planted_optimum

# min 2 x, x >= 3 as -x + s = -3: x = 3, z = 2
LINE = ConeProgram([2.0], [[-1.0]], [-3.0], [NonNeg(1)])


def array(*values):
    return np.array(values, dtype=float)


def test_residuals_by_hand():
    found = residuals(LINE, array(4), array(), array(1.5), array(0.5))
    assert found.primal == 0.5  # -4 + 0.5 + 3
    assert found.dual == 0.5  # 2 - 1.5
    assert found.gap == 8.0 - 4.5
    assert (found.primal_scale, found.dual_scale, found.gap_scale) == (5.0, 3.0, 9.0)
    assert found.worst == 3.5 / 9.0
    assert found.meets(0.5) and not found.meets(0.3)
    assert found.meets(0.5, 3.5) and not found.meets(0.5, 3.4)


def test_the_test_of_a_program_is_these_functions():
    test = stopping.ProgramTest(LINE)
    point = array(4), array(), array(1.5), array(0.5)
    assert test.residuals(*point) == residuals(LINE, *point)
    assert test.primal_infeasibility(array(), array(-1)) == primal_infeasibility(LINE, array(), array(-1)) == np.inf
    assert test.dual_infeasibility(array(-5)) == dual_infeasibility(LINE, array(-5)) > 0.0


def test_what_is_outside_of_the_cone_counts():
    # s and h - Gx are judged both
    assert residuals(LINE, array(3), array(), array(2), array(-0.25)).primal == 0.25
    assert residuals(LINE, array(2), array(), array(2), array(1)).primal == 2.0
    assert residuals(LINE, array(3), array(), array(-1), array(0)).dual == 3.0
    cone = ConeProgram(np.zeros(3), -np.eye(3), np.zeros(3), [SecondOrder(3)])
    # the smallest d with ||(3 - d, 4 - d)|| = 4 + d, that is d^2 - 22 d + 9 = 0
    assert cone_violation(cone, array(4, 3, 4)) == pytest.approx(11 - np.sqrt(112), rel=1e-13, abs=0.0)
    assert cone_violation(cone, array(6, 3, 4)) == 0.0
    assert cone_violation(ConeProgram([1.0], np.zeros((1, 1)), [0.0], [SecondOrder(1)]), array(-2)) == 2.0


def test_rows_that_always_hold_take_no_multiplier():
    program = ConeProgram([2.0], [[-1.0], [5.0]], [-3.0, np.inf], [NonNeg(2)])
    with np.errstate(all="raise"):
        assert residuals(program, array(3), array(), array(2, 0), array(0, np.inf)).worst == 0.0
    assert residuals(program, array(3), array(), array(2, 0.5), array(0, np.inf)).dual >= 0.5
    assert primal_infeasibility(program, array(), array(1, 1e-300)) == np.inf


@pytest.mark.parametrize("place", ["x", "y", "z", "s"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_a_number_never_meets_anything(place, value):
    program = ConeProgram([2.0], [[-1.0]], [-3.0], [NonNeg(1)], [[0.0]], [0.0])
    point = {"x": array(3), "y": array(0), "z": array(2), "s": array(0)}
    assert residuals(program, **point).worst == 0.0
    point[place] = array(value)
    with np.errstate(all="ignore"):
        assert not residuals(program, **point).meets(1e100)


def test_nan_is_no_residual():
    assert Residuals(np.nan, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0).worst == np.inf
    assert Residuals(0.0, 0.0, np.nan, 1.0, 1.0, 1.0, 0.0, 0.0).worst == np.inf
    assert norm(array()) == 0.0 and np.isnan(norm(array(1, np.nan)))


def test_certificates_by_hand():
    # x <= -1 and x >= 1: z = (1/2, 1/2) has h'z = -1
    interval = ConeProgram([0.0], [[1.0], [-1.0]], [-1.0, -1.0], [NonNeg(2)])
    assert primal_infeasibility(interval, array(), array(7, 7)) == 0.0
    assert primal_infeasibility(interval, array(), array(7, 7 * (1 + 1e-6))) == pytest.approx(5e-7, rel=1e-3, abs=0.0)
    assert primal_infeasibility(interval, array(), array(-7, -7)) == np.inf
    assert primal_infeasibility(interval, array(), array(0, 0)) == np.inf
    # min -x, x >= 0
    ray = ConeProgram([-1.0], [[-1.0]], [0.0], [NonNeg(1)])
    assert dual_infeasibility(ray, array(5)) == 0.0
    assert dual_infeasibility(ray, array(-5)) == np.inf
    assert dual_infeasibility(ray, array(0)) == np.inf
    assert dual_infeasibility(ConeProgram([-1.0], P=[[1e-3]]), array(5)) == 1.0  # P x, relative to P


def test_a_long_way_to_feasibility_is_no_certificate():
    # feasible at x = 1e9: the ray's slope is 1e-9 of its level, but not of its own size
    far = ConeProgram([1.0], [[-1.0]], [-1e9], [NonNeg(1)])
    assert primal_infeasibility(far, array(), array(1)) == 1.0
    # bounded by x <= 1 with an objective of 1e9
    steep = ConeProgram([-1e9], [[1.0]], [1.0], [NonNeg(1)])
    assert dual_infeasibility(steep, array(1)) == 1.0


@pytest.mark.parametrize("seed", range(25))
def test_beside_the_independent_judge(seed):
    rng = np.random.default_rng(seed)
    program, _ = planted_optimum(rng)
    x, y, z = rng.normal(size=program.n), rng.normal(size=program.p), interior(program.cones, rng)
    s = program.h - program.G @ x
    ours, other = residuals(program, x, y, z, s), verify(program, x, y, z)
    assert ours.gap / ours.gap_scale == pytest.approx(other.gap, rel=1e-10, abs=1e-12)
    assert ours.dual / ours.dual_scale == pytest.approx(max(other.dual, other.dual_cone), rel=1e-10, abs=1e-14)
    # the engine's distance from a cone is in the t direction only: never below the judge's
    assert ours.primal / ours.primal_scale >= max(other.primal, other.primal_cone) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_random_vectors_certify_nothing_of_a_program_with_an_optimum(seed):
    rng = np.random.default_rng(seed)
    program, _ = planted_optimum(rng)
    for _ in range(5):
        y, z, x = rng.normal(size=program.p), interior(program.cones, rng), rng.normal(size=program.n)
        assert primal_infeasibility(program, y, z) > 1e-3
        assert dual_infeasibility(program, x) > 1e-3


def test_inaccurate_is_a_stated_tolerance():
    assert stopping.INACCURATE_TOL == 1e-5
