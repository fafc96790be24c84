"""Machines with a linear kernel and a free intercept: an offset of the features changes b alone."""

import numpy as np
import pytest
import scipy.sparse as sp

import models

SAMPLES = np.round(np.random.default_rng(0).normal(size=(60, 4)) * 2.0**20) / 2.0**20  # exact beside an offset of 1e8
LABELS = np.where(SAMPLES[:, 0] + 0.4 * np.random.default_rng(1).normal(size=60) > 0.0, 1, 0)
TASKS = np.arange(60) % 2
FITS = {
    "SVC": lambda X, w: models.SVC(kernel="linear").fit(X, LABELS, w).decision_function(X),
    "SVCCV": lambda X, w: models.SVCCV([0.1, 1.0, 10.0], kernel="linear").fit(X, LABELS, w).decision_function(X),
    "EA": lambda X, w: (
        models.ExplanationAugmentedSVC(Q=0.3).fit(X, LABELS, w, explanations=EXPLAINED).decision_function(X)
    ),
    "EA, cv": lambda X, w: (
        models.ExplanationAugmentedSVC(cv=2).fit(X, LABELS, w, explanations=EXPLAINED).decision_function(X)
    ),
    "tasks": lambda X, w: models.MultiTaskSVC().fit(X, LABELS, w, tasks=TASKS).decision_function(X, tasks=TASKS),
}
EXPLAINED = np.array([True, True, False, True])  # the column that is left out has no offset


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FITS)
def test_an_offset_changes_the_intercept_alone(name, weighted, store):
    weights = 1.0 + np.arange(60) % 3 if weighted else None
    offset = np.array([1e8, 1e8, 0.0, -1e8])
    plain, moved = (FITS[name](store(X), weights) for X in (SAMPLES, SAMPLES + offset))
    np.testing.assert_allclose(moved, plain, atol=2e-6)  # X @ w alone loses 1e8 eps |w|


def test_the_folds_of_a_path_have_the_scores_of_centered_samples():
    plain, moved = (models.SVCCV(kernel="linear").fit(X, LABELS) for X in (SAMPLES, SAMPLES + 1e8))
    assert np.array_equal(plain.scores_, moved.scores_) and plain.C_ == moved.C_


def test_a_feature_that_hides_the_others_is_solved_in_the_primal():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 80)), np.where(rng.random(60) > 0.5, 1, 0)
    X[:, 3] *= 1e9
    machine = models.SVC(kernel="linear").fit(X, y)
    assert machine.program_.n > 60 and machine.solution_.status == "optimal"  # w and xi
    assert machine.score(X, y) == 1.0
