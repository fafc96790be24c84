"""Sums and norms that are safe from overflow."""

import math

import numpy as np
import pytest

from socp.linalg.vectors import norm_tail


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-141, 1.0, 1e141, 1e160, 1e300])
def test_the_norm_of_a_tail_at_any_size(size):
    v = np.array([9.0, 7.0, 3.0 * size, -4.0 * size, 12.0 * size, 1.0])
    assert norm_tail(v, 1, 5) == pytest.approx(13.0 * size, rel=1e-14, abs=0.0)


def test_the_norm_of_a_tail_of_nothing_and_of_what_is_not_finite():
    assert norm_tail(np.array([5.0]), 0, 1) == 0.0 and norm_tail(np.zeros(4), 0, 4) == 0.0
    assert norm_tail(np.array([1.0, math.inf, 2.0]), 0, 3) == math.inf
