"""Whether a linear rule separates classes, as a linear program (Albert, Anderson 1984)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp


def separation_program(margins: Any) -> qp.QuadraticProgram:
    """How many of the inequalities M v >= 0, M the matrix of margins, can be strict together.

        max sum t   subject to   M v >= t,   0 <= t <= 1,

    with the unknowns (v, t).  The largest sum is that number: scaling v up brings every t that can be positive to 1.
    When it is not zero, sum log(1 + exp(-M v)) has no minimum.
    """
    margins = sp.csr_array(margins)
    count, size = margins.shape
    scale = abs(margins).max(axis=0).toarray().ravel()
    margins = margins @ sp.diags_array(1.0 / np.where(scale > 0.0, scale, 1.0))
    return qp.QuadraticProgram(
        None,
        np.r_[np.zeros(size), -np.ones(count)],
        A=sp.hstack([margins, -sp.eye_array(count)], format="csc"),
        l=np.zeros(count),
        lb=np.r_[np.full(size, -np.inf), np.zeros(count)],
        ub=np.r_[np.full(size, np.inf), np.ones(count)],
    )


def is_separable(solution: qp.Solution) -> bool:
    """What the solution of the program says: its optimal value is a whole number."""
    return bool(-solution.objective > 0.5)
