"""The scaling of an iteration, as a KKT solver of the caller receives it."""

from __future__ import annotations

import numpy as np


class Scaling:
    """W^2 of one iteration, in the units and the order of the rows of the caller's G.

    On a row of an orthant W^2 is the number s_i / z_i.  On a second-order cone it is eta^2 (2 w w' - J) with
    J = diag(1, -1, ..., -1).  A row with an infinite side has W^2 = inf: its dz is 0.

    Attributes
    ----------
    weights : array, shape (m,)
        1 / W_ii^2 of the rows of orthants, 0 where the side is infinite; NaN in rows of second-order cones.
    cones : list of (rows, eta, w)
        The second-order cones: the rows of each, a number and a vector.

    Examples
    --------
    Minimize 1/2 x'Px + c'x, x >= 0, with P = diag(d) + f f' that is never factored:

    >>> import numpy as np, socp
    >>> d, f = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5])
    >>> def kkt(scaling):
    ...     D = d + scaling.weights  # G = -I: P + G'W^-2 G = diag(D) + f f'
    ...     def solve(r1, r2, r3):
    ...         r = (r1 - scaling.divide(r3)) / D  # G'W^-2 r3 = -W^-2 r3
    ...         dx = r - f / D * (f @ r) / (1.0 + f @ (f / D))
    ...         return dx, np.zeros(0), scaling.divide(-dx - r3)
    ...     return solve
    >>> program = socp.ConeProgram(c=[-1.0, 1.0, -1.0], G=-np.eye(3), h=np.zeros(3), cones=[socp.NonNeg(3)],
    ...                            P=np.diag(d) + np.outer(f, f))
    >>> solution = socp.solve(program, kkt=kkt)
    >>> print(solution.status.value, solution.x.round(6) + 0.0)
    optimal [0.44 0.   0.24]
    """

    def __init__(
        self, rows: np.ndarray, ptr: np.ndarray, l: int, w: np.ndarray, tails: np.ndarray, eta: np.ndarray, size: int
    ) -> None:
        self.weights = np.zeros(size)
        self.weights[rows[:l]] = w**-2.0
        self.cones = []
        for k in range(ptr.size - 1):
            where = rows[ptr[k] : ptr[k + 1]]
            self.weights[where] = np.nan
            self.cones.append((where, float(eta[k]), tails[ptr[k] - l : ptr[k + 1] - l]))

    def divide(self, v: np.ndarray) -> np.ndarray:
        """Return W^-2 v for a vector of m entries, or a matrix of m rows."""
        out = (self.weights * v.T).T
        for rows, eta, w in self.cones:
            reflected = np.concatenate([w[:1], -w[1:]])
            out[rows] = self._block(reflected, v[rows]) / eta**2
        return out

    def multiply(self, v: np.ndarray) -> np.ndarray:
        """Return W^2 v for a vector of m entries, or a matrix of m rows; infinite sides give inf, or NaN for 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            out = (v.T / self.weights).T
        for rows, eta, w in self.cones:
            out[rows] = self._block(w, v[rows]) * eta**2
        return out

    @staticmethod
    def _block(w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return (2 w w' - J) v."""
        product = np.multiply.outer(w, 2.0 * (w @ v)) + v
        product[0] -= 2.0 * v[0]
        return product
