"""The explanation-augmented SVM: its limits, its three forms, explanations, the choice of Q, the protocol."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

import qp
from models import SVC, ExplanationAugmentedSVC
from models.explanations import dual
from models.explanations.estimator import SERIES
from models.explanations.given import distinct_folds
from tests.support.sparse_matrices import random_sparse
from tests.support.svm_data import separable, two_classes, wine

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 3, "gamma": 0.3, "coef0": 1.0},
    {"kernel": "rbf", "gamma": 0.3},
]


def explained(X, seed=0):
    mask = np.random.default_rng(seed).random(X.shape) < 0.7
    mask[:, 0] = True
    return mask


def first_features(X, y):
    """Return a mask of the first two features; a module-level callable for `explain`, so that it pickles."""
    return np.arange(X.shape[1]) < 2


def folds_of(X, mask, codes):
    owner = np.flatnonzero((X != X * mask).any(axis=1))
    return distinct_folds(X, (X * mask)[owner], owner, codes.astype(int), np.arange(codes.size))


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("case", KERNELS, ids=lambda case: case["kernel"])
def test_without_confidence_it_is_the_plain_machine_and_with_all_confidence_perfect(case, penalty, C):
    X, y = separable(30, 4) if C == np.inf else two_classes(30, 4)
    mask = explained(X)

    def fit(Q):
        machine = ExplanationAugmentedSVC(C=C, Q=Q, penalty=penalty, tol=1e-11, **case)
        return machine.fit(X, y, explanations=mask).decision_function(X)

    plain = SVC(C=C, tol=1e-11, **case).fit(X, y).decision_function(X)
    perfect = ExplanationAugmentedSVC(C=C, Q=np.inf, tol=1e-11, **case).fit(X, y, explanations=mask)
    np.testing.assert_allclose(fit(0.0), plain, atol=1e-6)
    np.testing.assert_allclose(fit(1e-9), plain, atol=1e-6)
    np.testing.assert_allclose(fit(1e9), perfect.decision_function(X), atol=1e-6)
    assert np.abs(perfect.deviation_).max() < 1e-6
    assert np.abs(fit(1e-9) - fit(1e9)).max() > 0.05


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("penalty, Q", [("l1", 0.1), ("l2", 0.1), ("l1", np.inf)])
@pytest.mark.parametrize("case", KERNELS, ids=lambda case: case["kernel"])
def test_the_primal_objective_of_the_attributes_is_the_dual_objective(case, penalty, Q, C):
    X, y = separable(30, 4) if C == np.inf else two_classes(30, 4)
    machine = ExplanationAugmentedSVC(C=C, Q=Q, penalty=penalty, **case).fit(X, y, explanations=explained(X))
    primal = 0.5 * machine.margin_[0] ** -2
    if C < np.inf:
        primal += C * np.maximum(0.0, 1.0 - y * machine.decision_function(X)).sum()
    if Q < np.inf:
        size = np.abs(machine.deviation_[0])
        primal += Q * (size.sum() if penalty == "l1" else (size**2).sum())
    assert primal == pytest.approx(-machine.solution_.objective, rel=1e-6)
    # |lambda| <= Q, and at Q where the deviation is not zero; or lambda = -2 Q w'd
    if penalty == "l1" and Q < np.inf:
        assert np.abs(machine.lambda_).max() <= Q * (1.0 + 1e-9)
        apart = np.abs(machine.deviation_[0]) > 1e-4
        np.testing.assert_allclose(machine.lambda_[0][apart], -Q * np.sign(machine.deviation_[0][apart]), rtol=1e-4)
    if penalty == "l2":
        np.testing.assert_allclose(machine.lambda_, -2.0 * Q * machine.deviation_, atol=1e-6)


def test_the_structure_of_the_dual_is_handed_to_the_engine():
    X, y = two_classes(100, 5)
    mask = explained(X)
    mask[:40] = True  # an example whose mask leaves nothing out has no variable
    explanations = int((~mask.all(axis=1)).sum())
    machine = ExplanationAugmentedSVC(Q=0.1, penalty="l2").fit(X, y, explanations=mask)
    assert isinstance(machine.program_.P, qp.LowRank)
    assert machine.program_.P.F.shape == (100 + explanations, 5)
    assert machine.program_.P.d.tolist() == [0.0] * 100 + [5.0] * explanations
    assert machine.owner_.tolist() == np.flatnonzero(~mask.all(axis=1)).tolist()


def test_perfect_explanations_of_few_features_are_a_program_in_alpha_alone():
    X, y = two_classes(100, 8)
    mask = np.arange(8) < 5  # all differences lie in the span of the last three features
    perfect = ExplanationAugmentedSVC(Q=np.inf, tol=1e-11).fit(X, y, explanations=mask)
    assert perfect.program_.n == 100 and isinstance(perfect.program_.P, qp.LowRank)
    assert np.abs(perfect.coef_[0, 5:]).max() < 1e-9
    left_out = SVC(kernel="linear", tol=1e-11).fit(X[:, :5], y)
    np.testing.assert_allclose(perfect.decision_function(X), left_out.decision_function(X[:, :5]), atol=1e-6)
    # lambda satisfies stationarity: w = sum alpha_i y_i x_i + sum lambda_j (x_j - v_j)
    w = (perfect.alpha_[0] * y) @ X + perfect.lambda_[0] @ (X * ~mask)[perfect.owner_]
    np.testing.assert_allclose(w, perfect.coef_[0], atol=1e-9)


def test_sparse_samples_and_masks_give_the_same():
    X, y = two_classes(50, 6)
    X[np.abs(X) < 0.7] = 0.0
    mask = explained(X)
    for case in KERNELS:
        dense = ExplanationAugmentedSVC(Q=0.2, **case).fit(X, y, explanations=mask)
        sparse = ExplanationAugmentedSVC(Q=0.2, **case).fit(sp.csr_array(X), y, explanations=sp.csr_array(mask))
        assert sp.issparse(sparse.support_vectors_)
        np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_more_classes_and_weights_as_copies(multi_class, monkeypatch):
    iterations, solve = [], dual.ExplainedMargin.machine

    def counted(margin, Q):
        found = solve(margin, Q)
        iterations.append(found.iterations)
        return found

    monkeypatch.setattr(dual.ExplainedMargin, "machine", counted)
    X, y = wine(3)
    X, y = X[::3, :6], y[::3]
    mask, weights = explained(X), np.random.default_rng(0).integers(0, 3, size=y.size)
    machine = ExplanationAugmentedSVC(Q=0.1, multi_class=multi_class, tol=1e-12).fit(X, y, weights, explanations=mask)
    copied = ExplanationAugmentedSVC(Q=0.1, multi_class=multi_class, tol=1e-12).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights), explanations=np.repeat(mask, weights, axis=0)
    )
    assert machine.decision_function(X).shape == (y.size, 3)
    np.testing.assert_allclose(machine.decision_function(X), copied.decision_function(X), atol=1e-6)
    assert machine.score(X, y) > 0.8
    assert machine.n_iter_ == max(iterations[:3])


def test_cross_validation_is_the_rule_of_the_paper():
    X, y = two_classes(60, 10, noise=1.0)
    mask = np.broadcast_to(np.arange(10) < 5, X.shape)
    machine = ExplanationAugmentedSVC(Q="cv", Q_series=SERIES, tol=1e-9).fit(X, y, explanations=mask)
    plain = SVC(kernel="linear", tol=1e-9).fit(X, y)
    average = np.abs(plain.dual_coef_).sum() / y.size
    np.testing.assert_allclose(machine.Q_candidates_, average * 4.0 ** np.arange(-4, 5), rtol=1e-6)
    assert machine.Q_scores_.shape == (9, 5)
    folds = folds_of(X, mask, y == 1)
    for c, Q in enumerate(machine.Q_candidates_):
        for f, (train, held_out) in enumerate(folds):
            fold = ExplanationAugmentedSVC(Q=Q, tol=1e-9).fit(X[train], y[train], explanations=mask[train])
            assert machine.Q_scores_[c, f] == pytest.approx(fold.score(X[held_out], y[held_out]))
    means = machine.Q_scores_.mean(axis=1)
    assert machine.Q_ == machine.Q_candidates_[np.flatnonzero(means > means.max() - 1e-9)[0]]
    final = ExplanationAugmentedSVC(Q=machine.Q_, tol=1e-9).fit(X, y, explanations=mask)
    np.testing.assert_array_equal(machine.decision_function(X), final.decision_function(X))


def test_folds_are_of_distinct_samples_in_any_order():
    X, y = two_classes(40, 4)
    mask, times, rng = explained(X), np.arange(40) % 4, np.random.default_rng(0)
    which = rng.permutation(np.repeat(np.arange(40), times))
    once = np.flatnonzero(times)
    folds, copied = folds_of(X[once], mask[once], y[once] == 1), folds_of(X[which], mask[which], y[which] == 1)
    for (train, fold), (_, copies) in zip(folds, copied, strict=True):
        assert sorted([*train, *fold]) == list(range(once.size))
        assert sorted(once[fold]) == sorted(set(which[copies]))
        assert sorted(which[copies]) == sorted(np.repeat(once[fold], times[once[fold]]))
    assert all(abs(np.bincount(y[once[fold]] == 1) - 3).max() <= 1 for _, fold in folds)
    # samples with different explanations or classes are not merged
    X, codes, told = np.ones((4, 2)), np.array([0, 0, 1, 1]), np.array([[1, 1], [1, 0], [0, 1], [0, 1]])
    assert folds_of(X, told, codes) == []
    assert len(folds_of(X, told[[0, 1, 1, 0]], codes)) == 2
    machine = {"tol": 1e-10, "kernel": "rbf", "Q_series": SERIES}
    X, y = two_classes(40, 4)
    by_weight = ExplanationAugmentedSVC(**machine).fit(X, y, times, explanations=mask)
    by_copies = ExplanationAugmentedSVC(**machine).fit(X[which], y[which], explanations=mask[which])
    np.testing.assert_array_equal(by_weight.Q_scores_, by_copies.Q_scores_)
    assert by_weight.Q_ == pytest.approx(by_copies.Q_)
    in_turn = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    given = ExplanationAugmentedSVC(cv=in_turn, kernel="rbf", Q_series=SERIES).fit(X, y, explanations=mask)
    part = ExplanationAugmentedSVC(Q=given.Q_candidates_[3], kernel="rbf", gamma=given.kernel_.gamma)
    score = part.fit(X[:20], y[:20], explanations=mask[:20]).score(X[20:], y[20:])
    assert given.Q_scores_.shape == (9, 2) and given.Q_scores_[3, 0] == score
    with pytest.raises(ValueError, match="cv must be a whole number of at least 2"):
        ExplanationAugmentedSVC(cv=1).fit(X, y, explanations=mask)


def test_without_confidence_among_the_candidates_the_plain_machine_can_be_chosen():
    X, y = two_classes(60, 6, noise=1.0)
    plain = SVC(kernel="linear", tol=1e-11).fit(X, y)
    alone = ExplanationAugmentedSVC(Q="cv", Q_series=[0.0], tol=1e-11).fit(X, y, explanations=explained(X))
    assert alone.Q_candidates_.tolist() == [0.0] and alone.Q_ == 0.0
    np.testing.assert_allclose(alone.decision_function(X), plain.decision_function(X), atol=1e-6)
    # explanations that exclude the relevant features: the plain machine is chosen, as no Q is better
    wrong = ExplanationAugmentedSVC(Q="cv", Q_series=[64.0, 0.0, 1.0]).fit(X, y, explanations=np.arange(6) > 4)
    assert wrong.Q_candidates_[0] == 0.0 and wrong.Q_ == 0.0
    assert wrong.Q_scores_.mean(axis=1)[0] >= wrong.Q_scores_.mean(axis=1).max() - 1e-12


@pytest.mark.parametrize("classes, given", [(2, {}), (3, {}), (3, {"penalty": "l2", "kernel": "rbf"})])
def test_candidates_are_compared_by_f1_where_that_is_asked(classes, given):
    X, y = two_classes(60, 6, noise=1.5) if classes == 2 else (part[::3] for part in wine(3))
    mask, none = explained(X), np.zeros(4, dtype=np.int64)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    machine = ExplanationAugmentedSVC(Q="cv", Q_series=[0.0, 1.0, 16.0], scoring="f1", C=0.1, **given)
    machine.fit(X, y, explanations=mask, sample_weight=weights)
    assert classes == 3 or machine._scored(none, none, np.ones(4)) == 0.0  # no true positives
    folds = folds_of(X, mask, np.unique(y, return_inverse=True)[1])
    how = {"pos_label": machine.classes_[1]} if classes == 2 else {"average": "macro"}
    for c, Q in enumerate(machine.Q_candidates_):
        for f, (train, held_out) in enumerate(folds):
            fold = ExplanationAugmentedSVC(Q=Q, C=0.1, **given)
            fold.fit(X[train], y[train], weights[train], explanations=mask[train])
            expected = f1_score(y[held_out], fold.predict(X[held_out]), sample_weight=weights[held_out], **how)
            assert machine.Q_scores_[c, f] == pytest.approx(expected)
    means = machine.Q_scores_.mean(axis=1)
    assert machine.Q_ == machine.Q_candidates_[np.flatnonzero(means > means.max() - 1e-9)[0]]


def test_explanations_that_are_given_to_fit_are_split_with_the_samples():
    X, y = two_classes(60, 4)
    search = GridSearchCV(ExplanationAugmentedSVC(), {"Q": [0.1, 1.0]}, cv=3, error_score="raise")
    assert search.fit(X, y, explanations=explained(X)).best_score_ > 0.6


def test_what_cannot_be_had_says_so():
    X, y = two_classes(noise=2.0)
    with pytest.raises(ValueError, match="or perfect explanations"):
        ExplanationAugmentedSVC(C=np.inf).fit(X, y)
    X, y = separable()
    with pytest.raises(ValueError, match="cannot be separated"):  # the separating feature is declared irrelevant
        ExplanationAugmentedSVC(C=np.inf, Q=np.inf).fit(X, y, explanations=np.arange(X.shape[1]) > 0)
    mask = np.arange(X.shape[1]) > 0
    alone = ExplanationAugmentedSVC(Q_series=SERIES).fit(X[:3], [0, 0, 1], explanations=mask)
    assert alone.Q_ == alone.Q_candidates_[4] and alone.Q_scores_.shape == (9, 0)  # no folds to compare on
    assert ExplanationAugmentedSVC().fit(X[:3], [0, 0, 1], explanations=mask).Q_ == pytest.approx(alone.Q_)


@pytest.mark.parametrize("Q", ["cv", 1.0, np.inf])
def test_without_explanations_it_says_that_it_is_the_plain_machine(Q):
    X, y = separable()
    with pytest.warns(UserWarning, match="no explanations, so this is the support vector machine"):
        machine = ExplanationAugmentedSVC(Q=Q).fit(X, y)
    np.testing.assert_allclose(machine.coef_, SVC(kernel="linear").fit(X, y).coef_, atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ExplanationAugmentedSVC(Q=0.0).fit(X, y)  # as it was asked for


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty, Q", [("l1", 0.02), ("l2", 0.02), ("l1", 0.0), ("l2", 0.0)])
def test_many_sparse_samples_descend_to_the_same_machine(monkeypatch, penalty, Q, fit_intercept):
    rng = np.random.default_rng(0)
    X = random_sparse((150, 600), density=0.03, rng=rng, format="csr")
    y = np.where(X[:, :300].sum(axis=1) + 0.3 * rng.normal(size=150) > X[:, 300:].sum(axis=1) + 1.0, 1, -1)
    mask = np.arange(600) % 3 > 0

    def fit(**settings):
        weights = 1.0 + np.arange(150) % 2
        machine = ExplanationAugmentedSVC(C=0.5, Q=Q, penalty=penalty, fit_intercept=fit_intercept, **settings)
        return machine.fit(X, y, explanations=mask, sample_weight=weights)

    exact = fit()
    monkeypatch.setattr(dual, "MOST_FORMED", 0)
    found = fit(tol=1e-6, max_iter=5000)
    assert "descent" in found.solution_.message and "descent" not in exact.solution_.message
    # both objectives enclose the optimum where the multipliers of infinite bounds are exactly zero
    best, answer = exact.solution_.objective, found.solution_
    assert answer.gap <= 1e-6 and best <= answer.objective * (1.0 - 1e-9)
    assert answer.dual_objective <= best * (1.0 - 2e-9) or penalty == "l2"
    assert abs((found.alpha_[0] * y).sum()) < 1e-9 or not fit_intercept
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=0.02)
    np.testing.assert_allclose(qp.solve(found.program_, tol=1e-9).objective, best, rtol=1e-6)
    with pytest.warns(UserWarning, match="raise tol or max_iter"):
        rough = fit(max_iter=2)
    assert rough.solution_.gap > 1e-6 and rough.n_iter_ == 2


def test_duplicate_explanations_do_no_harm():
    """Two equal differences make the dual singular: lambda is not unique, but w is."""
    X, y = two_classes(30, 4)
    mask = explained(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twice = ExplanationAugmentedSVC(Q=0.1).fit(X, y, explanations=np.stack([mask, mask], axis=1))
        once = ExplanationAugmentedSVC(Q=0.2).fit(X, y, explanations=mask)
    np.testing.assert_allclose(twice.coef_, once.coef_, atol=1e-6)
