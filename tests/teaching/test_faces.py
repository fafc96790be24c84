"""The active-set method in a few lines finds what was built in, and counts."""

import numpy as np
import pytest

import socp
from docs.teaching import faces


@pytest.mark.parametrize("free", [0, 7, 20])
def test_it_finds_the_minimum_of_a_box_from_any_corner(free):
    P, q, x = faces.boxed_program(20, free)
    lower, upper = np.zeros(20), np.ones(20)
    for start in (lower, upper, 0.5 * upper):
        walk = faces.active_set(P, q, lower, upper, start)
        np.testing.assert_allclose(walk.x, x, atol=1e-8)
        assert len(walk.points) == len(walk.free) + 1 and walk.work == sum(k**3 for k in walk.free) / 3
        values = np.array([0.5 * point @ P @ point + q @ point for point in walk.points])
        assert (np.diff(values) <= 1e-12).all()
        assert all((point >= lower).all() and (point <= upper).all() for point in walk.points)
    again = faces.active_set(P, q, lower, upper, walk.x)
    assert len(again.free) <= 1


def test_a_limit_of_faces_is_told():
    P, q, _ = faces.boxed_program(20, 7)
    with pytest.raises(socp.ProgramError, match="no minimum was found on 2 faces"):
        faces.active_set(P, q, np.zeros(20), np.ones(20), np.zeros(20), max_faces=2)
