"""What every generative classifier shares: Bayes' rule on log pi_k + log p(x | k)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .estimator import Classifier, convergence_warning
from .validation import as_weights


class GenerativeClassifier(Classifier):
    """A classifier by the joint density of samples and labels; a subclass gives its logarithm.

    P(k | x) = exp(J_k(x) - logsumexp_l J_l(x)), J_k(x) = log pi_k + log p(x | k): nothing overflows, and a sample that
    is impossible in every class gets the class priors.
    """

    priors_: np.ndarray

    def _log_joint(self, X: Any) -> np.ndarray:
        """J_k(x) of checked samples, shape (samples, classes)."""
        raise NotImplementedError

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log pi_k + log p(x | k), shape (samples, classes)."""
        return self._log_joint(self._matrix_to_predict(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log P(k | x), shape (samples, classes)."""
        return log_posteriors(self._log_joint(self._matrix_to_predict(X)), self.priors_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(k | x), shape (samples, classes)."""
        return np.exp(log_posteriors(self._log_joint(self._matrix_to_predict(X)), self.priors_))

    def decision_function(self, X: Any) -> np.ndarray:
        """The log-odds log P(classes_[1] | x) / P(classes_[0] | x) of two classes; of more, log pi_k + log p(x | k)."""
        joint = self._log_joint(self._matrix_to_predict(X))
        if self.classes_.size > 2:
            return joint
        posteriors = log_posteriors(joint, self.priors_)
        return posteriors[:, 1] - posteriors[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """The label of the class with the largest posterior."""
        joint = self._log_joint(self._matrix_to_predict(X))
        return self.classes_[log_posteriors(joint, self.priors_).argmax(axis=1)]

    def _weights_to_fit(self, sample_weight: Any, codes: np.ndarray) -> np.ndarray:
        """The samples' weights, refused when they leave a class without any."""
        weights = as_weights(sample_weight, codes.size)
        totals = np.bincount(codes, weights, minlength=self.classes_.size)
        if (totals == 0.0).any():
            raise ValueError(
                f"sample_weight is zero for every sample of class {self.classes_.tolist()[totals.argmin()]!r}"
            )
        return weights

    def _warn_unless_converged(self, converged: bool, max_iter: int) -> None:
        if not converged:
            warnings.warn(
                f"{type(self).__name__}: expectation maximization did not converge in {max_iter} steps; raise max_iter "
                "or tol.",
                convergence_warning(),
                stacklevel=3,
            )


def log_posteriors(joint: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """The logarithms of the rows of exp(joint), normalized; of rows of -inf, the priors'."""
    largest = joint.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = joint - largest  # first, for log sum exp of large numbers would be rounded in their units
        return np.where(np.isfinite(largest), below - logsumexp(below, axis=1, keepdims=True), np.log(priors))
