"""Documents drawn from topics, models with given topics, and the variational bound from its definition."""

import numpy as np
from scipy.special import digamma, gammaln

from models import LatentDirichletAllocation


def corpus(seed, documents=30, words=12, topics=3, length=40):
    rng = np.random.default_rng(seed)
    beta, theta = rng.dirichlet(np.full(words, 0.2), topics), rng.dirichlet(np.full(topics, 0.3), documents)
    return np.array([rng.multinomial(length, row) for row in theta @ beta])


def fitted(topics, prior, seed=0):
    """Return a fitted model with the given topics."""
    model = LatentDirichletAllocation(len(topics), doc_topic_prior=prior, max_iter=1, random_state=seed)
    model.fit(np.ones((1, topics.shape[1])))
    model.components_ = topics
    return model


def bound_by_definition(counts, topics, prior, gamma, phi):
    """Return E_q[log p(theta) + log p(z) + log p(w) - log q(theta) - log q(z)], term by term."""
    log_theta = digamma(gamma) - digamma(gamma.sum())
    bound = gammaln(prior.sum()) - gammaln(prior).sum() + (prior - 1) @ log_theta
    bound -= gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ log_theta
    return bound + (counts[:, None] * phi * (log_theta + np.log(topics.T) - np.log(phi))).sum()
