"""What a generative model of sequences or documents is best used for, chosen by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.estimator import Classifier
from ..base.multiclass import best_of, class_scores, folds_of
from ..base.parameters import parameters
from .free_energy import FreeEnergyClassifier
from .mss import MaxMarginScoreSpace
from .sufficient_statistics import OnGenerativeModel, count_samples, fix_symbols, fresh, take

BAYES, PLAIN, ONE, EACH = "Bayes' rule", "plain statistics", "one model", "a model for each class"


@parameters
class ScoreSpaceClassifier(OnGenerativeModel, Classifier):
    r"""Classifier by a generative model, used in the way that cross-validation finds best.

    The candidates are, in this order:

    - "Bayes' rule": a model for each class and the most probable class (`FreeEnergyClassifier`);
    - "plain statistics": a maximum-margin classifier of a model with one state or topic, which has nothing hidden:
      its features are how often each symbol or word occurs, or the sums of the observations and of their squares;
    - "one model" and "a model for each class": `MaxMarginScoreSpace`, with ``per_class``.

    Of equally good candidates the first is taken.  So the score space is used only where it is better than what can be
    had without it.  If a class has one sample there are no folds, and Bayes' rule is taken.

    Parameters
    ----------
    model : DiscreteHMM, GaussianHMM or LatentDirichletAllocation, optional
        Template whose copies are fitted; `DiscreteHMM()` if None.
    cv : int or iterable of (train, test)
        Number of stratified folds, or the indices of each fold's samples.

    Attributes
    ----------
    choice_ : str
        Candidate that was taken.
    best_ : FreeEnergyClassifier or MaxMarginScoreSpace
        The classifier, fitted to all samples.
    choices_, scores_ : list of str, ndarray of shape (choices, folds)
        Candidates, and their share of right answers on each fold; in the folds a score space has one start.

    Examples
    --------
    >>> from models import DiscreteHMM, ScoreSpaceClassifier
    >>> often = DiscreteHMM(2).set_model([0.5, 0.5], [[0.2, 0.8], [0.8, 0.2]], [[0.9, 0.1], [0.1, 0.9]])
    >>> seldom = DiscreteHMM(2).set_model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.1, 0.9]])
    >>> X = often.sample([20] * 30, random_state=0)[0] + seldom.sample([20] * 30, random_state=1)[0]
    >>> y = np.repeat(["often", "seldom"], 30)
    >>> model = ScoreSpaceClassifier(DiscreteHMM(2, random_state=0)).fit(X, y)
    >>> model.choice_ != "plain statistics", model.score(X, y) > 0.9  # both classes have as many ones
    (True, True)
    """

    model: Any = None
    cv: Any = 5

    def fit(self, X: Any, y: Any) -> ScoreSpaceClassifier:
        """Choose among the candidates, and fit the best one to all samples."""
        model = fresh(self.model)
        X = self._matrix_to_fit(X)
        codes = self._labels_to_fit(y, count_samples(X))
        fix_symbols(model, X)
        labels = self.classes_[codes]
        folds = folds_of(self.cv, codes, np.ones(codes.size)) if np.bincount(codes).min() > 1 else []
        tried = _candidates(model, n_init=1)
        self.choices_, self.scores_ = list(tried), np.zeros((len(tried), len(folds)))
        for f, (train, test) in enumerate(folds):
            for c, one in enumerate(tried.values()):
                self.scores_[c, f] = one.fit(take(X, train), labels[train]).score(take(X, test), labels[test])
        self.choice_ = self.choices_[best_of(self.scores_)]
        self.best_ = _candidates(model)[self.choice_].fit(X, labels)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision function of `best_`; for Bayes' rule the log joint densities of the classes, or, of two
        classes, the second minus the first.
        """
        X = self._matrix_to_predict(X)
        if isinstance(self.best_, FreeEnergyClassifier):
            return class_scores(self.best_.predict_joint_log_proba(X))
        return np.asarray(self.best_.decision_function(X))


def _candidates(model: Any, **settings: Any) -> dict[str, Any]:
    """Return the candidates on copies of a generative model, unfitted; `settings` are those of the score spaces."""
    size = "n_states" if hasattr(model, "n_states") else "n_topics"
    single = fresh(model).set_params(**{size: 1})
    return {
        BAYES: FreeEnergyClassifier(model),
        PLAIN: MaxMarginScoreSpace(single, n_init=1),
        ONE: MaxMarginScoreSpace(model, **settings),
        EACH: MaxMarginScoreSpace(model, per_class=True, **settings),
    }
