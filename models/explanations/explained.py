r"""The largest margin with explanations: the dual program of two classes, for every kind and price of explanations.

With the differences d_j = phi(x_o(j)) - phi(v_j) of the explained examples,

    minimize    1/2 |w|^2 + sum_i C_i xi_i + Q sum_j delta_j   (or delta_j^2)
    subject to  y_i (w'phi(x_i) + b) >= 1 - xi_i,   xi >= 0,   |w'd_j| <= delta_j

Its dual, w = sum_i alpha_i y_i phi(x_i) + sum_j lambda_j d_j:

    minimize    1/2 |w|^2 - 1'alpha   (+ sum_j lambda_j^2 / (4 Q))
    subject to  y'alpha = 0,   0 <= alpha_i <= C_i,   -Q <= lambda_j <= Q   (or lambda free)

Q = infinity are perfect explanations, w'd_j = 0 with lambda free; Q = 0 none, lambda = 0.

Perfect explanations of a linear kernel confine w to the complement of the span of all d_j.  Where the features are few,
the program is that of the plain machine on the samples projected there, in alpha alone, and lambda is what takes the
rest of sum_i alpha_i y_i x_i away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr

import qp

from ..base.validation import as_dense
from ..svm.kernels import Kernel, inner_products
from ..svm.margin import dual_program, low_rank_pays, settings_with

SPAN_TOL = 1e-12  # directions shorter than this share of the longest are none


class Products:
    """The inner products of phi(x_i) and d_j: from the features of a linear kernel, otherwise from three matrices.

    Parameters
    ----------
    X : array or CSR, shape (samples, features)
    V : array or CSR, shape (explanations, features)
    owner : array of int, shape (explanations,)
        Whose explanation v_j is.
    kernel : Kernel
    """

    def __init__(self, X: Any, V: Any, owner: np.ndarray, kernel: Kernel) -> None:
        self.X, self.kernel, self.D, self.xx = X, kernel, None, None
        if kernel.is_linear:
            self.D = X[owner] - V
            if low_rank_pays(X.shape[0] + owner.size, X.shape[1]):
                return
            self.xx = inner_products(X, X)
            self.xd, self.dd = inner_products(X, self.D), inner_products(self.D, self.D)
            return
        self.xx = kernel.gram(X)
        xv = kernel(X, V) if owner.size else np.zeros((X.shape[0], 0))
        vv = kernel.gram(V) if owner.size else np.zeros((0, 0))
        self.xd = self.xx[:, owner] - xv
        dd = self.xx[np.ix_(owner, owner)] - xv[owner] - xv[owner].T + vv
        self.dd = 0.5 * (dd + dd.T)

    def hessian(self, rows: np.ndarray, at: np.ndarray, y: np.ndarray) -> np.ndarray | qp.LowRank:
        """P with (alpha, lambda)'P (alpha, lambda) = |w|^2, for the samples `rows`, signs y, the explanations `at`."""
        if self.xx is None:
            assert self.D is not None
            factor = [as_dense(self.X[rows]) * y[:, None], as_dense(self.D[at])]
            return qp.LowRank(np.vstack(factor))
        cross = y[:, None] * self.xd[np.ix_(rows, at)]
        return np.block([[y[:, None] * self.xx[np.ix_(rows, rows)] * y, cross], [cross.T, self.dd[np.ix_(at, at)]]])

    def values(
        self, where: np.ndarray, rows: np.ndarray, at: np.ndarray, signed: np.ndarray, multipliers: np.ndarray
    ) -> np.ndarray:
        """w'phi(x) at the samples `where`, of the w with alpha_i y_i = `signed` and lambda = `multipliers`."""
        if self.D is not None:
            return self.X[where] @ self.weights(rows, at, signed, multipliers)
        assert self.xx is not None
        return self.xx[np.ix_(where, rows)] @ signed + self.xd[np.ix_(where, at)] @ multipliers

    def gaps(self, rows: np.ndarray, at: np.ndarray, signed: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """w'd_j of the explanations `at`."""
        if self.D is not None:
            return self.D[at] @ self.weights(rows, at, signed, multipliers)
        return self.xd[np.ix_(rows, at)].T @ signed + self.dd[np.ix_(at, at)] @ multipliers

    def directions(self, at: np.ndarray) -> np.ndarray:
        """Orthonormal columns that span the d_j `at` of the linear kernel."""
        assert self.D is not None
        Q, R, _ = qr(as_dense(self.D[at]).T, mode="economic", pivoting=True)
        sizes = np.abs(R.diagonal())
        return Q[:, : int((sizes > SPAN_TOL * sizes[0]).sum())]

    def balance(self, rows: np.ndarray, at: np.ndarray, signed: np.ndarray) -> np.ndarray:
        """The smallest lambda with which w is orthogonal to the d_j `at` of the linear kernel."""
        assert self.D is not None
        N = self.directions(at)
        return np.linalg.lstsq(as_dense(self.D[at]).T, -N @ (N.T @ (self.X[rows].T @ signed)), rcond=SPAN_TOL)[0]

    def weights(self, rows: np.ndarray, at: np.ndarray, signed: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """w of the linear kernel."""
        assert self.D is not None
        return self.X[rows].T @ signed + self.D[at].T @ multipliers


class ExplainedMargin:
    """The dual of one two-class machine, solved for one Q after another.

    Parameters
    ----------
    products : Products
    rows, at : arrays of int
        The samples and the explanations of the machine.
    y, C : arrays, shape (samples,)
        Signs and box sizes.
    share : array, shape (explanations,)
        The weight of every explanation, a factor of Q.
    penalty : {"l1", "l2"}
        Of delta.
    bias : bool
    settings : dict
        For the engine.
    """

    def __init__(
        self, products: Products, rows: np.ndarray, at: np.ndarray, y: np.ndarray, C: np.ndarray, share: np.ndarray,
        penalty: str, bias: bool, settings: dict[str, Any],
    ) -> None:  # fmt: skip
        self.products, self.rows, self.at = products, rows, at
        self.y, self.C, self.share, self.penalty, self.bias = y, C, share, penalty, bias
        self.P, self.settings = products.hessian(rows, at, y), settings_with(products.kernel, settings)
        self.solver: qp.Solver | None = None

    def is_projected(self, Q: float) -> bool:
        """Whether the program for this Q is the one in alpha alone."""
        return Q == np.inf and isinstance(self.P, qp.LowRank) and self.at.size > 0

    def program(self, Q: float) -> qp.QuadraticProgram:
        """The program for one Q."""
        if self.is_projected(Q):
            X, N = as_dense(self.products.X[self.rows]), self.products.directions(self.at)
            return dual_program(qp.LowRank(self.y[:, None] * (X - (X @ N) @ N.T)), self.y, self.C, self.bias)
        lower, upper = self._bounds(Q)
        rows: dict[str, Any] = {}
        if self.bias:
            rows = {"A": np.concatenate([self.y, np.zeros(self.share.size)])[None, :], "l": 0.0, "u": 0.0}
        q = np.concatenate([-np.ones(self.y.size), np.zeros(self.share.size)])
        return qp.QuadraticProgram(self._hessian(Q), q, lb=lower, ub=upper, **rows)

    def _bounds(self, Q: float) -> tuple[np.ndarray, np.ndarray]:
        most = np.full(self.share.size, np.inf)
        if Q == 0.0:
            most = np.zeros(self.share.size)
        elif self.penalty == "l1" and np.isfinite(Q):
            most = Q * self.share
        return np.concatenate([np.zeros(self.y.size), -most]), np.concatenate([self.C, most])

    def _hessian(self, Q: float) -> Any:
        """P + diag(0, 1 / (2 Q)) where the penalty is a square."""
        if self.penalty == "l1" or Q in (0.0, np.inf):
            return self.P
        diagonal = np.concatenate([np.zeros(self.y.size), 0.5 / (Q * self.share)])
        if isinstance(self.P, qp.LowRank):
            return qp.LowRank(self.P.F, self.P.d + diagonal)
        return self.P + np.diag(diagonal)

    def solve(self, Q: float) -> qp.Solution:
        """The answer for Q; after a first one from there, with what can be kept of the solver."""
        if self.solver is None or Q in (0.0, np.inf) or (self.penalty == "l2" and isinstance(self.P, qp.LowRank)):
            self.solver = qp.Solver(self.program(Q), **self.settings)
            return self.solver.solve()
        if self.penalty == "l1":
            lower, upper = self._bounds(Q)
            self.solver.update(lb=lower, ub=upper)
        else:
            self.solver.update(P_data=self._hessian(Q))
        return self.solver.solve(warm_start=True)
