"""How far a step may go in a second-order cone (chapter: scaling)."""

import numpy as np


def longest_step(u: np.ndarray, du: np.ndarray) -> float:
    """The largest alpha >= 0 with u + alpha du in the second-order cone; inf where there is no end.

    u is in the interior.  Mind: det(u + alpha du) is quadratic in alpha, and its roots alone are not the answer; a
    direction along an edge of the cone makes the leading coefficient zero.
    """
    raise NotImplementedError
