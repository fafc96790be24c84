"""What linear classifiers share: samples checked, w and b of every machine, the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .estimator import Classifier
from .multiclass import check_classes_left, scores, two_class_problems
from .validation import as_weights


class LinearClassifier(Classifier):
    """A classifier with f(x) = w'x + b; more than two classes one against the rest.

    A subclass's `_descend` finds w and b of one machine; `fit` sets `coef_`, `intercept_` and `n_iter_`.
    """

    _takes_sparse = True

    fit_intercept: bool
    coef_: np.ndarray
    intercept_: np.ndarray
    n_iter_: int

    def _samples_to_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """The samples, the codes of their classes and their weights, checked."""
        X = self._matrix_to_fit(X, fewest=2)
        codes = self._labels_to_fit(y, X.shape[0])
        weights = as_weights(sample_weight, X.shape[0])
        check_classes_left(self.classes_, codes, weights)
        return X, codes, weights

    def _fit_machines(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        """Find all machines; returns which samples have a weight, which are those that `_descend` sees."""
        X, codes, weights = self._samples_to_fit(X, y, sample_weight)
        used = np.flatnonzero(weights > 0.0)
        Z = X[used]
        if self.fit_intercept:  # b is the weight of a feature that is always one
            ones = np.ones((used.size, 1))
            Z = sp.hstack([Z, ones], format="csr") if sp.issparse(Z) else np.hstack([Z, ones])
        found = [
            self._descend(Z, signs, weights[used])
            for _, signs in two_class_problems(codes[used], self.classes_.size, "ovr")
        ]
        w = np.array(found)
        self.coef_ = w[:, : X.shape[1]].copy()
        self.intercept_ = w[:, X.shape[1]].copy() if self.fit_intercept else np.zeros(w.shape[0])
        return weights > 0.0

    def _descend(self, Z: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """The decision values w'x + b: positive for ``classes_[1]``, or a column a class."""
        return self._values(self._matrix_to_predict(X))

    def _values(self, X: Any) -> np.ndarray:
        return scores(np.asarray(X @ self.coef_.T) + self.intercept_, self.classes_.size, "ovr")

    def predict(self, X: Any) -> np.ndarray:
        """The class of every sample."""
        return self._labels_of(self.decision_function(X))
