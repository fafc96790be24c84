"""The dual of two classes with explanations: its inner products, its solver, and the machine that its answer is.

Perfect explanations of a linear kernel confine w to the complement of the span of all d_j.  Where the features are few,
the program is that of the plain machine on the samples projected there, in alpha alone, and lambda is what takes the
rest of sum_i alpha_i y_i x_i away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

import qp

from ..base.validation import as_dense
from ..svm.kernels import Kernel, inner_products
from ..svm.margin import MarginDual, dual_program, intercept_of, low_rank_pays, warn_unless_good
from ..svm.multipliers import ON_MARGIN, settle, tell_apart
from .program import explained_dual

SPAN_TOL = 1e-12  # directions shorter than this share of the longest are none
NOT_SEPARABLE = (
    "the classes cannot be separated as the hard margin (C=inf) asks for, with these explanations: give a finite C, "
    "or perfect explanations (Q=inf) a finite Q"
)


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


@dataclass(frozen=True)
class ExplainedMachine:
    """A two-class machine f(x) = sum_i signed_i k(x_i, x) + sum_j multipliers_j (k(x_o(j), x) - k(v_j, x)) + intercept.

    Attributes
    ----------
    margin : ExplainedMargin
        Its samples and explanations, and the program that was solved last.
    kinds : array of int, shape (samples,)
        As in `svm.margin.Machine`.
    alpha, signed : arrays, shape (samples,)
        alpha_i, and alpha_i y_i.
    multipliers, gaps : arrays, shape (explanations,)
        lambda_j, and w'd_j.
    intercept, width : float
        b, and 1 / |w|.
    program, solution
        What was solved, and the engine's answer.
    """

    margin: ExplainedMargin
    kinds: np.ndarray
    alpha: np.ndarray
    signed: np.ndarray
    multipliers: np.ndarray
    gaps: np.ndarray
    intercept: float
    width: float
    program: qp.QuadraticProgram
    solution: qp.Solution

    def decisions(self, where: np.ndarray) -> np.ndarray:
        """The decision values at samples of X."""
        margin = self.margin
        values = margin.products.values(where, margin.rows, margin.at, self.signed, self.multipliers)
        return values + self.intercept


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
        self.P, self.settings = products.hessian(rows, at, y), settings
        self.dual: MarginDual | None = None

    def is_projected(self, Q: float) -> bool:
        """Whether the program for this Q is the one in alpha alone."""
        return Q == np.inf and isinstance(self.P, qp.LowRank) and self.at.size > 0

    def program(self, Q: float) -> qp.QuadraticProgram:
        """The program for one Q."""
        if self.is_projected(Q):
            X, N = as_dense(self.products.X[self.rows]), self.products.directions(self.at)
            return dual_program(qp.LowRank(self.y[:, None] * (X - (X @ N) @ N.T)), self.y, self.C, self.bias)
        return explained_dual(self.P, self.y, self.C, Q * self.share, self.penalty, self.bias)

    def solve(self, Q: float) -> qp.Solution:
        """The answer for Q; after a first one from there, with what can be kept of the solver."""
        low_rank, program = isinstance(self.P, qp.LowRank), self.program(Q)
        if self.dual is None or Q in (0.0, np.inf) or (self.penalty == "l2" and low_rank):
            semidefinite = self.products.kernel.is_semidefinite
            self.dual = MarginDual.of(program, self.settings, semidefinite, NOT_SEPARABLE)
            return self.dual.solve()
        if self.penalty == "l1":
            self.dual.update(lb=program.lb, ub=program.ub)
        else:
            self.dual.update(P_data=program.P)
        return self.dual.solve(warm_start=True)

    def machine(self, Q: float) -> ExplainedMachine:
        """The machine for Q; what is no answer is an error, and what is a poor one a warning."""
        solution = self.solve(Q)
        warn_unless_good("ExplanationAugmentedSVC", solution)
        assert self.dual is not None
        program, products, rows, at, y = self.dual.program, self.products, self.rows, self.at, self.y
        kinds, alpha, multipliers = sort_out_both(self.dual, solution, rows.size)
        signed = alpha * y
        if self.is_projected(Q):
            multipliers = products.balance(rows, at, signed)
        values = products.values(rows, rows, at, signed, multipliers)
        gaps = products.gaps(rows, at, signed, multipliers)
        squared = float(signed @ values + multipliers @ gaps)
        b = intercept_of(y - values, y, kinds) if self.bias else 0.0
        width = 1.0 / np.sqrt(squared) if squared > 0.0 else np.inf
        return ExplainedMachine(self, kinds, alpha, signed, multipliers, gaps, b, width, program, solution)


def sort_out_both(dual: MarginDual, solution: qp.Solution, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The kinds of the samples, alpha and lambda, as `svm.multipliers.sort_out` does it with alpha alone."""
    program, alpha, multipliers = dual.program, solution.x[:samples], solution.x[samples:]
    C, most = program.ub[:samples], program.ub[samples:]
    kinds, clean = tell_apart(alpha, C, solution.z_bounds[:samples])
    finite = np.where(np.isfinite(most), most, 0.0)  # at their bound: as in `tell_apart`
    at_bound = np.isfinite(most) & (finite - abs(multipliers) <= finite * abs(solution.z_bounds[samples:]))
    v = np.concatenate([clean, np.where(at_bound, np.copysign(finite, multipliers), multipliers)])
    settled = settle(v, np.concatenate([kinds == ON_MARGIN, ~at_bound]), program.lb, program.ub, dual)
    if settled is None:
        return kinds, np.clip(alpha, 0.0, C), multipliers
    return kinds, settled[:samples], settled[samples:]
