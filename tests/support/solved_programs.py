"""Estimators with the program that each should solve, stated from the data, and f of an answer of that program.

`CASES` has every estimator of `models` that solves a program, in every way in which it is solved.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import models
import qp
from models.base.copies import merge_copies
from models.explanations import dual as explained
from models.programs import bilevel, classes, discrimination, explanations, linear, margins, moments, nu, regions, tasks
from models.programs.one_class import one_class
from models.programs.separation import separation_program
from models.score_spaces import large_margin_hmm, mss
from models.topics.topics import LatentDirichletAllocation
from tests.support.svm_data import two_classes

C, TOL = 0.7, 1e-9


class Case(NamedTuple):
    """A fitted model, the program that it should solve, and f at the samples for an answer of that program."""

    model: object
    stated: object
    values: object
    found: object
    other: bool = False  # whether `program_` is the stated program in other variables
    sign: float = 1.0  # -1 if `program_` is the dual of the stated program


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


def minimum_of_entropy(model, F, a, c):
    """Return the quadratic model of the dual at its own minimizer, which is that of the dual itself."""
    (lam,) = model.multipliers_
    ones = np.ones(lam.size)
    return discrimination.med_newton_program(F @ F.T, ones, a - 1.0 / (c - lam), c, lam)


def entropy_discrimination():
    X, y, _ = data()
    model, F = models.MEDClassifier(a=1.5, c=4.0, tol=1e-12).fit(X, y), y[:, None] * np.column_stack([X, np.ones(40)])
    stated = minimum_of_entropy(model, F, 1.5, 4.0)
    return Case(model, stated, lambda a: y * (F @ (F.T @ a.x)), model.decision_function(X), True)


def score_space():
    """Record the tables of statistics; the classifier's program is stated from the last of them."""
    rng = np.random.default_rng(0)
    words, y = [rng.integers(0, 3, size=6) for _ in range(12)], np.where(np.arange(12) % 2, 1.0, -1.0)
    tables, phi = [], mss._Scaling.phi
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mss._Scaling, "phi", lambda self, table: tables.append(table) or phi(self, table))
        template = models.DiscreteHMM(2, random_state=0)
        model = models.MaxMarginScoreSpace(template, a=1.5, c=4.0, n_init=1, max_iter=2).fit(words, y)
    mean = tables[0].mean(axis=0)
    size = np.sqrt(((tables[0] - mean) ** 2).sum(axis=1).mean())
    F = y[:, None] * np.column_stack([(tables[-1] - mean) / size, np.ones(12)])
    found = tables[-1] @ model.coef_[0] + model.intercept_
    return Case(model, minimum_of_entropy(model, F, 1.5, 4.0), lambda a: y * (F @ (F.T @ a.x)), found, True)


def aligned_chains():
    """All paths of the other class stand in one program, aligned to the paths of the own class under the last w."""
    rng = np.random.default_rng(1)
    words, codes = [rng.integers(0, 2, size=3) for _ in range(8)], np.arange(8) % 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_margin_hmm, "CUT_TOL", 1e-9)
        model = models.LargeMarginHMM(2, C=C, tol=0.0, max_iter=30, random_state=0).fit(words, codes)
    paths = np.array(list(itertools.product(range(2), repeat=3)))

    def statistics(x, path):
        starts, moves, signs = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
        starts[path[0]] = 1.0
        np.add.at(moves, (path[:-1], path[1:]), 1.0)
        np.add.at(signs, (path, x), 1.0)
        return np.concatenate([starts, moves.ravel(), signs.ravel()])

    w = np.stack([np.concatenate([part[k].ravel() for part in (model.starts_, model.transitions_, model.emissions_)])
                  for k in range(2)])  # fmt: skip
    parts = [[np.log(part).ravel() for part in (m.startprob_, m.transmat_, m.emissionprob_)] for m in model.models_]
    start = np.concatenate([np.concatenate(part) for part in parts])
    T = np.array([[statistics(x, path) for path in paths] for x in words])
    rows, owner = [], np.repeat(np.arange(8), len(paths))
    for k, own in zip(codes, T):
        aligned = own[(own @ w[k]).argmax()]
        rows += [(aligned, -other)[:: 1 - 2 * k] for other in own]
    A = np.array([np.concatenate(row) for row in rows])
    p = qp.Blocks(w=start.size, xi=8)
    p.minimize(w=-start, xi=C, quadratic={"w": 1.0}, offset=0.5 * start @ start)
    p.at_least(1.0, w=A, xi=np.eye(8)[owner])
    p.bounds(xi=(0.0, None))
    scores = lambda w: np.array([(own @ w.T).max(axis=0) @ [-1.0, 1.0] for own in T])  # noqa: E731
    values = lambda a: scores(a.x[p.w].reshape(2, -1))  # noqa: E731
    return Case(model, p.program(), values, model.decision_function(words), True, -1.0)


def topics_with_margins():
    """Record the topics' shares; the classifier's program is stated from those of the round that is kept."""
    rng, codes = np.random.default_rng(3), np.arange(12) % 3
    counts, weights = rng.poisson(1.0 + 6.0 * (np.arange(6) // 2 == codes[:, None])) + 1, rng.uniform(0.5, 2.0, 12)
    order = merge_copies(counts, codes, weights)[0]
    counts, codes, weights = counts[order], codes[order], weights[order]
    rounds, infer = [], LatentDirichletAllocation._infer

    def recorded(self, documents, gamma=None, weight=None, tilt=None):
        found = infer(self, documents, gamma, weight, tilt=tilt)
        if tilt is not None:
            rounds.append(found[0] - self.doc_topic_prior_)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LatentDirichletAllocation, "_infer", recorded)
        model = models.MedLDA(3, C=C, max_iter=4, random_state=0).fit(counts, codes, sample_weight=weights)
    shares = rounds[int(model.objectives_.argmin())] / counts.sum(axis=1, keepdims=True)
    F, owner = [], np.repeat(np.arange(12), 2)
    for z, k in zip(shares, codes):
        F += [np.outer(np.eye(3)[k] - np.eye(3)[other], z).ravel() for other in range(3) if other != k]
    F = np.array(F)
    stated = classes.crammer_singer_dual(F @ F.T, owner, C * weights)
    return Case(model, stated, lambda a: F.T @ a.x, model.coef_.ravel())


def separated_evidence():
    """Count the evidence of each document without it."""
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    regions = [rng.multinomial(size, [[0.9, 0.05, 0.05], [0.05, 0.05, 0.9]][k]) for k in y for size in (20, 30)]
    counts = np.array(regions).reshape(40, 2, 3)
    with pytest.warns(UserWarning, match="separate"):
        model = models.HybridNaiveBayes(regions=2).fit(counts.reshape(40, 6), y)
    rows = []
    for i, k in enumerate(y):
        others = np.arange(40) != i
        N = np.array([counts[others & (y == other)].sum(axis=(0, 1)) for other in (0, 1)]) + 1.0
        b = counts[i] @ np.log(N / N.sum(axis=1, keepdims=True)).T / counts[i].sum(axis=1, keepdims=True)
        rows.append((2.0 * k - 1.0) * np.concatenate([[1.0], b[:, 1] - b[:, 0]]))
    return Case(model, separation_program(np.array(rows)), lambda a: -a.objective, 40.0)


def hyperplane_and_means():
    X, y, _ = data()
    Sigma = (np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.3, 0.7]))
    prior = models.GenerativePrior(([-0.5, 0.2, 0.0], [0.6, 0.0, 0.1]), (0.3, 0.2), Sigma)
    settings = {"beta": 0.4, "phi": 0.05, "C1": C, "C2": 2.0, "Q": 0.0, "tol": 1e-12}
    model = models.BilevelClassifier(prior, **settings).fit(X, y)
    roots = [sp.csr_array(np.diag(np.sqrt(one))) for one in Sigma]
    p, _ = bilevel.hyperplane_program(
        bilevel.Samples(X, y, np.ones(40)), model.means_, roots, bilevel.Constants(0.4, 0.05, C, 2.0, np.inf)
    )
    values = lambda a: X @ a.x[p.w] + a.x[p.b]  # noqa: E731
    return Case(model, p.program(), values, model.decision_function(X))


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
    "HybridNaiveBayes": separated_evidence,
    "MEDClassifier": entropy_discrimination,
    "MaxMarginScoreSpace": score_space,
    "LargeMarginHMM": aligned_chains,
    "MedLDA": topics_with_margins,
    "BilevelClassifier": hyperplane_and_means,
}
