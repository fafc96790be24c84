"""Logistic regression against scikit-learn's on its small data sets."""

import math

import numpy as np
import pytest
from sklearn import datasets, linear_model

from models import LogisticRegression
from tests.support.sparse_matrices import random_sparse

SETS = [datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer, datasets.load_digits]


@pytest.fixture(params=SETS, ids=lambda load: load.__name__)
def data(request):
    X, y = request.param(return_X_y=True)
    return X / np.maximum(X.std(axis=0), 1e-3), y


def assert_same(ours, theirs, X):
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-6, atol=1e-6)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    assert np.allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_regularized(data, C, intercept):
    X, y = data
    theirs = linear_model.LogisticRegression(
        C=C, fit_intercept=intercept, solver="newton-cholesky", tol=1e-10, max_iter=1000
    )
    assert_same(LogisticRegression(C, intercept).fit(X, y), theirs.fit(X, y), X)


@pytest.mark.parametrize("columns", [slice(0, 2), slice(1, 3)])
def test_not_regularized(columns):
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X[50:, columns], y[50:]  # two classes that overlap
    theirs = linear_model.LogisticRegression(C=math.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    assert_same(LogisticRegression(math.inf).fit(X, y), theirs.fit(X, y), X)


def test_weighted():
    X, y = datasets.load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.linspace(0.0, 2.0, len(X))
    theirs = linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X, y, weights)
    assert_same(LogisticRegression().fit(X, y, weights), theirs, X)


def test_more_features_than_samples():
    rng = np.random.default_rng(0)
    X = random_sparse((120, 3000), density=0.02, rng=rng, format="csr") * 5.0
    y = rng.integers(0, 2, 120)
    theirs = linear_model.LogisticRegression(solver="newton-cg", tol=1e-12, max_iter=10000).fit(X, y)
    assert_same(LogisticRegression().fit(X, y), theirs, X)
