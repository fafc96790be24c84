"""The multipliers of a margin: classified, and refined where clipping has changed the decision function."""

import numpy as np
import pytest

from models import SVC, SVR, ExplanationAugmentedSVC, MultiTaskSVC
from models.margins.dual import REGULARIZATION, MarginDual, settle, sort_out
from models.margins.margin import product_of
from models.margins.multipliers import INSIDE_MARGIN, NOT_SUPPORT, ON_MARGIN, WRONG_SIDE, tell_apart
from models.programs.margins import dual_program


def test_kinds_are_told_by_the_smaller_of_what_must_multiply_to_zero():
    #                 none   on the margin  inside  wrong side  on the margin, C far above alpha
    alpha = np.array([1e-10, 0.5, 1.0 - 1e-9, 1.0 - 1e-10, 1e-4])
    violation = np.array([-0.3, 1e-9, 0.4, 1.7, -1e-9])
    C = np.array([1.0, 1.0, 1.0, 1.0, 1e6])
    kinds, cleaned = tell_apart(alpha, C, violation)
    assert kinds.tolist() == [NOT_SUPPORT, ON_MARGIN, INSIDE_MARGIN, WRONG_SIDE, ON_MARGIN]
    assert cleaned.tolist() == [0.0, 0.5, 1.0, 1.0, 1e-4]


def test_a_hard_margin_has_no_bound_to_be_at():
    kinds, cleaned = tell_apart(np.array([3.0, 1e-9, 40.0]), np.full(3, np.inf), np.array([1e-9, -2.0, -1e-8]))
    assert kinds.tolist() == [ON_MARGIN, NOT_SUPPORT, ON_MARGIN]
    assert cleaned.tolist() == [3.0, 0.0, 40.0]


def test_a_multiplier_that_is_at_its_bound_is_so_though_its_sample_is_on_the_margin():
    # a vertex of the multipliers: no sample is between the bounds, and b is the middle of its interval
    violation = np.array([0.0, -1e-16, 1e-17, 0.5, 0.3])
    alpha, C = np.array([2.0, 2.0, 0.0, 2.0, 1.0]), np.full(5, 2.0)
    kinds, cleaned = tell_apart(alpha, C, violation)
    assert kinds.tolist() == [INSIDE_MARGIN, INSIDE_MARGIN, NOT_SUPPORT, INSIDE_MARGIN, ON_MARGIN]
    assert cleaned.tolist() == alpha.tolist()


POLY = {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0}


def samples_of_a_large_kernel(seed):
    """Return samples, separable by a cubic kernel, whose cubic kernel has entries up to 1e6, and labels."""
    X = 3.0 * np.random.default_rng(seed).normal(size=(60, 4))
    return X, np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0.0, 1, -1)


@pytest.mark.parametrize("seed", range(4))
def test_a_hard_margin_of_a_large_kernel_is_one(seed):
    X, y = samples_of_a_large_kernel(seed)
    mask = np.array([True, True, True, False])
    for machine in (
        SVC(C=np.inf, **POLY).fit(X, y),
        MultiTaskSVC(C1=0.5, C2=1e-9, **POLY).fit(X, y),
        *(
            ExplanationAugmentedSVC(C=np.inf, Q=Q, penalty=penalty, **POLY).fit(X, y, explanations=mask)
            for Q in (0.0, 1e-4, 1e-2)
            for penalty in ("l1", "l2")
        ),
    ):
        values = y * machine.decision_function(X)
        on = machine.support_[np.ravel(machine.support_kinds_) == "margin"]
        np.testing.assert_allclose(values[on], 1.0, rtol=0, atol=1e-9)
        assert values.min() > 1.0 - 1e-9 and machine.support_.size < 40


@pytest.mark.parametrize("seed", range(4))
def test_a_hard_tube_of_a_large_kernel_holds_all_targets(seed):
    X, _ = samples_of_a_large_kernel(seed)
    y = X[:, 0] * X[:, 1] + X[:, 2]
    machine = SVR(C=np.inf, epsilon=0.5, **POLY).fit(X, y)
    errors = abs(y - machine.predict(X))
    np.testing.assert_allclose(errors[machine.support_], 0.5, rtol=0, atol=1e-9)
    assert errors.max() < 0.5 + 1e-9 and machine.support_.size < 40


def test_settled_multipliers_keep_the_sum_of_their_signs_and_what_is_held():
    rng = np.random.default_rng(0)
    X, y = 100.0 * rng.normal(size=(6, 6)), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    dual = MarginDual(dual_program(y[:, None] * (X @ X.T) * y, y, np.full(6, np.inf), True), {})
    v, free = np.array([1e-4, 1e-4, 1e-4, 1e-4, 0.0, 0.0]), np.arange(6) < 4
    moved = settle(v, free, np.full(6, -np.inf), np.full(6, np.inf), dual)
    left = -(y * dual.gradient(moved))[:4]  # each of them equals b
    np.testing.assert_allclose(left, left[0], rtol=0, atol=1e-9)
    assert abs(y @ moved) < 1e-15 and not moved[4:].any()


def test_a_kernel_of_any_size_is_settled():
    # The regularization has the two signs of the system's own: else it is singular at g = sqrt(2 / REGULARIZATION),
    # where g stands for the kernel of orthogonal samples.
    y = np.array([1.0, -1.0])
    for g in np.sqrt(2.0 / REGULARIZATION) * np.array([1e-6, 1e-3, 0.5, 1.0 - REGULARIZATION, 1.0, 2.0, 1e3]):
        dual = MarginDual(dual_program(g * np.eye(2), y, np.full(2, np.inf), True), {})
        moved = settle(np.array([1.1, 0.8]) / g, np.ones(2, dtype=bool), np.zeros(2), np.full(2, np.inf), dual)
        np.testing.assert_allclose(g * moved, 1.0, rtol=0, atol=1e-10)


def test_what_cannot_be_settled_stays_as_it_was():
    # x = 1 with y = 1 and x = 2 with y = 1 cannot both have w x = 1
    X = np.array([[1.0], [2.0]])
    dual = MarginDual(dual_program(product_of(X), np.ones(2), np.full(2, np.inf), False), {})
    alpha = np.array([0.5, 0.3])
    kinds, found, _ = sort_out(dual, alpha, np.zeros(2))
    assert kinds.tolist() == [ON_MARGIN, ON_MARGIN]
    np.testing.assert_array_equal(found, alpha)
