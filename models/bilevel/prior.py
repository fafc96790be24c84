"""A generative prior of two classes: normal-like samples around means that are themselves uncertain.

    x | class i  ~  E(mu_i, Sigma_i, g)          mu_i  ~  E(t_i, Omega_i, g)          i = 1, 2

Epshteyn and DeJong 2006, section 4.  Class 1 is the first of the sorted labels (-1 in the paper), class 2 the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp
from socp import ProgramError

from ..base.estimator import uninterrupted
from ..base.validation import as_labels, as_matrix, as_weights
from ..programs.moments import minimax_program
from .covariance import Covariance


class GenerativePrior:
    r"""Prior of `BilevelClassifier`: t_i, Omega_i and Sigma_i of the two classes.

    Parameters
    ----------
    t : pair of array_like, shape (n,)
        Centres of the uncertain class means, the class of the smaller label first.
    Omega : pair of float, array_like of shape (n,) or (n, n)
        The confidence in t_i: the covariance of the mean, as a multiple of the identity, a diagonal or a full
        matrix. In a coordinate with variance zero the mean is known: mu = t.
    Sigma : pair of float, array_like of shape (n,) or (n, n), default (1.0, 1.0)
        The covariances of the samples around their means.

    Attributes
    ----------
    samples : frozenset of bytes
        Digests of the samples that `from_samples` took; empty where t, Omega and Sigma were given.

    Examples
    --------
    >>> prior = GenerativePrior(t=([0.0, 0.0], [2.0, 0.0]), Omega=(0.1, [0.1, 0.0]))
    >>> prior
    GenerativePrior(n=2, Omega: scalar and diagonal, Sigma: scalar and scalar)
    >>> print(prior.largest_beta())
    1.0
    """

    def __init__(self, t: Any, Omega: Any, Sigma: Any = (1.0, 1.0)) -> None:
        first, second = (as_vector(f"t[{i}]", mean) for i, mean in enumerate(_pair("t", t)))
        if first.size != second.size:
            sizes = f"{first.size} and {second.size}"
            raise ProgramError(f"t must hold two vectors of one length, but lengths {sizes} came")
        self.t = np.array([first, second])
        n = first.size
        self.Omega = tuple(Covariance(v, n, f"Omega[{i}]") for i, v in enumerate(_pair("Omega", Omega)))
        self.Sigma = tuple(Covariance(v, n, f"Sigma[{i}]") for i, v in enumerate(_pair("Sigma", Sigma)))
        self.samples: frozenset[bytes] = frozenset()

    @property
    def n(self) -> int:
        """The number of features."""
        return int(self.t.shape[1])

    @classmethod
    def from_samples(cls, X: Any, y: Any, sample_weight: Any = None) -> GenerativePrior:
        r"""Return the prior that samples of a related task suggest.

        t_i is the mean of class i, Omega_i the diagonal of the mean's estimated variances (sample variances divided by
        the number of samples), and both Sigma are the diagonal of the features' variances within the classes, so that
        each feature has its own unit.

        Parameters
        ----------
        X : array_like or sparse, shape (samples, n)
        y : array_like, shape (samples,)
            Two labels.
        sample_weight : array_like, shape (samples,), optional

        Examples
        --------
        >>> GenerativePrior.from_samples([[0.0, 0.0], [0.0, 2.0], [4.0, 1.0], [6.0, 1.0]], [0, 0, 1, 1]).t
        array([[0., 1.],
               [5., 1.]])
        """
        X = as_matrix(X, cls.__name__, sparse=True)
        classes, codes = as_labels(y, X.shape[0], cls.__name__)
        if classes.size != 2:
            raise ProgramError(f"y must hold two labels, but {classes.size} came")
        weights = as_weights(sample_weight, X.shape[0])
        totals = np.array([weights[codes == k].sum() for k in (0, 1)])
        if not totals.all():
            raise ProgramError(f"sample_weight is zero for all of class {classes.tolist()[int(totals.argmin())]!r}")
        means, variances = zip(*(_moments(X, weights * (codes == k)) for k in (0, 1)))
        spread = totals @ np.array(variances) / totals.sum()
        prior = cls(means, tuple(v / total for v, total in zip(variances, totals)), (spread, spread))
        prior.samples = frozenset(digests(X[weights > 0.0]))
        return prior

    def largest_beta(self) -> float:
        r"""Return the largest beta for which (4.8) and (4.9) can hold with w != 0 at the means t.

        It is ``max_w w'(t_2 - t_1) / (||Sigma_1^(1/2) w|| + ||Sigma_2^(1/2) w||)``, one over the least denominator with
        w'(t_2 - t_1) = 1; infinite if the latter is zero.  `models.MinimaxProbabilityClassifier` gives w and b, too.
        """
        d = self.t[1] - self.t[0]
        if not d.any():
            return 0.0
        roots = [S.root for S in self.Sigma]
        if all(S.kind == "scalar" for S in self.Sigma):
            spread = roots[0] + roots[1]
            return float(np.linalg.norm(d) / spread) if spread > 0.0 else np.inf
        if all(S.kind == "diagonal" for S in self.Sigma) and (roots[0] == roots[1]).all():
            free, root = roots[0] == 0.0, np.where(roots[0] > 0.0, roots[0], 1.0)
            return np.inf if d[free].any() else float(0.5 * np.linalg.norm(d / root))
        scale = float(np.linalg.norm(d))
        program = minimax_program(d / scale, [S.root_matrix() for S in self.Sigma]).program()
        solution = uninterrupted(socp.solve(program))
        least = solution.objective / scale
        return 1.0 / least if least > 1e-9 / scale else np.inf

    def hyperplane(self, **settings: Any) -> tuple[np.ndarray, float, socp.ConeProgram, socp.Solution]:
        r"""Return the w and b of `largest_beta`, which know no samples, the program of w, and its solution.

        The means t have values of -1 and 1 if both Sigma are equal.  ProgramError is raised if the means are equal.
        """
        d = self.t[1] - self.t[0]
        if not d.any():
            raise ProgramError("the prior's means t are equal: it has no hyperplane")
        scale = float(np.linalg.norm(d))
        p = minimax_program(d / scale, [S.root_matrix() for S in self.Sigma])
        solution = uninterrupted(socp.solve(program := p.program(), **settings))
        w = 2.0 / scale * solution.x[p.w]
        below, above = self.t @ w
        first, second = (S.length(w) for S in self.Sigma)
        share = first / (first + second) if first + second > 0.0 else 0.5
        return w, -float(below + share * (above - below)), program, solution

    def __repr__(self) -> str:
        kinds = (f"{name}: {a.kind} and {b.kind}" for name, (a, b) in (("Omega", self.Omega), ("Sigma", self.Sigma)))
        return f"GenerativePrior(n={self.n}, {', '.join(kinds)})"


def digests(X: Any) -> list[bytes]:
    """Return a digest of every sample; dense samples and canonical sparse ones have equal digests."""
    rows = sp.csr_array(X, copy=True)
    rows.eliminate_zeros()
    bounds = zip(rows.indptr, rows.indptr[1:])
    return [sha1(rows.indices[a:b].astype("i8").tobytes() + rows.data[a:b].tobytes()).digest() for a, b in bounds]


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) and len(value) == 2:
        return value[0], value[1]
    raise ProgramError(f"{name} must be a pair, one entry for each class, but {value!r} came")


def as_vector(name: str, value: Any) -> np.ndarray:
    """Return `value` as a finite vector; raise ProgramError if it is not finite or has no entry."""
    vector = np.asarray(value, dtype=np.float64)
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        raise ProgramError(f"{name} must be a finite vector, but shape {vector.shape} came: {value!r}")
    return vector


def _moments(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted mean and variance of every feature."""
    total = weights.sum()
    mean = np.asarray(weights @ X).ravel() / total
    if not sp.issparse(X):
        return mean, weights @ (X - mean) ** 2 / total
    square = np.asarray(weights @ X.power(2)).ravel() / total
    return mean, np.maximum(square - mean**2, 0.0)
