"""The perceptron: stochastic sub-gradient descent on the perceptron loss, as the lecture on classifiers teaches it."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from ..base.copies import merge_copies
from ..base.estimator import warn_unconverged
from ..base.groups import InterceptParameters, WeightParameters
from ..base.linear import LinearClassifier
from ..base.parameters import Count, NonNegative, fitted, parameters
from ..base.rows import rows_of
from ..base.validation import as_dense, as_generator
from ..numerics.first_order_kernels import Stochastic, learn_from_mistakes
from .svc import SVC


@parameters
class Perceptron(LinearClassifier, InterceptParameters, WeightParameters):
    r"""The perceptron, a linear classifier that learns from its mistakes.

    Stochastic sub-gradient descent with step length 1 on

    .. math:: L(w) = \sum_n \max\{0, \gamma - y_n w^\top x_n\}

    Each pass takes the samples in a random order; where y_n w'x_n <= gamma, w := w + y_n x_n.  (The lecture's mistake
    is a strict inequality, under which w = 0 would never change; the equality belongs to a mistake.)  Where the
    classes can be separated this ends after at most `mistake_bound` mistakes (Block and Novikoff), with some separating
    hyperplane; where they cannot, w never comes to rest, and an average of its values is the better classifier.

    Weights s_n are factors of the losses, and so of the steps: w := w + s_n y_n x_n.  Copies of a sample are one sample
    with the sum of their weights, so that a weight of two is as good as having the sample twice.

    Parameters
    ----------
    margin
        gamma: below this y_n w'x_n counts as a mistake.
    fit_intercept
        b as the weight of a feature that is always one.
    max_iter
        Passes over the samples.
    n_iter_no_change
        So many passes without fewer mistakes, each counted by its weight, than ever before end it; None goes on to
        `max_iter`.
    average : {"auto", True, False}
        Whether the answer is the average of w over all samples seen since the pass with the fewest mistakes, as far as
        there are any; "auto" where w has not come to rest.
    random_state
        Of the order of the samples; that in which they come has no influence.
    verbose
        1 prints a line a pass.

    Attributes
    ----------
    mistakes_ : array of int, shape (machines, samples)
        How often each sample was mistaken: w = sum_n mistakes_n s_n y_n x_n where it is not averaged.
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

    margin: NonNegative = 0.0
    _: KW_ONLY
    max_iter: Count = 1000
    n_iter_no_change: Count | None = 20
    average: bool | str = "auto"
    random_state: int | None = 0
    verbose: int = 0

    mistakes_: np.ndarray = fitted()
    converged_: bool = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Perceptron:
        """Learn from samples X with labels y; weights of samples are factors of the losses."""
        if self.average not in ("auto", True, False):
            raise ValueError(f"average must be 'auto', True or False, but {self.average!r} came")
        self._mistakes: list[np.ndarray] = []
        self.converged_, self.n_iter_ = True, 0
        self._seed = int(as_generator(self.random_state).integers(2**62))
        used = self._fit_machines(X, y, sample_weight)
        self.mistakes_ = np.zeros((len(self._mistakes), used.size), dtype=np.int64)
        self.mistakes_[:, used] = self._mistakes
        del self._mistakes
        if not self.converged_:
            warn_unconverged(
                f"Perceptron: after {self.n_iter_} passes it still makes mistakes. If the classes can be separated, "
                "raise n_iter_no_change and max_iter; otherwise it never ends, and an SVC is what to use.",
                stacklevel=2,
            )
        return self

    def _find_machines(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        first, sizes, owner = merge_copies(X, codes, weights)
        rows = rows_of(X[first], bool(self.fit_intercept))
        found: list[np.ndarray] = []
        patience = np.inf if self.n_iter_no_change is None else self.n_iter_no_change
        for signs in self._signs(codes[first]):
            state = Stochastic(rows=rows, y=signs, sizes=sizes, order=np.arange(first.size), features=X.shape[1] + 1)
            state.random, mistakes = self._seed, np.zeros(first.size, dtype=np.int64)
            fewest, since = np.inf, 0
            history = self._history("mistakes", f", machine {len(found) + 1}", first=1)
            while len(history) < self.max_iter and fewest > 0 and since < patience:
                if since == 0:  # the average begins again: what came before the pass with the fewest mistakes is worse
                    state.seen, state.delayed[:] = 0, 0.0
                made = learn_from_mistakes(state, float(self.margin), mistakes)
                history.append(made)
                fewest, since = (made, 0) if made < fewest else (fewest, since + 1)
            history.end(fewest == 0)
            self._mistakes.append(mistakes[owner])
            self.converged_, self.n_iter_ = self.converged_ and fewest == 0, max(self.n_iter_, len(history))
            averaged = fewest > 0 if self.average == "auto" else self.average
            found.append(state.w - state.delayed / state.seen if averaged else state.w.copy())
        return found

    def mistake_bound(self, X: Any, y: Any) -> np.ndarray:
        r"""How many mistakes there can be at most, by machine: infinity where the classes cannot be separated.

        .. math:: (R^2 + 2 \gamma) \|w^*\|^2, \quad R = \max_n \|x_n\|,
            \quad w^* = \arg\min \{\|w\| : y_n w^\top x_n \ge 1\}

        With gamma = 0 it is (R |w*|)^2.  A mistake adds at least 1 to w'w* and at most R^2 + 2 gamma to |w|^2, so that
        M mistakes have M <= w'w* <= |w| |w*| <= sqrt(M (R^2 + 2 gamma)) |w*|.  With an intercept the samples have one
        more feature, which is one.  Of samples without weights.

        Parameters
        ----------
        X : array_like or sparse, shape (samples, features)
        y : array_like, shape (samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from models import Perceptron
        >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), [1, -1]
        >>> perceptron = Perceptron(fit_intercept=False).fit(X, y)
        >>> perceptron.mistake_bound(X, y).round(6), int(perceptron.mistakes_.sum())
        (array([2.]), 2)
        """
        X = self._matrix_to_predict(X)
        codes = np.searchsorted(self.classes_, np.asarray(y))
        Z = np.hstack([as_dense(X), np.ones((X.shape[0], 1))]) if self.fit_intercept else as_dense(X)
        radius = float((Z**2).sum(axis=1).max())
        bounds = []
        for signs in self._signs(codes):
            try:
                margin = SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(Z, signs).margin_[0]
            except ValueError:  # not separable
                margin = 0.0
            bounds.append((radius + 2.0 * float(self.margin)) / margin**2 if margin > 0.0 else np.inf)
        return np.array(bounds)
