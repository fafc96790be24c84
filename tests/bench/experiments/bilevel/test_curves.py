"""The bilevel classifier's experiments: their parts on made-up posts, and in short on the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from bench.experiments.bilevel.curves import MULTITASK, fit_multitask, needed_alone
from bench.experiments.bilevel.nouns import GROUPS, NounPosts
from bench.experiments.bilevel.setups import FIRST, draw
from models import MultiTaskSVC

pytestmark = pytest.mark.full  # whole experiments, some on real data


def made_up(posts=300, words=400, seed=0):
    """Return posts of four labels: words near the label are frequent, and some words are names of the groups."""
    rng = np.random.default_rng(seed)
    label = np.repeat(list(GROUPS), posts // 4)
    distances = {name: rng.integers(2, 6, words) for name in GROUPS}
    X = np.vstack([rng.random(words) < 0.4 / distances[name] ** 2 for name in label]).astype(float)
    nouns = np.array(["atheism", "guns", "politics", *(f"n{j}" for j in range(words - 3))])
    return NounPosts(sp.csr_array(X), label, nouns, distances)


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


def test_the_multitask_machine_needs_its_support_vectors_only():
    posts, (train, test) = made_up(600), FIRST
    drawn = draw(posts, train, test, 0.1, 0)
    X = sp.vstack([posts.X[drawn.trained], posts.X[drawn.fitted]])
    y = np.concatenate([posts.signs(train, drawn.trained), posts.signs(test, drawn.fitted)])
    tasks = np.repeat([0, 1], [drawn.trained.size, drawn.fitted.size])
    everything = MultiTaskSVC(**MULTITASK).fit(X, y, tasks=tasks)
    needed = needed_alone(posts, train, drawn.trained)
    assert 0 < needed.sum() < drawn.trained.size
    for first in (needed, np.arange(needed.size) < 20):  # the second choice omits many that are added back
        w, b = fit_multitask(drawn, first)
        assert w == pytest.approx(everything.coef_[1], abs=1e-4 * abs(w).max()) and b == pytest.approx(
            everything.intercept_[1], abs=1e-4
        )
