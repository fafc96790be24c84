"""A positive semidefinite matrix given as diagonal plus low rank."""

from __future__ import annotations

import numpy as np

from ..linalg.accurate import add_both, add_rows
from .checks import ArrayLike, Number, ProgramError, all_finite, as_dense, as_vector, check_finite
from .hessian import Hessian


class LowRank(Hessian):
    r"""The matrix :math:`P = F F^\top + \mathrm{diag}(d)`, never formed.

    Parameters
    ----------
    F : array_like, shape (n, k)
        Low-rank factor; k is usually far below n.
    d : array_like, shape (n,), or float, default 0
        Diagonal part, with nonnegative entries.

    Raises
    ------
    ProgramError
        F or d has another shape or is not finite, or an entry of d is negative.

    Examples
    --------
    >>> import numpy as np
    >>> P = LowRank(np.array([[1.0], [2.0]]), 0.5)
    >>> P.toarray()
    array([[1.5, 2. ],
           [2. , 4.5]])
    """

    source = property(lambda self: self)

    def __init__(self, F: ArrayLike, d: ArrayLike | Number = 0.0) -> None:
        self.F = as_dense("F", F)
        n = self.F.shape[0]
        self.d = as_vector("d", d, n, " (the rows of F)", spread=True)
        self.entries, self.rank = self.F.size + n, self.F.shape[1]
        check_finite("d", self.d)
        if n and self.d.min() < 0:
            raise ProgramError(f"d must be nonnegative, but d[{int(self.d.argmin())}] = {self.d.min():g}")
        with np.errstate(over="ignore"):
            diagonal = self.diagonal()  # By Cauchy and Schwarz, it has the largest absolute entry of P.
        if not all_finite(diagonal):
            i = int(np.flatnonzero(~np.isfinite(diagonal))[0])
            raise ProgramError(f"F F' + diag(d) must be within double precision, but entry [{i}, {i}] is not")

    @classmethod
    def of_checked(cls, F: np.ndarray, d: np.ndarray) -> LowRank:
        """Return F F' + diag(d) for `F` and `d` that were checked before; nothing is copied."""
        P = object.__new__(cls)
        P.F, P.d, P.entries, P.rank = F, d, F.size + d.size, F.shape[1]
        return P

    @property
    def shape(self) -> tuple[int, int]:
        n = self.F.shape[0]
        return n, n

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return self.F @ (self.F.T @ x) + (self.d * x.T).T

    def __repr__(self) -> str:
        n, k = self.F.shape
        return f"LowRank(n={n}, rank={k})"

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.F, self.F) + self.d

    def toarray(self) -> np.ndarray:
        return self.F @ self.F.T + np.diag(self.d)

    def accurate_product(self, x: np.ndarray) -> np.ndarray:
        n, k = self.F.shape
        out, inner, along = np.zeros(2 * n), np.zeros(2 * k), np.arange(n + 1)
        add_rows(self.F, x, inner[:k], inner[k:])
        add_both(along, along[:n], self.d, x, x, np.zeros(2 * n), out)
        add_rows(np.ascontiguousarray(self.F.T), inner[:k], out[:n], out[n:])
        out[n:] += self.F @ inner[k:]
        return out

    def sizes(self, x: np.ndarray) -> np.ndarray:
        F = np.abs(self.F)
        return F @ (F.T @ np.abs(x)) + np.abs(self.d * x)

    def among(self, which: np.ndarray) -> LowRank:
        return LowRank(self.F[which], self.d[which])

    def low_rank_form(self) -> tuple[np.ndarray, np.ndarray]:
        return self.F, self.d

    def scaled(self, D: np.ndarray, factor: float) -> LowRank:
        return LowRank.of_checked(np.sqrt(factor) * D[:, None] * self.F, factor * D * D * self.d)
