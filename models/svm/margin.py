r"""The largest margin between two classes: its program in the primal and in the dual, and what follows from the answer.

Primal, in the features themselves or in those of a factor of the kernel matrix, K = F F' (x_i is then row i of F):

    minimize    1/2 |w|^2 + sum_i C_i xi_i
    subject to  y_i (w'x_i + b) + xi_i >= 1,   xi >= 0

Dual, G_ij = y_i y_j k(x_i, x_j):

    minimize    1/2 alpha'G alpha - 1'alpha
    subject to  y'alpha = 0,   0 <= alpha_i <= C_i

C_i = infinity is the hard margin: no xi_i, no upper bound.  Without the bias b, y'alpha = 0 is left out.  alpha_i is
the multiplier of row i of the primal, y'alpha = 0 has the multiplier b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

import qp
import socp

from ..base.estimator import uninterrupted, warn_unless_optimal
from ..base.validation import as_dense, check_choice
from .kernels import Kernel
from .multipliers import NOT_SUPPORT, ON_MARGIN, SampleDual, sort_out

FORMS = ("auto", "dual", "primal")
FEWEST_TO_FACTOR = 4  # samples a feature from which the dual keeps its low rank
FEWEST_TO_STAY_SPARSE = 2  # samples a feature from which the primal of sparse samples is the less work
GOOD = 1e-8  # relative residuals and gap of an answer that needs no warning
FACTOR_TOL = 1e-13  # pivots of K below this share of its largest entry count as zero
NOT_SEMIDEFINITE = "the matrix of the kernel must be positive semidefinite, but it is not"
NOT_SEPARABLE = (
    "the classes cannot be separated, as the hard margin (C=inf) asks for: give a finite C, or another kernel"
)


@dataclass(frozen=True)
class Machine:
    """A two-class machine f(x) = sum_i coefficients_i k(x_i, x) + intercept.

    Attributes
    ----------
    coefficients : array, shape (samples,)
        alpha_i y_i; exactly zero where sample i is no support vector, exactly C_i y_i at the bound (unless
        `multipliers.sort_out` has to leave them as the engine found them).
    intercept : float
    kinds : array of int, shape (samples,)
        NOT_SUPPORT, ON_MARGIN (0 < alpha_i < C_i), INSIDE_MARGIN (alpha_i = C_i, xi_i <= 1), WRONG_SIDE (xi_i > 1).
    margin : float
        1 / |w|, the distance of the supporting hyperplanes from the separating one.
    program, solution
        What was solved, and the engine's answer.
    """

    coefficients: np.ndarray
    intercept: float
    kinds: np.ndarray
    margin: float
    program: qp.QuadraticProgram
    solution: qp.Solution


def largest_margin(
    X: Any, y: np.ndarray, C: np.ndarray, kernel: Kernel, bias: bool, form: str, settings: dict[str, Any]
) -> Machine:
    """The machine of the samples X with signs y, box sizes C (infinite: a hard margin) and engine settings.

    Raises
    ------
    ValueError
        The margin is hard and the classes cannot be separated, or the kernel is not positive semidefinite.
    """
    K = None if kernel.is_linear else kernel.gram(X)
    if check_choice("solver", form, FORMS) != "auto":
        return _by_form(X, y, C, kernel, K, bias, form, settings)
    form = choose_form(X, kernel)
    machine = _by_form(X, y, C, kernel, K, bias, form, settings)
    if form == "dual" and not is_good(machine.solution):  # badly scaled data: the primal often does better
        other = _by_form(X, y, C, kernel, K, bias, "primal", settings)
        if is_good(other.solution) or other.solution.gap < machine.solution.gap:
            return other
    return machine


def _by_form(
    X: Any, y: np.ndarray, C: np.ndarray, kernel: Kernel, K: np.ndarray | None, bias: bool, form: str,
    settings: dict[str, Any],
) -> Machine:  # fmt: skip
    """The machine by the primal or the dual; K is None for the linear kernel."""
    if form == "dual":
        program = dual_program(hessian(X, y, K), y, C, bias)
        solution = solve(program, kernel, settings)
        # z = 1 - y f(x): the slack where the upper bound holds, minus the surplus where the lower one does
        alpha, violation = solution.x, solution.z_bounds
    else:
        features = X if K is None else features_of(K)
        d = features.shape[1]
        program = primal_program(features, y, C, bias)
        solution = solve(program, kernel, settings)
        f = features @ solution.x[:d] + (solution.x[d] if bias else 0.0)
        alpha, violation = -solution.y, 1.0 - y * f
    dual = SampleDual(X, K, y, np.arange(y.size), -1.0, bias)
    kinds, alpha = sort_out(alpha, C, violation, dual)
    coefficients, expansion = alpha * y, dual.values(alpha)
    squared = max(float(coefficients @ expansion), 0.0)
    intercept = intercept_of(y - expansion, y, kinds) if bias else 0.0
    margin = 1.0 / np.sqrt(squared) if squared > 0.0 else np.inf
    return Machine(coefficients, intercept, kinds, margin, program, solution)


def choose_form(X: Any, kernel: Kernel) -> str:
    """The form with less work: the primal for many sparse samples with few features, else the dual."""
    tall = kernel.is_linear and sp.issparse(X) and X.shape[0] >= FEWEST_TO_STAY_SPARSE * X.shape[1]
    return "primal" if tall else "dual"


def low_rank_pays(samples: int, features: int) -> bool:
    """Whether the kernel matrix is better kept as X X' than formed."""
    return samples >= FEWEST_TO_FACTOR * (features + 1)


def hessian(X: Any, y: np.ndarray, K: np.ndarray | None) -> np.ndarray | qp.LowRank:
    """G: of low rank when K is None (a linear kernel) and the features are few, else in full."""
    if K is not None:
        G = K * y
        G *= y[:, None]
        return G
    return product_of(sp.diags_array(y) @ X if sp.issparse(X) else y[:, None] * X)


def product_of(features: Any) -> np.ndarray | qp.LowRank:
    """P = F F' of the rows of features: of low rank where they are few."""
    if low_rank_pays(*features.shape):
        return qp.LowRank(as_dense(features))
    P = features @ features.T
    return as_dense(P)


def dual_program(G: np.ndarray | qp.LowRank, y: np.ndarray, C: np.ndarray, bias: bool) -> qp.QuadraticProgram:
    """The dual; its variables are alpha."""
    rows: dict[str, Any] = {"A": y[None, :], "l": 0.0, "u": 0.0} if bias else {}
    return qp.QuadraticProgram(G, -np.ones(y.size), lb=0.0, ub=C, **rows)


def primal_program(F: Any, y: np.ndarray, C: np.ndarray, bias: bool) -> qp.QuadraticProgram:
    """The primal; its variables are w, b (if there is a bias), and xi_i for every finite C_i."""
    m, d = F.shape
    soft = np.flatnonzero(np.isfinite(C))
    slacks = sp.csc_array((np.ones(soft.size), (soft, np.arange(soft.size))), shape=(m, soft.size))
    rows = [sp.diags_array(y) @ sp.csr_array(F), *([sp.csr_array(y[:, None])] if bias else []), slacks]
    free = d + bias
    return qp.QuadraticProgram(
        sp.diags_array(np.concatenate([np.ones(d), np.zeros(bias + soft.size)])),
        np.concatenate([np.zeros(free), C[soft]]),
        sp.hstack(rows, format="csc"),
        l=1.0,
        lb=np.concatenate([np.full(free, -np.inf), np.zeros(soft.size)]),
    )


def features_of(K: np.ndarray) -> np.ndarray:
    """F with K = F F' by pivoted Cholesky; as many columns as K has rank."""
    factor, pivots, rank, info = lapack.dpstrf(K, tol=FACTOR_TOL * max(K.diagonal().max(initial=0.0), 0.0), lower=1)
    F = np.zeros((K.shape[0], rank))
    F[pivots - 1] = np.tril(factor[:, :rank])
    if info < 0 or np.abs(F @ F.T - K).max(initial=0.0) > 1e-8 * np.abs(K).max(initial=0.0):
        raise ValueError(NOT_SEMIDEFINITE)
    return F


def settings_with(kernel: Kernel, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings for programs with this kernel, whose convexity the engine tests unless it is known."""
    return {"check_convexity": not kernel.is_semidefinite, **settings}


def solve(
    program: qp.QuadraticProgram, kernel: Kernel, settings: dict[str, Any], infeasible: str = NOT_SEPARABLE
) -> qp.Solution:
    """The engine's answer; an infeasible program is an error that says what cannot hold."""
    return checked(lambda: qp.solve(program, **settings_with(kernel, settings)), infeasible)


def checked(run: Callable[[], qp.Solution], infeasible: str = NOT_SEPARABLE) -> qp.Solution:
    """What `run` returns, unless it is no answer."""
    try:
        solution = uninterrupted(run())
    except socp.ProgramError as error:
        if "semidefinite" in str(error):
            raise ValueError(NOT_SEMIDEFINITE) from error
        raise
    if solution.status.is_infeasible:
        raise ValueError(infeasible)
    return solution


def is_good(solution: qp.Solution | socp.Solution) -> bool:
    """Whether an answer is what was asked for, or as good as the engine promises by default."""
    errors = (solution.primal_residual, solution.dual_residual, solution.gap)
    return solution.status == "optimal" or all(error <= GOOD for error in errors)


def warn_unless_good(who: str, solution: qp.Solution | socp.Solution) -> None:
    """Warn of an answer that is not `is_good`."""
    if not is_good(solution):
        warn_unless_optimal(who, solution)


def intercept_of(left: np.ndarray, y: np.ndarray, kinds: np.ndarray) -> float:
    """b from the KKT conditions, left_i = y_i - (f(x_i) - b).

    On the margin b = left_i, and the mean of these is taken.  If no vector is there, samples that are none and those
    inside bound b from both sides, and the middle of the interval is taken.
    """
    if (kinds == ON_MARGIN).any():
        return float(left[kinds == ON_MARGIN].mean())
    is_below = (kinds == NOT_SUPPORT) == (y > 0.0)
    low, high = left[is_below].max(initial=-np.inf), left[~is_below].min(initial=np.inf)
    if np.isinf(low) or np.isinf(high):
        return float(high if np.isinf(low) else low)
    return float(0.5 * (low + high))
