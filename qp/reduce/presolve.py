"""A quadratic program made smaller before it is solved, and its multipliers afterwards.

    empty row       l <= 0 <= u                           left out, its multiplier is 0
    parallel rows   l <= a'x <= u,  l' <= s a'x <= u'     one row with the tighter sides; y' = y / s where it has them
    singleton row   l <= a x_j <= u                       bounds of x_j; y = z_j / a where these are tighter
    empty column    no entry in A nor in P                x_j at its better bound (any value between them when q_j = 0)

A variable with equal bounds counts as removed: its entries move to the sides, which leaves singleton or empty rows.
(`cone_form` substitutes the fixed variables.)  A multiplier that moves from a bound of x_j to its row i also acts, by
a_ik y_i, on the fixed variables k of that row; their z_k absorb it, in reverse order of fixing.

A contradiction (an empty row with 0 < l, bounds that cross) stays in the program, and the engine certifies it.
Sides of several rows that cross by a part of the tolerance are merged instead: the program has solutions within the
tolerance, and rounding would leave nothing of a certificate.  Sides l > u of one row or variable are equal here (see
`crossing`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from socp.linalg.csc import csc
from socp.problem.checks import INT
from socp.problem.settings import Settings

from ..problem.program import QuadraticProgram
from .removal import ROWS, Removed, find_empty, keep_rows, look_for_more, lower_multipliers, postsolve, remove_rows

CROSSING, MOST_CROSSING = 0.25, 1e-8  # sides may cross by min(CROSSING * tol, MOST_CROSSING), relatively


class Presolve:
    """Reductions of one program, and the presolved program.

    Parameters
    ----------
    program : QuadraticProgram
    wanted : bool
        If False, nothing is removed.
    slack : float
        Sides that cross by at most this, relative to their size, are merged; the merged row violates one of them.

    Attributes
    ----------
    program : QuadraticProgram
        The presolved program: all variables, with tighter bounds, and fewer rows; the given one if nothing was removed.
    kept : array of bool, shape (m,), or None
        True for rows that are kept; None if nothing was removed.
    fixed : int
        Number of variables without entries that are fixed at their better bound.
    """

    fixed = 0

    def __init__(self, program: QuadraticProgram, wanted: bool = True, slack: float = 0.0) -> None:
        self.program, self.wanted = program, wanted
        self.kept: np.ndarray | None = None
        self.removed: Removed | None = None
        A, found = program.A, 0
        if wanted:
            found = look_for_more(A.indptr, A.indices, A.data, program.l, program.u, program.lb, program.ub)
        if found & ROWS or (found and not program.hessian.has_full_diagonal()):
            self._reduce(program, bool(found & ROWS), slack)

    def _reduce(self, program: QuadraticProgram, has_rows: bool, slack: float) -> None:
        """Remove redundant rows if `has_rows`, and fix variables without entries."""
        A, l, u, lb, ub = program.A, program.l, program.u, program.lb, program.ub
        kept, left = np.ones(program.m, dtype=np.bool_), program.m
        if has_rows:
            removed = Removed(m=program.m, n=program.n, entries=A.data.size)
            removed.slack = slack
            left = remove_rows(A.indptr, A.indices, A.data, l, u, lb, ub, removed, kept)
            l, u, lb, ub = removed.l, removed.u, removed.lb, removed.ub
        self.fixed, lb, ub = fix_empty_columns(program, kept, lb, ub)
        if left < program.m:
            self.removed = removed
            A, l, u = rows_kept(A, kept, left), l[kept], u[kept]
        if left < program.m or self.fixed:
            self.kept = kept
            self.program = program.of_checked(**{**vars(program), "A": A, "l": l, "u": u, "lb": lb, "ub": ub})

    def with_objective(self, program: QuadraticProgram) -> Presolve | None:
        """Return the presolve of the program with another objective; None if the old objective has fixed variables."""
        if self.fixed:
            return None
        other = object.__new__(Presolve)
        other.__dict__.update(self.__dict__)
        other.program = program
        if self.kept is not None or program.are_crossed:
            other.program = program.of_checked(**{**vars(self.program), "q": program.q})
        return other

    def fits(self, other: Presolve) -> bool:
        """Return True if this presolve and `other` keep equal sets of rows."""
        if self.kept is None or other.kept is None:
            return self.kept is other.kept
        return np.array_equal(self.kept, other.kept)

    def lower(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (y, z_bounds) of the presolved program for multipliers of the given one: the inverse of `dual`."""
        if self.removed is None:
            return y, z
        rows, bounds = y.copy(), z.copy()
        lower_multipliers(self.removed, self.kept, rows, bounds)
        return rows[self.kept], bounds

    def dual(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (y, z_bounds) of the given program for multipliers y and z of the presolved program."""
        if self.removed is None:
            return y, z
        rows, bounds = np.zeros(self.removed.l.size), z.copy()
        rows[self.kept] = y
        postsolve(self.removed, rows, bounds)
        return rows, bounds


def presolve(program: QuadraticProgram, settings: Settings) -> Presolve:
    """Return the presolve of a program; sides may cross by a share of `tol`, or not at all if `tol_abs` is set."""
    if program.are_crossed:
        program = with_equal_sides(program, settings)
    slack = CROSSING * settings.tol if settings.tol_abs is None else 0.0
    return Presolve(program, settings.presolve, min(slack, MOST_CROSSING))


def beyond(lower: np.ndarray, upper: np.ndarray, settings: Settings) -> np.ndarray:
    """Return by how much sides cross beyond the tolerance: tol (1 + their size), and `tol_abs` if it is given."""
    most = settings.tol * (1.0 + np.minimum(np.abs(lower), np.abs(upper)))
    return lower - upper - (most if settings.tol_abs is None else np.minimum(most, settings.tol_abs))


def with_equal_sides(program: QuadraticProgram, settings: Settings) -> QuadraticProgram:
    """Return the program with equal sides where they cross within the tolerance: their mean, half the crossing off."""
    new = {}
    for names in (("l", "u"), ("lb", "ub")):
        lower, upper = (getattr(program, name) for name in names)
        at = np.flatnonzero(lower > upper)
        at = at[beyond(lower[at], upper[at], settings) <= 0.0]
        mean = 0.5 * lower[at] + 0.5 * upper[at]
        for name, side in zip(names, (lower, upper)):
            new[name] = side.copy()
            new[name][at] = mean
    are_crossed = bool((new["l"] > new["u"]).any() or (new["lb"] > new["ub"]).any())
    return program.of_checked(**{**vars(program), **new, "are_crossed": are_crossed})


def rows_kept(A: sp.csc_array, kept: np.ndarray, count: int) -> sp.csc_array:
    """Return the `count` rows of A that are kept."""
    indptr, indices, data = np.empty_like(A.indptr), np.empty_like(A.indices), np.empty_like(A.data)
    entries = keep_rows(kept, A.indptr, A.indices, A.data, indptr, indices, data)
    return csc(data[:entries], indices[:entries], indptr, (count, A.shape[1]))


def fix_empty_columns(
    program: QuadraticProgram, kept: np.ndarray, lb: np.ndarray, ub: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray]:
    """Fix variables without entries in A and P at their better finite bound; return their number, lb and ub."""
    A, found = program.A, np.empty(lb.size, INT)
    j = found[: find_empty(A.indptr, A.indices, A.data, kept, lb, ub, found)]
    j = j[~program.hessian.has_entries(j)] if j.size else j
    if not j.size:
        return 0, lb, ub
    best = np.select([program.q[j] > 0.0, program.q[j] < 0.0], [lb[j], ub[j]], np.clip(0.0, lb[j], ub[j]))
    j, best = j[np.isfinite(best)], best[np.isfinite(best)]
    lb, ub = lb.copy(), ub.copy()
    lb[j] = ub[j] = best
    return j.size, lb, ub
