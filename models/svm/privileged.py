"""SVM+: features that only the training samples have."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

import qp

from ..base.groups import EngineParameters, WeightParameters
from ..base.parameters import Positive, fitted, parameters
from ..base.validation import as_matrix, check_same_length
from ..programs.successors import privileged_program
from .groups import KernelParameters
from .kernel_expansion import KernelClassifier
from .kernels import KernelChoice, make_kernel
from .linear_programs import check_price
from .margin import Margin, MarginDual, features_of, largest_margin

ZERO = 1e-8  # multipliers below this share of the largest are zero


@parameters
class PrivilegedSVC(KernelClassifier, KernelParameters, WeightParameters, EngineParameters):
    r"""Support vector classifier whose training samples have features that no later sample will have (SVM+).

    .. math::
        \min_{w, b, w^*, b^*}\; \tfrac12 \|w\|^2 + \tfrac{\gamma}{2} \|w^*\|^2 + \sum_i C_i \xi_i \quad\text{s.t. }
        y_i (w^\top \phi(x_i) + b) \ge 1 - \xi_i,\; \xi_i = w^{*\top} \phi^*(x_i^*) + b^* \ge 0

    The privileged features, such as a later report on a patient or how hard a teacher finds an example, tell which
    margins may be missed.  Without them every slack is free, and the machine is `models.SVC`.

    Parameters
    ----------
    C
        The price of the slack, times the sample's weight; finite.
    gamma_star
        The price of w*: a large one makes all slacks equal, with one near zero they are as free as x* tells the
        samples apart.
    kernel, degree, gamma, coef0
        Of x, as in `models.SVC`, without "precomputed".
    privileged_kernel
        Of x*, with the same degree, gamma and coef0.

    Attributes
    ----------
    slacks_ : array, shape (samples,)
        xi_i of every sample that has a weight, and zero of the others.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        The program that was solved, and the engine's answer.

    Examples
    --------
    The third sample is said to be a hard one, and it alone misses its margin:

    >>> import numpy as np
    >>> from models import SVC, PrivilegedSVC
    >>> X, y, hard = [[-2.0], [-1.0], [1.6], [2.0], [3.0]], [0, 0, 0, 1, 1], [[0.0], [0.0], [1.0], [0.0], [0.0]]
    >>> SVC(kernel="linear").fit(X, y).decision_function(X).round(2)
    array([-1.5, -1. ,  0.3,  0.5,  1. ])
    >>> PrivilegedSVC(gamma_star=0.01).fit(X, y, privileged=hard).decision_function(X).round(2)
    array([-1.67, -1.  ,  0.73,  1.  ,  1.67])
    """

    _multiclass = False
    multi_class = "ovo"
    decision_function_shape = "ovr"
    fit_intercept = True

    C: Positive = 1.0
    gamma_star: Positive = 1.0
    _: KW_ONLY
    kernel: KernelChoice = "linear"
    privileged_kernel: KernelChoice = "linear"

    slacks_: np.ndarray = fitted()
    n_support_: np.ndarray = fitted()
    program_: qp.QuadraticProgram = fitted()
    solution_: qp.Solution = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, privileged: Any = None) -> PrivilegedSVC:
        """Solve the program.

        Parameters
        ----------
        privileged : array_like or sparse, shape (samples, privileged features), optional
            x*_i of every sample.
        """
        settings = self._engine_settings()
        check_price(self.C)
        X, codes, weights, C = self._samples_to_fit(X, y, sample_weight)
        self.kernel_ = make_kernel(self.kernel, X, weights, self.gamma, self.degree, self.coef0, True)
        used = np.flatnonzero(weights > 0.0)
        signs = np.where(codes[used] == 1, 1.0, -1.0)
        self.slacks_ = np.zeros(codes.size)
        if privileged is None:
            margin = Margin(X[used], self.kernel_, signs, np.full(used.size, -1.0), C[used], True)
            machine = largest_margin(margin, "auto", settings)
            self._keep_answer(machine.program, machine.solution)
            signed, b = machine.coefficients, machine.intercept
        else:
            S = self._privileged_features(privileged, weights, used)
            signed, b, self.slacks_[used] = self._solve(X[used], S, signs, C[used], settings)
        kept = signed != 0.0
        self.intercept_ = np.array([b])
        self._keep_vectors(X, used[kept], signed[None, kept])
        self.n_support_ = np.bincount(codes[self.support_], minlength=2)
        if privileged is None:
            self.slacks_[used] = np.maximum(0.0, 1.0 - signs * self._decisions(X[used])[:, 0])
        return self

    def _privileged_features(self, privileged: Any, weights: np.ndarray, used: np.ndarray) -> Any:
        """The features of the privileged kernel at the samples `used`."""
        S = as_matrix(privileged, "PrivilegedSVC", sparse=True)
        check_same_length("privileged", S, weights.size)
        kernel = make_kernel(self.privileged_kernel, S, weights, self.gamma, self.degree, self.coef0, True)
        return S[used] if kernel.is_linear else features_of(kernel.gram(S[used]))

    def _solve(
        self, X: Any, S: Any, y: np.ndarray, C: np.ndarray, settings: dict[str, Any]
    ) -> tuple[np.ndarray, float, np.ndarray]:
        """alpha_i y_i, b and xi of the machine with privileged features S."""
        F = X if self.kernel_.is_linear else features_of(self.kernel_.gram(X))
        p, margins = privileged_program(F, S, y, C, float(self.gamma_star))
        dual = MarginDual(p.program(), settings, self.kernel_.is_semidefinite)
        solution = self._keep_answer(dual.program, dual.solve())
        alpha = -solution.y[margins.rows]
        alpha = np.where(alpha > ZERO * alpha.max(), alpha, 0.0)
        return alpha * y, float(solution.x[p.b][0]), solution.x[p.xi]
