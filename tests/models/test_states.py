"""Estimators after any sequence of fits, refusals, copies and new parameters have the bits of new ones."""

import copy
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sklearn.base import clone

import models
from tests.support.interrupts import Interrupted

RNG = np.random.default_rng(0)


def counts(samples, features, classes):
    y = np.arange(samples) % classes
    return RNG.poisson(1.0 + 2.0 * np.eye(classes)[y] @ RNG.random((classes, features))).astype(float), y


DATA = [counts(30, 3, 2), counts(24, 5, 2), counts(36, 4, 3)]


class Kind(NamedTuple):
    """An estimator, other values of its parameters, and whether it accepts sparse samples and more than two classes."""

    model: Any
    others: dict[str, list[Any]]
    sparse: bool = True
    more: bool = True


C, KERNELS, WEIGHTS = [0.1, 1.0, 30.0], ["linear", "rbf", "poly"], [None, "balanced", {0: 3.0}]
KINDS = {
    "SVC": Kind(models.SVC(), {
        "C": C, "kernel": KERNELS, "multi_class": ["ovo", "ovr"], "solver": ["auto", "primal"], "class_weight": WEIGHTS,
    }),
    "SVR": Kind(models.SVR(), {"C": C, "kernel": KERNELS, "epsilon": [0.0, 0.3], "solver": ["auto", "primal"]}),
    "NuSVC": Kind(models.NuSVC(0.3), {"nu": [0.2, 0.4], "kernel": KERNELS}),
    "OneClassSVM": Kind(models.OneClassSVM(), {"nu": [0.2, 0.6, 1.0], "kernel": ["rbf", "poly"]}),
    "LinearSVC": Kind(models.LinearSVC(), {"C": C, "loss": ["hinge", "squared_hinge"], "class_weight": WEIGHTS}),
    "LogisticRegression": Kind(models.LogisticRegression(), {
        "C": C, "solver": ["auto", "conjugate_gradients"], "class_weight": WEIGHTS,
    }),
    "MEDClassifier": Kind(models.MEDClassifier(), {"c": [3.0, 9.0], "fit_intercept": [True, False]}),
    "MinimaxProbabilityClassifier": Kind(models.MinimaxProbabilityClassifier(), {"rho": [1e-6, 0.1], "nu": [0.0, 0.2]}),
    "MultiTaskSVC": Kind(models.MultiTaskSVC(), {"C1": C, "kernel": KERNELS}, more=False),
    "BilevelClassifier": Kind(models.BilevelClassifier(), {"C1": C, "C2": [0.5, 5.0]}, more=False),
    "LinearDiscriminant": Kind(models.LinearDiscriminant(), {"covariance": ["full", "diagonal"]}, sparse=False),
    "MixedNaiveBayes": Kind(models.MixedNaiveBayes(), {"var_smoothing": [1e-9, 0.1]}, False),
    "MultinomialNaiveBayes": Kind(models.MultinomialNaiveBayes(), {"alpha": [0.3, 1.0]}),
}  # fmt: skip


class Estimators(RuleBasedStateMachine):
    """State machine that compares one estimator with a new one after the same fit."""

    @initialize(name=st.sampled_from(sorted(KINDS)))
    def begin(self, name):
        self.kind, self.expected = KINDS[name], None
        self.model = clone(self.kind.model)

    @rule(which=st.integers(0, 2), sparse=st.booleans(), weighted=st.booleans())
    def fit(self, which, sparse, weighted):
        X, y = DATA[which if self.kind.more else which % 2]
        weights = {"sample_weight": 1.0 + np.arange(y.size) % 3} if weighted else {}
        self.X = sp.csr_array(X) if sparse and self.kind.sparse else X
        self.model.fit(self.X, y, **weights)
        self.expected = answers(clone(self.model).fit(self.X, y, **weights), self.X)

    @rule(data=st.data())
    def set_params(self, data):
        name = data.draw(st.sampled_from(sorted(self.kind.others)))
        self.model.set_params(**{name: data.draw(st.sampled_from(self.kind.others[name]))})
        self.expected = None  # answers before the next fit are unspecified

    @rule()
    def refused(self):
        with pytest.raises(ValueError):
            self.model.fit(np.full((6, 2), np.nan) * 1j, np.arange(6) % 2)
        self.expected = None

    @rule(how=st.sampled_from([copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]))
    def copied(self, how):
        self.model = how(self.model)

    @invariant()
    def answers_as_a_new_one(self):
        if getattr(self, "expected", None) is not None:
            np.testing.assert_array_equal(answers(self.model, self.X), self.expected)


def answers(model, X):
    for method in ("predict_log_proba", "decision_function", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(X)


TestEstimators = Estimators.TestCase
TestEstimators.settings = settings(max_examples=60, stateful_step_count=8, deadline=None, derandomize=True)


@pytest.mark.parametrize("kind", [models.SVC, models.SVR, models.MultiTaskSVC, models.LogisticRegression])
def test_a_fit_that_is_interrupted_anywhere_is_the_same_when_it_is_fitted_again(kind):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(24, 3))
        y = (X[:, 0] + 0.3 * rng.normal(size=24) > 0.0).astype(int)
        expected, estimator = kind().fit(X, y).predict(X), kind()
        lines = Interrupted(lambda X=X, y=y: kind().fit(X, y)).lines
        found = Interrupted(lambda X=X, y=y: estimator.fit(X, y), int(rng.integers(1, lines + 1)))  # noqa: B023
        assert found.raised
        if not found.came:  # an interrupted fit leaves nothing behind
            np.testing.assert_allclose(estimator.predict(X), expected, 1e-5, 1e-5)
        np.testing.assert_allclose(estimator.fit(X, y).predict(X), expected, 1e-5, 1e-5)
