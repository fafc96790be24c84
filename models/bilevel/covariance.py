"""A covariance matrix as it is given: a multiple of the identity, a diagonal, or a full matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from socp import ProgramError

from ..base.validation import as_dense

SEMIDEFINITE = 1e-10  # relative to the largest eigenvalue of a full matrix: eigenvalues within +- this count as zero


class Covariance:
    r"""A symmetric positive semidefinite matrix S of order n; zero variances are allowed.

    Parameters
    ----------
    value : float, array_like of shape (n,) or (n, n)
        The variance of every coordinate, the diagonal, or the full matrix.  A full matrix that is diagonal is kept as
        its diagonal, and a constant diagonal as its one entry.
    n : int
        The order.
    name : str
        The name of the matrix in messages.

    Attributes
    ----------
    kind : "scalar", "diagonal" or "full"
    value : float or ndarray
    """

    def __init__(self, value: Any, n: int, name: str = "Sigma") -> None:
        try:
            array = np.array(as_dense(value), dtype=np.float64)
        except (TypeError, ValueError):
            raise ProgramError(f"{name} must be a number, a vector or a matrix, but {value!r} came") from None
        if array.shape not in ((), (n,), (n, n)):
            raise ProgramError(
                f"{name} must be a number, have shape ({n},) or ({n}, {n}) for {n} features, but {array.shape} came"
            )
        if not np.isfinite(array).all():
            raise ProgramError(f"{name} must be finite")
        if array.ndim == 2 and np.count_nonzero(array - np.diag(array.diagonal())) == 0:
            array = array.diagonal().copy()
        if array.ndim == 1 and (array == array[0]).all():
            array = array[0]
        self.n, self.name = n, name
        self.kind = ("scalar", "diagonal", "full")[array.ndim]
        if array.ndim < 2 and (array < 0.0).any():
            raise ProgramError(f"{name} must have nonnegative variances, but {array.min():g} came")
        self.value: Any = float(array) if array.ndim == 0 else array
        self.root: Any = self._root()

    def _root(self) -> Any:
        """Return R with R'R = S: a number, a diagonal as a vector, or a matrix with n columns."""
        if self.kind != "full":
            return np.sqrt(self.value)
        S = self.value
        if not np.allclose(S, S.T, rtol=0.0, atol=1e-10 * np.abs(S).max()):
            raise ProgramError(f"{self.name} must be symmetric")
        try:
            return np.ascontiguousarray(np.linalg.cholesky(S).T)
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(S)
        if values[0] < -SEMIDEFINITE * abs(values[-1]):
            raise ProgramError(f"{self.name} must be positive semidefinite, but it has the eigenvalue {values[0]:g}")
        kept = values > SEMIDEFINITE * values[-1]
        return np.sqrt(values[kept])[:, None] * vectors[:, kept].T

    def times(self, w: np.ndarray) -> np.ndarray:
        """Return S w."""
        return self.value @ w if self.kind == "full" else self.value * w

    def length(self, w: np.ndarray) -> float:
        """Return ||S^(1/2) w||."""
        return float(np.linalg.norm(self.root @ w if self.kind == "full" else self.root * w))

    def root_matrix(self) -> sp.csr_array:
        """Return R with R'R = S as a sparse matrix."""
        if self.kind == "full":
            return sp.csr_array(self.root)
        return sp.csr_array(sp.diags_array(np.broadcast_to(self.root, (self.n,))))

    def extreme_eigenvalues(self) -> tuple[float, float]:
        """Return the least eigenvalue, clipped at 0, and the greatest."""
        values = np.linalg.eigvalsh(self.value) if self.kind == "full" else np.atleast_1d(self.value)
        return max(float(values.min()), 0.0), float(values.max())

    def support(self) -> tuple[int, float]:
        """Return the rank, and the logarithm of the product of the positive eigenvalues."""
        if self.kind == "full":
            values = np.linalg.eigvalsh(self.value)
            values = values[values > SEMIDEFINITE * values[-1]]
        else:
            values = np.broadcast_to(self.value, (self.n,))
            values = values[values > 0.0]
        return values.size, float(np.log(values).sum())

    def __repr__(self) -> str:
        shown = f"{self.value:g}" if self.kind == "scalar" else f"{self.kind}, order {self.n}"
        return f"Covariance({shown})"
