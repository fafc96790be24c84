r"""Fisher kernel learning: the hidden Markov model whose Fisher scores have the right nearest neighbours."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..base.parameters import Count, NonNegative, parameters
from ..base.transformer import Transformer
from ..numerics.count_derivatives import expected_statistics
from ..sequences.discrete_hmm import DiscreteHMM
from ..sequences.gaussian_hmm import GaussianHMM
from ..sequences.hmm import HiddenMarkovModel, unflatten
from ..sequences.sequences import Sequences
from .observations import SequenceClassifier


@parameters
class FisherKernelLearning(SequenceClassifier, Transformer):
    r"""Fisher kernel learning for sequences, with the nearest-neighbour objective (van der Maaten 2011).

    One hidden Markov model of all sequences, with the probabilities softmax(omega), gives each sequence its Fisher
    score.  The entry of an emission is

    .. math::
        g(x) = \nabla_\omega \log P(x; \omega), \qquad g_{ik} = E[n_{ik}] - b_{ik} E[n_i].

    For sequences of vectors the states emit independent normal variables, and omega holds their means and
    log-variances.

    From the maximum likelihood model omega^0, L-BFGS minimizes the expected error of a neighbour drawn at random with
    probability p_ts, plus a penalty on the distance from omega^0:

    .. math::
        1 - \frac1N \sum_t \sum_{s: y_s = y_t} p_{ts} + \frac\rho2 \|\omega - \omega^0\|^2, \qquad
        p_{ts} = \frac{e^{-\kappa \|g_t - g_s\|^2}}{\sum_{r \ne t} e^{-\kappa \|g_t - g_r\|^2}} .

    kappa is learned too.  The gradient in omega is sum_t H_t v_t, H_t being the Hessian of log P(x_t) and v_t the
    gradient in g_t: the derivative of the Fisher score along v_t, which one forward and backward pass with
    derivatives gives exactly.  A new sequence gets the label of its nearest neighbour.

    Parameters
    ----------
    penalty
        Weight rho of the distance from omega^0.
    max_iter
        Maximum number of L-BFGS iterations.
    tol
        L-BFGS ends when no entry of the gradient exceeds this in magnitude.
    verbose
        1 prints a line for each step; 2 also the iterations of the maximum likelihood model.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_ : arrays, shapes (S,), (S, S), (S, K)
        Probabilities of the learned model.
    means_, variances_ : arrays, shape (S, d)
        Emission parameters for vectors (after centring and scaling), in place of `emissionprob_`.
    scale_ : float
        sqrt(kappa); `transform` returns scale_ * g.
    model_ : DiscreteHMM or GaussianHMM
        Maximum likelihood model.
    objectives_ : array
        Objective at the start and after each step.
    n_iter_ : int
        Number of L-BFGS iterations.

    Examples
    --------
    >>> from models import FisherKernelLearning
    >>> X = [[0, 1, 0, 1, 0, 1, 0], [1, 0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]
    >>> model = FisherKernelLearning(2, random_state=0).fit(X, ["swings", "swings", "stays", "stays"])
    >>> print(model.predict([[1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1, 1]]))
    ['swings' 'stays']
    """

    _: KW_ONLY
    penalty: NonNegative = 1e-3
    max_iter: Count = 50
    tol: NonNegative = 1e-4

    def fit(self, X: Any, y: Any) -> FisherKernelLearning:
        """Fit to sequences X, a list of arrays of symbols (-1: missing) or vectors (NaN: missing), and classes y."""
        batch = self._sequences_to_fit(X)
        codes = self._labels_to_fit(y, len(batch))
        model = self._model(batch, self.random_state).fit(batch.split(batch.values))
        learner = _Learner(model, batch, codes, float(self.penalty))
        objectives = self._history("objective")
        objectives.append(learner(learner.start)[0])

        def after_step(intermediate_result: Any) -> None:
            objectives.append(float(intermediate_result.fun))

        options = {"maxiter": int(self.max_iter), "gtol": self.tol, "ftol": 0.0}
        found = minimize(learner, learner.start, jac=True, method="L-BFGS-B", callback=after_step, options=options)
        objectives.end(found.status == 0)
        self.model_, self.objectives_ = model, np.array(objectives)
        self.n_iter_ = max(len(objectives) - 1, 1)
        self._parts = learner.parts(found.x[:-1])
        self.startprob_, self.transmat_, emissions = self._parts
        if self.observations == "symbols":
            self.emissionprob_ = emissions
        else:
            self.means_, self.variances_ = np.hsplit(emissions, 2)
        self.scale_ = float(np.exp(0.5 * found.x[-1]))
        self._scores, self._codes = self._features_of(batch), codes
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return sqrt(kappa) g(x) of every sequence, shape (sequences, S + S^2 + S K); K = 2 d for vectors."""
        self._check_fitted()
        return self._in_container(self._features(X), X)

    @property
    def _n_features_out(self) -> int:
        return self._scores.shape[1]

    def _features(self, X: Any) -> np.ndarray:
        return self._features_of(self._sequences_to_predict(X, self._parts[2].shape[1]))

    def _features_of(self, batch: Sequences) -> np.ndarray:
        blocks, features = _blocks(self.model_), self.model_._emission_features(batch)
        table, _ = _statistics(batch, features, blocks, self._parts, np.zeros((len(batch), 0)))
        return self.scale_ * fisher_scores(table, blocks, self._parts)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the training sequence nearest to each sequence, shape (sequences,)."""
        self._check_fitted()
        scores = self._features(X)
        return self.classes_[self._codes[_squared_distances(scores, self._scores).argmin(axis=1)]]


class _Shares:
    """Probabilities softmax(omega) along the last axis; their statistics are counts n."""

    def __init__(self, shares: np.ndarray) -> None:
        self.shape = self.statistics = shares.shape
        self.start = np.log(shares)

    def of(self, omega: np.ndarray) -> np.ndarray:
        shares = np.exp(omega - omega.max(axis=-1, keepdims=True))
        return shares / shares.sum(axis=-1, keepdims=True)

    def potentials(self, p: np.ndarray) -> np.ndarray:
        return np.log(p)

    def scores(self, n: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return d log P / d omega from the counts `n` at the probabilities `p`."""
        return n - n.sum(axis=-1, keepdims=True) * p

    def moves(self, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the derivative of the potentials along `v`: v minus its mean under the probabilities `p`."""
        return v - (p * v).sum(axis=-1, keepdims=True)

    def changes(self, n: np.ndarray, dn: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the derivative of `scores` along `v`; `dn` is the derivative of the statistics `n` along `v`."""
        total, change = n.sum(axis=-1, keepdims=True), dn.sum(axis=-1, keepdims=True)
        return dn - change * p - total * p * self.moves(v, p)


class _Normals:
    """Independent normal variables: omega = (m, log s), s the variances; statistics: sums of (seen, x, x^2)."""

    def __init__(self, means: np.ndarray, variances: np.ndarray) -> None:
        states, d = means.shape
        self.shape, self.statistics = (states, 2 * d), (states, 3 * d)
        self.start = np.hstack([means, np.log(variances)])

    def of(self, omega: np.ndarray) -> np.ndarray:
        means, logs = _split(omega, 2)
        return np.concatenate([means, np.exp(logs)], axis=-1)

    def potentials(self, p: np.ndarray) -> np.ndarray:
        m, s = _split(p, 2)
        return np.concatenate([-0.5 * (np.log(2.0 * np.pi * s) + m**2 / s), m / s, -0.5 / s], axis=-1)

    def scores(self, n: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return sum (x - m) / s and 1/2 sum ((x - m)^2 / s - 1), joined along the last axis."""
        (m, s), (seen, x, squares) = _split(p, 2), _split(n, 3)
        spread = squares - 2.0 * m * x + m**2 * seen
        return np.concatenate([(x - m * seen) / s, 0.5 * (spread / s - seen)], axis=-1)

    def moves(self, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        (m, s), (a, b) = _split(p, 2), _split(v, 2)
        return np.concatenate([-a * m / s + 0.5 * b * (m**2 / s - 1.0), (a - b * m) / s, 0.5 * b / s], axis=-1)

    def changes(self, n: np.ndarray, dn: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        (m, s), (a, b), (seen, x, squares) = _split(p, 2), _split(v, 2), _split(n, 3)
        first, second = _split(self.scores(dn, p), 2)
        of_mean = first - a * seen / s - b * (x - m * seen) / s
        spread = squares - 2.0 * m * x + m**2 * seen
        return np.concatenate([of_mean, second - a * (x - m * seen) / s - 0.5 * b * spread / s], axis=-1)


Block = _Shares | _Normals


def _split(values: np.ndarray, parts: int) -> list[np.ndarray]:
    return np.split(values, parts, axis=-1)


def _blocks(model: HiddenMarkovModel) -> list[Block]:
    """Return the parameter blocks of start probabilities, transition probabilities and emissions of `model`."""
    emissions: Block
    if isinstance(model, DiscreteHMM):
        emissions = _Shares(model.emissionprob_)
    else:
        assert isinstance(model, GaussianHMM)
        emissions = _Normals(model.means_, model.covariances_)
    return [_Shares(model.startprob_), _Shares(model.transmat_), emissions]


def _statistics(
    batch: Sequences, features: np.ndarray, blocks: list[Block], parts: list[np.ndarray], directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    start, transitions, emissions = parts
    potentials = blocks[2].potentials(emissions)
    return expected_statistics(batch.offsets, features, start, transitions, potentials, directions)


def fisher_scores(table: np.ndarray, blocks: list[Block], parts: list[np.ndarray]) -> np.ndarray:
    """Return d log P / d omega of every sequence, shape (sequences, parameters), from expected statistics `table`."""
    statistics = unflatten(table, [block.statistics for block in blocks])
    found = [block.scores(n, p) for block, n, p in zip(blocks, statistics, parts)]
    return np.hstack([part.reshape(table.shape[0], -1) for part in found])


class _Learner:
    """Objective of Fisher kernel learning and its gradient in (omega, log kappa)."""

    def __init__(self, model: HiddenMarkovModel, batch: Sequences, codes: np.ndarray, penalty: float) -> None:
        self.batch = batch
        self.features = model._emission_features(batch)
        self.same = codes[:, None] == codes
        self.penalty = penalty
        self.blocks = _blocks(model)
        omega = np.concatenate([block.start.ravel() for block in self.blocks])
        parts = self.parts(omega)
        scores = fisher_scores(self.statistics(parts, np.zeros((len(self.batch), 0)))[0], self.blocks, parts)
        spread = float(((scores - scores.mean(axis=0)) ** 2).sum(axis=1).mean())
        # At the start kappa times the mean squared distance, 2 spread, is 4, so that near neighbours dominate.
        self.start = np.append(omega, np.log(2.0 / spread if spread > 0.0 else 1.0))

    def split(self, omega: np.ndarray) -> list[np.ndarray]:
        return unflatten(omega, [block.shape for block in self.blocks])

    def parts(self, omega: np.ndarray) -> list[np.ndarray]:
        """Return start probabilities, transition probabilities and emission parameters at `omega`."""
        return [block.of(part) for block, part in zip(self.blocks, self.split(omega))]

    def statistics(self, parts: list[np.ndarray], directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _statistics(self.batch, self.features, self.blocks, parts, directions)

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        omega, log_kappa = point[:-1], point[-1]
        parts = self.parts(omega)
        table, _ = self.statistics(parts, np.zeros((len(self.batch), 0)))
        scores = fisher_scores(table, self.blocks, parts)
        error, by_score, by_log_kappa = _neighbour_error(scores, self.same, float(np.exp(log_kappa)))
        along = self.split(by_score)
        moves = [block.moves(v, p) for block, v, p in zip(self.blocks, along, parts)]
        _, tangents = self.statistics(parts, np.hstack([move.reshape(len(move), -1) for move in moves]))
        shapes = [block.statistics for block in self.blocks]
        both = zip(self.blocks, unflatten(table, shapes), unflatten(tangents, shapes), parts, along)
        gradient = np.concatenate([block.changes(n, dn, p, v).sum(axis=0).ravel() for block, n, dn, p, v in both])
        away = omega - self.start[:-1]
        value = error + 0.5 * self.penalty * float(away @ away)
        return value, np.append(gradient + self.penalty * away, by_log_kappa)


def _squared_distances(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.maximum((one**2).sum(axis=1)[:, None] + (two**2).sum(axis=1) - 2.0 * one @ two.T, 0.0)


def _neighbour_error(scores: np.ndarray, same: np.ndarray, kappa: float) -> tuple[float, np.ndarray, float]:
    """Return the expected error of random neighbours, and its derivatives in `scores` and in log kappa."""
    distances = _squared_distances(scores, scores)
    p = -kappa * distances
    np.fill_diagonal(p, -np.inf)
    p -= p.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    right = np.einsum("ts,ts->t", p, same)
    by_logit = (right / scores.shape[0])[:, None] - same / scores.shape[0]  # derivative of 1 - mean(right)
    by_logit *= p
    both = by_logit + by_logit.T
    # logit_ts = -kappa |g_t - g_s|^2
    by_score = -2.0 * kappa * (both.sum(axis=1)[:, None] * scores - both @ scores)
    return 1.0 - float(right.mean()), by_score, float(-kappa * np.vdot(by_logit, distances))
