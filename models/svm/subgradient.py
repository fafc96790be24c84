"""The linear support vector machine without a program: sub-gradient descent on its hinge loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.linear import LinearClassifier
from ..base.validation import check_number

PATIENCE = 200  # steps without the improvement asked for, after which it is halved


class SubgradientSVC(LinearClassifier):
    r"""Linear support vector classifier by sub-gradient descent on the primal hinge loss, to be read and compared.

    .. math::
        f(w, b) = \tfrac12 \|w\|^2 + C \sum_n \max\{0, 1 - y_n (w^\top x_n + b)\}

        g = \Bigl(w, 0\Bigr) - C \sum_{n:\, y_n (w^\top x_n + b) < 1} y_n (x_n, 1)

    The method is the lecture's direct route.  Its steps follow Polyak: with a target below the best value so far by
    delta, the step is (f - target) / ||g||^2 along -g, and delta is halved when a number of steps brought no such
    improvement.  The best point is kept, as a sub-gradient step may go uphill.  On scaled features expect f to four
    digits at C = 1 and to one or two at C = 100; `models.SVC` solves the same program to eight.

    Parameters
    ----------
    C : float, default 1.0
        The price of a violated margin, times the sample's weight.
    fit_intercept : bool, default True
    max_iter : int, default 10000
        Steps.
    tol : float, default 1e-6
        Descent ends when delta is below this share of f.
    verbose : int, default 0
        1 prints a line for a hundred steps.

    Attributes
    ----------
    classes_ : array
    coef_ : array, shape (machines, features)
    intercept_ : array, shape (machines,)
    objectives_ : list of arrays
        f at every step, for each machine.
    n_iter_ : int
        Steps, the most of any machine.

    See Also
    --------
    SVC : the same machine by its quadratic program.

    Examples
    --------
    >>> import numpy as np
    >>> from models import SVC, SubgradientSVC
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 2.0]]), [0, 0, 1, 1]
    >>> descent, program = SubgradientSVC(C=10.0).fit(X, y), SVC(C=10.0, kernel="linear").fit(X, y)
    >>> bool(abs(descent.objectives_[0].min() / -program.solution_.objective - 1.0) < 1e-3)
    True
    """

    objectives_: list[np.ndarray]

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: int = 10000,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SubgradientSVC:
        """Learn from samples X, shape (samples, features), with labels y."""
        check_number("C", self.C, 0.0, open_low=True)
        if np.isinf(self.C):
            raise ValueError("C must be finite: a hard margin has no hinge loss; use SVC(C=inf)")
        check_number("max_iter", self.max_iter, 1, whole=True)
        check_number("tol", self.tol, 0.0, open_low=True)
        self.objectives_, self.n_iter_ = [], 0
        self._fit_machines(X, y, sample_weight)
        return self

    def _descend(self, Z: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        C, regular = self.C * weights, np.ones(Z.shape[1])
        if self.fit_intercept:
            regular[-1] = 0.0  # b is free of charge
        w = np.zeros(Z.shape[1])
        best, f_best, delta, since, converged = w, np.inf, np.inf, 0, False
        objectives = self._history("objective", f", machine {len(self.objectives_) + 1}", first=1, every=100)
        while len(objectives) < self.max_iter:
            slack = 1.0 - y * (Z @ w)
            f = 0.5 * float(w @ (regular * w)) + float(C @ np.maximum(slack, 0.0))
            objectives.append(f)
            if not np.isfinite(delta):
                delta = 0.5 * f
            since += 1
            if f < f_best:
                since = 0 if f <= f_best - 0.5 * delta else since
                best, f_best = w, f
            if since > PATIENCE:
                w, f, delta, since = best, f_best, 0.5 * delta, 0
                if delta <= self.tol * max(f_best, 1e-300):
                    converged = True
                    break
                slack = 1.0 - y * (Z @ w)
            g = regular * w - Z.T @ np.where(slack > 0.0, C * y, 0.0)
            length = float(g @ g)
            if length == 0.0:
                converged = True
                break
            w = w - (f - f_best + delta) / length * g
        objectives.end(converged)
        self.objectives_.append(np.array(objectives))
        self.n_iter_ = max(self.n_iter_, len(objectives))
        return best
