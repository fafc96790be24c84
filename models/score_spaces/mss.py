r"""The max-margin score space: generative models learned so that their statistics tell classes apart."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from ..base.estimator import Classifier
from ..base.groups import IterationParameters, SeedParameters
from ..base.multiclass import Scheme, scores, spread, two_class_problems
from ..base.parameters import Count, NonNegative, Positive, parameters
from ..base.transformer import Transformer
from ..base.validation import as_generator, as_labels
from .med import Discrimination, check_margin_prior, discriminate
from .sufficient_statistics import (
    OnGenerativeModel,
    SideBySide,
    count_samples,
    fix_symbols,
    fresh,
    models_of_classes,
    statistics_of,
    take,
)
from .tilts import ExactTilt, SampledTilt, tilt_exactly, with_logarithms


@parameters
class MaxMarginScoreSpace(OnGenerativeModel, Classifier, Transformer, IterationParameters, SeedParameters):
    r"""Max-margin sufficient statistics score space, MSS (Li, Wang, Liu and Lee 2013, Algorithms 1 and 2).

    One generative model of all samples (or one for each class), its hidden variables' posteriors and a linear
    classifier of their statistics are learned together, for labels y = -1, 1 (eq. 10, 11):

    .. math::
        \min \sum_t \mathrm{KL}(Q(h^t) \| P(x^t, h^t; \theta))
          + \xi\, \mathrm{KL}(Q(w) Q(\gamma) \| P(w) P(\gamma))
        \quad \text{s.t. } E_Q[y^t w^\top \phi(x^t, h^t) - \gamma^t] \ge 0,

    P(w) = N(0, I), P(gamma) = c exp(-c (a - gamma)) below a.  Each step fixes the other unknowns:

    - lambda, w: the complete dual of `MEDClassifier` (not eq. 19 with E[gamma] held), with which
      E[gamma] = a - 1 / (c - lambda) (eq. 18) and u = E[w] = sum_t lambda_t y_t E[phi_t] (eq. 22) hold together;
    - the posterior, tilted towards the margin (eq. 15):  Q(h^t) ~ P(x^t, h^t) exp(xi lambda_t y_t u'phi(x^t, h^t));
    - theta: the generative model's own M-step from the tilted expectations.

    Eq. 15 as printed has w integrated out, and the term of the statistics with a minus sign; the integral of
    exp(w'v) over N(0, I) is exp(+|v|^2 / 2), and only with the plus do larger margins become likelier, as the paper
    says.  Here Q(w) and Q(h) are factors, as eq. 10 has them, and v'phi is replaced by u'phi.

    "exact": phi = T, linear in the hidden variables, so that the tilted posterior is a chain with other potentials (or
    a topic model with other word probabilities), and its expectations are computed.  lambda_t is then not held but
    solves eq. 18 together with eq. 15: the step is the exact minimum over Q(h^t) with w held, and no step raises the
    objective (for topic models, whose posterior is a variational one, up to its local optima).
    "sampler": the paper's.  For hidden Markov models phi has also T times the logarithms of the sample's own chain (see
    `SufficientStatistics`): paths are drawn from P(h | x) and accepted with a probability in proportion to the
    exponential factor, the best of the draws surely.  For topics T is linear in the words' topics, which Gibbs sampling
    draws without rejection (X must hold whole numbers).  lambda comes from the dual, and the objective is not monotone.

    ``per_class=True`` gives each side of a two-class problem a model of its own, fitted to that side's samples, as
    in SS (section 3.2), with phi = (phi_-1, phi_+1).  Both models' hidden variables are tilted jointly: one
    lambda_t a sample solves eq. 18 with the margin of the whole phi.  The M-step of a model takes the samples of its
    own side only; the objective has KL(Q || P(x, h)) under the sample's own model and KL(Q || P(h | x)) under the
    other one.  The latter depends on the other model's theta, which that model's M-step ignores: **the objective need
    not fall** in a round, and mostly does.

    A new sample has no label, so no tilt is known: as a sample without a constraint, lambda = 0, it has the posterior
    P(h | x) of the learned model; `transform` treats training samples in this way, too, so that their features are
    comparable.

    Before use T is centred and divided by one number, so that its mean squared norm over the training samples is one
    at the start; a one for the bias is added.  More than two classes: one against the rest, or every pair of classes
    on its own samples, with votes; the machines' features stand side by side.

    Parameters
    ----------
    model : DiscreteHMM, GaussianHMM or LatentDirichletAllocation, optional
        Template.  A copy is fitted to all samples first and copied for each machine (or, with ``per_class``, copies are
        fitted to each side's samples).  Start and length of this EM are the model's own parameters.  None means
        `DiscreteHMM()`.
    a, c
        Parameters of the margins' prior, as in `MEDClassifier`; the paper's values.
    xi
        Weight of the classifier; the paper's value.
    per_class
        Whether each side has a model of its own, both tilted jointly.
    multi_class
        One machine for each class against the rest, or one for each pair of classes.
    n_draws
        Draws of the sampler: paths per sample, or sweeps over a document's words after a third as many of burn-in.
    max_iter
        Maximum number of rounds; the paper finds about ten enough.
    tol
        Relative change of the objective at which the rounds end (with "exact").
    n_init
        Number of starts of the model, by its own seed first and then by seeds drawn with it; each machine keeps the
        start with the least objective.  Of 24 fits of two states, 4 had an accuracy from .52 to .74 with one start,
        none below .9 with three.
    random_state : None, int or Generator
        Seed of the sampler; the model has its own.
    verbose
        1 prints a line for each round, 2 also for each quadratic program, 3 also the programs' iterations.  The model
        has its own verbosity.

    Attributes
    ----------
    models_ : list
        The learned models, one for each machine; with ``per_class`` two, the negative side's first.  Two classes have
        one machine, whose positive side is the second class; otherwise there is one for each class or pair.
    coef_, intercept_ : arrays, shapes (machines, statistics), (machines,)
        Weights of eq. 22 for the statistics that `transform` returns, and intercepts.
    multipliers_, expected_margins_ : arrays, shape (machines, samples)
        lambda_t and E[gamma_t] of every sample.
    objectives_ : list of arrays
        Objective of each machine after each round.
    n_iter_ : int
        Largest number of rounds of a machine.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Last quadratic program that was solved for lambda, and its solution.

    Examples
    --------
    >>> from models import DiscreteHMM, MaxMarginScoreSpace
    >>> often = DiscreteHMM(2).set_model([0.5, 0.5], [[0.2, 0.8], [0.8, 0.2]], [[0.9, 0.1], [0.1, 0.9]])
    >>> seldom = DiscreteHMM(2).set_model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.1, 0.9]])
    >>> X = often.sample([20] * 30, random_state=0)[0] + seldom.sample([20] * 30, random_state=1)[0]
    >>> y = np.repeat(["often", "seldom"], 30)
    >>> space = MaxMarginScoreSpace(DiscreteHMM(2, random_state=0)).fit(X, y)
    >>> space.transform(X).shape, space.score(X, y) > 0.8
    ((60, 10), True)
    >>> bool((np.diff(space.objectives_[0]) <= 0.0).all())
    True
    """

    model: Any = None
    a: Positive = 1.0
    _: KW_ONLY
    c: Positive = 6.0
    xi: Positive = 1.0
    per_class: bool = False
    inference: Literal["exact", "sampler"] = "exact"
    multi_class: Scheme = "ovr"
    n_draws: Count = 100
    max_iter: Count = 10
    tol: NonNegative = 1e-4
    n_init: Count = 3

    def fit(self, X: Any, y: Any) -> MaxMarginScoreSpace:
        """Run Algorithm 1 once for two classes, otherwise for each class against the rest or each pair of classes."""
        self._check_fields()
        check_margin_prior(self.a, self.c)
        model = fresh(self.model)
        X = self._matrix_to_fit(X)
        codes = self._labels_to_fit(y, count_samples(X))
        rng, problems = as_generator(self.random_state), self._problems(codes)
        models = [model]
        if self.n_init > 1:
            seeds = as_generator(model.random_state).integers(2**31, size=int(self.n_init) - 1)
            models += [fresh(self.model).set_params(random_state=seed) for seed in seeds.tolist()]
        starts = [self._learn_from(start, X, problems, rng, k) for k, start in enumerate(models, 1)]
        best = [min(found, key=lambda one: float(one.objectives[-1])) for found in zip(*starts)]
        self._keep(best, [rows for rows, _ in problems], codes.size)
        return self

    def _learn_from(self, model: Any, X: Any, problems: list[Any], rng: Any, start: int) -> list[_Learned]:
        """Learn every machine from the model's start number `start`."""
        fix_symbols(model, X)
        if not self.per_class:
            model.fit(X)
        found: list[_Learned] = []
        for rows, signs in problems:
            own, side = take(X, rows), (signs > 0.0).astype(np.int64)
            models = models_of_classes(model, own, side) if self.per_class else [copy.deepcopy(model)]
            samples = self._side_by_side(models, own, side)
            tilt: ExactTilt | SampledTilt = ExactTilt(samples, self.a, self.c, self.xi)
            if self.inference == "sampler":
                tilt = SampledTilt(samples, self.a, self.c, self.xi, int(self.n_draws), rng)
            of = f", machine {len(found) + 1}" if len(problems) > 1 else ""
            found.append(_learn(self, samples, tilt, signs, of + (f", start {start}" if self.n_init > 1 else "")))
        return found

    def _side_by_side(self, models: list[Any], X: Any, side: np.ndarray | None = None) -> SideBySide:
        """Return the statistics under a machine's models; with `per_class` a sample belongs to its side's model.

        Without `side` all belong to the first model, which tables and tilted tables do not depend on.
        """
        if side is None or not self.per_class:
            side = np.zeros(count_samples(X), dtype=np.int64)
        return SideBySide([statistics_of(model, X) for model in models], side)

    def _keep(self, found: list[_Learned], rows: list[np.ndarray], number: int) -> None:
        self.models_ = [model for one in found for model in one.models]
        self.coef_ = np.array([one.discrimination.weights[:-1] / one.scaling.scale for one in found])
        offsets = [one.discrimination.weights[-1] for one in found]
        self.intercept_ = np.array(offsets) - np.array([w @ one.scaling.mean for w, one in zip(self.coef_, found)])
        multipliers = (one.discrimination.multipliers for one in found)
        self.multipliers_ = np.array([spread(one, at, number) for one, at in zip(multipliers, rows)])
        self.expected_margins_ = self.a - 1.0 / (self.c - self.multipliers_)
        self.objectives_ = [one.objectives for one in found]
        self.n_iter_ = max(one.objectives.size for one in found)
        self.program_, self.solution_ = found[-1].discrimination.program, found[-1].discrimination.solution

    # -- methods of the fitted space

    def transform(self, X: Any) -> np.ndarray:
        """Return E[phi] of every sample under each model, side by side, shape (samples, features): Algorithm 2."""
        return self._in_container(np.hstack([table for table, _ in self._judge(X)]), X)

    def transform_labelled(self, X: Any, y: Any) -> np.ndarray:
        """Return E[phi] under posteriors tilted by the samples' own labels ("exact" only): Algorithm 2 to the letter.

        For the training samples these are the features with which one more round of `fit` would start.  **Not for
        evaluation**: the tilt writes the label into the features, so that new samples are classified correctly no
        matter what was learned.

        Parameters
        ----------
        X : list of arrays, or matrix
        y : array_like, shape (samples,)
            Labels of `classes_`.
        """
        self._check_fitted()
        if self.inference == "sampler":
            raise ValueError('transform_labelled needs inference="exact"')
        classes, codes = as_labels(y, count_samples(X), type(self).__name__, fewest=1)
        if not np.isin(classes, self.classes_).all():
            raise ValueError(f"y must hold labels of {self.classes_.tolist()}, but {classes.tolist()} came")
        codes = np.searchsorted(self.classes_, classes)[codes]
        found = []
        for (rows, signs), (models, w, offset) in zip(self._problems(codes), self._machines()):
            table = self._side_by_side(models, X).expect().table
            if rows.size:
                own = self._side_by_side(models, take(X, rows))
                table[rows] = tilt_exactly(own, signs, w, offset, self.a, self.c, self.xi).table
            found.append(table)
        return self._in_container(np.hstack(found), X)

    def _problems(self, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        return list(two_class_problems(codes, self.classes_.size, self.multi_class))

    def _machines(self) -> list[tuple[list[Any], np.ndarray, float]]:
        """Return the models, the weights and the intercept of every machine."""
        each = len(self.models_) // len(self.coef_)
        models = [self.models_[k : k + each] for k in range(0, len(self.models_), each)]
        return list(zip(models, self.coef_, self.intercept_))

    @property
    def _n_features_out(self) -> int:
        return self.coef_.size

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w'E[phi] + b with w of eq. 22, a column for each class if there are more than two."""
        decisions = np.array([score for _, score in self._judge(X)]).T
        return scores(decisions, self.classes_.size, self.multi_class)

    def _judge(self, X: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the features and the score of every sample, for each machine."""
        X = self._matrix_to_predict(X)
        judged = []
        for models, w, offset in self._machines():
            samples = self._side_by_side(models, X)
            table = samples.expect().table
            if self.inference == "sampler":
                table = with_logarithms(samples, table)[0]
            judged.append((table, table @ w + offset))
        return judged


@dataclass
class _Scaling:
    """Scaling of statistics T to phi = ((T - mean) / scale, 1)."""

    mean: np.ndarray
    scale: float

    @classmethod
    def of(cls, table: np.ndarray) -> _Scaling:
        mean = table.mean(axis=0)
        size = float(np.sqrt(((table - mean) ** 2).sum(axis=1).mean()))
        return cls(mean, size if size > 0.0 else 1.0)

    def phi(self, table: np.ndarray) -> np.ndarray:
        return np.hstack([(table - self.mean) / self.scale, np.ones((table.shape[0], 1))])


@dataclass
class _Learned:
    models: list[Any]
    scaling: _Scaling
    discrimination: Discrimination
    objectives: np.ndarray


def _learn(
    space: MaxMarginScoreSpace, samples: SideBySide, tilt: ExactTilt | SampledTilt, signs: np.ndarray, of: str
) -> _Learned:
    """Run Algorithm 1 for the labels `signs`, -1 and 1."""
    table = tilt.start()
    scaling = _Scaling.of(table)
    objectives = space._history("objective", of, first=1)
    multipliers = None
    while True:
        F = signs[:, None] * scaling.phi(table)
        inside = space._history("dual objective", f"{of}, classifier", first=1, inner=True)
        found = discriminate(F, space.a, space.c, start=multipliers, history=inside)
        settled = isinstance(tilt, ExactTilt) and len(objectives) > 1
        settled = settled and abs(objectives[-2] - objectives[-1]) <= space.tol * (1.0 + abs(objectives[-1]))
        if settled or len(objectives) >= space.max_iter:
            objectives.end(settled)
            return _Learned([part.model for part in samples.parts], scaling, found, np.array(objectives))
        multipliers, u = found.multipliers, found.weights
        w = u[:-1] / scaling.scale
        tilted = tilt.tilt(signs, w, u[-1] - w @ scaling.mean, multipliers)
        divergence, loss = tilted.divergence.sum(), tilted.loss.sum()
        objectives.append(float(divergence + space.xi * (0.5 * u @ u + loss) - samples.log_prior()))
        table = tilted.table
        samples.maximize(tilt.statistics(table))
