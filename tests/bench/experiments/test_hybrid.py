"""The hybrid's experiments: on made-up posts, and in their quick form on the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from bench import experiments
from bench.experiments.conduct import conduct
from bench.experiments.hybrid import (
    BAYES,
    COVERAGES,
    HYBRID,
    HYBRID_1,
    LOGISTIC,
    PAIRS,
    PLAIN_HYBRID_1,
    QUICK_PAIRS,
    QUICK_SIZES,
    SIZES,
    HybridCoverage,
    HybridCurves,
    Pair,
    log_odds,
    prepare_pairs,
)
from models import HybridNaiveBayes
from tests.support.data import data_folder

pytestmark = pytest.mark.full  # whole experiments, some on real data


def made_up(seed=0, count=500, words=40):
    """Posts whose subjects tell more than their bodies."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    tilt = np.linspace(-1.0, 1.0, words)

    def text(strength, length):
        P = np.exp(np.outer(2 * y - 1, strength * tilt))
        P /= P.sum(axis=1, keepdims=True)
        return sp.csr_array(np.array([rng.multinomial(rng.integers(1, length), p) for p in P]).astype(float))

    return Pair(y, text(1.0, 6), text(0.1, 120))


@pytest.fixture
def on_made_up(monkeypatch):
    posts = {pair: made_up(seed) for seed, pair in enumerate(QUICK_PAIRS)}
    for kind in (HybridCurves, HybridCoverage):
        monkeypatch.setattr(kind, "prepare", lambda self, data, quick: posts)


def test_learning_curves_of_made_up_posts(tmp_path, on_made_up):
    experiment = HybridCurves()
    runs = conduct(experiment, tmp_path, quick=True)
    assert len(runs) == len(QUICK_PAIRS) * 2
    assert all(len(run["errors"][m]) == len(QUICK_SIZES) for run in runs for m in experiment.methods)
    assert all(run["test"] == 500 - max(QUICK_SIZES) for run in runs)
    largest = {m: np.mean([run["errors"][m][-1] for run in runs]) for m in experiment.methods}
    assert largest[HYBRID] < largest[BAYES] - 0.02 and largest[HYBRID] < largest[HYBRID_1]
    tables = experiment.tables(runs)
    assert len(tables) == len(QUICK_PAIRS) and len(tables[0].rows) == len(QUICK_SIZES)
    assert "Of 4 places" in experiment.finding(runs)
    figure = experiment.figure(runs)
    assert figure.axes[0].get_ylabel() == "test error" and figure.axes[0].get_title() == QUICK_PAIRS[0]


def test_the_finding_counts_what_the_runs_say():
    experiment = HybridCurves()
    errors = {m: [0.3, 0.3] for m in experiment.methods}
    runs = []
    for seed in range(5):
        own = {m: [e + 0.001 * seed for e in errors[m]] for m in errors}
        own[HYBRID] = [0.2 + 0.001 * seed, 0.4 + 0.0015 * seed]
        runs.append({"pair": QUICK_PAIRS[1], "sizes": [50, 300], "seed": seed, "errors": own})
    finding = experiment.finding(runs)
    assert "Of 2 places (pair and size) the hybrid is the lowest of the three at 1, not significantly" in finding
    assert f"and above it at 1: {QUICK_PAIRS[1]} at 300" in finding
    assert (
        "below naive Bayes at 1 places and above at 1. With at most 100 posts its error less naive Bayes' is -10"
        in finding
    )
    assert "Two regions beat one at 1 of 2 places; normalizing beats not normalizing at 1." in finding


def test_coverage_of_made_up_posts(tmp_path, on_made_up):
    experiment = HybridCoverage()
    runs = conduct(experiment, tmp_path, quick=True)
    assert all(
        len(run["accuracies"][m]) == len(COVERAGES) and run["test"] == 250 for run in runs for m in experiment.methods
    )
    means = [np.mean([run["accuracies"][HYBRID_1] for run in runs], axis=0)]
    assert means[0][5] > means[0][-1]  # the surest are more often right
    assert len(experiment.tables(runs)[0].rows) == len(QUICK_PAIRS) * 4
    assert "higher than naive Bayes' at" in experiment.finding(runs)
    assert experiment.figure(runs).axes[0].get_xlabel() == "coverage"


def test_full_conducts_have_all_pairs_sizes_and_seeds():
    runs = HybridCurves().runs(10, quick=False)
    assert len(runs) == 60 and {run["pair"] for run in runs} == set(PAIRS) and runs[0]["sizes"] == list(SIZES)
    assert len(HybridCoverage().runs(10, quick=False)) == 60


def test_log_odds_are_those_of_the_models():
    pair = made_up(1, 100)
    train, test = np.arange(60), np.arange(60, 100)
    odds, _ = log_odds(HYBRID, pair, train, test)
    X = np.hstack([pair.subjects.toarray(), pair.bodies.toarray()])
    logs = HybridNaiveBayes(2).fit(X[train], pair.y[train]).predict_log_proba(X[test])
    assert np.allclose(odds, logs[:, 1] - logs[:, 0])
    words = pair.subjects.toarray() + pair.bodies.toarray()
    for method, normalize in ((HYBRID_1, True), (PLAIN_HYBRID_1, False)):
        odds, _ = log_odds(method, pair, train, test)
        logs = HybridNaiveBayes(normalize=normalize).fit(words[train], pair.y[train]).predict_log_proba(words[test])
        assert np.allclose(odds, logs[:, 1] - logs[:, 0])
    assert np.isfinite(log_odds(LOGISTIC, pair, train, test)[0]).all()


def test_the_real_posts(tmp_path):
    archive = data_folder(".") / "20news-bydate.tar.gz"
    if not archive.is_file():
        pytest.skip(f"{archive} is not there")
    data = str(archive.parent)
    pair = prepare_pairs(data, QUICK_PAIRS)[QUICK_PAIRS[0]]
    assert pair.y.size == 1427 and pair.y.sum() == 628 and pair.subjects.shape == pair.bodies.shape
    assert (pair.bodies.sum(axis=1) == 0).sum() == 1  # a post that is all subject
    assert pair.bodies.sum() > 20 * pair.subjects.sum()
    curves = conduct(experiments.find("hybrid-curves"), tmp_path / "curves", data, quick=True)
    assert all(run["errors"][HYBRID][-1] < 0.3 for run in curves)
    coverage = conduct(experiments.find("hybrid-coverage"), tmp_path / "coverage", data, quick=True)
    assert all(run["accuracies"][HYBRID_1][-1] > 0.8 for run in coverage)
