"""The perceptron: stochastic sub-gradient descent on the perceptron loss, as the lecture on classifiers teaches it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base.copies import merge_copies
from ..base.estimator import convergence_warning
from ..base.linear import LinearClassifier
from ..base.validation import as_dense, check_number


class Perceptron(LinearClassifier):
    r"""The perceptron, a linear classifier that learns from its mistakes.

    Stochastic sub-gradient descent with step length 1 on

    .. math:: L(w) = \sum_n \max\{0, \gamma - y_n w^\top x_n\}

    Each pass takes the samples in a random order; where y_n w'x_n <= gamma, w := w + y_n x_n.  (The lecture's mistake
    is a strict inequality, under which w = 0 would never change; the equality belongs to a mistake.)  Where the
    classes can be separated this ends after finitely many mistakes (Block and Novikoff: at most (R / margin)^2 for
    gamma = 0), with some separating hyperplane; where they cannot, it goes on until `max_iter`.

    Weights s_n are factors of the losses, and so of the steps: w := w + s_n y_n x_n.  Copies of a sample are one sample
    with the sum of their weights, so that a weight of two is as good as having the sample twice.

    Parameters
    ----------
    margin : float, default 0.0
        gamma: below this y_n w'x_n counts as a mistake.
    fit_intercept : bool, default True
        b as the weight of a feature that is always one.
    max_iter : int, default 1000
        Passes over the samples.
    random_state : int or None, default 0
        Of the order of the samples; that in which they come has no influence.
    verbose : int, default 0
        1 prints a line a pass.

    Attributes
    ----------
    classes_ : array
    coef_ : array, shape (machines, features)
    intercept_ : array, shape (machines,)
    mistakes_ : list of arrays, shape (samples,)
        How often each sample was mistaken: w = sum_n mistakes_n s_n y_n x_n.
    converged_ : bool
        Whether the last pass of every machine was without a mistake.
    n_iter_ : int
        Passes, the most of any machine.

    See Also
    --------
    SVC : the separating hyperplane with the largest margin.

    Examples
    --------
    >>> import numpy as np
    >>> from models import Perceptron
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 2.0]]), [0, 0, 1, 1]
    >>> perceptron = Perceptron().fit(X, y)
    >>> perceptron.converged_, perceptron.score(X, y)
    (True, 1.0)
    """

    mistakes_: list[np.ndarray]
    converged_: bool

    def __init__(
        self,
        margin: float = 0.0,
        *,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        random_state: int | None = 0,
        verbose: int = 0,
    ) -> None:
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Perceptron:
        """Learn from samples X, shape (samples, features), with labels y.

        Parameters
        ----------
        X : array_like or sparse, shape (samples, features)
        y : array_like, shape (samples,)
        sample_weight : array_like, shape (samples,), optional
            Factors of the losses; an integer is as good as so many copies, zero as leaving the sample out.
        """
        check_number("margin", self.margin, 0.0)
        check_number("max_iter", self.max_iter, 1, whole=True)
        self.mistakes_, self.converged_, self.n_iter_ = [], True, 0
        used = self._fit_machines(X, y, sample_weight)
        self.mistakes_ = [_spread(mistakes, used) for mistakes in self.mistakes_]
        if not self.converged_:
            warnings.warn(
                f"Perceptron: after {self.n_iter_} passes it still makes mistakes. If the classes can be separated, "
                "raise max_iter; otherwise it never ends, and an SVC is what to use.",
                convergence_warning(),
                stacklevel=2,
            )
        return self

    def _descend(self, Z: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(self.random_state)
        first, sizes, owner = merge_copies(Z, (y > 0.0).astype(np.int64), weights)
        samples, y = as_dense(Z[first]), y[first]
        w, mistakes, passes = np.zeros(samples.shape[1]), np.zeros(y.size, dtype=np.int64), 0
        clean = False
        history = self._history("mistakes", f", machine {len(self.mistakes_) + 1}", first=1)
        while not clean and passes < self.max_iter:
            before, passes = mistakes.sum(), passes + 1
            for n in rng.permutation(y.size):
                if y[n] * (samples[n] @ w) <= self.margin:
                    w += sizes[n] * y[n] * samples[n]
                    mistakes[n] += 1
            history.append(float(mistakes.sum() - before))
            clean = history[-1] == 0.0
        history.end(clean)
        self.mistakes_.append(mistakes[owner])
        self.converged_, self.n_iter_ = self.converged_ and clean, max(self.n_iter_, passes)
        return w


def _spread(counts: np.ndarray, used: np.ndarray) -> np.ndarray:
    """The counts of the samples that were used, and zero for the others."""
    full = np.zeros(used.size, dtype=np.int64)
    full[used] = counts
    return full
