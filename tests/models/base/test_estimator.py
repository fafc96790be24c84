"""The base of the estimators: parameters, checks and scikit-learn's protocol, on three small estimators."""

import inspect
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context, svm
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score

import models
import qp
from models.base.estimator import Classifier, Regressor, _names_that_differ, not_fitted_error, warn_unless_optimal
from models.base.parameters import parameters
from models.base.transformer import Transformer
from models.base.validation import as_labels, as_matrix, as_targets, as_weights, check_choice, check_number
from tests.models.test_protocol import OF_SEQUENCES, PUBLIC, SETTINGS

BY_POSITION = {"BilevelClassifier": 6}  # the prior, and the constants of (4.17)-(4.24) in their order


@parameters
class NearestMean(Classifier):
    _takes_sparse = True

    shrinkage: float = 0.0
    inner: object = None

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


@pytest.mark.parametrize("y", [[1.0, 3.0, 2.0, 5.0], [2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
def test_the_score_of_a_regressor_is_that_of_scikit_learn(y):
    X, weights = np.arange(4.0)[:, None], np.array([1.0, 2.0, 0.5, 3.0])
    model = LeastSquares().fit(X, [1.0, 1.0, 1.0, 1.0])
    model.coef_[:] = 0.0, 1.0
    assert model.score(X, y, weights) == pytest.approx(r2_score(y, np.ones(4), sample_weight=weights), abs=1e-14)


@pytest.mark.parametrize("names", [[3, 5], ["no", "yes"]])
def test_the_score_of_a_classifier_is_the_share_of_right_labels(names):
    X, y, weights = np.arange(5.0)[:, None], np.take(names, [0, 0, 1, 0, 1]), np.array([1.0, 2.0, 0.5, 3.0, 1.5])
    model = NearestMean().fit(X[[0, 4]], y[[0, 4]])
    expected = accuracy_score(y, model.predict(X), sample_weight=weights)
    assert model.score(X, y, weights) == pytest.approx(expected) and 0.0 < expected < 1.0
    assert [model.score(X[[i]], y[[i]]) for i in range(5)] == (model.predict(X) == y).tolist()
    with pytest.raises(ValueError, match=r"labels of the kind of .*, but .* came"):
        model.score(X, np.take([["a", "b"], [3, 5]][names[0] == "no"], [0, 0, 1, 0, 1]))


def test_parameters_are_read_set_cloned_and_printed():
    nested = NearestMean(inner=NearestMean(0.25))
    assert nested.get_params()["inner__shrinkage"] == 0.25
    assert nested.set_params(inner__shrinkage=0.5, shrinkage=0.1) is nested
    assert nested.inner.shrinkage == 0.5
    assert repr(nested) == "NearestMean(shrinkage=0.1, inner=NearestMean(shrinkage=0.5))"
    assert clone(nested).inner is not nested.inner
    with pytest.raises(ValueError, match=r"Invalid parameter 'shrink' for estimator .*; did you mean 'shrinkage'\?"):
        nested.set_params(shrink=1.0)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: NearestMean(shrinkag=1.0), r"NearestMean\(\) got an unexpected keyword argument 'shrinkag'; did you mean"),
    (lambda: NearestMean(nothing=1.0), r"unexpected keyword argument 'nothing'$"),
    (lambda: NearestMean(0.0, None, 2.0), r"NearestMean\(\) takes 2 arguments by position, but 3 came"),
    (lambda: models.SVC(1.0, "rbf", 3), r"SVC\(\) takes 2 arguments by position, but 3 came"),
    (lambda: models.SVC(probability=True), r"use sklearn.calibration.CalibratedClassifierCV\(SVC\(...\)\)"),
    (lambda: models.LinearDiscriminant(reg_param=0.1), "did you mean 'shrinkage'?"),
])  # fmt: skip
def test_arguments_that_an_estimator_does_not_have(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_in_every_estimator_what_follows_the_first_two_parameters_goes_by_name():
    for kind in PUBLIC:
        parameters = list(inspect.signature(kind).parameters.values())
        most = BY_POSITION.get(kind.__name__, 2)
        assert all(one.kind is one.KEYWORD_ONLY for one in parameters[most:]), kind
        given = list(inspect.signature(kind.fit).parameters.values())[3:]
        assert not given or given[0].name == "sample_weight", kind
        assert all(one.kind is one.KEYWORD_ONLY for one in given[1:]), kind


def test_shapes_of_two_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 2
    pairs = {
        models.SVC(kernel="linear"): svm.SVC(kernel="linear"), models.LinearSVC(): svm.LinearSVC(),
        models.SVR(kernel="linear"): svm.SVR(kernel="linear"), models.LinearSVR(): svm.LinearSVR(),
        models.LinearDiscriminant(): LinearDiscriminantAnalysis(), models.LogisticRegression(): LogisticRegression(),
    }  # fmt: skip
    for ours, theirs in pairs.items():
        for name in ("coef_", "intercept_"):
            assert getattr(ours.fit(X, y), name).shape == getattr(theirs.fit(X, y), name).shape, (ours, name)
    for kind in (kind for kind in PUBLIC if kind not in OF_SEQUENCES and issubclass(kind, Classifier)):
        fitted = kind(**SETTINGS.get(kind.__name__, {})).fit(np.abs(X), y)
        if getattr(fitted, "coef_", y).shape[-1] == X.shape[1]:
            assert fitted.coef_.shape == (1, 4) and fitted.intercept_.shape == (1,), kind
            if hasattr(fitted, "decision_function"):
                values = np.abs(X) @ fitted.coef_[0] + fitted.intercept_
                np.testing.assert_allclose(values, fitted.decision_function(np.abs(X)), atol=1e-9)


@pytest.mark.parametrize("model", [
    models.MinimaxProbabilityClassifier(), models.LinearDiscriminant(), models.LinearDiscriminant("diagonal"),
    models.LinearDiscriminant(shrinkage=0.3), models.QuadraticDiscriminant(shrinkage="auto"),
    models.MixedNaiveBayes(), models.MixedNaiveBayes("kde"), models.MixedNaiveBayes("histogram"),
    models.CoupledDiscriminant(max_iter=100), models.JointGaussianRegressor(),
], ids=repr)  # fmt: skip
def test_no_unit_of_a_feature_has_an_influence(model):
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + np.outer(y, [1.5, 0.0, 0.0, 1.0])
    units = np.array([1e-5, 1.0, 1e5, 1e3])
    one, other = (answer(model.fit(Z, y), Z) for Z in (X, X * units))
    np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def answer(model, X):
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))


def test_an_engine_that_stops_early_is_told_of_with_a_remedy():
    solution = qp.solve(np.eye(2), [-1.0, -2.0], ub=1.5, max_iter=1)
    assert solution.status == "max_iterations"
    with pytest.warns(ConvergenceWarning, match="'max_iterations' after 1 iterations.*raise max_iter"):
        warn_unless_optimal("E", solution, "raise max_iter")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unless_optimal("E", qp.solve(np.eye(2), [-1.0, -2.0], ub=1.5))


POINTS, HALVES = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
COUNTS, GAPS = np.abs(POINTS).round(), np.where(POINTS > 1.5, np.nan, POINTS)
WARNED = {
    "an intercept alone": lambda: models.LogisticRegression(max_iter=1).fit(POINTS, HALVES),
    "separable": lambda: models.LogisticRegression(C=np.inf).fit([[0.0], [1.0]], [0, 1]),
    "hybrid": lambda: models.HybridNaiveBayes(C=1.0, max_iter=1).fit(COUNTS, HALVES),
    "separable hybrid": lambda: models.HybridNaiveBayes().fit(100 * np.eye(4)[[0, 0, 1, 1]] + 1, [0, 0, 1, 1]),
    "EM": lambda: models.LinearDiscriminant(max_iter=1, tol=0.0).fit(GAPS, HALVES),
    "EM of counts": lambda: models.MultinomialNaiveBayes(max_iter=1, tol=0.0).fit(COUNTS, HALVES, X_unlabelled=COUNTS),
    "a new class": lambda: models.LinearDiscriminant(max_iter=1, tol=0.0).fit(GAPS, HALVES).add_class(GAPS, 2),
    "coupled": lambda: models.CoupledDiscriminant(max_iter=1).fit(POINTS, HALVES),
    "rounds": lambda: models.BilevelClassifier(PRIOR, max_iter=1, tol=0.0, solver_tol=1e-4).fit(POINTS, HALVES),
    "units": lambda: models.BilevelClassifier(PRIOR, 0.2, C2=1.0).fit(POINTS * [1e-9, 1.0, 1e9], HALVES),
    "MED": lambda: models.MEDClassifier(method="alternation", max_iter=1).fit(POINTS, HALVES),
    "SVC": lambda: models.SVC(kernel="linear", max_iter=1).fit(POINTS, HALVES),
    "no side": lambda: models.OneClassSVM(1.0, "linear").fit([[1.0], [-1.0]]),
    "a column": lambda: models.LinearDiscriminant().fit(POINTS, HALVES[:, None]),
    "names": lambda: models.LinearDiscriminant().fit(POINTS, HALVES).predict(pd.DataFrame(POINTS, columns=[*"abc"])),
    "no names": lambda: models.LinearDiscriminant().fit(pd.DataFrame(POINTS, columns=[*"abc"]), HALVES).predict(POINTS),
}
PRIOR = models.GenerativePrior((np.zeros(3), np.ones(3)), (1.0, 1.0))


@pytest.mark.parametrize("what", WARNED)
def test_a_warning_names_the_line_of_the_caller(what):
    with pytest.warns(UserWarning) as caught:
        WARNED[what]()
    assert {warning.filename for warning in caught} == {__file__}


def test_names_that_differ_are_told_up_to_five_of_a_kind():
    told = _names_that_differ(np.array([*"abcdefg"]), np.array([*"aBCDEFG"])).splitlines()
    unseen, missing = (["Feature names unseen at fit time:"], ["Feature names seen at fit time, yet now missing:"])
    assert told[1:] == [*unseen, *(f"- {c}" for c in "BCDEF"), "- ...", *missing, *(f"- {c}" for c in "bcdef"), "- ..."]
    ordered = "Feature names must be in the same order as they were in fit."
    for names, expected in (("ba", [ordered]), ("abc", [*unseen, "- c"]), ("b", [*missing, "- a"])):
        assert _names_that_differ(np.array([*"ab"]), np.array([*names])).splitlines()[1:] == expected
    told = _names_that_differ(np.array([*"abcdef"]), np.array([*"aBCDEF"])).splitlines()
    assert told[1:] == [*unseen, *(f"- {c}" for c in "BCDEF"), *missing, *(f"- {c}" for c in "bcdef")]


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
        assert isinstance(centre.transform(frame), np.ndarray)  # the estimator's own setting overrides the global one
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


@pytest.mark.parametrize(("call", "words"), [
    (lambda: as_matrix([[1.0, np.inf]], "E", nan=True), "X contains infinity"),
    (lambda: as_matrix([[1j]], "E"), "Complex data not supported: X"),
    (lambda: as_matrix([["1"]], "E"), "X must hold numbers, but text came"),
    (lambda: as_matrix(np.array([[b"1"]]), "E"), "X must hold numbers, but text came"),
    (lambda: as_matrix(np.array([["1", 2.0]], dtype=object), "E"), "X must hold numbers, but text came"),
    (lambda: as_matrix(pd.DataFrame({"a": ["1"]}), "E"), "X must hold numbers, but text came"),
    (lambda: as_matrix(np.array([["2020"]], "M8[D]"), "E"), "X must hold numbers, but entries of type datetime"),
    (lambda: as_matrix(np.ma.masked_array([[1.0]], [[True]]), "E"), "X has masked entries"),
    (lambda: as_matrix(pd.DataFrame({"a": [pd.NA, 1]}, dtype="Int64"), "E"), "X contains NaN"),
    (lambda: as_labels(pd.Series([pd.NA, 1], dtype="Int64"), 2, "E"), "Input y contains NaN|Unknown label type"),
    (lambda: as_labels(np.array([0.5, 1.0], dtype=object), 2, "E"), "Unknown label type: continuous"),
    (lambda: as_matrix(np.zeros((2, 2)), "E", fewest=3), "a minimum of 3 is required by E"),
    (lambda: as_labels([1, 1], 2, "E"), "at least 2 classes"),
    (lambda: as_labels(np.array(["a", 1], dtype=object), 2, "E"), "Unknown label type"),
    (lambda: as_weights([1.0, -1.0], 2), "sample_weight must be finite and nonnegative"),
    (lambda: as_weights([0.0, 0.0], 2), "sample_weight is zero"),
    (lambda: check_number("C", 0.0, low=0.0, open_low=True), "C must be a number above 0, but 0.0 came"),
    (lambda: check_number("k", 1.5, whole=True), "k must be a whole number, but 1.5 came"),
    (lambda: check_number("C", True), "C must be a number"),
    (lambda: check_number("share", 2.0, 0.0, 1.0), "of at least 0 and at most 1"),
    (lambda: check_choice("form", "none", ("primal", "dual")), "form must be one of 'primal', 'dual', but 'none'"),
])  # fmt: skip
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_sparse_input_is_taken_or_refused():
    matrix = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert as_matrix(matrix, "E", sparse=True).toarray().tolist() == [[0.0, 3.0], [0.0, 0.0]]
    assert matrix.nnz == 2  # the caller's matrix is unchanged
    with pytest.raises(TypeError, match="Sparse X"):
        as_matrix(matrix, "E")
