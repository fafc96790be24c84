r"""Maximum entropy discrimination in score spaces (Jaakkola, Meila and Jebara 1999; Li et al. 2013).

With f_t = y_t phi_t, the rows of F, the program

    max  sum_t s_t (a lam_t + log(1 - lam_t / c)) - 1/2 |F'(s lam)|^2   s.t.   0 <= lam < c

has no quadratic objective.  A quadratic one results if E[gamma_t] = a - 1 / (c - lam_t), the slope of its terms in
lam_t, is fixed, another one if the logarithms are replaced by their second-order models.
"""

from __future__ import annotations

import numpy as np

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
