"""Support vector regression: the forms agree, the KKT conditions hold, the protocol is kept."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from models import SVR
from models.svm.kernels import Kernel


def curve(samples=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, 3))
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.2 * rng.normal(size=samples)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("C, epsilon", [(1.0, 0.2), (10.0, 0.0), (np.inf, 2.5)])
@pytest.mark.parametrize("bias", [True, False])
def test_all_forms_agree_and_kkt_holds(kernel, C, epsilon, bias):
    X, y = curve()
    case = {"C": C, "epsilon": epsilon, "kernel": kernel, "fit_intercept": bias, "tol": 1e-11}
    dual, primal = (SVR(solver=solver, **case).fit(X, y) for solver in ("dual", "primal"))
    sparse = SVR(**case).fit(sp.csr_array(X), y)
    assert primal.solution_.objective == pytest.approx(-dual.solution_.objective, rel=1e-6)
    np.testing.assert_allclose(primal.predict(X), dual.predict(X), atol=1e-6)
    np.testing.assert_allclose(sparse.predict(X), dual.predict(X), atol=1e-6)

    beta = np.zeros(y.size)
    beta[dual.support_] = dual.dual_coef_[0]
    residual = y - dual.predict(X)
    assert (np.abs(beta) <= C).all()
    assert (np.abs(residual[beta == 0.0]) <= epsilon + 1e-6).all()
    assert (np.sign(residual[beta != 0.0]) * np.sign(beta[beta != 0.0]) >= 0.0).all() or epsilon == 0.0
    at_edge = (beta != 0.0) & (np.abs(beta) < C)
    np.testing.assert_allclose(np.abs(residual[at_edge]), epsilon, atol=1e-5)
    assert (np.abs(residual[np.abs(beta) == C]) >= epsilon - 1e-6).all()


def test_weights_are_copies_and_zero_weights_are_removal():
    X, y = curve()
    weights = np.random.default_rng(1).integers(0, 4, size=y.size)
    weighted = SVR(tol=1e-12).fit(X, y, sample_weight=weights)
    copied = SVR(tol=1e-12).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-6)
    assert (weights[weighted.support_] > 0).all()


def test_precomputed_grid_search_and_pickle():
    X, y = curve()
    K = Kernel("rbf", gamma=0.5).gram(X)
    named, given = SVR(gamma=0.5).fit(X, y), SVR(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.predict(K), named.predict(X), atol=1e-9)
    search = GridSearchCV(make_pipeline(StandardScaler(), SVR()), {"svr__C": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"svr__C": 10.0} and search.best_score_ > 0.5
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(named)).predict(X), named.predict(X))


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"C": 0.0}, "C must be a number above 0"),
        ({"epsilon": -0.1}, "epsilon must be a number of at least 0"),
        ({"solver": "smo"}, "solver must be one of"),
        ({"kernel": "tanh"}, "kernel must be one of"),
        ({"C": np.inf, "kernel": "linear"}, "no function of this kernel stays within epsilon of all targets"),
    ],
)
def test_what_cannot_be_done_says_so(parameters, words):
    X, y = curve()
    with pytest.raises(ValueError, match=words):
        SVR(**parameters).fit(X, y)
