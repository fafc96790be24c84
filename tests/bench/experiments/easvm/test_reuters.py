"""Explanations from WordNet on Reuters: its parts on made-up articles, and in short on the real ones."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bench.experiments.easvm import reuters
from bench.experiments.frame.conduct import kept
from models import ExplanationAugmentedSVC

pytestmark = pytest.mark.full  # whole experiments, some on real data


def test_the_page_has_as_many_samples_of_each_category():
    folder = Path(__file__).parents[4] / "docs" / "results" / "experiments" / "easvm-reuters"
    runs = kept(reuters.ReutersExplanations(), folder, 5)[1]
    counts = Counter((run["words"], run["size"], run["category"]) for run in runs)
    forms = {(words, size) for words, size, _ in counts}
    assert (
        all(len({counts[(*form, category)] for category in reuters.CATEGORIES}) == 1 for form in forms)
        and len(forms) == 6
    )


def made_up(articles=400, words=300, seed=0):
    """Return articles in which three words per category tell the category; the other words are random."""
    rng = np.random.default_rng(seed)
    belongs = {category: np.arange(articles) % 7 == k for k, category in enumerate(reuters.CATEGORIES)}
    X = rng.poisson(0.4, (articles, words)).astype(float)
    important = {}
    for k, category in enumerate(reuters.CATEGORIES):
        important[category] = np.isin(np.arange(words), [3 * k, 3 * k + 1, 3 * k + 2])
        X[:, important[category]] = rng.poisson(np.where(belongs[category], 1.5, 0.1)[:, None], (articles, 3))
    return reuters.Articles(sp.csr_array(X), np.arange(articles) < 250, belongs, important)


def test_f1():
    truth, predicted = np.random.default_rng(0).random((2, 100)) < 0.3
    precision = (truth & predicted).sum() / predicted.sum()
    recall = (truth & predicted).sum() / truth.sum()
    assert reuters.f1(truth, predicted) == pytest.approx(2 * precision * recall / (precision + recall))
    assert reuters.f1(truth, ~truth) == 0.0 and reuters.f1(truth, truth) == 1.0
    assert reuters.f1(np.zeros(3, bool), np.zeros(3, bool)) == 0.0


def test_counts_keep_all_of_f1_and_are_resampled_as_articles():
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.1
    plain, explained = truth ^ (rng.random(2000) < 0.03), truth ^ (rng.random(2000) < 0.02)
    counts = reuters.counts_of(truth, {"svm": plain, "easvm_own": explained})
    sides = counts["category"], counts["others"]
    for name, predicted in (("svm", plain), ("easvm_own", explained)):
        accepted = [side[name] + side["both"] for side in sides]
        assert 2.0 * accepted[0] / (truth.sum() + sum(accepted)) == pytest.approx(reuters.f1(truth, predicted))
    assert sum(map(sum, (side.values() for side in sides))) == 2000
    gains = []
    for _ in range(2000):
        rows = rng.integers(0, 2000, 2000)
        gains.append(reuters.f1(truth[rows], explained[rows]) - reuters.f1(truth[rows], plain[rows]))
    rare = min(np.mean(np.array(gains) <= 0.0), np.mean(np.array(gains) >= 0.0))
    assert reuters.resampled_p(counts, "easvm_own") == pytest.approx(2.0 * rare, abs=0.03)
    same = reuters.counts_of(truth, {"svm": plain, "easvm_own": plain})
    assert reuters.resampled_p(same, "easvm_own") == 1.0


def test_words_by_idf_and_articles_of_unit_length():
    X = sp.csr_array(np.array([[2.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]))
    found = reuters.unit_length(X, np.array([True, True, False, False])).toarray()
    # the first word has no weight, as all training articles have it; the others stand alone in their articles
    assert found == pytest.approx(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))


@pytest.mark.parametrize("factor", [0.0, 0.25, 4.0, 1000.0])
def test_the_machines_are_those_of_the_estimator(factor):
    articles = made_up(60, 40)
    X, y, C = articles.X, articles.belongs["earn"], 0.1
    D = reuters.differences(X, articles.important["earn"], y)
    assert (np.flatnonzero(np.diff(D.indptr)) == np.flatnonzero(y)).all() and D[:, articles.important["earn"]].nnz == 0
    plain, found = reuters.path(X, y, D, C, (0.0, factor))
    mask = np.where(y[:, None], articles.important["earn"], True)
    machine = ExplanationAugmentedSVC(C=C, Q=factor * plain.alpha_.mean()).fit(X.toarray(), y, explanations=mask)
    same = np.append(machine.coef_[0], machine.intercept_[0]) - np.append(found.coef_[0], found.intercept_[0])
    assert np.linalg.norm(same) < 0.05 * np.linalg.norm(found.coef_) and found.solution_.gap < 1e-3


def test_only_what_cross_validation_finds_better_is_taken():
    articles = made_up(200)
    X, y = articles.X, articles.belongs["earn"]
    good, bad = articles.important["earn"], ~articles.important["earn"]
    (one, good_factor), (other, bad_factor) = [
        reuters.best_factor(X, y, reuters.differences(X, important, y), 0.1, reuters.SERIES)
        for important in (good, bad)
    ]
    assert good_factor > 0.0 == bad_factor and one > other > 0.0
    assert reuters.best_factor(X, y, 0.0 * X, 0.1, (0.0,)) == (other, 0.0)


def test_samples_are_of_the_training_articles_with_the_share_of_the_category():
    articles = made_up()
    for seed in range(5):
        rows = articles.sample("grain", 100, seed)
        assert rows.size == np.unique(rows).size == 100 and articles.is_train[rows].all()
        assert articles.belongs["grain"][rows].sum() == round(100 * articles.belongs["grain"][:250].mean())
        assert articles.belongs["grain"][articles.sample("grain", 10, seed)].sum() == 5
