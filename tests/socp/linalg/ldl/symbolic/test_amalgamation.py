"""The model of a panel's work, against its sum."""

import pytest

from socp.linalg.ldl.symbolic.amalgamation import panel_flops


@pytest.mark.parametrize(("width", "height"), [(1, 0), (1, 7), (4, 0), (5, 12), (40, 3)])
def test_the_operations_of_a_panel_are_their_sum(width, height):
    assert panel_flops(width, height) == sum(c * (c + 2) for c in range(height, height + width))
