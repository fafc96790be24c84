"""Ties of mean scores, folds with weights, classes without a margin, half-spaces of rounding, series that are late."""

from types import SimpleNamespace

import numpy as np
import pytest

from models import SVCCV, NuSVC, OneClassSVM
from models.base.multiclass import folds_of
from models.margins import series
from models.svm import path


def test_of_candidates_that_differ_by_rounding_the_smallest_is_taken(monkeypatch):
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0], [3.0], [-3.0]]), np.array([0, 0, 1, 1, 1, 0])
    for apart, chosen in ((1e-15, 0.5), (1e-9, 2.0)):
        scores = np.array([[0.75, 0.75], [0.75, 0.75 + 2.0 * apart], [0.5, 0.5]])
        monkeypatch.setattr(path, "fold_scores", lambda *arguments, found=scores: found)
        found = SVCCV([8.0, 0.5, 2.0], cv=2).fit(X, y)
        assert found.C_ == chosen and found.Cs_.tolist() == [0.5, 2.0, 8.0]


def test_folds_hold_out_what_has_a_weight():
    codes, weights = np.arange(8) % 2, np.array([1.0, 1, 0, 1, 2, 0, 1, 1])
    pairs = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
    assert [test.tolist() for _, test in folds_of(pairs, codes, weights)] == [[4, 6, 7], [0, 1, 3]]
    numbered = folds_of(2, codes, weights)
    used = [0, 1, 3, 4, 6, 7]
    assert all(sorted([*train, *test]) == used for train, test in numbered)
    assert sorted(np.concatenate([test for _, test in numbered])) == used
    for cv in ([], [(np.arange(4), np.array([2, 5]))]):
        with pytest.raises(ValueError, match="must have folds, and each must hold out samples whose weight"):
            folds_of(cv, codes, weights)


@pytest.mark.parametrize(
    "weights, says", [([5.0, 5.0, 1.0, 1.0, 1.0, 1.0], 0), ([1.0] * 6, 1), ([1.0, 1, 2, 2, 2, 2], 1)]
)
def test_without_a_margin_the_class_of_more_weight_is_said(weights, says):
    X, y = np.array([[-1.0], [1.0], [-1.0], [1.0], [-1.0], [1.0]]), np.array([0, 0, 1, 1, 1, 1])
    with pytest.warns(UserWarning, match="nu is too small: the classes overlap"):
        machine = NuSVC(0.3, "linear").fit(X, y, weights)
    assert (machine.predict(X) == says).all() and machine.rho_.tolist() == [0.0] and not machine.coef_.any()


def test_a_half_space_of_rounding_is_none():
    X = np.array([[1.0], [-1.0 + 1e-11]])
    with pytest.warns(UserWarning, match="zero is within"):
        region = OneClassSVM(1.0, "linear").fit(X)
    assert region.offset_ == 0.0 and not region.coef_.any()
    assert OneClassSVM(1.0, "linear").fit(X + 1.5).offset_ > 0.0


def test_a_series_is_settled_where_each_program_is():
    settings, scales = {"max_iter": 9, "tol": 1e-3}, np.array([2.0, 4.0])
    limit = max(series.SETTLED, 1e-3) * scales

    def is_settled(rounds, slopes):
        residuals = np.zeros((2, 7))
        residuals[:, 2], residuals[:, 6] = slopes, scales
        return series.is_settled(SimpleNamespace(rounds=np.array(rounds), residuals=residuals), settings)

    assert is_settled([1, 9], limit)
    assert not is_settled([1, 10], limit) and not is_settled([0, 9], limit)
    assert not is_settled([1, 9], limit * [1.0, 1.01]) and not is_settled([1, 9], limit * [1.01, 1.0])
