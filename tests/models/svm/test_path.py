"""Machines along C, and C by cross-validation: each as if it were fitted alone."""

import numpy as np
import pytest

from models import SVC, SVCCV
from models.base.multiclass import stratified_folds
from models.svm import path as module
from tests.support.svm_data import breast_cancer

CS = [0.3, 1.0, 40.0]


def samples(n=120, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(f, np.arange(1, classes) / classes), f)


def positive(A, B):
    return np.exp(-0.3 * np.abs(A[:, None] - B[None]).sum(axis=2))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", positive])
@pytest.mark.parametrize("classes, scheme", [(2, "ovo"), (3, "ovo"), (3, "ovr")])
@pytest.mark.parametrize("bias", [True, False])
def test_a_path_is_what_machines_fitted_alone_are(kernel, classes, scheme, bias):
    X, y = samples(classes=classes)
    weights = np.where(np.arange(y.size) % 7 == 0, 0.0, 1.0 + np.arange(y.size) % 3)
    options = {"kernel": kernel, "multi_class": scheme, "fit_intercept": bias, "class_weight": "balanced"}
    used = weights > 0.0
    machine = SVC(**options).fit(X, y, weights)
    shared = module.Samples(
        X, y, weights, machine.classes_, machine.kernel_, bias, "balanced", scheme, machine.cache_size
    )
    path = module.Path(shared, {"tol": 1e-10, "max_iter": 200})
    asked = np.flatnonzero(~used)
    found = np.array([path.follow(*one, np.array(CS), asked) for one in shared.problems(np.flatnonzero(used))])
    for j, C in enumerate(CS):
        alone = SVC(C=C, **options).fit(X, y, weights)._decisions(X[asked])
        np.testing.assert_allclose(found[:, j].T, alone, atol=1e-5 * (1.0 + np.abs(alone).max()))


@pytest.mark.parametrize("classes, scheme", [(2, "ovo"), (3, "ovo"), (3, "ovr")])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_scores_are_those_of_machines_fitted_to_each_fold_alone(classes, scheme, kernel):
    X, y = samples(classes=classes)
    if kernel == "precomputed":
        X = positive(X, X)
    weights = 1.0 + np.arange(y.size) % 4
    options = {"kernel": kernel, "multi_class": scheme, "gamma": 0.4, "class_weight": "balanced"}
    found = SVCCV(CS[::-1], cv=4, **options).fit(X, y, weights)
    assert found.Cs_.tolist() == CS and found.scores_.shape == (3, 4)
    for f, test in enumerate(stratified_folds(y, 4)):
        train = np.delete(np.arange(y.size), test)
        held_in = X[np.ix_(train, train)] if kernel == "precomputed" else X[train]
        held_out = X[np.ix_(test, train)] if kernel == "precomputed" else X[test]
        for c, C in enumerate(CS):
            alone = SVC(C=C, **options).fit(held_in, y[train], weights[train])
            assert found.scores_[c, f] == pytest.approx(alone.score(held_out, y[test], weights[test]))
    assert found.C_ == CS[found.scores_.mean(axis=1).round(12).argmax()]
    same = SVC(C=found.C_, **options).fit(X, y, weights)
    np.testing.assert_array_equal(found.decision_function(X), same.decision_function(X))
    assert not hasattr(found, "C") and found.n_features_in_ == X.shape[1]


def test_folds_may_be_given_and_need_not_hold_all_samples():
    X, y = samples()
    folds = stratified_folds(y, 3)
    pairs = [(np.setdiff1d(np.arange(y.size), fold), fold) for fold in folds]
    by_number, by_places = SVCCV(CS, cv=3).fit(X, y), SVCCV(CS, cv=iter(pairs)).fit(X, y)
    masks = [(~np.isin(np.arange(y.size), fold), np.isin(np.arange(y.size), fold)) for fold in folds]
    np.testing.assert_array_equal(by_number.scores_, by_places.scores_)
    np.testing.assert_array_equal(by_number.scores_, SVCCV(CS, cv=masks).fit(X, y).scores_)
    one = SVCCV(CS, cv=[(np.arange(60), np.arange(60, 80)), (np.arange(60), [80])]).fit(X, y)
    assert one.scores_.shape == (3, 2)
    weights = np.where(np.arange(y.size) % 5 == 0, 0.0, 1.0)
    left = np.flatnonzero(weights)
    inner = [np.flatnonzero(np.isin(left, fold)) for fold in folds]
    few = SVCCV(CS, cv=[(np.delete(np.arange(left.size), own), own) for own in inner], gamma=0.4).fit(X[left], y[left])
    np.testing.assert_array_equal(SVCCV(CS, cv=pairs, gamma=0.4).fit(X, y, weights).scores_, few.scores_)
    for wrong in ([], [(left, left[:0])], [pairs[0], (left, left[:0])], [pairs[0], (left, [0, 5])]):
        with pytest.raises(ValueError, match="cv must have folds, and each must hold out samples whose weight is not"):
            SVCCV(CS, cv=wrong).fit(X, y, weights)


def test_rows_are_made_once_for_all_folds_and_C(monkeypatch):
    made, rows = [], module.KernelMatrix.kernel_rows
    monkeypatch.setattr(module.KernelMatrix, "kernel_rows", lambda self, which: made.extend(which) or rows(self, which))
    SVCCV(np.logspace(-2, 2, 8), kernel=semidefinite()).fit(*samples())
    first = len(made)
    assert 0 < first <= 120 + np.unique(made).size  # rows of the folds' machines and of the machine of all samples


def semidefinite():
    def kernel(A, B):
        return positive(A, B)

    kernel.is_semidefinite = True
    return kernel


def test_the_chosen_machine_has_what_its_own_fit_gives_it():
    X, y = breast_cancer()
    chosen = SVCCV(Cs=[0.1, 1.0], cv=3).fit(X, y)
    machine = SVC(chosen.C_).fit(X, y)
    names = {name for name in dir(machine) if name.endswith("_") and name[0] != "_" and hasattr(machine, name)}
    assert all(hasattr(chosen, name) for name in names) and "support_kinds_" in names
    np.testing.assert_array_equal(chosen.support_kinds_, machine.support_kinds_)
