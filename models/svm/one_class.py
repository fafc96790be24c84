"""One-class support vector machine: the region of all but a share of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

import qp

from ..base.estimator import Estimator
from ..base.groups import EngineParameters
from ..base.parameters import Share, fitted, parameters
from ..base.validation import as_weights, warn
from ..kernels.kernel import KernelChoice
from ..margins.dual import MarginDual, sort_out
from ..margins.expansion import PAIRWISE, KernelExpansion
from ..margins.machines import intercept_of
from ..margins.margin import Margin
from ..margins.parameters import KernelParameters, WorkingSetParameters
from ..programs.one_class import one_class

EDGE = 1e-9  # relative distance of offset_ below rho, so that rounding leaves samples on the edge inside
NO_SIDE = (
    "OneClassSVM: zero is within the (reduced) convex hull of the samples in the features of this kernel, w is zero "
    "and every sample is inside. Raise nu, or take a Gaussian kernel"
)
NO_REGION = "the program of OneClassSVM has no solution, which should not happen"


@parameters
class OneClassSVM(KernelExpansion, Estimator, KernelParameters, WorkingSetParameters, EngineParameters):
    r"""Half-space in the kernel's features, farthest from zero, that holds all but the share nu of the samples.

    .. math::
        \min_{w, \rho, \xi}\; \tfrac12 \|w\|^2 - \nu \rho \sum_i c_i + \sum_i c_i \xi_i
        \quad\text{s.t. } w^\top \phi(x_i) \ge \rho - \xi_i,\; \xi \ge 0

    At most the share nu of the samples is outside, at least the share nu are support vectors.  With nu = 1 all alpha_i
    are equal: w'phi(x) is the sum of the kernels at the samples, for the Gaussian kernel Parzen's density.

    Parameters
    ----------
    nu
        Share of samples in (0, 1].

    Attributes
    ----------
    support_ : array of int
        Indices of the samples on the edge of the region or outside.
    dual_coef_ : array, shape (1, vectors)
        alpha_i of every support vector.
    offset_ : float
        (1 - 1e-9) rho, so that samples on the edge are inside; ``decision_function`` is ``score_samples`` - offset_.
    intercept_ : array, shape (1,)
        ``-offset_``.

    Warns
    -----
    UserWarning
        No half-space parts the samples from zero: w = 0 and rho = 0.

    Examples
    --------
    >>> from models import OneClassSVM
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0]])
    >>> region = OneClassSVM(nu=0.5, gamma=1.0).fit(X)
    >>> region.predict(X), region.predict([[0.15], [3.0]])
    (array([ 1,  1,  1,  1, -1]), array([ 1, -1]))
    """

    _kind = "outlier_detector"
    _takes_sparse = True
    _samples_told = PAIRWISE

    nu: Share = 0.5
    kernel: KernelChoice = "rbf"

    intercept_: np.ndarray = fitted()
    offset_: float = fitted()
    program_: qp.QuadraticProgram = fitted()
    solution_: qp.Solution = fitted()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit the region to samples X, by one quadratic program."""
        X = self._matrix_to_fit(X)
        settings = {**self._engine_settings(), "active_set": bool(self.shrinking)}
        weights = as_weights(sample_weight, X.shape[0])
        rows = self._kernel_to_fit(X, weights)
        part = self._samples_of(X, rows)
        ones, c = np.ones(rows.size), weights[rows]
        K = Margin(part, self.kernel_, ones, -ones, c, False).hessian(float(self.cache_size))
        dual = MarginDual(one_class(K, c, float(self.nu)), settings, self.kernel_.is_semidefinite, NO_REGION)
        self._keep_answer(dual.program, dual.solve())
        rho = -float(self.solution_.y[0])
        alpha, self.offset_ = np.zeros(rows.size), 0.0
        if rho <= settings["tol"] * K.diagonal().max() * c.sum():
            warn(NO_SIDE)
        else:
            # alpha / rho solves the dual of the margin w'phi(x_i) >= 1 without b, with C = c / rho.
            kinds, alpha, values = sort_out(dual, self.solution_.x, self.solution_.z_bounds / rho, self.solution_)
            self.offset_ = -intercept_of(-values, ones, kinds) * (1.0 - EDGE)
        self.intercept_ = np.array([-self.offset_])
        kept = alpha > 0.0
        self._keep_vectors(X, rows[kept], alpha[None, kept])
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Return w'phi(x) of every sample; of a precomputed kernel, X is its values at the samples of `fit`."""
        X = self._matrix_to_predict(X)
        return self._expansions(X)[:, 0]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w'phi(x) - offset_ of every sample, negative outside of the region."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for every sample in the region or on its edge, -1 for every sample outside."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit to X and return ``predict(X)``."""
        return self.fit(X, sample_weight=sample_weight).predict(X)
