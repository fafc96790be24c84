"""What linear classifiers share: w and b of every machine, decision values and distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from .estimator import Classifier
from .multiclass import scores, two_class_problems


class LinearClassifier(Classifier):
    """A classifier with f(x) = w'x + b; more than two classes one against the rest.

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

    def _signs(self, codes: np.ndarray) -> list[np.ndarray]:
        """The signs of the samples to every machine."""
        return [signs for _, signs in two_class_problems(codes, self.classes_.size, "ovr")]

    def decision_function(self, X: Any) -> np.ndarray:
        """The decision values w'x + b: positive for ``classes_[1]``, or a column a class."""
        return self._values(self._matrix_to_predict(X))

    def _values(self, X: Any) -> np.ndarray:
        return scores(np.asarray(X @ self.coef_.T) + self.intercept_, self.classes_.size, "ovr")

    def signed_distance(self, X: Any) -> np.ndarray:
        """(w'x + b) / |w|: how far a sample is from the hyperplane, positive on the side of the class."""
        values, lengths = self.decision_function(X), np.linalg.norm(self.coef_, axis=1)
        return values / np.where(lengths > 0.0, lengths, np.inf)  # w = 0 has no hyperplane
