"""Polyhedral knowledge: regions respected, points as regions, prices, empty regions, refusals."""

import numpy as np
import pytest
from scipy.optimize import linprog

from models import SVC, KnowledgeSVC
from tests.support.svm_data import two_classes

X, Y = two_classes()


def box(low, high):
    """Return D and d with D x <= d if and only if low <= x <= high."""
    k = len(low)
    return np.vstack([np.eye(k), -np.eye(k)]), np.concatenate([high, -np.asarray(low)])


def least(machine, D, d, side):
    """Return the minimum of side (w'x + b) over the region D x <= d, computed by scipy's linprog."""
    found = linprog(side * machine.coef_[0], A_ub=D, b_ub=d, bounds=(None, None))
    return found.fun + side * machine.intercept_[0]


def test_without_knowledge_it_is_the_support_vector_machine():
    plain = SVC(2.0, "linear").fit(X, Y)
    np.testing.assert_allclose(
        KnowledgeSVC(C=2.0).fit(X, Y).decision_function(X), plain.decision_function(X), atol=1e-6
    )


def test_regions_are_on_their_sides():
    regions = [(*box([0.5] * 4, [0.9] * 4), 1), (*box([-2.0, 0.0, 0.0, 0.0], [-1.0, 0.1, 0.1, 0.1]), -1)]
    machine = KnowledgeSVC(regions).fit(X, Y)
    values = [least(machine, *region) for region in regions]
    assert min(values) > 1.0 - 1e-7
    assert min(least(SVC(kernel="linear").fit(X, Y), *region) for region in regions) < 0.9
    assert min(values) == pytest.approx(1.0, abs=1e-6)  # one of them holds the hyperplane


def test_a_point_is_a_sample_that_must_be_right():
    extra = np.array([[0.3, -0.2, 0.5, 0.1], [0.1, 0.0, -0.4, 0.2]])
    labels = [1, -1]
    told = KnowledgeSVC([(*box(x, x), label) for x, label in zip(extra, labels, strict=True)]).fit(X, Y)
    weights = np.concatenate([np.ones(Y.size), [1e6, 1e6]])
    plain = SVC(kernel="linear").fit(np.vstack([X, extra]), np.concatenate([Y, labels]), sample_weight=weights)
    np.testing.assert_allclose(told.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_knowledge_has_a_price():
    region = (*box([0.5] * 4, [0.9] * 4), 1)
    plain = KnowledgeSVC().fit(X, Y)
    values = [least(KnowledgeSVC([region], Q=Q).fit(X, Y), *region) for Q in (1e-6, 1.0, 1e4)]
    np.testing.assert_allclose(values[0], least(plain, *region), atol=1e-3)
    assert values[0] < values[1] <= values[2] == pytest.approx(1.0, abs=1e-6)


def test_an_empty_region_says_nothing():
    region = (*box([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]), 1)
    machine = KnowledgeSVC([region]).fit(X, Y)
    np.testing.assert_allclose(machine.decision_function(X), KnowledgeSVC().fit(X, Y).decision_function(X), atol=1e-6)
