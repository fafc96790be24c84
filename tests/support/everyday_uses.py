"""Everyday uses of an estimator on small data: each function takes the estimator and raises if a use fails."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from joblib import parallel_config
from sklearn import compose, ensemble, feature_selection, inspection
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate, learning_curve
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Binarizer, MaxAbsScaler

RNG, Y, LETTERS = np.random.default_rng(0), np.tile([0, 1], 12), list("abcd")
X = RNG.integers(0, 9, (24, 4)) + 4.0 * np.outer(Y, [1, 0, 0, 0])
T, W, LABELS = X[:, 1] - X[:, 2], RNG.integers(1, 3, 24), np.array(["no", "yes"])[Y]
FRAME = pd.DataFrame(X, columns=LETTERS, index=range(100, 124))


def y_of(m):
    return T if is_regressor(m) else Y


def fit(m, samples=X, y=None, **more):
    return m.fit(samples, y_of(m) if y is None else y, **more)


def answers(m, samples=X):
    return np.asarray(m.predict(samples) if hasattr(m, "predict") else m.transform(samples))


def agree(found, expected):
    """Check that labels are equal except for ties, and numbers up to the tolerance of an iteration."""
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        assert np.abs(found - expected).max() <= 0.02 * (1.0 + np.abs(expected).max())
    else:
        assert (found == expected).mean() > 0.9


def like_arrays(m, samples=X, y=None):
    plain = None if y is None else np.asarray(y).ravel()
    agree(answers(fit(m, samples, y), samples), answers(fit(clone(m), X, plain)))
    if y is not None and hasattr(m, "score"):
        assert m.score(samples, y) == pytest.approx(m.score(X, plain), nan_ok=True)


def column(m):
    with pytest.warns(DataConversionWarning):
        like_arrays(m, y=y_of(m)[:, None])


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def in_pipeline(m):
    return make_pipeline(MaxAbsScaler(), m)


def scores(m, **more):
    found = cross_val_score(clone(m), X, y_of(m), cv=2, error_score="raise", **more)
    assert np.isfinite(found).all()
    return found


def weighed(m, routing, **more):
    """Cross-validate with weights in `fit` and, if routed, in `score`: in a pipeline and without one."""
    folds = list(StratifiedKFold(2).split(X, Y))
    options = {"params": {"sample_weight": W}, "cv": folds, "error_score": "raise"}
    with sklearn.config_context(enable_metadata_routing=routing):
        m = m.set_fit_request(**more).set_score_request(**more) if more else m
        found = cross_validate(clone(m), X, y_of(m), **options)["test_score"]
        if routing:
            assert np.isfinite(cross_validate(in_pipeline(m), X, y_of(m), **options)["test_score"]).all()
    for (train, test), score in zip(folds, found, strict=True):
        alone = fit(clone(m), X[train], y_of(m)[train], sample_weight=W[train])
        expected = alone.score(X[test], y_of(m)[test], **({"sample_weight": W[test]} if routing else {}))
        assert score == pytest.approx(expected)


def without_metadata(m):
    with sklearn.config_context(enable_metadata_routing=True):
        GridSearchCV(in_pipeline(m), {}, cv=2, error_score="raise").fit(X, y_of(m)).best_estimator_.score(X, y_of(m))


def keeps_requests(m):
    with sklearn.config_context(enable_metadata_routing=True):
        requests = clone(m.set_fit_request(sample_weight="w")).get_metadata_routing().fit.requests
    assert requests["sample_weight"] == "w"


def copies(m):
    times = np.tile([0, 1, 2, 1, 1, 2], 4)
    expected = answers(fit(clone(m), np.repeat(X, times, axis=0), np.repeat(y_of(m), times)))
    agree(answers(fit(m, sample_weight=times)), expected)


def balanced(m):
    few = np.flatnonzero((Y == 0) | (np.arange(24) < 8))
    given = dict(zip([0, 1], few.size / (2.0 * np.bincount(Y[few])), strict=True))
    expected = answers(fit(clone(m).set_params(class_weight=given), X[few], Y[few]))
    agree(answers(fit(m.set_params(class_weight="balanced"), X[few], Y[few])), expected)
    each = np.array([given[k] for k in Y[few]])
    agree(answers(fit(m.set_params(class_weight=None), X[few], Y[few], sample_weight=each)), expected)


def frame(m):
    like_arrays(m, FRAME)
    assert m.feature_names_in_.tolist() == LETTERS
    with pytest.raises(ValueError, match="feature names"):
        answers(m, FRAME[LETTERS[::-1]])


def in_table(m):
    table = fit(m.set_output(transform="pandas"), FRAME).transform(FRAME)
    assert table.index.equals(FRAME.index) and table.columns.tolist() == m.get_feature_names_out().tolist()


def shown(m):
    for text in (repr(m), m._repr_html_(), fit(m)._repr_html_(), in_pipeline(m)._repr_html_()):
        assert type(m).__name__ in text


def mixed_columns(m):
    steps = compose.make_column_transformer((MaxAbsScaler(), ["a", "c"]), remainder="passthrough")
    answers(fit(make_pipeline(steps, m), FRAME), FRAME)


def search(m):
    name, value = next(iter(m.get_params().items()))
    grid = {f"{type(m).__name__.lower()}__{name}": [value, value]}
    assert np.isfinite(GridSearchCV(in_pipeline(m), grid, cv=2, error_score="raise").fit(X, y_of(m)).best_score_)


def in_threads(m):
    with parallel_config("threading"):
        np.testing.assert_array_equal(scores(m, n_jobs=2), scores(m))


def other_shape(m):
    fit(fit(m), X[:20, :3], y_of(m)[:20])
    assert answers(m, X[:, :3]).shape[0] == 24 and m.n_features_in_ == 3


def raises(error, words, call):
    with pytest.raises(error, match=words):
        call()


def meta(kind, **more):
    return lambda m: fit(kind(m, **more)).predict(X)


def ensemble_of(kind, **more):
    def run(m):
        end = "Regressor" if is_regressor(m) else "Classifier"
        fit(getattr(ensemble, kind + end)([("a", m), ("b", clone(m))], **more)).predict(X)

    return run


def form(samples=X, y=None):
    return lambda m: like_arrays(m, samples, y)


def of_y(make):
    return lambda m: like_arrays(m, y=make(y_of(m)))


# name: (whom it is for, what is done)
USES = {
    "pipeline": ("fit", lambda m: answers(fit(in_pipeline(m)))),
    "ColumnTransformer": ("fit", mixed_columns),
    "FeatureUnion": ("fit", lambda m: answers(fit(make_pipeline(make_union(MaxAbsScaler(), Binarizer()), m)))),
    "GridSearchCV": ("score", search),
    "cross_val_score": ("score", scores),
    "two threads of joblib": ("score", in_threads),
    "learning_curve": ("score", lambda m: learning_curve(m, X, y_of(m), cv=2, train_sizes=[16], error_score="raise")),
    "weights by cross_validate": ("supervised weights", lambda m: weighed(m, False)),
    "weights routed": ("supervised weights", lambda m: weighed(m, True, sample_weight=True)),
    "weights not asked for": ("supervised weights", lambda m: weighed(m, True)),
    "weights of another name": ("supervised weights", lambda m: weighed(m, True, sample_weight="w")),
    "routing without metadata": ("score", without_metadata),
    "clone keeps requests": ("weights", keeps_requests),
    "weights are copies": ("weights", copies),
    "class_weight": ("classifier", balanced),
    "CalibratedClassifierCV": ("classifier", meta(CalibratedClassifierCV, cv=2)),
    "OneVsRestClassifier": ("classifier", meta(OneVsRestClassifier)),
    "BaggingClassifier": ("classifier", meta(ensemble.BaggingClassifier, n_estimators=2, random_state=0)),
    "AdaBoostClassifier": ("classifier", meta(ensemble.AdaBoostClassifier, n_estimators=2, random_state=0)),
    "Voting": ("supervised", ensemble_of("Voting")),
    "Stacking": ("supervised", ensemble_of("Stacking", cv=2)),
    "TransformedTargetRegressor": ("regressor", meta(compose.TransformedTargetRegressor)),
    "RFE by coef_": ("coef_", meta(feature_selection.RFE, n_features_to_select=2)),
    "permutation_importance": ("score", lambda m: inspection.permutation_importance(fit(m), X, y_of(m), n_repeats=1)),
    "roc_auc": ("classifier", lambda m: scores(m, scoring="roc_auc")),
    "pickle": ("fit", lambda m: agree(answers(pickle.loads(pickle.dumps(fit(m)))), answers(m))),
    "set_output": ("transform", in_table),
    "repr in notebooks": ("fit", shown),
    "get_params, set_params": ("fit", lambda m: fit(m.set_params(**m.get_params(deep=True)))),
    "unknown parameter": ("fit", lambda m: raises(ValueError, "Invalid parameter", lambda: m.set_params(nothing=1))),
    "not fitted": ("fit", lambda m: raises(NotFittedError, "not fitted", lambda: answers(m))),
    "fit again, another shape": ("fit", other_shape),
    "DataFrame": ("fit", frame),
    "nullable DataFrame": ("fit", form(FRAME.astype("Float64"))),
    "list": ("fit", form(X.tolist())),
    "float32": ("fit", form(X.astype(np.float32))),
    "integers": ("fit", form(X.astype(np.int16))),
    "objects": ("fit", form(X.astype(object))),
    "read-only": ("fit", form(frozen(X))),
    "Fortran order": ("fit", form(np.asfortranarray(X))),
    "strided": ("fit", form(X.repeat(2, 0).repeat(2, 1)[::2, ::2])),
    "csr_array": ("fit", form(sp.csr_array(X))),
    "csc_array": ("fit", form(sp.csc_array(X))),
    "coo_array": ("fit", form(sp.coo_array(X))),
    "csr_matrix": ("fit", form(sp.csr_matrix(X))),
    "column y": ("supervised", column),
    "list y": ("supervised", of_y(np.ndarray.tolist)),
    "Series y": ("supervised", of_y(lambda y: pd.Series(y, index=FRAME.index[::-1]))),
    "nullable Series y": ("supervised", of_y(lambda y: pd.Series(y).astype("Int64"))),
    "strings y": ("classifier", form(y=LABELS)),
    "objects y": ("classifier", form(y=LABELS.astype(object))),
    "string Series y": ("classifier", form(y=pd.Series(LABELS, dtype="string"))),
    "categorical y": ("classifier", form(y=pd.Categorical(LABELS))),
    "bool y": ("classifier", form(y=Y > 0)),
    "float y": ("classifier", form(y=Y + 0.0)),
    "one sample a class": ("classifier", lambda m: answers(fit(m, X[:2], Y[:2]))),
    "few samples": ("fit", lambda m: answers(fit(m, X[:4].repeat(2, 1), y_of(m)[:4]), X.repeat(2, 1))),
    "a constant feature": ("fit", lambda m: answers(fit(m, X * [1, 0, 1, 1]))),
    "a feature twice": ("fit", lambda m: answers(fit(m, X[:, [0, 0, 1, 2]]))),
    "a single feature": ("fit", lambda m: answers(fit(m, X[:, :1]), X[:, :1])),
    "three classes": ("classifier", lambda m: answers(fit(m, y=np.arange(24) % 3))),
    # what is mostly refused, with a word that our message must have
    "one class": ("classifier", lambda m: fit(m, y=0 * Y), "one class: 0"),
    "NaN": ("fit", lambda m: fit(m, np.where(X == 3, np.nan, X)), "X"),
    "inf": ("fit", lambda m: fit(m, np.where(X == 3, np.inf, X)), "X"),
    "text X": ("fit", lambda m: fit(m, X.astype(str)), "X must hold numbers"),
    "words X": ("fit", lambda m: fit(m, LABELS[:, None]), "X must hold numbers"),
    "dates X": ("fit", lambda m: fit(m, FRAME.astype("datetime64[s]")), "X must hold numbers"),
    "complex X": ("fit", lambda m: fit(m, X + 1j), "X"),
    "X of one dimension": ("fit", lambda m: fit(m, X[:, 0]), "2D array as X"),
    "no samples": ("fit", lambda m: fit(m, X[:0], Y[:0]), "0 sample"),
    "no features": ("fit", lambda m: fit(m, X[:, :0]), "0 feature"),
    "other features": ("fit", lambda m: answers(fit(m), X[:, :3]), "X has 3 features"),
    "y of another length": ("supervised", lambda m: fit(m, y=y_of(m)[:5]), "X has 24, y has 5"),
    "two columns y": ("supervised", lambda m: fit(m, y=np.c_[y_of(m), y_of(m)]), "y should be a 1d array"),
    "no y": ("supervised", lambda m: m.fit(X, None), "requires y"),
    "text y": ("regressor", lambda m: fit(m, y=LABELS), "y must hold numbers"),
    "continuous y": ("classifier", lambda m: fit(m, y=T + 0.5), "y must hold classes"),
    "NaN y": ("supervised", lambda m: fit(m, y=np.where(X[:, 1] > 3, np.nan, y_of(m))), "y contains NaN"),
    "score, y of another length": ("supervised", lambda m: fit(m).score(X, y_of(m)[:5]), "X has 24, y has 5"),
    "score, two columns y": ("supervised", lambda m: fit(m).score(X, np.c_[y_of(m), y_of(m)]), "y should be a 1d"),
    "score, other labels": ("classifier", lambda m: fit(m, y=LABELS).score(X, Y), "y must hold labels"),
    "score, no y": ("supervised", lambda m: fit(m).score(X, None), "requires y"),
    "score, weights of another length": ("supervised", lambda m: fit(m).score(X, y_of(m), W[:5]), "sample_weight"),
    "weights of another length": ("weights", lambda m: fit(m, sample_weight=W[:5]), "sample_weight"),
    "NaN weights": ("weights", lambda m: fit(m, sample_weight=W * np.nan), "sample_weight"),
    "text weights": ("weights", lambda m: fit(m, sample_weight=LABELS), "sample_weight"),
    "probability=True": ("classifier", lambda m: type(m)(probability=True), "unexpected keyword argument"),
}
