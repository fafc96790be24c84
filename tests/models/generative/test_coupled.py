"""The hybrid of a generative and a discriminative model: its ends, its gradient, samples without labels."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from models import CoupledDiscriminant, LinearDiscriminant, LogisticRegression
from models.generative.coupled import CoupledLikelihood


def samples(m=150, classes=2, seed=0):
    """Return classes of different covariances, for which linear discriminants and logistic regression differ."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % classes
    spread = 0.5 + 0.8 * y[:, None]
    X = np.array([[0.0, 0.0], [1.5, 0.5], [0.0, 2.0]])[y] + spread * rng.normal(size=(m, 2))
    return X * [1.0, 30.0] + [5.0, -100.0], y


@pytest.mark.parametrize("classes", [2, 3])
def test_without_room_it_is_linear_discriminant_analysis(classes):
    X, y = samples(classes=classes)
    model, lda = CoupledDiscriminant(0.0).fit(X, y), LinearDiscriminant().fit(X, y)
    assert model.means_ == pytest.approx(lda.means_, rel=1e-4)
    assert model.covariance_ == pytest.approx(lda.covariance_, rel=1e-4, abs=1e-4 * np.abs(lda.covariance_).max())
    assert model.predict_joint_log_proba(X) == pytest.approx(lda.predict_joint_log_proba(X), abs=1e-3)
    assert np.array_equal(model.means_, model.density_means_)
    near = CoupledDiscriminant(1e-3).fit(X, y)
    assert near.predict_log_proba(X) == pytest.approx(lda.predict_log_proba(X), abs=1e-2)


@pytest.mark.parametrize("classes", [2, 3])
def test_with_all_room_it_is_logistic_regression(classes):
    X, y = samples(classes=classes)
    model, logistic = CoupledDiscriminant(np.inf, max_iter=5000).fit(X, y), LogisticRegression(C=np.inf).fit(X, y)
    assert model.predict_log_proba(X) == pytest.approx(logistic.predict_log_proba(X), abs=1e-3)


@pytest.mark.parametrize("coupling", [0.0, 0.7, np.inf])
def test_the_gradient_is_that_of_the_objective(coupling):
    X, y = samples(40, 3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = CoupledLikelihood(X[:30], np.eye(3)[y[:30]] * 1.5, X[30:], coupling)
    v = problem.start()
    v = v + 0.3 * np.random.default_rng(1).normal(size=v.size)
    error = check_grad(lambda u: problem.value_and_gradient(u)[0], lambda u: problem.value_and_gradient(u)[1], v)
    assert error < 1e-5
