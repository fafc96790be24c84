"""A quadratic program as the cone program that the engine solves, and the way back.

    minimize 1/2 x'Px + q'x   subject to   l <= Ax <= u,  lb <= x <= ub

Fixed variables (lb = ub) are substituted; rows with l = u are equalities; every other finite side is one
row of the nonnegative orthant, in the order

    G = [ A_u; -A_l; I_ub; -I_lb ],   h = [ u; -l; ub; -lb ],

of which the engine's KKT system sees only the distinct rows of A: the two sides of a row share one, and
bounds none (see `socp.form.row_groups`).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from socp.compiled.jit import kernel
from socp.linalg.csc import csc
from socp.problem.checks import as_csc
from socp.problem.lowrank import LowRank
from socp.problem.program import ConeProgram, NonNeg, no_rows

from ..problem.program import QuadraticProgram

UPPER, LOWER, EQUAL = np.int64(1), np.int64(2), np.int64(4)  # kinds of rows and variables by their sides


class ConicForm:
    """Which variables are free and which sides are rows, for one pattern of finite sides.

    Parameters
    ----------
    program : QuadraticProgram
    """

    def __init__(self, program: QuadraticProgram) -> None:
        self.kinds = np.empty(program.m + program.n, dtype=np.int64)
        classify(program.l, program.u, program.lb, program.ub, self.kinds)
        self.equal, self.upper, self.lower, self.fixed, self.free, self.above, self.below = sort_sides(
            self.kinds, program.m
        )
        self.sizes = (self.upper.size, self.lower.size, self.above.size, self.below.size)

    def fits(self, program: QuadraticProgram) -> bool:
        """Whether the program has the same equalities, fixed variables and finite sides."""
        kinds = np.empty(program.m + program.n, dtype=np.int64)
        classify(program.l, program.u, program.lb, program.ub, kinds)
        return np.array_equal(kinds, self.kinds)

    def vectors(self, program: QuadraticProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """c, b, h and the constant of the objective."""
        q, l, u, offset = program.q, program.l, program.u, program.offset
        if self.fixed.size:
            value = np.zeros(program.n)
            value[self.fixed] = program.lb[self.fixed]
            Pv = value * 0.0 if program.P is None else program.P @ value
            offset += 0.5 * float(value @ Pv) + float(q @ value)
            q = q + Pv
            shift = program.A @ value
            l, u = l - shift, u - shift
        c, b, h = np.empty(self.free.size), np.empty(self.equal.size), np.empty(sum(self.sizes))
        gather_vectors(
            q, l, u, program.lb, program.ub, self.equal, self.upper, self.lower, self.free, self.above, self.below, c,
            b, h,
        )  # fmt: skip
        return c, b, h, offset

    def program(self, program: QuadraticProgram) -> ConeProgram:
        """The cone program."""
        c, b, h, offset = self.vectors(program)
        P = _submatrix(program.P, self.free) if self.fixed.size else program.P
        cones = (NonNeg(h.size),) if h.size else ()
        return ConeProgram.of_checked(c, self._rows(program), h, cones, self._equalities(program), b, P, offset)

    def _equalities(self, program: QuadraticProgram) -> sp.csc_array:
        """The rows of A with equal sides, in the free variables."""
        n, none = self.free.size, np.zeros(0, dtype=np.int64)
        if not self.equal.size:
            return no_rows(n)
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

    def point(
        self, program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(x, y, z, s) of the cone program from (x, y, z_bounds) of the quadratic program."""
        Ax, inside = program.A @ x, x[self.free]
        lb, ub, bounds = program.lb[self.free], program.ub[self.free], z[self.free]
        upper, lower, above, below = self.upper, self.lower, self.above, self.below
        multipliers = (y[upper], -y[lower], bounds[above], -bounds[below])
        slacks = (
            program.u[upper] - Ax[upper],
            Ax[lower] - program.l[lower],
            ub[above] - inside[above],
            inside[below] - lb[below],
        )
        return inside, y[self.equal], np.maximum(np.concatenate(multipliers), 0.0), np.concatenate(slacks)

    def dual(
        self, program: QuadraticProgram, x: np.ndarray | None, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(y, z_bounds) of the quadratic program; a fixed variable's multiplier is what stationarity leaves.

        With x = None, (y, z) is a certificate of infeasibility: the same without the objective's gradient.
        """
        rows, bounds = np.zeros(program.m), np.zeros(program.n)
        spread_multipliers(
            y, z, self.equal, self.upper, self.lower, self.free, self.above, self.below, rows, bounds
        )  # fmt: skip
        if self.fixed.size:
            gradient = program.A.T @ rows
            if x is not None:
                gradient = gradient + program.q + (0.0 if program.P is None else program.P @ x)
            bounds[self.fixed] = -gradient[self.fixed]
        return rows, bounds


@kernel
def classify(l, u, lb, ub, kinds):
    """kinds := for each row, then each variable, EQUAL for equal sides, else UPPER and LOWER where they are finite."""
    for i in range(kinds.size):
        j = i - l.size
        lower, upper = (l[i], u[i]) if j < 0 else (lb[j], ub[j])
        if lower == upper:
            kinds[i] = EQUAL
        else:
            kinds[i] = (UPPER if math.isfinite(upper) else 0) + (LOWER if math.isfinite(lower) else 0)


@kernel
def sort_sides(kinds, m):
    """(equal rows, upper sides, lower sides, fixed variables, free ones, upper and lower bounds of the free ones)."""
    counts = np.zeros(7, np.int64)
    lists = np.empty((7, kinds.size), np.int64)
    for i in range(kinds.size):
        first, index = (0, i) if i < m else (4, counts[4])  # a bound is known by the place of its free variable
        if kinds[i] == EQUAL:
            k = 0 if i < m else 3
            lists[k, counts[k]] = i if i < m else i - m
            counts[k] += 1
            continue
        for k in (first + 1, first + 2):
            if kinds[i] & (UPPER if k == first + 1 else LOWER):
                lists[k, counts[k]] = index
                counts[k] += 1
        if i >= m:
            lists[4, counts[4]] = i - m
            counts[4] += 1
    return (
        lists[0, : counts[0]].copy(), lists[1, : counts[1]].copy(), lists[2, : counts[2]].copy(),
        lists[3, : counts[3]].copy(), lists[4, : counts[4]].copy(), lists[5, : counts[5]].copy(),
        lists[6, : counts[6]].copy(),
    )  # fmt: skip


@kernel
def gather_vectors(q, l, u, lb, ub, equal, upper, lower, free, above, below, c, b, h):
    """c := q of the free variables, b := the equal sides, h := (u, -l, ub, -lb) where they are finite."""
    for j in range(free.size):
        c[j] = q[free[j]]
    for i in range(equal.size):
        b[i] = l[equal[i]]
    at = 0
    for i in range(upper.size):
        h[at + i] = u[upper[i]]
    at += upper.size
    for i in range(lower.size):
        h[at + i] = -l[lower[i]]
    at += lower.size
    for j in range(above.size):
        h[at + j] = ub[free[above[j]]]
    at += above.size
    for j in range(below.size):
        h[at + j] = -lb[free[below[j]]]


@kernel
def spread_multipliers(y, z, equal, upper, lower, free, above, below, rows, bounds):
    """rows and bounds += the multipliers of the sides, those of lower ones negated."""
    for i in range(equal.size):
        rows[equal[i]] += y[i]
    at = 0
    for i in range(upper.size):
        rows[upper[i]] += z[at + i]
    at += upper.size
    for i in range(lower.size):
        rows[lower[i]] -= z[at + i]
    at += lower.size
    for j in range(above.size):
        bounds[free[above[j]]] += z[at + j]
    at += above.size
    for j in range(below.size):
        bounds[free[below[j]]] -= z[at + j]


def _rows_by_column(A: sp.csc_array, free: np.ndarray, parts: tuple[np.ndarray, ...], shape: tuple[int, int]):
    """[ A_upper; -A_lower; I_above; -I_below ] in the free columns, for the four parts (upper, lower, above, below)."""
    indptr, indices, data = rows_by_column(A.indptr, A.indices, A.data, A.shape[0], free, *parts)
    return csc(data, indices, indptr, shape)


@kernel
def rows_by_column(A_indptr, A_indices, A_data, m, free, upper, lower, above, below):
    """`_rows_by_column` as (indptr, indices, data)."""
    indptr, place = np.zeros(free.size + 1, np.int64), np.zeros((2, m + free.size), np.int64)
    count_rows(A_indptr, A_indices, m, free, upper, lower, above, below, place, indptr)
    indices, data = np.empty(indptr[free.size], np.int64), np.empty(indptr[free.size])
    stack_rows(A_indptr, A_indices, A_data, free, place, indptr, indices, data)
    return indptr, indices, data


@kernel
def count_rows(A_indptr, A_indices, m, free, upper, lower, above, below, place, indptr):
    """place[0], place[1] := 1 + the row of the stacked matrix that row i of A, then variable j, is; 0 is none."""
    base = 1
    for part, side, first in ((upper, 0, 0), (lower, 1, 0), (above, 0, m), (below, 1, m)):
        for k in range(part.size):
            place[side, first + part[k]] = base + k
        base += part.size
    for j in range(free.size):
        count = int(place[0, m + j] > 0) + int(place[1, m + j] > 0)  # in NumPy True + True is True
        for k in range(A_indptr[free[j]], A_indptr[free[j] + 1]):
            count += int(place[0, A_indices[k]] > 0) + int(place[1, A_indices[k]] > 0)
        indptr[j + 1] = indptr[j] + count


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
