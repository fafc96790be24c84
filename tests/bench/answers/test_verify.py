"""The verifier against residuals worked out by hand, and against wrong answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar

import qp
import socp
from bench.answers.verify import cone_distance, verify


def halfline():
    """min 2x subject to x >= 3: x = 3, z = 2."""
    return socp.ConeProgram(c=[2.0], G=[[-1.0]], h=[-3.0], cones=[socp.NonNeg(1)], offset=10.0)


def disk():
    """min -x1 - x2 subject to ||x|| <= 1: x = (1, 1)/sqrt 2, z = (sqrt 2, -1, -1)."""
    G = [[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]]
    return socp.ConeProgram(c=[-1.0, -1.0], G=G, h=[1.0, 0.0, 0.0], cones=[socp.SecondOrder(3)])


def projection():
    """min 1/2 |x|^2 subject to x1 + x2 = 2: x = (1, 1), y = -1."""
    return socp.ConeProgram(c=[0.0, 0.0], A=[[1.0, 1.0]], b=[2.0], P=np.eye(2))


def box():
    """min 1/2 x1^2 - 3 x1 + x2 + 7 with 0 <= x1 <= 1, x2 >= -2, x1 - x2 <= 10 free below: x = (1, -2), z = (2, -1)."""
    return qp.QuadraticProgram(
        np.diag([1.0, 0.0]), [-3.0, 1.0], [[1.0, -1.0]], None, [10.0], [0.0, -2.0], [1.0, np.inf], offset=7.0
    )


ROOT = np.sqrt(0.5)
SOLVED = [
    (halfline(), [3.0], [], [2.0], 16.0),
    (disk(), [ROOT, ROOT], [], [2 * ROOT, -1.0, -1.0], -2 * ROOT),
    (projection(), [1.0, 1.0], [-1.0], [], 1.0),
    (box(), [1.0, -2.0], [0.0], [2.0, -1.0], 2.5),
]


@pytest.mark.parametrize("program, x, y, z, objective", SOLVED)
def test_solutions_by_hand_verify_to_rounding(program, x, y, z, objective):
    result = verify(program, x, y, z)
    assert result.worst <= 1e-15
    assert result.objective == pytest.approx(objective, abs=1e-14)
    assert result.dual_objective == pytest.approx(objective, abs=1e-14)
    assert not result.certified(1e-3)


@pytest.mark.parametrize("program, x, y, z, objective", SOLVED)
def test_any_change_of_any_entry_is_seen(program, x, y, z, objective):
    for k, part in enumerate((x, y, z)):
        for i in range(len(part)):
            for change in (1e-3, -1e-3):
                answer = [np.array(v) for v in (x, y, z)]
                answer[k][i] += change
                assert not verify(program, *answer).solved(1e-5)


def test_each_residual_of_a_cone_program_by_hand():
    # x = (3, 0) against sum 2; scale 1 + max(|b| = 2, |Ax| = 3) = 4; y = -1: Px + A'y = (2, -1), scale 1 + |Px| = 4
    result = verify(projection(), [3.0, 0.0], [-1.0], [])
    assert result.primal == pytest.approx(1 / 4)
    assert result.dual == pytest.approx(2 / 4)
    # objective 9/2, dual objective -9/2 + 2
    assert result.gap == pytest.approx((4.5 + 2.5) / (1 + 4.5))
    assert result.worst == result.gap
    # x = 1 against x >= 3: s = -2, scale 1 + max(|h| = 3, |Gx| = 1) = 4
    # z = -1: distance 1, c + G'z = 3, scale 1 + |c| = 3
    result = verify(halfline(), [1.0], [], [-1.0])
    assert result.primal_cone == pytest.approx(2 / 4)
    assert result.dual_cone == pytest.approx(1 / 3)
    assert result.dual == pytest.approx(3 / 3)


def test_each_residual_of_a_quadratic_program_by_hand():
    # x = (4, -9): x1 - x2 = 13 > 10, x1 > 1 by 3, x2 < -2 by 7; scales 1 + |Ax| = 14, 1 + |ub_1| = 2, 1 + |lb_2| = 3
    result = verify(box(), [4.0, -9.0], [0.5], [2.0, -1.0])
    assert result.primal == pytest.approx(3 / 14)
    assert result.primal_cone == pytest.approx(7 / 3)
    # Px + q + A'y + z = (4 - 3 + 0.5 + 2, 1 - 0.5 - 1), scale 1 + |Px| = 5
    assert result.dual == pytest.approx(3.5 / 5)
    assert result.objective == pytest.approx(8 - 12 - 9 + 7)
    # dual: -1/2 x'Px - u'y+ - ub'z+ + lb'z- = -8 - 10 * 0.5 - 1 * 2 + (-2) * 1, and the offset
    assert result.dual_objective == pytest.approx(-8 - 5 - 2 - 2 + 7)


def test_a_multiplier_on_an_infinite_side_is_dual_infeasible():
    program = box()
    assert verify(program, [1.0, -2.0], [-0.1], [2.0, -1.0]).dual_cone == pytest.approx(0.1 / 4)
    assert verify(program, [1.0, -2.0], [0.0], [2.0, 0.2]).dual_cone == pytest.approx(0.2 / 4)
    assert verify(program, [1.0, -2.0], [0.0], [2.0, -1.0]).dual_cone == 0.0


def test_a_multiplier_on_a_row_that_always_holds_is_dual_infeasible():
    program = socp.ConeProgram(c=[2.0], G=[[-1.0], [1.0]], h=[-3.0, np.inf], cones=[socp.NonNeg(2)])
    assert verify(program, [3.0], [], [2.0, 0.0]).worst == 0.0
    assert verify(program, [3.0], [], [2.3, 0.3]).dual_cone == pytest.approx(0.1)


def test_the_test_is_relative_to_the_sizes_in_the_program():
    large = socp.ConeProgram(c=[2.0], G=[[-1.0]], h=[-3e6], cones=[socp.NonNeg(1)])
    assert verify(large, [3e6 - 1e-3], [], [2.0]).solved(1e-9)
    assert not verify(halfline(), [3.0 - 1e-3], [], [2.0]).solved(1e-9)


def test_a_large_block_excuses_no_other():
    # x1 + x2 = 1 beside x3 <= 1e7: the equality misses by 1e-3, whatever the size of the bound
    equality = {"A": [[1.0, 1.0, 0.0]], "b": [1.0]}
    program = socp.ConeProgram(c=np.zeros(3), G=[[0.0, 0.0, 1.0]], h=[1e7], cones=[socp.NonNeg(1)], **equality)
    assert verify(program, [1.001, 0.0, 1e7], [0.0], [0.0]).primal == pytest.approx(1e-3 / 2.001)
    program = qp.QuadraticProgram(None, np.zeros(3), [[1.0, 1.0, 0.0]], 1.0, 1.0, None, [np.inf, np.inf, 1e7])
    result = verify(program, [1.001, 0.0, 1e7], [0.0], np.zeros(3))
    assert result.primal == pytest.approx(1e-3 / 2.001) and result.primal_cone == 0.0
    # nor does a side that is far away
    program = qp.QuadraticProgram(None, [0.0, 0.0], [[1.0, 1.0]], -1e9, 1.0)
    assert verify(program, [1.001, 0.0], [0.0], [0.0, 0.0]).primal == pytest.approx(1e-3 / 2.001)


def test_a_bound_is_held_to_its_own_size_whatever_is_beside_it():
    far, missed = [1e6, -1e-3], pytest.approx(1e-3)
    rows = sp.csc_array(([1.0, 1.0, 0.0, 1.0], ([0, 0, 1, 1], [0, 1, 0, 1])), (2, 2))  # of x1 + x2 and 0 x1 + x2
    rows.sort_indices()
    assert rows.nnz == 4
    bounds = qp.QuadraticProgram(None, [0.0, 0.0], lb=0.0)
    assert verify(bounds, far, [], [0.0, 0.0]).primal_cone == missed
    ranges = qp.QuadraticProgram(None, [0.0, 0.0], rows, 0.0)
    assert verify(ranges, far, [0.0, 0.0], [0.0, 0.0]).primal == missed
    orthant = socp.ConeProgram([0.0, 0.0], -rows, [0.0, 0.0], [socp.NonNeg(2)])
    assert verify(orthant, far, [], [0.0, 0.0]).primal_cone == pytest.approx(1e-3 / 1.001)  # of max(|h_i|, |(Gx)_i|)
    # a row of two entries, and a cone, are as large as their blocks
    for kind in (socp.NonNeg, socp.SecondOrder):
        two = socp.ConeProgram([0.0, 0.0], [[-1.0, 0.0], [-1e-12, -1.0]], [0.0, 0.0], [socp.NonNeg(1), kind(1)])
        assert verify(two, far, [], [0.0, 0.0]).primal_cone == pytest.approx(1e-9, rel=1e-2, abs=0.0)
    # a bound of 1e6 may be missed by as much more
    assert verify(qp.QuadraticProgram(None, [0.0], lb=1e6), [1e6 - 1e-3], [], [0.0]).primal_cone == pytest.approx(
        1e-9, rel=1e-3, abs=0.0
    )


def test_what_evaluation_may_lose_to_rounding_is_excused_and_no_more():
    # terms of 1e12 cancel: their sum is known to 1e-4 or so
    program = socp.ConeProgram(c=[0.0, 0.0], A=[[1e12, -1e12]], b=[0.0])
    assert verify(program, [1.0 + 2e-15, 1.0], [0.0], []).primal == 0.0
    assert verify(program, [1.0 + 2e-12, 1.0], [0.0], []).primal > 0.1


@pytest.mark.parametrize("program, x, y, z, objective", SOLVED)
@pytest.mark.parametrize("bad", [None, np.nan, np.inf])
def test_missing_or_broken_parts_never_pass(program, x, y, z, objective, bad):
    for k in range(3):
        answer = [np.array(v, dtype=float) for v in (x, y, z)]
        if answer[k].size == 0:
            continue
        if bad is None:
            answer[k] = None
        else:
            answer[k][0] = bad
        result = verify(program, *answer)
        assert result.worst == np.inf
        assert not result.certified(1e-3)


@pytest.mark.parametrize("program, x, y, z, objective", SOLVED)
def test_a_wrong_length_is_an_error(program, x, y, z, objective):
    for k, name in enumerate("xyz"):
        answer = [x, y, z]
        answer[k] = [*answer[k], 0.0]
        with pytest.raises(socp.ProgramError, match=f"{name} must have {len(answer[k]) - 1} entries"):
            verify(program, *answer)


def test_an_empty_part_may_be_none():
    assert verify(halfline(), [3.0], None, [2.0]).worst == 0.0


def test_low_rank_dense_and_sparse_hessians_agree():
    rng = np.random.default_rng(0)
    F, d = rng.normal(size=(5, 2)), rng.uniform(size=5)
    dense = F @ F.T + np.diag(d)
    x, y, z = rng.normal(size=5), rng.normal(size=2), rng.normal(size=5)
    A = rng.normal(size=(2, 5))
    results = [
        verify(qp.QuadraticProgram(P, np.ones(5), A, -1.0, 1.0, -1.0, 1.0), x, y, z)
        for P in (qp.LowRank(F, d), dense, sp.csc_array(dense))
    ]
    for result in results[1:]:
        assert result.worst == pytest.approx(results[0].worst, rel=1e-12, abs=0.0)
        assert result.dual_infeasible == pytest.approx(results[0].dual_infeasible, rel=1e-2, abs=0.0)


def test_primal_infeasibility_by_hand():
    # x >= 1 and x <= 0: z = (1, 1) has G'z = 0 and h'z = -1
    program = socp.ConeProgram(c=[0.0], G=[[-1.0], [1.0]], h=[-1.0, 0.0], cones=[socp.NonNeg(2)])
    assert verify(program, None, None, [1.0, 1.0]).primal_infeasible <= 1e-15
    assert verify(program, None, None, [1e7, 1e7]).primal_infeasible <= 1e-15  # any positive multiple
    assert verify(program, None, None, [1.1, 1.0]).primal_infeasible == pytest.approx(0.1 / 1.1)
    assert verify(program, None, None, [-1.0, -1.0]).primal_infeasible == np.inf  # the slope is positive
    assert verify(program, None, None, [0.0, 0.0]).primal_infeasible == np.inf
    assert not verify(program, None, None, [1.0, -1.0]).certified(1e-3)  # G'z != 0 and z not in K


def test_noise_in_a_certificate_is_held_against_the_data_and_not_against_itself():
    program = socp.ConeProgram(c=[0.0], G=[[0.0], [-1.0]], h=[-1.0, 0.0], cones=[socp.NonNeg(2)])  # 0'x <= -1
    assert verify(program, None, None, [1.0, 1e-9]).primal_infeasible == pytest.approx(1e-9)
    program = socp.ConeProgram(c=[0.0, -1.0], A=[[1.0, 0.0]], b=[0.0])
    assert verify(program, [1e-9, 1.0], None, None).dual_infeasible == pytest.approx(1e-9)


def test_primal_infeasibility_of_a_second_order_cone():
    # ||x|| <= 1/2 and x1 >= 1
    G = [[-1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]]
    program = socp.ConeProgram(c=[1.0, 1.0], G=G, h=[-1.0, 0.5, 0.0, 0.0], cones=[socp.NonNeg(1), socp.SecondOrder(3)])
    assert verify(program, None, None, [2.0, 2.0, -2.0, 0.0]).primal_infeasible <= 1e-15
    assert not verify(program, None, None, [2.0, 1.5, -2.0, 0.0]).certified(1e-2)  # outside of the cone


def test_dual_infeasibility_by_hand():
    # min -x1 in the cone ||x2|| <= x1
    program = socp.ConeProgram(c=[-1.0, 0.0], G=-np.eye(2), h=[0.0, 0.0], cones=[socp.SecondOrder(2)])
    assert verify(program, [5.0, 3.0], None, None).dual_infeasible <= 1e-15
    assert not verify(program, [5.0, 6.0], None, None).certified(1e-2)
    # a curved objective is bounded along its curved directions
    program = socp.ConeProgram(c=[-1.0, -1.0], P=np.diag([1.0, 0.0]))
    assert verify(program, [0.0, 2.0], [], []).certified(1e-15)
    assert not verify(program, [2.0, 0.0], [], []).certified(1e-2)


def test_certificates_of_quadratic_programs_by_hand():
    # x1 + x2 >= 3 with x <= 1: y = -1, z = (1, 1): A'y + z = 0 and -l y- + ub z+ = -3 + 2 = -1
    program = qp.QuadraticProgram(np.eye(2), [1.0, 1.0], [[1.0, 1.0]], 3.0, None, 0.0, 1.0)
    assert verify(program, None, [-1.0], [1.0, 1.0]).primal_infeasible <= 1e-14
    assert not verify(program, None, [1.0], [-1.0, -1.0]).certified(1e-2)  # multipliers on the other sides
    # x2 unbounded above, x1 held: min -x2
    program = qp.QuadraticProgram(np.diag([1.0, 0.0]), [0.0, -1.0], [[1.0, -1.0]], None, 4.0, 0.0, None)
    assert verify(program, [0.0, 1.0], None, None).dual_infeasible <= 1e-15
    assert not verify(program, [1.0, 1.0], None, None).certified(1e-2)  # curved
    assert not verify(program, [0.0, -1.0], None, None).certified(1e-2)  # out at the lower bound, and uphill


def test_a_direction_out_of_its_bounds_is_no_ray():
    for cost, bounds in ((-1.0, {"ub": 1.0}), (1.0, {"lb": -1.0}), (-1.0, {"lb": 0.0, "ub": 5.0})):
        program, x = qp.QuadraticProgram(None, [cost], **bounds), [-cost]
        assert verify(program, x, None, None).dual_infeasible == 1.0
        away = qp.QuadraticProgram(None, [-cost], **bounds)
        assert verify(away, [cost], None, None).dual_infeasible == (0.0 if len(bounds) == 1 else 1.0)


def test_a_certificate_lost_in_rounding_does_not_pass():
    # the slope is the difference of two terms of 1e12, whose rounding is some 1e-2
    program = socp.ConeProgram(c=[0.0], A=[[0.0], [0.0]], b=[1e12, 1e12 + 1e-2])
    assert verify(program, None, [1.0, -1.0], []).primal_infeasible == np.inf
    program = socp.ConeProgram(c=[0.0], A=[[0.0], [0.0]], b=[1e12, 1e12 + 10.0])
    assert verify(program, None, [1.0, -1.0], []).primal_infeasible == 0.0


def test_a_certificate_must_pass_the_absolute_and_the_backward_test():
    # slope -1 against terms of 1: a residual of 1e-6 is small against terms of 1e3, but it excludes only |x| < 1e6
    program = socp.ConeProgram(c=[0.0], A=[[1e3], [-1e3 + 1e-6]], b=[-1.0, 0.0])
    assert verify(program, None, [1.0, 1.0], []).primal_infeasible == pytest.approx(1e-6, rel=1e-3, abs=0.0)
    # tiny coefficients: the residual is small absolutely, but it is all there is
    program = socp.ConeProgram(c=[0.0], A=[[1e-9]], b=[-1.0])
    assert verify(program, None, [1.0], []).primal_infeasible == pytest.approx(1.0)


@pytest.mark.parametrize(
    "v, distance",
    [
        ([2.0, 1.0, 1.0], 0.0),
        ([-3.0, 0.0, 0.0], 3.0),
        ([0.0, 1.0], 0.5),
        ([-1.0, 1.0], 1.0),
        ([-1.0], 1.0),
        ([1.0], 0.0),
        ([0.0, 0.0, 0.0], 0.0),
        ([0.0, 1.0, 1.0], np.sqrt(2) / (1 + np.sqrt(2))),
        ([0.0, 3e200, 4e200], (7 - np.sqrt(24)) * 1e200),
    ],
)
def test_distance_from_a_second_order_cone(v, distance):
    assert cone_distance(np.array(v), [socp.SecondOrder(len(v))]) == pytest.approx(distance, rel=1e-6, abs=0.0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8))
def test_distance_is_the_smallest_change_that_leads_into_the_cone(values):
    v = np.array(values)
    distance = cone_distance(v, [socp.SecondOrder(v.size)])

    def excess(d):
        return np.linalg.norm(np.maximum(np.abs(v[1:]) - d, 0.0)) - v[0] - d

    assert excess(distance) <= 1e-12
    assert distance == 0.0 or excess(distance * (1 - 1e-9)) > -1e-12


def test_distance_is_over_all_cones_and_skips_empty_ones():
    cones = [socp.NonNeg(2), socp.NonNeg(0), socp.SecondOrder(0), socp.SecondOrder(2), socp.NonNeg(1)]
    assert cone_distance(np.array([1.0, -0.2, 0.0, 1.0, 3.0]), cones) == pytest.approx(0.5)
    assert cone_distance(np.array([1.0, -0.7, 0.0, 1.0, 3.0]), cones) == pytest.approx(0.7)
    assert cone_distance(np.array([1.0, np.nan, 2.0, 1.0, 3.0]), cones) == np.inf


def test_the_solution_of_a_linear_program_from_scipy_verifies():
    rng = np.random.default_rng(1)
    A, x0 = rng.normal(size=(6, 4)), rng.normal(size=4)
    u, q = A @ x0 + rng.uniform(size=6), rng.normal(size=4)
    result = linprog(q, A_ub=A, b_ub=u, bounds=[(-3, 3)] * 4)
    program = qp.QuadraticProgram(None, q, A, None, u, -3.0, 3.0)
    bounds = -(result.lower.marginals + result.upper.marginals)
    assert verify(program, result.x, -result.ineqlin.marginals, bounds).worst <= 1e-12
    assert verify(program, result.x, result.ineqlin.marginals, bounds).worst > 1e-3  # the other sign convention


def test_the_gap_is_seen_when_both_sides_are_feasible():
    program = halfline()
    result = verify(program, [4.0], [], [2.0])
    assert (result.primal, result.primal_cone, result.dual, result.dual_cone) == (0.0, 0.0, 0.0, 0.0)
    assert result.gap == pytest.approx(2 / 9)
    best = minimize_scalar(lambda t: verify(program, [t], [], [2.0]).worst, bounds=(0, 10), method="bounded").x
    assert best == pytest.approx(3.0, abs=1e-5)
