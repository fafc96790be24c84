"""Estimators refuse wrong input with a message that names the parameter or data and a remedy."""

import inspect

import numpy as np
import pytest

import models
from models.base.estimator import not_fitted_error
from tests.models.test_protocol import OF_SEQUENCES, PUBLIC
from tests.support.chains import kinds
from tests.support.svm_data import separable, two_classes
from tests.support.topic_models import corpus

X, Y = two_classes(noise=2.0)
S, L = kinds()
COUNTS, FEW = corpus(0), np.where(np.arange(60) < 6, 1, -1)
TWELVE = np.random.default_rng(0).poisson(2.0, (60, 12))
APART = separable()
BOX = np.vstack([np.eye(3), -np.eye(3)]), np.ones(6)
NAN_BOX = BOX[0], np.append(np.nan, np.ones(5))
TASKS = {"tasks": np.array(["a", "b", "c"])[np.arange(60) % 3]}
INDEFINITE = lambda A, B: -(A @ B.T)  # noqa: E731
MINUS_ONE = lambda A, B: -np.eye(A.shape[0], B.shape[0])  # noqa: E731
PRIOR = models.GenerativePrior(([0.0], [1.0]), (1.0, 1.0))
OF_THE_CLASSES = r"sample_weight is zero for every sample of the classes \[-1\]"
# the estimator, its parameters, what its message says, and the arguments of fit where they are not (X, Y)
REFUSED = [
    ("SVC", {"kernel": "sigmoid"}, "kernel='sigmoid' is not positive semidefinite"),
    ("SVC", {"kernel": "tanh"}, "kernel must be one of"),
    ("SVC", {"class_weight": {"7": 2.0}}, "class_weight names '7', which is not in y"),
    ("SVC", {"kernel": "precomputed"}, "X must be a square matrix of the kernel"),
    ("SVC", {"kernel": INDEFINITE}, "kernel must be positive semidefinite"),
    ("SVC", {"kernel": INDEFINITE, "solver": "primal"}, "kernel must be positive semidefinite"),
    ("SVC", {}, "there is one class", (X, np.ones(60))),
    ("SVR", {"kernel": "tanh"}, "kernel must be one of"),
    ("SVR", {"C": np.inf, "kernel": "linear"}, "no function of this kernel stays within epsilon of all targets"),
    ("LinearSVC", {"C": np.inf}, "C must be finite"),
    ("LinearSVC", {"class_weight": "even"}, "class_weight must be"),
    ("LinearSVC", {"random_state": "seed"}, "random_state must be"),
    ("MinimaxProbabilityClassifier", {}, "must differ in their means", ([[0.0], [2.0], [1.0], [1.0]], [0, 0, 1, 1])),
    ("KnowledgeSVC", {"knowledge": [(*BOX, 1), (*BOX, -1)]}, "no hyperplane respects all of the knowledge", APART),
    ("KnowledgeSVC", {"C": np.inf}, "C must be finite"),
    ("KnowledgeSVC", {"knowledge": "x > 1"}, "knowledge must be a list"),
    ("KnowledgeSVC", {"knowledge": [BOX]}, r"knowledge\[0\] must be a triple", APART),
    ("KnowledgeSVC", {"knowledge": [(np.eye(2), np.ones(2), 1)]}, r"must have a D of shape \(rows, 3\)", APART),
    ("KnowledgeSVC", {"knowledge": [(*NAN_BOX, 1)]}, r"knowledge\[0\] must be finite", APART),
    ("KnowledgeSVC", {"knowledge": [(*BOX, 5)]}, r"knowledge\[0\] is about the class 5", APART),
    ("MultiTaskSVC", {"kernel": "precomputed"}, "'precomputed' came"),
    ("ExplanationAugmentedSVC", {"kernel": "precomputed"}, "'precomputed' came"),
    ("MultiTaskSVC", {"task_column": 4}, "task_column must be one of the 4 columns"),
    ("MultiTaskSVC", {"task_column": 0}, "both given", (X, Y), TASKS),
    ("MultiTaskSVC", {}, "Only binary classification", (X, np.arange(60) % 3), TASKS),
    ("MultiTaskSVC", {}, "tasks has 5", (X, Y), {"tasks": np.zeros(5)}),
    ("CoupledDiscriminant", {}, "X_unlabelled has 1 features, but X has 4", (X, Y), {"X_unlabelled": X[:, :1]}),
    ("SVCCV", {"Cs": []}, "Cs must hold positive finite numbers"),
    ("SVCCV", {"Cs": [1.0, np.inf]}, "Cs must hold positive finite numbers"),
    ("SVCCV", {"Cs": [1.0, 0.0]}, "Cs must hold positive finite numbers"),
    ("SVCCV", {"cv": 1}, "cv must be a whole number of at least 2"),
    ("SVCCV", {"cv": "five"}, "cv must be a number of folds or pairs"),
    ("SVCCV", {"cv": [([0, 1], [500])]}, "cv must be a number of folds or pairs"),
    ("SVCCV", {"cv": []}, "cv must have folds"),
    ("SVCCV", {"kernel": "sigmoid"}, "not positive semidefinite"),
    ("SVCCV", {"kernel": MINUS_ONE}, "must be positive semidefinite"),
    ("SVCCV", {}, "at least two samples of every class", (X[:10], [0] * 9 + [1])),
    ("SVCCV", {"cv": [(np.flatnonzero(Y < 0), np.flatnonzero(Y > 0))]}, "is zero for every sample of the classes"),
    ("HybridNaiveBayes", {"regions": 5}, "regions must be a number that divides the 12 columns", (TWELVE, Y)),
    ("HybridNaiveBayes", {"regions": 0}, "regions must be", (TWELVE, Y)),
    ("HybridNaiveBayes", {"regions": 1.0}, "regions must be", (TWELVE, Y)),
    ("HybridNaiveBayes", {"regions": [4, 9], "shared_words": False}, "regions must be", (TWELVE, Y)),
    ("HybridNaiveBayes", {"regions": [4, 8]}, "the same number of columns when they share", (TWELVE, Y)),
    ("HybridNaiveBayes", {}, "must be counts", (-TWELVE, Y)),
    ("MEDClassifier", {"a": 0.1}, "a must be above 1 / c"),
    ("BilevelClassifier", {"beta": -1.0}, "beta must be a number of at least 0"),
    ("BilevelClassifier", {"beta": 0.0}, "beta must be above 0 with a finite C2"),
    ("BilevelClassifier", {"phi": np.inf}, "beta and phi must be finite"),
    ("BilevelClassifier", {"prior": "weak"}, "prior must be a GenerativePrior or None, but str came"),
    ("BilevelClassifier", {"prior": PRIOR}, "prior is for 1 features, but X has 4"),
    ("BilevelClassifier", {"solver_tol": -1.0}, "tol must be a positive number"),
    ("MedLDA", {"n_topics": 2}, "Negative values", (-TWELVE, Y)),
    ("LatentDirichletAllocation", {"n_topics": 3, "doc_topic_prior": [1.0, 2.0]},
     "doc_topic_prior must be a number above 0, or 3 of them", (COUNTS,)),
    ("LatentDirichletAllocation", {"n_topics": 2}, "Negative values in data", ([[1.0, -1.0]],)),
    ("MaxMarginScoreSpace", {"a": 0.1}, "a must be above 1 / c"),
    ("MaxMarginScoreSpace", {"n_draws": 0, "inference": "sampler"}, "n_draws must be a whole number of at least 1"),
    ("MaxMarginScoreSpace", {"model": "hmm"}, "model must be a DiscreteHMM"),
    ("MaxMarginScoreSpace", {"model": models.LatentDirichletAllocation(2), "inference": "sampler"},
     "X must hold whole numbers", ([[1.5, 0], [0, 1]], [0, 1])),
    ("LargeMarginHMM", {"n_symbols": 2}, r"from 0 to 1 \(-1 is a missing one\)"),
    ("LargeMarginHMM", {}, "one class", (S, np.zeros(len(S)))),
    ("FreeEnergyClassifier", {"model": models.SVC()}, r"model must be a DiscreteHMM, .* but SVC came"),
    ("FreeEnergyClassifier", {"priors": [0.5, 0.4]}, "priors must be None, 'uniform' or 2 nonnegative numbers"),
    ("ScoreSpaceClassifier", {"model": models.SVC()}, r"model must be a DiscreteHMM, .* but SVC came"),
    ("ScoreSpaceClassifier", {"cv": 1}, "cv must be a whole number of at least 2"),
    ("FreeEnergyClassifier", {"priors": [1.5, -0.5]}, "priors must be None, 'uniform' or 2 nonnegative numbers"),
    ("LinearDiscriminant", {"priors": [1.5, -0.5]}, "priors must be None, 'uniform' or 2 nonnegative numbers"),
    ("LinearDiscriminant", {"dirichlet": [2.0, np.inf]}, "dirichlet must be a number or 2 numbers of at least 1"),
    ("LinearDiscriminant", {"dirichlet": [2.0, 0.5]}, "dirichlet must be a number or 2 numbers of at least 1"),
    ("QuadraticDiscriminant", {"mean_prior": ([0.0, np.nan, 0.0, 0.0], 1.0)}, "must be a finite number or an array"),
    ("QuadraticDiscriminant", {"covariance_prior": (9.0, [1.0, 0.0, 1.0, 1.0])}, "covariance_prior must be positive"),
    ("QuadraticDiscriminant", {"covariance_prior": (3.0, 1.0)}, "the degrees in covariance_prior must be .* above 3"),
    ("FisherScore", {"model": models.SVC()}, r"model must be a DiscreteHMM, .* but SVC came"),
    ("LogLikelihoodScore", {"order": 2}, "order must be 0 or 1, but 2 came"),
    ("NuSVC", {"nu": 0.5}, r"at most twice .* smaller one, 0.2, but 0.5 came", (X, FEW)),
    ("NuSVR", {"C": np.inf}, "C must be finite"),
    ("OneClassSVM", {"nu": 0.0}, "nu must be a number above 0 and at most 1"),
    ("NuSVC", {"nu": 1.5}, "nu must be a number above 0 and at most 1, but"),
    ("LinearSVC", {"tol": 0.0}, "tol must be"),
    ("MEDClassifier", {"tol": 0.0}, "tol must be a number above 0"),
    ("HybridNaiveBayes", {"alpha": 0.0}, "alpha must be", (TWELVE, Y)),
    ("FisherKernelLearning", {"pseudocount": 0.0}, "pseudocount must be a number above 0"),
    ("LargeMarginHMM", {"pseudocount": 0.0}, "pseudocount must be a number above 0"),
]  # fmt: skip
EXCLUDED = {name: values for names, values in (
    ("C C1 C2 C3 a c cache_size intercept_scaling min_variance time_limit topic_word_prior xi", (0.0, -1.0, "much")),
    ("alpha coupling epsilon nu phi pseudocount rho tol var_smoothing", (-1.0, "small")), ("coef0", ("x", 1j)),
    ("max_iter", (-1, 0.5, "few")), ("n_draws n_init n_states n_topics threads", (0, 0.5, "few")),
    ("covariance decision_function_shape divisor inference init loss method multi_class", ("word", None)),
    ("observations predictive scoring solver theta training", ("word", None)), ("degree", (-1, 1.5)),
    ("shrinkage", (-1.0, "x")), ("verbose", (-1, 0.5, "much", None)), ("gamma", ("wide", -1.0, np.inf)),
    ("Q", (-1.0, "best")), ("Q_series", ([1.0, -0.1], [1.0, np.inf], [])),
    ("doc_topic_prior", (0.0, -1.0, np.inf, [1.0, -1.0], [0.5, np.inf], [[0.5]])),
) for name in names.split()}  # fmt: skip
WEIGHTED = ["SVC", "BilevelClassifier", "LogisticRegression", "CoupledDiscriminant", "SVCCV", "NuSVC"]
EMPTY = {  # the answers that need a fit with probabilities above zero
    "FisherScore": (r"a Fisher score needs probabilities above zero.*pseudocount > 0", [[0, 0]], None, [[0]]),
    "LogLikelihoodScore": (r"sample 1 has probability zero under models_\[0\]", [[0, 0], [0, 1]], "ab", [[0], [1]]),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: " ".join([case[0], *case[1]]))
def test_bad_parameters_and_data_are_refused_by_name(case):
    name, parameters, words, *given = case
    kind = getattr(models, name)
    arguments, more = (*given, *((S, L) if kind in OF_SEQUENCES else (X, Y), {})[len(given) :])
    with pytest.raises((ValueError, TypeError), match=words):
        kind(**parameters).fit(*arguments, **more)


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_every_parameter_refuses_what_it_cannot_be(kind):
    given, more = (S, L) if kind in OF_SEQUENCES else (TWELVE, Y), TASKS if kind is models.MultiTaskSVC else {}
    for name in inspect.signature(kind).parameters:
        for value in EXCLUDED.get(name, ()):
            with pytest.raises((ValueError, TypeError), match=f"^{name} must (be|hold) "):
                kind(**{name: value}).fit(*given, **more)


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_class_without_weight_is_refused(name):
    with pytest.raises(ValueError, match=OF_THE_CLASSES):
        getattr(models, name)().fit(X, Y, sample_weight=(Y > 0) * 1.0)


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_samples_are_refused_before_fit_and_sequences_with_another_number_of_labels(kind):
    for name, call in inspect.getmembers(kind, inspect.isfunction):
        _, *rest = inspect.signature(call).parameters.values()
        needed = [one.name for one in rest if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
        if needed == ["X"] and not name.startswith(("_", "fit")):
            with pytest.raises(not_fitted_error(), match="not fitted"):
                getattr(kind(), name)(S if kind in OF_SEQUENCES else TWELVE)
    if kind in OF_SEQUENCES and not issubclass(kind, (models.DiscreteHMM, models.GaussianHMM)):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            kind().fit(S, L[:-1])


@pytest.mark.parametrize("name", EMPTY)
def test_what_has_no_probability_has_no_score(name):
    words, samples, labels, new = EMPTY[name]
    model = models.DiscreteHMM(1, n_symbols=2, pseudocount=0.0)
    space = getattr(models, name)(model).fit(samples, labels and list(labels))
    with pytest.raises(ValueError, match=words):
        space.transform(new)


def test_a_small_nu_and_a_task_or_a_symbol_that_fit_did_not_see():
    assert models.NuSVC(0.05, "linear").fit(*APART).score(*APART) == 1.0
    with pytest.raises(ValueError, match="tasks holds z, which fit did not see"):
        models.MultiTaskSVC().fit(X, Y, **TASKS).predict(X[:2], tasks=["a", "z"])
    with pytest.raises(ValueError, match=r"but sequences\[0\]\[0\] is 9"):
        models.LargeMarginHMM(2).fit(S, L).predict([[9]])
