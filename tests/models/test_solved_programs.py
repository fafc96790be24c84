"""Each `program_` is the program that is stated here from the data; `solution_` solves it, and f follows from it."""

import functools
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import models
import qp
import socp
from models.explanations import dual as explained
from models.programs import explanations, linear, margins, moments, nu, regions, tasks
from models.programs.one_class import one_class
from models.programs.separation import separation_program
from models.svm import path
from tests.support.kkt import kkt, same
from tests.support.svm_data import two_classes

C, TOL = 0.7, 1e-9
KKT = 1e-8  # the engine's promise, `models.base.estimator.GOOD`
EXACT = 1e-11  # tolerance of the oracle, whose objective then leaves f uncertain by about its root
NEAR = 1e-5


class Case(NamedTuple):
    """A fitted model, the program that it should solve, and f at the samples for an answer of that program."""

    model: object
    stated: object
    values: object
    found: object
    other: bool = False  # whether `program_` is the stated program in other variables


def data(samples=40, features=3):
    X, y = two_classes(samples, features, noise=1.0)
    return X, y.astype(float), X @ np.arange(1.0, features + 1.0) + np.random.default_rng(1).normal(size=samples)


def rbf(X, gamma=0.4):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


# a linear kernel's samples are centered, which changes only b
KERNELS = {"rbf": ({"gamma": 0.4}, rbf), "linear": ({}, lambda X: (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T)}


def classifier(name, kernel="rbf", shrinking=True, **settings):
    X, y, _ = data()
    own, gram = KERNELS[kernel]
    model = getattr(models, name)(kernel=kernel, tol=TOL, shrinking=shrinking, **own, **settings).fit(X, y)
    K, C_i = gram(X), np.full(y.size, C)
    stated = margins.dual_program(K * np.outer(y, y), y, C_i, True)
    return Case(model, stated, lambda a: K @ (a.x * y) + a.y[0], model.decision_function(X))


def regressor(kernel="rbf", epsilon=0.2, shrinking=True):
    X, _, t = data()
    own, gram = KERNELS[kernel]
    model = models.SVR(C=C, epsilon=epsilon, kernel=kernel, tol=TOL, shrinking=shrinking, **own).fit(X, t)
    K, s = gram(X), np.repeat([1.0, -1.0], t.size)
    P = np.tile(K, (2, 2)) * np.outer(s, s)
    stated = margins.dual_program(P, s, np.full(s.size, C), True, epsilon - s * np.tile(t, 2))
    return Case(model, stated, lambda a: K @ (a.x * s).reshape(2, -1).sum(axis=0) + a.y[0], model.predict(X))


def nu_classifier():
    X, y, _ = data()
    order = np.argsort(-y, kind="stable")
    X, y = X[order], y[order]
    model = models.NuSVC(nu=0.4, gamma=0.4, tol=TOL).fit(X, y)
    K = rbf(X)
    stated = nu.nu_dual(K * np.outer(y, y), y, np.ones(y.size), 0.4 * y.size)

    def values(a):
        rho, b = 0.5 * (a.y[1] - a.y[0]), a.y.mean()
        return (K @ (a.x * y) + b) / rho

    return Case(model, stated, values, model.decision_function(X))


def nu_regressor():
    X, _, t = data()
    model = models.NuSVR(nu=0.5, C=C, gamma=0.4, tol=TOL).fit(X, t)
    K, s = rbf(X), np.repeat([1.0, -1.0], t.size)
    P = np.tile(K, (2, 2)) * np.outer(s, s)
    stated = nu.nu_dual(P, s, np.full(s.size, C), 0.5 * C * t.size, -s * np.tile(t, 2))
    return Case(model, stated, lambda a: K @ (a.x * s).reshape(2, -1).sum(axis=0) + a.y.mean(), model.predict(X))


def one_class_machine():
    X, _, _ = data()
    model = models.OneClassSVM(nu=0.3, gamma=0.4, tol=TOL).fit(X)
    K = rbf(X)
    stated = one_class(K, np.ones(len(X)), 0.3)
    return Case(model, stated, lambda a: K @ a.x, model.score_samples(X))


def linear_classifier(loss="hinge", sparse=False, features=3, in_blocks=False):
    X, y, _ = data(features=features)
    model, given = models.LinearSVC(C=C, loss=loss, intercept_scaling=2.0, tol=1e-10), sp.csr_array(X) if sparse else X
    model = model.fit([(given[:7], y[:7]), (given[7:], y[7:])]) if in_blocks else model.fit(given, y)
    squared, F = loss == "squared_hinge", np.column_stack([X, np.full(y.size, 2.0)])
    size, d = (np.inf, 0.5 / C) if squared else (C, 0.0)
    bounds = np.where(y > 0.0, 0.0, -size), np.where(y > 0.0, size, 0.0)
    stated = linear.linear_dual(sp.csr_array(F) if sparse else F, np.full(y.size, d), -y, *bounds)
    return Case(model, stated, lambda a: F @ (F.T @ a.x[-y.size :]), model.decision_function(X))


def linear_regressor(loss="epsilon_insensitive", epsilon=0.3, features=3):
    X, _, t = data(features=features)
    model = models.LinearSVR(C=C, loss=loss, epsilon=epsilon, intercept_scaling=2.0, tol=1e-10).fit(X, t)
    squared, F = loss.startswith("squared"), np.column_stack([X, np.full(t.size, 2.0)])
    size, d = (np.inf, 0.5 / C) if squared else (C, 0.0)
    if epsilon > 0.0:
        F, q, low = np.vstack([F, -F]), np.concatenate([epsilon - t, epsilon + t]), 0.0
    else:
        q, low = -t, -size
    stated = linear.linear_dual(F, np.full(q.size, d), q, np.full(q.size, low), np.full(q.size, size))
    return Case(model, stated, lambda a: F[: t.size] @ (F.T @ a.x), model.predict(X))


def explained_classifier(penalty="l1", Q=0.3, descent=False):
    X, y, _ = data(features=6)
    V = X * (np.arange(6) < 4)
    settings = {"C": C, "Q": Q, "penalty": penalty, "tol": 1e-9}
    if descent:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(explained, "MOST_FORMED", 0)
            patch.setattr(explained, "MOST_FEATURES", 0)
            settings |= {"max_iter": 20_000}
            model = models.ExplanationAugmentedSVC(**settings).fit(sp.csr_array(X), y, explanations=sp.csr_array(V))
    else:
        model = models.ExplanationAugmentedSVC(**settings).fit(X, y, explanations=V)
    own = X - X.mean(axis=0)
    both = np.vstack([y[:, None] * own, X - V])
    stated = explanations.explained_dual(both @ both.T, y, np.full(40, C), np.full(40, Q), penalty, True)
    values = lambda a: own @ (both.T @ a.x) + a.y[0]  # noqa: E731
    return Case(model, stated, values, model.decision_function(X), descent)


def projected_classifier():
    X, y, _ = data(features=6)
    V = X * (np.arange(6) < 4)
    model = models.ExplanationAugmentedSVC(C=C, Q=np.inf, tol=1e-9).fit(X, y, explanations=V)
    X4 = (X - X.mean(axis=0))[:, :4]  # w is zero on the features that are left out
    stated = margins.dual_program((y[:, None] * X4) @ (y[:, None] * X4).T, y, np.full(40, C), True)
    return Case(model, stated, lambda a: X4 @ (X4.T @ (a.x * y)) + a.y[0], model.decision_function(X))


def related_tasks():
    X, y, _ = data()
    task = np.arange(40) % 2
    model = models.MultiTaskSVC(0.5, 3.0, tol=TOL, kernel="rbf", gamma=0.4).fit(X, y, tasks=task)
    K = rbf(X) * (1.0 + 3.0 * (task[:, None] == task)) / (2.0 * 0.5)
    stated = tasks.multi_task_dual(K * np.outer(y, y), y, task, np.ones(40))
    return Case(model, stated, lambda a: K @ (a.x * y) + a.y[task], model.decision_function(X, tasks=task))


def known_region():
    X, y, _ = data()
    D, d = np.vstack([np.eye(3), -np.eye(3)]), np.array([3.0, 1.0, 1.0, -2.0, 1.0, 1.0])
    model = models.KnowledgeSVC([(D, d, 1.0)], C=C, Q=2.0, tol=TOL).fit(X, y)
    p = regions.knowledge_program(X, y, np.full(40, C), [regions.Region(D, d, 1.0)], 2.0)
    return Case(model, p.program(), lambda a: X @ a.x[p.w] + a.x[p.b], model.decision_function(X))


def minimax():
    X, y, _ = data()
    model = models.MinimaxProbabilityClassifier(rho=0.0).fit(X, y)
    parts = [X[y < 0.0], X[y > 0.0]]
    scale = np.sqrt(np.mean([part.var(axis=0) for part in parts], axis=0))
    d = (parts[1].mean(axis=0) - parts[0].mean(axis=0)) / scale
    roots = [np.linalg.qr((part - part.mean(axis=0)) / scale / np.sqrt(len(part)))[1] for part in parts]
    unit = max(np.linalg.norm(R, 2) for R in roots)
    p = moments.minimax_program(d / np.linalg.norm(d), [R / unit for R in roots])
    radii = lambda a: [np.linalg.norm(R @ a.x[p.w]) for R in roots]  # noqa: E731

    def values(a):
        w, (r, s) = a.x[p.w] / scale / np.linalg.norm(d), radii(a)
        return (X - parts[0].mean(axis=0)) @ w - r / (r + s)

    return Case(model, p.program(), values, model.decision_function(X))


def separation():
    X, y, _ = data()
    y = np.sign(X[:, 0] + 0.1)
    with pytest.warns(UserWarning):
        model = models.LogisticRegression(C=np.inf).fit(X, y)
    stated = separation_program(y[:, None] * np.column_stack([X, np.ones(40)]))
    return Case(model, stated, lambda a: -a.objective, 40.0)


CASES = {
    "SVC": functools.partial(classifier, "SVC", C=C),
    "SVC, linear": functools.partial(classifier, "SVC", "linear", C=C),
    "SVC, one by one": functools.partial(classifier, "SVC", C=C, shrinking=False),
    "SVCCV": functools.partial(classifier, "SVCCV", Cs=[C], cv=2),
    "NuSVC": nu_classifier,
    "SVR": regressor,
    "SVR, linear": functools.partial(regressor, "linear"),
    "SVR, no tube": functools.partial(regressor, epsilon=0.0),
    "SVR, one by one": functools.partial(regressor, shrinking=False),
    "NuSVR": nu_regressor,
    "OneClassSVM": one_class_machine,
    "LinearSVC": functools.partial(linear_classifier, "squared_hinge"),
    "LinearSVC, in blocks": functools.partial(linear_classifier, "squared_hinge", in_blocks=True),
    "LinearSVC, sparse, in blocks": functools.partial(linear_classifier, "squared_hinge", True, in_blocks=True),
    "LinearSVC, hinge": linear_classifier,
    "LinearSVC, sparse": functools.partial(linear_classifier, sparse=True),
    "LinearSVC, wide": functools.partial(linear_classifier, features=60),
    "LinearSVC, wide, squared": functools.partial(linear_classifier, "squared_hinge", features=60),
    "LinearSVR": linear_regressor,
    "LinearSVR, no tube": functools.partial(linear_regressor, epsilon=0.0),
    "LinearSVR, squared": functools.partial(linear_regressor, "squared_epsilon_insensitive"),
    "LinearSVR, wide": functools.partial(linear_regressor, features=60),
    "ExplanationAugmentedSVC": explained_classifier,
    "ExplanationAugmentedSVC, squared": functools.partial(explained_classifier, "l2"),
    "ExplanationAugmentedSVC, perfect": projected_classifier,
    "ExplanationAugmentedSVC, sparse": functools.partial(explained_classifier, descent=True),
    "MultiTaskSVC": related_tasks,
    "KnowledgeSVC": known_region,
    "MinimaxProbabilityClassifier": minimax,
    "LogisticRegression": separation,
}


IN_SERIES = ("SVC", "SVCCV", "NuSVC", "SVR", "SVR, no tube", "NuSVR")  # a wrong answer is solved once more otherwise


@pytest.mark.parametrize("name", CASES)
def test_the_program_is_the_stated_one_its_solution_solves_it_and_f_follows(name):
    case = CASES[name]()
    program, solution = case.model.program_, case.model.solution_
    cones = isinstance(program, socp.ConeProgram)
    assert name not in IN_SERIES or solution.message.startswith("the stopping test holds; active set")
    assert isinstance(solution, socp.Solution if cones else qp.Solution)
    assert solution.status == "optimal" and kkt(program, solution).worst <= KKT
    assert case.other or same(program, case.stated)
    answer = (socp if cones else qp).solve(case.stated, tol=EXACT, max_iter=300)
    np.testing.assert_allclose(case.found, case.values(answer), atol=NEAR)
    assert solution.objective == pytest.approx(answer.objective, rel=1e-7)


PRIMALS = {
    "LinearSVC": ("hinge", 0.0), "LinearSVC, squared": ("squared_hinge", 0.0),
    "LinearSVR": ("epsilon_insensitive", 0.3), "LinearSVR, squared": ("squared_epsilon_insensitive", 0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", PRIMALS)
def test_newton_steps_in_the_primal_solve_the_stated_primal(name):
    """`LinearSVC` and `LinearSVR` on more samples than features, against `linear_primal` solved by the engine."""
    loss, epsilon = PRIMALS[name]
    X, y, t = data(60, 4)
    given = {"C": C, "loss": loss, "intercept_scaling": 2.0, "tol": 1e-11}
    if epsilon:
        model = models.LinearSVR(epsilon=epsilon, **given).fit(X, t)
        rows, signs, q = np.vstack([X, X]), np.repeat([1.0, -1.0], 60), np.tile(t, 2)
    else:
        model, rows, signs, q = models.LinearSVC(**given).fit(X, y), X, y, y
    prices = np.full(q.size, C)
    program = linear.linear_primal(rows, signs, q, prices, loss.startswith("squared"), 2.0, epsilon)
    answer = qp.solve(program, tol=EXACT)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_ / 2.0), answer.x[:5], atol=NEAR)
    assert model.objective_ == pytest.approx(answer.objective, rel=1e-8)
    assert model.dual_objective_ == pytest.approx(answer.objective, rel=1e-8)


@pytest.mark.parametrize("bias", [True, False])
def test_the_series_solves_the_signed_dual_which_is_the_dual(bias):
    X, y, _ = data()
    K, price = rbf(X), np.full(40, C)
    matrix = models.Kernel("rbf", gamma=0.4).matrix(X, np.ones(40), 10.0)
    low, high = np.minimum(y * C, 0.0), np.maximum(y * C, 0.0)
    found = models.solve_series(
        matrix, np.arange(40), np.array([0, 40]), -y, low, high, sides=np.zeros((1, int(bias))), tol=TOL
    )
    signed = qp.solve(margins.signed_dual(K, y, low, high, bias), tol=EXACT)
    dual = qp.solve(margins.dual_program(K * np.outer(y, y), y, price, bias), tol=EXACT)
    np.testing.assert_allclose(K @ found.x, K @ signed.x, atol=NEAR)
    np.testing.assert_allclose(K @ signed.x, K @ (y * dual.x), atol=NEAR)
    assert signed.objective == pytest.approx(dual.objective, rel=1e-9)


def test_the_signed_dual_with_two_sums_is_the_dual_with_nu():
    X, y, _ = data()
    K, low, high = rbf(X), np.minimum(y, 0.0), np.maximum(y, 0.0)
    signed = qp.solve(margins.signed_dual(K, 0.0 * y, low, high, True, y, 0.4 * 40), tol=EXACT)
    share = qp.solve(nu.nu_dual(K * np.outer(y, y), y, np.ones(40), 0.4 * 40), tol=EXACT)
    assert signed.objective == pytest.approx(share.objective, rel=1e-9)
    np.testing.assert_allclose(K @ signed.x, K @ (y * share.x), atol=NEAR)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_machines_of_a_path_are_those_of_the_dual(C):
    X, y, _ = data(50)
    codes, ones, t = (y > 0.0).astype(int), np.ones(50), np.where(np.arange(50) < 40, y, 0.0)
    kernel, asked = models.Kernel("rbf", gamma=0.4), np.arange(40, 50)
    samples = path.Samples(X, codes, ones, np.array([-1, 1]), kernel, True, None, "ovo", 10.0)
    made, K, u = path.Path(samples, {"tol": 1e-9, "max_iter": 200}), rbf(X), y[:40]
    exact = qp.solve(margins.dual_program(K[:40, :40] * np.outer(u, u), u, np.full(40, C), True), tol=EXACT)
    f, Cs = K[40:, :40] @ (exact.x * u) + exact.y[0], np.array([0.1 * C, C])
    for found in (made.follow(t, ones, Cs, asked), np.array(list(made._one_by_one(t, ones, Cs, asked)))):
        np.testing.assert_allclose(found[1], f, atol=NEAR)
