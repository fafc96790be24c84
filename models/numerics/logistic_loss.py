"""Objective of logistic regression for two or more classes, and its value, gradient and Hessian at a point."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax

from ..base.rows import rows_of
from .logistic_kernels import bend, evaluate, evaluate_rows, mix, multiply_hessian, multiply_two_class_hessian
from .newton_minimizer import add_gram, factored, row_blocks, solve_conjugate_gradients

MOST_DENSE = 200  # most unknowns for which the Hessian is formed and factored
MOST_BLOCK = 300  # most unknowns of a class for which a block of the Hessian preconditions conjugate gradients
MOST_SAMPLED = 1000  # most unknowns for which the Hessian of a part of the samples, if dense, stands for all
SAMPLES_AN_UNKNOWN, FEWEST_SAMPLED = 30, 1500  # fewest samples in this part, per unknown and in all
ROUGHLY = 16  # one of so many samples makes a rough inverse
LOOSEST = 0.3  # largest relative residual of conjugate gradients, else sqrt(|g| / |first g|)
FIXED, FAST = 2.0, 12  # of `cost`: FIXED objectives, and one more for FAST unknowns of a class
LEAST_PENALTY = 1e-8  # penalty for separable classes, relative to the mean diagonal entry of the Hessian at 0


class LogisticLoss:
    """Objective sum_i s_i loss_i + penalty / 2 ||W||^2 of the unknowns (W, b), class by class.

    For two classes there is one row (w, b), otherwise one row per class.
    """

    def __init__(
        self, X: Any, codes: np.ndarray, weights: np.ndarray, classes: int, intercept: bool, solver: str
    ) -> None:
        self.X, self.codes, self.weights, self.intercept = X, codes, weights, intercept
        self.classes, self.solver = classes, solver
        self.rows = 1 if classes == 2 else classes
        self.columns = X.shape[1] + intercept
        self.unknowns = self.rows * self.columns
        self.penalty = 0.0
        self.dense = solver == "cholesky" or (solver == "auto" and self.unknowns <= MOST_DENSE)
        self.first_norm: float | None = None
        self.least = 0.0  # decrease that a direction may miss, relative to 1 + |objective|
        self.squares: Any = None
        self.known: tuple[Any, float] = None, -math.inf  # a point, and the bound that was found there
        self.sparse_rows = rows_of(X, intercept) if sp.issparse(X) else None

    def stride(self) -> int:
        """Return k if every k-th sample approximates the Hessian well enough, or 0 if Newton's method is better."""
        samples = len(self.codes)
        if sp.issparse(self.X) or self.unknowns > min(MOST_SAMPLED, samples):
            return 0
        stride = samples // max(FEWEST_SAMPLED, SAMPLES_AN_UNKNOWN * self.unknowns)
        return max(stride, int(self.rows == 1))

    def every(self, stride: int) -> LogisticLoss:
        """Return the objective of every `stride`-th sample, with `stride` times its weight."""
        part = LogisticLoss(
            np.ascontiguousarray(self.X[::stride]), self.codes[::stride], stride * self.weights[::stride], self.classes,
            self.intercept, "cholesky",
        )  # fmt: skip
        part.penalty = self.penalty
        return part

    def cost(self, stride: int) -> float:
        """Return the time of a Hessian of every `stride`-th sample, in evaluations of the objective."""
        return FIXED + 0.5 * (1 + self.rows) * self.columns / (FAST * stride)

    def inverse_hessian(self, P: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the map r -> H^-1 r, for the Hessian H where the samples have the probabilities P."""
        return factored(LogisticPoint.of_probabilities(self, P).hessian())

    @cached_property
    def is_weight(self) -> np.ndarray:
        """Mask of the unknowns in W."""
        return np.tile(np.arange(self.columns) < self.X.shape[1], self.rows)

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W, shape (rows, features), and b, shape (rows,)."""
        table = theta.reshape(self.rows, self.columns)
        features = self.X.shape[1]
        return table[:, :features], table[:, features] if self.intercept else np.zeros(self.rows)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """Return the scores z = W x + b, shape (samples, rows)."""
        W, b = self.split(theta)
        return self.X @ W.T + b

    def evaluate(self, theta: np.ndarray, P: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the sum of the losses and its gradient, and write the probabilities to P; X is read once."""
        (W, b), losses, slope = self.split(theta), 0.0, np.zeros((self.rows, self.columns))
        features, R = self.X.shape[1], np.empty(P.shape)
        if self.sparse_rows is not None and self.rows == 1:
            losses = evaluate_rows(self.sparse_rows, self.codes, self.weights, theta, P, R, slope[0])
            return losses, slope.ravel()
        for part in [slice(len(P))] if sp.issparse(self.X) else row_blocks(*self.X.shape):
            X = self.X if sp.issparse(self.X) else self.X[part]
            scores = np.ascontiguousarray(X @ W.T + b)
            losses += evaluate(scores, self.codes[part], self.weights[part], P[part], R[part])
            slope[:, :features] += (X.T @ R[part]).T
        slope[:, features:] = R.sum(axis=0)[:, None]
        return losses, slope.ravel()

    def curved(self, P: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the Hessian of the losses times `direction`; dense X is read once."""
        (W, b), slope, features = self.split(direction), np.zeros((self.rows, self.columns)), self.X.shape[1]
        for part in row_blocks(*self.X.shape):
            U = np.ascontiguousarray(self.X[part] @ W.T + b)
            bend(P[part], self.weights[part], U)
            slope[:, :features] += (self.X[part].T @ U).T
            slope[:, features:] += U.sum(axis=0)[:, None]
        return slope.ravel()

    def bound(self, theta: np.ndarray) -> float:
        """Return a lower bound of the minimum: the dual objective of the probabilities at theta, made feasible."""
        if self.penalty == 0.0:
            return -math.inf
        known, value = self.known
        return value if known is theta else self.bound_at(self.probabilities(theta))

    def bound_at(self, P: np.ndarray) -> float:
        """Return the dual objective of the probabilities P, made feasible."""
        share, q = 0.0, np.zeros(self.classes)
        if self.intercept:
            totals = np.bincount(self.codes, self.weights, self.classes)
            share, q = feasible_mixture(self.weights @ P - totals[self.classes - self.rows :], totals)
        entropy, mapped = self.dual_sums(P, share, q)
        return entropy - 0.5 / self.penalty * float((mapped**2).sum())

    def probabilities(self, theta: np.ndarray) -> np.ndarray:
        """Return the probabilities P at theta."""
        scores = np.ascontiguousarray(self.scores(theta))
        P = np.empty(scores.shape)
        evaluate(scores, self.codes, self.weights, P, np.empty(scores.shape))
        return P

    def dual_sums(self, P: np.ndarray, share: float, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return sum_i s_i H(P'_i) and sum_i s_i x_i (P'_i - Y_i)' for P' = (P + share q) / (1 + share)."""
        R = np.empty(P.shape)
        entropy = mix(P, self.codes, self.weights, q, share, R)
        return entropy, self.X.T @ R

    def penalties(self) -> np.ndarray:
        """Return the diagonal of the penalty's Hessian."""
        return self.penalty * self.is_weight

    def free_columns(self) -> slice:
        """Return the columns of (W, b) without penalty, in which adding one number to all rows changes nothing."""
        return slice(0 if self.penalty == 0.0 else self.X.shape[1], self.columns)

    def block(self, h: np.ndarray) -> np.ndarray:
        """Return the lower triangle of [X 1]' diag(h) [X 1]."""
        block = np.zeros((self.columns, self.columns), order="F")
        add_gram(block, self.X, h, float(self.intercept))
        return block

    def block_diagonal(self, h: np.ndarray) -> np.ndarray:
        """Return the diagonal of [X 1]' diag(h) [X 1]."""
        if self.squares is None:
            self.squares = sp.csr_array(self.X.power(2)).T if sp.issparse(self.X) else None
        inner = np.einsum("i,ij,ij->j", h, self.X, self.X) if self.squares is None else self.squares @ h
        return np.r_[inner, h.sum()] if self.intercept else inner

    def least_penalty(self) -> float:
        """Return the penalty that is used for separable classes."""
        share = 1.0 / self.classes
        diagonal = self.block_diagonal(self.weights * share * (1.0 - share))[: self.X.shape[1]]
        return LEAST_PENALTY * (float(diagonal.mean()) or 1.0)

    def margins(self) -> sp.csr_array:
        """Return the matrix of (v_{y_i} - v_k)'x_i + a_{y_i} - a_k in (V, a), one row per i and k != y_i."""
        X = sp.csr_array(self.X)
        if self.intercept:
            X = sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1))]))
        if self.rows == 1:
            return sp.csr_array(sp.diags_array(np.where(self.codes == 1, 1.0, -1.0)) @ X)
        i, k = np.nonzero(self.codes[:, None] != np.arange(self.classes))
        of_pair, signs = X[i], np.eye(self.rows)[self.codes[i]] - np.eye(self.rows)[k]
        return sp.csr_array(sp.hstack([sp.diags_array(signs[:, c]) @ of_pair for c in range(self.rows)]))

    def nearest_to_certain(self, theta: np.ndarray) -> float:
        """Return the smallest 1 - P(y_i | x_i)."""
        scores = self.scores(theta)
        if self.rows == 1:
            return float(expit(np.where(self.codes == 1, -scores[:, 0], scores[:, 0])).min())
        P = softmax(scores, axis=1)
        P[np.arange(len(P)), self.codes] = 0.0
        return float(P.sum(axis=1).min())


class LogisticPoint:
    """Objective at one point; see `newton_minimizer.Point`."""

    def __init__(self, loss: LogisticLoss, theta: np.ndarray) -> None:
        self.loss, self.theta = loss, theta
        self.P = np.empty((loss.codes.size, loss.rows))
        W, _ = loss.split(theta)
        losses, self.slope = loss.evaluate(theta, self.P)
        self.value = float(losses + 0.5 * loss.penalty * (W**2).sum())

    @classmethod
    def of_probabilities(cls, loss: LogisticLoss, P: np.ndarray) -> LogisticPoint:
        """Return a point of which only the probabilities P are known."""
        point = cls.__new__(cls)
        point.loss, point.P = loss, P
        return point

    def gradient(self) -> np.ndarray:
        """Return the gradient of the objective at this point."""
        return self.slope + self.loss.penalties() * self.theta

    def excess(self, gradient: np.ndarray, tol: float) -> float:
        """Return u / (|f| + min(penalty, 1)) with u >= f - min f.

        If u = |g_W|^2 / (2 penalty) gives a ratio above `tol`, that is returned; else u is the duality gap, which has
        this part, too, and makes up for the sums of the residuals.
        """
        loss = self.loss
        own, unit = gradient * loss.is_weight, min(loss.penalty, 1.0) + abs(self.value)
        bound = 0.5 * float(own @ own) / (loss.penalty * unit)
        return bound if bound > tol else max(self.value - self.dual_objective, 0.0) / unit

    @cached_property
    def dual_objective(self) -> float:
        """Lower bound of the minimum, from the probabilities of this point."""
        self.loss.known = self.theta, self.loss.bound_at(self.P)
        return self.loss.known[1]

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        if self.loss.dense:
            return factored(self.hessian())(-gradient)
        norm = float(np.linalg.norm(gradient))
        self.loss.first_norm = norm if self.loss.first_norm is None else self.loss.first_norm
        tol = min(LOOSEST, math.sqrt(norm / self.loss.first_norm)) if norm > 0.0 else LOOSEST
        found = solve_conjugate_gradients(
            self.multiply,
            self._preconditioner(),
            -gradient,
            tol,
            10 * self.loss.unknowns,
            self.loss.least * (1.0 + abs(self.value)),
        )
        if self.loss.rows > 1:
            table = found.reshape(self.loss.rows, self.loss.columns)
            table[:, self.loss.free_columns()] -= table[:, self.loss.free_columns()].mean(axis=0)
        return found

    def rough_inverse(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return r -> S^1/2 M^-1 S^1/2 r, M the preconditioner of conjugate gradients.

        S is 1 for intercepts; for weights it makes the curvature along the step from their gradient exact.  With many
        features it is far below 1.
        """
        point, gradient = self, self.gradient() * self.loss.is_weight
        if not sp.issparse(self.loss.X) and len(self.P) >= ROUGHLY * FEWEST_SAMPLED:
            point = LogisticPoint.of_probabilities(self.loss.every(ROUGHLY), np.ascontiguousarray(self.P[::ROUGHLY]))
        scaling = point._preconditioner()
        solve = scaling if callable(scaling) else lambda r: r / scaling
        step = solve(gradient) * self.loss.is_weight
        scale = float(gradient @ step) / (float(step @ point.multiply(step)) or 1.0)
        root = np.where(self.loss.is_weight, math.sqrt(scale), 1.0)
        return lambda r: root * solve(root * r)

    def _preconditioner(self) -> np.ndarray | Callable[[np.ndarray], np.ndarray]:
        """Return the Hessian's diagonal; for few features and dense samples, the inverse of its mean diagonal block."""
        loss, own = self.loss, self.loss.weights[:, None] * self._own()
        if sp.issparse(loss.X) or loss.columns > MOST_BLOCK or loss.rows == 1:
            diagonal = np.concatenate([loss.block_diagonal(h) for h in own.T]) + loss.penalties()
            return np.where(diagonal > 0.0, diagonal, 1.0)
        block = loss.block(np.ascontiguousarray(own.mean(axis=1)))
        block[np.diag_indices(loss.columns)] += loss.penalties()[: loss.columns]
        inverse = factored(block)
        return lambda r: inverse(r.reshape(loss.rows, loss.columns).T).T.ravel()

    def _own(self) -> np.ndarray:
        """Return d^2 loss / dz_k^2, shape (samples, rows)."""
        return self.P * (1.0 - self.P)

    def multiply(self, direction: np.ndarray) -> np.ndarray:
        """Return the Hessian times `direction`."""
        loss = self.loss
        if loss.sparse_rows is None:
            return loss.curved(self.P, direction) + loss.penalties() * direction
        if loss.rows == 1:
            product = np.empty(direction.size)
            multiply_two_class_hessian(loss.sparse_rows, loss.weights * self._own()[:, 0], direction, product)
            return product + loss.penalties() * direction
        V = np.ascontiguousarray(direction.reshape(loss.rows, loss.columns).T)
        out = np.empty(V.shape)
        multiply_hessian(loss.sparse_rows, self.P, loss.weights, V, np.empty(loss.rows), out)
        return out.T.ravel() + loss.penalties() * direction

    def curvature(self) -> np.ndarray:
        """Return the lower triangle of the Hessian of the losses."""
        loss, size = self.loss, self.loss.columns
        H, own = np.zeros((loss.unknowns, loss.unknowns)), self._own()
        for a in range(loss.rows):
            for b in range(a):
                block = loss.block(-loss.weights * self.P[:, a] * self.P[:, b])
                H[a * size : (a + 1) * size, b * size : (b + 1) * size] = np.tril(block) + np.tril(block, -1).T
            H[a * size : (a + 1) * size, a * size : (a + 1) * size] = loss.block(loss.weights * own[:, a])
        return H

    def hessian(self) -> np.ndarray:
        """Return the lower triangle of the Hessian, made nonsingular."""
        H = self.curvature()
        H[np.diag_indices(self.loss.unknowns)] += self.loss.penalties()
        if self.loss.rows > 1:
            fix_sums(H, self.loss.rows, self.loss.columns, self.loss.free_columns())
        return H


def feasible_mixture(excess: np.ndarray, totals: np.ndarray) -> tuple[float, np.ndarray]:
    """Return share and q for which (P + share q) / (1 + share) has the class sums `totals` of Y.

    `excess` is sum_i s_i (P_i - Y_i), for the second of two classes alone.  The share is the least with q >= 0.
    """
    excess = np.append(-excess, excess) if excess.size == 1 else excess
    share = max(float((excess / totals).max()), 0.0)
    q = np.maximum(share * totals - excess, 0.0)
    return share, q / (q.sum() or 1.0)  # rounding may leave q = 0


def fix_sums(H: np.ndarray, rows: int, columns: int, free: slice) -> None:
    """Make H nonsingular in place, by terms that keep the sums over the rows of the columns `free` at 0."""
    for j in range(columns)[free]:
        own = np.ix_(range(j, len(H), columns), range(j, len(H), columns))
        H[own] += np.diagonal(H[own]).mean() / rows or 1.0
