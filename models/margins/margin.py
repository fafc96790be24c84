"""Largest margins: primal and dual of `programs.margins` are solved, and their answers become machines.

The primal is in the features, or in the features F of a factor of the kernel matrix, K = F F'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

import qp

from ..base.estimator import is_good
from ..base.validation import as_dense, check_choice
from ..kernels.kernel import Kernel
from ..programs.margins import dual_program, primal_program
from .dual import NOT_SEMIDEFINITE, NOT_SEPARABLE, MarginDual, checked, sort_out
from .machines import Machines, intercept_of
from .units import solved, units_of_primal

Form = Literal["auto", "dual", "primal"]
FORMS = get_args(Form)
FEWEST_TO_FACTOR = 4  # samples per feature from which the dual uses the low rank of the kernel matrix
FEWEST_TO_STAY_SPARSE = 2  # samples per feature from which sparse samples are solved in the primal
FACTOR_TOL = 1e-13  # relative to the largest diagonal entry of K: smaller pivots count as zero


@dataclass(frozen=True)
class Margin:
    """Samples with margin constraints s_k (w'phi(x_k) + b) >= -q_k - xi_k, every xi_k at the price C_k.

    Attributes
    ----------
    X : array or CSR, shape (samples, features)
    kernel : Kernel
    signs, q, C : arrays, shape (k samples,)
        Variable k belongs to sample k modulo the number of samples; an infinite C_k has no xi_k.
    bias : bool
    """

    X: Any
    kernel: Kernel
    signs: np.ndarray
    q: np.ndarray
    C: np.ndarray
    bias: bool

    def hessian(self, cache_size: float) -> Any:
        """Return P with v'Pv = |sum_k v_k s_k phi(x_k)|^2, in the form that takes the least work."""
        X, sides = self.X, self.signs.size // self.X.shape[0]
        rank = self.kernel.rank(X)
        if rank is not None and low_rank_pays(self.signs.size, rank):
            return qp.LowRank(np.tile(as_dense(self.kernel.explicit(X)), (sides, 1)) * self.signs[:, None])
        rows = self.kernel.matrix(X, self.signs, cache_size)
        if rows is not None:
            return rows
        P = np.tile(self.kernel.gram(X), (sides, sides))
        P *= self.signs
        P *= self.signs[:, None]
        return P

    def solve_primal(
        self, settings: dict[str, Any], infeasible: str
    ) -> tuple[qp.QuadraticProgram, qp.Solution, np.ndarray]:
        """Return the primal in the features of X or of a factor of its kernel matrix, its solution, the violations."""
        F = self.X if self.kernel.is_linear else features_of(self.kernel.gram(self.X))
        d, sides = F.shape[1], self.signs.size // F.shape[0]
        stacked = F if sides == 1 else sp.vstack([sp.csr_array(F)] * sides)
        program = primal_program(stacked, self.signs, self.C, self.bias, -self.q)
        units = units_of_primal(program, F, self.C[np.isfinite(self.C)])
        solution = checked(lambda: solved(program, units, settings), infeasible)
        f = np.tile(F @ solution.x[:d], sides) + (solution.x[d] if self.bias else 0.0)
        return program, solution, -self.q - self.signs * f


def product_of(features: Any) -> np.ndarray | qp.LowRank:
    """Return P = F F' of the matrix of features F, as a low rank if F has few columns."""
    if low_rank_pays(*features.shape):
        return qp.LowRank(as_dense(features))
    P = features @ features.T
    return as_dense(P)


def largest_margin(
    margin: Margin, form: str, settings: dict[str, Any], infeasible: str = NOT_SEPARABLE, cache_size: float = 200.0
) -> Machines:
    """Solve the margin by the program that `form` names, with engine settings; return the machine.

    Raises
    ------
    ValueError
        The hard margin is infeasible, or the kernel is not positive semidefinite.
    """
    chosen = choose_form(margin.X, margin.kernel) if check_choice("solver", form, FORMS) == "auto" else form
    program = dual_program(margin.hessian(cache_size), margin.signs, margin.C, margin.bias, margin.q)
    dual = MarginDual(program, settings, margin.kernel.is_semidefinite, infeasible)
    if chosen == "dual":
        solution = dual.solve()
        machine = machine_of(margin, dual, dual.program, solution, solution.x, solution.z_bounds)
        if form == "dual" or is_good(solution) or solution.status == "time_limit":
            return machine
        dual_gap = solution.gap
    # If the dual misses its tolerance, as on badly scaled data, the primal is often more accurate.
    program, solution, violation = margin.solve_primal(settings, infeasible)
    if chosen == "dual" and not (is_good(solution) or solution.gap < dual_gap):
        return machine
    return machine_of(margin, dual, program, solution, -solution.y, violation)


def machine_of(
    margin: Margin, dual: MarginDual, program: qp.QuadraticProgram, solution: qp.Solution, v: np.ndarray,
    violation: np.ndarray,
) -> Machines:  # fmt: skip
    """Return the machine with the multipliers `v` and the violations, xi where they are positive."""
    kinds, v, gradient = sort_out(dual, v, violation, solution if program is dual.program else None)
    sides = v.size // margin.X.shape[0]
    coefficients = (margin.signs * v).reshape(sides, -1).sum(axis=0)
    squared = max(float(v @ (gradient - dual.q)), 0.0)
    intercept = intercept_of(-margin.signs * gradient, margin.signs, kinds) if margin.bias else 0.0
    width = 1.0 / np.sqrt(squared) if squared > 0.0 else np.inf
    kinds, one = kinds.reshape(sides, -1).max(axis=0), np.ones(1)
    answer = lambda: (program, solution)  # noqa: E731
    return Machines(coefficients[None], kinds[None], intercept * one, width * one, one, solution.iterations, answer)


def choose_form(X: Any, kernel: Kernel) -> str:
    """Return the form with less work: "primal" for many sparse samples with few features, else "dual".

    "primal" also if the rounding of the inner products of a linear kernel hides most of the features.
    """
    if kernel.is_linear and hides_features(X):
        return "primal"
    tall = kernel.is_linear and sp.issparse(X) and X.shape[0] >= FEWEST_TO_STAY_SPARSE * X.shape[1]
    return "primal" if tall else "dual"


def hides_features(X: Any) -> bool:
    """Return True if the squares of most features are below the rounding error of the largest feature's."""
    sizes = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=0)).ravel()
    sizes = sizes[sizes > 0.0]
    return bool(sizes.size and np.median(sizes) <= np.finfo(np.float64).eps * sizes.max())


def low_rank_pays(samples: int, features: int) -> bool:
    """Return True if the kernel matrix X X' is better kept as a low rank than formed."""
    return samples >= FEWEST_TO_FACTOR * (features + 1)


def features_of(K: np.ndarray) -> np.ndarray:
    """Return F with K = F F' by pivoted Cholesky, with rank(K) columns; raise ValueError if K is indefinite."""
    factor, pivots, rank, info = lapack.dpstrf(K, tol=FACTOR_TOL * max(K.diagonal().max(initial=0.0), 0.0), lower=1)
    F = np.zeros((K.shape[0], rank))
    F[pivots - 1] = np.tril(factor[:, :rank])
    if info < 0 or np.abs(F @ F.T - K).max(initial=0.0) > 1e-8 * np.abs(K).max(initial=0.0):
        raise ValueError(NOT_SEMIDEFINITE)
    return F
