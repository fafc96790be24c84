"""A positive semidefinite matrix given as diagonal plus low rank."""

from __future__ import annotations

import numpy as np

from .checks import ArrayLike, Number, ProgramError, all_finite, as_dense, as_vector, check_finite


class LowRank:
    r"""The matrix :math:`P = F F^\top + \mathrm{diag}(d)`, never formed.

    Parameters
    ----------
    F : array_like, shape (n, k)
        The factor, k usually far below n.
    d : array_like, shape (n,), or float, default 0
        The diagonal part, each entry nonnegative.

    Examples
    --------
    >>> import numpy as np
    >>> P = LowRank(np.array([[1.0], [2.0]]), 0.5)
    >>> P.toarray()
    array([[1.5, 2. ],
           [2. , 4.5]])
    """

    def __init__(self, F: ArrayLike, d: ArrayLike | Number = 0.0) -> None:
        self.F = as_dense("F", F)
        n = self.F.shape[0]
        self.d = as_vector("d", d, n, " (the rows of F)", spread=True)
        check_finite("d", self.d)
        if n and self.d.min() < 0:
            raise ProgramError(f"d must be nonnegative, but d[{int(self.d.argmin())}] = {self.d.min():g}")
        with np.errstate(over="ignore"):
            diagonal = self.diagonal()  # by Cauchy and Schwarz no entry of the matrix is larger than all of these
        if not all_finite(diagonal):
            i = int(np.flatnonzero(~np.isfinite(diagonal))[0])
            raise ProgramError(f"F F' + diag(d) must be within double precision, but entry [{i}, {i}] is not")

    @property
    def shape(self) -> tuple[int, int]:
        n = self.F.shape[0]
        return n, n

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return self.F @ (self.F.T @ x) + (self.d * x.T).T

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.F, self.F) + self.d

    def toarray(self) -> np.ndarray:
        return self.F @ self.F.T + np.diag(self.d)

    def __repr__(self) -> str:
        n, k = self.F.shape
        return f"LowRank(n={n}, rank={k})"
