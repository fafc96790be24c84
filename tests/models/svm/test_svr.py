"""Support vector regression: the forms agree, the KKT conditions hold, the protocol is kept."""

import numpy as np
import pytest
import scipy.sparse as sp

from models import SVR


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
