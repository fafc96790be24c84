r"""Fisher kernel learning: the hidden Markov model whose Fisher scores have the right nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..base.estimator import Classifier
from ..base.transformer import Transformer
from ..base.validation import check_number
from ..sequences.discrete_hmm import DiscreteHMM
from ..sequences.sequences import as_symbols
from .count_derivatives import expected_counts


class FisherKernelLearning(Classifier, Transformer):
    r"""Fisher kernel learning for sequences of symbols, with the nearest-neighbour objective (van der Maaten 2011).

    One hidden Markov model of all sequences, with probabilities exp(omega) over their sums, gives each sequence its
    Fisher score, of which the entry of an emission is

    .. math::
        g(x) = \nabla_\omega \log P(x; \omega), \qquad g_{ik} = E[n_{ik}] - b_{ik} E[n_i].

    From the model of maximum likelihood, omega^0, gradient steps (L-BFGS) lower the expected error of a neighbour
    that is drawn at random, near ones more often than far ones, and kept from going far:

    .. math::
        1 - \frac1N \sum_t \sum_{s: y_s = y_t} p_{ts} + \frac\rho2 \|\omega - \omega^0\|^2, \qquad
        p_{ts} = \frac{e^{-\kappa \|g_t - g_s\|^2}}{\sum_{r \ne t} e^{-\kappa \|g_t - g_r\|^2}} .

    kappa is learned too.  The gradient in omega is sum_t H_t v_t, H_t being the Hessian of log P(x_t) and v_t the
    gradient in g_t: the derivative of the Fisher score along v_t, which one forward and backward pass with
    derivatives gives exactly.  A new sequence gets the label of its nearest neighbour.

    Parameters
    ----------
    n_states : int, default 5
    n_symbols : int, optional
        What `fit` sees when None.
    penalty : float, default 1e-3
        rho.
    pseudocount : float, default 1.0
        Of the model of maximum likelihood, as in `DiscreteHMM`; above zero.
    max_iter : int, default 50
        Steps of L-BFGS.
    tol : float, default 1e-4
        They end when no entry of the gradient is above this.
    random_state : None, int or Generator
    verbose : int, default 0
        1 prints a line a step; 2 also the iterations of the model of maximum likelihood.

    Attributes
    ----------
    classes_ : array
    startprob_, transmat_, emissionprob_ : arrays, shapes (S,), (S, S), (S, K)
        Of the learned model.
    scale_ : float
        sqrt(kappa): `transform` gives scale_ g.
    model_ : DiscreteHMM
        That of maximum likelihood.
    objectives_ : array
        The objective at the start and after each step.
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from models import FisherKernelLearning
    >>> X = [[0, 1, 0, 1, 0, 1, 0], [1, 0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]
    >>> model = FisherKernelLearning(2, random_state=0).fit(X, ["swings", "swings", "stays", "stays"])
    >>> print(model.predict([[1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1, 1]]))
    ['swings' 'stays']
    """

    _takes_sequences = True
    _takes_nan = True

    model_: DiscreteHMM

    def __init__(
        self,
        n_states: int = 5,
        n_symbols: int | None = None,
        penalty: float = 1e-3,
        pseudocount: float = 1.0,
        max_iter: int = 50,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_states = n_states
        self.n_symbols = n_symbols
        self.penalty = penalty
        self.pseudocount = pseudocount
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> FisherKernelLearning:
        """Fit to sequences of symbols, a list of integer arrays (-1 is a missing observation), and their classes."""
        check_number("penalty", self.penalty, 0.0)
        check_number("pseudocount", self.pseudocount, 0.0, open_low=True)
        check_number("max_iter", self.max_iter, 1, whole=True)
        check_number("tol", self.tol, 0.0)
        codes = self._labels_to_fit(y, len(as_symbols(X, self.n_symbols)))
        model = DiscreteHMM(
            self.n_states,
            self.n_symbols,
            self.pseudocount,
            random_state=self.random_state,
            verbose=self._inner_verbosity(),
        ).fit(X)
        learner = _Learner(model, X, codes, float(self.penalty))
        objectives = self._history("objective")
        objectives.append(learner(learner.start)[0])

        def after_step(intermediate_result: Any) -> None:
            objectives.append(float(intermediate_result.fun))

        options = {"maxiter": int(self.max_iter), "gtol": self.tol, "ftol": 0.0}
        found = minimize(learner, learner.start, jac=True, method="L-BFGS-B", callback=after_step, options=options)
        objectives.end(found.status == 0)
        self.model_, self.objectives_ = model, np.array(objectives)
        self.n_iter_ = max(len(objectives) - 1, 1)
        self.startprob_, self.transmat_, self.emissionprob_ = learner.probabilities(found.x[:-1])
        self.scale_ = float(np.exp(0.5 * found.x[-1]))
        self._scores, self._codes = self._features(X), codes
        return self

    def transform(self, X: Any) -> np.ndarray:
        """sqrt(kappa) g(x) of every sequence, shape (sequences, S + S^2 + S K)."""
        self._check_fitted()
        return self._in_container(self._features(X), X)

    @property
    def _n_features_out(self) -> int:
        return self._scores.shape[1]

    def _features(self, X: Any) -> np.ndarray:
        batch = self.model_._batch(X)
        parts = (self.startprob_, self.transmat_, self.emissionprob_)
        counts, _ = expected_counts(batch.offsets, batch.values, *parts, np.zeros((len(batch), 0)))
        return self.scale_ * fisher_scores(counts, parts)

    def predict(self, X: Any) -> np.ndarray:
        """The label of the nearest training sequence."""
        self._check_fitted()
        scores = self._features(X)
        return self.classes_[self._codes[_squared_distances(scores, self._scores).argmin(axis=1)]]


class _Learner:
    """The objective and its gradient in (omega, log kappa)."""

    def __init__(self, model: DiscreteHMM, X: Any, codes: np.ndarray, penalty: float) -> None:
        self.batch = model._batch(X)
        self.same = codes[:, None] == codes
        self.penalty = penalty
        parts = [model.startprob_, model.transmat_, model.emissionprob_]
        self.shapes = [part.shape for part in parts]
        counts, _ = self.count(parts, np.zeros((len(self.batch), 0)))
        scores = fisher_scores(counts, parts)
        spread = float(((scores - scores.mean(axis=0)) ** 2).sum(axis=1).mean())
        omega = np.concatenate([np.log(part).ravel() for part in parts])
        # at the start the mean squared distance, 2 spread, counts as 4: near neighbours matter, far ones hardly
        self.start = np.append(omega, np.log(2.0 / spread if spread > 0.0 else 1.0))

    def split(self, omega: np.ndarray) -> list[np.ndarray]:
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        pieces = np.split(omega, cuts, axis=-1)
        return [piece.reshape(*omega.shape[:-1], *shape) for piece, shape in zip(pieces, self.shapes)]

    def probabilities(self, omega: np.ndarray) -> list[np.ndarray]:
        found = []
        for part in self.split(omega):
            shares = np.exp(part - part.max(axis=-1, keepdims=True))
            found.append(shares / shares.sum(axis=-1, keepdims=True))
        return found

    def count(self, parts: list[np.ndarray], directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        start, transitions, emissions = parts
        return expected_counts(self.batch.offsets, self.batch.values, start, transitions, emissions, directions)

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        omega, log_kappa = point[:-1], point[-1]
        parts = self.probabilities(omega)
        counts, _ = self.count(parts, np.zeros((len(self.batch), 0)))
        scores = fisher_scores(counts, parts)
        error, by_score, by_log_kappa = _neighbour_error(scores, self.same, float(np.exp(log_kappa)))
        # along v_t the log-probabilities move by v minus its mean under the model
        moves = [v - (p * v).sum(axis=-1, keepdims=True) for v, p in zip(self.split(by_score), parts)]
        directions = np.hstack([move.reshape(move.shape[0], -1) for move in moves])
        _, tangents = self.count(parts, directions)
        gradient = np.zeros(omega.size)
        place = 0
        for n, dn, p, move in zip(self.split(counts), self.split(tangents), parts, moves):
            total, change = n.sum(axis=-1, keepdims=True), dn.sum(axis=-1, keepdims=True)
            gradient[place : place + p.size] = (dn - change * p - total * p * move).sum(axis=0).ravel()
            place += p.size
        away = omega - self.start[:-1]
        value = error + 0.5 * self.penalty * float(away @ away)
        return value, np.append(gradient + self.penalty * away, by_log_kappa)


def fisher_scores(counts: np.ndarray, parts: Any) -> np.ndarray:
    """d log P / d omega from the expected counts: E[n_ik] - p_ik E[n_i]."""
    place, columns = 0, []
    for p in parts:
        n = counts[:, place : place + p.size].reshape(-1, *p.shape)
        columns.append((n - n.sum(axis=-1, keepdims=True) * p).reshape(n.shape[0], -1))
        place += p.size
    return np.hstack(columns)


def _squared_distances(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.maximum((one**2).sum(axis=1)[:, None] + (two**2).sum(axis=1) - 2.0 * one @ two.T, 0.0)


def _neighbour_error(scores: np.ndarray, same: np.ndarray, kappa: float) -> tuple[float, np.ndarray, float]:
    """The expected error of random neighbours, and its derivatives in the scores and in log kappa."""
    distances = _squared_distances(scores, scores)
    p = -kappa * distances
    np.fill_diagonal(p, -np.inf)
    p -= p.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    right = np.einsum("ts,ts->t", p, same)
    by_logit = (right / scores.shape[0])[:, None] - same / scores.shape[0]  # of 1 - mean(right)
    by_logit *= p
    both = by_logit + by_logit.T
    # logit_ts = -kappa |g_t - g_s|^2
    by_score = -2.0 * kappa * (both.sum(axis=1)[:, None] * scores - both @ scores)
    return 1.0 - float(right.mean()), by_score, float(-kappa * np.vdot(by_logit, distances))
