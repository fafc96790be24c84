"""Normal discriminants against scikit-learn's on its small data sets."""

import numpy as np
import pytest
import sklearn
from sklearn import datasets
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

from models import LinearDiscriminant, Prototypes, QuadraticDiscriminant

# which divisor scikit-learn's solver "svd" takes changed in 1.8
DIVISOR = "mle" if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8) else "unbiased"
SETS = [datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer, datasets.load_digits]


@pytest.fixture(params=SETS, ids=lambda load: load.__name__)
def data(request):
    return request.param(return_X_y=True)


def assert_same(ours, theirs, X, atol=1e-6):
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    # where a posterior underflows, scikit-learn's logarithms of it are of no use
    P, Q = ours.predict_log_proba(X), theirs.predict_log_proba(X)
    assert np.allclose(np.where(Q < -600, Q, P), Q, rtol=1e-6, atol=atol)


def test_lda(data):
    X, y = data
    ours, theirs = LinearDiscriminant(divisor=DIVISOR).fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    assert_same(ours, theirs, X)
    assert ours.shrinkage_.tolist() == [0.0]
    if ours.classes_.size > 2:
        scores = ours.decision_function(X) - theirs.decision_function(X)
        assert np.ptp(scores - scores[:, :1], axis=0).max() < 1e-6
    else:
        assert np.allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-6)


def test_lda_with_given_shrinkage(data):
    X, y = data
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # the targets of shrinkage are then the same
    theirs = LinearDiscriminantAnalysis("lsqr", shrinkage=0.3).fit(X, y)
    assert_same(LinearDiscriminant(shrinkage=0.3, divisor="mle").fit(X, y), theirs, X)


def test_qda(data):
    X, y = data
    if X.shape[1] == 64:  # scikit-learn refuses what is singular
        X = X + np.random.default_rng(0).normal(size=X.shape)
    theirs = QuadraticDiscriminantAnalysis(tol=1e-30).fit(X, y)
    assert_same(QuadraticDiscriminant(divisor=DIVISOR).fit(X, y), theirs, X)


def test_gaussian_naive_bayes_is_diagonal_qda(data):
    X, y = data
    if X.shape[1] == 64:
        X = X + np.random.default_rng(0).normal(size=X.shape)
    assert_same(QuadraticDiscriminant("diagonal").fit(X, y), GaussianNB(var_smoothing=0.0).fit(X, y), X)


def test_prototypes(data):
    X, y = data
    assert np.array_equal(Prototypes().fit(X, y).predict(X), NearestCentroid().fit(X, y).predict(X))
