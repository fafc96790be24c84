"""What a generative prior is worth on labelled samples, told before a user relies on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp import ProgramError
from socp.problem.plot import empty_figure

from ..base.validation import as_labels
from ..explanations.given import distinct_folds
from .bilevel import FOLDS, RULES, BilevelClassifier
from .prior import GenerativePrior


@dataclass(frozen=True)
class PriorReport:
    """Held-out accuracy with and without a prior, and the samples that contradict it; see `explain_prior`.

    Attributes
    ----------
    accuracy : dict of ndarray, shape (folds,)
        Share of right answers on each fold of "samples alone" (a support vector machine), "prior alone" (its own
        hyperplane) and "prior and samples" (`BilevelClassifier`, fitted to the other folds with all of its choices).
        The prior alone has NaN if its means are equal.
    model : BilevelClassifier
        Fitted to all samples; its `binding_` says whether the prior binds, its `choice_` which rule it chose.
    contradicting : ndarray of int
        Places of the samples on the wrong side of the prior's own hyperplane, the farthest first.

    Examples
    --------
    >>> X, y = [[-2.0], [-1.0], [-0.5], [0.4], [1.0], [3.0]], ["a", "a", "b", "a", "b", "b"]
    >>> report = explain_prior(GenerativePrior(t=([-1.0], [1.0]), Omega=(0.1, 0.1)), X, y)
    >>> report.contradicting
    array([2, 3])
    """

    accuracy: dict[str, np.ndarray]
    model: BilevelClassifier
    contradicting: np.ndarray

    def __str__(self) -> str:
        """Return a line for each rule, and what the prior does."""
        lines = [
            f"{rule:18} {100.0 * values.mean():5.1f} % right on held-out samples" for rule, values in self._shown()
        ]
        samples = self.model.xi_.size
        against = f"{self.contradicting.size} of {samples} samples are on the wrong side of the prior's hyperplane"
        return "\n".join([*lines, self.model.binding_, against])

    def _shown(self) -> list[tuple[str, np.ndarray]]:
        return [(rule, values) for rule, values in self.accuracy.items() if not np.isnan(values).any()]

    def plot(self) -> Any:
        """Return a matplotlib figure: the accuracy of each rule, its mean a bar and its folds points.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        figure = empty_figure()
        axes = figure.subplots()
        for place, (_, values) in enumerate(self._shown()):
            axes.bar(place, values.mean(), width=0.6, alpha=0.4)
            axes.plot(np.full(values.size, place), values, "k.")
        axes.set_xticks(range(len(self._shown())), [rule for rule, _ in self._shown()])
        axes.set(ylabel="accuracy on held-out samples", ylim=(0.0, 1.02), title=self.model.choice_)
        return figure


def explain_prior(prior: GenerativePrior, X: Any, y: Any, **settings: Any) -> PriorReport:
    """Compare a support vector machine, a prior alone and `BilevelClassifier` on held-out samples.

    Five folds are held out in turn, copies of a sample together.  The classifier chooses beta and C2 by
    cross-validation within the other folds, so that its accuracy is not that of its best candidate.  It is fitted six
    times, each with its own cross-validation.

    Parameters
    ----------
    prior : GenerativePrior
    X : array_like or sparse, shape (samples, features)
    y : array_like, shape (samples,)
        Two labels, of each at least two distinct samples.
    **settings
        Parameters of `BilevelClassifier` other than `prior`, `beta`, `C2` and `kernel`.

    Returns
    -------
    PriorReport

    Raises
    ------
    ValueError
        `prior` is no `GenerativePrior`, a parameter cannot be set here, or a class has one distinct sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(24) % 2
    >>> mean = 0.8 * (np.arange(60) < 4)
    >>> X = rng.normal(size=(24, 60)) + np.outer(2.0 * y - 1.0, mean)
    >>> report = explain_prior(GenerativePrior(t=(-mean, mean), Omega=(0.1, 0.1)), X, y)
    >>> [f"{report.accuracy[rule].mean():.2f}" for rule in ("samples alone", "prior alone")]
    ['0.65', '0.93']
    """
    if not isinstance(prior, GenerativePrior):
        raise ProgramError(f"prior must be a GenerativePrior, but {type(prior).__name__} came")
    closed = sorted({"prior", "beta", "C2", "kernel"} & settings.keys())
    if closed:
        raise ProgramError(f"explain_prior chooses beta and C2 itself, without a kernel, but {closed[0]} came")
    model = BilevelClassifier(prior, **settings).fit(X, y)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    codes = as_labels(y, X.shape[0], "explain_prior")[1]
    folds = distinct_folds(X, X[:0], np.zeros(0, np.int64), codes, np.arange(codes.size), FOLDS)
    if not folds:
        raise ProgramError("explain_prior needs two distinct samples of each class, but a class has one")
    accuracy = {rule: np.full(len(folds), np.nan) for rule in RULES[::-1]}
    for choice, scores in zip(model.choices_, model.scores_):  # of the same folds
        if choice.Q == 0.0 and 0.0 in (choice.constants.C1, choice.constants.C2):
            accuracy["prior alone" if choice.constants.C1 == 0.0 else "samples alone"] = scores.copy()
    for f, (train, test) in enumerate(folds):
        both = BilevelClassifier(prior, **settings).fit(X[train], y[train])
        accuracy["prior and samples"][f] = np.mean(both.predict(X[test]) == y[test])
    distance = np.zeros(codes.size)
    if (prior.t[0] != prior.t[1]).any():
        w, b = prior.hyperplane()[:2]
        distance = (1.0 - 2.0 * codes) * (X @ w + b)
    wrong = np.flatnonzero(distance > 0.0)
    return PriorReport(accuracy, model, wrong[np.argsort(-distance[wrong], kind="stable")])
