r"""Hidden Markov models with a margin between their log-scores, trained by quadratic programs or by a perceptron."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

import qp

from ..base.estimator import uninterrupted, warn_unconverged
from ..base.multiclass import class_scores
from ..base.parameters import Count, NonNegative, Positive, parameters
from ..base.progress import History
from ..base.validation import as_generator
from ..numerics import recursions
from ..programs.sequences import cutting_plane_program
from ..sequences.hmm import unflatten
from ..sequences.sequences import Sequences
from .observations import SequenceClassifier
from .sufficient_statistics import take

CUTS = 500  # most cutting planes of one convex problem
CUT_TOL = 1e-3  # largest relative gap of a solved convex problem


@parameters
class LargeMarginHMM(SequenceClassifier):
    r"""Hidden Markov models of the classes, with a margin between their scores of a sequence.

    After Sha and Saul (2007), for whole sequences.  The score of a class is its best path's score, linear in the
    class's log-potentials w_c (logs of start, transition and emission probabilities, no longer held to sum to one),

    .. math::
        S_c(x) = \max_q\; w_c^\top T(x, q),

    T holds the counts of starts and transitions and the sums of f(x) in each state.  For symbols f(x) is the indicator
    vector; for vectors it is (1, x, x^2) of every coordinate, in which the log density of independent normals is
    linear.  The weights stay near the maximum likelihood models w^0:

    .. math::
        \min_w \tfrac12 \|w - w^0\|^2
          + C \sum_t \max\bigl(0,\; 1 + \max_{c \ne y_t} S_c(x_t) - S_{y_t}(x_t)\bigr).

    Only - S_y is not convex.  In turn, every sequence is aligned to its own class (the best path h_t under the current
    w), and the convex problem with w_y'T(x_t, h_t) in place of S_y is solved; this never raises the objective.  The
    problem has a constraint for every path of every other class.  Best paths find the violated ones, and their sums are
    the cutting planes R(w) >= g_k'w + h_k of the whole loss R (Joachims 2006), whose dual is a small quadratic program,
    `models.programs.sequences.cutting_plane_program`.

    Sha and Saul treat the frames of speech, their margins grow with the number of wrong states, and their states
    are normal distributions written as positive semidefinite matrices; here a sequence has one label, its margin is
    one, and nothing keeps the weight of x^2 below zero.

    ``training="perceptron"`` is the discriminative training of Collins (2002) on whole sequences.  From w^0, every
    sequence whose best class c is not its class y moves the weights along the best paths of both classes:

    .. math::
        w_y \leftarrow w_y + C\, T(x, h_y), \qquad w_c \leftarrow w_c - C\, T(x, h_c);

    the weights are the average over all steps, mistaken or not.

    Parameters
    ----------
    C
        Price of a margin that is violated by one; step length of the perceptron.
    max_iter
        Maximum number of alignments, or of passes of the perceptron over all sequences.
    tol
        Relative decrease of the objective at which the alignments end; the perceptron ends after a pass without
        mistakes.
    random_state : None, int or Generator
        Seed of the maximum likelihood models and of the perceptron's order.
    verbose
        1 prints a line for each alignment; 2 also the iterations of the maximum likelihood models and a line for each
        cutting plane; 3 also the iterations of the quadratic programs.

    Attributes
    ----------
    starts_, transitions_, emissions_ : arrays, shapes (classes, S), (classes, S, S), (classes, S, K)
        Log-potentials w of each class; K = 3 d for vectors with d coordinates.
    models_ : list of DiscreteHMM or GaussianHMM
        Maximum likelihood models of the classes.
    objectives_ : array
        Objective at w^0 and after each alignment; for the perceptron, mistakes of each pass.
    n_iter_ : int
        Number of alignments, or of passes of the perceptron.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Last quadratic program and its solution; not set by the perceptron.

    Examples
    --------
    >>> from models import LargeMarginHMM
    >>> X = [[0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 0, 0, 1, 1], [1, 1, 1, 0, 0]]
    >>> model = LargeMarginHMM(2, random_state=0).fit(X, ["swings", "swings", "stays", "stays"])
    >>> print(model.predict([[1, 0, 1, 0, 1, 0], [0, 0, 1, 1, 1, 1]]))
    ['swings' 'stays']
    """

    _: KW_ONLY
    training: Literal["margin", "perceptron"] = "margin"
    C: Positive = 1.0
    max_iter: Count = 10
    tol: NonNegative = 1e-3

    def fit(self, X: Any, y: Any) -> LargeMarginHMM:
        """Fit to sequences X, a list of arrays of symbols (-1: missing) or vectors (NaN: missing), and classes y."""
        rng = as_generator(self.random_state)
        batch = self._sequences_to_fit(X)
        codes = self._labels_to_fit(y, len(batch))
        parts = batch.split(batch.values)
        members = [take(parts, np.flatnonzero(codes == k)) for k in range(self.classes_.size)]
        self.models_ = [self._model(batch, rng).fit(own) for own in members]
        scores = _Scores(batch, self.models_[0]._emission_features(batch), codes, int(self.n_states))
        start = np.concatenate(
            [scores.flat(np.log(m.startprob_), np.log(m.transmat_), m._emission_potentials()) for m in self.models_]
        )
        if self.training == "perceptron":
            self._correct(scores, start, rng)
        else:
            self._alternate(scores, start)
        return self

    def _correct(self, scores: _Scores, start: np.ndarray, rng: np.random.Generator) -> None:
        """Train by the averaged perceptron, starting at the weights `start`."""
        w, total, steps = start.copy(), np.zeros(start.size), 0
        mistakes = self._history("mistakes", first=1)
        while len(mistakes) < self.max_iter and not (mistakes and mistakes[-1] == 0.0):
            wrong = 0
            for t in rng.permutation(scores.codes.size).tolist():
                one = scores.only(t)
                own, other, rival, path = one.competitors(w)
                if other[0] >= own[0]:
                    wrong += 1
                    own_path = one.along(one.align(w))
                    w = w + self.C * (one.gathered(own_path, one.codes) - one.gathered(one.along(path), rival))
                total += w
                steps += 1
            mistakes.append(float(wrong))
        mistakes.end(mistakes[-1] == 0.0)
        self.objectives_, self.n_iter_ = np.array(mistakes), len(mistakes)
        self.starts_, self.transitions_, self.emissions_ = scores.split(total / steps)

    def _alternate(self, scores: _Scores, start: np.ndarray) -> None:
        w, gap = start, 0.0
        objectives = self._history("objective")
        objectives.append(_objective(w, start, self.C, scores.loss(w)))
        settled = False
        while not settled and len(objectives) <= self.max_iter:
            own = scores.align(w)
            gaps = self._history("gap", f", alignment {len(objectives)}", first=1, inner=True)
            w, gap, self.program_, self.solution_ = _solve(scores, own, w, start, self.C, gaps)
            objectives.append(_objective(w, start, self.C, scores.loss(w)))
            settled = objectives[-2] - objectives[-1] <= self.tol * (1.0 + abs(objectives[-1]))
        objectives.end(settled)
        self.objectives_ = np.array(objectives)
        self.n_iter_ = len(objectives) - 1
        self.starts_, self.transitions_, self.emissions_ = scores.split(w)
        if gap > CUT_TOL * (1.0 + objectives[-1]):
            warn_unconverged(
                f"LargeMarginHMM: {CUTS} cutting planes leave the objective {objectives[-1]:.6g} of an alignment known "
                f"to {gap:.1e} only. Lower C."
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Return S_c(x), a column for each class; for two classes S_2(x) - S_1(x), shape (sequences,)."""
        self._check_fitted()
        batch = self._sequences_to_predict(X, self.emissions_.shape[2])
        features = self.models_[0]._emission_features(batch)
        weights = zip(self.starts_, self.transitions_, self.emissions_)
        return class_scores(np.array([_best_paths(batch, features, *w)[1] for w in weights]).T)


@dataclass
class _Scores:
    """Scores of all sequences as functions of w, the flat starts, transitions and emissions of every class."""

    batch: Sequences
    features: np.ndarray  # shape (positions, K): f(x) of every position; for a symbol its indicator
    codes: np.ndarray
    states: int
    classes: int = 0

    def __post_init__(self) -> None:
        self.classes = self.classes or int(self.codes.max()) + 1

    def only(self, t: int) -> _Scores:
        """Return the scores of sequence `t` alone."""
        first, end = self.batch.offsets[t : t + 2]
        batch = Sequences(self.batch.values[first:end], np.array([0, end - first]))
        return _Scores(batch, self.features[first:end], self.codes[t : t + 1], self.states, self.classes)

    def flat(self, *parts: np.ndarray) -> np.ndarray:
        return np.concatenate([part.ravel() for part in parts])

    def split(self, w: np.ndarray) -> list[np.ndarray]:
        S, K = self.states, self.features.shape[1]
        return unflatten(w.reshape(-1, S + S * S + S * K), [(S,), (S, S), (S, K)])

    def align(self, w: np.ndarray) -> np.ndarray:
        """Return the best path of every sequence under its own class, concatenated, shape (positions,)."""
        own = np.empty(self.batch.offsets[-1], dtype=np.int64)
        mine = np.repeat(self.codes, self.batch.lengths)
        for c, parts in enumerate(zip(*self.split(w))):
            if (mine == c).any():
                own[mine == c] = _best_paths(self.batch, self.features, *parts)[0][mine == c]
        return own

    def competitors(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return S of the own class, S of the best other class, the index of that class, and its best paths."""
        paths, scores = zip(*(_best_paths(self.batch, self.features, *parts) for parts in zip(*self.split(w))))
        table, rows = np.array(scores), np.arange(self.codes.size)
        own = table[self.codes, rows]
        table[self.codes, rows] = -np.inf
        other = table.argmax(axis=0)
        path = np.array(paths)[np.repeat(other, self.batch.lengths), np.arange(self.batch.offsets[-1])]
        return own, table[other, rows], other, path

    def loss(self, w: np.ndarray) -> float:
        own, other, _, _ = self.competitors(w)
        return float(np.maximum(1.0 + other - own, 0.0).sum())

    def along(self, path: np.ndarray) -> np.ndarray:
        """Return T(x_t, path_t) of every sequence, shape (sequences, S + S^2 + S K)."""
        S, number, first = self.states, self.codes.size, self.batch.offsets[:-1]
        at = np.repeat(np.arange(number) * S, self.batch.lengths) + path
        later = np.setdiff1d(np.arange(path.size), first)
        transitions = np.bincount(at[later - 1] * S + path[later], minlength=number * S * S)
        indicators = sp.csr_array((np.ones(path.size), (at, np.arange(path.size))), shape=(number * S, path.size))
        parts = np.eye(S)[path[first]], transitions, indicators @ self.features
        return np.hstack([part.reshape(number, -1) for part in parts])

    def gathered(self, statistics: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return a flat vector with the sum of the sequences' `statistics` in the block of each class in `codes`."""
        return (np.eye(self.classes)[codes].T @ statistics).ravel()


def _best_paths(
    batch: Sequences, features: np.ndarray, starts: np.ndarray, transitions: np.ndarray, emissions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return recursions.best_paths(batch.offsets, starts, transitions, features @ emissions.T)


def _objective(w: np.ndarray, start: np.ndarray, C: float, loss: float) -> float:
    return float(0.5 * (w - start) @ (w - start) + C * loss)


def _solve(
    scores: _Scores, own: np.ndarray, w: np.ndarray, start: np.ndarray, C: float, gaps: History
) -> tuple[np.ndarray, float, qp.QuadraticProgram, qp.Solution]:
    """Solve the convex problem of the paths `own` from `w`; return the best w, its gap, last program and solution."""
    statistics = scores.along(own)
    best, best_value = w, np.inf
    cuts, heights = np.empty((0, w.size)), np.empty(0)
    while True:
        _, other, rival, path = scores.competitors(w)
        short = 1.0 + other - (statistics * w.reshape(scores.classes, -1)[scores.codes]).sum(axis=1)
        active = short > 0.0
        value = _objective(w, start, C, float(short[active].sum()))
        if value < best_value:
            best, best_value = w, value
        g = scores.gathered(scores.along(path)[active], rival[active])
        g -= scores.gathered(statistics[active], scores.codes[active])
        cuts, heights = np.vstack([cuts, g]), np.append(heights, float(active.sum()))
        program = cutting_plane_program(cuts, heights, start, C)
        solution = uninterrupted(qp.solve(program, tol=1e-9, verbose=gaps.level > 1))
        w = 0.5 * (best + start - cuts.T @ solution.x)  # steps halfway to the solution need half as many cuts
        gap = best_value + solution.objective  # -solution.objective is a lower bound of the objective
        gaps.append(gap)
        closed = gap <= CUT_TOL * (1.0 + best_value)
        if closed or heights.size >= CUTS:
            gaps.end(closed)
            return best, gap, program, solution
