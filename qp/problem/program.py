"""Quadratic programs as the caller states them, checked on construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats
from socp.linalg.vectors import NO_VALUES
from socp.problem.checks import (
    ArrayLike,
    Number,
    ProgramError,
    all_finite,
    as_csc,
    as_number,
    as_vector,
    check_finite,
    check_no_nan,
)
from socp.problem.hessian import WithHessian
from socp.problem.lowrank import LowRank
from socp.problem.printing import html_table
from socp.problem.program import check_pair, no_rows
from socp.verify.constraints import TwoSidedRows, identity

NO_LOWER, NO_UPPER = -np.inf, np.inf  # values of absent sides


class QuadraticProgram(WithHessian):
    r"""A convex quadratic program with two-sided rows and bounds.

    .. math::
        \min_x \tfrac12 x^\top P x + q^\top x + \mathrm{offset} \quad
        \text{subject to } l \le A x \le u,\; lb \le x \le ub

    Parameters
    ----------
    P : sparse or dense matrix, shape (n, n), or `LowRank`, or None
        Symmetric and positive semidefinite up to rounding, also in fixed variables (see `socp.ConeProgram`); None is 0.
    q : array_like, shape (n,)
        The linear objective.
    A : sparse or dense matrix, shape (m, n), optional
        The rows.
    l, u : array_like, shape (m,), or float, optional
        Lower and upper sides of the rows, not both None where A has rows.  None, infinite values, and values of at
        least 1e20 in size mean that a row has no such side; equal sides make an equality.
    lb, ub : array_like, shape (n,), or float, optional
        Lower and upper bounds of the variables, absent as for `l` and `u`; equal bounds fix a variable.
    offset : float, default 0
        A constant of the objective.

    Attributes
    ----------
    are_crossed : bool
        Whether a lower side is above its upper side: the program is infeasible if it is so by more than `tol`.
    row_names, column_names : tuple of str, or None
        Names of the rows and variables of a program that was read from a file.

    Raises
    ------
    ProgramError
        A shape or value does not fit; the message names it.

    Examples
    --------
    >>> QuadraticProgram([[2.0]], [-4.0], lb=0.0, ub=1.0)
    QuadraticProgram(n=1, m=0)
    """

    are_crossed = False
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None

    def __init__(
        self,
        P: ArrayLike | LowRank | None,
        q: ArrayLike,
        A: ArrayLike | None = None,
        l: ArrayLike | Number | None = None,
        u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None,
        ub: ArrayLike | Number | None = None,
        offset: float = 0.0,
    ) -> None:
        self.q = as_vector("q", q)
        n = self.q.size
        self.take_hessian("P", P, n, "q")
        variables = f" ({n} variables in q)"
        self.A = no_rows(n) if A is None else as_csc("A", A, (None, n), variables)
        m: int = self.A.shape[0]
        check_rows(A, m, l, u)
        rows = " (the rows of A)"
        self.l = NO_VALUES if A is None else as_vector("l", l, m, rows, True, NO_LOWER)
        self.u = NO_VALUES if A is None else as_vector("u", u, m, rows, True, NO_UPPER)
        self.lb = as_vector("lb", lb, n, variables, True, NO_LOWER)
        self.ub = as_vector("ub", ub, n, variables, True, NO_UPPER)
        self._check_vectors()
        self.offset = as_number("offset", offset)

    def _check_vectors(self) -> None:
        """Make sides beyond 1e20 infinite; raise ProgramError for sides that can never hold, and unless q is finite."""
        if are_plain(self.q, self.l, self.u, self.lb, self.ub):
            self.are_crossed = False
            return
        check_finite("q", self.q)
        self.l, self.u = checked_sides(("l", "u"), self.l, self.u)
        self.lb, self.ub = checked_sides(("lb", "ub"), self.lb, self.ub)
        self.are_crossed = bool((self.l > self.u).any() or (self.lb > self.ub).any())

    def with_data(
        self, q: Any = None, l: Any = None, u: Any = None, lb: Any = None, ub: Any = None, **matrices: Any
    ) -> QuadraticProgram:
        """Return the program with other vectors, which are checked here, and with checked attributes of P and A."""
        program: QuadraticProgram = object.__new__(type(self))
        program.__dict__ = {**self.__dict__, **matrices}
        if q is not None:
            program.q = as_vector("q", q, self.q.size)
            if not all_finite(program.q):
                check_finite("q", program.q)
        if not l is u is lb is ub is None:
            variables = f" ({self.n} variables in q)"
            for name, side in {"l": l, "u": u, "lb": lb, "ub": ub}.items():
                if side is not None:
                    size, why = (self.m, " (the rows of A)") if name in "lu" else (self.n, variables)
                    setattr(program, name, as_vector(name, side, size, why, True))
            program._check_vectors()
        return program

    def plain(self) -> QuadraticProgram:
        """Return the program in the form that `qp.solve` takes: itself, unless a subclass keeps P in another form."""
        return self

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def m(self) -> int:
        """Number of rows."""
        return self.l.size

    @property
    def cost(self) -> np.ndarray:
        """Linear objective q, under the name that all programs share."""
        return self.q

    @property
    def constraints(self) -> tuple[TwoSidedRows, TwoSidedRows]:
        """Rows, where a row with one entry is a bound, and bounds; their multipliers are y and z_bounds."""
        return TwoSidedRows(self.A, self.l, self.u, 0.0, True), TwoSidedRows(identity(self.n), self.lb, self.ub)

    @property
    def sided_rows(self) -> np.ndarray:
        """Indices of the rows with a finite side."""
        return np.flatnonzero(np.isfinite(self.l) | np.isfinite(self.u))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, m={self.m})"

    def _repr_html_(self) -> str:
        bounds = int((np.isfinite(self.lb) | np.isfinite(self.ub)).sum())
        rows = {
            "variables": f"{self.n}, {bounds} with a bound",
            "rows": f"{self.m}, {self.A.nnz} entries",
            "P": repr(self.hessian),
        }
        return html_table("QuadraticProgram", rows)


def check_rows(A: Any, m: int, l: Any, u: Any) -> None:
    """Raise ProgramError if l or u is given without A, or an A with m > 0 rows without l and u."""
    if A is None and (l is not None or u is not None):
        raise ProgramError("l and u are the sides of the rows of A, but A is missing")
    if m > 0 and l is None and u is None:
        raise ProgramError("A came without the sides of its rows, l <= Ax <= u (as in OSQP): give l, u or both")


def checked_sides(names: tuple[str, str], lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both sides, infinite beyond 1e20 in size; raise ProgramError for NaN, and for +inf below or -inf above.

    Each may have a row for each program of a batch, or one row that all programs share.  Finite sides may cross.
    """
    if lower.shape == upper.shape and are_plain(NO_VALUES, lower.ravel(), upper.ravel(), NO_VALUES, NO_VALUES):
        return lower, upper
    for name, side in zip(names, (lower, upper)):
        check_no_nan(name, side[0] if side.ndim == 2 and len(side) == 1 else side)
    lower, upper = no_side_beyond(lower), no_side_beyond(upper)
    for name, side, never in zip(names, (lower, upper), (NO_UPPER, NO_LOWER)):
        bad = side == never
        if bad.any():
            raise ProgramError(f"{name}[{_first(bad)}] is {never}: that side can never hold")
    return lower, upper


def _first(bad: np.ndarray) -> str:
    """Return the index of the first bad entry as text, without the program's number if there is one row."""
    at = np.argwhere(bad)[0].tolist()
    return ", ".join(map(str, at[1:] if len(at) == 2 and len(bad) == 1 else at))


@kernel
def are_plain(q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats) -> bool:
    """Return True if q is finite and all sides are in order, each absent or well below 1e20 in size."""
    trap = 0.0  # 0 * inf and 0 * nan are NaN.
    for j in range(q.size):
        trap += 0.0 * q[j]
    for lower, upper in ((l, u), (lb, ub)):
        for i in range(lower.size):
            if not (abs(lower[i]) < 0.99e20 or lower[i] == -np.inf):
                return False
            if not (abs(upper[i]) < 0.99e20 or upper[i] == np.inf) or lower[i] > upper[i]:
                return False
    return trap == 0.0


def no_side_beyond(side: np.ndarray) -> np.ndarray:
    """Return `side` with entries of at least 1e20 in size made infinite; a file's 1e20 may have been rounded."""
    far = np.abs(side) >= 1e20 * (1 - 1e-9)
    return np.where(far, np.copysign(np.inf, side), side) if far.any() else side


def program_of_inequalities(
    P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any
) -> QuadraticProgram:  # fmt: skip
    """Return the program with A x = b, then G x <= h, as its rows; what is wrong is told in these names."""
    if P is not None and not isinstance(P, LowRank) and not sp.issparse(P):
        P = np.atleast_2d(P)
    rows, lower, upper, n = [], [], [], np.size(q)
    for name, matrix, side, sides in (("A", A, "b", b), ("G", G, "h", h)):
        check_pair(name, matrix, side, sides)
        if matrix is not None:
            rows.append(as_csc(name, matrix, (None, n), f" ({n} variables in q)"))
            upper.append(as_vector(side, sides, rows[-1].shape[0], f" (the rows of {name})"))
            check_no_nan(side, upper[-1])
            lower.append(upper[-1] if name == "A" else np.full(upper[-1].size, -np.inf))
    if not rows:
        return QuadraticProgram(P, q, lb=lb, ub=ub)
    return QuadraticProgram(P, q, sp.vstack(rows, format="csc"), np.concatenate(lower), np.concatenate(upper), lb, ub)
