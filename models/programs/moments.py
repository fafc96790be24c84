"""Second-order cone programs of classes that are known by their means and covariances."""

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


def biased_minimax_program(d: np.ndarray, roots: Sequence[Any], kappa: float) -> socp.Blocks:
    """Return the program of the minimum-error minimax machine (Huang, Yang, King, Lyu and Chan 2004).

    For a given `kappa` of the second class, the largest kappa_1 of the first class is minus the optimal value:

        max  kappa_1   s.t.   w'd >= kappa_1 |R_1 w| + kappa |R_2 w|
        min  kappa r - w'd   s.t.   r >= |R_2 w|,   1 >= |R_1 w|

    The minimum-error machine maximizes theta a(kappa_1) + (1 - theta) a(kappa), a(k) = k^2 / (1 + k^2) the least share
    of right answers in a class of prior probability theta or 1 - theta: a search over the one number `kappa`.
    """
    p = socp.Blocks(w=d.size, r=1)
    p.minimize(w=-d, r=kappa)
    p.cone(None, 1.0, w=roots[0])
    p.cone("r", w=roots[1])
    return p
