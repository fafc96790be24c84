"""Base of linear classifiers: checks of samples, w and b of every machine, choice of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .estimator import Classifier
from .multiclass import scores, two_class_problems


class LinearClassifier(Classifier):
    """Classifier with f(x) = w'x + b; more than two classes are separated one against the rest.

    The `_find_machines` of a subclass finds w and b of every machine.

    Attributes
    ----------
    coef_ : array, shape (machines, features)
        w, the normal of the hyperplane of each machine.
    intercept_ : array, shape (machines,)
        b, the constant term of each machine.
    """

    _takes_sparse = True

    coef_: np.ndarray
    intercept_: np.ndarray

    def _fit_machines(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        """Fit all machines to the samples of positive weight; return the mask of these samples."""
        X, codes, weights = self._samples_and_weights(X, y, sample_weight, 2)
        used = weights > 0.0
        if not used.all():
            X, codes, weights = X[used], codes[used], weights[used]
        w = np.array(self._find_machines(X, codes, weights))
        self.coef_, self.intercept_ = w[:, :-1].copy(), w[:, -1].copy()
        return used

    def _signs(self, codes: np.ndarray) -> list[np.ndarray]:
        """Return the signs of the samples for every machine."""
        return [signs for _, signs in two_class_problems(codes, self.classes_.size, "ovr")]

    def _find_machines(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        """Return (w, b) of every machine, one array each."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values w'x + b: positive for ``classes_[1]``, or one column per class."""
        return self._values(self._matrix_to_predict(X))

    def _values(self, X: Any) -> np.ndarray:
        return scores(np.asarray(X @ self.coef_.T) + self.intercept_, self.classes_.size, "ovr")

    def signed_distance(self, X: Any) -> np.ndarray:
        """Return (w'x + b) / |w|, the distance to the hyperplane, positive on the side of the class."""
        values, lengths = self.decision_function(X), np.linalg.norm(self.coef_, axis=1)
        return values / np.where(lengths > 0.0, lengths, np.inf)  # w = 0 has no hyperplane: distance 0
