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

from socp.lowrank import LowRank
from socp.program import ConeProgram, NonNeg

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
        A, P = program.A, program.P
        if self.fixed.size:
            A = A[:, self.free]
            P = _submatrix(P, self.free)
        rows = A.tocsr() if self.equal.size < program.m or self.upper.size or self.lower.size else A
        identity = sp.eye_array(self.free.size, format="csr")
        blocks = [rows[self.upper], -rows[self.lower], identity[self.above], -identity[self.below]]
        G = sp.vstack([block for block in blocks if block.shape[0]], format="csc") if h.size else None
        equalities = (rows[self.equal], b) if b.size else (None, None)
        return ConeProgram(
            c=c, G=G, h=h if h.size else None, cones=[NonNeg(h.size)] if h.size else None,
            A=equalities[0], b=equalities[1], P=P, offset=offset,
        )  # fmt: skip

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


def _submatrix(P, keep: np.ndarray):
    if P is None:
        return None
    if isinstance(P, LowRank):
        return LowRank(P.F[keep], P.d[keep])
    if isinstance(P, np.ndarray):
        return P[np.ix_(keep, keep)]
    return P[keep][:, keep]
