"""The Explanation-Augmented SVM: domain knowledge enters as explained examples (Sun and DeJong 2005)."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..base.answers import BuiltAnswer
from ..base.groups import InterceptParameters, WeightParameters
from ..base.multiclass import folds_of, spread, two_class_problems, winners
from ..base.parameters import Positive, parameters
from ..base.validation import check_number, warn
from ..kernels.kernel import KernelChoice, make_kernel
from ..margins.expansion import KernelClassifier
from ..margins.parameters import MachineParameters
from .dual import Decisions, ExplainedMachine, ExplainedMargin, Products
from .given import distinct_folds, explained_examples

SERIES = tuple(4.0 ** np.arange(-4, 5))  # the paper's, as factors of the mean alpha
MOST_ON_PATH = 300  # samples and explanations of a machine whose path in Q is followed


@parameters
class ExplanationAugmentedSVC(BuiltAnswer, KernelClassifier, MachineParameters, WeightParameters, InterceptParameters):
    r"""Support vector classifier that should treat an example and its explanation alike.

    An explained example v_j keeps the important features of an example x_i and leaves out the others.  The machine is
    to give both one value, w'x_i = w'v_j; a deviation has the price Q:

    .. math::
        \min_{w, b, \xi, \delta}\; \tfrac12 \|w\|^2 + C \sum_i \xi_i + Q \sum_j \delta_j

        \text{s.t. } y_i (w^\top x_i + b) \ge 1 - \xi_i,\; \xi \ge 0,\;
        -\delta_j \le w^\top (x_{o(j)} - v_j) \le \delta_j

    (section 2.2 of the paper), or with delta_j^2 in place of delta_j (section 3.3); Q = infinity are the perfect
    explanations of section 2.1.  The dual is a quadratic program in alpha and lambda (`models.programs.explanations`).
    The paper prints the cross term of its -1/2 ||w||^2 with a plus, which does not follow from its Lagrangian; with
    -lambda in place of lambda it is this program.

    With a linear kernel, C and Q finite, sparse samples of more than 500 features, and more than 2,000 samples and
    explanations together, no matrix is formed: coordinate descent solves the dual, to a relative gap of `tol` or for
    `max_iter` passes; for 10,000 texts tol=1e-3 is soon reached.  ``solution_.gap`` is the gap between this primal
    objective and this dual one at feasible points; a gap above `tol` (and 1e-8) causes a warning.

    Parameters
    ----------
    C
        Price of a violated margin; ``inf`` forbids it.
    Q : float or "cv"
        Confidence in the explanations: 0 gives the plain support vector machine, ``inf`` perfect explanations.  "cv"
        chooses Q by five-fold cross-validation.  The dual is piecewise linear in Q, so that for the sum of delta, a
        finite C, one machine for each pair of classes and up to 300 samples and explanations together all Q from 0 to
        inf are compared by the exact path (`models.explanations.path`); else, or where rounding leads the path astray,
        0, inf and the paper's series, and `Q_rule_` says why.  Of equally good Q the median is taken, measured by
        Q / (Q + mean alpha).  If a class has only one distinct sample, Q is the mean alpha.
    penalty
        Penalty of delta: its sum, or its sum of squares.
    kernel
        Kernel as in `models.SVC`, without "precomputed".  A feature that is left out is 0, or the attribute `absent` of
        a callable that has one, as `models.MismatchKernel`.
    explain : callable, optional
        Returns the explanations from X and y if `fit` gets none, as inside pipelines and searches.
    Q_series : array_like, optional
        For "cv", the candidates in place of all Q, as factors of the plain machine's mean alpha, of which the smallest
        wins a tie.  The paper has a geometric series, as 4^-4, ..., 4^4, since |lambda| <= Q.
    cv : int or iterable of (train, test)
        For "cv", the number of folds of distinct samples: equal samples with equal explanations are in one fold, since
        a copy among the training samples would reveal the one held out.  Neither copies in place of weights nor the
        order of the samples change the folds.  Or the indices of each fold's samples.
    scoring
        Score for "cv": the share of right answers, or F1 = 2 TP / (2 TP + FP + FN), with 0 for 0 / 0, of the second
        class if there are two, else the mean over all classes.

    Attributes
    ----------
    n_support_, margin_, program_, solution_
        As in `models.SVC`.
    support_ : array of int
        Indices of the samples with alpha_i > 0 in any machine.
    alpha_ : array, shape (machines, samples)
        Multipliers alpha_i of the samples.
    lambda_ : array, shape (machines, explanations)
        Multipliers lambda_j of the explanations.
    deviation_ : array, shape (machines, explanations)
        w'(x_o(j) - v_j), of absolute value delta_j; zero for explanations of other classes than the machine's.
    owner_ : array of int, shape (explanations,)
        Index of the sample that explanation j belongs to; an explanation that leaves nothing out is not counted.
    support_vectors_, dual_coef_ : arrays, shapes (vectors, features), (machines, vectors)
        Vectors and coefficients of f, an expansion over samples and explained examples.
    Q_ : float
        Q that was used; 0 if it was to be cross-validated, but there are no explanations.
    Q_rule_ : str
        How Q was found: "given", "all Q, by the path", or "a series", with the reason if all Q could not be compared.
    Q_candidates_, Q_scores_ : arrays, shapes (candidates,), (candidates, folds)
        For "cv" with explanations: the values of Q that were tried, and their `scoring` on each fold; by the path, one
        Q of each interval in which no score changes.

    Examples
    --------
    The second feature separates these four points better, but the explanation says that only the first matters.

    >>> from models import ExplanationAugmentedSVC
    >>> X, y = np.array([[1.0, 3.0], [2.0, 3.0], [-1.0, -3.0], [-2.0, -3.0]]), [1, 1, 0, 0]
    >>> for Q in (0.0, 0.1, np.inf):
    ...     machine = ExplanationAugmentedSVC(C=np.inf, Q=Q, kernel="linear")
    ...     print(machine.fit(X, y, explanations=np.array([True, False])).coef_.round(3) + 0.0)
    [[0.1 0.3]]
    [[0.46 0.18]]
    [[1. 0.]]
    """

    C: Positive = 1.0
    Q: Any = "cv"
    _: KW_ONLY
    penalty: Literal["l1", "l2"] = "l1"
    kernel: KernelChoice = "linear"
    explain: Any = None
    Q_series: Any = None
    scoring: Literal["accuracy", "f1"] = "accuracy"
    cv: Any = 5

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, explanations: Any = None) -> ExplanationAugmentedSVC:
        """Fit the two-class machines to samples X, their classes y and explanations.

        Parameters
        ----------
        sample_weight : array_like, shape (samples,), optional
            Factors of C, and of Q for the sample's explanations.
        explanations : optional
            The explained examples, in any of the ways of `models.explained_examples`: a matrix, a mask of the
            important features, a list with None, one or several an example, or a callable.
        """
        is_chosen = isinstance(self.Q, str) and self.Q == "cv"
        factors = None if self.Q_series is None else np.asarray(self.Q_series, dtype=np.float64).ravel()
        if not is_chosen:
            check_number("Q", self.Q, 0.0)
        elif factors is not None and (factors.size == 0 or not np.isfinite(factors).all() or (factors < 0.0).any()):
            raise ValueError(f"Q_series must hold numbers of at least 0, but {self.Q_series!r} came")
        X, codes, weights, C = self._samples_to_fit(X, y, sample_weight)
        settings = self._engine_settings()
        self.kernel_ = make_kernel(self.kernel, X, weights, self.gamma, self.degree, self.coef0, True)
        given = self.explain if explanations is None else explanations
        V, owner = explained_examples(given, X, y, self.kernel_.absent, getattr(self.kernel, "labels", 0))
        kept = np.flatnonzero(weights[owner] > 0.0)
        V, self.owner_ = V[kept], owner[kept]
        products, used = (
            Products(X, V, self.owner_, self.kernel_, bool(self.fit_intercept)),
            np.flatnonzero(weights > 0.0),
        )
        samples = _Samples(products, codes, C, weights, settings)
        if kept.size == 0 and self.Q != 0.0:
            warn(f"{type(self).__name__}: there are no explanations, so this is the support vector machine")
        self.Q_rule_ = "given"
        if not is_chosen:
            self.Q_ = float(self.Q)
        else:
            self.Q_ = self._choose(samples, used, factors, self._folds(X, V, codes, weights)) if kept.size else 0.0
        self._keep(X, V, codes, [margin.machine(self.Q_) for margin in self._margins(samples, used)])
        return self

    def _margins(self, samples: _Samples, used: np.ndarray) -> list[ExplainedMargin]:
        """Return the two-class machines of the samples `used`, none solved yet."""
        found = []
        for rows, signs in two_class_problems(samples.codes[used], self.classes_.size, self.multi_class):
            rows = used[rows]
            at = np.flatnonzero(np.isin(self.owner_, rows))
            of_samples = samples.products, rows, at, signs, samples.C[rows], samples.weights[self.owner_[at]]
            found.append(ExplainedMargin(*of_samples, self.penalty, bool(self.fit_intercept), samples.settings))
        return found

    def _folds(self, X: Any, V: Any, codes: np.ndarray, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        if not isinstance(self.cv, (int, np.integer)):
            return [(train[weights[train] > 0.0], test) for train, test in folds_of(self.cv, codes, weights)]
        used, count = np.flatnonzero(weights > 0.0), check_number("cv", self.cv, 2, whole=True)
        return distinct_folds(X, V, self.owner_, codes, used, count)

    def _choose(self, samples: _Samples, used: np.ndarray, factors: np.ndarray | None, folds: list[Any]) -> float:
        """Return the Q that cross-validation chooses, and set `Q_candidates_` and `Q_scores_`."""
        margins = self._margins(samples, used)
        total = sum(margin.machine(0.0).alpha.sum() for margin in margins)
        unit = float(total / sum(samples.weights[margin.rows].sum() for margin in margins)) or 1.0
        lacks = "Q_series is given" if factors is not None else self._lacks_for_path(samples, used)
        if not lacks and folds:
            try:
                return self._choose_on_path(samples, folds, unit)
            except (ArithmeticError, np.linalg.LinAlgError) as error:
                lacks = f"rounding led the path astray ({error})"
        self.Q_rule_ = f"a series: {lacks or 'a class has one distinct sample'}"
        ends = [0.0, np.inf] if np.isfinite(self.C) else [0.0]
        tried = np.sort([*SERIES, *ends] if factors is None else factors)
        self.Q_candidates_ = np.where(np.isfinite(tried), unit * tried, np.inf)
        self.Q_scores_ = np.zeros((tried.size, len(folds)))
        for f, (train, test) in enumerate(folds):
            margins = self._margins(samples, train)
            for c, Q in enumerate(self.Q_candidates_):
                decisions = np.column_stack([margin.machine(Q).decisions(test) for margin in margins])
                found = winners(decisions, self.classes_.size, self.multi_class)
                self.Q_scores_[c, f] = self._scored(samples.codes[test], found, samples.weights[test])
        if not folds:
            return unit if factors is None else float(self.Q_candidates_[tried.size // 2])
        means = self.Q_scores_.mean(axis=1).round(12)
        best = np.flatnonzero(means == means.max())
        return float(self.Q_candidates_[best[0] if factors is not None else best[best.size // 2]])

    def _lacks_for_path(self, samples: _Samples, used: np.ndarray) -> str:
        """Return why the path in Q cannot be followed, or ""."""
        count = used.size + np.isin(self.owner_, used).sum()
        by_pairs = self.classes_.size == 2 or self.multi_class == "ovo"
        needed = {
            f"there are {count} samples and explanations, more than {MOST_ON_PATH}": count <= MOST_ON_PATH,
            "the penalty is the sum of squares": self.penalty == "l1",
            "C is infinite": np.isfinite(self.C),
            "the kernel is not known to be semidefinite": samples.products.kernel.is_semidefinite,
            "each class has a machine against the rest": by_pairs,
        }
        return next((why for why, holds in needed.items() if not holds), "")

    def _choose_on_path(self, samples: _Samples, folds: list[Any], unit: float) -> float:
        """Return the Q that cross-validation chooses among all; ArithmeticError if rounding led a path astray."""
        paths = [[Decisions(margin, test) for margin in self._margins(samples, train)] for train, test in folds]
        edges = np.unique(np.concatenate([path.crossings() for machines in paths for path in machines]))
        # the measure Q / (Q + unit) of an interval's ends, and one Q inside of it
        ends = np.concatenate([[0.0], edges / (edges + unit), [1.0]])
        middles = 0.5 * (ends[:-1] + ends[1:])
        tried = unit * middles / (1.0 - middles)
        scores = np.zeros((tried.size, len(folds)))
        for f, (machines, (_, test)) in enumerate(zip(paths, folds)):
            for c, decisions in enumerate(np.stack([path.at(tried) for path in machines], axis=-1)):
                found = winners(decisions, self.classes_.size, self.multi_class)
                scores[c, f] = self._scored(samples.codes[test], found, samples.weights[test])
        first = np.flatnonzero(np.append(True, (scores[1:] != scores[:-1]).any(axis=1)))
        low, high = ends[first], np.append(ends[first[1:]], 1.0)
        middles = 0.5 * (low + high)
        self.Q_rule_ = "all Q, by the path"
        self.Q_candidates_, self.Q_scores_ = unit * middles / (1.0 - middles), scores[first]
        if first.size > 1:
            self.Q_candidates_[[0, -1]] = 0.0, np.inf
        means = self.Q_scores_.mean(axis=1).round(12)
        measure = np.cumsum(np.where(means == means.max(), high - low, 0.0))
        return float(self.Q_candidates_[np.searchsorted(measure, 0.5 * measure[-1])])

    def _scored(self, codes: np.ndarray, found: np.ndarray, weights: np.ndarray) -> float:
        """Return `scoring` of the predicted classes `found` for samples of the classes `codes`."""
        if self.scoring == "accuracy":
            return float(np.average(found == codes, weights=weights))
        both, answered, there = (
            np.bincount(of, weights * counted, self.classes_.size)
            for of, counted in ((codes, found == codes), (found, True), (codes, True))
        )
        sums = answered + there
        by_class = np.divide(2.0 * both, sums, out=np.zeros(sums.size), where=sums > 0.0)
        return float(by_class[1] if sums.size == 2 else by_class.mean())

    def _keep(self, X: Any, V: Any, codes: np.ndarray, found: list[ExplainedMachine]) -> None:
        def of_all(name: str, places: str, size: int) -> np.ndarray:
            """Return the attribute `name` of every machine, spread over all samples or explanations."""
            return np.array([spread(getattr(one, name), getattr(one.margin, places), size) for one in found])

        self.alpha_ = of_all("alpha", "rows", codes.size)
        self.support_ = np.flatnonzero(self.alpha_.any(axis=0))
        self._kinds = of_all("kinds", "rows", codes.size)[:, self.support_].astype(np.int8)
        self.n_support_ = np.bincount(codes[self.support_], minlength=self.classes_.size)
        self.lambda_ = of_all("multipliers", "at", self.owner_.size)
        self.deviation_ = of_all("gaps", "at", self.owner_.size)
        self.intercept_ = np.array([one.intercept for one in found])
        self.margin_ = np.array([one.width for one in found])
        # sum_i alpha_i y_i phi(x_i) + sum_j lambda_j (phi(x_o(j)) - phi(v_j)) in the rows of X and V.
        both = np.hstack([of_all("signed", "rows", codes.size), -self.lambda_])
        for j, i in enumerate(self.owner_):
            both[:, i] += self.lambda_[:, j]
        used = np.flatnonzero((both != 0.0).any(axis=0))
        vectors = sp.vstack([X, V], format="csr") if sp.issparse(X) else np.vstack([X, V])
        self.support_vectors_, self.dual_coef_ = vectors[used], both[:, used]
        self._set_coef()
        if self.kernel_.is_linear:
            products = found[0].margin.products
            weights = np.hstack([of_all("signed", "rows", codes.size), self.lambda_])
            self.coef_ = np.asarray(weights @ products.features)  # with the digits that an offset costs
            self.intercept_ = self.intercept_ - self.coef_ @ products.mean
        self.n_iter_ = max(one.iterations for one in found)
        self._answer = functools.cache(found[-1].answer)


class _Samples(NamedTuple):
    """Data that the machines of one `fit` share."""

    products: Products
    codes: np.ndarray
    C: np.ndarray
    weights: np.ndarray
    settings: dict[str, Any]
