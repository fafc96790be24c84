"""The experiment score-space: its runs, tables and sentences on made-up sequences; quick on the promoters."""

import numpy as np
import pytest
import scipy.sparse as sp

from bench.experiments.score_spaces import topics as score_space_topics
from bench.experiments.score_spaces.score_space import halves_of, symbols_of

pytestmark = pytest.mark.full  # whole experiments, some on real data


def test_points_become_the_nearest_of_thirty_centres_of_the_training_part():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(5, 9), 2)) * [1.0, 100.0] for _ in range(30)]
    train = np.arange(20)
    found = symbols_of(X, train, np.random.default_rng(1))
    assert [len(x) for x in found] == [len(x) for x in X]
    assert set(np.concatenate(found)) <= set(range(30)) and len(set(np.concatenate(found[:20]))) > 20
    X[25] = X[25] * 0.0  # samples outside of the training set do not move the center
    again = symbols_of(X, train, np.random.default_rng(1))
    assert all((a == b).all() for k, (a, b) in enumerate(zip(found, again)) if k != 25)


def test_series_stay_points_where_asked_and_no_class_is_left_out():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(6, 2)) for _ in range(40)], np.repeat(np.arange(8), 5)
    (train, labels, test, truth), K = halves_of((X, y), (1, 2), share=0.1, symbols=False)
    assert K == 0 and train[0].shape == (6, 2) and len(train) + len(test) == 40
    assert set(labels) == set(range(8)) and labels.size + truth.size == 40


def test_topics_are_drawn_with_as_many_posts_of_each_group():
    rng = np.random.default_rng(0)
    groups = np.repeat(score_space_topics.GROUPS, 160)
    words = rng.dirichlet(np.full(400, 0.05), 4)
    counts = sp.csr_array(np.array([rng.multinomial(30, words[k]) for k in np.repeat(np.arange(4), 160)]).astype(float))
    X, y, new, truth = score_space_topics.drawn((counts, groups), 0, 10)
    assert X.shape[0] == 40 and new.shape == (400, X.shape[1]) and 50 < X.shape[1] <= 300
    assert all((y == group).sum() == 10 for group in score_space_topics.GROUPS)
    assert ((X > 0).sum(axis=0) <= 10).all() and truth.size == 400
