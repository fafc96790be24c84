"""Linear machines on columns far from zero and of very different sizes: the published w and b are what was solved."""

import numpy as np
import pytest
import scipy.sparse as sp

import models

COLUMNS = [(-8e7, 1e7), (1e8, 1.0), (0.0, 1e9), (1e10, 1e-3), (1e8, 1e8)]


def samples(mean, deviation, n=300, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, 0] = mean + deviation * X[:, 0]
    return X, X[:, 1] + 0.5 * rng.normal(size=n)


def objective(machine, X, loss):
    """Return the primal objective of `coef_` and `intercept_`, with products in extended precision."""
    w, b = machine.coef_[0].astype(np.longdouble), machine.intercept_[0]
    return float(0.5 * w @ w + loss(X.astype(np.longdouble) @ w + b).sum())


@pytest.mark.filterwarnings("ignore::UserWarning:models")
@pytest.mark.parametrize(("mean", "deviation"), COLUMNS)
def test_classifiers_and_regressions_attain_the_dual_objective(mean, deviation):
    X, t = samples(mean, deviation)
    s = np.sign(t)
    svc = models.SVC(kernel="linear").fit(X, s)
    bound = abs(svc.solution_.objective)
    assert objective(svc, X, lambda f: np.maximum(0.0, 1.0 - s * f)) == pytest.approx(bound, rel=1e-5)
    np.testing.assert_allclose(svc.margin_, 1.0 / np.linalg.norm(svc.coef_), rtol=1e-5)
    svr = models.SVR(kernel="linear").fit(X, t)
    bound = abs(svr.solution_.objective)
    assert objective(svr, X, lambda f: np.maximum(0.0, abs(t - f) - 0.1)) == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize("machine", [models.SVC(kernel="linear"), models.NuSVC(kernel="linear"),
                                     models.SVC(kernel="linear", multi_class="ovr")])  # fmt: skip
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_an_offset_moves_the_intercept_only(machine, form):
    X, t = samples(0.0, 1.0)
    X, y = np.round(X * 64.0) / 64.0, np.digitize(t, [-0.5, 0.5])
    offset = 2.0**20 * np.array([1.0, -1.0, 1.0, 2.0, -1.0])
    near = machine.fit(form(X), y)
    w, values = near.coef_, near.decision_function(form(X))
    far = machine.fit(form(X + offset), y)
    np.testing.assert_allclose(far.coef_, w, atol=1e-9)
    np.testing.assert_allclose(far.decision_function(form(X + offset)), values, atol=1e-8)


def test_an_objective_that_is_not_proven_is_told():
    X, t = samples(0.0, 1e9)
    with pytest.warns(UserWarning, match=r"the objective of coef_ and intercept_ is .* only .* is proven"):
        models.SVC(kernel="linear", max_iter=1, shrinking=False).fit(X, np.sign(t))
