"""The linear support vector machine without a program: sub-gradient descent on its hinge loss."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..base.copies import merge_copies
from ..base.linear import LinearClassifier
from ..base.validation import as_generator, check_choice, check_number
from .coordinate_descent import rows_of
from .first_order_kernels import descend_by_polyak, descend_by_samples

AT_ONCE = 100  # steps in compiled code, between which an interrupt is heard


class SubgradientSVC(LinearClassifier):
    r"""Linear support vector classifier by sub-gradient descent on the primal hinge loss, to be read and compared.

    .. math::
        f(w, b) = \tfrac12 \|w\|^2 + C \sum_n \max\{0, 1 - y_n (w^\top x_n + b)\}

        g = \Bigl(w, 0\Bigr) - C \sum_{n:\, y_n (w^\top x_n + b) < 1} y_n (x_n, 1)

    The batch method is the lecture's direct route.  Its steps follow Polyak: with a target below the best value so far
    by delta, the step is (f - target) / ||g||^2 along -g, and delta is halved when a number of steps brought no such
    improvement.  The best point is kept, as a sub-gradient step may go uphill.  On scaled features expect f to four
    digits at C = 1 and to one or two at C = 100; `models.SVC` solves the same program to eight.

    The stochastic one (Pegasos, Shalev-Shwartz and others 2007) takes the samples in random orders, one at a time, of
    m samples the t-th with step length 1 / t,

    .. math:: w := (1 - 1/t)\, w + \tfrac{m}{t}\, C\, [y_n (w^\top x_n + b) < 1]\; y_n x_n,

    and answers with the average of w over the second half of its steps, or with the last w where that is better.  There
    b is the weight of a feature that is always one, and is regularized.

    Parameters
    ----------
    C : float, default 1.0
        The price of a violated margin, times the sample's weight.
    fit_intercept : bool, default True
    method : {"batch", "stochastic"}, default "batch"
    max_iter : int, default 10000
        Steps; stochastic passes are at most `passes`.
    tol : float, default 1e-6
        Batch descent ends when delta is below this share of f.
    passes : int, default 20
        Of the stochastic method over the samples.
    random_state : int, generator or None, default 0
        Of the order of the samples in stochastic passes.
    verbose : int, default 0
        1 prints a line for a hundred steps.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_ : array, shape (machines, features)
        w, the normal of the hyperplane of each machine.
    intercept_ : array, shape (machines,)
        b, the constant term of each machine.
    objectives_ : list of arrays
        f at every step, for each machine; of the stochastic method after every pass.
    n_iter_ : int
        Steps, or passes, the most of any machine.

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
        method: Literal["batch", "stochastic"] = "batch",
        passes: int = 20,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.method = method
        self.passes = passes
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SubgradientSVC:
        """Learn from samples X, shape (samples, features), with labels y."""
        check_number("C", self.C, 0.0, open_low=True)
        if np.isinf(self.C):
            raise ValueError("C must be finite: a hard margin has no hinge loss; use SVC(C=inf)")
        check_number("max_iter", self.max_iter, 1, whole=True)
        check_number("tol", self.tol, 0.0, open_low=True)
        check_choice("method", self.method, ("batch", "stochastic"))
        check_number("passes", self.passes, 1, whole=True)
        self._seed = int(as_generator(self.random_state).integers(2**62))
        self.objectives_, self.n_iter_ = [], 0
        self._fit_machines(X, y, sample_weight)
        return self

    def _descend(self, X: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        objectives = self._history("objective", f", machine {len(self.objectives_) + 1}", first=1, every=100)
        stochastic = self.method == "stochastic"
        w, converged = (self._by_samples if stochastic else self._by_all)(X, y, self.C * weights, objectives)
        objectives.end(converged)
        self.objectives_.append(np.array(objectives))
        self.n_iter_ = max(self.n_iter_, len(objectives))
        return w

    def _by_all(
        self, X: Any, y: np.ndarray, C: np.ndarray, objectives: list[float]
    ) -> tuple[np.ndarray, bool]:  # fmt: skip
        rows, bias = rows_of(X), float(bool(self.fit_intercept))
        w = np.zeros(X.shape[1] + 1)
        best, gradient, state, found = w.copy(), w.copy(), np.array([np.inf, np.inf, 0.0, 0.0]), np.empty(AT_ONCE)
        while len(objectives) < self.max_iter and not state[3]:
            room = found[: min(AT_ONCE, int(self.max_iter) - len(objectives))]
            done = descend_by_polyak(*rows, bias, y, C, float(self.tol), w, best, gradient, state, room)
            for value in room[:done].tolist():
                objectives.append(value)
        return best, bool(state[3])

    def _by_samples(
        self, X: Any, y: np.ndarray, C: np.ndarray, objectives: list[float]
    ) -> tuple[np.ndarray, bool]:  # fmt: skip
        first, sizes, _ = merge_copies(X, (y > 0.0).astype(np.int64), C)
        X, y, C = X[first], y[first], sizes
        rows, bias, passes = rows_of(X), float(bool(self.fit_intercept)), int(self.passes)
        v, delayed = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1)
        order, random, tail = np.arange(y.size), np.array([self._seed, 0]), passes * y.size // 2 + 1
        best, least = v, np.inf

        def value(w: np.ndarray) -> float:
            slack = 1.0 - y * (X @ w[:-1] + bias * w[-1])
            return 0.5 * float(w[:-1] @ w[:-1]) + float(C @ np.maximum(slack, 0.0))

        for _ in range(passes):
            descend_by_samples(*rows, bias, y, C, tail, v, delayed, order, random)
            w = v / random[1]
            objectives.append(value(w))
            if objectives[-1] < least:
                best, least = w, objectives[-1]
        harmonic = float((1.0 / np.arange(tail, random[1] + 1)).sum())
        mean = (harmonic * v - delayed) / (random[1] - tail + 1)
        return (mean if value(mean) < least else best), True
