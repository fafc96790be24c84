"""The bilevel generative/discriminative classifier of Epshteyn and DeJong 2006."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import socp
from socp import ProgramError

from ..base.estimator import Classifier, convergence_warning
from ..base.validation import as_weights, check_choice, check_number
from ..svm.margin import warn_unless_good
from .feasibility import feasible_means
from .prior import GenerativePrior
from .programs import Constants, Samples
from .span import choose_coordinates
from .steps import HyperplaneStep, Point, evaluate, farthest_means, farthest_means_by_cones


@dataclass(frozen=True)
class Round:
    """One round of the alternation: step 1 and step 2.

    Examples
    --------
    >>> r = Round(1.5, np.zeros(2), 0.0, np.zeros((2, 2)), np.zeros(2), np.zeros(2), 0.0, 7)
    >>> print(r.objective, r.iterations)
    1.5 7
    """

    objective: float
    """(4.17) at the end of the round."""
    w: np.ndarray
    b: float
    mu: np.ndarray
    """The means (2, n) at the end of the round."""
    zeta: np.ndarray
    nu: np.ndarray
    change: float
    """How far step 2 moved the means, relatively."""
    iterations: int
    """Iterations of the engine in step 1."""


class BilevelClassifier(Classifier):
    r"""A linear classifier of wide margin that also parts two generative classes whose means are uncertain.

    With x | class i ~ E(mu_i, Sigma_i) and mu_i ~ E(t_i, Omega_i), class 1 that of the smaller label (y = -1):

    .. math::
        \min_{\mu, w, b, \xi, \zeta, \nu} \; & \|w\| + C_1 \sum_i \xi_i + C_2 (\zeta_1 + \zeta_2)
            + C_3 (\nu_1 + \nu_2)                                                                    & (4.17) \\
        & y_i (w^\top x_i + b) \ge 1 - \xi_i                                                         & (4.18) \\
        & \|\Omega_i^{-1/2} (\mu_i - t_i)\| \le \varphi + \nu_i                                      & (4.19) \\
        & -(w^\top \mu_1 + b) / \beta \ge \|\Sigma_1^{1/2} w\| - \zeta_1                             & (4.20) \\
        & \phantom{-}(w^\top \mu_2 + b) / \beta \ge \|\Sigma_2^{1/2} w\| - \zeta_2                   & (4.21) \\
        & \xi, \nu, \zeta \ge 0                                                                      & (4.22-24)

    An infinite constant makes its constraint hard; all three give the hard problem (4.5)-(4.9).  The problem is not
    convex.  Step 1 solves it in (w, b) with the means fixed, step 2 moves the means as far from the hyperplane as
    (4.19) allows, and the objective never increases (Theorem 4.1).  In the paper step 2 maximizes the distances with
    the radii phi + nu given; here nu is chosen too, at least cost, so that a finite C_3 has its meaning (with
    C_2 = inf there is no zeta to trade it for, and nu stays zero unless the means t are infeasible).  Where Omega has
    a zero variance, mu = t.

    Parameters
    ----------
    prior : GenerativePrior, optional
        t_i, Omega_i and Sigma_i. Without one, `GenerativePrior.from_samples` of the training data: then the same
        data speak twice, and the classifier lies between a support vector machine and the linear discriminant.
    beta : float, default 0.2
        How many standard deviations the means keep from the hyperplane; zero only with C2 = inf.
        `elliptical.constants` gives beta and phi from probabilities.
    phi : float, default 0.01
        How far the means may be from t, in units of Omega^(1/2).
    C1, C2, C3 : float, default 1.0, 1.0, inf
        Prices of xi (samples), zeta (the prior's constraints) and nu (the means' distance).
    step2 : "closed" or "socp", default "closed"
        Step 2 by its formula or as its cone program.
    span : bool, optional
        Whether step 1 is solved in the span of samples and means (see `models.bilevel.span`); chosen by size when None.
    max_iter : int, default 100
        At most so many rounds.
    tol : float, default 1e-6
        The alternation ends when step 2 moves the means by less, relatively, or step 1 would not notice.
    solver_tol : float, default 1e-9
        Tolerance of the cone programs.
    verbose : int, default 0
        1 prints a line a round, 2 also the iterations of its cone programs.

    Attributes
    ----------
    coef_, intercept_ : ndarray, shape (1, n_features) and (1,)
        w and b.
    means_ : ndarray, shape (2, n_features)
    xi_, zeta_, nu_ : ndarray, shape (n_samples,), (2,), (2,)
    objective_ : float
        (4.17).
    trace_ : list of Round
    n_iter_ : int
        Rounds.
    prior_ : GenerativePrior
    program_, solution_ : socp.ConeProgram and socp.Solution
        The last step 1, in the coordinates of `models.bilevel.span`.

    Raises
    ------
    ValueError
        X, y or sample_weight cannot be fitted, a parameter is wrong, or the hard problem is infeasible: the message
        says which constraint cannot hold.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-1.0, 0.0], [1.0, 0.0]), Omega=(0.1, 0.1))
    >>> model = BilevelClassifier(prior, C2=10.0).fit([[-1.0, 1.0], [2.0, 1.5]], ["no", "yes"])
    >>> print(model.predict([[0.9, 0.0], [-0.9, 0.0]]), model.n_iter_ < 10)
    ['yes' 'no'] True
    """

    _takes_sparse = True
    _multiclass = False

    def __init__(
        self,
        prior: GenerativePrior | None = None,
        beta: float = 0.2,
        phi: float = 0.01,
        C1: float = 1.0,
        C2: float = 1.0,
        C3: float = math.inf,
        step2: str = "closed",
        span: bool | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        solver_tol: float = 1e-9,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.beta = beta
        self.phi = phi
        self.C1 = C1
        self.C2 = C2
        self.C3 = C3
        self.step2 = step2
        self.span = span
        self.max_iter = max_iter
        self.tol = tol
        self.solver_tol = solver_tol
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BilevelClassifier:
        """Fit to samples with two labels; `sample_weight` multiplies C1.

        Parameters
        ----------
        X : array_like or sparse, shape (n_samples, n_features)
        y : array_like, shape (n_samples,)
        sample_weight : array_like, shape (n_samples,), optional
            Samples of weight zero are left out.
        """
        constants = self._constants()
        X = self._matrix_to_fit(X)
        codes = self._labels_to_fit(y, X.shape[0])
        weights = as_weights(sample_weight, X.shape[0])
        kept = weights > 0.0
        for k in (0, 1):
            if not kept[codes == k].any():
                raise ProgramError(f"sample_weight is zero for every sample of class {self.classes_.tolist()[k]!r}")
        used = X if kept.all() else X[kept]
        self.prior_ = self._prior(used, codes[kept], weights[kept])
        samples = Samples(used, 2.0 * codes[kept] - 1.0, weights[kept])
        point = self._alternate(samples, constants)
        self.coef_, self.intercept_ = point.w[None, :], np.array([point.b])
        self.means_, self.zeta_, self.nu_ = point.mu, point.zeta, point.nu
        self.xi_ = np.maximum(0.0, 1.0 - (2.0 * codes - 1.0) * self._decide(X))
        self.objective_ = point.objective
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """w'x + b, positive on the side of the second class."""
        return self._decide(self._matrix_to_predict(X))

    def predict(self, X: Any) -> np.ndarray:
        """The label of every sample."""
        above = self.decision_function(X) > 0.0
        return self.classes_[above.astype(np.int64)]

    def _decide(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_[0]).ravel() + self.intercept_[0]

    def _constants(self) -> Constants:
        prices = [check_number(name, getattr(self, name), low=0.0, open_low=True) for name in ("C1", "C2", "C3")]
        constants = Constants(check_number("beta", self.beta, low=0.0), check_number("phi", self.phi, low=0.0), *prices)
        if constants.beta == 0.0 and math.isfinite(constants.C2):
            raise ProgramError("beta must be above 0 with a finite C2: (4.20) divides by it. Give C2 = inf")
        if not math.isfinite(constants.beta) or not math.isfinite(constants.phi):
            raise ProgramError(f"beta and phi must be finite, but {self.beta!r} and {self.phi!r} came")
        check_choice("step2", self.step2, ("closed", "socp"))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0.0)
        return constants

    def _prior(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> GenerativePrior:
        if self.prior is None:
            return GenerativePrior.from_samples(X, codes, weights)
        if not isinstance(self.prior, GenerativePrior):
            raise ProgramError(f"prior must be a GenerativePrior or None, but {type(self.prior).__name__} came")
        if self.prior.n != X.shape[1]:
            raise ProgramError(f"prior is for {self.prior.n} features, but X has {X.shape[1]}")
        return self.prior

    def _alternate(self, samples: Samples, constants: Constants) -> Point:
        prior = self.prior_
        settings: dict[str, Any] = {"tol": self.solver_tol, "verbose": self._inner_verbosity() > 0}
        coordinates = choose_coordinates(samples.X, prior, self.span)
        step = HyperplaneStep(coordinates, samples, constants, **settings)
        mu, nu = prior.t, np.zeros(2)
        self.trace_: list[Round] = []
        best: Point | None = None
        history, settled = self._history("objective", first=1), False
        for rounds in range(1, self.max_iter + 1):
            self.n_iter_ = rounds
            w, b, solution = step.solve(mu)
            if solution.status is socp.Status.PRIMAL_INFEASIBLE and best is None:
                names = tuple(self.classes_.tolist())
                mu, nu = feasible_means(coordinates, samples, prior, constants, names, self.max_iter, **settings)
                w, b, solution = step.solve(mu)
            self.program_, self.solution_ = step.program, solution
            if not np.isfinite(w).all():
                raise ProgramError(f"step 1 has no solution: the engine ended as {solution.status.value!r}")
            point = evaluate(samples, prior, constants, w, b, mu, nu)
            if best is not None and point.objective >= best.objective:
                settled = True
                break  # the same hyperplane again, to the engine's tolerance
            moved, nu = self._farthest(constants, w, b, nu)
            best = evaluate(samples, prior, constants, w, b, moved, nu)
            history.append(best.objective)
            change = float(np.linalg.norm(moved - mu) / (1.0 + np.linalg.norm(mu)))
            self.trace_.append(Round(best.objective, w, b, moved, best.zeta, nu, change, solution.iterations))
            idle = step.multipliers(solution) * np.linalg.norm(moved - mu, axis=1) <= self.solver_tol
            mu = moved
            # where no multiplier holds them, step 1 has the same answer (Lemma A.3)
            settled = change <= self.tol or bool(idle.all())
            if settled:
                break
        history.end(settled)
        if not settled:
            self._warn_unfinished()
        warn_unless_good(type(self).__name__, self.solution_)
        assert best is not None
        return self._sharpen(step, samples, constants, best)

    def _sharpen(self, step: HyperplaneStep, samples: Samples, constants: Constants, best: Point) -> Point:
        """The last hyperplane to more digits, where the engine finds them."""
        found = step.sharpen(float(np.linalg.norm(best.w)))
        if found is None or found[2].status is not socp.Status.OPTIMAL:
            return best
        w, b, _ = found
        point = evaluate(samples, self.prior_, constants, w, b, *self._farthest(constants, w, b, best.nu))
        close = point.objective <= best.objective + 10.0 * self.solver_tol * (1.0 + best.objective)
        return point if close else best

    def _farthest(
        self, constants: Constants, w: np.ndarray, b: float, before: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.step2 == "closed":
            return farthest_means(self.prior_, constants, w, b, before)
        settings = {"tol": self.solver_tol, "verbose": self._inner_verbosity() > 0}
        return farthest_means_by_cones(self.prior_, constants, w, b, before, **settings)

    def _warn_unfinished(self) -> None:
        warnings.warn(
            f"{type(self).__name__}: the means still moved by {self.trace_[-1].change:.1e} in the last of "
            f"{self.max_iter} rounds. Raise max_iter or tol.",
            convergence_warning(),
            stacklevel=4,
        )
