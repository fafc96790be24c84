"""Everyday uses of every estimator compared with scikit-learn's counterpart: a table of accepted and refused uses."""

import functools
import pickle

import numpy as np
import pytest
import sklearn
from sklearn import linear_model, naive_bayes, svm
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import has_fit_parameter

import models
from models import DiscreteHMM, SufficientStatistics
from tests.models.explanations.test_estimator import first_features
from tests.models.test_protocol import OF_SEQUENCES, PUBLIC, sequences_of
from tests.support.everyday_uses import USES, X, fit, raises

TOPICS = {"max_iter": 2, "random_state": 0}
CHOSEN_BY_MARGINS = models.MaxMarginScoreSpace, models.ScoreSpaceClassifier  # long
# scikit-learn's estimator, ours of its kind, run in every test run; the first is for machines it lacks
TABLE = [
    (linear_model.LogisticRegression(), [models.MultiTaskSVC()], True),
    (linear_model.LogisticRegression(), [
        models.BilevelClassifier(), models.CoupledDiscriminant(max_iter=20), models.MEDClassifier(),
        models.MinimaxProbabilityClassifier(), models.KnowledgeSVC(),
        models.ExplanationAugmentedSVC(explain=first_features),
    ], False),
    (linear_model.LogisticRegression(), [models.LogisticRegression()], True),
    (svm.SVC(), [models.SVC()], True),
    (svm.SVC(), [models.SVCCV([0.1, 1.0], cv=2)], False),
    (svm.SVC(kernel="linear", max_iter=1000), [models.SVC(kernel="linear")], False),
    (svm.NuSVC(nu=0.25), [models.NuSVC()], False),
    (svm.LinearSVC(), [models.LinearSVC()], True),
    (svm.SVR(), [models.SVR()], True),
    (svm.SVR(kernel="linear", max_iter=1000), [models.SVR(kernel="linear")], False),
    (svm.NuSVR(), [models.NuSVR()], False),
    (svm.LinearSVR(), [models.LinearSVR()], False),
    (svm.OneClassSVM(), [models.OneClassSVM()], True),
    (linear_model.BayesianRidge(), [models.JointGaussianRegressor()], True),
    (LinearDiscriminantAnalysis(), [models.LinearDiscriminant()], True),
    (QuadraticDiscriminantAnalysis(reg_param=0.1), [models.QuadraticDiscriminant()], False),
    (NearestCentroid(), [models.Prototypes()], False),
    (naive_bayes.GaussianNB(), [models.MixedNaiveBayes()], False),
    (naive_bayes.MultinomialNB(), [models.MultinomialNaiveBayes()], True),
    (naive_bayes.MultinomialNB(), [models.HybridNaiveBayes(), models.MedLDA(2, **TOPICS)], False),
    (LatentDirichletAllocation(2, **TOPICS), [models.LatentDirichletAllocation(2, **TOPICS)], False),
]  # fmt: skip
LDA, QDA, NEAREST, NUMBER = "LinearDiscriminant", "QuadraticDiscriminant", "Prototypes", "text is no number here"
NO_WEIGHTS = dict.fromkeys((LDA, QDA, NEAREST), "theirs takes no weights")
BAYES = ("MultinomialNaiveBayes", "MixedNaiveBayes")
SINGULAR, FOLDS = "a singular covariance is shrunk", "every fold needs both classes"
DENSE = dict.fromkeys((NEAREST, "CoupledDiscriminant"), "dense, as the other discriminants")
TWO = ("BilevelClassifier", "KnowledgeSVC", "MultiTaskSVC")
MISSING = (LDA, QDA, NEAREST, "MixedNaiveBayes", "JointGaussianRegressor")
# use: {estimator: why it differs from scikit-learn}; "" for all
REASONS = {
    **{name: {"": NUMBER} for name in ("text X", "dates X")},
    "probability=True": {"": "the message names CalibratedClassifierCV, which does it"},
    **dict.fromkeys(("weights routed", "clone keeps requests", "AdaBoostClassifier"), NO_WEIGHTS),
    "weights by cross_validate": NO_WEIGHTS,
    "weights are copies": {**NO_WEIGHTS, "SVCCV": "its folds are of samples, of which there are others"},
    "one sample a class": {"SVCCV": FOLDS, LDA: SINGULAR, QDA: SINGULAR},
    "few samples": {QDA: SINGULAR},
    **dict.fromkeys(("csr_array", "csc_array", "coo_array", "csr_matrix"), DENSE),
    "one class": dict.fromkeys((LDA, *BAYES, "HybridNaiveBayes", "MedLDA"), "there is nothing to tell apart"),
    "three classes": dict.fromkeys(TWO, "stated for two classes"),
    "NaN": dict.fromkeys(MISSING, "a missing value"),
    "class_weight": {"MinimaxProbabilityClassifier": "see models.base.estimator.Classifier"},
}

SKLEARN_IS_OLDER = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
OTHERWISE_BEFORE = ("score, other labels", "weights routed")  # scikit-learn 1.7 differs here from later versions


def is_for(whom, m):
    supervised, weights = is_classifier(m) or is_regressor(m), has_fit_parameter(m, "sample_weight")
    kinds = {"supervised": supervised, "classifier": is_classifier(m), "regressor": is_regressor(m), "weights": weights}
    kinds["supervised weights"] = supervised and weights
    kinds["coef_"] = supervised and getattr(fit(clone(m)), "coef_", np.zeros(0)).shape[-1] == X.shape[1]
    return kinds[whom] if whom in kinds else hasattr(m, whom)


def outcome(name, m):
    """Return how the use ends ("taken", "wrong" or "refused") and the error's message."""
    try:
        USES[name][1](clone(m))
    except AssertionError as error:
        return "wrong", str(error)
    except Exception as error:
        return "refused", str(error)
    return "taken", ""


@functools.cache
def with_theirs(name, shown):
    return outcome(name, next(theirs for theirs, _, _ in TABLE if repr(theirs) == shown))[0]


def test_every_estimator_is_in_the_table():
    assert {type(m) for _, ours, _ in TABLE for m in ours} | set(OF_SEQUENCES) == set(PUBLIC)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [pytest.param(m, t, marks=() if short else pytest.mark.full) for t, ours, short in TABLE for m in ours],
    ids=lambda m: type(m).__name__,
)
def test_what_is_taken_and_refused(ours, theirs):
    told, who = {}, type(ours).__name__
    for name, (whom, _, *words) in USES.items():
        if not is_for(whom, ours):
            continue
        (found, message), expected = outcome(name, ours), with_theirs(name, repr(theirs))
        reasons = REASONS.get(name, {})
        if SKLEARN_IS_OLDER and name in OTHERWISE_BEFORE:
            expected, reasons = found, {}
        differs = found != expected and (found, expected) != ("taken", "wrong")
        if (found == "wrong" and who not in reasons) or (differs and not {"", who} & reasons.keys()):
            told[name] = (found, f"theirs: {expected}", message[:100])
        elif who in reasons and not differs:
            told[name] = "no difference: the reason is out of date"
        elif found == "refused" and not all(word in message for word in words):
            told[name] = f"the message lacks {words[0]!r}: {message[:100]}"
    assert told == {}


@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=pytest.mark.full if kind in CHOSEN_BY_MARGINS else ())
    for kind in OF_SEQUENCES if hasattr(kind, "score")
])  # fmt: skip
def test_uses_of_sequences(kind):
    m = kind(DiscreteHMM(2, random_state=0)) if "model" in kind().get_params() else kind(2)
    m.set_params(**{"random_state": 0} if "random_state" in m.get_params() else {})
    S, y = sequences_of(m)
    fitted, expected = clone(m).fit(S, y), searched(m, S, y)
    assert (
        expected
        == searched(pickle.loads(pickle.dumps(fitted)), S, y)
        == searched(make_pipeline("passthrough", m), S, y)
    )
    with sklearn.config_context(enable_metadata_routing=True):
        assert expected == searched(m, S, y)
        if is_classifier(m):  # a pipeline passes weights also to scores that take none, in scikit-learn too
            assert expected == searched(make_pipeline("passthrough", m), S, y)
    if is_classifier(m):
        assert fitted.score(S, np.asarray(y)[:, None]) == fitted.score(S, y)
        raises(ValueError, f"X has {len(y)}, y has 3", lambda: fitted.score(S, y[:3]))
    assert "(fitted)" in fitted._repr_html_() and "(not fitted)" in m._repr_html_()


def searched(m, S, y):
    return GridSearchCV(m, {}, cv=2, error_score="raise").fit(S, y).cv_results_["mean_test_score"].tolist()


def test_a_space_of_scores_in_a_routed_pipeline():
    S, y = sequences_of(DiscreteHMM())
    machine, space = models.SVC(kernel="linear"), SufficientStatistics(DiscreteHMM(2, random_state=0))
    light = np.where(np.asarray(y) == y[0], 0.1, 1.0)
    expected = clone(machine).fit(clone(space).fit_transform(S, y), y, sample_weight=light)
    with sklearn.config_context(enable_metadata_routing=True):
        found = make_pipeline(space, machine.set_fit_request(sample_weight=True)).fit(S, y, sample_weight=light)[-1]
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)
    assert found.dual_coef_.min() > -0.1 - 1e-9 or found.dual_coef_.max() < 0.1 + 1e-9
