"""The free energy test: the class whose generative model gives a sample the largest bound of its log-likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.parameters import parameters
from ..generative.generative import GenerativeClassifier, check_priors, estimated_priors, quiet_log
from .sufficient_statistics import OnGenerativeModel, count_samples, fresh, models_of_classes


@parameters
class FreeEnergyClassifier(OnGenerativeModel, GenerativeClassifier):
    r"""Classifier by generative models of sequences or documents, one per class (Li et al. 2013, section 3.2).

    .. math::
        \hat y = \arg\max_k\; F_k(x) + \log \pi_k, \qquad
        F_k(x) = E_{Q_k} \log P(x, h; \theta_k) - E_{Q_k} \log Q_k(h) \le \log P(x; \theta_k)

    F_k is the (negative) free energy under the model of class k.  For a hidden Markov model Q_k is exact and F_k is the
    log-likelihood, so this is Bayes' rule; for a topic model F_k is the variational bound.  The paper has two classes
    and equal priors (``priors="uniform"``).  F_k is the sum of the features of class k that `FreeEnergyScore` returns,
    so a linear classifier on these features can represent this classifier.

    Parameters
    ----------
    model : DiscreteHMM, GaussianHMM or LatentDirichletAllocation, optional
        Template whose copies are fitted; `DiscreteHMM()` if None.
    priors : None, "uniform" or array_like, shape (classes,)
        Class priors pi; the classes' shares of the samples if None.

    Attributes
    ----------
    models_ : list
        Fitted models, in the order of `classes_`.
    priors_ : array, shape (classes,)
        Prior probability of each class.

    Notes
    -----
    A sample with probability zero in every class has the priors as its posterior.

    Examples
    --------
    >>> from models import DiscreteHMM, FreeEnergyClassifier
    >>> X = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1], [1, 0, 1, 1, 1]]
    >>> model = FreeEnergyClassifier(DiscreteHMM(1, pseudocount=1.0)).fit(X, ["zeros", "zeros", "ones", "ones"])
    >>> print(model.predict([[0, 0, 1], [1, 1, 1, 0]]))
    ['zeros' 'ones']
    >>> print(model.predict_proba([[0, 0, 1]]).round(3))
    [[0.269 0.731]]
    """

    model: Any = None
    priors: Any = None

    def fit(self, X: Any, y: Any) -> FreeEnergyClassifier:
        """Fit a model to the samples of each class."""
        model = fresh(self.model)
        X = self._matrix_to_fit(X)
        codes = self._labels_to_fit(y, count_samples(X))
        counts = np.bincount(codes)
        priors = check_priors(self.priors, counts.size)
        self.models_ = models_of_classes(model, X, codes)
        self.priors_ = estimated_priors(counts, priors, np.ones(counts.size))
        return self

    def _log_joint(self, X: Any) -> np.ndarray:
        return np.column_stack([model.score_samples(X) for model in self.models_]) + quiet_log(self.priors_)
