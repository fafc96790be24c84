"""The bilevel classifier in the features of a kernel (Epshteyn and DeJong 2006, section 8).

With Omega_i and Sigma_i multiples of the identity, w and the means stay in the span of the samples' features and of t_1
and t_2 (see `span`).  Inner products in this span are values of the kernel, and in an orthonormal basis of the span the
problem is the ordinary one, with at most (samples + 2) coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from socp import ProgramError

from ..base.validation import as_labels, as_matrix, as_weights
from ..kernels.kernel import make_kernel
from .prior import GenerativePrior, digests

RANK = 1e-13  # relative to the largest eigenvalue of the Gram matrix: directions with smaller eigenvalues are dropped


class KernelPrior:
    """A prior in the features of a kernel: t_i is the mean of the features of class i's points.

    Parameters
    ----------
    points : array_like or sparse, shape (m, n)
        Samples of a related task, or invented ones.
    y : array_like, shape (m,)
        The labels of the points, two different ones.
    Omega, Sigma : pair of float, default (1.0, 1.0)
        Variances of the means and of the samples around them, equal in every direction of the features.
    sample_weight : array_like, shape (m,), optional

    Examples
    --------
    >>> from models import BilevelClassifier
    >>> prior = KernelPrior([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0]], [0, 0, 1], Omega=(0.1, 0.1))
    >>> model = BilevelClassifier(prior, kernel="rbf").fit([[0.0, 0.2], [1.0, 0.8]], ["near", "far"])
    >>> print(model.predict([[0.1, 0.1]]), model.means_.shape)
    ['far'] (2, 4)
    """

    def __init__(
        self, points: Any, y: Any, Omega: Any = (1.0, 1.0), Sigma: Any = (1.0, 1.0), sample_weight: Any = None
    ) -> None:
        self.points = as_matrix(points, type(self).__name__, sparse=True)
        classes, codes = as_labels(y, self.points.shape[0], type(self).__name__)
        weights = as_weights(sample_weight, codes.size) * (codes == np.arange(2)[:, None])
        if classes.size != 2 or not weights.any(axis=1).all():
            raise ProgramError(f"y must hold two labels with positive weights, but {classes.tolist()} came")
        self.shares = weights / weights.sum(axis=1, keepdims=True)
        self.Omega, self.Sigma = Omega, Sigma
        for pair in (Omega, Sigma):
            if not isinstance(pair, (tuple, list)) or [np.ndim(value) for value in pair] != [0, 0]:
                raise ProgramError(f"Omega and Sigma must be pairs of numbers for a kernel, but {pair!r} came")


class KernelSpace:
    """Coordinates in the span of features of samples and explained examples V, and of the prior's means.

    `prior` is expressed in these coordinates.
    """

    def __init__(self, kernel: Any, X: Any, V: Any, weights: np.ndarray, prior: Any) -> None:
        n = prior.points.shape[1] if isinstance(prior, KernelPrior) else type(prior).__name__
        if n != X.shape[1]:
            raise ProgramError(f"prior must be a KernelPrior of {X.shape[1]} features for a kernel, but {n} came")
        self.kernel, self.samples, self.source = make_kernel(kernel, X, weights), X, prior
        if V.shape[0]:
            self.samples = sp.vstack([X, V], format="csr") if sp.issparse(X) else np.vstack([X, V])
        means = prior.shares @ self._products(prior.points)
        values, vectors = np.linalg.eigh(np.vstack([self._products(self.samples), means]))
        kept = values > RANK * values[-1]
        if values[0] < -1e-8 * values[-1]:
            raise ProgramError(f"kernel must be positive semidefinite, but its matrix has the eigenvalue {values[0]:g}")
        self.basis = vectors[:, kept] / np.sqrt(values[kept])
        self.prior = GenerativePrior(means @ self.basis, prior.Omega, prior.Sigma)
        self.prior.samples = frozenset(digests(prior.points[prior.shares.any(axis=0)]))

    def __call__(self, X: Any) -> np.ndarray:
        """Return the coordinates of the samples X, shape (samples, rank)."""
        return np.asarray(self._products(X) @ self.basis)

    def _products(self, X: Any) -> np.ndarray:
        """Return the inner products of the features of X with the samples' features and with both t."""
        return np.hstack([self.kernel(X, self.samples), self.kernel(X, self.source.points) @ self.source.shares.T])
