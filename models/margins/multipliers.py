"""Kinds of multipliers of a margin's dual, with exact zeros and exact bounds."""

from __future__ import annotations

import numpy as np

NOT_SUPPORT, ON_MARGIN, INSIDE_MARGIN, WRONG_SIDE = range(4)
KINDS = np.array(["none", "margin", "inside", "wrong"])
SETTLED = 1e-10  # largest |y_i f(x_i) - 1| of a support vector on the margin


def tell_apart(
    alpha: np.ndarray, C: np.ndarray, violation: np.ndarray, largest: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kind of every multiplier, and alpha with exact zeros and exact C_i, otherwise unchanged.

    One of alpha_i and the surplus y_i f(x_i) - 1 must be zero, and one of C_i - alpha_i and the slack xi_i: the smaller
    of the two is taken as zero.  Multipliers are measured in units of the largest alpha (of `largest`, if several
    machines are passed together), surplus and slack in units of one.
    """
    unit = np.minimum(C, np.maximum(alpha.max(initial=0.0) if largest is None else largest, 1e-300))
    kinds = np.full(alpha.size, ON_MARGIN)
    kinds[alpha <= unit * np.maximum(-violation, 1e-9)] = NOT_SUPPORT
    kinds[(C - alpha <= unit * np.maximum(violation, 1e-9)) & (kinds == ON_MARGIN)] = INSIDE_MARGIN
    kinds[(kinds == INSIDE_MARGIN) & (violation > 1.0)] = WRONG_SIDE
    alpha = np.where(kinds == NOT_SUPPORT, 0.0, alpha)
    return kinds, np.where(kinds >= INSIDE_MARGIN, C, np.minimum(alpha, C))
