"""The bounds of machines with explanations."""

import math

import numpy as np
import pytest

from models import ExplanationAugmentedSVC
from models.explanations import bounds
from models.explanations.bounds import error_bound, explained_error


def test_explanations_help_as_far_as_they_shorten():
    whole = bounds.parallel_error(10**8, 1.0, 10.0, 0.05)
    explained = bounds.parallel_error(10**8, 1.0, 2.0, 0.05)
    assert (whole.dimension, explained.dimension) == (6450, 258) and explained.value < whole.value
    assert bounds.explained_error(10**8, 1.0, 2.0, 0.0, 0.05).value == explained.value
    assert not bounds.parallel_error(10, 1.0, 10.0, 0.05).holds
    assert bounds.margin_error(100, 0.0, 0.05).value == pytest.approx(0.02 * math.log2(16000.0))
    at_most = bounds.margin_error(100, 100.0 * math.e, 0.05)
    assert at_most.value == pytest.approx(0.02 * (300.0 * math.e * math.log2(3200.0) + math.log2(16000.0)))


def test_the_best_embedding_is_the_best():
    best = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05)
    assert best.dimension == math.floor(64.5 * 2.7**2 / 0.01) and not best.details["fixed before"]
    for Delta in np.geomspace(0.1, 10.0, 41):
        other = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05, Delta)
        assert other.dimension >= best.dimension and other.value >= best.value
    grid = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05, np.geomspace(0.1, 10.0, 41))
    alone = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05 / 41.0, grid.details["Delta"])
    assert grid.value == alone.value >= best.value  # delta is divided among the values


def test_wrong_arguments_are_named():
    for call, words in (
        (lambda: bounds.explained_error(10, 1.0, 1.0, -1.0, 0.1), "deviation must be"),
        (lambda: bounds.explained_error(10, 1.0, 1.0, 1.0, 0.1, 0.0), "Delta must be"),
        (lambda: bounds.explained_error(10, 0.0, 1.0, 1.0, 0.1), "gamma must be"),
        (lambda: bounds.explained_error(10, 1.0, 0.0, 1.0, 0.1), "explained_radius must be"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def separable_by_one_feature(m=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 2
    return np.column_stack([np.where(y == 1, 1.0, -1.0) * (1.0 + rng.random(m)), rng.normal(scale=5.0, size=(m, 3))]), y


@pytest.mark.parametrize("Q", [0.01, 1.0, np.inf])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_bound_of_a_fitted_machine(Q, kernel):
    X, y = separable_by_one_feature()
    explanations = [np.arange(4) < 1 if i % 3 else None for i in range(y.size)]
    machine = ExplanationAugmentedSVC(C=np.inf, Q=Q, kernel=kernel, gamma=0.1).fit(X, y, explanations=explanations)
    found = error_bound(machine, X, y, explanations).details
    signs, f = np.where(y == 1, 1.0, -1.0), machine.decision_function(X)
    V = np.array([np.where(e, x, 0.0) if e is not None else x for x, e in zip(X, explanations)])
    gaps = f - machine.decision_function(V)
    assert found["gamma"] == pytest.approx((signs * f).min() * machine.margin_[0], rel=1e-6)
    assert found["D"] == pytest.approx(np.linalg.norm(gaps) * machine.margin_[0], rel=1e-5, abs=1e-6)
    if kernel == "linear":
        length = np.linalg.norm(machine.coef_)
        assert machine.margin_[0] == pytest.approx(1.0 / length, rel=1e-6)
        assert found["R_V"] == pytest.approx(np.linalg.norm(V, axis=1).max())
        assert found["R"] == pytest.approx(np.linalg.norm(X, axis=1).max())
    else:
        assert found["R_V"] == found["R"] == 1.0
    expected = explained_error(40, found["gamma"], found["R_V"], found["D"], 0.05)
    assert error_bound(machine, X, y, explanations).dimension == expected.dimension


def test_the_bound_of_a_machine_says_what_fails():
    X, y = separable_by_one_feature()
    mask = np.arange(4) < 1
    machine = ExplanationAugmentedSVC(C=1.0, Q=1.0).fit(X, y, explanations=mask)
    bound = error_bound(machine, X, 1 - y, mask)
    assert bound.value == np.inf and bound.failing[0].startswith("all samples must be on their side")
    nothing = ExplanationAugmentedSVC(C=1.0, Q=1.0).fit(0.0 * X, y, explanations=[None] * 40)
    assert error_bound(nothing, 0.0 * X, y, [None] * 40).failing == ("w must not be zero",)
    with pytest.raises(ValueError, match="explanations must be those of fit"):
        error_bound(machine, X, y, [None] * 40)
    with pytest.raises(ValueError, match="y must hold a label"):
        error_bound(machine, X, y + 5, mask)
    three = ExplanationAugmentedSVC().fit(X, np.arange(40) % 3, explanations=mask)
    with pytest.raises(ValueError, match="two classes, but it has 3"):
        error_bound(three, X, y, mask)
