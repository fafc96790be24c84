"""Support vector machines of uncertain samples: every margin holds with a probability, and costs a cone."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

import socp

from ..base.groups import EngineParameters, WeightParameters
from ..base.parameters import Positive, Share, fitted, parameters
from ..base.validation import as_dense
from ..programs.moments import Uncertain, robust_program
from .linear_programs import ProgramClassifier, chance_factor, check_price


@parameters
class RobustSVC(ProgramClassifier, WeightParameters, EngineParameters):
    r"""Linear support vector classifier of samples that are known up to a mean and a covariance.

    .. math::
        \min_{w, b, \xi}\; \tfrac12 \|w\|^2 + \sum_i C_i \xi_i \quad\text{s.t. }
        y_i (w^\top \bar x_i + b) \ge 1 - \xi_i + \kappa \|\Sigma_i^{1/2} w\|,\; \xi \ge 0

    says that each margin holds with probability 1 - epsilon.  Sigma_i is the sum of `noise`^2 in every feature, what
    `fit` is told, and of a missing feature (NaN) its variance over all samples; its mean stands in its place.

    Parameters
    ----------
    C
        The price of a violated margin, times the sample's weight; finite.
    epsilon
        The probability with which a margin may fail, in (0, 1].
    noise : float or array_like of shape (features,)
        The standard deviation of the measurement of every feature, in units of X.
    distribution
        kappa = sqrt((1 - epsilon) / epsilon), good for all distributions, or the normal one's quantile.

    Attributes
    ----------
    kappa_ : float
        kappa, from epsilon and the distribution.
    means_ : array, shape (features,)
        Of every feature over the samples that have it: what stands for a missing one.

    Notes
    -----
    A cone for every covariance that occurs: with `noise` alone one, and with missing features one for every pattern of
    them.

    Examples
    --------
    The second feature is measured badly, and the first one decides:

    >>> import numpy as np
    >>> from models import SVC, RobustSVC
    >>> X, y = np.array([[1.0, 1.0], [0.8, 1.0], [-1.0, -1.0], [-0.8, -1.0]]), [1, 1, 0, 0]
    >>> SVC(C=10.0, kernel="linear").fit(X, y).coef_.round(2)
    array([[0.49, 0.61]])
    >>> RobustSVC(C=10.0, noise=[0.0, 0.5]).fit(X, y).coef_.round(2)
    array([[1.25, 0.  ]])
    """

    _takes_nan = True

    C: Positive = 1.0
    epsilon: Share = 0.1
    _: KW_ONLY
    noise: Any = 0.1
    distribution: Literal["any", "gaussian"] = "any"

    kappa_: float = fitted()
    means_: np.ndarray = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, covariance: Any = None) -> RobustSVC:
        """Solve the programs of all machines; of more than two classes, one against the rest.

        Parameters
        ----------
        covariance : array_like, shape (samples, features) or (samples, features, features), optional
            The variances of every sample's features, or their covariances, beside `noise`.
        """
        self._check_fields()
        check_price(self.C)
        self.kappa_ = chance_factor(self.epsilon, self.distribution)
        self._covariance = covariance
        try:
            self._fit_programs(X, y, sample_weight)
        finally:
            del self._covariance
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The decision values w'x + b: positive for ``classes_[1]``, or a column a class; a mean for a missing x_k."""
        X = self._matrix_to_predict(X)
        return self._values(X if sp.issparse(X) else np.where(np.isnan(X), self.means_, X))

    def _stated(self, X: Uncertain, y: np.ndarray, weights: np.ndarray) -> socp.Blocks:
        return robust_program(X, y, self.C * weights, self.kappa_)

    def _prepared(self, X: Any, used: np.ndarray, weights: np.ndarray) -> Uncertain:
        """The samples with their uncertainty; keeps the features' means."""
        noise = self._checked_noise(X.shape[1])
        extra = self._checked_covariance(X.shape)
        X, share = X[used], weights[used]
        if sp.issparse(X):
            if np.isnan(X.data).any():
                raise ValueError("Input X contains NaN: a missing feature is taken in dense X only; use X.toarray()")
            self.means_ = np.asarray(share @ X).ravel() / share.sum()
            variances = np.zeros((1, X.shape[1]))
        else:
            known = ~np.isnan(X)
            total = share @ known
            total[total == 0.0] = np.inf  # a feature that nobody has
            self.means_ = share @ np.where(known, X, 0.0) / total
            spread = share @ np.where(known, X - self.means_, 0.0) ** 2 / total
            X = np.where(known, X, self.means_)
            variances = np.where(known, 0.0, spread) if not known.all() else np.zeros((1, X.shape[1]))
        variances = np.broadcast_to(variances + noise**2, (used.size, X.shape[1]))
        if extra is not None and extra.ndim == 3:
            return _with_matrices(X, variances, extra[used])
        return _with_variances(X, variances if extra is None else variances + extra[used])

    def _checked_noise(self, features: int) -> np.ndarray:
        try:
            noise = np.asarray(self.noise, dtype=np.float64)
        except (TypeError, ValueError):
            noise = np.full(2, np.nan)
        if noise.shape not in ((), (features,)) or not np.isfinite(noise).all() or (noise < 0.0).any():
            raise ValueError(
                f"noise must be a nonnegative number, or one for each of the {features} features, but {self.noise!r} "
                "came"
            )
        return np.broadcast_to(noise, (features,))

    def _checked_covariance(self, shape: tuple[int, int]) -> np.ndarray | None:
        if self._covariance is None:
            return None
        found = np.asarray(as_dense(self._covariance), dtype=np.float64)
        if found.shape not in (shape, (*shape, shape[1])) or not np.isfinite(found).all():
            raise ValueError(
                f"covariance must be finite, of shape {shape} (variances) or {(*shape, shape[1])}, but shape "
                f"{found.shape} came"
            )
        smallest = found.min() if found.ndim == 2 else np.linalg.eigvalsh(found).min()
        if smallest < -1e-10 * np.abs(found).max():
            raise ValueError(
                f"covariance must be positive semidefinite, but {smallest:.2g} is a variance or eigenvalue"
            )
        return found


def _with_variances(means: Any, variances: np.ndarray) -> Uncertain:
    """Samples with diagonal covariances, each kind once."""
    kinds, which = np.unique(variances, axis=0, return_inverse=True)
    which = which.reshape(-1)
    certain = ~kinds.any(axis=1)
    place = np.where(certain, -1, np.cumsum(~certain) - 1)
    roots = []
    for kind in kinds[~certain]:
        at = np.flatnonzero(kind)
        roots.append(sp.csr_array((np.sqrt(kind[at]), (np.arange(at.size), at)), shape=(at.size, kind.size)))
    return Uncertain(means, roots, place[which])


def _with_matrices(means: Any, variances: np.ndarray, matrices: np.ndarray) -> Uncertain:
    """Samples with full covariances, a root for each."""
    roots = []
    for matrix, variance in zip(matrices, variances):
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T) + np.diag(variance))
        roots.append(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
    return Uncertain(means, roots, np.arange(len(roots)))
