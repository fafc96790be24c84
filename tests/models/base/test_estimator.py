"""The base of the estimators: parameters, checks and scikit-learn's protocol, on three small estimators."""

import pickle
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import qp
from models.base.estimator import Classifier, Regressor, not_fitted_error, warn_unless_optimal
from models.base.transformer import Transformer
from models.base.validation import as_labels, as_matrix, as_targets, as_weights, check_choice, check_number


class NearestMean(Classifier):
    _takes_sparse = True

    def __init__(self, shrinkage=0.0, inner=None):
        self.shrinkage = shrinkage
        self.inner = inner

    def fit(self, X, y):
        X = self._matrix_to_fit(X)
        codes = self._labels_to_fit(y, X.shape[0])
        means = [X[codes == k].mean(axis=0) for k in range(self.classes_.size)]
        self.means_ = (1.0 - self.shrinkage) * np.array(means)
        return self

    def predict(self, X):
        X = self._matrix_to_predict(X)
        distances = -2.0 * (X @ self.means_.T) + (self.means_**2).sum(axis=1)
        return self.classes_[distances.argmin(axis=1)]


class LeastSquares(Regressor):
    def fit(self, X, y, sample_weight=None):
        X = self._matrix_to_fit(X)
        y = as_targets(y, X.shape[0], "LeastSquares")
        root = np.sqrt(as_weights(sample_weight, X.shape[0]))[:, None]
        self.coef_ = np.linalg.lstsq(root * np.c_[X, np.ones(len(X))], root[:, 0] * y, rcond=None)[0]
        return self

    def predict(self, X):
        X = self._matrix_to_predict(X)
        return X @ self.coef_[:-1] + self.coef_[-1]


class Centre(Transformer):
    def fit(self, X, y=None):
        self.mean_ = self._matrix_to_fit(X).mean(axis=0)
        return self

    def transform(self, X):
        return self._in_container(self._matrix_to_predict(X) - self.mean_, X)

    @property
    def _n_features_out(self):
        return self.mean_.size


@pytest.mark.parametrize("estimator", [NearestMean(), LeastSquares(), Centre()], ids=lambda e: type(e).__name__)
def test_scikit_learn_accepts_them(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 30


def test_parameters_are_read_set_cloned_and_printed():
    nested = NearestMean(inner=NearestMean(0.25))
    assert nested.get_params()["inner__shrinkage"] == 0.25
    assert nested.set_params(inner__shrinkage=0.5, shrinkage=0.1) is nested
    assert nested.inner.shrinkage == 0.5
    assert repr(nested) == "NearestMean(shrinkage=0.1, inner=NearestMean(shrinkage=0.5))"
    assert clone(nested).inner is not nested.inner
    with pytest.raises(ValueError, match="Invalid parameter 'shrink' for estimator"):
        nested.set_params(shrink=1.0)


def test_before_fit_the_error_is_one_that_both_worlds_catch():
    with pytest.raises(not_fitted_error(), match="not fitted yet"):
        NearestMean().predict([[1.0]])
    assert issubclass(not_fitted_error(), ValueError) and issubclass(not_fitted_error(), AttributeError)


def test_an_engine_that_stops_early_is_told_of_with_a_remedy():
    solution = qp.solve(np.eye(2), [-1.0, -2.0], ub=1.5, max_iter=1)
    assert solution.status == "max_iterations"
    with pytest.warns(ConvergenceWarning, match="'max_iterations' after 1 iterations.*raise max_iter"):
        warn_unless_optimal("E", solution, "raise max_iter")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unless_optimal("E", qp.solve(np.eye(2), [-1.0, -2.0], ub=1.5))


def test_transformed_samples_come_in_the_container_that_is_asked_for():
    frame = pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 2.0]}, index=["x", "y"])
    centre = Centre().fit(frame)
    assert centre.get_feature_names_out().tolist() == ["centre0", "centre1"]
    assert isinstance(centre.transform(frame), np.ndarray)
    assert centre.set_output(transform="pandas") is centre
    expected = pd.DataFrame({"centre0": [-1.0, 1.0], "centre1": [0.0, 0.0]}, index=["x", "y"])
    pd.testing.assert_frame_equal(centre.transform(frame), expected)
    pd.testing.assert_frame_equal(clone(centre).fit_transform(frame), expected)
    assert isinstance(centre.set_output(transform=None).transform(frame), pd.DataFrame)
    assert isinstance(centre.set_output(transform="default").transform(frame), np.ndarray)
    with config_context(transform_output="pandas"):
        assert isinstance(centre.transform(frame), np.ndarray)  # what it was told itself goes first
        pd.testing.assert_frame_equal(Centre().fit_transform(frame), expected)
    with pytest.raises(ValueError, match="transform must be one of 'default', 'pandas', 'polars', but 'numpy' came"):
        centre.set_output(transform="numpy")
    with pytest.raises(ValueError, match=r"input_features should have length equal to number of features \(2\), got 1"):
        centre.get_feature_names_out(["a"])
    with pytest.raises(not_fitted_error()):
        Centre().get_feature_names_out()


def test_polars_gets_rows_and_names(monkeypatch):
    calls = []
    polars = SimpleNamespace(DataFrame=lambda *arguments, **options: calls.append((arguments, options)))
    monkeypatch.setitem(sys.modules, "polars", polars)
    X = np.array([[1.0, 3.0], [2.0, 2.0]])
    Centre().set_output(transform="polars").fit_transform(X)
    ((table,), options) = calls[0]
    np.testing.assert_array_equal(table, X - X.mean(axis=0))
    assert options == {"schema": ["centre0", "centre1"], "orient": "row"}


def test_a_fitted_estimator_survives_pickling():
    X, y = np.array([[0.0], [1.0], [4.0]]), ["low", "low", "high"]
    again = pickle.loads(pickle.dumps(NearestMean().fit(X, y)))
    assert again.predict([[3.9]]).tolist() == ["high"]
    assert again.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: as_matrix([1.0, 2.0], "E"), "Reshape your data"),
        (lambda: as_matrix([[1.0, np.nan]], "E"), "X contains NaN"),
        (lambda: as_matrix([[1.0, np.inf]], "E", nan=True), "X contains infinity"),
        (lambda: as_matrix(np.zeros((0, 2)), "E"), r"0 sample\(s\)"),
        (lambda: as_matrix(np.zeros((2, 0)), "E"), r"0 feature\(s\)"),
        (lambda: as_matrix([[1j]], "E"), "Complex data not supported: X"),
        (lambda: as_matrix([["a"]], "E"), "X must hold numbers"),
        (lambda: as_matrix(np.zeros((2, 2)), "E", fewest=3), "a minimum of 3 is required by E"),
        (lambda: as_labels(None, 2, "E"), "requires y to be passed"),
        (lambda: as_labels([0.5, 1.0], 2, "E"), "Unknown label type: continuous"),
        (lambda: as_labels([1, 1], 2, "E"), "at least 2 classes"),
        (lambda: as_labels([1, 2, 1], 2, "E"), "X has 2, y has 3"),
        (lambda: as_labels([[1, 2], [1, 2]], 2, "E"), "y should be a 1d array"),
        (lambda: as_labels(np.array(["a", 1], dtype=object), 2, "E"), "Unknown label type"),
        (lambda: as_targets([1.0, np.nan], 2, "E"), "y contains NaN"),
        (lambda: as_weights([1.0, -1.0], 2), "sample_weight must be finite and nonnegative"),
        (lambda: as_weights([0.0, 0.0], 2), "sample_weight is zero"),
        (lambda: as_weights([1.0], 2), "sample_weight.shape"),
        (lambda: check_number("C", 0.0, low=0.0, open_low=True), "C must be a number above 0, but 0.0 came"),
        (lambda: check_number("k", 1.5, whole=True), "k must be a whole number, but 1.5 came"),
        (lambda: check_number("C", True), "C must be a number"),
        (lambda: check_number("share", 2.0, 0.0, 1.0), "of at least 0 and at most 1"),
        (lambda: check_choice("form", "none", ("primal", "dual")), "form must be one of 'primal', 'dual', but 'none'"),
    ],
)
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_sparse_input_is_taken_or_refused():
    matrix = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert as_matrix(matrix, "E", sparse=True).toarray().tolist() == [[0.0, 3.0], [0.0, 0.0]]
    assert matrix.nnz == 2  # what came is left as it was
    with pytest.raises(TypeError, match="Sparse X"):
        as_matrix(matrix, "E")
