"""The stopping test of quadratic programs, by hand and compared with the independent judge."""

import numpy as np
import pytest
import scipy.sparse as sp

from qp import QuadraticProgram
from qp.reduce.cone_form import ConeForm
from qp.reduce.presolve import Presolve
from qp.reduce.stopping import ProgramTest
from socp.verify.certificates import dual_certificate, primal_certificate
from socp.verify.stopping import residuals
from tests.support.exact import quadratic_figures
from tests.support.programs import planted_quadratic, times

INF = np.inf


def array(*values):
    return np.array(values, dtype=float)


def test_zeros_that_are_kept_are_no_entries():
    zero = sp.csc_array((array(1, 0), ([0, 0], [0, 1])), shape=(1, 2))
    program = QuadraticProgram(None, np.zeros(2), zero, l=[0.0], lb=[-INF, 0.0])
    assert residuals(program, array(-1e-3, 1e6), array(0), array(0, 0)).relative[0] == pytest.approx(1e-3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("size", [1.0, 1e7])
def test_what_is_told_is_the_truth(seed, size):
    """Compare residuals far below the rounding errors of their terms with exact arithmetic."""
    rng = np.random.default_rng(seed)
    program, _ = planted_quadratic(rng)
    x = size * rng.normal(size=program.n)
    Ax = program.A @ x
    y, z = size * rng.normal(size=program.m), size * rng.normal(size=program.n)
    y[(y > 0) & np.isinf(program.u) | (y < 0) & np.isinf(program.l)] = 0.0
    z[(z > 0) & np.isinf(program.ub) | (z < 0) & np.isinf(program.lb)] = 0.0
    q = -(times(program.P, x) + program.A.T @ y + z)  # the gradient consists of rounding errors
    near = QuadraticProgram(program.P, q, program.A, *(np.where(np.isfinite(v), Ax, v) for v in (program.l, program.u)),
                            *(np.where(np.isfinite(v), x, v) for v in (program.lb, program.ub)))  # fmt: skip
    found, exact = residuals(near, x, y, z), quadratic_figures(near, x, y, z)
    for name, value in exact.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-6, abs=0.0), name


# ---- points of the cone program

# x1 + x2 <= 3 twice, a bound of x1 as a row, x3 fixed
REDUCED = QuadraticProgram(
    np.diag([2.0, 1.0, 4.0]), [-8.0, 0.0, 1.0], [[1, 1, 0], [2, 2, 0], [1, 0, 0], [1, 2, 3]],
    l=[-INF, -INF, -9, 0], u=[3, 5, 1.5, 9], lb=[-INF, 0, 2], ub=[INF, 4, 2],
)  # fmt: skip


def reduced_test(program=REDUCED):
    presolved = Presolve(program)
    form = ConeForm(presolved.program)
    return ProgramTest(program, presolved, form), form.program(presolved.program)


def test_a_point_of_the_cone_program_is_judged_on_the_own_data():
    test, cone = reduced_test()
    assert test.presolved.program.m == 2 and cone.n == 2
    rng = np.random.default_rng(0)
    x, y, z, s = rng.normal(size=cone.n), rng.normal(size=cone.p), rng.random(cone.m), rng.random(cone.m)
    found = test.residuals(x, y, z, s)
    own_x, own_y, own_z = test.point(found, x, y, z)
    np.testing.assert_array_equal(own_x, [*x, 2.0])
    assert own_y.shape == (4,) and own_z.shape == (3,)
    assert found == residuals(REDUCED, own_x, own_y, own_z)
    # multipliers that removed rows and bounds take over keep stationarity in the fixed variable
    gradient = REDUCED.P @ own_x + REDUCED.q + REDUCED.A.T @ own_y + own_z
    assert gradient[2] == pytest.approx(0.0, abs=1e-14)
    # all other parts equal those of the cone program
    np.testing.assert_allclose(gradient[:2], cone.P @ x + cone.c + cone.A.T @ y + cone.G.T @ z, atol=1e-14)


def test_the_last_point_is_lifted_once():
    test, cone = reduced_test()
    first, second = np.zeros(cone.n), np.ones(cone.n)
    y, z = np.zeros(cone.p), np.zeros(cone.m)
    one, other = test.residuals(first, y, z, z), test.residuals(second, y, z, z)
    assert test.point(other, second, y, z) is test.last[0]
    second[:] = 5.0  # the interior-point method's vectors are not shared
    np.testing.assert_array_equal(test.point(other, second, y, z)[0], [1, 1, 2])
    np.testing.assert_array_equal(test.point(one, first, y, z)[0], [0, 0, 2])
    assert test.point(one, first, y, z) is not test.last[0]


def test_certificates_of_the_cone_program_on_the_own_data():
    # x1 + x2 >= 4 with x1 <= 2 and x2 = 1: the bound of the fixed variable belongs to the certificate
    program = QuadraticProgram(None, [1.0, -1.0], [[1, 1], [1, 2]], l=[4, -INF], u=[INF, 9], lb=[0, 1], ub=[2, 1])
    test = ProgramTest(program, Presolve(program, wanted=False), ConeForm(program))
    cone = test.form.program(program)
    np.testing.assert_array_equal(cone.h, [7, -3, 2, 0])
    y, z = np.zeros(0), np.array([0.0, 2.0, 2.0, 0.0])
    assert test.primal_certificate(y, z)[1] == 0.0
    own_y, own_z = test.dual_ray(y, z)
    np.testing.assert_array_equal(own_y, [-2, 0])
    np.testing.assert_array_equal(own_z, [2, 2])
    assert (
        test.primal_certificate(y, np.array([0.0, 2.0, 1.0, 0.0]))[1] == 0.0
    )  # the bound x1 <= 2 absorbs what is left
    assert test.primal_certificate(y, np.array([0.0, 2.0, 1.0, 9.0]))[1] < INF

    open_below = QuadraticProgram(None, [1.0, -1.0, 0.0], [[1, 1, 1]], u=[9], lb=[-INF, 0, 3], ub=[INF, 5, 3])
    test, _ = reduced_test(open_below)
    np.testing.assert_array_equal(test.primal_ray(np.array([-2.0, 0.0])), [-2, 0, 0])
    assert test.dual_certificate(np.array([-2.0, 0.0]))[1] == 0.0
    assert test.dual_certificate(np.array([-2.0, 1.0]))[1] == 1.0  # x2 <= 5 is left by all of its own term
    assert test.dual_certificate(np.array([2.0, 0.0]))[1] == INF


def test_certificates_are_scaled_and_leave_out_what_has_no_part():
    # x1 + x2 <= 2 and >= 3; a row and two variables are empty
    A = sp.csc_array(np.array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]))
    program = QuadraticProgram(None, np.ones(4), A, [-INF, 3, -1], [2, INF, 5], lb=[-9, -9, -9, -INF], ub=9.0)
    (y, z), _ = primal_certificate(program, array(2, -2, 1e-9), array(0, 0, -1e-9, 1e-9))
    np.testing.assert_array_equal(y, [1, -1, 0])
    np.testing.assert_array_equal(z, np.zeros(4))
    # a row without entries that cannot hold is the certificate
    empty = QuadraticProgram(None, np.ones(2), np.zeros((1, 2)), [1.0], [2.0])
    np.testing.assert_array_equal(primal_certificate(empty, array(-4), array(0, 0))[0][0], [-1])
    ray = QuadraticProgram(np.diag([0.0, 1, 0, 0]), [-2.0, 0, 0, 0], [[0.0, 0, 1, 0]], u=[3.0])
    np.testing.assert_array_equal(dual_certificate(ray, array(4, 0, -4, 1e-9))[0][0], [0.5, 0, -0.5, 0])
