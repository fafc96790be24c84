"""Support vector machines against all distributions near that of the samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import socp

from ..base.groups import EngineParameters, WeightParameters
from ..base.parameters import NonNegative, Positive, fitted, parameters
from ..programs.moments import wasserstein_program
from .linear_programs import ProgramClassifier


@parameters
class WassersteinSVC(ProgramClassifier, WeightParameters, EngineParameters):
    r"""Linear classifier with the least worst-case hinge loss over all distributions near the samples.

    .. math::
        \min_{w, b}\; \sup_{W(Q, \hat P) \le \epsilon} E_Q \max\{0, 1 - y (w^\top x + b)\}
        = \min_{w, b}\; \epsilon \|w\| + \frac1m \sum_i \max\{0, 1 - y_i (w^\top x_i + b)\}

    The distance W counts |x - x'| for a sample that moves; a label that turns costs `label_cost`, and with an infinite
    one, the default, as on the right, labels stay.  The machine is then a support vector machine whose C the program
    finds: C = |w| / (m epsilon).

    Parameters
    ----------
    epsilon
        The radius of the ball, in units of X.  From the length of sum_i y_i x_i / m of balanced classes on, w is zero.
    label_cost
        kappa: what it costs to turn a label, in units of X.

    Attributes
    ----------
    worst_case_loss_ : array, shape (machines,)
        The value: the largest mean hinge loss over the ball, and so a bound on the share of errors there.

    Examples
    --------
    >>> import numpy as np
    >>> from models import SVC, WassersteinSVC
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 2.0]]), np.array([0, 0, 1, 1])
    >>> robust = WassersteinSVC(epsilon=0.2).fit(X, y)
    >>> C = np.linalg.norm(robust.coef_) / (4 * 0.2)
    >>> bool(np.allclose(SVC(C=C, kernel="linear").fit(X, y).coef_, robust.coef_, atol=1e-5))
    True
    """

    epsilon: Positive = 0.1
    label_cost: NonNegative = math.inf

    worst_case_loss_: np.ndarray = fitted()

    def _check_parameters(self) -> None:
        if not math.isfinite(self.epsilon):
            raise ValueError(f"epsilon must be finite, but {self.epsilon!r} came")

    def _fit_programs(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        self.worst_case_loss_ = super()._fit_programs(X, y, sample_weight)
        return self.worst_case_loss_

    def _stated(self, X: Any, y: np.ndarray, weights: np.ndarray) -> socp.Blocks:
        return wasserstein_program(X, y, weights / weights.sum(), float(self.epsilon), float(self.label_cost))
