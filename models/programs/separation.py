"""The linear program that tests whether classes are separable, for logistic regression and its hybrid."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp


def separation_program(margins: Any) -> qp.QuadraticProgram:
    """Return the program that counts how many of the inequalities M v >= 0 can be strict (Albert, Anderson 1984).

        max sum t   subject to   M v >= t,   0 <= t <= 1,

    with M = `margins` and the unknowns (v, t).  The optimal value is that number, since scaling v up raises every t
    that can be positive to 1.  If it is not zero, sum log(1 + exp(-M v)) has no minimum.
    """
    margins = sp.csr_array(margins)
    scale = abs(margins).max(axis=0).toarray().ravel()
    margins = margins @ sp.diags_array(1.0 / np.where(scale > 0.0, scale, 1.0))
    p = qp.Blocks(v=margins.shape[1], t=margins.shape[0])
    p.minimize(t=-1.0)
    p.at_least(0.0, v=margins, t=-1.0)
    p.bounds(t=(0.0, 1.0))
    return p.program()
