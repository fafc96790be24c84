"""A class whose samples all have weight zero: prior 0, and the other classes as if it were not there."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier

import models

rng = np.random.default_rng(0)
Y = np.arange(60) % 3
X = rng.normal(size=(60, 4)) + Y[:, None] * [1.0, 0.0, -1.0, 0.5]
COUNTS = np.round(np.abs(X) * 3.0)
MACHINES = [
    models.LinearDiscriminant(), models.LinearDiscriminant("diagonal", divisor="unbiased"),
    models.LinearDiscriminant(predictive="bayes"), models.LinearDiscriminant(dirichlet=2.0, mean_prior=(0.0, 1.0)),
    models.QuadraticDiscriminant(), models.QuadraticDiscriminant(predictive="bayes"),
    models.QuadraticDiscriminant(covariance_prior=(9.0, 1.0)), models.QuadraticDiscriminant(shrinkage="auto"),
    models.Prototypes(), models.MixedNaiveBayes(), models.MixedNaiveBayes("bernoulli", priors="uniform"),
    models.MixedNaiveBayes("kde"), models.MixedNaiveBayes("histogram"), models.MultinomialNaiveBayes(),
    models.MultinomialNaiveBayes(predictive="bayes"),
]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_class_without_weight_has_prior_zero(machine, gone):
    data, weights = COUNTS if machine._takes_counts else X, (Y != gone) * 1.0
    left = weights > 0.0
    expected = machine.fit(data[left], Y[left]).predict_log_proba(data)
    found = machine.fit(data, Y, weights)
    assert found.priors_[gone] == 0.0 and found.classes_.tolist() == [0, 1, 2]
    logs = found.predict_log_proba(data)
    assert (logs[:, gone] == -np.inf).all()
    np.testing.assert_allclose(np.delete(logs, gone, axis=1), expected, rtol=1e-9, atol=1e-9)
    assert not (found.predict(data) == gone).any()


@pytest.mark.parametrize("machine", [models.LinearDiscriminant(), models.MixedNaiveBayes()])
def test_unlabelled_samples_do_not_bring_it_back(machine):
    machine.fit(X, Y, (Y != 1) * 1.0, X_unlabelled=X[:20])
    assert machine.priors_[1] == 0.0 and np.isfinite(machine.log_likelihoods_).all()


@pytest.mark.parametrize(
    "machine", [models.LinearDiscriminant(), models.QuadraticDiscriminant(), models.MixedNaiveBayes()]
)
def test_bagging_may_leave_a_class_out(machine):
    labels = np.r_[Y[:-2], 7, 7]
    for seed in range(10):
        bag = BaggingClassifier(machine, 5, random_state=seed).fit(X, labels)
        assert bag.score(X, labels) > 0.5 and np.isfinite(bag.predict_proba(X)).all()
