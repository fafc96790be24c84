"""hmmlearn's likelihoods, posteriors, paths and EM steps."""

import numpy as np
import pytest

from models import DiscreteHMM, GaussianHMM

hmmlearn = pytest.importorskip("hmmlearn.hmm")


def ours_and_theirs(kind, states, features, seed=0):
    """The same model in both."""
    rng = np.random.default_rng(seed)
    chain = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    if kind == "discrete":
        theirs = hmmlearn.CategoricalHMM(states)
        theirs.n_features, theirs.emissionprob_ = features, rng.dirichlet(np.ones(features), states)
        ours = DiscreteHMM(states, pseudocount=0.0).set_model(*chain, theirs.emissionprob_)
    else:
        root = rng.normal(size=(states, features, features))
        full = root @ root.transpose(0, 2, 1) + 0.5 * np.eye(features)
        covariances = full if kind == "full" else np.array([np.diag(S) for S in full])
        theirs = hmmlearn.GaussianHMM(states, covariance_type=kind)
        theirs.means_, theirs.n_features = 3.0 * rng.normal(size=(states, features)), features
        theirs.covars_ = covariances
        ours = GaussianHMM(states, kind, pseudocount=0.0, min_variance=1e-9).set_model(
            *chain, theirs.means_, covariances
        )
    theirs.startprob_, theirs.transmat_ = chain
    return ours, theirs


def flat(sequences):
    joined = np.concatenate(sequences)
    return (joined[:, None] if joined.ndim == 1 else joined), [len(s) for s in sequences]


@pytest.mark.parametrize("kind", ["discrete", "diag", "full"])
def test_the_same_likelihoods_posteriors_and_paths(kind):
    ours, theirs = ours_and_theirs(kind, 4, 3)
    sequences, _ = ours.sample(np.arange(1, 60), random_state=1)
    X, lengths = flat(sequences)
    assert ours.score_samples(sequences).sum() == pytest.approx(theirs.score(X, lengths), rel=1e-8)
    each = [theirs.score(*flat([sequence])) for sequence in sequences]
    np.testing.assert_allclose(ours.score_samples(sequences), each, rtol=1e-8)
    np.testing.assert_allclose(
        np.concatenate(ours.predict_proba(sequences)), theirs.predict_proba(X, lengths), rtol=0, atol=1e-8
    )
    np.testing.assert_array_equal(np.concatenate(ours.predict(sequences)), theirs.predict(X, lengths))


@pytest.mark.parametrize("kind", ["discrete", "diag", "full"])
def test_the_same_steps_of_em(kind):
    ours, theirs = ours_and_theirs(kind, 3, 2, seed=4)
    sequences, _ = ours.sample([40] * 30, random_state=2)
    theirs.init_params, theirs.n_iter, theirs.tol = "", 5, -np.inf
    if kind != "discrete":  # no priors of theirs
        theirs.covars_prior, theirs.covars_weight, theirs.min_covar = 0.0, 0.0, 1e-9
        if kind == "diag":
            theirs.covars_weight = 1.0
    theirs.fit(*flat(sequences))
    ours.set_params(warm_start=True, max_iter=5, tol=0.0).fit(sequences)
    np.testing.assert_allclose(ours.transmat_, theirs.transmat_, atol=1e-8)
    np.testing.assert_allclose(ours.startprob_, theirs.startprob_, atol=1e-8)
    if kind == "discrete":
        np.testing.assert_allclose(ours.emissionprob_, theirs.emissionprob_, atol=1e-8)
    else:
        np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-7)
