"""More than two classes by machines for two."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from models.base.linear import LinearClassifier
from models.base.multiclass import class_scores, class_weights, scores, two_class_problems, votes, winners

codes = np.array([2, 0, 1, 1, 0, 2, 2])


def test_every_pair_and_every_class_has_its_problem():
    pairs = list(two_class_problems(codes, 3, "ovo"))
    assert [rows.tolist() for rows, _ in pairs] == [[1, 2, 3, 4], [0, 1, 4, 5, 6], [0, 2, 3, 5, 6]]
    assert [signs.tolist() for _, signs in pairs] == [[1, -1, -1, 1], [-1, 1, 1, -1, -1], [-1, 1, 1, -1, -1]]
    rest = list(two_class_problems(codes, 3, "ovr"))
    assert [int((signs > 0).sum()) for _, signs in rest] == [2, 2, 3]
    assert all(rows.size == codes.size for rows, _ in rest)


def test_two_classes_are_one_problem_with_the_second_positive():
    for scheme in ("ovo", "ovr"):
        ((rows, signs),) = two_class_problems(np.array([0, 1, 1]), 2, scheme)
        assert rows.tolist() == [0, 1, 2] and signs.tolist() == [-1.0, 1.0, 1.0]


def test_votes_are_those_of_scikit_learn():
    decisions = np.random.default_rng(0).normal(size=(50, 6))
    expected = _ovr_decision_function(decisions < 0, -decisions, 4)
    np.testing.assert_allclose(votes(decisions, 4), expected, rtol=1e-14)


def test_the_shape_of_the_scores():
    decisions = np.random.default_rng(0).normal(size=(5, 6))
    assert scores(decisions[:, :1], 2, "ovo").shape == (5,)
    assert scores(decisions, 4, "ovo").shape == (5, 4)
    assert scores(decisions, 4, "ovo", "ovo") is decisions
    assert scores(decisions, 6, "ovr") is decisions


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_values_of_two_classes_are_one_decision(classes):
    values = np.arange(4.0 * classes).reshape(4, classes) ** 2
    expected = values[:, 1] - values[:, 0] if classes == 2 else values
    np.testing.assert_array_equal(class_scores(values), expected)


def test_class_weights():
    classes, ones = np.array(["a", "b", "c"]), np.ones(codes.size)
    y = classes[codes]
    assert class_weights(None, classes, codes, ones).tolist() == [1.0, 1.0, 1.0]
    balanced = compute_class_weight("balanced", classes=classes, y=y)
    np.testing.assert_allclose(class_weights("balanced", classes, codes, ones), balanced)
    assert class_weights({"a": 2.0, "c": 0.5}, classes, codes, ones).tolist() == [2.0, 1.0, 0.5]
    weights = np.array([2.0, 1, 1, 1, 1, 0, 1])
    repeated = np.repeat(codes, weights.astype(int))
    expected = class_weights("balanced", classes, repeated, np.ones(repeated.size))
    np.testing.assert_allclose(class_weights("balanced", classes, codes, weights), expected)


@pytest.mark.parametrize("weights", ["even", 3.0, {"d": 1.0}, {"a": 0.0}, {"a": np.inf}])
def test_class_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(ValueError, match="class_weight"):
        class_weights(weights, np.array(["a", "b", "c"]), codes, np.ones(codes.size))


def test_a_decision_of_zero_is_for_the_second_class_of_the_pair():
    assert winners(np.zeros((1, 3)), 3, "ovo").tolist() == [2]
    assert winners(np.array([[1e-9, 1e-9, 0.0], [-1e-9, 0.0, 1e-9]]), 3, "ovo").tolist() == [0, 1]


def test_ties_between_votes_go_where_scikit_learn_sends_them():
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC as LibSVM

    from models import SVC

    X, y = load_digits(return_X_y=True)
    found = []
    for break_ties in (False, True):
        ours = SVC(C=0.1, break_ties=break_ties).fit(X[:300], y[:300])
        theirs = LibSVM(C=0.1, break_ties=break_ties, tol=1e-10).fit(X[:300], y[:300])
        found.append(ours.predict(X[300:]))
        np.testing.assert_array_equal(found[-1], theirs.predict(X[300:]))
    assert (found[0] != found[1]).sum() > 10


def test_linear_machines_see_the_samples_that_have_a_weight():
    class Kept(LinearClassifier):
        def _find_machines(self, X, codes, weights):
            self.seen = X, codes, weights
            return [np.array([k + 3.0, 4.0 * (k > 0), -1.0]) * (k < 2) for k, _ in enumerate(self._signs(codes))]

    X, weights, machine = np.arange(14.0).reshape(7, 2), np.array([0.5, 0.0, 1.0, 2.0, 1e-9, 1.0, 1.0]), Kept()
    assert machine._fit_machines(X, codes, weights).tolist() == (weights > 0.0).tolist()
    for part, whole in zip(machine.seen, (X, codes, weights), strict=True):
        assert np.array_equal(part, whole[weights > 0.0])
    expected = np.column_stack([3.0 * X[:, 0] - 1.0, 4.0 * X.sum(axis=1) - 1.0, np.zeros(7)])
    np.testing.assert_allclose(machine.decision_function(X), expected)
    np.testing.assert_allclose(machine.signed_distance(X), expected / [3.0, np.sqrt(32.0), 1.0])
