"""scikit-learn's protocol, of every public estimator."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags

import models
from models.base.estimator import Estimator
from models.base.transformer import Transformer
from tests.models.explanations.test_estimator import first_features
from tests.support.chains import kinds

TOPICS = models.LatentDirichletAllocation(2, max_iter=5, random_state=0)
SETTINGS = {
    "LatentDirichletAllocation": {"n_topics": 3, "max_iter": 5},
    "MedLDA": {"n_topics": 3, "max_iter": 3, "random_state": 0},
    "SVCCV": {"Cs": [1.0, 10.0], "cv": 2},
    "NuSVC": {"nu": 0.25},  # weights of the checks leave the smaller class a share below 0.25
}
PUBLIC = [
    kind
    for kind in (getattr(models, name) for name in models.__all__)
    if inspect.isclass(kind) and issubclass(kind, Estimator)
]
OF_SEQUENCES_OR_TOPICS = (
    models.FisherScore, models.FreeEnergyScore, models.LogLikelihoodScore, models.SufficientStatistics,
    models.MaxMarginScoreSpace, models.FreeEnergyClassifier, models.ScoreSpaceClassifier,
)  # fmt: skip
OF_SEQUENCES = (
    models.DiscreteHMM, models.GaussianHMM, models.FisherKernelLearning, models.LargeMarginHMM,
    *OF_SEQUENCES_OR_TOPICS,
)  # fmt: skip
OF_MATRICES = [
    *(kind(**SETTINGS.get(kind.__name__, {})) for kind in PUBLIC if kind not in OF_SEQUENCES),
    *(kind(TOPICS) for kind in OF_SEQUENCES_OR_TOPICS),
]


VARIANTS = [
    models.MixedNaiveBayes("categorical"),
    models.LinearDiscriminant("diagonal"),
    models.LinearDiscriminant("identity"),
    models.QuadraticDiscriminant("diagonal"),
    models.SVC(kernel="linear"),
    models.SVC(multi_class="ovr"),
    models.SVC(kernel="linear", solver="primal"),
    models.SVC(kernel="poly"),
    models.SVCCV(multi_class="ovr", kernel="linear"),
    models.SVR(kernel="linear"),
    models.SVR(solver="primal"),
    models.LinearSVC(loss="hinge", class_weight="balanced"),
    models.LinearSVR(0.1, loss="squared_epsilon_insensitive"),
    models.MultiTaskSVC(C1=0.1, C2=1.0, kernel="rbf"),
    models.ExplanationAugmentedSVC(explain=first_features, kernel="rbf", penalty="l2"),
    models.ExplanationAugmentedSVC(explain=first_features, Q=np.inf, multi_class="ovr"),
]
CHECKS_WITHOUT_SAMPLES = (
    "check_estimator_cloneable", "check_estimator_repr", "check_no_attributes_set_in_init",
    "check_parameters_default_constructible", "check_get_params_invariance", "check_set_params",
    "check_estimator_tags_renamed", "check_valid_tag_types",
)  # fmt: skip


# scikit-learn lists the same check for its own NuSVC
EXPECTED = {"NuSVC": {"check_class_weight_classifiers": "with weights of 1000 and 1e-4 nu must be below 2.2e-7"}}
if sklearn.__version__.startswith("1.6."):  # it tells the weighted samples from the copies by the first one of each
    EXPECTED |= {
        kind.__name__: {"check_sample_weight_equivalence_on_dense_data": "this version gives both other classes"}
        for kind in (models.BilevelClassifier, models.KnowledgeSVC, models.MultiTaskSVC)
    }
LONG = (
    "MaxMarginScoreSpace", "ScoreSpaceClassifier", "FreeEnergyClassifier", "MEDClassifier", "MedLDA", "NuSVC",
    "CoupledDiscriminant", "SVCCV", "FisherScore", "FreeEnergyScore", "SufficientStatistics",
)  # fmt: skip


def estimators_to_check():
    """Return the estimators as parameters of a test; those in `LONG` and all variants are marked `full`."""
    named = {estimator: type(estimator).__name__ in LONG for estimator in OF_MATRICES}
    is_long = {**named, **dict.fromkeys(VARIANTS, True)}
    return [pytest.param(estimator, marks=pytest.mark.full if long else ()) for estimator, long in is_long.items()]


def test_every_public_estimator_is_here():
    assert {type(estimator) for estimator in OF_MATRICES} | set(OF_SEQUENCES) == set(PUBLIC)


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit from `sklearn.base.BaseEstimator`")
@pytest.mark.parametrize("estimator", estimators_to_check(), ids=lambda e: type(e).__name__)
def test_scikit_learn_accepts(estimator):
    expected = EXPECTED.get(type(estimator).__name__, {})
    results = estimator_checks.check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=expected)
    assert not {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == {*expected}
    assert sum(r["status"] == "passed" for r in results) > 35


@pytest.mark.parametrize("kind", OF_SEQUENCES, ids=lambda kind: kind.__name__)
def test_estimators_of_sequences_say_so(kind):
    tags = get_tags(kind())
    assert tags.input_tags.one_d_array and not tags.input_tags.two_d_array
    assert (tags.transformer_tags is not None) == hasattr(kind, "transform")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = estimator_checks.check_estimator(kind(), on_skip=None, on_fail=None)
    assert {r["status"] for r in results} == {"passed"}
    for name in CHECKS_WITHOUT_SAMPLES:
        getattr(estimator_checks, name)(kind.__name__, kind())


def sequences_of(model):
    """Return sequences of two classes that the model accepts, and labels."""
    X, y = kinds()
    vectors = isinstance(model, models.GaussianHMM) or isinstance(getattr(model, "model", None), models.GaussianHMM)
    return [np.stack([x, x**2], axis=1) for x in X] if vectors else X, y


@pytest.mark.parametrize("estimator", [
    models.DiscreteHMM(2, random_state=0),
    models.GaussianHMM(2, random_state=0),
    models.LargeMarginHMM(2, max_iter=2, random_state=0),
    models.FisherKernelLearning(2, max_iter=3, random_state=0),
    *(
        pytest.param(kind(model), marks=pytest.mark.full if kind is models.ScoreSpaceClassifier else ())
        for kind in OF_SEQUENCES_OR_TOPICS
        for model in (models.DiscreteHMM(2, random_state=0), models.GaussianHMM(2, random_state=0))
    ),
    models.MaxMarginScoreSpace(models.DiscreteHMM(2, random_state=0), inference="sampler", n_init=1, random_state=0),
], ids=repr)  # fmt: skip
def test_what_the_checks_of_scikit_learn_ask_holds_for_sequences(estimator):
    X, y = sequences_of(estimator)
    for refused in (3.0, "text", {"a": 1}, [], [[]], [[1j, 0.0], [1.0, 2.0]], [["a", {}], ["b"]]):
        with pytest.raises((ValueError, TypeError)):
            clone(estimator).fit(refused, y)
    fitted = clone(estimator).fit(X, y)
    assert fitted.get_params().keys() == estimator.get_params().keys()
    methods = [name for name in ("predict", "decision_function", "transform", "score_samples") if hasattr(fitted, name)]
    again = pickle.loads(pickle.dumps(clone(estimator).fit(pd.Series(X), y)))
    order = np.random.default_rng(0).permutation(len(X))
    for name in methods:
        values = getattr(fitted, name)(X)
        shuffled, part = getattr(fitted, name)([X[i] for i in order]), getattr(fitted, name)(X[3:7])
        repeated = getattr(again, name)(X)
        for i in range(len(X)):
            np.testing.assert_array_equal(np.asarray(values[i]), np.asarray(repeated[i]))
        for k, i in enumerate(order):
            np.testing.assert_allclose(_number(shuffled[k]), _number(values[i]), rtol=0, atol=1e-7)
        for k in range(4):
            np.testing.assert_allclose(_number(part[k]), _number(values[3 + k]), rtol=0, atol=1e-7)


def _number(value):
    """Return float arrays unchanged; convert labels to floats."""
    value = np.asarray(value)
    return value if value.dtype.kind == "f" else value.astype(np.float64)


@pytest.mark.parametrize("estimator", [
    TOPICS,
    models.FisherKernelLearning(2, max_iter=3, random_state=0),
    *(
        kind(model)
        for kind in OF_SEQUENCES_OR_TOPICS if issubclass(kind, Transformer)
        for model in (TOPICS, models.DiscreteHMM(2, random_state=0), models.GaussianHMM(2, random_state=0))
    ),
    models.MaxMarginScoreSpace(models.DiscreteHMM(2, random_state=0), inference="sampler", random_state=0),
], ids=repr)  # fmt: skip
def test_features_have_names_and_come_in_tables(estimator):
    assert isinstance(estimator, Transformer)
    if get_tags(estimator).input_tags.two_d_array:
        X, y = np.random.default_rng(0).poisson(3.0, size=(20, 6)), np.arange(20) % 2
        X = pd.DataFrame(X, columns=list("abcdef"), index=range(100, 120))
    else:
        X, y = sequences_of(estimator)
        X = pd.Series(X, index=range(100, 100 + len(X)))
    plain = clone(estimator).fit_transform(X, y)
    found = clone(estimator).set_output(transform="pandas").fit_transform(X, y)
    name = type(estimator).__name__.lower()
    assert found.columns.tolist() == [f"{name}{i}" for i in range(plain.shape[1])]
    assert found.index.tolist() == X.index.tolist()
    np.testing.assert_array_equal(found.to_numpy(), plain)


def test_a_pipeline_of_sequences_hands_tables_on():
    X, y = kinds()
    pipeline = make_pipeline(
        models.SufficientStatistics(models.DiscreteHMM(2, random_state=0)), models.SVC(kernel="linear")
    )
    pipeline.set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_[0] == "sufficientstatistics0"
    assert pipeline[:-1].get_feature_names_out().size == pipeline[-1].n_features_in_
