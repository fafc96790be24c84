"""The linear support vector machine without a program: sub-gradient descent on its hinge loss."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from ..base.copies import merge_copies
from ..base.groups import InterceptParameters, IterationParameters, WeightParameters
from ..base.linear import LinearClassifier
from ..base.parameters import Count, Positive, fitted, parameters
from ..base.rows import rows_of
from ..base.validation import as_generator
from ..numerics.first_order_kernels import Descent, Stochastic, descend_by_polyak, descend_by_samples

AT_ONCE = 100  # steps in compiled code, between which an interrupt is heard


@parameters
class SubgradientSVC(LinearClassifier, InterceptParameters, WeightParameters, IterationParameters):
    r"""Linear support vector classifier by sub-gradient descent on the primal hinge loss, to be read and compared.

    .. math::
        f(w, b) = \tfrac12 \|w\|^2 + C \sum_n \max\{0, 1 - y_n (w^\top x_n + b)\}

        g = \Bigl(w, 0\Bigr) - C \sum_{n:\, y_n (w^\top x_n + b) < 1} y_n (x_n, 1)

    The batch method is the lecture's direct route.  Its steps follow Polyak: with a target below the best value so far
    by delta, the step is (f - target) / ||d||^2 along -d, and delta is halved when a number of steps brought no such
    improvement.  d := g + (||g|| / ||d||) d halves the angle between the sub-gradient and the direction before
    (Sherali and Ulular 1989), as successive sub-gradients point across a valley.  The best point is kept, as a step may
    go uphill.  On scaled features expect f to two digits or more at C = 1 and, where the classes overlap, at
    C = 100; `models.SVC` solves the same program to eight.

    The stochastic one (Pegasos, Shalev-Shwartz and others 2007) takes the samples in random orders, one at a time, of
    m samples the t-th with step length 1 / t,

    .. math:: w := (1 - 1/t)\, w + \tfrac{m}{t}\, C\, [y_n (w^\top x_n + b) < 1]\; y_n x_n,

    and answers with the average of w over the second half of its steps, or with the last w where that is better.  There
    b is the weight of a feature that is always one, and is regularized.

    Parameters
    ----------
    C
        The price of a violated margin, times the sample's weight.
    max_iter
        Steps; stochastic passes are at most `passes`.
    tol
        Batch descent ends when delta is below this share of f.
    method
        All samples at each step, or one after another.
    passes
        Of the stochastic method over the samples.
    random_state : int, generator or None
        Of the order of the samples in stochastic passes.
    verbose
        1 prints a line for a hundred steps.

    Attributes
    ----------
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

    C: Positive = 1.0
    _: KW_ONLY
    max_iter: Count = 10000
    tol: Positive = 1e-6
    method: Literal["batch", "stochastic"] = "batch"
    passes: Count = 20
    random_state: Any = 0

    objectives_: list[np.ndarray] = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SubgradientSVC:
        """Learn from samples X, shape (samples, features), with labels y."""
        self._check_fields()
        if np.isinf(self.C):
            raise ValueError("C must be finite: a hard margin has no hinge loss; use SVC(C=inf)")
        self._seed = int(as_generator(self.random_state).integers(2**62))
        self.objectives_, self.n_iter_ = [], 0
        self._fit_machines(X, y, sample_weight)
        return self

    def _find_machines(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        C, descend = self.C * weights, self._by_all
        if self.method == "stochastic":
            first, C, _ = merge_copies(X, codes, C)
            X, codes, descend = X[first], codes[first], self._by_samples
        rows = rows_of(X, bool(self.fit_intercept))
        found: list[np.ndarray] = []
        for y in self._signs(codes):
            objectives = self._history("objective", f", machine {len(found) + 1}", first=1, every=100)
            w, converged = descend(X, {"rows": rows, "y": y, "features": X.shape[1] + 1}, C, objectives)
            objectives.end(converged)
            self.objectives_.append(np.array(objectives))
            self.n_iter_ = max(self.n_iter_, len(objectives))
            found.append(w)
        return found

    def _by_all(
        self, X: Any, data: dict[str, Any], C: np.ndarray, objectives: list[float]
    ) -> tuple[np.ndarray, bool]:  # fmt: skip
        state, values = Descent(**data, C=C), np.empty(AT_ONCE)
        state.least, state.delta, state.tol = np.inf, np.inf, float(self.tol)
        while len(objectives) < self.max_iter and not state.ended:
            room = values[: min(AT_ONCE, int(self.max_iter) - len(objectives))]
            for value in room[: descend_by_polyak(state, room)].tolist():
                objectives.append(value)
        return state.best.copy(), state.ended

    def _by_samples(
        self, X: Any, data: dict[str, Any], C: np.ndarray, objectives: list[float]
    ) -> tuple[np.ndarray, bool]:  # fmt: skip
        y, passes = data["y"], int(self.passes)
        state, tail = Stochastic(**data, sizes=C, order=np.arange(y.size)), passes * y.size // 2 + 1
        state.random = self._seed
        best, least = np.zeros(state.w.size), np.inf

        def value(w: np.ndarray) -> float:
            slack = 1.0 - y * (X @ w[:-1] + data["rows"].bias * w[-1])
            return 0.5 * float(w[:-1] @ w[:-1]) + float(C @ np.maximum(slack, 0.0))

        for _ in range(passes):
            descend_by_samples(state, tail)
            w = state.w / state.seen
            objectives.append(value(w))
            if objectives[-1] < least:
                best, least = w, objectives[-1]
        harmonic = float((1.0 / np.arange(tail, state.seen + 1)).sum())
        mean = (harmonic * state.w - state.delayed) / (state.seen - tail + 1)
        return (mean if value(mean) < least else best), True
