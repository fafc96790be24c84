"""The bilevel classifier's experiments: their parts on made-up posts, and in short on the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from bench import experiments
from bench.experiments.bilevel_curves import (
    C2_VALUES,
    MULTITASK,
    SHARES,
    UNUSED,
    Curves,
    MultiTaskConstant,
    Prepared,
    curve,
    discriminant_on_most,
    fit_multitask,
    needed_alone,
)
from bench.experiments.bilevel_parameters import BETAS, PHIS, ParametersOfPrior
from bench.experiments.bilevel_scatter import Scatter, summaries
from bench.experiments.conduct import conduct
from bench.experiments.nouns import GROUPS, NounPosts
from bench.experiments.setups import (
    BY_DATE,
    FIRST,
    WITH_LINE,
    accuracy,
    both_texts,
    draw,
    prior_of,
    setups,
    with_newsgroups_line,
)
from bench.experiments.shares import p_of
from models import MultiTaskSVC
from tests.support.data import data_folder

pytestmark = pytest.mark.full  # whole experiments, some on real data


def made_up(posts=300, words=400, seed=0):
    """Posts of four labels in which words near the label are frequent; some words are those of the groups' names."""
    rng = np.random.default_rng(seed)
    label = np.repeat(list(GROUPS), posts // 4)
    distances = {name: rng.integers(2, 6, words) for name in GROUPS}
    X = np.vstack([rng.random(words) < 0.4 / distances[name] ** 2 for name in label]).astype(float)
    nouns = np.array(["atheism", "guns", "politics", *(f"n{j}" for j in range(words - 3))])
    return NounPosts(sp.csr_array(X), label, nouns, distances)


def test_setups_are_all_pairs_of_different_tasks():
    thirty = setups(tuple(GROUPS))
    assert len(thirty) == len(set(thirty)) == 30 and FIRST in thirty
    assert all(set(train) != set(test) for train, test in thirty)
    assert len(setups(("atheism", "guns", "mideast"))) == 6


def test_the_header_line_adds_the_words_of_the_groups_name():
    posts = made_up()
    changed = with_newsgroups_line(posts).X.toarray() - posts.X.toarray()
    assert set(np.unique(with_newsgroups_line(posts).X.data)) == {1.0}
    for label, own in (("atheism", [0]), ("guns", [1, 2]), ("mideast", [2]), ("autos", [])):
        rows = posts.label == label
        after = with_newsgroups_line(posts).X.toarray()[rows]
        assert after[:, own].all() and set(np.flatnonzero(changed[rows].any(axis=0))) <= set(own)


def test_a_draw_has_both_classes_and_keeps_fitted_and_tested_apart():
    posts = made_up()
    train, test = FIRST
    for seed in range(40):
        small, large = (draw(posts, train, test, size, seed) for size in (2, 0.2))
        assert set(posts.label[small.fitted]) == set(test)
        assert small.trained.size == round(0.9 * 150) and set(posts.label[small.trained]) == set(train)
        assert np.array_equal(small.trained, large.trained)
        assert np.array_equal(np.sort(np.concatenate([large.fitted, large.held_out])), np.flatnonzero(
            np.isin(posts.label, test)))  # fmt: skip
        assert large.fitted.size == 30 and small.fitted[0] in large.fitted


def test_the_prior_is_chi_and_sigma_of_the_training_task():
    posts = made_up()
    (train, test), trained = FIRST, np.arange(150)
    prior = prior_of(posts, train, test, trained)
    for k in (0, 1):
        mean = posts.X.toarray()[trained][posts.label[trained] == train[k]].mean(axis=0)
        for v in range(2, 6):
            alike = mean[posts.distances[train[k]] == v]
            there = posts.distances[test[k]] == v
            assert np.allclose(prior.t[k][there], alike.mean())
            assert np.allclose(prior.Omega[k].value[there], alike.var())


def test_the_paired_test_is_scipys():
    from scipy.stats import ttest_1samp

    gains = np.random.default_rng(0).normal(0.3, 1.0, 30)
    assert p_of(gains) == pytest.approx(ttest_1samp(gains, 0.0).pvalue)
    assert p_of(np.ones(3)) == 0.0 and p_of(np.zeros(3)) == 1.0 and p_of(np.ones(1)) == 1.0


def of_made_up_posts(kind):
    class MadeUp(kind):
        def prepare(self, data, quick):
            texts = both_texts(made_up(600))
            return Prepared(texts) if kind is Curves else texts

    return MadeUp()


def test_the_scatter_of_made_up_posts(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.experiments.bilevel_scatter.SHARE", 0.05)
    experiment = of_made_up_posts(Scatter)
    runs = conduct(experiment, tmp_path, repeats=2, quick=True)
    assert len(runs) == 30 * 2 * 2 and all(run["samples"] == 15 for run in runs)
    points = summaries([run for run in runs if run["text"] == BY_DATE])
    above = sum(point["gain"] > 0.0 for point in points)
    assert len(points) == 30 and above >= 20  # what words tell of labels is the same in all tasks
    first = [run for run in runs if run["text"] == BY_DATE][:2]
    assert points[0]["gain"] == pytest.approx(np.mean([run["bilevel"] - run["svm"] for run in first]))
    assert f"On the by-date text, {above} of 30 set-ups lie above" in experiment.finding(runs)
    assert [len(table.rows) for table in experiment.tables(runs)] == [30, 30]
    assert experiment.figure(runs).axes[0].get_xlabel() == "SVM, accuracy in %"


def test_the_curves_of_made_up_posts(tmp_path):
    experiment = of_made_up_posts(Curves)
    runs = conduct(experiment, tmp_path, repeats=2)
    assert len(runs) == 2 * 6 * len(SHARES) * 2
    assert all(0.0 < run["multitask"] <= 100.0 for run in runs)
    lda = [run["lda"] for run in runs if (run["seed"], run["train"], run["test"]) == (0, *map(list, FIRST))]
    assert lda[0] == discriminant_on_most(both_texts(made_up(600))[BY_DATE], FIRST[1], 0)
    points = curve([run for run in runs if run["text"] == BY_DATE], "bilevel")
    assert [point[0] for point in points] == sorted(point[0] for point in points) and points[-1][1] > points[0][1]
    assert "improves from the fewest to the most posts in" in experiment.finding(runs)
    assert len(experiment.figure(runs).axes) == 12 and len(experiment.tables(runs)[0].rows) == 36


def test_the_multitask_machine_needs_its_support_vectors_only():
    posts, (train, test) = made_up(600), FIRST
    drawn = draw(posts, train, test, 0.1, 0)
    X = sp.vstack([posts.X[drawn.trained], posts.X[drawn.fitted]])
    y = np.concatenate([posts.signs(train, drawn.trained), posts.signs(test, drawn.fitted)])
    tasks = np.repeat([0, 1], [drawn.trained.size, drawn.fitted.size])
    everything = MultiTaskSVC(**MULTITASK).fit(X, y, tasks=tasks)
    needed = needed_alone(posts, train, drawn.trained)
    assert 0 < needed.sum() < drawn.trained.size
    for first in (needed, np.arange(needed.size) < 20):  # the second leaves out many that come back
        w, b = fit_multitask(posts, train, test, drawn, first)
        assert w == pytest.approx(everything.coef_[1], abs=1e-4 * abs(w).max()) and b == pytest.approx(
            everything.intercept_[1], abs=1e-4
        )


def test_the_parameters_of_made_up_posts(tmp_path):
    experiment = of_made_up_posts(ParametersOfPrior)
    runs = conduct(experiment, tmp_path, repeats=2, quick=True)
    assert len(runs) == 2 * (len(BETAS) + len(PHIS)) * 2
    assert all(run["phi"] == 0.01 for run in runs if run["varied"] == "beta")
    assert all(run["beta"] == 0.2 and run["phi"] == run["value"] for run in runs if run["varied"] == "phi")
    assert len(experiment.tables(runs)) == 4 and len(experiment.figure(runs).axes) == 4
    assert experiment.finding(runs).count("the accuracy goes from") == 4


def test_c2_is_chosen_by_a_command(tmp_path):
    experiment = of_made_up_posts(MultiTaskConstant)
    runs = conduct(experiment, tmp_path, quick=True)
    assert len(runs) == 2 * 2 and all(run["seed"] >= UNUSED for run in runs)
    assert all(len(run["multitask"]) == len(C2_VALUES) == 8 for run in runs)
    posts, (train, test) = both_texts(made_up(600))[BY_DATE], FIRST
    drawn = draw(posts, train, test, SHARES[0], UNUSED)
    needed = np.ones(drawn.trained.size, dtype=bool)
    for k in (0, 5):  # the training task alone decides which of its posts are needed, not what is found
        plane = fit_multitask(posts, train, test, drawn, needed, C2_VALUES[k])
        assert runs[0]["multitask"][k] == accuracy(posts, test, drawn.held_out, plane)
    assert len(experiment.tables(runs)[0].rows) == 9 and experiment.finding(runs).count("the best mean accuracy") == 2
    assert experiment.verdict(runs)[0] in ("confirmed", "in part", "not")
    assert experiment.figure(runs).axes[0].get_xlabel() == "C_2"


def test_full_conducts_are_those_of_the_paper():
    scatter = Scatter().runs(100, quick=False)
    assert sum(run["text"] == BY_DATE for run in scatter) == sum(run["text"] == WITH_LINE for run in scatter) == 3000
    assert len(Curves().runs(100, quick=False)) == 2 * 6 * len(SHARES) * 100


@pytest.mark.parametrize("name", ["bilevel-scatter", "bilevel-curves", "bilevel-parameters"])
def test_the_real_posts(tmp_path, name):
    data = str(data_folder("nltk_data").parent)
    experiment = experiments.find(name)
    runs = conduct(experiment, tmp_path, data, repeats=1, quick=True)
    assert all(0.0 < run["bilevel"] <= 100.0 for run in runs)
    assert np.mean([run["bilevel"] for run in runs]) > np.mean([run["svm"] for run in runs])
    assert experiment.tables(runs) and experiment.finding(runs)
