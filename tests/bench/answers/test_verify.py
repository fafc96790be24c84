"""The verifier compared with residuals computed by hand, and on wrong answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qp
import socp
from bench.answers.verify import cone_distance, largest_entry, verify


def halfline():
    """Return min 2x + 10 subject to x >= 3, with the solution x = 3, z = 2."""
    return socp.ConeProgram(c=[2.0], G=[[-1.0]], h=[-3.0], cones=[socp.NonNeg(1)], offset=10.0)


def test_the_test_is_relative_to_the_sizes_in_the_program():
    large = socp.ConeProgram(c=[2.0], G=[[-1.0]], h=[-3e6], cones=[socp.NonNeg(1)])
    assert verify(large, [3e6 - 1e-3], [], [2.0]).solved(1e-9)
    found = verify(halfline(), [3.0 - 1e-3], [], [2.0])
    assert not found.solved(1e-9) and found.solved(found.worst)


def test_what_evaluation_may_lose_to_rounding_is_excused_and_no_more():
    # terms of 1e12 cancel: the error of their sum is about 1e-4
    program = socp.ConeProgram(c=[0.0, 0.0], A=[[1e12, -1e12]], b=[0.0])
    assert verify(program, [1.0 + 2e-15, 1.0], [0.0], []).primal == 0.0
    assert verify(program, [1.0 + 2e-12, 1.0], [0.0], []).primal > 0.1
    row = socp.ConeProgram([0.0], [[1.0]], [1e12], [socp.NonNeg(1)])  # h - Gx of two terms of 1e12
    for off, excused in ((4e-14, True), (2e-12, False)):
        assert (verify(row, [1e12 * (1.0 + off)], [], [0.0]).primal_cone == 0.0) is excused
    for program, z in (  # A'y + z, or A'y + G'z, of terms of 1e12 / 3
        (qp.QuadraticProgram(None, [0.0], [[1e12]], 0.0, 0.0, 0.0), -1e12 / 3.0),
        (socp.ConeProgram([0.0], [[-1.0]], [0.0], [socp.NonNeg(1)], [[1e12]], [0.0]), 1e12 / 3.0),
    ):
        found = [verify(program, [0.0], [1.0 / 3.0], [z * (1.0 + off)]).dual for off in (2e-15, 2e-12)]
        assert found[0] == 0.0 and found[1] > 0.1


def test_without_a_hessian_no_ray_is_excused():
    program = socp.ConeProgram([1.0, 0.0], A=[[0.0, 1.0]], b=[0.0])
    assert largest_entry(program.P) == 0.0 and largest_entry(socp.LowRank([[3.0], [-1.0]], [0.5, 2.0])) == 9.5
    assert verify(program, [-1.0, 0.0], [0.0], []).dual_infeasible == 0.0


def test_a_wrong_length_is_an_error():
    for name, x, z in (("x", [3.0, 0.0], [2.0]), ("z", [3.0], [2.0, 0.0])):
        with pytest.raises(socp.ProgramError, match=f"{name} must have 1 entries"):
            verify(halfline(), x, [], z)


def test_an_empty_part_may_be_none():
    assert verify(halfline(), [3.0], None, [2.0]).worst == 0.0


def test_a_certificate_lost_in_rounding_does_not_pass():
    # the slope is the difference of two terms of 1e12, with rounding errors of about 1e-2
    program = socp.ConeProgram(c=[0.0], A=[[0.0], [0.0]], b=[1e12, 1e12 + 1e-2])
    assert verify(program, None, [1.0, -1.0], []).primal_infeasible == np.inf
    program = socp.ConeProgram(c=[0.0], A=[[0.0], [0.0]], b=[1e12, 1e12 + 10.0])
    found = verify(program, None, [1.0, -1.0], [])
    assert found.primal_infeasible == found.certificate == 0.0 < found.dual_infeasible


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
