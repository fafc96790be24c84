"""The path in Q: at every Q the machine that one fit has, and the choice among all Q."""

import numpy as np
import pytest

from models import SVC, ExplanationAugmentedSVC
from models.explanations.dual import ExplainedMargin, Products
from models.explanations.given import explained_examples
from models.explanations.path import ExplanationPath
from models.kernels.kernel import make_kernel
from tests.models.explanations.test_estimator import folds_of, two_classes

KEYS = "kernel", "gamma", "coef0"
LINEAR, RBF, POLY = {"kernel": "linear"}, {"kernel": "rbf"}, {"kernel": "poly", "gamma": 1.0, "coef0": 1.0}


def margin(seed, m, n, kernel, C=1.0, bias=True, whole=False, shares=False):
    """Return a machine on random samples, integers where `whole`, each with an explanation of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    X = np.round(X) if whole else X
    y = np.where(X @ rng.normal(size=n) + rng.normal(size=m) > 0.0, 1.0, -1.0)
    V, owner = explained_examples(rng.random((m, n)) > 0.4, X, y)
    name, scale, shift = (kernel.get(key, usual) for key, usual in zip(KEYS, ("linear", "scale", 0.0)))
    products = Products(X, V, owner, make_kernel(name, X, np.ones(m), scale, 3, shift, True), bias)
    share = rng.uniform(0.5, 2.0, owner.size) if shares else np.ones(owner.size)
    rows, at = np.arange(m), np.arange(owner.size)
    return ExplainedMargin(products, rows, at, y, np.full(m, C), share, "l1", bias, {"tol": 1e-14})


@pytest.mark.parametrize("settings", [
    (0, 40, 6, LINEAR), (1, 30, 50, LINEAR), (2, 40, 6, LINEAR, 0.05), (3, 40, 5, RBF), (4, 30, 4, POLY, 0.1),
    (5, 40, 6, LINEAR, 1.0, False), (6, 40, 5, LINEAR, 1.0, True, True), (7, 40, 6, LINEAR, 1.0, True, False, True),
    (9, 120, 6, RBF),
])  # fmt: skip
def test_the_path_has_the_machine_of_fifty_single_fits(settings):
    one = margin(*settings)
    pieces = list(one.path())
    starts = np.array([piece.Q for piece in pieces])
    assert starts[0] == 0.0 and (np.diff(starts) > 0.0).all()
    P = one.P if isinstance(one.P, np.ndarray) else one.P.F @ one.P.F.T
    for Q in np.concatenate([np.linspace(0.0, 1.2 * starts[-1], 25), np.geomspace(1e-3, 1.0, 25) * starts[-1]]):
        v, _ = pieces[np.searchsorted(starts, Q, side="right") - 1].at(Q)
        fit = one.machine(float(Q))
        other = np.concatenate([fit.alpha, fit.multipliers])
        found, expected = P @ v, P @ other
        near = 1e-8 if settings[3] is LINEAR else 1e-6  # as far as single fits of a kernel know their w'x
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=near * (1.0 + abs(expected).max()))
        objectives = [0.5 * u @ P @ u - u[: one.y.size].sum() for u in (v, other)]
        assert objectives[0] <= objectives[1] + 1e-10 * (1.0 + abs(objectives[1]))
        alpha, multipliers = np.split(v, [one.y.size])
        size = 1e-9 * (1.0 + abs(v).max())
        assert -size < alpha.min() and alpha.max() < one.C[0] + size
        assert (abs(multipliers) <= Q * one.share + size).all()
        assert not one.bias or abs(one.y @ alpha) < size


@pytest.mark.parametrize("settings", [
    (0, 40, 6, LINEAR), (3, 40, 5, RBF), (4, 30, 4, POLY, 0.1), (9, 120, 6, RBF),
])  # fmt: skip
def test_at_fifty_Q_the_path_is_optimal_by_its_own_slopes(settings):
    one = margin(*settings)
    pieces = list(one.path())
    starts = np.array([piece.Q for piece in pieces])
    P = one.P if isinstance(one.P, np.ndarray) else one.P.F @ one.P.F.T
    q, e = (np.append(part, np.zeros(one.at.size)) for part in (np.ones(one.y.size), one.y))
    for Q in np.linspace(0.0, 1.2 * starts[-1], 51)[1:]:
        v, b = pieces[np.searchsorted(starts, Q, side="right") - 1].at(Q)
        low, high = np.append(0.0 * one.C, -Q * one.share), np.append(one.C, Q * one.share)
        near = 1e-9 * (1.0 + abs(v).max())
        slope = P @ v - q + b * e
        size = 1e-8 * (1.0 + (abs(P) @ abs(v)).max())
        assert (slope[v > low + near] < size).all() and (slope[v < high - near] > -size).all()


def test_beyond_its_last_piece_the_path_is_that_of_perfect_explanations():
    one = margin(0, 40, 6, LINEAR)
    last = list(one.path())[-1]
    v, b = last.at(2.0 * last.Q + 1.0)
    perfect = one.machine(np.inf)
    places = one.products.places(one.rows, one.at)
    found = one.products.values(one.rows, places, np.append(one.y, np.ones(one.at.size)) * v) + b
    np.testing.assert_allclose(found, perfect.decisions(one.rows), atol=1e-8)


def test_a_path_that_is_led_astray_says_so():
    one = margin(0, 40, 6, LINEAR)
    P = one.P if isinstance(one.P, np.ndarray) else one.P.F @ one.P.F.T
    with pytest.raises(ArithmeticError, match="the path in Q is lost"):
        list(ExplanationPath(P, one.y, one.C, one.share, True, np.zeros(40), 0.0))  # not the plain machine's answer


def test_all_Q_are_compared_and_both_ends_are_candidates():
    X, y = two_classes(60, 8, noise=1.0)
    mask = np.broadcast_to(np.arange(8) < 4, X.shape)
    machine = ExplanationAugmentedSVC(tol=1e-10).fit(X, y, explanations=mask)
    assert machine.Q_candidates_[0] == 0.0 and machine.Q_candidates_[-1] == np.inf
    assert (np.diff(machine.Q_candidates_) > 0.0).all()
    folds = folds_of(X, mask, y == 1)
    for c, Q in enumerate(machine.Q_candidates_):
        for f, (train, held_out) in enumerate(folds):
            fold = ExplanationAugmentedSVC(Q=Q, tol=1e-10).fit(X[train], y[train], explanations=mask[train])
            assert machine.Q_scores_[c, f] == pytest.approx(fold.score(X[held_out], y[held_out])), (Q, f)
    # no Q in between has scores that are not among the candidates'
    rows = {tuple(row) for row in machine.Q_scores_.round(12)}
    for Q in np.geomspace(1e-4, 1e3, 25):
        scores = [
            ExplanationAugmentedSVC(Q=Q, tol=1e-10).fit(X[train], y[train], explanations=mask[train])
            .score(X[held_out], y[held_out])
            for train, held_out in folds
        ]  # fmt: skip
        assert tuple(np.round(scores, 12)) in rows
    means = machine.Q_scores_.mean(axis=1)
    assert means[machine.Q_candidates_ == machine.Q_] == pytest.approx(means.max())


@pytest.mark.parametrize(
    "kernel", [{"kernel": "rbf", "gamma": 0.2}, pytest.param({"kernel": "linear"}, marks=pytest.mark.full)]
)
def test_three_classes_are_compared_at_all_Q_too(kernel):
    rng = np.random.default_rng(4)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 6)) + 1.2 * np.eye(3, 6)[y]
    mask = np.broadcast_to(np.arange(6) < 4, X.shape)
    machine = ExplanationAugmentedSVC(tol=1e-10, **kernel).fit(X, y, explanations=mask)
    assert machine.Q_rule_ == "all Q, by the path"
    assert machine.Q_candidates_[0] == 0.0 and machine.Q_candidates_[-1] == np.inf
    folds, rows = folds_of(X, mask, y), {tuple(row) for row in machine.Q_scores_.round(12)}
    tried = machine.Q_candidates_[:: max(1, machine.Q_candidates_.size // 25)]
    for Q in np.concatenate([tried, np.geomspace(1e-3, 1e2, 25)]):
        scores = [
            ExplanationAugmentedSVC(Q=Q, tol=1e-10, **kernel).fit(X[train], y[train], explanations=mask[train])
            .score(X[held_out], y[held_out])
            for train, held_out in folds
        ]  # fmt: skip
        assert tuple(np.round(scores, 12)) in rows
        for place in np.flatnonzero(machine.Q_candidates_ == Q):
            np.testing.assert_allclose(machine.Q_scores_[place], scores)


@pytest.mark.parametrize("settings, why", [
    ({"penalty": "l2"}, "sum of squares"), ({"C": np.inf}, "C is infinite"), ({"multi_class": "ovr"}, "against the"),
    ({"Q_series": [0.0, 1.0]}, "Q_series is given"),
    ({"kernel": lambda A, B: np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(axis=2))}, "not known to be semidefinite"),
])  # fmt: skip
def test_where_there_is_no_path_it_is_said_why(settings, why):
    rng = np.random.default_rng(4)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 5)) + 4.0 * np.eye(3, 5)[y]
    machine = ExplanationAugmentedSVC(**settings).fit(X, y, explanations=np.arange(5) < 3)
    assert machine.Q_rule_.startswith("a series: ") and why in machine.Q_rule_


def test_more_samples_than_the_path_takes_and_a_lost_path_are_told(monkeypatch):
    X, y = two_classes(40, 8, noise=1.0)
    monkeypatch.setattr("models.explanations.estimator.MOST_ON_PATH", 79)
    told = ExplanationAugmentedSVC().fit(X, y, explanations=np.arange(8) < 4).Q_rule_
    assert told == "a series: there are 80 samples and explanations, more than 79"
    monkeypatch.undo()
    monkeypatch.setattr("models.explanations.path.MOST_PIECES", 0)
    told = ExplanationAugmentedSVC().fit(X, y, explanations=np.arange(8) < 4).Q_rule_
    assert told.startswith("a series: rounding led the path astray (the path in Q is lost")
    assert ExplanationAugmentedSVC(Q=0.5).fit(X, y, explanations=np.arange(8) < 4).Q_rule_ == "given"


def test_features_that_mislead_are_left_out_and_explanations_that_mislead_are_not_believed():
    rng = np.random.default_rng(0)
    signs, truth, relevant = np.tile([-1.0, 1.0], 20), np.tile([-1.0, 1.0], 1000), np.arange(62) < 2
    X, T = (
        np.column_stack([0.7 * y[:, None] + rng.normal(size=(y.size, 2)), 3.0 * rng.normal(size=(y.size, 60))])
        for y in (signs, truth)
    )
    plain = SVC(kernel="linear").fit(X, signs).score(T, truth)
    left_out = SVC(kernel="linear").fit(X[:, :2], signs).score(T[:, :2], truth)
    good = ExplanationAugmentedSVC().fit(X, signs, explanations=relevant)
    bad = ExplanationAugmentedSVC().fit(X, signs, explanations=~relevant)
    assert good.score(T, truth) > left_out - 0.02 > plain + 0.1
    assert bad.Q_ < good.Q_ and bad.score(T, truth) > plain - 0.02
