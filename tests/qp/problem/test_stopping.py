"""The stopping test of quadratic programs, by hand and beside the independent judge."""

import numpy as np
import pytest

from bench.answers.verify import verify
from qp import QuadraticProgram
from qp.problem.stopping import dual_infeasibility, primal_infeasibility, residuals, support, violation
from socp import LowRank
from tests.support.programs import planted_quadratic

INF = np.inf


def array(*values):
    return np.array(values, dtype=float)


def test_support_and_violation():
    l, u = array(-1, -INF, 2, -INF), array(3, 5, INF, INF)
    assert support(l, u, array(2, 1, -3, 0)) == (6.0 + 5.0 - 6.0, 0.0)
    assert support(l, u, array(-2, -1, 3, 0.5))[1] == 3.0
    assert support(l, u, array(-2, 0, 0, 0)) == (2.0, 0.0)
    assert violation(l, u, array(4, 5, 1.5, 1e9)) == 1.0
    assert violation(array(), array(), array()) == 0.0


def test_residuals_by_hand():
    # min 1/2 4 x^2 - 2 x, x + row <= 1, 0 <= x: at x = 1/2 nothing is active
    program = QuadraticProgram([[4.0]], [-2.0], [[1.0]], u=[1.0], lb=[0.0])
    assert residuals(program, array(0.5), array(0), array(0)).worst == 0.0
    found = residuals(program, array(2), array(0.5), array(-0.25))
    assert found.primal == 1.0 and found.primal_scale == 3.0
    assert found.dual == 8 - 2 + 0.5 - 0.25 and found.dual_scale == 9.0
    assert found.gap == abs((8 - 4) - (-8 - 0.5)) and found.gap_scale == 9.5
    # multipliers of sides that are not there
    assert residuals(program, array(0.5), array(-3), array(0)).dual >= 3.0
    assert residuals(program, array(0.5), array(0), array(3)).dual >= 3.0


@pytest.mark.parametrize("place", range(3))
def test_not_a_number_never_meets_anything(place):
    program = QuadraticProgram([[4.0]], [-2.0], [[0.0]], u=[1.0], lb=[0.0])
    point = [array(0.5), array(0), array(0)]
    point[place] = array(np.nan)
    assert not residuals(program, *point).meets(1e100)


def test_certificates_by_hand():
    # x1 + x2 >= 3 in the unit box: y = -1, z = (1, 1) has -3 + 2 = -1
    box = QuadraticProgram(None, [0.0, 0.0], [[1.0, 1.0]], l=[3.0], lb=0.0, ub=1.0)
    assert primal_infeasibility(box, array(-5), array(5, 5)) == 0.0
    assert primal_infeasibility(box, array(5), array(-5, -5)) == INF
    assert primal_infeasibility(box, array(-5), array(5, 4.9)) == pytest.approx(0.1 / 5.1)
    assert primal_infeasibility(box, array(0), array(0, 0)) == INF
    # min -x1, x1 >= 0, x1 - x2 <= 2
    cone = QuadraticProgram(None, [-1.0, 0.0], [[1.0, -1.0]], u=[2.0], lb=[0.0, -INF])
    assert dual_infeasibility(cone, array(3, 3)) == 0.0
    assert dual_infeasibility(cone, array(3, 4)) == 0.0
    assert dual_infeasibility(cone, array(4, 3)) == 0.25
    assert dual_infeasibility(cone, array(-1, 0)) == INF
    for P in ([[1.0, 0.0], [0.0, 0.0]], LowRank([[1.0], [0.0]])):
        assert dual_infeasibility(QuadraticProgram(P, [-1.0, 0.0]), array(1, 0)) == 1.0


@pytest.mark.parametrize("seed", range(30))
def test_beside_the_independent_judge(seed):
    rng = np.random.default_rng(seed)
    program, _ = planted_quadratic(rng)
    x, y, z = rng.normal(size=program.n), rng.normal(size=program.m), rng.normal(size=program.n)
    y[(y > 0) & np.isinf(program.u) | (y < 0) & np.isinf(program.l)] = 0.0
    ours, other = residuals(program, x, y, z), verify(program, x, y, z)
    assert ours.gap / ours.gap_scale == pytest.approx(other.gap, rel=1e-9, abs=1e-12)
    assert ours.dual / ours.dual_scale == pytest.approx(max(other.dual, other.dual_cone), rel=1e-9, abs=1e-12)
    # the judge leaves rows without sides out of the scale
    assert ours.primal == pytest.approx(
        max(other.primal, other.primal_cone) * judged_scale(program, x), rel=1e-9, abs=1e-12
    )


def judged_scale(program, x):
    sides = np.concatenate([program.l, program.u, program.lb, program.ub])
    rows = np.isfinite(program.l) | np.isfinite(program.u)
    bounds = np.isfinite(program.lb) | np.isfinite(program.ub)
    parts = (sides[np.isfinite(sides)], (program.A @ x)[rows], x[bounds])
    return 1.0 + max(np.abs(part).max(initial=0.0) for part in parts)
