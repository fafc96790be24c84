"""Logistic regression of two or more classes, a smooth convex program."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from ..base.blocks import RowBlocks
from ..base.estimator import warn_unconverged
from ..base.groups import IterationParameters, WeightParameters
from ..base.linear import LinearClassifier
from ..base.parameters import Count, NonNegative, Positive, parameters
from ..numerics.logistic_loss import LogisticLoss, LogisticPoint
from ..numerics.newton_minimizer import Minimum, minimize, minimize_lbfgs
from ..numerics.summed_newton import minimize_sum
from .blocks import BlockLoss
from .separation import least_loss, unit_of

BY_PRODUCTS = 30  # time of Newton's method by conjugate gradients, in evaluations of the objective
LEFT = 1e-3  # relative to tol: decrease that a direction by conjugate gradients may miss
NEEDS_ALL = "solver='conjugate_gradients' and C=inf need all samples at once"
FAR, LOOKED_AT = 10.0, 1000  # means above FAR standard deviations are taken off; samples that tell
SEPARABLE = "the classes are separable, so that without regularization there is no answer"


def far_centre(X: Any, weights: np.ndarray) -> np.ndarray | None:
    """Return the means of the columns if one of them is far from zero, judged by some of the samples, else None."""
    if sp.issparse(X):
        return None
    some = X[:: 1 + len(X) // LOOKED_AT]
    if not (np.abs(some.mean(axis=0)) > FAR * some.std(axis=0)).any():
        return None
    return np.asarray(X[0] + weights @ (X - X[0]) / weights.sum())


@parameters
class LogisticRegression(LinearClassifier, WeightParameters, IterationParameters):
    r"""Logistic regression, regularized by the squares of the weights.

    The program for two classes, with t = 1 for the second one, and the program for K classes are

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i s_i \left[ \log(1 + e^{z_i}) - t_i z_i \right],
        \quad z_i = w'x_i + b

    .. math:: \min_{W, b} \tfrac12 \|W\|_F^2 + C \sum_i s_i \Big[ \log \sum_k e^{z_{ik}} - z_{i y_i} \Big],
        \quad z_{ik} = w_k'x_i + b_k

    Newton's method with a line search solves it.  Intercepts are not regularized; for K classes they sum to 0.

    Parameters
    ----------
    C
        Positive; infinity switches regularization off.
    fit_intercept
        Whether there is an intercept b.
    solver
        How the Newton system is solved: by a Cholesky factor of the Hessian, or by products with X and its transpose;
        "auto" decides by the number of unknowns, after steps of L-BFGS if these take less time.
    tol
        Newton's method ends when the objective is known to within tol (1 + its value).
    max_iter
        Largest number of Newton steps.

    Attributes
    ----------
    coef_ : array, shape (1, features) of two classes, otherwise (classes, features)
        w, the coefficients of the log-odds.
    intercept_ : array, shape (1,) or (classes,)
        b, the constant term of the log-odds.
    C_ : float
        C that was used; finite if `C` is infinite and the classes are separable.
    n_iter_ : int
        Number of Newton steps.
    objective_, dual_objective_ : float
        Objective at the answer, and a lower bound of its minimum (see the notes; -inf without regularization); the
        difference certifies the answer.
    minimum_ : Minimum
        Result of Newton's method.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Linear program that decided whether the classes are separable; only when one was needed.

    Notes
    -----
    Without regularization there is no minimum if the classes are separable: if a direction (V, a) has
    (v_{y_i} - v_k)'x_i + a_{y_i} - a_k >= 0 for all i and k and > 0 for some (Albert, Anderson 1984).  A linear program
    decides it, by the number of inequalities that can be strict,

        max sum t_ik   subject to   (v_{y_i} - v_k)'x_i + a_{y_i} - a_k >= t_ik,   0 <= t_ik <= 1,

    and if they are, a small regularization is used, with a warning.

    The bound is the dual objective: any probabilities P with sum_i s_i (P_ik - [y_i = k]) = 0 for all k give

        min >= C sum_i s_i H(P_i) - 1/2 sum_k ||C sum_i s_i (P_ik - [y_i = k]) x_i||^2,    H(p) = -sum_k p_k log p_k,

    with equality for the probabilities at the minimum.  (Without intercepts there is no condition on the sums.)

    Examples
    --------
    >>> from models import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["no", "no", "yes", "no", "yes", "yes"]
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict([[0.5], [4.5]]).tolist()
    ['no', 'yes']
    >>> model.predict_proba([[2.5]]).round(6).tolist()
    [[0.5, 0.5]]
    """

    C: Positive = 1.0
    fit_intercept: bool = True
    _: KW_ONLY
    solver: Literal["auto", "cholesky", "conjugate_gradients"] = "auto"
    tol: NonNegative = 1e-12
    max_iter: Count = 100

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Fit to samples X (dense, sparse or in blocks) with labels y; weights of samples count as copies of them."""
        self._check_fields()
        needs_all = self.solver == "conjugate_gradients" or self.C == math.inf
        blocks = self._blocks_to_fit(X, y, sample_weight, NEEDS_ALL if needs_all else "")
        if blocks is not None:
            return self._fit_blocks(blocks)
        X, codes, weights = self._samples_and_weights(X, y, sample_weight)
        C, tol, max_iter = float(self.C), float(self.tol), int(self.max_iter)
        keep = weights > 0.0
        if not keep.all():
            X, codes, weights = X[keep], codes[keep], weights[keep]
        centre = far_centre(X, weights) if self.fit_intercept else None
        X = X if centre is None else X - centre
        unit = unit_of(weights)
        loss = LogisticLoss(X, codes, weights / unit, self.classes_.size, bool(self.fit_intercept), self.solver)
        minimum, self.C_ = least_loss(self, loss, C, lambda: self._minimize(loss, tol, max_iter), SEPARABLE, unit)
        self._keep_minimum(minimum)
        self._keep_coefficients(*loss.split(minimum.theta), centre)
        scale = self.C_ if loss.penalty > 0.0 else 1.0
        self.objective_, self.dual_objective_ = scale * minimum.value, scale * unit * loss.bound(minimum.theta)
        return self

    def _keep_minimum(self, minimum: Minimum) -> None:
        if not minimum.converged:
            warn_unconverged(
                f"LogisticRegression: Newton's method ended after {minimum.iterations} iterations, its objective known "
                f"to about {minimum.decrement:.1e}.  Scale the features, lower C, or raise max_iter or tol."
            )
        self.minimum_, self.n_iter_ = minimum, minimum.iterations

    def _keep_coefficients(self, W: np.ndarray, b: np.ndarray, centre: np.ndarray | None) -> None:
        """Keep the coefficients, given those of columns less `centre`; intercepts of K classes sum to 0."""
        self.coef_, self.intercept_ = W, b if centre is None else b - W @ centre
        if b.size > 1:
            self.intercept_ = self.intercept_ - self.intercept_.mean()

    def _fit_blocks(self, blocks: RowBlocks) -> LogisticRegression:
        """Fit to samples in blocks, in columns less their means if there is an intercept to take these."""
        totals, is_centred = self._survey(blocks), bool(self.fit_intercept)
        loss = BlockLoss(blocks, totals, is_centred, 1.0 / float(self.C))
        centre = blocks.centre() if is_centred else None
        history, tol = self._history("objective"), float(self.tol) * min(float(totals.sum()), 1.0)
        run = minimize_sum(loss.summed(), tol, int(self.max_iter), history)
        history.end(run.minimum.converged)
        self.C_ = float(self.C)
        self._keep_minimum(run.minimum)
        self._keep_coefficients(*loss.split(run.minimum.theta), centre)
        if run.interrupt is not None:
            raise run.interrupt
        self.objective_, self.dual_objective_ = self.C_ * run.minimum.value, self.C_ * loss.bound(run.point)
        return self

    def _minimize(self, loss: LogisticLoss, tol: float, max_iter: int) -> Minimum:
        """Minimize by Newton's method, after L-BFGS if a diagonal or the Hessian of some samples suffices for that."""
        loss.least = LEFT * tol
        history, theta, steps, stride = self._history("objective"), np.zeros(loss.unknowns), 0, loss.stride()
        at, found = (lambda v: LogisticPoint(loss, v)), None
        if loss.penalty > 0.0 and loss.solver == "auto" and (stride > 0 or not loss.dense):
            part = loss.every(stride) if stride > 0 else loss
            inverse_at = (lambda point: part.inverse_hessian(point.P[::stride])) if stride > 0 else None
            cost = min(loss.cost(stride) if stride > 0 else math.inf, BY_PRODUCTS)
            found = minimize_lbfgs(at, LogisticPoint.rough_inverse, inverse_at, cost, theta, tol, max_iter, history)
            theta, steps = found.theta, found.iterations
        if found is None or not (found.converged or steps == max_iter):
            found = minimize(at, theta, tol, max_iter - steps, history)
            found.iterations += steps
        history.end(found.converged)
        return found

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(k | x), shape (samples, classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0.0, np.stack([scores, -scores], axis=1))
        return log_softmax(scores, axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(k | x), shape (samples, classes)."""
        return np.exp(self.predict_log_proba(X))
