"""The large margin of hidden Markov models, by cutting planes (Sha and Saul 2007)."""

from __future__ import annotations

import numpy as np

import qp


def cutting_plane_program(cuts: np.ndarray, heights: np.ndarray, start: np.ndarray, C: float) -> qp.QuadraticProgram:
    r"""Return the dual of  min_w 1/2 |w - w_0|^2 + C max(0, max_k (g_k'w + h_k))  with w = w_0 - sum_k mu_k g_k.

    min  1/2 |sum_k mu_k g_k|^2 - sum_k mu_k (h_k + g_k'w_0)   s.t.   sum_k mu_k <= C,  mu >= 0

    The rows of `cuts` are the g_k, slopes of the sum of all sequences' losses in the log-potentials w of a hidden
    Markov model (Sha and Saul 2007); `heights` are the h_k and `start` is w_0.
    """
    p = qp.Blocks(mu=heights.size)
    p.minimize(mu=-(heights + cuts @ start), quadratic={"mu": cuts @ cuts.T})
    p.at_most(C, mu=np.ones((1, heights.size)))
    p.bounds(mu=(0.0, None))
    return p.program()
