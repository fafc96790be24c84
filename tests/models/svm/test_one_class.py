"""The region of one class: shares of samples, Parzen's density, the direct program, another solver, refusals."""

import numpy as np
import pytest
from sklearn import svm
from sklearn.metrics.pairwise import rbf_kernel

import models
from models import OneClassSVM
from tests.support.svm_data import breast_cancer, two_classes

X, _ = two_classes()


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.5])
def test_nu_lies_between_the_share_outside_and_that_of_support_vectors(nu):
    X, _ = breast_cancer()
    region = OneClassSVM(nu).fit(X)
    assert (region.decision_function(X) < -1e-9).sum() <= nu * X.shape[0] <= region.support_.size
    np.testing.assert_allclose(region.dual_coef_.sum(), nu * X.shape[0], rtol=1e-6)


def test_all_of_the_samples_outside_is_the_density_of_parzen():
    region = OneClassSVM(1.0, gamma=0.7).fit(X)
    np.testing.assert_allclose(region.score_samples(X), rbf_kernel(X, X, gamma=0.7).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_another_solver_finds_the_same(kernel):
    Z = X + 4.0
    ours, theirs = OneClassSVM(0.31, kernel).fit(Z), svm.OneClassSVM(nu=0.31, kernel=kernel, tol=1e-10).fit(Z)
    scale = np.abs(theirs.score_samples(Z)).max()
    np.testing.assert_allclose(ours.decision_function(Z) / scale, theirs.decision_function(Z) / scale, atol=1e-5)


def test_zero_among_the_samples_leaves_no_half_space():
    with pytest.warns(UserWarning, match="zero is within"):
        region = OneClassSVM(0.2, "linear").fit(np.vstack([X, -X]))
    assert not region.coef_.any() and (region.fit_predict(X + 5.0) == 1).mean() > 0.7


def test_a_kernel_with_a_name_gives_rows_on_demand_and_the_answer_of_its_matrix():
    X = np.random.default_rng(0).normal(size=(300, 5))
    rows = OneClassSVM(nu=0.2, gamma=0.1).fit(X)
    K = rows.kernel_(X, X)
    matrix = OneClassSVM(nu=0.2, kernel="precomputed").fit(K)
    assert isinstance(rows.program_.P, models.KernelMatrix)
    np.testing.assert_allclose(rows.decision_function(X), matrix.decision_function(K), atol=1e-8)
    assert rows.support_.tolist() == matrix.support_.tolist()
