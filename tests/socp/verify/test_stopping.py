"""The stopping test and the certificates, by hand, and compared with the independent judge in bench."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qp import QuadraticProgram
from socp import ConeProgram, NonNeg, SecondOrder, Status
from socp.linalg.vectors import NO_VALUES
from socp.verify import stopping
from socp.verify.certificates import dual_certificate, dual_infeasibility, primal_certificate, primal_infeasibility
from socp.verify.distances import cone_distance, norm
from socp.verify.stopping import evaluate, residuals
from tests.support.exact import cone_figures
from tests.support.exact_rays import exact_dual_error, exact_primal_error
from tests.support.programs import interior, planted_optimum, times
from tests.support.right_answers import CERTIFIED, SOLVED, figures, spoiled_to

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

# min 2 x, x >= 3 as -x + s = -3: x = 3, z = 2
LINE = ConeProgram([2.0], [[-1.0]], [-3.0], [NonNeg(1)])


def array(*values):
    return np.array(values, dtype=float)


def of(right):
    """Return the residuals of a point."""
    return residuals(right.program, right.x, right.y, right.z, NO_VALUES if right.s is None else right.s)


def measured(point):
    """Return residuals as compiled code has them."""
    found = stopping.Measured()
    for name, value in point._asdict().items():
        setattr(found, name, value)
    return found


def of_ray(right, length):
    """Return the error of the certificate multiplied by `length`."""
    if right.status is Status.DUAL_INFEASIBLE:
        return dual_infeasibility(right.program, length * right.x)
    return primal_infeasibility(right.program, length * right.y, length * right.z)


def check_vector(point):
    """Compare the residuals of a cone program as a vector; they are zero in rows without a side."""
    program, x, y, z, finite = point.program, point.x, point.y, point.z, np.isfinite(point.program.h)
    dual, rows = times(program.P, x) + program.c + program.A.T @ y + program.G.T @ z, program.A @ x - program.b
    cone = np.where(finite, program.G @ x, 0.0) + np.where(finite, point.s, 0.0) - np.where(finite, program.h, 0.0)
    np.testing.assert_allclose(evaluate(program, x, y, z, point.s)[1], [*dual, *rows, *cone], atol=1e-12)


@pytest.mark.parametrize("right", SOLVED.values(), ids=SOLVED.keys())
def test_every_spoiled_entry_is_measured(right):
    """Compare with the formulas in NumPy, for programs with every kind of row, side, bound and cone."""
    for name, i, sign in [("x", 0, 0.0), *right.entries()]:
        for amount in (1e-6, 1.0, 100.0):
            point = right.spoiled(name, i, sign * amount)
            found, expected = of(point), figures(point)
            assert found.relative == pytest.approx(expected.told, rel=1e-9, abs=1e-14)
            assert found[:4] == pytest.approx(expected.absolute, rel=1e-9, abs=1e-12)
            assert np.add(found[-2:], right.program.offset) == pytest.approx(expected.objectives, rel=1e-9)
            assert found.worst == max(found.relative) and (found.worst > 1e-9 or sign == 0.0)
            if point.s is not None:
                check_vector(point)


@pytest.mark.parametrize("right", SOLVED.values(), ids=SOLVED.keys())
def test_the_tolerances_are_where_they_are_said_to_be(right):
    for entry in right.entries():
        for share in (0.99, 1.01):
            point, within = of(spoiled_to(right, entry, share * 1e-8)), share < 1.0
            assert point.meets(1e-8) is stopping.meets(measured(point), 1e-8, np.inf) is within
            point = of(spoiled_to(right, entry, share * 1e-7, lambda point: max(figures(point).absolute)))
            assert point.meets(1e-2, 1e-7) is stopping.meets(measured(point), 1e-2, 1e-7) is within


@pytest.mark.parametrize("right", SOLVED.values(), ids=SOLVED.keys())
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_never_meets_anything(right, bad):
    for name, i, _ in right.entries():
        with np.errstate(all="ignore"):
            found = of(right.spoiled(name, i, bad))
        assert not found.meets(1e100) and not stopping.meets(measured(found), 1e100, np.inf)


@pytest.mark.parametrize("right", CERTIFIED.values(), ids=CERTIFIED.keys())
def test_every_spoiled_entry_of_a_certificate_is_measured_or_absorbed(right):
    """Compare the error of the ray that is returned with exact arithmetic; bounds absorb what they can."""
    program, is_ray, measured = right.program, right.status is Status.DUAL_INFEASIBLE, 0
    for name, i, sign in [("x" if is_ray else "y", 0, 0.0), *right.entries()]:
        for amount in (1e-6, 1e-3, 0.1) if name != "s" else ():
            point = right.spoiled(name, i, sign * amount)
            ray, told = dual_certificate(program, point.x) if is_ray else primal_certificate(program, point.y, point.z)
            expected = (exact_dual_error if is_ray else exact_primal_error)(program, *ray)
            assert told == pytest.approx(expected, rel=1e-6, abs=1e-13)
            measured += told > 1e-9
            for length in (-1.0, 0.0, 1e-9, 1.0, 1e9):
                found = of_ray(point, length)
                right_one = found == pytest.approx(expected, rel=1e-6, abs=1e-13)
                assert right_one if length > 0.0 else found > 1e-3
            assert sign != 0.0 or told <= 1e-9
    assert measured >= 6


def test_what_is_compared_without_a_sum_is_exact():
    assert residuals(LINE, array(3), array(), array(2), array(-1e-15), rounding=True).cone == 1e-15
    line = residuals(ConeProgram([0.0], [[0.0]], [0.0], [NonNeg(1)]), array(0), array(), array(-1e-15), array(0), True)
    assert line.dual == 1e-15


@pytest.mark.parametrize("seed", range(10))
def test_what_is_left_out_is_small_beside_the_terms(seed):
    rng = np.random.default_rng(seed)
    like, _ = planted_optimum(rng)
    x, y, z, s = rng.normal(size=like.n), rng.normal(size=like.p), *(interior(like.cones, rng) for _ in range(2))
    program = ConeProgram(like.c, like.G, like.G @ x + s, like.cones, like.A, like.A @ x, like.P)
    exact, without = residuals(program, x, y, z, s), residuals(program, x, y, z, s, rounding=True)
    assert without.worst <= exact.worst and without[4:] == pytest.approx(exact[4:], rel=1e-14)
    assert exact.cone <= 1e-13 * exact.cone_scale and without.rows == without.cone == 0.0
    far = residuals(program, x + 1e-6, y, z, s)
    assert residuals(program, x + 1e-6, y, z, s, rounding=True).worst == far.worst > 0.0


@pytest.mark.parametrize("factor, excused", [(60.0, True), (68.0, False), (6400.0, False)])
def test_rounding_excuses_64_units_of_the_terms(factor, excused):
    eps = np.finfo(np.float64).eps

    def told(program, *point, name):
        measured = getattr(residuals(program, *point), name)
        assert measured > 0.0  # the reported value is always the measured one
        return getattr(residuals(program, *point, rounding=True), name) == (0.0 if excused else measured)

    # x1 - x2 = 1, with terms of 2, 1 and 1: 256 eps; as a row of the orthant with a slack of 1 another
    row = ConeProgram(np.zeros(2), A=[[1.0, -1.0]], b=[1.0])
    assert told(row, array(2.0 + 4 * factor * eps, 1.0), array(0), array(), array(), name="rows")
    cone = ConeProgram(np.zeros(2), [[1.0, -1.0]], [2.0], [NonNeg(1)])
    assert told(cone, array(2.0, 1.0), array(), array(0), array(1 + 6 * factor * eps), name="cone")
    # x + c + y - z with terms of 1, 1, 1 and 1
    dual = ConeProgram([-1.0], [[-1.0]], [0.0], [NonNeg(1)], [[1.0]], [1.0], P=[[1.0]])
    assert told(dual, array(1), array(1 + 4 * factor * eps), array(1), array(1), name="dual")
    # x'Px + c'x + b'y + h'z with two terms of 1
    gap = ConeProgram([-1.0], A=[[0.0]], b=[1.0], P=[[1.0]])
    assert told(gap, array(1), array(2 * factor * eps), array(), array(), name="gap")
    # of quadratic programs: 1 x1 - 1 x2 = 0 with two terms of 1; four of 1 in x - q + y + z; two in x'Px + q'x + u'y
    row = QuadraticProgram(None, np.zeros(2), [[1.0, -1.0]], [0.0], [0.0])
    assert told(row, array(1.0, 1.0 + 2 * factor * eps), array(0), array(0, 0), name="rows")
    dual = QuadraticProgram([[1.0]], [-1.0], [[1.0]], [1.0], [1.0], lb=0.0, ub=1.0)
    assert told(dual, array(1), array(1), array(-1 + 4 * factor * eps), name="dual")
    gap = QuadraticProgram([[1.0]], [-1.0], [[0.0]], [1.0], [1.0])
    assert told(gap, array(1), array(2 * factor * eps), array(0), name="gap")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("size", [1.0, 1e7])
def test_what_is_told_is_the_truth(seed, size):
    """Compare residuals far below the rounding errors of their terms with exact arithmetic."""
    rng = np.random.default_rng(seed)
    like, _ = planted_optimum(rng)
    x, y = size * rng.normal(size=like.n), size * rng.normal(size=like.p)
    z, s = (size * interior(like.cones, rng) for _ in range(2))
    c = -(times(like.P, x) + like.A.T @ y + like.G.T @ z)
    program = ConeProgram(c, like.G, like.G @ x + s, like.cones, like.A, like.A @ x, like.P)
    found, exact = residuals(program, x, y, z, s), cone_figures(program, x, y, z, s)
    for name, value in exact.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-6, abs=0.0), name
    _, vector = evaluate(program, x, y, z, s)
    parts = np.split(np.abs(vector), [like.n, like.n + like.p])
    assert [norm(part) for part in parts] == [found.dual, found.rows, found.cone]


@pytest.mark.parametrize("seed", range(5))
def test_objectives_and_a_gap_far_below_their_terms(seed):
    """Each term of x'Px + c'x + b'y + h'z is about 1e3, and their sums are of the size of rounding errors."""
    rng = np.random.default_rng((29, seed))
    F, A, G = 0.1 * rng.normal(size=(6, 6)), rng.normal(size=(3, 6)), rng.normal(size=(7, 6))
    c, b, h = 10.0 * rng.normal(size=6), 10.0 * rng.normal(size=3), 10.0 * rng.normal(size=7)
    x, y, z, s = (100.0 * rng.normal(size=size) for size in (6, 3, 7, 7))
    for _ in range(3):
        sums = cone_figures(ConeProgram(c, G, h, [NonNeg(7)], A, b, F @ F.T), x, y, z, s)
        c[0] -= sums["primal_objective"] / x[0]
        h[0] += sums["dual_objective"] / z[0]
    program = ConeProgram(c, G, h, [NonNeg(7)], A, b, F @ F.T)
    found, exact = residuals(program, x, y, z, s), cone_figures(program, x, y, z, s)
    for name in ("gap", "primal_objective", "dual_objective"):
        assert 0.0 < abs(exact[name]) < (1e-10 if name != "gap" else np.inf)  # residuals count in the gap
        assert getattr(found, name) == pytest.approx(exact[name], rel=1e-6, abs=0.0)


def test_certificates_are_scaled_and_leave_out_what_has_no_part():
    # x1 <= 1 and x1 >= 2, and rows without entries
    G = sp.csc_array(np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0]]))
    program = ConeProgram(
        np.zeros(3), G, [1.0, -2.0, 3.0, 0.0, 0.0], [NonNeg(3), SecondOrder(2)], np.zeros((1, 3)), [0.0]
    )
    (y, z), _ = primal_certificate(program, array(1e-9), array(4, 4, 1e-9, 0, 0))
    np.testing.assert_array_equal(y, [0])
    np.testing.assert_array_equal(z, [1, 1, 0, 0, 0])
    # the first entry of a cone bounds the others
    (_, z), _ = primal_certificate(program, array(0), array(4, 4, 0, 1e-9, 0))
    np.testing.assert_array_equal(z, [1, 1, 0, 1e-9 / 4, 0])
    # a row without entries that cannot hold is the certificate
    empty = ConeProgram(np.zeros(1), [[0.0]], [-2.0], [NonNeg(1)])
    np.testing.assert_array_equal(primal_certificate(empty, array(), array(3))[0][1], [0.5])
    ray = ConeProgram([-2.0, 0, 0, 0], [[-1.0, 0, 0, 0], [0, 1, 0, 0]], [0.0, 0.0], [NonNeg(2)])
    np.testing.assert_array_equal(dual_certificate(ray, array(4, -1, 1e-9, -1e-9))[0][0], [0.5, -0.125, 0, 0])


@pytest.mark.parametrize("part", [0.1, 0.3, 7.0])
def test_a_slope_that_is_rounding_certifies_nothing(part):
    # 3 part - part - part - part is zero, but not always in floating point
    terms = array(3 * part, part, part, part)
    program = ConeProgram([-3 * part, part, part, part], terms[None] * 0.0, [0.0], [NonNeg(1)])
    assert dual_infeasibility(program, np.ones(4) * (1.0 + 1e-16)) == np.inf
    sides = [[1.0], [-1.0], [0.0], [0.0]]
    program = ConeProgram([0.0], sides, [3 * part, -2 * part, -part, 0.0], [NonNeg(4)])
    assert primal_infeasibility(program, array(), array(1, 1, 1, 1)) == np.inf
    l, u = [-np.inf, 2 * part, part], [3 * part, np.inf, np.inf]
    program = QuadraticProgram(None, [-3 * part, part, part, part], [[1, 0, 0, 0]] * 3, l, u)
    assert primal_infeasibility(program, array(1, -1, -1), array(1e-16, 0, 0, 0)) == np.inf
    assert dual_infeasibility(program, np.ones(4)) == np.inf
    # but ten thousand units in the last place are a slope: x <= 1 and x >= 1 + 1e-11 contradict each other
    program = ConeProgram([0.0], [[1.0], [-1.0]], [1.0, -1.0 - 1e-11], [NonNeg(2)])
    assert primal_infeasibility(program, array(), array(1, 1)) == 0.0
    program = ConeProgram([1.0, -1.0 - 1e-11], [[1.0, -1.0]], [0.0], [NonNeg(1)])
    assert dual_infeasibility(program, array(1, 1)) == 0.0
    assert dual_infeasibility(QuadraticProgram(None, [1.0, -1.0 - 1e-11], lb=[0.0, 0.0]), array(1, 1)) == 0.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8))
def test_distance_from_a_cone_is_the_smallest_that_leads_into_it(values):
    v = np.array([7.0, *values, 7.0])
    distance = cone_distance(v, NO_VALUES, 1, v.size - 1)

    def excess(d):
        return np.linalg.norm(np.maximum(np.abs(v[2:-1]) - d, 0.0)) - v[1] - d

    assert distance >= 0.0 and excess(distance) <= 1e-12
    assert distance == 0.0 or excess(distance * (1 - 1e-9)) > -1e-12


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_far_from_a_cone(bad):
    assert cone_distance(np.array([1.0, bad, 0.0]), NO_VALUES, 0, 3) == np.inf
    assert cone_distance(np.array([-bad, 1.0, 0.0]), NO_VALUES, 0, 3) == np.inf


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_distance_below_rounding_is_that_of_the_numbers_that_came(seed, size):
    rng = np.random.default_rng(seed)
    v = size * rng.normal(size=5)
    v[0] = np.linalg.norm(v[1:])  # on the boundary, up to rounding
    t, *rest = map(Fraction, v.tolist())
    square = sum(entry * entry for entry in rest)
    gap = float((square - t * t) / (Fraction(np.linalg.norm(v[1:])) + t))  # ||v_1|| - v_0
    slope = np.abs(v[1:]).sum() / np.linalg.norm(v[1:])
    assert cone_distance(v, NO_VALUES, 0, 5) == pytest.approx(max(gap, 0.0) / (1 + slope), rel=1e-6, abs=0.0)
    low = 1e-18 * size * rng.normal(size=5)
    further = gap + (v[1:] @ low[1:]) / np.linalg.norm(v[1:]) - low[0]
    expected = max(further, 0.0) / (1 + slope)
    assert cone_distance(v, low, 0, 5) == pytest.approx(expected, rel=1e-6, abs=1e-26 * size)
