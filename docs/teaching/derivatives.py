"""The derivative of the solution of a quadratic program by its data, from the optimality conditions.

    minimize 1/2 x'Px + q'x   subject to   Ax = b,  Gx + s = h,  s >= 0       (multipliers y of A, z >= 0 of G)

At a strictly complementary solution (s_i > 0 or z_i > 0, each i) small changes leave the active rows G_a as they are:

    [ P    A'  G_a' ] [ dx   ]       [ dP x + dq + dA'y + dG'z ]
    [ A    0   0    ] [ dy   ]  =  - [ dA x - db               ]
    [ G_a  0   0    ] [ dz_a ]       [ dG_a x - dh_a           ]

The matrix is symmetric, so the reverse derivative (of a number by all data) is a solve with this matrix, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import socp
from socp.textbook.switches import dense


@dataclass
class Change:
    """A change of the data; data that are None do not change."""

    P: np.ndarray | None = None
    q: np.ndarray | None = None
    A: np.ndarray | None = None
    b: np.ndarray | None = None
    G: np.ndarray | None = None
    h: np.ndarray | None = None


@dataclass
class Sensitivity:
    """The optimality conditions at a solution, ready to be differentiated.

    Parameters
    ----------
    program : socp.ConeProgram
        Program whose cones are all `NonNeg`.
    x, y, z : arrays
        Primal solution, multipliers of A, multipliers of G.

    Raises
    ------
    socp.ProgramError
        The matrix is singular: the solution has no derivative by all data.

    Examples
    --------
    The point of x >= 0 nearest to 3, by q = -3: it moves as q does, the other way.

    >>> program = socp.ConeProgram(c=[-3.0], P=[[1.0]], G=[[-1.0]], h=[0.0], cones=[socp.NonNeg(1)])
    >>> sensitivity = Sensitivity(program, np.array([3.0]), np.zeros(0), np.zeros(1))
    >>> sensitivity.forward(Change(q=np.array([1.0])))[0]
    array([-1.])
    >>> sensitivity.backward(np.array([1.0])).q
    array([-1.])
    """

    program: socp.ConeProgram
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    active: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        if not all(isinstance(cone, socp.NonNeg) for cone in self.program.cones):
            raise socp.ProgramError("a quadratic program, with NonNeg cones alone, is expected here")
        P, A, G = dense(self.program)
        self.active = self.z > self.program.h - G @ self.x  # of s_i and z_i, the larger one is positive
        G_a = G[self.active]
        n, rows = self.program.n, self.program.p + len(G_a)
        B = np.vstack([A, G_a])
        self.matrix = np.block([[P, B.T], [B, np.zeros((rows, rows))]])
        sizes = np.abs(np.linalg.eigvalsh(self.matrix))
        if sizes.min(initial=1.0) <= 1e-10 * sizes.max(initial=1.0):
            raise socp.ProgramError("the solution has no derivative: its optimality conditions are singular")
        self.ends = [n, n + self.program.p]

    def forward(self, change: Change) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (dx, dy, dz) for a change of the data."""
        x, y, z, active = self.x, self.y, self.z, self.active
        top, middle, bottom = np.zeros(x.size), np.zeros(y.size), np.zeros(z.size)
        if change.P is not None:
            top += change.P @ x
        if change.q is not None:
            top += change.q
        if change.A is not None:
            top += change.A.T @ y
            middle += change.A @ x
        if change.b is not None:
            middle -= change.b
        if change.G is not None:
            top += change.G.T @ z
            bottom += change.G @ x
        if change.h is not None:
            bottom -= change.h
        dx, dy, dz_active = np.split(
            np.linalg.solve(self.matrix, -np.concatenate([top, middle, bottom[active]])), self.ends
        )
        dz = np.zeros(z.size)
        dz[active] = dz_active
        return dx, dy, dz

    def backward(self, gradient: np.ndarray) -> Change:
        """Return the derivatives by all data of a number whose gradient by x is `gradient`."""
        x, y, z = self.x, self.y, self.z
        rhs = np.concatenate([gradient, np.zeros(len(self.matrix) - x.size)])
        u, v, w_active = np.split(np.linalg.solve(self.matrix, -rhs), self.ends)
        w = np.zeros(z.size)
        w[self.active] = w_active
        P = 0.5 * (np.outer(u, x) + np.outer(x, u))
        return Change(P, u, np.outer(y, u) + np.outer(v, x), -v, np.outer(z, u) + np.outer(w, x), -w)
