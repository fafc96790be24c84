"""Regression through a joint normal density of samples and targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.estimator import Regressor
from ..base.groups import IterationParameters
from ..base.parameters import parameters
from ..base.validation import as_targets, as_weights
from .generative import unlabelled_samples
from .normal import complete, conjugate_prior, groups_of, is_singular, ledoit_wolf, raise_eigenvalues, shrink
from .normal_classes import NormalClasses, Sample, maximize_likelihood, normal_classes


@parameters
class JointGaussianRegressor(Regressor, IterationParameters):
    r"""Regression by the conditional mean of a joint normal density.

    With (x, y) ~ N(mu, Sigma), and o the features that a sample has,

    .. math:: E[y | x_o] = \mu_y + \Sigma_{yo} \Sigma_{oo}^{-1} (x_o - \mu_o), \quad
        \mathrm{var}[y | x_o] = \Sigma_{yy} - \Sigma_{yo} \Sigma_{oo}^{-1} \Sigma_{oy}

    Without missing entries this is least squares with an intercept; with them (NaN in X, or samples in
    ``X_unlabelled``) the density is fitted by expectation maximization.

    Parameters
    ----------
    tol, max_iter
        Stopping rule of expectation maximization.

    Attributes
    ----------
    coef_, intercept_ : array, shape (features,), and float
        E[y | x] = x'coef + intercept of samples that have all features.
    mean_, covariance_ : arrays, shapes (features + 1,) and (features + 1, features + 1)
        Mean and covariance of (x, y).
    shrinkage_ : float
        Shrinkage of Sigma_xx if it is singular, as with "auto" in `LinearDiscriminant`; else 0.
    log_likelihoods_ : array
        As in `LinearDiscriminant`.
    n_iter_ : int
        Number of steps of expectation maximization; 1 if nothing is missing.

    Examples
    --------
    >>> from models import JointGaussianRegressor
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    >>> model = JointGaussianRegressor().fit(X, 2.0 * X[:, 0] - X[:, 1] + 1.0)
    >>> model.predict([[1.0, 1.0], [np.nan, 3.0]]).round(6).tolist()
    [2.0, 2.0]
    """

    _takes_nan = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_unlabelled: Any = None) -> JointGaussianRegressor:
        """Fit the joint normal density of samples X and targets y."""
        X = self._matrix_to_fit(X)
        joint = np.c_[X, as_targets(y, X.shape[0], type(self).__name__)]
        weights = as_weights(sample_weight, X.shape[0])
        joint, weights = joint[weights > 0.0], weights[weights > 0.0]
        others = unlabelled_samples(self, X_unlabelled, X)
        joint = np.vstack([joint, np.c_[others, np.full(len(others), np.nan)]])
        weights = np.r_[weights, np.ones(len(others))]
        sample = Sample(joint, np.zeros(len(joint), np.int64), weights)
        prior = conjugate_prior(None, None, joint.shape[1], "full")
        model = normal_classes(sample, "full", True, prior, None, np.ones(1))
        model.shrunk = slice(-1)
        self.n_iter_, self.log_likelihoods_ = maximize_likelihood(self, model, sample)
        self._keep(model)
        return self

    def _keep(self, model: NormalClasses) -> None:
        self.mean_ = model.means[0]
        self.covariance_ = model.modes()[0]
        inputs = self.covariance_[:-1, :-1]
        scale, varies = model.units[:-1], model.varies[:-1]
        self.shrinkage_ = 0.0
        if is_singular(inputs, scale, varies):
            count, root = float(model.counts[0]), np.sqrt(scale)
            share = ledoit_wolf(inputs / np.outer(root, root), float(model.fourths[0]), count)
            self.shrinkage_ = max(1.0 / (1.0 + count), share)
        self.covariance_[:-1, :-1] = raise_eigenvalues(shrink(inputs, self.shrinkage_, scale, varies), scale)
        self.coef_ = np.linalg.solve(self.covariance_[:-1, :-1], self.covariance_[:-1, -1])
        self.intercept_ = float(self.mean_[-1] - self.mean_[:-1] @ self.coef_)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return E[y | x_o] of every sample; with `return_std` also the standard deviation of y given x_o."""
        X = self._matrix_to_predict(X)
        joint = np.c_[X, np.full(len(X), np.nan)]
        mean, deviation = np.empty(len(X)), np.empty(len(X))
        for rows, _ in groups_of(joint):
            group = joint[rows]
            weights = np.full(len(rows), 1.0 / len(rows))
            filled, spread = complete(group, self.mean_, self.covariance_, groups_of(group), weights)
            mean[rows] = filled[:, -1]
            deviation[rows] = np.sqrt(max(0.0, spread[-1, -1]))
        return (mean, deviation) if return_std else mean
