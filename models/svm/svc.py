"""Support vector classification: the largest margin between classes, hard or soft, in the primal or in the dual."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from ..base.groups import InterceptParameters, WeightParameters
from ..base.multiclass import two_class_problems
from ..base.parameters import Positive, parameters
from ..kernels.kernel import KernelChoice
from ..margins.estimator import MarginMachines
from ..margins.expansion import KernelClassifier
from ..margins.machines import Problem
from ..margins.margin import Form
from ..margins.parameters import MachineParameters, WorkingSetParameters


class MarginClassifier(MarginMachines, KernelClassifier):
    """Base of classifiers whose two-class machines are margins; a subclass declares the parameters.

    Attributes
    ----------
    n_support_ : array of int, shape (classes,)
        Number of support vectors of each class.
    margin_ : array, shape (machines,)
        Margin 1 / ||w|| of each machine.
    """

    break_ties: bool = False

    n_support_: np.ndarray
    margin_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to samples X with labels y, by one quadratic program per machine."""
        X, codes, weights, C = self._samples_to_fit(X, y, sample_weight)
        settings = {**self._engine_settings(), "active_set": bool(self.shrinking)}
        used = self._kernel_to_fit(X, weights)
        problems = [
            self._problem(used[rows], signs, C[used[rows]])
            for rows, signs in two_class_problems(codes[used], self.classes_.size, self.multi_class)
        ]
        machines = self._solve_machines(X, problems, settings)
        self.n_support_ = np.bincount(codes[self.support_], minlength=self.classes_.size)
        self._kinds, self.margin_ = machines.kinds[:, self.support_].astype(np.int8), machines.margins
        return self

    def _problem(self, rows: np.ndarray, signs: np.ndarray, C: np.ndarray) -> Problem:
        """Return the problem of one machine, of the samples `rows` with these signs and C."""
        return Problem(rows, signs, C, np.full(signs.size, -1.0))


@parameters
class SVC(MarginClassifier, MachineParameters, WeightParameters, InterceptParameters, WorkingSetParameters):
    r"""Support vector classifier.

    Between two classes, with signs y_i = +1 for ``classes_[1]`` and -1 for ``classes_[0]``, the primal and the dual are

    .. math::
        \min_{w, b, \xi}\; \tfrac12 \|w\|^2 + \sum_i C_i \xi_i
        \quad\text{s.t. } y_i (w^\top \phi(x_i) + b) \ge 1 - \xi_i,\; \xi \ge 0

        \max_\alpha\; 1^\top\alpha - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)
        \quad\text{s.t. } y^\top\alpha = 0,\; 0 \le \alpha_i \le C_i

    with C_i = C * class weight * sample weight.  With C infinite the margin is hard: no xi, no upper bound on alpha.
    Without `fit_intercept`, there is no b and no equality.

    Parameters
    ----------
    C
        Price of a violated margin; ``inf`` forbids it.
    tol
        Tolerance of the engine, see `socp.Settings`.  The error of ||w|| is at most sqrt(2 tol |objective|), on scaled
        data mostly far less: decision values of primal and dual agree to about 1e-6.
        A warning is given only if a residual or the gap is above 1e-8.

    Raises
    ------
    ValueError
        Invalid data or parameters, which the message names; or a hard margin with classes that cannot be separated.

    Notes
    -----
    There is no `predict_proba`: calibrate with ``CalibratedClassifierCV(svc)``.  Nothing is random.

    Examples
    --------
    >>> from models import SVC
    >>> X, y = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [2.0, 2.0]]), ["no", "no", "yes", "yes"]
    >>> svc = SVC(C=np.inf, kernel="linear").fit(X, y)
    >>> svc.coef_.round(4), svc.intercept_.round(4), svc.support_, svc.margin_.round(4)
    (array([[1., 1.]]), array([-1.]), array([0, 1, 2]), array([0.7071]))
    >>> svc.predict([[1.5, 0.0]])
    array(['yes'], dtype='<U3')
    """

    C: Positive = 1.0
    kernel: KernelChoice = "rbf"
    _: KW_ONLY
    break_ties: bool = False
    solver: Form = "auto"
    random_state: Any = None
