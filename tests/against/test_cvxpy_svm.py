"""Every form of the support vector machines against its primal program, written in cvxpy and solved by Clarabel."""

import cvxpy as cp
import numpy as np
import pytest

from models import SVC, SVR, ExplanationAugmentedSVC, MultiTaskSVC
from models.kernels.kernel import Kernel
from tests.support.svm_data import separable, two_classes

REL = 1e-6
POLY = Kernel("poly", gamma=0.25, degree=3, coef0=1.0)


def solve(objective, constraints=()):
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == "optimal"
    return problem.value


def root(K):
    """Return F with K = F F', computed from the eigenvalues."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def objective_of(machine):
    """Return the primal objective of `machine`, whether its program was the primal or the negated dual."""
    return machine.solution_.objective if machine.solution_.objective > 0.0 else -machine.solution_.objective


@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.3, 20.0, np.inf])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_svc(solver, bias, C, kernel):
    X, y = separable() if C == np.inf else two_classes()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=y.size)
    F = X if kernel == "linear" else root(Kernel("rbf", gamma=0.5).gram(X))
    w, b = cp.Variable(F.shape[1]), cp.Variable() if bias else 0.0
    margins = cp.multiply(y, F @ w + b)
    if C == np.inf:
        expected = solve(0.5 * cp.sum_squares(w), [margins >= 1.0])
    else:
        expected = solve(0.5 * cp.sum_squares(w) + C * (weights @ cp.pos(1.0 - margins)))
    machine = SVC(C=C, kernel=kernel, gamma=0.5, solver=solver, fit_intercept=bias).fit(X, y, sample_weight=weights)
    assert objective_of(machine) == pytest.approx(expected, rel=REL)
    np.testing.assert_allclose(machine.decision_function(X), (F @ w + b).value, atol=1e-4)


@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C, epsilon", [(1.0, 0.2), (50.0, 0.0), (np.inf, 1.5)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_svr(solver, bias, C, epsilon, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.2 * rng.normal(size=40)
    weights = rng.uniform(0.5, 2.0, size=y.size)
    F = X if kernel == "linear" else root(Kernel("rbf", gamma=0.5).gram(X))
    w, b = cp.Variable(3 if kernel == "linear" else 40), cp.Variable() if bias else 0.0
    residual = cp.abs(y - F @ w - b)
    if C == np.inf:
        expected = solve(0.5 * cp.sum_squares(w), [residual <= epsilon])
    else:
        expected = solve(0.5 * cp.sum_squares(w) + C * (weights @ cp.pos(residual - epsilon)))
    machine = SVR(C=C, epsilon=epsilon, kernel=kernel, gamma=0.5, solver=solver, fit_intercept=bias)
    machine.fit(X, y, sample_weight=weights)
    assert objective_of(machine) == pytest.approx(expected, rel=REL)
    np.testing.assert_allclose(machine.predict(X), (F @ w + b).value, atol=1e-4)


@pytest.mark.parametrize("C1, C2", [(1.0, 1000.0), (0.1, 1.0), (0.02, 0.1)])
@pytest.mark.parametrize("shape", [(90, 3), (40, 20)], ids=["tall", "wide"])
def test_multi_task(C1, C2, shape):
    rng = np.random.default_rng(0)
    tasks = rng.integers(3, size=shape[0])
    X = rng.normal(size=shape)
    directions = rng.normal(size=shape[1]) + 0.5 * rng.normal(size=(3, shape[1]))
    y = np.where((X * directions[tasks]).sum(axis=1) + 0.4 * rng.normal(size=shape[0]) > 0, 1, -1)
    W, w0, b = cp.Variable((3, shape[1])), cp.Variable(shape[1]), cp.Variable(3)
    margins = cp.multiply(y, cp.sum(cp.multiply(X, W[tasks]), axis=1) + b[tasks])
    apart = cp.sum_squares(W - cp.vstack([w0] * 3))
    expected = solve(cp.sum(cp.pos(1.0 - margins)) + C1 / C2 * apart + C1 * cp.sum_squares(w0))  # (5.3)-(5.5)
    machine = MultiTaskSVC(C1=C1, C2=C2).fit(X, y, tasks=tasks)
    assert objective_of(machine) == pytest.approx(expected, rel=REL)
    np.testing.assert_allclose(machine.coef_, W.value, atol=1e-4)
    np.testing.assert_allclose(machine.common_coef_, w0.value, atol=1e-4)
    np.testing.assert_allclose(machine.intercept_, b.value, atol=1e-4)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.5, np.inf])
@pytest.mark.parametrize(
    "penalty, Q", [("l1", 0.05), ("l1", 2.0), ("l2", 0.05), ("l2", 2.0), ("l1", np.inf), ("l1", 0.0)]
)
@pytest.mark.parametrize("kernel", ["linear", "poly", "wide"])
def test_explanations(bias, C, penalty, Q, kernel):
    shape = {"linear": (40, 4), "poly": (30, 4), "wide": (20, 30)}[kernel]
    X, y = separable(*shape) if C == np.inf else two_classes(*shape)
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.5, 2.0, size=y.size)
    owner = np.sort(rng.integers(y.size, size=y.size))  # owners repeat: an example has none, one or several
    mask = rng.random((owner.size, shape[1])) < 0.7
    mask[:, 0] = True
    V = X[owner] * mask
    given = [mask[owner == i] if (owner == i).any() else None for i in range(y.size)]
    both = np.vstack([X, V])
    F = root(POLY.gram(both)) if kernel == "poly" else both
    phi, difference = F[: y.size], F[owner] - F[y.size :]
    w, b = cp.Variable(F.shape[1]), cp.Variable() if bias else 0.0
    margins, deviation = cp.multiply(y, phi @ w + b), difference @ w
    value, constraints = 0.5 * cp.sum_squares(w), []
    if C == np.inf:
        constraints.append(margins >= 1.0)
    else:
        value += C * (weights @ cp.pos(1.0 - margins))
    if np.isinf(Q):
        constraints.append(deviation == 0.0)
    elif Q > 0.0:
        value += Q * (weights[owner] @ (cp.abs(deviation) if penalty == "l1" else cp.square(deviation)))
    expected = solve(value, constraints)
    machine = ExplanationAugmentedSVC(
        C=C, Q=Q, penalty=penalty, kernel="poly" if kernel == "poly" else "linear", gamma=0.25, coef0=1.0,
        fit_intercept=bias,
    ).fit(X, y, weights, explanations=given)  # fmt: skip
    assert objective_of(machine) == pytest.approx(expected, rel=REL)
    np.testing.assert_allclose(machine.decision_function(X), (phi @ w + b).value, atol=1e-4)
