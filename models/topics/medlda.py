r"""Max-margin topic models: topics learned together with a linear classifier of a document's topic shares."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.copies import merge_copies
from ..base.estimator import Classifier, warn_unless_optimal
from ..base.multiclass import class_scores
from ..base.parameters import Count, NonNegative, Positive, parameters
from ..margins.dual import MarginDual
from ..margins.margin import product_of
from ..programs.classes import crammer_singer_dual
from .topics import LatentDirichletAllocation, TopicParameters


@parameters
class MedLDA(Classifier, TopicParameters):
    r"""Maximum entropy discrimination latent Dirichlet allocation for classification (Zhu, Ahmed and Xing 2009).

    A document's words come from topics as in `LatentDirichletAllocation`, its class from the shares
    z-bar = (1 / N) sum_n z_n of its words' topics, by the largest eta_y'z-bar (Crammer and Singer):

    .. math::
        \min_{q, \beta, \eta}\; - \sum_d L_d(q, \beta) + \tfrac12 \|\eta\|^2
          + C \sum_d \max\bigl(0,\; \max_{y \ne y_d} 1 - (\eta_{y_d} - \eta_y)^\top E_q \bar z_d\bigr),

    L_d being the variational bound of log P(w_d).  (With the prior N(0, I) the posterior of eta is N(its mean, I),
    and eta stands for the mean here.)  Variational EM, step by step:

    - topics of the words, the multipliers mu of the margins held:
      phi_nk ~ beta_kw exp(E log theta_k + (1 / N_d) sum_y mu_dy (eta_{y_d} - eta_y)_k);
    - beta, from the expected counts;
    - eta = sum_dy mu_dy (e_{y_d} - e_y) x z-bar_d, from the dual of the support vector machine, a quadratic program
      (`models.programs.classes.crammer_singer_dual`).

    (mu_dy is divided by the document's weight, if it has one.)  As the multipliers are held, not every round lowers the
    objective; the round with the lowest objective is kept.  The start depends neither on the order of the documents nor
    on whether a document comes twice or with the weight two.
    A new document has the posterior without margins.

    Parameters
    ----------
    C
        Price of a margin that is violated by one.
    max_iter
        Maximum number of rounds, after `LatentDirichletAllocation` was fitted.
    tol
        Relative change of the objective at which the rounds end.
    verbose
        1 prints a line for each round; 2 also the iterations of the first topics and of every quadratic program.

    Attributes
    ----------
    coef_ : array, shape (classes, topics)
        Weights eta_y of the topics for each class.
    topics_ : LatentDirichletAllocation
        Topic model with the learned topics.
    objectives_ : array
        Objective after each round; the first is for plain topics and their classifier.
    n_iter_ : int
        Number of rounds.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Dual program of the round that is kept, and its solution.

    Examples
    --------
    >>> from models import MedLDA
    >>> X = np.array([[4, 3, 0, 0], [3, 5, 0, 1], [0, 0, 4, 4], [0, 1, 3, 5]])
    >>> model = MedLDA(2, random_state=0).fit(X, ["sport", "sport", "art", "art"])
    >>> print(model.predict([[2, 2, 0, 0], [0, 0, 1, 2]]))
    ['sport' 'art']
    """

    _takes_sparse = True
    _takes_counts = True

    n_topics: Count = 10
    C: Positive = 10.0
    _: KW_ONLY
    doc_topic_prior: Any = None
    max_iter: Count = 20
    tol: NonNegative = 1e-4

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MedLDA:
        """Fit to word counts X, shape (documents, words), and classes y; sample weights multiply L_d and C."""
        matrix, codes, weights = self._samples_and_weights(X, y, sample_weight)
        used = np.flatnonzero(weights > 0.0)
        first, weights, _ = merge_copies(matrix[used], codes[used], weights[used])
        matrix, codes = matrix[used[first]], codes[used[first]]
        priors = {"doc_topic_prior": self.doc_topic_prior, "topic_word_prior": self.topic_word_prior}
        settings: dict[str, Any] = {"random_state": self.random_state, "verbose": self._inner_verbosity()}
        topics = LatentDirichletAllocation(self.n_topics, **priors, **settings)._fit(matrix, weights)
        self._alternate(topics, topics._documents(matrix), codes, weights)
        warn_unless_optimal(type(self).__name__, self.solution_)
        return self

    def _alternate(
        self, topics: LatentDirichletAllocation, documents: sp.csr_array, codes: np.ndarray, weights: np.ndarray
    ) -> None:
        lengths = _lengths(documents)
        gamma: np.ndarray | None = None
        tilt = np.zeros((codes.size, topics.components_.shape[0]))
        objectives = self._history("objective")
        while True:
            gamma, bound, sums = topics._infer(documents, gamma, weights, tilt=tilt)
            counts = gamma - topics.doc_topic_prior_
            shares = counts / lengths[:, None]
            dual = Margins(shares, codes, self.classes_.size, self.C * weights, self._inner_verbosity() > 0)
            generative = -float(weights @ (bound - (counts * tilt).sum(axis=1))) - topics._log_prior()
            objectives.append(generative + dual.primal(dual.eta))
            if objectives[-1] == min(objectives):
                beta, self.coef_ = topics.components_, dual.eta
                self.program_, self.solution_ = dual.program, dual.solution
            settled = len(objectives) > 1 and abs(objectives[-2] - objectives[-1]) <= self.tol * abs(objectives[-1])
            if settled or len(objectives) > self.max_iter:
                break
            tilt = dual.directions() / (weights * lengths)[:, None]
            topics._maximize(sums[0], gamma, weights)
        objectives.end(settled)
        topics.components_ = beta
        self.topics_, self.objectives_, self.n_iter_ = topics, np.array(objectives), max(len(objectives) - 1, 1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return eta_y'z-bar, a column for each class; for two classes second minus first, shape (documents,)."""
        matrix = self._matrix_to_predict(X)
        documents = self.topics_._documents(matrix)
        counts = self.topics_._infer(documents)[0] - self.topics_.doc_topic_prior_
        scores = counts / _lengths(documents)[:, None] @ self.coef_.T
        return class_scores(scores)


class Margins:
    """The support vector machine of Crammer and Singer on given shares, by its dual.

    C : float, or array with one for each document.
    """

    def __init__(self, shares: np.ndarray, codes: np.ndarray, classes: int, C: Any, verbose: bool = False) -> None:
        self.shares, self.codes, self.C = shares, codes, np.broadcast_to(C, codes.size)
        F, self.owner, self.other = contrasts(shares, codes, classes)
        self.program = crammer_singer_dual(product_of(F), self.owner, self.C)
        self.solution = MarginDual(self.program, {"verbose": verbose}, semidefinite=True).solve()
        self.multipliers = np.maximum(self.solution.x, 0.0)
        self.eta = (F.T @ self.multipliers).reshape(classes, -1)

    def primal(self, eta: np.ndarray) -> float:
        scores = self.shares @ eta.T
        rows = np.arange(self.codes.size)
        own = scores[rows, self.codes].copy()
        scores[rows, self.codes] = -np.inf
        short = np.maximum(1.0 + scores.max(axis=1) - own, 0.0)
        return float(0.5 * (eta**2).sum() + self.C @ short)

    def directions(self) -> np.ndarray:
        """Return sum_y mu_dy (eta_{y_d} - eta_y) of every document, shape (documents, topics)."""
        found = np.zeros(self.shares.shape)
        differences = self.eta[self.codes[self.owner]] - self.eta[self.other]
        np.add.at(found, self.owner, self.multipliers[:, None] * differences)
        return found


def _lengths(documents: sp.csr_array) -> np.ndarray:
    """Return the number of words of each document, at least one."""
    return np.maximum(np.asarray(documents.sum(axis=1)).ravel(), 1.0)


def contrasts(shares: np.ndarray, codes: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (F, d, y): row i of F has z_d in the block of the class of document d = d_i, and -z_d in block y_i."""
    number, topics = shares.shape
    owner = np.repeat(np.arange(number), classes - 1)
    other = np.array([[y for y in range(classes) if y != c] for c in codes]).ravel()
    blocks = np.zeros((owner.size, classes, topics))
    rows = np.arange(owner.size)
    blocks[rows, codes[owner]] = shares[owner]
    blocks[rows, other] = -shares[owner]
    return blocks.reshape(owner.size, -1), owner, other
