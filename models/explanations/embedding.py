r"""The space in which soft explanations are perfect (Sun and DeJong 2005, sections 3.2 and 3.3).

A sample x goes to (phi(x), 0) and the explained example v_j to (phi(v_j), Delta e_j), with a coordinate of its own, so

.. math:: \hat k(x, x') = k(x, x'), \quad \hat k(x, v) = k(x, v), \quad
    \hat k(v_i, v_j) = k(v_i, v_j) + \Delta^2 \delta_{ij} .

A machine that gives x and v equal values in this space deviates by w'(x - v) = Delta g_j in the original one, at the
price |g|^2 / 2: it is the machine with the penalty Q sum_j delta_j^2 at Q = 1 / (2 Delta^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.validation import as_dense, check_number
from ..kernels.samples import inner_products


class EmbeddedKernel:
    """Kernel of the embedding, between rows whose last entry is the number of the explained example, or 0.

    Parameters
    ----------
    Delta : float
        Positive length of the coordinate that each explained example has of its own.
    kernel : callable, optional
        Kernel k of two matrices of samples; the inner product by default.

    Examples
    --------
    >>> kernel = EmbeddedKernel(2.0)
    >>> x, v = kernel.samples([[1.0, 3.0]]), kernel.explained([[1.0, 0.0], [1.0, 0.0]])
    >>> kernel(x, v), kernel(v, v)
    (array([[1., 1.]]), array([[5., 1.],
           [1., 5.]]))
    """

    is_semidefinite = True
    labels = 1
    """Number of last columns that are no features."""

    def __init__(self, Delta: float, kernel: Any = None) -> None:
        self.Delta = check_number("Delta", Delta, low=0.0, open_low=True)
        self.kernel = kernel

    @staticmethod
    def samples(X: Any) -> np.ndarray:
        """Return samples as rows of the embedding, with 0 as their last entry."""
        X = np.asarray(as_dense(X), dtype=np.float64)
        return np.hstack([X, np.zeros((X.shape[0], 1))])

    @staticmethod
    def explained(V: Any) -> np.ndarray:
        """Return explained examples as rows of the embedding, with 1, 2, ... as their last entries."""
        V = np.asarray(as_dense(V), dtype=np.float64)
        return np.hstack([V, np.arange(1.0, V.shape[0] + 1.0)[:, None]])

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        products = inner_products if self.kernel is None else self.kernel
        same = (A[:, -1][:, None] == B[:, -1]) & (A[:, -1] > 0.0)[:, None]
        return np.asarray(products(A[:, :-1], B[:, :-1]) + self.Delta**2 * same)
