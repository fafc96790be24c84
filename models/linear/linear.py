"""Linear support vector machines for many samples or sparse features: classification and regression."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from ..base.answers import BuiltAnswer
from ..base.estimator import Regressor, warn_unconverged
from ..base.groups import EngineParameters, InterceptParameters, WeightParameters
from ..base.linear import LinearClassifier
from ..base.parameters import Count, NonNegative, Positive, fitted, parameters
from ..base.validation import as_generator, as_targets, as_weights
from .blocks import BlockMachines
from .coordinate_descent import solve
from .dual import Answer, machine_dual

FINITE = "C must be finite: a hard margin has no bound on its multipliers; use SVC(C=inf) or SVR(C=inf)"

NOT_SMOOTH = "loss='hinge' needs all samples at once, 'squared_hinge' does not"


@parameters
class LinearParameters(InterceptParameters, EngineParameters):
    """Parameters of `LinearSVC` and `LinearSVR`.

    Parameters
    ----------
    C
        Price of the loss, times the sample's weight; finite.
    loss
        Whether a violation of the margin or tube costs its size or its square.
    intercept_scaling
        Value s of the constant feature for b: the larger it is, the less b is regularized.
    random_state : int, generator or None
        Seed of the order of the samples, which changes results only within `tol`.
    tol
        Largest relative duality gap.
    max_iter
        Largest number of passes over the samples and Newton steps.
    time_limit
        Approximate seconds for each machine.
    verbose
        1 prints a line whenever the gap is measured.

    Attributes
    ----------
    objective_, dual_objective_ : float
        Primal and dual objectives, summed over the machines.
    n_iter_ : int
        Largest number of passes and Newton steps of any machine.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Dual program of the last machine and its solution, built when they are read; pickles leave them out.
    """

    _: KW_ONLY
    tol: Positive = 1e-8
    intercept_scaling: Positive = 1.0
    random_state: Any = 0
    max_iter: Count = 1000


class LinearMachine(BuiltAnswer):
    """Base of `LinearSVC` and `LinearSVR`: checks parameters, solves the dual and keeps its result."""

    objective_: float
    dual_objective_: float

    def _check(self) -> None:
        self._check_fields()
        if self.C == np.inf:
            raise ValueError(FINITE)
        self.n_iter_, self.objective_, self.dual_objective_ = 0, 0.0, 0.0
        self._seed = int(as_generator(self.random_state).integers(2**62))

    def _solve(
        self, X: Any, q: np.ndarray, epsilon: float, C: np.ndarray, is_squared: bool, signs: Any
    ) -> np.ndarray:  # fmt: skip
        """Solve one machine and return (w, b); multipliers have the given `signs`, 0 for either sign."""
        bias = self._bias()
        dual = machine_dual(X, bias, q, epsilon, C, is_squared, signs)
        history = self._history("objective")
        answer = solve(dual, float(self.tol), int(self.max_iter), self._seed, self.time_limit, history)
        history.end(answer.converged)
        self._add(answer)
        self._answer = functools.cache(functools.partial(dual.built, answer, float(self.tol)))
        return np.append(answer.w[:-1], bias * answer.w[-1])

    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _add(self, answer: Answer) -> None:
        """Add a machine's objectives, and warn if its gap is not closed."""
        if not answer.converged:
            warn_unconverged(
                f"{type(self).__name__}: descent ended after {answer.passes} passes, its objective "
                f"{answer.objective:.6g} known to a share of {answer.gap:.1e}. Scale the features, lower C, or raise "
                "time_limit, tol or max_iter."
            )
        self.n_iter_ = max(self.n_iter_, answer.passes)
        self.objective_ += answer.objective
        self.dual_objective_ += answer.dual_objective


@parameters
class LinearSVC(LinearMachine, LinearClassifier, LinearParameters, WeightParameters):
    r"""Linear support vector classifier with a regularized intercept, for sparse, many or high-dimensional samples.

    .. math::
        \min_{w, b}\; \tfrac12 \|w\|^2 + \tfrac12 (b / s)^2 + \sum_i C_i\, \ell(y_i (w^\top x_i + b)),
        \quad \ell(m) = \max(0, 1 - m) \text{ or its square}

    with C_i = C * class weight * sample weight and s = `intercept_scaling`.  With no more features than samples,
    Newton's method solves the primal, for the hinge as a sequence of proximal problems; otherwise dual coordinate
    descent and Newton's method on the free multipliers solve the dual.  The gap between both objectives is at most
    `tol` times 1 plus their size.  More than two classes are separated one against the rest.

    See Also
    --------
    SVC : with kernels, and with an intercept that is free of charge.

    Examples
    --------
    >>> import numpy as np
    >>> from models import LinearSVC
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 2.0]]), ["no", "no", "yes", "yes"]
    >>> svc = LinearSVC(C=10.0, loss="hinge").fit(X, y)
    >>> svc.coef_.round(4), svc.intercept_.round(4), svc.predict([[1.5, 0.0]]).tolist()
    (array([[1., 0.]]), array([-1.]), ['yes'])
    >>> bool(svc.objective_ - svc.dual_objective_ < 1e-8)
    True
    """

    C: Positive = 1.0
    loss: Literal["hinge", "squared_hinge"] = "squared_hinge"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Learn from samples X, dense, sparse or in blocks, with labels y; weights of samples are factors of C."""
        self._check()
        blocks = self._blocks_to_fit(X, y, sample_weight, "" if self.loss == "squared_hinge" else NOT_SMOOTH)
        if blocks is not None:
            return self._fit_blocks(BlockMachines(blocks, self._survey(blocks), self._bias(), float(self.C)))
        self._fit_machines(X, y, sample_weight)
        return self

    def _fit_blocks(self, machines: BlockMachines) -> LinearSVC:
        """Fit to samples in blocks by Newton's method, until the gap of every machine is at most `tol`."""
        history, tol, bias = self._history("objective"), float(self.tol), self._bias()
        run, answers = machines.minimize(tol, int(self.max_iter), history, self.time_limit)
        history.end(all(answer.converged for answer in answers))
        for answer in answers:
            self._add(answer)
        self.coef_ = np.array([answer.w[:-1] for answer in answers])
        self.intercept_ = np.array([bias * answer.w[-1] for answer in answers])
        self._answer = functools.cache(functools.partial(machines.built, answers[-1], tol))
        if run.interrupt is not None:
            raise run.interrupt
        return self

    def _find_machines(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        is_squared = self.loss == "squared_hinge"
        return [self._solve(X, y, 0.0, self.C * weights, is_squared, y) for y in self._signs(codes)]


@parameters
class LinearSVR(LinearMachine, Regressor, LinearParameters):
    r"""Linear support vector regression with a regularized intercept, for sparse, many or high-dimensional samples.

    .. math::
        \min_{w, b}\; \tfrac12 \|w\|^2 + \tfrac12 (b / s)^2 + \sum_i C_i\, \ell(|y_i - w^\top x_i - b|),
        \quad \ell(r) = \max(0, r - \epsilon) \text{ or its square}

    The program is solved as in `LinearSVC`, with signed multipliers.

    Parameters
    ----------
    epsilon
        Half the width of the tube.

    Attributes
    ----------
    coef_ : array, shape (features,)
        w, the coefficients of the features.
    intercept_ : array, shape (1,)
        b, the constant term.

    See Also
    --------
    SVR : with kernels, and with an intercept that is free of charge.

    Examples
    --------
    >>> import numpy as np
    >>> from models import LinearSVR
    >>> X, y = np.arange(5.0)[:, None] - 2.0, [-2.0, -1.0, 0.0, 1.0, 2.0]
    >>> svr = LinearSVR(C=100.0, epsilon=0.5).fit(X, y)  # the flattest line within 0.5 of all points
    >>> svr.coef_.round(4), abs(svr.intercept_).round(4)
    (array([0.75]), array([0.]))
    """

    _takes_sparse = True

    epsilon: NonNegative = 0.0
    C: Positive = 1.0
    _: KW_ONLY
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"

    coef_: np.ndarray = fitted()
    intercept_: np.ndarray = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Learn from samples X, dense or sparse, with targets y; weights of samples are factors of C."""
        self._check()
        X = self._matrix_to_fit(X)
        y = as_targets(y, X.shape[0], "LinearSVR")
        weights = as_weights(sample_weight, X.shape[0])
        used = weights > 0.0
        if not used.all():
            X, y, weights = X[used], y[used], weights[used]
        w = self._solve(
            X, y, float(self.epsilon), self.C * weights, self.loss != "epsilon_insensitive", np.zeros(y.size)
        )
        self.coef_, self.intercept_ = w[:-1], w[-1:]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return w'x + b at the rows x of X."""
        return np.asarray(self._matrix_to_predict(X) @ self.coef_ + self.intercept_)
