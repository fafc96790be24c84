r"""Score spaces: features of fixed length that a generative model gives of sequences or of documents.

Four of them (Li et al. 2013, sections 2.1 and 3.1), each with one model a class, whose features stand side by side.

A linear classifier on the free energy's terms, whose sum is the log-likelihood, can represent every comparison of the
classes' likelihoods; so can one on the log-likelihoods themselves.  Eq. 5 of the paper claims this of all score
spaces, but neither the sufficient statistics (whose hats are the sample's, not the model's) nor the Fisher score have
the log-likelihood in their span.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from ..base.parameters import parameters
from ..base.transformer import Transformer
from ..base.validation import as_labels
from ..sequences.discrete_hmm import DiscreteHMM
from ..topics.topics import LatentDirichletAllocation
from .sufficient_statistics import (
    ChainStatistics,
    OnGenerativeModel,
    TopicStatistics,
    count_samples,
    fresh,
    models_of_classes,
    nothing_seen,
)


@parameters
class ScoreSpace(OnGenerativeModel, Transformer):
    """Base of score spaces: a model for each class (or one for all samples), their features side by side.

    Parameters
    ----------
    model : DiscreteHMM, GaussianHMM or LatentDirichletAllocation, optional
        Template whose copies are fitted; `DiscreteHMM()` if None.
    per_class
        Whether there is a model for each class of y rather than one for all samples.

    Attributes
    ----------
    models_ : list
        Fitted models, in the order of `classes_`.
    classes_ : array
        Class labels; set if there is a model for each class.
    """

    model: Any = None
    per_class: bool = True

    def fit(self, X: Any, y: Any = None) -> ScoreSpace:
        """Fit the model to the samples of each class of y, or to all samples if y is None.

        Parameters
        ----------
        y : array_like, shape (samples,), optional
        """
        model = fresh(self.model)
        for name in ("classes_", "feature_names_in_"):
            vars(self).pop(name, None)
        X = self._matrix_to_fit(X)
        if y is None or not self.per_class:
            self.models_ = [model.fit(X)]
            return self
        self.classes_, codes = as_labels(y, count_samples(X), type(self).__name__, fewest=1)
        self.models_ = models_of_classes(model, X, codes)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the scores of every sample, shape (samples, features), the first class's model first."""
        return self._in_container(self._features(self._matrix_to_predict(X)), X)

    @property
    def _n_features_out(self) -> int:
        return self._features(nothing_seen(self.models_[0])).shape[1]

    def _features(self, X: Any) -> np.ndarray:
        return np.hstack([self._scores(model, X) for model in self.models_])

    def _scores(self, model: Any, X: Any) -> np.ndarray:
        if isinstance(model, LatentDirichletAllocation):
            return self._of_topics(TopicStatistics(model, X))
        return self._of_chain(ChainStatistics(model, X))

    def _of_chain(self, samples: ChainStatistics) -> np.ndarray:
        raise NotImplementedError

    def _of_topics(self, samples: TopicStatistics) -> np.ndarray:
        raise NotImplementedError


@parameters
class FisherScore(ScoreSpace):
    r"""Fisher score: the gradient of a sample's log-likelihood in the parameters (Jaakkola and Haussler 1999).

    .. math::
        \Phi_i(x) = \frac{\partial}{\partial \theta_i} \log P(x; \theta)

    Probabilities are taken as shares theta_i / sum_j theta_j, so that the derivatives keep to the simplex: of an
    emission probability b_ik it is E[n_ik] / b_ik - E[n_i], n_ik counting how often state i emits k.  For normal
    emissions the derivatives are with respect to means and variances; for a topic model, the variational bound is
    differentiated with respect to alpha and beta.

    Examples
    --------
    >>> from models import DiscreteHMM, FisherScore
    >>> sequences = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1], [1, 0, 1, 1, 1]]
    >>> space = FisherScore(DiscreteHMM(1, pseudocount=1.0)).fit(sequences, ["a", "a", "b", "b"])
    >>> print(space.transform([[0, 0, 0]]).round(3))
    [[ 0.     0.     1.286 -3.     0.     0.     8.    -3.   ]]
    """

    def _of_chain(self, samples: ChainStatistics) -> np.ndarray:
        model = samples.model
        starts, transitions, emissions = samples.split(samples.expect().table)
        parts = [_share_gradient(starts, model.startprob_), _share_gradient(transitions, model.transmat_)]
        if isinstance(model, DiscreteHMM):
            parts.append(_share_gradient(emissions, model.emissionprob_))
        else:  # derivatives by means and variances
            (means, variances), (n, first, squares) = (model.means_, model.covariances_), _central(emissions, model)
            parts += [(first - n * means) / variances, 0.5 * (squares / variances - n) / variances]
        return _columns(parts)

    def _of_topics(self, samples: TopicStatistics) -> np.ndarray:
        model = samples.model
        topics, words = model.components_.shape
        counts = samples.expect().table[:, topics:].reshape(-1, words, topics).transpose(0, 2, 1)
        alpha = model.doc_topic_prior_
        expected = digamma(samples.gamma) - digamma(samples.gamma.sum(axis=1, keepdims=True))
        return _columns([expected - digamma(alpha) + digamma(alpha.sum()), _share_gradient(counts, model.components_)])


@parameters
class LogLikelihoodScore(FisherScore):
    r"""Log-likelihoods of a sample under each class, or their differences with gradients in the parameters.

    With ``order=0`` the features are log P(x; theta_k), one for each class (Smith and Gales 2001).  With ``order=1``
    they are tangent vectors of posterior log-odds, TOP (Tsuda et al. 2002), for two classes - and +

    .. math::
        \Phi(x) = \bigl(\log P(x; \theta_+) - \log P(x; \theta_-),\;
          \nabla \log P(x; \theta_+),\; -\nabla \log P(x; \theta_-)\bigr)

    without the derivative with respect to the priors, which does not depend on x.  + is the second class.  For more
    classes the first class's log-likelihood is subtracted from the others', whose gradients come before the first
    class's (negative) gradient.  With one model for all samples the features are log P and its gradient.  For topic
    models log P is the variational bound.

    Parameters
    ----------
    order : 0 or 1
        Order of the derivatives among the features: 1 adds the gradients of `FisherScore`.

    Examples
    --------
    >>> from models import DiscreteHMM, LogLikelihoodScore
    >>> X, y = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1], [1, 0, 1, 1, 1]], ["a", "a", "b", "b"]
    >>> space = LogLikelihoodScore(DiscreteHMM(1, pseudocount=1.0)).fit(X, y)
    >>> print(space.transform([[0, 0, 0]]).round(3))
    [[-1.07  -3.898]]
    >>> print(LogLikelihoodScore(DiscreteHMM(1, pseudocount=1.0), order=1).fit(X, y).transform([[0, 0, 0]]).round(3))
    [[-2.828  0.     0.     8.    -3.    -0.    -0.    -1.286  3.   ]]
    """

    _: KW_ONLY
    order: int = 0

    def fit(self, X: Any, y: Any = None) -> LogLikelihoodScore:
        """Fit the models as `FisherScore.fit` does; raise ValueError unless `order` is 0 or 1."""
        if self.order not in (0, 1):
            raise ValueError(f"order must be 0 or 1, but {self.order!r} came")
        super().fit(X, y)
        return self

    def _features(self, X: Any) -> np.ndarray:
        logs = np.column_stack([model.score_samples(X) for model in self.models_])
        if np.isneginf(logs).any():
            s, k = np.argwhere(np.isneginf(logs))[0]
            raise ValueError(
                f"sample {s} has probability zero under models_[{k}], so its log-likelihood is no feature: "
                "fit with pseudocount > 0"
            )
        if self.order == 0:
            return logs
        gradients = [self._scores(model, X) for model in self.models_]
        if logs.shape[1] == 1:
            return np.hstack([logs, *gradients])
        return np.hstack([logs[:, 1:] - logs[:, :1], *gradients[1:], -gradients[0]])


@parameters
class FreeEnergyScore(ScoreSpace):
    r"""Terms whose sum is the free energy of a sample (Perina et al. 2012).

    .. math::
        \log P(x; \theta) = \sum_i \log(\pi_i) E[q_i^0] + \sum_{ij} \log(a_{ij}) E[n_{ij}]
            + \sum_{ik} \log(b_{ik}) E[n_{ik}]
            - \sum_i \gamma_i^0 \log \gamma_i^0 - \sum_{ij} \sum_l \xi_{ij}^l \log(\xi_{ij}^l / \gamma_i^l)

    Every summand (the last sum over l taken together) is a feature.  With normal emissions there is one term for each
    state and coordinate.  For a topic model the features are the terms of the variational bound.

    Examples
    --------
    >>> from models import DiscreteHMM, FreeEnergyScore
    >>> sequences = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1], [1, 0, 1, 1, 1]]
    >>> space = FreeEnergyScore(DiscreteHMM(2, random_state=0)).fit(sequences)
    >>> bool(np.allclose(space.transform(sequences).sum(axis=1), space.models_[0].score_samples(sequences)))
    True
    """

    def _of_chain(self, samples: ChainStatistics) -> np.ndarray:
        model = samples.model
        found = model._infer(samples.batch, by_sequence=True, chain_logs=True)
        parts = [found.starts * _log(model.startprob_), found.transitions * _log(model.transmat_)]
        if isinstance(model, DiscreteHMM):
            parts.append(found.emissions * _log(model.emissionprob_))
        else:  # expected log densities of the observations, by state and coordinate
            variances, (n, _, squares) = model.covariances_, _central(found.emissions, model)
            parts.append(-0.5 * (n * np.log(2.0 * np.pi * variances) + squares / variances))
        return _columns([*parts, -found.starts * _log(found.starts), -found.chain_logs])

    def _of_topics(self, samples: TopicStatistics) -> np.ndarray:
        model = samples.model
        topics, words = model.components_.shape
        counts = samples.expect().table[:, topics:].reshape(-1, words, topics)
        alpha, gamma = model.doc_topic_prior_, samples.gamma
        expected = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
        totals = counts.sum(axis=2, keepdims=True)
        shares = counts / np.where(totals > 0.0, totals, 1.0)
        whole = gammaln(alpha.sum()) - gammaln(gamma.sum(axis=1, keepdims=True))
        theta = (alpha - gamma) * expected + gammaln(gamma) - gammaln(alpha)
        entropy = -(counts * _log(shares)).sum(axis=1)
        emissions = counts * np.log(model.components_.T)
        return _columns([whole, theta, counts.sum(axis=1) * expected, emissions, entropy])


@parameters
class SufficientStatistics(ScoreSpace):
    r"""The expected sufficient statistics of a sample (Li et al. 2013, eq. 6, 7 and section 5).

    .. math::
        \Phi(x) = E_{Q(q)} \mathrm{vec}\{q_i^0,\; n_{ij},\; n_{ik},\;
          q_i^0 \log \hat\pi_i,\; n_{ij} \log \hat a_{ij},\; n_{ik} \log \hat b_{ik}\}

    n_ij counts the transitions and n_ik how often state i emits k.  The hats are the chain estimated from the sample
    alone, the shares of its expected counts; the model's own parameters do not enter.  With normal emissions n_ik is
    replaced by the sums of f(x) in each state (f as in `GaussianHMM`), without a hat.  For a topic model the features
    are how many words come from each topic, and how often each word comes from each topic.

    Examples
    --------
    >>> from models import DiscreteHMM, SufficientStatistics
    >>> sequences = [[0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1], [1, 0, 1, 1, 1]]
    >>> space = SufficientStatistics(DiscreteHMM(1)).fit(sequences)
    >>> print(space.transform([[0, 0, 1]]).round(3))  # one state: 1 start, 2 transitions, twice 0 and once 1
    [[ 1.     2.     2.     1.     0.     0.    -0.811 -1.099]]
    """

    def _of_chain(self, samples: ChainStatistics) -> np.ndarray:
        table = samples.expect().table
        return np.hstack([table, table * own_logarithms(samples, table)])

    def _of_topics(self, samples: TopicStatistics) -> np.ndarray:
        return samples.expect().table


def own_logarithms(samples: ChainStatistics, table: np.ndarray) -> np.ndarray:
    """Return the log hats, shape of `table`: logs of the shares of each sample's expected counts (0 without a hat)."""
    starts, transitions, emissions = samples.split(table)
    discrete = isinstance(samples.model, DiscreteHMM)
    parts = [starts, transitions, emissions if discrete else np.zeros(emissions.shape)]
    sums = [part.sum(axis=-1, keepdims=True) for part in parts]
    return _columns([_log(part / np.where(total > 0.0, total, 1.0)) for part, total in zip(parts, sums)])


def _share_gradient(counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return n_k / theta_k - sum n, the derivative of sum_k n_k log(theta_k / sum theta) where theta sums to one."""
    if not (shares > 0.0).all():
        raise ValueError(
            "a Fisher score needs probabilities above zero, but the model has some that are zero: "
            "fit it with pseudocount > 0"
        )
    return counts / shares - counts.sum(axis=-1, keepdims=True)


def _central(sums: np.ndarray, model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sums of 1, x and (x - mean)^2 from the sums of f(x) = (1, x, x^2)."""
    n, first, second = np.split(sums, 3, axis=-1)
    return n, first, second - 2.0 * model.means_ * first + model.means_**2 * n


def _log(values: np.ndarray) -> np.ndarray:
    """Return log(`values`), and 0 where a value is 0."""
    return np.log(np.where(values > 0.0, values, 1.0))


def _columns(parts: list[np.ndarray]) -> np.ndarray:
    return np.hstack([part.reshape(part.shape[0], -1) for part in parts])
