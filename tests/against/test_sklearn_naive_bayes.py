"""Naive Bayes against scikit-learn's on its small data sets."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, naive_bayes

from models import BernoulliNaiveBayes, GaussianNaiveBayes, MixedNaiveBayes, MultinomialNaiveBayes

SETS = [datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer, datasets.load_digits]
PAIRS = {
    "Gaussian": (GaussianNaiveBayes(), naive_bayes.GaussianNB()),
    "smoothed Gaussian": (GaussianNaiveBayes(var_smoothing=0.1), naive_bayes.GaussianNB(var_smoothing=0.1)),
    "Bernoulli": (BernoulliNaiveBayes(binarize=2.0), naive_bayes.BernoulliNB(binarize=2.0)),
    "smoothed Bernoulli": (BernoulliNaiveBayes(0.3, 2.0), naive_bayes.BernoulliNB(alpha=0.3, binarize=2.0)),
    "multinomial": (MultinomialNaiveBayes(), naive_bayes.MultinomialNB()),
    "smoothed multinomial": (MultinomialNaiveBayes(0.1), naive_bayes.MultinomialNB(alpha=0.1)),
}


@pytest.fixture(params=SETS, ids=lambda load: load.__name__)
def data(request):
    return request.param(return_X_y=True)


def in_one_unit(X):
    """Features of one variance: scikit-learn smooths all by a share of the largest one, ours each by its own."""
    X = X[:, X.std(axis=0) > 0.0]
    return X / X.std(axis=0)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_same_densities_posteriors_and_predictions(data, pair):
    X, y = data
    X = in_one_unit(X) if "Gaussian" in pair else X
    ours, theirs = (model.fit(X, y) for model in PAIRS[pair])
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    joint = theirs.predict_joint_log_proba(X)
    assert np.allclose(ours.predict_joint_log_proba(X), joint, rtol=1e-12, atol=1e-9)
    near = joint - joint.max(axis=1, keepdims=True) > -700.0
    difference = ours.predict_log_proba(X) - theirs.predict_log_proba(X)
    assert np.abs(difference[near]).max() < 1e-6


def test_given_priors(data):
    X, y = in_one_unit(data[0]), data[1]
    priors = np.arange(1.0, 1.0 + np.unique(y).size)
    priors /= priors.sum()
    ours, theirs = GaussianNaiveBayes(priors).fit(X, y), naive_bayes.GaussianNB(priors=priors).fit(X, y)
    assert np.allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-12, atol=1e-9)


def test_sparse_documents():
    X, y = datasets.load_digits(return_X_y=True)
    for ours, theirs in (PAIRS["Bernoulli"], PAIRS["multinomial"]):
        expected = theirs.fit(sp.csr_array(X), y).predict_log_proba(X)
        assert np.allclose(ours.fit(sp.csr_array(X), y).predict_log_proba(sp.csr_array(X)), expected, rtol=0, atol=1e-6)


def test_categories():
    X, y = datasets.load_digits(return_X_y=True)
    X[:17] = np.arange(17)[:, None]  # every category occurs in every column, as scikit-learn's encoding assumes
    ours, theirs = MixedNaiveBayes("categorical").fit(X, y), naive_bayes.CategoricalNB().fit(X, y)
    assert np.allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-12, atol=1e-9)
