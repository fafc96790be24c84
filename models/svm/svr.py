"""Support vector regression: the flattest function within a tube of half-width epsilon around the targets."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from ..base.estimator import Regressor
from ..base.groups import EngineParameters, InterceptParameters
from ..base.parameters import NonNegative, Positive, parameters
from ..base.validation import as_targets, as_weights
from ..kernels.kernel import KernelChoice
from ..margins.estimator import MarginMachines
from ..margins.machines import Problem
from ..margins.margin import Form
from ..margins.parameters import KernelParameters, WorkingSetParameters

NOT_IN_TUBE = "no function of this kernel stays within epsilon of all targets, as C=inf asks for: give a finite C"


class TubeRegressor(MarginMachines, Regressor):
    """Base of support vector regressions, with a tube around the targets; a subclass declares the parameters.

    Attributes
    ----------
    support_ : array of int
        Indices of the samples on the edge of the tube or outside.
    dual_coef_ : array, shape (1, vectors)
        alpha_i - alpha*_i of every support vector.
    coef_ : array, shape (1, features)
        w, the coefficients of the features; only for the linear kernel.
    intercept_ : array, shape (1,)
        b, the constant term.
    """

    _takes_sparse = True
    _infeasible = NOT_IN_TUBE

    epsilon: float = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to samples X with targets y, by one quadratic program; weights of samples are factors of C."""
        X = self._matrix_to_fit(X)
        settings = {**self._engine_settings(), "active_set": bool(self.shrinking)}
        y = as_targets(y, X.shape[0], type(self).__name__)
        weights = as_weights(sample_weight, X.shape[0])
        rows = self._kernel_to_fit(X, weights)
        self._solve_machines(X, [self._problem(rows, y[rows], self.C * weights[rows])], settings)
        return self

    def _problem(self, rows: np.ndarray, y: np.ndarray, C: np.ndarray) -> Problem:
        """Return the problem with every sample twice: s = 1 for f(x) >= y - epsilon, s = -1 for f(x) <= y + epsilon."""
        q = np.concatenate([self.epsilon - y, self.epsilon + y])
        return Problem(rows, np.repeat([1.0, -1.0], y.size), np.concatenate([C, C]), q)

    def predict(self, X: Any) -> np.ndarray:
        """Return f at the rows of X, which for a precomputed kernel are its values at the samples of `fit`."""
        X = self._matrix_to_predict(X)
        return self._expansions(X)[:, 0] + self.intercept_[0]


@parameters
class SVR(TubeRegressor, KernelParameters, InterceptParameters, WorkingSetParameters, EngineParameters):
    r"""Support vector regression with the epsilon-insensitive loss.

    .. math::
        \min_{w, b, \xi, \xi^*}\; \tfrac12 \|w\|^2 + \sum_i C_i (\xi_i + \xi_i^*)
        \quad\text{s.t. } -\epsilon - \xi_i^* \le y_i - w^\top \phi(x_i) - b \le \epsilon + \xi_i,\; \xi, \xi^* \ge 0

    The dual in (alpha, alpha*) is the dual of a classifier of 2m samples, every x_i once on each side.

    Parameters
    ----------
    C
        Price of leaving the tube, times the sample's weight; ``inf`` forbids it.
    epsilon
        Half the width of the tube, in the unit of y.

    Raises
    ------
    ValueError
        C is infinite and the tube too narrow.

    Examples
    --------
    >>> import numpy as np
    >>> from models import SVR
    >>> X, y = np.arange(5.0)[:, None], [0.0, 1.0, 2.0, 3.0, 4.0]
    >>> svr = SVR(C=np.inf, epsilon=0.5, kernel="linear").fit(X, y)  # the flattest line within 0.5 of all points
    >>> svr.coef_.round(4), svr.intercept_.round(4), svr.support_
    (array([[0.75]]), array([0.5]), array([0, 4]))
    """

    C: Positive = 1.0
    epsilon: NonNegative = 0.1
    _: KW_ONLY
    kernel: KernelChoice = "rbf"
    solver: Form = "auto"
