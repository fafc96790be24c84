"""A quadratic program as the cone program that the engine solves, and the way back.

    minimize 1/2 x'Px + q'x   subject to   l <= Ax <= u,  lb <= x <= ub

Fixed variables (lb = ub) are substituted; rows with l = u are equalities; every other finite side is one
row of the nonnegative orthant, in the order

    G = [ A_u; -A_l; I_ub; -I_lb ],   h = [ u; -l; ub; -lb ],

of which the engine's KKT system sees only the distinct rows of A: the two sides of a row share one, and
bounds none (see `socp.groups`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from socp.checks import as_csc
from socp.jit import kernel
from socp.lowrank import LowRank
from socp.program import ConeProgram, NonNeg
from socp.sparse import csc

from .program import QuadraticProgram


class ConicForm:
    """Which variables are free and which sides are rows, for one pattern of finite sides.

    Parameters
    ----------
    program : QuadraticProgram
    """

    def __init__(self, program: QuadraticProgram) -> None:
        self.masks = _masks(program)
        equal, upper, lower, fixed, above, below = self.masks
        self.equal, self.upper, self.lower = np.flatnonzero(equal), np.flatnonzero(upper), np.flatnonzero(lower)
        self.fixed, self.free = np.flatnonzero(fixed), np.flatnonzero(~fixed)
        self.above, self.below = np.flatnonzero(above[self.free]), np.flatnonzero(below[self.free])
        self.sizes = (self.upper.size, self.lower.size, self.above.size, self.below.size)

    def fits(self, program: QuadraticProgram) -> bool:
        """Whether the program has the same equalities, fixed variables and finite sides."""
        return all(np.array_equal(old, new) for old, new in zip(self.masks, _masks(program)))

    def vectors(self, program: QuadraticProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """c, b, h and the constant of the objective."""
        c, l, u, offset = program.q[self.free], program.l, program.u, program.offset
        if self.fixed.size:
            value = np.zeros(program.n)
            value[self.fixed] = program.lb[self.fixed]
            Pv = value * 0.0 if program.P is None else program.P @ value
            c = c + Pv[self.free]
            offset += 0.5 * float(value @ Pv) + float(program.q @ value)
            shift = program.A @ value
            l, u = l - shift, u - shift
        ub, lb = program.ub[self.free], program.lb[self.free]
        h = np.concatenate([u[self.upper], -l[self.lower], ub[self.above], -lb[self.below]])
        return c, l[self.equal], h, offset

    def program(self, program: QuadraticProgram) -> ConeProgram:
        """The cone program."""
        c, b, h, offset = self.vectors(program)
        P = _submatrix(program.P, self.free) if self.fixed.size else program.P
        cones = (NonNeg(h.size),) if h.size else ()
        return ConeProgram.of_checked(c, self._rows(program), h, cones, self._equalities(program), b, P, offset)

    def _equalities(self, program: QuadraticProgram) -> sp.csc_array:
        """The rows of A with equal sides, in the free variables."""
        n, none = self.free.size, np.zeros(0, dtype=np.int64)
        return _rows_by_column(program.A, self.free, (self.equal, none, none, none), (self.equal.size, n))

    def _rows(self, program: QuadraticProgram) -> sp.csc_array:
        """G in the free variables."""
        parts = (self.upper, self.lower, self.above, self.below)
        return _rows_by_column(program.A, self.free, parts, (sum(self.sizes), self.free.size))

    def primal(self, program: QuadraticProgram, x: np.ndarray, direction: bool = False) -> np.ndarray:
        """x of the quadratic program from that of the cone program (of a direction: fixed variables stay)."""
        full = np.zeros(program.n)
        full[self.free] = x
        if not direction:
            full[self.fixed] = program.lb[self.fixed]
        return full

    def dual(
        self, program: QuadraticProgram, x: np.ndarray | None, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(y, z_bounds) of the quadratic program; a fixed variable's multiplier is what stationarity leaves.

        With x = None, (y, z) is a certificate of infeasibility: the same without the objective's gradient.
        """
        rows, bounds = np.zeros(program.m), np.zeros(program.n)
        z_upper, z_lower, z_above, z_below = np.split(z, np.cumsum(self.sizes)[:-1])
        rows[self.equal] = y
        rows[self.upper] += z_upper
        rows[self.lower] -= z_lower
        bounds[self.free[self.above]] += z_above
        bounds[self.free[self.below]] -= z_below
        if self.fixed.size:
            gradient = program.A.T @ rows
            if x is not None:
                gradient = gradient + program.q + (0.0 if program.P is None else program.P @ x)
            bounds[self.fixed] = -gradient[self.fixed]
        return rows, bounds


def _masks(program: QuadraticProgram) -> tuple[np.ndarray, ...]:
    """(equal rows, upper sides, lower sides, fixed variables, upper bounds, lower bounds)."""
    equal, fixed = program.l == program.u, program.lb == program.ub
    return (
        equal,
        np.isfinite(program.u) & ~equal,
        np.isfinite(program.l) & ~equal,
        fixed,
        np.isfinite(program.ub) & ~fixed,
        np.isfinite(program.lb) & ~fixed,
    )


def _rows_by_column(A: sp.csc_array, free: np.ndarray, parts: tuple[np.ndarray, ...], shape: tuple[int, int]):
    """[ A_upper; -A_lower; I_above; -I_below ] in the free columns, for the four parts (upper, lower, above, below)."""
    upper, lower, above, below = parts
    indptr = np.zeros(shape[1] + 1, dtype=np.int64)
    place = np.zeros((2, A.shape[0] + shape[1]), dtype=np.int64)
    count_rows(A.indptr, A.indices, A.shape[0], free, upper, lower, above, below, place, indptr)
    indices, data = np.empty(indptr[-1], dtype=np.int64), np.empty(indptr[-1])
    stack_rows(A.indptr, A.indices, A.data, free, place, indptr, indices, data)
    return csc(data, indices, indptr, shape)


@kernel
def count_rows(A_indptr, A_indices, m, free, upper, lower, above, below, place, indptr):
    """place[0], place[1] := 1 + the row of the stacked matrix that row i of A, then variable j, is; 0 is none."""
    base = 1
    for part, side, first in ((upper, 0, 0), (lower, 1, 0), (above, 0, m), (below, 1, m)):
        for k in range(part.size):
            place[side, first + part[k]] = base + k
        base += part.size
    for j in range(free.size):
        indptr[j + 1] = indptr[j]
        for side in range(2):
            if place[side, m + j] > 0:
                indptr[j + 1] += 1
            for k in range(A_indptr[free[j]], A_indptr[free[j] + 1]):
                if place[side, A_indices[k]] > 0:
                    indptr[j + 1] += 1


@kernel
def stack_rows(A_indptr, A_indices, A_data, free, place, indptr, indices, data):
    """The entries of the stacked matrix, whose rows ascend in each column: all upper sides, then all lower ones."""
    m = place.shape[1] - free.size
    for j in range(free.size):
        at = indptr[j]
        for side in range(2):
            for k in range(A_indptr[free[j]], A_indptr[free[j] + 1]):
                if place[side, A_indices[k]] > 0:
                    indices[at] = place[side, A_indices[k]] - 1
                    data[at] = A_data[k] if side == 0 else -A_data[k]
                    at += 1
        for side in range(2):
            if place[side, m + j] > 0:
                indices[at] = place[side, m + j] - 1
                data[at] = 1.0 if side == 0 else -1.0
                at += 1


def _submatrix(P, keep: np.ndarray):
    if P is None:
        return None
    if isinstance(P, LowRank):
        return LowRank(P.F[keep], P.d[keep])
    if isinstance(P, np.ndarray):
        return P[np.ix_(keep, keep)]
    return as_csc("P", P[keep][:, keep])
