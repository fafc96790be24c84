"""What is done with an estimator every day, on small data: each function takes the estimator and raises if it fails."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from sklearn import compose, ensemble
from sklearn.base import clone, is_regressor
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

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
    """Labels are equal but for ties, and numbers but for the tolerance of an iteration."""
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
    """Weights go to fit, and where they are routed to score too: in a pipeline, and without."""
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
