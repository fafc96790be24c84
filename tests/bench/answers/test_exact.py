"""Residuals without rounding against fractions, and where doubles see nothing."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.answers.exact import Exact, distances, infeasibility, measure, times, unboundedness
from bench.answers.verify import cone_distance, verify


def residuals(program, x, y, z, s=None):
    return measure(program, x, y, z, s).residuals


def fractions(exact):
    return [Fraction(int(entry)) * Fraction(2) ** exact.power for entry in exact.whole]


def some(rng, size):
    """Return random doubles of all magnitudes, about a fifth of them zero."""
    return rng.normal(size=size) * 10.0 ** rng.integers(-300, 300, size) * (rng.random(size) < 0.8)


def test_doubles_their_sums_and_products_are_those_of_fractions():
    rng = np.random.default_rng(0)
    for size in (0, 1, 6):
        v, w = some(rng, size), some(rng, size)
        if size:
            v[0] = 5e-324  # the smallest positive double
        a, b = [Fraction(t) for t in v], [Fraction(t) for t in w]
        assert fractions(Exact.of(v)) == a
        assert fractions(Exact.of(v) + Exact.of(w)) == [s + t for s, t in zip(a, b, strict=True)]
        assert fractions(Exact.of(v) - Exact.of(w)) == [s - t for s, t in zip(a, b, strict=True)]
        assert fractions(Exact.of(v) * Exact.of(w)) == [s * t for s, t in zip(a, b, strict=True)]
        assert fractions(Exact.of(v).dot(Exact.of(w))) == [sum((s * t for s, t in zip(a, b, strict=True)), Fraction(0))]
        assert np.array_equal(Exact.of(v).rounded(), v)
    huge = Exact.of(np.array([1e300, -1e300, 0.0]))
    assert np.array_equal((huge * Exact.of(np.full(3, 1e300))).rounded(), [np.inf, -np.inf, 0.0])


def test_products_with_every_kind_of_matrix():
    rng = np.random.default_rng(1)
    F, d, x = rng.normal(size=(4, 2)), rng.random(4), rng.normal(size=4)
    M = F @ F.T * (rng.random((4, 4)) < 0.7)
    exactly = [sum((Fraction(a) * Fraction(t) for a, t in zip(row, x, strict=True)), Fraction(0)) for row in M]
    for matrix in (M, sp.csc_array(M), sp.csr_array(M)):
        assert fractions(times(matrix, Exact.of(x))) == exactly
    low_rank = socp.LowRank(F, d)
    product = times(low_rank, Exact.of(x)).rounded()
    assert product == pytest.approx(low_rank @ x, rel=1e-12)
    assert np.array_equal(times(None, Exact.of(x)).rounded(), np.zeros(4))


def test_what_cancels_is_seen():
    # x1 = 1 + 2^-52, x2 = 1: 1e12 (x1 - x2) is 2e-4, which the verifier counts as rounding
    program = qp.QuadraticProgram(None, [0.0, 0.0], [[1e12, -1e12]], 0.0, 0.0)
    x = [1.0 + 2.0**-52, 1.0]
    assert verify(program, x, [0.0], [0.0, 0.0]).primal == 0.0
    assert residuals(program, x, [0.0], [0.0, 0.0])[0] == pytest.approx(1e12 * 2.0**-52 / (1.0 + 1e12 * 2.0**-52))
    # a gap of 1e20 against 1e20 + 1e-3
    program = qp.QuadraticProgram(None, [1.0, 1.0, 1.0], lb=0.0)
    assert residuals(program, [1e20, -1e20, 1e-3], [], [-1.0, -1.0, -1.0])[2] == pytest.approx(1e-3 / 1.001)


def test_the_gap_counts_what_a_dual_residual_hides():
    program = qp.QuadraticProgram(None, [1.0, -1e-9], lb=0.0)  # x_2 = 1e8 and its residual of 1e-9 hide 0.1
    assert residuals(program, [0.0, 1e8], [], [-1.0, 0.0])[2] == pytest.approx(0.1 / 1.1)
    assert verify(program, [0.0, 1e8], [], [-1.0, 0.0]).gap == pytest.approx(0.1 / 1.1)


@pytest.mark.parametrize("part", range(3))
def test_what_is_not_finite_is_no_answer(part):
    program = qp.QuadraticProgram(np.eye(1), [-3.0], [[1.0]], None, 2.0, 0.0, None)
    answer = [[2.0], [1.0], [0.0]]
    assert residuals(program, *answer) == (0.0, 0.0, 0.0)
    answer[part] = [np.nan]
    assert residuals(program, *answer) == (np.inf, np.inf, np.inf)


@pytest.mark.parametrize("v, distance", [
    ([2.0, 1.0, 1.0], 0.0), ([-3.0, 0.0, 0.0], 3.0), ([0.0, 1.0], 0.5), ([-1.0, 1.0], 1.0), ([-1.0], 1.0),
    ([1.0], 0.0), ([0.0], 0.0), ([0.0, 0.0, 0.0], 0.0), ([5.0, 3.0, 4.0], 0.0),
    ([0.0, 1.0, 1.0], np.sqrt(2) / (1 + np.sqrt(2))),
    ([5.0, 3.0, 4.0 + 2.0**-50], 2.0**-50 * 0.8 / 2.4), ([0.0, 3e200, 4e200], (7 - np.sqrt(24)) * 1e200),
])  # fmt: skip
def test_distance_from_a_second_order_cone(v, distance):
    v, cones = np.array(v), [socp.SecondOrder(len(v))]
    found = distances(Exact.of(v), cones)
    assert found[0] == pytest.approx(distance, rel=1e-9, abs=0.0) and not found[1:].any()
    if not 0.0 < distance < 1e-12:  # too small for double precision
        assert cone_distance(v, cones) == pytest.approx(distance, rel=1e-6, abs=0.0)


THOUSAND = 1e3 * (1.0 - 1e-4)  # plus -1e3 leaves -0.1, 1e-4 of the terms


@pytest.mark.parametrize(
    "program, x, y, z, error",
    [  # expected: residual / size of its terms
        (socp.ConeProgram([0.0], [[-1e3], [THOUSAND]], [-1.0, 0.0], [socp.NonNeg(2)]), None, [], [1, 1], 1e-4),
        (socp.ConeProgram([0.0], A=[[-1e3], [THOUSAND]], b=[-1.0, 0.0]), None, [1, 1], [], 1e-4),
        (socp.ConeProgram([0.0], [[-1e-3], [1e-6 * THOUSAND]], [-1.0, 0.0], [socp.NonNeg(2)]), None, [], [1, 1], 1e-4),
        (socp.ConeProgram([0.0], A=[[-1e-3], [1e-6 * THOUSAND]], b=[-1.0, 0.0]), None, [1, 1], [], 1e-4),
        (socp.ConeProgram([0.0], [[-1e-3]], [-1.0], [socp.NonNeg(1)], [[1e-5]], [0.0]), None, [99], [1], 0.01 / 1.99),
        (qp.QuadraticProgram(None, [0.0], [[1e3]], 1.0, None, None, 0.0), None, [-1.0], [THOUSAND], 5.00025e-5),
        (qp.QuadraticProgram(None, [0.0], [[1e-3]], 1.0, None, None, 0.0), None, [-1.0], [1e-6 * THOUSAND], 5.00025e-5),
        (socp.ConeProgram([-1.0], P=[[1e-7]]), [1.0], None, None, 1.0),
        (socp.ConeProgram([-1.0, 0.0], P=np.diag([1e-7, 1e-3])), [1.0, 0.0], None, None, 1e-4),
        (socp.ConeProgram([-1.0, 0.0], A=[[1e-7, 1e-3]], b=[0.0]), [1.0, 0.0], None, None, 1e-4),
        (socp.ConeProgram([-1.0, 0.0], [[1e-7, 1e-3]], [0.0], [socp.NonNeg(1)]), [1.0, 0.0], None, None, 1e-4),
        (socp.ConeProgram([-1.0, 0.0], [[0.5, 1e3]], [0.0], [socp.NonNeg(1)]), [1.0, 0.0], None, None, 5e-4),
        (qp.QuadraticProgram(None, [-1.0, 0.0], [[1e-7, 1e-3]], 0.0, 0.0), [1.0, 0.0], None, None, 1e-4),
        (qp.QuadraticProgram(None, [-1.0, 0.0], ub=[5.0, 5.0]), [1.0, 0.0], None, None, 1.0),
    ],
)  # fmt: skip
def test_a_certificate_is_as_wrong_as_what_it_leaves_beside_its_terms(program, x, y, z, error):
    found = infeasibility(program, y, z) if x is None else unboundedness(program, x)
    told = verify(program, x, y, z)
    assert found == pytest.approx((-1.0, error), rel=1e-6)
    assert (told.primal_infeasible if x is None else told.dual_infeasible) == pytest.approx(error, rel=1e-6)


def test_rows_that_always_hold_have_no_part_in_a_size():
    program = socp.ConeProgram([0.0, 0.0], [[-1.0, -1.0], [7.0, 7.0]], [-0.5, np.inf], [socp.NonNeg(2)])
    primal = residuals(program, [0.25, 0.25 - 2.0**-20], [], [0.0, 0.0])[0]
    assert primal == pytest.approx(2.0**-20 / 1.5, rel=1e-9)
