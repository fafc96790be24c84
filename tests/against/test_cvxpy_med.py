"""The dual of maximum entropy discrimination as cvxpy hands it to Clarabel, with its exponential cones."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from models import MEDClassifier
from models.score_spaces.med import MaximumEntropyDual

cvxpy = pytest.importorskip("cvxpy")


@pytest.mark.parametrize("a, c", [(1.0, 6.0), (0.5, 20.0), (3.0, 1.0)])
def test_the_same_value_and_the_same_weights(a, c):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[:120, :12], y[:120]
    F = np.where(y == 1, 1.0, -1.0)[:, None] * np.hstack([X, np.ones((120, 1))])
    lam = cvxpy.Variable(120, nonneg=True)
    dual = a * cvxpy.sum(lam) + cvxpy.sum(cvxpy.log(1 - lam / c)) - 0.5 * cvxpy.sum_squares(F.T @ lam)
    problem = cvxpy.Problem(cvxpy.Maximize(dual))
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    model = MEDClassifier(a, c).fit(X, y)
    theirs = F.T @ lam.value
    gap = MaximumEntropyDual(F, a, c).primal(theirs) - problem.value
    assert gap < 1e-7
    assert model.objective_[0] == pytest.approx(problem.value, rel=1e-6)
    ours = np.append(model.coef_[0], model.intercept_)
    # the primal is 1/2 |u|^2 plus a convex function: both are within sqrt(2 gap) of the one best u
    assert np.linalg.norm(ours - theirs) <= np.sqrt(2 * model.gap_[0]) + np.sqrt(2 * gap)
    np.testing.assert_allclose(ours, theirs, atol=1e-5 * abs(ours).max())
