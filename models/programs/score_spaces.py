r"""Maximum entropy discrimination in score spaces, and the large-margin machines of sequences, classes and topics.

Maximum entropy discrimination (Jaakkola, Meila and Jebara 1999; Li et al. 2013), f_t = y_t phi_t the rows of F:

    max  sum_t s_t (a lam_t + log(1 - lam_t / c)) - 1/2 |F'(s lam)|^2   s.t.   0 <= lam < c

has no quadratic objective.  A quadratic one results if E[gamma_t] = a - 1 / (c - lam_t), the slope of its terms in
lam_t, is fixed, another one if the logarithms are replaced by their second-order models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp

LARGEST_SHARE = 0.99  # largest part of the way to c that a Newton step may go


def med_program(P: np.ndarray | qp.LowRank, s: np.ndarray, margins: np.ndarray, c: float) -> qp.QuadraticProgram:
    """Return the program of Li et al., eq. 19, with the bound of eq. 13; |F'(s lam)|^2 = lam'P lam.

    `margins` holds the E[gamma_t].

    min  1/2 |F'(s lam)|^2 - sum_t s_t E[gamma_t] lam_t   s.t.   0 <= lam <= c
    """
    p = qp.Blocks(lam=s.size)
    p.minimize(lam=-s * margins, quadratic={"lam": P})
    p.bounds(lam=(0.0, c))
    return p.program()


def med_newton_program(
    P: np.ndarray | qp.LowRank, s: np.ndarray, margins: np.ndarray, c: float, old: np.ndarray
) -> qp.QuadraticProgram:
    """Return the program of a Newton step from lam0 = `old`; `margins` are E[gamma_t].

    min  1/2 |F'(s lam)|^2 + 1/2 (lam - lam0)'D (lam - lam0) - sum_t s_t E[gamma_t] lam_t
    s.t. 0 <= lam <= lam0 + 0.99 (c - lam0),   D = diag(s_t / (c - lam0_t)^2)
    """
    D = s / (c - old) ** 2
    p = qp.Blocks(lam=s.size)
    p.minimize(
        lam=-(s * margins + D * old),
        quadratic={"lam": qp.LowRank(P.F, P.d + D) if isinstance(P, qp.LowRank) else P + np.diag(D)},
    )
    p.bounds(lam=(0.0, old + LARGEST_SHARE * (c - old)))
    return p.program()


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


def crammer_singer_dual(P: Any, owner: np.ndarray, C: np.ndarray) -> qp.QuadraticProgram:
    r"""Return the dual of the multiclass machine of Crammer and Singer (2001), a row for each document d and class y.

    min  1/2 |eta|^2 + sum_d C_d xi_d   s.t.   (eta_{y_d} - eta_y)'z_d >= 1 - xi_d  for every other y,   xi >= 0
    min  1/2 mu'P mu - 1'mu   s.t.   sum_y mu_dy <= C_d,   mu >= 0

    `owner` holds d of each row (d, y).  If every document has one row, the constraints on sums become bounds.
    """
    p, alone = qp.Blocks(mu=owner.size), owner.size == C.size
    p.minimize(mu=-1.0, quadratic={"mu": P})
    if not alone:
        p.at_most(C, mu=sp.csr_array((np.ones(owner.size), (owner, np.arange(owner.size))), (C.size, owner.size)))
    p.bounds(mu=(0.0, C if alone else None))
    return p.program()
