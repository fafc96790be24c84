"""The dual of a two-class machine with explanations: inner products, solver, and the machine made of the answer.

Perfect explanations of a linear kernel confine w to the complement of the span of all d_j.  If the features are few,
the program is the plain machine's on the samples projected there, in alpha alone, and lambda removes the component of
sum_i alpha_i y_i x_i in the span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

import qp

from ..base.answers import Built
from ..base.estimator import GOOD, warn_unconverged, warn_unless_good
from ..base.validation import as_dense
from ..kernels.kernel import Kernel
from ..kernels.samples import centered, inner_products
from ..linear.dual import Answer
from ..margins.dual import MarginDual, settle
from ..margins.machines import intercept_of
from ..margins.margin import low_rank_pays
from ..margins.multipliers import ON_MARGIN, tell_apart
from ..programs.explanations import explained_dual
from ..programs.margins import dual_program
from .descent import Descent
from .path import ExplanationPath

MOST_FORMED, MOST_FEATURES = 2000, 500  # sparse data with more rows and more features are solved by descent
SPAN_TOL = 1e-12  # relative to the longest direction: shorter ones count as zero
NOT_SEPARABLE = (
    "the classes cannot be separated as the hard margin (C=inf) asks for, with these explanations: give a finite C, "
    "or perfect explanations (Q=inf) a finite Q"
)


class Products:
    """Inner products of phi(x_i) and d_j, in this order: the features of a linear kernel, or one matrix.

    The rows of `X` are x_i, the rows of `V` are v_j; v_j explains sample `owner[j]`.  With an intercept, a `bias`, the
    features of the samples are less their `mean`.
    """

    def __init__(self, X: Any, V: Any, owner: np.ndarray, kernel: Kernel, bias: bool = False) -> None:
        stack = sp.vstack if sp.issparse(X) else np.vstack
        self.kernel, self.samples, self.mean = kernel, X.shape[0], np.zeros(X.shape[1])
        self.features: Any = None
        if kernel.is_linear:
            own, self.mean = centered(X) if bias else (X, self.mean)
            self.features = stack([own, X[owner] - V])
        if kernel.is_linear:
            return
        n, both = self.samples, stack([X, V]) if owner.size else X
        compiled = None
        if not sp.issparse(X) and not callable(kernel.kernel):
            compiled = kernel.matrix(both, np.ones(both.shape[0]), 1.0)
        K = kernel.gram(both) if compiled is None else compiled.gram()
        # k(., v) is replaced by k(., x_o) - k(., v), by rows, then by columns.
        np.subtract(K[owner], K[n:], out=K[n:])
        np.subtract(K[:, owner], K[:, n:], out=K[:, n:])
        K[n:, n:] = 0.5 * (K[n:, n:] + K[n:, n:].T)  # exactly symmetric, else the program would symmetrize all of P
        self.matrix = K

    @property
    def are_many_sparse(self) -> bool:
        """Whether the data are sparse and so many that descent solves the dual."""
        if not sp.issparse(self.features):
            return False
        rows, features = self.features.shape
        return bool(rows > MOST_FORMED and features > MOST_FEATURES)

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """Matrix of all inner products; None if the features are fewer."""
        few = low_rank_pays(*self.features.shape)
        return None if few else inner_products(self.features, self.features)

    def places(self, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return the indices of the samples `rows` and the explanations `at` among all."""
        return np.concatenate([rows, self.samples + at])

    def _part(self, where: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return rows `where` and columns `which` of the matrix; the matrix itself if they are all."""
        assert self.matrix is not None
        is_whole = where.size == which.size == self.matrix.shape[0]  # as both are sorted
        return self.matrix if is_whole else self.matrix[np.ix_(where, which)]

    def hessian(self, rows: np.ndarray, at: np.ndarray, y: np.ndarray) -> np.ndarray | qp.LowRank:
        """Return P with (alpha, lambda)'P (alpha, lambda) = |w|^2 for samples `rows`, signs `y`, explanations `at`."""
        places, signs = self.places(rows, at), np.concatenate([y, np.ones(at.size)])
        if self.matrix is None:
            return qp.LowRank(as_dense(self.features[places]) * signs[:, None])
        P = self._part(places, places) * signs
        P *= signs[:, None]
        return P

    def values(self, where: np.ndarray, places: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return w'phi(x_i) and w'd_j at the places `where`, for the w with the coefficients `v` at `places`."""
        if self.features is not None:
            return np.asarray(self.features[where] @ (self.features[places].T @ v))
        return self._part(where, places) @ v

    def directions(self, at: np.ndarray) -> np.ndarray:
        """Return orthonormal columns that span the d_j `at` of the linear kernel."""
        Q, R, _ = qr(as_dense(self.features[self.samples + at]).T, mode="economic", pivoting=True)
        sizes = np.abs(R.diagonal())
        return Q[:, : int((sizes > SPAN_TOL * sizes[0]).sum())]

    def balance(self, rows: np.ndarray, at: np.ndarray, signed: np.ndarray) -> np.ndarray:
        """Return the lambda of least norm with which w is orthogonal to the d_j `at` of the linear kernel."""
        N, D = self.directions(at), as_dense(self.features[self.samples + at])
        return np.linalg.lstsq(D.T, -N @ (N.T @ (self.features[rows].T @ signed)), rcond=SPAN_TOL)[0]


@dataclass(frozen=True)
class ExplainedMachine:
    """f(x) = sum_i signed_i k(x_i, x) + sum_j multipliers_j (k(x_o(j), x) - k(v_j, x)) + intercept, of two classes."""

    # samples, explanations and last program of the machine
    margin: ExplainedMargin
    # shape (samples,): kinds of the samples as in `margins.machines.Machines`
    kinds: np.ndarray
    # alpha, signed: shape (samples,): alpha_i, and alpha_i y_i
    alpha: np.ndarray
    signed: np.ndarray
    # multipliers, gaps: shape (explanations,): lambda_j, and w'd_j
    multipliers: np.ndarray
    gaps: np.ndarray
    # intercept, width: b, and 1 / |w|
    intercept: float
    width: float
    # iterations of the engine, or passes of descent
    iterations: int
    # builds and returns the program that was solved last, and its solution
    answer: Callable[[], Built]

    def decisions(self, where: np.ndarray) -> np.ndarray:
        """Return the decision values at the samples `where` of X."""
        margin = self.margin
        v = np.concatenate([self.signed, self.multipliers])
        return margin.products.values(where, margin.products.places(margin.rows, margin.at), v) + self.intercept


class ExplainedMargin:
    """The dual of one two-class machine, solved for one Q after another.

    `rows` and `at` are its samples and explanations among all, `y` and `C` signs and box sizes of the samples, `share`
    the weight of every explanation, a factor of Q; `penalty`, "l1" or "l2", is the penalty of delta.
    """

    def __init__(
        self, products: Products, rows: np.ndarray, at: np.ndarray, y: np.ndarray, C: np.ndarray, share: np.ndarray,
        penalty: str, bias: bool, settings: dict[str, Any],
    ) -> None:  # fmt: skip
        self.products, self.rows, self.at = products, rows, at
        self.y, self.C, self.share, self.penalty, self.bias = y, C, share, penalty, bias
        self.settings = settings
        self.dual: MarginDual | None = None
        self.descent: Descent | None = None

    @cached_property
    def P(self) -> np.ndarray | qp.LowRank:
        """Quadratic term, from `Products.hessian`."""
        return self.products.hessian(self.rows, self.at, self.y)

    def is_projected(self, Q: float) -> bool:
        """Return True if the program for `Q` is the one in alpha alone."""
        return Q == np.inf and isinstance(self.P, qp.LowRank) and self.at.size > 0

    def program(self, Q: float) -> qp.QuadraticProgram:
        """Return the program for `Q`."""
        if self.is_projected(Q):
            X, N = as_dense(self.products.features[self.rows]), self.products.directions(self.at)
            return dual_program(qp.LowRank(self.y[:, None] * (X - (X @ N) @ N.T)), self.y, self.C, self.bias)
        return explained_dual(self.P, self.y, self.C, Q * self.share, self.penalty, self.bias)

    def solve(self, Q: float) -> qp.Solution:
        """Return the solution for `Q`, warm-started from the last one if its solver can be updated."""
        low_rank, program = isinstance(self.P, qp.LowRank), self.program(Q)
        dual, is_fixed = self.dual, Q in (0.0, np.inf)
        if dual is None or dual.program.n != program.n or is_fixed or (self.penalty == "l2" and low_rank):
            self.dual = MarginDual(program, self.settings, self.products.kernel.is_semidefinite, NOT_SEPARABLE)
            return self.dual.solve()
        dual.update(lb=program.lb, ub=program.ub, **({} if self.penalty == "l1" else {"P_data": program.P}))
        return dual.solve(warm_start=True)

    def descend(self, Q: float) -> Answer:
        """Return the answer of descent for `Q`, started at the last one."""
        if self.descent is None:
            F = sp.csr_array(self.products.features[self.products.places(self.rows, self.at)])
            self.descent = Descent(F, self.y, self.C, self.bias)
        tol, passes = float(self.settings["tol"]), int(self.settings["max_iter"])
        answer = self.descent.solve(Q * self.share, self.penalty == "l2", tol, passes)
        if answer.gap > max(tol, GOOD):
            warn_unconverged(
                f"ExplanationAugmentedSVC: descent ended after {answer.passes} passes, its objective "
                f"{answer.objective:.6g} known to a share of {answer.gap:.1e}: raise tol or max_iter, or lower C"
            )
        return answer

    def path(self) -> ExplanationPath:
        """Return the answers for all Q; C must be finite and the penalty the sum of delta."""
        plain, P = self.machine(0.0), self.P
        dense = P.F @ P.F.T + np.diag(P.d) if isinstance(P, qp.LowRank) else P
        return ExplanationPath(dense, self.y, self.C, self.share, self.bias, plain.alpha, plain.intercept)

    def machine(self, Q: float) -> ExplainedMachine:
        """Return the machine for `Q`; raise an error if there is no answer, warn if it is poor."""
        products, rows, at, y = self.products, self.rows, self.at, self.y
        by_descent = products.are_many_sparse and np.isfinite(self.C).all() and Q < np.inf
        self.descent = self.descent if by_descent else None
        answer: Any = self.descend(Q) if by_descent else self.solve(Q)
        if self.descent is not None:
            kinds, alpha, multipliers = self.descent.kinds(answer), answer.beta[: y.size] * y, answer.beta[y.size :]
            iterations, descent, tol = answer.passes, self.descent, float(self.settings["tol"])
            build = lambda: descent.built(answer, tol)  # noqa: E731
        else:
            assert self.dual is not None
            program = self.dual.program
            build = lambda: (program, answer)  # noqa: E731
            warn_unless_good("ExplanationAugmentedSVC", answer)
            kinds, alpha, multipliers = sort_out_both(self.dual, answer, rows.size)
            iterations = answer.iterations
        signed = alpha * y
        if self.is_projected(Q):
            multipliers = products.balance(rows, at, signed)
        places, v = products.places(rows, at), np.concatenate([signed, multipliers])
        both = products.values(places, places, v)
        left, gaps, squared = y - both[: y.size], both[y.size :], float(v @ both)
        b = 0.0
        if self.bias:
            b = intercept_of(left, y, kinds) if self.descent is None else self.descent.intercept(left)
        width = 1.0 / np.sqrt(squared) if squared > 0.0 else np.inf
        return ExplainedMachine(self, kinds, alpha, signed, multipliers, gaps, b, width, iterations, build)


class Decisions:
    """Decision values of one machine at the samples `where`, piecewise linear in Q."""

    def __init__(self, margin: ExplainedMargin, where: np.ndarray) -> None:
        pieces, signs = list(margin.path()), np.append(margin.y, np.ones(margin.at.size))
        places = margin.products.places(margin.rows, margin.at)
        self.starts = np.array([piece.Q for piece in pieces])
        self.level, self.slope = (
            margin.products.values(where, places, signs[:, None] * np.array(v).T).T + np.array(b)[:, None]
            for v, b in (
                ([piece.v0 for piece in pieces], [piece.b0 for piece in pieces]),
                ([piece.v1 for piece in pieces], [piece.b1 for piece in pieces]),
            )
        )

    def at(self, Q: np.ndarray) -> np.ndarray:
        """Return the values, one row for each Q."""
        piece = np.searchsorted(self.starts, Q, side="right") - 1
        # no decision changes beyond the last piece's start
        Q = np.where(piece == self.starts.size - 1, self.starts[-1], Q)
        return np.asarray(self.level[piece] + Q[:, None] * self.slope[piece])

    def crossings(self) -> np.ndarray:
        """Return all Q > 0 at which a value may change its sign."""
        ends = np.append(self.starts[1:], self.starts[-1])[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            zeros = -self.level / self.slope
        inside = (zeros > self.starts[:, None]) & (zeros <= ends)
        left, right = (self.at(Q) for Q in (self.starts[:-1], self.starts[1:]))
        jumps = self.starts[1:][((left > 0.0) != (right > 0.0)).any(axis=1)]  # where b is not unique
        found = np.concatenate([zeros[inside], jumps])
        return found[found > 0.0]


def sort_out_both(dual: MarginDual, solution: qp.Solution, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the kinds of the samples, alpha and lambda, as `margins.dual.sort_out` does for alpha alone."""
    program, alpha, multipliers = dual.program, solution.x[:samples], solution.x[samples:]
    C, most = program.ub[:samples], program.ub[samples:]
    kinds, clean = tell_apart(alpha, C, solution.z_bounds[:samples])
    finite = np.where(np.isfinite(most), most, 0.0)  # for `at_bound`, decided as in `tell_apart`
    at_bound = np.isfinite(most) & (finite - abs(multipliers) <= finite * abs(solution.z_bounds[samples:]))
    v = np.concatenate([clean, np.where(at_bound, np.copysign(finite, multipliers), multipliers)])
    settled = settle(v, np.concatenate([kinds == ON_MARGIN, ~at_bound]), program.lb, program.ub, dual)
    if settled is None:
        return kinds, np.clip(alpha, 0.0, C), multipliers
    return kinds, settled[:samples], settled[samples:]
