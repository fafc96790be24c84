"""Logistic regression of two and of more classes, as the smooth convex program that it is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import entr, expit, log_softmax, softmax

from ..base.estimator import Classifier, convergence_warning
from ..base.groups import IterationParameters, WeightParameters
from ..base.newton_minimizer import (
    Minimum,
    factored,
    minimize,
    minimize_sampled,
    row_blocks,
    solve_cholesky,
    solve_conjugate_gradients,
    weighted_gram,
)
from ..base.parameters import parameters
from ..base.rows import rows_of
from ..base.validation import as_dense, check_choice, check_number
from .elastic_net import SmoothPart, minimize_with_absolute_values
from .logistic_kernels import bend, evaluate, multiply_hessian, multiply_two_class_hessian
from .separation import least_loss

MOST_DENSE = 200  # unknowns up to which the Hessian is formed and factored
MOST_BLOCK = 300  # unknowns of a class up to which one block of it is the preconditioner of conjugate gradients
MOST_SAMPLED = 1000  # unknowns up to which the Hessian of some of many dense samples stands for that of all:
SAMPLES_AN_UNKNOWN, FEWEST_SAMPLED = 30, 2000  # so many an unknown, and so many at least
LOOSEST = 0.3  # of their relative residual, as the gradient falls it follows its root
SEPARABLE = "the classes are separable, so that without regularization there is no answer"
LEAST_PENALTY = 1e-8  # of separable classes, relative to the mean diagonal entry of the Hessian at 0


@parameters
class LogisticRegression(Classifier, WeightParameters, IterationParameters):
    r"""Logistic regression, regularized by the squares of the weights or their absolute values.

    Of two classes, with t = 1 for the second one, and of K classes,

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i s_i \left[ \log(1 + e^{z_i}) - t_i z_i \right],
        \quad z_i = w'x_i + b

    .. math:: \min_{W, b} \tfrac12 \|W\|_F^2 + C \sum_i s_i \Big[ \log \sum_k e^{z_{ik}} - z_{i y_i} \Big],
        \quad z_{ik} = w_k'x_i + b_k

    by Newton's method with a line search.  The intercepts are not regularized; those of K classes sum to 0.  With
    `l1_ratio` a the penalty is a ||W||_1 + (1 - a) / 2 ||W||^2, which sets weights to zero (lasso, elastic net).

    Parameters
    ----------
    C
        Positive; infinity switches regularization off.
    fit_intercept
        Whether there is an intercept b.
    quadratic
        Whether the products of every two features, and the squares, are features too: x'A x + w'x + b, with A in
        `quadratic_`.  Of dense samples with few features; A is regularized like w.
    l1_ratio
        The share a of absolute values in the penalty, from 0 to 1; with any, a Newton step is a quadratic program.
    solver
        How, without absolute values, the Newton system is solved: by a Cholesky factor of the Hessian, or by products
        with X and its transpose; "auto" decides by the number of unknowns.
    tol
        Newton's method ends when the objective is known to within tol (1 + its value).
    max_iter
        Steps of Newton's method.
    verbose
        1 prints a line for each step of Newton's method.

    Attributes
    ----------
    coef_ : array, shape (1, features) of two classes, otherwise (classes, features)
        w, the coefficients of the log-odds.
    intercept_ : array, shape (1,) or (classes,)
        b, the constant term of the log-odds.
    C_ : float
        The C that was used: a finite one where C was infinite and the classes are separable.
    quadratic_ : array, shape (rows of coef_, features, features)
        The symmetric matrices A; only where `quadratic`.
    n_iter_ : int
        Newton steps.
    objective_, dual_objective_ : float
        The value of the program at the answer, and a lower bound of its minimum (see the notes; -inf without
        regularization): their difference certifies the answer.
    minimum_ : Minimum
        Where Newton's method ended.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        The linear program that decided whether the classes are separable; only when one was needed.

    Notes
    -----
    Without regularization there is no minimum when the classes are separable: when a direction (V, a) has
    (v_{y_i} - v_k)'x_i + a_{y_i} - a_k >= 0 for all i and k and > 0 for some (Albert, Anderson 1984).  A linear program
    decides it, by the number of inequalities that can be strict,

        max sum t_ik   subject to   (v_{y_i} - v_k)'x_i + a_{y_i} - a_k >= t_ik,   0 <= t_ik <= 1,

    and the answer is then that of a small regularization, with a warning.

    The bound is the dual objective: any probabilities P with sum_i s_i (P_ik - [y_i = k]) = 0 for all k give

        min >= C sum_i s_i H(P_i) - 1/2 sum_k ||C sum_i s_i (P_ik - [y_i = k]) x_i||^2,    H(p) = -sum_k p_k log p_k,

    with equality for those of the answer.  (Without intercepts the condition on the sums falls away.)

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

    _takes_sparse = True

    C: float = 1.0
    fit_intercept: bool = True
    _: KW_ONLY
    solver: Literal["auto", "cholesky", "conjugate_gradients"] = "auto"
    tol: float = 1e-12
    max_iter: int = 100
    quadratic: bool = False
    l1_ratio: float = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegression:
        """Fit to samples X (dense or sparse) with labels y; weights of samples count as copies of them."""
        X = self._matrix_to_fit(X)
        codes = self._labels_to_fit(y, X.shape[0])
        weights = self._weights_to_fit(sample_weight, codes)
        C = check_number("C", self.C, 0.0, open_low=True)
        solver = check_choice("solver", self.solver, ("auto", "cholesky", "conjugate_gradients"))
        tol, max_iter = check_number("tol", self.tol, 0.0), check_number("max_iter", self.max_iter, 1, whole=True)
        keep = weights > 0.0
        l1_ratio = check_number("l1_ratio", self.l1_ratio, 0.0, 1.0)
        if self.quadratic and l1_ratio > 0.0:
            raise ValueError("quadratic=True and l1_ratio above 0 do not go together: set one of them")
        features = with_products(X) if self.quadratic else X
        if not keep.all():
            features, codes, weights = features[keep], codes[keep], weights[keep]
        loss = LogisticLoss(
            features, codes, weights, self.classes_.size, bool(self.fit_intercept), solver,
            l1_ratio if C < math.inf else 0.0,
        )  # fmt: skip
        minimum, self.C_ = least_loss(self, loss, C, lambda: self._minimize(loss, tol, max_iter), SEPARABLE)
        if not minimum.converged:
            warnings.warn(
                f"LogisticRegression: Newton's method ended after {minimum.iterations} iterations, its objective known "
                f"to about {minimum.decrement:.1e}.  Scale the features, lower C, or raise max_iter or tol.",
                convergence_warning(),
                stacklevel=2,
            )
        self.minimum_, self.n_iter_ = minimum, minimum.iterations
        self.coef_, self.intercept_ = loss.split(minimum.theta)
        self.__dict__.pop("quadratic_", None)
        if self.quadratic:
            self.coef_, self.quadratic_ = split_products(self.coef_, X.shape[1])
        scale = self.C_ if loss.penalty > 0.0 else 1.0
        self.objective_, self.dual_objective_ = scale * minimum.value, scale * loss.bound(minimum.theta)
        return self

    def _minimize(self, loss: LogisticLoss, tol: float, max_iter: int) -> Minimum:
        history = self._history("objective")
        if loss.l1 > 0.0:
            prices = loss.l1 * loss.is_weight
            found = minimize_with_absolute_values(lambda v: LogisticPart(loss, v), prices, tol, max_iter, history)
        else:
            found = self._minimize_smooth(loss, tol, max_iter, history)
        history.end(found.converged)
        return found

    @staticmethod
    def _minimize_smooth(loss: LogisticLoss, tol: float, max_iter: int, history: list[float]) -> Minimum:
        """Newton's method, after L-BFGS where some of the samples tell the Hessian."""
        at, theta, steps = (lambda v: LogisticPoint(loss, v)), np.zeros(loss.unknowns), 0
        if loss.penalty > 0.0 and (stride := loss.stride()) > 0:
            found = minimize_sampled(at, loss.every(stride).inverse_hessian, theta, tol, max_iter, history)
            if found.converged or found.iterations == max_iter:
                return found
            theta, steps = found.theta, found.iterations
        found = minimize(at, theta, tol, max_iter - steps, history)
        found.iterations += steps
        return found

    def decision_function(self, X: Any) -> np.ndarray:
        """z of every sample: shape (samples,) of two classes, otherwise (samples, classes)."""
        X = self._matrix_to_predict(X)
        scores = X @ self.coef_.T + self.intercept_
        if hasattr(self, "quadratic_"):
            scores = scores + np.einsum("ij,kjl,il->ik", as_dense(X), self.quadratic_, as_dense(X), optimize=True)
        return scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The label with the largest probability."""
        return self._labels_of(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log P(k | x), shape (samples, classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0.0, np.stack([scores, -scores], axis=1))
        return log_softmax(scores, axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(k | x), shape (samples, classes)."""
        return np.exp(self.predict_log_proba(X))


class LogisticLoss:
    """The objective sum_i s_i loss_i + penalty (a ||W||_1 + (1 - a) / 2 ||W||^2) of unknowns (W, b), class by class.

    Of two classes there is one row (w, b), otherwise there is one for each class.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, weights: np.ndarray, classes: int, intercept: bool, solver: str,
        l1_ratio: float = 0.0,
    ) -> None:  # fmt: skip
        self.l1_ratio = l1_ratio
        self.X, self.codes, self.weights, self.intercept = X, codes, weights, intercept
        self.classes = classes
        self.rows = 1 if classes == 2 else classes
        self.columns = X.shape[1] + intercept
        self.unknowns = self.rows * self.columns
        self.penalty = 0.0
        self.dense = solver == "cholesky" or (solver == "auto" and self.unknowns <= MOST_DENSE)
        self.first_norm: float | None = None
        self.squares: Any = None
        self.sparse_rows = rows_of(X, intercept) if sp.issparse(X) else None

    def stride(self) -> int:
        """Return k such that every k-th sample tells the Hessian well enough, 0 where all are to tell it."""
        if sp.issparse(self.X) or self.unknowns > MOST_SAMPLED:
            return 0
        return len(self.codes) // max(FEWEST_SAMPLED, SAMPLES_AN_UNKNOWN * self.unknowns)

    def every(self, stride: int) -> LogisticLoss:
        """Return the objective with every `stride`-th sample, standing for `stride` of them."""
        part = LogisticLoss(
            np.ascontiguousarray(self.X[::stride]), self.codes[::stride], stride * self.weights[::stride], self.classes,
            self.intercept, "cholesky", self.l1_ratio,
        )  # fmt: skip
        part.penalty = self.penalty
        return part

    def inverse_hessian(self, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the map r -> H^-1 r at a point."""
        return factored(LogisticPoint(self, theta).hessian())

    @property
    def l2(self) -> float:
        """The factor of 1/2 ||W||^2."""
        return (1.0 - self.l1_ratio) * self.penalty

    @property
    def l1(self) -> float:
        """The factor of ||W||_1."""
        return self.l1_ratio * self.penalty

    @cached_property
    def is_weight(self) -> np.ndarray:
        """Which unknowns are of W."""
        return np.tile(np.arange(self.columns) < self.X.shape[1], self.rows)

    def least_penalty(self) -> float:
        """Of separable classes."""
        return LEAST_PENALTY * self.mean_curvature()

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W and b."""
        table = theta.reshape(self.rows, self.columns)
        features = self.X.shape[1]
        return table[:, :features], table[:, features] if self.intercept else np.zeros(self.rows)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """z, shape (samples, rows)."""
        W, b = self.split(theta)
        return self.X @ W.T + b

    def evaluate(self, theta: np.ndarray, P: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the sum of the losses and its gradient, and write the probabilities to P; X is read once."""
        (W, b), losses, slope = self.split(theta), 0.0, np.zeros(self.unknowns)
        classes = np.array([1]) if self.rows == 1 else np.arange(self.rows)
        for part in [slice(None)] if sp.issparse(self.X) else row_blocks(*self.X.shape):
            X, codes, weights = self.X[part], self.codes[part], self.weights[part]
            losses += evaluate(np.ascontiguousarray(X @ W.T + b), codes, weights, P[part])
            slope += self.back(weights[:, None] * (P[part] - (codes[:, None] == classes)), X)
        return losses, slope

    def back(self, R: np.ndarray, X: Any = None) -> np.ndarray:
        """The transposed map, of an array of the shape of the scores, of all samples or those of X."""
        W = ((self.X if X is None else X).T @ R).T
        return (np.hstack([W, R.sum(axis=0)[:, None]]) if self.intercept else W).ravel()

    def bound(self, theta: np.ndarray) -> float:
        """A lower bound of the minimum: the dual objective of the probabilities at theta, made feasible.

        With absolute values alone no slope of the losses may be larger than their price: P is moved towards Y.
        """
        if self.penalty == 0.0:
            return -math.inf
        scores = self.scores(theta)
        P = np.hstack([expit(-scores), expit(scores)]) if self.rows == 1 else softmax(scores, axis=1)
        Y = (self.codes[:, None] == np.arange(self.classes)).astype(np.float64)
        if self.intercept:  # (1 - e) P + e q has the sums n of Y, for the least e with which q is a distribution
            n = self.weights @ Y
            excess = self.weights @ (P - Y)
            share = max(float((excess / n).max()), 0.0)
            if share > 0.0:
                q = np.maximum(share * n - excess, 0.0)
                P = (P + share * (q / q.sum())) / (1.0 + share)
        residual = self.weights[:, None] * (P - Y)[:, -self.rows :]
        excess = np.maximum(np.abs(self.X.T @ residual) - self.l1, 0.0)
        if self.l2 > 0.0:
            return float(self.weights @ entr(P).sum(axis=1) - 0.5 / self.l2 * (excess**2).sum())
        P = Y + (P - Y) * (self.l1 / (self.l1 + excess.max(initial=0.0)))
        return float(self.weights @ entr(P).sum(axis=1))

    def penalties(self) -> np.ndarray:
        """The diagonal of the penalty's Hessian."""
        return self.l2 * self.is_weight

    def free_columns(self) -> slice:
        """The columns of (W, b) without penalty, where adding one number to all rows changes nothing."""
        return slice(0 if self.penalty == 0.0 else self.X.shape[1], self.columns)

    def block(self, h: np.ndarray) -> np.ndarray:
        """[X 1]' diag(h) [X 1]."""
        if sp.issparse(self.X):
            scaled = self.X.multiply(h[:, None])
            inner, border = (self.X.T @ scaled).toarray(), self.X.T @ h
        else:
            inner, border = weighted_gram(self.X, h), self.X.T @ h
        return np.block([[inner, border[:, None]], [border, h.sum()]]) if self.intercept else inner

    def block_diagonal(self, h: np.ndarray) -> np.ndarray:
        """The diagonal of that matrix."""
        if self.squares is None:
            self.squares = sp.csr_array(self.X.power(2)).T if sp.issparse(self.X) else (self.X**2).T
        inner = self.squares @ h
        return np.r_[inner, h.sum()] if self.intercept else inner

    def mean_curvature(self) -> float:
        """The mean diagonal entry of the Hessian at 0, of the weights."""
        share = 1.0 / self.classes
        diagonal = self.block_diagonal(self.weights * share * (1.0 - share))[: self.X.shape[1]]
        return float(diagonal.mean()) or 1.0

    def margins(self) -> sp.csr_array:
        """`margin_matrix`."""
        return margin_matrix(self)

    def nearest_to_certain(self, theta: np.ndarray) -> float:
        """The smallest 1 - P(y_i | x_i)."""
        scores = self.scores(theta)
        if self.rows == 1:
            return float(expit(np.where(self.codes == 1, -scores[:, 0], scores[:, 0])).min())
        P = softmax(scores, axis=1)
        P[np.arange(len(P)), self.codes] = 0.0
        return float(P.sum(axis=1).min())


class LogisticPoint:
    """The objective at one point; see `newton_minimizer.Point`."""

    def __init__(self, loss: LogisticLoss, theta: np.ndarray) -> None:
        self.loss, self.theta = loss, theta
        self.P = np.empty((loss.codes.size, loss.rows))
        W, _ = loss.split(theta)
        losses, self._slope = loss.evaluate(theta, self.P)
        self.value = float(losses + 0.5 * loss.l2 * (W**2).sum())

    @classmethod
    def of_probabilities(cls, loss: LogisticLoss, P: np.ndarray) -> LogisticPoint:
        """A point of which nothing but the probabilities is known."""
        point = cls.__new__(cls)
        point.loss, point.P = loss, P
        return point

    def gradient(self) -> np.ndarray:
        """Return the gradient."""
        return self._slope + self.loss.penalties() * self.theta

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        if self.loss.dense:
            return solve_cholesky(self.hessian(), -gradient)
        norm = float(np.linalg.norm(gradient))
        self.loss.first_norm = norm if self.loss.first_norm is None else self.loss.first_norm
        tol = min(LOOSEST, math.sqrt(norm / self.loss.first_norm)) if norm > 0.0 else LOOSEST
        found = solve_conjugate_gradients(
            self._multiply, self._preconditioner(), -gradient, tol, 10 * self.loss.unknowns
        )
        if self.loss.rows > 1:
            table = found.reshape(self.loss.rows, self.loss.columns)
            table[:, self.loss.free_columns()] -= table[:, self.loss.free_columns()].mean(axis=0)
        return found

    def _preconditioner(self) -> np.ndarray | Callable[[np.ndarray], np.ndarray]:
        """The Hessian's diagonal; of few features and dense samples a factor of the mean of its diagonal blocks."""
        loss, own = self.loss, self.loss.weights[:, None] * self._own()
        if sp.issparse(loss.X) or loss.columns > MOST_BLOCK:
            diagonal = np.concatenate([loss.block_diagonal(h) for h in own.T]) + loss.penalties()
            return np.where(diagonal > 0.0, diagonal, 1.0)
        block = loss.block(np.ascontiguousarray(own.mean(axis=1)))
        block[np.diag_indices(loss.columns)] += loss.penalties()[: loss.columns]
        inverse = factored(block)
        return lambda r: inverse(r.reshape(loss.rows, loss.columns).T).T.ravel()

    def _own(self) -> np.ndarray:
        """d^2 loss / dz_k^2."""
        return self.P * (1.0 - self.P)

    def _multiply(self, direction: np.ndarray) -> np.ndarray:
        """The Hessian times a direction."""
        loss = self.loss
        if loss.sparse_rows is None:
            U = np.ascontiguousarray(loss.scores(direction))
            bend(self.P, loss.weights, U)
            return loss.back(U) + loss.penalties() * direction
        if loss.rows == 1:
            product = np.empty(direction.size)
            multiply_two_class_hessian(loss.sparse_rows, loss.weights * self._own()[:, 0], direction, product)
            return product + loss.penalties() * direction
        V = np.ascontiguousarray(direction.reshape(loss.rows, loss.columns).T)
        out = np.empty(V.shape)
        multiply_hessian(loss.sparse_rows, self.P, loss.weights, V, np.empty(loss.rows), out)
        return out.T.ravel() + loss.penalties() * direction

    def hessian(self) -> np.ndarray:
        """The Hessian, made regular."""
        loss, size = self.loss, self.loss.columns
        H = np.zeros((loss.unknowns, loss.unknowns))
        own = self._own()
        for a in range(loss.rows):
            for b in range(a + 1):
                h = loss.weights * (own[:, a] if a == b else self.P[:, a] * self.P[:, b])
                block = loss.block(h) if a == b else -loss.block(h)
                H[a * size : (a + 1) * size, b * size : (b + 1) * size] = block
                H[b * size : (b + 1) * size, a * size : (a + 1) * size] = block.T
        H[np.diag_indices(loss.unknowns)] += loss.penalties()
        if loss.rows > 1:
            self._fix_sums(H)
        return H

    def _fix_sums(self, H: np.ndarray) -> None:
        """Make H regular where it is not, which keeps the sums of the free columns at 0."""
        size = self.loss.columns
        for j in range(size)[self.loss.free_columns()]:
            own = np.ix_(range(j, len(H), size), range(j, len(H), size))
            H[own] += np.diagonal(H[own]).mean() / self.loss.rows or 1.0


class LogisticPart(SmoothPart):
    """What is smooth of the objective, at one point."""

    def __init__(self, loss: LogisticLoss, theta: np.ndarray) -> None:
        self.loss, self.point = loss, LogisticPoint(loss, theta)
        self.value, self.gradient = self.point.value, self.point.gradient()

    def hessian(self, which: np.ndarray) -> np.ndarray:
        loss, part = self.loss, self.loss.columns
        columns, place = np.unique(which % part, return_inverse=True)
        features = columns[columns < loss.X.shape[1]]
        few = LogisticLoss(
            loss.X[:, features], loss.codes, loss.weights, loss.classes, columns.size > features.size, "cholesky",
            loss.l1_ratio,
        )  # fmt: skip
        few.penalty = loss.penalty
        at = which // part * columns.size + place
        return LogisticPoint.of_probabilities(few, self.point.P).hessian()[np.ix_(at, at)]


def with_products(X: Any) -> np.ndarray:
    """X, and to its right sqrt(2) x_j x_l for j < l and x_j^2: the inner products of these are (x'z) + (x'z)^2."""
    X = as_dense(X)
    j, m = np.triu_indices(X.shape[1])
    return np.hstack([X, np.where(j == m, 1.0, math.sqrt(2.0)) * X[:, j] * X[:, m]])


def split_products(coef: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """w, and the symmetric matrices A of x'A x; the penalty of the products' weights is |A|_F^2."""
    j, m = np.triu_indices(features)
    A = np.zeros((len(coef), features, features))
    A[:, j, m] = coef[:, features:] / np.where(j == m, 1.0, math.sqrt(2.0))
    A[:, m, j] = A[:, j, m]
    return coef[:, :features].copy(), A


def margin_matrix(loss: LogisticLoss) -> sp.csr_array:
    """The matrix of (v_{y_i} - v_k)'x_i + a_{y_i} - a_k, as functions of (V, a); a row each i and k != y_i."""
    X = sp.csr_array(loss.X)
    if loss.intercept:
        X = sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1))]))
    if loss.rows == 1:
        return sp.csr_array(sp.diags_array(np.where(loss.codes == 1, 1.0, -1.0)) @ X)
    i, k = np.nonzero(loss.codes[:, None] != np.arange(loss.classes))
    of_pair, signs = X[i], np.eye(loss.rows)[loss.codes[i]] - np.eye(loss.rows)[k]
    return sp.csr_array(sp.hstack([sp.diags_array(signs[:, c]) @ of_pair for c in range(loss.rows)]))
