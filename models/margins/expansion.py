"""Classifiers whose decision functions are expansions over kept samples, f(x) = sum_j c_j k(x_j, x) + b."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.estimator import Classifier
from ..base.multiclass import scores, winners
from ..base.validation import as_dense, as_weights
from ..kernels.kernel import Gamma, Kernel, make_kernel
from .multipliers import KINDS

PAIRWISE = "array_like or sparse, shape (samples, features)\n    Or (samples, samples) for a precomputed kernel."
"""Description of X in `fit` if the kernel may be precomputed."""


class KernelExpansion:
    """Functions f(x) = sum_j c_j k(x_j, x) + b of kept samples.

    The `fit` of a subclass sets the attributes, with one row per machine.

    Attributes
    ----------
    support_ : array of int, shape (vectors,)
        Indices of the support vectors in X: samples with a nonzero coefficient in some machine.
    support_vectors_ : array or CSR, shape (vectors, features)
        The support vectors; no rows for a precomputed kernel.
    n_support_ : array of int, shape (1,)
        Number of support vectors.
    dual_coef_ : array, shape (machines, vectors)
        Coefficients c_j of each machine f(x) = dual_coef_ k(support_vectors_, x) + intercept_.
    kernel_ : Kernel
        Kernel with all its parameters.
    coef_ : array, shape (machines, features)
        Normal w of each machine; only for the linear kernel.
    """

    kernel: Any
    degree: int
    gamma: Gamma
    coef0: float
    kernel_: Kernel
    support_: np.ndarray
    support_vectors_: Any
    n_support_: np.ndarray
    dual_coef_: np.ndarray
    coef_: np.ndarray
    _of_coef: np.ndarray  # the `dual_coef_` that `coef_` belongs to

    def _is_pairwise(self) -> bool:
        return isinstance(getattr(self, "kernel", None), str) and self.kernel == "precomputed"

    def _kernel_to_fit(self, X: Any, weights: np.ndarray) -> np.ndarray:
        """Set `kernel_` for the samples X; return the indices of the samples with positive weight."""
        self.kernel_ = make_kernel(self.kernel, X, weights, self.gamma, self.degree, self.coef0)
        self.kernel_.check_samples(X)
        return np.flatnonzero(weights > 0.0)

    def _samples_of(self, X: Any, rows: np.ndarray) -> Any:
        """Return X[rows], or block (rows, rows) of X if the kernel is precomputed."""
        if np.array_equal(rows, np.arange(X.shape[0])):
            return X
        if self.kernel_.is_precomputed:
            return X[rows][:, rows] if sp.issparse(X) else X[np.ix_(rows, rows)]
        return X[rows]

    def _keep_vectors(self, X: Any, support: np.ndarray, coefficients: np.ndarray) -> None:
        """Set the support vectors, rows `support` of X, and their coefficients."""
        self.support_, self.dual_coef_, self.n_support_ = support, coefficients, np.array([support.size])
        self.support_vectors_ = X[:0] if self.kernel_.is_precomputed else X[support]
        self._set_coef()

    def _set_coef(self) -> None:
        """Set `coef_` from the expansion if the kernel is linear; otherwise delete it."""
        self._of_coef = self.dual_coef_
        if self.kernel_.is_linear:
            self.coef_ = np.asarray(self.dual_coef_ @ self.support_vectors_)
        elif hasattr(self, "coef_"):
            del self.coef_

    def _expansions(self, X: Any) -> np.ndarray:
        """Return sum_j c_j k(x_j, x) at the rows x of X, one column per machine."""
        by_hand = vars(self).get("dual_coef_") is not vars(self).get("_of_coef")
        if "coef_" in vars(self) and not by_hand:  # linear, or `coef_` set by hand
            values = X @ self.coef_.T
        elif self.kernel_.is_precomputed:
            values = X[:, self.support_] @ self.dual_coef_.T
        else:
            values = self.kernel_(X, self.support_vectors_) @ self.dual_coef_.T
        return as_dense(values)


class KernelClassifier(KernelExpansion, Classifier):
    """Base of support vector classifiers: checks of samples, evaluation of the expansion, choice of classes.

    Attributes
    ----------
    dual_coef_ : array, shape (machines, vectors)
        alpha_i y_i; a machine is f(x) = dual_coef_ k(support_vectors_, x) + intercept_.  One machine for two classes,
        else one per pair of classes (positive for the first) or one per class.
    support_kinds_ : array of str, shape (machines, vectors)
        "margin": on a supporting hyperplane, 0 < alpha_i < C_i.  "inside": alpha_i = C_i, in the margin region but on
        the right side, xi_i <= 1.  "wrong": alpha_i = C_i, on the wrong side, xi_i > 1.  "none": alpha_i = 0.
    intercept_ : array, shape (machines,)
        b from the KKT conditions: the mean over the vectors on the margin, or if there is none, the middle of the
        interval that the other samples leave.
    """

    _takes_sparse = True

    intercept_: np.ndarray
    _kinds: np.ndarray  # shape (machines, vectors): kinds as indices into `KINDS`

    @property
    def support_kinds_(self) -> np.ndarray:
        """Kind of every support vector in every machine: "margin", "inside", "wrong" or "none"."""
        return KINDS[self._kinds]

    def _samples_to_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """Return X, class codes, weights and C_i (with class weights) of all samples; check labels and weights.

        A sample of weight zero has C_i = 0; the caller leaves it out.
        """
        X = self._matrix_to_fit(X, fewest=2)
        codes = self._labels_to_fit(y, X.shape[0])
        weights, weighed = as_weights(sample_weight, X.shape[0]), self._weights_to_fit(sample_weight, codes)
        C = np.zeros(weights.size)
        C[weights > 0.0] = self.C * weighed[weights > 0.0]
        return X, codes, weights, C

    def _decisions(self, X: Any) -> np.ndarray:
        """Return the decision values at the rows of X, one column per machine."""
        X = self._matrix_to_predict(X)
        return self._expansions(X) + self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values at the rows of X.

        Parameters
        ----------
        X : array_like or sparse, shape (samples, features)
            For a precomputed kernel, its values between these samples and the samples of `fit`.

        Returns
        -------
        array, shape (samples,) for two classes, else (samples, classes) or (samples, pairs)
            Positive for ``classes_[1]``; else one column per class, or with ``decision_function_shape="ovo"`` (and
            ``multi_class="ovo"``) one column per pair, positive for its first class.
        """
        return scores(self._decisions(X), self.classes_.size, self.multi_class, self.decision_function_shape)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every sample: by sign, by votes (see `break_ties`), or by the largest value."""
        break_ties = bool(getattr(self, "break_ties", False))
        decisions = self._decisions(X)
        return self.classes_[winners(decisions, self.classes_.size, self.multi_class, break_ties)]
