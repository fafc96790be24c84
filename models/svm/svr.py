"""Support vector regression: the flattest function within a tube of half-width epsilon around the targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp

from ..base.estimator import Regressor
from ..base.validation import as_dense, as_targets, as_weights, check_choice, check_number
from .kernels import Kernel, make_kernel
from .margin import FORMS, choose_form, features_of, intercept_of, low_rank_pays, solve, warn_unless_good
from .multipliers import SampleDual, sort_out

NOT_IN_TUBE = "no function of this kernel stays within epsilon of all targets, as C=inf asks for: give a finite C"


class SVR(Regressor):
    r"""Support vector regression with the epsilon-insensitive loss.

    .. math::
        \min_{w, b, \xi, \xi^*}\; \tfrac12 \|w\|^2 + \sum_i C_i (\xi_i + \xi_i^*)
        \quad\text{s.t. } -\epsilon - \xi_i^* \le y_i - w^\top \phi(x_i) - b \le \epsilon + \xi_i,\; \xi, \xi^* \ge 0

    Its dual, in alpha and alpha* of the two sides, is that of a classifier of 2m samples, every x_i once on each side:

    .. math::
        \min_{\alpha, \alpha^*}\; \tfrac12 (\alpha - \alpha^*)^\top K (\alpha - \alpha^*)
        + (\epsilon - y)^\top \alpha + (\epsilon + y)^\top \alpha^*
        \quad\text{s.t. } 1^\top \alpha = 1^\top \alpha^*,\; 0 \le \alpha_i, \alpha_i^* \le C_i

    Parameters
    ----------
    C : float, default 1.0
        The price of leaving the tube, times the sample's weight; ``inf`` forbids it.
    epsilon : float, default 0.1
        Half the width of the tube, in the unit of y.
    kernel, degree, gamma, coef0, fit_intercept, solver, tol, max_iter, verbose
        As in `models.SVC`.

    Attributes
    ----------
    support_ : array of int
        The samples on the edge of the tube or outside.
    support_vectors_ : array or CSR, shape (vectors, features)
    dual_coef_ : array, shape (1, vectors)
        alpha - alpha*.
    coef_ : array, shape (1, features)
        w, for the linear kernel.
    intercept_ : array, shape (1,)
    program_, solution_, n_iter_
        The program, the engine's answer and its iterations.

    Raises
    ------
    ValueError
        Something does not fit, which the message names; or C is infinite and the tube too narrow.

    Examples
    --------
    >>> import numpy as np
    >>> from models import SVR
    >>> X, y = np.arange(5.0)[:, None], [0.0, 1.0, 2.0, 3.0, 4.0]
    >>> svr = SVR(C=np.inf, epsilon=0.5, kernel="linear").fit(X, y)  # the flattest line within 0.5 of all points
    >>> svr.coef_.round(4), svr.intercept_.round(4), svr.support_
    (array([[0.75]]), array([0.5]), array([0, 4]))
    """

    _takes_sparse = True

    kernel_: Kernel
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    n_iter_: int
    program_: qp.QuadraticProgram
    solution_: qp.Solution

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        *,
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 200,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _is_pairwise(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Solve the program.

        Parameters
        ----------
        X : array_like or sparse, shape (samples, features)
            Or (samples, samples) for a precomputed kernel.
        y : array_like, shape (samples,)
        sample_weight : array_like, shape (samples,), optional
            Factors of C; an integer is as good as so many copies, zero as leaving the sample out.
        """
        check_number("C", self.C, 0.0, open_low=True)
        check_number("epsilon", self.epsilon, 0.0)
        check_choice("solver", self.solver, FORMS)
        settings = self._engine_settings()
        X = self._matrix_to_fit(X)
        y = as_targets(y, X.shape[0], "SVR")
        weights = as_weights(sample_weight, X.shape[0])
        self.kernel_ = make_kernel(self.kernel, X, weights, self.gamma, self.degree, self.coef0)
        rows = np.flatnonzero(weights > 0.0)
        K = None if self.kernel_.is_linear else self.kernel_.gram(X)
        if rows.size < weights.size:
            K = K if K is None else K[np.ix_(rows, rows)]
        coefficients = self._fit_samples(X[rows], y[rows], self.C * weights[rows], K, settings)
        kept = coefficients != 0.0
        self.support_ = rows[kept]
        self.support_vectors_ = X[:0] if self.kernel_.is_precomputed else X[self.support_]
        self.dual_coef_ = coefficients[None, kept]
        if self.kernel_.is_linear:
            self.coef_ = np.asarray(self.dual_coef_ @ self.support_vectors_)
        elif hasattr(self, "coef_"):
            del self.coef_
        self.n_iter_ = self.solution_.iterations
        return self

    def _fit_samples(
        self, X: Any, y: np.ndarray, C: np.ndarray, K: np.ndarray | None, settings: dict[str, Any]
    ) -> np.ndarray:
        """alpha - alpha*, from the program in either form; K is None for the linear kernel."""
        form = choose_form(X, self.kernel_) if self.solver == "auto" else self.solver
        bias, epsilon = bool(self.fit_intercept), float(self.epsilon)
        features = None if form == "dual" else X if K is None else features_of(K)
        if features is None:
            self.program_ = dual_program(X, K, y, C, epsilon, bias)
        else:
            self.program_ = primal_program(features, y, C, epsilon, bias)
        solution = self.solution_ = solve(self.program_, self.kernel_, settings, NOT_IN_TUBE)
        warn_unless_good("SVR", solution)
        if features is None:
            both, violation = solution.x, solution.z_bounds
        else:
            d = features.shape[1]
            residual = y - features @ solution.x[:d] - (solution.x[d] if bias else 0.0)
            both = np.concatenate([np.maximum(-solution.y, 0.0), np.maximum(solution.y, 0.0)])
            violation = np.concatenate([residual, -residual]) - epsilon
        sides = np.repeat([1.0, -1.0], y.size)
        dual = SampleDual(X, K, sides, np.tile(np.arange(y.size), 2), np.concatenate([epsilon - y, epsilon + y]), bias)
        kinds, both = sort_out(both, np.concatenate([C, C]), violation, dual)
        coefficients, left = both[: y.size] - both[y.size :], y - dual.values(both)
        b = intercept_of(np.concatenate([left - epsilon, left + epsilon]), sides, kinds) if bias else 0.0
        self.intercept_ = np.array([b])
        return coefficients

    def predict(self, X: Any) -> np.ndarray:
        """The values of the function at the rows of X (of a precomputed kernel: its values at the samples of fit)."""
        X = self._matrix_to_predict(X)
        if self.kernel_.is_linear:
            values = X @ self.coef_[0]
        elif self.kernel_.is_precomputed:
            values = X[:, self.support_] @ self.dual_coef_[0]
        else:
            values = self.kernel_(X, self.support_vectors_) @ self.dual_coef_[0]
        return values + self.intercept_[0]


def dual_program(
    X: Any, K: np.ndarray | None, y: np.ndarray, C: np.ndarray, epsilon: float, bias: bool
) -> qp.QuadraticProgram:
    """The dual; its variables are alpha and alpha*."""
    if K is None and low_rank_pays(2 * y.size, X.shape[1]):
        F = as_dense(X)
        P: Any = qp.LowRank(np.vstack([F, -F]))
    else:
        if K is None:
            product = X @ X.T
            K = as_dense(product)
        P = np.block([[K, -K], [-K, K]])
    rows: dict[str, Any] = {"A": np.repeat([1.0, -1.0], y.size)[None, :], "l": 0.0, "u": 0.0} if bias else {}
    return qp.QuadraticProgram(P, np.concatenate([epsilon - y, epsilon + y]), lb=0.0, ub=np.concatenate([C, C]), **rows)


def primal_program(F: Any, y: np.ndarray, C: np.ndarray, epsilon: float, bias: bool) -> qp.QuadraticProgram:
    """The primal; its variables are w, b (if there is a bias), and xi_i, xi*_i for every finite C_i."""
    m, d = F.shape
    soft = np.flatnonzero(np.isfinite(C))
    slacks = sp.csc_array((np.ones(soft.size), (soft, np.arange(soft.size))), shape=(m, soft.size))
    rows = [sp.csr_array(F), *([sp.csr_array(np.ones((m, 1)))] if bias else []), slacks, -slacks]
    free = d + bias
    return qp.QuadraticProgram(
        sp.diags_array(np.concatenate([np.ones(d), np.zeros(bias + 2 * soft.size)])),
        np.concatenate([np.zeros(free), C[soft], C[soft]]),
        sp.hstack(rows, format="csc"),
        l=y - epsilon,
        u=y + epsilon,
        lb=np.concatenate([np.full(free, -np.inf), np.zeros(2 * soft.size)]),
    )
