"""Sub-gradient descent on the hinge loss comes near the minimum that the quadratic program finds."""

import numpy as np
import pytest
import scipy.sparse as sp

from models import SVC, SubgradientSVC
from tests.support.svm_data import breast_cancer, two_classes, wine


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C, worst", [(0.01, 1e-5), (1.0, 1e-3)])
def test_it_comes_near_the_minimum(C, worst, bias):
    for X, y in (two_classes(100, 5), breast_cancer()):
        program = SVC(C=C, kernel="linear", fit_intercept=bias).fit(X, y)
        descent = SubgradientSVC(C=C, fit_intercept=bias).fit(X, y)
        signs = np.where(y == descent.classes_[1], 1.0, -1.0)
        hinge = np.maximum(0.0, 1.0 - signs * descent.decision_function(X)).sum()
        objective = 0.5 * (descent.coef_**2).sum() + C * hinge
        minimum = -program.solution_.objective
        assert descent.objectives_[0].min() == pytest.approx(objective, rel=1e-9)
        assert minimum * (1.0 - 1e-9) <= objective <= minimum * (1.0 + worst)
        assert descent.n_iter_ == descent.objectives_[0].size


def test_weights_sparse_samples_and_more_classes():
    X, y = wine(3)
    weights = np.random.default_rng(0).integers(0, 3, size=y.size)
    one = SubgradientSVC(max_iter=500).fit(X, y, sample_weight=weights)
    other = SubgradientSVC(max_iter=500).fit(sp.csr_array(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    assert one.coef_.shape == (3, 13) and one.score(X, y) > 0.95


def test_a_hard_margin_has_no_hinge_loss():
    X, y = two_classes()
    with pytest.raises(ValueError, match="C must be finite"):
        SubgradientSVC(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight is zero for every sample of the classes \[-1\]"):
        SubgradientSVC().fit(X, y, sample_weight=(y > 0) * 1.0)
