"""`verbose` of the estimators: a line an iteration, in a notebook one table that changes in place."""

import inspect
import re
import warnings

import numpy as np
import pytest

import models
from models.base import progress
from models.base.estimator import Estimator
from models.base.expectation_maximization import ascend
from models.base.progress import History
from tests.models.explanations.test_estimator import first_features
from tests.support.notebooks import handles as handles

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
TWO = (X[:, 0] + 0.3 * rng.normal(size=40) > 0.0).astype(int)
GAPS = np.where(rng.random(X.shape) < 0.2, np.nan, X)
COUNTS = rng.integers(0, 4, size=(40, 6))
SEQUENCES = [rng.integers(0, 3, size=12) for _ in range(12)]
LABELS = np.arange(12) % 2
UNLABELLED = {"X_unlabelled": X[::2] + 0.1}

HMM = {"random_state": 0, "max_iter": 4}
ITERATIVE = [
    (models.MixedNaiveBayes(["gaussian"] * 3, max_iter=5), (X, TWO), UNLABELLED, "log_likelihoods_"),
    (models.MultinomialNaiveBayes(max_iter=5), (COUNTS, TWO), {"X_unlabelled": COUNTS[:9]}, "log_likelihoods_"),
    (models.LinearDiscriminant(max_iter=5), (GAPS, TWO), {}, "log_likelihoods_"),
    (models.QuadraticDiscriminant(max_iter=5), (GAPS, TWO), {}, "log_likelihoods_"),
    (models.Prototypes(max_iter=5), (GAPS, TWO), {}, "log_likelihoods_"),
    (models.JointGaussianRegressor(max_iter=5), (GAPS, X[:, 0]), {}, "log_likelihoods_"),
    (models.CoupledDiscriminant(max_iter=5), (X, TWO), {}, "log_likelihoods_"),
    (models.LogisticRegression(), (X, TWO), {}, None),
    (models.LinearSVC(), (X, TWO), {}, None),
    (models.LinearSVR(), (X, X[:, 0]), {}, None),
    (models.HybridNaiveBayes(C=1.0), (COUNTS, TWO), {}, None),
    (models.DiscreteHMM(2, **HMM), (SEQUENCES,), {}, "objectives_"),
    (models.GaussianHMM(2, **HMM), ([X[:9], X[9:]],), {}, "objectives_"),
    (models.LatentDirichletAllocation(2, **HMM), (COUNTS,), {}, "objectives_"),
    (models.MedLDA(2, random_state=0, max_iter=3), (COUNTS, TWO), {}, "objectives_"),
    (models.BilevelClassifier(), (X, TWO), {}, None),
    (models.FisherKernelLearning(2, **HMM), (SEQUENCES, LABELS), {}, "objectives_"),
    (models.LargeMarginHMM(2, random_state=0, max_iter=2), (SEQUENCES, LABELS), {}, "objectives_"),
    (
        models.LargeMarginHMM(2, training="perceptron", random_state=0, max_iter=3),
        (SEQUENCES, LABELS),
        {},
        "objectives_",
    ),
    (
        models.MaxMarginScoreSpace(models.DiscreteHMM(2, **HMM), max_iter=3, n_init=1),
        (SEQUENCES, LABELS),
        {},
        "objectives_",
    ),
    (models.MEDClassifier(), (X, TWO), {}, None),
]
ONE_PROGRAM = [
    (models.SVC(), (X, TWO), {}),
    (models.SVCCV(Cs=[0.5, 1.0], cv=2), (X, TWO), {}),
    (models.SVR(), (X, X[:, 0]), {}),
    (models.NuSVC(), (X, TWO), {}),
    (models.NuSVR(), (X, X[:, 0]), {}),
    (models.OneClassSVM(), (X,), {}),
    (models.MinimaxProbabilityClassifier(), (X, TWO), {}),
    (models.KnowledgeSVC(), (X, TWO), {}),
    (models.MultiTaskSVC(), (X, TWO), {"tasks": np.arange(40) % 2}),
    (models.ExplanationAugmentedSVC(explain=first_features), (X, TWO), {}),
]
# a model does, before or inside
NOTHING_ITERATES = {
    "FisherScore", "FreeEnergyClassifier", "FreeEnergyScore", "LogLikelihoodScore", "ScoreSpaceClassifier",
    "SufficientStatistics",
}  # fmt: skip
LINE = re.compile(r" *(\d+) +(-?\d\.\d{8}e[+-]\d\d) +(------|-?\d\.\d\de[+-]\d\d) +\d+\.\d\d")


def name_of(case):
    return type(case[0]).__name__ if isinstance(case, tuple) else None


def fit(estimator, arguments, more, **params):
    fitted = type(estimator)(**{**estimator.get_params(deep=False), **params})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted.fit(*arguments, **more)


def test_every_estimator_that_iterates_is_here():
    public = {getattr(models, name) for name in models.__all__}
    found = {kind for kind in public if inspect.isclass(kind) and issubclass(kind, Estimator)}
    named = {kind.__name__ for kind in found if "verbose" in inspect.signature(kind).parameters}
    assert {kind.__name__ for kind in found} - NOTHING_ITERATES == named
    assert named == {name_of(case) for case in ITERATIVE + ONE_PROGRAM}


@pytest.mark.parametrize("case", ITERATIVE, ids=name_of)
def test_a_line_an_iteration(case, capsys):
    estimator, arguments, more, attribute = case
    fit(estimator, arguments, more)
    assert capsys.readouterr().out == ""
    fitted = fit(estimator, arguments, more, verbose=1)
    title, heads, *lines, end = capsys.readouterr().out.splitlines()
    assert title.startswith(type(estimator).__name__)
    assert heads.split()[0] == "iter" and heads.split()[-2:] == ["change", "sec"]
    found = [LINE.fullmatch(line).groups() for line in lines]
    assert found[0][2] == "------" and re.fullmatch(r"(not )?converged after \d+ iterations?, \d+\.\d\d s", end)
    if attribute is not None:
        values = getattr(fitted, attribute)
        values = values[0] if isinstance(values, list) else values
        assert [value for _, value, _ in found] == [f"{value:.8e}" for value in values]


@pytest.mark.parametrize("case", ITERATIVE, ids=name_of)
def test_what_is_printed_changes_no_answer(case):
    estimator, arguments, more, _ = case
    one, two = fit(estimator, arguments, more), fit(estimator, arguments, more, verbose=3)
    assert one.n_iter_ == two.n_iter_
    for name in ("coef_", "means_", "components_", "transmat_", "feature_log_prob_", "objectives_"):
        if isinstance(getattr(one, name, None), np.ndarray):
            assert np.array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("case", ONE_PROGRAM, ids=name_of)
@pytest.mark.parametrize("verbose", [1, True])
def test_where_a_fit_is_a_program_the_engine_prints(case, verbose, capsys):
    fit(*case)
    assert capsys.readouterr().out == ""
    fit(*case, verbose=verbose)
    assert "optimal" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "words"), [
    (models.BilevelClassifier, "optimal"), (models.MedLDA, "LatentDirichletAllocation\n"),
    (models.FisherKernelLearning, "DiscreteHMM\n"), (models.LargeMarginHMM, "LargeMarginHMM, alignment 1\n"),
    (models.MaxMarginScoreSpace, "MaxMarginScoreSpace, classifier\n"), (models.MEDClassifier, "optimal"),
])  # fmt: skip
def test_what_is_inside_is_seen_from_two_on(kind, words, capsys):
    case = next(case for case in ITERATIVE if isinstance(case[0], kind))
    fit(*case[:3], verbose=1)
    assert words not in capsys.readouterr().out
    fit(*case[:3], verbose=2)
    assert words in capsys.readouterr().out


def test_every_machine_has_a_table_of_its_own(capsys):
    fit(models.MEDClassifier(), (X, np.arange(40) % 3), {}, verbose=1)
    titles = re.findall(r"MEDClassifier, machine.*", capsys.readouterr().out)
    assert titles == [f"MEDClassifier, machine {i}" for i in (1, 2, 3)]


def test_in_a_notebook_one_table_changes_in_place(handles, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    history = History("Bisection", "width", 1)
    for k in range(50):
        history.append(2.0**-k)
    history.end(True)
    (handle,) = handles
    assert capsys.readouterr().out == ""
    assert len(handle.shown) == 1 + 50 + 1  # the heads before, the end after
    rows = handle.shown[-1].splitlines()
    assert rows[0] == "Bisection" and rows[2] == "..." and rows[-1].startswith("converged after 49 iterations")
    assert [int(row.split()[0]) for row in rows[3:-1]] == list(range(50 - progress.LONGEST, 50))
    assert handle.thing._repr_html_().count("<tr>") == 1 + 1 + progress.LONGEST


def test_a_quick_fit_is_not_drawn_at_every_iteration(handles, monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", np.inf)
    history = History("Bisection", "width", 1)
    history.refreshed = np.inf
    for k in range(50):
        history.append(2.0**-k)
    history.end(False)
    (handle,) = handles
    assert len(handle.shown) == 2 and "not converged after 49 iterations" in handle.shown[-1]


def test_tables_inside_of_a_table(handles):
    (case,) = [case for case in ITERATIVE if isinstance(case[0], models.BilevelClassifier)]
    fit(*case[:3], verbose=2)
    last = [handle.shown[-1] for handle in handles]
    (outer,) = [text for text in last if text.startswith("BilevelClassifier\n")]
    assert "converged" in outer.splitlines()[-1] and [line.split()[:1] for line in outer.splitlines()].count(["1"]) == 1
    assert len(last) > 1 and all("optimal" in text for text in last if text is not outer)


def test_an_interrupted_fit_keeps_what_it_has_printed(capsys):
    class Interrupted(models.DiscreteHMM):
        def _maximize(self, posterior):
            if self._steps == 2:
                raise KeyboardInterrupt
            self._steps += 1
            super()._maximize(posterior)

    model = Interrupted(2, random_state=0, verbose=1)
    model._steps = 0
    with pytest.raises(KeyboardInterrupt):
        model.fit(SEQUENCES)
    assert len(capsys.readouterr().out.splitlines()) == 2 + 3


def test_an_ascent_ends_by_a_share_of_its_value_or_of_a_unit():
    def ended(values, tol, most=10, unit=None):
        after, history = iter(values), History()
        return ascend(lambda _: (None, next(after)), lambda _: None, history, tol, most, unit), len(history)

    assert ended([-100.0, -98.9, -97.9, -97.8], 0.01) == (True, 4)
    assert ended([-100.0, -99.0], 0.01) == ended([-0.5, 0.0], 0.5) == (True, 2)
    assert ended([0.0, 3.0, 5.0], 0.5, unit=4.0) == (True, 3)
    assert ended(range(9), 0.0, 3) == (False, 4) and ended([1.0], 0.0, 0) == (False, 1)
