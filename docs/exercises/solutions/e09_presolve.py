"""Presolve: what can be left out of a linear program before it is solved (chapter: presolve)."""

import numpy as np


def presolve(lp: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """(smaller program, x) of  minimize q'x,  l <= Ax <= u,  lb <= x <= ub;  `lp` has q, A, l, u, lb, ub.

    The smaller program is a dictionary with the same names.  Rows and variables that are left keep their order.  Sides
    and bounds may be infinite.

    Until nothing changes: a row with one entry becomes a bound of its variable and goes; a row without entries goes; a
    variable with lb = ub goes, its part moved into l and u (its part of the objective is dropped).  x has the values of
    the variables that went, and NaN for those that are left.  Raise ValueError where a side, or a pair of bounds,
    cannot be met (with a tolerance of 1e-9).  The data that came are not changed.
    """
    A, l, u = lp["A"].copy(), lp["l"].copy(), lp["u"].copy()
    lb, ub = lp["lb"].copy(), lp["ub"].copy()
    rows, kept, x = np.ones(len(A), bool), np.ones(A.shape[1], bool), np.full(A.shape[1], np.nan)
    changed = True
    while changed:
        changed = False
        for i in np.flatnonzero(rows):
            (entries,) = np.nonzero((A[i] != 0.0) & kept)
            if entries.size == 0 and (l[i] > 1e-9 or u[i] < -1e-9):
                raise ValueError(f"row {i} has no entries, but sides {l[i]} and {u[i]}")
            if entries.size == 1:
                (j,) = entries
                sides = np.sort([l[i] / A[i, j], u[i] / A[i, j]])
                lb[j], ub[j] = max(lb[j], sides[0]), min(ub[j], sides[1])
            if entries.size <= 1:
                rows[i], changed = False, True
        for j in np.flatnonzero(kept):
            if lb[j] > ub[j] + 1e-9:
                raise ValueError(f"variable {j} has the bounds {lb[j]} and {ub[j]}")
            if lb[j] >= ub[j]:
                l, u = l - A[:, j] * lb[j], u - A[:, j] * lb[j]
                x[j], kept[j], changed = lb[j], False, True
    small = {"q": lp["q"][kept], "A": A[np.ix_(rows, kept)], "l": l[rows], "u": u[rows], "lb": lb[kept], "ub": ub[kept]}
    return small, x
