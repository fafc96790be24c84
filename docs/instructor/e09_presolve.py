"""Presolve: what can be left out of a linear program before it is solved (chapter: presolve)."""

import numpy as np


def presolve(lp: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    A, l, u = lp["A"].copy(), lp["l"].copy(), lp["u"].copy()
    lb, ub = lp["lb"].copy(), lp["ub"].copy()
    rows, kept, x = np.ones(len(A), bool), np.ones(A.shape[1], bool), np.full(A.shape[1], np.nan)
    if (l > u + 1e-9).any():
        raise ValueError(f"row {(l - u).argmax()} has the sides {l} and {u}")
    changed = True
    while changed:
        changed = False
        for i in np.flatnonzero(rows):
            (entries,) = np.nonzero((A[i] != 0.0) & kept)
            if entries.size == 0 and (l[i] > 1e-9 or u[i] < -1e-9):
                raise ValueError(f"row {i} has no entries, but sides {l[i]} and {u[i]}")
            if entries.size == 1:
                (j,) = entries
                sides = [l[i] / A[i, j], u[i] / A[i, j]][:: 1 if A[i, j] > 0.0 else -1]
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
