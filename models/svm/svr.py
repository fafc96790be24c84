"""Support vector regression: the flattest function within a tube of half-width epsilon around the targets."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

import qp

from ..base.estimator import Regressor
from ..base.groups import EngineParameters, InterceptParameters
from ..base.parameters import NonNegative, Positive, parameters
from ..base.validation import as_targets, as_weights
from .groups import KernelParameters, WorkingSetParameters
from .kernel_expansion import PAIRWISE, KernelExpansion
from .kernels import KernelChoice
from .margin import Form, Machine, Margin, largest_margin

NOT_IN_TUBE = "no function of this kernel stays within epsilon of all targets, as C=inf asks for: give a finite C"


class TubeRegressor(KernelExpansion, Regressor):
    """Support vector regressions, functions within a tube around the targets; a subclass declares the parameters.

    Attributes
    ----------
    support_ : array of int
        The samples on the edge of the tube or outside.
    dual_coef_ : array, shape (1, vectors)
        alpha - alpha*.
    coef_ : array, shape (1, features)
        w, for the linear kernel.
    intercept_ : array, shape (1,)
        b, the constant term.
    """

    _takes_sparse = True
    _samples_told = PAIRWISE

    C: float = 1.0
    epsilon: float = 0.0
    fit_intercept: bool = True
    solver: Form = "auto"
    cache_size: float = 200.0
    shrinking: bool = True

    intercept_: np.ndarray
    program_: qp.QuadraticProgram
    solution_: qp.Solution

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Solve the program."""
        X = self._matrix_to_fit(X)
        settings = {**self._engine_settings(), "active_set": bool(self.shrinking)}
        y = as_targets(y, X.shape[0], type(self).__name__)
        weights = as_weights(sample_weight, X.shape[0])
        rows = self._kernel_to_fit(X, weights)
        machine = self._fit_samples(self._samples_of(X, rows), y[rows], self.C * weights[rows], settings)
        coefficients = machine.coefficients
        self.intercept_ = np.array([machine.intercept])
        self._keep_answer(machine.program, machine.solution)
        kept = coefficients != 0.0
        self._keep_vectors(X, rows[kept], coefficients[None, kept])
        return self

    def _fit_samples(self, X: Any, y: np.ndarray, C: np.ndarray, settings: dict[str, Any]) -> Machine:
        """The machine of samples that have a weight, of which C has the factor."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The values of the function at the rows of X (of a precomputed kernel: its values at the samples of fit)."""
        X = self._matrix_to_predict(X)
        return self._expansions(X)[:, 0] + self.intercept_[0]


@parameters
class SVR(TubeRegressor, KernelParameters, InterceptParameters, WorkingSetParameters, EngineParameters):
    r"""Support vector regression with the epsilon-insensitive loss.

    .. math::
        \min_{w, b, \xi, \xi^*}\; \tfrac12 \|w\|^2 + \sum_i C_i (\xi_i + \xi_i^*)
        \quad\text{s.t. } -\epsilon - \xi_i^* \le y_i - w^\top \phi(x_i) - b \le \epsilon + \xi_i,\; \xi, \xi^* \ge 0

    Its dual, in alpha and alpha* of the two sides, is that of a classifier of 2m samples, every x_i once on each side:

    .. math::
        \min_{\alpha, \alpha^*}\; \tfrac12 (\alpha - \alpha^*)^\top K (\alpha - \alpha^*)
        + (\epsilon - y)^\top \alpha + (\epsilon + y)^\top \alpha^*
        \quad\text{s.t. } 1^\top \alpha = 1^\top \alpha^*,\; 0 \le \alpha_i, \alpha_i^* \le C_i

    Parameters
    ----------
    C
        The price of leaving the tube, times the sample's weight; ``inf`` forbids it.
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

    def _fit_samples(self, X: Any, y: np.ndarray, C: np.ndarray, settings: dict[str, Any]) -> Machine:
        """Every sample twice: s = 1 asks for f(x) >= y - epsilon, s = -1 for f(x) <= y + epsilon."""
        epsilon, sides = float(self.epsilon), np.repeat([1.0, -1.0], y.size)
        q = np.concatenate([epsilon - y, epsilon + y])
        margin = Margin(X, self.kernel_, sides, q, np.concatenate([C, C]), bool(self.fit_intercept))
        return largest_margin(margin, self.solver, settings, NOT_IN_TUBE, float(self.cache_size))
