r"""Maximum entropy discrimination: a distribution of linear classifiers, and of their target margins."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

import qp

from ..base.estimator import warn_unconverged
from ..base.groups import EngineParameters, InterceptParameters, WeightParameters
from ..base.linear import LinearClassifier
from ..base.multiclass import spread, two_class_problems
from ..base.parameters import Count, Positive, parameters
from ..base.progress import History
from ..base.validation import as_dense
from ..margins.dual import MarginDual
from ..margins.margin import product_of
from ..numerics.newton_minimizer import factored, minimize
from ..programs.discrimination import med_newton_program, med_program

PRIMAL_STEPS = 50
MOST_FEATURES = 2  # features per sample up to which the primal is minimized first
SUBPROBLEM_TOL = 1e-10  # tolerance of the quadratic programs; traces of zero multipliers must not enlarge the gap


@dataclass
class Discrimination:
    """Result of `discriminate`."""

    multipliers: np.ndarray  # shape (samples,): lambda in [0, c)
    weights: np.ndarray  # shape (features,): E[w] = sum_t s_t lambda_t f_t
    objective: float  # objective of the dual
    gap: float  # upper bound of the distance of `objective` from the optimal value
    iterations: int  # number of quadratic programs; `program` is the last one
    program: qp.QuadraticProgram
    solution: qp.Solution


class MaximumEntropyDual:
    r"""Dual of maximum entropy discrimination, and its primal.

    .. math::
        \max_{0 \le \lambda < c}\; J(\lambda)
          = \sum_t s_t \left(a \lambda_t + \log(1 - \lambda_t / c)\right) - \tfrac12 \|F^\top (s \lambda)\|^2
        \qquad
        \min_u\; \tfrac12 \|u\|^2 + \sum_t s_t\, \ell(f_t^\top u), \quad
        \ell(m) = \max_{0 \le \lambda < c} (a - m) \lambda + \log(1 - \lambda / c)

    f_t = y_t phi_t are the rows of F, dense or CSR; s holds the weights of the samples.  The optimal values are equal,
    so the primal value of any u is an upper bound of J.
    """

    def __init__(self, F: Any, a: float, c: float, sample_weight: np.ndarray | None = None) -> None:
        self.F, self.a, self.c = F, a, c
        self.s = np.ones(F.shape[0]) if sample_weight is None else sample_weight

    def value(self, multipliers: np.ndarray) -> float:
        u = self.weights(multipliers)
        return float(self.s @ (self.a * multipliers + np.log1p(-multipliers / self.c)) - 0.5 * u @ u)

    def weights(self, multipliers: np.ndarray) -> np.ndarray:
        return self.F.T @ (self.s * multipliers)

    def expected_margins(self, multipliers: np.ndarray) -> np.ndarray:
        """Return E[gamma_t] = a - 1 / (c - lambda_t), the slope of a lambda + log(1 - lambda / c) (Li, eq. 18)."""
        return self.a - 1.0 / (self.c - multipliers)

    def primal(self, u: np.ndarray) -> float:
        margins = self.F @ u
        return float(0.5 * u @ u + self.s @ margin_loss(margins, self.a, self.c))


def best_multipliers(margins: np.ndarray, a: float, c: float) -> np.ndarray:
    """Return the lambda in [0, c) that attains `margin_loss`: c - 1 / (a - m), or 0 if a - m <= 1 / c."""
    short = np.maximum(a - margins, 1.0 / c)
    return np.maximum(c - 1.0 / short, 0.0)


def margin_loss(margins: np.ndarray, a: float, c: float) -> np.ndarray:
    """Return l(m) = max (a - m) lambda + log(1 - lambda / c) over 0 <= lambda < c; l(m) = 0 if m >= a - 1/c."""
    best = best_multipliers(margins, a, c)
    return (a - margins) * best + np.log1p(-best / c)


def discriminate(
    F: Any,
    a: float,
    c: float,
    sample_weight: np.ndarray | None = None,
    method: str = "newton",
    start: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    history: History | None = None,
    engine: dict[str, Any] | None = None,
) -> Discrimination:
    """Solve `MaximumEntropyDual`, by quadratic programs, until the gap is at most tol (1 + |objective|).

    "newton" replaces the logarithms by their second-order models at the current lambda; a step goes at most 99 % of the
    way to c.  "alternation" is the paper's method: E[gamma] is fixed (first-order models of the logarithms), and lambda
    moves towards the solution of that quadratic program over 0 <= lambda <= c as far as the complete dual increases
    (without this damping, or without the bound, the alternation need not converge).  It converges quickly if the kernel
    matrix is well-conditioned and slowly otherwise; `gap` tells how far it got.

    The primal is smooth and unconstrained.  Unless it has many more unknowns than the dual, "newton" minimizes it first
    and starts at the multipliers of its minimizer, so that few quadratic programs are needed.
    """
    dual = MaximumEntropyDual(F, a, c, sample_weight)
    multipliers = np.zeros(F.shape[0]) if start is None else start
    if method == "newton" and F.shape[1] <= MOST_FEATURES * F.shape[0]:
        found = minimize(lambda u: _PrimalPoint(dual, u), dual.weights(multipliers), 1e-3 * tol, PRIMAL_STEPS)
        multipliers = best_multipliers(dual.F @ found.theta, dual.a, dual.c)
    history = History() if history is None else history
    step = (_Newton if method == "newton" else _Alternation)(dual, {"verbose": history.level > 1, **(engine or {})})
    iterations = 0
    while True:
        solution = step.solve(multipliers)
        old, multipliers = multipliers, _without_traces(dual, step.go(multipliers, solution.x))
        iterations += 1
        u, objective = dual.weights(multipliers), dual.value(multipliers)
        history.append(objective)
        gap = max(dual.primal(u) - objective, 0.0)  # negative only by rounding
        stalled = np.array_equal(old, multipliers)
        converged = gap <= tol * (1.0 + abs(objective))
        if converged or iterations >= max_iter or stalled:
            history.end(converged)
            assert step.quadratic is not None
            return Discrimination(multipliers, u, objective, gap, iterations, step.quadratic.program, solution)


class _PrimalPoint:
    """The primal at u: gradient u - F'(s lambda), Hessian I + F' diag(s l'') F, where l'' = 1 / (a - m)^2 or 0."""

    def __init__(self, dual: MaximumEntropyDual, u: np.ndarray) -> None:
        self.dual, self.theta = dual, u
        self.margins = dual.F @ u
        self.value = float(0.5 * u @ u + dual.s @ margin_loss(self.margins, dual.a, dual.c))

    def gradient(self) -> np.ndarray:
        return self.theta - self.dual.weights(best_multipliers(self.margins, self.dual.a, self.dual.c))

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        dual, short = self.dual, self.dual.a - self.margins
        counts = short > 1.0 / dual.c
        rows = _scaled(dual.F[counts], np.sqrt(dual.s[counts]) / short[counts])
        return -factored(as_dense(rows.T @ rows) + np.eye(rows.shape[1]))(gradient)


def _without_traces(dual: MaximumEntropyDual, multipliers: np.ndarray) -> np.ndarray:
    """Return `multipliers`, set to zero where the best multiplier is zero unless that lowers the dual."""
    counts = best_multipliers(dual.F @ dual.weights(multipliers), dual.a, dual.c) > 0.0
    purified = np.where(counts, multipliers, 0.0)
    return purified if dual.value(purified) >= dual.value(multipliers) else multipliers


class _Newton:
    """Newton step: a quadratic program at the current lambda, and a step length towards its solution."""

    changes_P = True

    def __init__(self, dual: MaximumEntropyDual, engine: dict[str, Any]) -> None:
        self.dual, self.P = dual, product_of(_scaled(dual.F, dual.s))
        self.settings = {"tol": SUBPROBLEM_TOL, **engine}
        self.quadratic: MarginDual | None = None

    def program(self, old: np.ndarray) -> qp.QuadraticProgram:
        dual = self.dual
        return med_newton_program(self.P, dual.s, dual.expected_margins(old), dual.c, old)

    def go(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return old + t (new - old) for the first t = 1, 1/2, 1/4, ... that increases the dual, or else `old`."""
        value = self.dual.value(old)
        for halvings in range(30):
            moved = np.maximum(old + 0.5**halvings * (new - old), 0.0)
            if self.dual.value(moved) > value:
                return moved
        return old

    def solve(self, old: np.ndarray) -> qp.Solution:
        program = self.program(old)
        if self.quadratic is None or (self.changes_P and isinstance(program.P, qp.LowRank)):
            self.quadratic = MarginDual(program, self.settings, semidefinite=True)
            return self.quadratic.solve()
        self.quadratic.update(q=program.q, ub=program.ub, P_data=program.P if self.changes_P else None)
        return self.quadratic.solve(warm_start=True)


class _Alternation(_Newton):
    """Step of the alternation: a quadratic program with E[gamma] fixed, and an exact line search on the dual."""

    changes_P = False

    def program(self, old: np.ndarray) -> qp.QuadraticProgram:
        return med_program(self.P, self.dual.s, self.dual.expected_margins(old), self.dual.c)

    def go(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        dual = self.dual
        move = np.clip(new, 0.0, (1.0 - 1e-12) * dual.c) - old
        u, du = dual.weights(old), dual.weights(move)

        def slope(t: float) -> float:
            return float(dual.s @ (move * dual.expected_margins(old + t * move)) - (u + t * du) @ du)

        if slope(0.0) <= 0.0:
            return old
        return old + (1.0 if slope(1.0) >= 0.0 else brentq(slope, 0.0, 1.0, xtol=1e-15)) * move


def _scaled(F: Any, factors: np.ndarray) -> Any:
    """Return diag(`factors`) F."""
    return sp.csr_array(sp.diags_array(factors) @ F) if sp.issparse(F) else factors[:, None] * F


@parameters
class MEDClassifier(LinearClassifier, InterceptParameters, WeightParameters, EngineParameters):
    r"""Maximum entropy discrimination with a linear classifier.

    Of all distributions of the weights and of the margins, the one nearest to the prior under which every sample has
    its margin in expectation (Jaakkola, Meila and Jebara 1999; Li et al. 2013, eq. 8, 9, 12, 13):

    .. math::
        \min_Q \mathrm{KL}(Q(w) \| N(0, I)) + \sum_t \mathrm{KL}(Q(\gamma_t) \| P(\gamma_t))
        \quad \text{s.t. } E_Q[y_t w^\top \phi_t - \gamma_t] \ge 0, \qquad
        P(\gamma) = c\, e^{-c (a - \gamma)},\ \gamma \le a

    Its dual is -log Z(lambda); both integrals are known, and

    .. math::
        \max_{0 \le \lambda < c} \sum_t a \lambda_t + \log(1 - \lambda_t / c)
          - \tfrac12 \Big\| \sum_t \lambda_t y_t \phi_t \Big\|^2, \qquad
        E[w] = \sum_t \lambda_t y_t \phi_t, \quad E[\gamma_t] = a - \frac{1}{c - \lambda_t}

    (Li et al. print the quadratic program that is left when E[gamma] is held, eq. 19, which has no upper bound on
    lambda; here the whole dual is solved, by a few quadratic programs through `qp`.)  phi is x with a one added, so
    that the bias has the prior N(0, 1) too.  More than two classes: one against the rest.

    Parameters
    ----------
    a
        Largest margin; above 1 / c, otherwise no sample ever counts.
    c
        Rate of the exponential prior of margins below a; the multipliers stay below c.
    method
        Method of `models.score_spaces.med.discriminate`.
    tol
        Relative tolerance of the gap between the dual and its primal.
    max_iter
        Maximum number of quadratic programs for each class.
    verbose
        1 prints a line for each quadratic program, 2 also its iterations.

    Attributes
    ----------
    coef_ : array, shape (1 or n_classes, n_features)
        E[w] of each machine.
    intercept_ : array, shape (1 or n_classes,)
        E[b] of each machine.
    multipliers_, expected_margins_ : arrays, shape (1 or n_classes, n_samples)
        lambda_t and E[gamma_t] of every sample.
    objective_, gap_ : arrays, shape (1 or n_classes,)
        Value of the dual, and an upper bound of its distance from the optimal value.
    n_iter_ : int
        Largest number of quadratic programs that a class needed.

    Examples
    --------
    >>> from models import MEDClassifier
    >>> X = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]])
    >>> model = MEDClassifier().fit(X, ["no", "no", "yes", "yes"])
    >>> print(model.predict([[-1.5, 0.3], [0.7, 0.2]]))
    ['no' 'yes']
    >>> print(model.coef_, model.gap_ < 1e-8)
    [[ 0.416646 -0.41078 ]] [ True]
    """

    a: Positive = 1.0
    c: Positive = 6.0
    _: KW_ONLY
    method: Literal["newton", "alternation"] = "newton"
    tol: Positive = 1e-8
    max_iter: Count = 100

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MEDClassifier:
        """Fit to samples X, dense or sparse, shape (samples, features), and their classes y."""
        matrix, codes, weight = self._samples_and_weights(X, y, sample_weight)
        check_margin_prior(self.a, self.c)
        phi = matrix
        if self.fit_intercept:
            ones = np.ones((matrix.shape[0], 1))
            phi = sp.hstack([matrix, ones], format="csr") if sp.issparse(matrix) else np.hstack([matrix, ones])
        used = np.flatnonzero(weight > 0.0)
        found: list[Discrimination] = []
        for _, signs in two_class_problems(codes[used], self.classes_.size, "ovr"):
            F = _scaled(phi[used], signs)
            of = f", machine {len(found) + 1}" if self.classes_.size > 2 else ""
            history = self._history("dual objective", of, first=1)
            limits = self.tol, int(self.max_iter), history, self._limits()
            found.append(discriminate(F, self.a, self.c, weight[used], self.method, None, *limits))
        self._keep(found, used, matrix.shape)
        return self

    def _keep(self, found: list[Discrimination], used: np.ndarray, shape: tuple[int, int]) -> None:
        weights = np.array([one.weights for one in found])
        self.coef_ = weights[:, : shape[1]]
        self.intercept_ = weights[:, shape[1]] if self.fit_intercept else np.zeros(len(found))
        self.multipliers_ = np.array([spread(one.multipliers, used, shape[0]) for one in found])
        self.expected_margins_ = self.a - 1.0 / (self.c - self.multipliers_)
        self.objective_ = np.array([one.objective for one in found])
        self.gap_ = np.array([one.gap for one in found])
        self.n_iter_ = max(one.iterations for one in found)
        self.program_, self.solution_ = found[-1].program, found[-1].solution
        if (self.gap_ > self.tol * (1.0 + abs(self.objective_))).any():
            worst = int((self.gap_ / (1.0 + abs(self.objective_))).argmax())
            warn_unconverged(
                f"MEDClassifier: after {found[worst].iterations} quadratic programs the dual's objective "
                f"{self.objective_[worst]:.6g} is known to {self.gap_[worst]:.1e} only. Scale the features, "
                'raise tol or max_iter, or use method="newton".'
            )


def check_margin_prior(a: float, c: float) -> None:
    """Raise ValueError unless a > 1 / c: otherwise no constraint would ever bind under the margin prior."""
    if a * c <= 1.0:
        raise ValueError(
            f"a must be above 1 / c, the margin's prior mean being a - 1 / c: a = {a!r} with c = {c!r} asks no margin"
        )
