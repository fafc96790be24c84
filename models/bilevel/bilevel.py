"""The bilevel generative/discriminative classifier of Epshteyn and DeJong 2006."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

import socp
from socp import ProgramError

from ..base.bounds import Bound
from ..base.estimator import Classifier, warn_unconverged, warn_unless_good
from ..base.groups import EngineParameters, SeedParameters, WeightParameters
from ..base.multiclass import best_of
from ..base.parameters import Count, NonNegative, Positive, parameters
from ..base.validation import as_generator, as_labels, as_weights, check_number, warn
from ..explanations.given import distinct_folds, explained_examples
from ..programs.bilevel import Constants, Samples
from .bounds import fitted_error
from .certificate import Certificate, certify, radii_missed
from .choice import PRICES, UNBOUND, Choice, candidates, held_out_scores, priced
from .feasibility import feasible_means, told_beta
from .kernel import KernelSpace
from .prior import GenerativePrior
from .radii import Directions
from .span import Features, Span, choose_coordinates
from .steps import HyperplaneStep, Point, evaluate, farthest_means

UNITS = 1e6  # largest factor between the 1% and 99% quantiles of prior variance / sample variance without a warning
NO_PULL = 1e-6  # largest pull gamma_i (1 + |mu_i|) on w / |w| of a prior that does not bind
MISSED = 1e-2  # largest residual of kappa_i = C3, relative to C3, of a converged answer
NO_SLACK = 1e-9  # zeta up to this counts as zero
FOLDS = 5  # of cross-validation
RULES = "prior and samples", "prior alone", "samples alone"  # by (C1 = 0) - (C2 = 0)


@dataclass(frozen=True)
class Round:
    """One round of the alternation: step 1 and step 2.

    Examples
    --------
    >>> r = Round(1.5, np.zeros(2), 0.0, np.zeros((2, 2)), np.zeros(2), np.zeros(2), 0.0, 7)
    >>> print(r.objective, r.iterations)
    1.5 7
    """

    objective: float  # value of (4.17) at the end of the round
    w: np.ndarray
    b: float
    mu: np.ndarray  # means at the end of the round, shape (2, n)
    zeta: np.ndarray
    nu: np.ndarray
    change: float  # |mu - previous mu| / (1 + |previous mu|); with free radii, the change of w is added
    iterations: int  # iterations of the engine in step 1


@dataclass(frozen=True)
class _Run:
    """Result of the alternation from one start: the point, its rounds, and the last program for (w, b)."""

    point: Point
    trace: list[Round]
    rounds: int
    settled: bool
    program: socp.ConeProgram
    solution: socp.Solution


@parameters
class BilevelClassifier(Classifier, WeightParameters, EngineParameters, SeedParameters):
    r"""Linear classifier with a wide margin that also separates two generative classes with uncertain means.

    With x | class i ~ E(mu_i, Sigma_i) and mu_i ~ E(t_i, Omega_i), class 1 having the smaller label (y = -1):

    .. math::
        \min_{\mu, w, b, \xi, \zeta, \nu} \; & \|w\| + C_1 \sum_i \xi_i + C_2 (\zeta_1 + \zeta_2)
            + C_3 (\nu_1 + \nu_2)                                                                    & (4.17) \\
        & y_i (w^\top x_i + b) \ge 1 - \xi_i                                                         & (4.18) \\
        & \|\Omega_i^{-1/2} (\mu_i - t_i)\| \le \varphi + \nu_i                                      & (4.19) \\
        & -(w^\top \mu_1 + b) / \beta \ge \|\Sigma_1^{1/2} w\| - \zeta_1                             & (4.20) \\
        & \phantom{-}(w^\top \mu_2 + b) / \beta \ge \|\Sigma_2^{1/2} w\| - \zeta_2                   & (4.21) \\
        & \xi, \nu, \zeta \ge 0                                                                      & (4.22-24)

    An infinite C makes its constraint hard; with all three infinite this is the hard problem (4.5)-(4.9).  If it is
    infeasible, the ValueError names the constraint that cannot hold.  The problem is not convex.  Step 1 solves it in
    (w, b) with the means fixed, step 2 moves the means as far from the hyperplane as (4.19) allows, and the objective
    never increases (Theorem 4.1).  In the paper the radii phi + nu are fixed in both steps.  Here step 2 chooses nu at
    least cost, and with a finite C_3 step 1 chooses nu, too: each mean moves in a fixed direction, and the convex part
    of the product of nu and w is linearized (`models.bilevel.radii`), so that the answer is stationary in nu as
    well.  Where Omega has a zero variance, mu = t.

    Explanations of samples (Sun and DeJong 2005, as in `ExplanationAugmentedSVC`) are a second kind of knowledge in the
    same program: Q sum_j delta_j with |w'(x_o(j) - v_j)| <= delta_j is added to (4.17).

    Parameters
    ----------
    prior : GenerativePrior, optional
        t_i, Omega_i and Sigma_i, in the units of X: Sigma = I says that every feature varies by 1 within a class.  By
        default `GenerativePrior.from_samples` of the training data, which are then used twice; the classifier then
        lies between a support vector machine and the linear discriminant.
    beta : float, pair of float or "cv"
        Number of standard deviations between the means and the hyperplane; zero only with C2 = inf.  A pair, the class
        of the smaller label first, weighs the classes' errors differently.  "cv", the default, chooses among 0.9, 0.6
        and 0.3 times `GenerativePrior.largest_beta` by five-fold cross-validation, jointly with an open C2 and Q.  The
        samples alone (a support vector machine) and the prior alone are candidates, too.  Of equally good candidates
        the first is taken: beta = 0.9 of its largest, C2 = 3, Q = C1.  This one is also taken if a class has only one
        distinct sample; without a prior beta is 0.2 and C2 is 3.  `models.bilevel.elliptical` computes beta and phi
        from probabilities.
    phi
        Largest distance of the means from t, in units of Omega^(1/2).
    C1, C2, C3 : float, default 1.0, "cv", inf
        Prices of xi (samples), zeta (the prior's constraints) and nu (the means' distance); "cv" for C2 chooses among
        3, 30 and 0.5 as `beta` does.
    Q : float or "cv"
        Price of a deviation from the explanations: 0 leaves them out, inf makes them perfect.  "cv" chooses among C1,
        inf and 0 as `beta` does.
    explain : callable, optional
        Returns the explanations from X and y if `fit` gets none.
    kernel : Kernel, callable or {"rbf", "poly"}, optional
        Kernel in whose feature space w lies; `prior` must be a `models.bilevel.kernel.KernelPrior`.  `coef_`, `means_`
        and `prior_` are in an orthonormal basis of the span of the samples' features and t.
    max_iter
        Maximum number of rounds.
    tol
        Relative move of the means in step 2 at which the alternation ends; it also ends if step 1 cannot change.
    solver_tol
        Tolerance of the cone programs.
    verbose
        1 prints a line for each round, 2 also the iterations of its cone programs.
    n_init
        Number of starts of the alternation: the first from the means t, the others from means at the distance phi from
        t that are farthest from a hyperplane of random direction.  The best answer is kept.
    random_state : None, int or generator
        Seed of the random directions.

    Attributes
    ----------
    coef_, intercept_ : ndarray, shape (1, n_features) and (1,)
        Normal w and constant term b of the hyperplane.
    means_ : ndarray, shape (2, n_features)
        Means mu of the best start.
    xi_, zeta_, nu_ : ndarray, shape (n_samples,), (2,), (2,)
        Slacks of the samples, of the prior's constraints and of the means' distance.
    objective_ : float
        Value of (4.17).
    objectives_ : ndarray, shape (n_init,)
        Value of (4.17) after each start, NaN if step 1 was infeasible there.
    trace_ : list of Round
        Rounds of the best start.
    n_iter_ : int
        Number of rounds of the best start.
    prior_, beta_, C2_, Q_ : GenerativePrior, float or pair of float, float, float
        The prior, beta, C2 and Q that `fit` used.
    choice_ : {"prior and samples", "samples alone", "prior alone"}
        What `fit` used.
    choices_, scores_ : list of Choice, ndarray of shape (choices, folds)
        Candidates of cross-validation, and their share of right answers on each fold.
    deviation_ : ndarray, shape (explanations,)
        w'(x_o(j) - v_j), of absolute value delta_j.
    gamma_ : ndarray, shape (2,)
        Multipliers of (4.20) and (4.21).  If one is zero, the prior of its class does not bind.
    binding_ : str
        Sentence that says whether the prior binds, and if not, how to make it bind.
    program_, solution_ : socp.ConeProgram and socp.Solution
        Program of the last step 1 of the best start, in the coordinates of `models.bilevel.span`, and its solution.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-1.0, 0.0], [1.0, 0.0]), Omega=(0.1, 0.1))
    >>> model = BilevelClassifier(prior, C2=10.0).fit([[-1.0, 1.0], [2.0, 1.5]], ["no", "yes"])
    >>> print(model.predict([[0.9, 0.0], [-0.9, 0.0]]), model.n_iter_ < 10)
    ['yes' 'no'] True
    """

    _takes_sparse = True
    _multiclass = False

    prior: GenerativePrior | None = None
    beta: Any = "cv"
    phi: NonNegative = 0.01
    C1: Positive = 1.0
    C2: Any = "cv"
    C3: Positive = math.inf
    _: KW_ONLY
    Q: Any = "cv"
    explain: Any = None
    kernel: Any = None
    max_iter: Count = 100
    tol: NonNegative = 1e-6
    solver_tol: float = 1e-9
    n_init: Count = 1

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, explanations: Any = None) -> BilevelClassifier:
        """Fit to samples with two labels.

        Parameters
        ----------
        sample_weight : array_like, shape (samples,), optional
            Factors of C1, and of Q for the sample's explanations.
        explanations : optional
            The explained examples in any of the ways of `models.explained_examples`.
        """
        given = self._constants(*self._given())
        X = self._matrix_to_fit(X)
        codes = self._labels_to_fit(y, X.shape[0])
        weights, weighed = as_weights(sample_weight, X.shape[0]), self._weights_to_fit(sample_weight, codes)
        kept = np.flatnonzero(weights > 0.0)
        V, owner = explained_examples(self.explain if explanations is None else explanations, X, y)
        V, owner = (part[weights[owner] > 0.0] for part in (V, owner))
        used = X if kept.size == X.shape[0] else X[kept]
        self.space_ = None if self.kernel is None else KernelSpace(self.kernel, used, V, weights[kept], self.prior)
        self.prior_ = self.space_.prior if self.space_ else self._prior(used, codes[kept], weights[kept])
        samples = self._with_explanations(X, V, owner, codes, weights, weighed, kept)
        chosen = self._choose(given, samples, X, V, owner, codes, kept)
        self.beta_, self.C2_, self.Q_ = chosen.constants.beta, chosen.constants.C2, chosen.Q
        self._chosen = chosen.constants
        point = self._alternate(priced(samples, chosen.Q), chosen.constants)
        self.coef_, self.intercept_ = point.w[None, :], np.array([point.b])
        self.means_, self.zeta_, self.nu_ = point.mu, point.zeta, point.nu
        self.xi_ = np.maximum(0.0, 1.0 - (2.0 * codes - 1.0) * self._decide(X))
        self.deviation_ = np.zeros(0) if samples.D is None else np.asarray(samples.D @ point.w)
        self.objective_ = point.objective
        self.choice_ = RULES[(chosen.constants.C1 == 0.0) - (chosen.constants.C2 == 0.0)]
        self.binding_ = self._binding(chosen.constants)
        if self.prior is None and samples.D is None and not self.gamma_.any():
            warn(f"{type(self).__name__}: there is no prior, and the answer is that of a support vector machine")
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w'x + b of every sample, positive on the side of the second class."""
        return self._decide(self._matrix_to_predict(X))

    def certificate(self, X: Any, y: Any, sample_weight: Any = None, *, explanations: Any = None) -> Certificate:
        """Return the multipliers of Theorem 4.2 at the answer, and the residuals of its stationarity conditions.

        Parameters
        ----------
        X, y, sample_weight, explanations
            The arguments of `fit`.
        """
        if self._chosen.C1 == 0.0:
            raise ProgramError("the prior alone was chosen, whose hyperplane is not an answer of (4.17)")
        samples = self._samples_again(X, y, sample_weight, explanations)
        w, b = self.coef_[0], float(self.intercept_[0])
        return certify(samples, self.prior_, self._chosen, w, b, self.means_, self.nu_)

    def error_bound(self, X: Any, y: Any, delta: float = 0.05) -> Bound:
        """Return the bound of Corollary 6.3: `bounds.prior_error` with the margin and the radius of the samples.

        The theorem needs a prior that was fixed before the samples were seen: t, Omega, Sigma, beta and phi.  It does
        not hold for a prior made of the samples, as without `prior`.  The bound fails if a sample went into
        `GenerativePrior.from_samples`, or if t are the samples' means; other uses of the samples are not detected.

        Parameters
        ----------
        X, y
            The arguments of `fit`.
        delta : float, default 0.05
            The probability with which the bound may fail.

        Returns
        -------
        Bound
            Its `details` hold gamma and R; its `failing` lists the assumptions of the theorem that do not hold.
        """
        samples, constants = self._samples_again(X, y, None), self._chosen
        w, b = self.coef_[0], float(self.intercept_[0])
        point = evaluate(samples, self.prior_, constants, w, b, self.means_, self.nu_)
        return fitted_error(samples, self.prior_, constants, point, delta, self._matrix_to_predict(X))

    def _samples_again(self, X: Any, y: Any, sample_weight: Any, explanations: Any = None) -> Samples:
        """Return the samples of `fit`, rebuilt from its arguments; raise ProgramError if the labels differ."""
        X = self._matrix_to_predict(X)
        classes, codes = as_labels(y, X.shape[0], type(self).__name__)
        if classes.tolist() != self.classes_.tolist():
            raise ProgramError(f"y must be that of fit, with {self.classes_.tolist()}, but {classes.tolist()} came")
        weights, weighed = as_weights(sample_weight, codes.size), self._weights_to_fit(sample_weight, codes)
        V, owner = explained_examples(self.explain if explanations is None else explanations, X, y)
        V, owner = (part[weights[owner] > 0.0] for part in (V, owner))
        return priced(
            self._with_explanations(X, V, owner, codes, weights, weighed, np.flatnonzero(weights > 0.0)), self.Q_
        )

    def _with_explanations(
        self, X: Any, V: Any, owner: np.ndarray, codes: np.ndarray, weights: np.ndarray, weighed: np.ndarray,
        kept: np.ndarray,
    ) -> Samples:  # fmt: skip
        """Return the samples `kept` with their explanations, Q holding the weights of these."""
        told = (self._features(X[owner]) - self._features(V), weights[owner]) if owner.size else (None, None)
        return Samples(self._features(X[kept]), 2.0 * codes[kept] - 1.0, weighed[kept], *told)

    def _given(self) -> tuple[Any, Any]:
        """Return beta and C2, with the usual values in place of "cv"; refuse other words and a bad Q."""
        if not _is_open(self.Q):
            check_number("Q", self.Q, 0.0)
        beta, C2 = (usual if _is_open(one) else one for one, usual in ((self.beta, UNBOUND), (self.C2, PRICES[0])))
        return beta, check_number("C2", C2, 0.0, open_low=True)

    def _choose(
        self, given: Constants, samples: Samples, X: Any, V: Any, owner: np.ndarray, codes: np.ndarray, kept: np.ndarray
    ) -> Choice:
        """Return the choice of cross-validation, and set `choices_` and `scores_`."""
        is_open = _is_open(self.beta), _is_open(self.C2), _is_open(self.Q)
        found = candidates(given, is_open, self.prior_, self.prior is not None, samples.D is not None)
        if not is_open[2]:
            found = [one._replace(Q=float(self.Q) if samples.D is not None else 0.0) for one in found]
        folds = distinct_folds(X, V, owner, codes, kept, FOLDS) if len(found) > 1 else []
        place = np.zeros(codes.size, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        folds = [(place[train], place[test]) for train, test in folds]
        trial = copy.copy(self)
        trial.n_init, trial.verbose = 1, 0

        def decide(part: Samples, choice: Choice, rows: Any) -> np.ndarray:
            point = trial._alternate(priced(part, choice.Q), choice.constants)
            return np.asarray(rows @ point.w).ravel() + point.b

        self.choices_, self.scores_ = found, held_out_scores(decide, samples, place[owner], found, folds)
        return found[best_of(self.scores_)]

    def _features(self, X: Any) -> Any:
        return self.space_(X) if self.space_ else X

    def _decide(self, X: Any) -> np.ndarray:
        return np.asarray(self._features(X) @ self.coef_[0]).ravel() + self.intercept_[0]

    def _constants(self, beta: Any, C2: float) -> Constants:
        self._check_fields()
        constants = Constants(_checked_beta(beta), *map(float, (self.phi, self.C1, C2, self.C3)))
        if min(constants.betas) == 0.0 and math.isfinite(constants.C2):
            raise ProgramError("beta must be above 0 with a finite C2: (4.20) divides by it. Give C2 = inf")
        if not math.isfinite(max(constants.betas)) or not math.isfinite(constants.phi):
            raise ProgramError(f"beta and phi must be finite, but {beta!r} and {self.phi!r} came")
        return constants

    def _prior(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> GenerativePrior:
        sampled = GenerativePrior.from_samples(X, codes, weights)
        if self.prior is None:
            return sampled
        if not isinstance(self.prior, GenerativePrior):
            raise ProgramError(f"prior must be a GenerativePrior or None, but {type(self.prior).__name__} came")
        if self.prior.n != X.shape[1]:
            raise ProgramError(f"prior is for {self.prior.n} features, but X has {X.shape[1]}")
        within = np.broadcast_to(sampled.Sigma[0].value, self.prior.n)
        for Sigma in self.prior.Sigma:
            variances = np.broadcast_to(Sigma.value.diagonal() if Sigma.kind == "full" else Sigma.value, within.shape)
            known = (within > 0.0) & (variances > 0.0)
            ratios = variances[known] / within[known] if known.any() else np.ones(1)
            low, high = np.quantile(ratios, [0.01, 0.99], method="nearest")
            if high > UNITS * low:
                warn(
                    f"{type(self).__name__}: {Sigma.name} of the prior has other units than X, or ignores them: its "
                    f"variances are from {low:.1e} to {high:.1e} times those of the features within the classes. Give "
                    "every feature its own variance, or scale the features."
                )
                break
        return self.prior

    def _alternate(self, samples: Samples, constants: Constants) -> Point:
        """Return the best answer of all starts, and set the attributes that describe it."""
        if constants.C1 == 0.0:
            return self._of_prior(samples, constants)
        settings = {**self._limits(), "tol": self.solver_tol, "verbose": self._inner_verbosity() > 0}
        coordinates = choose_coordinates(samples.rows, self.prior_, 4 if math.isfinite(constants.C3) else 2)
        step = HyperplaneStep(coordinates, samples, constants, (constants.C2 > 0.0,) * 2, **settings)
        objectives = np.full(int(self.n_init), np.nan)
        best: _Run | None = None
        for k, start in enumerate(self._starts(coordinates, constants)):
            run = self._alternate_from(start, None, step, samples, constants, k > 0)
            if run is None:
                continue
            if step.free and (run.point.zeta[run.point.nu == 0.0] > NO_SLACK).any():
                # Either zeta or nu satisfies (4.20) and (4.21); a start without zeta may reach a better point.
                w, b, hard = run.point.w, run.point.b, replace(constants, C2=math.inf)
                mu, nu = farthest_means(self.prior_, hard, w, b, np.full(2, math.inf))
                other = self._alternate_from(mu, Directions.of(self.prior_, w, nu), step, samples, constants, True)
                run = min([run, other or run], key=lambda one: one.point.objective)
            objectives[k] = run.point.objective
            if best is None or run.point.objective < best.point.objective:
                best = run
        assert best is not None
        self.objectives_, self.trace_, self.n_iter_ = objectives, best.trace, best.rounds
        self.program_, self.solution_ = best.program, best.solution
        self.gamma_ = step.multipliers(best.solution)
        if not best.settled:
            warn_unconverged(
                f"{type(self).__name__}: the answer is not stationary, for the means still moved by "
                f"{best.trace[-1].change:.1e} in the last of {best.rounds} rounds. Raise max_iter or tol, or lower "
                "solver_tol."
            )
        warn_unless_good(type(self).__name__, self.solution_)
        return best.point

    def _of_prior(self, samples: Samples, constants: Constants) -> Point:
        """Return the prior's own hyperplane, and set the attributes as `_alternate` does."""
        w, b, self.program_, self.solution_ = self.prior_.hyperplane(tol=self.solver_tol, **self._limits())
        mu, nu = farthest_means(self.prior_, replace(constants, C3=math.inf), w, b)
        point = evaluate(samples, self.prior_, constants, w, b, mu, nu)
        self.objectives_, self.trace_, self.n_iter_ = np.array([point.objective]), [], 0
        self.gamma_ = np.zeros(2)
        return point

    def _starts(self, coordinates: Features | Span, constants: Constants) -> Iterator[np.ndarray]:
        """Yield the means to start from: t, then means that are farthest from hyperplanes of random directions."""
        yield self.prior_.t
        rng = as_generator(self.random_state)
        for _ in range(1, int(self.n_init)):
            w = coordinates.weights(rng.normal(size=coordinates.documents.shape[1]))
            yield farthest_means(self.prior_, replace(constants, C3=math.inf), w, 0.0)[0]

    def _alternate_from(
        self, mu: np.ndarray, move: Directions | None, step: HyperplaneStep, samples: Samples, constants: Constants,
        may_fail: bool,
    ) -> _Run | None:  # fmt: skip
        """Alternate from the means `mu`; return None if `may_fail` and step 1 is infeasible there."""
        prior, nu = self.prior_, np.zeros(2)
        trace: list[Round] = []
        best: Point | None = None
        history, settled = self._history("objective", first=1), False
        rounds = 0
        while rounds < self.max_iter:
            rounds += 1
            w, b, solution = step.solve(mu, move)
            if solution.status is socp.Status.PRIMAL_INFEASIBLE and best is None:
                if may_fail:
                    return None
                given = step.coordinates, samples, prior, constants, tuple(self.classes_.tolist()), self.max_iter
                mu, nu = feasible_means(*given, **step.settings)
                w, b, solution = step.solve(mu)
            if not np.isfinite(w).all():
                if may_fail and best is None:
                    return None
                raise ProgramError(f"step 1 has no solution: the engine ended as {solution.status.value!r}")
            if step.free and move is not None:
                nu = np.maximum(0.0, solution.x[step.blocks.nu])
            moved, nu = farthest_means(prior, constants, w, b, nu)
            point = evaluate(samples, prior, constants, w, b, moved, nu)
            if best is not None and move is not None and not point.objective < best.objective:
                kappa = step.multipliers(solution) * move.reach
                settled = radii_missed(constants, kappa, best.nu) <= MISSED * constants.C3
                break  # the hyperplane repeats to within the engine's tolerance
            way = np.linalg.norm(moved - mu, axis=1)
            if step.free:  # the point where gain_i is linearized depends on w
                way += np.linalg.norm(w - best.w if best is not None else w)
            best = point
            history.append(best.objective)
            change = float(np.linalg.norm(way) / (1.0 + np.linalg.norm(mu)))
            trace.append(Round(best.objective, w, b, moved, best.zeta, nu, change, solution.iterations))
            idle = step.multipliers(solution) * way <= self.solver_tol
            mu, move = moved, Directions.of(prior, w, nu)
            # Means that moved only under zero multipliers leave the answer of step 1 unchanged (Lemma A.3).
            settled = change <= self.tol or bool(idle.all())
            if settled:
                break
        history.end(settled)
        assert best is not None and step.program is not None
        point = self._sharpen(step, samples, constants, best)
        return _Run(point, trace, rounds, settled, step.program, solution)

    def _sharpen(self, step: HyperplaneStep, samples: Samples, constants: Constants, best: Point) -> Point:
        """Return the last hyperplane to more digits if the engine finds them, else `best`."""
        found = step.sharpen(float(np.linalg.norm(best.w)))
        if found is None or found[2].status is not socp.Status.OPTIMAL:
            return best
        w, b, _ = found
        moved = farthest_means(self.prior_, constants, w, b, best.nu)
        point = evaluate(samples, self.prior_, constants, w, b, *moved)
        close = point.objective <= best.objective + 10.0 * self.solver_tol * (1.0 + best.objective)
        return point if close else best

    def _binding(self, constants: Constants) -> str:
        """Set `gamma_` to zero where it is zero up to rounding; return a sentence that says whether the prior binds."""
        if constants.C1 == 0.0:
            return "the prior alone gave the most right answers on held-out samples"
        if constants.C2 == 0.0:
            return "the samples alone gave the most right answers on held-out samples: the prior is left out"
        pull = self.gamma_ * (1.0 + np.linalg.norm(self.means_, axis=1))
        self.gamma_ = np.where(pull > NO_PULL, self.gamma_, 0.0)
        if self.gamma_.any():
            return f"the prior binds: gamma is {self.gamma_[0]:.3g} and {self.gamma_[1]:.3g}"
        most = f"beta = {told_beta(constants)} (at the means t it can be at most {self.prior_.largest_beta():.4g})"
        return f"the prior does not bind: gamma is zero, and the answer is that of the samples alone. Raise {most}"


def _checked_beta(beta: Any) -> float | tuple[float, float]:
    """Return beta, checked, as a number for both classes or as a pair."""
    if isinstance(beta, (tuple, list, np.ndarray)):
        if len(beta) != 2:
            raise ProgramError(f"beta must be a number or a pair, one for each class, but {beta!r} came")
        first, second = (check_number(f"beta[{i}]", one, low=0.0) for i, one in enumerate(beta))
        return first, second
    return float(check_number("beta", beta, low=0.0))


def _is_open(value: Any) -> bool:
    return isinstance(value, str) and value == "cv"
