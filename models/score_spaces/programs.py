r"""The quadratic programs of maximum entropy discrimination and of large-margin hidden Markov models.

Maximum entropy discrimination (Jaakkola, Meila and Jebara 1999; Li et al. 2013), f_t = y_t phi_t the rows of F:

    max  sum_t s_t (a l_t + log(1 - l_t / c)) - 1/2 |F'(s l)|^2   s.t.   0 <= l < c

has no quadratic objective; with E[gamma_t] = a - 1 / (c - l_t), the slope of its logarithms, held it has one, and with
their second-order models another one.
"""

from __future__ import annotations

import numpy as np

import qp

LARGEST_SHARE = 0.99  # of the way to c that a step of Newton's method may go


def med_program(P: np.ndarray | qp.LowRank, s: np.ndarray, margins: np.ndarray, c: float) -> qp.QuadraticProgram:
    """Li et al., eq. 19, with the bound of eq. 13:  min 1/2 |F'(s l)|^2 - sum_t s_t E[gamma_t] l_t,  0 <= l <= c.

    P : of |F'(s l)|^2 = l'P l.   s : the weights of the samples.   margins : E[gamma_t].
    """
    return qp.QuadraticProgram(P, -s * margins, lb=0.0, ub=c)


def med_newton_program(
    P: np.ndarray | qp.LowRank, s: np.ndarray, margins: np.ndarray, c: float, old: np.ndarray
) -> qp.QuadraticProgram:
    """A step of Newton's method from l0 = old, at which `margins` are E[gamma_t]; D = diag(s_t / (c - l0_t)^2).

    min  1/2 |F'(s l)|^2 + 1/2 (l - l0)'D (l - l0) - sum_t s_t E[gamma_t] l_t   s.t.   0 <= l <= l0 + 0.99 (c - l0)
    """
    D = s / (c - old) ** 2
    whole = qp.LowRank(P.F, P.d + D) if isinstance(P, qp.LowRank) else P + np.diag(D)
    return qp.QuadraticProgram(whole, -(s * margins + D * old), lb=0.0, ub=old + LARGEST_SHARE * (c - old))


def cutting_plane_program(cuts: np.ndarray, heights: np.ndarray, start: np.ndarray, C: float) -> qp.QuadraticProgram:
    r"""The dual of  min_w 1/2 |w - w_0|^2 + C max(0, max_k (g_k'w + h_k))  with w = w_0 - sum_k mu_k g_k.

    min  1/2 |sum_k mu_k g_k|^2 - sum_k mu_k (h_k + g_k'w_0)   s.t.   sum_k mu_k <= C,  mu >= 0

    The rows of `cuts` are the g_k, slopes of the sum of all sequences' losses in the log-potentials w (Sha and Saul
    2007); `heights` are the h_k and `start` is w_0.
    """
    p = qp.Blocks(mu=heights.size)
    p.minimize(mu=-(heights + cuts @ start), quadratic={"mu": cuts @ cuts.T})
    p.at_most(C, mu=np.ones((1, heights.size)))
    p.bounds(mu=(0.0, None))
    return p.program()
