"""Explanations from WordNet on Reuters: its parts on made-up articles, and in short on the real ones."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from bench import experiments
from bench.experiments.conduct import conduct
from bench.experiments.easvm_reuters import CATEGORIES, SIZES, VARIANTS, Articles, ReutersExplanations, f1, weighted
from tests.support.data import data_folder

pytestmark = pytest.mark.full  # whole experiments, some on real data


def made_up(articles=400, words=300, seed=0):
    """Articles of which the first three words tell the category, and many others do by chance."""
    rng = np.random.default_rng(seed)
    belongs = {category: np.arange(articles) % 7 == k for k, category in enumerate(CATEGORIES)}
    X = rng.poisson(0.4, (articles, words)).astype(float)
    important = {}
    for k, category in enumerate(CATEGORIES):
        important[category] = np.isin(np.arange(words), [3 * k, 3 * k + 1, 3 * k + 2])
        X[:, important[category]] = rng.poisson(np.where(belongs[category], 1.5, 0.1)[:, None], (articles, 3))
    return Articles(sp.csr_array(X), np.arange(articles) < 250, belongs, important)


def test_f1():
    truth, predicted = np.random.default_rng(0).random((2, 100)) < 0.3
    precision = (truth & predicted).sum() / predicted.sum()
    recall = (truth & predicted).sum() / truth.sum()
    assert f1(truth, predicted) == pytest.approx(2 * precision * recall / (precision + recall))
    assert f1(truth, ~truth) == 0.0 and f1(truth, truth) == 1.0
    assert f1(np.zeros(3, bool), np.zeros(3, bool)) == 0.0


def test_weights():
    X = sp.csr_array(np.array([[2.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 3.0, 0.0]]))
    found = weighted(X, np.array([True, True, False])).toarray()
    expected = [[0.0, 0.0, np.log(2) ** 2], [0.0, 0.0, 0.0], [0.0, np.log(4) * np.log(2), 0.0]]
    assert found == pytest.approx(np.array(expected))


def test_samples_are_of_the_training_articles_with_the_share_of_the_category():
    articles = made_up()
    for seed in range(5):
        rows = articles.sample("grain", 100, seed)
        assert rows.size == np.unique(rows).size == 100 and articles.is_train[rows].all()
        assert articles.belongs["grain"][rows].sum() == round(100 * articles.belongs["grain"][:250].mean())
        assert articles.belongs["grain"][articles.sample("grain", 10, seed)].sum() == 5


def test_good_explanations_raise_f1(tmp_path):
    class MadeUp(ReutersExplanations):
        def prepare(self, data, quick):
            articles = made_up()
            blind = {category: ~important for category, important in articles.important.items()}
            X = weighted(articles.X, articles.is_train)
            return {"paper": articles, "weighted": replace(articles, X=X), "nouns": replace(articles, important=blind)}

    experiment = MadeUp()
    runs = conduct(experiment, tmp_path, quick=True)
    assert len(runs) == 3 * 2 * len(CATEGORIES)
    gains = {name: np.mean([run["easvm"] - run["svm"] for run in runs if run["variant"] == name]) for name in VARIANTS}
    assert gains["paper"] > 0.05 and gains["weighted"] > 0.05 and gains["nouns"] < 0.02
    assert experiment.finding(runs).startswith("In the mean over the repeats EA-SVM has the higher F1 in ")
    assert "With weighted words its mean is the higher in" in experiment.finding(runs)
    table, tried = experiment.tables(runs)
    assert [row[0] for row in table.rows] == list(CATEGORIES)
    assert len(tried.rows) == len(CATEGORIES) * len(VARIANTS) and tried.rows[0][2:] == table.rows[0][2:]
    axes = experiment.figure(runs).axes[0]
    assert axes.get_xlabel() == "F1 of the SVM, %" and len(axes.collections) == len(CATEGORIES)


def test_the_finding_tells_better_from_worse():
    gains = {
        "earn": [0.1, 0.11, 0.12],
        "acq": [-0.2, 0.1, 0.05],
        "grain": [-0.1, -0.12, -0.11],
        "crude": [0.0, 0.0, 0.0],
    }
    runs = [
        {"variant": "paper", "category": category, "size": 50, "seed": k, "svm": 0.5, "easvm": 0.5 + gain}
        for category, some in gains.items()
        for k, gain in enumerate(some)
    ]
    assert ReutersExplanations().finding(runs) == (
        "In the mean over the repeats EA-SVM has the higher F1 in 1 of 4 cells (category and size), significantly so "
        "(paired t, 5 %) in 1, and the lower in 2, significantly in 1, at most by 11.0 points (grain, 50 articles); "
        "its largest gain is 11.0 points (earn, 50 articles). Of 12 single runs it is better in 5 and worse in 4."
    )


def test_a_full_conduct_has_all_sizes_and_categories():
    runs = ReutersExplanations().runs(10, quick=False)
    assert len({str(run) for run in runs}) == len(runs) == 10 * (len(SIZES) + 2) * len(CATEGORIES)


def test_the_real_articles(tmp_path):
    data = str(data_folder("nltk_data").parent)
    experiment = experiments.find("easvm-reuters")
    articles = experiment.prepare(data, quick=True)["paper"]
    assert articles.is_train.sum() == 9603 and (~articles.is_train).sum() == 3299
    assert {name: int(belongs[articles.is_train].sum()) for name, belongs in articles.belongs.items()}["earn"] == 2877
    assert all(5 <= important.sum() <= 300 for important in articles.important.values())
    runs = conduct(experiment, tmp_path, data, repeats=1, quick=True)
    assert np.mean([run["svm"] for run in runs]) > 0.4
