"""The hybrid's experiments: on made-up posts, and in their quick form on the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from bench.experiments.hybrid import HYBRID, HYBRID_1, LOGISTIC, PLAIN_HYBRID_1, Pair, log_odds
from models import HybridNaiveBayes

pytestmark = pytest.mark.full  # whole experiments, some on real data


def made_up(seed=0, count=500, words=40):
    """Posts whose subjects tell more than their bodies."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    tilt = np.linspace(-1.0, 1.0, words)

    def text(strength, length):
        P = np.exp(np.outer(2 * y - 1, strength * tilt))
        P /= P.sum(axis=1, keepdims=True)
        return sp.csr_array(np.array([rng.multinomial(rng.integers(1, length), p) for p in P]).astype(float))

    return Pair(y, text(1.0, 6), text(0.1, 120))


def test_log_odds_are_those_of_the_models():
    pair = made_up(1, 100)
    train, test = np.arange(60), np.arange(60, 100)
    odds, _ = log_odds(HYBRID, pair, train, test)
    X = np.hstack([pair.subjects.toarray(), pair.bodies.toarray()])
    logs = HybridNaiveBayes(2).fit(X[train], pair.y[train]).predict_log_proba(X[test])
    assert np.allclose(odds, logs[:, 1] - logs[:, 0])
    words = pair.subjects.toarray() + pair.bodies.toarray()
    for method, normalize in ((HYBRID_1, True), (PLAIN_HYBRID_1, False)):
        odds, _ = log_odds(method, pair, train, test)
        logs = HybridNaiveBayes(normalize=normalize).fit(words[train], pair.y[train]).predict_log_proba(words[test])
        assert np.allclose(odds, logs[:, 1] - logs[:, 0])
    assert np.isfinite(log_odds(LOGISTIC, pair, train, test)[0]).all()
