"""The minimax probability machine, of classes with known means and covariances (Lanckriet and others 2002)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import socp


def minimax_program(d: np.ndarray, roots: Sequence[Any]) -> socp.Blocks:
    """Return the program of the minimax probability machine (Lanckriet, El Ghaoui, Bhattacharyya and Jordan 2002).

    Of all distributions with means mu_i and covariances Sigma_i = R_i'R_i, d = mu_2 - mu_1,

        max  kappa   s.t.   -(w'mu_1 + b) >= kappa |R_1 w|,   w'mu_2 + b >= kappa |R_2 w|
        min  r_1 + r_2   s.t.   w'd = 1,   r_i >= |R_i w|

    keeps the share of wrong answers in either class at most 1 / (1 + kappa^2); kappa = 1 / (r_1 + r_2).
    """
    p = socp.Blocks(w=d.size, r=2)
    p.minimize(r=1.0)
    p.equal(1.0, w=d)
    for i, root in enumerate(roots):
        p.cone({"r": np.eye(2)[i]}, w=root)
    return p
