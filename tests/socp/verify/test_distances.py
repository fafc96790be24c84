"""Distances from cones minus possible rounding errors, and points that are moved to their bounds."""

import numpy as np
import pytest

import socp
from socp.problem.checks import as_csc
from socp.verify.distances import distance_from_cones, find_bounds, hold_to_bounds


@pytest.mark.parametrize("lost", [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
def test_a_cone_is_excused_by_the_largest_loss_of_its_rows(lost):
    start, second_order, nothing = np.array([0, 3]), np.array([True]), np.zeros(0)
    v = np.array([-1.0, 0.0, 0.0])  # at distance 1
    for factor, distance in ((1.0, 0.0), (0.51, 0.0), (0.49, 1.0)):
        found = np.zeros(2)
        distance_from_cones(start, second_order, v, nothing, factor * np.array(lost), nothing, found)
        assert found[0] == found[1] == distance


def test_bounds_are_the_rows_of_orthants_with_one_entry():
    G = as_csc("G", [[1.0, 2.0], [3.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 4.0], [5.0, 6.0]])
    G.data[-1], found = 0.0, np.zeros(6)  # a zero that is stored
    find_bounds(G.indices, G.data, np.array([0, 2, 4, 6]), np.array([False, True, False]), found)
    assert found.tolist() == [2.0, 1.0, 0.0, 0.0, 1.0, 1.0]


def bounded(G, h):
    G = np.array(G)
    return socp.ConeProgram(np.zeros(G.shape[1]), G, h, [socp.NonNeg(len(h))])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_the_most_by_which_a_bound_was_missed(order):
    program = bounded(2.0 * np.eye(3)[order], np.array([2.0, 4.0, 6.0])[order])  # x <= 1, 2, 3
    x, s = np.array([1.5, 4.0, 2.0]), np.full(3, np.nan)
    assert hold_to_bounds(program, x, s) == 4.0
    assert x.tolist() == [1.0, 2.0, 2.0] and s.tolist() == np.array([0.0, 0.0, 2.0])[order].tolist()


def test_slacks_of_bounds_that_cross_are_not_below_zero():
    x, s = np.array([0.5]), np.full(2, np.nan)
    assert hold_to_bounds(bounded([[1.0], [-1.0]], [0.0, -1.0]), x, s) == 1.0  # x <= 0 and x >= 1
    assert x.tolist() == [1.0] and s.tolist() == [0.0, 0.0]


def test_rows_that_are_no_bounds_are_left_alone():
    program = socp.ConeProgram(
        np.zeros(2), [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 0.0, 0.0], [socp.NonNeg(1), socp.SecondOrder(2)]
    )
    x, s = np.array([1.0, 2.0]), np.full(3, 7.0)
    assert hold_to_bounds(program, x, s) == 0.0 and x.tolist() == [1.0, 2.0] and s.tolist() == [7.0] * 3
