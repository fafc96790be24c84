"""Presolve: what can be left out of a linear program before it is solved (chapter: presolve).

May import numpy, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def presolve(lp: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return (smaller program, x) of  minimize q'x,  l <= Ax <= u,  lb <= x <= ub;  `lp` has q, A, l, u, lb, ub.

    The smaller program is a dictionary with the same names.  Rows and variables that are left keep their order.  Sides
    and bounds may be infinite.

    Until nothing changes: a row with one entry becomes a bound of its variable and goes; a row without entries goes; a
    variable with lb >= ub goes with the value of either, its part moved into l and u (its part of the objective is
    dropped).  x has the values of the variables that went, and NaN for those that are left.  Raise ValueError where
    l > u of a row, lb > ub of a variable, or l > 0 or u < 0 of a row without entries, by more than 1e-9.
    """
    raise NotImplementedError
